"""Evaluation of a bound predicate for many rows at once, by Arrow's kernels.

Nodes are evaluated here only where Arrow computes what `expr.evaluate` does, value by value and without an error; for
any other node the caller evaluates row by row. Columns and results are in a layout in which Arrow's order is Spark's:
integral types, dates and timestamps are int64, floating point numbers the int64 of their order (`ordered_floats`),
decimals and strings Arrow's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.collations.collation import Collation
from deltaskip.expr.by_column_functions import FLOATING, UnsupportedByColumn, call, cast, layout_of, ordered_floats
from deltaskip.expr.by_column_hashes import HASHES, hashed
from deltaskip.expr.by_column_times import LONGEST_TEXT, formatted_times, local_midnights, local_times, time_texts
from deltaskip.expr.coerce import type_of
from deltaskip.expr.collation import comparison_collation, is_collated
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.functions import FUNCTIONS
from deltaskip.expr.literal_list import LiteralList, nodes_in
from deltaskip.expr.nodes import (
    And,
    Call,
    Case,
    Cast,
    Collate,
    Compare,
    FieldRef,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    StartsWith,
)
from deltaskip.expr.strings import ANY_STRING, like_tokens
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import FALSE, TRUE, arrow_array, arrow_scalar, numpy_values
from deltaskip.schema.types import (
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructType,
)

__all__ = ["may_be_true", "true_and_unknown", "values_by_column"]

_COMPARISONS: dict[str, Callable[[Any, Any], pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def may_be_true(
    node: Node,
    columns: Callable[[FieldRef], pa.Array],
    rows: int,
    time_zone: str,
    collation_of: Callable[[str], Collation | None],
) -> np.ndarray | None:
    """Return for each row whether `node` is TRUE, or unknown; None if some part of it must be evaluated row by row.

    Args:
        node: The bound predicate.
        columns: Returns the values of a column in the layout of this module.
        rows: The number of rows.
        time_zone: The session's time zone.
        collation_of: Returns the collation of a name; None if it is not available.
    """
    found = true_and_unknown(node, columns, rows, time_zone, collation_of)
    return None if found is None else found[0] | found[1]


def true_and_unknown(
    node: Node,
    columns: Callable[[FieldRef], pa.Array],
    rows: int,
    time_zone: str,
    collation_of: Callable[[str], Collation | None],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return for each row whether `node` is TRUE, and whether that is unknown; None as `may_be_true`.

    Arguments are those of `may_be_true`.
    """
    evaluation = _Evaluation(columns, rows, time_zone, collation_of)
    try:
        truth = evaluation.value(node)
    except (UnsupportedByColumn, EvaluationError, pa.ArrowInvalid):
        return None
    unknown = np.zeros(rows, np.bool_)
    for each in evaluation.unknown:
        unknown |= each
    return numpy_values(pc.fill_null(evaluation.repeated(truth, BOOLEAN), FALSE)) & ~unknown, unknown


def values_by_column(node: Node, columns: Callable[[FieldRef], pa.Array], rows: int, time_zone: str) -> pa.Array | None:
    """Return the value of an expression for each row, in the layout of this module; None as in `may_be_true`.

    Arguments are those of `may_be_true`; arrays and structs are Arrow's own, with the table's types inside.
    """
    evaluation = _Evaluation(columns, rows, time_zone, lambda _: None, projects=True)
    type_ = type_of(node)
    try:
        found = None if type_ is None else evaluation.repeated(evaluation.value(node), type_)
    except (UnsupportedByColumn, EvaluationError, pa.ArrowInvalid):
        return None
    return None if evaluation.unknown else found


