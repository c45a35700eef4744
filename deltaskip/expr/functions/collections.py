"""Functions of arrays, and of what makes arrays, structs and maps of values.

# Spark 4.1, complexTypeCreator.scala, complexTypeExtractors.scala, collectionOperations.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.coerce import (
    INTEGRAL_BITS,
    cast_to,
    common_type,
    implicit_cast,
    is_nested,
    is_orderable,
    plain_wider_type,
    same_type,
    type_of,
)
from deltaskip.expr.collation import is_collated
from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.functions.function import ByColumn, Compute, Function, Replaced, Row, Signature, Typed
from deltaskip.expr.functions.maps import MAPS, map_lookup
from deltaskip.expr.functions.sequences import SEQUENCES
from deltaskip.expr.functions.text import TEXT
from deltaskip.expr.intervals import INTERVALS
from deltaskip.expr.lists import MOST_ELEMENTS, check_zeros, distinct_key, listed, lists_of
from deltaskip.expr.nodes import Call, Column, Literal, Node, Variable
from deltaskip.expr.nullability import is_nullable
from deltaskip.expr.order import compare_values
from deltaskip.expr.strings import joined
from deltaskip.expr.vectors import (
    NotByColumn,
    Partly,
    Values,
    column,
    constant,
    constant_of,
    is_constant,
    made,
    numbers,
    repeated,
    valid,
)
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import FALSE, arrow_array, numpy_values, one_chunk
from deltaskip.schema.calendar import Zone
from deltaskip.schema.json import simple_string
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)

__all__ = ["COLLECTIONS", "struct_node"]

_LEAST = -(2**31)


def struct_node(*args: Node, names: Mapping[int, str] | None = None) -> Node:
    """Return the node of `struct(args)`, whose fields have the names of columns, or that of their number.

    Args:
        args: The values of the fields.
        names: Names that are written after values, by the number of the value.
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
        found += [Literal(name, STRING), arg]
    return Call("named_struct", tuple(found))


def _element(node: Node) -> ArrayType | None:
    """The type of an array; None for other values, and where a string may have a collation."""
    type_ = type_of(node)
    return type_ if isinstance(type_, ArrayType) and not is_collated(node) else None


def _plain_wider(left: DataType, right: DataType) -> DataType | None:
    """The common type without promotion of strings."""
    if is_nested(left) and is_nested(right) and not same_type(left, right):
        return None
    return plain_wider_type(left, right)


def _with_value(args: tuple[Node, ...], at: int = 1) -> tuple[ArrayType, tuple[Node, ...]] | None:
    """An array and a value as its elements, both cast to their common type."""
    array = _element(args[0])
    value = type_of(args[at])
    if array is None or value is None or is_collated(args[at]):
        return None
    met = _plain_wider(array.element, value)
    if met is None:
        return None
    type_ = ArrayType(met, array.contains_null)
    return type_, (cast_to(args[0], type_) if array.element != met else args[0], cast_to(args[at], met))


def _array_to(result: Callable[[ArrayType], DataType | None], *rest: DataType) -> Signature:
    """An array, and values cast to `rest`."""

    def signature(args: tuple[Node, ...]) -> Typed:
        array = _element(args[0]) if len(args) == 1 + len(rest) else None
        if array is None:
            return None
        cast = [implicit_cast(arg, type_) for arg, type_ in zip(args[1:], rest, strict=True)]
        found = tuple(arg for arg in cast if arg is not None)
        type_ = result(array)
        return None if type_ is None or len(found) < len(rest) else ((args[0], *found), type_)

    return signature


def _same(array: ArrayType) -> DataType:
    return array


def _ordered(array: ArrayType) -> DataType | None:
    return array if is_orderable(array.element) else None


def _array_signature(args: tuple[Node, ...]) -> Typed:
    """Any number of values of a common type."""
    types = [type_of(arg) for arg in args]
    known = [type_ for type_ in types if type_ is not None]
    met = common_type(known)
    if len(known) < len(types) or met is None or is_collated(*args):
        return None
    cast = tuple(cast_to(arg, met) for arg in args)
    return cast, ArrayType(met, any(map(is_nullable, cast)))


