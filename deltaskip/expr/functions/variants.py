"""Functions of variants.

# Spark 4.1, variantExpressions.scala, VariantGet, SchemaOfVariant
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deltaskip.errors import DeltaSkipError
from deltaskip.expr.casts import cast_value
from deltaskip.expr.coerce import ATOMIC, INTEGRAL_BITS, castable, implicit_cast, is_nested, type_of
from deltaskip.expr.collation import is_collated
from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.functions.function import Compute, Function, Row, Signature, Typed
from deltaskip.expr.json_reading import Malformed, read_json
from deltaskip.expr.nodes import Call, Literal, Node
from deltaskip.expr.variant_reading import (
    DuplicateName,
    Item,
    Tree,
    decimal_item,
    of_json,
    tree_of,
    variant_json,
    variant_of,
)
from deltaskip.schema.calendar import MICROS_PER_SECOND, Zone
from deltaskip.schema.ddl import parse_type_text
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    TIMESTAMP,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    UnknownType,
)

__all__ = ["VARIANTS"]

_STEP = re.compile(r"""\.(?!\s)([^.\[]+)|\['(?!\s)([^'?]+)'\]|\["(?!\s)([^"?]+)"\]|\[([0-9]+)\]""")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INDEX_DIGITS = 9
_LONG_DIGITS = 20
_MOST_DIGITS = 38


def _of_text(args: tuple[Node, ...]) -> Typed:
    cast = implicit_cast(args[0], STRING) if len(args) == 1 and type_of(args[0]) in (STRING, VOID) else None
    return None if cast is None or is_collated(*args) else ((cast,), VARIANT)


def _of_variant(result: DataType) -> Signature:
    return lambda args: (args, result) if [type_of(arg) for arg in args] == [VARIANT] else None


def _parse(tried: bool) -> Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        try:
            return variant_of(of_json(read_json(args[0])))
        except (Malformed, DuplicateName) as error:
            if tried:
                return None
            raise EvaluationError("The text is not JSON (MALFORMED_RECORD_IN_PARSING).") from error

    return compute


def _get_signature(args: tuple[Node, ...]) -> Typed:
    """A variant, a path, and perhaps the literal of a type."""
    if not 2 <= len(args) <= 3 or type_of(args[0]) != VARIANT or type_of(args[1]) != STRING or is_collated(*args):
        return None
    if len(args) == 2:
        return args, VARIANT
    named = args[2].value if isinstance(args[2], Literal) else None
    if not isinstance(named, str):
        return None
    try:
        type_ = parse_type_text(named)
    except DeltaSkipError:
        return None
    return (args, type_) if _is_target(type_) else None


def _is_target(type_: DataType) -> bool:
    """Whether variants are cast to a type here: one in which everything may be NULL."""
    match type_:
        case ArrayType(element, contains_null):
            return contains_null and _is_target(element)
        case MapType(key, value, contains_null):
            return key == STRING and contains_null and _is_target(value)
        case StructType(fields):
            return bool(fields) and all(f.nullable and not f.metadata and _is_target(f.type) for f in fields)
        case UnknownType():
            return False
    return type_ in (*ATOMIC, VARIANT) or isinstance(type_, DecimalType)


def _steps(path: str) -> list[str | int]:
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


def _get(tried: bool) -> Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        tree: Tree | None = tree_of(args[0])
        for step in _steps(args[1]):
            match tree:
                case dict() if isinstance(step, str):
                    tree = tree.get(step)
                case list() if isinstance(step, int):
                    tree = tree[step] if step < len(tree) else None
                case _:
                    tree = None
        return None if tree is None or call.type is None else _cast(tree, call.type, zone, tried)

    return compute


def _cast_signature(args: tuple[Node, ...]) -> Typed:
    """A variant, and a NULL of the type to which it is cast."""
    target = type_of(args[1]) if len(args) == 2 else None
    return (args, target) if target is not None and type_of(args[0]) == VARIANT and _is_target(target) else None


def _cast_variant(tried: bool) -> Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        if args[0] is None or call.type is None:
            return None
        return _cast(tree_of(args[0]), call.type, zone, tried)

    return compute


def _cast(tree: Tree, type_: DataType, zone: Zone, tried: bool) -> Any:
    """A value of a variant as one of a type."""
    if type_ == VARIANT:
        return variant_of(tree)
    if isinstance(tree, Item) and tree.type == VOID:
        return None
    match type_, tree:
        case ArrayType(element), list():
            return tuple([_cast(each, element, zone, tried) for each in tree])
        case MapType(_, value), dict():
            return tuple([(name, _cast(each, value, zone, tried)) for name, each in tree.items()])
        case StructType(fields), dict():
            return tuple([_cast(tree[f.name], f.type, zone, tried) if f.name in tree else None for f in fields])
        case _, Item() if not is_nested(type_):
            found = _cast_item(tree, type_, zone)
            if found is not None:
                return found
        case _, list() | dict() if type_ == STRING:
            return variant_json(variant_of(tree), zone)
    if tried:
        return None
    raise EvaluationError(f"A variant cannot be cast to {simple_string(type_)} (INVALID_VARIANT_CAST).")


