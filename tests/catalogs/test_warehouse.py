"""What is particular to warehouses: folders, writers at the same time, and what other programs leave in them."""

import json
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.catalogs.warehouse import WarehouseCatalog, folder_name, name_of
from deltaskip.storage import LocalStorage
from tests.catalogs.contract import NUMBERS, SCHEMA
from tests.dml.tables import ids_of
from tests.each import refuses
from tests.extent import extent
from tests.looped import looped
from tests.noted import noted


@pytest.fixture
def warehouse(tmp_path: Path) -> WarehouseCatalog:
    catalog = WarehouseCatalog(tmp_path / "wh")
    catalog.create_namespace("db")
    return catalog


@looped(
    "name, folder",
    [
        ("orders", "orders"), ("a.b", "a%2Eb"), ("_x", "%5Fx"), ("x_y", "x_y"), ("A", "%41"), ("%41", "%2541"),
        ("é", "%C3%A9"),
    ],
)  # fmt: skip
def test_names_of_folders(name: str, folder: str) -> None:
    assert folder_name(name) == folder
    assert name_of(folder) == name


@looped("folder", ["_x", "A", ".x", "%2e", "%41%", "%FF", "a b", "", "%61"])
def test_folders_that_stand_for_no_name(folder: str) -> None:
    assert name_of(folder) is None


def test_a_name_that_is_too_long_is_refused(warehouse: WarehouseCatalog) -> None:
    refuses(ds.InvalidArgument, "too long", warehouse.create_table, ("db", "ä" * 100), SCHEMA)


def test_the_folders_are_those_of_the_documentation(warehouse: WarehouseCatalog, tmp_path: Path) -> None:
    warehouse.create_table("db.orders", SCHEMA)
    ds.DeltaTable.create(tmp_path / "elsewhere", SCHEMA)
    warehouse.register_table("db.again", str(tmp_path / "elsewhere"))
    found = {str(path.relative_to(tmp_path / "wh")) for path in (tmp_path / "wh").rglob("*") if path.suffix == ".json"}
    log = "db/orders/_delta_log/00000000000000000000.json"
    assert found == {"db/_namespace.json", log, "db/again.table.json"}
    assert json.loads((tmp_path / "wh/db/again.table.json").read_text()) == {"location": str(tmp_path / "elsewhere")}


def test_a_folder_with_tables_is_a_namespace(tmp_path: Path) -> None:
    ds.DeltaTable.create(tmp_path / "sales" / "eu" / "orders", SCHEMA)
    (tmp_path / "sales" / "nothing" / "day=1").mkdir(parents=True)
    warehouse = WarehouseCatalog(tmp_path)
    assert warehouse.list_namespaces() == [("sales",)]
    assert warehouse.list_namespaces("sales") == [("sales", "eu")]
    assert warehouse.load_table("sales.eu.orders").version == 0
    assert not warehouse.namespace_exists("sales.nothing")
    warehouse.alter_namespace("sales", ds.SetProperty("k", "v"))
    assert warehouse.load_namespace("sales") == {"k": "v"}


def test_a_table_whose_first_commits_were_deleted_exists(warehouse: WarehouseCatalog, tmp_path: Path) -> None:
    table = warehouse.create_table("db.t", SCHEMA)
    table.append(NUMBERS)
    table.checkpoint()
    (tmp_path / "wh/db/t/_delta_log/00000000000000000000.json").unlink()
    assert warehouse.table_exists("db.t")
    assert [str(ident) for ident in warehouse.list_tables("db")] == ["db.t"]
    assert ids_of(warehouse.load_table("db.t")) == [1, 2, 3]
    refuses(ds.TableAlreadyExists, None, warehouse.create_table, "db.t", SCHEMA)
    assert warehouse.drop_table("db.t")


def test_a_late_commit_to_a_dropped_table_does_not_come_back(warehouse: WarehouseCatalog, tmp_path: Path) -> None:
    log = tmp_path / "wh/db/t/_delta_log"
    late = warehouse.create_table("db.t", SCHEMA)
    late.append(NUMBERS)
    commit = (log / "00000000000000000001.json").read_bytes()
    warehouse.drop_table("db.t")
    log.mkdir(parents=True)
    (log / "00000000000000000001.json").write_bytes(commit)
    assert not warehouse.table_exists("db.t") and warehouse.list_tables("db") == []
    table = warehouse.create_table("db.t", "x INT")
    assert (table.version, len(table.schema.fields)) == (0, 1)


