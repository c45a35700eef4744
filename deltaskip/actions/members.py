"""Actions as JSON objects of the log, read and written by the table of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa

from deltaskip.actions.action_fields import TEXT_LIST, TEXT_MAP, ActionFields
from deltaskip.arguments import instance, mapping, texts
from deltaskip.errors import InvalidArgument

_Read = Callable[[str, Mapping[str, Any], str], Any]
_Write = Callable[[str, Any], Any]


class JsonAction:
    """Base class of the actions, and of the objects in them. Errors contain the name of the member.

    Attributes:
        FIELDS: The fields.
        NESTED: The class of the objects that stand in fields of a type.
    """

    __slots__ = ()
    FIELDS: ClassVar[ActionFields]
    NESTED: ClassVar[dict[pa.DataType, type[JsonAction]]] = {}
    _MEMBERS: ClassVar[list[tuple[str, str, bool, _Read, _Write | None]]]

    def __init_subclass__(cls) -> None:
        """Choose the functions that read and write each field."""
        required = cls.FIELDS.required
        cls._MEMBERS = [(f.name, f.logged, f.name in required, *_functions(f.type)) for f in cls.FIELDS.fields]

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> Self:
        """Parse the action. Raises InvalidArgument with the name of a missing or wrong member."""
        action, members, values = cls.FIELDS.action, cls._given(mapping("json", json)), {}
        for name, logged, required, read, _ in cls._MEMBERS:
            value = values[name] = read(action, members, logged)
            if required and value is None:
                raise InvalidArgument(f"{action}.{logged} is missing")
        return cls(**cls._checked(values))

    @classmethod
    def _given(cls, json: Mapping[str, Any]) -> Mapping[str, Any]:
        """The members as the protocol has them."""
        return json

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values of the fields by name, with those that stand for missing ones; raises for impossible ones."""
        return values

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON of the log, where absent and null have the same meaning."""
        found: dict[str, Any] = {}
        for name, logged, required, _, write in self._MEMBERS:
            value = getattr(self, name)
            if value is not None or (required and write is not None):
                found[logged] = value if write is None else write(name, value)
        return found


def _functions(type_: pa.DataType) -> tuple[_Read, _Write | None]:
    """The functions that read a member of a type, which is None if it is missing, and that write it."""
    kind = JsonAction.NESTED.get(type_)
    if kind is None:
        return _FUNCTIONS[type_]

    def read(action: str, members: Mapping[str, Any], name: str) -> JsonAction | None:
        value = members.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise InvalidArgument(f"{action}.{name} is not an object")
        return None if value is None else kind.from_json(value)

    return read, lambda name, value: instance(name, value, kind, f"a {kind.__name__}").to_json()


def _string(action: str, members: Mapping[str, Any], name: str) -> str | None:
    """Return the string member, or None if it is missing or null. Raises InvalidArgument for another JSON type."""
    value = members.get(name)
    if value is None or isinstance(value, str):
        return value
    raise _wrong(action, name, "a string", value)


def _integer(action: str, members: Mapping[str, Any], name: str) -> int | None:
    """Return the integer member, or None if it is missing or null. Raises InvalidArgument for a value outside int64."""
    return _bounded(action, members, name, 64)


def _int32(action: str, members: Mapping[str, Any], name: str) -> int | None:
    """Return the integer member, or None if it is missing or null. Raises InvalidArgument for a value outside int32."""
    return _bounded(action, members, name, 32)


def _boolean(action: str, members: Mapping[str, Any], name: str) -> bool | None:
    """Return the boolean member, or None if it is missing or null. Raises InvalidArgument for another JSON type."""
    value = members.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise _wrong(action, name, "true or false", value)


def _string_map(action: str, members: Mapping[str, Any], name: str) -> dict[str, str | None] | None:
    """Return the map of strings (values may be null), or None if it is missing or null.

    Also accepts a list of pairs, to which Arrow converts a map. Raises InvalidArgument for any other value.
    """
    value = members.get(name)
    if value is None:
        return None
    try:
        pairs = dict(value)
    except (TypeError, ValueError) as error:
        raise _wrong(action, name, "a map of strings", value) from error
    if isinstance(value, str) or not all(
        isinstance(k, str) and (v is None or isinstance(v, str)) for k, v in pairs.items()
    ):
        raise _wrong(action, name, "a map of strings", value)
    return pairs


def _string_list(action: str, members: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """Return the list of strings, or None if it is missing or null. Raises InvalidArgument for any other value."""
    value = members.get(name)
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise _wrong(action, name, "a list of strings", value)
    return tuple(value)


def _bounded(action: str, members: Mapping[str, Any], name: str, bits: int) -> int | None:
    value = members.get(name)
    if value is None:
        return None
    half = 1 << (bits - 1)
    if isinstance(value, bool) or not isinstance(value, int) or not -half <= value < half:
        raise _wrong(action, name, f"a {bits}-bit integer", value)
    return value


def _wrong(action: str, name: str, wanted: str, value: Any) -> InvalidArgument:
    text = repr(value)
    return InvalidArgument(f"{action}.{name} is not {wanted}: {text if len(text) <= 80 else text[:79] + '…'}")


_FUNCTIONS: dict[pa.DataType, tuple[_Read, _Write | None]] = {
    pa.string(): (_string, None),
    pa.int32(): (_int32, None),
    pa.int64(): (_integer, None),
    pa.bool_(): (_boolean, None),
    TEXT_LIST: (_string_list, lambda name, value: list(texts(name, value))),
    TEXT_MAP: (_string_map, lambda name, value: dict(mapping(name, value))),
}
