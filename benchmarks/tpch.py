"""Joins of eight tables as those of TPC-H, beside delta-spark, in one session.

    python -m benchmarks.tpch [--rows 600000] [--rounds 5] [--folder DIR] [--only NAME ...]
                              [--part queries joins changes] [--processor]

It needs Java and DELTASKIP_DELTA_JARS, the folder with the jars of delta-spark (`.ci/run` lists them). The tables
have the columns of TPC-H that the queries name, random values, and so many line items; the queries are in its spirit.

`queries` runs each by delta-spark, by `deltaskip.sql` over views of `register_view`, and by Spark's own SQL over an
installed catalog. `joins` runs ten by the same with the statistics of columns (`spark.sql.cbo.enabled` and
`joinReorder`) and without. delta-spark refuses ANALYZE TABLE, but uses what its entry in Spark's catalog has: that gets
what ANALYZE TABLE … FOR ALL COLUMNS finds in the same files as a table of Parquet. `changes` runs UPDATE and MERGE in
Spark's own SQL, each on a copy of a table. Runs alternate, the first round warms up and is not counted, and answers
must be equal. The report shows medians and the ratios of the best runs, for queries whether the joins of the plans that
ran have the same kinds, keys and build sides, and for joins whether those with statistics have, and in the same order.
With `--processor` it shows seconds of the processor, of this process and of the JVM.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.recompute import JARS, session
from benchmarks.sizes import sized
from deltaskip import DeltaTable, catalog, install_catalog, register_view, sql

_JOIN = re.compile(r"(?:Broadcast|SortMerge|Shuffled|Cartesian)\w*(?:Join|Product)\b[^\n]*")
_STATISTICS = ("spark.sql.cbo.enabled", "spark.sql.cbo.joinReorder.enabled")

_NAMES = ("region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem")

QUERIES = {
    "1": "SELECT l_flag, l_status, sum(l_quantity), sum(l_price * (100 - l_discount)), avg(l_price), count(*) FROM"
    " {lineitem} WHERE l_ship <= DATE'1998-09-01' GROUP BY 1, 2",
    "2": "SELECT s_name, n_name, p_key FROM {part} JOIN {partsupp} ON p_key = ps_part JOIN {supplier} ON s_key = "
    "ps_supplier JOIN {nation} ON s_nation = n_key JOIN {region} ON n_region = r_key WHERE p_size = 15 AND "
    "r_name = 'region 1' AND ps_cost = (SELECT min(x.ps_cost) FROM {partsupp} x WHERE x.ps_part = p_key)",
    "3": "SELECT o_key, o_date, sum(l_price * (100 - l_discount)) r FROM {customer} JOIN {orders} ON c_key = "
    "o_customer JOIN {lineitem} ON l_order = o_key WHERE c_segment = 'segment 2' AND o_date < "
    "DATE'1995-03-15' AND l_ship > DATE'1995-03-15' GROUP BY 1, 2 ORDER BY r DESC, o_key LIMIT 10",
    "4": "SELECT o_priority, count(*) FROM {orders} WHERE o_date BETWEEN DATE'1993-07-01' AND DATE'1993-09-30' AND"
    " EXISTS (SELECT 1 FROM {lineitem} WHERE l_order = o_key AND l_commit < l_receipt) GROUP BY 1",
    "5": "SELECT n_name, sum(l_price * (100 - l_discount)) FROM {customer} JOIN {orders} ON c_key = o_customer "
    "JOIN {lineitem} ON l_order = o_key JOIN {supplier} ON l_supplier = s_key AND c_nation = s_nation JOIN "
    "{nation} ON s_nation = n_key JOIN {region} ON n_region = r_key WHERE r_name = 'region 2' AND "
    "year(o_date) = 1994 GROUP BY 1",
    "6": "SELECT sum(l_price * l_discount) FROM {lineitem} WHERE l_ship >= DATE'1994-01-01' AND l_ship < "
    "DATE'1995-01-01' AND l_discount BETWEEN 5 AND 7 AND l_quantity < 24",
    "7": "SELECT a.n_name, b.n_name, year(l_ship), sum(l_price) FROM {supplier} JOIN {lineitem} ON s_key = "
    "l_supplier JOIN {orders} ON o_key = l_order JOIN {customer} ON c_key = o_customer JOIN {nation} a ON "
    "s_nation = a.n_key JOIN {nation} b ON c_nation = b.n_key WHERE a.n_name = 'nation 3' AND b.n_name = "
    "'nation 4' GROUP BY 1, 2, 3",
    "9": "SELECT n_name, year(o_date), sum(l_price * (100 - l_discount) - ps_cost * l_quantity) FROM {part} JOIN "
    "{lineitem} ON p_key = l_part JOIN {supplier} ON s_key = l_supplier JOIN {partsupp} ON ps_part = l_part "
    "AND ps_supplier = l_supplier JOIN {orders} ON o_key = l_order JOIN {nation} ON s_nation = n_key WHERE "
    "p_name LIKE '%7%' GROUP BY 1, 2",
    "10": "SELECT c_key, c_name, n_name, sum(l_price * (100 - l_discount)) r FROM {customer} JOIN {orders} ON c_key"
    " = o_customer JOIN {lineitem} ON l_order = o_key JOIN {nation} ON c_nation = n_key WHERE o_date >= "
    "DATE'1993-10-01' AND o_date < DATE'1994-01-01' AND l_flag = 'flag 2' GROUP BY 1, 2, 3 ORDER BY r DESC, "
    "c_key LIMIT 20",
    "11": "SELECT ps_part, sum(ps_cost * ps_quantity) v FROM {partsupp} JOIN {supplier} ON ps_supplier = s_key JOIN"
    " {nation} ON s_nation = n_key WHERE n_name = 'nation 7' GROUP BY 1 ORDER BY v DESC, ps_part LIMIT 100",
    "12": "SELECT l_mode, count_if(o_priority = 'priority 1'), count_if(o_priority <> 'priority 1') FROM {orders} "
    "JOIN {lineitem} ON o_key = l_order WHERE l_mode IN ('mode 1', 'mode 2') AND l_commit < l_receipt AND "
    "year(l_receipt) = 1994 GROUP BY 1",
    "13": "SELECT n, count(*) FROM (SELECT c_key, count(o_key) n FROM {customer} LEFT JOIN {orders} ON c_key = "
    "o_customer AND o_priority <> 'priority 3' GROUP BY 1) GROUP BY 1",
    "14": "SELECT sum(IF(p_type LIKE 'type 1%', l_price, 0)) / sum(l_price) FROM {lineitem} JOIN {part} ON l_part ="
    " p_key WHERE l_ship >= DATE'1995-09-01' AND l_ship < DATE'1995-10-01'",
    "17": "SELECT sum(l_price) FROM {lineitem} JOIN {part} ON p_key = l_part WHERE p_type = 'type 3' AND p_size = 4"
    " AND l_quantity < (SELECT 0.4 * avg(x.l_quantity) FROM {lineitem} x WHERE x.l_part = p_key)",
    "18": "SELECT c_name, o_key, sum(l_quantity) FROM {customer} JOIN {orders} ON c_key = o_customer JOIN "
    "{lineitem} ON o_key = l_order WHERE o_key IN (SELECT l_order FROM {lineitem} GROUP BY 1 HAVING "
    "sum(l_quantity) > 250) GROUP BY 1, 2",
    "19": "SELECT sum(l_price) FROM {lineitem} JOIN {part} ON p_key = l_part WHERE (p_type = 'type 1' AND "
    "l_quantity < 11) OR (p_type = 'type 2' AND l_quantity BETWEEN 10 AND 20)",
    "22": "SELECT c_nation, count(*), sum(c_balance) FROM {customer} WHERE c_balance > 9000 AND NOT EXISTS (SELECT "
    "1 FROM {orders} WHERE o_customer = c_key AND o_date > DATE'1997-01-01') GROUP BY 1",
}

# The tables are in an order in which a filter comes late. Filters are on columns that are no keys, so that Spark infers
# no filter of the other tables; those of the first take few rows of a table, that of the last nearly all.
JOINS = {
    "a day of orders": "{lineitem} JOIN {partsupp} ON l_part = ps_part AND l_supplier = ps_supplier JOIN {orders} ON "
    "l_order = o_key WHERE o_date = DATE'1995-01-01'",
    "a type and size of parts": "{lineitem} JOIN {orders} ON l_order = o_key JOIN {part} ON l_part = p_key WHERE "
    "p_type = 'type 3' AND p_size = 4",
    "rich customers": "{lineitem} JOIN {orders} ON l_order = o_key JOIN {customer} ON o_customer = c_key WHERE "
    "c_balance > 9990",
    "a name and its stock": "{lineitem} JOIN {orders} ON l_order = o_key JOIN {partsupp} ON l_part = ps_part AND "
    "l_supplier = ps_supplier JOIN {part} ON ps_part = p_key WHERE p_name = 'name 7' AND p_size < 4",
    "a segment of a nation": "{lineitem} JOIN {part} ON l_part = p_key JOIN {orders} ON l_order = o_key JOIN "
    "{customer} ON o_customer = c_key JOIN {nation} ON c_nation = n_key WHERE n_name = 'nation 3' AND "
    "c_segment = 'segment 2'",
    "a week of shipments": "{orders} JOIN {customer} ON o_customer = c_key JOIN {lineitem} ON l_order = o_key WHERE "
    "l_ship BETWEEN DATE'1995-03-01' AND DATE'1995-03-07' AND l_quantity = 50",
    "stock that is nearly gone": "{lineitem} JOIN {orders} ON l_order = o_key JOIN {partsupp} ON l_part = ps_part AND "
    "l_supplier = ps_supplier WHERE ps_quantity < 20",
    "three dimensions": "{lineitem} JOIN {orders} ON l_order = o_key JOIN {customer} ON o_customer = c_key JOIN "
    "{supplier} ON l_supplier = s_key JOIN {part} ON l_part = p_key WHERE c_segment = 'segment 1' AND s_nation = 3 "
    "AND p_size < 3",
    "great orders": "{lineitem} JOIN {part} ON l_part = p_key JOIN {orders} ON l_order = o_key WHERE "
    "o_priority = 'priority 1' AND o_total > 99900",
    "nearly all parts": "{lineitem} JOIN {orders} ON l_order = o_key JOIN {part} ON l_part = p_key WHERE p_size > 1",
}
CHANGES = {
    "UPDATE of 1 % of the rows": "UPDATE {orders} SET o_priority = '9' WHERE o_key % 100 = 7",
    "UPDATE of a range of keys": "UPDATE {orders} SET o_priority = '9' WHERE o_key BETWEEN 500 AND 900",
    "UPDATE of every row": "UPDATE {orders} SET o_total = o_total + 1",
    "MERGE of 2 % of the keys": "MERGE INTO {orders} t USING (SELECT o_key + 20 AS k, '8' AS p FROM source WHERE "
    "o_key % 50 = 3) s ON t.o_key = s.k WHEN MATCHED THEN UPDATE SET o_priority = s.p "
    "WHEN NOT MATCHED THEN INSERT (o_key, o_priority) VALUES (s.k, s.p)",
    "MERGE that deletes": "MERGE INTO {orders} t USING (SELECT o_key AS k FROM source WHERE o_key < 2000) s ON "
    "t.o_key = s.k WHEN MATCHED THEN DELETE",
}


def made(rows: int) -> dict[str, pa.Table]:
    """The tables with so many line items, clustered by order."""
    random, orders = np.random.default_rng(5), rows // 4
    counts = {"part": max(rows // 30, 200), "supplier": max(rows // 600, 20), "customer": max(rows // 40, 100)}
    of_order = np.sort(random.integers(0, orders, rows))
    ordered = random.integers(8036, 10440, orders).astype("int32")
    shipped = ordered[of_order] + random.integers(1, 120, rows).astype("int32")

    def days(values: np.ndarray) -> pa.Array:
        return pa.array(values.astype("int32")).cast(pa.date32())

    def money(count: int, most: int) -> pa.Array:
        cents = random.integers(1, most * 100, count)
        words = np.stack([cents, np.zeros_like(cents)], 1).tobytes()
        return pa.Array.from_buffers(pa.decimal128(12, 2), count, [None, pa.py_buffer(words)])

    def words(name: str, count: int, kinds: int) -> pa.Array:
        return pa.array([f"{name} {kind}" for kind in range(kinds)]).take(pa.array(random.integers(0, kinds, count)))

    part, supplier, customer = counts.values()
    of_part = random.integers(0, part, rows)
    return {
        "region": pa.table({"r_key": range(5), "r_name": [f"region {i}" for i in range(5)]}),
        "nation": pa.table(
            {"n_key": range(25), "n_name": [f"nation {i}" for i in range(25)], "n_region": [i % 5 for i in range(25)]}
        ),
        "supplier": pa.table(
            {
                "s_key": range(supplier),
                "s_name": words("supplier", supplier, supplier),
                "s_nation": np.arange(supplier) % 25,
            }
        ),
        "part": pa.table(
            {
                "p_key": range(part),
                "p_name": words("name", part, 200),
                "p_type": words("type", part, 30),
                "p_size": random.integers(1, 50, part),
            }
        ),
        "partsupp": pa.table(
            {
                "ps_part": np.repeat(np.arange(part), 4),
                "ps_supplier": (np.arange(part * 4) * 7) % supplier,
                "ps_cost": money(part * 4, 1000),
                "ps_quantity": random.integers(1, 9999, part * 4),
            }
        ),
        "customer": pa.table(
            {
                "c_key": range(customer),
                "c_name": words("customer", customer, customer),
                "c_nation": np.arange(customer) % 25,
                "c_segment": words("segment", customer, 5),
                "c_balance": money(customer, 10_000),
            }
        ),
        "orders": pa.table(
            {
                "o_key": range(orders),
                "o_customer": random.integers(0, customer, orders),
                "o_date": days(ordered),
                "o_priority": words("priority", orders, 5),
                "o_total": money(orders, 100_000),
            }
        ),
        "lineitem": pa.table(
            {
                "l_order": of_order,
                "l_part": of_part,
                "l_supplier": (of_part * 28 % supplier),
                "l_flag": words("flag", rows, 3),
                "l_status": words("status", rows, 2),
                "l_mode": words("mode", rows, 7),
                "l_quantity": random.integers(1, 51, rows),
                "l_price": money(rows, 1000),
                "l_discount": pa.array(random.integers(0, 11, rows)).cast(pa.decimal128(19, 0)),
                "l_ship": days(shipped),
                "l_commit": days(shipped + random.integers(-30, 60, rows)),
                "l_receipt": days(shipped + random.integers(1, 31, rows)),
            }
        ),
    }


def write_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write each table in files of about 75,000 rows."""
    for name, table in tables.items():
        written = DeltaTable.create(folder / name, table.schema, properties={"delta.enableDeletionVectors": "true"})
        for start in range(0, len(table), 75_000):
            written.append(table.slice(start, 75_000))


