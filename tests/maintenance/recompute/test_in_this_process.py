"""Statistics recomputed without a session: committed by this process, from footers and values."""

import json
import logging
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from tests import corpus
from tests.builder import relog, without_statistics
from tests.stats.rowwise import parsed

TABLES = ["gen__types", "gen__types_dv", "gen__types_cm_id_part", "gen__nested", "golden__dv-with-columnmapping"]


def logged(table: ds.DeltaTable) -> dict[str, Any]:
    adds = table.snapshot.adds(["path", "stats"])
    texts = zip(adds["path"].to_pylist(), adds["stats"].to_pylist(), strict=True)
    return {path: None if text is None else parsed(text) for path, text in texts}


@pytest.mark.long(gate=2)
@pytest.mark.filterwarnings("ignore::deltaskip.ChecksumWarning")
@pytest.mark.parametrize("name", TABLES)
def test_tables_get_statistics_that_skip_and_answer_as_their_rows_do(tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(corpus.table(name).path, tmp_path / "t"))
    table = ds.DeltaTable(copy)
    before = table.scan().to_arrow()
    done = table.recompute_stats()
    assert done.files + done.unchanged == table.snapshot.num_files and not done.left_out
    # As text, since NaN is not equal to itself.
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == sorted(map(str, before.to_pylist()))
    assert all(stats is not None and "numRecords" in stats for stats in logged(table).values())
    assert table.scan().count() == len(before)
    again = table.recompute_stats(resume=False)
    assert (again.files, again.versions) == (0, [])
    # Each value is found again through the statistics alone.
    for column in before.schema:
        if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
            continue
        for value in before[column.name].drop_null().unique().to_pylist()[:5]:
            where = f"`{column.name}` = " + (f"'{value}'" if isinstance(value, str) else str(value))
            if "'" in str(value) or "\\" in str(value):
                continue
            expected = sum(each == value for each in before[column.name].to_pylist())
            assert len(table.scan(where).to_arrow()) == expected, where


def test_pruning_comes_back_and_nothing_of_spark_is_needed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, x DOUBLE, s STRING")
    for number in range(4):
        data = {"id": pa.array([number], pa.int32()), "x": [number + 0.5], "s": [f"v{number}"]}
        table.append(pa.table(data))
    relog(tmp_path / "t", without_statistics)
    table = ds.DeltaTable(tmp_path / "t")
    assert len(table.scan("x > 2.6").files()) == 4
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with caplog.at_level(logging.INFO, "deltaskip"):
        done = table.recompute_stats(batch_files=3)
    assert (done.files, len(done.versions)) == (4, 2)
    assert [record.getMessage() for record in caplog.records if "in this process" in record.getMessage()]
    for where in ("x > 2.6", "id = 3", "s = 'v3'"):
        assert len(table.scan(where).files()) == 1, where


def test_other_columns_keep_theirs_and_missing_files_are_named(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, s STRING")
    for number in range(3):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "s": [f"v{number}"]}))
    before = logged(table)
    assert table.recompute_stats(columns=["s"]).files == 0
    assert logged(table) == before
    [path] = table.scan("id = 1").files()["path"].to_pylist()
    (tmp_path / "t" / path).unlink()
    with pytest.raises(ds.DataFileMissing, match="version"):
        table.recompute_stats(resume=False, mode="scan")


def test_columns_that_the_property_leaves_out_are_counted(tmp_path: Path) -> None:
    indexed = "delta.dataSkippingNumIndexedCols"
    table = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, s STRUCT<a: INT, b: INT>, x INT", properties={indexed: "0"}
    )
    table.append(pa.table({"id": pa.array([1], pa.int64())}))
    for columns, number in ((None, 4), (["id"], 0)):
        assert table.recompute_plan(columns=columns, only_missing=True).not_indexed == number
        assert table.recompute_stats(columns=columns, only_missing=True).not_indexed == number
    table.alter(ds.SetProperty(indexed, "2"))
    assert table.recompute_stats(only_missing=True).not_indexed == 2


def test_bounds_include_both_zeros_by_every_door(tmp_path: Path) -> None:
    bounds = {"minValues": {"f": -0.0, "s": {"d": -0.0}}, "maxValues": {"f": 0.0, "s": {"d": 0.0}}}
    for number, zeros in enumerate([(-0.0, -0.0), (0.0, 0.0), (-0.0, 0.0)]):
        structs = pa.array([{"d": zero} for zero in zeros])
        rows = pa.table({"f": pa.array(zeros, pa.float32()), "s": structs})
        folder = tmp_path / f"{number}"
        (folder / "converted").mkdir(parents=True)
        pq.write_table(rows, folder / "converted" / "a.parquet")
        pq.write_table(rows, folder / "b.parquet")
        converted = ds.convert_to_delta(folder / "converted")
        appended = ds.DeltaTable.create(folder / "appended", "f FLOAT, s STRUCT<d: DOUBLE>")
        added = ds.DeltaTable.create(folder / "added", "f FLOAT, s STRUCT<d: DOUBLE>")
        appended.append(rows)
        shutil.copy(folder / "b.parquet", folder / "added" / "b.parquet")
        added.add_files(["b.parquet"])
        # delta-spark 4.4.0 logs the least and the greatest value of the rows.
        other = Path(shutil.copytree(folder / "added", folder / "other"))
        [commit] = (other / "_delta_log").glob("*1.json")
        text = commit.read_text(encoding="utf-8")
        assert text.count(":0.0") == 2
        commit.write_text(text.replace(":0.0", ":-0.0"), encoding="utf-8")
        (other / "_delta_log" / "00000000000000000001.crc").unlink(missing_ok=True)
        recomputed = ds.DeltaTable(other)
        assert recomputed.recompute_stats(only_missing=True).files == 1
        for table in (converted, appended, added, recomputed):
            [stats] = table.snapshot.adds(["stats"])["stats"].to_pylist()
            # As text, since the zeros are equal.
            found = {key: json.loads(stats)[key] for key in bounds}
            assert str(found) == str(bounds), table.uri
