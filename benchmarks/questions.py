"""The predicates of the planning benchmarks, written once and rendered in each engine's dialect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_START = datetime(2015, 1, 1, tzinfo=UTC)
_SECONDS_PER_FILE = 300


@dataclass(frozen=True, slots=True)
class Condition:
    """`column op value`; type: long, date, timestamp, string, decimal or double; value as text."""

    column: str
    op: str
    type: str
    value: str


@dataclass(frozen=True, slots=True)
class Question:
    """A conjunction of conditions on the reference table; of none, every file."""

    name: str
    conditions: tuple[Condition, ...]

    def spark_sql(self) -> str | None:
        """For deltaskip and delta-spark."""
        prefixes = {"date": "DATE ", "timestamp": "TIMESTAMP "}
        return self._sql("`", prefixes)

    def delta_rs_sql(self) -> str | None:
        """For deltalake, which reads dates and timestamps out of strings."""
        return self._sql('"', {})

    def duckdb_sql(self) -> str:
        """For DuckDB, the WHERE clause without the word; TRUE for every file."""
        return self._sql('"', {"date": "DATE ", "timestamp": "TIMESTAMPTZ "}) or "TRUE"

    def _sql(self, quote: str, prefixes: dict[str, str]) -> str | None:
        texts = []
        for condition in self.conditions:
            quoted = condition.type in ("date", "timestamp", "string")
            value = f"{prefixes.get(condition.type, '')}'{condition.value}'" if quoted else condition.value
            name = f"{quote}{condition.column}{quote}" if condition.column == "user" else condition.column
            texts.append(f"{name} {condition.op} {value}")
        return " AND ".join(texts) or None


def questions(files: int) -> dict[str, Question]:
    """The questions for a reference table of so many files in its checkpoint, by name.

    narrow keeps 4 files in the middle; partition one day of 3,300; window a day of `ts` and a country; string 70 % of
    the files; scattered (decimal AND double) about 13 of a million, all over the checkpoint; listing all.
    """
    middle = files // 2
    day = _START + timedelta(seconds=middle * _SECONDS_PER_FILE)
    asked = {
        "narrow": [
            Condition("id", ">=", "long", str(middle * 1000)),
            Condition("id", "<=", "long", str(middle * 1000 + 3500)),
        ],
        "partition": [Condition("day", "=", "date", "2018-01-01")],
        "window": [
            Condition("ts", ">=", "timestamp", _text(day)),
            Condition("ts", "<", "timestamp", _text(day + timedelta(days=1))),
            Condition("country", "=", "string", "CH"),
        ],
        "string": [Condition("user", "=", "string", "user02099")],
        "scattered": [Condition("price", "=", "decimal", "1234.56"), Condition("amount", "=", "double", "512.5")],
        "listing": [],
    }
    return {name: Question(name, tuple(conditions)) for name, conditions in asked.items()}


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S+00:00")
