"""Functions of arrays, and the table of all functions of nested values.

# Spark 4.1, collectionOperations.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cmp_to_key, partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr import coerce
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.array_sets import ARRAY_SETS, SEQUENCES
from deltaskip.sparkexpr.functions.array_types import (
    array_to,
    array_type,
    ordered_array,
    same_array,
    side_by_side,
    taken_elements,
    with_value,
)
from deltaskip.sparkexpr.functions.elements import ELEMENTS, MAPS
from deltaskip.sparkexpr.functions.function import by_row
from deltaskip.sparkexpr.functions.text import TEXT, concat_ws
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values import lists as ls
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.comparisons import compare_values, extreme
from deltaskip.sparkexpr.values.strings import MOST_ELEMENTS


def _append_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept an array and a value. The result always may contain NULL."""
    found = with_value(args) if len(args) == 2 else None
    if found is None or _keeps_last_value(args[1]):
        return None
    return found[1], t.ArrayType(found[0].element, True)


def _keeps_last_value(value: n.Node) -> bool:
    """Whether Spark may insert the value of an earlier row for NULL: CASE keeps it, and Spark ignores the null flag.

    # Spark 4.1, ArrayInsert.doGenCode, and CaseWhen.multiBranchesCodegen: caseWhenTmpResult
    """
    type_ = coerce.type_of(value)
    is_object = type_ in (t.STRING, t.BINARY, t.VARIANT) or isinstance(type_, t.DecimalType) or coerce.is_nested(type_)
    return is_object and is_nullable(value) and any(isinstance(each, n.Case) for each in n.walk(value))


def _single(rows: int) -> ls.Lists:
    """Lists of one element each."""
    return ls.Lists(np.arange(rows), np.ones(rows, np.int64), np.ones(rows, np.bool_))


def _append_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    array, value = v.expanded(args)
    lists = ls.lists_of(array)
    parts = [(lists, array.values), (_single(len(array)), value)]
    return ls.chained(parts if call.name == "array_append" else parts[::-1], lists.valid)


def _insert_signature(args: tuple[n.Node, ...]) -> function.Typed:
    if (
        len(args) != 3
        or coerce.type_of(args[1]) not in t.INTEGRAL_BITS
        or t.INTEGRAL_BITS[coerce.type_of(args[1]) or t.LONG] > 32
    ):
        return None
    found = with_value(args, 2)
    if found is None or _keeps_last_value(args[2]):
        return None
    (array, value), type_ = found[1], found[0]
    return (array, coerce.cast_to(args[1], t.INTEGER), value), t.ArrayType(type_.element, True)


def _insert(values: tuple[Any, ...] | None, place: int | None, value: object) -> object:
    if values is None or place is None:
        return None
    if place == 0:
        raise EvaluationError("The index 0 is not one of an array, which begins at 1 (INVALID_INDEX_OF_ZERO).")
    count = len(values)
    if abs(place) > MOST_ELEMENTS:
        raise Undecided("Very long arrays are left to Spark.")
    if place > 0:
        at = place - 1
        return (*values[:at], *([None] * (at - count)), value, *values[at:])
    at = count + place + 1
    if at >= 0:
        return (*values[:at], value, *values[at:])
    return (value, *([None] * -at), *values)


