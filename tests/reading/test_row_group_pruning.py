"""Row groups pruned by their footers: random predicates against DuckDB, and what footers cannot prove."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.reading.arrow_rows import RowReader
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.reading.small_files import SmallFiles
from tests.extent import extent

DDL = (
    "id BIGINT, i INT, w BIGINT, x DOUBLE, f FLOAT, s STRING, d DATE, ts TIMESTAMP, n DECIMAL(9,2), m DECIMAL(30,4), "
    "b BOOLEAN, st STRUCT<a: INT, t: STRING>, later INT"
)
GROUP_ROWS, GROUPS = 16, 6
DAY, MOMENT = date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)
TYPES = {
    "i": pa.int32(),
    "w": pa.int64(),
    "x": pa.float64(),
    "f": pa.float32(),
    "s": pa.string(),
    "d": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "n": pa.decimal128(9, 2),
    "m": pa.decimal128(30, 4),
    "b": pa.bool_(),
}
# Bloom filters, also of columns whose filters decide nothing.
FILTERS = {"bloom_filter_options": {name: {"ndv": 64} for name in (*TYPES, "st.a", "st.t") if name != "b"}}
# Options of the files, and the types of their columns that differ from those of the table.
FILES: tuple[tuple[dict[str, Any], dict[str, pa.DataType]], ...] = (
    ({}, {}),
    ({"use_dictionary": False, **FILTERS}, {"w": pa.int32()}),
    ({"write_statistics": False, **FILTERS}, {}),
    ({"data_page_version": "2.0"}, {"ts": pa.timestamp("ms", "UTC")}),
    ({"use_deprecated_int96_timestamps": True, **FILTERS}, {"n": pa.decimal128(7, 2)}),
)


def value(rng: random.Random, name: str, at: int) -> Any:
    """A value of a column near `at`, so that row groups have different ranges."""
    number = at + rng.randint(-2, 2)
    match name:
        case "i" | "w":
            return number
        case "x" | "f":
            return rng.choice([float(number), number / 4, 0.0, -0.0, math.nan if rng.random() < 0.3 else 1.5])
        case "s":
            text = chr(ord("a") + number % 26) * rng.choice([1, 2, 40])
            return rng.choice([text, text + "\U0001f600", text + "é"])
        case "d":
            return DAY + timedelta(days=number)
        case "ts":
            return MOMENT + timedelta(hours=number, microseconds=rng.choice([0, 1, 999]))
        case "n" | "m":
            return Decimal(number) + Decimal(rng.choice(["0", "0.25", "-0.5"]))
        case _:
            return number % 40 < 20


def column(rng: random.Random, name: str, type_: pa.DataType, starts: list[int]) -> pa.Array:
    values: list[Any] = []
    for start in starts:
        share = rng.choice([0.0, 0.0, 0.2, 1.0])
        values += [None if rng.random() < share else value(rng, name, start) for _ in range(GROUP_ROWS)]
    return pa.array(values, TYPES.get(name, type_)).cast(type_, safe=False)


def written(folder: Path, rng: random.Random, number: int) -> str:
    options, types = FILES[number]
    starts = [rng.randint(-30, 30) for _ in range(GROUPS)]
    columns = {name: column(rng, name, types.get(name, type_), starts) for name, type_ in TYPES.items()}
    rows = GROUP_ROWS * GROUPS
    columns["id"] = pa.array(range(number * rows, (number + 1) * rows), pa.int64())
    a, t = column(rng, "i", pa.int32(), starts), column(rng, "s", pa.string(), starts)
    absent = pa.array([rng.random() < 0.2 for _ in range(rows)])
    columns["st"] = pa.StructArray.from_arrays([a, t], ["a", "t"], mask=absent)
    if number % 2:
        columns["later"] = column(rng, "i", pa.int32(), starts)
    pq.write_table(pa.table(columns), folder / f"{number}.parquet", row_group_size=GROUP_ROWS, **options)
    return f"{number}.parquet"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Files of several row groups whose log has row counts only, so that only footers can skip."""
    folder = tmp_path_factory.mktemp("footers") / "t"
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.enableTypeWidening": "true",
        "delta.dataSkippingNumIndexedCols": "0",
    }
    table = ds.DeltaTable.create(folder, DDL, properties=properties)
    rng = random.Random(7)
    for number in range(len(FILES)):
        table.add_files(written(folder, rng, number))
    table.delete("id % 11 = 3")
    return table


