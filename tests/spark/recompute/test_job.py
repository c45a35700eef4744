"""Statistics computed by Spark jobs: the same as without Spark, on classic sessions and Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import DataFileMissing, PredicateError, SparkUnavailable
from deltaskip.log.deletion_vectors import read_deletion_vectors
from deltaskip.maintenance.recompute.computed_files import RESULT_SCHEMA, computed_here
from deltaskip.maintenance.recompute.request import files_to_read, recompute_request
from deltaskip.sparkexpr.types import from_arrow, schema_to_json
from deltaskip.stats import compute
from tests import corpus
from tests.each import refuses
from tests.extent import TIME_LIMIT_SECONDS
from tests.stats.rowwise import parsed

pytestmark = pytest.mark.spark

TABLES = ["gen__types", "gen__types_dv", "gen__types_cm_id_part", "gen__nested", "golden__dv-with-columnmapping"]
ROOT = Path(__file__).resolve().parents[2]


def recomputed(spark: Any, table: ds.DeltaTable, *args: Any, **options: Any) -> pa.Table:
    from deltaskip.spark.recompute.job import recompute_statistics

    sizes = {name: options.pop(name) for name in ("task_bytes", "job_files") if name in options}
    request = recompute_request(table.snapshot, *args, **options)
    files, merge = files_to_read(table.snapshot, request), not request.complete
    results = recompute_statistics(spark, table.snapshot, files, request.statistics, merge=merge, **sizes)
    return pa.concat_tables([RESULT_SCHEMA.empty_table(), *results])


def without_spark(table: ds.DeltaTable, **options: Any) -> dict[tuple[str, str | None], str]:
    """The same by stats.compute."""
    snapshot = table.snapshot
    adds = snapshot.adds(["path", "deletion_vector"])
    vectors = read_deletion_vectors(snapshot.storage, snapshot.table_root, adds["deletion_vector"].combine_chunks())
    uris = {row["path"]: row["uri"] for row in table.scan().files().select(["path", "uri"]).to_pylist()}
    from deltaskip.actions import decode_paths

    decoded = decode_paths(adds["path"].combine_chunks()).to_pylist()
    found = compute(
        [uris[path] for path in decoded],
        snapshot.schema,
        deletion_vectors=vectors,
        partition_columns=snapshot.partition_columns,
        mapping_mode=snapshot.mapping_mode,
        properties=snapshot.properties,
        tight_bounds="deletionVectors" in (snapshot.protocol.reader_features or ()),
        **options,
    )
    return dict(zip(adds["path"].to_pylist(), found["stats"].to_pylist(), strict=True))


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Twelve files, a third of them without statistics, one a hundred times as large as the others."""
    return make_table(tmp_path / "made table é")


def make_table(root: Path) -> ds.DeltaTable:
    (root / "_delta_log").mkdir(parents=True)
    adds = []
    for i in range(12):
        rows = 5000 if i == 7 else 50
        data = pa.table(
            {
                "id": pa.array(range(i * 100, i * 100 + rows), pa.int64()),
                "x": pa.array([float("nan") if k == i else k / 2 for k in range(rows)]),
                "name": [f"{'aAbB'[k % 4]}{k}" if k % 5 else None for k in range(rows)],
            }
        )
        pq.write_table(data, root / f"part {i}.parquet", row_group_size=max(1, rows // 10))
        size = (root / f"part {i}.parquet").stat().st_size
        stats = None if i % 3 == 0 else compute([root / f"part {i}.parquet"], data.schema)["stats"][0].as_py()
        add = {"path": f"part%20{i}.parquet", "partitionValues": {}, "size": size, "modificationTime": 0}
        adds.append({"add": {**add, "dataChange": True, **({} if stats is None else {"stats": stats})}})
    layout = {"provider": "parquet", "options": {}}
    metadata = {"id": "t", "format": layout, "partitionColumns": [], "configuration": {}}
    schema = schema_to_json(from_arrow(data.schema))
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {**metadata, "schemaString": schema}},
        *adds,
    ]
    log = root / "_delta_log" / f"{0:020}.json"
    log.write_text("\n".join(json.dumps(action) for action in actions), encoding="utf-8")
    return ds.DeltaTable(root)


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("name", TABLES)
def test_a_job_gives_what_compute_gives(spark: Any, name: str) -> None:
    table = ds.DeltaTable(corpus.table(name).path)
    result = recomputed(spark, table)
    expected = without_spark(table)
    assert dict(zip(result["path"].to_pylist(), result["stats"].to_pylist(), strict=True)) == expected
    request = recompute_request(table.snapshot)
    files = files_to_read(table.snapshot, request)
    here = pa.concat_tables(computed_here(table.snapshot, files, request.statistics, merge=False, job_files=2))
    assert here.sort_by("path").equals(result.sort_by("path"))
    vectors = table.snapshot.adds(["deletion_vector"])["deletion_vector"].to_pylist()
    assert [dv is None for dv in vectors] == [dv_id is None for dv_id in result["dv_id"].to_pylist()]