def joins_of(frame: Any) -> list[str]:
    """The joins of the plan that ran, the last first, with their keys and build sides, without the ids of columns."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    final = plan.partition("== Initial Plan ==")[0]
    return [re.sub(r"#\d+L?", "", found) for found in _JOIN.findall(final)]


Clock = Callable[[], float]


def processor_clock(spark: Any) -> Clock:
    """The seconds of the processor that this process and its JVM have used."""
    status, ticks = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/stat"), os.sysconf("SC_CLK_TCK")
    return lambda: time.process_time() + sum(map(int, status.read_text().rpartition(")")[2].split()[11:13])) / ticks


def alternating(
    runs: Mapping[str, Callable[[], Any]], rounds: int, clock: Clock
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """The seconds of each run, in every round but the first, and what each returned in the last round."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    found: dict[str, Any] = {}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            start = clock()
            found[name] = run()
            seconds[name] += [clock() - start] * bool(turn)
    return seconds, found


class Report:
    """A table of medians and ratios of best runs, whose geometric means end it.

    Args:
        columns: The names of the runs.
        pairs: By the head of a column, the names of the run above and below the fraction.
    """

    def __init__(self, columns: list[str], pairs: Mapping[str, tuple[str, str]]) -> None:
        self._pairs = pairs
        self._ratios: dict[str, list[float]] = {head: [] for head in pairs}
        print("| | " + " | ".join([*columns, *pairs]) + " | |")
        print("|---" * (2 + len(columns) + len(pairs)) + "|")

    def line(self, name: str, seconds: Mapping[str, list[float]], note: str = "") -> None:
        """Print a line."""
        best = {each: min(taken) for each, taken in seconds.items()}
        for head, (above, below) in self._pairs.items():
            self._ratios[head].append(best[above] / best[below])
        medians = [f"{statistics.median(taken):.2f} s" for taken in seconds.values()]
        ratios = [f"{each[-1]:.2f} ×" for each in self._ratios.values()]
        print("| " + " | ".join([name, *medians, *ratios, note]) + " |", flush=True)

    def end(self) -> None:
        """Print the geometric means."""
        means = [f"{head} {statistics.geometric_mean(each):.2f} ×" for head, each in self._ratios.items()]
        print("geometric means: " + ", ".join(means) + "\n")


