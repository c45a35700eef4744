"""Values of expressions in Spark under other settings than the usual ones, and the settings that a Spark has.

meaning_texts.txt has an expression a line: literals, operators, casts between types, and calls of each family of
functions, over the columns of TABLE. meaning_changes.json has those that have another value under a setting, in any of
Spark 3.5.9, 4.1.4, 4.2.0 and 4.3.0; `python -m tests.spark.meaning_values` adds what the installed Spark has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
CHANGES = _FOLDER / "meaning_changes.json"
ZONE = "America/Los_Angeles"
TEXTS = tuple(
    line for line in (_FOLDER / "meaning_texts.txt").read_text("utf-8").splitlines() if not line.startswith("# ")
)

COLUMNS = (
    "i INT, l BIGINT, n SMALLINT, p DECIMAL(4,2), q DECIMAL(38,18), f FLOAT, g DOUBLE, s STRING, k STRING, b BOOLEAN, "
    "x BINARY, d DATE, ts TIMESTAMP, nt TIMESTAMP_NTZ, a ARRAY<INT>, sa ARRAY<STRING>, m MAP<STRING, INT>, "
    "md MAP<DOUBLE, INT>, st STRUCT<x: INT, y: STRING>, w STRING, j STRING, u STRING"
)
"""The columns of TABLE."""

TABLE = r"""
SELECT * FROM VALUES
    (1, 2L, 3S, 12.50, CAST('123456789012345.123456789012345678' AS DECIMAL(38,18)), CAST(1.5 AS FLOAT), 2.5D, 'abc',
     '1', true, X'616263', DATE'2024-02-29', TIMESTAMP'2024-03-10 02:30:00.123456',
     TIMESTAMP_NTZ'2024-03-10 02:30:00.5', array(1, NULL, 3), array('a', NULL, 'b'), map('k', 1, 'l', 2),
     map(1.5D, 1), named_struct('x', 1, 'y', 'q'), '2024-02-29', '{"a":1,"b":"x","c":null}',
     'R\u00e9sum\u00e9 \u0130\u00df'),
    (-7, 9223372036854775807L, -3S, -0.05, CAST('-0.000000000000000001' AS DECIMAL(38,18)), CAST('NaN' AS FLOAT),
     -0.0D, 'a\\tb''"c', '-0', false, X'FF00', DATE'1582-10-14', TIMESTAMP'1582-10-10 23:59:59',
     TIMESTAMP_NTZ'1900-01-01 00:00:00', array(), array(), map('k', CAST(NULL AS INT)),
     map(double('NaN'), 2, -0.0D, 3), named_struct('x', CAST(NULL AS INT), 'y', CAST(NULL AS STRING)), '1500-1-1',
     '{"a":"","b":2.0,"a":3}', ' pad  '),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL)
    AS t(i, l, n, p, q, f, g, s, k, b, x, d, ts, nt, a, sa, m, md, st, w, j, u)
