"""Functions that compare the elements of arrays for equality.

# Spark 4.1, collectionOperations.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, is_orderable, type_of
from deltaskip.sparkexpr.functions.array_types import (
    array_to,
    array_type,
    ordered_array,
    plain_wider,
    valid_rows,
    with_value,
)
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Signature, Typed
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.preimages.monotone import listed_in
from deltaskip.sparkexpr.types.data_types import BOOLEAN, LONG, VOID, ArrayType, DataType
from deltaskip.sparkexpr.values import lists as ls
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk, true_rows
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.order import compare_values


def _contains_signature(result: DataType) -> Signature:
    """Accept an array and a value, cast to the common element type."""

    def signature(args: tuple[Node, ...]) -> Typed:
        found = with_value(args, widens_decimals=result == BOOLEAN) if len(args) == 2 else None
        if found is None or not is_orderable(found[0].element):
            return None
        if result == BOOLEAN and VOID in (type_of(args[0]), type_of(args[1])):
            return None
        return found[1], result

    return signature


def _contains(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, wanted = args
    if any(each is not None and compare_values(each, wanted) == 0 for each in values):
        return True
    return None if None in values else False


def _position(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, wanted = args
    equal = (at for at, each in enumerate(values, 1) if each is not None and compare_values(each, wanted) == 0)
    return next(equal, 0)


def _equal_elements(args: Sequence[v.Values]) -> tuple[ls.Lists, np.ndarray, pa.Array]:
    """The lists, a mask of the elements that are equal to the value of their row, and the elements."""
    array = v.column(args[0])
    lists = ls.lists_of(array)
    elements = ls.elements_of(array.values, lists)
    if pa.types.is_nested(elements.type):
        raise v.NotByColumn
    wanted = args[1] if v.is_constant(args[1]) else one_chunk(args[1].take(arrow_array(lists.owners())))
    left = elements
    if pa.types.is_floating(elements.type):
        wanted = v.ordered_floats(v.as_array(wanted, 1))
        left, wanted = v.ordered_floats(elements), wanted[0] if v.is_constant(args[1]) else wanted
    return lists, true_rows(pc.equal(left, wanted)), elements


def _contains_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    lists, equal, elements = _equal_elements(args)
    found = ls.flagged_elements(lists, equal) > 0
    there = lists.valid
    if elements.null_count:
        there = there & (found | (ls.flagged_elements(lists, numpy_values(elements.is_null())) == 0))
    if not v.is_constant(args[1]):
        there = there & valid_rows(args[1])
    values = arrow_array(found)
    return values if there.all() else pc.if_else(arrow_array(there), values, arrow_scalar(None, pa.bool_()))


def _position_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    lists, equal, _ = _equal_elements(args)
    found = np.zeros(len(lists.starts), np.int64)
    hits = np.flatnonzero(equal)[::-1]
    found[lists.owners()[hits]] = lists.numbers()[hits] + 1
    return v.made(found, pa.int64(), *args)


def _remove_signature(args: tuple[Node, ...]) -> Typed:
    found = with_value(args) if len(args) == 2 else None
    return None if found is None or not is_orderable(found[0].element) else (found[1], found[0])


def _remove(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, removed = args
    return tuple([each for each in values if each is None or compare_values(each, removed) != 0])


def _remove_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    lists, equal, _ = _equal_elements(args)
    owners, kept = lists.owners(), ~equal
    elements = args[0].values.take(arrow_array(lists.places()[kept]))
    there = lists.valid if v.is_constant(args[1]) else lists.valid & valid_rows(args[1])
    kept_there = kept & there[owners]
    if not kept_there[kept].all():
        elements = args[0].values.take(arrow_array(lists.places()[kept_there]))
    return ls.listed(np.bincount(owners[kept_there], minlength=len(there)), there, elements)


def _set_signature(args: tuple[Node, ...]) -> Typed:
    """Accept two arrays of a common type with comparable elements."""
    arrays = [array_type(arg) for arg in args]
    if len(arrays) != 2 or arrays[0] is None or arrays[1] is None:
        return None
    met = plain_wider(arrays[0].element, arrays[1].element)
    if met is None or not is_orderable(met):
        return None
    cast = tuple(
        arg if array.element == met else cast_to(arg, ArrayType(met, array.contains_null))
        for arg, array in zip(args, (arrays[0], arrays[1]), strict=True)
    )
    return cast, ArrayType(met, True)


def _set_result(combine: Callable[[bool, bool], bool]) -> Signature:
    """Like `_set_signature`, but the result is an array; `combine` decides whether it may contain NULL."""

    def signature(args: tuple[Node, ...]) -> Typed:
        found = _set_signature(args)
        if found is None:
            return None
        kinds = [type_of(arg) for arg in found[0]]
        one, other = (isinstance(kind, ArrayType) and kind.contains_null for kind in kinds)
        assert isinstance(found[1], ArrayType)
        return found[0], ArrayType(found[1].element, combine(one, other))

    return signature


def _distinct(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    ls.check_zeros(args[0])
    found: dict[Any, Any] = {}
    for each in args[0]:
        found.setdefault(ls.distinct_key(each), each)
    return tuple(found.values())


def _union(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return _distinct(((*args[0], *args[1]),), call, zone)


def _chosen(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`array_intersect(one, other)` and `array_except(one, other)`."""
    ls.check_zeros(args[1])
    others = {ls.distinct_key(each) for each in args[1]}
    found = _distinct((args[0],), call, zone)
    assert isinstance(found, tuple)
    shared = call.name == "array_intersect"
    return tuple([each for each in found if (ls.distinct_key(each) in others) is shared])


