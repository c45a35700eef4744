"""Evaluates a bound expression for one row with Spark's ANSI semantics: the reference for all pruning.

Evaluation is lazy, as in Spark: AND and OR stop at FALSE and TRUE, and a NULL operand skips errors of its sibling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_collated
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS
from deltaskip.sparkexpr.functions.spark_functions import is_unknown, meant_function
from deltaskip.sparkexpr.literal_list import LiteralList, nodes_in
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, Zone, near_clock_change, zone_of
from deltaskip.sparkexpr.values.casts import cast_value, try_cast_value
from deltaskip.sparkexpr.values.comparisons import compare_values
from deltaskip.sparkexpr.values.strings import cased, elements_in, like

# The most elements, at every depth, of one array, and of the arrays that functions make for one value.
_MOST_INSIDE, _MOST_MADE = 1 << 22, 1 << 24

# Logical path of a column → its value in the value domain.
Row = Mapping[tuple[str, ...], object]
# Collation as written, two strings → negative, zero or positive. Raises LookupError or EvaluationError if unavailable.
Order = Callable[[str, str, str], int]


def evaluate(node: n.Node, row: Row, time_zone: str = "UTC", order: Order | None = None) -> object:
    """Return the value of a bound expression for one row; None is NULL.

    Args:
        node: The expression, bound by `bind`.
        row: Values by logical path.
        time_zone: The session's time zone.
        order: Compares strings under collations other than UTF8_BINARY.

    Raises:
        Undecided: The value is not known: `row` lacks a column, a call is untyped, a node is Opaque, or a collation has
            no `order`. It is a subclass of EvaluationError.
        EvaluationError: Spark raises in ANSI mode.
    """
    return _Evaluation(row, zone_of(time_zone), order).value(node)


def deterministic(node: n.Node) -> bool:
    """Whether the value of `node` depends only on its columns. False for unknown functions and Opaque nodes."""
    for part in n.walk(node):
        if isinstance(part, n.Opaque) or (
            isinstance(part, n.Call) and (part.name not in FUNCTIONS or part.type is None)
        ):
            return False
    return True


@n.kept
def left_to_spark(node: n.Node) -> str | None:
    """Return why only Spark can evaluate a bound expression, for every row; None if deltaskip may evaluate it.

    Only Spark evaluates the parts of `parts_left_to_spark`.
    """
    for part in parts_left_to_spark(node):
        if isinstance(part, n.SessionExpression):
            return f"{part.sql} is left to Spark: {part.why}."
        if isinstance(part, n.Opaque):
            return f"{part.sql} is left to Spark."
        assert isinstance(part, n.Call)
        if is_unknown(part.name):
            known = meant_function(part.name) or " A session may have it."
            return f"{part.name} is not a built-in function of Spark.{known}"
        # Some functions, such as operators, have no name; their SQL text describes them.
        return f"{to_sql(part) if part.name[-1] in '])' else f'The function {part.name}'} is left to Spark."
    return None


def parts_left_to_spark(node: n.Node) -> list[n.Call | n.Opaque | n.SessionExpression]:
    """Return the parts of a bound expression that only Spark can evaluate, innermost ones alone.

    They are calls of functions that deltaskip does not know, or not with these arguments, and Opaque nodes.
    """
    parts = list(n.walk(node))
    untyped = [part for part in parts if isinstance(part, n.Call) and part.type is None]
    left = [part for part in parts if isinstance(part, n.Opaque | n.SessionExpression)]
    inner = [call for call in untyped if all(type_of(arg) is not None for arg in call.args)]
    return [*left, *inner] or [*untyped[:1]]


class _Evaluation:
    """Evaluates one row, with a time zone and an order of collated strings."""

    __slots__ = ("made", "order", "row", "variables", "zone")

    def __init__(self, row: Row, zone: Zone, order: Order | None) -> None:
        self.row = row
        self.zone = zone
        self.order = order
        self.variables: dict[str, object] = {}
        self.made = 0

    @deep
    def value(self, node: n.Node) -> object:
        match node:
            case n.Literal(value):
                return value
            case n.FieldRef(logical):
                if logical not in self.row:
                    raise Undecided(f"The row has no column {'.'.join(logical)}.")
                return self.row[logical]
            case n.And(children):
                return self.connective(children, False)
            case n.Or(children):
                return self.connective(children, True)
            case n.Not(child):
                value = self.value(child)
                return None if value is None else not value
            case n.IsNull(child):
                return self.value(child) is None
            case n.Compare():
                return self.comparison(node)
            case n.In():
                return self.membership(node)
            case n.Among(children, keys):
                values = [self.value(child) for child in children]
                if any(map(is_collated, children)):
                    raise Undecided("The order of a collation is not known for keys.")
                return None if None in values else keys.has(values)
            case n.Like() | n.StartsWith():
                return self.pattern(node)
            case n.Cast():
                return self.cast(node)
            case n.Collate(child):
                return self.value(child)
            case n.Case(branches, otherwise):
                for condition, value in branches:
                    if self.value(condition) is True:
                        return self.value(value)
                return None if otherwise is None else self.value(otherwise)
            case n.Call():
                found = self.call(node)
                if isinstance(found, tuple):
                    self.check_size(elements_in(found))
                return found
            case n.Lambda():
                return self.function(node)
            case n.Variable(name):
                if name not in self.variables:
                    raise Undecided("The variable of a lambda function is not bound.")
                return self.variables[name]
            case n.Column(parts):
                raise Undecided(f"The column {'.'.join(parts)} is not bound.")
            case _:
                raise Undecided("The expression is left to Spark.")

    def check_size(self, elements: int) -> None:
        """Raise Undecided for an array that is too long, or with the arrays before it."""
        self.made += elements
        if elements > _MOST_INSIDE or self.made > _MOST_MADE:
            raise Undecided("Very long arrays are left to Spark.")

    def connective(self, children: tuple[n.Node, ...], decisive: bool) -> object:
        """The value of AND (FALSE decides) or OR (TRUE decides)."""
        unknown = False
        for child in children:
            value = self.value(child)
            if value is decisive:
                return decisive
            unknown = unknown or value is None
        return None if unknown else not decisive

    def comparison(self, node: n.Compare) -> object:
        left = self.compared_operand(node.left, node.right)
        if node.op == "<=>":
            right = self.compared_operand(node.right, node.left)
            if left is None or right is None:
                return left is None and right is None
            return self.compared(node, left, right) == 0
        right = None if left is None else self.compared_operand(node.right, node.left)
        if left is None or right is None:
            return None
        sign = self.compared(node, left, right)
        match node.op:
            case "=":
                return sign == 0
            case "!=":
                return sign != 0
            case "<":
                return sign < 0
            case "<=":
                return sign <= 0
            case ">":
                return sign > 0
            case _:
                return sign >= 0

    def compared_operand(self, node: n.Node, *others: n.Node) -> object:
        """The value of an operand that is compared with others."""
        if not mixes_clocks(node) or not any(map(is_given, others)):
            return self.value(node)
        value = self.value(node.child)
        found = self.cast_of(node, value)
        self.check_clock(node, value)
        return found

    def compared(self, node: n.Compare, left: object, right: object) -> int:
        return self.ordered(comparison_collation(node.left, node.right), left, right)

    def ordered(self, collation: str | None, left: object, right: object) -> int:
        if collation is None or not isinstance(left, str) or not isinstance(right, str):
            return compare_values(left, right)
        if self.order is None:
            raise Undecided(f"The collation {collation} is not available.")
        try:
            return self.order(collation, left, right)
        except LookupError as error:
            raise Undecided(f"{error}.") from error

    def membership(self, node: n.In) -> object:
        child = self.compared_operand(node.child, *nodes_in(node.values))
        if child is None:
            return None if node.values else False
        collation = comparison_collation(node.child, *nodes_in(node.values)) if isinstance(child, str) else None
        if isinstance(node.values, LiteralList) and collation is None:
            return child in node.values.distinct_values
        unknown = False
        for candidate in node.values:
            value = self.value(candidate)
            if value is None:
                unknown = True
            elif self.ordered(collation, child, value) == 0:
                return True
        return None if unknown else False

    def pattern(self, node: n.Like | n.StartsWith) -> object:
        other = node.pattern if isinstance(node, n.Like) else node.prefix
        if isinstance(node, n.Like) and n.is_null_constant(other):
            return None
        text = self.value(node.child)
        given = None if text is None else self.value(other)
        if text is None or given is None:
            return None
        collation = comparison_collation(node.child, other) if isinstance(text, str) else None
        if collation is not None:
            raise Undecided(f"Patterns under the collation {collation} are left to Spark.")
        return value_of(node, (text, given), self.zone)

    def cast(self, node: n.Cast) -> object:
        inner = node.child
        if node.type != t.DOUBLE or not isinstance(inner, n.Cast) or inner.type != t.FLOAT:
            return self.cast_of(node, self.value(inner))
        whole = self.value(inner.child)
        value = self.cast_of(inner, whole)
        if isinstance(whole, int) and type_of(inner.child) in t.INTEGRAL_BITS and float(whole) != value:
            # Spark's optimizer casts the integer directly to a double (SimplifyCasts).
            raise Undecided("A double cast from a float that was cast from an integer is left to Spark.")
        return self.cast_of(node, value)

    def cast_of(self, node: n.Cast, value: object) -> object:
        """The value of a cast, given that of its operand."""
        return value_of(node, (value,), self.zone)

    def check_clock(self, node: n.Cast, value: object) -> None:
        """Raise Undecided for a cast that `mixes_clocks` of a value near a clock change.

        In a comparison with a constant, Spark's optimizer casts the constant instead of the column
        (UnwrapCastInBinaryComparison). The result then differs in a repeated or skipped hour.
        """
        if not isinstance(value, int):
            return
        micros = value * MICROS_PER_DAY if type_of(node.child) == t.DATE else value
        if near_clock_change(micros, self.zone):
            raise Undecided("A local time near a clock change is left to Spark.")

    def function(self, node: n.Lambda) -> Callable[..., object]:
        """The lambda function as a Python function of the values of its variables."""

        def call(*values: object) -> object:
            self.variables.update(zip(node.names, values, strict=False))
            return self.value(node.body)

        return call

    def call(self, node: n.Call) -> object:
        function = FUNCTIONS.get(node.name)
        if function is None or node.type is None:
            raise Undecided(f"The function {node.name} is left to Spark.")
        if node.name == "coalesce":
            for arg in node.args:
                value = self.value(arg)
                if value is not None:
                    return value
            return None
        if function.binary_only and is_collated(*node.args):
            raise Undecided(f"The function {node.name} under a collation is left to Spark.")
        values: list[object] = [None] * len(node.args)
        for at, decides in function.evaluated(node.args):
            value = values[at] = self.value(node.args[at])
            if decides and (value is None or (function.zero_decides and value == 0 and at == len(values) - 1)):
                return None
        return value_of(node, tuple(values), self.zone)


def value_of(node: n.Node, values: tuple[Any, ...], zone: Zone) -> object:
    """Return the value of a call, a cast or a pattern whose operands have these values, and no collation.

    Raises as `evaluate` does.
    """
    match node:
        case n.Call(name):
            function = FUNCTIONS[name]
            return None if function.null_in_null_out and None in values else function.compute(values, node, zone)
        case n.Cast(child, type_):
            source = type_of(child)
            if source is None:
                raise Undecided("The type of the cast's operand is not known.")
            return (try_cast_value if node.safe else cast_value)(values[0], source, type_, zone)
    if None in values:
        return None
    text, given = values
    if isinstance(node, n.StartsWith):
        return text.startswith(given)
    assert isinstance(node, n.Like)
    if node.case_insensitive:
        text, given = cased(text, False), cased(given, False)
    return like(text, given, node.escape)


def mixes_clocks(node: n.Node) -> TypeGuard[n.Cast]:
    """Return whether a node casts an expression between instants and local times."""
    if not isinstance(node, n.Cast) or isinstance(node.child, n.Literal):
        return False
    source = type_of(node.child)
    mixes = source in t.DATETIMES and t.TIMESTAMP in (source, node.type)
    return mixes and node.type in (t.TIMESTAMP, t.TIMESTAMP_NTZ)


def is_given(node: n.Node) -> bool:
    """Return whether a node is a constant other than NULL."""
    return isinstance(node, n.Literal) and node.value is not None
