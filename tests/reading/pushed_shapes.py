"""What the filters of DuckDB and Polars read of a table in ten files, by form of the filter. Prints JSON.

    python -m tests.reading.pushed_shapes

Runs in any environment with deltaskip's dependencies, duckdb and polars: tests compare what different releases send.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

import deltaskip as ds

FILES, ROWS = 10, 20
START = datetime(2020, 1, 1, tzinfo=UTC)

# The files that a filter of DuckDB reads if all of it is used, of ten with the ids 0 to 19, 20 to 39 and so on.
DUCKDB = {
    "id = 5": 1, "id <> 5": 10, "5 > id": 1, "id = 5::HUGEINT": 1, "id IN (5)": 1, "id IN (5, 6)": 1,
    "id IN (5, 65, 165)": 3, "id NOT IN (5, 65)": 10, "NOT (id IN (5, 65)) AND id < 20": 1, "id IN [5, 65]": 2,
    "id IN (5, 65, NULL)": 2, "id BETWEEN 5 AND 25": 2, "id NOT BETWEEN 10 AND 190": 2, "id IS NULL": 0,
    "NOT (id > 5)": 1, "id IS NOT DISTINCT FROM 5": 1, "id IS DISTINCT FROM 5 AND id < 20": 1, "id = 5 OR id = 165": 2,
    "id = 5 OR s = 's165'": 2, "id < 5 AND s = 's003'": 1, "(id < 5 AND s < 'x') OR (id > 185 AND s > 'a')": 2,
    "id IN (5, 65) OR s = 's165'": 3, "id IN (5, 65) AND s IN ('s005', 's006')": 1, "id + 1 = 6": 1,
    "id % 2 = 1 AND id < 20": 1, "i = 5": 1, "i > 185.5": 1, "i IN (5, 65)": 2, "i::BIGINT IN (5, 65)": 2,
    "id = (SELECT 5)": 1, "id IN (SELECT unnest([5, 65]))": 2, "id >= 5 AND id <= 5": 1,
    "s = 's005'": 1, "s IN ('s005', 's165')": 2, "s LIKE 's00%'": 1, "starts_with(s, 's00')": 1, "s NOT LIKE 's1%'": 5,
    "s BETWEEN 's005' AND 's010'": 1, "s = 's005' OR s IS NULL": 1, "upper(s) = 'S005'": 10,
    "d = DATE '2020-01-01'": 1, "d IN (DATE '2020-01-01', DATE '2020-04-01')": 2, "d <= '2020-01-05'": 1,
    "year(d) = 2020": 10, "year(d) > 2020": 0, "d > TIMESTAMP '2020-07-10 10:00:00'": 1,
    "ts = TIMESTAMPTZ '2020-01-01 00:00:00+00'": 1,
    "ts IN (TIMESTAMPTZ '2020-01-01 00:00:00+00', TIMESTAMPTZ '2020-04-01 00:00:00+00')": 2,
    "CAST(ts AS DATE) = DATE '2020-01-01'": 1, "n < TIMESTAMP '2020-01-03'": 1,
    "CAST(n AS DATE) = DATE '2020-01-01'": 1,
    "n IN (TIMESTAMP '2020-01-01', TIMESTAMP '2020-04-01')": 2, "x = 5.25": 1, "x > 185": 1, "x IN (5.25, 65.25)": 2,
    "g = 5": 1, "g > 185": 1, "g IN (5, 65)": 2, "g IN (0, 5)": 1, "g <> 5": 10, "f = 0.5": 1, "f IN (0.5, 65.5)": 2,
    "st.a = 5": 1, "st.a IN (5, 65)": 2, "st.a IS NULL": 0, "p = 'p0'": 5, "p IN ('p0', 'p7')": 5, "p NOT IN ('p0')": 5,
    "CASE WHEN id = 5 THEN true ELSE false END": 1, "coalesce(id, 0) = 5": 1,
}  # fmt: skip

POLARS = {
    'c("id") == 5': 1, 'c("id") != 5': 10, 'pl.lit(5) > c("id")': 1, 'c("id").is_in([5, 65])': 2,
    'c("id").is_in([5, 65, None])': 2, 'c("id").is_in(pl.Series([5, 65]))': 2, '~c("id").is_in([5, 65])': 10,
    'c("id").is_in([5, None], nulls_equal=True)': 1, 'c("i").is_in(pl.Series([5, 65]))': 2,
    'c("i").cast(pl.Int64) == 5': 1, 'c("id").is_between(5, 25)': 2, '~c("id").is_between(10, 190)': 2,
    'c("id").is_null()': 0, '~(c("id") > 5)': 1, 'c("id").eq_missing(5)': 1, 'c("id").ne_missing(5)': 10,
    '(c("id") == 5) | (c("s") == "s165")': 2, '(c("id") < 5) & (c("s") == "s003")': 1,
    'pl.any_horizontal(c("id") == 5, c("id") == 65)': 2, '(c("id") % 2 == 1) & (c("id") < 20)': 1,
    'pl.when(c("id") == 5).then(True).otherwise(False)': 1, 'c("s").is_in(["s005", "s165"])': 2,
    'c("s").str.starts_with("s00")': 1, 'c("d") == date(2020, 1, 1)': 1,
    'c("d").is_in([date(2020, 1, 1), date(2020, 4, 1)])': 2, 'c("d").dt.year() > 2020': 0,
    'c("d") <= pl.lit("2020-01-05").str.to_date()': 1, 'c("ts").dt.date() == date(2020, 1, 1)': 1,
    'c("ts").cast(pl.Date) == date(2020, 1, 1)': 1,
    'c("ts").dt.date().is_between(date(2020, 1, 1), date(2020, 1, 9))': 1,
    'c("ts") <= pl.datetime(2020, 1, 5, time_zone="UTC")': 1, 'c("n").dt.date() > date(2020, 7, 10)': 1,
    'c("n").dt.date().is_in([date(2020, 1, 1), date(2020, 4, 1)])': 2, 'c("n") < datetime(2020, 1, 3)': 1,
    'c("x") == Decimal("5.25")': 1, 'c("x").is_between(5, 6)': 1, 'c("g") > 185': 1, 'c("g").is_in([0.0, 5.0])': 1,
    'c("g").is_nan()': 1, 'c("st").struct.field("a").is_in([5, 65])': 2, 'c("p").is_in(["p0"])': 5,
    'c("id") + 1 == 6': 1, 'c("s").str.contains("^s00")': 1, 'c("s").str.to_uppercase() == "S005"': 10,
}  # fmt: skip


def rows_of(number: int) -> pa.Table:
    """The rows of a file. The columns g and f have -0.0 for 0, and g has NaN in the last row of the last file."""
    ids = range(number * ROWS, (number + 1) * ROWS)
    times = [START + timedelta(days=i) for i in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "i": pa.array(ids, pa.int32()),
            "g": pa.array([float("nan") if i == FILES * ROWS - 1 else i or -0.0 for i in ids], pa.float64()),
            "f": pa.array([i + 0.5 for i in ids], pa.float32()),
            "s": pa.array([f"s{i:03}" for i in ids]),
            "d": pa.array([each.date() for each in times]),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "n": pa.array([each.replace(tzinfo=None) for each in times], pa.timestamp("us")),
            "x": pa.array([Decimal(i) + Decimal("0.25") for i in ids], pa.decimal128(10, 2)),
            "st": pa.array([{"a": i} for i in ids], pa.struct([("a", pa.int64())])),
            "p": pa.array([f"p{number % 2}"] * ROWS),
        }
    )


def main() -> None:
    """Print for each form how many files are read, how many all of it needs, and whether the rows are right."""
    with tempfile.TemporaryDirectory() as folder:
        table = ds.DeltaTable.create(Path(folder) / "t", rows_of(0).schema, ["p"])
        for number in range(FILES):
            table.append(rows_of(number))
        whole = pa.concat_tables(map(rows_of, range(FILES)))
        found = {"duckdb": by_duckdb(table, whole), "polars": by_polars(table, whole)}
    json.dump({"duckdb": duckdb.__version__, "polars": pl.__version__, "forms": found}, sys.stdout)


def by_duckdb(table: ds.DeltaTable, whole: pa.Table) -> dict[str, list[Any]]:
    """For each form of DuckDB: the files that are read, and whether the rows are those of a table of DuckDB's own."""
    connection, scan = duckdb.connect(), table.scan()
    connection.execute("SET TimeZone = 'UTC'")
    scan.to_duckdb(connection, "ours")
    connection.register("whole", whole)
    connection.execute("CREATE TABLE own AS SELECT * FROM whole")
    found = {}
    for where in DUCKDB:
        queries = [f"SELECT id FROM {name} WHERE {where} ORDER BY id" for name in ("own", "ours")]
        try:
            own, ours = (connection.sql(each).fetchall() for each in queries)
        except duckdb.InvalidInputException as error:
            # DuckDB 1.5 needs the package pytz for zoned times in IN lists.
            assert "pytz" in str(error)
            found[where] = [None, True]
            continue
        assert scan.metrics is not None
        found[where] = [scan.metrics.files, ours == own]
    return found


def by_polars(table: ds.DeltaTable, whole: pa.Table) -> dict[str, list[Any]]:
    """For each form of Polars: the files that are read, and whether the rows are those of a frame in memory."""
    scan = table.scan()
    lazy, frame = scan.to_polars(lazy=True), pl.DataFrame(whole)
    found = {}
    for form in POLARS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = {"c": pl.col, "pl": pl, "date": date, "datetime": datetime, "Decimal": Decimal}
            expression = eval(form, names)
            ours, own = (each.filter(expression).select("id").sort("id") for each in (lazy, frame))
            same = ours.collect().equals(own)
        assert scan.metrics is not None
        found[form] = [scan.metrics.files, same]
    return found


if __name__ == "__main__":
    main()