def _join_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept an array of strings, a separator, and an optional replacement for NULL."""
    array = array_type(args[0]) if args else None
    if array is None or not 2 <= len(args) <= 3 or is_collated(*args) or coerce.is_nested(array.element):
        return None
    if any(coerce.type_of(arg) not in (t.STRING, t.VOID) for arg in args[1:]):
        return None
    sure = any(isinstance(arg, n.FieldRef) and arg.nullable for arg in args[:2])
    if len(args) == 3 and is_nullable(args[2]) and not n.is_null_constant(args[2]) and not sure:
        # If neither other argument is nullable, Spark's generated code returns NULL, and its interpreter does not.
        return None
    cast = args[0] if array.element == t.STRING else coerce.cast_to(args[0], t.ArrayType(t.STRING, array.contains_null))
    return (cast, *(coerce.cast_to(arg, t.STRING) for arg in args[1:])), t.STRING


def _join(values: tuple[str | None, ...], between: str, *instead: str) -> str:
    return between.join([text for each in values for text in (instead if each is None else (each,))])


def _join_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    array = v.column(args[0])
    if array.values.null_count:
        if len(args) == 2:
            array = _compacted(array)
        elif v.is_constant(args[2]):
            lists = ls.lists_of(array)
            array = ls.listed(lists.lengths, lists.valid, pc.fill_null(ls.elements_of(array.values, lists), args[2]))
        else:
            raise v.NotByColumn
    # pyarrow also supports a different separator in each row.
    return pc.binary_join(array, args[1])


def _extreme_signature(args: tuple[n.Node, ...]) -> function.Typed:
    array = array_type(args[0]) if len(args) == 1 else None
    return None if array is None or not coerce.is_orderable(array.element) else (args, array.element)


def _extreme_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """`array_min` and `array_max` of flat elements. Numbers and times are compared directly, other types by rank."""
    array = v.column(args[0])
    kind = array.type.value_type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        raise v.NotByColumn
    lists = ls.lists_of(array)
    elements = ls.elements_of(array.values, lists)
    if ls.has_negative_zero(elements):
        raise v.NotByColumn
    known = numpy_values(elements.is_valid())
    counts = ls.flagged_elements(lists, known) if elements.null_count else lists.lengths
    there = counts > 0
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    ordered = None if plain else _ranks(elements)
    values = v.numbers(elements) if ordered is None else ordered[0]
    values = values[known] if elements.null_count else values
    # fmin ignores NaN, which is the greatest value.
    least = np.fmin if pa.types.is_floating(kind) else np.minimum
    best = least if call.name == "array_min" else np.maximum
    found = np.zeros(len(array), values.dtype)
    if len(values):
        found[there] = best.reduceat(values, (np.cumsum(counts) - counts)[there])
    if ordered is not None:
        return taken_elements(ordered[1], found, there)
    return pc.if_else(arrow_array(there), v.made(found, kind), pa.nulls(1, kind)[0])


def _ranks(elements: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """The rank of each string, decimal or boolean, and the values by rank."""
    encoded = elements.dictionary_encode()
    given = encoded.dictionary
    order = pc.sort_indices(given.cast(pa.binary()) if pa.types.is_string(given.type) else given)
    ranks = np.empty(len(given), np.int64)
    ranks[np.asarray(order)] = np.arange(len(given))
    places = v.numbers(filled(encoded.indices, 0))
    return ranks[places] if len(given) else np.zeros(len(elements), np.int64), given.take(order)


def _repeat_signature(args: tuple[n.Node, ...]) -> function.Typed:
    if len(args) != 2 or is_collated(args[0]):
        return None
    value, count = coerce.type_of(args[0]), coerce.type_of(args[1])
    # Spark 4.1, ArrayRepeat: ExpectsInputTypes, which casts no type but VOID
    if value is None or count not in (t.VOID, t.INTEGER):
        return None
    return (args[0], coerce.cast_to(args[1], t.INTEGER)), t.ArrayType(value, is_nullable(args[0]))


def _repeat(value: object, count: int | None) -> object:
    if count is None:
        return None
    if count > MOST_ELEMENTS:
        raise Undecided("Very long arrays are left to Spark.")
    return (value,) * count


def _repeat_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    value, given = v.expanded(args)
    there = numpy_values(given.is_valid())
    counts = np.where(there, np.maximum(v.numbers(given), 0), 0).astype(np.int64)
    size = counts.sum() * (1 + value.nbytes // max(1, len(value)))
    if counts.max(initial=0) > MOST_ELEMENTS or size > v.MOST_TOGETHER:
        raise v.NotByColumn
    return v.sized(ls.listed(counts, there, value.take(arrow_array(np.repeat(np.arange(len(value)), counts)))))


def _compacted(array: pa.Array) -> pa.Array:
    """The lists without nulls."""
    lists = ls.lists_of(array)
    places = lists.places()
    kept = numpy_values(array.values.is_valid())[places] if len(places) else np.zeros(0, np.bool_)
    counts = np.bincount(lists.owners()[kept], minlength=len(array))
    return ls.listed(counts, lists.valid, array.values.take(arrow_array(places[kept])))


def _sort_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept an array, and whether it is sorted in ascending order."""
    found = array_to(ordered_array, *([t.BOOLEAN] * (len(args) - 1)))(args) if 1 <= len(args) <= 2 else None
    # Spark takes only a constant order.
    known = all(coerce.type_of(arg) in (t.BOOLEAN, t.VOID) and not n.columns_of(arg) for arg in args[1:])
    return found if found is None or known else None


