"""Higher-order functions, such as `exists(array, x -> x > 1)`.

# Spark 4.1, higherOrderFunctions.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key, partial, reduce
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, is_orderable, same_type, type_of, wider_type
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.array_types import side_by_side
from deltaskip.sparkexpr.functions.elements import built_map, made_map
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Signature, Typed, Variables, by_row
from deltaskip.sparkexpr.nodes import Call, Lambda, Node
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import lists as ls
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, true_rows
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.vectors import NotByColumn, Values, scattered, sized

# Longer arrays are left to Spark: the sort checks the comparison function for every pair.
_MOST_SORTED = 64
# The most pairs of elements that are compared at once.
_MOST_PAIRS = 1 << 20
# In columns of longer arrays, few rows have an element at each index.
_MOST_STEPS = 1000


def _of_array(indexed: bool) -> Variables:
    """The variables of a function of an element and, if `indexed`, optionally its index from 0."""

    def variables(args: tuple[Node, ...]) -> Sequence[Sequence[tuple[t.DataType, bool]]] | None:
        array = type_of(args[0])
        if len(args) != 2 or not isinstance(array, t.ArrayType) or not isinstance(args[1], Lambda):
            return None
        element = (array.element, array.contains_null)
        return [[element, (t.INTEGER, False)] if indexed else [element]]

    return variables


def _of_map(args: tuple[Node, ...]) -> Sequence[Sequence[tuple[t.DataType, bool]]] | None:
    """The variables of a function of a key and a value."""
    of = type_of(args[0])
    if len(args) != 2 or not isinstance(of, t.MapType) or not _takes(args[1], 2):
        return None
    return [[(of.key, False), (of.value, of.value_contains_null)]]


def _takes(node: Node, count: int) -> bool:
    return isinstance(node, Lambda) and len(node.names) == count


def _of_two_arrays(args: tuple[Node, ...]) -> Sequence[Sequence[tuple[t.DataType, bool]]] | None:
    if len(args) != 3 or not _takes(args[2], 2):
        return None
    match type_of(args[0]), type_of(args[1]):
        case t.ArrayType(left), t.ArrayType(right):
            return [[(left, True), (right, True)]]
    return None


def _of_two_maps(args: tuple[Node, ...]) -> Sequence[Sequence[tuple[t.DataType, bool]]] | None:
    if len(args) != 3 or not _takes(args[2], 3):
        return None
    match type_of(args[0]), type_of(args[1]):
        case t.MapType(key, left), t.MapType(other, right) if key == other and is_orderable(key):
            return [[(key, False), (left, True), (right, True)]]
    return None


def _of_aggregate(args: tuple[Node, ...]) -> Sequence[Sequence[tuple[t.DataType, bool]]] | None:
    """The variables of a function of the accumulator and an element, and of an optional function of the result."""
    if not 3 <= len(args) <= 4 or not _takes(args[2], 2) or (len(args) == 4 and not _takes(args[3], 1)):
        return None
    array, start = type_of(args[0]), type_of(args[1])
    if not isinstance(array, t.ArrayType) or start is None:
        return None
    found = [[(start, True), (array.element, array.contains_null)], [(start, True)]]
    return found[: len(args) - 2]


def _of_comparison(args: tuple[Node, ...]) -> Sequence[Sequence[tuple[t.DataType, bool]]] | None:
    array = type_of(args[0])
    if len(args) != 2 or not isinstance(array, t.ArrayType) or not _takes(args[1], 2):
        return None
    return [[(array.element, array.contains_null)] * 2]


def _body(node: Node) -> t.DataType | None:
    """The result type of a lambda function."""
    return type_of(node.body) if isinstance(node, Lambda) else None


def _of_condition(result: Callable[[t.DataType], t.DataType]) -> Signature:
    """Accept a nested value and a boolean function."""

    def signature(args: tuple[Node, ...]) -> Typed:
        given = type_of(args[0]) if len(args) == 2 else None
        function = args[1] if len(args) == 2 else None
        if given is None or not isinstance(function, Lambda) or _body(function) not in (t.BOOLEAN, t.VOID):
            return None
        return (args[0], Lambda(function.names, cast_to(function.body, t.BOOLEAN))), result(given)

    return signature


def _array_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a function as the last argument, and return an array of its results."""
    found = _body(args[-1])
    if found is None or not isinstance(args[-1], Lambda):
        return None
    return args, t.ArrayType(found, is_nullable(args[-1].body))


def _keys_signature(args: tuple[Node, ...]) -> Typed:
    of = type_of(args[0])
    found = _body(args[1]) if len(args) == 2 else None
    if not isinstance(of, t.MapType) or found is None or not is_orderable(found) or found == t.VOID:
        return None
    return args, t.MapType(found, of.value, of.value_contains_null)


def _values_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a map first and a function last, and return a map of the function's results."""
    of, found = type_of(args[0]), _body(args[-1])
    if not isinstance(of, t.MapType) or found is None or not isinstance(args[-1], Lambda):
        return None
    return args, t.MapType(of.key, found, is_nullable(args[-1].body))


