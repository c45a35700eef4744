"""Changes of a catalog that are killed at each of their steps in turn.

    python -m tests.catalogs.killed URL OPTIONS CHANGE...

URL: of a catalog, with {folder} for the part that is different each time. OPTIONS: those of the catalog as JSON. Prints
a line for each time: the step at which the process was killed, or "done". The catalog of the first time has the folder
CHANGE-0, that of the second CHANGE-1, and so on; each has the namespaces `db` and `other`, and tables as the change
needs them.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.data_files import encoding
from tests.extent import extent
from tests.rows.killed import Committing
from tests.txn.killed import kill_at_each_step

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


def changing(change: str, url: str, options: dict[str, Any], number: int) -> Committing:
    """What changes a catalog that has what the change needs."""
    prepare, act = CHANGES[change]
    # One file after the other: the steps have an order.
    encoding._THREADS = 1
    catalog, outside = opened(url, options, f"{change}-{number}")
    for name in ("db", "other"):
        catalog.create_namespace(name)
    prepare(catalog, outside)
    return Committing(lambda: act(catalog, outside))


if __name__ == "__main__":
    place, given, *wanted = sys.argv[1:]
    for each in wanted:
        kill_at_each_step(partial(changing, each, place, json.loads(given)), most=extent(1, None))