def _struct_signature(args: tuple[Node, ...]) -> Typed:
    """Names and values in turn. Structs without fields, or with two of one name, are left to Spark."""
    names = [arg.value if isinstance(arg, Literal) else None for arg in args[::2]]
    types = [type_of(arg) for arg in args[1::2]]
    if not args or len(names) != len(types) or is_collated(*args):
        return None
    fields: dict[str, StructField] = {}
    for name, type_, arg in zip(names, types, args[1::2], strict=True):
        if not isinstance(name, str) or type_ is None or fold_name(name) in fields:
            return None
        fields[fold_name(name)] = StructField(name, type_, is_nullable(arg))
    return args, StructType(tuple(fields.values()))


def _array_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """The elements of a row are those at the same place in all columns."""
    rows = next(len(each) for each in args if not is_constant(each))
    joined = pa.concat_arrays([repeated(each, rows) for each in args])
    order = np.arange(rows * len(args)).reshape(len(args), rows).T.ravel()
    counts = np.full(rows, len(args), np.int64)
    return listed(counts, np.ones(rows, np.bool_), joined.take(arrow_array(np.ascontiguousarray(order))))


def _struct_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    rows = next((len(each) for each in args if not is_constant(each)), 1)
    assert isinstance(call.type, StructType)
    members = [repeated(each, rows) for each in args[1::2]]
    fields = [pa.field(field.name, member.type) for field, member in zip(call.type.fields, members, strict=True)]
    return pa.StructArray.from_arrays(members, fields=fields)


def _extract_signature(args: tuple[Node, ...]) -> Typed:
    """`x[i]` of an array, `x[key]` of a map, `x.field` of a struct, or of each struct of an array."""
    if len(args) != 2 or is_collated(*args):
        return None
    given, key = type_of(args[0]), args[1]
    match given:
        case StructType() if isinstance(key, Literal) and isinstance(key.value, str):
            field = _field(given, key.value)
            return None if field is None else (args, field.type)
        case ArrayType(StructType() as element, contains_null) if isinstance(key, Literal) and type_of(key) == STRING:
            field = _field(element, str(key.value))
            return None if field is None else (args, ArrayType(field.type, contains_null or field.nullable))
        case ArrayType(element):
            place = key if type_of(key) in INTEGRAL_BITS or type_of(key) == VOID else None
            return None if place is None else ((args[0], cast_to(place, LONG)), element)
        case MapType(of, value):
            cast = implicit_cast(key, of)
            return None if cast is None or not is_orderable(of) else ((args[0], cast), value)
    return None


def _field(struct: StructType, name: str) -> StructField | None:
    found = [field for field in struct.fields if fold_name(field.name) == fold_name(name)]
    return found[0] if len(found) == 1 else None


def _extract(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    value, key = args
    match type_of(call.args[0]):
        case StructType() as struct:
            return value[_place(struct, key)]
        case ArrayType(StructType() as element) if isinstance(key, str):
            at = _place(element, key)
            return tuple([None if each is None else each[at] for each in value])
        case ArrayType():
            if not 0 <= key < len(value):
                raise EvaluationError(f"The index {key} is out of an array of {len(value)} (INVALID_ARRAY_INDEX).")
            return value[key]
    return map_lookup(value, key)


def _place(struct: StructType, name: str) -> int:
    return next(at for at, field in enumerate(struct.fields) if fold_name(field.name) == fold_name(name))


def _extract_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    given = column(args[0])
    match type_of(call.args[0]):
        case StructType() as struct:
            return one_chunk(pc.struct_field(given, _place(struct, constant(args[1]))))
        case ArrayType(StructType() as element) if type_of(call.args[1]) == STRING:
            lists = lists_of(given)
            inner = one_chunk(pc.struct_field(given.values, _place(element, constant(args[1]))))
            return listed(lists.lengths, lists.valid, inner.take(arrow_array(lists.places())))
        case ArrayType():
            return _at(args, "raise")
    return _map_lookup_column(args)


def _at(args: Sequence[Values], outside: str) -> Values:
    """The elements at places from 0; what is outside of an array is an error, or NULL."""
    array = args[0] if not is_constant(args[0]) else pa.repeat(args[0], len(args[1]))
    lists = lists_of(array)
    places = np.asarray(numbers(args[1]), np.int64)
    there = lists.valid if is_constant(args[1]) else lists.valid & _valid(args[1])
    inside = (places >= 0) & (places < lists.lengths)
    if outside == "raise" and (there & ~inside).any():
        raise EvaluationError("An index is out of an array (INVALID_ARRAY_INDEX).")
    return _taken(array.values, lists.starts + places, there & inside)


def _valid(values: pa.Array) -> np.ndarray:
    found = valid(values)
    return np.ones(len(values), np.bool_) if found is None else found


def _taken(elements: pa.Array, places: np.ndarray, there: np.ndarray) -> pa.Array:
    """The elements at places, null where there is none."""
    indices = np.where(there, places, 0)
    if not len(elements):
        return pa.nulls(len(places), elements.type)
    return elements.take(_made_indices(indices, there))


def _made_indices(indices: np.ndarray, there: np.ndarray) -> pa.Array:
    """Indices to take, null where there is nothing."""
    bits = pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(indices), [bits, pa.py_buffer(np.ascontiguousarray(indices))])


