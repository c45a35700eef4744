"""One list of operations in a process whose program has set something; `test_program_settings.py` compares the results.

Run as `python -m tests.program_operations FOLDER SETTING...`. It prints one JSON object: rows, files and log after each
operation, without what differs from run to run.
"""

import gc
import hashlib
import json
import locale
import logging
import os
import re
import signal
import socket
import sys
import zoneinfo
from collections.abc import Callable
from decimal import (
    ROUND_UP,
    BasicContext,
    Clamped,
    Context,
    DefaultContext,
    ExtendedContext,
    FloatOperation,
    Inexact,
    Rounded,
    Subnormal,
    getcontext,
    setcontext,
)
from functools import partial
from typing import Any

_TIMES = re.compile(r'"[A-Za-z]*(TimeMs|imestamp|dTime|ionTime|ionDurationMs)":"?\d+"?')
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CONTEXTS = {
    "prec3": Context(prec=3),
    "basic": BasicContext,
    "extended": ExtendedContext,
    "narrow": Context(prec=6, Emax=6, Emin=-6, rounding=ROUND_UP, capitals=0, clamp=1),
    "traps": Context(prec=28, traps=[Inexact, Rounded, FloatOperation, Subnormal, Clamped]),
}
_PARTITIONED = (
    "p STRING, f FLOAT, g DOUBLE, d DECIMAL(20, 12), ts TIMESTAMP, id BIGINT, x FLOAT, y DOUBLE, z DECIMAL(38, 10)"
)


def main(folder: str, settings: list[str]) -> None:
    """Set what the names say, run the operations, and print what came of them."""
    out = os.fdopen(os.dup(1), "wb")
    import pyarrow.parquet  # noqa: F401  a program imports its libraries first

    for name in settings:
        SETTINGS[name](name)
    found: dict[str, Any] = {}
    for name, operation in _operations(folder).items():
        try:
            found[name] = operation()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    out.write(json.dumps(found).replace(folder, "<root>").encode())
    out.flush()


def _decimals(name: str) -> None:
    setcontext(_CONTEXTS[name].copy())
    for each in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp"):
        setattr(DefaultContext, each, getattr(getcontext(), each))
    DefaultContext.traps.update(getcontext().traps)


def _numpy(name: str) -> None:
    import numpy as np

    np.set_printoptions(legacy=name, precision=2, floatmode="fixed", suppress=True, sign="+")
    np.seterr(all="raise")


def _others(_: str) -> None:
    import resource
    import threading
    import time
    import warnings

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    pd.set_option("display.precision", 1, "display.max_rows", 1)
    pl.Config(fmt_float="full", float_precision=1, tbl_rows=1)
    pa.set_cpu_count(1)
    pa.set_memory_pool(pa.system_memory_pool())
    os.environ["TZ"] = "America/Sao_Paulo"
    time.tzset()
    os.umask(0o077)
    os.chdir("/")
    sys.set_int_max_str_digits(640)
    sys.setswitchinterval(1e-5)
    sys.setrecursionlimit(250)
    gc.disable()
    threading.stack_size(1 << 18)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    socket.setdefaulttimeout(0.001)
    logging.disable()
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGINT})
    zoneinfo.reset_tzpath([])
    json.JSONEncoder.default = lambda self, value: "?"
    warnings.simplefilter("error")
    os.close(0)
    sys.stdin = sys.stdout = sys.stderr = None


def _daemon(_: str) -> None:
    """The working directory is gone, and the locale of the environment has commas in numbers."""
    import tempfile

    folder = tempfile.mkdtemp().encode()
    os.chdir(folder)
    os.rmdir(folder)
    locale.setlocale(locale.LC_NUMERIC, "")


SETTINGS: dict[str, Callable[[str], object]] = {**dict.fromkeys(_CONTEXTS, _decimals), "1.13": _numpy, "1.25": _numpy,
                                                "others": _others, "daemon": _daemon}  # fmt: skip
"""What a program may have set, by name."""


