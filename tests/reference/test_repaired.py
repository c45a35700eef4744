"""Verification beside delta-spark: its tables are sound, and it reads the rows that are left in repaired tables."""

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import deltaskip as ds
from tests.extent import extent
from tests.maintenance.verify.damages import DAMAGES
from tests.maintenance.verify.sound_tables import SOUND, rows
from tests.reference.conftest import answers_of, require_delta_spark, run_module

# The others have features that delta-spark does not read by a path, or files in another table.
_READ = [name for name in SOUND if name not in ("shapes", "in_trees", "cloned")]
_TABLES = extent(2, 4)
"""To which each damage is done."""


@pytest.mark.reference
@pytest.mark.long
def test_repaired_tables_and_tables_of_delta_spark(tmp_path: Path) -> None:
    require_delta_spark()
    written, repaired = tmp_path / "written", tmp_path / "repaired"
    run_module("tests.reference.repaired", "write", written)
    for table in sorted(written.iterdir()):
        found = ds.verify(table, data=True)
        assert [each for each in found if each.severity != "info"] == [], table.name
        assert found.not_checked == ()
    expected = {}
    for number, damage in enumerate(each for each in DAMAGES if each.mends):
        for name in random.Random(damage.name).sample(_READ, _TABLES):
            table = repaired / f"{number}-{name}"
            SOUND[name](table)
            with suppress(StopIteration, LookupError, ValueError, FileNotFoundError):
                # Else the table has no such thing, and is read as it is.
                damage.act(table)
                if any(step.refused for step in ds.verify(table, data=damage.data, repair=True).repairs):
                    shutil.rmtree(table)
                    continue
            expected[table.name] = sorted(ds.DeltaTable(table).scan().to_arrow()["id"].to_pylist())
    assert answers_of("tests.reference.repaired", tmp_path / "answers.json", first=["read", repaired]) == expected


@pytest.mark.reference
@pytest.mark.long
def test_checksums_of_both_engines_agree_with_mismatches_fatal(tmp_path: Path) -> None:
    """delta-spark derives each of its checksums from the one before it, which deltaskip wrote."""
    require_delta_spark()
    tables = {name: tmp_path / name for name in ("plain", "partitioned", "vectors", "mapped", "timed", "compacted")}
    for name, table in tables.items():
        SOUND[name](table)
    # The latest version is the last one of a log compaction.
    assert list(tables["compacted"].glob("_delta_log/*20.compacted.json"))
    assert ds.DeltaTable(tables["compacted"]).version == 20
    for number in range(4):
        run_module("tests.reference.repaired", "commit", tmp_path, number)
        for table in tables.values():
            opened = ds.DeltaTable(table)
            assert opened.verify(data=True).findings == ()
            opened.append(rows(600 + 20 * number))
            opened.delete(f"id = {100 + number}")
            opened.update({"name": "'again'"}, f"id = {200 + number}")
            if number == 2:
                opened.checkpoint()
            assert opened.verify(data=True).findings == ()
