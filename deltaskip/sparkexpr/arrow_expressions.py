"""Converts `pyarrow.compute` expressions to predicates. Reads the record batch that Arrow pickles for an expression.

The only row of the batch has the constants and the options of calls. The metadata of its schema has the expression as
key-value pairs in depth-first order (Arrow, cpp/src/arrow/compute/expression.cc, Serialize).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.exact import Inexact, TimePart, Translation, arrow_constant
from deltaskip.sparkexpr.types.data_types import BOOLEAN, NANOSECONDS, STRING, StructType
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar
from deltaskip.sparkexpr.values.nanoseconds import NANOS_PER_MICRO

_COMPARISONS = {"equal": "=", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_JOINED: Mapping[str, type[n.And | n.Or]] = {"and_kleene": n.And, "or_kleene": n.Or}
# FieldRef::ToDotPath: a dot precedes each name, and a backslash escapes dots, brackets and backslashes in the name.
_NAME = r"\.((?:[^.\[\\]|\\.)*)"
_NAMES = rf"(?:{_NAME})+"
# SetLookupOptions.NullMatchingBehavior: whether NULL in the list matches NULL.
_MATCH, _SKIP = 0, 1
_NULL = arrow_scalar(None, pa.bool_())


@dataclass(frozen=True, slots=True)
class ArrowField:
    """The path of a column or nested field."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArrowCall:
    """A call of a function with arguments and options."""

    name: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]


def arrow_tree(expression: Any) -> Any:
    """Return an expression as ArrowCall, ArrowField and scalars. Raises Inexact if Arrow does not pickle it."""
    row, pairs = _written(expression)
    try:
        each = iter(pairs)
        return _tree(*next(each), each, row)
    except (StopIteration, ValueError, IndexError, RecursionError) as error:
        raise Inexact("its form is not known") from error


def arrow_conjuncts(expression: Any) -> list[Any]:
    """Return the operands of AND, those of an AND among them, too, as expressions; else the expression alone.

    Raises Inexact if Arrow does not pickle it.
    """
    row, pairs = _written(expression)
    read, _ = expression.__reduce__()
    found: list[list[tuple[bytes, bytes]]] = []
    inside, names = 0, 0
    for key, value in pairs:
        # The names of nested_field_ref follow it, and the arguments of a call end with a pair.
        if not inside and not names and (key == b"end" or (key, value) == (b"call", b"and_kleene")):
            continue
        if not inside and not names:
            found.append([])
        found[-1].append((key, value))
        names = int(value) if key == b"nested_field_ref" else max(0, names - 1)
        inside += (key == b"call") - (key == b"end")
    return [read(_bytes_of(row, each)) for each in found]


def _written(expression: Any) -> tuple[pa.RecordBatch, list[tuple[bytes, bytes]]]:
    """The row and the pairs of an expression as Arrow pickles it. Raises Inexact."""
    try:
        _, (buffer,) = expression.__reduce__()
        with pa.ipc.open_file(buffer) as reader:
            return reader.get_batch(0), _metadata(reader.schema)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise Inexact("Arrow does not write it as bytes") from error


def _bytes_of(row: pa.RecordBatch, pairs: list[tuple[bytes, bytes]]) -> pa.Buffer:
    sink, part = pa.BufferOutputStream(), row.replace_schema_metadata(pa.KeyValueMetadata(pairs))
    with pa.ipc.new_file(sink, part.schema) as writer:
        writer.write_batch(part)
    return sink.getvalue()


def fields_of(tree: Any) -> Iterator[ArrowField]:
    """Yield the columns and fields in the result of `arrow_tree`."""
    if isinstance(tree, ArrowField):
        yield tree
    for each in tree.args if isinstance(tree, ArrowCall) else ():
        yield from fields_of(each)


def has_lists(tree: Any) -> bool:
    """Whether an expression looks up values in a list."""
    return isinstance(tree, ArrowCall) and (tree.name == "is_in" or any(map(has_lists, tree.args)))


def has_conditions(tree: Any) -> bool:
    """Whether the outermost operation of an expression is NOT, AND or OR."""
    return isinstance(tree, ArrowCall) and (tree.name in _JOINED or tree.name == "invert")