def engines(spark: Any, folder: Path, names: Iterable[str]) -> dict[str, Callable[[str], Any]]:
    """What makes the DataFrame of a query over tables of these names, of each engine."""
    named = {name: f"delta.`{folder / name}`" for name in names}
    return {
        "delta-spark": lambda text: spark.sql(text.format(**named)),
        "views": lambda text: sql(spark, text.format(**{name: f"v_{name}" for name in named})),
        "installed": lambda text: spark.sql(text.format(**{name: f"deltaskip.`{folder / name}`" for name in named})),
    }


def run_queries(
    queries: Mapping[str, str], makers: dict[str, Callable[[str], Any]], rounds: int, only: list[str], clock: Clock
) -> None:
    """Run each query by each engine."""
    report = Report([*makers], {f"delta-spark ÷ {name}": ("delta-spark", name) for name in ("views", "installed")})
    for name, text in queries.items():
        if only and name not in only:
            continue
        frames: dict[str, Any] = {}

        def run(engine: str, text: str = text, frames: dict[str, Any] = frames) -> Any:
            frames[engine] = makers[engine](text)
            return sorted(map(str, frames[engine].collect()))

        seconds, found = alternating({engine: lambda engine=engine: run(engine) for engine in makers}, rounds, clock)
        assert all(each == found["delta-spark"] for each in found.values()), f"query {name}: {found}"
        plans = {engine: sorted(joins_of(frame)) for engine, frame in frames.items()}
        others = [engine for engine, plan in plans.items() if plan != plans["delta-spark"]]
        for engine in others:
            print(f"query {name}, {engine}: {plans[engine]}\nbut delta-spark: {plans['delta-spark']}")
        report.line(f"query {name}", seconds, f"other joins: {', '.join(others)}" if others else "same joins")
    report.end()