@pytest.mark.long
@pytest.mark.parametrize("mode", ["auto", "scan", "footer"])
def test_pieces_of_a_file_give_the_statistics_of_the_whole(spark: Any, table: ds.DeltaTable, mode: Any) -> None:
    collations = {"name": ["icu.UNICODE_CI.77.1"]}
    result = recomputed(spark, table, mode=mode, collations=collations, task_bytes=5000, job_files=5)
    expected = without_spark(table, mode=mode, collations=collations)
    assert dict(zip(result["path"].to_pylist(), result["stats"].to_pylist(), strict=True)) == expected
    assert result["num_records"].to_pylist() == [5000 if i == 7 else 50 for i in range(12)]


@pytest.mark.long
def test_deleted_rows_are_left_out_of_every_piece(spark: Any) -> None:
    table = ds.DeltaTable(corpus.table("gen__types_dv").path)
    result = recomputed(spark, table, task_bytes=1000)
    assert dict(zip(result["path"].to_pylist(), result["stats"].to_pylist(), strict=True)) == without_spark(table)


def test_only_files_that_lack_something_are_read(spark: Any, table: ds.DeltaTable) -> None:
    result = recomputed(spark, table, only_missing=True)
    assert result["path"].to_pylist() == [f"part%20{i}.parquet" for i in (0, 3, 6, 9)]
    assert len(recomputed(spark, table, only_missing=True, collations={"name": ["spark.UTF8_LCASE.77.1"]})) == 12


@pytest.mark.parametrize("cores", [1, 8, 1000])
def test_tasks_hold_every_byte_once_and_are_alike(spark: Any, cores: int) -> None:
    from deltaskip.maintenance.recompute.computed_files import DataFile
    from deltaskip.spark.recompute.job import balanced_tasks

    sizes = [1 << 10] * 5000 + [100 << 20, 10 << 20, 0] * 20 + [1 << 30]
    files = [DataFile(i, f"f{i}", size) for i, size in enumerate(sizes)]
    tasks = balanced_tasks(files, 64 << 20, cores)
    parts: dict[int, list[tuple[int, int]]] = {}
    for task in tasks:
        assert 0 < len(task) <= 4096
        assert sum(file.size / file.piece[1] for file in task) <= 128 << 20
        for file in task:
            parts.setdefault(file.number, []).append(file.piece)
    assert set(parts) == set(range(len(files)))
    assert all(sorted(pieces) == [(i, len(pieces)) for i in range(len(pieces))] for pieces in parts.values())
    # Of 64 MiB, a task's; where there are more cores than such tasks, of no less than 32 MiB.
    assert len(parts[len(files) - 1]) == (32 if cores == 1000 else 16) and len(parts[0]) == 1
    assert len(tasks) % min(cores, len(tasks)) == 0