def _cast_item(item: Item, type_: DataType, zone: Zone) -> Any:
    """None if the item cannot be cast."""
    if item.type == LONG and type_ == TIMESTAMP:
        micros = item.value * MICROS_PER_SECOND
        return micros if -(2**63) <= micros < 2**63 else None
    if isinstance(item.type, DecimalType) and type_ == STRING:
        return f"{item.value:f}"
    if not castable(item.type, type_) or (item.type == BOOLEAN and type_ == TIMESTAMP):
        return None
    try:
        return cast_value(item.value, item.type, type_, zone)
    except Undecided:
        raise
    except EvaluationError:
        return None


def _object_signature(args: tuple[Node, ...]) -> Typed:
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    return (args, VARIANT) if type_ is not None and is_nested(type_) and _is_source(type_) else None


def _to_signature(args: tuple[Node, ...]) -> Typed:
    """A cast to VARIANT, which structs and maps do not have."""
    type_ = type_of(args[0]) if len(args) == 1 and not is_collated(*args) else None
    inner = type_
    while isinstance(inner, ArrayType):
        inner = inner.element
    if type_ is None or inner is None or isinstance(inner, MapType | StructType):
        return None
    return (args, VARIANT) if _is_source(type_) else None


def _is_source(type_: DataType) -> bool:
    match type_:
        case ArrayType(element):
            return _is_source(element)
        case MapType(key, value):
            return key == STRING and _is_source(value)
        case StructType(fields):
            return all(_is_source(field.type) for field in fields)
    return type_ in (*ATOMIC, VARIANT) or isinstance(type_, DecimalType)


def _to(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    type_ = type_of(call.args[0])
    assert type_ is not None
    return variant_of(_tree(args[0], type_))


def _tree(value: Any, type_: DataType) -> Tree:
    if value is None:
        return Item(VOID, None)
    match type_:
        case ArrayType(element):
            return [_tree(each, element) for each in value]
        case MapType(_, inner):
            if len({name for name, _ in value}) < len(value):
                raise Undecided("A map that has a key twice is left to Spark.")
            return {name: _tree(each, inner) for name, each in value}
        case StructType(fields):
            return {field.name: _tree(each, field.type) for field, each in zip(fields, value, strict=True)}
        case DecimalType():
            return decimal_item(value)
    if type_ == VARIANT:
        return tree_of(value)
    return Item(LONG if type_ in INTEGRAL_BITS else type_, value)


def _is_null(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if args[0] is None:
        return False
    tree = tree_of(args[0])
    return isinstance(tree, Item) and tree.type == VOID


def _schema(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return _type_text(_schema_of(tree_of(args[0])))


def _schema_of(tree: Tree) -> DataType:
    match tree:
        case dict():
            fields = [StructField(name, _schema_of(each)) for name, each in tree.items()]
            return StructType(tuple(fields))
        case list():
            found: DataType = VOID
            for each in tree:
                found = _merged(found, _schema_of(each))
            return ArrayType(found)
        case Item(type_):
            return type_


def _merged(left: DataType, right: DataType) -> DataType:
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    match left, right:
        case ArrayType(one), ArrayType(other):
            return ArrayType(_merged(one, other))
        case StructType(fields), StructType(others):
            found = {field.name: field.type for field in fields}
            for field in others:
                found[field.name] = _merged(found.get(field.name, VOID), field.type)
            names = sorted(found, key=lambda name: name.encode("utf-16-be"))
            return StructType(tuple(StructField(name, found[name]) for name in names))
    numbers = [type_ for type_ in (left, right) if type_ in (LONG, DOUBLE, FLOAT) or isinstance(type_, DecimalType)]
    if len(numbers) < 2:
        return VARIANT
    if FLOAT in numbers:
        raise Undecided("The schema of floats and other numbers is left to Spark.")
    if DOUBLE in numbers:
        return DOUBLE
    one, other = (type_ if isinstance(type_, DecimalType) else DecimalType(_LONG_DIGITS, 0) for type_ in numbers)
    scale = max(one.scale, other.scale)
    digits = max(one.precision - one.scale, other.precision - other.scale) + scale
    if digits > _MOST_DIGITS:
        raise Undecided("The schema of such decimals is left to Spark.")
    return DecimalType(digits, scale)


def _type_text(type_: DataType) -> str:
    match type_:
        case ArrayType(element):
            return f"ARRAY<{_type_text(element)}>"
        case StructType(fields):
            return f"OBJECT<{', '.join([f'{_quoted(f.name)}: {_type_text(f.type)}' for f in fields])}>"
        case _:
            return simple_string(type_).upper()


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


VARIANTS: Mapping[str, Row] = {
    "parse_json": Function(_of_text, _parse(False)),
    "try_parse_json": Function(_of_text, _parse(True)),
    "variant_get": Function(_get_signature, _get(False), zoned=True),
    "try_variant_get": Function(_get_signature, _get(True), zoned=True),
    "is_variant_null": Function(_of_variant(BOOLEAN), _is_null, False),
    "schema_of_variant": Function(_of_variant(STRING), _schema),
    "to_variant_object": Function(_object_signature, _to),
    # Casts from and to VARIANT.
    "cast(variant)": Function(_cast_signature, _cast_variant(False), False, zoned=True),
    "try_cast(variant)": Function(_cast_signature, _cast_variant(True), False, zoned=True),
    "as_variant()": Function(_to_signature, _to),
}
