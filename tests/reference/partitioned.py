"""Tables that are partitioned by transforms, written by deltaskip and delta-spark in turns: both read and prune them.

    python -m tests.reference.playing partitioned ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both agree.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

import deltaskip as ds
from deltaskip import transforms as t
from deltaskip.sparkexpr.types.ddl import type_text
from tests.extent import some

COLUMNS = "id BIGINT, ts TIMESTAMP, local TIMESTAMP_NTZ, day DATE, name STRING, price DECIMAL(20,2)"
TRANSFORMS: dict[str, list[t.Transform]] = {
    "dates": [t.date("ts"), t.month("day")],
    "hours": [t.datehour("ts")],
    "local": [t.datehour("local"), t.year("local")],
    "buckets": [t.bucket("id", 4), t.bucket("price", 3)],
    "texts": [t.bucket("name", 4), t.truncate("name", 1)],
    "numbers": [t.truncate("id", 10)],
}
PREDICATES = [
    "ts = TIMESTAMP'2024-01-31 05:00:00Z'",
    "ts >= TIMESTAMP'2024-02-01 00:00:00Z' AND ts < TIMESTAMP'2024-02-02 00:00:00Z'",
    "local > TIMESTAMP_NTZ'2024-02-02 03:30:00'", "id = 7", "id IN (3, 30)", "name = 'b7'", "name LIKE 'a%'",
    "price = 7.50", "day >= DATE'2024-02-01'",
]  # fmt: skip
START = datetime(2024, 1, 31)


def rows(ids: range) -> pa.Table:
    local = [None if i % 17 == 11 else START + timedelta(hours=i) for i in ids]
    instants = [None if each is None else each.replace(tzinfo=UTC) for each in local]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "local": pa.array(local, pa.timestamp("us")),
            "day": pa.array([None if each is None else each.date() for each in local], pa.date32()),
            "name": pa.array([None if i % 19 == 5 else f"{'abc'[i % 3]}{i}" for i in ids], pa.string()),
            "price": pa.array([Decimal(i * 100 + 50).scaleb(-2) for i in ids], pa.decimal128(20, 2)),
        }
    )


def values(ids: range) -> str:
    """The same rows as VALUES of Spark."""
    found = []
    for i in ids:
        time = None if i % 17 == 11 else START + timedelta(hours=i)
        texts = (
            ["NULL"] * 3 if time is None else [f"TIMESTAMP'{time}Z'", f"TIMESTAMP_NTZ'{time}'", f"DATE'{time.date()}'"]
        )
        name = "NULL" if i % 19 == 5 else f"'{'abc'[i % 3]}{i}'"
        found.append(f"({i}, {', '.join(texts)}, {name}, {i}.50)")
    return ", ".join(found)


class Both:
    """Two engines on one table."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.path, self.at = spark, folder / "t", f"delta.`{folder / 't'}`"

    def sql(self, text: str) -> list[Any]:
        found: list[Any] = self.spark.sql(text).collect()
        return found

    def table(self) -> ds.DeltaTable:
        return ds.DeltaTable(self.path)

    def agree(self, generated: dict[str, str]) -> None:
        """Both read the same rows, whose partitions are those of the expressions, and keep what matches."""
        table = self.table()
        frame = self.spark.read.format("delta").load(str(self.path))
        for name, text in generated.items():
            assert frame.where(f"NOT ({name} <=> ({text}))").count() == 0, (name, text)
        for predicate in [None, *some(PREDICATES, 4)]:
            theirs = sorted(row.id for row in (frame if predicate is None else frame.where(predicate)).collect())
            ours = sorted(table.scan(predicate).to_arrow()["id"].to_pylist())
            assert ours == theirs, (predicate, ours, theirs)
            if predicate is not None:
                kept = {unquote(uri).rpartition("/")[2] for uri in table.scan(predicate).files()["uri"].to_pylist()}
                read = {unquote(uri).rpartition("/")[2] for uri in frame.where(predicate).inputFiles()}
                # Statistics serve both; partition pruning here goes beyond that of delta-spark.
                assert kept <= read, (predicate, kept - read)
        counts = {tuple(row["partition_values"].values()): row["num_rows"] for row in table.partitions().to_pylist()}
        names = list(table.partition_columns)
        expected = {tuple(row[name] for name in names): row["count"] for row in frame.groupBy(*names).count().collect()}
        assert counts == expected, (counts, expected)


