"""Planning by executors: the files and rows of scans of this process, and newest wins against a plain replay.

Spark takes 0.1 s to start a task, so that most tables run the tasks here: the functions that Spark gets, over the bytes
that it gets, with a join of plain Python in place of Spark's.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.skipping import file_batches
from deltaskip.skipping.file_list import FILE_COLUMNS
from deltaskip.spark.planning import planned_files as planning
from deltaskip.spark.planning import planned_rows as rows
from deltaskip.spark.planning import read_task, tasks
from deltaskip.spark.planning.planned_files import FilesPlan
from deltaskip.sparkexpr.types.data_types import LONG, STRING
from tests import corpus
from tests.builder import TableBuilder, add, bounds, remove
from tests.corpus_digests import expected_rows
from tests.each import refuses
from tests.log.checkpoint.test_tree import entries as tree_entries
from tests.log.checkpoint.tree_builder import Entry, log_add, write_commit, write_tree
from tests.skipping.test_file_batches import random_log
from tests.spark.test_corpus_rows import rows_and_digest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning", "ignore::deltaskip.PredicateWarning"),
]

ALL = (*FILE_COLUMNS, "stats")


@pytest.fixture
def many_small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row group and each commit is a task, and adds are decoded two at a time."""
    monkeypatch.setattr(planning, "COMMIT_BYTES", 0)
    monkeypatch.setattr(planning, "_TASK_FILES", 0)
    monkeypatch.setattr(tasks, "_DECODED_ROWS", 2)
    monkeypatch.setattr(tasks, "_COMMIT_ROWS", 2)
    monkeypatch.setattr(file_batches, "_ROWS", 2)


def planned_here(scan: ds.Scan, names: Sequence[str] = ALL) -> pa.Table:
    """The rows of planned_files, by the tasks' functions and a join of plain Python."""
    plan = FilesPlan.of(scan, names, 1)
    found = _run(tasks.files_runner(plan.tasks, plan.request), len(plan.tasks))
    ended = _run(tasks.ended_runner(plan.newer, plan.request), len(plan.newer))
    if not found:
        return pa.Table.from_batches([], plan.schema)
    table = pa.Table.from_batches(found)
    if not plan.newer:
        return table.cast(plan.schema)
    ends = [tuple(row.values()) for batch in ended for row in batch.to_pylist()]
    keys = table.select([field.name for field in tasks.KEY_FIELDS]).to_pylist()
    live = [
        not any(p == path and o > order and (by_add or d == dv) for p, d, o, by_add in ends)
        for path, dv, order in (tuple(key.values()) for key in keys)
    ]
    return table.filter(pa.array(live, pa.bool_())).select(list(names)).cast(plan.schema)


def _run(runner: Any, count: int) -> list[pa.RecordBatch]:
    batch = pa.record_batch({"id": pa.array(range(count), pa.int64())})
    return list(runner(iter([batch])))


def as_text(table: pa.Table) -> list[str]:
    """The rows as sorted text, since NaN is not equal to itself."""
    at = table.schema.get_field_index("modification_time")
    if at >= 0:
        table = table.set_column(at, "modification_time", table["modification_time"].cast(pa.timestamp("us", "UTC")))
    return sorted(map(str, table.to_pylist()))


def assert_same(scan: ds.Scan) -> int:
    """The plan has the rows of the list; return their number."""
    try:
        expected = scan.files(stats=True)
    except ds.CorruptLog as error:
        with pytest.raises(ds.CorruptLog) as caught:
            planned_here(scan)
        assert str(caught.value) == str(error)
        return 0
    assert as_text(planned_here(scan)) == as_text(expected)
    return len(expected)


@pytest.mark.usefixtures("many_small_tasks")
def test_manifests_of_a_metadata_tree_are_read_by_tasks(tmp_path: Path) -> None:
    table, every = tmp_path / "t", tree_entries(20)
    write_tree(table, [every[:8], every[8:16]], every[16:], dead=[2, 5])
    removes = [{"remove": {"path": f"f{number}.parquet", "dataChange": True}} for number in (0, 9, 17)]
    write_commit(table, 2, *removes, log_add(Entry("new.parquet", stats={"id": (3, 30, 0, True)})))
    write_commit(table, 3, {"remove": {"path": "f1.parquet", "dataChange": True}}, log_add(every[9]))
    for where in (None, "id < 40", "p = 'a'", "day IS NULL", "s > 's0012'"):
        assert assert_same(ds.DeltaTable(str(table)).scan(where))


@pytest.mark.usefixtures("many_small_tasks")
@corpus.each_table("read", gate=2)
def test_a_table_of_the_corpus_has_the_files_of_its_list(table: corpus.CorpusTable) -> None:
    for version in table.versions[:1]:
        assert_same(ds.DeltaTable(table.path, version=version["version"]).scan())


@cache
def _opened(name: str, version: int) -> ds.DeltaTable:
    return ds.DeltaTable(corpus.table(name).path, version=version)


