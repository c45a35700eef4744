"""Functions of parts of strings and binary: positions, slices, delimiters, replacement of characters, soundex, mask.

# Spark 4.1, UTF8String, stringExpressions.scala, maskExpressions.scala
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import implicit_cast, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Typed, by_row, uncast, value_function
from deltaskip.sparkexpr.kernels.text_parts import before_delimiter, located, part_between
from deltaskip.sparkexpr.kernels.text_rows import slices
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.preimages import text_steps as preimages
from deltaskip.sparkexpr.types.data_types import BINARY, INTEGER, STRING, VOID
from deltaskip.sparkexpr.values import strings
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.vectors import NotByColumn, Values, changed_together, column, constant

_LEAST, _MOST = -(2**31), 2**31 - 1
# Longer results are computed one by one, within the limit of `strings`.
_MOST_REPLACED = 1 << 24
_ONE = v.constant_of(1, pa.int32())
_MOST_CHARACTERS = v.constant_of(_MOST, pa.int32())
# Two strings, and an optional count.
_TEXTS_AND_COUNT = function.with_counts(function.takes(INTEGER, STRING, STRING, INTEGER, optional=1), 2)


def sliced(values: pa.Array, position: int, length: int) -> pa.Array:
    """`substring(values, position, length)`. Positions begin at 1; 0 means 1, and a negative position counts back."""
    if values.type == pa.binary():
        return slices(values, *(pa.repeat(v.constant_of(each, pa.int32()), len(values)) for each in (position, length)))
    start = position - 1 if position > 0 else position
    stop: int | None = start + length
    if length <= 0:
        return pc.utf8_slice_codeunits(values, 0, 0)
    if stop is not None and ((start < 0 <= stop) or stop > _MOST):
        stop = None
    return pc.utf8_slice_codeunits(values, start, stop)


def nothing(type_: pa.DataType) -> pa.Scalar:
    """An empty string or binary value."""
    return v.constant_of("" if type_ == pa.string() else b"", type_)


def _substring_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`substring(text, position, length)`."""
    length = args[2] if len(args) == 3 else _MOST_CHARACTERS
    if all(map(v.is_constant, (args[1], length))):
        return sliced(v.column(args[0]), v.constant(args[1]), v.constant(length))
    return slices(*v.arrays_of(args[0], args[1], length))


def _right_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`right(text, length)`."""
    if not v.is_constant(args[1]):
        text, length = v.arrays_of(*args)
        there = pc.greater(length, v.constant_of(0, pa.int32()))
        return slices(text, pc.negate(length), pc.if_else(there, _MOST_CHARACTERS, v.constant_of(0, pa.int32())))
    length = v.constant(args[1])
    return sliced(v.column(args[0]), -length, _MOST) if length > 0 else sliced(v.column(args[0]), 1, 0)


def _overlay_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`overlay(text, new, position, length)` with a constant position, and a constant length or new text."""
    text, position = v.column(args[0]), v.constant(args[2])
    length = v.constant(args[3]) if len(args) == 4 else -1
    length = length if length >= 0 else len(v.constant(args[1]))
    before = sliced(text, 1, strings.wrapped(position - 1))
    behind = sliced(text, strings.wrapped(position + length), _MOST)
    return pc.binary_join_element_wise(before, args[1], behind, nothing(text.type))


def _overlay_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept strings, or binary for text and replacement, a position, and an optional length."""
    binary = [type_of(arg) == BINARY for arg in args[:2]]
    if any(binary) and not all(binary):
        return None
    of = BINARY if all(binary) else STRING
    return function.with_counts(function.takes(of, of, of, INTEGER, INTEGER, optional=1), 2, 3)(args)


def _before_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`substring_index(text, delimiter, count)` with constants."""
    if v.constant(args[2]) == _LEAST:
        raise v.NotByColumn
    return before_delimiter(v.column(args[0]), v.constant(args[1]).encode(), v.constant(args[2]))


def _before(text: str, delimiter: str, count: int) -> str:
    """`substring_index(text, delimiter, count)`."""
    if count == _LEAST:
        raise Undecided("A count of -2147483648 is left to Spark.")
    return strings.before_delimiter(text, delimiter, count)