def test_where_chooses_files(spark: Any, table: ds.DeltaTable) -> None:
    kept = recomputed(spark, table, "id < 150")["path"].to_pylist()
    assert kept == [f"part%20{i}.parquet" for i in (0, 1, 3, 6, 9)]


def test_some_columns_are_put_into_the_other_statistics(spark: Any, table: ds.DeltaTable) -> None:
    result = recomputed(spark, table, columns=["name"])
    texts = dict(zip(result["path"].to_pylist(), result["stats"].to_pylist(), strict=True))
    whole = without_spark(table)
    assert parsed(texts["part%201.parquet"]) == parsed(whole["part%201.parquet"])
    assert set(parsed(texts["part%200.parquet"])["nullCount"]) == {"name"}
    refuses(PredicateError, "no data column nope", recomputed, spark, table, columns=["nope"])


def test_a_missing_file_is_named(spark: Any, table: ds.DeltaTable) -> None:
    os.remove(Path(table.snapshot.root) / "part 4.parquet")
    refuses(DataFileMissing, r"part 4\.parquet does not exist", recomputed, spark, table)


def run_alone(code: str, *arguments: str, **environment: str) -> str:
    """What a Python process of its own prints; a session of another kind needs one."""
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


SESSION = """
import sys
from pyspark.sql import SparkSession
import deltaskip as ds
from deltaskip.spark.recompute.job import recompute_statistics
from deltaskip.maintenance.recompute.computed_files import computed_here
from deltaskip.maintenance.recompute.request import files_to_read, recompute_request
builder = SparkSession.builder.{kind}
builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
try:
    snapshot = ds.DeltaTable(sys.argv[1]).snapshot
    request = recompute_request(snapshot)
    files = files_to_read(snapshot, request)
    for part in recompute_statistics(spark, snapshot, files, request.statistics, task_bytes=5000):
        for path, stats in zip(part["path"].to_pylist(), part["stats"].to_pylist()):
            print(path, stats, sep="\\t")
except ds.DeltaSkipError as error:
    print(type(error).__name__, error)
spark.stop()
"""


@pytest.mark.long
def test_spark_connect_gives_the_same(spark: Any, table: ds.DeltaTable) -> None:
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio and grpcio-status, which are not installed")
    code = SESSION.replace("{kind}", 'remote("local[2]")')
    lines = [line.split("\t") for line in run_alone(code, str(table.snapshot.root)).splitlines()]
    assert {line[0]: line[1] for line in lines if len(line) == 2} == without_spark(table)


@pytest.mark.long
def test_workers_run_this_interpreter_without_activation(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    wrong = tmp_path / "bin" / "python3"
    wrong.parent.mkdir()
    wrong.write_text("#!/bin/sh\necho 'the python3 of PATH' >&2\nexit 1\n", encoding="utf-8")
    wrong.chmod(0o755)
    code = SESSION.replace("{kind}", 'master("local[*]")')
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    printed = subprocess.run(
        [sys.executable, "-c", code, str(table.snapshot.root)],
        capture_output=True,
        text=True,
        env={**environment, "PATH": f"{wrong.parent}:{environment['PATH']}"},
        check=True,
    ).stdout
    lines = [line.split("\t") for line in printed.splitlines()]
    assert {line[0]: line[1] for line in lines if len(line) == 2} == without_spark(table)


@pytest.mark.long
def test_executors_without_the_package_are_told_so(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'deltaskip':\n"
        "            raise ModuleNotFoundError(\"No module named 'deltaskip'\", name=name)\n"
        "sys.meta_path.insert(0, Blocked())\n",
        encoding="utf-8",
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{blocked}:$PYTHONPATH" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    code = SESSION.replace("{kind}", 'master("local[1]")')
    pythons = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    printed = run_alone(code, str(table.snapshot.root), **pythons)
    assert SparkUnavailable.__name__ in printed and "deltaskip is not installed" in printed