def test_a_table_and_a_namespace_do_not_share_a_folder(warehouse: WarehouseCatalog) -> None:
    warehouse.create_namespace("db.inner")
    warehouse.create_table("db.t", SCHEMA)
    refuses(ds.TableAlreadyExists, "namespace", warehouse.create_table, "db.inner", SCHEMA)
    refuses(ds.TableAlreadyExists, "namespace", warehouse.rename_table, "db.t", "db.inner")
    refuses(ds.NamespaceAlreadyExists, "table", warehouse.create_namespace, "db.t")
    assert warehouse.load_table("db.t").version == 0
    assert not warehouse.namespace_exists("db.t")


def test_files_of_an_unfinished_creation_keep_their_namespace(warehouse: WarehouseCatalog, tmp_path: Path) -> None:
    warehouse.create_table("db.t", SCHEMA)
    staged = warehouse.stage_create("db.u", SCHEMA)
    staged.append(NUMBERS)
    refuses(ds.TableAlreadyExists, "being created", warehouse.rename_table, "db.t", "db.u")
    warehouse.drop_table("db.t")
    refuses(ds.NamespaceNotEmpty, "being created", warehouse.drop_namespace, "db")
    assert ids_of(staged.commit_staged_changes()) == [1, 2, 3]


def test_a_damaged_file_is_named(warehouse: WarehouseCatalog, tmp_path: Path) -> None:
    pointer, marker = tmp_path / "wh/db/t.table.json", tmp_path / "wh/db/_namespace.json"
    for text in ("{", "[]", "{}", '{"location": 5}'):
        pointer.write_text(text)
        refuses(ds.CatalogError, r"t\.table\.json", warehouse.load_table, "db.t")
    for text in ("{", "[]", '{"properties": 5}', '{"properties": {"a": 5}}'):
        marker.write_text(text)
        refuses(ds.CatalogError, r"_namespace\.json", warehouse.load_namespace, "db")


def test_a_registered_table_whose_files_are_gone_is_not_found(warehouse: WarehouseCatalog, tmp_path: Path) -> None:
    ds.DeltaTable.create(tmp_path / "t", SCHEMA)
    warehouse.register_table("db.t", str(tmp_path / "t"))
    shutil.rmtree(tmp_path / "t")
    refuses(ds.TableNotFound, None, warehouse.load_table, "db.t")
    assert warehouse.drop_table("db.t", purge=True)