def _sort(values: tuple[Any, ...], ascending: bool = True, nulls_last: bool = False) -> object:
    """`sort_array(array, ascending)`: NULLs are the least."""
    _check_one_zero(values)
    known = [each for each in values if each is not None]
    nulls = [None] * (len(values) - len(known))
    known.sort(key=cmp_to_key(compare_values), reverse=not ascending)
    return (*nulls, *known) if ascending and not nulls_last else (*known, *nulls)


def _check_one_zero(values: Sequence[Any]) -> None:
    """Raise Undecided if both 0.0 and -0.0 occur: some of Spark's functions order -0.0 first."""
    if len({repr(each) for each in values if isinstance(each, float) and each == 0}) > 1:
        raise Undecided("The order of zeros of both signs is left to Spark.")
    for each in values:
        if isinstance(each, tuple):
            ls.check_zeros(each)


def _sort_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """Sort flat elements; strings in binary order."""
    array = v.column(args[0])
    kind = array.type.value_type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        raise v.NotByColumn
    ascending = True if len(args) == 1 else v.constant(args[1])
    lists = ls.lists_of(array)
    places, owners = lists.places(), lists.owners()
    elements = ls.elements_of(array.values, lists)
    if ls.has_negative_zero(elements):
        raise v.NotByColumn
    plain = pa.types.is_integer(kind) or pa.types.is_temporal(kind)
    if pa.types.is_floating(kind):
        ordered = v.numbers(v.ordered_floats(elements))
    else:
        ordered = np.asarray(v.numbers(elements), np.int64) if plain else _ranks(elements)[0]
    # The complement of an integer reverses the order without overflow.
    ordered = ordered if ascending else ~ordered
    null = numpy_values(elements.is_null())
    last = call.name == "array_sort" or not ascending
    by = np.lexsort((ordered, null if last else ~null, owners))
    return ls.listed(lists.lengths, lists.valid, array.values.take(arrow_array(places[by])))


def _slice(values: tuple[Any, ...], start: int, length: int) -> object:
    if start == 0:
        raise EvaluationError("The start of slice must not be 0 (INVALID_PARAMETER_VALUE.START).")
    if length < 0:
        raise EvaluationError("The length of slice must not be negative (INVALID_PARAMETER_VALUE.LENGTH).")
    at = start - 1 if start > 0 else len(values) + start
    return values[at : at + length] if at >= 0 else ()


def _slice_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    array, start, length = v.column(args[0]), v.constant(args[1]), v.constant(args[2])
    lists = ls.lists_of(array)
    if start == 0 or length < 0:
        raise v.NotByColumn
    at = np.full(len(array), start - 1) if start > 0 else lists.lengths + start
    counts = np.where(at < 0, 0, np.clip(lists.lengths - at, 0, length))
    cut = type(lists)(lists.starts + np.maximum(at, 0), np.where(lists.valid, counts, 0), lists.valid)
    return ls.listed(cut.lengths, cut.valid, array.values.take(arrow_array(cut.places())))


def _flatten_signature(args: tuple[n.Node, ...]) -> function.Typed:
    array = array_type(args[0]) if len(args) == 1 else None
    return (args, array.element) if array is not None and isinstance(array.element, t.ArrayType) else None