@dataclass(slots=True)
class _Evaluation:
    """Evaluation of one predicate. Values are arrays, or scalars for constants.

    unknown: Rows whose result is not known, whatever the value is.
    projects: Whether the value of the expression is wanted. Spark's optimizer moves casts of times only where they are
        compared with constants.
    """

    columns: Callable[[FieldRef], pa.Array]
    rows: int
    time_zone: str
    collation_of: Callable[[str], Collation | None]
    unknown: list[np.ndarray] = field(default_factory=list)
    projects: bool = False

    def value(self, node: Node) -> Any:
        """The values of a node."""
        match node:
            case Literal(value, type_):
                return _scalar(value, type_)
            case FieldRef(_, _, type_):
                if isinstance(type_, ArrayType | MapType | StructType):
                    raise UnsupportedByColumn
                return self.columns(node)
            case And(children):
                return self.connective(pc.and_kleene, children)
            case Or(children):
                return self.connective(pc.or_kleene, children)
            case Not(child):
                return pc.invert(self.value(child))
            case IsNull(child):
                return pc.is_null(self.value(child))
            case Compare():
                return self.comparison(node)
            case In():
                return self.membership(node)
            case Like() | StartsWith():
                return self.pattern(node)
            case Cast(child, type_):
                source = type_of(child)
                if source is None:
                    raise UnsupportedByColumn
                if self.projects and (source, type_) == (TIMESTAMP, DATE):
                    return cast(self.local(child), TIMESTAMP_NTZ, DATE, self.time_zone)
                return cast(self.value(child), source, type_, self.time_zone)
            case Collate(child):
                return self.value(child)
            case Case():
                return self.choice(node)
            case Call():
                return self.function(node)
        raise UnsupportedByColumn

    def repeated(self, values: Any, type_: DataType) -> pa.Array:
        """The values as an array; a constant is repeated."""
        return pa.repeat(values, self.rows) if isinstance(values, pa.Scalar) else values

    def connective(self, combine: Callable[[Any, Any], Any], children: tuple[Node, ...]) -> Any:
        found = self.value(children[0])
        for child in children[1:]:
            found = combine(found, self.value(child))
        return found

    def comparison(self, node: Compare) -> Any:
        type_ = type_of(node.left)
        if type_ is None or type_ != type_of(node.right):
            raise UnsupportedByColumn
        left, right = self.value(node.left), self.value(node.right)
        op = "=" if node.op == "<=>" else node.op
        collation = comparison_collation(node.left, node.right) if type_ == STRING else None
        if collation is not None:
            signs = self.signs(collation, left, right)
            truth = _COMPARISONS[op](signs, arrow_scalar(0, pa.int8()))
        else:
            truth = _COMPARISONS[op](_comparable(left), _comparable(right))
        if node.op != "<=>":
            return truth
        nulls = (pc.is_null(left), pc.is_null(right))
        return pc.if_else(pc.or_(*nulls), pc.and_(*nulls), pc.fill_null(truth, FALSE))

    def signs(self, collation: str, left: Any, right: Any) -> pa.Array:
        """The result of comparing strings with a constant under a collation."""
        found = self.collation_of(collation)
        if isinstance(left, pa.Scalar) and not isinstance(right, pa.Scalar):
            return pc.negate(self.signs(collation, right, left))
        if found is None or not isinstance(right, pa.Scalar) or isinstance(left, pa.Scalar):
            raise UnsupportedByColumn
        literal = right.as_py()
        if literal is None:
            return pa.nulls(self.rows, pa.int8())
        if not found.trusts(literal):
            raise UnsupportedByColumn
        self.unknown.append(~numpy_values(found.trusts_each(left)))
        return found.compare(left, literal)

    def membership(self, node: In) -> Any:
        type_ = type_of(node.child)
        child = self.value(node.child)
        if type_ is None or isinstance(child, pa.Scalar):
            raise UnsupportedByColumn
        collation = comparison_collation(node.child, *nodes_in(node.values)) if type_ == STRING else None
        if isinstance(node.values, LiteralList) and collation is None and child.type == node.values.array.type:
            found = pc.is_in(child, value_set=node.values.array)
            return pc.if_else(child.is_valid(), found, arrow_scalar(None, pa.bool_()))
        values = [value.value for value in node.values if isinstance(value, Literal) and type_of(value) == type_]
        if len(values) < len(node.values):
            raise UnsupportedByColumn
        known = [value for value in values if value is not None]
        if collation is not None:
            found = self.any_equal(collation, child, known)
        else:
            wanted = arrow_array(known, pa.float64() if type_ in FLOATING else layout_of(type_))
            found = pc.is_in(child, value_set=ordered_floats(wanted) if type_ in FLOATING else wanted)
        if len(known) < len(values):
            # A list with NULL is never FALSE.
            found = pc.if_else(found, TRUE, arrow_scalar(None, pa.bool_()))
        return pc.if_else(pc.is_valid(child), found, arrow_scalar(None if values else False, pa.bool_()))

    def any_equal(self, collation: str, child: pa.Array, wanted: list[Any]) -> pa.Array:
        """Whether each string is equal to one of a list under a collation."""
        found = self.collation_of(collation)
        if found is None or not all(found.trusts(value) for value in wanted):
            raise UnsupportedByColumn
        if not found.exact_keys:
            truth = pa.repeat(FALSE, self.rows)
            for value in wanted:
                equal = pc.equal(self.signs(collation, child, arrow_scalar(value, pa.string())), _ZERO)
                truth = pc.or_(truth, pc.fill_null(equal, FALSE))
            return truth
        self.unknown.append(~numpy_values(found.trusts_each(child)))
        return pc.is_in(found.sort_keys(child), value_set=found.sort_keys(arrow_array(wanted, pa.string())))

    def pattern(self, node: Like | StartsWith) -> Any:
        other = node.pattern if isinstance(node, Like) else node.prefix
        child = self.value(node.child)
        if not isinstance(other, Literal) or type_of(node.child) != STRING or isinstance(child, pa.Scalar):
            raise UnsupportedByColumn
        if comparison_collation(node.child, other) is not None:
            raise UnsupportedByColumn
        if other.value is None:
            return pa.nulls(self.rows, pa.bool_())
        if isinstance(node, StartsWith):
            return pc.starts_with(child, str(other.value))
        if node.case_insensitive:
            raise UnsupportedByColumn
        return _like(child, str(other.value), node.escape)

    def choice(self, node: Case) -> Any:
        type_ = type_of(node)
        if type_ is None:
            raise UnsupportedByColumn
        otherwise = Literal(None, type_) if node.otherwise is None else node.otherwise
        found = self.repeated(self.value(otherwise), type_)
        for condition, value in reversed(node.branches):
            taken = pc.fill_null(self.repeated(self.value(condition), BOOLEAN), FALSE)
            found = pc.if_else(taken, self.value(value), found)
        return found

    def local(self, node: Node) -> Any:
        """The local time of timestamps of either type, and of dates."""
        match type_of(node):
            case type_ if type_ == TIMESTAMP:
                return local_times(self.value(node), self.time_zone)
            case type_ if type_ == TIMESTAMP_NTZ:
                return self.value(node)
            case type_ if type_ == DATE:
                return local_midnights(self.value(node), self.time_zone)
        raise UnsupportedByColumn

    def time_texts(self, node: Call) -> Any:
        """The texts of times that partitions are named by; None for other expressions."""
        match node:
            case Call("date_format", (time, Literal(str() as pattern))) if not isinstance(time, Cast):
                return formatted_times(self.local(time), pattern)
            case Call("date_format", (Cast(FieldRef() as date, _, False), Literal(str() as pattern))) if (
                type_of(date) == DATE
            ):
                return formatted_times(self.local(date), pattern)
            case Call("substring", (Cast(time, _, False), Literal(int() as start), Literal(int() as length))) if (
                start in (0, 1) and 0 < length <= LONGEST_TEXT and type_of(time) in (TIMESTAMP, TIMESTAMP_NTZ)
            ):
                return time_texts(self.local(time), length)
        return None

    def function(self, node: Call) -> Any:
        function = FUNCTIONS.get(node.name)
        if function is None or node.type is None:
            raise UnsupportedByColumn
        if function.binary_only and is_collated(*node.args):
            raise UnsupportedByColumn
        if self.projects and node.name in ("date_format", "substring"):
            texts = self.time_texts(node)
            if texts is not None:
                return texts
        if node.name in HASHES:
            # A value in a nested type is hashed as it is, and an untyped NULL changes nothing.
            args = tuple(arg for arg in node.args if type_of(arg) != VOID)
            values = [self.columns(arg) if isinstance(arg, FieldRef) else self.value(arg) for arg in args]
            return hashed(node.name, values, [type_of(arg) for arg in args], self.rows)
        return call(node, [self.value(arg) for arg in node.args], self.time_zone)


