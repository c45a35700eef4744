"""Compaction: which files are joined, what the commit contains, and what no reader notices."""

import datetime
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, InvalidArgument, PredicateError, SchemaError
from deltaskip.maintenance.optimize.rewriting import ArrowRewriting
from deltaskip.sparkexpr import types as t
from tests.builder import TableBuilder, add
from tests.dml.tables import DDL, actions_of, files_below, info_of, row_ids_of, rows, rows_of
from tests.each import refuses
from tests.looped import looped
from tests.maintenance.optimize.tables import FEED, ROW_IDS, VECTORS, files_of, made


def test_small_files_become_one_and_the_commit_is_deltas(tmp_path: Path) -> None:
    table = made(tmp_path)
    before = rows_of(table)
    sizes = [file["size"] for file in files_of(table)]
    result = table.optimize(user_metadata="tidy")
    assert (result.operation, result.version, result.versions) == ("OPTIMIZE", 7, (7,))
    assert rows_of(table) == before and len(files_of(table)) == 1
    added = files_of(table)[0]["size"]
    assert result.metrics == {
        "numAddedFiles": 1, "numAddedBytes": added, "numRemovedFiles": 6, "numRemovedBytes": sum(sizes),
        "numDeletionVectorsRemoved": 0, "minFileSize": added, "maxFileSize": added, "p25FileSize": added,
        "p50FileSize": added, "p75FileSize": added,
    }  # fmt: skip
    info = info_of(table)
    assert info["operationParameters"] == {"predicate": "[]", "zOrderBy": "[]", "clusterBy": "[]", "auto": "false"}
    assert (info["isolationLevel"], info["isBlindAppend"], info["userMetadata"]) == ("SnapshotIsolation", False, "tidy")
    assert info["operationMetrics"]["numRemovedFiles"] == "6"
    actions = actions_of(table)
    assert {action["dataChange"] for kind in ("add", "remove") for action in actions[kind]} == {False}
    assert all(remove["extendedFileMetadata"] and remove["size"] for remove in actions["remove"])


def test_nothing_to_do_is_no_commit(tmp_path: Path) -> None:
    table = made(tmp_path, files=1)
    assert table.optimize().version is None and table.version == 1
    assert table.optimize(target_file_bytes=1).version is None
    empty = DeltaTable.create(tmp_path / "empty", "id BIGINT")
    assert (empty.optimize().version, empty.version) == (None, 0)
    again = made(tmp_path / "again")
    again.optimize()
    assert again.optimize().version is None


def test_bins_have_files_of_one_partition_and_of_the_target_size(tmp_path: Path) -> None:
    table = made(tmp_path, files=7, partition_by=("p",))
    before = rows_of(table)
    assert len(files_of(table)) == 21
    size = max(file["size"] for file in files_of(table))
    result = table.optimize(target_file_bytes=pa.scalar(3 * size + 10))  # any type with __index__
    assert rows_of(table) == before
    assert result.partitions == 3 and result.bins == 6 and result.removed.files in (18, 21)
    # One of seven files remains alone in each partition, and stays as it is.
    assert result.metrics["numRemovedFiles"] == 18 and len(files_of(table)) == 9


def test_the_target_size_is_a_property_of_the_table(tmp_path: Path) -> None:
    table = made(tmp_path, **{"delta.targetFileSize": "100"})
    assert table.optimize().version is None
    assert table.optimize(target_file_bytes=1 << 20).version == 7


