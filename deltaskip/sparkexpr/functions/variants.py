"""Functions of variants.

# Spark 4.1, variantExpressions.scala, VariantGet, SchemaOfVariant
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import DeltaSkipError
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.coerce import ATOMIC, castable, implicit_cast, is_nested, type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.kernels.variant_building import of_lists, of_numbers, of_texts
from deltaskip.sparkexpr.kernels.variant_items import items_at
from deltaskip.sparkexpr.kernels.variant_objects import of_structs
from deltaskip.sparkexpr.kernels.variant_parsing import variants_of
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import VARIANT_STORAGE, arrow_type
from deltaskip.sparkexpr.types.ddl import parse_type_text
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values import variant_reading as reading
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import TRUE, arrow_array, arrow_scalar, filled, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import MICROS_PER_SECOND, Zone
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.column_casts import Converted, cast_column
from deltaskip.sparkexpr.values.json_reading import Malformed, read_json

_STEP = regex(r"""\.(?!\s)([^.\[]+)|\['(?!\s)([^'?]+)'\]|\["(?!\s)([^"?]+)"\]|\[([0-9]+)\]""")
_PLAIN = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_INDEX_DIGITS = 9
_LONG_DIGITS = 20
# Kinds of values in kernels.variant_items.
_TRUE, _DECIMAL, _OBJECT, _LIST, _MISSING, _LEFT = 1, 8, 100, 101, 254, 255
TYPES_OF_ITEMS: Mapping[int, t.DataType] = {
    1: t.BOOLEAN,
    2: t.BOOLEAN,
    6: t.LONG,
    7: t.DOUBLE,
    11: t.DATE,
    12: t.TIMESTAMP,
    13: t.TIMESTAMP_NTZ,
    15: t.BINARY,
    16: t.STRING,
}
_DECIMAL_DIGITS = 18
_NO_NAMES = b"\1\0\0"
_FIRST_BEHIND = "\ue000"
_MOST_DIGITS = 38


def _of_text(args: tuple[Node, ...]) -> function.Typed:
    cast = implicit_cast(args[0], t.STRING) if len(args) == 1 and type_of(args[0]) in (t.STRING, t.VOID) else None
    return None if cast is None or is_collated(*args) else ((cast,), t.VARIANT)


def _parse(tried: bool) -> function.Compute:
    def compute(text: str) -> object:
        try:
            return reading.variant_of(reading.of_json(read_json(text)))
        except (Malformed, reading.DuplicateName) as error:
            if tried:
                return None
            raise EvaluationError("The text is not JSON (MALFORMED_RECORD_IN_PARSING).") from error

    return function.by_row(compute)


