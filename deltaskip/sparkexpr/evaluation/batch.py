"""Evaluates the nodes of an expression over one batch of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import is_nested, same_type, type_of
from deltaskip.sparkexpr.collations.collation import Collation
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_collated
from deltaskip.sparkexpr.evaluation.row_columns import Columns, column_at, encoded_dates, has_few_values, taken_rows
from deltaskip.sparkexpr.evaluation.rows import evaluate, is_given, mixes_clocks, value_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS
from deltaskip.sparkexpr.literal_list import LiteralList, nodes_in
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import arrow_values
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_nested import conformed
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, zone_of
from deltaskip.sparkexpr.values.column_casts import cast_column
from deltaskip.sparkexpr.values.comparisons import ARROW_COMPARISONS, compared, equal_rows, signs_of_rows
from deltaskip.sparkexpr.values.interval_types import INTERVALS
from deltaskip.sparkexpr.values.zones import near_clock_changes

if TYPE_CHECKING:
    from deltaskip.sparkexpr.functions.function import Function

# If at least this share of rows is decided, the other rows are copied for the next operand of an AND or OR.
_MANY = 0.75
# How often operands of operands are evaluated again, and how many nodes may fail over the values of a dictionary.
_MOST_RETRIES = 4
_ZERO = v.constant_of(0, pa.int8())
# For fewer rows, a count of the distinct dates takes longer than it saves.
_MANY_DATES = 1024


class CollatedOrder(Protocol):
    """The collations under which strings are compared."""

    def evaluator(self, collation: str) -> Collation | None:
        """Return the collation with a name from a schema or COLLATE; None if it is not available."""

    def unavailable(self, collation: str) -> str:
        """Return why `evaluator` returns None for a collation, and what to install."""

    def order(self, collation: str, left: str, right: str) -> int:
        """Compare two strings. Raises LookupError or EvaluationError if the collation is not available."""


class Batch:
    """One batch of rows.

    unknown: Masks of rows whose value is not known; their computed values are ignored.
    """

    def __init__(
        self, columns: Columns, rows: int, time_zone: str, collations: CollatedOrder | None, reached_only: bool = False
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.zone = zone_of(time_zone)
        self.time_zone = time_zone
        self.collations = collations
        self.unknown: list[npt.NDArray[Any]] = []
        self._reached_only = reached_only
        self._retries = self._failures = 0
        # Values of operands that their node asks for again, with the operand, by its identity.
        self._shared: dict[int, tuple[n.Node, v.Values]] = {}
        self._read: dict[tuple[str, ...], pa.Array] = {}
        self._encoded = {name: each for name, each in columns.items() if has_few_values(each)}
        self._dates = {name for name, each in columns.items() if each.type == pa.date32() and rows >= _MANY_DATES}

    @deep
    def value(self, node: n.Node) -> v.Values:
        """The values of a node. Raises EvaluationError if it fails for a row."""
        if self._shared and id(node) in self._shared:
            return self._shared[id(node)][1]
        if (self._encoded or self._dates) and not isinstance(node, n.FieldRef | n.Literal):
            found = self.by_dictionary(node)
            if found is not None:
                return found
        match node:
            case n.Literal(_, type_) if isinstance(type_, t.UnknownType) and type_ not in t.NANOSECONDS:
                raise Undecided("An interval is left to Spark.")
            case n.Literal(value, type_):
                return v.constant_of(value, arrow_type(type_))
            case n.FieldRef():
                return self.column(node)
            case n.And(children):
                return self.connective(children, pc.and_kleene, False)
            case n.Or(children):
                return self.connective(children, pc.or_kleene, True)
            case n.Not(child):
                return pc.invert(self.value(child))
            case n.IsNull(child):
                return pc.is_null(self.value(child))
            case n.Compare():
                return self.comparison(node)
            case n.In():
                return self.membership(node)
            case n.Among():
                return self.among(node)
            case n.Like() | n.StartsWith():
                return self.pattern(node)
            case n.Cast():
                return self.cast(node)
            case n.Collate(child):
                return self.value(child)
            case n.Case():
                return self.choice(node)
            case n.Call():
                return self.call(node)
            case n.Variable(name):
                return self.columns[name]
            case n.Column(parts):
                raise Undecided(f"The column {'.'.join(parts)} is not bound.")
        raise Undecided("The expression is left to Spark.")

    @contextmanager
    def shared(self, node: n.Node) -> Iterator[v.Values]:
        """The values of a node, which are not computed again within the block."""
        found = self.value(node)
        before = self._shared.get(id(node))
        self._shared[id(node)] = node, found
        try:
            yield found
        finally:
            if before is None:
                del self._shared[id(node)]

    def by_dictionary(self, node: n.Node) -> pa.Array | None:
        """The values of a node over one dictionary-encoded column, computed once for each value of the dictionary.

        None for other nodes, and if the node fails for a value or the result is not known; no row may have that value.
        """
        names = n.few_columns(node)
        if names is None or len(names) != 1:
            return None
        [name] = names
        if name in self._dates and _computes(node):
            self._dates.discard(name)
            encoded = encoded_dates(self.columns[name])
            if encoded is not None:
                self._encoded[name] = encoded
        column = self._encoded.get(name)
        if column is None:
            return None
        values, indices = column.dictionary, column.indices
        if column.null_count:
            indices = indices.fill_null(len(values))
            values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        part = Batch({name: values}, len(values), self.time_zone, self.collations)
        try:
            found = v.as_array(part.value(node), len(values))
        except EvaluationError:
            self._failures += 1
            if self._failures == _MOST_RETRIES:
                self._encoded.clear()
            return None
        if part.unknown:
            return None
        return v.taken_truth(found, v.numbers(indices)) if found.type == pa.bool_() else found.take(indices)

    def column(self, node: n.FieldRef) -> pa.Array:
        """The values of a column, with the Arrow type of its Delta type."""
        found = self._read.get(node.logical)
        if found is None:
            if node.logical[0] not in self.columns:
                raise Undecided(f"The row has no column {'.'.join(node.logical)}.")
            found = conformed(arrow_values.one_chunk(column_at(self.columns, node.logical)), arrow_type(node.type))
            self._read[node.logical] = found
        return found

    def reached(self, node: n.Node, rows: Callable[[], npt.NDArray[Any]]) -> v.Values:
        """The values of an operand that Spark evaluates only for the rows of a mask.

        If the operand fails for a row, it is evaluated only for these rows, and NULL for other rows. In operands of
        operands, only the outermost ones are evaluated again: a failure takes linear time.
        """
        if not self._reached_only:
            if self._retries == _MOST_RETRIES:
                return self.value(node)
            self._retries += 1
            try:
                return self.value(node)
            except EvaluationError:
                taken = rows()
                if taken.all():
                    raise
            finally:
                self._retries -= 1
            return self.selected(node, taken, True)
        taken = rows()
        return self.value(node) if taken.all() else self.selected(node, taken, True)

    def selected(self, node: n.Node, taken: npt.NDArray[Any], reached_only: bool = False) -> v.Values:
        """The values of an operand for the rows of a mask, and NULL for other rows."""
        count = int(np.count_nonzero(taken))
        if not count:
            return v.none_of(arrow_type(type_of(node) or t.VOID))
        columns = taken_rows(self.columns, node, np.flatnonzero(taken))
        part = Batch(columns, count, self.time_zone, self.collations, reached_only or self._reached_only)
        part._retries = self._retries
        if isinstance(node, n.Compare) and (left := self._shared.get(id(node.left))) is not None:
            taken_left = left[1] if v.is_constant(left[1]) else left[1].filter(arrow_values.arrow_array(taken))
            part._shared[id(node.left)] = node.left, taken_left
        found = part.value(node)
        for unknown in part.unknown:
            whole = np.zeros(self.rows, np.bool_)
            whole[taken] = unknown
            self.unknown.append(whole)
        return v.scattered(found, taken)

    def connective(self, children: Sequence[n.Node], combine: Callable[[Any, Any], Any], decisive: bool) -> v.Values:
        """The values of AND, which FALSE decides, or of OR, which TRUE decides."""
        found = self.value(children[0])
        for child in children[1:]:
            rows = partial(self.undecided, found, decisive)
            decided = 0 if v.is_constant(found) else found.true_count if decisive else found.false_count
            if decided >= _MANY * self.rows:
                found = combine(found, self.selected(child, rows()))
            else:
                found = combine(found, self.reached(child, rows))
        return found

    def undecided(self, values: v.Values, decisive: bool) -> npt.NDArray[Any]:
        """A mask of the rows for which a connective is not yet decided."""
        array = v.as_array(values, self.rows)
        decided = arrow_values.true_rows(pc.equal(array, arrow_values.TRUE if decisive else arrow_values.FALSE))
        return ~decided

    def not_null(self, *values: v.Values) -> npt.NDArray[Any]:
        """A mask of the rows where no value is NULL."""
        found = np.ones(self.rows, np.bool_)
        for each in values:
            found &= arrow_values.numpy_values(v.as_array(each, self.rows).is_valid())
        return found

    def null(self, values: v.Values) -> npt.NDArray[Any]:
        """A mask of the rows where the value is NULL."""
        return ~self.not_null(values)

    def comparison(self, node: n.Compare) -> v.Values:
        """The values of a comparison."""
        type_ = type_of(node.left)
        if type_ is None or not same_type(type_, type_of(node.right)):
            raise Undecided("Values of two types cannot be compared.")
        if isinstance(node.left, n.Case) and isinstance(node.right, n.Literal):
            choice = _compared_choice(node, node.left)
            if choice is not None:
                return self.choice(choice)
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if mixes_clocks(side) and is_given(other) and id(side.child) not in self._shared:
                with self.shared(side.child):
                    return self.comparison(node)
        left = self.value(node.left)
        # `<=>` evaluates both sides.
        reach = (lambda: np.ones(self.rows, np.bool_)) if node.op == "<=>" else (lambda: self.not_null(left))
        right = self.reached(node.right, reach)
        self.check_clock(node.left, left, node.right)
        self.check_clock(node.right, right, node.left)
        collation = comparison_collation(node.left, node.right) if type_ == t.STRING else None
        op = "=" if node.op == "<=>" else node.op
        if v.is_constant(left) and v.is_constant(right):
            left = v.as_array(left, self.rows)
        if is_nested(type_):
            truth = self.nested_comparison(op, left, right)
        else:
            truth = self.collated(op, collation, left, right) if collation else compared(op, left, right, type_)
        if node.op != "<=>":
            return truth
        truth = arrow_values.is_true(truth)
        if not all(not each.is_valid if v.is_constant(each) else each.null_count for each in (left, right)):
            return truth
        return pc.or_(truth, pc.and_(pc.is_null(left), pc.is_null(right)))

    def nested_comparison(self, op: str, left: v.Values, right: v.Values) -> v.Values:
        """The values of a comparison of arrays or structs."""
        there = self.not_null(left, right)
        left, right = v.as_array(left, self.rows), v.as_array(right, self.rows)
        if op in ("=", "!="):
            truth = arrow_values.arrow_array(equal_rows(left, right) == (op == "="))
        else:
            truth = ARROW_COMPARISONS[op](arrow_values.arrow_array(signs_of_rows(left, right)), _ZERO)
        return pc.if_else(arrow_values.arrow_array(there), truth, v.none_of(pa.bool_()))

    def check_clock(self, node: n.Node, values: v.Values, other: n.Node) -> None:
        """Leave casts of columns between instants and local times near a clock change to Spark.

        In a comparison with a constant, Spark's optimizer casts the constant instead of the column
        (UnwrapCastInBinaryComparison). The result then differs in a repeated or skipped hour.
        """
        if not mixes_clocks(node) or not is_given(other) or self.zone.rules is None:
            return
        micros = v.numbers(v.as_array(self.value(node.child), self.rows)).astype(np.int64)
        if type_of(node.child) == t.DATE:
            micros = micros * MICROS_PER_DAY
        near = near_clock_changes(micros, self.zone) & self.not_null(values)
        if near.any():
            self.unknown.append(near)

    def unavailable(self, collation: str) -> Undecided:
        """The error for a collation that is not available."""
        why = None if self.collations is None else self.collations.unavailable(collation)
        return Undecided(f"The collation {collation} is not available." if why is None else f"{why}.")

    def collated(self, op: str, collation: str, left: v.Values, right: v.Values) -> v.Values:
        """The values of a comparison of strings under a collation."""
        if v.is_constant(left):
            return self.collated(n.MIRRORED[op], collation, right, left)
        found = None if self.collations is None else self.collations.evaluator(collation)
        if found is None:
            raise self.unavailable(collation)
        if v.is_constant(right):
            literal = right.as_py()
            if literal is None:
                return pa.nulls(self.rows, pa.bool_())
            if not found.trusts(literal):
                self.unknown.append(self.not_null(left))
                return pa.nulls(self.rows, pa.bool_())
            self.trust(found, left)
            return ARROW_COMPARISONS[op](found.compare(left, literal), _ZERO)
        self.trust(found, left)
        self.trust(found, right)
        if not found.exact_keys:
            self.unknown.append(self.not_null(left, right))
            return pa.nulls(self.rows, pa.bool_())
        return ARROW_COMPARISONS[op](found.sort_keys(left), found.sort_keys(right))

    def trust(self, collation: Collation, texts: pa.Array) -> None:
        """Leave strings that Spark may order differently to the row evaluator."""
        odd = ~arrow_values.numpy_values(collation.trusts_each(texts))
        if odd.any():
            self.unknown.append(odd)

    def membership(self, node: n.In) -> v.Values:
        """The values of IN."""
        type_ = type_of(node.child)
        if type_ is None:
            raise Undecided("The type of an operand of IN is not known.")
        if isinstance(node.child, n.Cast) and id(node.child.child) not in self._shared:
            with self.shared(node.child.child):
                return self.membership(node)
        with self.shared(node.child) as child:
            return self.listed(node, type_, child)

    def among(self, node: n.Among) -> v.Values:
        """Whether the values of each row together are a key."""
        values = [v.as_array(self.value(child), self.rows) for child in node.children]
        orders: list[Collation | None] = []
        for child, each, key in zip(node.children, values, node.keys.columns, strict=True):
            collation = comparison_collation(child) if type_of(child) == t.STRING else None
            order = None if collation is None or self.collations is None else self.collations.evaluator(collation)
            if collation is not None and order is None:
                raise self.unavailable(collation)
            if order is not None:
                if not order.exact_keys or order.trusts_each(key).false_count:
                    raise Undecided(f"Keys under the collation {collation} are left to Spark.")
                self.trust(order, each)
            orders.append(order)
        return node.keys.among(values, orders)

    def listed(self, node: n.In, type_: t.DataType, child: v.Values) -> v.Values:
        """The values of IN, given those of its first operand."""
        if not node.values:
            return arrow_values.FALSE
        collation = comparison_collation(node.child, *nodes_in(node.values)) if type_ == t.STRING else None
        if isinstance(node.values, LiteralList) and collation is None:
            array = v.as_array(child, self.rows)
            found = pc.is_in(array, value_set=node.values.array.cast(array.type))
            return pc.if_else(array.is_valid(), found, v.none_of(pa.bool_()))
        literals = [value for value in node.values if isinstance(value, n.Literal) and type_of(value) == type_]
        if len(literals) == len(node.values) and not is_nested(type_):
            return self.any_literal(node, v.as_array(child, self.rows), [each.value for each in literals], collation)
        equal_to: v.Values | None = None
        for value in node.values:
            equal = self.reached(n.Compare("=", node.child, value), partial(self.still_open, child, equal_to))
            equal_to = equal if equal_to is None else pc.or_kleene(equal_to, equal)
        assert equal_to is not None
        return equal_to

    def still_open(self, child: v.Values, found: v.Values | None) -> npt.NDArray[Any]:
        """A mask of the rows for which the next value of an IN list is compared."""
        rows = self.not_null(child)
        return rows if found is None else rows & self.undecided(found, True)

    def any_literal(self, node: n.In, child: pa.Array, wanted: Sequence[Any], collation: str | None) -> v.Values:
        """The values of IN over a list of literals."""
        type_ = type_of(node.child)
        assert type_ is not None
        known = [value for value in wanted if value is not None]
        if known:
            self.check_clock(node.child, child, n.Literal(known[0], type_))
        if collation is not None:
            found = self.any_equal(collation, child, known)
        elif type_ in t.FLOATING:
            found = pc.is_in(
                v.ordered_floats(child), value_set=v.ordered_floats(arrow_values.arrow_array(known, pa.float64()))
            )
        else:
            found = pc.is_in(child, value_set=v.array_of(known, type_))
        if len(known) < len(wanted):
            # A list with NULL is never FALSE.
            found = pc.if_else(found, arrow_values.TRUE, v.none_of(pa.bool_()))
        return pc.if_else(child.is_valid(), found, v.none_of(pa.bool_()))

    def any_equal(self, collation: str, child: pa.Array, wanted: Sequence[str]) -> v.Values:
        """Whether each string is equal to a string of a list under a collation."""
        order = None if self.collations is None else self.collations.evaluator(collation)
        if order is None:
            raise self.unavailable(collation)
        if order.exact_keys and all(map(order.trusts, wanted)):
            self.trust(order, child)
            return pc.is_in(
                order.sort_keys(child), value_set=order.sort_keys(arrow_values.arrow_array(wanted, pa.string()))
            )
        truth = pa.repeat(arrow_values.FALSE, self.rows)
        for value in wanted:
            equal = self.collated("=", collation, child, v.constant_of(value, pa.string()))
            truth = pc.or_(truth, arrow_values.is_true(equal))
        return truth

    def pattern(self, node: n.Like | n.StartsWith) -> v.Values:
        """The values of LIKE, ILIKE and startswith."""
        other = node.pattern if isinstance(node, n.Like) else node.prefix
        if isinstance(node, n.Like) and n.is_null_constant(other):
            return v.none_of(pa.bool_())
        text = self.value(node.child)
        given = self.reached(other, lambda: self.not_null(text))
        if any(v.is_constant(each) and not each.is_valid for each in (text, given)):
            return v.none_of(pa.bool_())
        if type_of(node.child) == t.STRING:
            collation = comparison_collation(node.child, other)
            if collation is not None and self.not_null(text, given).any():
                raise Undecided(f"Patterns under the collation {collation} are left to Spark.")
        from deltaskip.sparkexpr.functions.text import like_column, like_rows, with_parts

        try:
            found: v.Values | v.Partly
            if isinstance(node, n.StartsWith) and not v.is_constant(given):
                found = with_parts(text, given, 0)
            elif isinstance(node, n.Like) and not v.is_constant(given):
                found = like_rows(text, given, node.escape, node.case_insensitive)
            elif v.is_constant(text):
                raise v.NotByColumn
            elif isinstance(node, n.StartsWith):
                found = pc.starts_with(text, given.as_py())
            else:
                found = like_column(text, given.as_py(), node.escape, node.case_insensitive)
        except (v.NotByColumn, pa.ArrowException):
            found = self.all_left(t.BOOLEAN)
        return self.completed(found, node, (text, given), t.BOOLEAN)

    def cast(self, node: n.Cast) -> v.Values:
        """The values of a cast."""
        source = type_of(node.child)
        if source is None:
            raise Undecided("The type of the cast's operand is not known.")
        inner = node.child
        if _is_double_of_float(node) and isinstance(inner, n.Cast) and id(inner.child) not in self._shared:
            with self.shared(inner.child):
                return self.cast(node)
        values = self.value(node.child)
        if v.is_constant(values) and not values.is_valid:
            return v.none_of(arrow_type(node.type))
        if v.is_constant(values):
            return self.folded(node, (values,), node.type)
        self.check_float(node, values)
        try:
            found = cast_column(values, source, node.type, self.zone)
        except (v.NotByColumn, pa.ArrowException):
            return self.completed(self.all_left(node.type), node, (values,), node.type)
        array = found.values
        if found.failed is not None and (found.failed & self.not_null(values)).any():
            if not node.safe:
                raise EvaluationError("A value cannot be cast.")
            array = pc.if_else(arrow_values.arrow_array(found.failed), v.none_of(array.type), array)
        if found.rest is None:
            return array
        return self.completed(v.Partly(array, found.rest), node, (values,), node.type)

    def check_float(self, node: n.Cast, values: v.Values) -> None:
        """Leave CAST(CAST(integer AS FLOAT) AS DOUBLE) to Spark for rows where the double differs from the integer.

        Spark's optimizer casts the integer directly to a double (SimplifyCasts).
        """
        inner = node.child
        if _is_double_of_float(node) and isinstance(inner, n.Cast):
            whole = v.numbers(v.as_array(self.value(inner.child), self.rows)).astype(np.float64)
            differs = (whole != v.numbers(v.as_array(values, self.rows))) & self.not_null(values)
            if differs.any():
                self.unknown.append(differs)

    def choice(self, node: n.Case) -> v.Values:
        """The values of CASE."""
        type_ = type_of(node)
        if type_ is None:
            raise Undecided("The type of a CASE is not known.")
        left = np.ones(self.rows, np.bool_)
        taken: list[tuple[npt.NDArray[Any], v.Values]] = []
        for condition, value in node.branches:
            true = arrow_values.true_rows(v.as_array(self.reached(condition, partial(_same, left)), self.rows)) & left
            taken.append((true, self.reached(value, partial(_same, true))))
            left = left & ~true
        found: v.Values = v.none_of(arrow_type(type_))
        if node.otherwise is not None:
            found = self.reached(node.otherwise, partial(_same, left))
        found = v.as_array(found, self.rows)
        for true, values in reversed(taken):
            found = pc.if_else(arrow_values.arrow_array(true), values, found)
        return found

    def call(self, node: n.Call) -> v.Values:
        """The values of a function."""
        function = FUNCTIONS.get(node.name)
        if function is None or node.type is None:
            raise Undecided(f"The function {node.name} is left to Spark.")
        if node.name == "coalesce":
            return self.coalesced(node)
        if function.binary_only and is_collated(*node.args):
            raise Undecided(f"The function {node.name} under a collation is left to Spark.")
        if is_nested(node.type) and any(each in INTERVALS for each in t.nested_types(node.type)):
            raise Undecided("A struct or map of intervals is left to Spark.")
        if any(isinstance(arg, n.Lambda) for arg in node.args):
            return self.applied(node, function, node.type)
        values = self.arguments(node, function)
        if function.null_in_null_out and any(v.is_constant(each) and not each.is_valid for each in values):
            return v.none_of(arrow_type(node.type))
        if all(map(v.is_constant, values)):
            return self.folded(node, values, node.type)
        try:
            if function.by_column is None:
                raise v.NotByColumn
            found = function.by_column(values, node, self.zone)
        except (v.NotByColumn, pa.ArrowException):
            found = self.all_left(node.type)
        except EvaluationError:
            if function.null_in_null_out and not self.not_null(*values).any():
                # Spark does not call the function for any row.
                return v.none_of(arrow_type(node.type))
            raise
        if is_nested(node.type):
            wanted = arrow_type(node.type)
            partly = isinstance(found, v.Partly)
            found = v.Partly(conformed(found.values, wanted), found.rest) if partly else conformed(found, wanted)
        return self.completed(found, node, values, node.type)

    def applied(self, node: n.Call, function: Function, type_: t.DataType) -> v.Values:
        """The values of a function with lambda functions, which it receives as functions of columns of elements.

        If the function fails for an element, the row evaluator decides: it stops at the same element as Spark.
        """
        try:
            if function.by_column is None:
                raise v.NotByColumn
            args = [
                partial(self.lambda_values, arg)
                if isinstance(arg, n.Lambda)
                else v.as_array(self.value(arg), self.rows)
                for arg in node.args
            ]
            found = function.by_column(args, node, self.zone)
        except (v.NotByColumn, EvaluationError, pa.ArrowException):
            self.unknown.append(np.ones(self.rows, np.bool_))
            return v.none_of(arrow_type(type_))
        assert not isinstance(found, v.Partly)
        return conformed(found, arrow_type(type_))

    def lambda_values(self, node: n.Lambda, elements: Sequence[pa.Array], owners: npt.NDArray[Any]) -> pa.Array:
        """The values of a lambda function for elements. owners: The row of each element."""
        columns = taken_rows(self.columns, node.body, owners)
        columns.update(zip(node.names, elements, strict=False))
        part = Batch(columns, len(owners), self.time_zone, self.collations)
        part._encoded.clear()
        part._dates.clear()
        found = arrow_values.one_chunk(v.as_array(part.value(node.body), len(owners)))
        for unknown in part.unknown:
            whole = np.zeros(self.rows, np.bool_)
            whole[owners[unknown]] = True
            self.unknown.append(whole)
        return found

    def arguments(self, node: n.Call, function: Function) -> tuple[v.Values, ...]:
        """The values of the arguments. A NULL may skip the errors of the arguments that are evaluated after it."""
        found: dict[int, v.Values] = {}
        decisive: list[v.Values] = []
        for at, decides in function.evaluated(node.args):
            arg = node.args[at]
            if isinstance(arg, n.Literal) and arg.type in INTERVALS:
                # Arrow has no type for some intervals; the function reads the interval from the call.
                found[at] = arrow_values.FALSE
            elif decisive:
                found[at] = self.reached(arg, partial(self.evaluated, decisive, function.zero_decides))
            else:
                found[at] = self.value(arg)
            if decides:
                decisive.append(found[at])
        return tuple(found[at] for at in range(len(node.args)))

    def evaluated(self, decisive: Sequence[v.Values], zero_decides: bool) -> npt.NDArray[Any]:
        """A mask of the rows for which the next argument is evaluated, given the decisive arguments before it."""
        rows = self.not_null(*decisive)
        if zero_decides:
            first = v.as_array(decisive[0], self.rows)
            rows &= arrow_values.true_rows(pc.not_equal(first, arrow_values.arrow_scalar(0, first.type)))
        return rows

    def coalesced(self, node: n.Call) -> v.Values:
        """The values of COALESCE."""
        found = self.value(node.args[0])
        for arg in node.args[1:]:
            if v.is_constant(found) and found.is_valid:
                break
            found = pc.coalesce(found, self.reached(arg, partial(self.null, found)))
        return found

    def all_left(self, type_: t.DataType) -> v.Partly:
        """A result without values, in which all rows are left over."""
        return v.Partly(pa.nulls(self.rows, arrow_type(type_)), np.ones(self.rows, np.bool_))

    def folded(self, node: n.Node, args: Sequence[v.Values], type_: t.DataType) -> v.Values:
        """The value of a node whose operands are constants."""
        values = tuple([arrow_values.domain_values(v.as_array(each, 1))[0] for each in args])
        [value] = v.bounded([value_of(node, values, self.zone)])
        return v.constant_of(value, arrow_type(type_))

    def completed(
        self, found: v.Values | v.Partly, node: n.Node, args: Sequence[v.Values], type_: t.DataType
    ) -> v.Values:
        """The result of a function, with the values of the rows that it left over."""
        if not isinstance(found, v.Partly):
            return found
        places = arrow_values.arrow_array(np.flatnonzero(found.rest).astype(np.int64))
        chosen = [v.as_array(each, self.rows).take(places) for each in args]
        values = v.array_of(self.by_combination(node, chosen), type_)
        if len(values) == self.rows:
            return values
        return pc.if_else(arrow_values.arrow_array(found.rest), v.scattered(values, found.rest), found.values)

    def by_combination(self, node: n.Node, args: Sequence[pa.Array]) -> list[object]:
        """The value of a node for each row of its operands, computed once for each combination of their values.

        Raises Undecided if they are too large together.
        """
        return list(v.bounded(self._of_combinations(node, args)))

    def _of_combinations(self, node: n.Node, args: Sequence[pa.Array]) -> Iterator[object]:
        known: dict[tuple[object, ...], object] = {}
        for values in zip(*map(arrow_values.domain_values, args), strict=True):
            # Equal values, such as 0.0 and -0.0, may give different results.
            key = tuple([repr(value) if isinstance(value, float | tuple) else value for value in values])
            if key not in known:
                known[key] = value_of(node, values, self.zone)
            yield known[key]


def _is_double_of_float(node: n.Cast) -> bool:
    """Whether a node is CAST(CAST(integer AS FLOAT) AS DOUBLE)."""
    inner = node.child
    is_float = isinstance(inner, n.Cast) and inner.type == t.FLOAT and type_of(inner.child) in t.INTEGRAL_BITS
    return is_float and node.type == t.DOUBLE


@n.kept
def _computes(node: n.Node) -> bool:
    """Whether the node contains a function or a cast."""
    return isinstance(node, n.Call | n.Cast) or any(
        _computes(child) for child in n.children_of(node) if not isinstance(child, n.Literal | n.FieldRef)
    )


def _compared_choice(node: n.Compare, choice: n.Case) -> n.Case | None:
    """CASE with the comparison of each value. None unless all values are constants that need no collation."""
    type_ = type_of(node.left) or t.VOID
    last = choice.otherwise or n.Literal(None, type_)
    values = [value for _, value in choice.branches]
    if is_nested(type_) or not all(isinstance(each, n.Literal) for each in (*values, last)):
        return None
    if type_ == t.STRING and comparison_collation(node.left, node.right) is not None:
        return None

    def truth(value: n.Node) -> n.Node:
        return n.Literal(evaluate(n.Compare(node.op, value, node.right), {}), t.BOOLEAN)

    return n.Case(tuple((condition, truth(value)) for condition, value in choice.branches), truth(last))


def _same(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return rows
