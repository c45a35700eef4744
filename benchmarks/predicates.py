"""Predicates that are large, or over many values: partition values, wide tables, long lists, and explain."""

import json
import tempfile
from pathlib import Path

import numpy as np

import deltaskip as ds
from benchmarks.sizes import sized

VALUES = sized(100_000, 1_000)
LISTED = sized(1_000_000, 1_000)
PARTS = sized(10_000, 100)
COLUMNS = sized(5_000, 50)
MANY = sized(1_000, 20)


def _table(
    columns: dict[str, str],
    partitions: list[str],
    adds: list[dict[str, object]],
    properties: dict[str, str] | None = None,
) -> str:
    """A log of one commit, without data files."""
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-predicates-"))
    fields = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in columns.items()]
    schema = json.dumps({"type": "struct", "fields": fields})
    metadata = {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": schema}
    actions: list[dict[str, object]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {**metadata, "partitionColumns": partitions, "configuration": properties or {}, "createdTime": 0}},
    ]
    actions += [{"add": {"size": 1, "modificationTime": 0, "dataChange": True, **add}} for add in adds]
    (folder / "_delta_log").mkdir()
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{0:020}.json").write_text(text, encoding="utf-8")
    return str(folder)


def _stats(low: int, columns: list[str]) -> str:
    least, greatest = (dict.fromkeys(columns, low + more) for more in (0, 1))
    counts = dict.fromkeys(columns, 0)
    return json.dumps({"numRecords": 2, "minValues": least, "maxValues": greatest, "nullCount": counts})


class PartitionValues:
    """A table with a file in each partition."""

    params = ("p = 'v77'", "p IN ('v1', 'v77')", "p LIKE 'v77%'", "upper(p) = 'V77'")
    param_names = ("where",)

    def setup(self, where: str) -> None:
        adds: list[dict[str, object]] = [{"path": f"f{k}", "partitionValues": {"p": f"v{k}"}} for k in range(VALUES)]
        self.path = _table({"p": "string", "x": "long"}, ["p"], adds)
        self.warm = ds.DeltaTable(self.path)
        self.warm.scan(where=where).paths()

    def time_cold(self, where: str) -> None:
        ds.DeltaTable(self.path).scan(where=where).paths()

    def time_warm(self, where: str) -> None:
        self.warm.scan(where=where).paths()


class LargePredicates:
    """200 files: an AND of many parts, explained, and IN lists of a million values."""

    def setup(self) -> None:
        adds: list[dict[str, object]] = [
            {"path": f"f{k}", "partitionValues": {}, "stats": _stats(k, ["i"])} for k in range(200)
        ]
        self.table = ds.DeltaTable(_table({"i": "long", "s": "string"}, [], adds))
        self.parts = " AND ".join(f"i != {k}" for k in range(PARTS))
        self.numbers = np.random.default_rng(1).permutation(LISTED * 100)[:LISTED]
        self.listed = self.numbers.tolist()
        self.sql = f"i IN ({', '.join(map(str, self.listed))})"
        self.texts = f"s IN ({', '.join(map(repr, map(str, self.listed)))})"

    def time_paths_of_many_parts(self) -> None:
        self.table.scan(where=self.parts).paths()

    def time_explain_of_many_parts(self) -> None:
        self.table.scan(where=self.parts).explain()

    def time_integers_as_sql(self) -> None:
        self.table.scan(where=self.sql).paths()

    def time_strings_as_sql(self) -> None:
        self.table.scan(where=self.texts).paths()

    def time_integers_as_list(self) -> None:
        self.table.scan(where=ds.col("i").isin(self.listed)).paths()

    def time_integers_as_numpy(self) -> None:
        self.table.scan(where=ds.col("i").isin(self.numbers)).paths()


class ManyConjunctions:
    """1,000 files, and an OR of 1,000 conjunctions of two columns."""

    def setup(self) -> None:
        adds: list[dict[str, object]] = [
            {"path": f"f{k}", "partitionValues": {}, "stats": _stats(k, ["a", "b"])} for k in range(MANY)
        ]
        self.table = ds.DeltaTable(_table({"a": "long", "b": "long"}, [], adds))
        chance = np.random.default_rng(1).integers(0, 2 * MANY, (MANY, 2)).tolist()
        self.where = " OR ".join(f"(a = {a} AND b = {b})" for a, b in chance)
        self.table.scan(where=self.where).paths()

    def time_compile(self) -> None:
        self.table.scan(where=self.where)

    def time_paths(self) -> None:
        self.table.scan(where=self.where).paths()


class WideTable:
    """200 files of 5,000 columns, their statistics in a commit, or in a checkpoint as texts or as a struct."""

    params = ("commit", "json", "struct")
    param_names = ("statistics",)
    timeout = 300

    def setup(self, statistics: str) -> None:
        names = [f"c{k}" for k in range(COLUMNS)]
        adds: list[dict[str, object]] = [
            {"path": f"f{k}", "partitionValues": {}, "stats": _stats(k, names)} for k in range(sized(200, 10))
        ]
        properties = {"delta.dataSkippingNumIndexedCols": "-1"}
        for name, kind in (("Json", "json"), ("Struct", "struct")):
            properties[f"delta.checkpoint.writeStatsAs{name}"] = str(kind == statistics).lower()
        self.path = _table(dict.fromkeys(names, "long"), [], adds, properties)
        if statistics != "commit":
            ds.DeltaTable(self.path).checkpoint()
        self.where = " AND ".join(f"{name} >= 1" for name in names)

    def time_compile(self, statistics: str) -> None:
        ds.DeltaTable(self.path).scan(where=self.where)

    def time_paths(self, statistics: str) -> None:
        ds.DeltaTable(self.path).scan(where=self.where).paths()

    def time_stats(self, statistics: str) -> None:
        ds.DeltaTable(self.path).stats()