def _get_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a variant, a path, and an optional literal of a type."""
    if not 2 <= len(args) <= 3 or type_of(args[0]) != t.VARIANT or type_of(args[1]) != t.STRING or is_collated(*args):
        return None
    if len(args) == 2:
        return args, t.VARIANT
    named = args[2].value if isinstance(args[2], Literal) else None
    # parse_type_text drops collations.
    if not isinstance(named, str) or "collate" in named.lower():
        return None
    try:
        type_ = parse_type_text(named)
    except DeltaSkipError:
        return None
    return (args, type_) if _is_target(type_) else None


def _is_target(type_: t.DataType) -> bool:
    """Whether deltaskip casts variants to a type: all its fields and elements must be nullable."""
    match type_:
        case t.ArrayType(element, contains_null):
            return contains_null and _is_target(element)
        case t.MapType(key, value, contains_null):
            return key == t.STRING and contains_null and _is_target(value)
        case t.StructType(fields):
            return bool(fields) and all(f.nullable and not f.metadata and _is_target(f.type) for f in fields)
        case t.UnknownType():
            return False
    return type_ in (*ATOMIC, t.VARIANT) or isinstance(type_, t.DecimalType)


def path_steps(path: str) -> list[str | int]:
    """Return the names and indexes of a path. Raises EvaluationError where Spark does, and Undecided."""
    found: list[str | int] = []
    at = 1
    while at < len(path) or path[:1] != "$":
        step = _STEP.match(path, at) if path[:1] == "$" else None
        if step is None:
            if any(character.isspace() for character in path):
                raise Undecided("A path with blanks is left to Spark.")
            raise EvaluationError(f"{path!r} is not a path into a variant (INVALID_VARIANT_GET_PATH).")
        *names, index = step.groups()
        if index is not None and len(index) > _INDEX_DIGITS:
            raise Undecided("A very large index is left to Spark.")
        found.append(int(index) if index is not None else next(name for name in names if name is not None))
        at = step.end()
    return found


def _parsed(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    values, metadata, left = variants_of(v.column(args[0]))
    return v.partly(_variants(values, metadata), numpy_values(left) != 0)


def _variants(values: pa.Array, metadata: pa.Array | bytes) -> pa.Array:
    """Variants of their two binaries; null where `values` is null."""
    null = values.is_null() if values.null_count else None
    if isinstance(metadata, bytes):
        metadata = pa.repeat(arrow_scalar(metadata, pa.binary()), len(values))
    members = {"value": values, "metadata": metadata}
    there = [filled(members[field.name], b"") for field in VARIANT_STORAGE]
    return pa.StructArray.from_arrays(there, fields=list(VARIANT_STORAGE), mask=null)


@dataclass(frozen=True, slots=True)
class VariantItems:
    """The value at a path in each variant (see kernels.variant_items)."""

    kinds: npt.NDArray[np.uint8]
    numbers: pa.Array
    scales: pa.Array
    data: pa.Array


def items_of(variants: pa.Array, steps: Sequence[str | int], whole: bool = False) -> VariantItems:
    """Return the value at the end of a path in each variant. whole: whether `data` has the headers of values."""
    members = dict(zip((field.name for field in variants.type), variants.flatten(), strict=True))
    names = [b"" if isinstance(step, int) else step.encode() for step in steps]
    indices = [step if isinstance(step, int) else -1 for step in steps]
    kinds, *rest = items_at(
        members["value"], members["metadata"], arrow_array(names, pa.binary()), arrow_array(indices, pa.int64()), whole
    )
    return VariantItems(numpy_values(kinds), *rest)


def _get_column(tried: bool) -> function.ByColumn:
    def columns(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
        given, path = v.column(args[0]), v.constant(args[1])
        try:
            steps = path_steps(path)
        except EvaluationError as error:
            # The function fails for every variant that is not NULL.
            raise v.NotByColumn from error
        return _cast_items(given, steps, call.type, zone, tried)

    return columns


def _cast_column(tried: bool) -> function.ByColumn:
    return lambda args, call, zone: _cast_items(v.column(args[0]), (), call.type, zone, tried)


def _cast_items(
    variants: pa.Array, steps: Sequence[str | int], target: t.DataType | None, zone: Zone, tried: bool
) -> v.Partly | v.Values:
    """The value at a path in each variant, cast to an atomic type; objects and arrays are left over."""
    if target is None or is_nested(target):
        raise v.NotByColumn
    items = items_of(variants, steps, target == t.VARIANT)
    if target == t.VARIANT:
        found, rest = _variants(items.data, _NO_NAMES), items.kinds >= _OBJECT
    else:
        found, rest = by_type(items, target, zone, tried)
        rest |= (items.kinds == _OBJECT) | (items.kinds == _LIST)
    rest = (rest | (items.kinds == _LEFT)) & (items.kinds != _MISSING)
    return v.partly(found, rest)


def by_type(items: VariantItems, target: t.DataType, zone: Zone, tried: bool) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """The items, cast together by type, and a mask of the rows that are left over, which are null."""
    kind = arrow_type(target)
    rest = np.zeros(len(items.kinds), np.bool_)
    places = np.full(len(items.kinds), -1)
    parts = [pa.nulls(0, kind)]
    count = 0
    for source, rows in types_of(items):
        try:
            cast = _converted(items, source, rows, target, zone)
        except (v.NotByColumn, pa.ArrowException):
            rest[rows] = True
            continue
        left = np.zeros(len(rows), np.bool_) if cast.rest is None else cast.rest
        # If the cast of a value is NULL, the cast from a variant fails.
        failed = ~left & numpy_values(cast.values.is_null())
        failed |= False if cast.failed is None else ~left & cast.failed
        rest[rows] = left if tried else left | failed
        known = ~left & ~failed
        places[rows[known]] = count + np.flatnonzero(known)
        parts.append(cast.values)
        count += len(rows)
    taken = pa.array(np.where(places < 0, 0, places), mask=places < 0)
    return pa.concat_arrays(parts).take(taken), rest


def _converted(
    items: VariantItems, source: t.DataType, rows: npt.NDArray[np.int64], target: t.DataType, zone: Zone
) -> Converted:
    """The items of one type, cast to another; all are null if Spark has no such cast."""
    if not castable(source, target) or (source, target) == (t.BOOLEAN, t.TIMESTAMP):
        return Converted(pa.nulls(len(rows), arrow_type(target)))
    if (source, target) == (t.LONG, t.TIMESTAMP):
        # Seconds beyond the range of timestamps fail.
        raise v.NotByColumn
    return cast_column(values_of(items, source, rows), source, target, zone)


def types_of(items: VariantItems) -> list[tuple[t.DataType, npt.NDArray[np.int64]]]:
    """Each type of the items, and the rows with this type."""
    found: list[tuple[t.DataType, npt.NDArray[np.int64]]] = []
    for kind in np.unique(items.kinds).tolist():
        rows = np.flatnonzero(items.kinds == kind)
        if kind == _DECIMAL:
            scales = numpy_values(items.scales)
            found += [
                (t.DecimalType(_DECIMAL_DIGITS, scale), rows[scales[rows] == scale])
                for scale in np.unique(scales[rows]).tolist()
            ]
        elif kind in TYPES_OF_ITEMS:
            found.append((TYPES_OF_ITEMS[kind], rows))
    return found


def values_of(items: VariantItems, type_: t.DataType, rows: npt.NDArray[np.int64]) -> pa.Array:
    """The items of the given rows, which have one type, as an array."""
    places = arrow_array(rows)
    if type_ in (t.STRING, t.BINARY):
        return items.data.take(places).cast(arrow_type(type_))
    if type_ == t.BOOLEAN:
        return arrow_array(items.kinds[rows] == _TRUE)
    given = items.numbers.take(places)
    if isinstance(type_, t.DecimalType):
        whole = given.cast(pa.decimal128(_LONG_DIGITS - 1, 0))
        return pa.Array.from_buffers(arrow_type(type_), len(whole), whole.buffers())
    return given.cast(pa.int32()).view(pa.date32()) if type_ == t.DATE else given.view(arrow_type(type_))


def _null_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Partly | v.Values:
    """`is_variant_null(variant)`."""
    kinds = items_of(v.column(args[0]), ()).kinds
    return v.partly(arrow_array(kinds == 0), kinds == _LEFT)


def _to_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """Values as variants; maps and their contents are left over."""
    type_ = type_of(call.args[0])
    assert type_ is not None
    if type_ == t.VARIANT:
        return v.column(args[0])
    names = list(_names_in(type_))
    if any(character >= _FIRST_BEHIND for name in names for character in name):
        # Java's order of names differs from the order of their bytes.
        raise v.NotByColumn
    metadata = reading.variant_of(dict.fromkeys(names, reading.VariantPrimitive(t.VOID, None)))[1]
    try:
        values = _stored(v.column(args[0]), type_, arrow_array([metadata], pa.binary()))
    except ValueError as error:
        raise v.NotByColumn from error
    return _variants(values.cast(pa.binary()), metadata)


def _names_in(type_: t.DataType) -> Iterator[str]:
    match type_:
        case t.ArrayType(element):
            yield from _names_in(element)
        case t.StructType(fields):
            for field in fields:
                yield field.name
                yield from _names_in(field.type)
        case t.MapType() | t.UnknownType():
            raise v.NotByColumn
    if type_ in (t.VARIANT, t.VOID):
        raise v.NotByColumn


def _stored(values: pa.Array, type_: t.DataType, metadata: pa.Array) -> pa.Array:
    """The `value` binaries of variants, null where `values` is null."""
    match type_:
        case t.ArrayType(element):
            lengths = pc.list_value_length(values).cast(pa.int64())
            return of_lists(lengths, _stored(one_chunk(pc.list_flatten(values)), element, metadata))
        case t.StructType(fields):
            members = zip(fields, values.flatten(), strict=True)
            stored = [filled(_stored(member, field.type, metadata), b"\0") for field, member in members]
            found = of_structs(
                pa.repeat(TRUE, len(values)), [field.name.encode() for field in fields], stored, metadata,
                pa.repeat(arrow_scalar(0, pa.int64()), len(values)),
            )  # fmt: skip
            return pc.if_else(values.is_valid(), found, v.none_of(found.type)) if values.null_count else found
    return of_texts(values) if type_ in (t.STRING, t.BINARY) else of_numbers(values)


def _get(tried: bool) -> function.Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        tree: reading.VariantTree | None = reading.tree_of(args[0])
        for step in path_steps(args[1]):
            match tree:
                case dict() if isinstance(step, str):
                    tree = tree.get(step)
                case list() if isinstance(step, int):
                    tree = tree[step] if step < len(tree) else None
                case _:
                    tree = None
        return None if tree is None or call.type is None else _cast(tree, call.type, zone, tried)

    return compute


def _cast_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a variant, and a NULL of the target type."""
    target = type_of(args[1]) if len(args) == 2 else None
    return (args, target) if target is not None and type_of(args[0]) == t.VARIANT and _is_target(target) else None


