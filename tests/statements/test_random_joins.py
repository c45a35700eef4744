"""Random joins: files that are left out change no row of a query.

DuckDB runs each query twice: over all rows of the tables, and over all rows of the files that stay.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.reading.table_scan import TableScan
from deltaskip.statements import join_pruning, local_query
from deltaskip.statements.join_equalities import required_of
from tests.extent import extent, seed
from tests.statements.random_joins import COLUMNS, Tables, random_query

TABLES = extent(3, 100)
QUERIES = extent(20, 100)


@pytest.fixture(autouse=True)
def every_join(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Joins leave out files even where reading keys would not pay off."""
    monkeypatch.setattr(join_pruning, "_is_worth", lambda *_: True)
    monkeypatch.setattr(local_query, "_LEAST_BYTES", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rows_of(rows: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(column.to_pylist() for column in rows.columns), strict=True)))


def run(text: str, tables: dict[str, pa.Table]) -> list[str]:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, rows in tables.items():
        # Over an Arrow table, DuckDB 1.5 loses joins of NaN, and of 0.0 with -0.0.
        connection.register("given", rows)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return rows_of(connection.sql(text).to_arrow_table())


def test_rows_of_files_that_stay_give_the_rows_of_all_files(tmp_path: Path) -> None:
    """As with a session, in which Spark reads all rows of these files."""
    rng = random.Random(seed())
    kept = files = narrowed = 0
    for number in range(TABLES):
        made = Tables(rng, tmp_path / str(number))
        for _ in range(QUERIES):
            places = iter(range(20))
            text, named = random_query(rng, lambda _, places=places: f"v{next(places)}")
            every = {f"v{place}": made.rows[name] for place, name in enumerate(named)}
            required = required_of(text, {name: [*COLUMNS] for name in every})
            scans: dict[str, TableScan] = {}
            for place, name in enumerate(named):
                wanted = [f"({each})" for each in required.predicates.get(f"v{place}", [])]
                scans[f"v{place}"] = made.tables[name].scan(" AND ".join(wanted) or None)
            found = join_pruning.without_partnerless(scans, required.joins, {name: name for name in scans})
            left = {}
            for name, scan in found.items():
                paths = scan.files()["path"].to_pylist()
                table = ds.DeltaTable(scan.snapshot.table_root).scan()
                left[name] = rows_of_files(table, paths)
                kept += len(paths)
                files += len(scans[name].files())
                narrowed += scan is not scans[name]
            assert run(text, left) == run(text, every), (number, text)
    assert narrowed > TABLES * QUERIES / 4
    assert kept < 0.9 * files


_READ: dict[tuple[str, str], pa.Table] = {}


def rows_of_files(scan: TableScan, paths: list[str]) -> pa.Table:
    """All rows of some files of a table."""
    from deltaskip.reading.arrow_rows import READ_COLUMNS, arrow_schema_of, batches_of
    from deltaskip.reading.metrics import ReadCounts

    root = scan.snapshot.table_root
    wanted = [path for path in paths if (root, path) not in _READ]
    if wanted:
        files = scan.files(columns=[*READ_COLUMNS, "path"])
        for at, path in enumerate(files["path"].to_pylist()):
            batches = batches_of(scan, files.slice(at, 1).select(READ_COLUMNS), ReadCounts())
            _READ[root, path] = pa.Table.from_batches(batches, arrow_schema_of(scan))
    return pa.concat_tables([arrow_schema_of(scan).empty_table(), *(_READ[root, path] for path in paths)])


def test_queries_without_a_session_have_the_rows_of_a_query_over_all_rows(tmp_path: Path) -> None:
    rng, compared = random.Random(seed()), 0
    for number in range(extent(2, 20)):
        made = Tables(rng, tmp_path / str(number))
        for _ in range(extent(15, 50)):
            folder = tmp_path / str(number)
            state = rng.getstate()
            text, _ = random_query(rng, lambda name, folder=folder: f"'{folder / name}'")
            rng.setstate(state)
            plain, _ = random_query(rng)
            assert rows_of(ds.sql(text)) == run(plain, made.rows), plain
            compared += 1
    assert compared >= 30


def test_joins_by_position_and_samples_lose_no_file(tmp_path: Path) -> None:
    made = Tables(random.Random(1), tmp_path)
    tables = {name: f"'{tmp_path / name}'" for name in made.tables}
    for text in (
        "SELECT a.i, b.l FROM {t0} a POSITIONAL JOIN {t1} b WHERE a.i = b.i",
        "SELECT a.i, b.l FROM {t2} a ASOF JOIN {t3} b ON a.l = b.l AND a.i >= b.i",
    ):
        assert rows_of(ds.sql(text.format(**tables))) == run(text.format(**{name: name for name in tables}), made.rows)
