"""Functions of strings and binary, which count code points and compare bytes, as in Spark.

# Spark 4.1, UTF8String, stringExpressions.scala
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import is_nested, type_of
from deltaskip.sparkexpr.collations.collation_id import BINARY_NAME, CollationId
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_collated
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions import function as f
from deltaskip.sparkexpr.functions.function import by_value, value_function
from deltaskip.sparkexpr.functions.text_parts import TEXT_PARTS, nothing
from deltaskip.sparkexpr.kernels.text_matches import likes
from deltaskip.sparkexpr.kernels.text_parts import capitalized, has_parts
from deltaskip.sparkexpr.kernels.text_rows import joined, padded
from deltaskip.sparkexpr.kernels.text_rows import repeated as repetitions
from deltaskip.sparkexpr.preimages import text_steps as preimages
from deltaskip.sparkexpr.preimages.monotone import injective
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.ddl import parse_type_text
from deltaskip.sparkexpr.types.lengths import char_padded
from deltaskip.sparkexpr.values import strings
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import NOTHING, domain_values, filled, is_not_false, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.strings import ANY_CHARACTER, ANY_STRING, cased, like_tokens

# Longer results are computed one by one, within the limit of `strings`.
_MOST_REPEATED = 1 << 10
_MOST_WRITTEN, _MOST_TOGETHER = 1 << 16, 1 << 29
_EIGHT = v.constant_of(8, pa.int32())
_QUOTE = v.constant_of("'", pa.string())
_BACKSLASH = n.Literal("\\", t.STRING)
# The length of a string is in characters.
_LENGTHS = {pa.binary(): pc.binary_length, pa.string(): pc.utf8_length}


def _cased(upper: bool, alias: str) -> f.Function:
    of_ascii = pc.ascii_upper if upper else pc.ascii_lower
    change = partial(strings.cased, upper=upper)
    return value_function(
        f.takes(t.STRING, t.STRING),
        change,
        lambda args, call, zone: _with_rest(of_ascii(args[0]), args[0], change),
        binary_only=True,
        aliases=(alias,),
        preimage=preimages.cased_text(upper),
    )


def _capitals(text: str) -> str:
    """Like `strings.capitalized`, but fast for a long text."""
    strings.check_capitals(text)
    # Every letter has a counterpart in the other case.
    given, small, large = (
        np.frombuffer(each.encode("utf-32-le"), np.uint32) for each in (text, text.lower(), text.translate(_TITLES))
    )
    begins = np.concatenate(([True], given[:-1] == ord(" ")))
    return np.where(begins, large, small).tobytes().decode("utf-32-le")


class _Titles(dict[int, str]):
    """The title case of each code point."""

    def __missing__(self, point: int) -> str:
        found = self[point] = chr(point).title()
        return found


_TITLES = _Titles()


def with_parts(text: v.Values, part: pa.Array, place: int) -> v.Values:
    """Return whether each string has the part of its row at `place` (see kernels.text_parts.has_parts)."""
    if any(each.type not in (pa.string(), pa.binary()) for each in (text, part)):
        raise v.NotByColumn
    return pc.cast(has_parts(v.as_array(text, len(part)), part, place), pa.bool_())


def _reverse_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    ascii_only = pc.all(pc.string_is_ascii(v.column(args[0]))).as_py() is not False
    return (pc.ascii_reverse if ascii_only else pc.utf8_reverse)(args[0])


def _concat_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if len(args) == 2 and not any(map(v.is_constant, args)):
        return joined(*args)
    return pc.binary_join_element_wise(*args, nothing(args[0].type))


def _quote_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    escaped = pc.replace_substring(v.column(args[0]), "'", "\\'")
    return pc.binary_join_element_wise(_QUOTE, escaped, _QUOTE, NOTHING)


def like_column(text: v.Values, pattern: str, escape: str, case_insensitive: bool) -> v.Partly | v.Values:
    """`text LIKE pattern ESCAPE escape`, or ILIKE.

    Raises EvaluationError for an escape character before an ordinary character or at the end.
    """
    rows = v.column(text)
    if case_insensitive:
        pattern = cased(pattern, False)
        lowered = _with_rest(pc.ascii_lower(rows), rows, lambda each: cased(each, False))
        if isinstance(lowered, v.Partly):
            return v.Partly(_like(lowered.values, pattern, escape), lowered.rest)
        return _like(lowered, pattern, escape)
    return _like(rows, pattern, escape)


def _like(texts: pa.Array, pattern: str, escape: str) -> pa.Array:
    tokens = like_tokens(pattern, escape)
    wild = [at for at, (is_wild, _) in enumerate(tokens) if is_wild]
    first = next((at for at, (is_wild, _) in enumerate(tokens) if not is_wild), len(tokens))
    stop = len(tokens) - next((at for at, (is_wild, _) in enumerate(reversed(tokens)) if not is_wild), len(tokens))
    if any(first <= at < stop or tokens[at][1] != ANY_STRING for at in wild):
        wanted = {ANY_STRING: ".*", ANY_CHARACTER: "."}
        source = "".join(wanted[character] if is_wild else re.escape(character) for is_wild, character in tokens)
        return pc.match_substring_regex(texts, rf"(?s)\A(?:{source})\z")
    text = "".join(character for is_wild, character in tokens if not is_wild)
    match first > 0, stop < len(tokens):
        case False, False:
            return pc.equal(texts, v.constant_of(text, pa.string()))
        case False, True:
            return pc.starts_with(texts, text)
        case True, False:
            return pc.ends_with(texts, text)
        case _:
            return pc.match_substring(texts, text)


def like_rows(text: v.Values, patterns: pa.Array, escape: str, case_insensitive: bool) -> v.Partly | v.Values:
    """`text LIKE pattern ESCAPE escape`, or ILIKE, with a pattern for each row; invalid escapes are left over."""
    given = v.arrays_of(text, patterns)
    rest = np.zeros(len(patterns), np.bool_)
    if case_insensitive:
        for at, each in enumerate(given):
            lowered = _with_rest(pc.ascii_lower(each), each, lambda text: cased(text, False))
            if isinstance(lowered, v.Partly):
                lowered, rest = lowered.values, rest | lowered.rest
            given[at] = lowered
    found = likes(given[0], given[1], escape)
    rest |= numpy_values(filled(found, 0)) == 2
    return v.partly(pc.equal(found, v.constant_of(1, pa.uint8())), rest)


def _like_node(insensitive: bool, text: n.Node, pattern: n.Node, escape: n.Node = _BACKSLASH) -> n.Node | None:
    """The node of `like(text, pattern, escape)`; None unless the escape is a constant character."""
    match escape:
        case n.Literal(str() as character) if len(character) == 1:
            return n.Like(text, pattern, character, insensitive)
    return None


def _with_rest(found: Any, text: v.Values, change: Callable[[str], str] | None = None) -> v.Partly | v.Values:
    """The values of ASCII rows. Other rows are computed together with `change`, or left over without it."""
    ascii_only = is_not_false(pc.string_is_ascii(v.column(text)))
    if pc.all(ascii_only).as_py() is not False:
        return found
    rest = ~numpy_values(ascii_only)
    if change is None:
        return v.Partly(found, rest)
    try:
        # The case of a letter depends on the adjacent letters up to a blank.
        changed = v.changed_together(text.filter(pc.invert(ascii_only)), change, " \0 ")
    except Undecided:
        # Row-by-row evaluation finds the strings that only Spark can convert.
        return v.Partly(found, rest)
    return pc.if_else(ascii_only, found, v.scattered(changed, rest))


def _concat_signature(args: tuple[n.Node, ...]) -> f.Typed:
    target = t.BINARY if args and all(type_of(arg) == t.BINARY for arg in args) else t.STRING
    if any(map(_is_text_of_joined, args)):
        return None
    return f.takes(target, *[target] * len(args))(args)


def _is_text_of_joined(node: n.Node) -> bool:
    """Whether a node is a concat of arrays that is cast to a string.

    Spark's optimizer (CombineConcats), if it runs, casts each array within an enclosing concat of strings.
    """
    match node:
        case n.Cast(n.Call("concat", _, type_), target):
            return target == t.STRING and isinstance(type_, t.ArrayType)
    return False


def _part_signature(args: tuple[n.Node, ...]) -> f.Typed:
    """Accept two strings, or two binary values."""
    of = t.BINARY if [type_of(arg) for arg in args] == [t.BINARY, t.BINARY] else t.STRING
    if of == t.STRING:
        comparison_collation(*args)
    return f.takes(t.BOOLEAN, of, of)(args)


def _part(
    compute: Callable[[Any, Any], object], by_column: Callable[[pa.Array, Any], pa.Array], place: int
) -> f.Function:
    """A function that returns whether a string or binary value has another at `place` (see `with_parts`).

    by_column: Computes a column of values with a constant part.
    """

    def columns(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
        if not v.is_constant(args[1]):
            return with_parts(args[0], args[1], place)
        return by_column(v.column(args[0]), v.constant(args[1]))

    return value_function(_part_signature, compute, columns, binary_only=True)


def _trim(at_start: bool, at_end: bool, text_first: bool = False) -> f.Function:
    """A function that trims characters, by default blanks, from the ends of a string.

    text_first: Whether the string is the first argument and the characters the second.
    """
    trimmed = pc.utf8_trim if at_start and at_end else pc.utf8_ltrim if at_start else pc.utf8_rtrim

    def parts(args: Sequence[Any]) -> Sequence[Any]:
        return args if text_first else args[::-1]

    def compute(*args: str) -> str:
        text, characters = (*parts(args), " ")[:2]
        return strings.trimmed(text, characters, at_start, at_end)

    def columns(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
        text, *characters = parts(args)
        unwanted = v.constant(characters[0]) if characters else " "
        return trimmed(v.column(text), unwanted) if unwanted else v.column(text)

    preimage = preimages.trimmed_steps(at_start, at_end, text_first)
    signature = f.takes(t.STRING, t.STRING, t.STRING, optional=1)
    function = value_function(signature, compute, columns, binary_only=True, preimage=preimage)
    return function if text_first else replace(function, order=f.backwards)


def _concat_ws_signature(args: tuple[n.Node, ...]) -> f.Typed:
    """Accept strings; arrays of strings are left to Spark."""
    return f.takes(t.STRING, *[t.STRING] * len(args))(args) if args else None


def concat_ws(separator: str | None, *parts: Any) -> object:
    """`concat_ws(separator, parts)` of strings and arrays of strings."""
    if separator is None:
        return None
    texts = [text for each in parts for text in (each if isinstance(each, tuple) else (each,)) if text is not None]
    return strings.concat([piece for text in texts for piece in (separator, text)][1:], "")


def _concat_ws_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    separator = v.constant(args[0])
    if separator is None:
        raise v.NotByColumn
    # pyarrow loses rows without any part: an empty part comes first.
    joined = pc.binary_join_element_wise(NOTHING, *args[1:], args[0], null_handling="skip")
    return pc.utf8_slice_codeunits(joined, len(separator), None)


def _repeat_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if not v.is_constant(args[1]):
        text, counts = v.arrays_of(*args)
        _check_sizes(pc.multiply(pc.binary_length(text).cast(pa.int64()), counts))
        return repetitions(text, counts)
    if v.constant(args[1]) > _MOST_REPEATED:
        raise v.NotByColumn
    return pc.binary_repeat(v.column(args[0]), max(v.constant(args[1]), 0))


def _check_sizes(sizes: pa.Array) -> None:
    """Raise NotByColumn if a string is long or if the strings exceed one Arrow array."""
    known = pc.max_element_wise(sizes, v.constant_of(0, sizes.type))
    if (pc.max(known).as_py() or 0) > _MOST_WRITTEN or (pc.sum(known).as_py() or 0) >= _MOST_TOGETHER:
        raise v.NotByColumn


def _padded_signature(args: tuple[n.Node, ...]) -> f.Typed:
    """Accept a string or binary, a length, and an optional padding: by default a blank, or a zero byte for binary."""
    types = {type_of(arg) for arg in (*args[:1], *args[2:])}
    if {t.BINARY, t.VOID} <= types:
        return None
    of = t.BINARY if types == {t.BINARY} else t.STRING
    return f.with_counts(f.takes(of, of, t.INTEGER, of, optional=1), 1)(args)


def _padded(left: bool) -> f.Function:
    def compute(text: str | bytes, length: int, pad: str | bytes | None = None) -> object:
        return strings.padded(text, length, (" " if isinstance(text, str) else b"\0") if pad is None else pad, left)

    return value_function(_padded_signature, compute, _padded_column)


def _padded_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`lpad(text, width, pad)` and `rpad`."""
    pads = args[2] if len(args) == 3 else v.constant_of(" " if call.type == t.STRING else b"\0", args[0].type)
    text, widths, pads = v.arrays_of(args[0], args[1], pads)
    _check_sizes(widths)
    return padded(text, widths, pads, call.name == "lpad")