def made_here(both: Both, transforms: list[t.Transform]) -> None:
    """A table of deltaskip that delta-spark inserts into, updates and reads."""
    made = ds.DeltaTable.create(both.path, COLUMNS, transforms)
    made.append(rows(range(20)))
    both.sql(f"INSERT INTO {both.at} (id, ts, local, day, name, price) VALUES {values(range(20, 45))}")
    generated = generated_columns(made)
    both.agree(generated)
    both.sql(f"UPDATE {both.at} SET id = id + 1000, ts = ts + INTERVAL 40 DAYS WHERE id < 4")
    both.table().update({"id": "id + 2000"}, "id = 5")
    both.agree(generated)


def made_there(both: Both, transforms: list[t.Transform]) -> None:
    """A table of delta-spark with such generated columns, which are read back as transforms and filled by Arrow."""
    schema = ds.DeltaTable.create(both.path.with_name("model"), COLUMNS, transforms).schema
    columns = []
    for field in schema.fields:
        text = field.metadata.get("delta.generationExpression")
        rule = "" if text is None else f" GENERATED ALWAYS AS ({text})"
        columns.append(f"{field.name} {type_text(field.type)}{rule}")
    by = ", ".join(name for name in schema.names if name not in PLAIN)
    both.sql(f"CREATE TABLE {both.at} ({', '.join(columns)}) USING delta PARTITIONED BY ({by})")
    both.sql(f"INSERT INTO {both.at} (id, ts, local, day, name, price) VALUES {values(range(15))}")
    table = both.table()
    assert table.partitioning == tuple(transforms), (table.partitioning, transforms)
    assert table.hidden_columns == (), "columns that somebody has declared are not hidden"
    table.append(rows(range(15, 40)))
    both.agree(generated_columns(table))


def replaced(both: Both, transforms: list[t.Transform]) -> None:
    """A table of delta-spark that gets other partition columns here, and is written there again."""
    both.sql(f"CREATE TABLE {both.at} ({COLUMNS}) USING delta PARTITIONED BY (day) "
             "TBLPROPERTIES (delta.enableDeletionVectors = true, delta.enableRowTracking = true)")  # fmt: skip
    both.sql(f"INSERT INTO {both.at} VALUES {values(range(30))}")
    both.sql(f"DELETE FROM {both.at} WHERE id % 7 = 2")
    ids = "SELECT id, _metadata.row_id AS row_id FROM {} ORDER BY id"
    before = both.sql(ids.format(both.at))
    both.table().replace_partitioning(*transforms)
    assert both.sql(ids.format(both.at)) == before
    both.sql(f"INSERT INTO {both.at} (id, ts, local, day, name, price) VALUES {values(range(30, 40))}")
    both.sql(f"OPTIMIZE {both.at}")
    both.agree(generated_columns(both.table()))


def generated_columns(table: ds.DeltaTable) -> dict[str, str]:
    key = "delta.generationExpression"
    return {field.name: str(field.metadata[key]) for field in table.schema.fields if key in field.metadata}


PLAIN = [each.partition(" ")[0] for each in COLUMNS.split(", ")]
STEPS: dict[str, Callable[[Both, list[t.Transform]], None]] = {
    "made here": made_here,
    "made there": made_there,
    "replaced": replaced,
}
CASES = [f"{step}, {name}" for step in STEPS for name in TRANSFORMS]


def play(spark: Any, folder: Path, case: str) -> None:
    """Play one case."""
    step, _, name = case.partition(", ")
    STEPS[step](Both(spark, folder), TRANSFORMS[name])