def _operations(root: str) -> dict[str, Callable[[], Any]]:
    import datetime as dt
    from decimal import Decimal

    import pyarrow as pa

    import deltaskip as ds
    from deltaskip import DeltaTable

    t, plain, converted, clone = (f"{root}/{name}" for name in ("tä", "plain", "converted", "clöne"))
    exact = pa.schema([("p", pa.string()), ("f", pa.float32()), ("g", pa.float64()), ("d", pa.decimal128(20, 12)),
                       ("ts", pa.timestamp("us", "UTC")), ("id", pa.int64()), ("x", pa.float32()), ("y", pa.float64()),
                       ("z", pa.decimal128(38, 10))])  # fmt: skip

    def rows(*ids: int) -> pa.Table:
        texts = ["ä", "plain", "äß", "日本", "€ 1"]
        columns = {
            "p": [texts[i % 5] for i in ids],
            "f": [[1234567890.5, 0.1, 16777216.0, 1e-7, 3.4028235e38][i % 5] for i in ids],
            "g": [[1234567890.5, 1234567.875, 0.1, 1e-300, 123456789012345680.0][i % 5] for i in ids],
            "d": [
                Decimal(["1234567.123456789012", "-0.000000000001", "0", "99999999.999999999999"][i % 4]) for i in ids
            ],
            "ts": [dt.datetime(2024, 3, 31, 1, 30, i % 60, 123456, dt.UTC) for i in ids],
            "id": list(ids),
            "x": [[1234567890.5, 0.1, 123456.79, -1e-7][i % 4] for i in ids],
            "y": [[1234567890.5, 0.1, 1234567.875, -1e-7][i % 4] for i in ids],
            "z": [Decimal(["1234567890123456789012345678.0123456789", "-0.0000000001", "1.5"][i % 3]) for i in ids],
        }
        return pa.table(columns, schema=exact)

    def state(path: str) -> dict[str, Any]:
        return {"log": _log(path), "files": _files(path), "rows": _digest(DeltaTable(path).scan().to_arrow())}

    def create() -> Any:
        DeltaTable.create(t, _PARTITIONED, partition_by=["p", "f", "g", "d"],
                          properties={"delta.enableChangeDataFeed": "true"})  # fmt: skip
        DeltaTable.create(
            plain,
            "id BIGINT, p STRING, x FLOAT, y DOUBLE, z DECIMAL(38, 10), ts TIMESTAMP, "
            "c STRING GENERATED ALWAYS AS (CAST(CAST(y AS DECIMAL(20, 6)) AS STRING)), "
            "s DOUBLE GENERATED ALWAYS AS (round(y, 2)), "
            "m DECIMAL(38, 6) GENERATED ALWAYS AS (CAST(z * 3 AS DECIMAL(38, 6)))",
            properties={"delta.checkpointInterval": "100"},
        )
        return _log(t) + _log(plain)

    def append() -> Any:
        ds.DeltaTable(t).append(rows(0, 1, 2, 3, 4))
        DeltaTable(t).append(rows(5, 6, 7))
        DeltaTable(plain).append(rows(0, 1, 2, 3).select(["id", "p", "x", "y", "z", "ts"]))
        DeltaTable(plain).append(rows(4, 5, 6, 7).select(["id", "p", "x", "y", "z", "ts"]))
        return state(t), state(plain)

    def predicates() -> Any:
        def ids(path: str, where: Any) -> Any:
            scan = DeltaTable(path).scan(where=where, columns=["id"])
            return sorted(scan.to_arrow()["id"].to_pylist()), scan.files().num_rows

        texts = (
            "y = 1234567890.5D", "x = 1234567936", "f = 1234567936", "g = 1234567890.5D", "d = 1234567.123456789012",
            "d > -0.000000000001", "z + 0.5 > 1", "z * 2 = 3.0", "round(y, 1) = 1234567.9", "y / 3 > 411522630",
            "CAST(y AS STRING) = '1.2345678905E9'", "CAST(x AS STRING) = '123456.79'", "p = 'äß'", "p LIKE 'ä%'",
            "year(ts) = 2024 AND hour(ts) >= 1", "ts > '2024-03-31 01:30:01Z'", "CAST('12.5' AS DOUBLE) < y",
            "format_number(y, 2) = '0.10'", "CAST(z AS DOUBLE) > 1.4", "floor(z) = 1", "upper(p) = 'Ä'",
            "CAST(g AS DECIMAL(30, 3)) = 1234567.875", "abs(d) = 0.000000000001BD", "-d < 0", "exp(y) > 1",
        )  # fmt: skip
        values = [ds.col("d") == Decimal("1234567.123456789012"), ds.col("y") == 1234567890.5, ds.col("x") > 0.1,
                  ds.col("ts") == dt.datetime(2024, 3, 31, 1, 30, 3, 123456, dt.UTC),
                  ds.col("z").isin([Decimal("1.5000000000"), Decimal("-1E-10")])]  # fmt: skip
        known = {text: [_or_error(partial(ids, each, text)) for each in (t, plain)] for text in texts}
        return known, [_or_error(partial(ids, t, value)) for value in values]

    def change() -> Any:
        for path in (t, plain):
            DeltaTable(path).update({"y": "y + 0.1", "z": "z + 0.0000000001"}, where="id IN (1, 5)")
            DeltaTable(path).delete("id = 2 OR y = 1234567.875")
        source = rows(3, 4, 8).select(["id", "p", "x", "y", "z", "ts"])
        inserted = {each: f"source.{each}" for each in source.column_names}
        merge = DeltaTable(plain).merge(source, "target.id = source.id")
        merge.when_matched_update({"y": "source.y * 2"}).when_not_matched_insert(inserted).execute()
        DeltaTable(t).merge(rows(9, 3), "target.id = source.id AND target.p = source.p").when_matched_update(
            {"g": "target.g + 1234567890.5D"}
        ).when_not_matched_insert_all().execute()
        return state(t), state(plain)

    def overwrite() -> Any:
        DeltaTable(t).overwrite(rows(10, 15), where="p = 'ä'")
        DeltaTable(t).overwrite(rows(11, 16), partitions="dynamic")
        return state(t)

    def optimize() -> Any:
        DeltaTable(t).optimize()
        DeltaTable(plain).optimize(zorder_by=["y", "z"])
        return state(t), state(plain)

    def vacuum() -> Any:
        for name in ("orphän.parquet".encode(), b"caf\xe9.parquet"):
            open(t.encode() + b"/" + name, "wb").close()
        gone = DeltaTable(t).vacuum(0, enforce_retention=False)
        return len(gone.files), state(t)

    def recompute() -> Any:
        DeltaTable(plain).recompute_stats()
        DeltaTable(t).recompute_stats()
        return state(t), state(plain)

    def checkpoint() -> Any:
        DeltaTable(t).checkpoint()
        DeltaTable(plain).checkpoint()
        return state(t), _digest(DeltaTable(t).scan(where="p = 'ä' AND x > 0").to_arrow())

    def feed() -> Any:
        return _digest(DeltaTable(t).changes(start=1).to_arrow())

    def copied() -> Any:
        DeltaTable(t).clone(clone)
        DeltaTable(plain).restore(version=2)
        return state(clone), state(plain)

    def convert() -> Any:
        import pyarrow.parquet as pq

        for value in ("1234567890.5", "0.1"):
            os.makedirs(converted.encode() + f"/g={value}/p=ä".encode())
            with open(converted.encode() + f"/g={value}/p=ä/part.parquet".encode(), "wb") as file:
                pq.write_table(rows(0, 1).select(["id", "x", "y", "z"]), file)
        ds.convert_to_delta(converted, "g DOUBLE, p STRING")
        return state(converted)

    return {each.__name__: each for each in (create, append, predicates, change, overwrite, feed, optimize, recompute,
                                             checkpoint, vacuum, copied, convert)}  # fmt: skip


def _or_error(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _log(path: str) -> list[str]:
    folder = path.encode() + b"/_delta_log"
    texts = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(b".json"):
            with open(folder + b"/" + name, "rb") as file:
                text = _UUID.sub("<uuid>", file.read().decode())
            texts.append(f"{name.decode()} {_TIMES.sub('<time>', text)}")
    return texts


def _files(path: str) -> list[str]:
    found = []
    for top, _, names in os.walk(path.encode()):
        below = top[len(path.encode()) :].decode("utf-8", "backslashreplace")
        found += [f"{below}/{_UUID.sub('<uuid>', name.decode('utf-8', 'backslashreplace'))}" for name in names]
    return sorted(found)


def _digest(rows: Any) -> list[Any]:
    import pyarrow as pa

    rows = rows.sort_by([("id", "ascending"), *((n, "ascending") for n in ("_change_type",) if n in rows.column_names)])
    rows = rows.drop([each for each in rows.column_names if each.startswith("_commit_t")])
    texts = [[str(each.cast(pa.string())[i].as_py()) for each in rows.columns] for i in range(rows.num_rows)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as out:
        out.write_table(rows.combine_chunks())
    return [rows.num_rows, hashlib.sha256(sink.getvalue()).hexdigest(), texts]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