def _aggregate_signature(args: tuple[Node, ...]) -> Typed:
    start = type_of(args[1]) if len(args) >= 3 else None
    if start is None or not same_type(_body(args[2]), start) or wider_type(start, _body(args[2]) or t.VOID) != start:
        return None
    found = _body(args[3]) if len(args) == 4 else start
    return None if found is None else (args, found)


def _sort_signature(args: tuple[Node, ...]) -> Typed:
    array = type_of(args[0])
    return (args, array) if isinstance(array, t.ArrayType) and len(args) == 2 and _body(args[1]) == t.INTEGER else None


def _numbered(node: Node) -> bool:
    """Whether a lambda function also takes the index of the element."""
    return isinstance(node, Lambda) and len(node.names) == 2


def _quantified(decisive: bool, values: tuple[Any, ...], of: Callable[..., object]) -> bool | None:
    """`exists`, which TRUE decides, and `forall`, which FALSE decides."""
    unknown = False
    for each in values:
        found = of(each)
        if found is decisive:
            return decisive
        unknown |= found is None
    return None if unknown else not decisive


def _aggregate(
    values: tuple[Any, ...] | None, found: object, merge: Callable[..., object], *finish: Callable[..., object]
) -> object:
    if values is None:
        return None
    found = reduce(merge, values, found)
    return finish[0](found) if finish else found


def _map_zip(left: tuple[Any, ...], right: tuple[Any, ...], of: Callable[..., object]) -> object:
    """`map_zip_with`: the keys of the first map, then the keys that only the second map has."""
    left, right = built_map(left), built_map(right)
    ones, others = ({ls.distinct_key(key): value for key, value in each} for each in (left, right))
    keys = {ls.distinct_key(key): key for key, _ in (*left, *right)}
    return tuple([(key, of(key, ones.get(same), others.get(same))) for same, key in keys.items()])


def _sorted(values: tuple[Any, ...], compare: Callable[..., Any]) -> object:
    """Sort an array stably. Raises Undecided unless the function orders every pair consistently."""
    if len(values) > _MOST_SORTED:
        raise Undecided("Long arrays are sorted by a function in Spark only.")

    def order(left: Any, right: Any) -> int:
        found = compare(left, right)
        if found is None:
            raise EvaluationError("A comparison of array_sort gives NULL (COMPARATOR_RETURNS_NULL).")
        return int(found)

    found = sorted(values, key=cmp_to_key(order))
    for at, left in enumerate(found):
        equal = True
        for right in found[at + 1 :]:
            sign = order(left, right)
            # Equal elements are next to each other.
            if sign > 0 or (sign == 0 and not equal) or (order(right, left) > 0) != (sign < 0):
                raise Undecided("A comparison of array_sort that is no order is left to Spark.")
            equal = sign == 0
    return tuple(found)


def _elements(args: Sequence[Any], numbered: bool) -> tuple[Any, np.ndarray, pa.Array, list[Any]]:
    """The lists, the row of each element, the elements, and the arguments of the function."""
    array = args[0]
    lists = ls.lists_of(array)
    elements = ls.elements_of(array.values, lists)
    given = [elements]
    if numbered:
        given.append(arrow_array(lists.numbers().astype(np.int32)))
    return lists, lists.owners(), elements, given


def _transform_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    lists, owners, _, given = _elements(args, _numbered(call.args[1]))
    return ls.listed(lists.lengths, lists.valid, args[1](given, owners))


def _filter_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    lists, owners, elements, given = _elements(args, _numbered(call.args[1]))
    kept = true_rows(args[1](given, owners))
    counts = ls.flagged_elements(lists, kept)
    return ls.listed(counts, lists.valid, elements.filter(arrow_array(kept)))


def _quantified_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    lists, owners, _, given = _elements(args, False)
    truth = args[1](given, owners)
    decisive = call.name == "exists"
    hit = true_rows(truth if decisive else pc.invert(truth))
    decided = ls.flagged_elements(lists, hit) > 0
    known = lists.valid & (decided | (ls.flagged_elements(lists, numpy_values(truth.is_null())) == 0))
    return pc.if_else(arrow_array(known), arrow_array(decided == decisive), pa.nulls(1, pa.bool_())[0])


def _map_elements(array: pa.Array) -> tuple[Any, np.ndarray, list[pa.Array]]:
    lists = ls.lists_of(array)
    places = arrow_array(lists.places())
    return lists, lists.owners(), [array.keys.take(places), array.items.take(places)]


def _map_filter_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    lists, owners, (keys, items) = _map_elements(args[0])
    kept = true_rows(args[1]([keys, items], owners))
    counts = ls.flagged_elements(lists, kept)
    return made_map(counts, lists.valid, keys.filter(arrow_array(kept)), items.filter(arrow_array(kept)))


def _values_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    lists, owners, (keys, items) = _map_elements(args[0])
    return made_map(lists.lengths, lists.valid, keys, args[1]([keys, items], owners))


