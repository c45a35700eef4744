"""MERGE of a DataFrame (`DataFrame.mergeInto`) into a table of an installed catalog: a statement without a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from deltaskip.errors import UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.spark.columns.column_parts import option, sequence
from deltaskip.spark.columns.from_expression import expression_to_node
from deltaskip.spark.installed_catalog.compiled_java import of_zone, renamed
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.session.session_settings import frame_of
from deltaskip.sparkexpr import ColumnExpr
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.text.sql_text import quoted_path
from deltaskip.statements.statement import StatementSession

_SOURCE = "__deltaskip_source_{}"
_KINDS = ("matched", "notMatched", "notMatchedBySource")
_ACTIONS = {"UpdateAction": "update", "InsertAction": "insert", "DeleteAction": "delete"}


@dataclass(frozen=True, slots=True)
class MergeOfFrame:
    """A MERGE that Spark has resolved.

    Attributes:
        jvm: The session's JVM.
        plan: The MergeIntoTable.
        name: The table, for messages.
    """

    jvm: Jvm
    plan: Any
    name: str

    def run(self, session: StatementSession) -> None:
        """Run it."""
        if self.plan.withSchemaEvolution():
            raise self._refusal("withSchemaEvolution")
        source = self._source()
        names = dict(zip(map(_id, sequence(self.plan.sourceTable().output())), source.columns, strict=True))
        relation = self.plan.targetTable().collectLeaves().head()
        names |= {_id(each): str(each.name()) for each in sequence(relation.output())}
        on = self._expression(self.plan.mergeCondition(), names)
        steps: list[tuple[str, list[dict[str, ColumnExpr]], ColumnExpr | None]] = []
        for kind in _KINDS:
            for action in sequence(getattr(self.plan, f"{kind}Actions")()):
                made = _ACTIONS.get(action.getClass().getSimpleName())
                if made is None:
                    raise self._refusal(str(action.getClass().getSimpleName()))
                condition = option(action.condition())
                where = None if condition is None else self._expression(condition, names)
                values = [] if made == "delete" else [dict(self._values(action, names))]
                called = "".join(f"_{each.lower()}" if each.isupper() else each for each in kind)
                steps.append((f"when_{called}_{made}", values, where))
        builder = session.table(()).merge(source, on, spark=session.spark)
        for name, values, where in steps:
            builder = getattr(builder, name)(*values, where=where)
        builder.execute()

    def _source(self) -> DataFrame:
        """The rows of the source, whose columns have names that no column of the table has."""
        frame = frame_of(self.jvm.spark, self.plan.sourceTable())
        return frame.toDF(*map(_SOURCE.format, range(len(frame.columns))))

    def _values(self, action: Any, names: dict[str, str]) -> Iterator[tuple[str, ColumnExpr]]:
        for each in sequence(action.assignments()):
            key = self._expression(each.key(), names)
            assert isinstance(key.node, n.Column)
            yield quoted_path(key.node.parts), self._expression(each.value(), names)

    def _expression(self, expression: Any, names: dict[str, str]) -> ColumnExpr:
        """The expression over the columns of both sides. Raises UnsupportedFeature for one that has no SQL text."""
        if not all(_id(each) in names for each in sequence(expression.references().toSeq())):
            # Spark computes a function of Python below the statement.
            raise self._refusal("a function of Python over columns of the table")
        if not of_zone(self.jvm, [expression], time_zone_of(self.jvm.spark)):
            raise self._refusal("an expression of another time zone than the session's")
        node = expression_to_node(renamed(self.jvm, expression, names))
        opaque = next((each for each in n.walk(node) if isinstance(each, n.Opaque)), None)
        if opaque is not None:
            raise self._refusal(opaque.sql)
        return ColumnExpr(node)

    def _refusal(self, what: str) -> UnsupportedFeature:
        return UnsupportedFeature(
            f"Rows of the table {self.name} cannot be changed by a mergeInto with {what}: write MERGE INTO as SQL "
            f"text, or compute the value as a column of the DataFrame."
        )


def _id(column: Any) -> str:
    """The id of a column of a plan."""
    return str(column.exprId().id())
