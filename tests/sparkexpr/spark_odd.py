"""Spark's answers to odd predicates: `python -m tests.sparkexpr.spark_odd` renews spark_odd.json."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.sparkexpr.types.arrow import arrow_schema
from tests.sparkexpr.odd import ANSWERS, PREDICATES, ROWS, SCHEMA, SUMS
from tests.sparkexpr.stored import session


def write_rows(path: Path) -> None:
    """Write the rows as Parquet, with their number in `n`."""
    table = pa.Table.from_pylist(ROWS, schema=arrow_schema(SCHEMA))
    pq.write_table(table.append_column("n", pa.array(range(len(ROWS)), pa.int32())), path)


def collect(session: Any, predicates: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Spark's answers to `predicates`, with ANSI mode on and off."""
    found: dict[str, dict[str, Any]] = {text: {} for text in predicates}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        for mode in ("on", "off"):
            session.conf.set("spark.sql.ansi.enabled", str(mode == "on").lower())
            frame = session.read.parquet(str(path)).coalesce(1)
            for text, modes in found.items():
                modes[mode] = _answer(frame, text)
    return found


def collect_sums(session: Any, expressions: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """The type and the text of each expression's value in two time zones; None where Spark fails."""
    session.conf.set("spark.sql.ansi.enabled", "true")
    found: dict[str, dict[str, str | None]] = {text: {} for text in expressions}
    for zone in ("UTC", "Europe/Berlin"):
        session.conf.set("spark.sql.session.timeZone", zone)
        for text, answers in found.items():
            try:
                answers[zone] = session.sql(f"SELECT concat(typeof({text}), ' ', CAST({text} AS STRING))").first()[0]
            except Exception:
                answers[zone] = None
    return found


def _answer(frame: Any, text: str) -> Any:
    try:
        wanted = frame.where(text)
        _ = wanted.schema
    except Exception as error:
        return "parse" if type(error).__name__ == "ParseException" else "analysis"
    try:
        return sorted(row["n"] for row in wanted.select("n").collect())
    except Exception:
        return "run"


def main() -> None:
    """Collect and store the answers."""
    spark = session()
    found = {"predicates": collect(spark, PREDICATES), "sums": collect_sums(spark, SUMS)}
    parts = (f"{json.dumps(name)}: {{\n{_lines(answers)}\n}}" for name, answers in found.items())
    ANSWERS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    spark.stop()


def _lines(answers: dict[str, Any]) -> str:
    return ",\n".join(f"{json.dumps(text)}: {json.dumps(answer)}" for text, answer in answers.items())


if __name__ == "__main__":
    main()
