"""Functions that make arrays, structs and maps, and extract their values.

# Spark 4.1, complexTypeCreator.scala, complexTypeExtractors.scala, collectionOperations.scala, ArrayBasedMapBuilder
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.coerce import cast_to, common_type, implicit_cast, is_orderable, type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.array_types import array_to, plain_wider, taken_elements, valid_rows
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Replaced, Typed, alike, by_row
from deltaskip.sparkexpr.nodes import Call, Column, Literal, Node, Variable
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values import lists as ls
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, one_chunk, true_rows
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.comparisons import compare_values
from deltaskip.sparkexpr.values.lists import elements_of, listed, lists_of
from deltaskip.sparkexpr.values.vectors import NotByColumn, Values, expanded, interleaved

_LEAST = -(2**31)


def struct_node(*args: Node, names: Mapping[int, str] | None = None) -> Node:
    """Return the node of `struct(args)`. A field has the name of its column, or `col1`, `col2`, … by position.

    names: Explicit names of fields, by the index of the value.
    """
    found: list[Node] = []
    for at, arg in enumerate(args):
        match arg:
            case _ if names and at in names:
                name = names[at]
            case Column(parts):
                name = parts[-1]
            case Variable(written):
                name = written
            case Call("[]", (_, Literal(str() as field, _))):
                name = field
            case _:
                name = f"col{at + 1}"
        found += [Literal(name, t.STRING), arg]
    return Call("named_struct", tuple(found))


def _array_signature(args: tuple[Node, ...]) -> Typed:
    """Accept any number of values of a common type."""
    found = None if is_collated(*args) else alike(args)
    return None if found is None else (found[0], t.ArrayType(found[1], any(map(is_nullable, found[0]))))


def _struct_signature(args: tuple[Node, ...]) -> Typed:
    """Accept names and values in turn. Structs without fields, or with a repeated name, are left to Spark."""
    names = [arg.value if isinstance(arg, Literal) else None for arg in args[::2]]
    types = [type_of(arg) for arg in args[1::2]]
    if not args or len(names) != len(types) or is_collated(*args):
        return None
    fields: dict[str, t.StructField] = {}
    for name, type_, arg in zip(names, types, args[1::2], strict=True):
        if not isinstance(name, str) or type_ is None or fold_name(name) in fields:
            return None
        fields[fold_name(name)] = t.StructField(name, type_, is_nullable(arg))
    return args, t.StructType(tuple(fields.values()))


def _array_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`array(values)`: the array of a row has the values of all columns in this row."""
    given = v.expanded(args)
    rows = len(given[0])
    return listed(np.full(rows, len(args), np.int64), np.ones(rows, np.bool_), v.interleaved(given))


def _struct_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    rows = next((len(each) for each in args if not v.is_constant(each)), 1)
    assert isinstance(call.type, t.StructType)
    members = [v.as_array(each, rows) for each in args[1::2]]
    fields = [pa.field(field.name, member.type) for field, member in zip(call.type.fields, members, strict=True)]
    return pa.StructArray.from_arrays(members, fields=fields)


def _extract_signature(args: tuple[Node, ...]) -> Typed:
    """Accept `x[i]` of an array, `x[key]` of a map, `x.field` of a struct or of an array of structs."""
    if len(args) != 2 or is_collated(*args):
        return None
    given, key = type_of(args[0]), args[1]
    match given:
        case t.StructType() if isinstance(key, Literal) and isinstance(key.value, str):
            field = _field(given, key.value)
            return None if field is None else (args, field.type)
        case t.ArrayType(t.StructType() as element, contains_null) if (
            isinstance(key, Literal) and type_of(key) == t.STRING
        ):
            field = _field(element, str(key.value))
            return None if field is None else (args, t.ArrayType(field.type, contains_null or field.nullable))
        case t.ArrayType(element) if not _without_null(*args):
            place = key if type_of(key) in t.INTEGRAL_BITS or type_of(key) == t.VOID else None
            return None if place is None else ((args[0], cast_to(place, t.LONG)), element)
        case t.MapType(of, value):
            cast = implicit_cast(key, of)
            return None if cast is None or not is_orderable(of) else ((args[0], cast), value)
    return None


