"""Spark's answers to the grid of the edges of types: `python -m tests.sparkexpr.spark_edges 4.1` renews those of 4.1.

With `--missing`, only cases without an answer are asked; those of later versions are renewed as a whole.

Spark of the version named must be installed. For a version after the first, only the answers that differ are stored.
Each expression is analyzed and optimized in a query over a table of the edges, and compiled as Spark compiles it for a
row. It is then applied to each row by itself, because an error in one row of a query would hide the others' answers.
"""

import math
import sys
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values.calendar import parse_timestamp_ntz
from deltaskip.sparkexpr.values.floats import nearest_float
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import ERROR, VERSIONS, Case, answers, cases, decoded, encoded, file_of
from tests.sparkexpr.stored import session, write_stored

_BATCH = 100
_ARROW: dict[t.DataType, pa.DataType] = {
    t.BOOLEAN: pa.bool_(),
    t.BYTE: pa.int8(),
    t.SHORT: pa.int16(),
    t.INTEGER: pa.int32(),
    t.LONG: pa.int64(),
    t.FLOAT: pa.float32(),
    t.DOUBLE: pa.float64(),
    t.STRING: pa.string(),
    t.BINARY: pa.binary(),
    t.DATE: pa.date32(),
    t.TIMESTAMP: pa.timestamp("us", "UTC"),
    t.TIMESTAMP_NTZ: pa.timestamp("us"),
}
_TEXT_OF = {
    "string": "hex({})",
    "binary": "hex({})",
    "date": "CAST(unix_date({}) AS STRING)",
    "timestamp": "CAST(unix_micros({}) AS STRING)",
}
_TYPES = {simple_string(type_): type_ for type_ in _ARROW}


def collect(session: Any, wanted: Sequence[Case]) -> dict[str, dict[str, Any]]:
    """Spark's answers by the key of the case, with ANSI on and off. A case that Spark refuses has none."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for type_, edges in EDGES.items():
            path = str(Path(folder) / f"{len(found)}.parquet")
            pq.write_table(table_of(type_, edges), path)
            of_type = [case for case in wanted if case.type == type_]
            for zone in dict.fromkeys(case.zone for case in of_type):
                in_zone = [case for case in of_type if case.zone == zone]
                for mode in ("on", "off"):
                    session.conf.set("spark.sql.session.timeZone", zone)
                    session.conf.set("spark.sql.ansi.enabled", str(mode == "on").lower())
                    for at in range(0, len(in_zone), _BATCH):
                        for case, answer in _answers(session, path, in_zone[at : at + _BATCH]):
                            _add(found, case, mode, answer)
    return found


def _add(found: dict[str, dict[str, Any]], case: Case, mode: str, answer: tuple[str, list[Any]]) -> None:
    result, values = answer
    if mode == "on":
        found[case.key] = {"type": result, "on": values}
    elif case.key in found and found[case.key]["type"] == result and found[case.key]["on"] != values:
        found[case.key]["off"] = values


def table_of(type_: t.DataType, edges: Sequence[Any]) -> pa.Table:
    """The edges in the order of their number `n`."""
    if isinstance(type_, t.DecimalType):
        values = pa.array(edges, pa.decimal128(type_.precision, type_.scale))
    elif type_ == t.DATE:
        values = pa.array(edges, pa.int32()).cast(pa.date32())
    elif type_ in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        values = pa.array(edges, pa.int64()).cast(_ARROW[type_])
    else:
        values = pa.array(edges, _ARROW[type_])
    return pa.table({"n": pa.array(range(len(edges)), pa.int32()), "c": values})


def _answers(session: Any, path: str, batch: Sequence[Case]) -> list[tuple[Case, tuple[str, list[Any]]]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    frame = session.read.parquet(path)
    try:
        fields = frame.selectExpr(*(f"({case.sql}) AS r" for case in batch)).schema.fields
        results = [field.dataType.simpleString() for field in fields]
        texts = [
            _TEXT_OF.get(r, "CAST({} AS STRING)").format(f"({c.sql})") for c, r in zip(batch, results, strict=True)
        ]
        plan = frame.selectExpr(*(f"{text} AS r{i}" for i, text in enumerate(texts)))._jdf.queryExecution()
        optimized = plan.optimizedPlan()
        listed, inputs = optimized.projectList(), optimized.child().output()
    except (PySparkException, Py4JError):
        if len(batch) > 1:
            half = len(batch) // 2
            return _answers(session, path, batch[:half]) + _answers(session, path, batch[half:])
        return []
    collected = frame.orderBy("n")._jdf.queryExecution().executedPlan().executeCollect()
    # Calls through Some.map: py4j would take the method of another generated class of the same name.
    rows = [session._jvm.scala.Some(row) for row in collected]
    names = [inputs.apply(i).name() for i in range(inputs.size())]
    assert names == ["n", "c"], names
    found = []
    for i, (case, result) in enumerate(zip(batch, results, strict=True)):
        found.append((case, (result, _applied(session, listed.apply(i), inputs, rows, result))))
    return found


def _applied(session: Any, expression: Any, inputs: Any, rows: Sequence[Any], result: str) -> list[Any]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    jvm = session._jvm
    one = getattr(jvm, "scala.collection.immutable.Nil$").__getattr__("MODULE$").prepended(expression)
    projection = jvm.org.apache.spark.sql.catalyst.expressions.UnsafeProjection.create(one, inputs)
    values: list[Any] = []
    for row in rows:
        try:
            text = row.map(projection).get().getUTF8String(0)
        except (Py4JError, PySparkException):
            values.append(ERROR)
            continue
        values.append(None if text is None else _canonical(text.toString(), result))
    return values


def _canonical(text: str, result: str) -> str | None:
    """Spark's text of a result as `encoded` has it."""
    if result == "string":
        return bytes.fromhex(text).decode("utf-8", "surrogateescape")
    if result == "timestamp_ntz":
        micros = parse_timestamp_ntz(text)
        assert micros is not None, text
        return str(micros)
    if result == "binary":
        return text.lower()
    if result == "float" and math.isfinite(float(text)):
        # -0.0 has its sign from the text.
        return repr(math.copysign(nearest_float(Decimal(text)), -1.0 if text.startswith("-") else 1.0))
    if result in ("float", "double"):
        return repr(float(text))
    if result.startswith("decimal"):
        scale = int(result.rstrip(")").split(",")[1])
        return encoded(decoded(text, t.DecimalType(38, scale)), t.DecimalType(38, scale))
    return text


def version_of(session: Any) -> str:
    """The major and minor version of a session, as in `VERSIONS`."""
    return ".".join(session.version.split(".")[:2])


def write(version: str, found: dict[str, dict[str, Any]]) -> None:
    """Write the file of answers of a version; for a version after the first, those that differ from the first's."""
    text: dict[str, Any] = found
    if version != VERSIONS[0]:
        first = answers()
        text = {key: found.get(key) for key in {**first, **found} if found.get(key) != first.get(key)}
    write_stored(file_of(version), text)


def main(version: str, *options: str) -> None:
    """Compute and write the answers of the installed Spark, which must have the version."""
    spark = session()
    if version not in VERSIONS or version_of(spark) != version:
        sys.exit(f"Spark {version_of(spark)} is installed; name its version, one of {', '.join(VERSIONS)}.")
    known: dict[str, dict[str, Any]] = {}
    if "--missing" in options and version == VERSIONS[0]:
        known = answers()
    write(version, {**known, **collect(spark, [case for case in cases() if case.key not in known])})


if __name__ == "__main__":
    main(*sys.argv[1:] or VERSIONS[:1])
