#!/usr/bin/env bash
# ADBC's driver for SQLite: Arrow rows that are ingested and fetched again.
#
# The guess: a value that SQLite has no type for is refused, as adbc_ingest refuses decimals and times of day, or comes back
# equal.
# adbc-driver-sqlite 1.13.0, each without an error: NaN comes back as NULL; a time with a zone becomes text in UTC without
# its zone, the same text as a local time with those digits; and an integer beside a text in one result becomes text.
#
# Output seen:
#    [1.0, nan]: [1.0, None]
#    2020-01-01 00:00 in New York: 2020-01-01T05:00:00.000000, a local time 05:00: 2020-01-01T05:00:00.000000
#    SELECT 1 UNION ALL SELECT 'a': ['1', 'a']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 adbc-driver-sqlite==1.13.0 adbc-driver-manager==1.13.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import datetime
from zoneinfo import ZoneInfo

import adbc_driver_sqlite.dbapi as sqlite
import pyarrow as pa

with sqlite.connect() as connection, connection.cursor() as cursor:

    def again(values, kind=None):
        cursor.adbc_ingest("t", pa.table({"x": pa.array(values, kind)}), mode="replace")
        cursor.execute("SELECT x FROM t")
        return cursor.fetch_arrow_table()["x"].to_pylist()

    numbers = again([1.0, float("nan")])
    print("[1.0, nan]:", numbers)
    zone = ZoneInfo("America/New_York")
    [zoned] = again([datetime(2020, 1, 1, tzinfo=zone)], pa.timestamp("us", "America/New_York"))
    [local] = again([datetime(2020, 1, 1, 5)], pa.timestamp("us"))
    print(f"2020-01-01 00:00 in New York: {zoned}, a local time 05:00: {local}")
    cursor.execute("SELECT 1 AS x UNION ALL SELECT 'a'")
    mixed = cursor.fetch_arrow_table()["x"].to_pylist()
    print("SELECT 1 UNION ALL SELECT 'a':", mixed)
assert numbers == [1.0, None] and zoned == local and mixed == ["1", "a"], "ingesting has changed"
PYTHON