def analyzed(spark: Any, folder: Path) -> Callable[[str], Any]:
    """What makes the DataFrame of a query of delta-spark with the statistics of ANALYZE TABLE."""
    tables, of = spark._jsparkSession.sessionState().catalog(), spark._jvm.org.apache.spark.sql.catalyst.TableIdentifier
    spark.conf.set("spark.databricks.delta.formatCheck.enabled", "false")
    for name in _NAMES:
        spark.sql(f"CREATE TABLE p_{name} USING parquet LOCATION '{folder / name}'")
        spark.sql(f"ANALYZE TABLE p_{name} COMPUTE STATISTICS FOR ALL COLUMNS")
        spark.sql(f"CREATE TABLE a_{name} USING delta LOCATION '{folder / name}'")
        tables.alterTableStats(of(f"a_{name}"), tables.getTableMetadata(of(f"p_{name}")).stats())
    return lambda text: spark.sql(text.format(**{name: f"a_{name}" for name in _NAMES}))


def run_joins(
    spark: Any, makers: dict[str, Callable[[str], Any]], folder: Path, rounds: int, only: list[str], clock: Clock
) -> None:
    """Run each join with statistics and without."""
    runs = {f"{engine} {how}": (engine, how == "with") for engine in makers for how in ("without", "with")}
    report = Report(
        [*runs], {f"{engine}: without ÷ with": (f"{engine} without", f"{engine} with") for engine in makers}
    )
    with_statistics = {**makers, "delta-spark": analyzed(spark, folder)}
    for name, text in JOINS.items():
        if only and name not in only:
            continue
        frames: dict[str, Any] = {}

        def run(kind: str, text: str = text, frames: dict[str, Any] = frames) -> Any:
            engine, with_them = runs[kind]
            for key in _STATISTICS:
                spark.conf.set(key, str(with_them).lower())
            made = (with_statistics if with_them else makers)[engine]
            frames[kind] = made(f"SELECT count(*), sum(l_price), max(l_ship) FROM {text}")
            return frames[kind].collect()

        seconds, found = alternating({kind: lambda kind=kind: run(kind) for kind in runs}, rounds, clock)
        assert len(set(map(str, found.values()))) == 1, f"{name}: {found}"
        # A filter by the keys of a join, which an installed catalog takes, shows that join again.
        plans = {kind: list(dict.fromkeys(joins_of(frame))) for kind, frame in frames.items()}
        expected = plans["delta-spark with"]
        others = [kind for kind in ("views with", "installed with") if plans[kind] != expected]
        for kind in others:
            print(f"{name}, {kind}: {plans[kind]}\nbut delta-spark with: {expected}")
        changed = "changed" if plans["delta-spark without"] != expected else "not changed"
        report.line(name, seconds, f"{changed}; {'other joins: ' + ', '.join(others) if others else 'same joins'}")
    report.end()
    for key in _STATISTICS:
        spark.conf.unset(key)


