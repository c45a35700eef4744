"""What a drop of a table deletes: its own folder, and never one that holds more than the table."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, StorageError
from deltaskip.storage import local
from tests.each import refuses


@pytest.fixture(autouse=True)
def deletes_stay_below_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the package does, these tests delete nothing outside of their own folder."""
    plain = local.delete_tree  # type: ignore[attr-defined]

    def guarded(path: str) -> None:
        own = str(tmp_path.resolve())
        assert path != own and str(Path(path).parent.resolve()).startswith(own), f"a test would delete {path}"
        plain(path)

    monkeypatch.setattr(local, "delete_tree", guarded)


def catalogs(top: Path) -> list[Any]:
    return [ds.catalog(f"warehouse:{top / 'wh'}"), ds.catalog(f"sql:sqlite:///{top / 'names.db'}")]


def test_a_purge_of_a_folder_that_holds_more_than_the_table_is_refused_and_the_entry_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "users" / "me"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (home / "notes.txt").write_text("mine")
    for at, catalog in enumerate(catalogs(tmp_path)):
        catalog.create_namespace("db")
        catalog.create_table("db.managed", "id INT")
        outer = tmp_path / f"outer{at}"
        ds.DeltaTable.create(outer / "inner", "id INT")
        places = [home, home.parent, outer]
        if at == 1:
            # Of another catalog.
            places += [tmp_path / "wh", tmp_path / "wh" / "db"]
        for number, place in enumerate(places):
            name = f"db.t{number}"
            if ds.DeltaTable.exists(place):
                catalog.register_table(name, str(place))
            else:
                catalog.create_table(name, "id INT", properties={"location": str(place)})
            refuses(StorageError, "Refused to delete", catalog.drop_table, name, purge=True)
            assert catalog.load_table(name).version == 0
            assert catalog.drop_table(name) and ds.DeltaTable.exists(place)
        assert catalog.load_table("db.managed").version == 0
    assert (home / "notes.txt").read_text() == "mine"


def test_a_purge_of_a_folder_that_is_no_table_any_more_is_refused_and_the_entry_stays(tmp_path: Path) -> None:
    for at, catalog in enumerate(catalogs(tmp_path)):
        catalog.create_namespace("db")
        place = tmp_path / f"documents{at}"
        catalog.create_table("db.t", "id INT", properties={"location": str(place)})
        shutil.rmtree(place)
        place.write_text("mine")
        refuses(StorageError, "not a Delta table", catalog.drop_table, "db.t", purge=True)
        place.unlink()
        (place / "photos").mkdir(parents=True)
        (place / "photos" / "keep.txt").write_text("mine")
        refuses(StorageError, "not a Delta table", catalog.drop_table, "db.t", purge=True)
        assert catalog.table_exists("db.t") and (place / "photos" / "keep.txt").read_text() == "mine"
        shutil.rmtree(place)
        assert catalog.drop_table("db.t", purge=True) and not catalog.table_exists("db.t")


def test_the_folder_of_a_table_gets_no_second_name_by_which_it_could_be_purged(tmp_path: Path) -> None:
    for catalog in catalogs(tmp_path):
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", "id INT")
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(table.snapshot.root)
        for place in (table.uri, table.snapshot.root, f"{table.snapshot.root}/", str(tmp_path / "link")):
            refuses(InvalidArgument, "a table has one name only", catalog.register_table, "db.alias", place)
        with pytest.raises(InvalidArgument, match="a table has one name only"):
            catalog.create_table("db.inside", "id INT", properties={"location": f"{table.snapshot.root}/_delta_log/x"})
        assert [str(ident) for ident in catalog.list_tables("db")] == ["db.t"]


def test_a_location_that_somebody_has_changed_does_not_lead_a_drop_elsewhere(tmp_path: Path) -> None:
    catalog: Any = ds.catalog(f"warehouse:{tmp_path / 'wh'}")
    catalog.create_namespace("db")
    catalog.create_table("db.t", "id INT", properties={"location": str(tmp_path / "own")})
    other = tmp_path / "documents"
    ds.DeltaTable.create(other / "deep" / "table", "id INT")
    (tmp_path / "link").symlink_to(other)
    [pointer] = (tmp_path / "wh" / "db").glob("*.table.json")
    for place in (str(other), f"{tmp_path}/own/../documents", f"file://{other}", f"{tmp_path}/own/../wh"):
        pointer.write_text(json.dumps({"location": place}))
        refuses(StorageError, "Refused to delete", catalog.drop_table, "db.t", purge=True)
    # Of a link the link goes.
    pointer.write_text(json.dumps({"location": str(tmp_path / "link")}))
    assert catalog.drop_table("db.t", purge=True)
    assert not (tmp_path / "link").is_symlink() and ds.DeltaTable.exists(other / "deep" / "table")
    assert ds.DeltaTable.exists(tmp_path / "own")
