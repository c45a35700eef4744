"""Rows of Python, a list of dicts or a dict of lists, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip import arguments
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.schema.resolve import display_name


def python_rows(data: Any, name: str) -> pa.Table | None:
    """Return a list of dicts, or a dict of lists or of arrays of numpy by column, as a table; None for anything else.

    Every key of a row is a column, also one that the first row lacks, and a row without it has NULL there. Types of
    Arrow follow from the values, and store assignment makes them those of the table.

    Args:
        data: What a caller gives for rows.
        name: The name of the argument, for messages.

    Raises InvalidArgument if there is no column, values have no type of Arrow, or lists differ in length, and
    InvalidArgumentType for a value in the place of a list or of a row.
    """
    if isinstance(data, list | dict) and not data:
        raise InvalidArgument(f"{name} is empty, and has no columns: leave the write out, or give Arrow data.")
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        names = dict.fromkeys(key for row in data for key in row)
        columns = {key: [row.get(key) for row in data] for key in names}
    elif isinstance(data, list):
        odd = next(each for each in data if not isinstance(each, dict))
        raise InvalidArgumentType(
            f"Each row of {name} must be a dict, not {type(odd).__name__}: write a list of dicts such as [{{'id': 1}}]."
        )
    elif isinstance(data, dict):
        for key, values in data.items():
            if not isinstance(values, list | np.ndarray):
                raise InvalidArgumentType(
                    f"{name}[{key!r}] must be a list of values, not {type(values).__name__}: write a dict of lists, or "
                    f"a list of dicts such as [{{'id': 1}}]."
                )
        columns = data
    else:
        return None
    for key in columns:
        arguments.unicode_text(f"Each column of {name}", key)
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{key} {len(values)}" for key, values in columns.items())
        raise InvalidArgument(f"The columns of {name} must have the same number of values, not {lengths}.")
    return pa.table({key: _column(values, key, name) for key, values in columns.items()})


def _column(values: list[Any] | np.ndarray, column: str, name: str) -> pa.Array:
    shown = display_name([column])
    kinds = set() if isinstance(values, np.ndarray) else set(_kinds(values, (column,)))
    for path, one in sorted(kinds):
        if (path, _MIXED.get(one)) in kinds:
            # pyarrow gives all of them the type of the first, and cuts off what that lacks.
            raise InvalidArgument(
                f"{display_name(path)} of {name} has {one} and {_MIXED[one]}: convert the values to one type."
            )
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, OverflowError):
            raise InvalidArgument(
                f"The column {shown} of {name} has an integer that does not fit BIGINT: give it as a Decimal."
            ) from error
        raise InvalidArgument(
            f"The values of the column {shown} of {name} have no common Arrow type: {str(error).rstrip('.')}. "
            "Convert them to one type, with None for NULL, or give Arrow data whose columns have types."
        ) from error


_MIXED = {"dates": "datetimes", "datetimes with a time zone": "datetimes without one", "bytes": "texts"}


def _kinds(values: Iterable[Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The kinds of values, at every depth, that pyarrow may take for each other."""
    for value in values:
        match value:
            case datetime():
                yield path, "datetimes"
                yield path, "datetimes without one" if value.tzinfo is None else "datetimes with a time zone"
            case date():
                yield path, "dates"
            case str():
                yield path, "texts"
            case bytes():
                yield path, "bytes"
            case dict():
                for key, each in value.items():
                    yield from _kinds([each], (*path, str(key)))
            case list() | tuple():
                yield from _kinds(value, (*path, "element"))