@pytest.mark.long
@pytest.mark.usefixtures("many_small_tasks")
def test_skipping_cases_of_the_corpus_keep_the_same_files() -> None:
    cases = corpus.skipping_cases()
    if not cases:
        pytest.skip(corpus.ABSENT)
    kept = 0
    for case in random.Random(1).sample(cases, min(150, len(cases))):
        kept += assert_same(_opened(case["table"], case["version"]).scan(case["sql"]))
    assert kept > 50


@pytest.mark.long
@pytest.mark.usefixtures("many_small_tasks")
def test_newest_wins_in_random_logs(tmp_path: Path) -> None:
    """Against a slow replay: adds, removes and files that come again, with and without deletion vectors."""
    checkpoints = 0
    for seed in range(25):
        path = tmp_path / str(seed)
        active = random_log(random.Random(seed), path)
        opened = ds.DeltaTable(path)
        checkpoints += bool(opened.snapshot.checkpoint_parts)
        found = planned_here(opened.scan(), ("path", "deletion_vector")).to_pylist()
        dvs = {row["path"].replace(" ", "%20"): row["deletion_vector"] for row in found}
        assert len(dvs) == len(found)
        assert {name: None if dv is None else int(dv["path_or_inline_dv"][3:]) for name, dv in dvs.items()} == active
        for where in ("p = '1'", f"id > {ord('5')}", f"id < {ord('4')} AND p < '2'"):
            assert_same(opened.scan(where))
    assert checkpoints > 8


@pytest.mark.usefixtures("many_small_tasks")
def test_a_file_whose_newer_add_is_skipped_does_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / "t"
    builder = TableBuilder(path, {"id": LONG})
    builder.commit(add("a", bounds(1, id=(1, 1))), add("b", bounds(1, id=(1, 1))))
    ds.DeltaTable(path).checkpoint()
    builder.commit(add("a", bounds(1, id=(9, 9))))
    builder.commit(remove("b"))
    scan = ds.DeltaTable(path).scan("id = 1")
    assert len(scan.files()) == 0
    assert len(planned_here(scan)) == 0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data files in two partitions, two of which a commit after the checkpoint removes and adds again."""
    path = tmp_path_factory.mktemp("planning") / "t"
    table = ds.DeltaTable.create(path, "id BIGINT, s STRING, day DATE", partition_by=["day"])
    for k in range(4):
        ids = list(range(10 * k, 10 * k + 10))
        days = pa.array([18000 + k % 2] * 10, pa.int32()).cast(pa.date32())
        table.append(pa.table({"id": ids, "s": [f"s{i}" for i in ids], "day": days}))
    ds.DeltaTable(path).checkpoint()
    ds.DeltaTable(path).delete("id IN (3, 14)")
    return path


def listed(frame: Any, names: Sequence[str]) -> list[str]:
    """Rows of a DataFrame of files, as sorted text."""
    return sorted(str([row[name] for name in names]) for row in frame.collect())


def test_spark_joins_as_the_tasks_here(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random logs in one job, with a broadcast of the newer actions and with a join that is partitioned by hash."""
    monkeypatch.setattr(planning, "COMMIT_BYTES", 2_000)
    frames, expected = [], []
    for seed, broadcast_bytes in ((4, planning.BROADCAST_BYTES), (7, -1)):
        monkeypatch.setattr(planning, "BROADCAST_BYTES", broadcast_bytes)
        active = random_log(random.Random(seed), tmp_path / str(seed))
        scan = ds.DeltaTable(tmp_path / str(seed)).scan(engine="spark")
        frame = scan.files_to_spark(spark, columns=["path", "deletion_vector"])
        frames.append(frame.selectExpr(f"{seed} AS seed", "path", "deletion_vector.path_or_inline_dv AS dv"))
        dvs = {name.replace("%20", " "): None if dv is None else f"/dv{dv}" for name, dv in active.items()}
        expected += [(seed, name, dv) for name, dv in dvs.items()]
    found = [tuple(row) for row in reduce(lambda one, other: one.union(other), frames).collect()]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_files_as_a_dataframe_have_the_columns_and_rows_of_the_list(spark: Any, large: Path) -> None:
    scan = ds.DeltaTable(large).scan("day = '2019-04-14' AND id < 25", engine="spark")
    frame = scan.files_to_spark(spark, stats=True)
    assert frame.columns == list(ALL)
    expected = ds.DeltaTable(large).scan("day = '2019-04-14' AND id < 25").files(stats=True)
    found = [row.asDict(recursive=True) for row in frame.collect()]
    assert len(found) == 2
    wanted = expected.drop_columns("modification_time").to_pylist()
    for row in found:
        assert row.pop("modification_time") is not None
        assert row in wanted


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(("where", "columns"), [(None, None), ("id % 7 = 3 AND day = '2019-04-14'", ["s"])])
def test_rows_are_those_that_other_scans_read(
    spark: Any, large: Path, monkeypatch: pytest.MonkeyPatch, where: str | None, columns: list[str] | None
) -> None:
    monkeypatch.setattr(rows, "PIECE_BYTES", 1_000)
    frame = ds.DeltaTable(large).scan(where, columns, engine="spark").to_spark(spark)
    expected = ds.DeltaTable(large).scan(where, columns).to_arrow()
    assert frame.columns == expected.column_names
    found = sorted(map(str, map(tuple, frame.collect())))
    assert found == sorted(str(tuple(row.values())) for row in expected.to_pylist())
    assert found


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("name", ["golden__dv-with-columnmapping", "golden__collations-table"])
def test_rows_of_a_table_of_the_corpus_are_those_of_the_reference(spark: Any, name: str) -> None:
    table = corpus.table(name)
    version = table.versions[0]
    opened = ds.DeltaTable(table.path, version=version["version"])
    frame = opened.scan(engine="spark").to_spark(spark)
    [expected] = expected_rows(version)
    assert [list(pair) for pair in frame.dtypes] == [list(pair) for pair in version["columns"]]
    assert rows_and_digest(frame, opened.snapshot.schema) == (expected["count"], expected["digest"])


