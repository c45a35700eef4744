"""Columns of PySpark as predicates."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal

import pyarrow as pa

from deltaskip.sparkexpr import types as t
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import ids, numbers, table_of


@case("Columns as predicates prune")
def columns(session: Session) -> None:
    from pyspark.sql import functions as F

    day = datetime.date(2024, 1, 1)
    files = {
        f"f{i}.parquet": pa.table(
            {
                "id": pa.array([i, i], pa.int64()),
                "name": [f"n{i}", f"n{i}z"],
                "day": [day + datetime.timedelta(days=i)] * 2,
                "at": pa.array([datetime.datetime(2024, 1, 1 + i, tzinfo=datetime.UTC)] * 2, pa.timestamp("us", "UTC")),
                "amount": pa.array([Decimal(i)] * 2, pa.decimal128(5, 2)),
                "s": [{"x": float(i)}] * 2,
            }
        )
        for i in range(5)
    }
    schema = {
        "id": t.LONG, "name": t.STRING, "day": t.DATE, "at": t.TIMESTAMP,
        "amount": t.DecimalType(5, 2),
        "s": t.StructType((t.StructField("x", t.DOUBLE),)),
    }  # fmt: skip
    table = table_of(session.folder, schema, files)
    late = datetime.datetime(2024, 1, 4, tzinfo=datetime.UTC)
    c = F.col
    predicates = {
        "comparison": (c("id") > 3, [4]),
        "reversed": (F.lit(1) > c("id"), [0]),
        "and, not": ((c("id") >= 2) & ~(c("id") > 2), [2]),
        "or": ((c("id") == 0) | (c("name") == "n4z"), [0, 4]),
        "isin": (c("id").isin(1, 3), [1, 3]),
        "between": (c("id").between(1, 2), [1, 2]),
        "null-safe": (c("id").eqNullSafe(2), [2]),
        "isNull": (c("id").isNull(), []),
        "isNotNull and <": (c("id").isNotNull() & (c("id") < 1), [0]),
        "like": (c("name").like("n3%"), [3]),
        "startswith": (c("name").startswith("n2"), [2]),
        "date": (c("day") == day + datetime.timedelta(days=1), [1]),
        "timestamp": (c("at") >= late, [3, 4]),
        "decimal": (c("amount") < Decimal("0.5"), [0]),
        "field": (c("s.x") > 3.5, [4]),
        "getField": (c("s")["x"] <= 0.5, [0]),
        "cast": (c("id").cast("int") == 4, [4]),
        "date text": (c("day") >= F.lit("2024-01-05").cast("date"), [4]),
        "year and more": ((F.year("day") == 2024) & (c("id") == 1), [1]),
        "coalesce": (F.coalesce(c("id"), F.lit(0)) == 3, [3]),
        "arithmetic": (c("id") + 1 == 5, [4]),
        "when": (F.when(c("id") > 3, "x").otherwise("y") == "x", [4]),
        "expr": (F.expr("id = 2 and name like 'n%'"), [2]),
        "alias": ((c("id") == 2).alias("z"), [2]),
    }
    wrong = []
    for name, (predicate, expected) in predicates.items():
        scan = table.scan(predicate)
        kept = [int(path.rpartition("/f")[2][0]) for path in scan.paths()]
        found = numbers(scan.to_spark(session.spark))
        matching = sorted(2 * expected) if name != "or" else [0, 0, 4]
        if kept != expected or found != matching:
            wrong.append(f"{name}: kept {kept}, read {found}")
    scan = table.scan(F.rand() < 2)
    if len(scan.paths()) != 5 or scan.to_spark(session.spark).count() != 10:
        wrong.append("rand() skips files")
    assert not wrong, "; ".join(wrong)


@case("a Column with a user-defined function keeps all files")
def column_of_a_udf(session: Session) -> None:
    from pyspark.sql import functions as F

    def upper(text: str) -> str:
        return "n1"

    table = table_of(
        session.folder, {"id": t.LONG, "name": t.STRING}, {f"{i}.parquet": ids(i, name=[f"n{i}"]) for i in range(3)}
    )
    with warnings.catch_warnings():
        # PySpark's own, about pandas.
        warnings.simplefilter("ignore")
        predicate = F.udf(upper, "string")("name") == "n1"
    scan = table.scan(predicate)
    equal(len(scan.paths()), 3)
    equal(numbers(scan.to_spark(session.spark)), [0, 1, 2])