def test_rule_16_instants_in_several_spellings_are_one_partition(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p TIMESTAMP", ["p"])
    for number in range(2):
        table.append(pa.table({"id": [number], "p": pa.array([0], pa.timestamp("us", "UTC"))}))
    log = Path(table.snapshot.root) / "_delta_log" / f"{2:020}.json"
    text = log.read_text()
    assert "1970-01-01T00:00:00.000000Z" in text
    log.write_text(text.replace('"p":"1970-01-01T00:00:00.000000Z"', '"p":"1970-01-01 00:00:00"'))
    log.with_suffix(".crc").unlink(missing_ok=True)
    table = DeltaTable(tmp_path / "t")
    result = table.optimize()
    assert (result.partitions, result.metrics["numRemovedFiles"], result.metrics["numAddedFiles"]) == (1, 2, 1)


@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_deletion_vectors_are_purged_and_their_rows_gone(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    table = made(tmp_path, partition_by=partition_by, **VECTORS)
    table.delete("id % 5 = 1")
    before = rows_of(table)
    vectors = [file["deletion_vector"] for file in files_of(table) if file["deletion_vector"]]
    result = table.optimize()
    assert rows_of(table) == before
    assert not any(file["deletion_vector"] for file in files_of(table))
    assert result.metrics["numDeletionVectorsRemoved"] == result.vectors_removed == len(vectors)
    assert result.deleted_rows == 12
    # The tombstones name the vectors, so that readers find the files that they remove (rule 2).
    assert sum("deletionVector" in remove for remove in actions_of(table)["remove"]) == len(vectors)


def test_a_single_file_is_rewritten_only_if_many_of_its_rows_are_deleted(tmp_path: Path) -> None:
    table = made(tmp_path, files=1, each=100, **VECTORS)
    table.delete("id < 5")
    assert table.optimize().version is None
    table.delete("id = 5")
    result = table.optimize()
    assert result.metrics["numRemovedFiles"] == result.metrics["numAddedFiles"] == 1
    assert len(rows_of(table)) == 94


def test_a_purge_rewrites_every_file_that_has_deleted_rows_and_no_other(tmp_path: Path) -> None:
    table = made(tmp_path, files=3, each=100, **VECTORS)
    table.delete("id = 5")
    before = {file["path"] for file in files_of(table)}
    planned = table.optimize(purge=True, dry_run=True)
    assert (planned.removed.files, planned.deleted_rows, planned.operation) == (1, 1, "REORG")
    done = table.optimize(purge=True)
    after = {file["path"] for file in files_of(table)}
    assert (done.deleted_rows, done.operation, table.history(1)[0].operation) == (1, "REORG", "REORG")
    assert len(before - after) == len(after - before) == 1
    assert sorted(row["id"] for row in rows_of(table)) == [n for n in range(300) if n != 5]
    assert table.optimize(purge=True).version is None


def test_a_large_file_is_taken_only_for_its_deleted_rows(tmp_path: Path) -> None:
    table = made(tmp_path, files=3, each=100, **VECTORS)
    size = max(file["size"] for file in files_of(table))
    table.delete("id < 4")
    assert table.optimize(target_file_bytes=size - 1000).version is None
    table.delete("id < 20")
    assert table.optimize(target_file_bytes=size - 1000).metrics["numRemovedFiles"] == 1


def test_where_chooses_partitions_and_takes_no_other_columns(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=("p",))
    result = table.optimize("p = :p OR p IS NULL", params={"p": "a"})
    assert result.metrics["numAddedFiles"] == 2 and result.considered == 12
    assert info_of(table)["operationParameters"]["predicate"] == "[\"p = 'a' OR p IS NULL\"]"
    refuses(PredicateError, r"Only the partition columns may be referenced: \[p\]", table.optimize, "x = 1")
    refuses(PredicateError, r"non-partition column 'st\.a'", table.optimize, "p = 'a' AND st.a = 1")
    assert len(rows_of(table)) == 60


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("where", ["p > 'a'", "p <> 'a'", "p IN ('a')", "p LIKE 'b%'", "NOT p <=> NULL"])
def test_predicates_on_partitions_choose_exactly_their_files(tmp_path: Path, where: str) -> None:
    table = made(tmp_path, partition_by=("p",))
    wanted = {"p IN ('a')": {"a"}, "NOT p <=> NULL": {"a", "b"}}.get(where, {"b"})
    table.optimize(where)
    assert {add["partitionValues"]["p"] for add in actions_of(table)["add"]} == wanted


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_rule_49_rows_keep_their_ids_and_commit_versions(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    table = made(tmp_path, partition_by=partition_by, **ROW_IDS, **VECTORS)
    table.delete("id % 7 = 3")
    ids = row_ids_of(table)
    table.optimize()
    assert row_ids_of(table) == ids
    table.append(rows(range(100, 110)))
    ids = row_ids_of(table)
    table.optimize()
    assert row_ids_of(table) == ids and len({row_id for row_id, _ in ids.values()}) == len(ids)
    assert info_of(table)["tags"] == {"delta.rowTracking.preserved": "true"}
    [domain] = [d for d in actions_of(table).get("domainMetadata", []) if d["domain"] == "delta.rowTracking"]
    bases = [add["baseRowId"] for add in actions_of(table)["add"]]
    assert min(bases) > max(row_id for row_id, _ in ids.values()) and domain


def test_rule_38_append_only_tables_are_optimized_and_the_feed_shows_nothing(tmp_path: Path) -> None:
    table = made(tmp_path, **FEED, **{"delta.appendOnly": "true"})
    before = rows_of(table)
    table.optimize()
    assert rows_of(table) == before and "cdc" not in actions_of(table)
    assert not (tmp_path / "t" / "_change_data").exists()


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping_writes_physical_names(tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, partition_by=("p",), **{"delta.columnMapping.mode": mode})
    if mode == "name":
        table.alter_sql("RENAME COLUMN x TO y")
        table.append(rows(range(100, 105)).rename_columns(["id", "p", "y", "st"]))
    before = rows_of(table)
    table.optimize()
    assert rows_of(table) == before
    assert table.scan("id = 31 AND p = 'b'").files().num_rows == 1
    assert table.scan("id > 1000").files().num_rows == 0


def test_columns_that_older_files_lack_are_null(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.alter_sql("ADD COLUMN n INT")
    table.append(rows(range(60, 70), n=pa.array(range(10), pa.int32())))
    before = rows_of(table)
    table.optimize()
    assert rows_of(table) == before


def test_statistics_of_new_files_are_exact(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, x DOUBLE, s STRING")
    for start in (0, 3):
        values = [float(start), float("nan"), None]
        table.append(pa.table({"id": [start, start + 1, start + 2], "x": values, "s": ["ä" * 40, None, "z"]}))
    table.optimize()
    scan = table.scan()
    assert (scan.min("id"), scan.max("id"), scan.count()) == (0, 5, 6)
    assert (scan.min("x"), scan.min("s")) == (0.0, "z")
    [file] = files_of(table)
    assert file["num_records"] == 6


def test_files_without_nan_are_still_skipped_after_they_are_joined(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "x DOUBLE, y FLOAT")
    for start in (0.0, 3.0):
        table.append(pa.table({"x": [start, None], "y": pa.array([start, 1.0], pa.float32())}))
    table.optimize()
    assert table.scan("x > 10").files().num_rows == table.scan("y > 10").files().num_rows == 0


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    table = made(tmp_path, **VECTORS)
    before = files_below(tmp_path / "t")
    result = table.optimize(dry_run=True)
    assert result.dry_run and result.version is None and result.versions == ()
    assert (result.removed.files, result.added.files, result.considered) == (6, 1, 6)
    assert files_below(tmp_path / "t") == before and table.version == 6
    assert isinstance(result.to_dict()["removed"], dict)


@looped(
    "arguments, error",
    [
        ({"target_file_bytes": 0}, InvalidArgument),
        ({"target_file_bytes": -1}, InvalidArgument),
        ({"zorder_by": "nope"}, SchemaError),
        ({"zorder_by": ["id", "ID"]}, SchemaError),
        ({"zorder_by": "st"}, SchemaError),
        ({"zorder_by": "st.tags"}, SchemaError),
        ({"zorder_by": "st.tags.element"}, SchemaError),
        ({"full": True}, InvalidArgument),
        *(
            ({"purge": True, **more}, InvalidArgument)
            for more in ({"full": True}, {"zorder_by": "id"}, {"target_file_bytes": 9})
        ),
        ({"where": "p ="}, PredicateError),
        ({"time_zone": "Nowhere/At_all"}, InvalidArgument),
        ({"zorder_by": 3}, DeltaSkipError),
        ({"where": "id > 3"}, PredicateError),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception]
) -> None:
    table = made(tmp_path)
    before = files_below(tmp_path / "t")
    refuses(error, None, table.optimize, **arguments)
    assert files_below(tmp_path / "t") == before and table.version == 6


def test_files_that_do_not_become_fewer_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each append is a row group, and rows with NaN need a file whose footer has no bounds.
    monkeypatch.setattr("deltaskip.settings.options.row_group_bytes", 1)
    table = DeltaTable.create(tmp_path / "t", "x DOUBLE")
    for value in (1.0, float("nan")):
        table.append(pa.table({"x": [value]}))
    before = files_below(tmp_path / "t")
    assert table.optimize().version is None
    assert files_below(tmp_path / "t") == before and table.version == 2


def test_an_application_version_is_optimized_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A commit for each partition.
    monkeypatch.setattr("deltaskip.settings.options.optimize_job_bytes", 1)
    table = DeltaTable.create(tmp_path / "t", DDL, ["p"])
    for start in (0, 9):
        table.append(rows(range(start, start + 9)))
    result = table.optimize(txn=("app", 1))
    assert len(result.versions) == 3 and table.snapshot.num_files == 3
    # The last commit has it, so that the rest is done after a kill.
    assert not any("txn" in actions_of(table, version) for version in result.versions[:2])
    assert table.snapshot.txns["app"].version == 1
    table.append(rows(range(18, 27)))
    assert table.optimize(txn=("app", 1)).version is None and table.snapshot.num_files == 6
    assert table.optimize(txn=("app", 2)).version == table.version and table.snapshot.num_files == 3
    # Also where there is nothing to do.
    assert table.optimize(txn=("app", 3)).metrics["numAddedFiles"] == 0
    assert table.snapshot.txns["app"].version == 3
    assert table.optimize(txn=("app", 3)).version is None
    assert len(rows_of(table)) == 27


@pytest.mark.parametrize("columns", [None, ["id"]], ids=["joined", "ordered"])
def test_files_that_memory_does_not_hold_are_rewritten_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str] | None
) -> None:
    rewrite, running, most = ArrowRewriting.rewrite, [], []

    def slow(*args: Any) -> Any:
        running.append(1)
        most.append(len(running))
        sleep(0.02)
        try:
            return rewrite(*args)
        finally:
            running.pop()

    monkeypatch.setattr(ArrowRewriting, "rewrite", slow)
    monkeypatch.setattr("deltaskip.maintenance.optimize.optimize._MEMORY_BYTES", 1)
    table = made(tmp_path, files=3, partition_by=("p",))
    before = rows_of(table)
    table.optimize(zorder_by=columns or ())
    assert len(most) >= 3 and max(most) == 1
    assert rows_of(table) == before


@pytest.mark.parametrize("where", ["day >= current_date() - INTERVAL 1 DAY", "day > date_sub(now(), 2)"])
def test_a_predicate_on_the_present_time_chooses_partitions(tmp_path: Path, where: str) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, day DATE", partition_by=["day"])
    days = [datetime.date.today(), datetime.date(2020, 1, 1)]
    for number in range(2):
        table.append(pa.table({"id": pa.array([number, number], pa.int64()), "day": days}))
    assert table.optimize(where=where).metrics["numRemovedFiles"] == 2
    assert table.history(1)[0].operation_parameters["predicate"] == f'["{where}"]'
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 0, 1, 1]


@pytest.mark.parametrize("kind", [{}, {"zorder_by": "id"}, {"bloom": "id"}], ids=str)
@pytest.mark.parametrize("rows_of_other", [0, 3])
def test_files_without_rows_or_statistics_are_fine(tmp_path: Path, kind: dict[str, Any], rows_of_other: int) -> None:
    """A commit that changes no data cannot show that it removes no row with them; they go with other files."""
    schema = t.StructType((t.StructField("id", t.LONG),))
    adds = []
    for number, count in enumerate((0, rows_of_other)):
        file = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": pa.array(range(count), pa.int64())}), file)
        adds.append(add(file.name, {"numRecords": count} if number else None, size=file.stat().st_size))
    TableBuilder(tmp_path, schema).commit(*adds)
    table = DeltaTable(tmp_path)
    table.optimize(**kind)
    assert table.scan().to_arrow()["id"].to_pylist() == [*range(rows_of_other)]
    assert ("0.parquet" in {each["path"] for each in files_of(table)}) == (not rows_of_other)
    assert table.verify(data=True).errors == ()


def test_an_error_of_the_function_that_shows_progress_is_told(tmp_path: Path) -> None:
    table = DeltaTable.create(str(tmp_path / "t"), "id INT")
    for number in range(3):
        table.append(pa.table({"id": [number]}))

    def fails(done: int, total: int) -> None:
        raise LookupError("mine")

    refuses(InvalidArgument, r"progress failed while files of .* were rewritten: mine", table.optimize, progress=fails)
    assert DeltaTable(str(tmp_path / "t")).version == 3
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 3
