"""What other engines get wrong, or refuse, in a table: one table of facts, each of which was run in the named release.

`FACTS` is also the table of the page "Other engines" (tests.docs.generated writes it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import arguments
from deltaskip.errors import InvalidArgument, meant
from deltaskip.features.registry import features_of
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types import TIMESTAMP_NTZ, VARIANT
from deltaskip.sparkexpr.types.lengths import text_length, with_lengths
from deltaskip.table.collated_columns import collated_columns

FACTS_DATE = "2026-11-29"
Effect = Literal["refused", "wrong"]
_Finder = Callable[[Snapshot], Sequence[str]]

# For each engine: its name and release and how it reads, and how its users read every table right.
ENGINES: Mapping[str, tuple[str, str]] = {
    "polars": ("Polars 2.1.0, scan_delta", "deltaskip.scan_polars(path)"),
    "duckdb": ("DuckDB 1.5.5, delta_scan", "table.scan().to_duckdb(connection, name)"),
    "deltalake": ("deltalake 1.6.6", "table.scan().to_arrow()"),
    "pyarrow": ("pyarrow 26.0.1, a dataset of the folder", "table.scan().to_arrow()"),
    "daft": ("Daft 0.7.26, read_deltalake", "daft.from_arrow(table.scan().to_arrow())"),
    "chdb": ("chDB 4.4.0, deltaLakeLocal", "rows = table.scan().to_arrow(), and FROM Python(rows)"),
    "sail": ("Sail 0.7.2", "table.scan().to_spark(spark) with a session of Sail"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """What engines do with a property of tables.

    Attributes:
        rule: The property.
        found: Returns the columns or features of a table that have the property; none if it does not have it.
        reads: Engines that do not read it as Spark does, the effect, and what they do.
        writes: The same of engines that do not append to it as the protocol says.
        change: What to change in the table so that these engines read it; "" if nothing helps.
    """

    rule: str
    found: _Finder
    reads: Sequence[tuple[str, Effect, str]] = ()
    writes: Sequence[tuple[str, Effect, str]] = ()
    change: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Incompatibility(Shown):
    """Something in a table that an engine refuses or gets wrong.

    Attributes:
        engine: Name of the engine, as given.
        release: The release in which it was run, and how it reads.
        rule: The property of the table.
        where: The columns or features with the property.
        operation: "read" or "write".
        effect: "refused" if the engine raises an error, "wrong" if it has other rows without one.
        behaviour: What it does.
        change: What to change in the table; "" if nothing helps.
        instead: How to read the rows right with the engine.
    """

    engine: str
    release: str
    rule: str
    where: tuple[str, ...]
    operation: Literal["read", "write"]
    effect: Literal["refused", "wrong"]
    behaviour: str
    change: str
    instead: str


def incompatibilities(snapshot: Snapshot, engines: Sequence[str] | None) -> tuple[Incompatibility, ...]:
    """Return what engines get wrong in a table, see `DeltaTable.compatibility`."""
    names = _names(engines, snapshot.table_root)
    found = []
    for fact in FACTS:
        known: list[tuple[Literal["read", "write"], tuple[str, Effect, str]]] = []
        known += [("read", each) for each in fact.reads] + [("write", each) for each in fact.writes]
        concerned = [(name, *each) for name in names for each in known if name in each[1][0].split()]
        where = tuple(fact.found(snapshot)) if concerned else ()
        for name, operation, (_, effect, does) in concerned if where else ():
            title, instead = ENGINES[name]
            found.append(Incompatibility(name, title, fact.rule, where, operation, effect, does, fact.change, instead))
    return tuple(sorted(found, key=lambda each: names.index(each.engine)))


def _names(engines: Sequence[str] | None, table: str) -> Sequence[str]:
    if engines is None:
        return list(ENGINES)
    for each in arguments.texts("engines", engines):
        if each not in ENGINES:
            raise InvalidArgument(
                f"engines has {each!r}, of which nothing is known; known are {', '.join(ENGINES)} (table {table})."
                f"{meant(each, ENGINES)}"
            )
    return list(dict.fromkeys(engines))


def _feature(*names: str) -> _Finder:
    return lambda snapshot: sorted(features_of(snapshot.protocol).intersection(names))


def _columns(wanted: Callable[[t.DataType], bool]) -> _Finder:
    """Finds the top-level columns with a wanted type in them."""
    return lambda snapshot: [
        each.name for each in snapshot.schema.fields if any(map(wanted, t.nested_types(with_lengths(each).type)))
    ]


def _partitions(snapshot: Snapshot, *kinds: type | t.DataType) -> list[str]:
    fields = [each for each in snapshot.schema.fields if each.name in snapshot.partition_columns]
    return [each.name for each in fields if each.type in kinds or type(each.type) in kinds]


def _values(has: Callable[[pa.ChunkedArray], pa.ChunkedArray], *kinds: type | t.DataType) -> _Finder:
    """Finds the partition columns of some types in whose values of the log something is true."""

    def found(snapshot: Snapshot) -> Sequence[str]:
        names = _partitions(snapshot, *kinds)
        values = LogScan(snapshot, ReadOptions()).partitions()["partition_values"] if names else ()
        return [name for name in names if pc.any(has(pc.struct_field(values, [name]))).as_py()]

    return found


def _folders(snapshot: Snapshot) -> Sequence[str]:
    """The partition columns, if the folders of a file are not named by them."""
    if not snapshot.partition_columns:
        return []
    form = rf"^([^/]*/)*([^/=]+=[^/]*/){{{len(snapshot.partition_columns)}}}[^/]+$"
    named = pc.match_substring_regex(snapshot.adds(["path"])["path"], form)
    return [] if pc.all(named).as_py() in (True, None) else snapshot.partition_columns


def _zoned_folders(snapshot: Snapshot) -> Sequence[str]:
    """The partition columns of type TIMESTAMP whose folders have another time than the log, which is in UTC."""
    names = _partitions(snapshot, t.TIMESTAMP)
    adds = snapshot.adds(["path", "partition_values"]) if names else None
    return [name for name in names if adds is not None and _is_other_time(adds, name)]


def _is_other_time(adds: pa.Table, name: str) -> bool:
    value = pc.map_lookup(adds["partition_values"], name, "first")
    form = rf"{re.escape(name)}=(?P<day>\d+-\d\d-\d\d)(?: |%20)(?P<hour>\d\d)(?:%253A|%3A|:)(?P<minute>\d\d)"
    parts = pc.extract_regex(adds["path"], form)
    folder = pc.binary_join_element_wise(*(pc.struct_field(parts, each) for each in ("day", "hour", "minute")), " ")
    logged = pc.replace_substring_regex(pc.utf8_slice_codeunits(value, 0, 16), "[T:]", " ")
    return bool(pc.any(pc.and_(pc.ends_with(value, "Z"), pc.not_equal(folder, logged))).as_py())


def _negative_zero(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.equal(pc.divide(1.0, pc.cast(values, pa.float64())), float("-inf"))


def _negative_fraction(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.and_(pc.less(values, 0), pc.not_equal(values, pc.round(values, 0, "towards_zero")))


_LOG = "raises: the feature is not supported"
_ARROW = "to_pyarrow_table, to_pandas and to_pyarrow_dataset raise; its SQL (QueryBuilder) reads it"
_ALL = " ".join(ENGINES)
_BYTES = "compares bytes: c = 'A' does not find 'a' under a collation without case"

FACTS: Sequence[Fact] = (
    Fact("a Delta log", lambda _: ["the folder"], (
        ("pyarrow", "wrong", "knows no log: rows of removed files are there, and partition values are text"),)),
    Fact("deletion vectors", _feature("deletionVectors"), (
        ("deltalake", "refused", _ARROW),
        ("pyarrow", "refused", "the folder fails to open at deletion_vector_*.bin; else deleted rows are there"),
        ("daft", "refused", "raises, also if no file has a deletion vector"),
        ("chdb", "wrong", "count() without a condition counts deleted rows; other queries are right")),
        change="SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false'), then drop_feature('deletionVectors')"),
    Fact("column mapping", _feature("columnMapping"), (
        ("polars", "refused", _LOG),
        ("deltalake", "wrong", "to_pyarrow_table has NULL in every column that files store; its SQL is right"),
        ("pyarrow", "wrong", "columns have their physical names"))),
    Fact("partition columns under column mapping", lambda table: (
        table.partition_columns if table.mapping_mode != "none" else ()), (
        ("duckdb", "wrong", "NULL in every row, and conditions on them find nothing"),)),
    Fact("type widening", _feature("typeWidening"), (("polars deltalake", "refused", _LOG),), (
        ("polars deltalake duckdb", "refused", _LOG),)),
    Fact("V2 checkpoints", _feature("v2Checkpoint"), (("polars", "refused", _LOG), ("deltalake", "refused", _ARROW)),
        change="drop_feature('v2Checkpoint')"),
    Fact("VACUUM protocol check", _feature("vacuumProtocolCheck"), (("polars deltalake", "refused", _LOG),), (
        ("polars deltalake", "refused", _LOG),), "drop_feature('vacuumProtocolCheck')"),
    Fact("collations", lambda table: [each.column for each in collated_columns(table)], (
        (_ALL, "wrong", _BYTES),), (
        ("polars duckdb deltalake sail", "refused", _LOG),)),
    Fact("CHAR(n) and VARCHAR(n)", _columns(lambda kind: text_length(kind) is not None), (
        (_ALL, "wrong", "CHAR(n) is not padded: 'ab' where Spark has 'ab  '"),), (
        ("polars duckdb deltalake sail", "wrong", "longer strings are written"),)),
    Fact("NaN and -0.0", _columns(lambda kind: kind in (t.FLOAT, t.DOUBLE)), (
        ("chdb", "wrong", "x > 2 leaves out NaN, which NOT (x <= 2) finds"),
        ("daft", "wrong", "-0.0 is less than 0.0 and not equal to it"),
        ("pyarrow", "wrong", "comparisons with NaN are false; in Spark NaN is above all other numbers"))),
    Fact("partition columns", lambda table: table.partition_columns, (
        ("deltalake", "wrong", "in SQL and delete(), p + 1 = 2 and CASE with such a column are true for every row"),)),
    Fact("-0.0 as a partition value", _values(_negative_zero, t.FLOAT, t.DOUBLE), (
        ("duckdb deltalake daft", "wrong", "p = 0 does not find it"),)),
    Fact("negative DECIMAL partition values with a fraction", _values(_negative_fraction, t.DecimalType), (
        ("deltalake", "refused", "to_pyarrow_table raises; its SQL reads it"),), (
        ("polars deltalake", "refused", "logs such values as -1.-25, and then raises"),)),
    Fact("BINARY partition columns", lambda table: _partitions(table, t.BINARY), (
        ("polars", "refused", "raises: unsupported data type"), ("chdb pyarrow", "wrong", "text"))),
    Fact("folders without the names of partitions", _folders, (
        ("polars", "wrong", "the partition columns are NULL"),
        ("pyarrow", "wrong", "the partition columns are absent")),
        change="UNSET TBLPROPERTIES ('delta.randomizeFilePrefixes'), and overwrite the rows"),
    Fact("TIMESTAMP partition columns in the zone of a writer", _zoned_folders, (
        ("polars", "wrong", "takes the text of the folder, which is in the zone of the writer, as UTC"),)),
    Fact("nested columns", _columns(lambda kind: isinstance(kind, (t.StructType, t.ArrayType, t.MapType))), (
        ("chdb", "wrong", "NULL lists and maps are empty, NULL structs have NULL fields, and IS NULL finds none"),)),
    Fact("TIMESTAMP_NTZ", _columns(lambda kind: kind == TIMESTAMP_NTZ), (
        ("chdb", "wrong", "an instant with a time zone"),)),
    Fact("VARIANT", _columns(lambda kind: kind == VARIANT), (
        ("polars", "refused", "the whole file fails: LogicalType union has no variant set"),
        ("duckdb chdb", "refused", "raises: unsupported type"),
        ("deltalake pyarrow daft sail", "wrong", "a struct of bytes"))),
    Fact("GEOMETRY and GEOGRAPHY", _columns(lambda kind: isinstance(kind, t.GEOSPATIAL)), (
        ("polars deltalake duckdb", "refused", "the table does not open: unsupported type"),)),
    Fact("VOID columns", _columns(lambda kind: kind == t.VOID), (
        ("duckdb chdb sail", "refused", "the table does not open"), ("pyarrow", "wrong", "the column is absent")),
        change="DROP COLUMN, which needs column mapping"),
    Fact("features that few writers know", _feature(
        "allowColumnDefaults", "clustering", "domainMetadata", "identityColumns", "inCommitTimestamp",
        "materializePartitionColumns", "rowTracking"), (), (("polars deltalake", "refused", _LOG),)),
    Fact("computed and checked columns", _feature("generatedColumns", "checkConstraints", "identityColumns"), (), (
        ("duckdb", "refused", _LOG),)),
    Fact("clustering, row tracking, change data feed", _feature("clustering", "rowTracking", "changeDataFeed"), (), (
        ("sail", "refused", _LOG),)),
)  # fmt: skip
