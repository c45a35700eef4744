"""Checks of the arguments that open a table: wrong types and values raise before storage is accessed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from operator import index

from deltaskip.errors import InvalidArgument, InvalidArgumentType

__all__ = ["milliseconds", "non_negative", "options", "path_or_uri", "text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def path_or_uri(table: object) -> str:
    """Return the text of a path or URI."""
    location = os.fspath(table) if isinstance(table, os.PathLike) else table
    if not isinstance(location, str):
        raise InvalidArgumentType.of("table", "a path or URI (str or os.PathLike)", table)
    if "\0" in location:
        raise InvalidArgument(f"table must not contain a null character: {location!r}.")
    return location


def options(storage_options: object) -> Mapping[str, str] | None:
    """Return storage options if keys and values are strings. Errors never show values, which may be credentials."""
    if storage_options is None:
        return None
    if not isinstance(storage_options, Mapping):
        raise InvalidArgumentType.of("storage_options", "a mapping of str to str", storage_options)
    for key, value in storage_options.items():
        if not isinstance(key, str):
            raise InvalidArgumentType.of("A key of storage_options", "a str", key)
        if not isinstance(value, str):
            raise InvalidArgumentType.of(f"storage_options[{key!r}]", "a str", value)
    return storage_options


def non_negative(argument: str, value: object, table: str) -> int | None:
    """Return an integer of 0 or more, such as a version; None stays None.

    Args:
        argument: Name of the argument, for the error.
        value: The value; any type with `__index__` except bool is an integer.
        table: Location of the table, for the error.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgumentType.of(argument, "an int", value)
    number = index(value)
    if number < 0:
        raise InvalidArgument(f"{argument} must be 0 or greater, not {number} (table {table}).")
    return number


def milliseconds(timestamp: object, table: str) -> int:
    """Return milliseconds since the epoch. A timestamp without a time zone is in UTC.

    Args:
        timestamp: A datetime, or ISO 8601 text.
        table: Location of the table, for the error.
    """
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp.strip())
        except ValueError as error:
            raise InvalidArgument(
                "timestamp must be ISO 8601 text such as 2026-01-31, 2026-01-31T12:00:00 or "
                f"2026-01-31T12:00:00+01:00, not {timestamp!r} (table {table})."
            ) from error
    if not isinstance(timestamp, datetime):
        raise InvalidArgumentType.of("timestamp", "a datetime or a str", timestamp)
    moment = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def text(argument: str, value: object) -> str:
    """Return the value if it is a string."""
    if not isinstance(value, str):
        raise InvalidArgumentType.of(argument, "a str", value)
    return value
