"""Every public callable with each of its parameters, and values that hardly any parameter accepts.

The calls are generated from `deltaskip.__all__`: a new function, method or parameter takes part without being named.
"""

import enum
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa

import deltaskip as ds
from deltaskip import stats
from deltaskip.sparkexpr.types.data_types import LONG, STRING
from deltaskip.txn.transaction import Transaction
from tests.txn.tables import append, file, make_table


class Colour(enum.Enum):
    """An enum that no function knows."""

    RED = "auto"


class Number(enum.IntEnum):
    """An enum whose values are numbers."""

    ONE = 1


class Text(str):
    """A subclass of str."""


_NESTED: list[Any] = []
for _ in range(2_000):
    _NESTED = [_NESTED]

HOSTILE: dict[str, Any] = {
    "None": None,
    "object": object(),
    "True": True, "-1": -1, "0": 0,
    "2**63": 2**63,
    "10**5000": 10**5000,
    "1.5": 1.5,
    "nan": float("nan"),
    "-inf": float("-inf"),
    "''": "", "' '": " ", "nonsense": "no such thing", "null character": "a\0b", "surrogate": "\ud800",
    "line break": "a\nb",
    "long text": "x" * 100_000,
    "str subclass": Text("id"),
    "b''": b"", "bytes": b"\xff\x00",
    "bytearray": bytearray(b"id"),
    "[]": [],
    "[None]": [None],
    "[1]": [1],
    "[object]": [object()],
    "nested": _NESTED,
    "()": (),
    "tuple": ("id", 1),
    "{}": {},
    "{1: 2}": {1: 2},
    "{'a': object}": {"a": object()},
    "{'id': None}": {"id": None},
    "set": {"id"},
    "generator": None,
    "range": range(3),
    "lambda": lambda *_: None,
    "class": int, "module": np, "enum": Colour.RED,
    "Path": Path("no such path"),
    "date": date(2026, 1, 1),
    "datetime": datetime(1, 1, 1),
    "aware": datetime.max.replace(tzinfo=UTC),
    "timedelta": timedelta(days=-1),
    "Decimal": Decimal("1e999"),
    "Decimal NaN": Decimal("sNaN"),
    "complex": 1j,
    "np.int64": np.int64(-5),
    "np.uint64": np.uint64(2**64 - 1),
    "np.float32": np.float32("nan"),
    "np.bool": np.bool_(True),
    "np.str": np.str_("id"),
    "np.datetime64": np.datetime64("NaT"),
    "np.timedelta64": np.timedelta64("NaT"),
    "np.bytes": np.bytes_(b"\xff"),
    "pd.NA": pd.NA, "pd.NaT": pd.NaT,
    "[pd.NA]": [1, pd.NA],
    "{'id': pd.NA}": {"id": pd.NA},
    "pd.Series": pd.Series([1, pd.NA], dtype="Int64"),
    "IntEnum": Number.ONE,
    "np.array": np.array([1, 2]),
    "pa.scalar": pa.scalar(5),
    "pa.array": pa.array([None, "x"]),
    "pa.table": pa.table({"a": [1]}),
    "pa.schema": pa.schema([]),
    "col": ds.col("id"),
    "AddFile": file("zz"),
    "DeltaTable": ds.DeltaTable,
}  # fmt: skip


def value_of(name: str) -> Any:
    """The hostile value; a new one where it can be consumed."""
    return (each for each in ["id"]) if name == "generator" else HOSTILE[name]


@dataclass(frozen=True)
class Call:
    """One parameter of one callable. run: Calls with the value for it, on a table of its own, and uses the result."""

    name: str
    parameter: str
    run: Callable[[Path, Any], object]


def make(folder: Path) -> Path:
    """A table with two files."""
    append(make_table(folder / "t"), file("a"), file("b"))
    return folder / "t"


