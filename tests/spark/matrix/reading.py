"""Reading rows: columns, partition values, deletion vectors, types and errors."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.arrow import arrow_schema
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import ids, numbers, table_of


@case("rows, columns, limit and empty results")
def rows(session: Session) -> None:
    files = {f"f{i}.parquet": ids(*range(10 * i, 10 * i + 10), name=[f"n{i}"] * 10) for i in range(4)}
    table = table_of(session.folder, {"id": t.LONG, "name": t.STRING}, files)
    equal(numbers(table.scan().to_spark(session.spark)), list(range(40)))
    frame = table.scan("id >= 35", columns=["name"]).to_spark(session.spark)
    equal((frame.columns, [row[0] for row in frame.collect()]), (["name"], ["n3"] * 5))
    equal(table.scan(limit=3).to_spark(session.spark).count(), 3)
    equal(table.scan("id > 99").to_spark(session.spark).collect(), [])


PARTITION_VALUES: dict[str, tuple[t.DataType, str, Any]] = {
    "i": (t.INTEGER, "-7", -7),
    "s": (t.STRING, "a b=c/ü%'", "a b=c/ü%'"),
    "d": (t.DATE, "1500-06-17", datetime.date(1500, 6, 17)),
    "t": (t.TIMESTAMP, "2024-03-10T02:30:00.123456Z", datetime.datetime(2024, 3, 10, 2, 30, 0, 123456)),
    "n": (t.TIMESTAMP_NTZ, "2024-03-10 02:30:00.5", datetime.datetime(2024, 3, 10, 2, 30, 0, 500000)),
    "c": (t.DecimalType(20, 3), "-12345678901234567.125", Decimal("-12345678901234567.125")),
    "b": (t.BOOLEAN, "true", True),
    "f": (t.DOUBLE, "-0.5", -0.5),
    "x": (t.BINARY, "\u0001a", bytearray(b"\x01a")),
}


@case("partition values of every type")
def partition_values(session: Session) -> None:
    types = {name: kind for name, (kind, _, _) in PARTITION_VALUES.items()}
    texts = {name: text for name, (_, text, _) in PARTITION_VALUES.items()}
    expected = tuple(value for _, _, value in PARTITION_VALUES.values())
    values = {"a.parquet": texts, "b.parquet": dict.fromkeys(texts)}
    files = {"a.parquet": ids(1), "b.parquet": ids(2)}
    table = table_of(session.folder, {"id": t.LONG, **types}, files, partition_by=list(types), values=values)
    found = sorted(tuple(row) for row in table.scan().to_spark(session.spark).collect())
    equal([row[1:] for row in found], [expected, (None,) * len(types)])
    equal(numbers(table.scan("d = DATE'1500-06-17' AND i < 0").to_spark(session.spark)), [1])


@case("more tuples of partition values than scans")
def many_partitions(session: Session) -> None:
    files = {f"f{i}.parquet": ids(i) for i in range(70)}
    values = {f"f{i}.parquet": {"p": f"v {i}/", "q": str(i)} for i in range(70)}
    schema = {"id": t.LONG, "p": t.STRING, "q": t.INTEGER}
    table = table_of(session.folder, schema, files, partition_by=["p", "q"], values=values)
    frame = table.scan().to_spark(session.spark)
    equal({row["id"]: (row["p"], row["q"]) for row in frame.collect()}, {i: (f"v {i}/", i) for i in range(70)})
    # The files of a classic session are chosen by these filters, which it does not apply again.
    equal(numbers(frame.where("p LIKE 'v 1%' AND q % 2 = 1 AND id > 11")), [13, 15, 17, 19])
    equal(numbers(frame.where("q IS NULL OR p = 'v 69/'")), [69])
    equal(numbers(frame.join(frame.where("id = 7").select("q"), "q")), [7])


@case("files found by executors")
def planned_on_spark(session: Session) -> None:
    files = {f"f{i}.parquet": ids(*range(10 * i, 10 * i + 10), name=[f"n{i}"] * 10) for i in range(4)}
    table = table_of(session.folder, {"id": t.LONG, "name": t.STRING}, files)
    scan = table.scan("id >= 15 AND name < 'n3'", columns=["id"], engine="spark")
    equal(sorted(row["path"] for row in scan.files_to_spark(session.spark).collect()), ["f1.parquet", "f2.parquet"])
    frame = scan.to_spark(session.spark)
    equal((frame.columns, numbers(frame)), (["id"], list(range(15, 30))))
    table.checkpoint()
    equal(numbers(table.refresh().scan("id = 7", engine="spark").to_spark(session.spark)), [7])


@case("files that Spark does not list")
def unlisted_files(session: Session) -> None:
    files = {f"f {i}%.parquet": ids(i) for i in range(3)}
    values = {name: {"p": str(i)} for i, name in enumerate(files)}
    table = table_of(session.folder, {"id": t.LONG, "p": t.INTEGER}, files, partition_by=["p"], values=values)
    if session.kind == "connect":
        try:
            table.scan().to_spark(session.spark, listing=False)
        except ds.UnsupportedFeature as error:
            assert "Spark Connect" in str(error), error
            return
        raise AssertionError("no error")
    frame = table.scan("id > 0").to_spark(session.spark, listing=False)
    equal(sorted((row["id"], row["p"]) for row in frame.collect()), [(1, 1), (2, 2)])
    equal((frame.count(), len(frame.inputFiles())), (2, 2))


@case("deletion vectors")
def deletion_vectors(session: Session) -> None:
    files = {"p=1/a.parquet": ids(*range(100)), "p=2/b c.parquet": ids(*range(100, 200)), "c.parquet": ids(200, 201)}
    deleted = {"p=1/a.parquet": [0, 63, 64, 99], "p=2/b c.parquet": list(range(1, 100))}
    values = {"p=1/a.parquet": {"p": "1"}, "p=2/b c.parquet": {"p": "2"}, "c.parquet": {"p": None}}
    schema = {"id": t.LONG, "p": t.INTEGER}
    table = table_of(session.folder, schema, files, partition_by=["p"], values=values, deleted=deleted)
    live = [i for i in range(100) if i not in (0, 63, 64, 99)] + [100, 200, 201]
    equal(numbers(table.scan().to_spark(session.spark)), live)
    equal(numbers(table.scan("p = 2 OR id = 0").to_spark(session.spark)), [100])
    equal(table.scan().count(), len(live))


@case("deletion vectors of scattered rows")
def scattered_deletions(session: Session) -> None:
    with ds.options.changed(deleted_rows="positions"):
        table = table_of(
            session.folder, {"id": t.LONG}, {"a.parquet": ids(*range(5000))}, deleted={"a.parquet": [1, 4999]}
        )
        equal(numbers(table.scan("id > 4990").to_spark(session.spark)), list(range(4991, 4999)))
        equal(table.scan().to_spark(session.spark).count(), 4998)


@case("places and ids of rows")
def places_of_rows(session: Session) -> None:
    on = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}
    table = ds.DeltaTable.create(session.folder / "table", "id BIGINT, p STRING", ["p"], properties=on)
    table.append(pa.table({"id": pa.array(range(9), pa.int64()), "p": ["a"] * 9}))
    table.append(pa.table({"id": pa.array(range(9, 12), pa.int64()), "p": ["b"] * 3}))
    table.delete("id IN (1, 10)")
    frame = table.scan("id > 0", columns=["id"]).to_spark(session.spark, metadata=True)
    equal(frame.columns, ["id", "_metadata"])
    found = frame.selectExpr("id", "_metadata.row_index", "_metadata.row_id", "_metadata.row_commit_version").collect()
    wanted = [(i, i, i, 1) for i in range(2, 9)] + [(9, 0, 9, 2), (11, 2, 11, 2)]
    equal(sorted(map(tuple, found)), wanted)
    equal(table.scan("id > 99").to_spark(session.spark, metadata=True).count(), 0)


@case("temporary views")
def views(session: Session) -> None:
    table = table_of(session.folder, {"id": t.LONG}, {"a.parquet": ids(1, 2), "b.parquet": ids(3)})
    table.scan("id > 1").to_spark(session.spark).createOrReplaceTempView("deltaskip_matrix")
    equal(session.spark.sql("SELECT sum(id) FROM deltaskip_matrix").collect()[0][0], 5)


@case("types of every kind, missing columns, char(n)")
def types(session: Session) -> None:
    fields = {name: kind for name, (kind, _, _) in PARTITION_VALUES.items()}
    char = t.StructField("k", t.STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"})
    schema = t.StructType((t.StructField("id", t.LONG), char, *(t.StructField(n, kind) for n, kind in fields.items())))
    # Spark 3.5 refuses dates before 1582 in files of other writers.
    values = {name: value for name, (_, _, value) in PARTITION_VALUES.items()} | {"d": datetime.date(1600, 6, 17)}
    expected = list(values.values())
    stored: dict[str, Any] = values | {"t": values["t"].replace(tzinfo=datetime.UTC), "x": bytes(values["x"])}
    arrow = arrow_schema(t.StructType(tuple(t.StructField(n, kind) for n, kind in fields.items())))
    rows = pa.Table.from_pylist([stored], arrow)
    files = {"a.parquet": ids(1, k=["ab"], **{name: rows[name] for name in fields}), "b.parquet": ids(2)}
    table = table_of(session.folder, schema, files)
    first, second = sorted(table.scan().to_spark(session.spark).collect())
    equal(list(first)[2:], expected)
    equal((first["k"], list(second)[1:]), ("ab  ", [None] * 10))


@case("widened types", since=(4, 0))
def widened(session: Session) -> None:
    changes = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    schema = t.StructType((t.StructField("id", t.LONG, True, changes),))
    table = table_of(session.folder, schema, {"a.parquet": pa.table({"id": pa.array([1], pa.int32())})})
    equal(numbers(table.scan().to_spark(session.spark)), [1])


@case("variants", since=(4, 0))
def variants(session: Session) -> None:
    value = pa.StructArray.from_arrays(
        [pa.array([struct.pack("<BBBB", 0x0C, 7, 0, 0)[:2]], pa.binary()), pa.array([b"\x01\x00\x00"], pa.binary())],
        fields=[pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)],
    )
    schema = {"id": t.LONG, "v": t.VARIANT}
    table = table_of(session.folder, schema, {"a.parquet": ids(1, v=value)})
    equal(numbers(table.scan().to_spark(session.spark)), [1])
    for engine in ("local", "spark"):
        frame = table.scan(engine=engine).to_spark(session.spark)
        equal([row[0] for row in frame.selectExpr("to_json(v)").collect()], ["7"])


@case("a missing data file is named")
def missing_file(session: Session) -> None:
    table = table_of(session.folder, {"id": t.LONG}, {"a.parquet": ids(1), "b.parquet": ids(2)})
    (session.folder / "table" / "b.parquet").unlink()
    try:
        table.scan().to_spark(session.spark)
    except ds.DataFileMissing as error:
        assert "b.parquet" in str(error), error
    else:
        raise AssertionError("no error")


@case("wrong sessions are refused")
def wrong_sessions(session: Session) -> None:
    table = table_of(session.folder, {"id": t.LONG}, {"a.parquet": ids(1)})
    others = ("local", 5, object())
    # Not of recompute_stats, which computes in this process without a session.
    for act, wrongs in ((table.scan().to_spark, (None, *others)), (table.recompute_stats, others)):
        for wrong in wrongs:
            try:
                act(wrong)
            except ds.InvalidArgumentType:
                continue
            raise AssertionError(f"{act.__name__}({wrong!r}) raises nothing")