def _cast_variant(tried: bool) -> function.Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        if args[0] is None or call.type is None:
            return None
        return _cast(reading.tree_of(args[0]), call.type, zone, tried)

    return compute


def _cast(tree: reading.VariantTree, type_: t.DataType, zone: Zone, tried: bool) -> Any:
    """Cast a value of a variant to a type."""
    if type_ == t.VARIANT:
        return reading.variant_of(tree)
    if isinstance(tree, reading.VariantPrimitive) and tree.type == t.VOID:
        return None
    match type_, tree:
        case t.ArrayType(element), list():
            return tuple([_cast(each, element, zone, tried) for each in tree])
        case t.MapType(_, value), dict():
            return tuple([(name, _cast(each, value, zone, tried)) for name, each in tree.items()])
        case t.StructType(fields), dict():
            return tuple([_cast(tree[f.name], f.type, zone, tried) if f.name in tree else None for f in fields])
        case _, reading.VariantPrimitive() if not is_nested(type_):
            found = _cast_item(tree, type_, zone)
            if found is not None:
                return found
        case _, list() | dict() if type_ == t.STRING:
            return reading.variant_json(reading.variant_of(tree))
    if tried:
        return None
    raise EvaluationError(f"A variant cannot be cast to {simple_string(type_)} (INVALID_VARIANT_CAST).")