def raced(*acts: Callable[[], Any]) -> list[Any]:
    """What each of several threads that start together returned or raised."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return act()
        except ds.DeltaSkipError as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


@pytest.mark.parametrize("attempt", range(extent(2, 5)))
def test_of_many_that_create_one_name_one_wins(warehouse: WarehouseCatalog, attempt: int) -> None:
    def create(number: int) -> Callable[[], Any]:
        def act() -> ds.DeltaTable:
            with warehouse.stage_create("db.t", f"id BIGINT, name STRING, c{number} INT", ["name"]) as staged:
                staged.append(NUMBERS)
            return warehouse.load_table("db.t")

        return act

    found = raced(*(create(number) for number in range(4)))
    assert sum(isinstance(each, ds.DeltaTable) for each in found) == 1
    assert all(isinstance(each, ds.DeltaTable | ds.TableAlreadyExists) for each in found), found
    assert ids_of(warehouse.load_table("db.t")) == [1, 2, 3]


@pytest.mark.parametrize("attempt", range(extent(2, 5)))
def test_of_many_that_rename_one_wins(warehouse: WarehouseCatalog, attempt: int) -> None:
    warehouse.create_table("db.t", SCHEMA)
    found = raced(*(lambda n=n: warehouse.rename_table("db.t", f"db.n{n}") for n in range(4)))
    assert found.count(None) == 1 and all(each is None or isinstance(each, ds.TableNotFound) for each in found)
    assert len(warehouse.list_tables("db")) == 1


@pytest.mark.parametrize("attempt", range(extent(2, 5)))
def test_of_many_that_take_one_name_one_wins(warehouse: WarehouseCatalog, tmp_path: Path, attempt: int) -> None:
    for number in range(3):
        warehouse.create_table(f"db.m{number}", SCHEMA)
    ds.DeltaTable.create(tmp_path / "outside", SCHEMA)
    warehouse.register_table("db.r", str(tmp_path / "outside"))
    names = ["m0", "m1", "m2", "r"]
    found = raced(*(lambda name=name: warehouse.rename_table(f"db.{name}", "db.t") for name in names))
    assert all(each is None or isinstance(each, ds.TableAlreadyExists) for each in found), found
    assert found.count(None) <= 1
    # Two that meet may both give way, but no table is lost, and no name has two.
    left = [ident.name for ident in warehouse.list_tables("db")]
    assert len(left) == 4 and len(set(left)) == 4


@pytest.mark.parametrize("attempt", range(extent(2, 5)))
def test_of_many_drops_one_finds_the_table(warehouse: WarehouseCatalog, attempt: int) -> None:
    warehouse.create_table("db.t", SCHEMA).append(NUMBERS)
    assert sorted(raced(*(lambda: warehouse.drop_table("db.t") for _ in range(4)))) == [False, False, False, True]
    assert warehouse.drop_namespace("db")


@pytest.mark.parametrize("attempt", range(extent(2, 5)))
def test_two_that_alter_one_table_follow_each_other_or_conflict(warehouse: WarehouseCatalog, attempt: int) -> None:
    warehouse.create_table("db.t", SCHEMA)
    acts = [lambda n=n: warehouse.alter_table("db.t", ds.AddColumn(f"c{n}", "INT")) for n in range(3)]
    found = raced(*acts)
    done = [number for number, each in enumerate(found) if isinstance(each, ds.DeltaTable)]
    assert done and all(isinstance(each, ds.DeltaTable | ds.CommitConflict) for each in found), found
    table = warehouse.load_table("db.t")
    assert {f"c{number}" for number in done} == {field.name for field in table.schema.fields} - {"id", "name"}
    assert table.version == len(done)


def test_listing_reads_each_folder_once(warehouse: WarehouseCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        warehouse.create_table(f"db.t{number}", SCHEMA)
    storage, listed = warehouse._storage, []
    original = type(storage).list_from
    monkeypatch.setattr(
        type(storage), "list_from", lambda self, folder, start: listed.append(folder) or original(self, folder, start)
    )
    assert len(warehouse.list_tables("db")) == 5
    assert len(listed) == 1


@pytest.mark.parametrize("left", ["_last_checkpoint", f"{3:020d}.crc", f"{3:020d}.json"])
def test_files_of_a_late_writer_do_not_prevent_a_table(warehouse: WarehouseCatalog, tmp_path: Path, left: str) -> None:
    log = tmp_path / "wh/db/t/_delta_log"
    log.mkdir(parents=True)
    (log / left).write_text("{}")
    assert warehouse.create_table("db.t", SCHEMA).version == 0
    assert not (log / left).exists()


@pytest.mark.parametrize("act", ["rename", "drop"])
def test_a_commit_does_not_go_to_a_table_that_is_gone(warehouse: WarehouseCatalog, tmp_path: Path, act: str) -> None:
    late = warehouse.create_table("db.t", SCHEMA)
    transaction = late.transaction()
    transaction.alter(ds.AddColumn("c", "INT"))
    original = type(late.snapshot.storage).put_if_absent

    def put(storage: Any, *given: Any) -> None:
        if act == "rename":
            warehouse.rename_table("db.t", "db.u")
        else:
            warehouse.drop_table("db.t")
        original(storage, *given)

    with pytest.MonkeyPatch.context() as patched, pytest.raises(ds.DeltaSkipError):
        patched.setattr(type(late.snapshot.storage), "put_if_absent", put)
        transaction.commit()
    assert not (tmp_path / "wh/db/t").exists()
    assert [ident.name for ident in warehouse.list_tables("db")] == (["u"] if act == "rename" else [])


def test_show_tables_looks_only_where_names_match(warehouse: WarehouseCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sales", "Sales 2", "other"):
        warehouse.create_table(f"db.`{name}`", "id BIGINT")
    looked = noted(monkeypatch, LocalStorage, "exists", lambda _, path: path)
    found = warehouse.sql(None, "SHOW TABLES IN db LIKE 's*|nothing'").to_pylist()
    assert [row["tableName"] for row in found] == ["Sales 2", "sales"]
    assert not [path for path in looked if "/other/" in path]
    assert [ident.name for ident in warehouse.list_tables("db")] == ["Sales 2", "other", "sales"]
