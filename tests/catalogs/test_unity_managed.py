"""Tables that Unity Catalog manages: created, read, changed and published through its server.

# PROTOCOL, Catalog-managed tables; Unity Catalog, ManagedTablesSpec
"""

import json
import pickle
import random
import threading
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import requests

import deltaskip as ds
from deltaskip.alter.table_changes import AddColumn, ClusterBy, RemoveProperty, SetComment, SetProperty
from deltaskip.catalogs.unity import UnityCatalog
from deltaskip.storage import LocalStorage
from tests.catalogs.unity_rules import MOST_UNPUBLISHED, Lost, Refusal
from tests.catalogs.unity_server import COLUMNS, UnityServer, cat, rows, server
from tests.dml.tables import ids_of
from tests.each import in_threads, refuses
from tests.noted import raising

__all__ = ["cat", "server"]

PATH = "/delta/v1/catalogs/main/schemas/db/tables/t"


def ids(table: ds.DeltaTable) -> list[int]:
    """The ids of the rows."""
    return sorted(ids_of(table))


def log(table: ds.DeltaTable, pattern: str = "*.json") -> list[str]:
    return sorted(path.name for path in (Path(table.snapshot.root) / "_delta_log").glob(pattern))


class Disturbance:
    """Raises an error at the nth update of a table that has an add-commit."""

    def __init__(self, server: UnityServer, when: str, error: Exception, times: int = 1, action: str = "add-commit"):
        self.when, self.error, self.left, self.action = when, error, times, action
        server.disturb = self

    def __call__(self, when: str, method: str, path: str, body: Any) -> None:
        actions = [each["action"] for each in (body or {}).get("updates", ())] if method == "POST" else []
        if when == self.when and self.left and self.action in actions:
            self.left -= 1
            raise self.error


