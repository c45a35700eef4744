"""Several processes with one catalog, and processes that are killed at each step of a change."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip import CatalogIdentifier, DeltaTable
from deltaskip.catalogs.database import SqlCatalog
from deltaskip.catalogs.located import TableEntry
from tests.catalogs.database.writers import changing, race
from tests.dml.tables import ids_of
from tests.docs.generated import ROOT
from tests.extent import TIME_LIMIT_SECONDS, extent
from tests.txn.killed import steps_of

TURNS = extent(4, 12)
GONE = "TableNotFound"
TAKEN = "TableAlreadyExists"


def played(catalog: SqlCatalog, url: str, act: str) -> list[list[str]]:
    assert catalog.warehouse is not None
    return race(url, catalog.warehouse, act, TURNS)


def tables_on_disk(catalog: SqlCatalog) -> set[str]:
    assert catalog.warehouse is not None
    return {f"file://{top}" for top, inside, _ in os.walk(catalog.warehouse) if "_delta_log" in inside}


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("act", ["create", "ctas"])
def test_of_two_that_create_one_table_one_wins(url: str, catalog: SqlCatalog, act: str) -> None:
    turns = played(catalog, url, act)
    assert all(sorted(turn) == ["None", TAKEN] for turn in turns), turns
    tables = [catalog.load_table(ident) for ident in catalog.list_tables("db")]
    assert len(tables) == TURNS
    assert {table.uri for table in tables} == tables_on_disk(catalog)


def test_of_two_that_create_one_namespace_one_wins(url: str, catalog: SqlCatalog) -> None:
    turns = played(catalog, url, "add_namespace")
    assert all(sorted(turn) == ["NamespaceAlreadyExists", "None"] for turn in turns), turns
    for i, turn in enumerate(turns):
        assert catalog.load_namespace(f"ns{i}") == {"who": str(turn.index("None"))}


def _with_tables(catalog: SqlCatalog, writers: int = 1) -> None:
    for who in range(writers):
        for turn in range(TURNS):
            catalog.create_table(f"db.from{who}_{turn}", "id BIGINT")


def test_of_two_that_rename_to_one_name_one_wins(url: str, catalog: SqlCatalog) -> None:
    _with_tables(catalog, 2)
    turns = played(catalog, url, "move_to_one_name")
    assert all(sorted(turn) == ["None", TAKEN] for turn in turns), turns
    for i, turn in enumerate(turns):
        assert catalog.table_exists(f"db.t{i}")
        assert catalog.table_exists(f"db.from{turn.index(TAKEN)}_{i}")


def test_of_two_that_rename_one_table_one_wins(url: str, catalog: SqlCatalog) -> None:
    _with_tables(catalog)
    turns = played(catalog, url, "move_one_table")
    assert all(sorted(turn) == ["None", GONE] for turn in turns), turns
    assert len(catalog.list_tables("db")) == TURNS


def test_of_two_that_drop_one_table_one_does(url: str, catalog: SqlCatalog) -> None:
    _with_tables(catalog)
    turns = played(catalog, url, "drop")
    assert all(sorted(turn) == ["False", "True"] for turn in turns), turns
    assert (catalog.list_tables("db"), tables_on_disk(catalog)) == ([], set())


def test_a_table_is_dropped_or_renamed_with_its_files(url: str, catalog: SqlCatalog) -> None:
    _with_tables(catalog)
    turns = played(catalog, url, "drop_or_move")
    assert all(turn in (["None", "False"], [GONE, "True"]) for turn in turns), turns
    assert {catalog.load_table(ident).uri for ident in catalog.list_tables("db")} == tables_on_disk(catalog)


@pytest.mark.long(gate=1)
def test_a_namespace_is_dropped_or_gets_a_table(url: str, catalog: SqlCatalog) -> None:
    for turn in range(TURNS):
        catalog.create_namespace(f"ns{turn}")
    turns = played(catalog, url, "drop_namespace_or_fill_it")
    for i, (created, dropped) in enumerate(turns):
        kept = dropped == "NamespaceNotEmpty"
        assert kept or (created, dropped) == ("NamespaceNotFound", "True"), turns
        assert catalog.namespace_exists(f"ns{i}") == kept
        assert not kept or catalog.load_table(f"ns{i}.t").uri == created
    assert len(tables_on_disk(catalog)) == sum(dropped != "True" for _, dropped in turns)


def test_a_new_database_is_set_up_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new"
    assert race(url, str(tmp_path), "open_first", 6, processes=3) == [["None"] * 3] * 6
    for turn in range(6):
        assert SqlCatalog(f"{url}{turn}").list_namespaces() == [("n0",), ("n1",), ("n2",)]


def files(table: DeltaTable) -> int:
    return table.snapshot.num_files


def killed(catalog: SqlCatalog, url: str, kind: str) -> list[str]:
    """The steps at which writers were killed; the last one came to its end."""
    assert catalog.warehouse is not None
    return steps_of(changing, url, catalog.warehouse, kind)


@pytest.mark.long
def test_rows_and_name_of_a_killed_creation_are_there_or_neither_is(url: str, catalog: SqlCatalog) -> None:
    steps = killed(catalog, url, "ctas")
    assert {"linked", "row written", "row committed"} <= set(steps)
    found = [catalog.table_exists(f"db.t{stop}") for stop in range(len(steps))]
    # The name is there from the commit of the row on, and never before.
    assert found == [stop >= steps.index("row committed") for stop in range(len(steps))]
    for stop, exists in enumerate(found):
        if not exists:
            with catalog.stage_create(f"db.t{stop}", "id BIGINT", properties={"new": "1"}) as staged:
                staged.append(pa.table({"id": [1, 2, 3]}))
        table = catalog.load_table(f"db.t{stop}")
        assert (table.version, ids_of(table), table.properties["new"]) == (0, [1, 2, 3], "1"), steps[stop]
    assert catalog.drop_namespace("db", cascade=True)


@pytest.mark.long(gate=1)
def test_a_killed_replacement_has_replaced_everything_or_nothing(url: str, catalog: SqlCatalog) -> None:
    steps = killed(catalog, url, "rtas")
    before = 0
    for stop in range(len(steps)):
        table = catalog.load_table(f"db.t{stop}")
        names = [field.name for field in table.schema.fields]
        if table.version == 1:
            before += 1
            assert (names, files(table), table.properties.get("new")) == (["old"], 1, None), steps[stop]
        else:
            assert (table.version, names, ids_of(table), table.properties["new"]) == (2, ["id"], [1, 2, 3], "1")
            assert files(catalog.load_table(f"db.t{stop}", version=1)) == 1
    assert 0 < before < len(steps)


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("kind", ["drop", "rename"])
def test_a_killed_drop_or_rename_leaves_no_name_without_a_table(url: str, catalog: SqlCatalog, kind: str) -> None:
    for stop in range(extent(12, 40)):
        catalog.create_table(f"db.old{stop}", "id BIGINT")
    steps = killed(catalog, url, kind)
    assert "row committed" in steps
    for stop, step in enumerate(steps):
        old, new = catalog.table_exists(f"db.old{stop}"), catalog.table_exists(f"db.t{stop}")
        done = stop >= steps.index("row committed")
        assert (old, new) == (not done, done and kind == "rename"), step
    for ident in catalog.list_tables("db"):
        assert catalog.load_table(ident).version == 0


CHILD = """
import sys
from deltaskip import CatalogIdentifier
from deltaskip.catalogs.database import SqlCatalog
from tests.forks import in_child

catalog, entry = SqlCatalog(*sys.argv[1:]), CatalogIdentifier(("db",), "t")
assert catalog.find_entry(entry) is not None
assert in_child(lambda: catalog.find_entry(entry) is not None and catalog.list_namespaces() == [("db",)]) == 0
assert catalog.list_namespaces() == [("db",)]
"""


def test_a_child_process_uses_connections_of_its_own(url: str, catalog: SqlCatalog, tmp_path: Path) -> None:
    catalog.add_entry(TableEntry(CatalogIdentifier(("db",), "t"), str(tmp_path)))
    command = [sys.executable, "-c", CHILD, url, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=TIME_LIMIT_SECONDS)
    assert not DeltaTable.exists(tmp_path)