def _element_at_signature(args: tuple[Node, ...]) -> Typed:
    if len(args) != 2 or is_collated(*args):
        return None
    match type_of(args[0]):
        case ArrayType(element) if type_of(args[1]) in INTEGRAL_BITS and INTEGRAL_BITS[type_of(args[1]) or LONG] <= 32:
            return (args[0], cast_to(args[1], INTEGER)), element
        case MapType(key, value) if is_orderable(key):
            given = type_of(args[1])
            met = None if given is None else _plain_wider(key, given)
            return None if met != key else ((args[0], cast_to(args[1], key)), value)
    return None


def _element_at(tried: bool) -> Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        value, key = args
        if isinstance(type_of(call.args[0]), MapType):
            return map_lookup(value, key)
        if key == 0:
            raise EvaluationError("The index 0 is not one of an array, which begins at 1 (INVALID_INDEX_OF_ZERO).")
        if key == _LEAST:
            raise Undecided("The least integer has no absolute value in Java.")
        if abs(key) > len(value):
            if tried:
                return None
            raise EvaluationError(
                f"The index {key} is out of an array of {len(value)} (INVALID_ARRAY_INDEX_IN_ELEMENT_AT)."
            )
        return value[key - 1 if key > 0 else key]

    return compute


def _element_at_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    if isinstance(type_of(call.args[0]), MapType):
        return _map_lookup_column(args)
    array = args[0] if not is_constant(args[0]) else pa.repeat(args[0], len(args[1]))
    lists = lists_of(array)
    places = np.broadcast_to(np.asarray(numbers(args[1]), np.int64), lists.starts.shape)
    there = lists.valid if is_constant(args[1]) else lists.valid & _valid(args[1])
    if (there & (places == 0)).any():
        raise EvaluationError("The index 0 is not one of an array, which begins at 1 (INVALID_INDEX_OF_ZERO).")
    if (there & (places == _LEAST)).any():
        raise NotByColumn
    inside = np.abs(places) <= lists.lengths
    if call.name == "element_at" and (there & ~inside).any():
        raise EvaluationError("An index is out of an array (INVALID_ARRAY_INDEX_IN_ELEMENT_AT).")
    at = np.where(places > 0, places - 1, lists.lengths + places)
    return _taken(array.values, lists.starts + at, there & inside)


def _map_lookup_column(args: Sequence[Values]) -> Values:
    """The values of keys of maps: of the first entry with the key."""
    maps = column(args[0])
    keys = maps.keys
    if pa.types.is_nested(keys.type) or pa.types.is_floating(keys.type):
        raise NotByColumn
    lists = lists_of(maps)
    owners, places = lists.owners(), lists.places()
    wanted = args[1] if is_constant(args[1]) else args[1].take(arrow_array(owners))
    equal = numpy_values(pc.fill_null(pc.equal(keys.take(arrow_array(places)), wanted), FALSE))
    found = np.full(len(maps), -1, np.int64)
    hits = np.flatnonzero(equal)[::-1]
    found[owners[hits]] = places[hits]
    return _taken(maps.items, found, found >= 0)


