"""A server of Spark Connect that is not Spark's: it gets exact rows, and what needs Spark says what to do instead."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        not all(map(find_spec, ("pysail", "pyspark", "grpc"))),
        reason="needs Sail and a client of Spark Connect: pip install pysail 'pyspark[connect]'",
    ),
]

# In a process of its own, since a process has either classic sessions or those of Spark Connect.
CLIENT = """
import datetime, json, sys
import pyarrow as pa
import deltaskip as ds
from pyspark.sql import SparkSession

port, folder = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
days = [datetime.date(2026, 1, 1)] * 2 + [datetime.date(2026, 1, 2)]
table = ds.DeltaTable.create(f"{folder}/t", "id BIGINT, s STRING, day DATE", partition_by=["day"])
table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", None], "day": days}))
marked = ds.DeltaTable.create(f"{folder}/d", "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
marked.append(pa.table({"id": [1, 2, 3]}))
marked.delete("id = 2")

def rows(scan):
    return sorted([[None if v is None else str(v) for v in row] for row in scan.to_spark(spark).collect()], key=str)

def refused(act):
    try:
        act()
    except ds.UnsupportedFeature as error:
        return str(error)
    return "was not refused"

# Times that zones skip, or read otherwise than PySpark.
local = [datetime.datetime(1, 1, 1), datetime.datetime(1937, 6, 1), datetime.datetime(2024, 3, 10, 2, 30)]
local += [datetime.datetime(2500, 7, 1, 1), None]
clock = ds.DeltaTable.create(f"{folder}/c", "n TIMESTAMP_NTZ, t TIMESTAMP, s STRUCT<n: TIMESTAMP_NTZ>, v VOID")
clock.append(pa.table({
    "n": pa.array(local, pa.timestamp("us")),
    "t": pa.array(local, pa.timestamp("us", "UTC")),
    "s": pa.array([{"n": each} for each in local], pa.struct([("n", pa.timestamp("us"))])),
}))
collated = ds.DeltaTable.create(f"{folder}/u", "s STRING COLLATE UNICODE_CI, m MAP<STRING, INT>, d DECIMAL(38, 18)")

frame = spark.sql("SELECT 9L AS id, 'z' AS s, DATE'2026-01-05' AS day")
found = {
    "all": rows(table.scan()),
    "some": rows(table.scan("day = '2026-01-02' OR id = 1", columns=["s", "day"])),
    "marked": rows(marked.scan()),
    "nothing": [rows(each.scan(limit=0)) for each in (table, clock, collated)] + [rows(table.scan("id > 9"))],
    "columns": table.scan("id > 9").to_spark(spark).dtypes,
    "types": [kind for _, kind in clock.scan().to_spark(spark).dtypes],
    "times": [],
    "joined": table.scan().to_spark(spark).join(marked.scan().to_spark(spark), "id").count(),
    "refused": [
        refused(act)
        for act in (
            lambda: table.scan().to_spark(spark, metadata=True),
            lambda: table.append(frame),
            lambda: table.update({"s": "'q'"}, "id = 2", spark=spark),
            lambda: table.merge(frame, "target.id = source.id").when_matched_update_all().execute(),
            lambda: table.recompute_stats(spark),
            lambda: table.scan(engine="spark").to_spark(spark),
        )
    ],
    "appended": table.append(frame.toArrow()).metrics["numOutputRows"],
}
for zone in ("UTC", "America/New_York", "Europe/Amsterdam", "Pacific/Apia"):
    spark.conf.set("spark.sql.session.timeZone", zone)
    read = clock.scan().to_spark(spark).selectExpr("CAST(n AS STRING)", "CAST(s.n AS STRING)", "unix_micros(t)")
    found["times"].append(sorted(map(list, read.collect()), key=str))
epoch = datetime.datetime(1970, 1, 1)
texts = [None if each is None else str(each) for each in local]
micros = [None if each is None else (each - epoch) // datetime.timedelta(microseconds=1) for each in local]
found["expected"] = sorted(map(list, zip(texts, texts, micros)), key=str)
print(json.dumps(found))
"""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of a server of Sail."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    command = [Path(sys.executable).with_name("sail"), "spark", "server", "--ip", "127.0.0.1", "--port", str(number)]
    with (tmp_path / "server.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            for _ in range(200):
                with socket.socket() as asked:
                    if asked.connect_ex(("127.0.0.1", number)) == 0:
                        break
                time.sleep(0.1)
            yield number
        finally:
            server.terminate()


def test_sail_gets_the_rows_and_what_needs_spark_is_refused(port: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLIENT, str(port), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert found["all"] == [["1", "a", "2026-01-01"], ["2", "b", "2026-01-01"], ["3", None, "2026-01-02"]]
    assert found["some"] == [["a", "2026-01-01"], [None, "2026-01-02"]]
    assert found["marked"] == [["1"], ["3"]]
    assert found["joined"] == 2
    assert found["nothing"] == [[]] * 4
    assert found["columns"] == [["id", "bigint"], ["s", "string"], ["day", "date"]]
    assert found["types"] == ["timestamp_ntz", "timestamp", "struct<n:timestamp_ntz>", "void"]
    assert found["times"] == [found["expected"]] * 4
    assert found["appended"] == 1
    for message in found["refused"]:
        assert "_metadata.file_path" in message and "toArrow()" in message, message
