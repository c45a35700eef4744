"""Overwriting with Arrow rows: what is replaced, by which actions, and what is refused. Rules of Delta's writers."""

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import DeltaTable, col
from deltaskip.actions import AddFile
from deltaskip.storage import local
from deltaskip.txn import commit_loop
from tests.dml.tables import actions_of, files_below, ids_of, info_of, made, rows, rows_of
from tests.each import refuses
from tests.extent import extent
from tests.killed_steps import killed_at_each_step
from tests.noted import raising

VECTORS: dict[str, Any] = {"delta.enableDeletionVectors": "true"}
FEED: dict[str, Any] = {"delta.enableChangeDataFeed": "true"}
TRACKED: dict[str, Any] = {"delta.enableRowTracking": "true"}
UTC = datetime.UTC


@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_a_static_overwrite_replaces_all_rows(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    table = made(tmp_path, partition_by)
    before = table.snapshot.num_files
    result = table.overwrite(rows(range(20, 23)))
    assert (result.version, result.operation, table.version) == (2, "WRITE", 2)
    assert rows_of(table) == rows(range(20, 23)).to_pylist()
    assert pytest.importorskip("deltalake").DeltaTable(table.uri).to_pyarrow_table().num_rows == 3
    found = actions_of(table)
    assert len(found["remove"]) == before
    removed = found["remove"][0]
    assert removed["extendedFileMetadata"] is True
    assert removed["dataChange"] is True
    assert set(removed) == {
        "path", "dataChange", "extendedFileMetadata", "partitionValues", "size", "deletionTimestamp",
    }  # fmt: skip
    info = found["commitInfo"][0]
    assert info["operationParameters"] == {"mode": "Overwrite", "partitionBy": json.dumps(list(partition_by))}
    assert info["isBlindAppend"] is False
    assert set(info["operationMetrics"]) == {
        "numFiles", "numOutputRows", "numOutputBytes", "numRemovedFiles", "numRemovedBytes",
    }  # fmt: skip
    assert result.metrics["numRemovedFiles"] == before


def test_rule_39_an_empty_overwrite_still_removes(tmp_path: Path) -> None:
    table = made(tmp_path)
    result = table.overwrite(rows([]))
    assert (result.version, result.metrics["numFiles"], result.metrics["numRemovedFiles"]) == (2, 0, 1)
    assert (rows_of(table), table.snapshot.num_files) == ([], 0)
    assert table.overwrite(rows([])).version is None


def test_rule_38_an_append_only_table_keeps_its_rows(tmp_path: Path) -> None:
    table = made(tmp_path, **{"delta.appendOnly": "true"})
    before = files_below(tmp_path / "t")
    for options in ({}, {"where": "id = 3"}):
        refuses(ds.UnsupportedFeature, r"append-only", table.overwrite, rows([3]), **options)
    assert files_below(tmp_path / "t") == before


class TestWhere:
    def test_the_history_has_the_predicate_and_the_metrics_of_delta_spark(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        table.overwrite(rows([3]), where="id >= 3 AND id <= 6")
        info = info_of(table)
        assert info["operationParameters"]["predicate"] == "id >= 3 AND id <= 6"
        shown = {name: value for name, value in info["operationMetrics"].items() if "Bytes" not in name}
        assert shown == {
            "numFiles": "2", "numRemovedFiles": "1", "numCopiedRows": "8", "numAddedChangeFiles": "0",
            "numDeletedRows": "4", "numOutputRows": "9",
        }  # fmt: skip

    def test_rule_35_a_new_row_outside_the_predicate_is_refused(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        before = files_below(tmp_path / "t")
        for outside in (rows([7]), rows([4])):
            with pytest.raises(ds.RowViolation, match=r"does not match the predicate of the overwrite.*x < 7"):
                table.overwrite(outside, where="x < 7")
        assert (files_below(tmp_path / "t"), table.refresh().version) == (before, 1)

    def test_rule_15_an_empty_string_becomes_null_before_the_predicate_is_checked(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",))
        refuses(ds.RowViolation, "does not match the predicate", table.overwrite, rows([1], p=[""]), where="p = ''")
        table.overwrite(rows([50], p=[""]), where="p IS NULL")
        assert ids_of(table) == [0, 1, 3, 4, 6, 7, 9, 10, 50]

    def test_files_that_certainly_match_are_not_read(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",))
        table.append(rows(range(100, 110)))
        for file in (tmp_path / "t" / "p=a").iterdir():
            if file.suffix == ".parquet":
                file.write_bytes(b"unreadable")
        table.overwrite(rows([3]), where="p = 'a'")
        assert info_of(table)["operationMetrics"]["numRemovedFiles"] == "2"
        assert info_of(table)["operationMetrics"]["numDeletedRows"] == "7"

    def test_files_without_a_matching_row_stay(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        table.append(rows(range(100, 112)))
        table.overwrite(rows([]), where="id % 2 = 1 AND id > 50 AND id < 70")
        assert table.version == 2
        table.overwrite(rows([]), where="st.a % 12 = 5 AND id < 90")
        assert info_of(table)["operationMetrics"]["numRemovedFiles"] == "1"

    @pytest.mark.parametrize("properties", [{}, VECTORS])
    def test_rule_50_a_file_without_rows_left_is_removed(self, tmp_path: Path, properties: dict[str, str]) -> None:
        table = made(tmp_path, **properties)
        table.overwrite(rows([]), where="id % 2 = 0")
        table.overwrite(rows([]), where="id % 2 = 1")
        assert (ids_of(table), table.snapshot.num_files) == ([], 0)
        assert "add" not in actions_of(table)

    def test_expressions_and_parameters(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        table.overwrite(rows([]), where=(col("id") == 3) | col("id").isin(*range(6, 30)))
        assert ids_of(table) == [0, 1, 2, 4, 5]
        table.overwrite(rows([1]), where="id IN (:ids)", params={"ids": [1, 2]})
        assert ids_of(table) == [0, 1, 4, 5]
        assert info_of(table)["operationParameters"]["predicate"] == "id IN (1, 2)"

    def test_what_only_spark_can_evaluate_names_the_session(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        before = files_below(tmp_path / "t")
        with pytest.raises(ds.UnsupportedFeature, match=r"without Spark.* as spark, or write the rows as a DataFrame"):
            table.overwrite(rows([]), where="to_csv(struct(p)) = 'x'")
        assert files_below(tmp_path / "t") == before

    def test_a_predicate_that_fails_for_a_row_writes_nothing(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        before = files_below(tmp_path / "t")
        refuses(ds.PredicateError, "fails for a row", table.overwrite, rows([]), where="10 / id > 1")
        refuses(ds.PredicateError, "nope", table.overwrite, rows([]), where="nope = 1")
        refuses(ds.PredicateError, None, table.overwrite, rows([]), where="")
        assert (files_below(tmp_path / "t"), table.refresh().version) == (before, 1)


class TestDeletionVectors:
    def test_rules_2_9_10_14_51_rows_are_marked_and_statistics_become_wide(self, tmp_path: Path) -> None:
        table = made(tmp_path, **VECTORS)
        old = actions_of(table)["add"][0]
        table.overwrite(rows([]), where="id IN (2, 3)")
        found = actions_of(table)
        [add], [remove] = found["add"], found["remove"]
        assert add["path"] == remove["path"] == old["path"]
        assert "deletionVector" not in remove
        vector = add["deletionVector"]
        assert (vector["storageType"], vector["offset"], vector["cardinality"]) == ("u", 1, 2)
        [name] = [file for file in files_below(tmp_path / "t") if file.endswith(".bin")]
        content = (tmp_path / "t" / name).read_bytes()
        assert name.startswith("deletion_vector_")
        assert content[0] == 1
        assert int.from_bytes(content[1:5], "big") == vector["sizeInBytes"] == len(content) - 9
        stats, before = json.loads(add["stats"]), json.loads(old["stats"])
        assert stats["tightBounds"] is False
        assert stats["numRecords"] == 12
        assert (stats["minValues"], stats["maxValues"]) == (before["minValues"], before["maxValues"])
        # Of the null counts only those of no row and of every row are known.
        assert before["nullCount"] == {"id": 0, "p": 4, "x": 3, "st": {"a": 0, "tags": 0}}
        assert stats["nullCount"] == {"id": 0, "st": {"a": 0, "tags": 0}}
        table.overwrite(rows([]), where="id = 3 OR id = 7")
        found = actions_of(table)
        assert found["remove"][0]["deletionVector"] == vector
        assert found["add"][0]["deletionVector"]["cardinality"] == 3
        assert ids_of(table) == [0, 1, 4, 5, 6, 8, 9, 10, 11]

    def test_rule_51_without_the_property_files_are_rewritten_and_old_vectors_respected(self, tmp_path: Path) -> None:
        table = made(tmp_path, **VECTORS)
        table.overwrite(rows([]), where="id = 5")
        off = {**table.metadata.configuration, "delta.enableDeletionVectors": "false"}
        with table.transaction() as txn:
            txn.set_metadata(replace(table.metadata, configuration=off))
        table.refresh()
        table.overwrite(rows([]), where="id = 6")
        found = actions_of(table)
        assert "deletionVector" not in found["add"][0]
        assert found["remove"][0]["deletionVector"]["cardinality"] == 1
        assert ids_of(table) == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]

    def test_rule_14_tags_and_statistics_of_a_checkpoint_stay(self, tmp_path: Path) -> None:
        as_struct = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
        table = made(tmp_path, **VECTORS, **as_struct)
        add = AddFile.from_json(actions_of(table)["add"][0])
        with table.transaction() as txn:
            txn.add(replace(add, tags={"own": "1"}, clustering_provider="liquid", data_change=False))
        table.refresh().checkpoint()
        for log in (tmp_path / "t" / "_delta_log").glob("0*[01].json"):
            log.unlink()
        again = DeltaTable(tmp_path / "t")
        again.overwrite(rows([]), where="id = 5")
        [found] = actions_of(again)["add"]
        assert (found["tags"], found["clusteringProvider"]) == ({"own": "1"}, "liquid")
        stats = json.loads(found["stats"])
        assert (stats["numRecords"], stats["minValues"]["id"], stats["maxValues"]["id"]) == (12, 0, 11)

    def test_a_file_without_a_row_count_gets_one_from_its_footer(self, tmp_path: Path) -> None:
        table = made(tmp_path, **VECTORS)
        add = AddFile.from_json(actions_of(table)["add"][0])
        with table.transaction() as txn:
            txn.add(replace(add, stats=None, data_change=False))
        table.refresh()
        table.overwrite(rows([]), where="id = 5")
        assert json.loads(actions_of(table)["add"][0]["stats"]) == {"numRecords": 12, "tightBounds": False}
        table.overwrite(rows([]), where="id >= 0")
        assert table.snapshot.num_files == 0


class TestChangeDataFeed:
    @staticmethod
    def changes(table: DeltaTable) -> list[tuple[int, str]]:
        found = []
        for cdc in actions_of(table).get("cdc", []):
            data = pq.ParquetFile(Path(table.snapshot.root) / cdc["path"]).read()
            assert data.schema.names[-1] == "_change_type"
            found += [(row["id"], row["_change_type"]) for row in data.to_pylist()]
        return sorted(found)

    @pytest.mark.parametrize("partition_by", [(), ("p",)])
    def test_rewritten_files_need_files_with_every_change(self, tmp_path: Path, partition_by: tuple[str, ...]) -> None:
        table = made(tmp_path, partition_by, **FEED)
        table.append(rows(range(50, 53)))
        table.overwrite(rows([4, 51]), where="id BETWEEN 3 AND 5 OR id > 40")
        gone = [3, 4, 5, 50, 51, 52]
        assert self.changes(table) == sorted([(i, "delete") for i in gone] + [(4, "insert"), (51, "insert")])
        for cdc in actions_of(table)["cdc"]:
            assert cdc["path"].startswith("_change_data/p=" if partition_by else "_change_data/cdc-")
            assert cdc["dataChange"] is False
            assert set(cdc["partitionValues"]) == set(partition_by)

    def test_whole_files_and_marked_rows_need_none(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",), **FEED)
        table.overwrite(rows([3]), where="p = 'a'")
        assert "cdc" not in actions_of(table)
        table.overwrite(rows([3]))
        assert "cdc" not in actions_of(table)
        marked = made(tmp_path / "dv", **FEED, **VECTORS)
        marked.overwrite(rows([3]), where="id BETWEEN 2 AND 4")
        assert "cdc" not in actions_of(marked)

    def test_rows_may_follow_in_the_transaction(self, tmp_path: Path) -> None:
        table = made(tmp_path, **FEED)
        with table.transaction() as txn:
            txn.overwrite(rows([3]), where="id = 3")
            txn.append(rows([70]))
        version = DeltaTable(table.uri).version
        changes = DeltaTable(table.uri).changes(version).to_arrow()
        found = sorted(zip(changes["_change_type"].to_pylist(), changes["id"].to_pylist(), strict=True))
        assert found == [("delete", 3), ("insert", 3), ("insert", 70)]


class TestRowTracking:
    IDS = ("delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName")

    def test_rule_49_rows_that_stay_keep_their_ids(self, tmp_path: Path) -> None:
        table = made(tmp_path, **TRACKED)
        table.overwrite(rows([5]), where="id BETWEEN 3 AND 5")
        names = [table.properties[name] for name in self.IDS]
        found = {}
        for add in actions_of(table)["add"]:
            data = pq.ParquetFile(Path(table.snapshot.root) / add["path"]).read().to_pylist()
            found |= {row["id"]: tuple(row.get(name) for name in names) for row in data}
        assert found == {5: (None, None), **{i: (i, 1) for i in range(12) if not 3 <= i <= 5}}
        assert not set(names) & set(table.schema.names)
        assert info_of(table)["tags"] == {"delta.rowTracking.preserved": "true"}
        # A second time, the ids come from the columns.
        table.overwrite(rows([]), where="id = 7")
        [add] = actions_of(table)["add"]
        data = pq.ParquetFile(Path(table.snapshot.root) / add["path"]).read().to_pylist()
        assert {row["id"]: tuple(row[name] for name in names) for row in data} == {
            i: (i, 1) for i in range(12) if not 3 <= i <= 5 and i != 7
        }


class TestSchema:
    def test_rule_33_a_replaced_schema_keeps_id_properties_history_and_partitioning(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",), **{"delta.appendOnly": "false", "own": "1"})
        identifier = table.metadata.id
        table.overwrite(pa.table({"P": ["q"], "new": [1.5]}), schema_mode="replace")
        assert table.schema.names == ("P", "new")
        assert (table.metadata.id, table.partition_columns) == (identifier, ("P",))
        assert table.properties["own"] == "1"
        assert info_of(table)["operationParameters"]["canOverwriteSchema"] == "true"
        assert len(table.history()) == 3
        table.overwrite(pa.table({"a": [1], "b": [2]}), schema_mode="replace", partition_by=["B"])
        assert table.partition_columns == ("b",)
        table.overwrite(pa.table({"a": [1]}), schema_mode="replace", partition_by=[])
        assert table.partition_columns == ()
        assert pytest.importorskip("deltalake").DeltaTable(table.uri).to_pyarrow_table().to_pylist() == [{"a": 1}]

    def test_a_missing_partition_column_is_refused_with_the_cure(self, tmp_path: Path) -> None:
        table = made(tmp_path, ("p",))
        with pytest.raises(ds.SchemaError, match=r"no column p, by which.*partition_by"):
            table.overwrite(pa.table({"a": [1]}), schema_mode="replace")

    def test_rules_55_56_only_compatible_columns_keep_their_physical_names(self, tmp_path: Path) -> None:
        table = made(tmp_path, **{"delta.columnMapping.mode": "name"})
        before = {field.name: field.metadata for field in table.schema.fields}
        table.overwrite(pa.table({"id": [1], "x": ["text"]}), schema_mode="replace")
        after = {field.name: field.metadata for field in table.schema.fields}
        assert after["id"] == before["id"]
        name, number = "delta.columnMapping.physicalName", "delta.columnMapping.id"
        assert after["x"][name] != before["x"][name]
        assert after["x"][number] > max(metadata[number] for metadata in before.values())
        assert int(table.properties["delta.columnMapping.maxColumnId"]) >= after["x"][number]
        assert rows_of(table) == [{"id": 1, "x": "text"}]

    def test_a_constraint_of_a_dropped_column_stops_the_replacement(self, tmp_path: Path) -> None:
        table = made(tmp_path, **{"delta.constraints.low": "x < 100 OR x IS NULL"})
        refuses((ds.SchemaError, ds.InvalidCommit), "x", table.overwrite, pa.table({"id": [1]}), schema_mode="replace")
        table.overwrite(pa.table({"X": pa.array([7], pa.int64())}), schema_mode="replace")
        refuses(ds.RowViolation, "low", table.overwrite, pa.table({"x": [100]}))

    def test_a_merged_schema_with_rows_that_stay(self, tmp_path: Path) -> None:
        table = made(tmp_path)
        new = rows([3]).append_column("more", pa.array(["m"]))
        table.overwrite(new, where="id = 3", schema_mode="merge")
        assert {row["id"]: row["more"] for row in rows_of(table)} == {i: "m" if i == 3 else None for i in range(12)}
        assert info_of(table)["operationParameters"]["canMergeSchema"] == "true"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"where": "true", "partitions": "dynamic"}, "not both"),
            ({"schema_mode": "replace", "partitions": "dynamic"}, "schema_mode='replace' replaces all rows"),
            ({"schema_mode": "replace", "where": "id = 1"}, "schema_mode='replace' replaces all rows"),
            ({"partition_by": ["p"]}, "only with schema_mode='replace'"),
            ({"partitions": "some"}, "partitions must be static or dynamic"),
            ({"schema_mode": "x"}, "schema_mode must be"),
        ],
    )
    def test_rule_34_arguments_exclude_each_other(self, tmp_path: Path, options: dict[str, Any], message: str) -> None:
        table = made(tmp_path)
        refuses(ds.InvalidArgument, message, table.overwrite, rows([1]), **options)
        refuses(ds.InvalidArgumentType, None, table.overwrite, 1)


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_void_columns_and_columns_of_every_type_are_copied(tmp_path: Path, mode: str) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        """v VOID, id BIGINT, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, b BINARY, f FLOAT, dec DECIMAL(20,3),
           m MAP<STRING, STRUCT<k: INT, l: ARRAY<DATE>>>, flag BOOLEAN, s SMALLINT, `odd.name` STRING""",
        properties={"delta.columnMapping.mode": mode},
    )
    given = pa.table(
        {
            "id": [1, 2, 3],
            "d": pa.array([datetime.date(1, 1, 1), None, datetime.date(2024, 2, 29)]),
            "ts": pa.array([-1, None, 10**15], pa.timestamp("us", "UTC")),
            "n": pa.array([-1, None, 10**15], pa.timestamp("us")),
            "b": pa.array([b"\0", None, b""]),
            "f": pa.array([float("nan"), None, -0.0], pa.float32()),
            "dec": pa.array([Decimal("1.234"), None, Decimal("-99999999999999999.999")], pa.decimal128(20, 3)),
            "m": pa.array(
                [[("a", {"k": 1, "l": [None, datetime.date(1969, 1, 1)]})], None, []],
                pa.map_(pa.string(), pa.struct([("k", pa.int32()), ("l", pa.list_(pa.date32()))])),
            ),
            "flag": [True, None, False],
            "s": pa.array([1, None, -32768], pa.int16()),
            "odd.name": ["x", None, "y"],
        }
    )
    table.append(given)
    table.overwrite(given.slice(1, 1), where="id = 2")
    assert [repr(row) for row in rows_of(table)] == [repr({"v": None, **row}) for row in given.to_pylist()]


def test_rule_71_a_failure_deletes_only_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, properties in enumerate([{}, VECTORS, {**FEED, **TRACKED}]):
        table = made(tmp_path / str(number), ("p",), **properties)
        table.overwrite(rows([]), where="id = 4")
        before = files_below(tmp_path / str(number) / "t")
        with monkeypatch.context() as patch:
            patch.setattr(commit_loop, "prepare", raising(MemoryError()))
            refuses(MemoryError, None, table.overwrite, rows([5]), where="id = 5 OR p = 'a'")
        assert files_below(tmp_path / str(number) / "t") == before
        refuses(ds.RowViolation, None, table.overwrite, rows([5]), where="id = 6")
        assert files_below(tmp_path / str(number) / "t") == before
        table.overwrite(rows([5]), where="id = 5")


class TestConflicts:
    def test_two_overwrites_of_one_partition_have_an_order(self, tmp_path: Path) -> None:
        table, other = made(tmp_path, ("p",)), DeltaTable(tmp_path / "t")
        with table.transaction() as txn:
            txn.overwrite(rows([3]), where="p = 'a'")
            other.overwrite(rows([6]), where="p = 'a'")
            refuses(ds.CommitConflict, None, txn.commit)
            txn.discard()
        assert [row["id"] for row in rows_of(table.refresh()) if row["p"] == "a"] == [6]
        assert len(files_below(tmp_path / "t")) == 4

    def test_overwrites_of_disjoint_partitions_do_not_meet(self, tmp_path: Path) -> None:
        table, other = made(tmp_path, ("p",)), DeltaTable(tmp_path / "t")
        with table.transaction() as txn:
            txn.overwrite(rows([3]), partitions="dynamic")
            other.overwrite(rows([1]), where="p = 'b'")
            other.append(rows([40, 41]))
        assert txn.version == 4
        assert ids_of(table.refresh()) == [1, 2, 3, 5, 8, 11, 40, 41]

    def test_rule_52_rows_that_another_writer_adds_to_the_predicate_conflict(self, tmp_path: Path) -> None:
        table, other = made(tmp_path), DeltaTable(tmp_path / "t")
        with (
            pytest.raises(ds.CommitConflict, match=r"may contain rows that match the predicate id < 5"),
            table.transaction() as txn,
        ):
            txn.overwrite(rows([]), where="id < 5")
            other.append(rows([2]))
        assert len(ids_of(table.refresh())) == 13

    def test_the_operation_is_repeated_after_a_conflict(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        table, other = made(tmp_path), DeltaTable(tmp_path / "t")
        put = local.LocalStorage.put_if_absent
        done: list[str] = []

        def late(storage: local.LocalStorage, path: str, data: bytes, *after: Any) -> None:
            if not done:
                done.append(path)
                other.append(rows([2]))
            put(storage, path, data, *after)

        monkeypatch.setattr(local.LocalStorage, "put_if_absent", late)
        result = table.overwrite(rows([4]), where="id < 5")
        assert result.version == 3
        assert ids_of(table) == [4, 5, 6, 7, 8, 9, 10, 11]

    def test_a_stream_is_not_read_twice(self, tmp_path: Path) -> None:
        table, other = made(tmp_path), DeltaTable(tmp_path / "t")
        given = rows([4])

        def batches() -> Any:
            other.append(rows([2]))
            yield from given.to_batches()

        with pytest.raises(ds.CommitConflict):
            table.overwrite(pa.RecordBatchReader.from_batches(given.schema, batches()), where="id < 5")
        assert len(files_below(tmp_path / "t")) == 2


def test_an_overwrite_comes_first_in_a_transaction(tmp_path: Path) -> None:
    table = made(tmp_path)
    with table.transaction() as txn:
        txn.overwrite(rows([3]), where="id < 4")
        txn.append(rows([60]))
    assert txn.version == 2
    assert ids_of(table.refresh()) == [3, 4, 5, 6, 7, 8, 9, 10, 11, 60]
    metrics = info_of(table)["operationMetrics"]
    assert (metrics["numDeletedRows"], metrics["numOutputRows"]) == ("4", "10")
    with pytest.raises(ds.InvalidCommit, match="overwrite first, or commit"), table.transaction() as txn:
        txn.append(rows([61]))
        txn.overwrite(rows([3]))
    assert ids_of(table.refresh())[-1] == 60


def test_an_application_overwrites_once(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert table.overwrite(rows([1]), txn=("job", 4), user_metadata="again").version == 2
    assert info_of(table)["userMetadata"] == "again"
    assert table.overwrite(rows([2]), txn=("job", 4)).version is None
    assert ids_of(table) == [1]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("properties", [{}, VECTORS, {**FEED, **TRACKED}])
def test_a_crash_at_any_step_leaves_the_old_version_or_the_new_one(tmp_path: Path, properties: dict[str, str]) -> None:
    old = ids_of(made(tmp_path / "old", ("p",), **properties))
    new = sorted([*(i for i in old if not 3 <= i <= 7), 4])
    seen = set()

    def begin(at: int) -> Callable[[], object]:
        table = made(tmp_path / str(at), ("p",), **properties)
        return lambda: table.overwrite(rows([4]), where="id BETWEEN 3 AND 7")

    for at, _ in killed_at_each_step(begin, extent(7, 1)):
        again = DeltaTable(tmp_path / str(at) / "t")
        assert ids_of(again) == {1: old, 2: new}[again.version]
        seen.add(again.version)
        again.overwrite(rows([9]), where="id = 9")
        assert ids_of(again) == (old if again.version == 2 else new)
    assert seen == {1, 2}
