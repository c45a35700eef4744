"""Predicates mean what the session says: its settings, variables and functions. The oracle is Spark over all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import deltaskip as ds
from deltaskip.delta import DeltaTable
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.session.session_settings import session_settings
from tests.contracts.doors import connect_session
from tests.extent import extent, some

pytestmark = pytest.mark.spark

COLUMNS = (
    "id INT, s STRING, q STRING, d DATE, ts TIMESTAMP, p DECIMAL(38, 18), r DECIMAL(38, 18), a ARRAY<INT>, "
    "st STRUCT<x: INT, y: STRING>, b BINARY"
)
TEXTS = ["a", "b", "X", "a\tb", "a\\tb", '"s"', "ab", "5", "${x}", "é"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """A table of ten files with a row each, so that every proof that is wrong loses a row."""
    return made(tmp_path_factory.mktemp("meaning") / "t", f"{COLUMNS}, c CHAR(4)")


def made(folder: Path, columns: str) -> ds.DeltaTable:
    table = ds.DeltaTable.create(folder, columns)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    for i, text in enumerate(TEXTS):
        struct = {"x": i if i % 2 else None, "y": text}
        row = {
            "id": pa.array([i], pa.int32()),
            "s": [text],
            "q": ["s" if i == 5 else TEXTS[i - i % 3]],
            "d": [date(2024, 1, 1) + timedelta(i)],
            "ts": pa.array([start + timedelta(hours=i)], pa.timestamp("us", "UTC")),
            "p": pa.array([Decimal("1234567.123456789012345678") * (i + 1)], pa.decimal128(38, 18)),
            "r": pa.array([Decimal("3.3") + i], pa.decimal128(38, 18)),
            "a": pa.array([[i, None] if i % 2 else [i, 1]], pa.list_(pa.int32())),
            "st": pa.array([struct], pa.struct({"x": pa.int32(), "y": pa.string()})),
            "b": [bytes([i]) * 60],
            "c": [text[:4]],
        }
        table.append(pa.table({name: row[name] for name in table.schema.names}))
    return ds.DeltaTable(table.uri)


# What a session has set, and predicates whose meaning depends on it, each with one whose meaning does not.
CASES: list[tuple[Mapping[str, str], Sequence[str]]] = [
    ({"x": "a", "n": "2", "deep": "${x}b", "day": "2024-01-03"}, ["s = '${x}'", "s != '${x}'", "id = ${n}",
        "s IN ('${hiveconf:x}', 'q')", "s LIKE '${x}%'", "s = '${deep}'", "d = '${day}'", "id > ${none}4",
        "s = concat('$', '{x}')", "s = '${env:NO_VARIABLE}'", "s = '${what:x}'"]),
    ({"spark.sql.variable.substitute": "false", "x": "a"}, ["s = '${x}'", "s != '${x}'"]),
    ({"spark.sql.ansi.doubleQuotedIdentifiers": "true"}, ['"s" = q', '"id" = 2 AND id < 5', "s = '\"s\"'", "id = 3"]),
    ({"spark.sql.parser.escapedStringLiterals": "true"}, [r"s = 'a\tb'", r"s <> 'a\tb'", "s = 'b'"]),
    ({"spark.sql.legacy.consecutiveStringLiterals.enabled": "true"}, ["s = 'a''b'", "s = 'a' 'b'", "s = 'b'"]),
    ({"spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true"}, ["p / 1e0 < 2469134.3", "id = 5e0"]),
    ({"spark.sql.legacy.bangEqualsNot": "true"}, ["! id = 3", "id IS ! NULL AND id = 3", "id != 3"]),
    ({"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": "America/New_York"},
        ["CAST(ts AS TIMESTAMP) = '2023-12-31 20:00:00'", "to_timestamp('2024-01-01 01:00:00') = ts",
        "CAST('2024-01-01 01:00:00' AS TIMESTAMP) < ts", "ts = TIMESTAMP'2023-12-31 21:00:00'", "ts > '2024-01-01'"]),
    ({"spark.sql.decimalOperations.allowPrecisionLoss": "false", "spark.sql.ansi.enabled": "false"},
        ["p / r IS NULL", "p * r > 5", "p * p IS NULL", "id + 1 = 4", "p / 3 < 900000"]),
    ({"spark.sql.jsonGenerator.ignoreNullFields": "false"}, ["to_json(st) = '{\"x\":null,\"y\":\"a\"}'", "id = 1"]),
    ({"spark.sql.legacy.followThreeValuedLogicInArrayExists": "false"}, ["NOT exists(a, e -> e > 100)", "id = 1"]),
    ({"spark.sql.legacy.castComplexTypesToString.enabled": "true"}, ["CAST(a AS STRING) = '[1,]'", "id = 1"]),
    ({"spark.sql.legacy.negativeIndexInArrayInsert": "true"}, ["array_insert(a, -1, 9)[1] = 9", "id = 1"]),
    ({"spark.sql.chunkBase64String.enabled": "false"}, ["length(base64(b)) = 80", "to_char(b, 'base64') LIKE 'AQ%'"]),
    ({"spark.sql.mapKeyDedupPolicy": "LAST_WIN"}, ["map(1, id, 1, 5)[1] = 5 AND id = 2", "id = 1"]),
    ({"spark.sql.legacy.javaCharsets": "true"}, ["encode(s, 'windows-1252') = X'E9'", "id = 1"]),
    ({"spark.sql.readSideCharPadding": "false"}, ["c = 'a'", "c = 'ab  '", "length(c) = 2"]),
    ({"spark.sql.legacy.charVarcharAsString": "true"}, ["c = 'a'", "c = 'ab  '", "length(c) = 2"]),
    ({"spark.sql.legacy.sizeOfNull": "true", "spark.sql.ansi.enabled": "false"}, ["size(nullif(a, a)) = -1", "id = 4"]),
    ({"spark.sql.legacy.nobodyKnows": "1"}, ["id = 3", "s = 'b'"]),
]  # fmt: skip
OWN = [
    "upper(s) = 'X'", "upper(s) <> 'X'", "UPPER(s) = 'A' OR id = 3", "nvl(id, 1) = 1", "id = 3",
    "s BETWEEN 'a' AND 'b'",
]  # fmt: skip
VARIABLES = ["id = chosen", "id > session.chosen", "id <> chosen AND id < 5"]


@pytest.fixture(scope="module")
def named(spark: Any) -> Any:
    """A session with functions of its own under names of Spark's, and with a variable."""
    session = spark.newSession()
    for name in ("upper", "nvl", "between"):
        session.udf.register(name, lambda *_: "X")
    session.sql("DECLARE VARIABLE chosen INT DEFAULT 3")
    # A scan is made before it is known which session reads it, and asks the active one.
    Jvm(session).activate()
    return session


