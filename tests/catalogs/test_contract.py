"""The contract of every catalog: tables. Cases are those of Spark's TableCatalog and its tests, in our words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import deltaskip as ds
from deltaskip import transforms
from deltaskip.alter.table_changes import AddColumn
from tests.catalogs.contract import NUMBERS, SCHEMA, Contract, contract, endpoint, s3_options
from tests.dml.tables import ids_of
from tests.each import each, refuses

__all__ = ["contract", "endpoint", "s3_options"]

pytestmark = pytest.mark.long(gate=4)

ODD = [
    "with.dot", "with`tick", "two words", "a/b", "100%", "%41", "Grüße", "..", "雪", "😀", "_leading", ".hidden",
    "UPPER", "key=value", "quote'\"", "semi;colon", "back\\slash", "-dash", "1st", "_delta_log", "*?[x]", "tab\there",
]  # fmt: skip


def names(contract: Contract, namespace: str = "db") -> list[str]:
    return [ident.name for ident in contract.catalog.list_tables(namespace)]


class TestCreate:
    def test_a_created_table_is_empty_and_has_its_columns(self, contract: Contract) -> None:
        table = contract.catalog.create_table("db.t", "id BIGINT NOT NULL, name STRING COMMENT 'who'")
        assert table.version == 0 and ids_of(table) == []
        loaded = contract.catalog.load_table("db.t")
        assert loaded.schema == table.schema
        assert [(f.name, f.nullable) for f in loaded.schema.fields] == [("id", False), ("name", True)]
        assert loaded.schema.fields[1].metadata["comment"] == "who"
        assert contract.catalog.table_exists("db.t") and names(contract) == ["t"]

    def test_a_schema_of_arrow_is_accepted(self, contract: Contract) -> None:
        table = contract.catalog.create_table("db.t", NUMBERS.schema)
        assert [f.name for f in table.schema.fields] == ["id", "name"]

    def test_partition_columns_and_transforms_come_back(self, contract: Contract) -> None:
        parts = ["name", transforms.date("ts"), transforms.bucket("id", 4)]
        contract.catalog.create_table("db.t", "id BIGINT, name STRING, ts TIMESTAMP", parts)
        expected = (transforms.identity("name"), transforms.date("ts"), transforms.bucket("id", 4))
        assert contract.catalog.load_table("db.t").partitioning == expected

    def test_properties_are_kept_also_unknown_ones(self, contract: Contract) -> None:
        given = {"delta.appendOnly": "true", "owner": "alice", "my.own": "x y"}
        given |= {"comment": "all orders", "provider": "delta"}
        contract.catalog.create_table("db.t", SCHEMA, (), given)
        table = contract.catalog.load_table("db.t")
        configuration = table.metadata.configuration
        assert (configuration["delta.appendOnly"], configuration["my.own"]) == ("true", "x y")
        assert configuration["owner"] == "alice"
        assert table.metadata.description == "all orders"

    def test_a_location_of_its_own_is_used(self, contract: Contract) -> None:
        contract.needs("location")
        place = contract.outside("orders")
        created = contract.catalog.create_table("db.t", SCHEMA, (), {"location": place})
        assert created.snapshot.root == place
        assert contract.catalog.load_table("db.t").snapshot.root == place
        assert "location" not in created.metadata.configuration
        assert ds.DeltaTable(place, storage_options=contract.storage_options).version == 0

    def test_a_failed_creation_leaves_nothing(self, contract: Contract) -> None:
        def check(arguments: tuple[str, Any, dict[str, str]]) -> None:
            refuses(ds.DeltaSkipError, None, contract.catalog.create_table, "db.t", *arguments)
            assert not contract.catalog.table_exists("db.t") and names(contract) == []
            contract.catalog.create_table("db.t", SCHEMA)

        wrong: list[tuple[str, Any, dict[str, str]]] = [
            ("id NOTATYPE", (), {}),
            ("id INT, ID INT", (), {}),
            (SCHEMA, ["missing"], {}),
            (SCHEMA, ["name", "name"], {}),
            (SCHEMA, [transforms.date("name")], {}),
            (SCHEMA, (), {"delta.appendOnly": "perhaps"}),
            (SCHEMA, (), {"delta.noSuchProperty": "1"}),
        ]
        each(contract.tried(wrong), check)

    def test_rows_are_written_through_the_table(self, contract: Contract) -> None:
        contract.catalog.create_table("db.t", SCHEMA).append(NUMBERS)
        assert ids_of(contract.catalog.load_table("db.t")) == [1, 2, 3]


class TestLoad:
    def test_an_older_version(self, contract: Contract) -> None:
        contract.catalog.create_table("db.t", SCHEMA).append(NUMBERS)
        assert ids_of(contract.catalog.load_table("db.t", version=0)) == []
        assert ids_of(contract.catalog.load_table("db.t", version=1)) == [1, 2, 3]

    def test_the_version_at_a_time(self, contract: Contract) -> None:
        table = contract.catalog.create_table("db.t", SCHEMA)
        later = datetime.now(UTC) + timedelta(days=1)
        refuses(ds.VersionNotFound, None, contract.catalog.load_table, "db.t", timestamp="2001-01-01")
        refuses(ds.VersionNotFound, None, contract.catalog.load_table, "db.t", timestamp=later)
        committed = datetime.fromtimestamp(table.history()[0].timestamp_ms / 1000, UTC)
        assert contract.catalog.load_table("db.t", timestamp=committed).version == 0

    def test_refreshing_shows_what_others_have_committed(self, contract: Contract) -> None:
        mine = contract.catalog.create_table("db.t", SCHEMA)
        contract.catalog.load_table("db.t").append(NUMBERS)
        assert mine.version == 0
        assert contract.catalog.refresh_table("db.t").version == 1


class TestList:
    def test_names_are_sorted_and_of_one_namespace(self, contract: Contract) -> None:
        for name in ("b", "a", "c"):
            contract.catalog.create_table(("db", name), SCHEMA)
        contract.catalog.create_table("other.x", SCHEMA)
        assert contract.catalog.list_tables("db") == [ds.CatalogIdentifier(("db",), name) for name in "abc"]
        assert names(contract, "other") == ["x"]

    def test_an_empty_namespace_has_no_tables(self, contract: Contract) -> None:
        assert contract.catalog.list_tables("db") == []

    def test_tables_of_inner_namespaces_are_not_listed(self, contract: Contract) -> None:
        contract.needs("nested")
        contract.catalog.create_namespace("db.inner")
        contract.catalog.create_table("db.inner.t", SCHEMA)
        assert names(contract) == [] and names(contract, "db.inner") == ["t"]
        assert not contract.catalog.table_exists("db.t")

    def test_the_root_has_tables_of_its_own(self, contract: Contract) -> None:
        contract.needs("root")
        contract.catalog.create_table("t", SCHEMA)
        contract.catalog.create_table("db.u", SCHEMA)
        assert contract.catalog.list_tables() == [ds.CatalogIdentifier((), "t")]
        assert contract.catalog.drop_table("t")
        assert contract.catalog.list_tables(()) == []


class TestDrop:
    def test_a_dropped_table_is_gone_with_its_files(self, contract: Contract) -> None:
        table = contract.catalog.create_table("db.t", SCHEMA)
        table.append(NUMBERS)
        root = table.snapshot.root
        assert contract.catalog.drop_table("db.t") is True
        assert not contract.catalog.table_exists("db.t") and names(contract) == []
        assert not contract.there(root)
        refuses(ds.TableNotFound, None, contract.catalog.load_table, "db.t")

    def test_a_table_that_does_not_exist(self, contract: Contract) -> None:
        assert contract.catalog.drop_table("db.t") is False
        assert contract.catalog.drop_table("db.t", purge=True) is False
        assert contract.catalog.drop_table("nowhere.t") is False

    def test_only_one_of_two_drops_finds_the_table(self, contract: Contract) -> None:
        contract.catalog.create_table("db.t", SCHEMA)
        assert [contract.catalog.drop_table("db.t") for _ in range(2)] == [True, False]

    def test_the_name_can_be_used_again_without_a_trace_of_the_old_table(self, contract: Contract) -> None:
        contract.catalog.create_table("db.t", SCHEMA).append(NUMBERS)
        contract.catalog.drop_table("db.t")
        again = contract.catalog.create_table("db.t", "other INT")
        assert (again.version, [f.name for f in again.schema.fields]) == (0, ["other"])

    def test_files_elsewhere_stay_unless_purged(self, contract: Contract) -> None:
        contract.needs("location")
        for purge in (False, True):
            place = contract.outside(f"orders{purge}")
            contract.catalog.create_table("db.t", SCHEMA, (), {"location": place}).append(NUMBERS)
            assert contract.catalog.drop_table("db.t", purge=purge) is True
            assert not contract.catalog.table_exists("db.t")
            assert contract.there(place) is not purge


class TestRename:
    def test_a_table_keeps_its_rows_and_history(self, contract: Contract) -> None:
        if "rename" in contract.lacks:
            contract.catalog.create_table("db.t", SCHEMA)
            refuses(ds.UnsupportedFeature, "rename", contract.catalog.rename_table, "db.t", "db.u")
            assert names(contract) == ["t"]
            return
        contract.catalog.create_table("db.t", SCHEMA).append(NUMBERS)
        contract.catalog.rename_table("db.t", "db.u")
        renamed = contract.catalog.load_table("db.u")
        assert (renamed.version, ids_of(renamed), names(contract)) == (1, [1, 2, 3], ["u"])
        refuses(ds.TableNotFound, None, contract.catalog.load_table, "db.t")
        contract.catalog.create_table("db.t", "x INT")
        assert len(contract.catalog.load_table("db.u").schema.fields) == 2

    def test_into_another_namespace(self, contract: Contract) -> None:
        contract.needs("rename", "moves")
        contract.catalog.create_table("db.t", SCHEMA)
        contract.catalog.rename_table("db.t", "other.t")
        assert (names(contract), names(contract, "other")) == ([], ["t"])

    def test_a_table_elsewhere_stays_where_it_is(self, contract: Contract) -> None:
        contract.needs("moves")
        contract.needs("location", "rename location")
        place = contract.outside("orders")
        contract.catalog.create_table("db.t", SCHEMA, (), {"location": place})
        contract.catalog.rename_table("db.t", "other.u")
        assert (names(contract), names(contract, "other")) == ([], ["u"])
        assert contract.catalog.load_table("other.u").snapshot.root == place


class TestRegister:
    def test_a_table_gets_a_name(self, contract: Contract) -> None:
        contract.needs("location")
        place = contract.outside("orders")
        ds.DeltaTable.create(place, SCHEMA, storage_options=contract.storage_options).append(NUMBERS)
        found = contract.catalog.register_table("db.t", place)
        assert (found.version, ids_of(contract.catalog.load_table("db.t"))) == (1, [1, 2, 3])
        assert names(contract) == ["t"]
        assert contract.catalog.drop_table("db.t")
        assert contract.there(place)

    def test_a_place_comes_back_as_it_was_given(self, contract: Contract) -> None:
        contract.needs("location")
        for name in ("made elsewhere", "100%25 é+#'"):
            place = contract.outside(name)
            ds.DeltaTable.create(place, SCHEMA, storage_options=contract.storage_options)
            contract.catalog.register_table("db.t", place)
            shown = contract.catalog.sql(None, "DESCRIBE TABLE EXTENDED db.t").to_pylist()
            assert {row["data_type"] for row in shown if row["col_name"] == "Location"} == {place}
            [detail] = contract.catalog.sql(None, "DESCRIBE DETAIL db.t").to_pylist()
            [created] = contract.catalog.sql(None, "SHOW CREATE TABLE db.t").to_pylist()
            assert detail["location"] == contract.catalog.load_table("db.t").detail().location == place
            contract.catalog.drop_table("db.t", purge=True)
            assert not contract.there(place)
            contract.catalog.sql(None, created["createtab_stmt"])
            assert contract.there(place)
            contract.catalog.drop_table("db.t")


class TestNames:
    def test_odd_names_of_tables(self, contract: Contract) -> None:
        contract.needs("odd names")
        odd = contract.part(ODD)
        for name in odd:
            contract.catalog.create_table(("db", name), SCHEMA, (), {"comment": name})
        assert names(contract) == sorted(odd)
        for ident in contract.catalog.list_tables("db"):
            assert contract.catalog.load_table(str(ident)).metadata.description == ident.name
        for name in odd:
            assert contract.catalog.drop_table(("db", name))
        assert names(contract) == []

    def test_a_table_with_an_odd_name_takes_rows_changes_and_another_name(self, contract: Contract) -> None:
        contract.needs("odd names")

        def check(name: str) -> None:
            contract.catalog.create_table(("db", name), SCHEMA, ["name"]).append(NUMBERS)
            contract.catalog.alter_table(("db", name), AddColumn("more", "INT"))
            if "rename" not in contract.lacks:
                contract.catalog.rename_table(("db", name), ("db", name + "2"))
                name += "2"
            assert ids_of(contract.catalog.load_table(("db", name))) == [1, 2, 3]

        each(contract.tried(["with.dot", "with`tick", "a/b", "_leading", "Grüße %41"]), check)

    def test_odd_names_of_namespaces(self, contract: Contract) -> None:
        contract.needs("odd names")
        odd = [name for name in contract.part(ODD) if name != "_delta_log"]  # refused: see test_contract_namespaces.py
        for name in odd:
            contract.catalog.create_namespace((name,), {"comment": name})
            contract.catalog.create_table((name, "t"), SCHEMA)
        assert contract.catalog.list_namespaces() == sorted([(name,) for name in (*odd, "db", "other")])
        for name in odd:
            assert contract.catalog.load_namespace((name,))["comment"] == name
            assert contract.catalog.drop_namespace((name,), cascade=True)
        assert contract.catalog.list_namespaces() == [("db",), ("other",)]

    def test_names_that_differ_in_letter_case_only_are_two_tables_or_refused(self, contract: Contract) -> None:
        contract.needs("odd names")
        contract.catalog.create_table("db.orders", "a INT")
        contract.catalog.create_table("db.Orders", "b INT")
        found = {name: contract.catalog.load_table(("db", name)).schema.fields[0].name for name in names(contract)}
        assert found == {"orders": "a", "Orders": "b"}

    def test_all_ways_to_write_a_name_mean_the_same(self, contract: Contract) -> None:
        contract.catalog.create_table("db.t", SCHEMA)

        def check(ident: Any) -> None:
            assert contract.catalog.table_exists(ident)
            assert contract.catalog.load_table(ident).version == 0

        each(["db.t", "`db`.`t`", ("db", "t"), ["db", "t"], ds.CatalogIdentifier(("db",), "t")], check)

    def test_text_that_is_no_name_is_refused(self, contract: Contract) -> None:
        def check(ident: Any) -> None:
            refuses(ds.InvalidArgument, None, contract.catalog.table_exists, ident)
            refuses(ds.InvalidArgument, None, contract.catalog.create_table, ident, SCHEMA)

        each(["", (), "a..b", "a b", ("db", "")], check)

    def test_what_is_no_text_is_refused(self, contract: Contract) -> None:
        def check(ident: Any) -> None:
            refuses(ds.InvalidArgumentType, None, contract.catalog.load_table, ident)

        each([None, 5, ("db", 5), {"db": "t"}], check)