def _bytes_of(value: str | bytes) -> int:
    return len(value.encode() if isinstance(value, str) else value)


def _collation_name(args: tuple[n.Node, ...]) -> f.Typed:
    """Accept a string, and return the name of its collation as a constant."""
    if len(args) != 1 or type_of(args[0]) not in (t.STRING, t.VOID):
        return None
    written = comparison_collation(*args) if is_collated(*args) else BINARY_NAME
    name = None if written is None else CollationId.named(written).name_parts
    if name is None or not name.spark:
        return None
    return (n.Literal(f"SYSTEM.BUILTIN.{name.normalized}", t.STRING),), t.STRING


def _collated(text: n.Node, name: n.Node) -> n.Node | None:
    """The node of `collate(text, name)` with a constant name; None for other names."""
    written = name.value if isinstance(name, n.Literal) else None
    return n.Collate(text, written) if isinstance(written, str) and "." not in written else None


def _read_signature(args: tuple[n.Node, ...]) -> f.Typed:
    """Accept a string and its length, or a nested value and the text of its type with lengths."""
    type_ = type_of(args[0])
    return (args, type_) if type_ is not None and is_nested(type_) else f.takes(t.STRING, t.STRING, t.INTEGER)(args)


def _read(args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
    if isinstance(args[1], int):
        return args[0].ljust(args[1])
    assert call.type is not None
    return domain_values(char_padded(v.array_of([args[0]], call.type), parse_type_text(args[1])))[0]


def _read_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    wanted = v.constant(args[1])
    if isinstance(wanted, int):
        return pc.utf8_rpad(v.column(args[0]), wanted)
    return char_padded(v.column(args[0]), parse_type_text(wanted))


TEXT: Mapping[str, f.FunctionRow] = {
    **TEXT_PARTS,
    "startswith": f.Replaced(n.StartsWith, 2),
    "like": f.Replaced(lambda *args: _like_node(False, *args), 2, 3),
    "ilike": f.Replaced(lambda *args: _like_node(True, *args), 2, 3),
    "repeat": value_function(
        f.with_counts(f.takes(t.STRING, t.STRING, t.INTEGER), 1),
        strings.repeated,
        _repeat_column,
        preimage=preimages.start_of(least=1),
    ),
    "lpad": _padded(left=True),
    "rpad": _padded(left=False),
    n.PADDED: f.Function(_read_signature, _read, by_column=by_value(_read, _read_column)),
    "space": value_function(f.with_counts(f.takes(t.STRING, t.INTEGER), 0), partial(strings.repeated, " ")),
    "concat_ws": f.Function(
        _concat_ws_signature, f.by_row(concat_ws), False, by_column=_concat_ws_column, preimage=preimages.start_of(at=1)
    ),
    "bit_length": f.Function(
        f.text_or_bytes(t.INTEGER),
        f.by_row(lambda value: 8 * _bytes_of(value)),
        by_column=lambda args, call, zone: pc.multiply(pc.binary_length(args[0]), _EIGHT),
    ),
    "upper": _cased(True, "ucase"),
    "lower": _cased(False, "lcase"),
    "initcap": value_function(
        f.takes(t.STRING, t.STRING),
        strings.capitalized,
        lambda args, call, zone: _with_rest(capitalized(args[0]), args[0], _capitals),
        binary_only=True,
    ),
    "trim": _trim(True, True),
    "btrim": _trim(True, True, text_first=True),
    "ltrim": _trim(True, False),
    "rtrim": _trim(False, True),
    "contains": _part(operator.contains, pc.match_substring, 1),
    "endswith": _part(lambda text, part: text.endswith(part), pc.ends_with, 2),
    "reverse": value_function(
        f.takes(t.STRING, t.STRING), lambda text: text[::-1], _reverse_column, preimage=preimages.REVERSED
    ),
    "quote": value_function(
        f.takes(t.STRING, t.STRING),
        lambda text: "'" + text.replace("'", "\\'") + "'",
        _quote_column,
        preimage=injective(lambda text, call: text[1:-1].replace("\\'", "'")),
    ),
    "length": f.Function(
        f.text_or_bytes(t.INTEGER),
        f.by_row(len),
        by_column=lambda args, call, zone: _LENGTHS[args[0].type](args[0]),
        aliases=("len", "char_length", "character_length"),
    ),
    "octet_length": f.Function(
        f.text_or_bytes(t.INTEGER), f.by_row(_bytes_of), by_column=lambda args, call, zone: pc.binary_length(args[0])
    ),
    "concat": f.Function(
        _concat_signature,
        lambda args, call, zone: strings.concat(args, b"" if call.type == t.BINARY else ""),
        by_column=_concat_column,
        preimage=preimages.concatenated,
    ),
    "collation": f.Function(_collation_name, f.by_row(lambda name: name)),
    "collate": f.Replaced(_collated, 2),
}
"""Functions of whole strings and of their parts."""
