"""Columns of type char(n) in expressions, as Spark reads and compares them.

Spark pads a value of fewer than n characters with blanks when it reads the value, at every depth of a nested one. It
pads further in comparisons of a top-level column by its name:

* With a constant string, Spark pads the shorter operand to the length of the longer operand. In an IN list of constant
  strings, it pads all operands to the longest length. If the list has NULL or a value of another type, Spark casts the
  column and the list and pads nothing.
* With another char(m), also in an IN list of only such columns, Spark pads the shorter operand.

BETWEEN and nullif compute their operand once, under another name: they compare the value that Spark reads.

# Spark 4.1, ApplyCharTypePadding, spark.sql.readSideCharPadding
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from deltaskip.errors import PredicateError
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import is_nested
from deltaskip.sparkexpr.literal_list import LiteralList, nodes_in, text_list
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING, VOID, DataType, StructType
from deltaskip.sparkexpr.types.ddl import type_text
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.types.lengths import char_length, declared_type, declares_char, holds_char
from deltaskip.sparkexpr.types.resolve import collation_of, resolve

_SAME_WITHOUT = ("trim", "btrim", "rtrim", "size", "cardinality")
_NO_COLUMNS = StructType(())


def as_read(node: n.Node, schema: StructType, time_zone: str) -> n.Node:
    """Return an expression over stored values that is equal to `node` over the padded values that Spark reads.

    A column is left unchanged if its padding makes no difference, or if it is not known what Spark compares: see
    `padded_column`.

    Args:
        node: The expression, before it is bound.
        schema: The schema.
        time_zone: The session's time zone, in which constants are computed.
    """
    if not any(map(declares_char, schema.fields)) or n.is_too_large(node):
        return node
    return _PaddedComparisons(schema, time_zone).read(node)


def padded_column(node: n.Node, schema: StructType) -> tuple[tuple[str, ...], str] | None:
    """Return path and type of a char(n) column on whose padding a bound expression depends; None for no such column.

    node: The result of `as_read`, bound.
    """
    if not any(map(declares_char, schema.fields)):
        return None
    for path in sorted(n.columns_of(_without_padding(node))):
        declared = declared_type(schema, path)
        if declared is not None and holds_char(declared):
            return path, simple_string(declared)
    return None


@deep
def _without_padding(node: n.Node) -> n.Node:
    """The expression without the parts that do not depend on padding or that pad their operand."""
    match node:
        case n.IsNull(n.FieldRef()):
            return n.Literal(None, VOID)
        case n.Call(name, (n.FieldRef(), *_)) if name == n.PADDED or (name in _SAME_WITHOUT and len(node.args) == 1):
            return n.Literal(None, VOID)
    return n.transform(node, _without_padding)


class _PaddedComparisons:
    """Builds the result of `as_read`."""

    def __init__(self, schema: StructType, time_zone: str) -> None:
        self._schema = schema
        self._zone = time_zone

    @deep
    def read(self, node: n.Node) -> n.Node:
        match node:
            case n.Column():
                length, nested = self._length(node), self._nested(node)
                if nested is not None:
                    return n.Call(n.PADDED, (node, n.Literal(type_text(nested), STRING)))
                return node if length is None else _read(node, length)
            case n.IsNull(n.Column()):
                return node
            case n.Call(name, (n.Column(),)) if name in _SAME_WITHOUT:
                return node
            case n.Between(children):
                return n.And(tuple(n.transform(each, self.read) for each in children))
            case n.Case(((n.Compare("=", n.Column() as tested, _), null),), same) if (
                same == tested and n.is_null_constant(null)
            ):
                # nullif(c, v) compares the value of c that Spark reads. CASE with the same meaning pads c further.
                return node if self._compared(tested) else n.transform(node, self.read)
            case n.Compare(_, left, right) if self._nested(left) and self._nested(right):
                # Spark pads strings of two columns further, at every depth.
                return node
            case n.In(child, values) if self._nested(child) and any(map(self._nested, nodes_in(values))):
                return node
            case n.Compare():
                return self._comparison(node)
            case n.In(n.Column() as child, values) if len(values) and self._compared(child):
                return self._membership(node, child, values)
        return n.transform(node, self.read)

    def _declared(self, column: n.Column) -> DataType | None:
        """The type of a column or field with its lengths; None for a collated or unknown one."""
        try:
            found = resolve(self._schema, column.parts)
        except PredicateError:
            return None
        return None if collation_of(found) is not None else declared_type(self._schema, found.logical)

    def _nested(self, node: n.Node) -> DataType | None:
        """The type with lengths of a nested column that holds char(n); None for other nodes."""
        declared = self._declared(node) if isinstance(node, n.Column) else None
        return declared if declared is not None and is_nested(declared) and holds_char(declared) else None

    def _length(self, column: n.Column) -> int | None:
        """n of a column or field of type char(n) without a collation; None for other columns."""
        declared = self._declared(column)
        return None if declared is None else char_length(declared)

    def _compared(self, node: n.Node) -> int:
        """n of a char(n) column that Spark pads further in comparisons; 0 for other nodes."""
        if not isinstance(node, n.Column):
            return 0
        length = self._length(node)
        return length if length is not None and len(resolve(self._schema, node.parts).logical) == 1 else 0

    def _comparison(self, node: n.Compare) -> n.Node:
        left, right = self._compared(node.left), self._compared(node.right)
        if left and right:
            most = max(left, right)
            return n.Compare(node.op, _read(node.left, left, most), _read(node.right, right, most))
        constant = node.right if left else node.left
        if not (left or right) or not _is_constant(constant):
            return n.transform(node, self.read)
        known = self._value(constant)
        if known is None:
            return node
        if known.type != STRING or known.value is None:
            return n.transform(node, self.read)
        text = str(known.value)
        most = max(left, right, len(text))
        padded = n.Literal(text.ljust(most), STRING)
        if left:
            return n.Compare(node.op, _read(node.left, left, most), padded)
        return n.Compare(node.op, padded, _read(node.right, right, most))

    def _membership(self, node: n.In, child: n.Column, values: Sequence[n.Node]) -> n.Node:
        length = self._compared(child)
        if isinstance(values, LiteralList):
            if values.types != (STRING,):
                return n.transform(node, self.read)
            most = max(length, pc.max(pc.utf8_length(values.array)).as_py())
            return n.In(_read(child, length, most), text_list(pc.utf8_rpad(values.array, most)))
        lengths = [self._compared(value) for value in values]
        if all(lengths):
            most = max(length, *lengths)
            others = tuple(_read(value, each, most) for value, each in zip(values, lengths, strict=True))
            return n.In(_read(child, length, most), others)
        if not all(map(_is_constant, values)):
            return n.transform(node, self.read)
        known = [self._value(value) for value in values]
        types = {None if each is None else each.type for each in known}
        if None in types or (types == {STRING} and any(each is not None and each.value is None for each in known)):
            # Spark drops values of a list that contains a NULL of type string.
            return node
        if types != {STRING}:
            return n.transform(node, self.read)
        found = [str(each.value) for each in known if each is not None]
        most = max(length, *map(len, found))
        return n.In(_read(child, length, most), tuple(n.Literal(each.ljust(most), STRING) for each in found))

    def _value(self, constant: n.Node) -> n.Literal | None:
        """The value of an expression without columns; None if it is only known when Spark evaluates it."""
        try:
            found = bind_expression(constant, _NO_COLUMNS, time_zone=self._zone)
        except PredicateError:
            return None
        return found if isinstance(found, n.Literal) else None


def _read(column: n.Node, length: int, most: int = 0) -> n.Node:
    """A char(n) column, padded to `length` characters as Spark reads it, or to `most` characters if that is more."""
    read = n.Call(n.PADDED, (column, n.Literal(length, INTEGER)))
    return read if most <= length else n.Call("rpad", (read, n.Literal(most, INTEGER)))


def _is_constant(node: n.Node) -> bool:
    return not n.columns_of(node) and not any(isinstance(part, n.Variable) for part in n.walk(node))
