"""Appending Arrow rows to tables: what is stored, what is refused, conflicts, and what a failure leaves."""

import datetime
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import decode_path
from deltaskip.errors import CommitConflict, InvalidArgumentType, RowViolation, SchemaError, WriteWarning
from tests.dml.tables import info_of
from tests.each import in_threads, refuses
from tests.killed_steps import killed_at_each_step

UTC = datetime.UTC


def _rows(table: DeltaTable) -> list[dict[str, Any]]:
    """The rows of a table without deletion vectors or mapped columns, by pyarrow."""
    found: list[dict[str, Any]] = []
    files = table.snapshot.adds(["path", "partition_values"]).to_pylist()
    for file in files:
        for row in pq.ParquetFile(os.path.join(table.snapshot.root, decode_path(file["path"]))).read().to_pylist():
            found.append({**dict(file["partition_values"]), **row})
    return found


def _files(table: DeltaTable) -> set[str]:
    root = table.snapshot.root
    every = (os.path.join(top, name) for top, _, names in os.walk(root) for name in names)
    return {os.path.relpath(path, root) for path in every if "/_delta_log/" not in path}


def test_rows_are_appended_and_the_table_moves_on(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING")
    result = table.append(pa.table({"NAME": ["a", None], "id": pa.array([1, 2], pa.int32())}))
    assert (result.version, result.operation, table.version) == (1, "WRITE", 1)
    assert result.metrics["numFiles"] == 1
    assert result.metrics["numOutputRows"] == 2
    assert result.metrics["numOutputBytes"] == sum(os.path.getsize(tmp_path / "t" / f) for f in _files(table))
    assert _rows(table) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    deltalake = pytest.importorskip("deltalake")
    assert deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist() == _rows(table)
    info = info_of(table, 1)
    assert info["operation"] == "WRITE"
    assert info["operationParameters"] == {"mode": "Append", "partitionBy": "[]"}
    assert info["isBlindAppend"] is True
    assert info["operationMetrics"] == {name: str(value) for name, value in result.metrics.items()}


def test_arrow_data_of_every_kind_is_accepted(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    batch = pa.record_batch({"id": [1]})
    kinds = [batch, pa.Table.from_batches([batch]), pa.RecordBatchReader.from_batches(batch.schema, [batch])]
    for data in [*kinds, pandas.DataFrame({"id": [1]})]:
        table.append(data)
    assert _rows(table) == [{"id": 1}] * 4


@pytest.mark.parametrize("data", [None, 1, "x", object()])
def test_other_data_is_refused_by_name(tmp_path: Path, data: object) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    refuses(InvalidArgumentType, r"data must be a DataFrame of Spark, .*or Arrow data", table.append, data)


def test_partitions_defaults_generated_and_identity_columns(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        """id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), ts TIMESTAMP NOT NULL,
           day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), kind STRING DEFAULT 'new', p STRING""",
        partition_by=["p", "day"],
    )
    first = datetime.datetime(1969, 12, 31, 23, tzinfo=UTC)
    second = datetime.datetime(2024, 3, 10, 7, tzinfo=UTC)
    times = pa.array([first, second, first], pa.timestamp("us", "UTC"))
    table.append(pa.table({"ts": times, "p": ["a/b", "", None]}))
    table.append(pa.table({"ts": times[:1], "kind": ["given"], "p": ["a/b"]}))
    rows = sorted(_rows(table), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == [10, 15, 20, 25]
    assert [(row["p"], row["day"], row["kind"]) for row in rows] == [
        ("a/b", "1969-12-31", "new"),
        (None, "2024-03-10", "new"),
        (None, "1969-12-31", "new"),
        ("a/b", "1969-12-31", "given"),
    ]
    assert any(file.startswith("p=a%2Fb/day=1969-12-31/part-") for file in _files(table))
    field = next(each for each in table.schema.fields if each.name == "id")
    assert field.metadata["delta.identity.highWaterMark"] == 25


def test_a_violated_rule_names_itself_and_a_row_and_leaves_nothing(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "id BIGINT NOT NULL, p STRING, x VARCHAR(3)",
        ["p"],
        properties={"delta.constraints.positive": "id > 0"},
    )
    good = {"id": [1, 2], "p": ["a", "b"], "x": ["abc", "def"]}
    for broken, message in [
        ({"id": [1, -2]}, r"CHECK constraint positive \(id > 0\).*id=-2, p='b'"),
        ({"id": [1, None]}, r"The column id of .* is NOT NULL.*id=None"),
        ({"x": ["abc", "defg"]}, r"varchar\(3\).*x='defg'"),
    ]:
        refuses(RowViolation, message, table.append, pa.table({**good, **broken}))
    refuses(SchemaError, "no column y", table.append, pa.table({**good, "y": [1, 2]}))
    refuses(SchemaError, "lack the column id", table.append, pa.table({"p": ["a"]}))
    assert _files(table) == set()
    assert table.append(pa.table(good)).version == 1


def test_a_merged_schema_raises_the_protocol_only_as_needed(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    more = {"id": [1], "t": pa.array([1], pa.timestamp("us"))}
    table.append(pa.table(more), schema_mode="merge")
    assert table.schema.names == ("id", "t") or list(table.schema.names) == ["id", "t"]
    assert table.protocol.reader_features == ("timestampNtz",)
    assert table.protocol.writer_features == ("appendOnly", "invariants", "timestampNtz")
    table.append(pa.table({"id": [2]}))
    assert len(_rows(table)) == 2


def test_no_rows_are_no_version_unless_there_is_more_to_commit(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    empty = pa.table({"id": pa.array([], pa.int64())})
    assert table.append(empty).version is None
    assert table.append(empty, txn=("a", 1)).version == 1
    assert table.append(empty.append_column("x", pa.array([], pa.int32())), "merge").version == 2
    assert _files(table) == set()


def test_an_application_commits_each_of_its_versions_once(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    rows = pa.table({"id": [1]})
    assert table.append(rows, txn=("stream", 3)).version == 1
    again = table.append(rows, txn=("stream", 3))
    assert again.version is None
    assert again.nothing_written == "because version 3 of the application 'stream' is committed already"
    for write in (
        lambda: table.append(rows, txn=("stream", 2)),
        lambda: table.overwrite(rows, txn=("stream", 2)),
        lambda: table.delete("true", txn=("stream", 2)),
        lambda: table.optimize(txn=("stream", 2)),
    ):
        with pytest.warns(WriteWarning, match=r"^Nothing was written to .*: pass a higher one in txn"):
            lower = write()
        assert lower.version is None
        assert "nothing written because the version 2 of the application 'stream' is not above 3" in repr(lower)
    assert table.append(rows, txn=("other", 0)).version == 2
    assert table.append(rows, txn=("stream", 4)).version == 3
    assert len(_rows(table)) == 3
    assert len(_files(table)) == 3
    assert table.app_versions == {"stream": 4, "other": 0}


def test_writers_of_one_identity_column_never_give_a_value_twice(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / "t", "id BIGINT GENERATED ALWAYS AS IDENTITY, w INT")
    errors: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            table = DeltaTable(tmp_path / "t")
            for _ in range(5):
                table.append(pa.table({"w": pa.array([writer] * 3, pa.int32())}))
        except BaseException as error:
            errors.append(error)

    in_threads(write, range(4))
    assert errors == []
    table = DeltaTable(tmp_path / "t")
    ids = [row["id"] for row in _rows(table)]
    assert len(ids) == len(set(ids)) == 60
    assert len(_files(table)) == 20, "files of attempts that lost are deleted"


def test_a_stream_cannot_be_written_twice_and_says_so(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT GENERATED ALWAYS AS IDENTITY, w INT")
    other = DeltaTable(tmp_path / "t")
    batch = pa.record_batch({"w": pa.array([1], pa.int32())})

    def batches() -> Any:
        other.append(pa.Table.from_batches([batch]))
        yield batch

    refuses(CommitConflict, None, lambda: table.append(pa.RecordBatchReader.from_batches(batch.schema, batches())))
    assert len(_files(table)) == 1


def test_a_crash_at_any_step_leaves_the_old_version_or_the_new_one(tmp_path: Path) -> None:
    def begin(at: int) -> Callable[[], object]:
        table = DeltaTable.create(tmp_path / str(at), "id BIGINT, p STRING", ["p"])
        return lambda: table.append(pa.table({"id": [1, 2], "p": ["a", "b"]}))

    for at, steps in killed_at_each_step(begin):
        again = DeltaTable(tmp_path / str(at))
        assert again.version in ((0, 1) if len(steps) > at else (1,))
        assert len(_rows(again)) == 2 * again.version
        again.append(pa.table({"id": [3], "p": ["a"]}))
        assert {"id": 3, "p": "a"} in _rows(again)
    assert at > 5


def test_a_module_that_another_thread_imports_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", types.ModuleType("pyarrow.dataset"))
    table.append(pa.table({"id": [1]}))
    table.merge(pa.table({"id": [2]}), "id").when_not_matched_insert_all().execute()
    assert sorted(row["id"] for row in _rows(table)) == [1, 2]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.large_binary()])
def test_rows_of_more_text_than_a_column_of_arrow_can_have_are_written_in_parts(
    tmp_path: Path, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is 2 GiB in one batch, which also a slice of longer texts counts from their beginning."""
    monkeypatch.setattr("deltaskip.data_files.data._MOST_BYTES", 100)
    texts = pa.array([f"{number:030}".encode() for number in range(50)], pa.binary()).cast(kind)
    rows = pa.table({"id": range(50), "s": texts}).slice(3)
    table = DeltaTable.create(tmp_path / "t", f"id BIGINT, s {'BINARY' if kind == pa.large_binary() else 'STRING'}")
    table.append(rows)
    assert table.scan().to_arrow().sort_by("id").cast(rows.schema) == rows
