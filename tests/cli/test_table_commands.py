"""Commands that make, change, restore and clean up tables: what they do, print and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deltaskip as ds
from tests.cli.conftest import Run
from tests.dml.tables import rows_of
from tests.looped import looped
from tests.table.test_advice import in_days, made


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


def test_create_says_that_a_text_file_has_no_types(run: Run, tmp_path: Path) -> None:
    ran = run("create", tmp_path / "t", "rows.csv")
    assert ran.status == 2 and "rows.csv has no types: write the columns" in ran.err
    assert not (tmp_path / "t").exists()


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


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table without rows."""
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT, code STRING")
    return tmp_path / "t"


def test_alter_makes_several_changes_in_one_commit(run: Run, table: Path) -> None:
    ran = run("alter", table, "ADD COLUMN c INT AFTER id", "SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    assert (ran.status, ran.err) == (0, ""), ran
    assert ran.out.splitlines()[0] == f"version 1 of {table.as_uri()}"
    altered = ds.DeltaTable(table)
    assert (altered.version, altered.schema.names[:2]) == (1, ("id", "c"))
    assert altered.properties["delta.appendOnly"] == "true"


def test_a_dry_run_of_alter_shows_before_and_after(run: Run, table: Path) -> None:
    found = json.loads(run("alter", table, "ADD COLUMN v VARIANT", "--dry-run", "--json").out)
    assert found["version"] is None
    assert "v" not in [each["name"] for each in found["before"]["schema"]]
    assert "v" in [each["name"] for each in found["after"]["schema"]]
    assert "variantType" in found["after"]["writer_features"]
    text = run("alter", table, "ADD COLUMN v VARIANT", "--dry-run").out
    assert text.startswith("would alter ")
    assert "variantType" in text
    assert ds.DeltaTable(table).version == 0


@pytest.mark.parametrize("statement", ["ADD COLUMN id INT", "NONSENSE", "DROP COLUMN nope", ""])
def test_alter_names_what_is_wrong(run: Run, table: Path, statement: str) -> None:
    for more in ((), ("--dry-run",)):
        ran = run("alter", table, "ADD COLUMN fine INT", statement, *more)
        assert ran.status in (1, 2), ran
        assert ran.err.count("\n") == 1
    assert "in quotes: 'ADD COLUMN y INT'" in run("alter", table, "ADD", "COLUMN", "y", "INT").err
    assert ds.DeltaTable(table).version == 0


def test_clone_clones(run: Run, emptied: Path, tmp_path: Path) -> None:
    target = tmp_path / "c"
    ran = run("clone", emptied, target, "--version", "1", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would clone version 1 of ") and not target.exists()
    ran = run("clone", emptied, target, "--version", "1", "--property", "mine=1")
    assert ran.status == 0 and "cloned version 1 of" in ran.out
    assert len(rows_of(ds.DeltaTable(target))) == 9 and ds.DeltaTable(target).properties == {"mine": "1"}
    ran = run("clone", emptied, target)
    assert ran.status == 1 and "A table already exists at" in ran.err
    done = json.loads(run("clone", emptied, target, "--replace", "--json").out)
    assert done["version"] == 1 and done["metrics"]["numRemovedFiles"] == 1 and done["source_version"] == 2


def test_restore_restores(run: Run, emptied: Path) -> None:
    ran = run("restore", emptied, "--version", "1", "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would restore 1 file (") and "and remove " in ran.out
    ran = run("restore", emptied, "--version", "1")
    assert ran.status == 0 and ran.out.startswith("version 3: restored 1 file (")
    assert len(rows_of(ds.DeltaTable(emptied))) == 9
    ran = run("restore", emptied, "--version", "3")
    assert ran.out == "restored nothing: the table is at that version\n"
    done = json.loads(run("restore", emptied, "--version", "2", "--json").out)
    assert done["version"] == 4 and done["metrics"]["numRemovedFiles"] == 1
    for wrong in ((), ("--version", "1", "--timestamp", "2026-01-01")):
        assert run("restore", emptied, *wrong).status == 2
    (missing,) = (emptied / path for path in emptied.glob("part-*"))
    missing.unlink()
    ran = run("restore", emptied, "--version", "1")
    assert ran.status == 1 and "no longer exist" in ran.err
    assert run("restore", emptied, "--version", "1", "--no-check-files").status == 0


def test_vacuum_deletes_and_a_dry_run_shows(run: Run, emptied: Path) -> None:
    ran = run("vacuum", emptied, "--dry-run")
    assert ran.status == 0 and ran.out.startswith("would delete 1 file (2.0 KiB) in ") and "\n  orphan\n" in ran.out
    assert (emptied / "orphan").exists()
    ran = run("vacuum", emptied)
    assert ran.status == 0 and ran.out.startswith("version 4: deleted 1 file (2.0 KiB) in ")
    assert not (emptied / "orphan").exists()


def test_vacuum_as_json(run: Run, emptied: Path) -> None:
    done = json.loads(run("vacuum", emptied, "--retention", "8 days", "--json").out)
    assert done["files"] == ["orphan"] and done["bytes"] == 2048 and done["version"] == 4 and not done["dry_run"]
    assert set(done["seconds"]) == {"find", "delete"} and done["metrics"]["numDeletedFiles"] == 1


def test_a_short_retention_needs_an_option(run: Run, emptied: Path) -> None:
    ran = run("vacuum", emptied, "--retention", "0")
    assert ran.status == 2 and "too short" in ran.err and "vacuum with --no-enforce-retention if" in ran.err
    ran = run("vacuum", emptied, "--retention", "0", "--no-enforce-retention", "--lite")
    assert ran.status == 0 and "deleted 1 file" in ran.out and (emptied / "orphan").exists()
    ran = run("vacuum", emptied, "--retention", "soon")
    assert ran.status == 2 and "'7 days'" in ran.err


def test_generate_writes_manifests(run: Run, emptied: Path) -> None:
    ran = run("generate", emptied)
    assert ran.status == 0 and ran.out == "version 2: wrote 1 manifest\n"
    assert json.loads(run("generate", emptied, "--json").out)["written"] == ["_symlink_format_manifest/manifest"]
    assert run("generate", emptied, "other").status == 2


def test_the_command_prints_what_the_method_returns_and_draws_it(tmp_path: Path, run: Run) -> None:
    made(tmp_path / "t", "plain")
    given = [part for query in in_days(0) for part in ("--where", query)]
    picture = tmp_path / "picture.svg"
    found = run("advise", tmp_path / "t", *given, "--target-size", "300000", "--plot", picture)
    assert "% less)" in found.out and "t.optimize(zorder_by=['day'], target_file_bytes=300000)" in found.out
    assert picture.read_text().startswith("<svg") and "order day" in picture.read_text()
    as_json = json.loads(run("advise", tmp_path / "t", *given, "--target-size", "300000", "--json").out)
    assert as_json["suggestions"][0]["columns"] == ["day"]
    assert "either --where or --journal" in run("advise", tmp_path / "t").err


def test_the_command_prints_what_the_method_returns(run: Run, tmp_path: Path) -> None:
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    found = json.loads(run("compatibility", tmp_path / "t", "--json", "--engine", "daft", "--engine", "chdb").out)
    assert [(each["engine"], each["effect"]) for each in found] == [("daft", "refused"), ("chdb", "wrong")]
    printed = run("compatibility", tmp_path / "t", "--engine", "daft").out
    assert "drop_feature('deletionVectors')" in printed and "daft.from_arrow" in printed
    assert "Nothing is known" in run("compatibility", tmp_path / "t", "--engine", "polars").out
    unknown = run("compatibility", tmp_path / "t", "--engine", "poolars")
    assert unknown.status == 2 and "Did you mean polars?" in unknown.err
