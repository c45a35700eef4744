"""The contract of every catalog: namespaces. Cases are those of Spark's SupportsNamespaces and its tests."""

import pytest

import deltaskip as ds
from deltaskip.catalogs.located import LocatedCatalog
from tests.catalogs.contract import NUMBERS, SCHEMA, Contract, contract, endpoint, s3_options
from tests.each import refuses

__all__ = ["contract", "endpoint", "s3_options"]

pytestmark = pytest.mark.long(gate=3)


def test_namespaces_are_listed_sorted(contract: Contract) -> None:
    contract.catalog.create_namespace("more")
    found = [name for name in contract.catalog.list_namespaces() if name != ("default",)]
    assert found == [("db",), ("more",), ("other",)]


def test_inner_namespaces_are_listed_below_their_own(contract: Contract) -> None:
    contract.needs("nested")
    for name in ("db.b", "db.a", "db.a.deep"):
        contract.catalog.create_namespace(name)
    assert contract.catalog.list_namespaces() == [("db",), ("other",)]
    assert contract.catalog.list_namespaces("db") == [("db", "a"), ("db", "b")]
    assert contract.catalog.list_namespaces(("db", "a")) == [("db", "a", "deep")]
    assert contract.catalog.list_namespaces("other") == []


def test_tables_are_no_namespaces(contract: Contract) -> None:
    contract.catalog.create_table("db.t", SCHEMA)
    assert contract.catalog.list_namespaces("db") == []
    assert not contract.catalog.namespace_exists("db.t")


def test_existence(contract: Contract) -> None:
    assert contract.catalog.namespace_exists("db")
    assert contract.catalog.namespace_exists(())
    assert not contract.catalog.namespace_exists("nowhere")
    assert not contract.catalog.namespace_exists("nowhere.inner")


def test_properties_come_back(contract: Contract) -> None:
    contract.needs("namespace properties")
    contract.catalog.create_namespace("new", {"comment": "all of it", "my.own": "x=y 'z'"})
    found = contract.catalog.load_namespace("new")
    assert (found["comment"], found["my.own"]) == ("all of it", "x=y 'z'")


def test_a_namespace_is_described(contract: Contract) -> None:
    contract.needs("namespace properties")
    contract.catalog.create_namespace("new", {"comment": "all of it", "k": "v"})
    found = contract.catalog.describe_namespace("new")
    assert (found.catalog, found.namespace, found.comment) == (contract.catalog.name, ("new",), "all of it")
    assert found.properties["k"] == "v"
    assert not {"comment", "location", "owner"} & found.properties.keys()
    refuses(ds.NamespaceNotFound, "nothing", contract.catalog.describe_namespace, "nothing")


def test_properties_are_changed_in_order(contract: Contract) -> None:
    contract.needs("namespace properties")
    contract.catalog.create_namespace("new", {"a": "1", "b": "2"})
    contract.catalog.alter_namespace(
        "new", ds.SetProperty("c", "3"), ds.RemoveProperty("a"), ds.SetProperty("b", "4"), ds.RemoveProperty("c")
    )
    found = contract.catalog.load_namespace("new")
    assert {name: found[name] for name in ("a", "b", "c") if name in found} == {"b": "4"}


def test_a_property_that_is_not_set_is_removed_without_error(contract: Contract) -> None:
    contract.needs("namespace properties")
    contract.catalog.alter_namespace("db", ds.RemoveProperty("nothing"))
    assert "nothing" not in contract.catalog.load_namespace("db")


def test_an_empty_namespace_is_dropped(contract: Contract) -> None:
    assert contract.catalog.drop_namespace("db") is True
    assert not contract.catalog.namespace_exists("db")
    assert contract.catalog.drop_namespace("db") is False


def test_one_that_does_not_exist_is_not_dropped(contract: Contract) -> None:
    assert contract.catalog.drop_namespace("nowhere") is False
    assert contract.catalog.drop_namespace("nowhere", cascade=True) is False


def test_a_namespace_is_dropped_with_its_tables(contract: Contract) -> None:
    table = contract.catalog.create_table("db.t", SCHEMA)
    table.append(NUMBERS)
    assert contract.catalog.drop_namespace("db", cascade=True) is True
    assert not contract.catalog.namespace_exists("db")
    assert not contract.catalog.table_exists("db.t")
    assert not contract.there(table.snapshot.root)
    contract.catalog.create_namespace("db")
    assert contract.catalog.list_tables("db") == []


def test_a_namespace_is_dropped_with_the_namespaces_in_it(contract: Contract) -> None:
    contract.needs("nested")
    contract.catalog.create_namespace("db.inner")
    contract.catalog.create_table("db.inner.t", SCHEMA)
    assert contract.catalog.drop_namespace("db", cascade=True) is True
    assert contract.catalog.list_namespaces() == [("other",)]


def test_files_elsewhere_stay_when_a_namespace_is_dropped(contract: Contract) -> None:
    contract.needs("location")
    place = contract.outside("orders")
    contract.catalog.create_table("db.t", SCHEMA, (), {"location": place})
    assert contract.catalog.drop_namespace("db", cascade=True)
    assert contract.there(place)


def test_a_namespace_can_have_the_name_of_a_table_elsewhere(contract: Contract) -> None:
    contract.needs("nested")
    contract.catalog.create_table("db.other", SCHEMA)
    contract.catalog.create_table("other.db", SCHEMA)
    assert contract.catalog.table_exists("db.other") and contract.catalog.namespace_exists("other")


def test_no_new_namespace_has_the_name_of_a_folder_in_a_table(contract: Contract) -> None:
    catalog = contract.catalog
    if not isinstance(catalog, LocatedCatalog):
        pytest.skip("the session decides about its names")
    for name in ("_delta_log", "_Delta_Log", "_change_data", "_symlink_format_manifest"):
        refuses(ds.InvalidArgument, f"No namespace can be named {name}", catalog.create_namespace, (name,))
        assert not catalog.namespace_exists((name,))
