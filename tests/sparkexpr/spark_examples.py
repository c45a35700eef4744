"""The examples of Spark's documentation of its functions, and their values: `python -m tests.sparkexpr.spark_examples`.

Every example of a scalar function of the system that is a single expression is evaluated by Spark 4.1 in UTC and ANSI
mode; those of the present time, of random numbers and of the session apart. The answers are in spark_examples.json.gz.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from tests.sparkexpr.stored import read_stored, session, write_stored

FILE = Path(__file__).with_name("spark_examples.json.gz")
ERROR = "error"
"""The kind of answer of an example that Spark fails to evaluate."""

# Functions whose value is not that of their arguments alone.
_VARYING = re.compile(
    r"\b(rand|randn|random|uuid|shuffle|randstr|uniform|now|current_\w+|curdate|localtimestamp|user|session_user|version|"
    r"input_file_\w+|monotonically_increasing_id|spark_partition_id|java_method|reflect|try_reflect|aes_\w+|try_aes_\w+|"
    r"unix_timestamp\(\)|localtime|sleep)\b",
    re.IGNORECASE,
)


@cache
def examples() -> dict[str, dict[str, Any]]:
    """By the text of the expression: `type`, as Spark's JSON, and `value`, as JSON or null; or only `type`: ERROR."""
    found: dict[str, dict[str, Any]] = read_stored(FILE)
    return found


def collect(spark: Any) -> dict[str, dict[str, Any]]:
    """The examples of a session, with their answers."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names = [registry.listFunction().apply(i).funcName() for i in range(registry.listFunction().size())]
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(set(names)):
        info = (
            spark._jsparkSession.sessionState()
            .catalog()
            .lookupFunctionInfo(spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        )
        if info.getGroup() in ("agg_funcs", "window_funcs", "generator_funcs", "table_funcs"):
            continue
        for text in re.findall(r"> SELECT (.*?);\s*\n", info.getExamples().replace("_FUNC_", name), re.DOTALL):
            expression = " ".join(text.split())
            if _VARYING.search(expression) or re.search(r"\bFROM\s+VALUES|\bOVER\b", expression, re.IGNORECASE):
                continue
            answer = _answer(spark, expression)
            if answer is not None:
                found[expression] = answer
    return found


def _answer(spark: Any, expression: str) -> dict[str, Any] | None:
    try:
        frame = spark.sql(f"SELECT {expression}")
    except Exception:
        return {"type": ERROR}
    if len(frame.schema.fields) != 1:
        return None
    field = frame.schema.fields[0]
    try:
        shown = frame.selectExpr(f"to_json(named_struct('v', `{field.name.replace('`', '``')}`)) AS v").collect()[0].v
        value = json.loads(shown).get("v")
        if field.dataType.typeName() in ("string", "binary", "date", "timestamp", "timestamp_ntz", "double", "float"):
            value = _exact(frame, field.dataType.typeName())
    except Exception:
        return {"type": ERROR}
    return {"type": field.dataType.jsonValue(), "value": value}


def _exact(frame: Any, kind: str) -> Any:
    """A value as text, such as no JSON has: hexadecimal bytes, days, microseconds, repr of a double."""
    column = frame.toArrow().column(0).combine_chunks()
    if not column[0].is_valid:
        return None
    if kind in ("date", "timestamp", "timestamp_ntz"):
        return int(column[0].value)
    value = column[0].as_py()
    return value.hex() if isinstance(value, bytes) else value if isinstance(value, str) else repr(value)


def main() -> None:
    """Record the answers."""
    found = collect(session())
    write_stored(FILE, found)
    print(len(found), "examples,", sum(each["type"] == ERROR for each in found.values()), "of which fail")


if __name__ == "__main__":
    main()