def by_view(spark: Any, table: ds.DeltaTable, where: str) -> Any:
    ds.register_view(spark, "meant", table, where)
    return spark.sql("SELECT * FROM meant")


READS: dict[str, Callable[[Any, ds.DeltaTable, str], Any]] = {
    "scan": lambda spark, table, where: table.scan(where).to_spark(spark),
    "view": by_view,
    "query": lambda spark, table, where: ds.sql(spark, f"SELECT * FROM deltaskip.`{table.uri}` AS t WHERE {where}"),
    "executors": lambda spark, table, where: table.scan(where, engine="spark").to_spark(spark),
    "column": lambda spark, table, where: table.scan(F.expr(where)).to_spark(spark),
}


def merge(spark: Any, table: ds.DeltaTable, where: str) -> object:
    """Delete rows by a MERGE whose source has the ids of all rows."""
    ids = spark.range(len(TEXTS)).selectExpr("CAST(id AS INT) AS k")
    return table.merge(ids, f"t.id = k AND ({where})", target_alias="t").when_matched_delete().execute()


CHANGES: dict[str, Callable[[Any, ds.DeltaTable, str], object]] = {
    "delete": lambda spark, table, where: table.delete(where, spark=spark),
    "statement": lambda spark, table, where: ds.catalog(
        f"warehouse:{Path(table.uri.removeprefix('file://')).parent}"
    ).sql(spark, f"DELETE FROM delta.`{table.uri}` WHERE {where}"),
    "delta": lambda spark, table, where: DeltaTable.forPath(spark, table.uri).delete(where),
    "merge": merge,
    "overwrite": lambda spark, table, where: table.overwrite(
        spark.range(0).selectExpr("CAST(id AS INT) AS id"), where=where
    ),
}


