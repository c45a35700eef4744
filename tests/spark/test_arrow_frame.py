"""Rows of Arrow that pass through a session: every type, every instant, in every time zone, and no rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from tests.contracts.doors import connect_session
from tests.each import each
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1)
TIMES = [
    datetime(1, 1, 1),
    datetime(1500, 3, 1, 1, 2, 3, 4),
    datetime(1883, 11, 18, 12, 2),
    datetime(1910, 1, 14, 23, 45),
    datetime(1937, 6, 1),
    datetime(2011, 12, 30, 5),
    datetime(2024, 3, 10, 2, 30),
    datetime(2024, 3, 31, 2, 30),
    datetime(2024, 11, 3, 1, 30),
    datetime(2500, 7, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
]
"""Times that a zone skips, repeats or shifts, and the first and the last one."""

ZONES = ("UTC", "America/New_York", "Europe/Amsterdam", "Pacific/Apia")
LOCAL, UTC = pa.timestamp("us"), pa.timestamp("us", "UTC")
INSIDE = pa.struct([("n", LOCAL), ("t", UTC)])

# The type in the table, the type in Arrow, and the values.
COLUMNS: dict[str, tuple[str, pa.DataType, Sequence[Any]]] = {
    "n": ("TIMESTAMP_NTZ", LOCAL, [*TIMES, None]),
    "t": ("TIMESTAMP", UTC, [*TIMES, None]),
    "instants": ("TIMESTAMP", pa.timestamp("us", "Asia/Tokyo"), [*TIMES, None]),
    "seconds": ("TIMESTAMP_NTZ", pa.timestamp("s"), [*(each.replace(microsecond=0) for each in TIMES), None]),
    "s": ("STRUCT<n: TIMESTAMP_NTZ, t: TIMESTAMP>", INSIDE, [*({"n": x, "t": x} for x in TIMES), None]),
    "a": ("ARRAY<TIMESTAMP_NTZ>", pa.list_(LOCAL), [[], *([x, None] for x in TIMES[1:]), None]),
    "e": ("ARRAY<STRUCT<n: TIMESTAMP_NTZ, t: TIMESTAMP>>", pa.list_(INSIDE),
        [None, *([{"n": x, "t": None}, None] for x in TIMES)]),
    "m": ("MAP<TIMESTAMP_NTZ, TIMESTAMP>", pa.map_(LOCAL, UTC), [*([(x, x)] for x in TIMES), None]),
    "text": ("STRING COLLATE UNICODE_CI", pa.large_string(), ["", "a", "B", "é"] * 3),
    "word": ("STRING", pa.dictionary(pa.int8(), pa.string()), ["x", None, "y"] * 4),
    "c": ("CHAR(3)", pa.string(), ["a", "bc", None] * 4),
    "b": ("BINARY", pa.binary(), [b"", b"\0\xff", None] * 4),
    "amount": ("DECIMAL(38, 18)", pa.decimal128(38, 18), [Decimal("-1.000000000000000001"), None] * 6),
    "day": ("DATE", pa.date32(), [date(1, 1, 1), date(1500, 3, 1), date(9999, 12, 31), None] * 3),
    "f": ("FLOAT", pa.float32(), [-0.0, float("inf"), None] * 4),
    "small": ("TINYINT", pa.int8(), [-128, 127, None] * 4),
    "yes": ("BOOLEAN", pa.bool_(), [True, None] * 6),
    "nothing": ("VOID", pa.null(), [None] * 12),
}  # fmt: skip


ROWS = pa.table(
    {"id": pa.array(range(len(TIMES) + 1), pa.int64())}
    | {name: pa.array(values, type_) for name, (_, type_, values) in COLUMNS.items()}
)
DDL = ", ".join(["id BIGINT", *(f"{name} {declared}" for name, (declared, _, _) in COLUMNS.items())])


def test_a_merge_of_arrow_rows_stores_them_all(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = connect_session(spark)
    plain = ds.DeltaTable.create(tmp_path / "plain", DDL)
    plain.append(ROWS)
    expected = plain.scan().to_arrow().to_pylist()
    chunks = pa.concat_tables([ROWS.slice(0, 4), ROWS.slice(4)])

    def check(case: tuple[Any, str]) -> None:
        session, zone = case
        if session is not spark:
            # Functions make columns of Connect only if PySpark believes it has no other session.
            monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        table = ds.DeltaTable.create(tmp_path / f"{zone[:2]}{session is spark}", DDL)
        # Jobs join the rows for one of the zones; the driver does for the others.
        jobs = "always" if zone == "Europe/Amsterdam" else "auto"
        with session_zone(session, zone), ds.options.changed(spark_jobs=jobs):
            for given in (ROWS.slice(0, 0), chunks):
                table.merge(given, "target.id = source.id", spark=session).when_not_matched_insert_all().execute()
        assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected

    each([(spark, "America/New_York"), (spark, "Europe/Amsterdam"), (connect, "Pacific/Apia")], check)