def _keys_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    lists, owners, (keys, items) = _map_elements(args[0])
    return made_map(lists.lengths, lists.valid, args[1]([keys, items], owners), items)


def _zip_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    """`zip_with`: the elements at the same index, NULL after the end of a shorter array."""
    lists, elements = side_by_side(args[:2])
    return ls.listed(lists.lengths, lists.valid, args[2](elements, lists.owners()))


def _aggregate_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    """`aggregate`: processes the first elements of all rows, then the second elements, and so on."""
    array, found, merge = args[:3]
    lists = ls.lists_of(array)
    longest = int(lists.lengths.max(initial=0))
    if longest > _MOST_STEPS:
        raise NotByColumn
    for step in range(longest):
        taken = lists.lengths > step
        owners = np.flatnonzero(taken)
        elements = array.values.take(arrow_array(lists.starts[owners] + step))
        merged = merge([found.take(arrow_array(owners)), elements], owners)
        found = pc.if_else(arrow_array(taken), scattered(sized(merged), taken), found)
    if len(args) == 4:
        found = args[3]([found], np.arange(len(found)))
    return pc.if_else(arrow_array(lists.valid), found, pa.nulls(1, found.type)[0])


def _sorted_column(args: Sequence[Any], call: Call, zone: Zone) -> Values:
    """Compare each element with the other elements of its array. Its index is the number of elements before it."""
    array, compare = args
    lists = ls.lists_of(array)
    if lists.lengths.max(initial=0) > _MOST_SORTED:
        raise NotByColumn
    elements = ls.elements_of(array.values, lists)
    owners = lists.owners()
    others = lists.lengths[owners]
    firsts = (np.cumsum(lists.lengths) - lists.lengths)[owners]
    before = np.zeros(len(owners), np.int64)
    groups = np.cumsum(lists.lengths**2) // _MOST_PAIRS
    ends = [*np.cumsum(lists.lengths)[np.flatnonzero(np.diff(groups))], len(owners)]
    for start, end in zip([0, *ends], ends, strict=False):
        pairs = ls.Lists(firsts[start:end], others[start:end], np.ones(end - start, np.bool_))
        one, other = np.repeat(np.arange(start, end), pairs.lengths), pairs.places()
        apart = one != other
        one, other = one[apart], other[apart]
        found = compare([elements.take(arrow_array(one)), elements.take(arrow_array(other))], owners[one])
        if found.null_count:
            raise NotByColumn
        signs = np.sign(numpy_values(found))
        before[start:end] = np.bincount(one[signs > 0] - start, minlength=end - start)
        if (signs != np.sign(before[one] - before[other])).any():
            # The function is not a consistent order.
            raise NotByColumn
    return ls.listed(lists.lengths, lists.valid, elements.take(arrow_array(np.lexsort((before, owners)))))


LAMBDAS: Mapping[str, FunctionRow] = {
    "transform": Function(
        _array_signature,
        by_row(lambda values, of: tuple([of(each, at) for at, each in enumerate(values)])),
        by_column=_transform_column,
        variables=_of_array(True),
    ),
    "filter": Function(
        _of_condition(lambda given: given),
        by_row(lambda values, of: tuple([each for at, each in enumerate(values) if of(each, at) is True])),
        by_column=_filter_column,
        variables=_of_array(True),
    ),
    **{
        name: Function(
            _of_condition(lambda given: t.BOOLEAN),
            by_row(partial(_quantified, name == "exists")),
            by_column=_quantified_column,
            variables=_of_array(False),
        )
        for name in ("exists", "forall")
    },
    "aggregate": Function(
        _aggregate_signature,
        by_row(_aggregate),
        False,
        by_column=_aggregate_column,
        decisive=(0,),
        variables=_of_aggregate,
        aliases=("reduce",),
    ),
    "zip_with": Function(
        _array_signature,
        by_row(lambda left, right, of: tuple([of(*pair) for pair in zip_longest(left, right)])),
        by_column=_zip_column,
        variables=_of_two_arrays,
    ),
    "map_filter": Function(
        _of_condition(lambda given: given),
        by_row(lambda entries, of: tuple([entry for entry in entries if of(*entry) is True])),
        by_column=_map_filter_column,
        variables=_of_map,
    ),
    "transform_keys": Function(
        _keys_signature,
        by_row(lambda entries, of: built_map((of(key, value), value) for key, value in entries)),
        by_column=_keys_column,
        variables=_of_map,
    ),
    "transform_values": Function(
        _values_signature,
        by_row(lambda entries, of: tuple([(key, of(key, value)) for key, value in entries])),
        by_column=_values_column,
        variables=_of_map,
    ),
    "map_zip_with": Function(_values_signature, by_row(_map_zip), variables=_of_two_maps),
    # `array_sort` with a comparison.
    "array_sort()": Function(_sort_signature, by_row(_sorted), by_column=_sorted_column, variables=_of_comparison),
}
