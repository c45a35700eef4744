"""Spark's answers to constants of nested values, JSON and variants: `python -m tests.sparkexpr.spark_nested`.

They are in spark_nested.json.gz: by the text of the expression its value as a text (of a variant as JSON) and its type,
or null if Spark 4.1 refuses it or fails, in UTC and ANSI mode. The command asks Spark again for those that are there,
and for others in its arguments.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.sparkexpr.stored import read_stored, session, write_stored

FILE = Path(__file__).with_name("spark_nested.json.gz")


@cache
def answers() -> dict[str, tuple[str | None, str] | None]:
    """The value and the type by the text; None for an error."""
    found: dict[str, Any] = read_stored(FILE)
    return {text: None if answer is None else (answer[0], answer[1]) for text, answer in found.items()}


def type_text(type_: Any) -> str:
    """A type in Spark's JSON as a short text, in which `!` means that something is never NULL."""
    if not isinstance(type_, dict):
        return str(type_)

    def mark(nullable: bool) -> str:
        return "" if nullable else "!"

    match type_["type"]:
        case "array":
            return f"array<{type_text(type_['elementType'])}{mark(type_['containsNull'])}>"
        case "map":
            value = type_text(type_["valueType"]) + mark(type_["valueContainsNull"])
            return f"map<{type_text(type_['keyType'])},{value}>"
    fields = (f"{f['name']}:{type_text(f['type'])}{mark(f['nullable'])}" for f in type_["fields"])
    return f"struct<{','.join(fields)}>"


def answer(spark: Any, text: str) -> tuple[str | None, str] | None:
    """Spark's answer to one expression."""
    try:
        frame = spark.sql(f"SELECT {text} AS r")
        type_ = frame.schema.fields[0].dataType.jsonValue()
        shown = "to_json(r)" if type_ == "variant" else "CAST(r AS STRING)"
        return frame.selectExpr(f"{shown} AS r").collect()[0].r, type_text(type_)
    except Exception:
        return None


def main(*texts: str) -> None:
    """Record the answers."""
    spark = session()
    write_stored(FILE, {text: answer(spark, text) for text in {*answers(), *texts}})


if __name__ == "__main__":
    main(*sys.argv[1:])