def _split_part_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`split_part(text, delimiter, number)` with constants."""
    number = v.constant(args[2])
    if number in (0, _LEAST):
        raise v.NotByColumn
    return part_between(v.column(args[0]), v.constant(args[1]).encode(), number)


def _split_part(text: str, delimiter: str, number: int) -> str:
    """`split_part(text, delimiter, number)`. Parts count from 1, or from the end if negative."""
    if number == 0:
        raise EvaluationError("The parts of a string are numbered from 1 (INVALID_INDEX_OF_ZERO).")
    if number == _LEAST:
        raise Undecided("The part with the number -2147483648 is left to Spark.")
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _translate_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`translate(text, characters, others)` with constants."""
    old, new = map(v.constant, args[1:])
    if "\0" in old + new:
        raise v.NotByColumn
    table = strings.translation(old, new)
    return changed_together(v.column(args[0]), lambda text: text.translate(table), "\0")


def _locate_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`locate(part, text, start)` with constants, and `instr`, which exchanges part and text."""
    part, text = (args[1], args[0]) if call.name == "instr" else args[:2]
    return located(v.column(text), v.constant(part).encode(), v.constant(args[2]) if len(args) == 3 else 1)


def _locating(*args: n.Node) -> n.Node | None:
    """The node of `locate(part, text, start)`, which is 0 for a NULL start; None without a start or for a constant."""
    if len(args) != 3 or (isinstance(args[2], n.Literal) and args[2].value is not None):
        return None
    part, text, start = args
    # The cast comes first, as in Spark: a start that is not an integer fails even if other arguments are NULL.
    return n.Case(((n.IsNull(n.Cast(start, INTEGER)), n.Literal(0, INTEGER)),), n.Call("locate", (part, text, start)))


def _replace_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`replace(text, old, new)` with constants."""
    text, old = v.column(args[0]), v.constant(args[1])
    new = v.constant(args[2]) if len(args) == 3 else ""
    if not old:
        return text
    longest = pc.max(pc.binary_length(text)).as_py() or 0
    if len(new) > len(old) and longest // len(old) * len(new.encode()) > _MOST_REPLACED:
        raise v.NotByColumn
    return pc.replace_substring(text, old, new)


def _find_in_set(word: str, texts: str) -> int:
    """`find_in_set(word, texts)`: the position, from 1, in a comma-separated list; 0 if the word is not in it."""
    if "," in word:
        return 0
    parts = texts.split(",")
    return parts.index(word) + 1 if word in parts else 0


def _find_in_set_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`find_in_set(word, texts)` with a constant list."""
    places = pc.index_in(v.column(args[0]), value_set=v.text_array(v.constant(args[1]).split(",")))
    found = pc.add(pc.fill_null(places, v.constant_of(-1, pa.int32())), _ONE)
    return pc.if_else(args[0].is_valid(), found, v.none_of(pa.int32()))


def _elt_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept a number and values, all binary or all cast to string. Spark evaluates all values, also if not chosen."""
    values = args[1:]
    types = {type_of(value) for value in values}
    of = BINARY if types == {BINARY} else STRING
    cast = tuple(implicit_cast(value, of) for value in values)
    if (
        not values
        or {BINARY, VOID} <= types
        or not all(value is not None and function.is_plain(value) for value in cast)
    ):
        return None
    typed = function.with_counts(function.takes(of, INTEGER), 0)(args[:1])
    return None if typed is None else ((*typed[0], *(value for value in cast if value is not None)), of)


def _elt(number: int | None, *values: object) -> object:
    if number is None:
        return None
    if not 1 <= number <= len(values):
        raise EvaluationError(f"There is no value {number} of {len(values)} (INVALID_ARRAY_INDEX).")
    return values[number - 1]


def _elt_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if v.is_constant(args[0]):
        number = v.constant(args[0])
        if number is None or not 1 <= number < len(args):
            raise v.NotByColumn
        return args[number]
    given = v.numbers(args[0])
    if v.any_set((given < 1) | (given >= len(args)), args[0]):
        raise v.NotByColumn
    return pc.choose(pc.subtract(args[0], _ONE), *(v.as_array(each, len(args[0])) for each in args[1:]))


def _levenshtein(left: str, right: str, most: int | None = None) -> int:
    """`levenshtein(left, right, most)`: -1 for a greater distance."""
    found = strings.edit_distance(left, right)
    return found if most is None or found <= most else -1


def _levenshtein_signature(args: tuple[n.Node, ...]) -> function.Typed:
    # For a NULL limit, Spark returns 0 or -1, depending on whether it interprets or compiles the expression.
    return None if any(map(is_nullable, args[2:])) else _TEXTS_AND_COUNT(args)


