"""Settings on which the meaning of expressions depends."""

from __future__ import annotations

import pyarrow as pa

import deltaskip as ds
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.sparkexpr.meaning_settings import PREFIXES, SETTINGS, UNRELATED
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import numbers
from tests.spark.meaning_values import unknown_keys

# A setting of the session, its value, and predicates that depend on it.
_UNDER = (
    ("x", "a", ("s = '${x}'", "s != '${x}'")),
    ("spark.sql.ansi.doubleQuotedIdentifiers", "true", ('"s" = q', '"s" <> q')),
    ("spark.sql.parser.escapedStringLiterals", "true", (r"s = 'a\tb'", r"s <> 'a\tb'")),
    ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "true", ("id / 1e0 = 2",)),
    ("spark.sql.jsonGenerator.ignoreNullFields", "false", ("to_json(named_struct('a', q)) = '{\"a\":null}'",)),
    ("spark.sql.legacy.nobodyKnows", "1", ("id = 2",)),
)


@case("Every setting of SQLConf is in the table of those that matter, or cannot matter")
def settings(session: Session) -> None:
    if session.kind == "connect":
        # It lists only public settings, which classic sessions list, too.
        return
    equal(unknown_keys(session.spark, {row.key for row in SETTINGS} | UNRELATED, PREFIXES), [])


@case("predicates mean what the session says, in reads and deletes")
def meaning(session: Session) -> None:
    spark = session.spark
    texts = [("a", "a"), ("b", None), ("a\tb", "k"), ("a\\tb", "z")]
    table = ds.DeltaTable.create(session.folder / "t", "id BIGINT, s STRING, q STRING")
    for i, (text, other) in enumerate(texts):
        table.append(pa.table({"id": [i], "s": [text], "q": pa.array([other], pa.string())}))
    table.refresh()
    every = table.scan().to_spark(spark)
    wrong = []
    for key, value, wheres in _UNDER:
        with session_settings(spark, {key: value}):
            for where in wheres:
                expected, scan = numbers(every.where(where)), table.scan(where)
                copy = ds.DeltaTable(table.clone(str(session.folder / f"copy{abs(hash(where))}")).uri)
                copy.delete(where, spark=spark)
                left = sorted(copy.refresh().scan().to_arrow()["id"].to_pylist())
                if numbers(scan.to_spark(spark)) != expected or left != sorted({0, 1, 2, 3} - set(expected)):
                    wrong.append(f"{key} {where}: {numbers(scan.to_spark(spark))}, left {left}, not {expected}")
    equal(wrong, [])
