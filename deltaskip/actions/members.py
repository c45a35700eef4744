"""Typed access to the members of an action's JSON object. Errors contain the name of the member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from deltaskip.arguments import mapping, texts
from deltaskip.errors import InvalidArgument

__all__ = [
    "boolean",
    "integer",
    "mapping",
    "optional_boolean",
    "optional_int32",
    "optional_integer",
    "optional_string",
    "optional_string_list",
    "optional_string_map",
    "present",
    "string",
    "string_list",
    "string_map",
    "texts",
    "written_list",
    "written_map",
]

T = TypeVar("T")


def string(action: str, members: Mapping[str, Any], name: str) -> str:
    """Return the required string member. Raises InvalidArgument if it is missing, null or of another type."""
    return _required(action, name, optional_string(action, members, name))


def integer(action: str, members: Mapping[str, Any], name: str) -> int:
    """Return the required integer member. Raises InvalidArgument if it is missing, null or of another type."""
    return _required(action, name, optional_integer(action, members, name))


def boolean(action: str, members: Mapping[str, Any], name: str) -> bool:
    """Return the required boolean member. Raises InvalidArgument if it is missing, null or of another type."""
    return _required(action, name, optional_boolean(action, members, name))


def string_map(action: str, members: Mapping[str, Any], name: str) -> dict[str, str | None]:
    """Return the required map of strings. Raises InvalidArgument if it is missing, null or of another type."""
    return _required(action, name, optional_string_map(action, members, name))


def string_list(action: str, members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the required list of strings. Raises InvalidArgument if it is missing, null or of another type."""
    return _required(action, name, optional_string_list(action, members, name))


def optional_string(action: str, members: Mapping[str, Any], name: str) -> str | None:
    """Return the string member, or None if it is missing or null. Raises InvalidArgument for another JSON type."""
    value = members.get(name)
    if value is None or isinstance(value, str):
        return value
    raise _wrong(action, name, "a string", value)


def optional_integer(action: str, members: Mapping[str, Any], name: str) -> int | None:
    """Return the integer member, or None if it is missing or null. Raises InvalidArgument for a value outside int64."""
    return _integer(action, members, name, 64)


def optional_int32(action: str, members: Mapping[str, Any], name: str) -> int | None:
    """Return the integer member, or None if it is missing or null. Raises InvalidArgument for a value outside int32."""
    return _integer(action, members, name, 32)


def optional_boolean(action: str, members: Mapping[str, Any], name: str) -> bool | None:
    """Return the boolean member, or None if it is missing or null. Raises InvalidArgument for another JSON type."""
    value = members.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise _wrong(action, name, "true or false", value)


def optional_string_map(action: str, members: Mapping[str, Any], name: str) -> dict[str, str | None] | None:
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


def optional_string_list(action: str, members: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """Return the list of strings, or None if it is missing or null. Raises InvalidArgument for any other value."""
    value = members.get(name)
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise _wrong(action, name, "a list of strings", value)
    return tuple(value)


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that are not None: in the log, absent and null have the same meaning."""
    return {name: value for name, value in members.items() if value is not None}


def written_map(name: str, value: object) -> dict[str, Any] | None:
    """Return a field's map for the log; None stays None. Raises InvalidArgumentType for any other value."""
    return None if value is None else dict(mapping(name, value))


def written_list(name: str, value: object) -> list[str] | None:
    """Return a field's list of strings for the log; None stays None. Raises InvalidArgumentType for other values."""
    return None if value is None else list(texts(name, value))


def _integer(action: str, members: Mapping[str, Any], name: str, bits: int) -> int | None:
    value = members.get(name)
    if value is None:
        return None
    half = 1 << (bits - 1)
    if isinstance(value, bool) or not isinstance(value, int) or not -half <= value < half:
        raise _wrong(action, name, f"a {bits}-bit integer", value)
    return value


def _required(action: str, name: str, value: T | None) -> T:
    if value is None:
        raise InvalidArgument(f"{action}.{name} is missing")
    return value


def _wrong(action: str, name: str, wanted: str, value: Any) -> InvalidArgument:
    text = repr(value)
    return InvalidArgument(f"{action}.{name} is not {wanted}: {text if len(text) <= 80 else text[:79] + '…'}")
