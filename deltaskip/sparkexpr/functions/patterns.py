"""Functions that match Java's regular expressions. Each distinct pattern is compiled once.

Patterns beyond the subset of `expr.regex`, and matches that depend on the version of Java, are left to Spark.

# Spark 4.1, regexpExpressions.scala, UTF8String.split; Java 17, Matcher, Pattern.split
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.kernels.patterns import joined, search
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages.text_steps import matched
from deltaskip.sparkexpr.regex import Pattern, compiled
from deltaskip.sparkexpr.types.data_types import BOOLEAN, INTEGER, STRING, ArrayType, DataType
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.strings import check_length

_EACH = 2**62
_MOST_BYTES, _MOST_PIECES = 1 << 31, 1 << 27
_TOO_LONG = "Strings of more than 2 GiB in one batch are left to Spark."
_EMPTY = v.constant_of("", pa.string())
_ONE = v.constant_of(1, pa.int32())
_CHARACTER = r"(?s)."
_DIGITS = tuple("0123456789")
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _MatchesOfRows:
    """The matches of the rows of an array of strings.

    offsets: The index of the first match of each row, followed by the number of all matches.
    starts, ends: The offsets of the requested groups in the data of the strings, by match and group; -1 for a group
        that did not participate in the match.
    unsure: A mask of the rows whose matches are left to Spark; they have no matches in this object.
    """

    rows: pa.Array
    offsets: Longs
    starts: Longs
    ends: Longs
    unsure: npt.NDArray[np.bool_]

    @property
    def counts(self) -> Longs:
        """The number of matches of each row."""
        return np.diff(self.offsets)

    @property
    def row_of(self) -> Longs:
        """The row of each match."""
        return np.repeat(np.arange(len(self.rows)), self.counts)


def _search(rows: pa.Array, pattern: Pattern, groups: Sequence[int], most: int) -> _MatchesOfRows:
    offsets, spans, unsure = search(rows, pattern.program, list(groups), most)
    places = numpy_values(spans).reshape(-1, len(groups), 2) if groups else np.zeros((0, 0, 2), np.int64)
    return _MatchesOfRows(rows, numpy_values(offsets), places[..., 0], places[..., 1], numpy_values(unsure) != 0)


def _answer(found: pa.Array, matches: _MatchesOfRows) -> v.Partly | v.Values:
    return v.partly(found, matches.unsure)


def _data(rows: pa.Array) -> npt.NDArray[np.uint8]:
    """The bytes of the strings, to which the offsets of matches refer."""
    buffer = rows.buffers()[2]
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _bounds(rows: pa.Array) -> tuple[Longs, Longs]:
    """Start and end of each string in the data. Nulls are empty."""
    offsets = np.frombuffer(rows.buffers()[1], np.int32)[rows.offset : rows.offset + len(rows) + 1].astype(np.int64)
    starts, ends = offsets[:-1], offsets[1:]
    return (starts, np.where(numpy_values(rows.is_valid()), ends, starts)) if rows.null_count else (starts, ends)


def _strings(data: npt.NDArray[np.uint8], starts: Longs, ends: Longs, offsets: Longs) -> pa.Array:
    """Join pieces of the data to strings.

    The pieces of string i begin at index offsets[i]. A piece that starts at -1 is empty.
    """
    missing = starts < 0
    lengths = np.where(missing, 0, ends - starts)
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))[offsets]
    check_length(int(np.diff(sums).max(initial=0)))
    try:
        sizes, out = joined(
            data.tobytes(), arrow_array(np.where(missing, 0, starts)), arrow_array(np.where(missing, 0, ends)),
            arrow_array(offsets),
        )  # fmt: skip
    except OverflowError as error:
        raise Undecided(_TOO_LONG) from error
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, [None, sizes, out])


def _null_as(found: pa.Array, rows: pa.Array) -> pa.Array:
    """The values, null where `rows` is null."""
    return pc.if_else(rows.is_valid(), found, v.none_of(found.type)) if rows.null_count else found


def _lists(data: npt.NDArray[np.uint8], starts: Longs, ends: Longs, offsets: Longs, rows: pa.Array) -> pa.Array:
    """Lists of pieces of the data, null where `rows` is null."""
    values = _strings(data, starts, ends, np.arange(len(starts) + 1))
    mask = pc.invert(rows.is_valid()) if rows.null_count else None
    return pa.ListArray.from_arrays(arrow_array(offsets.astype(np.int32)), values, pa.list_(pa.string()), mask=mask)


def _rlike(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`rlike(text, pattern)`."""
    matches = _search(v.column(args[0]), compiled(v.constant(args[1])), (), 1)
    return _answer(v.made(matches.counts > 0, pa.bool_(), matches.rows), matches)


