"""Z-order and clustering: every row stays, files are skipped, and cubes are tagged as delta-spark tags them."""

import json
from bisect import bisect_right
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from deltaskip import DeltaTable
from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.maintenance.optimize import rewriting, zcubes
from deltaskip.maintenance.optimize.curve import cells_of, cut_places, cuts_of, places_on, side_bits
from deltaskip.maintenance.optimize.rewriting import Texts
from tests.dml.tables import actions_of, row_ids_of, rows, rows_of
from tests.each import refuses
from tests.extent import extent
from tests.maintenance.optimize.tables import ROW_IDS, VECTORS, files_of, made


def grid(folder: Path, side: int = 64, files: int = 16, **options: Any) -> DeltaTable:
    """A table with each pair of numbers below `side`, in random order."""
    order = np.random.default_rng(1).permutation(side * side)
    table = DeltaTable.create(folder / "t", "a BIGINT, b BIGINT, p STRING", **options)
    data = pa.table({"a": order // side, "b": order % side, "p": pa.array(["x"] * len(order))})
    for part in range(files):
        table.append(data.slice(part * len(order) // files, len(order) // files))
    return table


def kept(table: DeltaTable, where: str) -> int:
    """Number of files that a predicate keeps."""
    return table.scan(where).files().num_rows


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("columns", [["a", "b"], ["b", "a"]])
def test_filters_on_each_zorder_column_skip_files(tmp_path: Path, columns: list[str]) -> None:
    table = grid(tmp_path)
    assert kept(table, "a = 5") == kept(table, "b = 5") == 16
    size = sum(file["size"] for file in files_of(table))
    result = table.optimize(zorder_by=columns, target_file_bytes=size // 16)
    assert result.added.files == 16 and table.scan().count() == 64 * 64
    assert kept(table, "a = 5") <= 5 and kept(table, "b = 40") <= 5
    assert kept(table, "a = 5 AND b = 5") == 1 and kept(table, "a < 16 AND b < 16") <= 2
    assert {file["num_records"] for file in files_of(table)} == {256}


def test_one_column_is_ordered_exactly(tmp_path: Path) -> None:
    table = grid(tmp_path)
    size = sum(file["size"] for file in files_of(table))
    table.optimize(zorder_by="a", target_file_bytes=size // 8)
    assert [kept(table, f"a = {i}") for i in range(64)] == [1] * 64
    assert len(files_of(table)) == 8


def test_rule_63_partition_columns_and_columns_without_statistics_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=("p",), **{"delta.dataSkippingStatsColumns": "id"})
    refuses(SchemaError, "p is a partition column", table.optimize, zorder_by=["id", "p"])
    refuses(SchemaError, r"Z-Ordering on \[x\] will be ineffective", table.optimize, zorder_by=["id", "x"])
    refuses(SchemaError, "no order", table.optimize, zorder_by="st")
    assert table.optimize(zorder_by="id").version == 7


def test_zorder_takes_every_file_of_each_partition(tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=("p",), **ROW_IDS, **VECTORS)
    table.delete("id % 7 = 3")
    before, ids = rows_of(table), row_ids_of(table)
    result = table.optimize("p = 'a'", zorder_by=["id", "st.a"])
    assert result.partitions == 1 and result.metrics["numRemovedFiles"] == 6
    assert (rows_of(table), row_ids_of(table)) == (before, ids)
    result = table.optimize(zorder_by=["id", "st.a"])
    assert (result.partitions, result.metrics["numRemovedFiles"]) == (3, 13)
    assert (rows_of(table), row_ids_of(table)) == (before, ids)
    assert actions_of(table)["commitInfo"][0]["operationParameters"]["zOrderBy"] == '["id","st.a"]'


def test_rule_64_clustered_files_have_the_tags_of_a_cube(tmp_path: Path) -> None:
    table = grid(tmp_path, cluster_by=["a", "b"])
    size = sum(file["size"] for file in files_of(table))
    result = table.optimize(target_file_bytes=size // 16)
    adds = actions_of(table)["add"]
    assert (result.kind, result.curve, result.columns, len(adds)) == ("clustering", "hilbert", ("a", "b"), 16)
    assert {add["clusteringProvider"] for add in adds} == {"liquid"}
    assert len({add["tags"]["ZCUBE_ID"] for add in adds}) == 1
    assert {add["tags"]["ZCUBE_ZORDER_BY"] for add in adds} == {'["a","b"]'}
    parameters = actions_of(table)["commitInfo"][0]["operationParameters"]
    assert (parameters["clusterBy"], parameters["zOrderBy"]) == ('["a","b"]', "[]")
    assert kept(table, "a = 5") <= 5 and table.scan().count() == 64 * 64
    assert table.optimize(target_file_bytes=size // 16).version is None
    assert table.optimize(target_file_bytes=size // 16, full=True).version is None


def test_rule_64_only_new_files_are_clustered_until_they_are_many(tmp_path: Path) -> None:
    table = grid(tmp_path, cluster_by=["a", "b"], properties={"delta.parquet.compression.codec": "snappy"})
    size = sum(file["size"] for file in files_of(table))
    table.optimize(target_file_bytes=size // 16)
    first = {add["path"] for add in actions_of(table)["add"]}
    for _ in range(2):
        table.append(pa.table({"a": range(50), "b": range(50), "p": ["y"] * 50}))
    result = table.optimize(target_file_bytes=size // 16)
    assert result.removed.files == 2 and result.clustered_before[0] == 16 and result.clustered_before[2] == 1
    table.append(pa.table({"a": [1] * 4000, "b": list(range(4000)), "p": ["z"] * 4000}))
    result = table.optimize(target_file_bytes=size // 16)
    assert first <= {remove["path"] for remove in actions_of(table)["remove"]}
    assert table.scan().count() == 64 * 64 + 100 + 4000
    assert len({add["tags"]["ZCUBE_ID"] for add in actions_of(table)["add"]}) == 1


def test_files_of_other_columns_or_providers_stay_unless_all_are_clustered_again(tmp_path: Path) -> None:
    table = grid(tmp_path, files=4, cluster_by=["a"])
    table.optimize()
    table.alter_sql("CLUSTER BY (b)")
    assert table.optimize().version is None
    result = table.optimize(full=True)
    assert result.removed.files == 1 and result.columns == ("b",)
    assert json.loads(actions_of(table)["add"][0]["tags"]["ZCUBE_ZORDER_BY"]) == ["b"]
    table.alter_sql("CLUSTER BY NONE")
    table.append(pa.table({"a": [1], "b": [2], "p": ["z"]}))
    assert table.optimize().kind == "compaction" and len(files_of(table)) == 1


def test_large_cubes_are_not_clustered_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = grid(tmp_path, files=4, cluster_by=["a"])
    table.optimize()
    monkeypatch.setattr(zcubes, "LARGEST_CUBE", 1000)
    table.append(pa.table({"a": [1], "b": [2], "p": ["z"]}))
    assert table.optimize().removed.files == 1


def test_clustering_columns_are_found_by_their_physical_names(tmp_path: Path) -> None:
    table = grid(tmp_path, cluster_by=["a", "b"], properties={"delta.columnMapping.mode": "name"})
    table.alter_sql("RENAME COLUMN b TO c")
    size = sum(file["size"] for file in files_of(table))
    result = table.optimize(target_file_bytes=size // 16)
    assert result.columns == ("a", "c") and kept(table, "c = 5") <= 5
    assert json.loads(actions_of(table)["add"][0]["tags"]["ZCUBE_ZORDER_BY"]) == ["a", "c"]


def test_rule_64_clustered_tables_take_no_predicate_and_no_zorder(tmp_path: Path) -> None:
    table = grid(tmp_path, files=2, cluster_by=["a"])
    refuses(UnsupportedFeature, "remove the predicates", table.optimize, "a = 1")
    refuses(SchemaError, "cannot specify ZORDER BY", table.optimize, zorder_by="b")


def test_files_with_many_deleted_rows_are_clustered_again(tmp_path: Path) -> None:
    table = grid(tmp_path, files=4, cluster_by=["a"], properties=VECTORS)
    table.optimize()
    table.delete("b < 2")
    assert table.optimize().version is None
    table.delete("b < 16")
    result = table.optimize()
    assert (result.removed.files, result.vectors_removed, result.deleted_rows) == (1, 1, 64 * 16)
    assert table.scan().count() == 64 * 48


def test_collated_columns_are_ordered_by_their_collation(tmp_path: Path) -> None:
    pytest.importorskip("deltaskip.sparkexpr.kernels.icu_keys")
    table = DeltaTable.create(
        tmp_path / "t", "id BIGINT, s STRING COLLATE UTF8_LCASE", properties={"delta.feature.collations": "supported"}
    )
    texts = [f"{'aBcD'[i % 4]}{i:03}" for i in range(400)]
    order = np.random.default_rng(1).permutation(400)
    for part in range(4):
        chosen = order[part * 100 : part * 100 + 100]
        table.append(pa.table({"id": chosen, "s": [texts[i] for i in chosen]}))
    size = sum(file["size"] for file in files_of(table))
    table.optimize(zorder_by="s", target_file_bytes=size // 4)
    assert len(files_of(table)) == 4
    assert [kept(table, f"s = '{texts[i].swapcase()}'") for i in (0, 1, 101, 202, 303)] == [1] * 5


@pytest.mark.parametrize("curve", ["zorder", "hilbert"])
@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_a_curve_goes_through_every_cell_once(curve: Any, columns: int) -> None:
    bits = min(3, side_bits(columns, 15))
    every = np.arange(1 << (bits * columns))
    cells = [(every >> (bits * i)) & ((1 << bits) - 1) for i in range(columns)]
    places = places_on(curve, cells, bits)
    assert sorted(places.tolist()) == every.tolist()
    along = np.array(cells)[:, np.argsort(places)]
    steps = np.abs(np.diff(along, axis=1)).sum(axis=0)
    assert curve == "zorder" or steps.max() == 1


def test_frequent_values_have_wide_parts_and_null_comes_first() -> None:
    values = np.array([7] * 900 + list(range(100)), np.float64)
    cuts = cuts_of(values, 500, 4)
    found = cells_of(np.array([0.0, 7.0, 99.0, 3.0]), np.array([False, False, False, True]), cuts)
    assert found[3] == 0 < found[0] < found[1] < found[2] <= 15
    assert cells_of(np.zeros(1), np.array([True]), cuts_of(np.zeros(0), 3, 4)).tolist() == [0]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "DOUBLE": st.floats(),
    "FLOAT": st.floats(width=32),
    "STRING": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    "BINARY": st.binary(max_size=12),
    "BOOLEAN": st.booleans(),
    "DATE": st.dates(),
    "TIMESTAMP_NTZ": st.datetimes(),
    "DECIMAL(38, 4)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda i: Decimal(f"{i}E-4")),
}
ARROW = {
    "BIGINT": pa.int64(), "INT": pa.int32(), "DOUBLE": pa.float64(), "FLOAT": pa.float32(), "STRING": pa.string(),
    "BINARY": pa.binary(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(), "TIMESTAMP_NTZ": pa.timestamp("us"),
    "DECIMAL(38, 4)": pa.decimal128(38, 4),
}  # fmt: skip


@given(data=st.data())
@settings(max_examples=extent(10, 40), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_row_is_lost_or_doubled_whatever_the_types(data: st.DataObject, tmp_path_factory: Any) -> None:
    types = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    names = [f"c{i}" for i in range(len(types))]
    table = DeltaTable.create(
        tmp_path_factory.mktemp("t") / "t", ", ".join(["id BIGINT", *map("{} {}".format, names, types)])
    )
    parts = data.draw(st.integers(1, 3))
    for part in range(parts):
        count = data.draw(st.integers(1, 12))
        columns: dict[str, Any] = {"id": pa.array(range(part * 100, part * 100 + count), pa.int64())}
        for name, kind in zip(names, types, strict=True):
            values = data.draw(st.lists(st.none() | VALUES[kind], min_size=count, max_size=count))
            columns[name] = pa.array(values, ARROW[kind])
        table.append(pa.table(columns))
    before = list(map(str, rows_of(table)))
    size = sum(file["size"] for file in files_of(table))
    result = table.optimize(zorder_by=names, target_file_bytes=max(1, size // 3))
    assert list(map(str, rows_of(table))) == before
    assert result.version == parts + 1


def test_rows_appended_later_are_ordered_with_the_others(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.optimize(zorder_by="id")
    table.append(rows(range(60, 70)))
    assert table.optimize(zorder_by="id").removed.files == 2
    assert len(rows_of(table)) == 70


@given(
    st.lists(st.none() | st.text("ab/", max_size=24).map(lambda text: f"http{text}"), min_size=1, max_size=60),
    st.integers(1, 5),
)
@settings(deadline=None)
def test_texts_are_divided_as_their_quantiles_divide_them(values: list[str | None], bits: int) -> None:
    encoded = [None if value is None else value.encode() for value in values]
    texts = Texts([pa.array(encoded[:7], pa.binary()), pa.array(encoded[7:], pa.binary())])
    there = sorted(value for value in encoded if value is not None)
    places, before = cut_places(len(there), len(values) - len(there), bits)
    cuts = [there[place] for place in places]
    expected = [0 if value is None else bisect_right(cuts, value) + before for value in encoded]
    assert texts.cells(np.arange(len(values)), bits).tolist() == expected
    ranks = texts.ranks().tolist()
    assert sorted(range(len(values)), key=ranks.__getitem__) == sorted(
        range(len(values)), key=lambda row: (encoded[row] is not None, encoded[row] or b"", row)
    )


def test_texts_with_long_beginnings_in_common_are_ordered(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, url STRING")
    order = np.random.default_rng(1).permutation(2000)
    urls = [f"http{'s' * (i % 2)}://example.com/a/{i:06}" for i in range(2000)]
    for part in range(8):
        chosen = order[part * 250 : part * 250 + 250]
        table.append(pa.table({"id": chosen, "url": [urls[i] for i in chosen]}))
    size = sum(file["size"] for file in files_of(table))
    for columns in ("url", ["url", "id"]):
        table.optimize(zorder_by=columns, target_file_bytes=size // 8)
        reads = [kept(table, f"url = '{urls[i]}'") for i in range(0, 2000, 97)]
        assert max(reads) <= (2 if columns == "url" else 5)
        size = sum(file["size"] for file in files_of(table))


def test_texts_that_need_several_chunks_are_put_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of more than 2 GiB of text, of which pyarrow cannot take rows."""
    monkeypatch.setattr(rewriting, "_contiguous", lambda batches: pa.Table.from_batches(batches))
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING, b BINARY, l ARRAY<STRING>")
    for start in (0, 10, 20):
        ids = [*range(start, start + 10)]
        table.append(
            pa.table({"id": ids, "s": [f"{-i}" for i in ids], "b": [b"%d" % i for i in ids], "l": [["x"]] * 10})
        )
    before = table.scan().to_arrow().sort_by("id")
    for column in ("s", "id"):
        table.optimize(zorder_by=[column])
        assert table.scan().to_arrow().sort_by("id") == before
