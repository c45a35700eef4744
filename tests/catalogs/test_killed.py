"""kill -9 at every step of a change of a catalog leaves what was before or what comes after."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import deltaskip as ds
from deltaskip.errors import TableNotFound
from tests.catalogs.killed import CHANGES, OLD, SCHEMA, opened
from tests.dml.tables import ids_of
from tests.extent import WHOLE
from tests.storage.s3 import endpoint, s3_options

__all__ = ["endpoint", "s3_options"]

ROOT = Path(__file__).resolve().parents[2]
OLD_IDS, NEW_IDS = [1, 2, 3], [7, 8]

# URLs of catalogs below a folder; {folder} is different for each time that a change is killed.
LOCAL = {"warehouse": "warehouse:{below}/{{folder}}"}
if WHOLE:
    # tests/catalogs/database kills in one database, which takes less time.
    LOCAL["SQLite"] = "sql:sqlite:///{below}/{{folder}}.db"
# Changes that a catalog cannot make, by nature.
IMPOSSIBLE = {("warehouse on S3", "rename")}

Killed = tuple[str, dict[str, Any], list[str]]


@pytest.fixture(params=[*LOCAL, "warehouse on S3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str, dict[str, Any]]:
    """Name, URL and options of a catalog."""
    if request.param in LOCAL:
        return request.param, LOCAL[request.param].format(below=tmp_path), {}
    options = {"storage_options": request.getfixturevalue("s3_options")}
    return request.param, f"warehouse:s3://bucket/{uuid4()}/{{folder}}", options


def killed(place: tuple[str, str, dict[str, Any]], change: str) -> Killed:
    """URL and options of the catalogs, and the step at which the change was killed in each."""
    name, url, options = place
    if (name, change) in IMPOSSIBLE:
        pytest.skip(f"{name} cannot {change}")
    command = [sys.executable, "-m", "tests.catalogs.killed", change, url, json.dumps(options)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    steps = run.stdout.splitlines()
    assert steps[-1] == "done" and len(steps) > 1
    return url, options, steps


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


def seen_in(killed: Killed, ident: str = "db.t") -> list[tuple[int, list[int]] | None]:
    """The state of the table after each kill; it must not go back once it is new."""
    url, options, steps = killed
    return [state(opened(url, options, number)[0], ident) for number in range(len(steps))]


def assert_once(states: list[Any], before: Any, after: Any) -> None:
    """Assert that each state is the one before or the one after, the last one after, with one transition."""
    assert set(map(str, states)) == {str(before), str(after)}
    first = states.index(after)
    assert states == [before] * first + [after] * (len(states) - first)


def test_a_table_is_created_with_its_rows_or_not_at_all(place: tuple[str, str, dict[str, Any]]) -> None:
    found = killed(place, "create")
    states = seen_in(found)
    assert_once(states, None, (0, OLD_IDS))
    url, options, _ = found
    for number, before in enumerate(states):
        catalog, _ = opened(url, options, number)
        if before is None:
            with catalog.stage_create("db.t", SCHEMA, ["name"]) as staged:
                staged.append(OLD)
        assert state(catalog, "db.t") == (0, OLD_IDS)
        assert catalog.drop_namespace("db", cascade=True)
        assert not catalog.namespace_exists("db")


def test_a_table_is_replaced_whole_or_not_at_all(place: tuple[str, str, dict[str, Any]]) -> None:
    found = killed(place, "replace")
    assert_once(seen_in(found), (1, OLD_IDS), (2, NEW_IDS))
    url, options, steps = found
    for number in range(len(steps)):
        catalog, _ = opened(url, options, number)
        assert ids_of(catalog.load_table("db.t", version=1)) == OLD_IDS
        assert len(catalog.load_table("db.t").schema.fields) == (3 if state(catalog, "db.t") == (2, NEW_IDS) else 2)


@pytest.mark.parametrize("change", ["drop", "drop registered"])
def test_a_dropped_table_is_whole_or_gone(place: tuple[str, str, dict[str, Any]], change: str) -> None:
    found = killed(place, change)
    assert_once(seen_in(found), (1, OLD_IDS), None)
    url, options, steps = found
    for number in range(len(steps)):
        catalog, outside = opened(url, options, number)
        catalog.drop_table("db.t")
        assert catalog.create_table("db.t", "x INT").version == 0
        assert state(catalog, "db.t") == (0, []) or len(catalog.load_table("db.t").schema.fields) == 1
        if change == "drop registered":
            table = ds.DeltaTable(outside, storage_options=options.get("storage_options"))
            assert ids_of(table) == OLD_IDS


@pytest.mark.parametrize("change", ["rename", "rename registered"])
def test_a_renamed_table_has_a_name_at_every_step(place: tuple[str, str, dict[str, Any]], change: str) -> None:
    found = killed(place, change)
    for old, new in zip(seen_in(found), seen_in(found, "other.u"), strict=True):
        assert {str(old), str(new)} - {"None"} == {str((1, OLD_IDS))}
        assert change == "rename registered" or None in (old, new)
    assert (seen_in(found)[-1], seen_in(found, "other.u")[-1]) == (None, (1, OLD_IDS))


def test_a_table_is_registered_or_not(place: tuple[str, str, dict[str, Any]]) -> None:
    assert_once(seen_in(killed(place, "register")), None, (1, OLD_IDS))


def test_a_table_is_altered_or_not(place: tuple[str, str, dict[str, Any]]) -> None:
    assert_once(seen_in(killed(place, "alter")), (1, OLD_IDS), (2, OLD_IDS))


def test_a_namespace_is_created_with_its_properties_or_not(place: tuple[str, str, dict[str, Any]]) -> None:
    url, options, steps = killed(place, "create namespace")
    for number in range(len(steps)):
        catalog, _ = opened(url, options, number)
        if catalog.namespace_exists("new"):
            assert catalog.load_namespace("new")["k"] == "v"
    assert catalog.namespace_exists("new")


def test_a_dropped_namespace_has_whole_tables_or_none(place: tuple[str, str, dict[str, Any]]) -> None:
    found = killed(place, "drop namespace")
    assert_once(seen_in(found), (1, OLD_IDS), None)
    url, options, steps = found
    for number in range(len(steps)):
        catalog, _ = opened(url, options, number)
        catalog.drop_namespace("db", cascade=True)
        assert not catalog.namespace_exists("db")


def test_every_change_is_killed() -> None:
    assert set(CHANGES) == {
        "create", "replace", "register", "rename", "rename registered", "drop", "drop registered", "alter",
        "create namespace", "drop namespace",
    }  # fmt: skip