_ZERO = arrow_scalar(0, pa.int8())


def _scalar(value: Any, type_: DataType) -> pa.Scalar:
    if type_ in FLOATING:
        return ordered_floats(arrow_array([value], pa.float64()))[0]
    return arrow_scalar(value, layout_of(type_))


def _comparable(values: Any) -> Any:
    """Booleans as numbers, which Arrow orders."""
    return pc.cast(values, pa.int8()) if values.type == pa.bool_() else values


def _like(child: pa.Array, pattern: str, escape: str) -> pa.Array:
    """Patterns without `_`, and with `%` at the ends only."""
    tokens = like_tokens(pattern, escape)
    wild = [at for at, (is_wild, _) in enumerate(tokens) if is_wild]
    first = next((at for at, (is_wild, _) in enumerate(tokens) if not is_wild), len(tokens))
    stop = len(tokens) - next((at for at, (is_wild, _) in enumerate(reversed(tokens)) if not is_wild), len(tokens))
    inner = [at for at in wild if first <= at < stop]
    if inner or any(tokens[at][1] != ANY_STRING for at in wild):
        raise UnsupportedByColumn
    text = "".join(character for is_wild, character in tokens if not is_wild)
    match first > 0, stop < len(tokens):
        case False, False:
            return pc.equal(child, arrow_scalar(text, pa.string()))
        case False, True:
            return pc.starts_with(child, text)
        case True, False:
            return pc.ends_with(child, text)
        case _:
            return pc.match_substring(child, text)