def _size_signature(args: tuple[Node, ...]) -> Typed:
    known = len(args) == 1 and isinstance(type_of(args[0]), ArrayType | MapType)
    return (args, INTEGER) if known else None


def _length_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    return made(lists_of(args[0]).lengths, pa.int32(), args[0])


def _contains_signature(result: DataType) -> Signature:
    """An array and a value that may be one of its elements."""

    def signature(args: tuple[Node, ...]) -> Typed:
        found = _with_value(args) if len(args) == 2 else None
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


def _equal_elements(args: Sequence[Values]) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The lists, the owner of each element, whether it is equal to the row's value, and whether it is null."""
    array = column(args[0])
    if pa.types.is_nested(array.type.value_type) or pa.types.is_floating(array.type.value_type):
        raise NotByColumn
    lists = lists_of(array)
    owners = lists.owners()
    elements = array.values.take(arrow_array(lists.places()))
    wanted = args[1] if is_constant(args[1]) else args[1].take(arrow_array(owners))
    equal = numpy_values(pc.fill_null(pc.equal(elements, wanted), FALSE))
    return lists, owners, equal, numpy_values(elements.is_null())


def _contains_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    lists, owners, equal, null = _equal_elements(args)
    found = np.zeros(len(lists.starts), np.bool_)
    open_ = found.copy()
    found[owners[equal]] = True
    open_[owners[null]] = True
    there = lists.valid & (found | ~open_)
    there &= np.True_ if is_constant(args[1]) else _valid(args[1])
    return pc.if_else(arrow_array(there), arrow_array(found), pa.scalar(None, pa.bool_()))


def _position_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    lists, owners, equal, _ = _equal_elements(args)
    found = np.zeros(len(lists.starts), np.int64)
    hits = np.flatnonzero(equal)[::-1]
    found[owners[hits]] = lists.numbers()[hits] + 1
    return made(found, pa.int64(), *args)


def _remove_signature(args: tuple[Node, ...]) -> Typed:
    found = _with_value(args) if len(args) == 2 else None
    return None if found is None or not is_orderable(found[0].element) else (found[1], found[0])


