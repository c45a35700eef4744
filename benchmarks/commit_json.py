"""Fifty commits of 250 file actions (6.6 MB) to Arrow columns, beside pyarrow's JSON reader and json.loads a line."""

import io
import json
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.json

from benchmarks.sizes import sized
from deltaskip.kernels.commit_json import parse_commits

COMMITS, ACTIONS = sized(50, 2), 250
COLUMNS: dict[str, tuple[str, ...] | None] = {"all": None, "without stats": ("size", "partition_values"), "path": ()}


def _stats(k: int) -> dict[str, Any]:
    bounds = [
        {"id": n, "name": f"{name}{k:06d}", "ts": f"2024-01-{day}T00:00:00.000Z", "price": price, "q": k % 250}
        for n, name, day, price in ((k, "aaaa", "01", 1.5), (k + 999, "zzzz", "02", 99.5))
    ]
    nulls = dict.fromkeys(bounds[0], 0)
    return {"numRecords": 1000, "minValues": bounds[0], "maxValues": bounds[1], "nullCount": nulls}


def _add(k: int) -> dict[str, Any]:
    return {
        "path": f"date=2024-01-01/part-{k % 250:05d}-00000000-0000-4000-8000-{k:012d}-c000.snappy.parquet",
        "partitionValues": {"date": "2024-01-01"},
        "size": 123456 + k,
        "modificationTime": 1700000000000 + k,
        "dataChange": True,
        "stats": json.dumps(_stats(k), separators=(",", ":")),
    }


def _commit(first: int) -> bytes:
    actions = [{"commitInfo": {"timestamp": first, "operation": "WRITE", "operationParameters": {"mode": "Append"}}}]
    actions += ({"add": _add(k)} for k in range(first, first + ACTIONS))
    return "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions).encode()


def _log() -> tuple[bytes, list[int]]:
    commits = [_commit(commit * ACTIONS) for commit in range(COMMITS)]
    return b"".join(commits), [0, *accumulate(map(len, commits[:-1]))]


class Parse:
    params = (list(COLUMNS),)
    param_names = ("columns",)

    def setup(self, columns: str) -> None:
        self.data, self.starts = _log()

    def time_kernel(self, columns: str) -> None:
        parse_commits(self.data, self.starts, COLUMNS[columns])


class Peers:
    def setup(self) -> None:
        self.data, _ = _log()

    def time_pyarrow_json(self) -> None:
        pa.json.read_json(io.BytesIO(self.data))

    def time_json_loads(self) -> None:
        for line in self.data.splitlines():
            json.loads(line)
