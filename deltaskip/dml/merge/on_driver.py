"""Whether a merge through a session can be carried out by the driver itself, which takes less than Spark's jobs.

It is where expressions are evaluated by whole columns of Arrow exactly as Spark does, and where source and files are
small enough to be read here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from deltaskip.dml.merge.arrow_expressions import MergeExpressions, Scope, condition_node
from deltaskip.dml.merge.arrow_join import divided
from deltaskip.dml.merge.clauses import Kind
from deltaskip.dml.merge.merge_assignments import AssignedExpression, PlannedClause
from deltaskip.dml.merge.merge_execution import MergeJoin
from deltaskip.dml.merge.names import Names
from deltaskip.dml.merge.values import expressions_of
from deltaskip.errors import DeltaSkipError, PredicateError
from deltaskip.expr import Node
from deltaskip.expr.evaluation.columns import never_fails
from deltaskip.expr.nodes import And, FieldRef, columns_of
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.schema.types import (
    COLLATIONS_KEY,
    VARIANT,
    VOID,
    DataType,
    StructField,
    StructType,
    UnknownType,
    nested_types,
)

__all__ = ["can_merge_on_driver", "names_in"]


def can_merge_on_driver(join: MergeJoin, source: StructType, source_alias: str | None, time_zone: str) -> bool:
    """Return whether every expression of a merge can be evaluated by whole columns, and matches are found by keys.

    Args:
        join: The merge.
        source: The schema of the source.
        source_alias: The name of the source in expressions.
        time_zone: The time zone of expressions.
    """
    target, nothing = join.snapshot.schema, StructType(())
    aliases = join.target_alias, source_alias
    if any(map(_is_special, (*target.fields, *source.fields))):
        return False
    sides: dict[Kind, tuple[StructType, StructType]] = {
        "matched": (target, source),
        "not matched": (nothing, source),
        "not matched by source": (target, nothing),
    }
    scopes = {kind: _Scope(*each, aliases, kind, time_zone) for kind, each in sides.items()}
    try:
        return scopes["matched"].joins_by_keys(join.on) and all(
            scopes[clause.kind].takes(clause) for clause in join.clauses
        )
    except DeltaSkipError:
        # Spark says what is wrong with it.
        return False


def names_in(join: MergeJoin) -> list[tuple[str, ...]]:
    """Return the names of columns in the expressions of a merge, as far as they are understood here."""
    wheres = [clause.where for clause in join.clauses if clause.where is not None]
    given = (each for c in join.clauses for assigned in c.columns.values() for each in expressions_of(assigned))
    found: dict[tuple[str, ...], None] = {}
    for value in (join.on, *wheres, *(each.value for each in given if isinstance(each, AssignedExpression))):
        with suppress(PredicateError):
            found |= dict.fromkeys(columns_of(condition_node(value)))
    return list(found)


class _Scope:
    """The expressions that clauses of one kind may have."""

    def __init__(
        self,
        target: StructType,
        source: StructType,
        aliases: tuple[str | None, str | None],
        kind: Kind,
        time_zone: str,
    ) -> None:
        scope = Scope(Names(target, source, *aliases), target, source, kind)
        self._expressions = MergeExpressions("the table", scope, time_zone, 0)
        self._columns = {field.name: pa.nulls(0, stored_type(field.type)) for field in scope.schema.fields}

    def joins_by_keys(self, on: Any) -> bool:
        """Whether rows that match are found by keys, and what else the condition says by whole columns."""
        condition = self._expressions.condition(condition_node(on))
        parts = condition.children if isinstance(condition, And) else (condition,)
        keys, rest = divided(parts, self._expressions)
        nodes = [*rest, *(key.target for key in keys), *(key.source for key in keys)]
        return bool(keys) and all(map(self._is_whole, nodes))

    def takes(self, clause: PlannedClause) -> bool:
        """Whether the condition and the values of a clause are evaluated by whole columns."""
        where = clause.where
        if where is not None and not self._is_whole(self._expressions.condition(condition_node(where))):
            return False
        given = (each for assigned in clause.columns.values() for each in expressions_of(assigned))
        return all(self._is_whole(self._expressions.bound(e.value)) for e in given if isinstance(e, AssignedExpression))

    def _is_whole(self, node: Node) -> bool:
        return isinstance(node, FieldRef) or never_fails(node)


def _is_special(field: StructField) -> bool:
    """Whether Spark reads or compares a column in a way of its own."""
    types: list[DataType] = list(nested_types(field.type))
    if any(each in (VARIANT, VOID) or isinstance(each, UnknownType) for each in types):
        return True
    return COLLATIONS_KEY in field.metadata or "char(" in str(field.metadata.get(CHAR_VARCHAR_KEY, "")).lower()
