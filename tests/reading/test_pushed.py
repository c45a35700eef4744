"""Scans as LazyFrames of Polars, relations of DuckDB and pieces: the rows, and what is read for them."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pds
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidArgumentType, UnsupportedFeature
from deltaskip.reading.scan_dataset import ScanDataset
from tests.each import refuses
from tests.extent import extent, seed

pl = pytest.importorskip("polars")

FILES, ROWS = 8, 40_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Eight files with a range of ids each, of which some rows are deleted, and a wide column."""
    made = ds.DeltaTable.create(
        tmp_path_factory.mktemp("pushed") / "t",
        "id BIGINT, g DOUBLE, s STRING, p STRING, wide STRING, "
        "user STRUCT<name: STRING, address: STRUCT<city: STRING>>",
        ["p"],
        properties={"delta.enableDeletionVectors": "true"},
    )
    random = np.random.default_rng(3)
    users = pa.array([{"name": f"n{i}", "address": {"city": f"c{i % 9}"}} if i % 5 else None for i in range(ROWS)])
    for number in range(FILES):
        ids = np.arange(number * ROWS, (number + 1) * ROWS)
        numbers = np.where(ids % 7 == 0, np.nan, ids % 100).astype(float)
        columns = {
            "id": ids,
            "g": pa.array(numbers, mask=ids % 11 == 0),
            "s": pa.array([None if i % 13 == 0 else f"s{i % 50}" for i in ids.tolist()]),
            "p": pa.array([f"p{number % 2}"] * ROWS),
            "wide": pa.array([random.bytes(20).hex() for _ in range(ROWS)]),
            "user": users,
        }
        made.append(pa.table(columns))
    made.delete("id % 1000 = 0")
    return made


