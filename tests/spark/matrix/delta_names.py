"""The Python names of delta-spark."""

from __future__ import annotations

import pyarrow as pa

import deltaskip as ds
from tests.spark.matrix.cases import Session, case, equal


@case("delta-spark's names")
def delta_names(session: Session) -> None:
    from pyspark.errors import AnalysisException

    from deltaskip.delta import DeltaTable, IdentityGenerator

    where = str(session.folder / "named")
    built = (
        DeltaTable.create(session.spark)
        .location(where)
        .addColumn("id", "BIGINT", generatedAlwaysAs=IdentityGenerator())
        .addColumn("a", "INT", nullable=False, comment="of use")
        .addColumn("b", "INT", generatedAlwaysAs="a + 1")
        .execute()
    )
    ds.DeltaTable(where).append(pa.table({"a": pa.array([1, 2], pa.int32())}))
    equal(sorted(map(tuple, built.toDF().collect())), [(1, 1, 2), (2, 2, 3)])
    equal(built.toDF().schema["a"].nullable, session.kind == "connect")
    equal(built.toDF().schema["a"].metadata, {"comment": "of use"})
    equal(built.alias("t").toDF().select("t.a").count(), 2)
    equal([each.operation for each in built.history().collect()], ["WRITE", "CREATE TABLE"])
    equal(built.detail().first().location, where)
    equal(DeltaTable.isDeltaTable(session.spark, where), True)
    equal(DeltaTable.forName(session.spark, f"delta.`{where}`").toDF().count(), 2)
    # As delta-spark's own, they return the number of rows through Spark Connect only.
    for changed in (built.delete("a = 1"), built.update("a = 2", {"a": "'3'"})):
        equal(changed and changed.collect(), [(1,)] if session.kind == "connect" else None)
    equal(list(map(tuple, built.toDF().collect())), [(2, 3, 4)])
    source = session.spark.createDataFrame([(3, 7), (4, 8)], "k INT, v INT")
    merge = built.alias("t").merge(source.alias("s"), "t.a = s.k").whenMatchedDelete()
    merged = merge.whenNotMatchedInsert(values={"a": "s.v"}).execute()
    equal(list(map(tuple, merged.collect())), [(2, 0, 1, 1)])
    equal([(row.a, row.b) for row in built.toDF().collect()], [(8, 9)])
    try:
        DeltaTable.forName(session.spark, "no_such_table")
    except AnalysisException as error:
        assert "is not a Delta table" in str(error), error
    else:
        raise AssertionError("a table that does not exist was found")