def test_a_table_has_what_the_server_requires_and_suggests(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", f"{COLUMNS}, tags ARRAY<STRUCT<a: INT, m: MAP<STRING, DECIMAL(10, 2)>>>", ["name"])
    entry = server.table("main.db.t")
    assert {"catalogManaged", "v2Checkpoint", "rowTracking"} <= set(table.protocol.writer_features or ())
    assert "inCommitTimestamp" not in (table.protocol.reader_features or ())
    assert table.properties["io.unitycatalog.tableId"] == entry.uuid
    assert table.properties["delta.columnMapping.mode"] == "name"
    assert not any(name.startswith("delta.feature.") for name in table.properties)
    assert {name: text for name, text in entry.properties.items() if name in table.properties} == dict(table.properties)
    assert entry.partition_columns == ["name"] and table.version == 0 == entry.latest
    tags = entry.columns["fields"][2]["type"]
    assert tags["element-type"]["fields"][1]["type"]["value-type"] == "decimal(10,2)"
    assert table.history()[0].operation_parameters["isManaged"] == "true"


def test_properties_of_the_user_come_before_suggested_ones_and_not_before_required_ones(cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS, properties={"delta.enableRowTracking": "false", "owner.team": "x"})
    assert (table.properties["delta.enableRowTracking"], table.properties["owner.team"]) == ("false", "x")
    with pytest.raises(ds.InvalidArgument, match=r"requires delta\.enableDeletionVectors=true of db\.u, not 'false'"):
        cat.create_table("db.u", COLUMNS, properties={"delta.enableDeletionVectors": "false"})
    assert not cat.table_exists("db.u")


def test_every_change_is_a_staged_commit_that_is_published_in_order(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1, 2, 3))
    table.delete("id = 1")
    table.update({"name": "'z'"}, where="id = 2")
    merge = table.merge(rows(3, 9), on="t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_delete().when_not_matched_insert_all().execute()
    table.alter(AddColumn("more", "INT"))
    table.restore(2)
    assert ids(table) == [2, 3] == ids(cat.load_table("db.t"))
    entry = server.table("main.db.t")
    assert (entry.latest, entry.commits, table.version) == (6, [], 6)
    assert log(table) == [f"{version:020}.json" for version in range(7)]
    commits = [each["commit"] for body in server.bodies for each in body["updates"] if each["action"] == "add-commit"]
    assert [each["version"] for each in commits] == [1, 2, 3, 4, 5, 6]
    assert sorted(each["file-name"] for each in commits) == log(table, "_staged_commits/*.json")
    for each in commits:
        published = Path(table.snapshot.root) / "_delta_log" / f"{each['version']:020}.json"
        assert each["file-size"] == published.stat().st_size
        info = json.loads(published.read_text().split("\n")[0])["commitInfo"]
        assert (info["inCommitTimestamp"], bool(info["txnId"])) == (each["timestamp"], True)


def test_the_metadata_of_the_catalog_follows_each_commit(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    entry = server.table("main.db.t")
    table.alter(AddColumn("c", "ARRAY<INT>"), SetProperty("k", "v"), SetComment("text"))
    assert [each["name"] for each in entry.columns["fields"]] == ["id", "name", "c"]
    assert (entry.properties["k"], entry.comment) == ("v", "text")
    table.alter(RemoveProperty("k"))
    assert "k" not in entry.properties
    table.append(rows(1, 2))
    assert entry.properties["delta.rowTracking.rowIdHighWaterMark"] == "1"
    assert entry.properties["delta.lastUpdateVersion"] == "3"
    table.alter(ClusterBy("id"))
    assert json.loads(entry.properties["delta.clusteringColumns"]) == [
        [table.schema.fields[0].metadata["delta.columnMapping.physicalName"]]
    ]
    assert entry.properties["delta.feature.clustering"] == "supported"


def test_rtas_is_one_commit_and_keeps_what_the_catalog_requires(server: UnityServer, cat: UnityCatalog) -> None:
    cat.create_table("db.t", COLUMNS, ["name"], properties={"mine": "1"}).append(rows(1))
    server.bodies.clear()
    with cat.stage_replace("db.t", "a INT, b STRING", ["b"], properties={"yours": "2"}) as staged:
        staged.append(pa.table({"a": pa.array([5], pa.int32()), "b": ["x"]}))
    entry, table = server.table("main.db.t"), cat.load_table("db.t")
    [body] = [each for each in server.bodies if any(update["action"] == "add-commit" for update in each["updates"])]
    actions = {each["action"]: each for each in body["updates"]}
    assert {"set-columns", "set-partition-columns", "set-properties", "remove-properties"} <= set(actions)
    assert actions["remove-properties"]["removals"] == ["mine"]
    assert "assert-etag" in [each["type"] for each in body["requirements"]]
    assert (table.version, entry.partition_columns, entry.properties["yours"]) == (2, ["b"], "2")
    assert table.properties["io.unitycatalog.tableId"] == entry.uuid
    assert ids(cat.load_table("db.t", version=1)) == [1]
    with pytest.raises(ds.InvalidArgument, match=r"requires delta\.checkpointPolicy=v2"):
        cat.stage_replace("db.t", COLUMNS, properties={"delta.checkpointPolicy": "classic"})


def test_reading_takes_the_commits_of_a_catalog_ahead_of_the_log(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    unpublish(server, table)
    reader = cat.load_table("db.t")
    assert (ids(reader), reader.version) == ([1], 1)
    assert reader.snapshot.segment.commits[-1].path.endswith(server.table("main.db.t").commits[0]["file-name"])
    assert reader.history()[0].version == 1


def unpublish(server: UnityServer, table: ds.DeltaTable, version: int = 1) -> None:
    """Undo what follows the commit of a version: the file is staged only, and the catalog lists it."""
    folder, entry = Path(table.snapshot.root) / "_delta_log", server.table("main.db.t")
    [staged] = (folder / "_staged_commits").glob(f"{version:020}.*.json")
    (folder / f"{version:020}.json").unlink()
    for crc in folder.glob(f"{version:020}.crc"):
        crc.unlink()
    size = staged.stat().st_size
    entry.commits = [
        {"version": version, "timestamp": 1, "file-name": staged.name, "file-size": size,
         "file-modification-timestamp": 1},
    ]  # fmt: skip


def test_the_catalog_s_commit_is_read_also_if_the_version_is_published(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    unpublish(server, table)
    published = Path(table.snapshot.root) / "_delta_log" / f"{1:020}.json"
    published.write_text("not what was ratified")
    assert ids(cat.load_table("db.t")) == [1]
    with pytest.warns(ds.MaintenanceWarning, match="is not the commit that the catalog of main.db.t has ratified"):
        cat.load_table("db.t").append(rows(2))
    assert ids(cat.load_table("db.t")) == [1, 2]


def test_files_of_versions_after_the_latest_are_ignored(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    table.append(rows(2))
    server.table("main.db.t").latest = 1
    assert ids(cat.load_table("db.t")) == [1]


def test_a_version_that_nobody_has_is_a_damaged_log(server: UnityServer, cat: UnityCatalog) -> None:
    cat.create_table("db.t", COLUMNS)
    server.table("main.db.t").latest = 3
    refuses(ds.CorruptLog, "says that version 3 is the latest, and neither the catalog nor", cat.load_table, "db.t")


def test_by_path_the_table_is_refused_and_the_message_names_the_catalog(cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    refuses(ds.UnsupportedFeature, r"cannot be opened by its path.*unity:URL.*load_table", ds.DeltaTable, table.uri)
    with pytest.raises(ds.UnsupportedFeature, match="catalogManaged"):
        ds.DeltaTable.create(
            Path(table.snapshot.root).parent / "u", COLUMNS, properties={"delta.feature.catalogManaged": "supported"}
        )


def test_two_writers_at_one_version_both_commit(server: UnityServer, cat: UnityCatalog) -> None:
    cat.create_table("db.t", COLUMNS)
    barrier = threading.Barrier(2)
    tables = [cat.load_table("db.t"), UnityCatalog(server.url, "main").load_table("db.t")]

    def meet(when: str, method: str, path: str, body: Any) -> None:
        updates = (body or {}).get("updates", ()) if when == "before" else ()
        if any(each["action"] == "add-commit" and each["commit"]["version"] == 1 for each in updates):
            barrier.wait(20)

    server.disturb = meet
    in_threads(lambda number: tables[number].append(rows(number)), range(2))
    table = cat.load_table("db.t")
    assert (table.version, ids(table)) == (2, [0, 1])
    assert len(log(table, "_staged_commits/*.json")) == 2
    assert log(table) == [f"{version:020}.json" for version in range(3)]


def test_a_commit_that_conflicts_with_the_winner_leaves_nothing(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1, 2))
    mine = cat.load_table("db.t").transaction(read="true")
    mine.append(rows(3))
    table.delete("id = 1")
    refuses(ds.CommitConflict, None, mine.commit)
    mine.discard()
    assert len(log(table, "_staged_commits/*.json")) == 2
    assert ids(cat.load_table("db.t")) == [2]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "error", [Lost(), Refusal(500, "CommitStateUnknownException", "who knows"), Refusal(503, "", "busy")], ids=repr
)
def test_a_lost_answer_is_looked_up_first(server: UnityServer, cat: UnityCatalog, when: str, error: Exception) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    Disturbance(server, when, error)
    server.requests.clear()
    table.append(rows(2))
    assert (ids(table), table.version) == ([1, 2], 2)
    assert ids(cat.load_table("db.t")) == [1, 2]
    assert len(log(table, "_staged_commits/*.json")) == 2
    posts = [index for index, each in enumerate(server.requests) if each == ("POST", PATH)]
    if when == "after":
        # One proposal and one publication; the look has found the commit.
        assert len(posts) == 2


def test_another_s_commit_after_a_lost_answer_is_no_commit_of_ours(server: UnityServer, cat: UnityCatalog) -> None:
    table, other = cat.create_table("db.t", COLUMNS), cat.load_table("db.t")

    def lose(when: str, method: str, path: str, body: Any) -> None:
        if when == "before" and method == "POST" and "add-commit" in str(body):
            server.disturb = lambda *_: None
            other.append(rows(7))
            raise Lost

    server.disturb = lose
    table.append(rows(1))
    assert (ids(table), table.version) == ([1, 7], 2)


def test_an_outcome_that_stays_unknown_is_said_and_deletes_nothing(
    server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.commits._PAUSE_SECONDS", 0)
    table = cat.create_table("db.t", COLUMNS)
    Disturbance(server, "after", Lost(), times=1)
    lost = server.disturb

    def silent(when: str, method: str, path: str, body: Any) -> None:
        if not isinstance(lost, Disturbance) or lost.left == 0:
            raise Refusal(503, "", "down")
        lost(when, method, path, body)

    server.disturb = silent
    monkeypatch.setattr("deltaskip.catalogs.unity.client._FIRST_PAUSE_SECONDS", 0)
    with pytest.raises(ds.CatalogError, match=r"not known whether the catalog has ratified version 1 of main\.db\.t"):
        table.append(rows(1))
    server.disturb = lambda *_: None
    assert ids(cat.load_table("db.t")) == [1]


def files(table: ds.DeltaTable) -> set[Path]:
    root = Path(table.snapshot.root)
    return {*root.rglob("*.parquet"), *(root / "_delta_log" / "_staged_commits").iterdir()}


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), ds.StorageError("full"), MemoryError()], ids=repr
)
@pytest.mark.parametrize("place", ["parsed_commit", "mirrored", "put_if_absent", "unreachable"])
@pytest.mark.long(gate=4)
def test_a_commit_that_was_not_proposed_leaves_no_file(
    server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch, place: str, error: Exception
) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    before, server.requests[:] = files(table), []

    with monkeypatch.context() as failing:
        if place in ("parsed_commit", "mirrored"):
            failing.setattr(f"deltaskip.catalogs.unity.commits.{place}", raising(error))
        elif place == "put_if_absent":
            failing.setattr(LocalStorage, place, raising(error))
        else:
            request = requests.Session.request

            def unreachable(session: requests.Session, method: str, *args: Any, **named: Any) -> Any:
                if method == "POST":
                    raise requests.exceptions.ConnectTimeout("no route")
                return request(session, method, *args, **named)

            failing.setattr("deltaskip.catalogs.unity.client._pause", lambda *_: False)
            failing.setattr(requests.Session, "request", unreachable)
        refuses(ds.DeltaSkipError, None, table.append, rows(2))
    assert files(table) == before and ("POST", PATH) not in server.requests
    table.append(rows(3))
    assert ids(cat.load_table("db.t")) == [1, 3]


def test_a_proposal_that_may_have_arrived_keeps_its_files_whatever_fails_after_it(
    server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.commits._PAUSE_SECONDS", 0)
    table = cat.create_table("db.t", COLUMNS)
    transaction = table.transaction()
    transaction.append(rows(1))
    with monkeypatch.context() as failing:
        failing.setattr("deltaskip.catalogs.unity.client._FIRST_PAUSE_SECONDS", 0)
        lost = Disturbance(server, "after", Lost())

        def silent(when: str, method: str, path: str, body: Any) -> None:
            if not lost.left:
                raise Refusal(503, "", "down")
            lost(when, method, path, body)

        server.disturb = silent
        refuses(ds.CatalogError, "not known whether the catalog has ratified version 1", transaction.commit)
        server.disturb = lambda *_: None
        failing.setattr("deltaskip.txn.commit_loop.read_winners", raising(ds.StorageError("slow")))
        # The second attempt surely fails, which says nothing about the first.
        failing.setattr(LocalStorage, "put_if_absent", raising(OSError(28, "full")))
        refuses(ds.DeltaSkipError, None, transaction.commit)
    transaction.discard()
    assert ids(cat.load_table("db.t")) == [1]


def test_a_commit_of_an_external_table_that_the_disk_refuses_leaves_no_file(
    cat: UnityCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cat.create_table("db.e", COLUMNS, properties={"location": str(tmp_path / "e")})
    table.append(rows(1))
    before = set((tmp_path / "e").rglob("*.parquet"))
    with monkeypatch.context() as failing:
        failing.setattr(LocalStorage, "put_if_absent", raising(OSError(28, "full")))
        refuses(ds.StorageError, None, table.append, rows(2))
    assert set((tmp_path / "e").rglob("*.parquet")) == before


def test_after_ten_commits_that_another_client_left_the_next_one_publishes(
    server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cat.create_table("db.t", COLUMNS, properties={"delta.checkpointInterval": "100"})
    with monkeypatch.context() as without:
        without.setattr("deltaskip.catalogs.unity.commits.ManagedLog.after_commit", lambda *_: None)
        for number in range(MOST_UNPUBLISHED):
            table.append(rows(number))
        assert len(server.table("main.db.t").commits) == MOST_UNPUBLISHED
        assert log(table) == [f"{0:020}.json"]
        assert ids(cat.load_table("db.t")) == list(range(10))
    cat.load_table("db.t").append(rows(10))
    assert server.table("main.db.t").commits == []
    assert ids(cat.load_table("db.t")) == list(range(11))
    assert log(table) == [f"{version:020}.json" for version in range(12)]


def test_a_stale_etag_is_renewed_if_the_version_is_still_free(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)

    def change(when: str, method: str, path: str, body: Any) -> None:
        if when == "before" and method == "POST" and "add-commit" in str(body):
            server.disturb = lambda *_: None
            server.table("main.db.t").updates += 1

    server.disturb = change
    table.alter(SetProperty("k", "v"))
    assert server.table("main.db.t").properties["k"] == "v"
    tags = [each["etag"] for body in server.bodies for each in body["requirements"] if each["type"] == "assert-etag"]
    assert len(set(tags)) == len(tags) == 2


def test_a_table_of_the_same_name_that_took_its_place_is_not_written_to(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    cat.drop_table("db.t")
    refuses(ds.TableNotFound, r"main\.db\.t was dropped or renamed in its catalog", table.append, rows(1))
    other = cat.create_table("db.t", COLUMNS)
    refuses(ds.TableNotFound, r"main\.db\.t was replaced by another table", table.append, rows(1))
    assert ids(other.refresh()) == []


def test_the_server_s_refusal_of_a_commit_leaves_nothing(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    Disturbance(server, "before", Refusal(403, "PermissionDeniedException", "no MODIFY"))
    before = sorted(path for path in server.root.rglob("*") if path.is_file())
    with pytest.raises(ds.InvalidCommit, match=r"refused version 1 of main\.db\.t: .*403 PermissionDenied.*no MODIFY"):
        table.append(rows(1))
    assert sorted(path for path in server.root.rglob("*") if path.is_file()) == before


def test_what_the_catalog_knows_the_table_by_cannot_be_changed(cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    with pytest.raises(ds.InvalidCommit, match=r"changes the property io\.unitycatalog\.tableId"):
        table.alter(SetProperty("io.unitycatalog.tableId", "x"))
    with pytest.raises(ds.InvalidCommit, match=r"changes the property delta\.checkpointPolicy, which .* to be 'v2'"):
        table.alter(RemoveProperty("delta.checkpointPolicy"))
    refuses(ds.InvalidCommit, "requires", table.drop_feature, "deletionVectors")
    refuses(ds.DeltaSkipError, None, lambda: table.alter(SetProperty("delta.enableInCommitTimestamps", "false")))
    assert table.refresh().version == 0


def test_the_change_feed_has_the_commits_that_the_catalog_has(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS, properties={"delta.enableChangeDataFeed": "true"})
    for first in range(4):
        table.append(rows(first))
    table.delete("id = 2")
    for opened in (table, cat.load_table("db.t")):
        for start, changed in ((0, [0, 1, 2, 2, 3]), (3, [2, 2, 3]), (5, [2])):
            assert sorted(opened.changes(start).to_arrow()["id"].to_pylist()) == changed


def test_rule_68_maintenance_needs_the_catalog_s_permission(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    for number in range(3):
        table.append(rows(number))
    for act in (table.optimize, table.vacuum, table.clean_up_log):
        refuses(ds.UnsupportedFeature, "does not permit", act)
    server.permitted = ["DATA_REORGANIZATION", "DATA_CLEANUP", "METADATA_CLEANUP"]
    table = cat.load_table("db.t")
    assert table.optimize().version == 4
    assert table.vacuum().version == 6
    assert table.clean_up_log() == []
    assert ids(cat.load_table("db.t")) == [0, 1, 2]


def test_checkpoints_are_of_published_versions_and_not_necessary_to_read(
    server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cat.create_table("db.t", COLUMNS, properties={"delta.checkpointInterval": "3"})
    for number in range(4):
        table.append(rows(number))
    assert [name[:20] for name in log(table, "*.checkpoint.*")] == [f"{3:020}"]
    with monkeypatch.context() as without:
        without.setattr("deltaskip.catalogs.unity.commits.ManagedLog.after_commit", lambda *_: None)
        table.append(rows(4))
    assert f"{5:020}.json" not in log(table)
    table = cat.load_table("db.t")
    table.checkpoint()
    assert f"{5:020}.json" in log(table)
    assert server.table("main.db.t").commits == []
    assert ids(cat.load_table("db.t")) == [0, 1, 2, 3, 4]


def test_a_published_commit_is_read_when_the_staged_one_is_gone(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    unpublish(server, table)
    reader = cat.load_table("db.t")
    table.append(rows(2))
    for staged in (Path(table.snapshot.root) / "_delta_log" / "_staged_commits").glob("*"):
        staged.unlink()
    reader.delete("id = 1")
    assert ids(reader) == [2]


def test_log_clean_up_deletes_staged_commits_that_a_checkpoint_replaces(server: UnityServer, cat: UnityCatalog) -> None:
    from deltaskip.log.cleanup import clean_up_log

    server.permitted = ["METADATA_CLEANUP"]
    table = cat.create_table("db.t", COLUMNS)
    for number in range(3):
        table.append(rows(number))
    table.checkpoint()
    deleted = clean_up_log(table.snapshot, kept_for_ms=-3_600_000)
    assert sum(name.startswith("_staged_commits/") for name in deleted) == 3
    table.append(rows(3))
    assert ids(cat.load_table("db.t")) == [0, 1, 2, 3]


def test_loading_asks_the_server_once(server: UnityServer, cat: UnityCatalog) -> None:
    cat.create_table("db.t", COLUMNS).append(rows(1))
    server.requests.clear()
    assert ids(cat.load_table("db.t")) == [1]
    assert server.requests == [("GET", PATH)]
    server.requests.clear()
    cat.load_table("db.t", version=0)
    assert server.requests == [("GET", PATH)]


def test_a_refresh_after_a_publication_reads_no_commit_again(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    unpublish(server, table)
    reader = cat.load_table("db.t")
    before = reader.snapshot
    table.append(rows(2))
    assert reader.refresh().snapshot.tail is not before.tail
    assert reader.snapshot.segment.commits[: len(before.segment.commits)] == before.segment.commits
    assert ids(reader) == [1, 2]


def test_a_clone_is_a_table_of_its_own(cat: UnityCatalog, tmp_path: Path) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1))
    copy = table.clone(str(tmp_path / "copy"))
    assert ids(copy) == [1]
    assert "io.unitycatalog.tableId" not in copy.properties
    copy.append(rows(2))
    assert ids(ds.DeltaTable(tmp_path / "copy")) == [1, 2]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", range(3))
def test_writers_on_a_bad_network_commit_every_row_once(
    server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.commits._PAUSE_SECONDS", 0.002)
    monkeypatch.setattr("deltaskip.catalogs.unity.client._FIRST_PAUSE_SECONDS", 0.002)
    cat.create_table("db.t", COLUMNS, properties={"delta.checkpointInterval": "4"})
    chance, failed = random.Random(seed), list[BaseException]()

    def disturb(when: str, method: str, path: str, body: Any) -> None:
        if chance.random() < 0.15:
            raise chance.choice(
                [Lost(), Refusal(500, "CommitStateUnknownException", "x"), Refusal(503, "", "x"),
                 Refusal(429, "TooManyRequestsException", "x")]
            )  # fmt: skip

    def work(number: int) -> None:
        try:
            table = UnityCatalog(server.url, "main").load_table("db.t")
            for each in range(4):
                # A publication that failed is made up for by the next commit.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ds.MaintenanceWarning)
                    table.append(rows(10 * number + each), txn=(f"writer {number}", each))
        except BaseException as error:
            failed.append(error)

    server.disturb = disturb
    in_threads(work, range(3))
    server.disturb = lambda *_: None
    unknown = [error for error in failed if not isinstance(error, ds.CatalogError)]
    assert unknown == []
    table = cat.load_table("db.t")
    found = ids(table)
    # A writer that was told that the outcome is unknown has stopped; what it had written is there once or not at all.
    assert len(found) == len(set(found)) == table.version
    assert len(found) == 12 or failed
    table.append(rows(99))
    assert log(table) == [f"{version:020}.json" for version in range(table.version + 1)]


LONG = "x" * 256


def test_what_the_server_cannot_keep_is_refused_first(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    table = cat.create_table("db.t", COLUMNS, properties={"owner": LONG[1:]})
    place = str(tmp_path / "elsewhere")
    for given in ({"note": LONG}, {LONG: "v"}):
        described = {"db.m": given, "db.e": {**given, "location": place}}
        for ident, properties in described.items():
            with pytest.raises(ds.InvalidArgument, match="too long for Unity Catalog, which keeps at most 255"):
                cat.create_table(ident, COLUMNS, properties=properties)
            with pytest.raises(ds.InvalidArgument, match="too long for Unity Catalog"):
                cat.stage_create(ident, COLUMNS, properties=properties)
        for act in (
            lambda given=given: table.alter(*(SetProperty(*each) for each in given.items())),
            lambda given=given: cat.stage_replace("db.t", COLUMNS, properties=given),
            lambda given=given: cat.create_namespace("long", given),
            lambda given=given: cat.alter_namespace("db", *(SetProperty(*each) for each in given.items())),
        ):
            refuses(ds.InvalidArgument, "too long for Unity Catalog", act)
    assert not Path(place).exists() and not cat.namespace_exists("long")
    assert server.table("main.db.t").latest == 0
    assert not any((Path(table.snapshot.root) / "_delta_log" / "_staged_commits").glob("*.json"))
    assert [str(each) for each in cat.list_tables("db")] == ["db.t"]


def test_the_log_keeps_properties_the_server_cannot(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    table = cat.create_table("db.e", COLUMNS, properties={"location": str(tmp_path / "e")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.alter(SetProperty("note", LONG), SetProperty("short", "s"))
    kept = server.table("main.db.e").properties
    assert table.properties["note"] == LONG and kept["short"] == "s" and "note" not in kept
    other = ds.DeltaTable.create(tmp_path / "f", COLUMNS, properties={"note": LONG})
    refuses(ds.InvalidArgument, r"the property note of db\.f is too long", cat.register_table, "db.f", other.uri)
    assert not cat.table_exists("db.f")


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("error", [Lost(), Refusal(503, "ServiceUnavailable", "busy")], ids=["lost", "503"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_place_of_a_new_table_is_asked(server: UnityServer, cat: UnityCatalog, error: Exception, when: str) -> None:
    left = [1]

    def disturb(now: str, method: str, path: str, body: Any) -> None:
        if now == when and method == "POST" and path.endswith("/staging-tables") and left:
            left.clear()
            raise error

    server.disturb = disturb
    cat.create_table("db.t", COLUMNS).append(rows(1))
    assert not left and ids(cat.load_table("db.t")) == [1]


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("kind", ["view", "volume"])
def test_a_namespace_is_dropped_by_one_request_or_not_at_all(server: UnityServer, cat: UnityCatalog, kind: str) -> None:
    cat.create_namespace("n")
    for name in ("a", "b"):
        cat.create_table(f"n.{name}", COLUMNS).append(rows(1))
    left = [Refusal(403, "PERMISSION_DENIED", f"no right to drop a {kind}")]

    def disturb(now: str, method: str, path: str, body: Any) -> None:
        if now == "before" and method == "DELETE" and left:
            raise left.pop()

    server.disturb = disturb
    refuses(ds.CatalogError, "no right to drop", cat.drop_namespace, "n", cascade=True)
    assert ids(cat.load_table("n.a")) == [1] == ids(cat.load_table("n.b"))
    deletes = server.count("DELETE", "")
    assert cat.drop_namespace("n", cascade=True) and not cat.namespace_exists("n")
    assert server.count("DELETE", "") == deletes + 1


def test_a_pickled_table_has_no_token(server: UnityServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server.token = "sEcReT-token"
    mine = UnityCatalog(server.url, "main", "sEcReT-token", {"aws_secret_access_key": "sEcReT-key"})
    place = str(tmp_path / "e")
    for table in (mine.create_table("db.t", COLUMNS), mine.create_table("db.e", COLUMNS, (), {"location": place})):
        table.append(rows(1, 2))
        pickled, whole = pickle.dumps([table, table.scan("id = 2")]), pickle.dumps(table.with_secrets())
        assert b"sEcReT" not in pickled and b"sEcReT-token" in whole and b"sEcReT-key" in whole
        assert ids(pickle.loads(whole)) == [1, 2]
        again, scan = pickle.loads(pickled)
        refuses(ds.StorageError, "does not contain the token of the catalog, aws_secret_access_key", again.refresh)
        monkeypatch.setenv("DELTASKIP_CATALOG__MAIN__TOKEN", "sEcReT-token")
        assert ids(again) == [1, 2] and scan.to_arrow()["id"].to_pylist() == [2]
        again.append(rows(3))
        assert ids(table.refresh()) == [1, 2, 3]
        monkeypatch.delenv("DELTASKIP_CATALOG__MAIN__TOKEN")
    pickled = pickle.dumps(mine.load_table("db.t").with_secrets())
    mine.drop_table("db.t")
    mine.create_table("db.t", COLUMNS).append(rows(9))
    refuses(ds.TableNotFound, "replaced by another table in its catalog", lambda: pickle.loads(pickled).refresh())


def test_trees_are_commits_through_the_catalog(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    first = Path(table.snapshot.root) / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in first.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        for name in ("readerFeatures", "writerFeatures"):
            if "protocol" in action:
                action["protocol"][name].append("adaptiveMetadata-preview")
    first.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
    first.with_suffix(".crc").unlink(missing_ok=True)
    table = cat.load_table("db.t")
    table.append(rows(1, 2, 3))
    stale = cat.load_table("db.t")
    written = table.checkpoint()
    assert (written.version, table.version, server.table("main.db.t").latest) == (1, 2, 2)
    stale.append(rows(4))
    assert ids(table.refresh()) == ids(cat.load_table("db.t")) == [1, 2, 3, 4]
    table.delete("id IN (2, 4)")
    assert table.checkpoint().version == 4 and ids(cat.load_table("db.t")) == [1, 3]
    opened = cat.load_table("db.t").snapshot
    assert opened.checkpoint is not None and opened.checkpoint.version == 4
    assert log(table, "_staged_commits/*.json") and not log(table, "*.checkpoint*")