def _flatten_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    array = v.column(args[0])
    outer = ls.lists_of(array)
    inner = one_chunk(array.values.take(arrow_array(outer.places())))
    lists = ls.lists_of(inner)
    there = outer.valid.copy()
    there[outer.owners()[~lists.valid]] = False
    counts = np.bincount(outer.owners(), lists.lengths, len(array)).astype(np.int64)
    kept = there[outer.owners()]
    cut = type(lists)(lists.starts, np.where(kept, lists.lengths, 0), lists.valid)
    return ls.listed(np.where(there, counts, 0), there, inner.values.take(arrow_array(cut.places())))


def _reverse_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    array = v.column(args[0])
    lists = ls.lists_of(array)
    places = np.repeat(lists.starts + lists.lengths - 1, lists.lengths) - lists.numbers()
    return ls.listed(lists.lengths, lists.valid, array.values.take(arrow_array(places)))


def _zip_node(*args: n.Node) -> n.Node:
    """The node of `arrays_zip(args)`, with the field names: the names of columns, or indexes."""
    names: list[n.Node] = []
    for at, arg in enumerate(args):
        match arg:
            case n.Column(parts):
                names.append(n.Literal(parts[-1], t.STRING))
            case n.Call("[]", (_, n.Literal(str() as name, _))):
                names.append(n.Literal(name, t.STRING))
            case _:
                names.append(n.Literal(str(at), t.STRING))
    return n.Call("arrays_zip()", (*names, *args))


def _zip_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept pairs of a field name and an array."""
    count = len(args) // 2
    names = [arg.value for arg in args[:count] if isinstance(arg, n.Literal) and isinstance(arg.value, str)]
    arrays = [array for arg in args[count:] if (array := array_type(arg)) is not None]
    if not args or len(names) < count or len(arrays) < count or len(set(map(fold_name, names))) < count:
        return None
    fields = [t.StructField(name, array.element) for name, array in zip(names, arrays, strict=True)]
    return args, t.ArrayType(t.StructType(tuple(fields)), False)


def _zip_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    """Structs of the elements at the same index, null after the end of a shorter array."""
    lists, members = side_by_side(v.expanded(args[len(args) // 2 :]))
    names = [v.constant(each) for each in args[: len(args) // 2]]
    structs = pa.StructArray.from_arrays(list(map(one_chunk, members)), names=names)
    return ls.listed(lists.lengths, lists.valid, structs)


def _concat_signature(args: tuple[n.Node, ...]) -> function.Typed:
    return None if any(array_type(arg) is None for arg in args) else function.alike(args)


def _concat_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    arrays = v.expanded(args)
    there, lists = ls.aligned(arrays)
    return ls.chained([(found, each.values) for found, each in zip(lists, arrays, strict=True)], there)


def _concat_ws_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept a separator, and strings and arrays of strings."""
    if coerce.type_of(args[0]) not in (t.STRING, t.VOID) or is_collated(*args):
        return None
    cast: list[n.Node] = [coerce.cast_to(args[0], t.STRING)]
    for arg in args[1:]:
        array = array_type(arg)
        if array is not None and coerce.is_nested(array.element):
            return None
        found = (
            coerce.implicit_cast(arg, t.STRING)
            if array is None
            else coerce.cast_to(arg, t.ArrayType(t.STRING, array.contains_null))
        )
        if found is None:
            return None
        cast.append(found)
    return tuple(cast), t.STRING


def _concat_ws_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    rows = v.rows_of(args)
    every = np.ones(rows, np.bool_)
    parts: list[tuple[ls.Lists, pa.Array]] = []
    for arg, node in zip(args[1:], call.args[1:], strict=True):
        values = v.as_array(arg, rows)
        nested = isinstance(coerce.type_of(node), t.ArrayType)
        parts.append((ls.lists_of(values), values.values) if nested else (_single(rows), values))
    texts = _compacted(ls.chained(parts, every))
    if len(texts.values) * (pc.max(pc.binary_length(args[0])).as_py() or 0) > v.MOST_TOGETHER:
        raise v.NotByColumn
    return pc.binary_join(texts, args[0])


