"""Tables that delta-rs writes: its rows are the truth, and no file with a matching row is dropped."""

import random
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr import types as t
from tests.reference.oracle import name_of
from tests.reference.predicates import random_predicates
from tests.reference.rows import digest, plain_rows, random_rows

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")]

TYPES: dict[str, t.DataType] = {
    "b": t.BYTE, "l": t.LONG, "f": t.FLOAT, "d": t.DOUBLE,
    "dec18": t.DecimalType(18, 2),
    "dec38": t.DecimalType(38, 8),
    "whole38": t.DecimalType(38, 0),
    "s": t.STRING, "da": t.DATE, "ts": t.TIMESTAMP, "ntz": t.TIMESTAMP_NTZ,
}  # fmt: skip
PARTITIONS: dict[str, tuple[t.DataType, list[Any]]] = {
    "p": (t.STRING, ["a b", "é%", "a/b=c", "x"]),
    "day": (t.DATE, [-200_000, 0, 19_000]),
    "at": (t.TIMESTAMP, [1_710_064_800_000_001, 0, -1_000_000]),
    "n": (t.INTEGER, [-1, 0, 7]),
}
PREDICATES = 40
FILE = "__file"


@pytest.fixture(scope="module")
def deltalake() -> ModuleType:
    """The package `deltalake`."""
    return pytest.importorskip("deltalake", reason="deltalake is not installed (extra test)")


@pytest.fixture(params=["plain", "checkpointed", "partitioned", "partitioned and checkpointed"])
def written(request: pytest.FixtureRequest, deltalake: ModuleType, tmp_path: Path) -> Path:
    """A table of about 16 files in four commits, some rows deleted."""
    rng = random.Random(f"delta-rs {request.param}")
    path = tmp_path / "table"
    partitioned = "partitioned" in request.param
    types = {**TYPES, **({name: kind for name, (kind, _) in PARTITIONS.items()} if partitioned else {})}
    choices = {name: values for name, (_, values) in PARTITIONS.items()}
    by = list(PARTITIONS) if partitioned else None
    for commit in range(8 if not partitioned else 4):
        rows = random_rows(rng, types, 1 if not partitioned else 4, 6, commit * 100, choices)
        deltalake.write_deltalake(str(path), rows, mode="append", partition_by=by)
        if commit == 2 and "checkpointed" in request.param:
            deltalake.DeltaTable(str(path)).create_checkpoint()
    deltalake.DeltaTable(str(path)).delete("id % 100 = 3")
    return path


@pytest.mark.long(gate=2)
def test_pruning_a_table_of_delta_rs_is_sound(written: Path, deltalake: ModuleType, spark: Any) -> None:
    rows = rows_by_file(deltalake, written)
    pq.write_table(rows, written.parent / "rows.parquet")
    frame = spark.read.parquet(str(written.parent / "rows.parquet"))
    opened = ds.DeltaTable(written)
    rng = random.Random(7)
    predicates = random_predicates(rng, opened.schema, plain_rows(rows), PREDICATES)
    lost = {}
    for number, matching in matches(frame, [p.sql for p in predicates]).items():
        files = opened.scan(where=predicates[number].sql).files(columns=["path"])
        if missing := matching - {name_of(path) for path in files["path"].to_pylist()}:
            lost[predicates[number].sql] = sorted(missing)
    assert not lost


def test_files_and_rows_of_a_table_of_delta_rs_are_the_same(written: Path, deltalake: ModuleType, spark: Any) -> None:
    rows = rows_by_file(deltalake, written)
    opened = ds.DeltaTable(written)
    assert sorted(map(name_of, opened.scan().paths())) == sorted(set(rows[FILE].to_pylist()))
    frame = opened.scan().to_spark(spark)
    found = plain_rows(frame.toArrow())
    assert digest(found) == digest(plain_rows(rows.select(frame.columns)))


def rows_by_file(deltalake: ModuleType, path: Path) -> pa.Table:
    """Every row as deltalake reads it, with the name of its file, which is unique, in FILE."""
    dataset = deltalake.DeltaTable(str(path)).to_pyarrow_dataset()
    parts = []
    for fragment in dataset.get_fragments():
        part = fragment.to_table(schema=dataset.schema)
        parts.append(part.append_column(FILE, pa.array([name_of(fragment.path)] * len(part), pa.string())))
    return pa.concat_tables(parts)


def matches(frame: Any, predicates: list[str]) -> Mapping[int, set[str]]:
    """By predicate the files with a row for which Spark says TRUE; without those that make Spark fail."""
    from pyspark.sql import functions as F

    found: dict[int, set[str]] = {}

    def ask(numbers: list[int]) -> None:
        holds = [F.coalesce(F.expr(predicates[n]).cast("boolean"), F.lit(False)) for n in numbers]
        columns = [F.max(column).alias(str(n)) for n, column in zip(numbers, holds, strict=True)]
        try:
            rows = frame.groupBy(FILE).agg(*columns).collect()
        except Exception:
            if len(numbers) > 1:
                ask(numbers[: len(numbers) // 2])
                ask(numbers[len(numbers) // 2 :])
            return
        found.update({n: {row[FILE] for row in rows if row[str(n)]} for n in numbers})

    ask(list(range(len(predicates))))
    return found
