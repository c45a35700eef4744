"""The types that the arguments of functions may have: `python -m tests.sparkexpr.spark_arguments` renews the answers.

In a call of each function, each argument is replaced by one of each type. Spark's analyzer, in ANSI mode, refuses the
call, or says the type of the result. The answers are in spark_arguments.json.gz.
"""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.nodes import Opaque
from deltaskip.sparkexpr.text.expressions import is_valid_sql
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import simple_string
from tests.sparkexpr.edges import _NAMES, calls
from tests.sparkexpr.spark_operands import _MORE, _pieces
from tests.sparkexpr.stored import read_stored, write_stored

FILE = Path(__file__).with_name("spark_arguments.json.gz")
REFUSED, LEFT = "!", "?"

DDL = {
    "bo": "BOOLEAN", "i": "INT", "x": "DOUBLE", "de": "DECIMAL(10,2)", "s": "STRING", "b": "BINARY", "d": "DATE",
    "t": "TIMESTAMP", "n": "TIMESTAMP_NTZ", "v": "VARIANT", "a": "ARRAY<INT>", "m": "MAP<STRING, INT>",
    "st": "STRUCT<x: INT, y: STRING>", "ci": "STRING COLLATE UTF8_LCASE", "sa": "ARRAY<STRING>",
}  # fmt: skip
SCHEMA = parse_columns(", ".join(f"{name} {ddl}" for name, ddl in DDL.items()))
CONSTANTS = ("NULL", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '1 02:03:04' DAY TO SECOND", "make_interval(1)")
# In the calls of spark_operands.
_OLD = ("i", "s", "x", "b", "d", "t", "n", "bo", "de", "i", "a", "sa", "m", "st")
_OTHERS = """
    {s} LIKE {s}; {s} ILIKE {s}; {s} RLIKE {s}; startswith({s}, {s}); endswith({s}, {s}); contains({s}, {s});
    {i} BETWEEN {i} AND {i}; {i} IN ({i}, {i}); {i} = {i}; {i} < {i}; {i} <=> {i}; CASE WHEN {bo} THEN {i} ELSE {i} END;
    {s} NOT LIKE {s}; NOT {bo}; {bo} AND {bo}; string({i}); {a}[{i}]; {m}[{s}]; -{i}; {i} IS NULL; {d} - {d}; {t} - {t};
    CAST({i} AS STRING); CAST({i} AS BIGINT); CAST({i} AS BINARY); CAST({i} AS DATE); CAST({i} AS BOOLEAN);
    TRY_CAST({i} AS DOUBLE); CAST({i} AS TIMESTAMP); CAST({i} AS DECIMAL(20,6)); CAST({i} AS ARRAY<STRING>);
    CAST({i} AS VARIANT); if({bo}, {i}, {i}); format_string({'%s'}, {i}); to_date({s}); date_add({d}, {i})
"""

_PAIRS = ("{} = {}", "{} < {}", "{} IN ({})", "coalesce({}, {})")


def told(sql: str) -> str:
    """The type of a call as bound here, or that it is refused, or left to Spark."""
    try:
        node = bind_expression(parse_sql(sql), SCHEMA)
    except PredicateError:
        return REFUSED
    type_ = None if isinstance(node, Opaque) else type_of(node)
    return LEFT if type_ is None else simple_string(type_)


@cache
def cases() -> tuple[str, ...]:
    """The calls."""
    found: dict[str, None] = {}
    for name in _NAMES:
        for pieces in _first_calls(name):
            found.update(dict.fromkeys(_with_each_type(pieces)))
    for text in (_MORE + ";" + _OTHERS).split(";"):
        pieces = re.split("[{}]", " ".join(text.split()))
        pieces[1::2] = [_OLD[int(p[1:])] if re.fullmatch("v[0-9]+", p) else p for p in pieces[1::2]]
        if pieces[1:]:
            found.update(dict.fromkeys(_with_each_type(pieces)))
    for form, one, other in itertools.product(_PAIRS, (*DDL, *CONSTANTS), (*DDL, *CONSTANTS)):
        found[form.format(one, other)] = None
    return tuple(text for text in found if is_valid_sql(text))


def _first_calls(name: str) -> Iterator[list[str]]:
    """A call that is accepted for each number of arguments."""
    known = set()
    for call in calls(name):
        for column in DDL:
            pieces = _pieces(call.replace("{c}", column)) or _operand(call, column)
            if pieces and len(pieces) not in known and told("".join(pieces)) not in (REFUSED, LEFT):
                known.add(len(pieces))
                yield pieces


def _operand(call: str, column: str) -> list[str] | None:
    return ["-", column, ""] if call == "-{c}" else None


def _with_each_type(pieces: list[str]) -> Iterator[str]:
    for place in range(1, len(pieces), 2):
        for argument in (*DDL, *CONSTANTS):
            yield "".join([*pieces[:place], argument, *pieces[place + 1 :]])


@cache
def answers() -> dict[str, str]:
    """Spark's answer to each call."""
    found: dict[str, str] = read_stored(FILE)
    return found


def collect(spark: Any, texts: tuple[str, ...]) -> dict[str, str]:
    """Ask Spark's analyzer for the type of each call."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException, ParseException

    columns = ", ".join(f"CAST(NULL AS {ddl}) AS {name}" for name, ddl in DDL.items())
    frame = spark.sql(f"SELECT {columns}")._jdf
    spark.conf.set("spark.sql.ansi.enabled", "true")
    found = {}
    for text in texts:
        try:
            plan = frame.selectExpr(spark._jvm.PythonUtils.toSeq([f"{text} AS r"]))
            found[text] = re.sub(r" collate \w+", "", plan.schema().apply(0).dataType().catalogString())
        except (Py4JJavaError, AnalysisException, ParseException):
            found[text] = REFUSED
    return found


if __name__ == "__main__":
    from tests.sparkexpr.spark_random_expressions import session

    # mtime=0 writes the same bytes for the same answers.
    write_stored(FILE, collect(session(), cases()))
