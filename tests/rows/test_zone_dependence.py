"""What of a write depends on the session's time zone, by the plans of rows with several columns."""

from __future__ import annotations

import pytest

from deltaskip.rows.plan import plan_rows
from deltaskip.rows.zone_dependence import zone_dependent
from deltaskip.schema.ddl import parse_columns
from deltaskip.schema.properties import TableProperties


@pytest.mark.parametrize(
    ("table", "rows", "check", "found"),
    [
        ("id INT, ts TIMESTAMP", "id BIGINT, ts TIMESTAMP", None, None),
        ("s STRING", "s TIMESTAMP", None, "conversion of the column s"),
        ("d DATE", "d TIMESTAMP", None, "conversion of the column d"),
        ("ts TIMESTAMP_NTZ", "ts TIMESTAMP", None, "conversion of the column ts"),
        ("a ARRAY<STRUCT<ts: TIMESTAMP>>", "a ARRAY<STRUCT<ts: DATE>>", None, "conversion of the column a"),
        ("d DATE, y INT GENERATED ALWAYS AS (year(d))", "d DATE", None, None),
        ("ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE))", "ts TIMESTAMP", None, "expression CAST"),
        ("id INT, ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE))", "id INT", None, None),
        ("id INT, s STRING GENERATED ALWAYS AS (from_unixtime(id))", "id INT", None, "expression from_unixtime"),
        ("id INT, ts TIMESTAMP DEFAULT current_timestamp()", "id INT", None, None),
        ("id INT, d DATE DEFAULT current_date()", "id INT", None, "expression current_date"),
        ("id INT, d DATE", "id INT, d DATE", "id > 0 AND d >= DATE '2026-01-01'", None),
        ("id INT, ts TIMESTAMP", "id INT", "ts > '2026-01-01'", "rule"),
    ],
)
def test_conversions_and_expressions_of_times_depend_on_it(
    table: str, rows: str, check: str | None, found: str | None
) -> None:
    properties = TableProperties({} if check is None else {"delta.constraints.c": check}, "/t")
    said = zone_dependent(plan_rows(parse_columns(table), properties, parse_columns(rows)))
    assert (said is None) == (found is None), said
    assert found is None or found in said
