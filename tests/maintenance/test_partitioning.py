"""Other partition columns for an existing table: its rows, row ids and feed, what is refused, and other writers."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip import AddConstraint, DeltaTable, transforms
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.files_to_change import kept_files
from deltaskip.errors import InvalidArgument, InvalidArgumentType, RowViolation, SchemaError
from deltaskip.transforms import Transform
from deltaskip.txn.transaction import Transaction
from tests.dml.tables import actions_of, files_below, row_ids_of
from tests.each import refuses
from tests.extent import extent
from tests.noted import raising

DDL = "id BIGINT, ts TIMESTAMP, name STRING, amount INT NOT NULL"
LAYOUTS: list[list[str | Transform]] = [
    [],
    ["name"],
    [transforms.date("ts")],
    [transforms.bucket("id", 3), "amount"],
    [transforms.month("ts"), transforms.bucket("name", 2)],
    [transforms.truncate("id", 10), transforms.datehour("ts")],
]
PROPERTIES: list[dict[str, str]] = [
    {},
    {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"},
    {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
    {"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"},
]


def rows(chance: random.Random, ids: list[int]) -> pa.Table:
    start = datetime(2024, 1, 30, 22, tzinfo=UTC)
    times = [None if i % 11 == 7 else start + timedelta(hours=chance.randrange(60)) for i in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "name": pa.array([chance.choice([None, "a", "é b", "c/d"]) for _ in ids], pa.string()),
            "amount": pa.array([chance.randrange(3) for _ in ids], pa.int32()),
        }
    )


def everything(table: DeltaTable) -> list[str]:
    """All visible rows as text, sorted."""
    files = kept_files(table.scan()).listed
    execution = ArrowExecution(table.snapshot, "UTC")
    batches = execution.rows([RowsOfFiles(files)], table.schema, None, table.snapshot.mapping_mode)
    shown = [name for name in table.schema.names if name not in table.hidden_columns]
    return sorted(repr(row) for batch in batches for row in batch.select(shown).to_pylist())


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("properties", PROPERTIES, ids=lambda each: ",".join(each) or "plain")
def test_rows_stay_as_they_are_under_every_layout(tmp_path: Path, properties: dict[str, str]) -> None:
    chance = random.Random(7)
    table = DeltaTable.create(tmp_path / "t", DDL, properties=properties)
    for step in range(extent(3, 8)):
        table.append(rows(chance, list(range(40 * step, 40 * step + chance.randrange(1, 40)))))
        table.refresh().delete(f"id % 9 = {step}")
        table.refresh()
        before, ids = everything(table), row_ids_of(table) if "delta.enableRowTracking" in properties else None
        layout = LAYOUTS[chance.randrange(len(LAYOUTS))]
        result = table.replace_partitioning(*layout)
        assert everything(table) == before
        assert table.partitioning == tuple(transforms.identity(t) if isinstance(t, str) else t for t in layout)
        assert table.hidden_columns == tuple(c for c in table.partition_columns if c not in DDL)
        assert tuple(name for name in table.schema.names if name not in table.hidden_columns) == tuple(
            part.split()[0] for part in DDL.split(", ")
        )
        assert table.scan().files()["deletion_vector"].null_count == table.scan().files().num_rows or (
            result.version is None
        )
        if ids is not None:
            assert row_ids_of(table) == ids
        if result.version is not None and "delta.enableChangeDataFeed" in properties:
            assert table.changes(result.version, result.version).to_arrow().num_rows == 0
    opened = DeltaTable(tmp_path / "t")
    assert everything(opened) == everything(table)


def test_the_result_says_what_was_done(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL)
    table.append(rows(random.Random(1), list(range(20))))
    done = table.replace_partitioning(transforms.date("ts"), "amount")
    assert (done.version, done.operation, done.kind) == (2, "REPLACE PARTITIONING", "rewritten")
    assert (done.partition_columns, done.hidden_columns) == (("ts_day", "amount"), ("ts_day",))
    assert (done.metrics["numRemovedFiles"], done.metrics["numOutputRows"]) == (1, 20)
    assert done.metrics["numAddedFiles"] == table.partitions().num_rows
    actions = actions_of(table, 2)
    assert {action["dataChange"] for kind in ("add", "remove") for action in actions[kind]} == {False}
    again = table.replace_partitioning(transforms.date("ts"), "amount")
    assert (again.version, again.metrics) == (None, {})
    assert table.version == 2


def test_new_data_only_clusters_the_table(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL)
    table.append(rows(random.Random(1), list(range(20))))
    done = table.replace_partitioning(transforms.date("ts"), transforms.bucket("id", 4), new_data_only=True)
    assert (done.version, done.kind, done.clustering_columns) == (2, "clustering", ("ts", "id"))
    assert table.detail().clustering_columns == ("ts", "id")
    assert table.detail().num_files == 1
    partitioned = table.replace_partitioning("amount")
    assert (partitioned.kind, table.detail().clustering_columns) == ("rewritten", ())
    with pytest.raises(InvalidArgument, match=r"partitioned by amount.* leave out new_data_only"):
        table.replace_partitioning("id", new_data_only=True)
    table.replace_partitioning()
    refuses(InvalidArgument, "at least one column", table.replace_partitioning, new_data_only=True)


def test_a_table_without_rows_gets_other_columns(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, [transforms.date("ts")])
    table.replace_partitioning(transforms.year("ts"))
    assert (table.partition_columns, table.schema.names[-1]) == (("ts_year",), "ts_year")
    table.append(rows(random.Random(1), [1, 2]))
    assert table.refresh().scan("ts_year = 2024").count() == 2


def test_what_cannot_be_partitioned_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, [transforms.date("ts")])
    data = rows(random.Random(1), [1, 2]).set_column(2, "name", pa.array(["", "b"]))
    table.append(data)
    table.alter(AddConstraint("recent", "ts_day > '2000-01-01'"))
    table.refresh()
    files = files_below(tmp_path / "t")
    with pytest.raises(SchemaError, match=r"hidden column ts_day .* cannot be dropped, because .*recent"):
        table.replace_partitioning("amount")
    with pytest.raises(RowViolation, match="empty string is NULL in a partition column"):
        table.replace_partitioning(transforms.date("ts"), "name")
    refuses(SchemaError, "no column nothing", lambda: table.replace_partitioning(transforms.date("ts"), "nothing"))
    with pytest.raises(SchemaError, match="all its columns would be partition columns"):
        table.replace_partitioning("id", "ts", "name", "amount", transforms.date("ts"))
    refuses(InvalidArgumentType, "the name of a column, or a transform", table.replace_partitioning, 5)
    assert files_below(tmp_path / "t") == files
    assert table.refresh().version == 2


def test_rows_of_another_writer_are_written_anew_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL)
    table.append(rows(random.Random(1), list(range(10))))
    other, commit, calls = DeltaTable(tmp_path / "t"), Transaction.commit, []

    def late(transaction: Transaction) -> int:
        calls.append(transaction.operation)
        if calls == ["REPLACE PARTITIONING"]:
            other.append(rows(random.Random(2), list(range(100, 105))))
        return commit(transaction)

    monkeypatch.setattr(Transaction, "commit", late)
    done = table.replace_partitioning(transforms.bucket("id", 2))
    assert calls.count("REPLACE PARTITIONING") == 2
    assert (done.version, done.metrics["numOutputRows"]) == (3, 15)
    assert table.scan().count() == 15
    live = set(table.scan().files()["path"].to_pylist())
    assert {path for path in files_below(tmp_path / "t") if path.startswith("id_bucket")} == live


def test_a_failed_rewrite_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL)
    table.append(rows(random.Random(1), list(range(10))))
    before = files_below(tmp_path / "t")

    monkeypatch.setattr(Transaction, "commit", raising(OSError("no space")))
    refuses(OSError, "no space", table.replace_partitioning, "amount")
    assert files_below(tmp_path / "t") == before