def test_padded_strings_are_filtered_as_they_are_read(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, c CHAR(4), d CHAR(4), p CHAR(3)", ["p"])
    rows = {"id": pa.array([1, 2, 3, 4], pa.int32()), "c": ["ab", "abcd", None, "b"], "d": ["ab", "x", "y", "b"]}
    made.append(pa.table({**rows, "p": ["a", "bcd", None, "a"]}))
    read = made.scan().to_arrow()
    eager, lazy = pl.DataFrame(read), made.scan().to_polars(lazy=True)
    c, p = pl.col("c"), pl.col("p")
    filters: list[Any] = [c == "ab", c == "ab  ", c < "ab  ", c.is_in(["ab", "b   "]), c.is_between(pl.lit("ab"), c)]
    filters += [c.str.starts_with("ab "), c == pl.col("d"), p == "a", p == "a  ", ~(c == "ab  "), c.is_null()]
    for each in filters:
        assert sorted(lazy.filter(each).collect()["id"]) == sorted(eager.filter(each)["id"]), each
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        made.scan().to_duckdb(connection, "v")
        connection.register("r", read)
        wheres = [
            "c = 'ab'", "c = 'ab  '", "c IN ('ab', 'b   ')", "c > 'ab' AND id < 3", "p = 'a'", "p <> 'a'", "c IS NULL",
        ]  # fmt: skip
        for where in [*wheres, "c BETWEEN 'ab' AND 'abc'", "starts_with(c, 'ab ')", "c = d", "c IS DISTINCT FROM 'ab'"]:
            queries = [f"SELECT id FROM {name} WHERE {where} ORDER BY id" for name in ("v", "r")]
            found, wanted = (connection.sql(query).fetchall() for query in queries)
            assert found == wanted, where


def test_a_lazy_frame_has_the_rows_of_the_frame(table: ds.DeltaTable) -> None:
    scan = table.scan("id < 200000")
    eager, lazy = scan.to_polars(), scan.to_polars(lazy=True)
    queries: list[Any] = [
        lambda f: f.filter(pl.col("id") > 150_000).select("s"),
        lambda f: f.filter((pl.col("g") > 97) & (pl.col("p") == "p1")).sort("id"),
        lambda f: f.filter(pl.col("g").is_nan() | pl.col("s").is_null()).select(pl.len()),
        lambda f: f.filter(pl.col("id") + 1 == 77),
        lambda f: f.filter(pl.col("user").struct.field("name") == "n6").select("id"),
        lambda f: f.group_by("p").agg(pl.col("id").sum()).sort("p"),
        lambda f: f.filter(pl.col("id").is_in([5, 6, 10**9])).select("id", "wide"),
        lambda f: f.select(pl.len()),
        lambda f: f.tail(3),
        lambda f: f.filter(pl.col("s").str.ends_with("7"), pl.col("id") < 1000),
    ]
    for number, query in enumerate(queries):
        wanted = query(eager)
        for engine in ("auto", "streaming"):
            assert query(lazy).collect(engine=engine).equals(wanted), (number, engine)
    assert lazy.collect_schema() == eager.schema


def test_a_lazy_frame_takes_a_number_of_rows_before_it_filters_them(table: ds.DeltaTable) -> None:
    lazy = table.scan().to_polars(lazy=True)
    assert lazy.head(10).collect().height == 10
    assert lazy.head(10).filter(pl.col("id") < 0).collect().height == 0
    assert lazy.filter(pl.col("id") >= 319_990).head(4).collect().height == 4
    limited = table.scan(limit=10).to_polars(lazy=True)
    assert limited.filter(pl.col("id") >= 0).collect().height == 10
    assert limited.filter(pl.col("id") == -5).collect().height == 0


def test_a_lazy_frame_reads_what_its_query_needs_and_no_more(table: ds.DeltaTable) -> None:
    scan = table.scan()
    lazy = scan.to_polars(lazy=True)
    assert lazy.filter(pl.col("id") == 100_001).select("s").collect().height == 1
    assert scan.metrics is not None
    assert (scan.metrics.files, scan.metrics.files_skipped, scan.metrics.rows) == (1, 7, 1)
    lazy.filter(pl.col("p") == "p0").select("id").collect()
    assert scan.metrics.files == 4
    # What has no predicate here is filtered by Polars alone, and the rest prunes all the same.
    assert lazy.filter((pl.col("id") % 2 == 1) & (pl.col("id") < 10)).collect().height == 5
    assert scan.metrics.files == 1


def read_bytes(action: Any) -> int:
    """Bytes that this process reads while an action runs."""

    def total() -> int:
        return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])

    begun = total()
    action()
    return total() - begun


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts the bytes that a process reads")
def test_bytes_that_are_read_are_those_of_the_columns_and_files_that_are_needed(table: ds.DeltaTable) -> None:
    duckdb = pytest.importorskip("duckdb")
    scan = table.scan()
    total = sum(scan.files()["size"].to_pylist())
    lazy, connection = scan.to_polars(lazy=True), duckdb.connect()
    scan.to_duckdb(connection, "v")
    everything = read_bytes(lambda: lazy.collect())
    assert everything > 0.9 * total
    one_file = total / FILES
    # Modules that are imported are read, too.
    lazy.filter(pl.col("id") == 1).collect()
    connection.sql("SELECT * FROM v WHERE id = 1").fetchall()
    for action in (
        lambda: lazy.filter(pl.col("id") == 100_001).collect(),
        lambda: connection.sql("SELECT * FROM v WHERE id = 100001").fetchall(),
    ):
        assert read_bytes(action) < 1.5 * one_file
    for action in (
        lambda: lazy.select("id").collect(),
        lambda: connection.sql("SELECT max(id) FROM v").fetchall(),
        lambda: table.scan(columns=["user.address.city"]).to_arrow(),
    ):
        assert read_bytes(action) < 0.4 * total


def test_rows_of_a_table_larger_than_the_batches_stream(table: ds.DeltaTable) -> None:
    lazy = table.scan(columns=["id"]).to_polars(lazy=True)
    heights = [each.height for each in lazy.collect_batches(chunk_size=10_000, lazy=True)]
    assert sum(heights) == FILES * ROWS - FILES * ROWS // 1000
    assert len(heights) > FILES


def relations(table: ds.DeltaTable) -> tuple[Any, ds.TableScan]:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    scan = table.scan(columns=["id", "g", "s", "p", "user"])
    scan.to_duckdb(connection, "ours")
    whole = scan.to_arrow()
    connection.register("whole", whole)
    connection.execute("CREATE TABLE own AS SELECT * FROM whole")
    return connection, scan