def _overlap_signature(args: tuple[Node, ...]) -> Typed:
    found = _set_signature(args)
    return None if found is None else (found[0], BOOLEAN)


def _overlap(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    left, right = args
    others = {ls.distinct_key(each) for each in right if each is not None}
    if any(ls.distinct_key(each) in others for each in left if each is not None):
        return True
    return None if left and right and (None in left or None in right) else False


def _both(args: Sequence[v.Values]) -> tuple[np.ndarray, list[ls.Lists], list[pa.Array]]:
    """A mask of the rows without null arrays, the lists, which are empty in other rows, and their elements."""
    arrays = v.expanded(args)
    given = [ls.lists_of(each) for each in arrays]
    there = np.logical_and.reduce([each.valid for each in given])
    lists = [ls.Lists(each.starts, np.where(there, each.lengths, 0), there) for each in given]
    elements = [ls.elements_of(a.values, each) for a, each in zip(arrays, lists, strict=True)]
    return there, lists, elements


def _set_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`array_distinct(array)`, `array_intersect(one, other)` and `array_except(one, other)`."""
    there, lists, elements = _both(args)
    if any(map(ls.has_negative_zero, elements)):
        raise v.NotByColumn
    codes, count = ls.coded(*elements)
    kept = ~ls.repeats(lists[0].lengths, codes[0], count)
    if len(args) == 2:
        inside = ls.among(lists[0].lengths, codes[0], lists[1].lengths, codes[1], count)
        kept &= inside if call.name == "array_intersect" else ~inside
    return ls.listed(ls.flagged_elements(lists[0], kept), there, elements[0].filter(arrow_array(kept)))


def _union_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    there, lists, elements = _both(args)
    parts = [
        (ls.Lists(np.cumsum(each.lengths) - each.lengths, each.lengths, there), given)
        for each, given in zip(lists, elements, strict=True)
    ]
    return _set_column([ls.chained(parts, there)], call, zone)


def _overlap_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    there, (left, right), elements = _both(args)
    (codes, others), count = ls.coded(*elements)
    nulls = [numpy_values(each.is_null()) for each in elements]
    hit = ls.among(left.lengths, codes, right.lengths, others, count) & ~nulls[0]
    found = np.zeros(len(there), np.bool_)
    found[left.owners()[hit]] = True
    unknown = np.zeros(len(there), np.bool_)
    for lists, null in zip((left, right), nulls, strict=True):
        unknown[lists.owners()[null]] = True
    unknown &= ~found & (left.lengths > 0) & (right.lengths > 0)
    return pc.if_else(arrow_array(there & ~unknown), arrow_array(found), arrow_scalar(None, pa.bool_()))


_SET_OF_BOTH = _set_result(lambda one, other: one or other)

ARRAY_SETS: Mapping[str, FunctionRow] = {
    "array_contains": Function(_contains_signature(BOOLEAN), _contains, by_column=_contains_column, preimage=listed_in),
    "array_position": Function(_contains_signature(LONG), _position, by_column=_position_column),
    "array_remove": Function(_remove_signature, _remove, by_column=_remove_column),
    "array_distinct": Function(array_to(ordered_array), _distinct, by_column=_set_column),
    "array_union": Function(_SET_OF_BOTH, _union, by_column=_union_column),
    "array_intersect": Function(_set_result(lambda one, other: one and other), _chosen, by_column=_set_column),
    "array_except": Function(_set_result(lambda one, other: one), _chosen, by_column=_set_column),
    "arrays_overlap": Function(_overlap_signature, _overlap, by_column=_overlap_column),
}
