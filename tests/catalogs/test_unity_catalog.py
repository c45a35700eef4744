"""Unity Catalog beside the tables that it manages: names, namespaces, external tables, errors, older servers."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.alter.table_changes import AddColumn, RemoveProperty, SetProperty
from deltaskip.catalogs.unity import UnityCatalog
from deltaskip.catalogs.unity.client import UnityClient
from deltaskip.catalogs.unity.models import LoadedTable, RatifiedCommit
from tests.catalogs.unity_rules import Lost, Refusal
from tests.catalogs.unity_server import COLUMNS, UnityServer, cat, rows, server
from tests.dml.tables import ids_of
from tests.each import refuses

__all__ = ["cat", "server"]


def external(cat: UnityCatalog, folder: Path, name: str = "db.e", **more: Any) -> ds.DeltaTable:
    return cat.create_table(name, COLUMNS, properties={"location": str(folder), **more})


# External tables


def test_an_external_table_is_there_and_opens_by_path(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    table = external(cat, tmp_path / "my e", comment="text")
    table.append(rows(1, 2))
    entry = server.table("main.db.e")
    assert (entry.managed, entry.location, entry.comment) == (False, (tmp_path / "my e").as_uri(), "text")
    assert ids_of(ds.DeltaTable(tmp_path / "my e")) == [1, 2] == ids_of(cat.load_table("db.e"))
    assert server.bodies == []


def test_the_catalog_is_told_of_each_change_of_metadata(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    table = external(cat, tmp_path / "e")
    table.append(rows(1))
    table.alter(AddColumn("c", "INT"), SetProperty("k", "v"))
    entry = server.table("main.db.e")
    assert [each["name"] for each in entry.columns["fields"]] == ["id", "name", "c"]
    assert (entry.properties["k"], entry.properties["delta.lastUpdateVersion"]) == ("v", "2")
    table.alter(RemoveProperty("k"))
    assert ("k" in entry.properties, entry.properties["delta.lastUpdateVersion"]) == (False, "3")
    assert [update["action"] for update in server.bodies[-1]["updates"]] == [
        "remove-properties", "update-metadata-snapshot-version",
    ]  # fmt: skip


def test_a_commit_stands_if_the_catalog_cannot_be_told(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    table = external(cat, tmp_path / "e")

    def fail(when: str, method: str, path: str, body: Any) -> None:
        raise Refusal(500, "InternalServerErrorException", "full")

    server.disturb = fail
    with pytest.warns(ds.MaintenanceWarning, match="was committed, but its publication in its catalog failed"):
        table.alter(SetProperty("k", "v"))
    assert ds.DeltaTable(tmp_path / "e").properties == {"k": "v"}


def test_ctas_and_rtas_of_external_tables(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    with cat.stage_create("db.e", COLUMNS, properties={"location": str(tmp_path / "e")}) as staged:
        staged.append(rows(1))
        assert not cat.table_exists("db.e")
    with cat.stage_create_or_replace("db.e", "a INT, p STRING", ["p"]) as staged:
        staged.append(pa.table({"a": pa.array([1], pa.int32()), "p": ["x"]}))
    entry = server.table("main.db.e")
    assert (entry.partition_columns, [each["name"] for each in entry.columns["fields"]]) == (["p"], ["a", "p"])
    with pytest.raises(ds.InvalidArgument, match="drop it first, or leave the property location out"):
        cat.stage_replace("db.e", COLUMNS, properties={"location": str(tmp_path / "other")})


def test_a_table_is_registered_at_its_version(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "e", COLUMNS, properties={"k": "v"})
    table.append(rows(1))
    assert ids_of(cat.register_table("db.e", str(tmp_path / "e"))) == [1]
    assert server.table("main.db.e").properties["delta.lastUpdateVersion"] == "1"


def test_dropping_a_managed_table_lets_the_server_delete_its_files(server: UnityServer, cat: UnityCatalog) -> None:
    table = cat.create_table("db.t", COLUMNS)
    assert cat.drop_table("db.t", purge=True)
    assert not Path(table.snapshot.root).exists()


# Names


def test_tables_are_renamed_in_their_schema_only(server: UnityServer, cat: UnityCatalog) -> None:
    cat.create_table("db.u", COLUMNS)
    cat.create_namespace("more")
    refuses(ds.UnsupportedFeature, r"cannot move db\.u to another namespace, more", cat.rename_table, "db.u", "more.u")


def test_a_server_that_cannot_rename_is_named(cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.catalogs.unity_server.ENDPOINTS", [])
    cat.create_table("db.t", COLUMNS)
    refuses(ds.UnsupportedFeature, r"cannot rename db\.t", cat.rename_table, "db.t", "db.u")


def test_without_a_catalog_names_have_three_parts(server: UnityServer) -> None:
    cat = UnityCatalog(server.url)
    cat.create_namespace("more")
    cat.create_namespace("more.s", {"comment": "text", "k": "v"})
    assert cat.list_namespaces() == [("main",), ("more",)]
    assert cat.list_namespaces("more") == [("more", "s")]
    assert cat.load_namespace("more.s") == {"comment": "text", "k": "v"}
    cat.create_table("more.s.t", COLUMNS).append(rows(1))
    assert ids_of(cat.load_table("more.s.t")) == [1] == ids_of(UnityCatalog(server.url, "more").load_table("s.t"))
    assert [str(each) for each in cat.list_tables("more.s")] == ["more.s.t"]
    assert cat.list_tables("more") == []
    refuses(ds.NamespaceNotEmpty, None, cat.drop_namespace, "more")
    assert cat.drop_namespace("more", cascade=True)
    assert cat.list_namespaces() == [("main",)]
    refuses(ds.InvalidArgument, r"must be catalog\.schema\.table, not s\.t", cat.create_table, "s.t", COLUMNS)


def test_names_that_no_server_accepts_are_refused_for_new_tables_and_absent_otherwise(cat: UnityCatalog) -> None:
    for name in ("db.`a.b`", "db.`a b`", "db.`a/b`", f"db.{'x' * 256}"):
        assert not cat.table_exists(name)
        assert not cat.drop_table(name)
        refuses(ds.TableNotFound, None, cat.load_table, name)
        refuses(ds.InvalidArgument, "A name in Unity Catalog has at most 255 letters", cat.create_table, name, COLUMNS)
    refuses(ds.NamespaceNotFound, None, cat.create_table, "a.b.c", COLUMNS)
    refuses(ds.InvalidArgument, None, cat.create_namespace, ("a b",))
    refuses(ds.InvalidArgument, "no namespaces in schemas", cat.create_namespace, "db.inner")


def test_listings_of_many_pages_are_whole(server: UnityServer, cat: UnityCatalog) -> None:
    for number in range(120):
        server.schemas["main", f"s{number:03}"] = {"name": f"s{number:03}", "catalog_name": "main"}
    assert len(cat.list_namespaces()) == 121
    assert server.count("GET", "/schemas") == 3


# Servers and their errors


def test_an_older_server_has_external_tables_only(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    server.delta_api = False
    columns = "id BIGINT NOT NULL, d DECIMAL(10, 2) COMMENT 'x', tags ARRAY<STRING>, p DATE"
    table = cat.create_table("db.e", columns, ["p"], {"location": str(tmp_path / "e"), "comment": "text"})
    assert (table.version, cat.table_exists("db.e"), cat.table_exists("db.f")) == (0, True, False)
    table.alter(SetProperty("k", "v"))
    assert cat.load_table("db.e").properties == {"k": "v"}
    with pytest.raises(ds.TableAlreadyExists):
        cat.create_table("db.e", columns, properties={"location": str(tmp_path / "f")})
    with pytest.raises(ds.UnsupportedFeature, match=r"has no Delta API.*give db\.t a place with the property location"):
        cat.create_table("db.t", columns)
    refuses(ds.UnsupportedFeature, "cannot rename", cat.rename_table, "db.e", "db.f")
    assert [str(each) for each in cat.list_tables("db")] == ["db.e"]
    assert cat.drop_table("db.e") and not cat.drop_table("db.e")


def test_a_managed_table_of_an_older_server_is_refused_as_by_path(server: UnityServer, cat: UnityCatalog) -> None:
    cat.create_table("db.t", COLUMNS)
    server.delta_api = False
    with pytest.raises(ds.UnsupportedFeature, match="is managed by a catalog"):
        UnityCatalog(server.url, "main").load_table("db.t")


def test_a_creation_whose_answer_is_lost_is_looked_up(server: UnityServer, cat: UnityCatalog, tmp_path: Path) -> None:
    def lose(when: str, method: str, path: str, body: Any) -> None:
        if when == "after" and method == "POST" and path.endswith("/tables"):
            server.disturb = lambda *_: None
            raise Lost

    for create in (lambda: cat.create_table("db.t", COLUMNS), lambda: external(cat, tmp_path / "e")):
        server.disturb = lose
        create().append(rows(1))
    assert ids_of(cat.load_table("db.t")) == [1] == ids_of(cat.load_table("db.e"))


def test_of_two_creations_of_a_name_the_second_fails_and_leaves_nothing(server: UnityServer, cat: UnityCatalog) -> None:
    with cat.stage_create("db.t", COLUMNS) as mine:
        mine.append(rows(1))
        cat.create_table("db.t", COLUMNS).append(rows(2))
        refuses(ds.TableAlreadyExists, None, mine.commit_staged_changes)
    assert ids_of(cat.load_table("db.t")) == [2]
    folders = list((server.root / "__unitystorage" / "tables").iterdir())
    assert folders == [server.table("main.db.t").folder]


def test_reads_are_repeated(server: UnityServer, cat: UnityCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.client._FIRST_PAUSE_SECONDS", 0)
    cat.create_table("db.t", COLUMNS)
    errors: list[Exception] = [Lost(), Refusal(503, "", "busy"), Refusal(429, "TooManyRequestsException", "slowly")]

    def fail(when: str, method: str, path: str, body: Any) -> None:
        if errors:
            raise errors.pop()

    server.disturb = fail
    assert cat.load_table("db.t").version == 0
    assert errors == []


def test_a_token_is_sent_and_a_wrong_one_is_said(server: UnityServer) -> None:
    server.token = "secret"
    assert UnityCatalog(server.url, "main", token="secret").list_tables("db") == []
    with pytest.raises(ds.CatalogError, match=r"401 .*check the token") as caught:
        UnityCatalog(server.url, "main", token="other").list_tables("db")
    assert "other" not in str(caught.value)


def test_a_catalog_of_the_configuration_has_its_options(server: UnityServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.token = "secret"
    for name, text in {"URI": f"unity:{server.url}", "CATALOG": "main", "TOKEN": "secret"}.items():
        monkeypatch.setenv(f"DELTASKIP_CATALOG__UC__{name}", text)
    cat = ds.catalog("uc")
    assert (cat.name, cat.list_namespaces()) == ("uc", [("db",)])


def test_a_catalog_that_does_not_exist_has_no_tables(server: UnityServer) -> None:
    cat = UnityCatalog(server.url, "nowhere")
    assert not cat.table_exists("db.t")
    refuses(ds.TableNotFound, None, cat.load_table, "db.t")
    refuses(ds.NamespaceNotFound, None, cat.create_table, "db.t", COLUMNS)


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.catalogs.unity.client._FIRST_PAUSE_SECONDS", 0)
    with pytest.raises(
        ds.CatalogError,
        match=r"GET http://127\.0\.0\.1:9/api/2\.1/unity-catalog/\S+: the server of the catalog cannot be reached",
    ):
        UnityCatalog("http://127.0.0.1:9", "main").list_tables("db")


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://host", "http://", "http://host?catalog=x"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    refuses(ds.InvalidArgument, "The URL of Unity Catalog must have the form https://host:8080", UnityClient, url)


def test_the_path_of_the_api_may_be_in_the_url(server: UnityServer) -> None:
    assert UnityCatalog(f"{server.url}/api/2.1/unity-catalog/", "main").list_tables("db") == []


def test_a_table_of_another_format_is_no_table_to_load(server: UnityServer, cat: UnityCatalog) -> None:
    def refuse(when: str, method: str, path: str, body: Any) -> None:
        if path.endswith("/tables/p"):
            raise Refusal(400, "UnsupportedTableFormatException", "not a Delta table")

    server.disturb = refuse
    refuses(ds.UnsupportedFeature, r"db\.p is not a Delta table", cat.load_table, "db.p")


# Answers that no client should believe


def loaded(**more: Any) -> LoadedTable:
    metadata = {
        "etag": "e", "table-type": "MANAGED", "table-uuid": "u", "location": "file:///t", "created-time": 1,
        "updated-time": 1, "columns": {}, "properties": {},
    }  # fmt: skip
    return LoadedTable.of({"metadata": metadata, "latest-table-version": 3, **more})


def commit(version: int, name: str | None = None) -> dict[str, Any]:
    file = f"{version:020}.abc.json" if name is None else name
    return {"version": version, "timestamp": 1, "file-name": file, "file-size": 1, "file-modification-timestamp": 1}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"latest-table-version": None}, "does not say which version"),
        ({"commits": [commit(3), commit(1)]}, "lists the versions 1, 3 as not published"),
        ({"commits": [commit(2)]}, "lists the versions 2 as not published, and 3 as the latest"),
        ({"commits": [commit(3, "../../evil.json")]}, "names '../../evil.json' as the commit of version 3"),
        (
            {"commits": [{"version": 3, "timestamp": 1, "content": "{}"}]},
            "version 3: deltaskip reads no inline commits",
        ),
        ({"commits": [commit(3, f"{4:020}.abc.json")]}, "as the commit of version 3"),
        ({"metadata": {}}, "lacks table-type"),
        ({"metadata": None}, "lacks metadata"),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(answer: dict[str, Any], message: str) -> None:
    refuses(ds.CatalogError, message, loaded, **answer)


def test_commits_come_newest_first_and_are_kept_oldest_first() -> None:
    assert [each.version for each in loaded(commits=[commit(3), commit(2)]).commits] == [2, 3]
    assert RatifiedCommit.of(commit(3)).to_json() == commit(3)