def test_duckdb_finds_the_rows_that_it_finds_in_a_table_of_its_own(table: ds.DeltaTable) -> None:
    connection, _ = relations(table)
    for where in (
        "id = 77", "id IN (5, 6, 1000000)", "g > 98", "g >= 98 AND p = 'p0'", "g < 2", "g = 'nan'::DOUBLE", "g <> 5",
        "NOT (g > 5)", "g IS NULL OR s = 's7'", "s >= 's48' AND s IS NOT NULL",
        "user.address.city = 'c3' AND id < 5000", "s LIKE 's1%' AND id BETWEEN 10 AND 99999", "id % 2 = 1 AND id < 100",
    ):  # fmt: skip
        ours, own = (
            connection.sql(f"SELECT count(*), sum(id), count(g), min(s) FROM {name} WHERE {where}").fetchall()
            for name in ("ours", "own")
        )
        assert ours == own, where


def test_a_view_does_not_hide_a_table_of_duckdb(table: ds.DeltaTable) -> None:
    connection = pytest.importorskip("duckdb").connect()
    connection.sql("CREATE TABLE Mine AS SELECT 1 AS a")
    with pytest.raises(InvalidArgument, match="has a table mine, which a view of this name would hide"):
        table.scan().to_duckdb(connection, "mine")
    assert connection.sql("FROM Mine").fetchall() == [(1,)]
    table.scan(limit=0).to_duckdb(connection, "rows")
    assert table.scan().to_duckdb(connection, "rows").aggregate("count(*)").fetchall() == [(table.scan().count(),)]


def test_a_query_of_duckdb_reads_what_it_needs_and_no_more(table: ds.DeltaTable) -> None:
    connection, scan = relations(table)
    assert connection.sql("SELECT s FROM ours WHERE id = 100001").fetchall() == [("s1",)]
    assert scan.metrics is not None
    assert (scan.metrics.files, scan.metrics.files_skipped, scan.metrics.rows) == (1, 7, 1)
    connection.sql("SELECT count(*) FROM ours WHERE p = 'p1'").fetchall()
    assert scan.metrics.files == 4
    relation = scan.to_duckdb(connection)
    assert relation.filter("id < 10").aggregate("count(*)").fetchall() == [(9,)]
    assert scan.metrics.files == 1
    limited = table.scan(limit=10).to_duckdb(connection)
    assert limited.filter("id >= 0").aggregate("count(*)").fetchall() == [(10,)]


def test_what_a_dataset_of_a_scan_does_not_do_is_refused(table: ds.DeltaTable) -> None:
    dataset = ScanDataset(table.scan("id < 100", columns=["id", "s"]))
    done = {"schema", "scanner", "to_table", "to_batches", "count_rows", "head", "take", "_scanner_options"}
    assert dataset.count_rows() == 99
    assert dataset.to_table(columns=["s"]).num_rows == 99
    assert dataset.head(3).num_rows == 3
    assert pickle.loads(pickle.dumps(dataset)).to_table().num_rows == 99
    for name in set(dir(pds.Dataset)) - done:
        if name.startswith("_"):
            continue
        with pytest.raises(UnsupportedFeature, match="to_dataset"):
            getattr(dataset, name)()
    with pytest.raises(InvalidArgumentType, match="a connection of DuckDB"):
        pytest.importorskip("duckdb")
        table.scan().to_duckdb("a.db")


def test_pieces_have_the_rows_of_the_scan_in_its_order_also_in_another_process(table: ds.DeltaTable) -> None:
    scan = table.scan("id >= 30000 AND g < 50", columns=["id"])
    wanted = scan.to_arrow()
    for n in (1, 3, 100):
        pieces = scan.pieces(n)
        assert 1 <= len(pieces) <= n
        assert pa.concat_tables([each.to_arrow() for each in pieces]).equals(wanted)
    found = pickle.loads(pickle.dumps(scan.pieces(3)))
    assert sum(each.to_polars().height for each in found) == wanted.num_rows
    assert sum(len(each.to_pandas()) for each in found) == wanted.num_rows
    assert pa.table(found[0]).equals(found[0].to_arrow())
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).to_arrow().num_rows)"
    made = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(found[0]), capture_output=True, check=True)
    assert int(made.stdout) == found[0].to_arrow().num_rows
    [empty] = table.scan("id < 0").pieces(3)
    assert empty.to_arrow().equals(table.scan("id < 0").to_arrow())
    for wrong, message in ((0, "1 or greater"), (-1, "0 or greater")):
        refuses(InvalidArgument, message, scan.pieces, wrong)
    refuses(InvalidArgument, "A scan with a limit has no pieces", lambda: table.scan(limit=3).pieces())


