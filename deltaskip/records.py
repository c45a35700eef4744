"""`dataclass` of the standard library, but with classes that are created in a fifth of the time.

`dataclasses` compiles the text of six methods for each frozen class, which takes a third of a first plan with its
hundred classes. In this module, comparison, hash, `repr` and the methods of frozen classes are functions that all
classes share, and `__init__` is compiled when an object of the class is created for the first time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from deltaskip.recursion import deep

__all__ = ["dataclass", "nested"]

K = TypeVar("K", bound=type)

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, eq=True, repr=True, order=False, frozen=False, **options):
        """Return the class as a dataclass, or a decorator that converts it.

        The arguments are the same as for `dataclasses.dataclass`, without `unsafe_hash`.
        """
        options["frozen"] = frozen
        if "unsafe_hash" in options:
            raise TypeError("a class with unsafe_hash must be made by dataclasses")

        def made(cls):
            if order or any(map(dataclasses.is_dataclass, cls.__mro__[1:])):
                return dataclasses.dataclass(cls, eq=eq, repr=repr, order=order, **options)
            written = cls.__dict__
            has_doc = bool(cls.__doc__)
            if not has_doc:
                cls.__doc__ = cls.__name__  # else `dataclasses` would ask for the signature, and show it there
            # Python sets __hash__ to None in a class that defines only __eq__.
            has_hash = written.get("__hash__") is not None or ("__hash__" in written and "__eq__" not in written)
            has_eq, has_repr = "__eq__" in written, "__repr__" in written
            has_init = not options.get("init", True) or "__init__" in written
            found = dataclasses.dataclass(cls, eq=False, repr=False, **{**options, "init": False, "frozen": False})
            if not has_init:
                found.__init__ = _Init(found, frozen)
            if frozen:
                _freeze(found)
            if repr and not has_repr:
                found.__repr__ = _repr
            if eq:
                _compare(found, has_eq, has_hash, frozen)
            return found

        return made if cls is None else made(cls)


def nested(cls: K) -> K:
    """Return a frozen dataclass whose values may be nested to any depth: in comparison, hash and `repr`.

    cls: The class. In a slot `_hash`, if a base class has one, the hash is kept.
    """
    kind: Any = cls
    hash_of, same = deep(kind.__hash__), deep(kind.__eq__)

    def hash_once(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            found: int = hash_of(self)
            object.__setattr__(self, "_hash", found)
            return found

    def equals(self: Any, other: object) -> Any:
        if self is other:
            return True
        return same(self, other) if other.__class__ is self.__class__ else NotImplemented

    kind.__eq__, kind.__repr__ = equals, deep(kind.__repr__)
    kind.__hash__ = hash_once if hasattr(cls, "_hash") else hash_of
    return cls


class _Init:
    """The `__init__` of a class until it is asked for, as attribute or by the creation of an object; then compiled."""

    __slots__ = ("_cls", "_frozen")

    def __init__(self, cls: Any, frozen: bool) -> None:
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        made = _init_of(self._cls, self._frozen)
        self._cls.__init__ = made
        return made if instance is None else made.__get__(instance, owner)


def _init_of(cls: Any, frozen: bool) -> Callable[..., None]:
    """A function that sets the fields of an object from arguments or defaults, and calls `__post_init__`."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    arguments: dict[bool, list[str]] = {False: [], True: []}
    body: list[str] = []
    fields = dataclasses.fields(cls)
    for field in fields:
        name, default, value = field.name, f"_default_{field.name}", field.name
        makes = field.default_factory is not dataclasses.MISSING
        names[default] = field.default_factory if makes else field.default
        if makes:
            value = f"{default}() if {name} is _missing else {name}" if field.init else f"{default}()"
        if field.init:
            by_default = "=_missing" if makes else "" if field.default is dataclasses.MISSING else f"={default}"
            arguments[field.kw_only is True].append(name + by_default)
        elif not makes:
            if field.default is dataclasses.MISSING or not hasattr(cls, "__slots__"):
                continue  # it has no value yet, or that of the class
            value = default
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    named = ["*", *arguments[True]] if arguments[True] else []
    head = ", ".join(["self", *arguments[False], *named])
    exec(f"def __init__({head}):\n " + "\n ".join(body or ["pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {**{field.name: field.type for field in fields if field.init}, "return": None}
    return made


def _freeze(cls: Any) -> None:
    """Let no field be set or deleted in an object of the class, also where unpickling has to set them."""
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__
    cls.__dataclass_params__.frozen = True
    if "__slots__" in cls.__dict__:
        for state in (_getstate, _setstate):
            name = state.__name__.replace("_", "__", 1) + "__"
            if name not in cls.__dict__:
                setattr(cls, name, state)


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _compare(cls: Any, has_eq: bool, has_hash: bool, frozen: bool) -> None:
    """Give a class the methods that it lacks: comparison by its fields, and a hash if it is frozen."""
    fields = dataclasses.fields(cls)
    compared = [field.name for field in fields if field.compare]
    hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    if not has_eq:
        cls.__eq__ = _equals(compared)
    if not has_hash:
        cls.__hash__ = _hash_of(hashed) if frozen else None


def _equals(names: list[str]) -> Callable[[Any, object], Any]:
    """A comparison by the values of fields, as for tuples."""
    values = attrgetter(*names) if names else _nothing
    single = len(names) == 1

    def __eq__(self: Any, other: object) -> Any:
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        mine, its = values(self), values(other)
        return (single and mine is its) or mine == its

    return __eq__


def _hash_of(names: list[str]) -> Callable[[Any], int]:
    """A hash of the values of fields."""
    values = attrgetter(*names) if names else _nothing

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _nothing(_: object) -> tuple[()]:
    return ()


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
