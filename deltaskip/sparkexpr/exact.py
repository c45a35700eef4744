"""Translates predicates of other libraries whose result in Spark is exactly the same for every row.

Libraries differ in the order of NaN, in comparisons of a column with a constant of another type, and in NULL. Only
expressions with the same meaning in both are translated: a column is compared with constants that its type can hold,
and strings are compared by their bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, date
from math import inf, isfinite, isnan
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.errors import PredicateError
from deltaskip.records import dataclass
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.collations.collation_id import BINARY_NAME
from deltaskip.sparkexpr.literal_list import SHORTEST
from deltaskip.sparkexpr.python_values import literal_node, long_list
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.type_names import sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.lengths import char_type
from deltaskip.sparkexpr.types.resolve import Resolved, collation_of, display_name, resolve
from deltaskip.sparkexpr.values.nanoseconds import NANOS_OF, NANOS_PER_MICRO
from deltaskip.sparkexpr.values.numerals import EXACT, exactly

# The type represents every integer of at most this magnitude.
_WHOLE = {t.FLOAT: 1 << 24, t.DOUBLE: 1 << 53}
_SAME = (t.STRING, t.BINARY, t.BOOLEAN, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_COMPARED = (*t.INTEGRAL_BITS, t.FLOAT, t.DOUBLE, *_SAME, *t.NANOSECONDS)
_DAY_MICROS = 86_400_000_000


class Inexact(Exception):
    """No predicate of Spark is known to give the same result as an expression or a part of it. The message says why.

    Args:
        why: The reason.
        sql: The part as Spark would evaluate it, as SQL text; None if it is not known.

    Attributes:
        part: The condition that is not translated, in the library's representation; None if it is not known.
    """

    def __init__(self, why: str, sql: str | None = None) -> None:
        super().__init__(why)
        self.sql = sql
        self.part: Any = None


@dataclass(frozen=True, slots=True)
class TimePart:
    """The date, or the year, of a column with dates or times. Those of a TIMESTAMP are in UTC."""

    column: n.Column
    is_year: bool

    def periods(self, kind: t.DataType, value: n.Literal) -> tuple[n.Literal, n.Literal]:
        """Return where the time of a date or year begins and ends, of the type of the column. Raises Inexact."""
        if kind not in (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ) or value.type != (t.LONG if self.is_year else t.DATE):
            raise Inexact(f"a part of {display_name(self.column.parts)} is compared with {to_sql(value)}")
        number: Any = value.value
        if not self.is_year:
            days = [number, number + 1]
        elif MINYEAR <= number < MAXYEAR:
            days = [(date(number + more, 1, 1) - date(1970, 1, 1)).days for more in (0, 1)]
        else:
            raise Inexact(f"the year {number} is beyond those of dates")
        numbers = [day * (1 if kind == t.DATE else _DAY_MICROS) for day in days]
        if max(map(abs, numbers)) >= 2 ** (31 if kind == t.DATE else 63):
            raise Inexact("the date is beyond those of times")
        return n.Literal(numbers[0], kind), n.Literal(numbers[1], kind)


class Translation(ABC):
    """Translates the expressions of one library over the columns of a table.

    Args:
        schema: The schema of the table.
        columns: Path of each column by the name that expressions use; None for the top-level columns.
        nan_is_greatest: Whether the library orders NaN above all other numbers and equal to itself, as Spark does.
            Otherwise every comparison with NaN is false, and `!=` true.
    """

    def __init__(
        self, schema: t.StructType, columns: Mapping[str, Sequence[str]] | None, nan_is_greatest: bool
    ) -> None:
        self._schema = schema
        self._columns = {name: (name,) for name in schema.names} if columns is None else columns
        self._nan_is_greatest = nan_is_greatest

    @abstractmethod
    def node(self, tree: Any) -> n.Node:
        """Return the node of an expression in the library's representation. Raises Inexact."""

    @abstractmethod
    def operands(self, tree: Any) -> tuple[type[n.And | n.Or], Iterable[Any]] | None:
        """Return the operands of AND or OR, which may be AND or OR themselves; None for any other expression."""

    def superset(self, tree: Any) -> n.Node | None:
        """Return a predicate that is TRUE wherever the expression is TRUE; None if no such predicate is known."""
        found = self.operands(tree)
        if found is None:
            try:
                return self.node(tree)
            except Inexact:
                return None
        kind, operands = found
        parts = [self.superset(each) for each in operands]
        known = [each for each in parts if each is not None]
        if kind is n.Or and len(known) < len(parts):
            return None
        return _joined(kind, known) if known else None

    def joined(self, tree: Any) -> n.Node | None:
        """Return the node of AND and OR; None for any other expression. Raises Inexact."""
        found = self.operands(tree)
        return None if found is None else _joined(found[0], list(map(self.node, found[1])))

    def column(self, name: str, *fields: str) -> n.Column:
        """Return a column, or a field below it. Raises Inexact for a name that the table does not have."""
        path = self._columns.get(name)
        if path is None:
            near = resolve(self._schema, [name]).logical[0]
            raise Inexact(f"the column is {near}, not {name}, and names are case-sensitive in this library")
        column = n.Column((*path, *fields))
        self._resolved(column)
        return column

    def condition(self, column: n.Column) -> n.Node:
        """Return a BOOLEAN column as a condition. Raises Inexact for other types."""
        if self._resolved(column).type != t.BOOLEAN:
            raise Inexact(f"{display_name(column.parts)} is not a BOOLEAN")
        return column

    def compared(
        self, op: str, left: n.Column | TimePart | n.Literal, right: n.Column | TimePart | n.Literal
    ) -> n.Node:
        """Return a comparison, `<=>` included, of a column with a constant or another column. Raises Inexact."""
        match left, right:
            case n.Literal(), n.Column() | TimePart():
                return self.compared(n.MIRRORED[op], right, left)
            case TimePart(timed), n.Literal(value) if op != "<=>" and value is not None:
                return self._period_compared(op, timed, *left.periods(self._resolved(timed).type, right))
            case n.Column(), n.Literal(value):
                if op == "<=>" and value is None:
                    return self.is_null(left)
                column, literal = self._column(left), self._constant(left, right, op)
                found = n.Compare(op, column, literal)
                floating = self._resolved(left).type in _WHOLE and not self._nan_is_greatest and value is not None
                if floating and op == "<=>":
                    raise Inexact("NaN is not equal to itself there")
                return n.And((found, self._is_number(left))) if floating and op in (">", ">=") else found
            case n.Column(), n.Column():
                one, other = self._resolved(left), self._resolved(right)
                if one.type != other.type or one.type not in _COMPARED or one.type in _WHOLE:
                    raise Inexact(f"{display_name(left.parts)} and {display_name(right.parts)} are compared")
                return n.Compare(op, self._column(left), self._column(right))
            case _:
                raise Inexact("constants are compared")

    def _period_compared(self, op: str, column: n.Column, first: n.Literal, after: n.Literal) -> n.Node:
        """Return a comparison of a column with a period, which begins at `first` and ends before `after`."""
        match op:
            case "=":
                return n.And((n.Compare(">=", column, first), n.Compare("<", column, after)))
            case "!=":
                return n.Or((n.Compare("<", column, first), n.Compare(">=", column, after)))
            case "<" | ">=":
                return n.Compare(op, column, first)
        return n.Compare({"<=": "<", ">": ">="}[op], column, after)

    def between(self, column: n.Column | TimePart, lower: n.Literal, upper: n.Literal, closed: str) -> n.Node:
        """Return whether a column lies between constants; closed: "both", "left", "right" or "none"."""
        low = self.compared(">=" if closed in ("both", "left") else ">", column, lower)
        return n.And((low, self.compared("<=" if closed in ("both", "right") else "<", column, upper)))

    def is_null(self, column: n.Column) -> n.Node:
        """Return `column IS NULL`."""
        if self._resolved(column).type not in _COMPARED and not isinstance(self._resolved(column).type, t.DecimalType):
            raise Inexact(f"{display_name(column.parts)} is nested", to_sql(n.IsNull(column)))
        return n.IsNull(column)

    def is_nan(self, column: n.Column) -> n.Node:
        """Return whether a column is NaN, which is NULL for NULL."""
        return n.Not(self._is_number(column))

    def is_in(self, column: n.Column | TimePart, values: Sequence[n.Literal]) -> n.Node:
        """Return `column IN (values)`; the values are not NULL. Raises Inexact for an empty list and for NaN."""
        if not values:
            raise Inexact("the list of values is empty")
        if isinstance(column, TimePart):
            return _joined(n.Or, [self.compared("=", column, each) for each in values])
        resolved = self._resolved(column)
        # The libraries that order NaN as Spark does find -0.0 in a list with 0.0, too; pyarrow does not.
        if resolved.type in _WHOLE and not self._nan_is_greatest and any(not each.value for each in values):
            raise Inexact("0.0 and -0.0 are one number in one library and two in another")
        known = [self._constant(column, each) for each in values]
        many = long_list([each.value for each in known]) if len(known) >= SHORTEST and _is_short(resolved) else None
        return n.In(self._column(column), many or tuple(known))

    def listed(self, column: n.Column | TimePart, values: Sequence[n.Literal], null_is_found: bool) -> n.Node:
        """Return whether a column has one of some values, FALSE instead of NULL. Raises Inexact as `is_in` does.

        null_is_found: Whether NULL in the list is a value that NULL in the column is equal to.
        """
        is_null = self.is_null(column.column if isinstance(column, TimePart) else column)
        known = [each for each in values if each.value is not None]
        if not null_is_found or len(known) == len(values):
            return n.And((self.is_in(column, known), n.Not(is_null)))
        return n.Or((self.is_in(column, known), is_null)) if known else is_null

    def starts_with(self, column: n.Column, prefix: n.Literal) -> n.Node:
        """Return whether a string column begins with a constant."""
        if prefix.type != t.STRING or self._resolved(column).type != t.STRING:
            raise Inexact("the beginning is not one of a string")
        return n.StartsWith(self._column(column), prefix)

    def _is_number(self, column: n.Column) -> n.Node:
        kind = self._resolved(column).type
        if kind not in _WHOLE:
            raise Inexact(f"{display_name(column.parts)} is not a floating-point number")
        return n.Compare("<=", column, n.Literal(inf, kind))

    def _resolved(self, column: n.Column) -> Resolved:
        found = resolve(self._schema, column.parts)
        if found.logical != column.parts:
            raise Inexact(f"{display_name(column.parts)} has another letter case in the table")
        return found

    def _column(self, column: n.Column) -> n.Node:
        """The column as an operand; strings are compared by their bytes, whatever their collation."""
        if declared := char_type(self._schema, column.parts):
            name = display_name(column.parts)
            raise Inexact(f"{name} is {declared}, which Spark pads", f"trim({name}) = 'text'")
        collation = collation_of(self._resolved(column))
        return column if collation is None else n.Collate(column, BINARY_NAME)

    def _constant(self, column: n.Column, given: n.Literal, op: str = "=") -> n.Literal:
        """The constant with the type of the column. Raises Inexact if the type has no such value."""
        kind, value = self._resolved(column).type, given.value
        if value is None:
            return given
        found = _value_of(kind, given)
        if found is None and self._nan_is_greatest and kind in _WHOLE and isinstance(value, float) and isnan(value):
            found = n.Literal(value, kind)
        if found is None:
            why = f"{display_name(column.parts)} is {sql_name(kind)}, compared with {to_sql(given)}"
            finite = not isinstance(value, float) or isfinite(value)
            # The cast to FLOAT gives the nearest float, which a float column stores for this number.
            meant = n.Cast(given, t.FLOAT) if kind == t.FLOAT and given.type == t.DOUBLE else given
            raise Inexact(why, to_sql(n.Compare(op, column, meant)) if finite else None)
        return found