def test_fields_of_structs_are_columns_under_their_own_names(table: ds.DeltaTable) -> None:
    scan = table.scan("user.name = 'n8'", columns=["user.address.city", "id", "user.name"])
    found = scan.to_arrow()
    assert found.schema == pa.schema([("city", pa.string()), ("id", pa.int64()), ("name", pa.string())])
    assert found.select(["city", "name"]).to_pylist() == [{"city": "c8", "name": "n8"}] * FILES
    whole = table.scan(columns=["user"]).to_arrow()["user"].combine_chunks().to_pylist()
    cities = table.scan(columns=["user.address.city"]).to_arrow()["city"].to_pylist()
    assert cities == [None if each is None else each["address"]["city"] for each in whole]
    assert scan.to_polars(lazy=True).filter(pl.col("city") == "c8").collect().height == FILES
    assert pickle.loads(pickle.dumps(scan)).to_arrow().equals(found)
    assert "user.address.city" in repr(scan)
    with pytest.raises(ds.PredicateError, match=r"There is no column user\.adress; did you mean user\.address"):
        table.scan(columns=["user.adress"])


def test_two_fields_of_one_name_are_refused(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "a STRUCT<x: INT>, b STRUCT<x: INT>")
    refuses(InvalidArgument, r"both a\.x and b\.x, which are named x", made.scan, columns=["a.x", "b.x"])


def test_fields_are_found_in_files_with_other_names_and_without_them(tmp_path: Path) -> None:
    for mode in ("name", "id"):
        made = ds.DeltaTable.create(
            tmp_path / mode, "id INT, st STRUCT<a: INT, b: STRING>", properties={"delta.columnMapping.mode": mode}
        )
        kind = pa.struct([("a", pa.int32()), ("b", pa.string())])
        made.append(pa.table({"id": pa.array([1, 2], pa.int32()), "st": pa.array([{"a": 1, "b": "x"}, None], kind)}))
        made.alter_sql("RENAME COLUMN st.a TO z")
        made.alter_sql("ADD COLUMN st.c INT")
        assert made.scan(columns=["st.z"]).to_arrow().to_pylist() == [{"z": 1}, {"z": None}]
        assert made.scan(columns=["st.c", "st.b"]).to_arrow().to_pylist() == [
            {"c": None, "b": "x"},
            {"c": None, "b": None},
        ]
        assert made.scan("st.b = 'x'", columns=["st.c"]).to_arrow().to_pylist() == [{"c": None}]


@pytest.mark.parametrize("number", range(extent(8, 200)))
def test_the_first_rows_of_a_lazy_frame_are_those_of_its_rows(tmp_path: Path, number: int) -> None:
    pl = pytest.importorskip("polars")
    rng = random.Random(seed() + number)
    properties = {"delta.enableDeletionVectors": "true"} if rng.random() < 0.5 else {}
    made = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p INT", rng.choice([None, "p"]), properties=properties)
    for file in range(rng.randint(1, 4)):
        made.append([{"id": file * 8 + row, "p": row % 2} for row in range(rng.randint(1, 8))])
    if rng.random() < 0.5:
        made.delete(f"id % 3 = {rng.randrange(3)}")
    for where in (None, "id >= 2", "p = 1", "id % 2 = 0"):
        scan = ds.DeltaTable(tmp_path / "t").scan(where)
        every, frame = scan.to_arrow()["id"].to_pylist(), scan.to_polars(lazy=True)
        for count in (0, 1, rng.randrange(2, 9)):
            pages = [frame.slice(start, count).collect()["id"].to_list() for start in range(0, len(every), count or 99)]
            assert pages == [every[start : start + count] for start in range(0, len(every), count or 99)]
            assert frame.head(count).filter(pl.col("id") > 3).collect()["id"].to_list() == [
                each for each in every[:count] if each > 3
            ]
            assert scan.head(count)["id"].to_pylist() == every[:count]
            of_limit = ds.DeltaTable(tmp_path / "t").scan(where, limit=5)
            some = of_limit.to_arrow()["id"].to_pylist()
            assert of_limit.head(count)["id"].to_pylist() == some[:count]
            assert of_limit.to_polars(lazy=True).head(count).collect()["id"].to_list() == some[:count]