@cache
def with_feed(folder: Path) -> ds.DeltaTable:
    """A table with a change data feed."""
    properties = {"delta.enableChangeDataFeed": "true"}
    table = ds.DeltaTable.create(folder.parent / "fed", "id BIGINT, name STRING", properties=properties)
    table.append(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    return table


OWNERS: dict[type, Callable[[ds.DeltaTable], Any]] = {
    ds.DeltaTable: lambda table: table,
    ds.Scan: lambda table: table.scan("id > 0"),
    ds.TableScan: lambda table: table.scan("id > 0"),
    ds.DistributedScan: lambda table: table.scan("id > 0", engine="spark"),
    ds.ChangeScan: lambda table: with_feed(Path(table.snapshot.root)).changes(),
    ds.Explain: lambda table: table.scan("id > 0").explain(),
    ds.ColumnExpr: lambda _: ds.col("name"),
    ds.Collation: lambda _: ds.collation("spark.UTF8_LCASE.77.1"),
    ds.CollationId: lambda _: ds.CollationId.parse("icu.UNICODE_CI.77.1"),
    Transaction: lambda table: table.transaction(),
}
# Of parameters without a default, by name; those of a class by `Class.name`.
VALID: dict[str, Any] = {
    "queries": ["id = 1"],
    "set": {"id": "id + 1"},
    "by": "id DESC", "n": 3,
    "namespace": ("db",),
    "NamespaceDescription.catalog": "c",
    "array": pa.array(["a", "b"]),
    "literal": "a", "left": "a", "right": "b", "MapType.value": LONG, "value": "a", "shape": "POINT(1 1)",
    "distance": 1.0, "prefix": "a", "suffix": "a", "part": "a", "text": "icu.de",
    "mins": pa.array(["a"]),
    "maxs": pa.array(["b"]),
    "other": ds.col("id"),
    "version": 1, "lower": "a", "upper": "b", "type_": "string", "collation": "UTF8_LCASE", "pattern": "a%",
    "path": "x.svg", "column": "id",
    "files": [],
    "schema": ds.StructType((ds.StructField("id", LONG),)),
    "app_id": "a",
    "batch": pa.table({"id": [1]}),
    "batch_id": 1,
    "paths": [],
    "domain": "d", "set_domain.configuration": "{}",
    "metrics": {},
    "where": "id > 0", "name": "id", "spark": None,
    "configuration": {},
    "json": {},
    "time_zone": "UTC", "collation_version": "77.1", "identifier": "spark.UTF8_LCASE.77.1", "element": LONG,
    "precision": 10, "scale": 2, "key": STRING, "type": LONG,
    "fields": (),
    "node": ds.col("id").node,
    "partition_values": {},
    "size": 1, "modification_time": 1, "data_change": True, "storage_type": "u",
    "members": {},
    "path_or_inline_dv": "ab^-aqEH.-t@S}K{vb[*k^", "size_in_bytes": 1, "cardinality": 1, "id": "i",
    "format": ds.Format(),
    "schema_string": "{}",
    "partition_columns": (),
    "min_reader_version": 1, "min_writer_version": 2, "provider": "icu",
    "metadata": ds.Metadata("i", ds.Format(), "{}", (), {}),
    "protocol": ds.Protocol(1, 2),
    "CollationId.version": "77.1", "CollationId.with_version": "77.1",
    "CollationId.same_order": ds.CollationId.parse("icu.de"),
    "retire_collation_version.version": "77.1", "retire_collation_version.collation": "icu.UNICODE_CI",
    "read_app.app_id": "a", "table": "t",
    "data": pa.table({"id": [1], "name": ["a"]}),
    "source": pa.table({"id": [1], "name": ["a"]}),
    "on": "t.id = s.id", "semi_join.on": "id",
    "semi_join.rows": pa.table({"id": [1], "name": ["a"]}),
    "source_alias": "s", "target_alias": "t", "new_name": "other", "position": ds.FIRST, "property": "mine",
    "expression": "1", "AddConstraint.expression": "id > 0", "feature": "checkConstraints",
    "add_feature.name": "checkConstraints", "drop_feature.name": "checkConstraints", "protect_history": False,
    "statement": "ALTER COLUMN id COMMENT 'x'", "nullable": True, "comment": None, "operation": "WRITE",
    "set_operation.parameters": {},
    "install_catalog.catalog": ds.catalog("warehouse:no such folder"),
}  # fmt: skip
# What the library itself makes: they hold what they are given, and nobody passes them on.
RESULTS = {
    "Advice", "AvailableCollations", "Branch", "CollatedColumn", "ColumnCoverage", "ColumnPlan", "ChangeCost",
    "ChangePlan", "Explain", "FileCount", "Finding", "History", "HistoryEntry", "Incompatibility", "InstalledCatalog",
    "LeafReport", "LogDetail", "Manifests", "RecomputePlan", "Recomputed", "RegisteredView", "RepairStep",
    "ScanMetrics", "ScanPiece", "TableCoverage", "TableDetail", "OptimizeResult", "FileSizes", "VacuumResult",
    "Verification", "WriteResult", "WrittenCheckpoint", "Collation", "DataType", "SortTerm", "Suggestion",
    "TableAdvice",
}  # fmt: skip
# Parameters whose values are not for users: see the docstrings.
_OF_ROWS = ("narrowed", "note_metrics", "row_batches")
INTERNAL = {
    "StagedTable", "TableScan", "ChangeScan", "ChangeScan.replanned", "Scan.replanned", "Scan", "TableScan.replanned",
    "ColumnExpr", "DistributedScan", "DistributedScan.replanned", "TopScan", "TopScan.replanned",
    *(f"{scan}.{name}" for scan in ("TableScan", "TopScan", "ChangeScan", "DistributedScan") for name in _OF_ROWS),
}  # fmt: skip


def calls() -> Iterator[Call]:
    """Every public function, constructor and method, once for each parameter."""
    for name in ds.__all__:
        found = getattr(ds, name)
        if inspect.isclass(found):
            if issubclass(found, BaseException):
                continue
            if name not in RESULTS | INTERNAL:
                yield from _of(name, found, lambda _, made=found: made)
            yield from _methods(name, found)
        elif inspect.isfunction(found):
            yield from _of(name, found, lambda _, made=found: made)
    yield from _methods("Transaction", Transaction)
    yield from _of("stats.compute", stats.compute, lambda _: stats.compute)


def _methods(owner: str, found: type) -> Iterator[Call]:
    for name in dir(found):
        static = inspect.getattr_static(found, name)
        if name.startswith("_") or f"{owner}.{name}" in INTERNAL:
            continue
        if isinstance(static, classmethod):
            method = getattr(found, name)
            yield from _of(f"{owner}.{name}", method, lambda _, method=method: method)
        elif inspect.isfunction(static) and found in OWNERS:

            def bound(table: ds.DeltaTable, name: str = name) -> Callable[..., Any]:
                return getattr(OWNERS[found](table), name)

            yield from _of(f"{owner}.{name}", static, bound)


def _of(
    name: str, function: Callable[..., Any], bound: Callable[[ds.DeltaTable], Callable[..., Any]]
) -> Iterator[Call]:
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name not in ("self", "cls")]
    for parameter in parameters:
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield Call(name, parameter.name, partial(_run, name, parameters, parameter, bound))