def answered(find: Callable[[], Any]) -> object:
    """The ids that are found, or that it raises."""
    try:
        return sorted(row.id for row in find().select("id").collect())
    except Exception as error:
        return f"raises {type(error).__name__} {str(error)[:150]}"


def differing(spark: Any, table: ds.DeltaTable, wheres: Sequence[str], number: int) -> list[str]:
    """What doors find or leave otherwise than Spark does over all rows; in the gate, some doors for each number."""
    wrong, classic = [], hasattr(spark, "_jsparkSession")
    every, folder = table.scan().to_spark(spark), Path(table.uri.removeprefix("file://")).parent
    reads = [door for door in READS if classic or door not in ("executors", "column")]
    changes = list(CHANGES) if classic else []
    for place, where in enumerate(wheres):
        expected = answered(lambda where=where: every.where(where))
        turn = number + place
        for door in extent(dict.fromkeys(("scan", reads[turn % len(reads)])) if place < 1 else ("scan",), reads):
            found = answered(lambda door=door, where=where: READS[door](spark, ds.DeltaTable(table.uri), where))
            if found != expected and not (str(found).startswith("raises") and str(expected).startswith("raises")):
                wrong.append(f"{door} {where}: {found} != {expected}")
        for door in extent(changes[turn % len(CHANGES) :][:1] if place < 1 and number % 2 == 0 else [], changes):
            copy = ds.DeltaTable(table.clone(str(folder / uuid4().hex)).uri)
            try:
                CHANGES[door](spark, copy, where)
            except Exception as error:
                if not str(expected).startswith("raises"):
                    wrong.append(f"{door} {where}: raises {type(error).__name__} {str(error)[:300]}")
                continue
            left = copy.refresh().scan().to_arrow()["id"].to_pylist()
            wanted = [i for i in range(len(TEXTS)) if not isinstance(expected, list) or i not in expected]
            if sorted(left) != wanted:
                wrong.append(f"{door} {where}: leaves {left}, not {wanted}")
    return wrong


def test_rows_are_those_of_the_session(spark: Any, table: ds.DeltaTable) -> None:
    wrong = []
    for number, (settings, wheres) in enumerate(CASES):
        with session_settings(spark, settings):
            wrong += [f"{dict(settings)} {each}" for each in differing(spark, table, some(wheres, 2), number)]
    assert not wrong, "\n".join(wrong)


def test_functions_and_variables_are_those_of_the_session(named: Any, table: ds.DeltaTable) -> None:
    wrong = differing(named, table, [*OWN, *VARIABLES], 0)
    assert not wrong, "\n".join(wrong)


def test_variables_are_those_of_the_session_that_reads(spark: Any, table: ds.DeltaTable) -> None:
    other = spark.newSession()
    for name, value in {"whole": "id = 3", "day": "2024-01-03"}.items():
        other.conf.set(name, value)
    for where, ids in {"${whole}": [3], "d = '${day}'": [2]}.items():
        scan = table.scan(where)
        assert len(scan.paths()) == len(TEXTS)
        assert answered(lambda scan=scan: scan.to_spark(other)) == ids
    with pytest.raises(ds.PredicateError):
        table.scan("${whole}").to_spark(spark)


def test_rows_are_those_of_a_session_of_connect(spark: Any, tmp_path: Path) -> None:
    # Where a classic session runs, PySpark's functions make classic Columns: changes run in tests.spark.matrix.
    table, session, wrong = made(tmp_path / "t", COLUMNS), connect_session(spark), []
    for number, (settings, wheres) in enumerate(CASES):
        plain = [where for where in wheres[: extent(1, 2)] if not where.startswith(("c ", "length(c)"))]
        with session_settings(session, settings):
            wrong += [f"{dict(settings)} {each}" for each in differing(session, table, plain, number)]
    assert not wrong, "\n".join(wrong)


def test_a_function_of_a_server_is_found_while_the_frame_is_made(spark: Any, tmp_path: Path) -> None:
    table, session = made(tmp_path / "t", COLUMNS), connect_session(spark)
    scan = table.scan("upper(s) = 'X'")
    assert scan.to_spark(session).count() == 1
    session.udf.register("upper", lambda *_: "X")
    hides = tuple(map(int, session.version.split(".")[:2])) < (4, 2)
    assert scan.to_spark(session).count() == (len(TEXTS) if hides else 1)