def _or_of_arrays(
    row: function.FunctionRow, signature: function.Signature, compute: function.Compute, by_column: function.ByColumn
) -> function.Function:
    """A function of strings that also takes arrays."""
    assert isinstance(row, function.Function)
    plain = row

    def of_arrays(args: tuple[n.Node, ...]) -> bool:
        return any(isinstance(coerce.type_of(arg), t.ArrayType) for arg in args)

    def column_of(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values | v.Partly:
        found = by_column if of_arrays(call.args) else plain.by_column
        if found is None:
            raise v.NotByColumn
        return found(args, call, zone)

    return replace(
        plain,
        signature=lambda args: (signature if of_arrays(args) else plain.signature)(args),
        compute=lambda args, call, zone: (compute if of_arrays(call.args) else plain.compute)(args, call, zone),
        by_column=column_of,
    )


COLLECTIONS: Mapping[str, function.FunctionRow] = {
    **ELEMENTS,
    **ARRAY_SETS,
    **{
        name: function.Function(_append_signature, by_row(append), False, by_column=_append_column, decisive=(0,))
        for name, append in (
            ("array_append", lambda values, value: None if values is None else (*values, value)),
            ("array_prepend", lambda values, value: None if values is None else (value, *values)),
        )
    },
    "array_insert": function.Function(_insert_signature, by_row(_insert), False, decisive=(0, 1)),
    # Spark evaluates the replacement for NULL first.
    "array_join": function.Function(
        _join_signature, by_row(_join), by_column=_join_column, order=lambda args: (2, 0, 1)[-len(args) :]
    ),
    "array_min": function.Function(_extreme_signature, by_row(partial(extreme, sign=-1)), by_column=_extreme_column),
    "array_max": function.Function(_extreme_signature, by_row(partial(extreme, sign=1)), by_column=_extreme_column),
    "array_repeat": function.Function(_repeat_signature, by_row(_repeat), False, by_column=_repeat_column),
    "array_compact": function.Function(
        array_to(lambda array: t.ArrayType(array.element, False)),
        by_row(lambda values: tuple([each for each in values if each is not None])),
        by_column=lambda args, call, zone: _compacted(v.column(args[0])),
    ),
    "sort_array": function.Function(_sort_signature, by_row(_sort), by_column=_sort_column),
    # `array_sort` with a comparison is a separate function.
    "array_sort": function.Function(
        array_to(ordered_array),
        by_row(partial(_sort, nulls_last=True)),
        by_column=_sort_column,
        instead=lambda *args: n.Call("array_sort()", args) if len(args) == 2 else None,
    ),
    "slice": function.Function(array_to(same_array, t.INTEGER, t.INTEGER), by_row(_slice), by_column=_slice_column),
    "flatten": function.Function(
        _flatten_signature,
        by_row(lambda values: None if None in values else tuple(chain.from_iterable(values))),
        by_column=_flatten_column,
    ),
    "arrays_zip": function.Replaced(_zip_node, 1, 1_000_000),
    # `arrays_zip` with the names of its fields.
    "arrays_zip()": function.Function(
        _zip_signature, by_row(lambda *args: tuple(zip_longest(*args[len(args) // 2 :]))), by_column=_zip_column
    ),
    "concat": _or_of_arrays(
        TEXT["concat"], _concat_signature, by_row(lambda *arrays: tuple(chain(*arrays))), _concat_column
    ),
    "concat_ws": _or_of_arrays(TEXT["concat_ws"], _concat_ws_signature, by_row(concat_ws), _concat_ws_column),
    "reverse": _or_of_arrays(
        TEXT["reverse"], array_to(same_array), by_row(lambda values: values[::-1]), _reverse_column
    ),
    **SEQUENCES,
    **MAPS,
}
