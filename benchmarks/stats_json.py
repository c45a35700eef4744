"""Leaves of 200,000 statistics texts of about 400 bytes, beside json.loads and pyarrow's JSON reader."""

import io
import json

import pyarrow as pa
import pyarrow.json

from benchmarks.sizes import sized
from deltaskip.kernels.stats_json import extract_double, extract_int64, extract_leaves

TEXTS = sized(200_000, 1_000)
FEW = sized(20_000, 100)  # for peers that make a Python object a value


def _text(k: int) -> str:
    low = {"id": k, "name": f"aaaa{k:06d}", "ts": "2024-01-01T00:00:00.000Z", "price": k / 7, "quantity": k % 9}
    high = {"id": k + 999, "name": f"zzzz{k:06d}", "ts": "2024-01-02T00:00:00.000Z", "price": k / 3, "quantity": 9}
    low["country"], high["country"] = "Argentina", "Zimbabwe"
    nulls = dict.fromkeys(low, 0)
    stats = {"numRecords": 1000 + k % 250, "minValues": low, "maxValues": high, "nullCount": nulls, "tightBounds": True}
    return json.dumps(stats, separators=(",", ":"))


def _bounds(column: str) -> list[tuple[str, ...]]:
    return [("minValues", column), ("maxValues", column)]


class Extract:
    def setup(self) -> None:
        self.texts = pa.array([_text(k) for k in range(TEXTS)])
        self.few = self.texts[:FEW].to_pylist()
        self.lines = "\n".join(self.texts.to_pylist()).encode()

    def time_int64_of_two_leaves(self) -> None:
        extract_int64(self.texts, _bounds("id"))

    def time_double_of_two_leaves(self) -> None:
        extract_double(self.texts, _bounds("price"))

    def time_text_of_two_leaves(self) -> None:
        extract_leaves(self.texts, _bounds("name"))

    def time_int64_of_one_leaf(self) -> None:
        extract_int64(self.texts, [("numRecords",)])

    def time_pyarrow_json_of_every_leaf(self) -> None:
        pa.json.read_json(io.BytesIO(self.lines))

    def time_pyarrow_json_of_two_leaves(self) -> None:
        bounds = pa.struct([("id", pa.int64())])
        options = pa.json.ParseOptions(
            explicit_schema=pa.schema([("minValues", bounds), ("maxValues", bounds)]),
            unexpected_field_behavior="ignore",
        )
        pa.json.read_json(io.BytesIO(self.lines), parse_options=options)

    def time_json_loads_of_a_tenth(self) -> None:
        for text in self.few:
            stats = json.loads(text)
            _ = stats["minValues"]["id"], stats["maxValues"]["id"]
