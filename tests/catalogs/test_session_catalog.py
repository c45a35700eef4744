"""The catalog of a Spark session: what it shares with Spark's own SQL, and what a server without Delta keeps."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.storage import parse_location
from tests.catalogs.conftest import SESSION_KIND
from tests.dml.tables import ids_of
from tests.docs.generated import ROOT
from tests.each import refuses
from tests.extent import WHOLE

pytestmark = pytest.mark.spark

ROWS = pa.table({"id": [1, 2, 3]})
KIND = os.environ.get(SESSION_KIND, "memory")
connect_only = pytest.mark.skipif(KIND != "connect", reason="of a Connect server without Delta")
classic_only = pytest.mark.skipif(KIND == "connect", reason="of classic sessions")


@pytest.fixture
def catalog(catalog_session: Any) -> ds.TransactionalTableCatalog:
    """The catalog with the empty namespaces `db` and `other`."""
    found = ds.catalog("spark:", spark=catalog_session)
    for name in found.list_namespaces():
        if name != ("default",):
            catalog_session.sql(f"DROP DATABASE {name[0]} CASCADE")
    for view in catalog_session.sql("SHOW VIEWS IN default").collect():
        # Temporary ones are of other tests in the session.
        name = view["viewName"] if view["isTemporary"] else f"default.{view['viewName']}"
        catalog_session.sql(f"DROP VIEW {name}")
    found.create_namespace("db")
    found.create_namespace("other")
    return found  # type: ignore[return-value]


def names(catalog: ds.TableCatalog, namespace: str = "db") -> list[str]:
    return [ident.name for ident in catalog.list_tables(namespace)]


def test_tables_are_below_their_database_s_folder(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    table = catalog.create_table("db.t", "id BIGINT")
    warehouse = catalog_session.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    assert table.snapshot.root.rpartition("/")[0] == f"{warehouse}/db.db"
    assert parse_location(catalog.load_namespace("db")["location"]) == f"{warehouse}/db.db"


def test_a_renamed_table_stays_in_place_and_its_files_go_with_a_drop(catalog: ds.TransactionalTableCatalog) -> None:
    root = catalog.create_table("db.t", "id BIGINT").snapshot.root
    for old, new in (("db.t", "db.u"), ("db.u", "other.v")):
        catalog.rename_table(old, new)
        assert catalog.load_table(new).snapshot.root == root
        refuses(ds.TableNotFound, None, catalog.load_table, old)
    assert catalog.drop_table("other.v")
    assert not os.path.exists(root)


def test_leftovers_of_a_killed_creation_do_not_block_the_name(catalog: ds.TransactionalTableCatalog) -> None:
    left = catalog.create_table("db.t", "id BIGINT").snapshot.root
    entry = catalog.find_entry(ds.CatalogIdentifier(("db",), "t"))  # type: ignore[attr-defined]
    assert catalog.remove_entry(entry)  # type: ignore[attr-defined]
    assert (names(catalog), os.path.exists(left)) == ([], True)
    with catalog.stage_create("db.t", "id BIGINT") as staged:
        staged.append(ROWS)
    assert ids_of(catalog.load_table("db.t")) == [1, 2, 3]


def test_bare_names_are_of_the_current_database(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    catalog_session.catalog.setCurrentDatabase("db")
    try:
        catalog.create_table("t", "id BIGINT")
        assert catalog.list_tables() == [ds.CatalogIdentifier((), "t")]
        assert catalog.load_table("t").uri == catalog.load_table("db.t").uri
        catalog.rename_table("t", "u")
        assert names(catalog) == ["u"]
    finally:
        catalog_session.catalog.setCurrentDatabase("default")
    assert not catalog.table_exists("t")


def test_letter_case_does_not_count_as_in_spark(catalog: ds.TransactionalTableCatalog) -> None:
    catalog.create_table("db.Orders", "id BIGINT")
    assert names(catalog) == ["orders"]
    assert catalog.load_table("DB.ORDERS").version == 0
    refuses(ds.TableAlreadyExists, None, catalog.create_table, "db.oRDERS", "id BIGINT")


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("name", ["odd.name", "a b", "é", "x-y"])
def test_names_that_spark_refuses_are_refused_without_files(catalog: ds.TransactionalTableCatalog, name: str) -> None:
    folder = parse_location(catalog.load_namespace("db")["location"])
    refuses(ds.InvalidArgument, "refuses the name", catalog.create_table, ("db", name), "id BIGINT")
    refuses(ds.InvalidArgument, "refuses the name", catalog.create_namespace, (name,))
    assert not catalog.table_exists(("db", name))
    assert not os.path.exists(folder) or os.listdir(folder) == []


def test_namespaces_have_one_part(catalog: ds.TransactionalTableCatalog) -> None:
    refuses(ds.UnsupportedFeature, "one part", catalog.create_namespace, "db.inner")
    refuses(ds.NamespaceNotFound, None, catalog.create_table, "db.inner.t", "id BIGINT")
    assert not catalog.table_exists("db.inner.t")
    assert catalog.drop_table("db.inner.t") is False


def test_tables_of_other_formats_are_refused(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    catalog_session.sql("CREATE TABLE db.parquet_one (id BIGINT) USING parquet")
    assert (names(catalog), catalog.table_exists("db.parquet_one")) == (["parquet_one"], True)
    for use in (
        lambda: catalog.load_table("db.parquet_one"), lambda: catalog.drop_table("db.parquet_one"),
        lambda: catalog.rename_table("db.parquet_one", "db.x"), lambda: catalog.drop_namespace("db", cascade=True),
        lambda: catalog.stage_create_or_replace("db.parquet_one", "id BIGINT"),
    ):  # fmt: skip
        refuses(ds.UnsupportedFeature, "its format is parquet: use Spark", use)
    refuses(ds.TableAlreadyExists, None, catalog.create_table, "db.parquet_one", "id BIGINT")
    assert catalog_session.sql("SELECT count(*) FROM db.parquet_one").collect()[0][0] == 0


def test_views_are_no_tables_and_keep_their_names(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    catalog_session.sql("CREATE VIEW db.v AS SELECT 1 AS id")
    catalog.create_table("db.t", "id BIGINT")
    catalog_session.range(3).createOrReplaceTempView("temporary")
    try:
        assert (names(catalog), catalog.table_exists("db.v")) == (["t"], False)
    finally:
        catalog_session.catalog.dropTempView("temporary")
    refuses(ds.TableNotFound, None, catalog.load_table, "db.v")
    refuses(ds.TableAlreadyExists, "table or view", catalog.create_table, "db.v", "id BIGINT")
    assert catalog_session.sql("SELECT * FROM db.v").collect() == [(1,)]
    folder = parse_location(catalog.load_namespace("db")["location"])
    assert [name.partition("-")[0] for name in os.listdir(folder)] == ["t"]
    catalog.drop_table("db.t")
    refuses(ds.NamespaceNotEmpty, "views and functions", catalog.drop_namespace, "db")


def test_a_table_that_was_converted_is_delta(
    catalog: ds.TransactionalTableCatalog, catalog_session: Any, tmp_path: Path
) -> None:
    where = (tmp_path / "converted").as_uri()
    catalog_session.sql(f"CREATE TABLE db.t (id BIGINT) USING parquet LOCATION '{where}'")
    refuses(ds.UnsupportedFeature, None, catalog.load_table, "db.t")
    ds.DeltaTable.create(where, "id BIGINT").append(ROWS)
    assert ids_of(catalog.load_table("db.t")) == [1, 2, 3]


def test_a_folder_that_a_catalog_manages_gets_no_second_name(catalog: ds.TransactionalTableCatalog) -> None:
    uri = catalog.create_table("db.t", "id BIGINT").uri
    refuses(ds.UnsupportedFeature, "clone", catalog.register_table, "db.alias", uri)
    assert names(catalog) == ["t"]


def test_odd_locations_come_back(catalog: ds.TransactionalTableCatalog, tmp_path: Path) -> None:
    place = str(tmp_path / "it's 100% é\\x")
    catalog.create_table("db.t", "id BIGINT", (), {"location": place})
    assert catalog.load_table("db.t").snapshot.root == place
    assert catalog.drop_table("db.t") and os.path.exists(place)


def test_namespaces_have_the_properties_of_spark(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    catalog.create_namespace("third", {"comment": "it's all", "a": "x = 'y'", "b": "\\"})
    found = catalog.load_namespace("third")
    assert (found["comment"], found["a"], found["b"]) == ("it's all", "x = 'y'", "\\")
    changes = ds.SetProperty("a", "2"), ds.SetProperty("comment", "new")
    if KIND == "hive":
        with pytest.raises(ds.UnsupportedFeature, match=r"comment of the namespace third .* nothing was changed"):
            catalog.alter_namespace("third", *changes)
        assert catalog.load_namespace("third") == found
        catalog.alter_namespace("third", changes[0])
    else:
        catalog.alter_namespace("third", *changes)
    shown = {row[0]: row[1] for row in catalog_session.sql("DESCRIBE DATABASE EXTENDED third").collect()}
    assert shown["Comment"] == ("it's all" if KIND == "hive" else "new") and "(a,2)" in shown["Properties"]
    refuses(ds.InvalidArgument, "owner", lambda: catalog.alter_namespace("third", ds.SetProperty("owner", "me")))
    if KIND == "connect":
        with pytest.raises(ds.UnsupportedFeature, match="Connect would not show"):
            catalog.alter_namespace("third", ds.SetProperty("c", "1), (d,2"))
    else:
        catalog.alter_namespace("third", ds.SetProperty("c,d", "1), (d,2"))
        assert catalog.load_namespace("third")["c,d"] == "1), (d,2"


def test_the_default_database_stays(catalog: ds.TransactionalTableCatalog) -> None:
    refuses((ds.CatalogError, ds.NamespaceNotEmpty), None, catalog.drop_namespace, "default")
    assert catalog.namespace_exists("default")


@classic_only
def test_names_of_delta_spark_s_api_see_the_same(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    from deltaskip.delta import DeltaTable

    catalog.create_table("db.ours", "id BIGINT").append(ROWS)
    assert DeltaTable.forName(catalog_session, "db.ours").toDF().count() == 3
    DeltaTable.create(catalog_session).tableName("db.built").addColumn("id", "BIGINT").execute()
    assert names(catalog) == ["built", "ours"]
    root = catalog.load_table("db.built").snapshot.root
    assert root.endswith("db.db/built")
    refuses(ds.UnsupportedFeature, "Spark manages its files", catalog.rename_table, "db.built", "other.built")
    catalog.rename_table("db.built", "db.again")
    assert catalog.load_table("db.again").version == 0
    root = catalog.load_table("db.again").snapshot.root
    assert catalog.drop_table("db.again") and not os.path.exists(root)


@connect_only
def test_without_delta_a_view_says_what_it_is_for(catalog: ds.TransactionalTableCatalog, catalog_session: Any) -> None:
    catalog.create_table("db.t", "id BIGINT").append(ROWS)
    assert [row["viewName"] for row in catalog_session.sql("SHOW VIEWS IN db").collect()] == ["t"]
    for text in ("SELECT * FROM db.t", "SELECT count(*) FROM db.t"):
        with pytest.raises(Exception, match=r"db\.t is a Delta table, and this server has no Delta"):
            catalog_session.sql(text).collect()
    assert catalog.load_table("db.t").scan().to_spark(catalog_session).count() == 3


class TestOpening:
    @classic_only
    def test_the_active_session_is_the_default(self, catalog_session: Any) -> None:
        assert ("default",) in ds.catalog("spark:").list_namespaces()

    def test_nothing_follows_the_colon(self, catalog_session: Any) -> None:
        refuses(ds.InvalidArgument, "must be 'spark:', not", ds.catalog, "spark:db", spark=catalog_session)

    @pytest.mark.parametrize("session", ["spark", 1, object()])
    def test_what_is_no_session_is_refused(self, session: object) -> None:
        refuses(ds.InvalidArgumentType, None, ds.catalog, "spark:", spark=session)

    def test_there_must_be_a_session(self) -> None:
        code = "import deltaskip as ds\ntry: ds.catalog('spark:')\nexcept ds.InvalidArgument as error: print(error)"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert "no active Spark session" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(KIND != "memory", reason="begun by the tests of the other kind")
@pytest.mark.parametrize(
    ("kind", "parts"), [pytest.param("hive", [""], marks=pytest.mark.long), ("connect", ["_namespaces"])]
)
def test_the_contract_holds_for_other_sessions(kind: str, parts: list[str]) -> None:
    if WHOLE:
        parts = ["", "_changes", "_namespaces", "_staged"]
    tests = [*(f"test_contract{part}.py" for part in parts), "test_session.py"]
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "Spark or test_session",
        *(f"tests/catalogs/{name}" for name in tests),
    ]  # fmt: skip
    environment = {**os.environ, SESSION_KIND: kind}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(KIND != "memory", reason="begun by the tests of the other kind")
def test_a_creation_that_is_killed_beside_a_hive_metastore_is_whole_or_absent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.catalogs.killed_session", str(tmp_path)]
    outcomes = []
    for step in ("table created", "entry added", ""):
        done = subprocess.run([*command, step], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (step == ""), done.stderr[-3000:]
        outcomes.append(done.stdout.strip().splitlines()[-1] if step == "" else "")
    assert json.loads(outcomes[-1]) == {"entry_added": 3, "none": 3, "table_created": 3, "before": ["entry_added"]}