def test_counts_and_heads(table: ds.DeltaTable) -> None:
    assert table.scan("g > 50 AND id < 1000").count() == table.scan("g > 50 AND id < 1000").to_arrow().num_rows
    assert table.scan("g > 50", limit=7).count() == 7
    assert table.scan().head().num_rows == 5
    assert table.scan(limit=2).head(100).num_rows == 2
    assert table.scan(columns=["s"]).head(0).schema.names == ["s"]


def test_frames_in_one_call(table: ds.DeltaTable) -> None:
    frame = ds.scan_polars(table.uri, [("p", "=", "p0")], ["id"], version=table.version)
    assert frame.select(pl.len()).collect().item() == FILES * ROWS // 2 - FILES * ROWS // 2000
    assert list(ds.read_pandas(table, "id < 10", ["id", "s"], 3).columns) == ["id", "s"]
    types = ds.read_pandas(table, "id = 11", types="arrow").dtypes
    assert str(types["g"]) == "double[pyarrow]"
    refuses(InvalidArgument, "types must be numpy or arrow", ds.read_pandas, table, types="polars")
    refuses(InvalidArgument, "pass one of them", lambda: table.scan().to_pandas("arrow", types_mapper=str))


def test_integers_that_lose_digits_in_pandas_are_named(tmp_path: Path) -> None:
    many, few = 2**53 + 1, 2**53
    columns = {
        "top": pa.array([many, None], pa.int64()),
        "list": pa.array([[-many, None], []], pa.list_(pa.int64())),
        "map": pa.array([[("k", many), ("l", None)], []], pa.map_(pa.string(), pa.int64())),
        "struct": pa.array([{"x": many}, {"x": None}], pa.struct({"x": pa.int64()})),
        "exact": pa.array([few, None], pa.int64()),
        "whole": pa.array([many, many], pa.int64()),
        "short": pa.array([2**31 - 1, None], pa.int32()),
        "none": pa.array([None, None], pa.int64()),
    }
    rows = pa.table(columns)
    table = ds.DeltaTable.create(tmp_path / "t", rows.schema, properties={"delta.enableChangeDataFeed": "true"})
    table.append(rows)
    for read in (table.scan().to_pandas, table.changes().to_pandas, table.scan().pieces(1)[0].to_pandas):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            read()
        named = [str(each.message).split()[2] for each in issued if each.category is ds.ReadWarning]
        assert named == ["top", "list", "map", "struct"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert read("arrow")["top"].tolist()[0] == many
            read(integer_object_nulls=True)


def test_each_library_s_frames_are_written_back(tmp_path: Path, table: ds.DeltaTable) -> None:
    duckdb = pytest.importorskip("duckdb")
    scan = table.scan("id < 50000", columns=["id", "s"])
    rows = scan.count()

    def frames() -> Iterator[Any]:
        connection = duckdb.connect()
        yield scan.to_polars(lazy=True).filter(pl.col("id") >= 0)
        yield scan.to_polars()
        yield scan.to_duckdb(connection)
        yield scan.to_pandas()
        yield scan.to_pandas("arrow")
        yield scan.pieces(1)[0]
        yield scan

    for number, frame in enumerate(frames()):
        made = ds.DeltaTable.create(tmp_path / str(number), "id BIGINT, s STRING")
        made.append(frame)
        assert made.scan().count() == rows
        if number in (2,):
            frame = scan.to_duckdb()
        made.overwrite(frame)
        assert made.scan().count() == rows
        merged = made.merge(frame, "t.id = s.id", source_alias="s", target_alias="t")
        assert merged.when_matched_update_all().execute().metrics["numTargetRowsUpdated"] == rows


def test_a_lazy_frame_is_written_while_it_is_computed(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    frame = pl.LazyFrame({"id": range(10)}).map_batches(lambda each: 1 // 0, schema={"id": pl.Int64})
    refuses(InvalidArgument, "rows of data cannot be read", made.append, frame)
    assert made.refresh().version == 0


NANOS = pa.array([5, 8, 7, 1_006], pa.timestamp("ns"))
NUMBERS = pa.array([0.0, -0.0, float("nan"), 6.0])


@pytest.fixture(scope="module")
def odd_keys(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Four files of one row, with zeros, NaN and nanoseconds."""
    made = ds.DeltaTable.create(
        tmp_path_factory.mktemp("odd") / "t", "id BIGINT, f DOUBLE, g FLOAT, t TIMESTAMP_NANOS_NTZ, c CHAR(3)",
        properties={"delta.enableChangeDataFeed": "true"},
    )  # fmt: skip
    for at in range(4):
        columns = [NUMBERS, NUMBERS.cast(pa.float32()), NANOS]
        rows = [[at], *(each.slice(at, 1) for each in columns), ["abc"]]
        made.append(pa.table(rows, ["id", "f", "g", "t", "c"]))
    return made


ODD = """
    SELECT a.id, b.id FROM rows a JOIN rows b ON a.f = b.f ORDER BY ALL; [0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [3, 3]
    SELECT a.id, b.id FROM rows a JOIN rows b ON a.g = b.g ORDER BY ALL; [0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [3, 3]
    SELECT a.id, b.id FROM rows a JOIN rows b ON a.t = b.t ORDER BY ALL; [0, 0], [1, 1], [2, 2], [3, 3]
    SELECT id FROM rows WHERE f IN (SELECT f FROM rows WHERE id > 1) ORDER BY id; [2], [3]
    SELECT id FROM rows WHERE t IN (SELECT t FROM rows WHERE id > 1) ORDER BY id; [2], [3]
    SELECT id FROM rows WHERE f >= 6 AND c = 'abc' ORDER BY id; [2], [3]
    SELECT id FROM rows WHERE f IN ('NaN'::DOUBLE, 0) ORDER BY id; [0], [1], [2]
    SELECT id FROM rows WHERE f NOT IN ('NaN'::DOUBLE, 0) ORDER BY id; [3]
    SELECT id FROM rows WHERE f = 'NaN'::DOUBLE; [2]
    SELECT id FROM rows WHERE f < 'NaN'::DOUBLE ORDER BY id; [0], [1], [3]
    SELECT id FROM rows WHERE f > 1 AND t < TIMESTAMP_NS '1970-01-01 00:00:00.000000008'; [2]
    SELECT id FROM rows WHERE t IN (TIMESTAMP_NS '1970-01-01 00:00:00.000000007'); [2]
    SELECT id FROM rows WHERE t IN (TIMESTAMP_NS '1970-01-01 00:00:00.000000007', NULL); [2]
    SELECT id FROM rows WHERE t <> TIMESTAMP_NS '1970-01-01 00:00:00.000000007' ORDER BY id; [0], [1], [3]
"""


@pytest.mark.parametrize("text", [line.strip() for line in ODD.strip().splitlines()])
@pytest.mark.parametrize("of", ["scan", "limit", "changes"])
def test_duckdb_finds_rows_by_its_own_order_and_by_nanoseconds(odd_keys: ds.DeltaTable, of: str, text: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    query, _, wanted = text.partition("; ")
    found: Any = {
        "scan": odd_keys.scan,
        "limit": lambda: odd_keys.scan(limit=4),
        "changes": lambda: odd_keys.changes(1, 4),
    }[of]()
    connection = duckdb.connect()
    found.to_duckdb(connection, "rows")
    assert list(map(list, connection.execute(query).fetchall())) == json.loads(f"[{wanted}]")


def test_duckdb_does_not_get_times_that_it_would_cut(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    made = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, t TIMESTAMP_NANOS, s STRUCT<q: TIMESTAMP_NANOS>")
    made.append(pa.table({"id": [1], "t": pa.array([1], pa.timestamp("ns", "UTC"))}))
    for columns in (None, ["s"]):
        with pytest.raises(UnsupportedFeature, match="nanoseconds with a time zone"):
            made.scan(columns=columns).to_duckdb(duckdb.connect())
    refuses(UnsupportedFeature, "leave the column out", ds.sql, f"SELECT count(DISTINCT t) FROM '{tmp_path / 't'}'")
    # The log answers, and not DuckDB.
    assert ds.sql(f"SELECT max(t) AS m FROM '{tmp_path / 't'}'")["m"][0].value == 1
    assert made.scan(columns=["id"]).to_duckdb(duckdb.connect()).fetchall() == [(1,)]