"""
"""A row of ordinary values, one of values at the edges, and one of NULLs."""

_AT_ONCE = 48
_BETWEEN = "\x01"
_ONE_OF = re.compile(r"(?:should be one of|Valid values are) '?([\w, '-]+)")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
# They end the session, or need what no test has: a metastore, a cluster, a class.
_NOT_SET = ("spark.sql.catalogImplementation", "spark.sql.extensions", "spark.sql.cache.serializer")
# How a row of Java shows a time; and what a test gives, or every expression is evaluated with.
_NOT_SEEN = ("spark.sql.datetime.java8API.enabled", "spark.sql.ansi.enabled", "spark.sql.session.timeZone")


def entries(spark: Any) -> dict[str, tuple[str, str, bool]]:
    """Every setting of SQLConf: its default, what it says of a wrong value, and whether it is static."""
    internal = spark._jvm.org.apache.spark.sql.internal
    registered = getattr(getattr(internal, "SQLConf$"), "MODULE$")
    # Its settings are registered when it is first used.
    getattr(getattr(internal, "StaticSQLConf$"), "MODULE$")
    with suppress(Exception):  # those of Connect exist once its server was used, where it is installed
        spark._jvm.java.lang.Class.forName("org.apache.spark.sql.connect.config.Connect")
        getattr(getattr(spark._jvm.org.apache.spark.sql.connect.config, "Connect$"), "MODULE$")
    found = {}
    for entry in spark._jvm.java.util.ArrayList(registered.getConfigEntries()):
        try:
            entry.valueConverter().apply("?")
            refusal = ""
        except Exception as error:
            refusal = str(error)
        found[entry.key()] = (entry.defaultValueString(), refusal, registered.isStaticConfigKey(entry.key()))
    return found


def unknown_keys(spark: Any, known: set[str], prefixes: tuple[str, ...]) -> list[str]:
    """The settings of a Spark that are not known, not below a prefix, and not in unrelated_settings.txt."""
    lines = (_FOLDER / "unrelated_settings.txt").read_text("utf-8").splitlines()
    unrelated = {f"spark.{word}" for line in lines if not line.startswith("# ") for word in line.split()}
    below = (*prefixes, *(word for word in unrelated if word.endswith(".")))
    return [key for key in sorted(entries(spark)) if key not in known | unrelated and not key.startswith(below)]


def other_values(default: str, refusal: str) -> list[str]:
    """The other values of a boolean or enumerated setting; none for others."""
    if default in ("true", "false"):
        return ["false" if default == "true" else "true"]
    if (found := _ONE_OF.search(refusal)) is not None:
        values = re.split(r"[ ,']+", found[1].partition(" but was")[0])
        return [value for value in values if value not in ("", "and") and value.upper() != default.upper()]
    return ["true", "false"] if "boolean" in refusal else []


class Expressions:
    """Evaluates expressions over TABLE in a classic session, whose settings it leaves as they were."""

    def __init__(self, spark: Any, ansi: bool) -> None:
        self._session = spark._jsparkSession.newSession()
        self._set("spark.sql.session.timeZone", ZONE)
        self._set("spark.sql.ansi.enabled", "false")
        rows = self._session.sql(TABLE)
        # Rows of this process: Spark then computes expressions without a job, while it plans.
        self._session.createDataFrame(rows.collectAsList(), rows.schema()).createOrReplaceTempView("t")
        self._set("spark.sql.ansi.enabled", str(ansi).lower())

    def changed(self, usual: dict[str, str], key: str, value: str) -> list[str]:
        """The texts that have another value under this value of a setting; none if it cannot be set.

        Those that fail under it are not among them: Spark fails where deltaskip answers, but no row is lost.
        """
        with self._under(key, value) as is_set:
            found = self.values(list(usual)) if is_set else usual
        return [text for text in usual if found[text] != usual[text] and not found[text].startswith("!")]

    def values(self, texts: list[str]) -> dict[str, str]:
        """The type and the values of each expression as a text, or the condition of its failure."""
        found: dict[str, str] = {}
        for start in range(0, len(texts), _AT_ONCE):
            self._each(texts[start : start + _AT_ONCE], found)
        return found

    def _each(self, texts: list[str], found: dict[str, str]) -> None:
        try:
            found.update(zip(texts, self._together(texts), strict=True))
        except Exception as error:
            if len(texts) > 1:
                half = len(texts) // 2
                self._each(texts[:half], found)
                self._each(texts[half:], found)
            else:
                condition = _CONDITION.search(str(error))
                found[texts[0]] = f"! {condition[1] if condition else type(error).__name__}"

    def _together(self, texts: list[str]) -> list[str]:
        columns = ", ".join(f"({text}) AS c{number}" for number, text in enumerate(texts))
        frame = self._session.sql(f"SELECT {columns} FROM t")
        rows = [self._cells(row, len(texts)) for row in frame.collectAsList()]
        types = [field.dataType().simpleString() for field in frame.schema().fields()]
        return [" | ".join(cells) for cells in zip(types, *rows, strict=True)]

    def _cells(self, row: Any, count: int) -> list[str]:
        cells = row.mkString(_BETWEEN).split(_BETWEEN)
        if len(cells) != count:
            cells = [str(row.get(number)) for number in range(count)]
        # Java writes an array of bytes as an address.
        return [bytes(row.get(n)).hex() if cell.startswith("[B@") else cell for n, cell in enumerate(cells)]

    def _set(self, key: str, value: str) -> None:
        self._session.conf().set(key, value)

    @contextmanager
    def _under(self, key: str, value: str) -> Iterator[bool]:
        conf = self._session.conf()
        before = conf.getAll().get(key)
        try:
            try:
                self._set(key, value)
            except Exception:
                yield False
            else:
                yield True
        finally:
            if before.isDefined():
                self._set(key, before.get())
            else:
                conf.unset(key)


def settings_to_try(spark: Any) -> list[tuple[str, str]]:
    """Every other value of every boolean and enumerated setting of this Spark."""
    found = entries(spark)
    return [
        (key, value)
        for key, (default, refusal, static) in sorted(found.items())
        if not static and key not in _NOT_SET + _NOT_SEEN
        for value in other_values(default, refusal)
    ]


def recorded() -> dict[str, dict[str, list[str]]]:
    """The texts that change, by "key=value" and whether ANSI mode is on ("true" or "false"), in any Spark tried."""
    found: dict[str, dict[str, list[str]]] = json.loads(CHANGES.read_text("utf-8"))
    return found


def _add_changes() -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    found = recorded()
    for ansi in (True, False):
        expressions, changes = Expressions(spark, ansi), found[str(ansi).lower()]
        usual = expressions.values(list(TEXTS))
        for key, value in settings_to_try(spark):
            if changed := {*changes.get(f"{key}={value}", ()), *expressions.changed(usual, key, value)}:
                changes[f"{key}={value}"] = sorted(changed, key=TEXTS.index)
    spark.stop()
    CHANGES.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    _add_changes()