@pytest.fixture(scope="module")
def rows(table: ds.DeltaTable) -> pa.Table:
    """Every live row, read by pyarrow without deltaskip."""
    files = [pq.read_table(Path(table.snapshot.root) / f"{number}.parquet") for number in range(len(FILES))]
    types = {**TYPES, "st": pa.struct([("a", pa.int32()), ("t", pa.string())]), "later": pa.int32(), "id": pa.int64()}
    same = pa.schema(list(types.items()))
    whole = [
        pa.table([f[n].cast(t, safe=False) if n in f.column_names else pa.nulls(len(f), t) for n, t in types.items()],
                 schema=same)
        for f in files
    ]  # fmt: skip
    every = pa.concat_tables(whole)
    return every.filter(pa.array([i % 11 != 3 for i in every["id"].to_pylist()]))


def literal(draw: Any, name: str) -> tuple[str, str]:
    """A literal for a column, in Spark's SQL and in DuckDB's."""
    number = draw(st.integers(-34, 34))
    match name:
        case "x" | "f":
            text = draw(st.sampled_from([str(float(number)), str(number / 4), "0.0", "-0.0", "NaN", "Infinity", "1.5"]))
            return (f"CAST('{text}' AS {'DOUBLE' if name == 'x' else 'FLOAT'})",) * 2
        case "s" | "st.t":
            text = chr(ord("a") + number % 26) * draw(st.sampled_from([0, 1, 2, 31, 40, 41]))
            return (f"'{text + draw(st.sampled_from(['', 'é', chr(0x1F600)]))}'",) * 2
        case "d":
            return (f"DATE '{DAY + timedelta(days=number)}'",) * 2
        case "ts":
            text = (MOMENT + timedelta(hours=number)).strftime("%Y-%m-%d %H:%M:%S")
            return f"TIMESTAMP '{text}Z'", f"TIMESTAMPTZ '{text}+00'"
        case "n" | "m":
            return (f"{number}.{draw(st.sampled_from(['00', '25', '5']))}",) * 2
        case _:
            return (str(number),) * 2


@st.composite
def predicates(draw: Any, depth: int = 2) -> tuple[str, str]:
    """A predicate in Spark's SQL and in DuckDB's."""
    kind = draw(st.integers(0, 9)) if depth else 9
    if kind < 4:
        joint = draw(st.sampled_from([" AND ", " OR "]))
        left, right = draw(predicates(depth - 1)), draw(predicates(depth - 1))
        return f"({left[0]}{joint}{right[0]})", f"({left[1]}{joint}{right[1]})"
    if kind == 4:
        inner = draw(predicates(depth - 1))
        return f"(NOT {inner[0]})", f"(NOT {inner[1]})"
    name = draw(st.sampled_from(["i", "w", "x", "f", "s", "d", "ts", "n", "m", "st.a", "st.t", "later", "b"]))
    if name == "b":
        return (draw(st.sampled_from(["b", "(NOT b)", "(b IS NULL)"])),) * 2
    shape = draw(st.integers(0, 7))
    if shape == 0:
        return (f"({name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL)",) * 2
    one, two = literal(draw, name), literal(draw, name)
    if shape == 1:
        return f"({name} IN ({one[0]}, {two[0]}))", f"({name} IN ({one[1]}, {two[1]}))"
    if shape == 2:
        return f"({name} BETWEEN {one[0]} AND {two[0]})", f"({name} BETWEEN {one[1]} AND {two[1]})"
    if shape == 3:
        return f"({name} <=> {one[0]})", f"({name} IS NOT DISTINCT FROM {one[1]})"
    if shape == 4 and name in ("s", "st.t"):
        return (f"({name} LIKE '{draw(st.sampled_from(['a', 'bb', 'zz']))}%')",) * 2
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return f"({name} {op} {one[0]})", f"({name} {op} {one[1]})"


