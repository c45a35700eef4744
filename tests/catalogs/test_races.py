"""Random interleavings of what drops and creates a table with what reads and writes it: no race looks like damage."""

import os
import random
import shutil
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import CommitConflict, DeltaTable, MaintenanceWarning, TableAlreadyExists, TableNotFound
from tests.each import in_threads, refuses
from tests.extent import extent

DDL = "id BIGINT, v STRING"
STEPS = int(os.environ.get("DELTASKIP_RACE_STEPS", extent(20, 40)))
ALLOWED = (TableNotFound, TableAlreadyExists, CommitConflict)


def rows(count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int64()), "v": ["x"] * count})


def act(catalog: Any, table: DeltaTable | None, action: str, random_: random.Random) -> DeltaTable | None:
    """Do one thing, and return the table that the next one is done with."""
    if action == "drop":
        catalog.drop_table("db.t")
    elif action == "create":
        return catalog.create_table("db.t", DDL, properties={"delta.checkpointInterval": "3"})
    elif action == "open":
        return catalog.load_table("db.t")
    elif action == "replace":
        with catalog.stage_create_or_replace("db.t", DDL) as staged:
            staged.append(rows(2))
    elif action == "list":
        assert {str(each) for each in catalog.list_tables("db")} <= {"db.t"}
    elif table is None:
        return None
    elif action == "append":
        table.append(rows(random_.randint(1, 3)))
    elif action == "read":
        table.scan("id >= 0").to_arrow()
    elif action == "vacuum":
        table.vacuum(dry_run=random_.random() < 0.5)
    elif action == "delete":
        table.delete("id = 1")
    elif action == "history":
        table.history()
    elif action == "files":
        table.files_since(0)
    else:
        getattr(table, action)()
    return table


ACTIONS = (
    "drop", "create", "create", "open", "open", "append", "append", "append", "read", "list", "checkpoint", "vacuum",
    "delete", "history", "files", "optimize", "refresh", "replace",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(extent(1, 2)))
def test_a_race_with_a_drop_is_a_table_that_is_not_there(tmp_path: Path, seed: int) -> None:
    ds.catalog(f"warehouse:{tmp_path}").create_namespace("db")
    wrong: list[str] = []
    done = {"yes": 0, "no": 0}

    def work(number: int) -> None:
        random_, catalog = random.Random(f"{seed} {number}"), ds.catalog(f"warehouse:{tmp_path}")
        table: DeltaTable | None = None
        for _ in range(STEPS):
            action = random_.choice(ACTIONS)
            try:
                table = act(catalog, table, action, random_)
                done["yes"] += 1
            except ALLOWED:
                done["no"] += 1
            except Exception as error:  # the test shows it
                wrong.append(f"{action}: {type(error).__name__}: {error}")
                return

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaintenanceWarning)
        in_threads(work, range(3))
    assert not wrong
    # How many steps meet a table that is gone depends on how the threads come to run.
    assert done["yes"] > STEPS // 4 and done["no"]
    shutil.rmtree(tmp_path / "db" / "t", ignore_errors=True)


@pytest.mark.parametrize("interface", ["warehouse", "sql"])
def test_handles_and_staged_tables_are_of_the_table_that_they_named(tmp_path: Path, interface: str) -> None:
    given = {} if interface == "warehouse" else {"warehouse": str(tmp_path / "w")}
    if interface == "sql":
        pytest.importorskip("sqlalchemy")
    url = f"warehouse:{tmp_path}/w" if interface == "warehouse" else f"sql:sqlite:///{tmp_path}/catalog.db"
    catalog = ds.catalog(url, **given)
    catalog.create_namespace("db")
    for commits in (0, 1, 3):
        table = catalog.create_table("db.t", DDL)
        table.append(rows(2))
        staged = catalog.stage_replace("db.t", "a INT")  # type: ignore[attr-defined]
        catalog.drop_table("db.t")
        other = catalog.create_table("db.t", DDL)
        for _ in range(commits):
            other.append(rows(3))
        for change in (
            partial(table.delete, "id > 0"),
            partial(table.append, rows(1)),
            staged.commit_staged_changes,
            partial(table.alter, ds.AddColumn("c", "INT")),
        ):
            refuses(TableNotFound, None, change)
        assert catalog.load_table("db.t").scan().to_arrow().num_rows == 3 * commits
        assert catalog.load_table("db.t").version == commits
        catalog.drop_table("db.t")
