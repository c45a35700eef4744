"""Queries over a star schema as those of TPC-DS, beside delta-spark, in one session.

    python -m benchmarks.tpcds [--rows 600000] [--rounds 5] [--folder DIR] [--only NAME ...]

It needs Java and DELTASKIP_DELTA_JARS, the folder with the jars of delta-spark (`.ci/run` lists them). Two facts of
sales, of which `--rows` is the number of rows of the greater one, and one of returns have random values and are ordered
by day; the queries are in the spirit of TPC-DS. They run, and the report is, as by `benchmarks.tpch --part queries`.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.recompute import JARS, session
from benchmarks.tpch import arguments, engines, run_queries, write_tables
from deltaskip import DeltaTable, catalog, install_catalog, register_view

_FIRST_DAY, _DAYS = 18_262, 1_826  # 2020-01-01, five years

QUERIES = {
    "brands of a month": "SELECT d_year, i_brand, sum(ss_price) s FROM {store_sales} JOIN {date_dim} ON ss_date = "
    "d_key JOIN {item} ON ss_item = i_key WHERE i_category = 'category 3' AND d_month = 11 GROUP BY 1, 2 ORDER BY s "
    "DESC, 2, 1 LIMIT 50",
    "customers who return much": "WITH total AS (SELECT sr_customer c, ss_store s, sum(sr_amount) a FROM "
    "{store_returns} JOIN {store_sales} ON sr_ticket = ss_ticket AND sr_item = ss_item JOIN {date_dim} ON sr_date = "
    "d_key WHERE d_year = 2022 GROUP BY 1, 2) SELECT c_key, a FROM total t JOIN {store} ON s = st_key JOIN "
    "{customer} ON c = c_key WHERE st_state = 'state 2' AND a > (SELECT 1.2 * avg(x.a) FROM total x WHERE x.s = t.s)",
    "channels by quarter": "SELECT d_year, d_quarter, channel, sum(price), count(*) FROM (SELECT ss_date d, "
    "ss_price price, 'store' channel FROM {store_sales} UNION ALL SELECT ws_date, ws_price, 'web' FROM {web_sales}) "
    "JOIN {date_dim} ON d = d_key WHERE d_year IN (2021, 2022) GROUP BY 1, 2, 3",
    "rollup of profit": "SELECT i_category, i_class, sum(ss_profit) p, grouping_id() g, rank() OVER (PARTITION BY "
    "grouping_id() ORDER BY sum(ss_profit) DESC) r FROM {store_sales} JOIN {date_dim} ON ss_date = d_key JOIN {item} "
    "ON ss_item = i_key JOIN {store} ON ss_store = st_key WHERE d_year = 2021 AND st_state IN ('state 1', 'state 4') "
    "GROUP BY ROLLUP (1, 2)",
    "customers of both channels": "SELECT c_state, c_gender, count(*) FROM {customer} WHERE EXISTS (SELECT 1 FROM "
    "{store_sales} JOIN {date_dim} ON ss_date = d_key WHERE ss_customer = c_key AND d_year = 2023 AND d_quarter = 1) "
    "AND EXISTS (SELECT 1 FROM {web_sales} JOIN {date_dim} ON ws_date = d_key WHERE ws_customer = c_key AND d_year = "
    "2023 AND d_quarter = 1) GROUP BY 1, 2",
    "sales without returns": "SELECT st_name, count(*), sum(ss_profit) FROM {store_sales} JOIN {store} ON ss_store "
    "= st_key JOIN {date_dim} ON ss_date = d_key WHERE d_date BETWEEN DATE'2022-03-01' AND DATE'2022-04-30' AND NOT "
    "EXISTS (SELECT 1 FROM {store_returns} WHERE sr_ticket = ss_ticket AND sr_item = ss_item) GROUP BY 1",
    "sold, returned, bought again": "SELECT i_class, st_state, count(*), avg(ss_quantity), avg(sr_quantity), "
    "avg(ws_quantity) FROM {store_sales} JOIN {store_returns} ON ss_ticket = sr_ticket AND ss_item = sr_item JOIN "
    "{web_sales} ON sr_customer = ws_customer JOIN {date_dim} a ON ss_date = a.d_key JOIN {date_dim} b ON ws_date = "
    "b.d_key JOIN {item} ON ss_item = i_key JOIN {store} ON ss_store = st_key WHERE a.d_year = 2021 AND a.d_quarter "
    "= 2 AND b.d_year = 2021 AND b.d_quarter IN (2, 3) GROUP BY 1, 2",
    "share of a class": "SELECT i_class, i_brand, sum(ws_price) s, sum(ws_price) * 100 / sum(sum(ws_price)) OVER "
    "(PARTITION BY i_class) FROM {web_sales} JOIN {item} ON ws_item = i_key JOIN {date_dim} ON ws_date = d_key WHERE "
    "i_category IN ('category 1', 'category 5') AND d_date BETWEEN DATE'2022-02-22' AND DATE'2022-03-24' GROUP BY 1, "
    "2",
    "sales by promotion": "SELECT p_channel, sum(IF(p_cost > 500, ss_price, 0)) / sum(ss_price), count(DISTINCT "
    "ss_customer) FROM {store_sales} JOIN {promotion} ON ss_promotion = p_key JOIN {date_dim} ON ss_date = d_key "
    "JOIN {customer} ON ss_customer = c_key WHERE d_year = 2020 AND d_month = 12 AND c_state = 'state 7' GROUP BY 1",
    "growth of customers": "WITH y AS (SELECT ss_customer c, d_year y, sum(ss_price) s FROM {store_sales} JOIN "
    "{date_dim} ON ss_date = d_key WHERE d_year IN (2022, 2023) GROUP BY 1, 2) SELECT c_key, b.s / a.s q FROM y a "
    "JOIN y b ON a.c = b.c JOIN {customer} ON a.c = c_key WHERE a.y = 2022 AND b.y = 2023 AND b.s > 3 * a.s AND "
    "c_birth_year < 1960 ORDER BY q DESC, c_key LIMIT 100",
    "in one channel only": "SELECT count(*) FROM (SELECT DISTINCT ss_customer, ss_date FROM {store_sales} JOIN "
    "{date_dim} ON ss_date = d_key WHERE d_year = 2024 AND d_month < 4 EXCEPT SELECT ws_customer, ws_date FROM "
    "{web_sales} JOIN {date_dim} ON ws_date = d_key WHERE d_year = 2024 AND d_month < 4)",
    "ranges of quantities": "SELECT (SELECT avg(ss_price) FROM {store_sales} WHERE ss_quantity BETWEEN 1 AND 20), "
    "(SELECT sum(ss_profit) FROM {store_sales} WHERE ss_quantity BETWEEN 21 AND 40), (SELECT count(*) FROM "
    "{store_sales} WHERE ss_quantity > 80)",
    "months beside their neighbours": "WITH m AS (SELECT i_category c, st_name n, d_year y, d_month m, "
    "sum(ss_price) s FROM {store_sales} JOIN {item} ON ss_item = i_key JOIN {date_dim} ON ss_date = d_key JOIN "
    "{store} ON ss_store = st_key WHERE d_year = 2022 GROUP BY 1, 2, 3, 4) SELECT c, n, m, s, lag(s) OVER w, lead(s) "
    "OVER w FROM m WINDOW w AS (PARTITION BY c, n ORDER BY m)",
    "what is left after returns": "SELECT ss_customer, sum(ss_quantity - coalesce(sr_quantity, 0)) q FROM "
    "{store_sales} LEFT JOIN {store_returns} ON sr_item = ss_item AND sr_ticket = ss_ticket JOIN {item} ON ss_item = "
    "i_key WHERE i_brand = 'brand 17' GROUP BY 1 ORDER BY q DESC, 1 LIMIT 100",
}


def made(rows: int) -> dict[str, pa.Table]:
    """The tables, with so many rows in the greatest."""
    random = np.random.default_rng(11)
    items, customers, stores, promotions = max(rows // 100, 200), max(rows // 30, 300), 24, 60

    def words(name: str, kinds: int, of: np.ndarray) -> pa.Array:
        return pa.array([f"{name} {kind}" for kind in range(kinds)]).take(pa.array(of % kinds))

    def money(count: int, least: int, most: int) -> pa.Array:
        cents = random.integers(least * 100, most * 100, count)
        return pa.array(cents).cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2))

    def sales(prefix: str, count: int) -> dict[str, object]:
        return {
            f"{prefix}_date": np.sort(random.integers(0, _DAYS, count)).astype("int32"),
            f"{prefix}_item": random.integers(0, items, count),
            f"{prefix}_customer": random.integers(0, customers, count),
            f"{prefix}_quantity": random.integers(1, 101, count).astype("int32"),
            f"{prefix}_price": money(count, 1, 300),
        }

    days = pa.array((np.arange(_DAYS) + _FIRST_DAY).astype("int32")).cast(pa.date32())
    of_days = days.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False).astype("datetime64[M]").astype(int)
    numbers = np.arange(items)
    store_sales = pa.table(
        {
            **sales("ss", rows),
            "ss_store": random.integers(0, stores, rows).astype("int32"),
            "ss_promotion": random.integers(0, promotions, rows).astype("int32"),
            "ss_ticket": np.arange(rows) // 3,
            "ss_profit": money(rows, -50, 120),
        }
    )
    returned = np.flatnonzero(random.random(rows) < 0.1)
    of_sale = store_sales.take(pa.array(returned))
    later = np.minimum(of_sale["ss_date"].to_numpy() + random.integers(1, 60, len(returned)), _DAYS - 1)
    store_returns = pa.table(
        {
            "sr_date": later.astype("int32"),
            "sr_item": of_sale["ss_item"],
            "sr_customer": of_sale["ss_customer"],
            "sr_ticket": of_sale["ss_ticket"],
            "sr_quantity": random.integers(1, 20, len(returned)).astype("int32"),
            "sr_amount": money(len(returned), 1, 200),
        }
    )
    return {
        "date_dim": pa.table(
            {
                "d_key": np.arange(_DAYS).astype("int32"),
                "d_date": days,
                "d_year": (of_days // 12 + 1970).astype("int32"),
                "d_month": (of_days % 12 + 1).astype("int32"),
                "d_quarter": (of_days % 12 // 3 + 1).astype("int32"),
            }
        ),
        "item": pa.table(
            {
                "i_key": numbers,
                "i_category": words("category", 10, numbers),
                "i_class": words("class", 40, numbers),
                "i_brand": words("brand", 120, numbers),
                "i_price": money(items, 1, 300),
            }
        ),
        "customer": pa.table(
            {
                "c_key": np.arange(customers),
                "c_state": words("state", 30, random.integers(0, 30, customers)),
                "c_gender": words("gender", 2, random.integers(0, 2, customers)),
                "c_birth_year": random.integers(1930, 2005, customers).astype("int32"),
            }
        ),
        "store": pa.table(
            {
                "st_key": np.arange(stores).astype("int32"),
                "st_name": words("store", 12, np.arange(stores)),
                "st_state": words("state", 6, np.arange(stores)),
            }
        ),
        "promotion": pa.table(
            {
                "p_key": np.arange(promotions).astype("int32"),
                "p_channel": words("channel", 4, np.arange(promotions)),
                "p_cost": random.integers(1, 1000, promotions),
            }
        ),
        "store_sales": store_sales,
        "store_returns": store_returns.sort_by("sr_date"),
        "web_sales": pa.table(sales("ws", rows // 2)),
    }


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__).parse_args()
    spark = session(Path(os.environ[JARS]))
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.folder or Path(scratch)) / f"tpcds-{given.rows}"
        tables = made(given.rows)
        if not folder.exists():
            write_tables(folder, tables)
        for name in tables:
            register_view(spark, f"v_{name}", DeltaTable(folder / name))
        with install_catalog(spark, "deltaskip", catalog(f"warehouse:{scratch}")):
            run_queries(QUERIES, engines(spark, folder, tables), given.rounds, given.only, time.perf_counter)


if __name__ == "__main__":
    main()