def run_changes(spark: Any, folder: Path, rounds: int, only: list[str], clock: Clock) -> None:
    """Run each statement by both engines, each time on a new copy of the table."""
    report = Report(["delta-spark", "installed"], {"delta-spark ÷ installed": ("delta-spark", "installed")})
    spark.read.format("delta").load(str(folder / "orders")).createOrReplaceTempView("source")
    for name, text in CHANGES.items():
        if only and name not in only:
            continue
        seconds: dict[str, list[float]] = {"delta-spark": [], "installed": []}
        for turn in range(rounds + 1):
            left = []
            for engine, taken in seconds.items():
                copy = folder / "copy" / f"{engine}-{turn}"
                shutil.copytree(folder / "orders", copy)
                start = clock()
                spark.sql(text.format(orders=f"{'deltaskip' if engine == 'installed' else 'delta'}.`{copy}`"))
                taken += [clock() - start] * bool(turn)
                rows = DeltaTable(copy).scan().to_arrow()
                left.append(rows.sort_by("o_key").select(["o_key", "o_priority", "o_total"]))
                shutil.rmtree(copy)
            assert left[0] == left[1], name
        report.line(name, seconds)
    report.end()


def arguments(about: str | None) -> argparse.ArgumentParser:
    """The command line of queries beside delta-spark. about: The text of --help."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=sized(600_000, 4_000))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    return parser


def main() -> None:
    """Run the benchmark."""
    parser = arguments(__doc__)
    parser.add_argument("--part", nargs="*", default=["queries", "joins", "changes"])
    parser.add_argument("--processor", action="store_true")
    given = parser.parse_args()
    spark = session(Path(os.environ[JARS]))
    clock = processor_clock(spark) if given.processor else time.perf_counter
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.folder or Path(scratch)) / f"tpch-{given.rows}"
        if not folder.exists():
            write_tables(folder, made(given.rows))
        makers = engines(spark, folder, _NAMES)
        for name in _NAMES:
            register_view(spark, f"v_{name}", DeltaTable(folder / name))
        with install_catalog(spark, "deltaskip", catalog(f"warehouse:{scratch}")):
            if "queries" in given.part:
                run_queries(QUERIES, makers, given.rounds, given.only, clock)
            if "joins" in given.part:
                run_joins(spark, makers, folder, given.rounds, given.only, clock)
            if "changes" in given.part:
                run_changes(spark, folder, given.rounds, given.only, clock)


if __name__ == "__main__":
    main()
