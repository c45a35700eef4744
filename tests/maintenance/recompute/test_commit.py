"""Computed statistics committed: the same files again, and only those that are still there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidCommit
from deltaskip.log.stats_provenance import COMPUTE_OPERATION as OPERATION
from deltaskip.maintenance.recompute import recompute as module
from deltaskip.maintenance.recompute.computed_files import RESULT_SCHEMA
from deltaskip.maintenance.recompute.recompute import commit_statistics
from deltaskip.maintenance.recompute.recomputed import Recomputed
from deltaskip.sparkexpr.types.data_types import DOUBLE, LONG, STRING, StructField, StructType
from deltaskip.stats.tags import STATS_TAG
from deltaskip.txn.transaction import Transaction
from tests.builder import TableBuilder, add, bounds, relog, remove
from tests.each import refuses

VECTOR = {"storageType": "u", "pathOrInlineDv": "0" * 20, "offset": 1, "sizeInBytes": 40, "cardinality": 1}
NAME = StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}})


def results(table: ds.DeltaTable, *rows: tuple[str, str | None, dict[str, Any]]) -> pa.Table:
    """What a job gives for files of the table: what the log says of them, and their new statistics."""
    by_path = {row["path"]: row for row in table.snapshot.adds().to_pylist()}
    found = []
    for path, dv, stats in rows:
        logged = by_path[path]
        new = {"dv_id": dv, "num_records": 2, "stats": json.dumps(stats), "scanned": 0, "logged_stats": logged["stats"]}
        found.append({**logged, **new, "size": 100})
    return pa.Table.from_pylist(found, RESULT_SCHEMA)


def made(folder: Path, *files: dict[str, Any], schema: Any = None) -> tuple[TableBuilder, ds.DeltaTable]:
    builder = TableBuilder(folder / "t", schema or {"id": LONG})
    builder.commit(*files)
    return builder, ds.DeltaTable(folder / "t")


def logged(table: ds.DeltaTable) -> dict[str, Any]:
    rows = table.refresh().snapshot.adds().to_pylist()
    return {row["path"]: row for row in rows}


def test_statistics_replace_those_of_the_same_logical_file(tmp_path: Path) -> None:
    _, table = made(
        tmp_path, add("a", tags={"k": "v"}), add("b", None, deletionVector=VECTOR), add("c", bounds(id=(1, 2)))
    )
    before = logged(table)
    dv = f"u{'0' * 20}@1"
    new = {"numRecords": 2, "minValues": {"id": 5}, "maxValues": {"id": 6}, "nullCount": {"id": 0}}
    done = commit_statistics(table.snapshot, [results(table, ("a", None, new), ("b", dv, new))], [], {})
    assert (done.files, done.unchanged, done.left_out, done.versions) == (2, 0, [], [1])
    assert (done.rows, done.bytes) == (4, 200)
    after = logged(table)
    assert json.loads(after["a"]["stats"]) == json.loads(after["b"]["stats"]) == new
    for path in "abc":
        same = {name: value for name, value in before[path].items() if name not in ("stats", "tags", "data_change")}
        assert same == {name: after[path][name] for name in same}
    assert [[name for name, _ in after[path]["tags"] or ()] for path in "abc"] == [["k", STATS_TAG], [STATS_TAG], []]
    assert [after[path]["data_change"] for path in "abc"] == [False, False, True]
    [entry, *_] = table.history()
    assert entry.operation == OPERATION


def test_statistics_that_say_the_same_are_committed_once_with_their_provenance(tmp_path: Path) -> None:
    text = '{ "numRecords":2,"minValues":{"id":1.0}}'
    _, table = made(tmp_path, add("a", text), add("b", bounds(id=(1, 2)), tags={"k": "v"}))
    for versions in ([1], []):
        done = commit_statistics(table.snapshot, [results(table, ("b", None, bounds(id=(1, 2))))], [], {})
        assert (done.files, done.unchanged, done.versions) == (0, 1, versions)
        after = logged(table)["b"]
        assert json.loads(after["stats"]) == bounds(id=(1, 2))
        assert dict(after["tags"]).keys() == {"k", STATS_TAG}
    done = commit_statistics(
        table.snapshot, [results(table, ("a", None, {"numRecords": 2, "minValues": {"id": 1}}))], [], {}
    )
    assert (done.files, done.versions) == (1, [2])


def test_files_that_are_gone_or_have_other_deleted_rows_are_left_out(tmp_path: Path) -> None:
    builder, table = made(tmp_path, add("a"), add("b"), add("c"))
    computed = results(table, *[(path, None, bounds(id=(1, 2))) for path in "abc"])
    builder.commit(remove("a"))
    builder.commit(remove("b"), add("b", deletionVector=VECTOR))
    done = commit_statistics(table.snapshot, [computed], [], {})
    assert (done.files, sorted(done.left_out), done.versions) == (1, ["a", "b"], [3])
    assert sorted(logged(table)) == ["b", "c"]
    assert logged(table)["b"]["stats"] is None


def test_a_conflict_over_a_file_drops_that_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder, table = made(tmp_path, *[add(path) for path in "abcd"])
    raced: list[int] = []

    class Raced(Transaction):
        def commit(self) -> int:
            if not raced:
                raced.append(1)
                builder.commit(remove("b"))
            return super().commit()

    computed = results(table, *[(path, None, bounds(id=(1, 2))) for path in "abcd"])
    monkeypatch.setattr(module, "Transaction", Raced)
    done = commit_statistics(table.snapshot, [computed], [], {})
    assert (done.files, done.left_out, done.versions) == (3, ["b"], [2])
    assert {path: row["stats"] is not None for path, row in logged(table).items()} == dict.fromkeys("acd", True)


def test_each_table_of_results_is_a_commit_and_what_dies_loses_the_rest_only(tmp_path: Path) -> None:
    _, table = made(tmp_path, *[add(path) for path in "abc"])

    def dying() -> Iterator[pa.Table]:
        yield results(table, ("a", None, bounds(id=(1, 2))))
        yield results(table, ("b", None, bounds(id=(3, 4))))
        raise KeyboardInterrupt

    seen: list[Recomputed] = []
    refuses(KeyboardInterrupt, None, lambda: commit_statistics(table.snapshot, dying(), [], {}, seen.append))
    assert [row["stats"] is not None for row in logged(table).values()].count(True) == 2
    assert seen[-1].versions == [1, 2]


def test_a_changed_schema_conflicts_and_a_property_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, table = made(tmp_path, add("a"))
    metadata = table.metadata

    def race(schema: str | None, properties: dict[str, str]) -> None:
        raced: list[int] = []

        class Raced(Transaction):
            def commit(self) -> int:
                if not raced:
                    raced.append(1)
                    other = ds.DeltaTable(table.uri).transaction(operation="SET")
                    from dataclasses import replace

                    text = metadata.schema_string if schema is None else schema
                    other.set_metadata(replace(metadata, configuration=properties, schema_string=text))
                    other.commit()
                return super().commit()

        monkeypatch.setattr(module, "Transaction", Raced)

    computed = results(table, ("a", None, bounds(id=(1, 2))))
    race(None, {"x": "y"})
    done = commit_statistics(table.snapshot, [computed], [], {})
    assert done.versions == [2]
    wider = json.loads(metadata.schema_string or "")
    wider["fields"].append({"name": "n", "type": "long", "nullable": True, "metadata": {}})
    computed = results(table, ("a", None, bounds(id=(1, 3))))
    race(json.dumps(wider), {"x": "y"})
    refuses(ds.CommitConflict, None, lambda: commit_statistics(table.refresh().snapshot, [computed], [], {}))


def collated(low: str, high: str) -> dict[str, Any]:
    both = {"minValues": {"name": low}, "maxValues": {"name": high}}
    return {"numRecords": 2, "nullCount": {"name": 0}, "statsWithCollation": {"icu.UNICODE_CI.77.1": both}}


def test_the_table_learns_which_versions_are_written(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", StructType((NAME,)))
    builder.commit(add("a"), add("b"))
    table = ds.DeltaTable(tmp_path / "t")
    written = [results(table, ("a", None, collated("a", "C"))), results(table, ("b", None, collated("x", "Z")))]
    done = commit_statistics(table.snapshot, written, ["ICU.unicode_ci.77.1"], {})
    assert done.versions == [1, 2]
    table.refresh()
    assert json.loads(table.domains["collations"]) == {"writeVersions": {"icu.UNICODE_CI": ["77.1"]}}
    assert {"collations", "domainMetadata"} <= set(table.protocol.writer_features or ())
    assert table.protocol.min_writer_version == 7
    assert table.scan("name = 'B'").files()["path"].to_pylist() == ["a"]


def test_a_plain_protocol_is_upgraded_and_keeps_what_it_implied(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", StructType((NAME,))).commit(add("a"))
    plain = {"minReaderVersion": 1, "minWriterVersion": 4}
    relog(tmp_path / "t", lambda action: action.update(protocol=plain) if "protocol" in action else None)
    table = ds.DeltaTable(tmp_path / "t")
    commit_statistics(table.snapshot, [results(table, ("a", None, collated("a", "b")))], ["icu.UNICODE_CI.77.1"], {})
    protocol = table.refresh().protocol
    assert (protocol.min_reader_version, protocol.min_writer_version, protocol.reader_features) == (1, 7, None)
    implied = {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}
    assert set(protocol.writer_features or ()) == implied | {"collations", "domainMetadata"}


def test_a_version_is_added_to_those_that_are_listed_and_can_be_retired(tmp_path: Path) -> None:
    domain = {"writeVersions": {"ICU.unicode_CI": ["76.1"], "icu.de": ["72.1"]}, "other": 1}
    action = {"domainMetadata": {"domain": "collations", "configuration": json.dumps(domain), "removed": False}}
    builder = TableBuilder(tmp_path / "t", StructType((NAME,)))
    builder.commit(action, add("a"))
    table = ds.DeltaTable(tmp_path / "t")
    commit_statistics(table.snapshot, [results(table, ("a", None, collated("a", "b")))], ["icu.UNICODE_CI.77.1"], {})
    found = json.loads(table.refresh().domains["collations"])
    assert found == {"writeVersions": {"ICU.unicode_CI": ["76.1", "77.1"], "icu.de": ["72.1"]}, "other": 1}
    assert table.retire_collation_version("UNICODE_CI", "76.1") == 2
    assert table.retire_collation_version("icu.de", "72.1") == 3
    assert json.loads(table.domains["collations"]) == {"writeVersions": {"ICU.unicode_CI": ["77.1"]}, "other": 1}
    with pytest.raises(InvalidCommit, match=r"does not list version 76.1 of icu.UNICODE_CI.*ICU.unicode_CI 77.1"):
        table.retire_collation_version("icu.UNICODE_CI", "76.1")


PARAMETERS = {"complete": True}


@pytest.mark.parametrize(("complete", "kept"), [(True, []), (False, ["a"])])
def test_what_was_computed_here_records_nan(tmp_path: Path, complete: bool, kept: list[str]) -> None:
    builder = TableBuilder(tmp_path / "t", {"x": DOUBLE})
    builder.commit(add("a", bounds(x=(1.0, 2.0))), engine="delta-rs:py-1.0.0")
    table = ds.DeltaTable(tmp_path / "t")
    assert table.scan("x > 5").files()["path"].to_pylist() == ["a"]
    computed = results(table, ("a", None, bounds(x=(1.0, 3.0))))
    commit_statistics(table.snapshot, [computed], [], {"complete": complete})
    assert table.refresh().scan("x > 5").files()["path"].to_pylist() == kept
    builder.commit(remove("a"), engine="delta-rs:py-1.0.0")
    builder.commit(add("a", bounds(x=(1.0, 2.0))), engine="delta-rs:py-1.0.0")
    assert table.refresh().scan("x > 5").files()["path"].to_pylist() == ["a"]


def test_long_bounds_that_were_computed_here_are_believed(tmp_path: Path) -> None:
    long = "m" * 40
    builder = TableBuilder(tmp_path / "t", StructType((NAME,)))
    builder.commit(add("a", collated("a", long)), add("b", collated("a", long)))
    table = ds.DeltaTable(tmp_path / "t")
    assert sorted(table.scan("name = 'x'").files()["path"].to_pylist()) == ["a", "b"]
    computed = results(table, ("a", None, {**collated("b", long), "numRecords": 3}))
    commit_statistics(table.snapshot, [computed], ["icu.UNICODE_CI.77.1"], PARAMETERS)
    assert table.refresh().scan("name = 'x'").files()["path"].to_pylist() == ["b"]
