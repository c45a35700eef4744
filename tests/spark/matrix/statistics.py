"""Statistics that a session computes again."""

from __future__ import annotations

from deltaskip.sparkexpr.types.data_types import DOUBLE, LONG, STRING, StructField, StructType
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import ids, table_of


@case("recomputation of statistics")
def recompute(session: Session) -> None:
    name = StructField("name", STRING)
    schema = StructType((StructField("id", LONG), name, StructField("price", DOUBLE)))
    files = {f"{i}.parquet": ids(i, i + 10, name=[f"n{i}"] * 2, price=[0.5 * i, float("nan")]) for i in range(3)}
    table = table_of(session.folder, schema, files, deleted={"2.parquet": [1]})
    table.recompute_stats(session.spark, mode="scan")
    equal(table.version, 1)
    equal(table.scan("id = 12").to_spark(session.spark).count(), 0)
    equal([path.rpartition("/")[2] for path in table.scan("name = 'n1'").paths()], ["1.parquet"])
