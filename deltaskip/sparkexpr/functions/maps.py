"""Functions of maps.

# Spark 4.1, complexTypeCreator.scala, collectionOperations.scala, ArrayBasedMapBuilder
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.coerce import cast_to, common_type, is_orderable, type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.array_types import taken_elements
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import lists as ls
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.order import compare_values
from deltaskip.sparkexpr.values.vectors import NotByColumn, Values, column, constant, expanded, interleaved

_PLAIN = regex(r"[^\\.\[\](){}*+?^$|&\-#]+")


def built_map(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    """Return a map with the given entries. Raises EvaluationError for a NULL key or a duplicate key."""
    found: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        if key is None:
            raise EvaluationError("A key of a map is NULL (NULL_MAP_KEY).")
        ls.check_zeros(key)
        same = ls.distinct_key(key)
        if same in found:
            raise EvaluationError(f"The key {shown(key)} occurs twice in a map (DUPLICATED_MAP_KEY).")
        found[same] = (key, value)
    return tuple(found.values())


def map_lookup(entries: tuple[tuple[Any, Any], ...], key: Any) -> Any:
    """Return the value of the first entry with a key; None if no entry has the key."""
    return next((value for each, value in entries if compare_values(each, key) == 0), None)


def _map_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept keys and values in turn. A map without entries has no types and is left to Spark."""
    types = [type_of(arg) for arg in args]
    known = [type_ for type_ in types if type_ is not None]
    if not args or len(args) % 2 or len(known) < len(types) or is_collated(*args):
        return None
    key, value = common_type(known[::2]), common_type(known[1::2])
    if key is None or value is None or not is_orderable(key) or key == t.VOID:
        return None
    cast = tuple(cast_to(arg, value if at % 2 else key) for at, arg in enumerate(args))
    return cast, t.MapType(key, value, any(map(is_nullable, cast[1::2])))


def _of_one_map(result: Callable[[t.MapType], t.DataType]) -> function.Signature:
    def signature(args: tuple[Node, ...]) -> function.Typed:
        type_ = type_of(args[0]) if len(args) == 1 else None
        return (args, result(type_)) if isinstance(type_, t.MapType) and not is_collated(*args) else None

    return signature


def _entries(of: t.MapType) -> t.ArrayType:
    fields = t.StructField("key", of.key, False), t.StructField("value", of.value, of.value_contains_null)
    return t.ArrayType(t.StructType(fields), False)


def _listing(part: Callable[[pa.MapArray], pa.Array]) -> function.ByColumn:
    """List what `part` returns of the entries of each map."""

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        lists = ls.lists_of(args[0])
        return ls.listed(lists.lengths, lists.valid, part(args[0]).take(arrow_array(lists.places())))

    return by_column


def _concat_signature(args: tuple[Node, ...]) -> function.Typed:
    maps = args and all(isinstance(type_of(arg), t.MapType) for arg in args)
    return function.alike(args) if maps and not is_collated(*args) else None


def _from_arrays_signature(args: tuple[Node, ...]) -> function.Typed:
    types = [type_of(arg) for arg in args]
    if len(types) != 2 or is_collated(*args):
        return None
    match types:
        case [t.ArrayType(key), t.ArrayType(value, has_null)] if is_orderable(key) and key != t.VOID:
            return args, t.MapType(key, value, has_null)
    return None


def _from_arrays(keys: tuple[Any, ...], values: tuple[Any, ...]) -> object:
    if len(keys) != len(values):
        raise EvaluationError("The arrays of keys and values of a map differ in length.")
    return built_map(zip(keys, values, strict=True))


def _from_entries_signature(args: tuple[Node, ...]) -> function.Typed:
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    match type_:
        case t.ArrayType(t.StructType((key, value))) if is_orderable(key.type) and key.type != t.VOID:
            return args, t.MapType(key.type, value.type, value.nullable)
    return None


def _text_signature(args: tuple[Node, ...]) -> function.Typed:
    return None if is_collated(*args) else function.uncast(3, optional=2, result=t.MapType(t.STRING, t.STRING))(args)


def _text_to_map(text: str, between: str = ",", inside: str = ":") -> object:
    if not (_PLAIN.fullmatch(between) and _PLAIN.fullmatch(inside)):
        raise Undecided("Separators that are patterns are left to Spark.")
    pairs = [part.split(inside, 1) for part in text.split(between)]
    return built_map((pair[0], pair[1] if len(pair) > 1 else None) for pair in pairs)