TEXT_PARTS: Mapping[str, function.FunctionRow] = {
    "substring": value_function(
        function.with_counts(function.text_or_bytes(None, INTEGER, INTEGER, optional=1), 1, 2),
        strings.substring,
        _substring_column,
        aliases=("substr",),
        preimage=preimages.substring_steps,
    ),
    "left": value_function(
        function.with_counts(function.text_or_bytes(None, INTEGER), 1),
        lambda text, length: strings.substring(text, 1, length),
        lambda args, call, zone: _substring_column((args[0], _ONE, args[1]), call, zone),
        preimage=preimages.left_part,
    ),
    "right": value_function(
        function.with_counts(function.takes(STRING, STRING, INTEGER), 1), strings.right, _right_column
    ),
    "overlay": value_function(_overlay_signature, strings.overlaid, _overlay_column),
    **{
        name: value_function(
            function.with_counts(function.takes(STRING, STRING, STRING, INTEGER), 2),
            compute,
            by_column,
            binary_only=True,
            preimage=preimages.up_to_delimiter,
        )
        for name, compute, by_column in (
            ("substring_index", _before, _before_column),
            ("split_part", _split_part, _split_part_column),
        )
    },
    "translate": value_function(
        function.takes(STRING, STRING, STRING, STRING), strings.translated, _translate_column, binary_only=True
    ),
    "instr": value_function(
        function.takes(INTEGER, STRING, STRING),
        lambda text, part: strings.locate(part, text),
        _locate_column,
        binary_only=True,
        preimage=preimages.found_at(text=0, part=1),
    ),
    **{
        name: value_function(
            _TEXTS_AND_COUNT,
            strings.locate,
            _locate_column,
            binary_only=True,
            instead=_locating,
            preimage=preimages.found_at(text=1, part=0),
        )
        for name in ("locate", "position")
    },
    "replace": value_function(
        function.takes(STRING, STRING, STRING, STRING, optional=1), strings.replaced, _replace_column, binary_only=True
    ),
    "find_in_set": value_function(
        function.takes(INTEGER, STRING, STRING),
        _find_in_set,
        _find_in_set_column,
        binary_only=True,
        preimage=preimages.found_in_set,
    ),
    "elt": function.Function(_elt_signature, function.by_row(_elt), False, by_column=_elt_column),
    "levenshtein": value_function(_levenshtein_signature, _levenshtein),
    "soundex": value_function(function.exactly(STRING, STRING), strings.soundex),
}


_DEFAULTS = ("X", "x", "n", None)
_KINDS = {"Lu": 0, "Ll": 1, "Nd": 2}


def _signature(args: tuple[Node, ...]) -> Typed:
    """Accept a string, and for each class of characters a constant character, or NULL to keep the characters."""
    typed = uncast(5, optional=4)(args)
    return typed if typed is not None and all(map(_is_mask, typed[0][1:])) else None


def _is_mask(node: Node) -> bool:
    if not isinstance(node, Literal):
        return False
    return node.value is None or (isinstance(node.value, str) and len(node.value) == 1 and node.value <= "\uffff")


def _compute(text: str | None, *given: str | None) -> object:
    masks = (*given, *_DEFAULTS[len(given) :])
    return None if text is None else "".join([_mask(character, masks) for character in text])


def _column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    masks = _Masks((*map(constant, args[1:]), *_DEFAULTS[len(args) - 1 :]))
    try:
        return changed_together(column(args[0]), lambda text: text.translate(masks), "\0")
    except Undecided as error:
        # Row-by-row evaluation finds the strings that only Spark can mask.
        raise NotByColumn from error


class _Masks(dict[int, str]):
    """The replacement of each code point; NUL stays NUL."""

    def __init__(self, masks: tuple[str | None, ...]) -> None:
        super().__init__({0: "\0"})
        self.masks = masks

    def __missing__(self, point: int) -> str:
        found = self[point] = _mask(chr(point), self.masks)
        return found


@lru_cache(maxsize=1 << 12)
def _mask(character: str, masks: tuple[str | None, ...]) -> str:
    """The replacement of a character. Java masks each half of a surrogate pair as a character other than a letter."""
    if character > "\uffff":
        return character if masks[3] is None else 2 * masks[3]
    category = unicodedata.category(character)
    if category != unicodedata.ucd_3_2_0.category(character) or category == "Cn":
        raise Undecided(f"Whether {shown(character)} is a letter depends on the version of Unicode.")
    mask = masks[_KINDS.get(category, 3)]
    return character if mask is None else mask


MASKING: Mapping[str, FunctionRow] = {"mask": Function(_signature, by_row(_compute), False, by_column=_column)}
