"""Slow plain twins of the JSON kernels on Python's own json module, and a speller of values in many ways.

Numbers are kept as their text (`Number`), lone surrogates become U+FFFD, whatever breaks the rules raises ValueError.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

MISSING, NULL, STRING, NUMBER, BOOLEAN, NESTED, INVALID = range(7)
MAX_DEPTH = 512


class Number(str):
    """A number as it is written."""


class BrokenLine(ValueError):
    """`commit` and `line` say where."""

    def __init__(self, commit: int, line: int) -> None:
        super().__init__(commit, line)
        self.commit = commit
        self.line = line


def parse_commits(data: bytes, starts: Sequence[int]) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Rows of file actions with every column, and (commit, line, name, begin, end) of the other actions."""
    rows: list[dict[str, Any]] = []
    others: list[tuple[Any, ...]] = []
    for commit, (start, end) in enumerate(pairwise([*starts, len(data)])):
        begin = start + 3 if data[start:end].startswith(b"\xef\xbb\xbf") else start
        for number, line in enumerate(data[begin:end].split(b"\n"), 1):
            if line.strip(b" \t\r"):
                try:
                    _read_line(line, begin, commit, number, rows, others)
                except (ValueError, RecursionError) as error:
                    raise BrokenLine(commit, number) from error
            begin += len(line) + 1
    return rows, others


def leaf(text: str | None, path: Sequence[str]) -> tuple[int, str | None]:
    """(kind, text) of one leaf."""
    if text is None:
        return MISSING, None
    try:
        value = _bare.decode(text)
        _demand(_depth(text) <= MAX_DEPTH)
    except (ValueError, RecursionError):
        return INVALID, None
    for key in path:
        found = [v for k, v in value if _clean(k) == key] if isinstance(value, _Pairs) else []
        if len(found) != 1:
            return MISSING, None
        value = found[0]
    match value:
        case None:
            return NULL, None
        case bool():
            return BOOLEAN, "true" if value else "false"
        case Number():
            return NUMBER, str(value)
        case str():
            return STRING, _clean(value)
        case _:
            return NESTED, None