def _run(
    name: str,
    parameters: list[inspect.Parameter],
    hostile: inspect.Parameter,
    bound: Callable[[ds.DeltaTable], Callable[..., Any]],
    folder: Path,
    value: Any,
) -> object:
    positional, named = [], {}
    for parameter in parameters:
        if parameter.name == "scan" and parameter is not hostile:
            given = _opened(folder).scan("id > 0")
        else:
            given = value if parameter is hostile else _valid(name, parameter)
        if name == "DeltaTable.restore" and parameter.name == "version" and hostile.name != "timestamp":
            given = value if parameter is hostile else 1
        if name == "DeltaTable.restore" and parameter.name == "check_files" and parameter is not hostile:
            given = False
        if given is inspect.Parameter.empty:
            continue
        if name in ("DeltaTable", "register_view", "verify") and parameter.name == "table" and parameter is not hostile:
            given = folder
        if name in ("DeltaTable.create", "DeltaTable.clone") and parameter.name == "table" and parameter is not hostile:
            given = f"t-{uuid4()}"
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            positional.append(given)
        else:
            named[parameter.name] = given
    if name == "TableScan.aggregate":
        named["n"] = "count(*)"
    table = with_feed(folder) if name == "DeltaTable.changes" else _opened(folder)
    result = bound(table)(*positional, **named)
    return _used(result)


@cache
def _opened(folder: Path) -> ds.DeltaTable:
    return ds.DeltaTable(folder)


# Parameters with a default that must be given nevertheless.
_NEEDED = {("AddColumn", "column"), ("AddColumn", "type")}


def _valid(name: str, parameter: inspect.Parameter) -> Any:
    if (name, parameter.name) in _NEEDED:
        return VALID[parameter.name]
    many = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if parameter.default is not parameter.empty or parameter.kind in many:
        return parameter.empty
    short = name.rpartition(".")[2]
    for key in (f"{name}.{parameter.name}", f"{short}.{parameter.name}", name, parameter.name):
        if key in VALID:
            return VALID[key]
    raise KeyError(f"VALID has no {parameter.name} of {name}")


def _used(result: Any) -> object:
    """What is evaluated later is evaluated now."""
    if isinstance(result, ds.Scan | ds.ChangeScan):
        return result.files(), result.explain(), repr(result)
    if isinstance(result, ds.ColumnExpr):
        return repr(result)
    return result.to_json() if hasattr(result, "to_json") else result