def _cast_item(item: reading.VariantPrimitive, type_: t.DataType, zone: Zone) -> Any:
    """Cast an item; None if it cannot be cast."""
    if item.type == t.LONG and type_ == t.TIMESTAMP:
        micros = item.value * MICROS_PER_SECOND
        return micros if -(2**63) <= micros < 2**63 else None
    if isinstance(item.type, t.DecimalType) and type_ == t.STRING:
        return f"{item.value:f}"
    if not castable(item.type, type_) or (item.type == t.BOOLEAN and type_ == t.TIMESTAMP):
        return None
    return value_or_null(cast_value, item.value, item.type, type_, zone)


def _object_signature(args: tuple[Node, ...]) -> function.Typed:
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    return (args, t.VARIANT) if type_ is not None and is_nested(type_) and _is_source(type_) else None


def _to_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a cast to VARIANT. Structs and maps have no such cast."""
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    inner = type_
    while isinstance(inner, t.ArrayType):
        inner = inner.element
    if type_ is None or inner is None or isinstance(inner, t.MapType | t.StructType):
        return None
    return (args, t.VARIANT) if _is_source(type_) else None


def _is_source(type_: t.DataType) -> bool:
    match type_:
        case t.ArrayType(element):
            return _is_source(element)
        case t.MapType(key, value):
            return key == t.STRING and _is_source(value)
        case t.StructType(fields):
            return all(_is_source(field.type) for field in fields)
    return type_ in (*ATOMIC, t.VARIANT) or isinstance(type_, t.DecimalType)


def _to(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    type_ = type_of(call.args[0])
    assert type_ is not None
    return reading.variant_of(_tree(args[0], type_))


def _tree(value: Any, type_: t.DataType) -> reading.VariantTree:
    if value is None:
        return reading.VariantPrimitive(t.VOID, None)
    match type_:
        case t.ArrayType(element):
            return [_tree(each, element) for each in value]
        case t.MapType(_, inner):
            if len({name for name, _ in value}) < len(value):
                raise Undecided("A map that has a key twice is left to Spark.")
            return {name: _tree(each, inner) for name, each in value}
        case t.StructType(fields):
            return {field.name: _tree(each, field.type) for field, each in zip(fields, value, strict=True)}
        case t.DecimalType():
            return reading.decimal_item(value)
    if type_ == t.VARIANT:
        return reading.tree_of(value)
    return reading.VariantPrimitive(t.LONG if type_ in t.INTEGRAL_BITS else type_, value)


def _is_null(variant: Any) -> bool:
    tree = None if variant is None else reading.tree_of(variant)
    return isinstance(tree, reading.VariantPrimitive) and tree.type == t.VOID


def _schema(variant: Any) -> str:
    return _type_text(_schema_of(reading.tree_of(variant)))


def _schema_of(tree: reading.VariantTree) -> t.DataType:
    match tree:
        case dict():
            fields = [t.StructField(name, _schema_of(each)) for name, each in tree.items()]
            return t.StructType(tuple(fields))
        case list():
            found: t.DataType = t.VOID
            for each in tree:
                found = _merged(found, _schema_of(each))
            return t.ArrayType(found)
        case reading.VariantPrimitive(type_):
            return type_


def _merged(left: t.DataType, right: t.DataType) -> t.DataType:
    if left == right or right == t.VOID:
        return left
    if left == t.VOID:
        return right
    match left, right:
        case t.ArrayType(one), t.ArrayType(other):
            return t.ArrayType(_merged(one, other))
        case t.StructType(fields), t.StructType(others):
            found = {field.name: field.type for field in fields}
            for field in others:
                found[field.name] = _merged(found.get(field.name, t.VOID), field.type)
            names = sorted(found, key=lambda name: name.encode("utf-16-be"))
            return t.StructType(tuple(t.StructField(name, found[name]) for name in names))
    numbers = [
        type_ for type_ in (left, right) if type_ in (t.LONG, t.DOUBLE, t.FLOAT) or isinstance(type_, t.DecimalType)
    ]
    if len(numbers) < 2:
        return t.VARIANT
    if t.FLOAT in numbers:
        raise Undecided("The schema of floats and other numbers is left to Spark.")
    if t.DOUBLE in numbers:
        return t.DOUBLE
    one, other = (type_ if isinstance(type_, t.DecimalType) else t.DecimalType(_LONG_DIGITS, 0) for type_ in numbers)
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + scale
    if digits > _MOST_DIGITS:
        raise Undecided("The schema of such decimals is left to Spark.")
    return t.DecimalType(digits, scale)


def _type_text(type_: t.DataType) -> str:
    match type_:
        case t.ArrayType(element):
            return f"ARRAY<{_type_text(element)}>"
        case t.StructType(fields):
            return f"OBJECT<{', '.join([f'{_quoted(f.name)}: {_type_text(f.type)}' for f in fields])}>"
        case _:
            return simple_string(type_).upper()


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


VARIANTS: Mapping[str, function.FunctionRow] = {
    "parse_json": function.Function(_of_text, _parse(False), by_column=_parsed),
    "try_parse_json": function.Function(_of_text, _parse(True), by_column=_parsed),
    "variant_get": function.Function(_get_signature, _get(False), by_column=_get_column(False), zoned=True),
    "try_variant_get": function.Function(_get_signature, _get(True), by_column=_get_column(True), zoned=True),
    "is_variant_null": function.Function(
        function.exactly(t.BOOLEAN, t.VARIANT), function.by_row(_is_null), False, by_column=_null_column
    ),
    "schema_of_variant": function.Function(function.exactly(t.STRING, t.VARIANT), function.by_row(_schema)),
    "to_variant_object": function.Function(_object_signature, _to, by_column=_to_column),
    # Casts from and to VARIANT.
    "cast(variant)": function.Function(
        _cast_signature, _cast_variant(False), False, by_column=_cast_column(False), zoned=True
    ),
    "try_cast(variant)": function.Function(
        _cast_signature, _cast_variant(True), False, by_column=_cast_column(True), zoned=True
    ),
    "as_variant()": function.Function(_to_signature, _to, by_column=_to_column),
}
