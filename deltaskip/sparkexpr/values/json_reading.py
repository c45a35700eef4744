"""JSON strings as Spark reads and writes them.

Python's parser accepts only standard JSON. Text that Jackson may read differently, such as strings in single quotes,
and text that may exceed Jackson's limits are left to Spark.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from deltaskip.json_text import SURROGATE
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.values.floats import float_text

_MOST_CHARACTERS = 1 << 20
_MOST_DIGITS = 500
_DEEPEST = 64
_SPECIAL = regex(r"'|\ufeff|NaN|INF|Infinity|[\x00-\x08\x0b\x0c\x0e-\x1f]|/[/*]|#")
_BEYOND = regex("[\U00010000-\U0010ffff]")
_ESCAPED = regex(r'["\\\x00-\x1f]')
SHORT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
"""Characters that JSON escapes with a letter, and their escapes; the backslash comes first."""


class Malformed(ValueError):
    """The text is not JSON."""


@dataclass(frozen=True, slots=True)
class Object:
    """The names and values of a JSON object, in order. A name may occur twice."""

    members: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Real:
    """A number with a point or an exponent, as written."""

    text: str


def read_json(text: str) -> Any:
    """Return the first JSON value of a text: None, bool, int, Real, str, list or Object. Ignores the text after it.

    Raises Malformed if there is none, and Undecided if Spark may read the text differently.
    """
    if len(text) > _MOST_CHARACTERS:
        raise Undecided("Very long JSON is left to Spark.")
    start = len(text) - len(text.lstrip(" \t\n\r"))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise Undecided("Deeply nested JSON is left to Spark.") from error
    except json.JSONDecodeError as error:
        if _SPECIAL.search(text) or error.msg.startswith("Invalid control character"):
            raise Undecided("JSON that is not standard is left to Spark.") from error
        raise Malformed(text) from error
    if not isinstance(value, list | Object | str) and text[end : end + 1] not in ("", " ", "\n", "\t", "\r"):
        raise Undecided("JSON that is not standard is left to Spark.")
    _check(value, _DEEPEST)
    return value


def json_text(value: Any) -> str:
    """Return a JSON value as Jackson copies it. Numbers that are not integers become doubles."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Real(text):
            return double_text(float(text))
        case str():
            return _copied(value)
        case Object(members):
            return f"{{{','.join([f'{_copied(name)}:{json_text(each)}' for name, each in members])}}}"
        case _:
            return f"[{','.join(map(json_text, value))}]"


def _copied(text: str) -> str:
    """A string in quotes. Raises Undecided for characters beyond 16 bits, which Jackson may escape."""
    if _BEYOND.search(text):
        raise Undecided("Characters beyond 16 bits in copied JSON are left to Spark.")
    return quoted(text)


def double_text(value: float, single: bool = False) -> str:
    """Return the text that Jackson writes for a double, or for a float if `single`.

    Raises Undecided if the text depends on the version of Java.
    """
    text = float_text(value, single)
    if text is None:
        raise Undecided(f"The text of {value!r} depends on the Java version.")
    return text if text[-1].isdigit() else f'"{text}"'


def quoted(text: str) -> str:
    """Return a string in quotes, as Jackson writes it."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    return SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"


def _check(value: Any, left: int) -> None:
    if not left:
        raise Undecided("Deeply nested JSON is left to Spark.")
    match value:
        case str():
            if SURROGATE.search(value):
                raise Undecided("Half a character in JSON is left to Spark.")
        case list():
            for each in value:
                _check(each, left - 1)
        case Object(members):
            for name, each in members:
                _check(name, left)
                _check(each, left - 1)


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise Undecided("Very long numbers are left to Spark.")
    return int(text)


def _real(text: str) -> Real:
    if len(text) > _MOST_DIGITS:
        raise Undecided("Very long numbers are left to Spark.")
    return Real(text)


def _constant(text: str) -> NoReturn:
    raise Undecided("JSON that is not standard is left to Spark.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=lambda pairs: Object(tuple(pairs)),
    parse_int=_integer,
    parse_float=_real,
    parse_constant=_constant,
)