def test_a_file_that_is_given_twice_is_a_corrupt_log(large: Path) -> None:
    from deltaskip.reading.arrow_rows import READ_COLUMNS as READ
    from deltaskip.reading.stored_rows import StoredRows

    opened = ds.DeltaTable(large)
    files = opened.scan("id = 1").files(columns=READ)
    snapshot = opened.snapshot
    runner = read_task.rows_runner(
        StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, ["id"]),
        files.schema,
        pa.schema([("id", pa.int64())]),
        snapshot.table_root,
    )
    given = files.append_column(read_task.PIECE, pa.array([0])).append_column(read_task.PIECES, pa.array([1]))
    [batch] = given.combine_chunks().to_batches()
    assert sum(len(found) for found in runner(iter([batch]))) == 10 - 1
    refuses(ds.CorruptLog, "twice", lambda: list(runner(iter([batch, batch]))))


def test_executors_return_variants_at_every_depth(spark: Any, tmp_path: Path) -> None:
    variant = "parse_json(IF(id % 3 = 0, NULL, concat('{\"a\": [', id, ', \"x\"]}')))"
    rows = spark.range(12).selectExpr(
        "id", f"{variant} AS v", f"IF(id = 5, NULL, named_struct('v', {variant}, 'n', nullif(id, -1))) AS s",
        f"IF(id = 6, NULL, array({variant}, NULL, {variant})) AS l", f"IF(id = 7, NULL, map('k', {variant})) AS m",
        f"array(named_struct('v', {variant})) AS ls", "named_struct('value', X'01', 'metadata', X'02') AS plain",
    )  # fmt: skip
    table = ds.DeltaTable.create(tmp_path / "t", rows.schema)
    table.append(rows)
    texts = "id", "to_json(struct(*)) AS j", "variant_get(v, '$.a[0]', 'int') AS a", "s IS NULL", "l IS NULL", "plain"
    expected = sorted(rows.selectExpr(*texts).collect())
    for where in (None, "id > 4", "variant_get(v, '$.a[0]', 'int') > 6"):
        chosen = [row for row in expected if where is None or row["id"] > 4]
        chosen = [row for row in chosen if where in (None, "id > 4") or (row["a"] or 0) > 6]
        assert sorted(table.scan(where, engine="spark").to_spark(spark).selectExpr(*texts).collect()) == chosen
        assert len(chosen) > 3


def refused(scan: ds.TableScan) -> Iterator[tuple[str, Any]]:
    yield "files_to_spark", scan.files
    yield "files_to_spark", scan.paths
    yield "to_spark", scan.to_arrow
    yield "to_spark", scan.to_batches
    yield "to_spark", scan.to_pandas
    yield "to_spark", scan.to_dataset
    yield "to_spark", scan.__arrow_c_stream__
    yield "engine='spark'", lambda: scan.to_spark(None, metadata=True)


def test_what_would_collect_is_refused_with_the_cure(large: Path) -> None:
    scan = ds.DeltaTable(large).scan("id >= 20", engine="spark")
    for cure, call in refused(scan):
        refuses(ds.UnsupportedFeature, cure, call)
    assert scan.count() == 20
    assert sum(len(batch) for batch in scan.file_batches()) == len(ds.DeltaTable(large).scan("id >= 20").files())
    refuses(ds.InvalidArgument, r"limit\(3\)", lambda: ds.DeltaTable(large).scan(limit=3, engine="spark"))
    refuses(ds.InvalidArgument, "no column 'name'", scan.files_to_spark, None, columns=["name"])


def test_a_damaged_add_is_an_error_of_the_job_that_names_the_log(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    TableBuilder(path, {"id": LONG, "s": STRING}).commit(add("a"), add("b%FF"))
    frame = ds.DeltaTable(path).scan(engine="spark").files_to_spark(spark)
    refuses(Exception, "CorruptLog: The log of", frame.collect)


def test_a_json_checkpoint_with_its_own_adds_is_read_by_a_task(tmp_path: Path) -> None:
    found = [t for t in corpus.tables() if "v2-checkpoint-json" in t.name]
    for table in found:
        assert json.dumps(sorted(planned_here(ds.DeltaTable(table.path).scan(), ["path"])["path"].to_pylist())) == (
            json.dumps(sorted(ds.DeltaTable(table.path).scan().files()["path"].to_pylist()))
        )