def _remove(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, removed = args
    return tuple([each for each in values if each is None or compare_values(each, removed) != 0])


def _remove_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    lists, owners, equal, _ = _equal_elements(args)
    kept = ~equal
    elements = args[0].values.take(arrow_array(lists.places()[kept]))
    there = lists.valid if is_constant(args[1]) else lists.valid & _valid(args[1])
    kept_there = kept & there[owners]
    if not kept_there[kept].all():
        elements = args[0].values.take(arrow_array(lists.places()[kept_there]))
    return listed(np.bincount(owners[kept_there], minlength=len(there)), there, elements)


def _append_signature(args: tuple[Node, ...]) -> Typed:
    """An array and a value; the result may contain NULL in any case."""
    found = _with_value(args) if len(args) == 2 else None
    return None if found is None else (found[1], ArrayType(found[0].element, True))


def _append(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, value = args
    if values is None:
        return None
    return (*values, value) if call.name == "array_append" else (value, *values)


def _insert_signature(args: tuple[Node, ...]) -> Typed:
    if len(args) != 3 or type_of(args[1]) not in INTEGRAL_BITS or INTEGRAL_BITS[type_of(args[1]) or LONG] > 32:
        return None
    found = _with_value(args, 2)
    if found is None:
        return None
    (array, value), type_ = found[1], found[0]
    return (array, cast_to(args[1], INTEGER), value), ArrayType(type_.element, True)


def _insert(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, place, value = args
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


def _set_signature(args: tuple[Node, ...]) -> Typed:
    """Two arrays of a common type, whose elements are told apart."""
    arrays = [_element(arg) for arg in args]
    if len(arrays) != 2 or arrays[0] is None or arrays[1] is None:
        return None
    met = _plain_wider(arrays[0].element, arrays[1].element)
    if met is None or not is_orderable(met):
        return None
    cast = tuple(
        arg if array.element == met else cast_to(arg, ArrayType(met, array.contains_null))
        for arg, array in zip(args, (arrays[0], arrays[1]), strict=True)
    )
    return cast, ArrayType(met, True)


def _set_result(combine: Callable[[bool, bool], bool]) -> Signature:
    """As `_set_signature`, with an array as the result, which may contain NULL if `combine` says so."""

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
    check_zeros(args[0])
    found: dict[Any, Any] = {}
    for each in args[0]:
        found.setdefault(distinct_key(each), each)
    return tuple(found.values())


def _union(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return _distinct(((*args[0], *args[1]),), call, zone)


def _intersect(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    check_zeros(args[1])
    others = {distinct_key(each) for each in args[1]}
    found = _distinct((args[0],), call, zone)
    assert isinstance(found, tuple)
    return tuple([each for each in found if distinct_key(each) in others])


def _except(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    check_zeros(args[1])
    others = {distinct_key(each) for each in args[1]}
    found = _distinct((args[0],), call, zone)
    assert isinstance(found, tuple)
    return tuple([each for each in found if distinct_key(each) not in others])


def _overlap_signature(args: tuple[Node, ...]) -> Typed:
    found = _set_signature(args)
    return None if found is None else (found[0], BOOLEAN)


def _overlap(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    left, right = args
    others = {distinct_key(each) for each in right if each is not None}
    if any(distinct_key(each) in others for each in left if each is not None):
        return True
    return None if left and right and (None in left or None in right) else False


def _join_signature(args: tuple[Node, ...]) -> Typed:
    """An array of strings, the text between them, and one for NULL."""
    array = _element(args[0]) if args else None
    if array is None or not 2 <= len(args) <= 3 or is_collated(*args) or is_nested(array.element):
        return None
    if any(type_of(arg) not in (STRING, VOID) for arg in args[1:]):
        return None
    cast = args[0] if array.element == STRING else cast_to(args[0], ArrayType(STRING, array.contains_null))
    return (cast, *(cast_to(arg, STRING) for arg in args[1:])), STRING


def _join(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, between = args[0], args[1]
    if len(args) == 2:
        return between.join([each for each in values if each is not None])
    return between.join([args[2] if each is None else each for each in values])


def _join_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    array = column(args[0])
    if len(args) != 2 or array.values.null_count or not is_constant(args[1]):
        raise NotByColumn
    return pc.binary_join(array, args[1])


def _extreme_signature(args: tuple[Node, ...]) -> Typed:
    array = _element(args[0]) if len(args) == 1 else None
    return None if array is None or not is_orderable(array.element) else (args, array.element)


def _extreme(sign: int) -> Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        found = None
        for value in args[0]:
            if value is not None and (found is None or compare_values(value, found) == sign):
                found = value
        return found

    return compute


def _extreme_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """The extremes of integers, dates and times."""
    array = column(args[0])
    type_ = call.type
    assert type_ is not None
    if type_ in (FLOAT, DOUBLE, STRING, BINARY, BOOLEAN, VOID) or is_nested(type_):
        raise NotByColumn
    lists = lists_of(array)
    elements = array.values.take(arrow_array(lists.places()))
    there = numpy_values(elements.is_valid())
    owners, found = lists.owners()[there], np.asarray(numbers(elements), np.int64)[there]
    order = np.lexsort((found if call.name == "array_min" else -found, owners))
    if (found == np.iinfo(np.int64).min).any():
        raise NotByColumn
    firsts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    result, known = np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_)
    result[owners[order][firsts]] = found[order][firsts]
    known[owners] = True
    values = made(result, arrow_type(type_), array)
    return pc.if_else(arrow_array(known), values, pa.nulls(1, values.type)[0])


def _repeat_signature(args: tuple[Node, ...]) -> Typed:
    if len(args) != 2 or is_collated(args[0]):
        return None
    value, count = type_of(args[0]), type_of(args[1])
    if value is None or not (count == VOID or (count in INTEGRAL_BITS and count != LONG)):
        return None
    return (args[0], cast_to(args[1], INTEGER)), ArrayType(value, is_nullable(args[0]))


def _repeat(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    value, count = args
    if count is None:
        return None
    if count > MOST_ELEMENTS:
        raise Undecided("Very long arrays are left to Spark.")
    return (value,) * count


def _compact(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return tuple([each for each in args[0] if each is not None])


def _compact_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    array = column(args[0])
    lists = lists_of(array)
    places = lists.places()
    kept = numpy_values(array.values.is_valid())[places] if len(places) else np.zeros(0, np.bool_)
    counts = np.bincount(lists.owners()[kept], minlength=len(array))
    return listed(counts, lists.valid, array.values.take(arrow_array(places[kept])))


def _sort_signature(args: tuple[Node, ...]) -> Typed:
    """`sort_array(array, ascending)`, with a constant order."""
    found = _array_to(_ordered, *([BOOLEAN] * (len(args) - 1)))(args) if 1 <= len(args) <= 2 else None
    return found if found is None or all(type_of(arg) in (BOOLEAN, VOID) for arg in args[1:]) else None


def _sort(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """NULLs are the least."""
    ascending = args[1] if len(args) == 2 else True
    _check_one_zero(args[0])
    nulls = tuple([each for each in args[0] if each is None])
    known = [each for each in args[0] if each is not None]
    known.sort(key=cmp_to_key(compare_values), reverse=not ascending)
    return (*nulls, *known) if ascending else (*known, *nulls)


def _check_one_zero(values: Sequence[Any]) -> None:
    """Raise Undecided for zeros of both signs, of which some of Spark's functions take the negative one for less."""
    if len({repr(each) for each in values if isinstance(each, float) and each == 0}) > 1:
        raise Undecided("The order of zeros of both signs is left to Spark.")
    for each in values:
        if isinstance(each, tuple):
            check_zeros(each)


def _sorted_last(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`array_sort(array)`: NULLs are last."""
    _check_one_zero(args[0])
    known = sorted([each for each in args[0] if each is not None], key=cmp_to_key(compare_values))
    return (*known, *[None for each in args[0] if each is None])


def _sort_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """Integers, dates, times and strings in binary order."""
    array = column(args[0])
    kind = array.type.value_type
    if pa.types.is_nested(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        raise NotByColumn
    ascending = True if len(args) == 1 else constant(args[1])
    lists = lists_of(array)
    elements = array.values.take(arrow_array(lists.places()))
    if pa.types.is_string(kind):
        elements = elements.cast(pa.binary())
    table = pa.table({"owner": lists.owners(), "element": elements})
    order = "ascending" if ascending else "descending"
    last = call.name == "array_sort" or not ascending
    nulls = "at_end" if last else "at_start"
    by = pc.sort_indices(table, sort_keys=[("owner", "ascending", "at_end"), ("element", order, nulls)])
    return listed(lists.lengths, lists.valid, array.values.take(arrow_array(lists.places()).take(by)))


def _slice(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    values, start, length = args
    if start == 0:
        raise EvaluationError("The start of slice is not 0, but from 1 or from -1 (INVALID_PARAMETER_VALUE.START).")
    if length < 0:
        raise EvaluationError("The length of slice is not negative (INVALID_PARAMETER_VALUE.LENGTH).")
    at = start - 1 if start > 0 else len(values) + start
    return values[at : at + length] if at >= 0 else ()


def _slice_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    array, start, length = column(args[0]), constant(args[1]), constant(args[2])
    lists = lists_of(array)
    if start == 0 or length < 0:
        raise NotByColumn
    at = np.full(len(array), start - 1) if start > 0 else lists.lengths + start
    counts = np.where(at < 0, 0, np.clip(lists.lengths - at, 0, length))
    cut = type(lists)(lists.starts + np.maximum(at, 0), np.where(lists.valid, counts, 0), lists.valid)
    return listed(cut.lengths, cut.valid, array.values.take(arrow_array(cut.places())))


def _flatten_signature(args: tuple[Node, ...]) -> Typed:
    array = _element(args[0]) if len(args) == 1 else None
    return (args, array.element) if array is not None and isinstance(array.element, ArrayType) else None


def _flatten(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return None if None in args[0] else tuple([each for inner in args[0] for each in inner])


def _flatten_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    array = column(args[0])
    outer = lists_of(array)
    inner = one_chunk(array.values.take(arrow_array(outer.places())))
    lists = lists_of(inner)
    there = outer.valid.copy()
    there[outer.owners()[~lists.valid]] = False
    counts = np.bincount(outer.owners(), lists.lengths, len(array)).astype(np.int64)
    kept = there[outer.owners()]
    cut = type(lists)(lists.starts, np.where(kept, lists.lengths, 0), lists.valid)
    return listed(np.where(there, counts, 0), there, inner.values.take(arrow_array(cut.places())))


def _reverse_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    array = column(args[0])
    lists = lists_of(array)
    places = np.repeat(lists.starts + lists.lengths - 1, lists.lengths) - lists.numbers()
    return listed(lists.lengths, lists.valid, array.values.take(arrow_array(places)))


def _zip_node(*args: Node) -> Node:
    """The node of `arrays_zip(args)`, with the names of the fields: those of columns, or numbers."""
    names: list[Node] = []
    for at, arg in enumerate(args):
        match arg:
            case Column(parts):
                names.append(Literal(parts[-1], STRING))
            case Call("[]", (_, Literal(str() as name, _))):
                names.append(Literal(name, STRING))
            case _:
                names.append(Literal(str(at), STRING))
    return Call("arrays_zip()", (*names, *args))


def _zip_signature(args: tuple[Node, ...]) -> Typed:
    """Names, and arrays side by side."""
    count = len(args) // 2
    names = [arg.value for arg in args[:count] if isinstance(arg, Literal) and isinstance(arg.value, str)]
    arrays = [array for arg in args[count:] if (array := _element(arg)) is not None]
    if not args or len(names) < count or len(arrays) < count or len(set(map(fold_name, names))) < count:
        return None
    fields = [StructField(name, array.element) for name, array in zip(names, arrays, strict=True)]
    return args, ArrayType(StructType(tuple(fields)), False)


def _zip(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    arrays = args[len(args) // 2 :]
    most = max(map(len, arrays))
    return tuple([tuple([each[at] if at < len(each) else None for each in arrays]) for at in range(most)])


def _concat_signature(args: tuple[Node, ...]) -> Typed:
    arrays = [array for arg in args if (array := _element(arg)) is not None]
    met = common_type(arrays) if len(arrays) == len(args) else None
    return None if met is None else (tuple(cast_to(arg, met) for arg in args), met)


def _concat(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return tuple([each for array in args for each in array])


def _concat_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    rows = next(len(each) for each in args if not is_constant(each))
    arrays = [repeated(each, rows) for each in args]
    lists = [lists_of(each) for each in arrays]
    there = np.logical_and.reduce([each.valid for each in lists])
    elements = pa.concat_arrays(
        [each.values.take(arrow_array(found.places())) for each, found in zip(arrays, lists, strict=True)]
    )
    owners = np.concatenate([each.owners() for each in lists])
    # Of one row, the elements of the first array come first.
    order = np.argsort(owners, kind="stable")
    order = order[there[owners[order]]]
    counts = np.where(there, np.add.reduce([each.lengths for each in lists]), 0)
    return listed(counts, there, elements.take(arrow_array(order)))


def _concat_ws_signature(args: tuple[Node, ...]) -> Typed:
    """A separator, and strings and arrays of strings."""
    if type_of(args[0]) not in (STRING, VOID) or is_collated(*args):
        return None
    cast: list[Node] = [cast_to(args[0], STRING)]
    for arg in args[1:]:
        array = _element(arg)
        if array is not None and is_nested(array.element):
            return None
        found = implicit_cast(arg, STRING) if array is None else cast_to(arg, ArrayType(STRING, array.contains_null))
        if found is None:
            return None
        cast.append(found)
    return tuple(cast), STRING


def _concat_ws(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if args[0] is None:
        return None
    texts = [text for each in args[1:] for text in (each if isinstance(each, tuple) else (each,)) if text is not None]
    return joined([piece for text in texts for piece in (args[0], text)][1:], "")


def _or_of_arrays(row: Row, signature: Signature, compute: Compute, by_column: ByColumn | None) -> Function:
    """A function of strings that arrays have, too."""
    assert isinstance(row, Function)
    plain = row

    def of_arrays(args: tuple[Node, ...]) -> bool:
        return any(isinstance(type_of(arg), ArrayType) for arg in args)

    def column_of(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
        found = by_column if of_arrays(call.args) else plain.by_column
        if found is None:
            raise NotByColumn
        return found(args, call, zone)

    return replace(
        plain,
        signature=lambda args: (signature if of_arrays(args) else plain.signature)(args),
        compute=lambda args, call, zone: (compute if of_arrays(call.args) else plain.compute)(args, call, zone),
        by_column=column_of,
    )


def _typeof_signature(args: tuple[Node, ...]) -> Typed:
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    return None if type_ is None or type_ in INTERVALS else (args, STRING)


def _typeof(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return simple_string(type_of(call.args[0]) or VOID)


def _typeof_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    return constant_of(_typeof((), call, zone), pa.string())


_SET_OF_BOTH = _set_result(lambda one, other: one or other)

COLLECTIONS: Mapping[str, Row] = {
    "array": Function(_array_signature, lambda args, call, zone: args, False, by_column=_array_column),
    "struct": Replaced(struct_node, 1, 1_000_000),
    "named_struct": Function(_struct_signature, lambda args, call, zone: args[1::2], False, by_column=_struct_column),
    # `x[i]`, `x[key]` and `x.field`.
    "[]": Function(_extract_signature, _extract, by_column=_extract_column, ansi_only=True),
    "element_at": Function(_element_at_signature, _element_at(False), by_column=_element_at_column, ansi_only=True),
    "try_element_at": Function(_element_at_signature, _element_at(True), by_column=_element_at_column),
    "get": Function(
        _array_to(lambda array: array.element, INTEGER),
        lambda args, call, zone: args[0][args[1]] if 0 <= args[1] < len(args[0]) else None,
        by_column=lambda args, call, zone: _at(args, "null"),
    ),
    # Without ANSI mode, the size of NULL is -1.
    "size": Function(
        _size_signature,
        lambda args, call, zone: len(args[0]),
        by_column=_length_column,
        ansi_only=True,
        aliases=("cardinality",),
    ),
    "array_size": Function(
        _array_to(lambda array: INTEGER), lambda args, call, zone: len(args[0]), by_column=_length_column
    ),
    "array_contains": Function(_contains_signature(BOOLEAN), _contains, by_column=_contains_column),
    "array_position": Function(_contains_signature(LONG), _position, by_column=_position_column),
    "array_remove": Function(_remove_signature, _remove, by_column=_remove_column),
    "array_append": Function(_append_signature, _append, False),
    "array_prepend": Function(_append_signature, _append, False),
    "array_insert": Function(_insert_signature, _insert, False),
    "array_distinct": Function(_array_to(_ordered), _distinct),
    "array_union": Function(_SET_OF_BOTH, _union),
    "array_intersect": Function(_set_result(lambda one, other: one and other), _intersect),
    "array_except": Function(_set_result(lambda one, other: one), _except),
    "arrays_overlap": Function(_overlap_signature, _overlap),
    "array_join": Function(_join_signature, _join, by_column=_join_column),
    "array_min": Function(_extreme_signature, _extreme(-1), by_column=_extreme_column),
    "array_max": Function(_extreme_signature, _extreme(1), by_column=_extreme_column),
    "array_repeat": Function(_repeat_signature, _repeat, False),
    "array_compact": Function(
        _array_to(lambda array: ArrayType(array.element, False)), _compact, by_column=_compact_column
    ),
    "sort_array": Function(_sort_signature, _sort, by_column=_sort_column),
    "array_sort": Function(_array_to(_ordered), _sorted_last, by_column=_sort_column),
    "slice": Function(_array_to(_same, INTEGER, INTEGER), _slice, by_column=_slice_column),
    "flatten": Function(_flatten_signature, _flatten, by_column=_flatten_column),
    "arrays_zip": Replaced(_zip_node, 1, 1_000_000),
    # `arrays_zip` with the names of its fields.
    "arrays_zip()": Function(_zip_signature, _zip),
    "concat": _or_of_arrays(TEXT["concat"], _concat_signature, _concat, _concat_column),
    "concat_ws": _or_of_arrays(TEXT["concat_ws"], _concat_ws_signature, _concat_ws, None),
    "reverse": _or_of_arrays(
        TEXT["reverse"], _array_to(_same), lambda args, call, zone: args[0][::-1], _reverse_column
    ),
    "typeof": Function(_typeof_signature, _typeof, False, by_column=_typeof_column),
    **SEQUENCES,
    **MAPS,
}