def _value_of(kind: t.DataType, given: n.Literal) -> n.Literal | None:
    value: Any = given.value
    if kind in t.INTEGRAL_BITS and given.type == t.LONG and -(2**63) <= value < 2**63:
        found = literal_node(value)
        return found if isinstance(found, n.Literal) else None
    if kind in _WHOLE and given.type == t.LONG and abs(value) <= _WHOLE[kind]:
        return n.Literal(float(value), kind)
    if kind in _WHOLE and given.type in _WHOLE and not isnan(value):
        with np.errstate(over="ignore"):
            return n.Literal(value, kind) if kind == t.DOUBLE or float(np.float32(value)) == value else None
    if kind in (*_SAME, *t.NANOSECONDS) and given.type == kind:
        return given
    if kind in t.NANOSECONDS and NANOS_OF.get(given.type) == kind and abs(value) < 2**63 // NANOS_PER_MICRO:
        return n.Literal(value * NANOS_PER_MICRO, kind)
    if isinstance(kind, t.DecimalType) and (given.type == t.LONG or isinstance(given.type, t.DecimalType)):
        scaled = exactly(value).scaleb(kind.scale, EXACT)
        exact = scaled == scaled.to_integral_value(context=EXACT) and scaled.copy_abs() < 10**kind.precision
        return n.Literal(exactly(value), t.DecimalType(kind.precision, kind.scale)) if exact else None
    return None


