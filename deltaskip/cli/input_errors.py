"""Errors in text files that cannot be read: the line, the column and what to do, found by reading the file again."""

from __future__ import annotations

import csv
import io
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from deltaskip.errors import shown
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.types import fold_name

_VALUE = regex(r"In CSV column #(\d+): (?:.*invalid value '(.*)'|(.*))", re.DOTALL)


class WrongValue(ValueError):
    """A text value, or a JSON value, that does not have the column's type, and the reason."""

    def __init__(self, column: str, text: Any, why: str = "") -> None:
        super().__init__(f"{text!r} in the column {column}")
        self.column = column
        self.text = text
        self.why = why


def not_utf8(stream: Iterable[bytes], path: str) -> str | None:
    """Return the sentence about the first line that is not UTF-8, without the file's name; None if there is none."""
    for number, line in enumerate(stream, 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            encoding = "UTF-16" if line[:2] in (b"\xff\xfe", b"\xfe\xff") else "LATIN1"
            return f"line {number} is not UTF-8: convert it first, such as by iconv -f {encoding} -t UTF-8 {path}."
    return None


def csv_error(
    stream: Any, delimiter: str, type_name: Callable[[str], str], read: Callable[[str, str], object], error: Exception
) -> str | None:
    """Return the sentence about the row that pyarrow refused; None if it cannot be found.

    Args:
        stream: The file, from its beginning, as bytes.
        delimiter: The separator of values.
        type_name: The type of a column, by its name.
        read: Reads a text as a value of a column; raises ArrowException.
        error: The pyarrow error, or WrongValue.
    """
    rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), delimiter=delimiter)
    found = _VALUE.search(str(error))
    try:
        header = next(row for row in rows if row)
        index = header.index(error.column) if isinstance(error, WrongValue) else int(found[1]) if found else -1
        line = rows.line_num + 1
        for row in rows:
            if row and len(row) != len(header):
                return (
                    f"line {line} has {len(row)} values, and the header has {len(header)} columns: a value with "
                    f"{delimiter!r} stands in quotes, and --delimiter names another separator."
                )
            if row and index >= 0 and _is_wrong(row[index], header[index], read, error, found):
                return _wrong_value(line, header[index], repr(row[index]), type_name(header[index]), error)
            line = rows.line_num + 1
    except (csv.Error, StopIteration, ValueError):
        return None
    return None


def _is_wrong(
    text: str, column: str, read: Callable[[str, str], object], error: Exception, found: re.Match[str] | None
) -> bool:
    if isinstance(error, WrongValue):
        return bool(text == error.text)
    if found is not None and found[2] is not None:
        return text == found[2]
    try:
        read(column, text)
    except pa.ArrowException:
        return True
    return False


def open_quote(stream: Any, delimiter: str) -> int | None:
    """Return the line in which the last row begins if a quote in it is not closed; None if all quotes are closed."""
    rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for _ in rows:
            line = rows.line_num + 1
    except csv.Error as error:
        return line if "end of data" in str(error) else None
    return None


def json_error(
    blocks: Iterable[bytes], type_name: Callable[[str], str], read: Callable[[bytes], object], error: Exception
) -> str | None:
    """Return the sentence about the line that pyarrow refused; None if it cannot be found.

    Args:
        blocks: The lines of the file, many at a time.
        type_name: The type of a column, by its name.
        read: Reads lines as rows; raises ArrowException.
        error: The pyarrow error, or WrongValue.
    """
    before = 0
    for block in blocks:
        lines = block.splitlines(keepends=True)
        if isinstance(error, WrongValue):
            for number, line in enumerate(lines, before + 1):
                values = {fold_name(key): value for key, value in parse_json(line).items()} if line.strip() else {}
                if values.get(fold_name(error.column)) == error.text:
                    text = repr(error.text) if isinstance(error.text, str) else value_text(error.text)
                    return _wrong_value(number, error.column, text, type_name(error.column), error)
        elif _fails(read, block):
            # The first line that makes the lines up to it fail.
            number = bisect_left(range(len(lines)), True, key=lambda n: _fails(read, b"".join(lines[: n + 1])))
            return _wrong_line(before + number + 1, lines[number], type_name, read, error)
        before += len(lines)
    return None


def _wrong_line(
    number: int, line: bytes, type_name: Callable[[str], str], read: Callable[[bytes], object], error: Exception
) -> str:
    if line.lstrip().startswith(b"["):
        return f"line {number} begins a JSON array: write one object a line, such as by jq -c '.[]'."
    try:
        values = parse_json(line.strip())
    except ValueError as wrong:
        said = f"{wrong.msg} at character {wrong.colno}" if isinstance(wrong, json.JSONDecodeError) else str(wrong)
        return f"line {number} is not JSON ({said}): write one object a line."
    if not isinstance(values, dict):
        return f"line {number} is not a JSON object: write one object a line."
    for column, value in values.items():
        if _fails(read, json.dumps({column: value}).encode()):
            return _wrong_value(number, column, value_text(value), type_name(column), error)
    return f"line {number}: {re.sub(r' in row [0-9]+$', '', str(error))}."


def _fails(read: Callable[[bytes], object], lines: bytes) -> bool:
    try:
        read(lines)
    except pa.ArrowException:
        return True
    return False


def value_text(value: Any) -> str:
    """Return a value of JSON for a message."""
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, default=float, ensure_ascii=False)
    return text if len(text) <= 80 else shown(text)


def _wrong_value(line: int, column: str, text: str, type_name: str, error: Exception) -> str:
    why = f": {error.why}" if isinstance(error, WrongValue) and error.why else ""
    return f"line {line} has {text} in the column {column}, which is not of type {type_name}{why}."
