"""Settings on which the meaning of expressions depends, or which leave out files."""

from __future__ import annotations

import pyarrow as pa

import deltaskip as ds
from deltaskip.spark.session.own_texts import hidden_functions
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.sparkexpr.meaning_settings import PREFIXES, SETTINGS, UNRELATED
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import ids, numbers
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


@case("no setting leaves out data files, in reads and in merges, which would insert their rows again")
def every_file(session: Session) -> None:
    spark = session.spark
    table = ds.DeltaTable.create(session.folder / "t", "id BIGINT")
    table.append(ids(1, 2))
    jobs = ds.options.changed(spark_jobs="always")
    with session_settings(spark, {"spark.sql.files.ignoredPathSegmentRegex": ".*"}), jobs:
        equal(numbers(table.scan().to_spark(spark)), [1, 2])
        merge = table.merge(spark.range(2, 4), "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_delete().when_not_matched_insert_all().execute()
        equal(numbers(table.refresh().scan().to_spark(spark)), [1, 3])


@case("functions that SET PATH puts before Spark's hide these, from 4.3 on")
def functions_on_the_path(session: Session) -> None:
    spark, names = session.spark, {"coalesce", "getbit", "rpad"}
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 3):
        with session_settings(spark, {"spark.sql.path.enabled": "true"}):
            equal(hidden_functions(spark, names), frozenset())
        return
    table = ds.DeltaTable.create(
        session.folder / "t", "id BIGINT, c CHAR(3)", properties={"delta.enableDeletionVectors": "true"}
    )
    table.append(ids(1, 2, c=["a", "b"]))
    table.delete("id = 1")
    spark.sql("CREATE DATABASE own")
    spark.sql("CREATE FUNCTION own.rpad(s STRING, n INT, p STRING) RETURNS STRING RETURN 'own'")
    with session_settings(spark, {"spark.sql.path.enabled": "true"}):
        for path, expected in (
            ("spark_catalog.own, system.builtin", {"rpad"}),
            ("spark_catalog.none, system.session, system.builtin", set()),
            ("system.builtin, spark_catalog.own", set()),
        ):
            spark.sql(f"SET PATH = {path}, spark_catalog.default")
            equal(hidden_functions(spark, names), expected)
            try:
                equal([tuple(row) for row in table.scan().to_spark(spark).collect()], [(2, "b  ")])
            except ds.UnsupportedFeature as error:
                equal(("function rpad of its own" in str(error), bool(expected)), (True, True))
        spark.sql("SET PATH = default_path")
    spark.sql("DROP DATABASE own CASCADE")
