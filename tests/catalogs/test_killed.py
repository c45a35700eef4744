"""kill -9 at every step of a change of a catalog leaves what was before or what comes after."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.data_files import encoding
from deltaskip.errors import TableNotFound
from tests.dml.tables import ids_of
from tests.each import each
from tests.extent import WHOLE, some
from tests.storage.s3 import endpoint, s3_options
from tests.txn.killed import steps_of

__all__ = ["endpoint", "s3_options"]

OLD_IDS, NEW_IDS = [1, 2, 3], [7, 8]

# URLs of catalogs below a folder; {folder} is different for each time that a change is killed.
LOCAL = {"warehouse": "warehouse:{below}/{{folder}}"}
if WHOLE:
    # tests/catalogs/database kills in one database, which takes less time.
    LOCAL["SQLite"] = "sql:sqlite:///{below}/{{folder}}.db"
# Changes that a catalog cannot make, by nature.
IMPOSSIBLE = {("warehouse on S3", "rename")}


SCHEMA = "id BIGINT, name STRING"
OLD = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
NEW = pa.table({"id": pa.array([7, 8], pa.int64()), "name": ["x", "y"]})


def _nothing(_: ds.TransactionalTableCatalog, __: str) -> None:
    pass


def _with_table(catalog: ds.TransactionalTableCatalog, _: str) -> None:
    catalog.create_table("db.t", SCHEMA, ["name"]).append(OLD)


def _with_outside(catalog: ds.TransactionalTableCatalog, outside: str) -> None:
    options = getattr(catalog, "storage_options", None)
    ds.DeltaTable.create(outside, SCHEMA, storage_options=options).append(OLD)


def _with_registered(catalog: ds.TransactionalTableCatalog, outside: str) -> None:
    _with_outside(catalog, outside)
    catalog.register_table("db.t", outside)


def _create(catalog: ds.TransactionalTableCatalog, _: str) -> None:
    with catalog.stage_create("db.t", SCHEMA, ["name"]) as staged:
        staged.append(OLD)


def _replace(catalog: ds.TransactionalTableCatalog, _: str) -> None:
    with catalog.stage_replace("db.t", "id BIGINT, name STRING, more INT", (), ["id DESC"]) as staged:
        staged.append(NEW)


Change = Callable[[ds.TransactionalTableCatalog, str], Any]
CHANGES: dict[str, tuple[Change, Change]] = {
    "create": (_nothing, _create),
    "replace": (_with_table, _replace),
    "register": (_with_outside, lambda catalog, outside: catalog.register_table("db.t", outside)),
    "rename": (_with_table, lambda catalog, _: catalog.rename_table("db.t", "other.u")),
    "rename registered": (_with_registered, lambda catalog, _: catalog.rename_table("db.t", "other.u")),
    "drop": (_with_table, lambda catalog, _: catalog.drop_table("db.t")),
    "drop registered": (_with_registered, lambda catalog, _: catalog.drop_table("db.t")),
    "alter": (_with_table, lambda catalog, _: catalog.alter_table("db.t", ds.AddColumn("a", "INT"))),
    "create namespace": (_nothing, lambda catalog, _: catalog.create_namespace("new", {"k": "v"})),
    "drop namespace": (_with_table, lambda catalog, _: catalog.drop_namespace("db", cascade=True)),
}


def opened(url: str, options: dict[str, Any], folder: str) -> tuple[ds.TransactionalTableCatalog, str]:
    """The catalog of one time, and a location that it does not manage."""
    found = ds.catalog(url.format(folder=folder), **options)
    assert isinstance(found, ds.TransactionalTableCatalog)
    place = url.partition(":")[2].format(folder=f"{folder}-outside")
    if ":///" in place:
        place = place.partition(":///")[2] + ".tables"
    return found, place


def changing(stop: int, change: str, url: str, options: str) -> Callable[[], object]:
    """What changes a catalog that has the namespaces `db` and `other`, and tables as the change needs them."""
    prepare, act = CHANGES[change]
    # One file after the other: the steps have an order.
    encoding._THREADS = 1
    catalog, outside = opened(url, json.loads(options), f"{change}-{stop}")
    for name in ("db", "other"):
        catalog.create_namespace(name)
    prepare(catalog, outside)
    return lambda: act(catalog, outside)


@dataclass(frozen=True)
class Place:
    """URL and options of a catalog, and the steps at which each change was killed, each in a catalog of its own."""

    url: str
    options: dict[str, Any]
    steps: dict[str, list[str]]

    def after(self, change: str) -> list[tuple[ds.TransactionalTableCatalog, str]]:
        """The catalog after each kill, and a location that it does not manage; the last change came to its end."""
        return [opened(self.url, self.options, f"{change}-{number}") for number in range(len(self.steps[change]))]


def killed(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    """A catalog in which every change was killed."""
    url, options = f"warehouse:s3://bucket/{uuid4()}/{{folder}}", {}
    if kind in LOCAL:
        url = LOCAL[kind].format(below=folder)
    else:
        options = {"storage_options": request.getfixturevalue("s3_options")}
    changes = [change for change in some(CHANGES, 3) if (kind, change) not in IMPOSSIBLE]
    found = {change: steps_of(changing, change, url, json.dumps(options)) for change in changes}
    assert all(len(steps) > 1 for steps in found.values())
    return Place(url, options, found)


def state(catalog: ds.TransactionalTableCatalog, ident: str) -> tuple[int, list[int]] | None:
    """Version and ids of a table; None if there is none."""
    try:
        table = catalog.load_table(ident)
    except TableNotFound:
        assert not catalog.table_exists(ident)
        assert ident.partition(".")[2] not in [each.name for each in _listed(catalog, ident.partition(".")[0])]
        return None
    return table.version, ids_of(table)


def _listed(catalog: ds.TransactionalTableCatalog, namespace: str) -> list[ds.CatalogIdentifier]:
    return catalog.list_tables(namespace) if catalog.namespace_exists(namespace) else []


def seen(place: Place, change: str, ident: str = "db.t") -> list[tuple[int, list[int]] | None]:
    """The state of the table after each kill; it must not go back once it is new."""
    return [state(catalog, ident) for catalog, _ in place.after(change)]


def assert_once(states: list[Any], before: Any, after: Any) -> None:
    """Assert that each state is the one before or the one after, the last one after, with one transition."""
    assert set(map(str, states)) == {str(before), str(after)}
    first = states.index(after)
    assert states == [before] * first + [after] * (len(states) - first)


def created_with_its_rows_or_not_at_all(place: Place, change: str) -> None:
    states = seen(place, change)
    assert_once(states, None, (0, OLD_IDS))
    for (catalog, _), before in zip(place.after(change), states, strict=True):
        if before is None:
            with catalog.stage_create("db.t", SCHEMA, ["name"]) as staged:
                staged.append(OLD)
        assert state(catalog, "db.t") == (0, OLD_IDS)
        assert catalog.drop_namespace("db", cascade=True)
        assert not catalog.namespace_exists("db")


def replaced_whole_or_not_at_all(place: Place, change: str) -> None:
    assert_once(seen(place, change), (1, OLD_IDS), (2, NEW_IDS))
    for catalog, _ in place.after(change):
        assert ids_of(catalog.load_table("db.t", version=1)) == OLD_IDS
        assert len(catalog.load_table("db.t").schema.fields) == (3 if state(catalog, "db.t") == (2, NEW_IDS) else 2)


def dropped_whole_or_still_there(place: Place, change: str) -> None:
    assert_once(seen(place, change), (1, OLD_IDS), None)
    for catalog, outside in place.after(change):
        catalog.drop_table("db.t")
        assert catalog.create_table("db.t", "x INT").version == 0
        assert state(catalog, "db.t") == (0, []) or len(catalog.load_table("db.t").schema.fields) == 1
        if change == "drop registered":
            table = ds.DeltaTable(outside, storage_options=place.options.get("storage_options"))
            assert ids_of(table) == OLD_IDS


def named_at_every_step(place: Place, change: str) -> None:
    found = list(zip(seen(place, change), seen(place, change, "other.u"), strict=True))
    for old, new in found:
        assert {str(old), str(new)} - {"None"} == {str((1, OLD_IDS))}
        assert change == "rename registered" or None in (old, new)
    assert found[-1] == (None, (1, OLD_IDS))


def registered_or_not(place: Place, change: str) -> None:
    assert_once(seen(place, change), None, (1, OLD_IDS))


def altered_or_not(place: Place, change: str) -> None:
    assert_once(seen(place, change), (1, OLD_IDS), (2, OLD_IDS))


def namespace_created_with_its_properties_or_not(place: Place, change: str) -> None:
    for catalog, _ in place.after(change):
        if catalog.namespace_exists("new"):
            assert catalog.load_namespace("new")["k"] == "v"
    assert catalog.namespace_exists("new")


def namespace_dropped_with_whole_tables_or_none(place: Place, change: str) -> None:
    assert_once(seen(place, change), (1, OLD_IDS), None)
    for catalog, _ in place.after(change):
        catalog.drop_namespace("db", cascade=True)
        assert not catalog.namespace_exists("db")


CHECKS: dict[str, Callable[[Place, str], None]] = {
    "create": created_with_its_rows_or_not_at_all, "replace": replaced_whole_or_not_at_all,
    "register": registered_or_not, "rename": named_at_every_step, "rename registered": named_at_every_step,
    "drop": dropped_whole_or_still_there, "drop registered": dropped_whole_or_still_there, "alter": altered_or_not,
    "create namespace": namespace_created_with_its_properties_or_not,
    "drop namespace": namespace_dropped_with_whole_tables_or_none,
}  # fmt: skip


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("kind", [*LOCAL, "warehouse on S3"])
def test_a_killed_change_is_there_wholly_or_not(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = killed(kind, tmp_path, request)
    each(place.steps, lambda change: CHECKS[change](place, change))


def test_every_change_is_killed() -> None:
    assert set(CHANGES) == set(CHECKS)
