"""Spark's answers to random patterns, formats and URLs: `python -m tests.sparkexpr.regex.spark_patterns` asks."""

import random
from functools import cache
from pathlib import Path
from typing import Any

from tests.sparkexpr.random_formats import number_format, pattern, text
from tests.sparkexpr.random_urls import format_call, other_call, quoted
from tests.sparkexpr.regex.random_patterns import Case, cases
from tests.sparkexpr.stored import read_stored, session, write_stored

PATTERN_CALLS = (
    "t RLIKE p",
    "regexp_count(t, p)",
    "regexp_instr(t, p)",
    "regexp_substr(t, p)",
    "regexp_extract(t, p, g)",
    "regexp_extract_all(t, p, g)",
    "regexp_replace(t, p, r)",
    "split(t, p, l)",
)
"""Expressions over a text, a pattern, a group, a replacement and a limit."""
ERROR = {"fails": True}
_FILE = Path(__file__).with_name("spark_patterns.json.gz")
_BATCH = 32


def pattern_answers(spark: Any, given: list[Case]) -> list[list[Any]]:
    """The values of PATTERN_CALLS for each case."""
    rows = [(case.pattern, case.text, case.group, case.replacement, case.limit) for case in given]
    frame = spark.createDataFrame(rows, "p string, t string, g int, r string, l int")
    return [
        list(row) for row in frame.selectExpr(*(f"{call} AS c{i}" for i, call in enumerate(PATTERN_CALLS))).collect()
    ]


def calls(seed: int, count: int) -> list[str]:
    """Calls of constants: formats of numbers, templates, URLs and masks."""
    chance = random.Random(seed)
    numbers = [
        "0BD", "5", "-5", "12", "-123", "1234567", "0.5BD", "-0.5BD", "12.25BD", "-1234.50BD", "99999.99BD", "7Y",
    ]  # fmt: skip
    reals = ["0", "5", "-1234567", "0.5D", "-0.4D", "1234.565D", "0.045BD", "-12345.675BD", "0.1D", "2.5D", "9.995BD"]
    found: list[str] = []
    for _ in range(count):
        form = quoted(number_format(chance))
        found.append(f"to_char({chance.choice(numbers)}, {form})")
        found.append(f"try_to_number({quoted(text(chance))}, {form})")
        found.append(f"format_number({chance.choice(reals)}, {quoted(pattern(chance))})")
        found.append(f"format_number({chance.choice(reals)}, {chance.randrange(6)})")
        found += [format_call(chance), other_call(chance), other_call(chance)]
    return list(dict.fromkeys(found))


def call_answers(spark: Any, texts: list[str]) -> list[Any]:
    """The value of each call as text; ERROR where Spark fails."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    found: list[Any] = []
    for at in range(0, len(texts), _BATCH):
        found += _answers(spark, texts[at : at + _BATCH], (Py4JError, PySparkException))
    return found


def _answers(spark: Any, texts: list[str], errors: Any) -> list[Any]:
    try:
        [row] = spark.sql("SELECT " + ", ".join(f"CAST({each} AS STRING)" for each in texts)).collect()
    except errors:
        half = len(texts) // 2
        return [ERROR] if not half else _answers(spark, texts[:half], errors) + _answers(spark, texts[half:], errors)
    return list(row)


@cache
def stored() -> dict[str, Any]:
    """What the file contains: the answers by case, and by call."""
    found: dict[str, Any] = read_stored(_FILE)
    return found


def main() -> None:
    """Compute and write the answers of the installed Spark."""
    spark = session()
    given, texts = cases(1, 2000), calls(1, 120)
    rows = [[case.pattern, case.text, case.group, case.replacement, case.limit] for case in given]
    patterns = [[*row, answers] for row, answers in zip(rows, pattern_answers(spark, given), strict=True)]
    found = {"patterns": patterns, "calls": list(zip(texts, call_answers(spark, texts), strict=True))}
    write_stored(_FILE, found)


if __name__ == "__main__":
    main()
