"""Doors to tables in an object store and in Unity Catalog: no error of a library leaves them, nothing half-done stays.

`tests/test_doors.py` walks the doors of local tables.
"""

import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

import deltaskip as ds
from deltaskip.catalogs.unity import client, commits
from tests.catalogs.unity_server import UnityServer, unity_server
from tests.extent import extent
from tests.faults import ERRORS, PLACES, Below
from tests.storage.slow_s3 import SlowS3
from tests.test_doors import files_of, rows

obstore = pytest.importorskip("obstore")

Door = Callable[[Any], object]
STORE_S: list[Any] = [
    (obstore, each) for each in ("get", "get_range", "get_ranges", "head", "put", "delete", "list",
                                 "list_with_delimiter_async")
]  # fmt: skip
UNITY_S: list[Any] = [(requests.Session, "request")]
UNITY_ERRORS = {
    **ERRORS,
    "requests": lambda: requests.exceptions.ConnectionError("reset\nsecond"),
    "chunked": lambda: requests.exceptions.ChunkedEncodingError("ended early"),
    "json": lambda: requests.exceptions.JSONDecodeError("no JSON", "x", 0),
}
READS: dict[str, Door] = {
    "to_arrow": lambda table: table.scan("id > 5").to_arrow(),
    "files": lambda table: table.scan("id > 5").files(),
    "history": lambda table: table.history(),
    "changes": lambda table: list(table.changes(0).to_batches()),
    "refresh": lambda table: table.refresh(),
    "detail": lambda table: table.detail(),
}
WRITES: dict[str, Door] = {
    "append": lambda table: table.append(rows(30, 34)),
    "overwrite": lambda table: table.overwrite(rows(0, 4)),
    "delete": lambda table: table.delete("id = 5"),
    "update": lambda table: table.update({"id": "id + 100"}, "id = 7"),
    "merge": lambda table: (
        table.merge(rows(8, 14), "t.id = s.id", source_alias="s", target_alias="t").when_matched_delete().execute()
    ),
    "alter": lambda table: table.alter_sql("ADD COLUMN c INT"),
    "optimize": lambda table: table.optimize(),
    "checkpoint": lambda table: table.checkpoint(),
}


def filled(table: ds.DeltaTable) -> ds.DeltaTable:
    table.append(rows(0, 10))
    table.append(rows(10, 20))
    return table