def _count(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`regexp_count(text, pattern)`."""
    matches = _search(v.column(args[0]), compiled(v.constant(args[1])), (), _EACH)
    return _answer(v.made(matches.counts.astype(np.int32), pa.int32(), matches.rows), matches)


def _place(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`regexp_instr(text, pattern)`: positions begin at 1; 0 means no match."""
    if len(args) == 3:
        v.constant(args[2])
    matches = _search(v.column(args[0]), compiled(v.constant(args[1])), (0,), 1)
    starts, _ = _bounds(matches.rows)
    before = _strings(_data(matches.rows), starts[matches.row_of], matches.starts[:, 0], matches.offsets)
    places = pc.add(pc.utf8_length(before), _ONE)
    found = pc.if_else(arrow_array(matches.counts > 0), places, v.constant_of(0, pa.int32()))
    return _answer(_null_as(found, matches.rows), matches)


def _extract(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`regexp_extract(text, pattern, group)` of the first match; '' without a match or if the group has no match."""
    matches = _grouped(args, call, 1)
    found = _strings(_data(matches.rows), matches.starts[:, 0], matches.ends[:, 0], matches.offsets)
    return _answer(_null_as(found, matches.rows), matches)


def _extract_all(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`regexp_extract_all(text, pattern, group)`."""
    matches = _grouped(args, call, _EACH)
    starts, ends = matches.starts[:, 0], matches.ends[:, 0]
    return _answer(_lists(_data(matches.rows), starts, ends, matches.offsets, matches.rows), matches)


def _grouped(args: Sequence[v.Values], call: Call, most: int) -> _MatchesOfRows:
    """The matches with the offsets of the requested group. Raises if a row matches and the group does not exist."""
    pattern, group = compiled(v.constant(args[1])), v.constant(args[2]) if len(args) == 3 else 1
    exists = 0 <= group <= pattern.groups
    matches = _search(v.column(args[0]), pattern, (group if exists else 0,), most)
    if not exists and len(matches.starts):
        raise EvaluationError(
            f"{call.name} asks for the group {group} of a pattern with {pattern.groups} "
            "(INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX)."
        )
    _check_repeated(pattern, group)
    return matches


def _check_repeated(pattern: Pattern, *groups: int) -> None:
    if pattern.repeated.intersection(groups):
        raise Undecided("The last match of a repeated group of a regular expression is left to Spark.")


def _substring(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`regexp_substr(text, pattern)`: the first match; NULL without a match or if the match is empty."""
    matches = _search(v.column(args[0]), compiled(v.constant(args[1])), (0,), 1)
    found = _strings(_data(matches.rows), matches.starts[:, 0], matches.ends[:, 0], matches.offsets)
    return _answer(pc.if_else(pc.equal(found, _EMPTY), v.none_of(pa.string()), found), matches)


def _replace(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`regexp_replace(text, pattern, replacement, position)`: replaces each match from a position on."""
    rows, pattern, replacement = v.column(args[0]), compiled(v.constant(args[1])), v.constant(args[2])
    position = v.constant(args[3]) if len(args) == 4 else 1
    if position == 1:
        return _replaced(rows, pattern, replacement)
    if len(rows) > 1 or rows.null_count:
        raise v.NotByColumn
    # The position counts UTF-16 units, and the pattern does not see the text before the position.
    [text] = rows.to_pylist()
    units = text.encode("utf-16-le")
    if 2 * (position - 1) >= len(units):
        return rows
    try:
        head, tail = (part.decode("utf-16-le") for part in (units[: 2 * position - 2], units[2 * position - 2 :]))
    except UnicodeDecodeError as error:
        raise Undecided("A position within a surrogate pair is left to Spark.") from error
    found = _replaced(v.text_array([tail]), pattern, replacement)
    if isinstance(found, v.Partly):
        return found
    return pc.binary_join_element_wise(v.text_array([head]), found, _EMPTY)


def _replaced(rows: pa.Array, pattern: Pattern, replacement: str) -> v.Partly | v.Values:
    parts: list[bytes | int] = []
    try:
        for literal, found in groupby(_parts(replacement, pattern.groups), lambda part: isinstance(part, bytes)):
            same = list(found)
            parts += [b"".join(same)] if literal else same  # type: ignore[arg-type]
    except EvaluationError:
        # Java parses the replacement only if a row matches.
        if len(_search(rows, pattern, (0,), 1).starts):
            raise
    numbers = [part for part in parts if isinstance(part, int)]
    matches = _search(rows, pattern, (0, *numbers), _EACH)
    if len(matches.starts):
        _check_repeated(pattern, *numbers)
    data = _data(rows)
    size = sum(len(part) for part in parts if isinstance(part, bytes))
    if len(matches.starts) * size >= _MOST_BYTES or len(matches.starts) * (1 + len(parts)) > _MOST_PIECES:
        raise Undecided(_TOO_LONG)
    starts, ends = _pieces(matches, len(parts))
    taken = 1
    width, total = 1 + len(parts), len(data)
    where = np.arange(len(matches.starts)) * width + matches.row_of + 1
    literals: list[bytes] = []
    for at, part in enumerate(parts):
        if isinstance(part, int):
            starts[where + at], ends[where + at] = matches.starts[:, taken], matches.ends[:, taken]
            taken += 1
        else:
            starts[where + at], ends[where + at] = total, total + len(part)
            literals.append(part)
            total += len(part)
    data = np.concatenate((data, np.frombuffer(b"".join(literals), np.uint8))) if literals else data
    found = _strings(data, starts, ends, matches.offsets * width + np.arange(len(rows) + 1))
    return _answer(_null_as(found, rows), matches)


def _pieces(matches: _MatchesOfRows, parts: int) -> tuple[Longs, Longs]:
    """Starts and ends of the pieces of each row.

    For each match, a row has the text before the match and `parts` empty pieces for the replacement; the text after the
    last match follows.
    """
    width, count = 1 + parts, len(matches.starts)
    begins, stops = _bounds(matches.rows)
    starts, ends = np.zeros((2, count * width + len(begins)), np.int64)
    rows = matches.row_of
    first = np.ones(count, np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    before = np.zeros(count, np.int64)
    before[1:] = matches.ends[:-1, 0]
    where = np.arange(count) * width + rows
    starts[where], ends[where] = np.where(first, begins[rows], before), matches.starts[:, 0]
    last = matches.offsets[1:] * width + np.arange(len(begins))
    starts[last], ends[last] = begins, stops
    some = matches.counts > 0
    starts[last[some]] = matches.ends[matches.offsets[1:][some] - 1, 0]
    return starts, ends


def _parts(replacement: str, groups: int) -> list[bytes | int]:
    """The literal bytes and group numbers of a replacement."""
    found: list[bytes | int] = []
    at = 0
    while at < len(replacement):
        character = replacement[at]
        at += 1
        if character not in "\\$":
            found.append(character.encode())
            continue
        if at == len(replacement):
            raise _bad(replacement, f"a {character} before nothing")
        after = replacement[at]
        if character == "\\":
            found.append(after.encode())
            at += 1
            continue
        if after == "{":
            raise Undecided("A replacement with a group by its name is left to Spark.")
        if after not in _DIGITS:
            raise _bad(replacement, "a $ before no number")
        number = int(after)
        at += 1
        while replacement[at : at + 1] in _DIGITS and 10 * number + int(replacement[at]) <= groups:
            number = 10 * number + int(replacement[at])
            at += 1
        if number > groups:
            raise _bad(replacement, f"the group {number}, which the pattern does not have")
        found.append(number)
    return found


def _bad(replacement: str, what: str) -> EvaluationError:
    return EvaluationError(f"The replacement {shown(replacement)} has {what} (INVALID_REGEXP_REPLACE).")


def _split(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`split(text, pattern, limit)`: the parts between matches. With a positive limit, the last part is the rest."""
    rows, pattern, limit = v.column(args[0]), v.constant(args[1]), v.constant(args[2]) if len(args) == 3 else -1
    most = limit if limit > 0 else _EACH
    matches = _search(rows, compiled(pattern if pattern else _CHARACTER), (0,), most)
    starts, ends = matches.starts[:, 0], matches.ends[:, 0]
    begins, _ = _bounds(rows)
    row = matches.row_of
    # The pattern '' splits a string into its characters. Other patterns split at their matches, except at an empty
    # match at the beginning.
    used = starts > begins[row] if not pattern else (ends > starts) | (starts > begins[row])
    order = np.cumsum(used, dtype=np.int64)
    before = np.concatenate((np.zeros(1, np.int64), order))[matches.offsets[:-1]]
    used &= order - before[row] < most
    kept = _MatchesOfRows(
        rows,
        np.concatenate((np.zeros(1, np.int64), np.cumsum(used, dtype=np.int64)))[matches.offsets],
        starts[used][:, None],
        (ends if pattern else starts)[used][:, None],
        matches.unsure,
    )
    piece_starts, piece_ends = _pieces(kept, 0)
    offsets = kept.offsets + np.arange(len(rows) + 1)
    return _answer(_lists(_data(rows), piece_starts, piece_ends, offsets, rows), kept)


def _one_row(by_column: function.ByColumn) -> function.Compute:
    """Compute a single value as a column with one row."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        given = [v.constant_of(arg, pa.string() if isinstance(arg, str) else pa.int32()) for arg in args[1:]]
        found = by_column([v.text_array([args[0]]), *given], call, zone)
        if isinstance(found, v.Partly):
            raise Undecided(f"The matches in {shown(args[0])} depend on the version of Java, or it is too long.")
        [value] = domain_values(found)
        return value

    return compute


def _signature(result: DataType, least: int, *rest: DataType) -> function.Signature:
    """Accept strings, and the optional arguments `rest`."""
    return function.takes(result, *[STRING] * least, *rest, optional=len(rest))


def _replace_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept three strings and an optional position, a constant above 0."""
    typed = _signature(STRING, 3, INTEGER)(args)
    if typed is None or len(args) == 3:
        return typed
    position = args[3].value if isinstance(args[3], Literal) else 0
    return typed if isinstance(position, int) and position > 0 else None


def _function(signature: function.Signature, by_column: function.ByColumn, *aliases: str) -> function.Function:
    return function.Function(signature, _one_row(by_column), binary_only=True, by_column=by_column, aliases=aliases)


_TEXTS = ArrayType(STRING)

PATTERNS: Mapping[str, function.FunctionRow] = {
    "rlike": replace(
        _function(_signature(BOOLEAN, 2), _rlike, "regexp", "regexp_like"),
        preimage=matched,
        order=function.constant_null_first,
    ),
    "regexp_count": _function(_signature(INTEGER, 2), _count),
    "regexp_instr": _function(_signature(INTEGER, 2, INTEGER), _place),
    "regexp_substr": _function(_signature(STRING, 2), _substring),
    "regexp_extract": _function(_signature(STRING, 2, INTEGER), _extract),
    "regexp_extract_all": _function(_signature(_TEXTS, 2, INTEGER), _extract_all),
    "regexp_replace": _function(_replace_signature, _replace),
    "split": _function(_signature(ArrayType(STRING, False), 2, INTEGER), _split),
}
