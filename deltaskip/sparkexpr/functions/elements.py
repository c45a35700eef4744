"""Functions that make arrays and structs, and extract their values.

# Spark 4.1, complexTypeCreator.scala, complexTypeExtractors.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, implicit_cast, is_orderable, type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.array_types import array_to, plain_wider, taken_elements, valid_rows
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Replaced, Typed, alike, by_row
from deltaskip.sparkexpr.functions.maps import map_lookup
from deltaskip.sparkexpr.nodes import Call, Column, Literal, Node, Variable
from deltaskip.sparkexpr.nullability import is_nullable
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, one_chunk, true_rows
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.lists import elements_of, listed, lists_of

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