PROPERTIES = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The options of a store whose objects are the files below tmp_path / "store"."""
    (tmp_path / "store" / "bucket").mkdir(parents=True)
    server = SlowS3(0, tmp_path / "store", 0, 1e12)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield {
        "aws_endpoint": f"http://127.0.0.1:{server.server_port}", "aws_region": "us-east-1", "aws_allow_http": "true",
        "aws_access_key_id": "test", "aws_secret_access_key": "test",
    }  # fmt: skip
    server.shutdown()
    server.server_close()


def walked(
    opened: Callable[[], ds.DeltaTable],
    act: Door,
    places: list[Any],
    errors: dict[str, Any],
    folder: Path,
    named: str,
    more: tuple[str, ...] = (),
) -> int:
    """Let calls of a door fail, and return how many errors left it; each names the table, and undoes what it did.

    Each call fails with one of the errors, and then with each of `more`.
    """
    table = opened()
    counting = Below(places)
    with warnings.catch_warnings(), counting.running():
        warnings.simplefilter("ignore")
        act(table)
    raised = 0
    chosen = sorted({0, counting.calls // 2, counting.calls - 1} & set(range(counting.calls)))
    faults = [
        (at, error)
        for number, at in enumerate(chosen)
        for error in (list(errors)[(7 * number + counting.calls + len(named)) % len(errors)], *more)
    ]
    for at, error in faults:
        table = opened()
        before, version = files_of(folder), table.version
        try:
            with warnings.catch_warnings(), Below(places, at, errors[error]).running():
                warnings.simplefilter("ignore", ds.MaintenanceWarning)
                act(table)
        except ds.DeltaSkipError as found:
            raised += 1
            where = (at, counting.calls, error, str(found))
            assert (
                any(text in str(found) for text in (named, "unitystorage"))
                and "\n" not in str(found)
                and len(str(found)) < 1_500
            ), where
            if "outcome" not in str(found):
                assert opened().version == version, where
                new = {path for path in files_of(folder) - before if not path.endswith((".crc", ".checkpoint.parquet"))}
                assert not new, where
    return raised


@pytest.mark.parametrize("door", [*READS, *WRITES])
@pytest.mark.long(gate=6)
def test_doors_to_an_object_store(store: dict[str, str], tmp_path: Path, door: str) -> None:
    uri = "s3://bucket/walked"
    filled(ds.DeltaTable.create(uri, "id BIGINT, p STRING", properties=PROPERTIES, storage_options=store))
    act = (READS | WRITES)[door]

    def opened() -> ds.DeltaTable:
        # A checkpoint that is there is not written again.
        for each in (tmp_path / "store").rglob("*checkpoint*"):
            each.unlink()
        return ds.DeltaTable(uri, storage_options=store)

    # Some errors only cost a second request; one that is not expected leaves the door.
    raised = walked(opened, act, STORE_S, ERRORS, tmp_path / "store", "walked", ("LibraryError",))
    # What an open table knows of its files needs no request.
    assert bool(raised) == (door != "files")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[UnityServer]:
    monkeypatch.setattr(client, "_pause", lambda *_: None)
    monkeypatch.setattr(commits, "_PAUSE_SECONDS", 0)
    with unity_server(tmp_path / "unity") as running:
        yield running


@pytest.mark.parametrize("places", ["requests", "reads", "writes"])
@pytest.mark.parametrize("door", [*READS, *WRITES])
@pytest.mark.long(gate=8)
def test_doors_to_a_managed_table_of_unity_catalog(server: UnityServer, tmp_path: Path, door: str, places: str) -> None:
    cat = ds.catalog(f"unity:{server.url}", catalog="main")
    server.permitted = ["DATA_REORGANIZATION"]
    filled(cat.create_table("db.walked", "id BIGINT, p STRING", properties=PROPERTIES))
    act = (READS | WRITES)[door]
    found = UNITY_S if places == "requests" else PLACES[places]
    walked(lambda: cat.load_table("db.walked"), act, found, UNITY_ERRORS, tmp_path / "unity", "walked")


CATALOG_S: dict[str, Callable[[ds.TableCatalog], object]] = {
    "load": lambda cat: cat.load_table("db.t"),
    "exists": lambda cat: cat.table_exists("db.t"),
    "tables": lambda cat: list(cat.list_tables("db")),
    "namespaces": lambda cat: list(cat.list_namespaces()),
    "create": lambda cat: cat.create_table("db.n", "id INT"),
    "alter": lambda cat: cat.alter_table("db.t", [ds.AddColumn("more", "INT")]),
    "drop": lambda cat: cat.drop_table("db.t"),
    "create namespace": lambda cat: cat.create_namespace("other"),
    "statement": lambda cat: cat.sql(None, "DELETE FROM db.t WHERE id = 1"),
}


@pytest.mark.parametrize("door", CATALOG_S)
@pytest.mark.long(gate=3)
def test_doors_of_unity_catalog(server: UnityServer, door: str) -> None:
    cat = ds.catalog(f"unity:{server.url}", catalog="main")
    cat.create_table("db.t", "id BIGINT, p STRING").append(rows(0, 4))
    names = ("db", "main", "other", server.table("main.db.t").location.removeprefix("file://"))
    raised = 0
    for name in UNITY_ERRORS:
        for at in extent((0, 1), (0, 1, 2)):
            with warnings.catch_warnings(), Below(UNITY_S, at, UNITY_ERRORS[name]).running():
                warnings.simplefilter("ignore")
                try:
                    CATALOG_S[door](cat)
                except ds.DeltaSkipError as error:
                    raised += 1
                    assert any(text in str(error) for text in names), (name, at, str(error))
                    assert "\n" not in str(error) and len(str(error)) < 1_500
    assert raised
