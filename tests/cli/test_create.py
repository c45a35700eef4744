"""deltaskip create: what it makes, and what it refuses."""

import json
from pathlib import Path

import deltaskip as ds
from tests.cli.conftest import Run
from tests.looped import looped


def test_create_makes_the_table(run: Run, tmp_path: Path) -> None:
    where = tmp_path / "t"
    ran = run("create", where, "id BIGINT NOT NULL, ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))",
              "--partition-by", "day", "--property", "delta.appendOnly=true", "--comment", "some events")  # fmt: skip
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"version 0 of {where.as_uri()}"
    assert "id      bigint NOT NULL" in ran.out
    made = ds.DeltaTable(where)
    assert (made.partition_columns, made.properties) == (("day",), {"delta.appendOnly": "true"})
    assert made.metadata.description == "some events"
    again = run("create", where, "id BIGINT")
    assert again.status == 1
    assert again.err.startswith("deltaskip: error: ")
    assert again.err.count("\n") == 1
    kept = run("create", where, "other INT", "--if-not-exists", "--json")
    assert json.loads(kept.out)["schema"][0]["name"] == "id"
    assert run("create", where, "id INT", "--if-not-exists", "--mode", "replace").status == 2
    made.append([{"id": 1, "ts": None}])
    assert run("create", tmp_path / "copy", next(where.glob("*/*.parquet"))).status == 0
    assert ds.DeltaTable(tmp_path / "copy").schema.names == ("id", "ts")
    assert "x.parquet" in run("create", tmp_path / "none", "x.parquet").err


def test_create_replaces_and_clusters(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t"
    ds.DeltaTable.create(table, "id BIGINT")
    found = json.loads(run("create", table, "a INT, b INT", "--mode", "replace", "--cluster-by", "b", "--json").out)
    assert (found["version"], [each["name"] for each in found["schema"]]) == (1, ["a", "b"])
    assert "clustering" in found["writer_features"]


@looped("ddl", ["id NOTHING", "id", "", "id INT,"])
def test_create_names_what_is_wrong(run: Run, tmp_path: Path, ddl: str) -> None:
    ran = run("create", tmp_path / "t", ddl)
    assert ran.status in (1, 2)
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "t").exists()
