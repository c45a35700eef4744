"""delta-spark's DeltaOptimizeBuilder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltaskip.delta.argument_checks import names, string
from deltaskip.delta.spark_errors import spark_errors
from deltaskip.delta.table_operations import user_metadata
from deltaskip.doors import Unpicklable, door
from deltaskip.expr import Node, parse_sql
from deltaskip.expr import nodes as n
from deltaskip.expr.render import to_sql
from deltaskip.maintenance.optimize.optimize import optimize
from deltaskip.maintenance.optimize.strategy import OptimizeRequest
from deltaskip.table.delta_rows import OPTIMIZED, optimized_row
from deltaskip.txn.write_options import WriteOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltaskip.table.table import DeltaTable


@door
class DeltaOptimizeBuilder(Unpicklable):
    """An OPTIMIZE, which its methods run.

    Args:
        spark: The session.
        table: The table.
    """

    def __init__(self, spark: SparkSession, table: DeltaTable) -> None:
        self._spark = spark
        self._table = table
        self._where: list[str] = []

    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:
        """Set the predicate of the partitions to optimize; if it is called again, all of them must hold."""
        self._where.append(string("partitionFilter", partitionFilter))
        return self

    def executeCompaction(self) -> DataFrame:
        """Join small files of each partition; return a row with the path of the table, and metrics."""
        return self._run(())

    def executeZOrderBy(self, *cols: str | Sequence[str]) -> DataFrame:
        """Order the rows of each partition by several columns; return a row as `executeCompaction` does."""
        return self._run(names("Z-order column", cols))

    def _run(self, columns: Sequence[str]) -> DataFrame:
        table = self._table
        with spark_errors():
            where = " AND ".join(f"({each})" for each in self._where) if len(self._where) > 1 else None
            where = self._where[0] if len(self._where) == 1 else where
            zone = str(self._spark.conf.get("spark.sql.session.timeZone"))
            predicates = tuple(_text(parse_sql(each)) for each in self._where)
            request = OptimizeRequest(where, zorder_by=tuple(columns), time_zone=zone, predicates=predicates)
            recorded = WriteOptions(user_metadata=user_metadata(self._spark))
            result = optimize(table.snapshot, request, self._spark, recorded)
            table.refresh()
            row = optimized_row(table.snapshot, result, _parallelism(self._spark))
            return self._spark.createDataFrame([row], OPTIMIZED)


def _parallelism(spark: SparkSession) -> int:
    context = getattr(spark, "_sc", None)
    return 0 if context is None else int(context.defaultParallelism)


def _text(node: Node) -> str:
    """The predicate as delta-spark writes it into the history: as Spark shows an expression without a table."""
    match node:
        case n.Column(parts):
            return f"'{'.'.join(parts)}"
        case n.Literal(value) if isinstance(value, str):
            return value
        case n.Compare("<>" | "!=", left, right):
            return f"NOT ({_text(left)} = {_text(right)})"
        case n.Compare(op, left, right):
            return f"({_text(left)} {op} {_text(right)})"
        case n.And(children) | n.Or(children):
            word = "AND" if isinstance(node, n.And) else "OR"
            found = _text(children[0])
            for child in children[1:]:
                found = f"({found} {word} {_text(child)})"
            return found
        case n.Not(n.IsNull(child)):
            return f"isnotnull({_text(child)})"
        case n.Not(child):
            return f"NOT {_text(child)}"
        case n.IsNull(child):
            return f"isnull({_text(child)})"
        case n.In(child, values):
            return f"{_text(child)} IN ({','.join(map(_text, values))})"
        case _:
            return to_sql(node)