@pytest.fixture
def pruned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Numbers of row groups that were seen and read."""
    counts: Counter[str] = Counter()
    found = RowGroupPruning.kept

    def kept(self: RowGroupPruning, source: Any, metadata: Any, *others: Any) -> list[int] | None:
        numbers = found(self, source, metadata, *others)
        counts["seen"] += metadata.num_row_groups
        counts["read"] += metadata.num_row_groups if numbers is None else len(numbers)
        return numbers

    monkeypatch.setattr(RowGroupPruning, "kept", kept)
    yield counts


def check_against_duckdb(table: ds.DeltaTable, every: pa.Table, examples: int) -> None:
    """Random predicates find the rows in a table that DuckDB finds among all rows of it."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed (test)")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("every", every)
    connection.execute("CREATE TABLE t AS FROM every")

    @settings(max_examples=examples, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(predicates())
    def check(predicate: tuple[str, str]) -> None:
        expected = connection.execute(f"SELECT id, s, w FROM t WHERE {predicate[1]} ORDER BY id").fetchall()
        found = table.scan(predicate[0], columns=["id", "s", "w"]).to_arrow().sort_by("id")
        assert [tuple(row.values()) for row in found.to_pylist()] == expected

    check()


@pytest.mark.filterwarnings("ignore")
def test_random_predicates_find_the_rows_that_duckdb_finds(
    table: ds.DeltaTable, rows: pa.Table, pruned: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Also where the columns of the predicate are read before the others.
    monkeypatch.setattr("deltaskip.settings.options.read_staged_bytes", 16_000)
    check_against_duckdb(table, rows, extent(25, 150))
    assert pruned["read"] < 0.8 * pruned["seen"]


@pytest.mark.long(gate=8)
@pytest.mark.parametrize(
    ("predicate", "read"),
    [
        ("i > 1000", 0),
        ("i > 1000 AND id < 0", 0),
        ("i > 1000 OR later IS NULL AND i > 1000", 0),
        ("i > 1000 OR id % 7 = 1", 4),
        ("s > '~' OR s IS NULL AND i > 1000", 0),
        ("x > 1000", 4),
        ("x < -1000", 0),
        ("x = CAST('NaN' AS DOUBLE)", 4),
        ("st.a > 1000", 0),
        ("c > 'z'", 4),
        ("c COLLATE UTF8_BINARY > 'z'", 0),
        ("i96 > TIMESTAMP '2100-01-01'", 4),
        ("p = 'x' AND i > 1000", 0),
    ],
)  # fmt: skip
def test_footers_prune_what_they_prove(tmp_path: Path, pruned: Counter[str], predicate: str, read: int) -> None:
    ddl = (
        "id BIGINT, i INT, x DOUBLE, s STRING, st STRUCT<a: INT>, later INT, c STRING COLLATE UNICODE_CI, "
        "i96 TIMESTAMP, p STRING"
    )
    table = ds.DeltaTable.create(
        tmp_path / "t", ddl, ["p"], properties={"delta.dataSkippingNumIndexedCols": "0"}
    )  # fmt: skip
    numbers = pa.array(range(400), pa.int32())
    columns = {
        "id": numbers.cast(pa.int64()),
        "i": numbers,
        "x": numbers.cast(pa.float64()),
        "s": pa.array([f"{i:03}" for i in range(400)]),
        "st": pa.StructArray.from_arrays([numbers], ["a"]),
        "c": pa.array([f"{i:03}" for i in range(400)]),
        "i96": pa.array([MOMENT] * 400, pa.timestamp("us", "UTC")),
    }
    (tmp_path / "t" / "p=x").mkdir()
    path = tmp_path / "t" / "p=x" / "f.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=100, use_deprecated_int96_timestamps=True)
    table.add_files("p=x/f.parquet")
    table.scan(predicate).to_arrow()
    assert pruned == {"seen": 4, "read": read}


def test_rows_keep_positions_where_row_groups_are_skipped(tmp_path: Path, pruned: Counter[str]) -> None:
    properties = {"delta.enableDeletionVectors": "true", "delta.dataSkippingNumIndexedCols": "0"}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, g INT", properties=properties)
    numbers = pa.array(range(1_000), pa.int64())
    groups = pa.array([i // 100 % 3 for i in range(1_000)], pa.int32())
    pq.write_table(pa.table({"id": numbers, "g": groups}), tmp_path / "t" / "f.parquet", row_group_size=100)
    table.add_files("f.parquet")
    table.delete("id % 2 = 0")
    pruned.clear()
    expected = [i for i in range(1, 1_000, 2) if i // 100 % 3 == 1]
    assert table.scan("g = 1").to_arrow()["id"].to_pylist() == expected
    assert pruned == {"seen": 10, "read": 3}
    assert table.scan("g = 1", columns=["g"]).to_arrow().num_rows == len(expected)


@pytest.mark.parametrize("where", ["true", "id = 1 OR size(sentences(s)) = 1"])
def test_footers_are_not_read_where_they_prove_nothing(table: ds.DeltaTable, where: str) -> None:
    assert RowGroupPruning.of(table.scan(where)) is None


def test_a_pruning_can_be_pickled(table: ds.DeltaTable) -> None:
    where = "i IN (1, 2, 3) OR s LIKE 'a%' AND x <> 2 OR d = DATE '2020-01-03' OR month(ts) = 5"
    pruning = RowGroupPruning.of(table.scan(where))
    assert pruning is not None
    again = pickle.loads(pickle.dumps(pruning))
    path = Path(table.snapshot.root) / "0.parquet"
    with pa.OSFile(str(path)) as source:
        metadata = pq.read_metadata(path)
        assert again.kept(source, metadata, str(path)) == pruning.kept(source, metadata, str(path))


@pytest.mark.long(gate=1)
@pytest.mark.parametrize(
    ("where", "least", "most"),
    [("i >= 3", 9, 30), ("i = 3", 60, 60), ("i >= 3 AND pmod(hash(id), 9) = 1 AND s <> 's7'", 60, 60)],
)
def test_columns_of_the_predicate_are_read_first_unless_many_rows_match_in_most_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, least: int, most: int
) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, i INT, s STRING")
    for first in range(0, 600, 10):
        pq.write_table(_ten_rows(first), tmp_path / "t" / f"{first}.parquet")
    table.add_files([f"{first}.parquet" for first in range(0, 600, 10)])
    at_once = table.scan(where).to_arrow()
    monkeypatch.setattr("deltaskip.settings.options.read_staged_bytes", 1)
    staged: list[int] = []
    read = RowReader._read_in_stages
    counted = lambda self, parts: staged.append(len(parts)) or read(self, parts)  # noqa: E731
    monkeypatch.setattr(RowReader, "_read_in_stages", counted)
    monkeypatch.setattr("deltaskip.settings.options.read_together_bytes", 1)
    monkeypatch.setattr(SmallFiles, "runs", lambda locations: [(len(locations), None)])
    assert table.scan(where).to_arrow().sort_by("id") == at_once.sort_by("id")
    assert {number % 10 for number in at_once["id"].to_pylist()} <= set(range(3, 10))
    assert 4 < len(at_once) < 600
    assert least <= sum(staged) <= most


def _ten_rows(first: int) -> pa.Table:
    ids = range(first, first + 10)
    columns = {"id": pa.array(ids, pa.int64()), "i": pa.array([number % 10 for number in ids], pa.int32())}
    return pa.table({**columns, "s": [f"s{number}" for number in ids]})
