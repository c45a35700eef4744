"""Names of columns as users write them: parts with dots between them, in backticks if they contain other characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltaskip.arguments import unicode_text
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, SchemaError

ColumnPath = tuple[str, ...]
"""The parts of a column's name, from the top-level column to the field."""

_NAME_PART = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^\s`.,]+))\s*([.,]|$)")


def parse_names(text: str, where: str, error: type[DeltaSkipError] = SchemaError) -> list[tuple[str, ...]]:
    """Parse column names separated by commas into their parts. `where`: Description of the text for errors.

    Raises `error` if the text is not a list of names.
    """
    names: list[tuple[str, ...]] = []
    parts: list[str] = []
    position = 0
    while position < len(text) and text.strip():
        match = _NAME_PART.match(text, position)
        if match is None:
            raise error(f"{where} is {text!r}, which is not a list of column names such as a, b.c, `d e`.")
        quoted, plain, separator = match.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        if separator != ".":
            names.append(tuple(parts))
            parts = []
        position = match.end()
        if separator and position == len(text):
            raise error(f"{where} is {text!r}, which ends in {separator!r}: a column name is missing.")
    return names


def column_path(argument: str, column: object) -> ColumnPath:
    """Return the parts of a column's name: a text with dots between them, or a sequence of parts.

    Raises InvalidArgument for a text that is no name, and InvalidArgumentType for other values.
    """
    if isinstance(column, str):
        names = parse_names(unicode_text(argument, column), argument, InvalidArgument)
        if len(names) != 1:
            raise InvalidArgument(f"{argument} must be the name of one column, not {column!r}.")
        return names[0]
    if isinstance(column, Sequence) and column and all(isinstance(part, str) for part in column):
        return tuple(unicode_text(argument, part) for part in column)
    raise InvalidArgumentType.of(argument, "the name of a column, or a tuple of its parts", column)