def integral(text: str) -> int | None:
    """The int64 that a number's text is, or None."""
    if text in ("NaN", "Infinity", "-Infinity"):
        return None
    digits, _, exponent = text.lower().partition("e")
    whole, _, fraction = digits.lstrip("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    power = int(exponent or 0) - len(fraction)
    if not significant:
        return 0
    if len(significant) + power > 19:
        return None
    number = Decimal(int(digits.replace(".", ""))).scaleb(power) if power > -5000 else Decimal("0.1")
    value = int(number)
    return value if number == value and -(2**63) <= value < 2**63 else None


def believed_integral(text: str) -> int | None:
    """The same for a statistic: beyond 15 digits, a point or an exponent shows the text of a double."""
    value = integral(text)
    return None if value is not None and abs(value) >= 10**15 and set(text) & set(".eE") else value


def spell(value: Any, choose: random.Random) -> str:
    """The value as JSON with white space and escapes strewn in; a dict may be a list of pairs, a Number stays."""

    def space() -> str:
        return choose.choice(["", "", "", "", " ", "\t", " \r "])

    match value:
        case Number():
            return str(value)
        case str():
            return '"' + "".join(_spell_character(c, choose) for c in value) + '"'
        case dict():
            members = (f"{space()}{spell(k, choose)}{space()}:{space()}{spell(v, choose)}" for k, v in value.items())
            return "{" + f"{space()},".join(members) + space() + "}"
        case tuple():
            members = (f"{space()}{spell(k, choose)}{space()}:{space()}{spell(v, choose)}" for k, v in value)
            return "{" + f"{space()},".join(members) + space() + "}"
        case list():
            return "[" + ",".join(space() + spell(v, choose) + space() for v in value) + space() + "]"
        case _:
            return json.dumps(value)


def _spell_character(c: str, choose: random.Random) -> str:
    how = choose.random()
    if c in '"\\' or c < " ":
        short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
        return short[c] if c in short and how < 0.8 else f"\\u{ord(c):04{choose.choice('xX')}}"
    if c == "/" and how < 0.5:
        return "\\/"
    if "\ud800" <= c <= "\udfff" or how < 0.1:
        units = c.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    return c


class _Pairs(list[tuple[str, Any]]):
    """An object's members."""


def _refuse(text: str) -> Any:
    raise ValueError(text)


_strict = json.JSONDecoder(object_pairs_hook=_Pairs, parse_float=Number, parse_int=Number, parse_constant=_refuse)
_bare = json.JSONDecoder(object_pairs_hook=_Pairs, parse_float=Number, parse_int=Number, parse_constant=Number)
_SPACE = re.compile(r"[ \t\r\n]*")
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"|[{\[]|[}\]]', re.DOTALL)


def _demand(condition: bool) -> None:
    if not condition:
        raise ValueError("not an action")


def _clean(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _depth(text: str) -> int:
    depth = deepest = 0
    for token in _NESTING.findall(text):
        depth += (token in "{[") - (token in "}]")
        deepest = max(deepest, depth)
    return deepest


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _members(text: str, at: int) -> tuple[list[tuple[str, Any, int, int]], int]:
    """(key, value, begin, end) of each member of the object at `at`, and where the object ends."""
    _demand(text[at : at + 1] == "{")
    at = _skip(text, at + 1)
    members: list[tuple[str, Any, int, int]] = []
    while not (text[at : at + 1] == "}" and not members):
        _demand(text[at : at + 1] == '"')
        key, at = _strict.raw_decode(text, at)
        at = _skip(text, at)
        _demand(text[at : at + 1] == ":")
        at = _skip(text, at + 1)
        try:
            value, end = _strict.raw_decode(text, at)
        except StopIteration as error:
            raise ValueError("a value is missing") from error
        members.append((_clean(key), value, at, end))
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            break
        _demand(text[at : at + 1] == ",")
        at = _skip(text, at + 1)
    return members, at + 1


def _read_line(
    raw: bytes, offset: int, commit: int, number: int, rows: list[dict[str, Any]], others: list[tuple[Any, ...]]
) -> None:
    text = raw.decode()
    members, end = _members(text, _skip(text, 0))
    _demand(_skip(text, end) == len(text) and _depth(text) <= MAX_DEPTH)
    last = {key: i for i, (key, *_) in enumerate(members)}
    places: dict[str, tuple[Any, ...]] = {}
    for i, (key, value, begin, stop) in enumerate(members):
        if key in ("add", "remove"):
            action = None if value is None else _file_action(text, begin)
            if last[key] == i and action is not None:
                rows.append({"commit": commit, "is_remove": key == "remove"} | action)
        elif value is None:
            places.pop(key, None)
        else:
            first = offset + len(text[:begin].encode())
            places[key] = (commit, number, key, first, first + len(text[begin:stop].encode()))
    others += places.values()


def _file_action(text: str, at: int) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(name for name, _ in _FIELDS.values())
    for key, value, begin, end in _members(text, at)[0]:
        if key in _FIELDS:
            name, read = _FIELDS[key]
            nested_stats = key == "stats" and isinstance(value, _Pairs)
            row[name] = None if value is None else text[begin:end] if nested_stats else read(value)
    _demand(row["path"] is not None)
    return row


def _string(value: Any) -> str:
    _demand(isinstance(value, str) and not isinstance(value, Number))
    return _clean(value)


def _long(value: Any) -> int:
    number = integral(value) if isinstance(value, Number) else None
    if number is None:
        raise ValueError("not a long")
    return number


def _int(value: Any) -> int:
    _demand(-(2**31) <= _long(value) < 2**31)
    return _long(value)


def _boolean(value: Any) -> bool:
    _demand(isinstance(value, bool))
    return bool(value)


def _text_map(value: Any) -> list[tuple[str, str | None]]:
    _demand(isinstance(value, _Pairs))
    entries: dict[str, str | None] = {}
    for key, item in value:
        _demand(item is None or isinstance(item, str | bool))
        entries[_clean(key)] = json.dumps(item) if isinstance(item, bool) else None if item is None else _clean(item)
    return list(entries.items())


def _deletion_vector(value: Any) -> dict[str, Any]:
    _demand(isinstance(value, _Pairs))
    fields: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "storageType": ("storage_type", _string),
        "pathOrInlineDv": ("path_or_inline_dv", _string),
        "offset": ("offset", _int),
        "sizeInBytes": ("size_in_bytes", _int),
        "cardinality": ("cardinality", _long),
    }
    vector: dict[str, Any] = dict.fromkeys(name for name, _ in fields.values())
    for key, item in value:
        if _clean(key) in fields:
            name, read = fields[_clean(key)]
            vector[name] = None if item is None else read(item)
    return vector


_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "path": ("path", _string),
    "partitionValues": ("partition_values", _text_map),
    "size": ("size", _long),
    "modificationTime": ("modification_time", _long),
    "dataChange": ("data_change", _boolean),
    "stats": ("stats", _string),
    "tags": ("tags", _text_map),
    "deletionVector": ("deletion_vector", _deletion_vector),
    "baseRowId": ("base_row_id", _long),
    "defaultRowCommitVersion": ("default_row_commit_version", _long),
    "clusteringProvider": ("clustering_provider", _string),
    "deletionTimestamp": ("deletion_timestamp", _long),
}
