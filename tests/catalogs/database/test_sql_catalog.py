"""SqlCatalog in SQLite and Postgres: names, locations, errors of the database, versions of its tables, counts."""

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy

import deltaskip as ds
from deltaskip import CatalogIdentifier, DeltaTable
from deltaskip.catalogs.database import SqlCatalog, connection
from deltaskip.catalogs.database import catalog_tables as schema
from deltaskip.catalogs.database.connection import Database
from deltaskip.catalogs.located import TableEntry
from tests.catalogs.database.postgres import PostgresServer
from tests.each import refuses

ROWS = pa.table({"id": [1, 2, 3]})
LONG = "x" * 5000
ODD = [
    "a b", "a.b", "A", "a", "`", "%2F/../..", "ä", "名前", "'; DROP TABLE deltaskip_tables; --", '"', "\n", LONG, ".",
]  # fmt: skip


def folders(root: Path) -> list[str]:
    """The folders below `root` that contain something."""
    return sorted(top for top, _, names in os.walk(root) if names)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """The statements that databases get from now on."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", note)
    yield seen
    sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", note)


class TestNames:
    @pytest.mark.long(gate=1)
    def test_every_name_is_its_own(self, catalog: SqlCatalog) -> None:
        for name in ODD:
            catalog.create_namespace((name,), {"is": name[:10]})
            catalog.create_table((name, name), "id BIGINT", properties={"is": name[:10]})
        assert catalog.list_namespaces() == sorted([("db",), *((name,) for name in ODD)])
        for name in ODD:
            assert catalog.load_namespace((name,)) == {"is": name[:10]}
            assert catalog.list_tables((name,)) == [CatalogIdentifier((name,), name)]
            assert catalog.load_table((name, name)).properties["is"] == name[:10]
            catalog.rename_table((name, name), ("db", name))
        assert catalog.list_tables("db") == [CatalogIdentifier(("db",), name) for name in sorted(ODD)]
        assert all(catalog.drop_table(("db", name)) and catalog.drop_namespace((name,)) for name in ODD)
        assert catalog.list_namespaces() == [("db",)]

    def test_catalogs_in_one_database_do_not_see_each_other(self, url: str, catalog: SqlCatalog) -> None:
        catalog.create_table("db.t", "id BIGINT")
        other = SqlCatalog(url, catalog.warehouse, catalog="other")
        assert (other.list_namespaces(), other.table_exists("db.t")) == ([], False)
        other.create_namespace("db")
        other.create_table("db.t", "id BIGINT")
        assert other.load_table("db.t").uri != catalog.load_table("db.t").uri
        assert other.drop_namespace("db", cascade=True)
        assert catalog.load_table("db.t").version == 0


class TestLocations:
    def test_each_creation_has_a_folder_of_its_own(self, catalog: SqlCatalog, tmp_path: Path) -> None:
        first = catalog.create_table("db.t", "id BIGINT").uri
        catalog.rename_table("db.t", "db.u")
        second = catalog.create_table("db.t", "id BIGINT").uri
        assert first != second
        assert catalog.load_table("db.u").uri == first
        assert catalog.drop_table("db.u") and catalog.drop_table("db.t")
        assert folders(tmp_path / "warehouse") == []

    def test_a_sqlite_file_has_its_tables_beside_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        catalog = SqlCatalog("sqlite:///here.db")
        monkeypatch.chdir("/")
        assert catalog.create_table("t", "id BIGINT").uri.startswith(f"file://{tmp_path}/here.warehouse/t-")
        assert catalog.name == "here"

    @pytest.mark.parametrize("url", ["postgresql+psycopg2://u@h/d", "sqlite:///file:/tmp/x.db?uri=true"])
    def test_other_databases_need_a_warehouse_for_tables_without_a_location(self, url: str) -> None:
        catalog = SqlCatalog(url)
        refuses(ds.InvalidArgument, "warehouse=", lambda: catalog.new_location(CatalogIdentifier((), "t")))

    def test_a_location_that_is_no_unicode_is_kept(self, catalog: SqlCatalog, tmp_path: Path) -> None:
        path = os.fsdecode(os.fsencode(tmp_path) + b"/odd \xff%41")
        DeltaTable.create(path, "id BIGINT")
        catalog.register_table("db.t", path)
        assert catalog.load_table("db.t").snapshot.root == path
        catalog.rename_table("db.t", "db.u")
        assert catalog.drop_table("db.u")
        assert DeltaTable(path).version == 0

    def test_a_relative_location_is_that_of_the_creating_process(
        self, catalog: SqlCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        catalog.create_table("db.t", "id BIGINT", properties={"location": "mine"})
        monkeypatch.chdir("/")
        assert catalog.load_table("db.t").snapshot.root == str(tmp_path / "mine")
        assert catalog.drop_table("db.t")
        assert DeltaTable(tmp_path / "mine").version == 0


class TestCreation:
    def test_a_name_that_another_takes_meanwhile_is_refused_and_leaves_no_files(
        self, url: str, catalog: SqlCatalog, tmp_path: Path
    ) -> None:
        staged = catalog.stage_create("db.t", "id BIGINT")
        staged.append(ROWS)
        winner = SqlCatalog(url, catalog.warehouse).create_table("db.t", "id BIGINT").uri
        refuses(ds.TableAlreadyExists, r"db\.t", staged.commit_staged_changes)
        assert catalog.load_table("db.t").uri == winner
        assert all(each.startswith(winner.removeprefix("file://")) for each in folders(tmp_path / "warehouse"))

    def test_a_namespace_dropped_meanwhile_is_missed_and_leaves_none(self, catalog: SqlCatalog, tmp_path: Path) -> None:
        staged = catalog.stage_create("db.t", "id BIGINT")
        staged.append(ROWS)
        assert catalog.drop_namespace("db")
        refuses(ds.NamespaceNotFound, "db", staged.commit_staged_changes)
        assert folders(tmp_path / "warehouse") == []
        assert catalog.list_namespaces() == []

    def test_rows_are_refused_by_the_keys_alone(self, catalog: SqlCatalog, tmp_path: Path) -> None:
        entry = TableEntry(CatalogIdentifier(("db",), "t"), str(tmp_path / "x"))
        catalog.add_entry(entry)
        refuses(ds.TableAlreadyExists, None, catalog.add_entry, entry)
        with pytest.raises(ds.NamespaceNotFound):
            catalog.add_entry(TableEntry(CatalogIdentifier(("none",), "t"), "x"))
        refuses(ds.NamespaceAlreadyExists, None, catalog.add_namespace, ("db",), {})
        refuses(ds.NamespaceNotFound, None, catalog.add_namespace, ("none", "inside"), {})
        refuses(ds.NamespaceNotEmpty, "another writer", catalog.remove_namespace, ("db",))
        refuses(ds.NamespaceNotFound, None, lambda: catalog.move_entry(entry, CatalogIdentifier(("none",), "t")))
        catalog.move_entry(entry, CatalogIdentifier((), "u"))
        refuses(ds.TableNotFound, None, lambda: catalog.move_entry(entry, CatalogIdentifier(("db",), "v")))
        assert catalog.remove_entry(entry) is False
        catalog.add_entry(entry)
        refuses(ds.TableAlreadyExists, None, lambda: catalog.move_entry(entry, CatalogIdentifier((), "u")))
        assert catalog.remove_namespace(("none",)) is False

    def test_an_entry_of_another_table_with_the_name_is_not_removed(self, catalog: SqlCatalog, tmp_path: Path) -> None:
        before = TableEntry(CatalogIdentifier(("db",), "t"), str(tmp_path / "before"))
        catalog.add_entry(before)
        assert catalog.remove_entry(before)
        catalog.add_entry(TableEntry(before.identifier, str(tmp_path / "after")))
        assert catalog.remove_entry(before) is False
        refuses(ds.TableNotFound, None, lambda: catalog.move_entry(before, CatalogIdentifier(("db",), "u")))


class TestCounts:
    def test_loading_a_table_is_one_query(self, catalog: SqlCatalog, statements: list[str]) -> None:
        catalog.create_table("db.t", "id BIGINT")
        statements.clear()
        catalog.load_table("db.t")
        assert len(statements) == 1

    @pytest.mark.long(gate=1)
    def test_listing_ten_thousand_tables_is_one_query(self, catalog: SqlCatalog, statements: list[str]) -> None:
        rows, database = catalog._rows, catalog._rows.database
        for table, made in (
            (schema.TABLES, [
                {**rows._named(CatalogIdentifier(("db",), f"t{i}")), "catalog_name": "default", "location": f"/{i}",
                 "managed": True} for i in range(10_000)
            ]),
            (schema.NAMESPACES, [rows._namespace_row(("db", f"n{i}"), {}) for i in range(10_000)]),
        ):  # fmt: skip
            database.write(lambda connection, _lost, table=table, made=made: connection.execute(table.insert(), made))
        statements.clear()
        assert len(catalog.list_tables("db")) == 10_000
        assert len(catalog.list_namespaces("db")) == 10_000
        assert len(statements) == 4  # and whether the namespace exists, twice


class TestBrokenDatabases:
    def test_the_url_is_shown_without_its_password(self, postgres_server: PostgresServer, tmp_path: Path) -> None:
        url = postgres_server.url().replace("kept-secret", "wrong-secret")
        catalog = SqlCatalog(f"{url}?sslpassword=also-hidden", tmp_path)
        with pytest.raises(ds.CatalogError, match="password authentication failed") as raised:
            catalog.list_namespaces()
        for shown in (str(raised.value), repr(catalog)):
            assert f"tester:***@127.0.0.1:{postgres_server.port}" in shown
            assert "wrong-secret" not in shown and "also-hidden" not in shown

    def test_a_connection_that_was_lost_is_made_again(self, postgres_server: PostgresServer, tmp_path: Path) -> None:
        catalog = SqlCatalog(postgres_server.url(), tmp_path)
        catalog.create_namespace("db")
        for use in (lambda: catalog.list_namespaces(), lambda: catalog.create_table("db.t", "id BIGINT")):
            postgres_server.stop()
            postgres_server.start()
            use()
        assert catalog.table_exists("db.t")

    def test_a_process_that_stopped_inside_of_its_transaction_is_not_waited_for(
        self, url: str, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "_LOCK_SECONDS", 1)
        waiting = SqlCatalog(url, catalog.warehouse)
        with sqlalchemy.create_engine(url).connect() as other:
            other.execute(sqlalchemy.text("UPDATE deltaskip_namespaces SET catalog_name = catalog_name"))
            refuses(ds.CatalogError, "of the catalog failed: .*lock", waiting.drop_namespace, "db")
        assert waiting.drop_namespace("db")

    def test_a_creation_leaves_no_files_without_database(self, postgres_server: PostgresServer, tmp_path: Path) -> None:
        catalog = SqlCatalog(postgres_server.url(), tmp_path / "warehouse")
        staged = [catalog.stage_create("t", "id BIGINT"), catalog.stage_create("u", "id BIGINT")]
        staged[0].append(ROWS)
        postgres_server.stop()
        try:
            for each in staged:
                with pytest.raises(ds.CatalogError, match=r"The database postgresql\+psycopg2://tester:\*\*\*@"):
                    each.commit_staged_changes()
            refuses(ds.CatalogError, "of the catalog failed", catalog.load_table, "t")
        finally:
            postgres_server.start()
        assert folders(tmp_path / "warehouse") == []
        assert catalog.list_tables() == []

    @pytest.mark.parametrize("content", [b"not a database" * 500, b"SQLite format 3\0" + b"\xff" * 4096])
    def test_a_damaged_file_is_named(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "bad.db").write_bytes(content)
        catalog = SqlCatalog(f"sqlite:///{tmp_path}/bad.db")
        for use in (lambda: catalog.list_tables(), lambda: catalog.create_namespace("x")):
            refuses(ds.CatalogError, r"bad\.db of the catalog failed", use)
        assert (tmp_path / "bad.db").read_bytes() == content

    def test_the_sqlite_file_of_another_program_is_refused_and_stays_as_it_is(self, tmp_path: Path) -> None:
        file = tmp_path / "places.db"
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE moz_places (id INTEGER)")
        before = file.read_bytes()
        with pytest.raises(ds.CatalogError, match=r"not a catalog of deltaskip: it contains moz_places"):
            SqlCatalog(f"sqlite:///{file}").list_tables()
        assert file.read_bytes() == before

    def test_a_missing_folder_of_the_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ds.CatalogError, match=r"none/c\.db of the catalog failed: unable to open"):
            SqlCatalog(f"sqlite:///{tmp_path}/none/c.db").list_tables()

    @pytest.mark.skipif(os.getuid() == 0, reason="root writes to every file")
    def test_a_file_without_write_permission_is_read(self, tmp_path: Path) -> None:
        SqlCatalog(f"sqlite:///{tmp_path}/c.db").create_table("t", "id BIGINT")
        os.chmod(tmp_path / "c.db", stat.S_IRUSR)
        self._only_reads(SqlCatalog(f"sqlite:///{tmp_path}/c.db"), tmp_path)

    def test_a_database_that_is_opened_for_reading_is_read(self, tmp_path: Path) -> None:
        SqlCatalog(f"sqlite:///{tmp_path}/c.db").create_table("t", "id BIGINT")
        catalog = SqlCatalog(f"sqlite:///file:{tmp_path}/c.db?mode=ro&uri=true", tmp_path / "c.warehouse")
        self._only_reads(catalog, tmp_path)

    def _only_reads(self, catalog: SqlCatalog, tmp_path: Path) -> None:
        assert catalog.load_table("t").version == 0
        before = folders(tmp_path)
        for change in (
            lambda: catalog.create_table("u", "id BIGINT"), lambda: catalog.rename_table("t", "u"),
            lambda: catalog.drop_table("t"), lambda: catalog.create_namespace("db"),
        ):  # fmt: skip
            refuses(ds.CatalogError, "readonly database", change)
        assert folders(tmp_path) == before
        assert catalog.load_table("t").version == 0

    def test_a_row_that_is_no_json_is_named(self, catalog: SqlCatalog) -> None:
        catalog._rows.database.write(
            lambda connection, _: connection.execute(schema.NAMESPACES.update(), {"properties": "{"})
        )
        refuses(ds.CatalogError, "is damaged", catalog.load_namespace, "db")


class TestVersions:
    def test_a_newer_version_is_refused_by_name(self, url: str, catalog: SqlCatalog) -> None:
        self._set(catalog, {"version": 7})
        with pytest.raises(ds.CatalogError, match=r"has version 7, .* up to 1: upgrade deltaskip"):
            SqlCatalog(url).list_namespaces()

    @pytest.mark.parametrize("change", [{"version": 0}, None])
    def test_a_missing_version_is_damage(self, url: str, catalog: SqlCatalog, change: dict[str, int] | None) -> None:
        self._set(catalog, change)
        refuses(ds.CatalogError, "must contain one version", lambda: SqlCatalog(url).list_namespaces())

    def test_an_older_version_is_upgraded_with_what_it_contains(
        self, url: str, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        catalog.create_table("db.t", "id BIGINT")
        done = []

        def step(connection: sqlalchemy.Connection) -> None:
            done.append(1)
            connection.execute(sqlalchemy.text("ALTER TABLE deltaskip_tables ADD COLUMN note TEXT"))

        monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, step))
        monkeypatch.setattr("deltaskip.catalogs.database.connection.STEPS", schema.STEPS)
        for _ in range(2):
            assert SqlCatalog(url).load_table("db.t").version == 0
        assert done == [1]
        assert [row.version for row in catalog._rows.database.read(schema.VERSION.select(), {})] == [2]

    def test_an_upgrade_that_fails_changes_nothing(
        self, url: str, catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def step(connection: sqlalchemy.Connection) -> None:
            connection.execute(sqlalchemy.text("ALTER TABLE deltaskip_tables ADD COLUMN note TEXT"))
            connection.execute(sqlalchemy.text("ALTER TABLE none ADD COLUMN note TEXT"))

        with monkeypatch.context() as patch:
            patch.setattr(schema, "STEPS", (*schema.STEPS, step))
            patch.setattr("deltaskip.catalogs.database.connection.STEPS", schema.STEPS)
            refuses(ds.CatalogError, "none", lambda: SqlCatalog(url).list_namespaces())
        assert SqlCatalog(url).list_namespaces() == [("db",)]
        with pytest.raises(ds.CatalogError, match="note"):
            catalog._rows.database.read(sqlalchemy.text("SELECT note FROM deltaskip_tables"), {})

    def _set(self, catalog: SqlCatalog, values: dict[str, int] | None) -> None:
        change = schema.VERSION.delete() if values is None else schema.VERSION.update()
        catalog._rows.database.write(lambda connection, _: connection.execute(change, values))


class TestArguments:
    @pytest.mark.parametrize(
        "url", ["", "nonsense", "sqlite", "sqlite:///x.db:y:z@@//:p", "unknown://x", "sqlite+no:///x"]
    )
    def test_no_url_of_a_database(self, url: str) -> None:
        if url.startswith("sqlite:///"):
            SqlCatalog(url)
            return
        refuses(ds.InvalidArgument, None, SqlCatalog, url)

    @pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
    def test_a_database_in_memory_is_refused(self, url: str) -> None:
        refuses(ds.InvalidArgument, "a persistent database", SqlCatalog, url)

    @pytest.mark.parametrize("arguments", [{"url": 1}, {"warehouse": 1}, {"catalog": 1}, {"name": 1}])
    def test_other_types_are_refused(self, arguments: dict[str, Any]) -> None:
        refuses(ds.InvalidArgumentType, None, SqlCatalog, **{"url": "sqlite:///x.db", **arguments})

    def test_what_is_not_installed_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(
            ds.CatalogError, match=r"needs the Python package MySQLdb, which is not installed: install it"
        ):
            SqlCatalog("mysql+mysqldb://u:p@h/d")
        monkeypatch.setattr(sqlalchemy, "__version__", "1.4.54")
        refuses(ds.CatalogError, r"needs SQLAlchemy 2 or newer, not 1\.4\.54", SqlCatalog, "sqlite:///x.db")
        monkeypatch.setitem(sys.modules, "sqlalchemy", None)
        refuses(ds.CatalogError, r"needs SQLAlchemy: pip install 'sqlalchemy>=2\.0'\.", SqlCatalog, "sqlite:///x.db")
        with pytest.raises(ds.CatalogError, match=r"needs SQLAlchemy: pip install 'sqlalchemy>=2\.0' 'psycopg2-binary"):
            SqlCatalog("postgresql://u@h/d")

    @pytest.mark.parametrize("scheme", ["postgresql+psycopg2", "postgresql", "postgres"])
    def test_postgres_without_a_driver_names_its_extra(self, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("psycopg", "psycopg2"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ds.CatalogError, match=r"package psycopg2, .*: pip install .* 'psycopg2-binary>=") as raised:
            SqlCatalog(f"{scheme}://u:secret@h/d")
        assert "secret" not in str(raised.value)

    @pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
    def test_a_url_without_a_driver_takes_one_that_is_installed(self, scheme: str) -> None:
        assert Database(f"{scheme}://u@h/d").url.drivername == "postgresql+psycopg2"
