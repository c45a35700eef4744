"""Columns that other writers store in forms that pyarrow does not read: long decimals, and maps with optional keys."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import StorageError
from deltaskip.sparkexpr.types.data_types import LONG, STRING, DataType, DecimalType, MapType
from tests.builder import TableBuilder, add
from tests.each import refuses
from tests.footers import change_footer, change_types, decimal_type, nullable_pairs, optional_keys
from tests.looped import looped

EXACT = Context(prec=80)
HIGH = Decimal("9" * 35 + ".99")
VALUES: tuple[Decimal | None, ...] = (
    Decimal("1.50"), Decimal("-1.50"), None, HIGH, EXACT.minus(HIGH), Decimal("0.00"), Decimal("-0.01"),
    Decimal("12345678901234567890.12"),
)  # fmt: skip
WIDTHS = (17, 18, 20, 33, 40, None)


def as_bytes(values: Sequence[Decimal | None], scale: int, width: int | None, least: int = 0) -> pa.Array:
    """Unscaled values as Parquet has them; width: None for bytes of any length, at least `least`."""

    def one(value: Decimal) -> bytes:
        unscaled = int(value.scaleb(scale, EXACT))
        return unscaled.to_bytes(width or max(least, (unscaled.bit_length() + 8) // 8), "big", signed=True)

    given = [None if each is None else one(each) for each in values]
    return pa.array(given, pa.binary() if width is None else pa.binary(width))


def write_decimals(path: Path, width: int | None, least: int = 0, **options: Any) -> None:
    """A file with decimals as a column, in an array, as values of a map, and in a struct."""
    d = as_bytes(VALUES, 2, width, least)
    ones = range(len(VALUES) + 1)
    columns = {
        "id": pa.array(range(len(VALUES)), pa.int64()),
        "d": d,
        "a": pa.ListArray.from_arrays(pa.array(ones, pa.int32()), d),
        "m": pa.MapArray.from_arrays(pa.array(ones, pa.int32()), pa.array(["k"] * len(VALUES)), d),
        "s": pa.StructArray.from_arrays([d], ["d"]),
    }
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.table(columns), path, store_schema=False, **options)
    change_footer(path, change_types(dict.fromkeys(("d", "element", "value"), decimal_type(37, 2))))


ROWS = [{"id": i, "d": v, "a": [v], "m": [("k", v)], "s": {"d": v}} for i, v in enumerate(VALUES)]
PAIRS = [[("a", 1), ("b", None)], [], None, [("c", 3)]]
MAPS = [{"id": i, "m": pairs, "s": {"m": pairs}, "a": [pairs]} for i, pairs in enumerate(PAIRS)]


def write_maps(path: Path, pairs: list[Any] = PAIRS) -> None:
    m = nullable_pairs(pairs, pa.string(), pa.int64())
    columns = {
        "id": pa.array(range(len(pairs)), pa.int64()),
        "m": m,
        "s": pa.StructArray.from_arrays([m], ["m"]),
        "a": pa.ListArray.from_arrays(pa.array(range(len(pairs) + 1), pa.int32()), m),
    }
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.table(columns), path, store_schema=False)
    change_footer(path, optional_keys)


def _rows(table: ds.DeltaTable, where: str | None = None, **given: Any) -> list[dict[str, Any]]:
    return sorted(table.scan(where, **given).to_arrow().to_pylist(), key=lambda row: row["id"])


@looped("width", WIDTHS)
def test_long_decimals_are_read_compared_bounded_and_rewritten(tmp_path: Path, width: int | None) -> None:
    write_decimals(tmp_path / "c/f.parquet", width, row_group_size=3)
    table = ds.convert_to_delta(tmp_path / "c")
    added = ds.DeltaTable.create(tmp_path / "a", table.schema)
    write_decimals(tmp_path / "a/f.parquet", width, 20)
    added.add_files("f.parquet")
    for each in (table, added):
        assert _rows(each) == ROWS
        each.recompute_stats()
        for where, expected in (
            (f"d = {HIGH}", [3]), (f"d <= -{HIGH}", [4]), ("d < 0", [1, 4, 6]), ("s.d = 1.50", [0]), ("d IS NULL", [2]),
            ("a[0] = -1.50", [1]), ("m['k'] > 1000", [3, 7]), ("d = 12345678901234567890.12", [7]), ("d = 7", []),
            (f"d > {HIGH}", []),
        ):  # fmt: skip
            assert [row["id"] for row in _rows(each, where)] == expected, where
        assert len(each.scan(f"d = {HIGH}").paths()) == 1
        each.update({"d": "d + 1"}, "id = 0")
        changed = [{**row, "d": Decimal("2.50")} if row["id"] == 0 else row for row in ROWS]
        assert _rows(each) == changed
        each.optimize(where=None)
        each.delete("s.d = -1.50")
        assert _rows(each) == [row for row in changed if row["id"] != 1]


def test_a_dataset_of_pyarrow_is_refused(tmp_path: Path) -> None:
    write_decimals(tmp_path / "d/f.parquet", 17)
    write_maps(tmp_path / "m/f.parquet")
    for folder in ("d", "m"):
        table = ds.convert_to_delta(tmp_path / folder)
        with pytest.raises(ds.UnsupportedFeature, match="form that pyarrow does not read"):
            table.scan().to_dataset()


@looped("width", (18, 40, None))
def test_a_decimal_with_too_many_digits_is_an_error_that_names_the_file(tmp_path: Path, width: int | None) -> None:
    columns = {"id": pa.array([0]), "d": as_bytes([Decimal(10) ** 40], 2, width)}
    (tmp_path / "c").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "c/f.parquet", store_schema=False)
    change_footer(tmp_path / "c/f.parquet", change_types({"d": decimal_type(37, 2)}))
    _check_refused(tmp_path / "c", {"id": LONG, "d": DecimalType(37, 2)}, "does not fit|more digits")


def _check_refused(folder: Path, columns: dict[str, DataType], why: str) -> None:
    """The column is refused, and the one beside it is read."""
    builder = TableBuilder(folder, columns)
    builder.commit({"add": {**add("f.parquet")["add"], "size": (folder / "f.parquet").stat().st_size}})
    table = ds.DeltaTable(folder)
    assert table.scan(columns=["id"]).to_arrow().num_rows == 1
    refuses(StorageError, rf"f\.parquet.*({why})", lambda: table.scan().to_arrow())


def test_maps_with_optional_keys_are_read_added_and_rewritten(tmp_path: Path) -> None:
    write_maps(tmp_path / "c/f.parquet")
    table = ds.convert_to_delta(tmp_path / "c")
    added = ds.DeltaTable.create(tmp_path / "a", table.schema)
    write_maps(tmp_path / "a/f.parquet")
    added.add_files("f.parquet")
    for each in (table, added):
        assert _rows(each) == MAPS
        assert [row["id"] for row in _rows(each, "m['c'] = 3")] == [3]
        assert [row["id"] for row in _rows(each, "size(s.m) = 2", columns=["id"])] == [0]
        assert _rows(each, columns=["id", "s"])[0] == {"id": 0, "s": {"m": PAIRS[0]}}
        each.recompute_stats()
        each.update({"id": "id + 10"}, "id = 3")
        assert _rows(each) == [*MAPS[:3], {**MAPS[3], "id": 13}]
        each.optimize()
        assert _rows(each) == [*MAPS[:3], {**MAPS[3], "id": 13}]


def test_null_as_a_key_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    write_maps(tmp_path / "c/f.parquet", [[(None, 1)]])
    refuses(StorageError, r"f\.parquet.*NULL as a key", ds.convert_to_delta, tmp_path / "c")
    _check_refused(tmp_path / "c", {"id": LONG, "m": MapType(STRING, LONG, True)}, "NULL as a key")


def test_a_checkpoint_of_maps_with_optional_keys_is_read(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "t",
        "id BIGINT, p STRING",
        partition_by=["p"],
        properties={"own.key": "x", "delta.appendOnly": "false"},
    )
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int64()), "p": ["a", "b", None]}))
    table.checkpoint()
    log = tmp_path / "t" / "_delta_log"
    [path] = log.glob("*.checkpoint.parquet")
    rows = pq.read_table(path)
    # A row group without rows, as delta-spark writes for a part without actions, stands before the others.
    with pq.ParquetWriter(path, (lists := _as_lists(rows)).schema, store_schema=False) as writer:
        for part in (lists.slice(0, 0), lists):
            writer.write_table(part)
    assert pq.read_metadata(path).num_row_groups == 2
    change_footer(path, optional_keys)
    for each in [*log.glob("*.json"), *log.glob("*.crc"), log / "_last_checkpoint"]:
        each.unlink(missing_ok=True)
    found = ds.DeltaTable(tmp_path / "t")
    assert found.properties["own.key"] == "x"
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    assert found.scan("p = 'b'").to_arrow()["id"].to_pylist() == [2]
    assert found.scan("p IS NULL").paths() and found.scan("p = 'z'").paths() == []
    found.append(pa.table({"id": pa.array([4], pa.int64()), "p": ["b"]}))
    found.checkpoint()
    assert sorted(ds.DeltaTable(tmp_path / "t").scan("p = 'b'").to_arrow()["id"].to_pylist()) == [2, 4]


def _as_lists(table: pa.Table) -> pa.Table:
    """The maps of a checkpoint, at any depth, as lists of pairs."""

    def changed(array: pa.Array) -> pa.Array:
        kind = array.type
        if pa.types.is_map(kind):
            return nullable_pairs(array.to_pylist(), kind.key_type, kind.item_type)
        if pa.types.is_struct(kind):
            parts = [changed(array.field(i)) for i in range(kind.num_fields)]
            return pa.StructArray.from_arrays(parts, kind.names, mask=array.is_null())
        return array

    columns = [changed(column.combine_chunks()) for column in table.columns]
    return pa.table(columns, table.column_names)


@pytest.mark.spark
def test_spark_reads_the_same_rows(spark: Any, tmp_path: Path) -> None:
    for number, width in enumerate(WIDTHS):
        path = tmp_path / f"d{number}.parquet"
        write_decimals(path, width)
        assert [row.d for row in spark.read.parquet(str(path)).orderBy("id").collect()] == list(VALUES)
    write_maps(tmp_path / "m.parquet")
    found = spark.read.parquet(str(tmp_path / "m.parquet")).orderBy("id").collect()
    assert [None if row.m is None else list(row.m.items()) for row in found] == PAIRS
