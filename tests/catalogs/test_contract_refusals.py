"""The contract of every catalog: what is refused by name, and that it changes nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.catalogs.contract import SCHEMA, Contract, contract, endpoint, s3_options

__all__ = ["contract", "endpoint", "s3_options"]

pytestmark = pytest.mark.long(gate=4)

Error = type[Exception] | tuple[type[Exception], ...]
PROPERTIES = "namespace properties"
T = {"db.t": SCHEMA}
OTHER = ds.SetProperty("c", "3")


@dataclass(frozen=True)
class Refusal:
    """An act with a catalog and a place, which fails.

    Attributes:
        tables: What there is before.
        elsewhere: Whether there is a table at the place, which the catalog does not know.
    """

    act: Callable[[ds.TransactionalTableCatalog, str], object]
    error: Error
    match: str | None = None
    needs: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    elsewhere: bool = False


REFUSALS = {
    "create: a name that is taken": Refusal(
        lambda c, _: c.create_table("db.t", "other INT"), ds.TableAlreadyExists, "t", tables=T),
    "create: no such namespace": Refusal(
        lambda c, _: c.create_table("nowhere.t", SCHEMA), ds.NamespaceNotFound, "nowhere"),
    "create: another provider": Refusal(
        lambda c, _: c.create_table("db.t", SCHEMA, (), {"provider": "parquet"}), ds.InvalidArgument, "provider"),
    "create: external without location": Refusal(
        lambda c, _: c.create_table("db.t", SCHEMA, (), {"external": "true"}), ds.InvalidArgument, "location"),
    "create: a location with a table": Refusal(
        lambda c, place: c.create_table("db.t", "x INT", (), {"location": place}), ds.TableAlreadyExists,
        needs=("location",), elsewhere=True),
    "load: no such table": Refusal(lambda c, _: c.load_table("db.t"), ds.TableNotFound, "t"),
    "refresh: no such table": Refusal(lambda c, _: c.refresh_table("db.t"), ds.TableNotFound, "t"),
    "load: no such namespace": Refusal(
        lambda c, _: c.load_table("nowhere.t"), (ds.TableNotFound, ds.NamespaceNotFound), "nowhere"),
    "load: no such version": Refusal(lambda c, _: c.load_table("db.t", version=7), ds.VersionNotFound, "7", tables=T),
    "list: no such namespace": Refusal(lambda c, _: c.list_tables("nowhere"), ds.NamespaceNotFound, "nowhere"),
    "rename: no such table": Refusal(lambda c, _: c.rename_table("db.t", "db.u"), ds.TableNotFound, "t"),
    "rename: onto a table": Refusal(
        lambda c, _: c.rename_table("db.t", "db.u"), ds.TableAlreadyExists, "u", tables={**T, "db.u": "x INT"}),
    "rename: onto itself": Refusal(lambda c, _: c.rename_table("db.t", "db.t"), ds.TableAlreadyExists, tables=T),
    "rename: no such namespace": Refusal(
        lambda c, _: c.rename_table("db.t", "nowhere.t"), ds.NamespaceNotFound, "nowhere", tables=T),
    "register: no table": Refusal(
        lambda c, place: c.register_table("db.t", place), ds.TableNotFound, needs=("location",)),
    "register: a name that is taken": Refusal(
        lambda c, place: c.register_table("db.t", place), ds.TableAlreadyExists, needs=("location",), tables=T,
        elsewhere=True),
    "register: no such namespace": Refusal(
        lambda c, place: c.register_table("nowhere.t", place), ds.NamespaceNotFound, needs=("location",),
        elsewhere=True),
    "append: columns that do not fit": Refusal(
        lambda c, _: c.load_table("db.t").append(pa.table({"nothing": [1]})), ds.SchemaError, tables=T),
    **{f"{name}: no such namespace": Refusal(act, ds.NamespaceNotFound, "nowhere") for name, act in {
        "list namespaces": lambda c, _: c.list_namespaces("nowhere"),
        "load namespace": lambda c, _: c.load_namespace("nowhere"),
        "alter namespace": lambda c, _: c.alter_namespace("nowhere", OTHER),
        "stage create": lambda c, _: c.stage_create("nowhere.t", SCHEMA),
        "stage create or replace": lambda c, _: c.stage_create_or_replace("nowhere.t", SCHEMA),
    }.items()},
    "create namespace: one that exists": Refusal(
        lambda c, _: c.create_namespace("db", {"k": "second"}), ds.NamespaceAlreadyExists, "db", (PROPERTIES,)),
    "create namespace: the root": Refusal(lambda c, _: c.create_namespace(()), ds.NamespaceAlreadyExists),
    "create namespace: below no other": Refusal(
        lambda c, _: c.create_namespace("nowhere.inner"), ds.NamespaceNotFound, "nowhere", ("nested",)),
    **{f"alter namespace: by {change!r}": Refusal(
        lambda c, _, change=change: c.alter_namespace("db", OTHER, change), ds.InvalidArgumentType)
        for change in ("a", None, ds.AddColumn("a", "INT"))},
    "alter namespace: the root": Refusal(lambda c, _: c.alter_namespace((), OTHER), ds.InvalidArgument, "root"),
    "drop namespace: the root": Refusal(
        lambda c, _: c.drop_namespace((), cascade=True), ds.InvalidArgument, "root"),
    "drop namespace: with a table": Refusal(lambda c, _: c.drop_namespace("db"), ds.NamespaceNotEmpty, "t", tables=T),
    "drop namespace: with a namespace": Refusal(
        lambda c, _: c.drop_namespace("db"), ds.NamespaceNotEmpty, "inner", ("nested",), {"db.inner.t": SCHEMA}),
    "stage create: a name that is taken": Refusal(
        lambda c, _: c.stage_create("db.t", SCHEMA), ds.TableAlreadyExists, tables=T),
    "stage replace: no such table": Refusal(lambda c, _: c.stage_replace("db.t", SCHEMA), ds.TableNotFound),
    "stage replace: by one elsewhere": Refusal(
        lambda c, place: c.stage_replace("db.t", SCHEMA, properties={"location": place}), ds.InvalidArgument,
        "cannot be replaced", ("location",), T),
    **{f"stage create: ordered by {order!r}": Refusal(
        lambda c, _, order=order: c.stage_create("db.t", SCHEMA, (), order), ds.InvalidArgumentType, "sort_order")
        for order in ("id", 5, [5], [None])},
}  # fmt: skip


def state(contract: Contract, space: tuple[str, ...] = ()) -> dict[object, object]:
    """The namespaces, some of their properties, and the tables with their versions and columns."""
    catalog, found = contract.catalog, dict[object, object]()
    for each in catalog.list_namespaces(space):
        properties = {} if PROPERTIES in contract.lacks else catalog.load_namespace(each)
        found[each] = {name: properties.get(name) for name in ("k", "c")}
        tables = {ident: catalog.load_table(ident) for ident in catalog.list_tables(each)}
        found |= {ident: (table.version, table.schema) for ident, table in tables.items()}
        found |= {} if "nested" in contract.lacks else state(contract, each)
    return found


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_is_named_and_changes_nothing(contract: Contract, name: str) -> None:
    case = REFUSALS[name]
    contract.needs(*case.needs)
    for table, schema in case.tables.items():
        if table.count(".") > 1:
            contract.catalog.create_namespace(table.rpartition(".")[0])
        contract.catalog.create_table(table, schema)
    place = contract.outside("orders")
    if case.elsewhere:
        ds.DeltaTable.create(place, SCHEMA, storage_options=contract.storage_options)
    before = state(contract)
    with pytest.raises(case.error, match=case.match):
        case.act(contract.catalog, place)
    assert state(contract) == before
    assert not contract.catalog.namespace_exists("nowhere") and not contract.catalog.table_exists("nowhere.t")
    if case.elsewhere:
        assert len(ds.DeltaTable(place, storage_options=contract.storage_options).schema.fields) == 2
