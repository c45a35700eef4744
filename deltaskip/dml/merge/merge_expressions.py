"""Expressions of a MERGE over Arrow columns of both sides, evaluated by deltaskip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.dml.merge.clauses import ClauseKind, expression_text
from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.predicates import new_value_node
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.rows.arrow_conversion import RunningCollations
from deltaskip.schema.relations import UnknownName
from deltaskip.skipping.joins.name_resolution import MergeSide, Names
from deltaskip.sparkexpr import PASS_SESSION, needs_session, to_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.functions import LITERAL_FUNCTIONS
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.values.arrow_values import one_chunk

_SIDES: Mapping[MergeSide, str] = {"target": "t.", "source": "s."}
_USABLE: Mapping[ClauseKind, tuple[MergeSide, ...]] = {
    "matched": ("target", "source"),
    "not matched": ("source",),
    "not matched by source": ("target",),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that expressions of clauses of one kind may use.

    Attributes:
        names: The names of both sides.
        target: The schema of the target.
        source: The schema of the source.
        kind: The kind of the clauses.
    """

    names: Names
    target: t.StructType
    source: t.StructType
    kind: ClauseKind

    @property
    def schema(self) -> t.StructType:
        """The columns that may be used, each with its side in its name."""
        sides = {"target": self.target, "source": self.source}
        named = [(_SIDES[side] + field.name, field) for side in _USABLE[self.kind] for field in sides[side].fields]
        return t.StructType(
            tuple(t.StructField(name, f.type, f.nullable, dict(t.rekeyed_metadata(f, name))) for name, f in named)
        )


