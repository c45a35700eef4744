"""Checks of arguments: a wrong type raises InvalidArgumentType, a wrong value InvalidArgument.

Each function returns the checked argument in the type that the caller needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from operator import index
from typing import Any, TypeVar

from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.lazy_regex import regex
from deltaskip.path_bytes import encoded

T = TypeVar("T")

_VERSION = regex(r"[0-9][0-9A-Za-z._-]*")
_MOST_BITS = 4096
_SHOWN = 80
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instance(argument: str, value: object, kind: type[T], expected: str) -> T:
    """Return the value if it is an instance of `kind`.

    Args:
        argument: Name of the argument, for the error.
        value: The value that was passed.
        kind: The accepted type.
        expected: The accepted type in words, with its article, such as `an AddFile`.
    """
    if not isinstance(value, kind):
        raise InvalidArgumentType.of(argument, expected, value)
    return value


def text(argument: str, value: object) -> str:
    """Return the value if it is a string; of a subclass such as an Enum, its value."""
    return str.__str__(instance(argument, value, str, "a str"))


def unicode_text(argument: str, value: object) -> str:
    """Return the value if it is a string without unpaired surrogates, which UTF-8 can encode."""
    found = text(argument, value)
    try:
        found.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{argument} must be valid Unicode text, not {found!r}.") from error
    return found


def text_or_none(argument: str, value: object) -> str | None:
    """Return the value if it is a string that UTF-8 can encode, or None."""
    return None if value is None else unicode_text(argument, value)


def texts(argument: str, value: object) -> tuple[str, ...]:
    """Return the values if they are strings. A single string is refused, not read as a list of characters."""
    if isinstance(value, str):
        raise InvalidArgumentType(f"{argument} must be a list of str, not a str: use [{value!r}].")
    if not isinstance(value, Iterable):
        raise InvalidArgumentType.of(argument, "a list of str", value)
    return tuple(text(f"Each of {argument}", each) for each in value)


def names(argument: str, value: object) -> tuple[str, ...]:
    """Return names of columns. A single name becomes a tuple of one name, and None an empty tuple."""
    if value is None:
        return ()
    return (text(argument, value),) if isinstance(value, str) else texts(argument, value)


def mapping(argument: str, value: object) -> Mapping[Any, Any]:
    """Return the value if it is a mapping."""
    # The check of an abstract class takes longer.
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidArgumentType.of(argument, "a mapping", value)
    return value


def texts_by_name(argument: str, value: object) -> dict[str, str]:
    """Return the members of a mapping whose names and values are strings, such as table properties."""
    members = mapping(argument, value).items()
    return {text(f"A name in {argument}", name): property_text(f"{argument}[{name!r}]", each) for name, each in members}


def property_text(argument: str, value: object) -> str:
    """Return the value of a table property if it is a string."""
    if isinstance(value, bool | int):
        written = str(value).lower()
        raise InvalidArgumentType(f"{argument} must be a str, not {type(value).__name__}: write {written!r}.")
    return text(argument, value)


def app_version(argument: str, value: object) -> tuple[str, int] | None:
    """Return an application id with a version of 0 or more; None stays None."""
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2:
        raise InvalidArgumentType.of(argument, "a tuple of an application id and a version", value)
    number = non_negative(f"{argument}[1]", value[1])
    if number is None:
        raise InvalidArgumentType.of(f"{argument}[1]", "an int", value[1])
    return text(f"{argument}[0]", value[0]), number


def non_negative(argument: str, value: object, place: str = "") -> int | None:
    """Return an integer of 0 or more, such as a version or a limit; None stays None.

    Any type with `__index__` is an integer, except bool. place: The table, as the end of an error message.
    """
    if value is None:
        return None
    # Classes and arrays also have `__index__`.
    if isinstance(value, (bool, type)) or not hasattr(value, "__index__"):
        if argument == "version" and isinstance(value, str):
            is_number = value.strip().isdecimal() and len(value) < _SHOWN
            cure = f"write version={int(value)}" if is_number else f"write version=3, or timestamp={value!r} for a time"
            raise InvalidArgumentType(f"version must be an int, not str: {cure}.")
        if argument == "version" and hasattr(value, "isoformat"):
            kind = type(value).__name__
            raise InvalidArgumentType(f"version must be an int, not {kind}: write timestamp= for a time.")
        raise InvalidArgumentType.of(argument, "an int", value)
    try:
        number = index(value)
    except TypeError as error:
        raise InvalidArgumentType.of(argument, "an int", value) from error
    # Python refuses to convert longer integers to text.
    if number.bit_length() > _MOST_BITS:
        raise InvalidArgument(f"{argument} must have at most {_MOST_BITS} bits, not {number.bit_length():,}.")
    if number < 0:
        raise InvalidArgument(f"{argument} must be 0 or greater, not {number}{place and f' {place}'}.")
    return number


def flag(argument: str, value: object) -> bool:
    """Return the value if it is a bool, of Python or numpy."""
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    return instance(argument, value, bool, "a bool")


def function_or_none(argument: str, value: object) -> Any:
    """Return the value if it can be called, or None."""
    if value is not None and not callable(value):
        raise InvalidArgumentType.of(argument, "a function", value)
    return value


def choice(argument: str, value: object, *choices: str) -> str:
    """Return the text if it is one of the choices."""
    found = text(argument, value)
    if found not in choices:
        shown = found if len(found) <= _SHOWN else found[: _SHOWN - 1] + "…"
        known = f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]
        raise InvalidArgument(f"{argument} must be {known}, not {shown!r}.")
    return found


def collation_version(argument: str, value: object) -> str:
    """Return the version of a collation, such as 77.1, if it is well-formed."""
    version = text(argument, value)
    if not _VERSION.fullmatch(version):
        raise InvalidArgument(f"{argument} must be the version of a collation such as '77.1', not {version!r}.")
    return version


def one_of(argument: str, value: object, accepted: Sequence[T]) -> T | None:
    """Return the accepted string that equals the value; None stays None."""
    if value is None:
        return None
    for each in accepted:
        if text(argument, value) == each:
            return each
    names = [str(each) for each in accepted]
    raise InvalidArgument(f"{argument} must be {', '.join(names[:-1])} or {names[-1]}, not {value!r}.")


def path(argument: str, value: object) -> str:
    """Return a path or URI as text."""
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(found, str):
        error = InvalidArgumentType.of(argument, "a str or os.PathLike", value)
        has_rows = hasattr(value, "__arrow_c_stream__") or hasattr(value, "sparkSession")
        raise InvalidArgumentType(f"{error} Rows follow the path: write(path, rows).") if has_rows else error
    if not found.strip():
        raise InvalidArgument(f"{argument} must be a path or URI, not {found!r}: name a folder or file.")
    try:
        if b"\0" not in encoded(found):
            return found
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{argument} must not contain an unpaired surrogate: {found!r}.") from error
    raise InvalidArgument(f"{argument} must not contain a null character: {found!r}.")


def paths(argument: str, value: object) -> tuple[str, ...]:
    """Return paths or URIs as text. A single path becomes a tuple of one path."""
    if isinstance(value, str | os.PathLike):
        return (path(argument, value),)
    if not isinstance(value, Iterable):
        raise InvalidArgumentType.of(argument, "a path or a list of paths", value)
    return tuple(path(f"Each of {argument}", each) for each in value)


def storage_settings(storage_options: object) -> Mapping[str, str] | None:
    """Return storage options if keys and values are strings. Errors never show values, which may be credentials."""
    if storage_options is None:
        return None
    options = mapping("storage_options", storage_options)
    for key, value in options.items():
        text("Each key of storage_options", key)
        text(f"storage_options[{key!r}]", value)
    return options


def milliseconds(timestamp: object, table: str, argument: str = "timestamp") -> int:
    """Return milliseconds since the epoch. A timestamp without a time zone is in UTC, and a date is its midnight.

    Args:
        timestamp: A datetime, a date, or ISO 8601 text.
        table: Location of the table, for the error.
        argument: Name of the argument, for the error.
    """
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp.strip())
        except ValueError as error:
            raise InvalidArgument(
                f"{argument} must be ISO 8601 text such as 2026-01-31, 2026-01-31T12:00:00 or "
                f"2026-01-31T12:00:00+01:00, not {timestamp!r} (table {table})."
            ) from error
    if isinstance(timestamp, date) and not isinstance(timestamp, datetime):
        timestamp = datetime(timestamp.year, timestamp.month, timestamp.day)
    moment = instance(argument, timestamp, datetime, "a datetime, a date or a str")
    if moment != moment:
        # The value is NaT of pandas.
        raise InvalidArgumentType.of(argument, "a datetime, a date or a str", timestamp)
    return ((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)
