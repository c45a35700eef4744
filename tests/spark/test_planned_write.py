"""Writes of the data source as Spark calls them: planned, pickled for each task, committed or given up. No session."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import deltaskip as ds
from tests.each import refuses

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3.5 has no Python data sources"),
]

ID, ID_P = "id BIGINT", "id BIGINT, p STRING"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


class Job:
    """A write of a DataFrame: the writer as Spark pickles it, and the messages of its tasks."""

    def __init__(self, path: str, columns: str, overwrite: bool = False, **options: str) -> None:
        from pyspark import cloudpickle
        from pyspark.sql import types
        from pyspark.sql.datasource import CaseInsensitiveDict

        from deltaskip.spark.source.data_source import DeltaSkipDataSource
        from deltaskip.sparkexpr.types import schema_to_json
        from deltaskip.sparkexpr.types.ddl import parse_columns

        source = DeltaSkipDataSource(CaseInsensitiveDict({"path": path, **options}))
        schema = types.StructType.fromJson(json.loads(schema_to_json(parse_columns(columns))))
        self._writer = cloudpickle.dumps(source.writer(schema, overwrite))
        self.messages: list[Any] = []
        # Settings of the session.
        self.settings: dict[str, str] = {}

    def task(self, *batches: pa.RecordBatch) -> None:
        from pyspark import TaskContext

        context = TaskContext()
        context._partitionId = len(self.messages)
        context._localProperties = self.settings
        TaskContext._setTaskContext(context)
        self.messages.append(pickle.loads(pickle.dumps(pickle.loads(self._writer).write(iter(batches)))))

    def commit(self) -> None:
        """As Spark does: what cannot be committed is given up."""
        try:
            pickle.loads(self._writer).commit(self.messages)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        pickle.loads(self._writer).abort(self.messages)


def written(path: str, columns: str, tasks: Sequence[dict[str, Any]], overwrite: bool = False, **options: str) -> Any:
    """The table after a write."""
    job = Job(path, columns, overwrite, **options)
    for task in tasks:
        job.task(pa.RecordBatch.from_pydict(task))
    job.commit()
    return ds.DeltaTable(path)


def ids(table: ds.DeltaTable) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def data_files(path: str) -> list[str]:
    return [each.name for each in Path(path).rglob("*.parquet") if "_delta_log" not in each.parts]


def test_overwrites_replace_all_rows_partitions_or_what_a_predicate_says(path: str) -> None:
    every = {"id": [0, 1, 2, 3, 4, 5], "p": ["0", "1"] * 3}
    table = written(path, ID_P, [every], True, partitionBy="p")
    assert (table.version, table.partition_columns, ids(table)) == (0, ("p",), [0, 1, 2, 3, 4, 5])
    assert ids(written(path, ID_P, [{"id": [7], "p": ["1"]}], True, partitionOverwriteMode="DYNAMIC")) == [0, 2, 4, 7]
    assert ids(written(path, ID_P, [{"id": [2], "p": ["0"]}], True, replaceWhere="id >= 2")) == [0, 2]
    refuses(ds.RowViolation, "id >= 5", written, path, ID_P, [{"id": [2], "p": ["0"]}], True, replaceWhere="id >= 5")
    merged = written(path, f"{ID_P}, x DOUBLE", [{"id": [8], "p": ["0"], "x": [1.5]}], mergeSchema="true")
    assert sorted(merged.scan().to_arrow().to_pylist(), key=str)[-1] == {"id": 8, "p": "0", "x": 1.5}
    assert ids(written(path, ID_P, [every, every], True)) == sorted(every["id"] * 2)
    replaced = written(path, "id BIGINT, q STRING", [{"id": [1], "q": ["q"]}], True, overwriteSchema="true",
                       partitionBy="q", userMetadata="new")  # fmt: skip
    assert (replaced.schema.names, replaced.partition_columns, ids(replaced)) == (("id", "q"), ("q",), [1])
    assert replaced.history(1)[0].info.members["userMetadata"] == "new"
    assert ids(written(path, "id BIGINT, q STRING", [], True)) == []


NEW = {"id": [1, None, 9], "p": ["n", "n", "n"]}


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"replaceUsing": "ID"}, [(1, "n"), (2, "b"), (9, "n"), (None, "c"), (None, "n")]),
        ({"replaceUsing": "id, p"}, [(1, "a"), (1, "n"), (2, "b"), (9, "n"), (None, "c"), (None, "n")]),
        ({"replaceOn": "t.id <=> s.id", "targetAlias": "t"}, [(1, "n"), (2, "b"), (9, "n"), (None, "n")]),
        ({"replaceOn": "target.id = new.id + 1 AND new.p = 'n'"},
         [(1, "a"), (1, "n"), (9, "n"), (None, "c"), (None, "n")]),
        ({"replaceWhere": "t.p > 'a'", "targetAlias": "t"}, [(1, "a"), (1, "n"), (9, "n"), (None, "n")]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("properties", [{}, {"delta.enableDeletionVectors": "true"}])
def test_new_rows_replace_those_that_match_them(
    path: str, options: dict[str, str], left: list[Any], properties: dict[str, str]
) -> None:
    table = ds.DeltaTable.create(path, ID_P, properties=properties)
    table.append({"id": [1, 2, None], "p": ["a", "b", "c"]})
    nothing = written(path, ID_P, [], True, **options)
    assert nothing.version == 1 + ("replaceWhere" in options)
    table.restore(version=1)
    parts = [{name: values[:2] for name, values in NEW.items()}, {name: values[2:] for name, values in NEW.items()}]
    typed = [{"id": pa.array(each["id"], pa.int64()), "p": each["p"]} for each in parts]
    found = [tuple(row.values()) for row in written(path, ID_P, typed, True, **options).scan().to_arrow().to_pylist()]
    assert sorted(found, key=repr) == sorted(left, key=repr)


def test_values_of_tasks_match_as_they_were_given(path: str) -> None:
    ds.DeltaTable.create(path, ID).append({"id": [1, 2]})
    table = written(path, "id DOUBLE", [{"id": [1.5, 2.0]}], True, replaceUsing="id")
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 1, 2]


def test_files_have_the_codec_and_the_rows_of_options_properties_and_settings(path: str) -> None:
    ds.DeltaTable.create(path, ID)
    asked = [({"compression": "gzip", "maxRecordsPerFile": "2"}, {}, ("GZIP", [1, 2, 2]))]
    asked += [({}, {"spark.sql.parquet.compression.codec": "lz4", "spark.sql.files.maxRecordsPerFile": "3"},
               ("LZ4", [2, 3]))]  # fmt: skip
    asked += [({"maxRecordsPerFile": "0"}, {"spark.sql.files.maxRecordsPerFile": "3"}, ("ZSTD", [5]))]
    for options, settings, expected in asked:
        job = Job(path, ID, True, **options)
        job.settings = settings
        job.task(pa.record_batch({"id": [1, 2, 3, 4, 5]}))
        job.commit()
        files = [pq.ParquetFile(file).metadata for file in ds.DeltaTable(path).scan().paths()]
        assert {file.row_group(0).column(0).compression for file in files} == {expected[0]}
        assert sorted(file.num_rows for file in files) == expected[1]


def test_rows_that_are_only_written_again_are_no_change(path: str) -> None:
    table = ds.DeltaTable.create(path, ID_P, ["p"])
    for p in ("a", "a", "b"):
        table.append({"id": [1, 2], "p": [p, p]})
    again = {"replaceWhere": "p = 'a'", "dataChange": "false"}
    table = written(path, ID_P, [{"id": [2, 1, 2, 1], "p": ["a"] * 4}], True, **again)
    assert (table.snapshot.num_files, table.scan().count()) == (2, 6)
    actions = [json.loads(line) for line in (Path(path) / "_delta_log" / f"{table.version:020}.json").open()]
    changes = [body["dataChange"] for action in actions for name, body in action.items() if name in ("add", "remove")]
    assert changes == [False] * 3
    with pytest.raises(ds.InvalidCommit, match="remove 4 rows and add 1 rows"):
        written(path, ID_P, [{"id": [2], "p": ["a"]}], True, **again)


def test_tasks_number_rows_apart_and_the_table_continues_after_them(path: str) -> None:
    schema = "k BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY -5), id BIGINT"
    ds.DeltaTable.create(path, schema, properties={"delta.columnMapping.mode": "name"})
    table = written(path, ID, [{"id": [1, 2]}, {"id": [3]}])
    table = written(path, ID, [{"id": [4]}])
    table.append(pa.table({"id": pa.array([5], pa.int64())}))
    found = table.scan().to_arrow().sort_by("id")["k"].to_pylist()
    assert found[0] == 10 and len(set(found)) == 5
    assert all((value - 10) % 5 == 0 and value <= 10 for value in found)
    assert found[3] < min(found[:3]) and found[4] < found[3]


def test_a_version_of_an_application_is_written_once(path: str) -> None:
    for _ in range(2):
        table = written(path, ID, [{"id": [1]}], txnAppId="job", txnVersion="4")
    with pytest.warns(ds.WriteWarning, match="version 3 of the application 'job' is not above 4"):
        table = written(path, ID, [{"id": [1]}], txnAppId="job", txnVersion="3")
    assert (table.version, table.app_versions, ids(table), len(data_files(path))) == (0, {"job": 4}, [1], 1)
    assert written(path, ID, [{"id": [1]}], txnAppId="job", txnVersion="5").version == 1


@pytest.mark.parametrize(
    ("overwrite", "options", "message"),
    [
        (False, {"replaceWhere": "id = 1"}, "goes with mode"),
        (False, {"where": "id = 1"}, "where is an option of reads"),
        (False, {"partitionBy": "id"}, "exists, and partitionBy"),
        (False, {"txnAppId": "a"}, "txnVersion"),
        (False, {"optimizeWrite": "true"}, "no option optimize"),
        (True, {"partitionOverwriteMode": "some"}, "static or dynamic"),
        (True, {"overwriteSchema": "true", "replaceWhere": "id = 1"}, "replaceWhere cannot be given"),
        (True, {"overwriteSchema": "true", "mergeSchema": "true"}, "either mergeSchema or overwriteSchema"),
        (True, {"replaceWhere": "ix = 1"}, "There is no column ix"),
        (True, {"timeZone": "Mars/Olympus"}, "time zone"),
        (False, {"replaceUsing": "id"}, "goes with mode"),
        (False, {"dataChange": "false"}, "An append adds rows"),
        (True, {"replaceUsing": "id", "replaceOn": "t.id = s.id"}, "replaceUsing and replaceOn exclude"),
        (True, {"replaceUsing": "id", "replaceWhere": "id = 1"}, "replaceUsing and replaceWhere exclude"),
        (True, {"replaceOn": "t.id = s.id", "partitionOverwriteMode": "static"}, "partitionOverwriteMode exclude"),
        (True, {"replaceUsing": "id", "overwriteSchema": "true"}, "overwriteSchema exclude"),
        (True, {"replaceUsing": "id", "dataChange": "false"}, "dataChange exclude"),
        (True, {"replaceUsing": "id,,"}, "empty column names"),
        (True, {"replaceUsing": "ix"}, "names the column ix, which the table lacks"),
        (True, {"replaceOn": "id = id"}, "ambiguous"),
        (True, {"replaceOn": "target.ix = source.id"}, "no column target.ix"),
        (True, {"compression": "lzo"}, "compression must be"),
        (True, {"maxRecordsPerFile": "-1"}, "maxRecordsPerFile"),
    ],
)
def test_options_not_followed_are_refused(path: str, overwrite: bool, options: dict[str, str], message: str) -> None:
    ds.DeltaTable.create(path, ID)
    refuses(ds.DeltaSkipError, message, Job, path, ID, overwrite, **options)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_time_zone_is_an_option_or_that_of_the_rows(path: str, zone: str | None) -> None:
    schema = "id BIGINT, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), ts TIMESTAMP"
    ds.DeltaTable.create(path, schema)
    columns = f"{ID}, ts {'TIMESTAMP' if zone is None else 'DATE'}"
    instants = pa.array([datetime(2026, 1, 3, 23, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin"))
    times = instants if zone is None else pa.array([date(2026, 1, 4)])
    options = {} if zone is None else {"timeZone": zone}
    [row] = written(path, columns, [{"id": [1], "ts": times}], **options).scan().to_arrow().to_pylist()
    assert row["day"] == date(2026, 1, 4)
    assert row["ts"] == datetime(2026, 1, 3, 23, 30 if zone is None else 0, tzinfo=UTC)
    refuses(ds.InvalidArgument, r'option\("timeZone"', Job, path, f"{ID}, ts DATE")
    assert ds.DeltaTable(path).version == 1
    assert written(path, ID, [{"id": [2]}]).version == 2


def test_a_job_of_which_a_task_fails_deletes_its_files(path: str) -> None:
    ds.DeltaTable.create(path, ID_P, ["p"], properties={"delta.constraints.positive": "id > 0"})
    job = Job(path, ID_P)
    job.task(pa.record_batch({"id": [1, 2], "p": ["a", "b"]}))
    assert len(data_files(path)) == 2
    refuses(ds.RowViolation, "positive", lambda: job.task(pa.record_batch({"id": [3, -1], "p": ["a", "b"]})))
    job.messages.append(None)
    job.abort()
    assert (data_files(path), ds.DeltaTable(path).version) == ([], 0)


def test_a_commit_that_conflicts_deletes_its_files(path: str) -> None:
    table = ds.DeltaTable.create(path, ID)
    jobs = Job(path, ID, True), Job(path, ID), Job(path, ID, mergeSchema="true")
    for job in jobs:
        job.task(pa.record_batch({"id": [1]}))
    table.append(pa.table({"id": [1]}))
    refuses(ds.CommitConflict, None, lambda: jobs[0].commit())
    jobs[1].commit()
    table.alter_sql("ADD COLUMN x INT")
    refuses(ds.CommitConflict, None, lambda: jobs[2].commit())
    assert len(data_files(path)) == ds.DeltaTable(path).scan().count() == 2


def test_two_jobs_do_not_create_one_table(path: str) -> None:
    jobs = Job(path, ID), Job(path, ID)
    for job in jobs:
        job.task(pa.record_batch({"id": [1]}))
    jobs[0].commit()
    refuses(ds.TableAlreadyExists, None, lambda: jobs[1].commit())
    assert len(data_files(path)) == 1
