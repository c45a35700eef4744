"""What the installed PySpark can do with tables of this package: `python -m tests.spark.matrix [classic|connect]`.

Runs every case through one local session and prints a line for each: "ok", "refused" where this Spark cannot do it and
deltaskip has to say so, or what is wrong; the exit status is 1 if something is. `.ci/run` runs it with each PySpark
that docs/pages/spark.md claims. The server of Spark Connect 3.5 is not part of PySpark: DELTASKIP_CONNECT_JAR names its
jar (org.apache.spark:spark-connect_2.12), and without it nothing is run there.
"""

from __future__ import annotations

import datetime
import os
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip import demo
from deltaskip.engine import engine
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_encode
from deltaskip.rows import plan_rows
from deltaskip.schema.arrow import arrow_schema
from deltaskip.schema.ddl import parse_columns
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    ArrayType,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from deltaskip.stats.computation import compute
from tests.builder import TableBuilder, add

KINDS = ("classic", "connect")
CONNECT_JAR = "DELTASKIP_CONNECT_JAR"


@dataclass(frozen=True, slots=True)
class Session:
    """A session, its kind, and a folder of its own for each case."""

    spark: Any
    kind: str
    folder: Path


Run = Callable[[Session], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A property of reading or recomputing; since: the first Spark that has it, older ones have to be refused."""

    name: str
    run: Run
    since: tuple[int, int] = (3, 5)


CASES: list[Case] = []


def case(name: str, since: tuple[int, int] = (3, 5)) -> Callable[[Run], Run]:
    """Register a case."""

    def register(run: Run) -> Run:
        CASES.append(Case(name, run, since))
        return run

    return register


def table_of(
    folder: Path,
    schema: StructType | Mapping[str, DataType],
    files: Mapping[str, pa.Table],
    *,
    partition_by: Sequence[str] = (),
    values: Mapping[str, Mapping[str, str | None]] | None = None,
    deleted: Mapping[str, Sequence[int]] | None = None,
    properties: Mapping[str, str] | None = None,
    protocol: Mapping[str, Any] | None = None,
) -> ds.DeltaTable:
    """A table of Parquet files with their statistics, partition values and deletion vectors."""
    builder = TableBuilder(folder / "table", schema, partition_by, properties, protocol)
    actions = []
    for name, rows in files.items():
        path = folder / "table" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)
        stats = compute(
            [path],
            builder.schema,
            partition_columns=partition_by,
            mapping_mode=(properties or {}).get("delta.columnMapping.mode", "none"),
        )["stats"][0].as_py()
        members: dict[str, Any] = {"size": path.stat().st_size, "partitionValues": dict((values or {}).get(name, {}))}
        if deleted and name in deleted:
            members["deletionVector"] = vector(deleted[name])
        actions.append(add(quote(name), stats, **members))
    builder.commit(*actions)
    return ds.DeltaTable(folder / "table")


def vector(rows: Sequence[int]) -> dict[str, Any]:
    """An inline deletion vector."""
    data = encode(pa.array(rows, pa.int64()))
    padded = data + b"\0" * (-len(data) % 4)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85_encode(padded),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def ids(*values: int, **columns: Any) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), **columns})


def numbers(frame: Any) -> list[int]:
    """The ids of a frame in order."""
    return sorted(row["id"] for row in frame.select("id").collect())


def equal(found: object, expected: object) -> None:
    """Raise AssertionError where they differ."""
    assert found == expected, f"{found!r} instead of {expected!r}"


@case("rows, columns, limit and empty results")
def rows(session: Session) -> None:
    files = {f"f{i}.parquet": ids(*range(10 * i, 10 * i + 10), name=[f"n{i}"] * 10) for i in range(4)}
    table = table_of(session.folder, {"id": LONG, "name": STRING}, files)
    equal(numbers(table.scan().to_spark(session.spark)), list(range(40)))
    frame = table.scan("id >= 35", columns=["name"]).to_spark(session.spark)
    equal((frame.columns, [row[0] for row in frame.collect()]), (["name"], ["n3"] * 5))
    equal(table.scan(limit=3).to_spark(session.spark).count(), 3)
    equal(table.scan("id > 99").to_spark(session.spark).collect(), [])


PARTITION_VALUES: dict[str, tuple[DataType, str, Any]] = {
    "i": (INTEGER, "-7", -7),
    "s": (STRING, "a b=c/ü%'", "a b=c/ü%'"),
    "d": (DATE, "1500-06-17", datetime.date(1500, 6, 17)),
    "t": (TIMESTAMP, "2024-03-10T02:30:00.123456Z", datetime.datetime(2024, 3, 10, 2, 30, 0, 123456)),
    "n": (TIMESTAMP_NTZ, "2024-03-10 02:30:00.5", datetime.datetime(2024, 3, 10, 2, 30, 0, 500000)),
    "c": (DecimalType(20, 3), "-12345678901234567.125", Decimal("-12345678901234567.125")),
    "b": (BOOLEAN, "true", True),
    "f": (DOUBLE, "-0.5", -0.5),
    "x": (BINARY, "\u0001a", bytearray(b"\x01a")),
}


@case("partition values of every type")
def partition_values(session: Session) -> None:
    types = {name: kind for name, (kind, _, _) in PARTITION_VALUES.items()}
    texts = {name: text for name, (_, text, _) in PARTITION_VALUES.items()}
    expected = tuple(value for _, _, value in PARTITION_VALUES.values())
    values = {"a.parquet": texts, "b.parquet": dict.fromkeys(texts)}
    files = {"a.parquet": ids(1), "b.parquet": ids(2)}
    table = table_of(session.folder, {"id": LONG, **types}, files, partition_by=list(types), values=values)
    found = sorted(tuple(row) for row in table.scan().to_spark(session.spark).collect())
    equal([row[1:] for row in found], [expected, (None,) * len(types)])
    equal(numbers(table.scan("d = DATE'1500-06-17' AND i < 0").to_spark(session.spark)), [1])


@case("more tuples of partition values than scans")
def many_partitions(session: Session) -> None:
    files = {f"f{i}.parquet": ids(i) for i in range(70)}
    values = {f"f{i}.parquet": {"p": f"v {i}/", "q": str(i)} for i in range(70)}
    schema = {"id": LONG, "p": STRING, "q": INTEGER}
    table = table_of(session.folder, schema, files, partition_by=["p", "q"], values=values)
    found = {row["id"]: (row["p"], row["q"]) for row in table.scan().to_spark(session.spark).collect()}
    equal(found, {i: (f"v {i}/", i) for i in range(70)})


@case("deletion vectors")
def deletion_vectors(session: Session) -> None:
    files = {"p=1/a.parquet": ids(*range(100)), "p=2/b c.parquet": ids(*range(100, 200)), "c.parquet": ids(200, 201)}
    deleted = {"p=1/a.parquet": [0, 63, 64, 99], "p=2/b c.parquet": list(range(1, 100))}
    values = {"p=1/a.parquet": {"p": "1"}, "p=2/b c.parquet": {"p": "2"}, "c.parquet": {"p": None}}
    schema = {"id": LONG, "p": INTEGER}
    table = table_of(session.folder, schema, files, partition_by=["p"], values=values, deleted=deleted)
    live = [i for i in range(100) if i not in (0, 63, 64, 99)] + [100, 200, 201]
    equal(numbers(table.scan().to_spark(session.spark)), live)
    equal(numbers(table.scan("p = 2 OR id = 0").to_spark(session.spark)), [100])
    equal(table.scan().count(), len(live))


@case("deletion vectors of scattered rows")
def scattered_deletions(session: Session) -> None:
    from deltaskip.spark import deletion_vectors as forms

    before, forms.MAX_WORD_BYTES = forms.MAX_WORD_BYTES, 0
    try:
        table = table_of(
            session.folder, {"id": LONG}, {"a.parquet": ids(*range(5000))}, deleted={"a.parquet": [1, 4999]}
        )
        equal(numbers(table.scan("id > 4990").to_spark(session.spark)), list(range(4991, 4999)))
        equal(table.scan().to_spark(session.spark).count(), 4998)
    finally:
        forms.MAX_WORD_BYTES = before


def mapped(name: str, kind: DataType, physical: str, number: int) -> StructField:
    metadata = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": number}
    return StructField(name, kind, True, metadata)


def mapping(session: Session, mode: str) -> None:
    inner = StructType((mapped("z z", LONG, "col-3", 4), mapped("y", STRING, "col-4", 5)))
    fields = (
        mapped("id", LONG, "col-1", 1),
        mapped("s.x", inner, "col-2", 2),
        mapped("list", ArrayType(inner), "col-5", 6),
        mapped("part", STRING, "col-6", 7),
    )
    inside = {"col-3": (pa.int64(), 4), "col-4": (pa.string(), 5)}
    item = pa.struct([pa.field(name, kind, metadata=id_of(number)) for name, (kind, number) in inside.items()])
    stored = pa.schema(
        [
            pa.field("col-1", pa.int64(), metadata=id_of(1)),
            pa.field("col-2", item, metadata=id_of(2)),
            pa.field("col-5", pa.list_(item), metadata=id_of(6)),
        ]
    )
    value = {"col-3": 7, "col-4": "w"}
    rows = pa.Table.from_pylist([{"col-1": i, "col-2": value, "col-5": [value]} for i in (1, 2)], stored)
    properties = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "7"}
    table = table_of(
        session.folder, StructType(fields), {"a.parquet": rows}, partition_by=["part"],
        values={"a.parquet": {"col-6": "p"}}, properties=properties,
    )
    found = table.scan("`s.x`.`z z` = 7 AND id < 2").to_spark(session.spark).collect()
    equal([row.asDict(recursive=True) for row in found], [
        {"id": 1, "s.x": {"z z": 7, "y": "w"}, "list": [{"z z": 7, "y": "w"}], "part": "p"}
    ])


def id_of(number: int) -> dict[str, str]:
    return {"PARQUET:field_id": str(number)}


@case("column mapping by name")
def mapping_by_name(session: Session) -> None:
    mapping(session, "name")


@case("column mapping by id")
def mapping_by_id(session: Session) -> None:
    mapping(session, "id")


@case("Columns as predicates prune")
def columns(session: Session) -> None:
    from pyspark.sql import functions as F

    day = datetime.date(2024, 1, 1)
    files = {
        f"f{i}.parquet": pa.table(
            {
                "id": pa.array([i, i], pa.int64()),
                "name": [f"n{i}", f"n{i}z"],
                "day": [day + datetime.timedelta(days=i)] * 2,
                "at": pa.array([datetime.datetime(2024, 1, 1 + i, tzinfo=datetime.UTC)] * 2, pa.timestamp("us", "UTC")),
                "amount": pa.array([Decimal(i)] * 2, pa.decimal128(5, 2)),
                "s": [{"x": float(i)}] * 2,
            }
        )
        for i in range(5)
    }
    schema = {
        "id": LONG, "name": STRING, "day": DATE, "at": TIMESTAMP, "amount": DecimalType(5, 2),
        "s": StructType((StructField("x", DOUBLE),)),
    }
    table = table_of(session.folder, schema, files)
    late = datetime.datetime(2024, 1, 4, tzinfo=datetime.UTC)
    c = F.col
    predicates = {
        "comparison": (c("id") > 3, [4]),
        "reversed": (F.lit(1) > c("id"), [0]),
        "and, not": ((c("id") >= 2) & ~(c("id") > 2), [2]),
        "or": ((c("id") == 0) | (c("name") == "n4z"), [0, 4]),
        "isin": (c("id").isin(1, 3), [1, 3]),
        "between": (c("id").between(1, 2), [1, 2]),
        "null-safe": (c("id").eqNullSafe(2), [2]),
        "isNull": (c("id").isNull(), []),
        "isNotNull and <": (c("id").isNotNull() & (c("id") < 1), [0]),
        "like": (c("name").like("n3%"), [3]),
        "startswith": (c("name").startswith("n2"), [2]),
        "date": (c("day") == day + datetime.timedelta(days=1), [1]),
        "timestamp": (c("at") >= late, [3, 4]),
        "decimal": (c("amount") < Decimal("0.5"), [0]),
        "field": (c("s.x") > 3.5, [4]),
        "getField": (c("s")["x"] <= 0.5, [0]),
        "cast": (c("id").cast("int") == 4, [4]),
        "date text": (c("day") >= F.lit("2024-01-05").cast("date"), [4]),
        "year and more": ((F.year("day") == 2024) & (c("id") == 1), [1]),
        "coalesce": (F.coalesce(c("id"), F.lit(0)) == 3, [3]),
        "arithmetic": (c("id") + 1 == 5, [4]),
        "when": (F.when(c("id") > 3, "x").otherwise("y") == "x", [4]),
        "expr": (F.expr("id = 2 and name like 'n%'"), [2]),
        "alias": ((c("id") == 2).alias("z"), [2]),
    }
    wrong = []
    for name, (predicate, expected) in predicates.items():
        scan = table.scan(predicate)
        kept = [int(path.rpartition("/f")[2][0]) for path in scan.paths()]
        found = numbers(scan.to_spark(session.spark))
        matching = sorted(2 * expected) if name != "or" else [0, 0, 4]
        if kept != expected or found != matching:
            wrong.append(f"{name}: kept {kept}, read {found}")
    scan = table.scan(F.rand() < 2)
    if len(scan.paths()) != 5 or scan.to_spark(session.spark).count() != 10:
        wrong.append("rand() skips files")
    assert not wrong, "; ".join(wrong)


@case("a Column with a user-defined function keeps all files")
def column_of_a_udf(session: Session) -> None:
    from pyspark.sql import functions as F

    def upper(text: str) -> str:
        return "n1"

    table = table_of(
        session.folder, {"id": LONG, "name": STRING}, {f"{i}.parquet": ids(i, name=[f"n{i}"]) for i in range(3)}
    )
    with warnings.catch_warnings():
        # PySpark's own, about pandas.
        warnings.simplefilter("ignore")
        predicate = F.udf(upper, "string")("name") == "n1"
    scan = table.scan(predicate)
    equal(len(scan.paths()), 3)
    equal(numbers(scan.to_spark(session.spark)), [0, 1, 2])


@case("temporary views")
def views(session: Session) -> None:
    table = table_of(session.folder, {"id": LONG}, {"a.parquet": ids(1, 2), "b.parquet": ids(3)})
    table.scan("id > 1").to_spark(session.spark).createOrReplaceTempView("deltaskip_matrix")
    equal(session.spark.sql("SELECT sum(id) FROM deltaskip_matrix").collect()[0][0], 5)


@case("types of every kind, missing columns, char(n)")
def types(session: Session) -> None:
    fields = {name: kind for name, (kind, _, _) in PARTITION_VALUES.items()}
    char = StructField("k", STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"})
    schema = StructType((StructField("id", LONG), char, *(StructField(n, kind) for n, kind in fields.items())))
    # Spark 3.5 refuses dates before 1582 in files of other writers.
    values = {name: value for name, (_, _, value) in PARTITION_VALUES.items()} | {"d": datetime.date(1600, 6, 17)}
    expected = list(values.values())
    stored: dict[str, Any] = values | {"t": values["t"].replace(tzinfo=datetime.UTC), "x": bytes(values["x"])}
    arrow = arrow_schema(StructType(tuple(StructField(n, kind) for n, kind in fields.items())))
    rows = pa.Table.from_pylist([stored], arrow)
    files = {"a.parquet": ids(1, k=["ab"], **{name: rows[name] for name in fields}), "b.parquet": ids(2)}
    table = table_of(session.folder, schema, files)
    first, second = sorted(table.scan().to_spark(session.spark).collect())
    equal(list(first)[2:], expected)
    equal((first["k"], list(second)[1:]), ("ab  ", [None] * 10))


@case("collated columns keep their collation, and their statistics skip files", since=(4, 0))
def collated(session: Session) -> None:
    root = session.folder / "customers"
    spark = engine("The matrix")
    version = spark.collation_version(session.spark)
    demo.make_table(root, demo.write_with_pyarrow, version)
    table = ds.DeltaTable(root)
    scan = table.scan(demo.PREDICATE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ds.StatisticsWarning)
        frame = scan.to_spark(session.spark)
    equal((scan.collation_version, len(scan.paths())), (version, 7))
    found = frame.agg({"*": "count"})
    equal(found.collect()[0][0], 7)
    equal(frame.schema["name"].dataType.simpleString(), "string collate UNICODE_CI")
    read = spark.files_read(found)
    equal(len(frame.inputFiles()) if read is None else read, 7)


@case("statistics of another collation version are warned about, and recomputation mends them", since=(4, 0))
def another_version(session: Session) -> None:
    from deltaskip.spark import collation_versions

    collation_versions._warned.clear()
    version = engine("The matrix").collation_version(session.spark)
    other = "77.1" if version != "77.1" else "78.3"
    demo.make_table(session.folder / "customers", demo.write_with_pyarrow, other)
    table = ds.DeltaTable(session.folder / "customers")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            equal(table.scan(demo.PREDICATE).to_spark(session.spark).count(), 7)
    own = [each for each in found if issubclass(each.category, ds.StatisticsWarning)]
    messages = [str(each.message) for each in own]
    equal([each.filename for each in own], [__file__])
    assert version in messages[0] and other in messages[0] and "recompute_stats" in messages[0], messages
    table.recompute_stats(session.spark, columns=["name"])
    equal(len(table.scan(demo.PREDICATE).paths()), 7)


@case("filters on collated columns", since=(4, 0))
def collated_filter(session: Session) -> None:
    field = StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}})
    schema = StructType((StructField("id", LONG), field))
    table = table_of(session.folder, schema, {"a.parquet": ids(1, 2, name=["MÜLLER", "x"])})
    equal(numbers(table.scan("name = 'müller'").to_spark(session.spark)), [1])
    equal(numbers(table.scan().to_spark(session.spark)), [1, 2])


@case("collations that Spark does not have are read by bytes, and filters under them are refused")
def unknown_collation(session: Session) -> None:
    declared = {"german": "ICU.de_DE", "own": "acme.KLINGON", "name": "icu.UNICODE_CI"}
    texts = [StructField(n, STRING, True, {"__COLLATIONS": {n: c}}) for n, c in declared.items()]
    schema = StructType((StructField("id", LONG), *texts))
    rows = ids(1, 2, german=["Ä", "z"], own=["a", "b"], name=["x", "y"])
    features = ["collations", "domainMetadata"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    table = table_of(session.folder, schema, {"a.parquet": rows}, protocol=protocol)
    old = session.spark.version.startswith("3.")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        frame = table.scan("id >= 1 AND own IS NOT NULL").to_spark(session.spark)
    own = [each for each in found if issubclass(each.category, ds.CollationWarning)]
    messages = [str(each.message) for each in own]
    equal([each.filename for each in own], [__file__])
    equal((len(messages), "acme.KLINGON" in messages[0], "ICU.de_DE" in messages[0]), (1, True, old))
    equal(sorted(frame.collect()), [(1, "Ä", "a", "x"), (2, "z", "b", "y")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.CollationWarning)
        warnings.simplefilter("ignore", ds.StatisticsWarning)
        if not old:
            equal(frame.schema["german"].dataType.simpleString(), "string collate de")
            equal(numbers(table.scan("german < 'B'").to_spark(session.spark)), [1])
            equal(numbers(table.scan("own COLLATE UTF8_BINARY = 'a'").to_spark(session.spark)), [1])
        for where in ("own = 'a'", "upper(own) = 'A' OR id = 1", "own IN ('a', 'b')"):
            try:
                table.scan(where).to_spark(session.spark)
            except ds.UnsupportedFeature as error:
                assert "acme.KLINGON" in str(error), error
            else:
                raise AssertionError(f"{where} is not refused")
        table.recompute_stats(session.spark, collation_versions=["77.1"])
    stats = table.scan().files(stats=True)["stats"][0].as_py()
    equal(["icu.UNICODE_CI.77.1" in stats, "KLINGON" in stats], [True, False])


@case("widened types", since=(4, 0))
def widened(session: Session) -> None:
    changes = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    schema = StructType((StructField("id", LONG, True, changes),))
    table = table_of(session.folder, schema, {"a.parquet": pa.table({"id": pa.array([1], pa.int32())})})
    equal(numbers(table.scan().to_spark(session.spark)), [1])


@case("variants", since=(4, 0))
def variants(session: Session) -> None:
    value = pa.StructArray.from_arrays(
        [pa.array([struct.pack("<BBBB", 0x0C, 7, 0, 0)[:2]], pa.binary()), pa.array([b"\x01\x00\x00"], pa.binary())],
        fields=[pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)],
    )
    schema = {"id": LONG, "v": VARIANT}
    table = table_of(session.folder, schema, {"a.parquet": ids(1, v=value)})
    equal(numbers(table.scan().to_spark(session.spark)), [1])


@case("recomputation of statistics")
def recompute(session: Session) -> None:
    name = StructField("name", STRING)
    schema = StructType((StructField("id", LONG), name, StructField("price", DOUBLE)))
    files = {f"{i}.parquet": ids(i, i + 10, name=[f"n{i}"] * 2, price=[0.5 * i, float("nan")]) for i in range(3)}
    table = table_of(session.folder, schema, files, deleted={"2.parquet": [1]})
    table.recompute_stats(session.spark, mode="scan")
    equal(table.version, 1)
    equal(table.scan("id = 12").to_spark(session.spark).count(), 0)
    equal([path.rpartition("/")[2] for path in table.scan("name = 'n1'").paths()], ["1.parquet"])


@case("a missing data file is named")
def missing_file(session: Session) -> None:
    table = table_of(session.folder, {"id": LONG}, {"a.parquet": ids(1), "b.parquet": ids(2)})
    (session.folder / "table" / "b.parquet").unlink()
    try:
        table.scan().to_spark(session.spark)
    except ds.DataFileMissing as error:
        assert "b.parquet" in str(error), error
    else:
        raise AssertionError("no error")


@case("rows to be written are cast, computed and checked, and a violation names its row")
def rows_to_write(session: Session) -> None:
    from deltaskip.spark.rows import rows_to_write, violation_of

    schema = parse_columns(
        "id BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY 5), n TINYINT NOT NULL, s VARCHAR(3) DEFAULT 'x', "
        "twice INT GENERATED ALWAYS AS (n * 2), tags ARRAY<STRUCT<k: SMALLINT>>"
    )
    properties = TableProperties({"delta.constraints.small": "n < 100"}, "/data/t")
    plan = plan_rows(schema, properties, parse_columns("N BIGINT, tags ARRAY<STRUCT<K: INT>>"))

    def stored(number: int) -> Any:
        given = session.spark.range(1).selectExpr(f"{number}L AS N", "array(named_struct('K', 7), NULL) AS tags")
        return rows_to_write(given.coalesce(1), plan, 1).collect()

    equal([row.asDict(True) for row in stored(9)],
          [{"id": 1, "n": 9, "s": "x", "twice": 18, "tags": [{"k": 7}, None]}])
    for number, rule, row in ((100, "small", {"id": 1, "n": 100, "s": "x", "twice": 200, "tags": [{"k": 7}, None]}),
                              (200, "type of n", None)):
        try:
            stored(number)
        except Exception as error:
            found = violation_of(error, plan)
            equal(found and (found.rule, found.row), (rule, row))
        else:
            raise AssertionError(f"{number} was stored")


@case("overwrites mark or rewrite the rows that match, with row ids and a change data feed")
def overwrites(session: Session) -> None:
    spark = session.spark
    options = {"delta.enableDeletionVectors": {}, "delta.enableChangeDataFeed": {"delta.enableRowTracking": "true"}}
    for name, more in options.items():
        folder = session.folder / name
        table = ds.DeltaTable.create(folder, "id BIGINT, p STRING", ["p"], properties={name: "true", **more})
        table.append(spark.range(0, 40, 1, 2).selectExpr("id", "IF(id % 2 = 0, 'a', NULL) AS p"))
        for start in (100, 200):
            new = spark.range(start, start + 3).selectExpr("id", "'b' AS p")
            table.overwrite(new, where="id % 5 = 1 OR id >= 100")
        equal(numbers(table.scan().to_spark(spark)), [i for i in range(40) if i % 5 != 1] + [200, 201, 202])
        table.overwrite(spark.range(50, 51).selectExpr("id", "CAST(NULL AS STRING) AS p"), partitions="dynamic")
        equal(numbers(table.scan().to_spark(spark)), [i for i in range(0, 40, 2) if i % 5 != 1] + [50, 200, 201, 202])
        table.overwrite(spark.range(2).selectExpr("id", "'c' AS p"))
        equal(numbers(table.scan().to_spark(spark)), [0, 1])


@case("delta-spark's names")
def delta_names(session: Session) -> None:
    from pyspark.errors import AnalysisException

    from deltaskip.delta import DeltaTable, IdentityGenerator

    where = str(session.folder / "named")
    built = (
        DeltaTable.create(session.spark)
        .location(where)
        .addColumn("id", "BIGINT", generatedAlwaysAs=IdentityGenerator())
        .addColumn("a", "INT", nullable=False, comment="of use")
        .addColumn("b", "INT", generatedAlwaysAs="a + 1")
        .execute()
    )
    ds.DeltaTable(where).append(pa.table({"a": pa.array([1, 2], pa.int32())}))
    equal(sorted(map(tuple, built.toDF().collect())), [(1, 1, 2), (2, 2, 3)])
    equal(built.toDF().schema["a"].nullable, session.kind == "connect")
    equal(built.toDF().schema["a"].metadata, {"comment": "of use"})
    equal(built.alias("t").toDF().select("t.a").count(), 2)
    equal([each.operation for each in built.history().collect()], ["WRITE", "CREATE TABLE"])
    equal(built.detail().first().location, ds.DeltaTable(where).uri)
    equal(DeltaTable.isDeltaTable(session.spark, where), True)
    equal(DeltaTable.forName(session.spark, f"delta.`{where}`").toDF().count(), 2)
    built.delete("a = 1")
    equal(built.toDF().count(), 1)
    try:
        DeltaTable.forName(session.spark, "no_such_table")
    except AnalysisException as error:
        assert "is not a Delta table" in str(error), error
    else:
        raise AssertionError("a table that does not exist was found")


@case("wrong sessions are refused")
def wrong_sessions(session: Session) -> None:
    table = table_of(session.folder, {"id": LONG}, {"a.parquet": ids(1)})
    for wrong in (None, "local", 5, object()):
        for act in (table.scan().to_spark, table.recompute_stats):
            try:
                act(wrong)
            except ds.InvalidArgumentType:
                continue
            raise AssertionError(f"{act.__name__}({wrong!r}) raises nothing")


def local_session(kind: str, folder: Path) -> Any:
    """A local session of this kind with two threads."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    builder = SparkSession.builder.appName("deltaskip matrix")
    builder = builder.master("local[2]") if kind == "classic" else builder.remote("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def outcome_of(each: Case, session: Session, version: tuple[int, int]) -> tuple[str, str]:
    """What came of a case: "ok", "refused" or "WRONG", and a detail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            each.run(session)
    except ds.UnsupportedFeature as error:
        return ("refused", f"Spark {each.since[0]}.{each.since[1]}") if version < each.since else ("WRONG", str(error))
    except Exception as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        return "WRONG", f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
    return ("ok", "") if version >= each.since else ("WRONG", "it is not refused")


def main(arguments: Sequence[str]) -> int:
    """Run all cases with a session of a kind; the exit status."""
    kind = next((each for each in arguments if each in KINDS), KINDS[0])
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    import pandas
    import pyspark

    version = tuple(map(int, pyspark.__version__.split(".")[:2]))
    if kind == "connect" and version < (4, 0):
        if CONNECT_JAR not in os.environ:
            print(f"PySpark {pyspark.__version__}, connect: not run, as {CONNECT_JAR} is not set")
            return 0
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {os.environ[CONNECT_JAR]} pyspark-shell"
    failed = 0
    with tempfile.TemporaryDirectory(prefix="deltaskip-matrix-", ignore_cleanup_errors=True) as scratch:
        spark = local_session(kind, Path(scratch))
        if kind == "classic":
            spark.sparkContext.setLogLevel("OFF")
        print(f"PySpark {pyspark.__version__}, {kind}, pandas {pandas.__version__}, Python {sys.version.split()[0]}")
        for number, each in enumerate(CASES):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            start = time.perf_counter()
            what, detail = outcome_of(each, Session(spark, kind, folder), (version[0], version[1]))
            failed += what == "WRONG"
            print(f"  {what:8}{each.name} {detail} ({time.perf_counter() - start:.1f} s)", flush=True)
        spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