def _is_short(column: Resolved) -> bool:
    """Whether a long list of values of the column's type is kept as one array."""
    return column.type in t.INTEGRAL_BITS or (column.type == t.STRING and collation_of(column) is None)


def _joined(kind: type[n.And | n.Or], nodes: Sequence[n.Node]) -> n.Node:
    flat = [child for node in nodes for child in (node.children if isinstance(node, kind) else (node,))]
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def refused(library: str, text: str, error: Inexact, is_whole: bool, sql: str | None = None) -> PredicateError:
    """Return the error for an expression that is not translated.

    is_whole: Whether the part that `error` names is all of `text`. sql: What to write instead of the part, if it is
    known.
    """
    example = error.sql or sql
    such_as = "" if example is None else f', such as "{example}"' if is_whole else f', with "{example}" for that part'
    return PredicateError(
        f"The {library} expression {text} is not known to mean the same in Spark, because {error}: write where as SQL "
        f"text{such_as}, or filter the rows in {library}."
    )


def arrow_constant(scalar: Any) -> n.Literal:
    """Return the literal of a scalar; integers are LONG. Raises Inexact for a type or a time that Spark lacks."""
    kind = scalar.type
    if pa.types.is_dictionary(kind):
        raise Inexact("the constant is of a dictionary")
    if not scalar.is_valid:
        return n.Literal(None, t.VOID)
    value: Any = scalar.as_py() if not pa.types.is_timestamp(kind) else None
    if pa.types.is_boolean(kind):
        return n.Literal(value, t.BOOLEAN)
    if pa.types.is_integer(kind):
        return n.Literal(value, t.LONG)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return n.Literal(value, t.FLOAT if pa.types.is_float32(kind) else t.DOUBLE)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return n.Literal(value, t.STRING)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return n.Literal(value, t.BINARY)
    if pa.types.is_date32(kind):
        return n.Literal(scalar.cast(pa.int32()).as_py(), t.DATE)
    if pa.types.is_decimal(kind) and value.as_tuple().exponent <= 0 and kind.precision <= 38 and kind.scale >= 0:
        return n.Literal(value, t.DecimalType(kind.precision, kind.scale))
    if pa.types.is_timestamp(kind):
        type_ = t.TIMESTAMP_NTZ if kind.tz is None else t.TIMESTAMP
        try:
            return n.Literal(scalar.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).as_py(), type_)
        except pa.ArrowException:
            return n.Literal(scalar.cast(pa.int64()).as_py(), NANOS_OF[type_])
    raise Inexact(f"the constant is of the Arrow type {kind}")