class ArrowTranslation(Translation):
    """Translates pyarrow expressions that pyarrow evaluates.

    Args:
        schema: The schema of the table.
        columns: See Translation.
    """

    _orders_nan = False

    def __init__(self, schema: StructType, columns: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(schema, columns, self._orders_nan)

    def operands(self, tree: Any) -> tuple[type[n.And | n.Or], Iterable[Any]] | None:
        return (_JOINED[tree.name], tree.args) if isinstance(tree, ArrowCall) and tree.name in _JOINED else None

    def node(self, tree: Any) -> n.Node:
        joined = self.joined(tree)
        if joined is not None:
            return joined
        match tree:
            case ArrowField():
                return self.condition(self._column_of(tree))
            case pa.BooleanScalar():
                return n.Literal(tree.as_py(), BOOLEAN)
            case ArrowCall(name, (left, right)) if name in _COMPARISONS:
                return self.compared(_COMPARISONS[name], self._operand(left), self._operand(right))
            case ArrowCall("invert", (child,)):
                return n.Not(self.node(child))
            case ArrowCall("is_valid", (child,)):
                return n.Not(self.is_null(self._column_of(child)))
            case ArrowCall("is_null", (child,), options) if not options.get("nan_is_null", True):
                return self.is_null(self._column_of(child))
            case ArrowCall("is_nan", (child,)):
                return self.is_nan(self._column_of(child))
            case ArrowCall("is_in", (child,), options):
                # is_in is never NULL.
                return self.listed(self._column_of(child), *_listed(options))
            case ArrowCall("if_else", (ArrowCall("is_valid", (child,)), ArrowCall("is_in", (same,), options), no)) if (
                child == same and no == _NULL
            ):
                # DuckDB 2.0 writes IN so: NULL for NULL, as in SQL.
                return self.is_in(
                    self._column_of(child), [each for each in _listed(options)[0] if each.value is not None]
                )
            case ArrowCall("if_else", (ArrowCall("is_valid" | "is_null") as condition, yes, no)):
                return n.Case(((self.node(condition), self.node(yes)),), self.node(no))
            case ArrowCall("starts_with", (child,), {"pattern": str() as prefix, "ignore_case": False}):
                return self.starts_with(self._column_of(child), n.Literal(prefix, STRING))
            case ArrowCall(name):
                raise Inexact(f"{name} is not translated")
        raise Inexact("a constant is no condition")

    def _operand(self, tree: Any) -> n.Column | n.Literal:
        return arrow_constant(tree) if isinstance(tree, pa.Scalar) else self._column_of(tree)

    def _column_of(self, tree: Any) -> n.Column:
        if not isinstance(tree, ArrowField):
            raise Inexact(f"{tree.name if isinstance(tree, ArrowCall) else 'a constant'} is not a column")
        return self.column(*tree.path)


class DuckDBTranslation(ArrowTranslation):
    """Translates the filters of DuckDB, which orders NaN as Spark does."""

    _orders_nan = True

    def is_in(self, column: n.Column | TimePart, values: Sequence[n.Literal]) -> n.Node:
        """Return `column IN (values)`. DuckDB cuts times in lists to microseconds, and evaluates such lists again."""
        if isinstance(column, TimePart) or self._resolved(column).type not in NANOSECONDS:
            return super().is_in(column, values)
        parts: list[n.Node] = []
        for each in values:
            first: Any = self._constant(column, each).value
            kind = self._resolved(column).type
            least, above = n.Literal(first, kind), n.Literal(first + NANOS_PER_MICRO, kind)
            parts.append(self.between(column, least, above, "left"))
        return n.Or(tuple(parts))


def _listed(options: Mapping[str, Any]) -> tuple[Sequence[n.Literal], bool]:
    """The values of is_in, and whether NULL in the list is found. Raises Inexact if they are not known."""
    values, nulls = options.get("value_set"), options.get("null_matching_behavior")
    if not isinstance(values, pa.Array) or nulls not in (_MATCH, _SKIP):
        raise Inexact("its list of values is not known")
    return list(map(arrow_constant, values)), nulls == _MATCH


def _tree(key: bytes, value: bytes, rest: Iterator[tuple[bytes, bytes]], row: pa.RecordBatch) -> Any:
    """The expression that begins with the pair `key` and `value`; `rest` yields the pairs after it."""
    match key:
        case b"literal":
            return row.column(int(value))[0]
        case b"field_ref":
            return ArrowField((value.decode(),))
        case b"nested_field_ref":
            names = [next(rest) for _ in range(int(value))]
            if any(each != b"field_ref" for each, _ in names):
                raise ValueError("not a name")
            return ArrowField(tuple(name.decode() for _, name in names))
        case b"call":
            args: list[Any] = []
            options: dict[str, Any] = {}
            for key, inner in rest:
                if key == b"end":
                    return _call(value.decode(), tuple(args), options)
                if key == b"options":
                    given = row.column(int(inner))
                    options = {field.name: _option(given, number) for number, field in enumerate(given.type)}
                else:
                    args.append(_tree(key, inner, rest, row))
    raise ValueError("not an expression")


def _call(name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> ArrowCall | ArrowField:
    """A call; an ArrowField if the call is `struct_field` of a column with a path of names, such as `.deep.x`."""
    path = options.get("field_ref")
    match name, args:
        case "struct_field", (ArrowField(above),) if isinstance(path, str) and re.fullmatch(_NAMES, path):
            return ArrowField((*above, *(re.sub(r"\\(.)", r"\1", each) for each in re.findall(_NAME, path))))
        case _:
            return ArrowCall(name, args, options)


def _option(options: pa.StructArray, number: int) -> Any:
    """The option of a call at an index: a list as an array, any other value as a Python value."""
    found = options.field(number)[0]
    return found.values if isinstance(found, (pa.ListScalar, pa.LargeListScalar)) else found.as_py()


class _ArrowSchema(ctypes.Structure):
    """ArrowSchema of Arrow's C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


def _metadata(schema: pa.Schema) -> list[tuple[bytes, bytes]]:
    """All pairs of a schema's metadata, in order. pyarrow returns only one pair for each key."""
    exported = _ArrowSchema()
    schema._export_to_c(ctypes.addressof(exported))
    try:
        return [] if exported.metadata is None else _pairs(exported.metadata)
    finally:
        pa.Schema._import_from_c(ctypes.addressof(exported))


def _pairs(at: int) -> list[tuple[bytes, bytes]]:
    """Key-value pairs in the C data interface: their count, then length and bytes of each key and each value."""
    count = ctypes.c_int32.from_address(at).value
    at += 4
    texts: list[bytes] = []
    for _ in range(2 * count):
        length = ctypes.c_int32.from_address(at).value
        texts.append(ctypes.string_at(at + 4, length))
        at += 4 + length
    return list(zip(texts[::2], texts[1::2], strict=True))