def made_map(lengths: np.ndarray, valid: np.ndarray, keys: pa.Array, items: pa.Array) -> pa.Array:
    """Return maps with the given numbers of entries, null where not valid. Checks keys like `built_map`."""
    if keys.null_count:
        raise EvaluationError("A key of a map is NULL (NULL_MAP_KEY).")
    if ls.has_negative_zero(keys):
        raise NotByColumn
    [codes], count = ls.coded(keys)
    if ls.repeats(lengths, codes, count).any():
        raise EvaluationError("A key occurs twice in a map (DUPLICATED_MAP_KEY).")
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = None if valid.all() else arrow_array(~valid)
    type_ = pa.map_(pa.field("key", keys.type, False), pa.field("value", items.type))
    return pa.MapArray.from_arrays(arrow_array(offsets), keys, items, type_, mask=mask)


def _map_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    given = expanded(args)
    rows = len(given[0])
    keys, items = interleaved(given[::2]), interleaved(given[1::2])
    return made_map(np.full(rows, len(given) // 2), np.ones(rows, np.bool_), keys, items)


def _concat_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    given = expanded(args)
    there, lists = ls.aligned(given)
    keys = ls.chained([(found, each.keys) for found, each in zip(lists, given, strict=True)], there)
    items = ls.chained([(found, each.items) for found, each in zip(lists, given, strict=True)], there)
    return made_map(ls.lists_of(keys).lengths, there, keys.values, items.values)


def _from_arrays_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    given = expanded(args)
    there, lists = ls.aligned(given)
    if (lists[0].lengths != lists[1].lengths).any():
        raise EvaluationError("The arrays of keys and values of a map differ in length.")
    keys, items = (ls.chained([(found, each.values)], there) for found, each in zip(lists, given, strict=True))
    return made_map(ls.lists_of(keys).lengths, there, keys.values, items.values)


def _from_entries_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    lists = ls.lists_of(args[0])
    entries = one_chunk(args[0].values.take(arrow_array(lists.places())))
    there = lists.valid.copy()
    there[lists.owners()[numpy_values(entries.is_null())]] = False
    kept = arrow_array(there[lists.owners()])
    keys, items = (one_chunk(pc.struct_field(entries, at).filter(kept)) for at in range(2))
    return made_map(np.where(there, lists.lengths, 0), there, keys, items)


def _text_to_map_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    between = constant(args[1]) if len(args) > 1 else ","
    inside = constant(args[2]) if len(args) > 2 else ":"
    if not (_PLAIN.fullmatch(between) and _PLAIN.fullmatch(inside)):
        raise NotByColumn
    parts = pc.split_pattern(column(args[0]), between)
    lists = ls.lists_of(parts)
    pairs = pc.split_pattern(one_chunk(parts.values.take(arrow_array(lists.places()))), inside, max_splits=1)
    halves = ls.lists_of(pairs)
    keys = pairs.values.take(arrow_array(halves.starts))
    items = taken_elements(pairs.values, halves.starts + 1, halves.lengths > 1)
    return made_map(lists.lengths, lists.valid, keys, items)


MAPS: Mapping[str, function.FunctionRow] = {
    "map": function.Function(
        _map_signature,
        function.by_row(lambda *members: built_map(zip(members[::2], members[1::2], strict=True))),
        False,
        by_column=_map_column,
    ),
    "map_keys": function.Function(
        _of_one_map(lambda of: t.ArrayType(of.key)),
        function.by_row(lambda entries: tuple([key for key, _ in entries])),
        by_column=_listing(lambda maps: maps.keys),
    ),
    "map_values": function.Function(
        _of_one_map(lambda of: t.ArrayType(of.value)),
        function.by_row(lambda entries: tuple([value for _, value in entries])),
        by_column=_listing(lambda maps: maps.items),
    ),
    "map_entries": function.Function(
        _of_one_map(_entries),
        function.by_row(lambda entries: entries),
        by_column=_listing(lambda maps: pa.StructArray.from_arrays([maps.keys, maps.items], ["key", "value"])),
    ),
    "map_contains_key": function.Replaced(lambda of, key: Call("array_contains", (Call("map_keys", (of,)), key)), 2),
    "map_concat": function.Function(
        _concat_signature,
        function.by_row(lambda *maps: built_map(entry for each in maps for entry in each)),
        by_column=_concat_column,
    ),
    "map_from_arrays": function.Function(
        _from_arrays_signature, function.by_row(_from_arrays), by_column=_from_arrays_column
    ),
    "map_from_entries": function.Function(
        _from_entries_signature,
        function.by_row(lambda entries: None if None in entries else built_map(entries)),
        by_column=_from_entries_column,
    ),
    "str_to_map": function.Function(_text_signature, function.by_row(_text_to_map), by_column=_text_to_map_column),
}
