"""`dataclass` of the standard library, but with classes that are created in half the time.

`dataclasses` compiles the text of six methods for each frozen class, which takes a fifth of a first plan with its
hundred classes. In this module, comparison, hash and `repr` are functions that all classes share.
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
            if order:
                return dataclasses.dataclass(cls, eq=eq, repr=repr, order=order, **options)
            written = cls.__dict__
            # Python sets __hash__ to None in a class that defines only __eq__.
            has_hash = written.get("__hash__") is not None or ("__hash__" in written and "__eq__" not in written)
            has_eq, has_repr = "__eq__" in written, "__repr__" in written
            found = dataclasses.dataclass(cls, eq=False, repr=False, **options)
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
