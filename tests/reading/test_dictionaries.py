"""Strings that a file has as a dictionary: what a predicate makes of them is computed once for each value."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.reading.scan_dataset import ScanDataset
from deltaskip.settings import options
from deltaskip.sparkexpr.evaluation.batch import Batch
from tests.each import each

ROWS = 12_000
PREDICATES: dict[str, Callable[[int, str | None], bool]] = {
    "upper(s) = 'NAME-7'": lambda n, s: s == "name-7",
    "s LIKE '%9' OR s IS NULL": lambda n, s: s is None or s.endswith("9"),
    "length(s) = 7 AND n % 2 = 0": lambda n, s: s is not None and len(s) == 7 and n % 2 == 0,
    "concat(s, CAST(n % 3 AS STRING)) = 'name-52'": lambda n, s: s == "name-5" and n % 3 == 2,
    "coalesce(s, 'name-7') = 'name-7'": lambda n, s: s in (None, "name-7"),
    "s <> 'name-1'": lambda n, s: s is not None and s != "name-1",
    "s IN ('name-1', NULL)": lambda n, s: s == "name-1",
    "exists(array('name-1', 'name-2'), x -> x = s)": lambda n, s: s in ("name-1", "name-2"),
    "if(n >= 6000, CAST(substring(s, 6) AS INT), 1) = 9": lambda n, s: n >= 6000 and s == "name-9",
}


@pytest.fixture(scope="module")
def rows() -> list[tuple[int, str | None]]:
    """Rows whose strings are others in each row group; some before row 6,000 have no number at the end."""
    chance = random.Random(3)
    found: list[tuple[int, str | None]] = []
    for n in range(ROWS):
        text = f"name-{chance.randrange(n // 1000, n // 1000 + 20)}"
        found.append((n, chance.choice([None, text, text, "other" if n < 6000 else text])))
    return found


def written(folder: Path, rows: list[tuple[int, str | None]]) -> ds.DeltaTable:
    numbers, texts = zip(*rows, strict=True)
    data = pa.table({"n": pa.array(numbers, pa.int64()), "s": pa.array(texts, pa.string())})
    table = ds.DeltaTable.create(folder, data.schema)
    pq.write_table(data, folder / "a.parquet", row_group_size=3000)
    table.add_files(["a.parquet"])
    return table


@pytest.mark.parametrize("staged", [1, 1 << 40])
def test_the_rows_are_those_of_each_string(
    tmp_path: Path, rows: list[tuple[int, str | None]], staged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "read_staged_bytes", staged)
    table = written(tmp_path / "t", rows)

    def check(where: str) -> None:
        wanted = [{"n": n, "s": s} for n, s in rows if PREDICATES[where](n, s)]
        assert wanted
        assert table.scan(where).to_arrow().to_pylist() == wanted
        assert table.scan(where, columns=["n"]).to_arrow().to_pylist() == [{"n": row["n"]} for row in wanted]

    each(PREDICATES, check)


def test_a_string_fails_only_where_a_row_has_it(tmp_path: Path, rows: list[tuple[int, str | None]]) -> None:
    table = written(tmp_path / "t", rows)
    with pytest.raises(ds.PredicateError, match="cannot be cast to INT"):
        table.scan("CAST(substring(s, 6) AS INT) = 4").to_arrow()


def test_a_function_gets_each_string_once(
    tmp_path: Path, rows: list[tuple[int, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(tmp_path / "t", rows)
    sizes: list[int] = []
    call = Batch.call
    monkeypatch.setattr(Batch, "call", lambda self, node: (sizes.append(self.rows), call(self, node))[1])
    assert table.scan("upper(s) = 'NAME-7' AND n > 5").to_arrow().num_rows
    assert sizes and max(sizes) < 30


def test_files_with_and_without_a_dictionary_are_read_together(tmp_path: Path) -> None:
    texts, lists = ["DE", "AT", None, "CH"] * 500, [["y"]] * 2_000
    path = tmp_path / "t"
    table = ds.DeltaTable.create(path, "id BIGINT, c STRING, x ARRAY<STRING>")
    for number, encoded in enumerate((True, False, True)):
        ids = range(number * 2_000, number * 2_000 + 2_000)
        pq.write_table(
            pa.table({"id": ids, "c": texts, "x": lists}), path / f"{number}.parquet", use_dictionary=encoded
        )
    table.add_files([f"{number}.parquet" for number in range(3)])
    with options.changed(read_staged_bytes=1):
        found = table.scan("c = 'DE'", columns=["id", "c", "x"]).to_arrow()
        assert sorted(found["id"].to_pylist()) == list(range(0, 6_000, 4))
        assert found["c"].to_pylist() == ["DE"] * 1_500 and found["x"].to_pylist() == [["y"]] * 1_500


def test_duckdb_has_the_rows_of_its_own_table_whether_files_have_dictionaries_or_not(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    made = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, s STRING, u STRING, x DOUBLE", properties={"delta.enableDeletionVectors": "true"}
    )
    count = 3000
    for number in range(6):
        ids = [number * count + i for i in range(count)]
        # The dictionaries differ, and the last files have no dictionary, or only NULL.
        few = [None if i % 7 == 0 else f"s{number}{i % 5}" for i in ids]
        texts = few if number < 4 else [f"{i}-{'y' * 40}" for i in ids] if number == 4 else [None] * count
        x = [math.nan if i % 11 == 0 else float(i % 13) for i in ids]
        made.append(pa.table({"id": ids, "s": pa.array(texts, pa.string()), "u": [f"{i:09}" for i in ids], "x": x}))
    made.delete("id % 100 = 3")
    scan = made.scan()
    dataset = ScanDataset(scan)
    assert [pa.types.is_dictionary(field.type) for field in dataset.schema] == [False, True, False, False]
    with duckdb.connect() as connection:
        scan.to_duckdb(connection, "ours")
        connection.register("rows", scan.to_arrow())
        connection.execute("CREATE TABLE own AS SELECT * FROM rows")
        wheres = [
            "true", "s = 's01'", "s IN ('s01', 's12', 'nothing')", "s IS NULL", "s > 's2'", "s LIKE 's1%'",
            "s <> 's01'", "upper(s) = 'S01'", "x > 11", "x > 11 AND s = 's01'", "id < 4000 AND s IS NOT NULL", "s = u",
            "id = 5 OR s = 's34'", "s >= 's3' AND x <> 5", "starts_with(s, 's0') OR x > 11",
        ]  # fmt: skip
        for where in wheres:
            for query in (
                "SELECT s, count(*), count(u), sum(id) FROM {} WHERE {} GROUP BY s ORDER BY s",
                "SELECT id, s, u FROM {} WHERE {} ORDER BY id",
                "SELECT count(DISTINCT s), min(s), max(s), string_agg(DISTINCT s ORDER BY s) FROM {} WHERE {}",
            ):
                found, wanted = (connection.sql(query.format(name, where)).fetchall() for name in ("ours", "own"))
                assert found == wanted, (where, query)
        query = "SELECT a.s, count(*) FROM {0} a JOIN {0} b ON a.s = b.s AND a.id = b.id + 5 GROUP BY a.s ORDER BY a.s"
        found, wanted = (connection.sql(query.format(name)).fetchall() for name in ("ours", "own"))
        assert found == wanted


def test_scans_of_other_columns_have_no_dictionaries_for_duckdb(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "c CHAR(3), p STRING, s STRUCT<a: STRING>, t STRING", ["p"])
    assert not any(map(pa.types.is_dictionary, ScanDataset(made.scan()).schema.types))
    rows = {"c": ["a"] * 99, "p": ["b"] * 99, "s": [{"a": "c"}] * 99, "t": ["d"] * 99}
    made.append(pa.table(rows))
    dictionaries = [field.name for field in ScanDataset(made.scan()).schema if pa.types.is_dictionary(field.type)]
    assert dictionaries == ["t"]
    for scan in (made.scan(limit=1), made.scan(columns=["s.a"]), made.scan().top(1, by="t")):
        assert not any(map(pa.types.is_dictionary, ScanDataset(scan).schema.types))