def _without_null(array: Node, place: Node) -> bool:
    """Whether Spark declares an element as not nullable although its index may be NULL: the result is then undefined.

    # Spark 4.1, GetArrayItem and ElementAt: computeNullabilityFromArray ignores the nullability of the index
    """
    type_ = type_of(array)
    never = isinstance(type_, t.ArrayType) and not type_.contains_null and not is_nullable(array)
    return never and is_nullable(place)


def _field(struct: t.StructType, name: str) -> t.StructField | None:
    found = [field for field in struct.fields if fold_name(field.name) == fold_name(name)]
    return found[0] if len(found) == 1 else None


def _extract(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    value, key = args
    match type_of(call.args[0]):
        case t.StructType() as struct:
            return value[_place(struct, key)]
        case t.ArrayType(t.StructType() as element) if isinstance(key, str):
            at = _place(element, key)
            return tuple([None if each is None else each[at] for each in value])
        case t.ArrayType():
            # A 64-bit index wraps around to 32 bits.
            at = (key + 2**31) % 2**32 - 2**31
            if not 0 <= at < len(value):
                raise EvaluationError(
                    f"The index {at} is out of an array of {len(value)}: use get for NULL (INVALID_ARRAY_INDEX)."
                )
            return value[at]
    return map_lookup(value, key)


def _place(struct: t.StructType, name: str) -> int:
    return next(at for at, field in enumerate(struct.fields) if fold_name(field.name) == fold_name(name))


def _extract_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    given = v.column(args[0])
    match type_of(call.args[0]):
        case t.StructType() as struct:
            return one_chunk(pc.struct_field(given, _place(struct, v.constant(args[1]))))
        case t.ArrayType(t.StructType() as element) if type_of(call.args[1]) == t.STRING:
            lists = lists_of(given)
            inner = one_chunk(pc.struct_field(given.values, _place(element, v.constant(args[1]))))
            return listed(lists.lengths, lists.valid, inner.take(arrow_array(lists.places())))
        case t.ArrayType():
            return _at(args, "raise")
    return _map_lookup_column(args)


def _at(args: Sequence[v.Values], outside: str) -> v.Values:
    """The elements at indexes from 0. For an index out of bounds, raise an error or return NULL, as `outside` says."""
    array = args[0] if not v.is_constant(args[0]) else pa.repeat(args[0], len(args[1]))
    lists = lists_of(array)
    places = np.asarray(v.numbers(args[1])).astype(np.int32).astype(np.int64)
    there = lists.valid if v.is_constant(args[1]) else lists.valid & valid_rows(args[1])
    inside = (places >= 0) & (places < lists.lengths)
    if outside == "raise" and (there & ~inside).any():
        raise EvaluationError("An index is out of an array: use get for NULL (INVALID_ARRAY_INDEX).")
    return taken_elements(array.values, lists.starts + places, there & inside)


def _element_at_signature(args: tuple[Node, ...]) -> Typed:
    return None if len(args) == 2 and _without_null(*args) else _try_element_at_signature(args)


def _try_element_at_signature(args: tuple[Node, ...]) -> Typed:
    if len(args) != 2 or is_collated(*args):
        return None
    match type_of(args[0]):
        case t.ArrayType(element) if (
            type_of(args[1]) in t.INTEGRAL_BITS and t.INTEGRAL_BITS[type_of(args[1]) or t.LONG] <= 32
        ):
            return (args[0], cast_to(args[1], t.INTEGER)), element
        case t.MapType(key, value) if is_orderable(key):
            given = type_of(args[1])
            met = None if given is None else plain_wider(key, given)
            return None if met != key else ((args[0], cast_to(args[1], key)), value)
    return None


def _element_at(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    value, key = args
    if isinstance(type_of(call.args[0]), t.MapType):
        return map_lookup(value, key)
    if key == 0:
        raise EvaluationError("The index 0 is not one of an array, which begins at 1 (INVALID_INDEX_OF_ZERO).")
    if key == _LEAST:
        raise Undecided("The least integer has no absolute value in Java.")
    if abs(key) <= len(value):
        return value[key - 1 if key > 0 else key]
    if call.name == "try_element_at":
        return None
    raise EvaluationError(
        f"The index {key} is out of an array of {len(value)}: use try_element_at for NULL "
        f"(INVALID_ARRAY_INDEX_IN_ELEMENT_AT)."
    )


def _element_at_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    if isinstance(type_of(call.args[0]), t.MapType):
        return _map_lookup_column(args)
    array = args[0] if not v.is_constant(args[0]) else pa.repeat(args[0], len(args[1]))
    lists = lists_of(array)
    places = np.broadcast_to(np.asarray(v.numbers(args[1]), np.int64), lists.starts.shape)
    there = lists.valid if v.is_constant(args[1]) else lists.valid & valid_rows(args[1])
    if (there & (places == 0)).any():
        raise EvaluationError("The index 0 is not one of an array, which begins at 1 (INVALID_INDEX_OF_ZERO).")
    if (there & (places == _LEAST)).any():
        raise v.NotByColumn
    inside = np.abs(places) <= lists.lengths
    if call.name == "element_at" and (there & ~inside).any():
        raise EvaluationError(
            "An index is out of an array: use try_element_at for NULL (INVALID_ARRAY_INDEX_IN_ELEMENT_AT)."
        )
    at = np.where(places > 0, places - 1, lists.lengths + places)
    return taken_elements(array.values, lists.starts + at, there & inside)


def _map_lookup_column(args: Sequence[v.Values]) -> v.Values:
    """The value of the first entry with a key, for each map."""
    maps = v.column(args[0])
    lists = lists_of(maps)
    keys = elements_of(maps.keys, lists)
    if pa.types.is_nested(keys.type) or pa.types.is_floating(keys.type):
        raise v.NotByColumn
    wanted = args[1] if v.is_constant(args[1]) else args[1].take(arrow_array(lists.owners()))
    hits = np.flatnonzero(true_rows(pc.equal(keys, wanted)))
    # The number of hits before the entries of each map, and up to their end.
    ends = np.cumsum(lists.lengths)
    firsts = ends - lists.lengths
    before = np.searchsorted(hits, firsts)
    there = np.diff(before, append=len(hits)) > 0
    found = np.full(len(maps), -1, np.int64)
    found[there] = (lists.starts - firsts)[there] + hits[before[there]]
    return taken_elements(maps.items, found, found >= 0)


def _size_signature(args: tuple[Node, ...]) -> Typed:
    known = len(args) == 1 and isinstance(type_of(args[0]), t.ArrayType | t.MapType)
    return (args, t.INTEGER) if known else None


def _length_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    return v.made(lists_of(args[0]).lengths, pa.int32(), args[0])


def _type_name(args: tuple[Node, ...]) -> Typed:
    """The name of the type as a constant. Like Spark, `typeof` does not evaluate its argument."""
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    return None if type_ is None else ((Literal(simple_string(type_), t.STRING),), t.STRING)


ELEMENTS: Mapping[str, FunctionRow] = {
    "array": Function(_array_signature, by_row(lambda *values: values), False, by_column=_array_column),
    "struct": Replaced(struct_node, 1, 1_000_000),
    "named_struct": Function(_struct_signature, lambda args, call, zone: args[1::2], False, by_column=_struct_column),
    # `x[i]`, `x[key]` and `x.field`.
    "[]": Function(_extract_signature, _extract, by_column=_extract_column, ansi_only=True),
    "element_at": Function(_element_at_signature, _element_at, by_column=_element_at_column, ansi_only=True),
    "try_element_at": Function(_try_element_at_signature, _element_at, by_column=_element_at_column),
    "get": Function(
        array_to(lambda array: array.element, t.INTEGER),
        by_row(lambda values, at: values[at] if 0 <= at < len(values) else None),
        by_column=lambda args, call, zone: _at(args, "null"),
    ),
    # Without ANSI mode, the size of NULL is -1.
    "size": Function(_size_signature, by_row(len), by_column=_length_column, ansi_only=True, aliases=("cardinality",)),
    "array_size": Function(array_to(lambda array: t.INTEGER), by_row(len), by_column=_length_column),
    "typeof": Function(_type_name, by_row(lambda name: name)),
}


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
    "str_to_map": function.Function(_text_signature, function.by_row(_text_to_map)),
}