class MergeExpressions:
    """Binds and evaluates expressions of clauses of one kind.

    Args:
        table: The table's location, for messages.
        scope: The columns that expressions may use.
        time_zone: The time zone of expressions.
        now: The time that current_timestamp() returns, in microseconds since the epoch.
    """

    def __init__(self, table: str, scope: Scope, time_zone: str, now: int) -> None:
        self._table = table
        self._scope = scope
        self._schema = scope.schema
        self._zone = time_zone
        self.now = now
        self._collations = RunningCollations()
        self._known: dict[int, tuple[Any, n.Node]] = {}
        self._expressions: dict[int, LocalExpression] = {}

    @property
    def names(self) -> Names:
        """The names of both sides."""
        return self._scope.names

    def columns(self, target: Mapping[str, pa.Array], source: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
        """Return columns of both sides under the names of the scope."""
        sides = {"target": target, "source": source}
        return {
            _SIDES[side] + name: column for side in _USABLE[self._scope.kind] for name, column in sides[side].items()
        }

    def bound(self, value: Any) -> n.Node:
        """Return an expression with names resolved.

        Raises:
            UnknownName: A name is unknown. A subclass of PredicateError and SchemaError.
            PredicateError: A name is ambiguous, or types do not fit.
            UnsupportedFeature: Only Spark can evaluate it.
        """
        known = self._known.get(id(value))
        if known is None:
            node = new_value_node(value, self._table)
            known = self._known[id(value)] = value, self._found(node, expression_text(value), False)
        return known[1]

    def condition(self, node: n.Node) -> n.Node:
        """Return a condition with names resolved. Raises as `bound` does."""
        return self._found(node, to_sql(node), True)

    def _found(self, given: n.Node, text: str, is_condition: bool) -> n.Node:
        """An expression or condition, bound."""
        try:
            found = bound(self._resolved(given), self._schema, self._zone, self.now, is_condition)
        except PredicateError as error:
            raise type(error)(f"{text} is not valid in a merge into {self._table}: {error}") from error
        self._local(found)
        return found

    def _local(self, node: n.Node) -> LocalExpression:
        """The evaluation of a bound expression."""
        found = self._expressions.get(id(node))
        if found is None:
            place = EvaluationPlace(f"a merge into {self._table}", PASS_SESSION, what="")
            found = LocalExpression(
                node, self._schema, place, time_zone=self._zone, collations=self._collations, shown=self._text
            )
            self._expressions[id(node)] = found
        return found

    def array(self, node: n.Node, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """Return the values of a bound expression.

        Raises:
            PredicateError: It fails for a row.
            UnsupportedFeature: Only Spark can evaluate it.
        """
        return self._local(node).values(columns, rows)

    def mask(self, condition: n.Node | None, columns: Mapping[str, pa.Array], rows: int) -> npt.NDArray[Any]:
        """Return whether a bound condition is TRUE in each row; no condition is TRUE in all."""
        if condition is None:
            return np.ones(rows, np.bool_)
        return self._local(condition).mask(columns, rows)

    def values(self, value: Any, columns: Mapping[str, pa.Array], rows: int) -> tuple[pa.Array, t.DataType]:
        """Return the values of an expression and their type."""
        node = self.bound(value)
        return self.array(node, columns, rows), type_of(node) or t.VOID

    def cast(self, name: str, values: pa.Array, source: t.DataType, target: t.DataType) -> pa.Array:
        """Return values as CAST converts them to the type of a column. Raises PredicateError if a cast fails."""
        scope = t.StructType((t.StructField(name, source),))
        node = bind_expression(n.Cast(n.Column((name,)), target), scope, time_zone=self._zone)
        return self.array(node, {name: values}, len(values))

    def needs_session(self, given: str | n.Node, why: object) -> UnsupportedFeature:
        """Return the error for an expression that only Spark can evaluate. given: SQL text, or a bound node."""
        text = given if isinstance(given, str) else self._text(given)
        return needs_session(text, f"a merge into {self._table}", why, PASS_SESSION)

    def sort_keys(self, collation: str, values: pa.Array) -> pa.Array | None:
        """Return bytes that are equal where a collation considers strings equal; None if it has no such keys here."""
        found = self._collations.evaluator(collation)
        if found is None or not found.exact_keys:
            return None
        return one_chunk(found.sort_keys(values).cast(pa.binary()))

    def is_collated_inside(self, node: n.Node) -> bool:
        """Return whether a column of a bound expression has collated or padded strings inside a nested type."""
        used = n.top_level_columns(node)
        inside = (
            each
            for field in self._schema.fields
            if field.name in used
            for each in (field, *t.nested_fields(field.type))
        )
        return any(t.COLLATIONS_KEY in each.metadata or t.CHAR_VARCHAR_KEY in each.metadata for each in inside)

    def _text(self, node: n.Node) -> str:
        """A bound expression as SQL text, with columns named as the caller names them."""
        return to_sql(self._named(node))

    @deep
    def _named(self, node: n.Node) -> n.Node:
        if not isinstance(node, n.FieldRef):
            return n.transform(node, self._named)
        return n.Column(self._written(node.logical))

    def _written(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The caller's name for a column of the scope's schema."""
        for side, prefix in _SIDES.items():
            if path[0].startswith(prefix):
                return self.names.name(side, (path[0][len(prefix) :], *path[1:]))
        return path

    @deep
    def _resolved(self, node: n.Node) -> n.Node:
        if not isinstance(node, n.Column):
            return n.transform(node, self._resolved)
        try:
            side, path = self._scope.names.resolved(node.parts)
        except t.InsideCollection:
            return n.Opaque(t.display_name(node.parts), (node.parts,))
        except UnknownName as error:
            if len(node.parts) == 1 and node.parts[0].lower() in LITERAL_FUNCTIONS:
                return node
            kind, usable = self._scope.kind, _USABLE[self._scope.kind]
            only = "" if len(usable) > 1 else f" Rows that are {kind} have columns of the {usable[0]} alone."
            raise UnknownName(f"{error}{only}") from error
        named = _SIDES[side] + path[0], *path[1:]
        return n.Column(named) if side == "target" else self._scope.names.source_column(named)
