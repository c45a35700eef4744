"""Tables of delta-spark whose types were widened before a checkpoint, and how many rows match predicates at the bounds.

    python -m tests.reference.widened_bounds FOLDER ANSWERS.json

One table for each form of the statistics in checkpoints. ANSWERS.json holds, by table, predicates with the number of
rows that match, counted by delta-spark without data skipping.
"""

import json
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.extent import extent
from tests.reference.oracle import session

_ALL = {
    "both": {"delta.checkpoint.writeStatsAsStruct": "true"},
    "struct": {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"},
    "json": {"delta.checkpoint.writeStatsAsStruct": "false"},
}
FORMS = {form: _ALL[form] for form in extent(["struct"], _ALL)}
COLUMNS = {
    "b": ("TINYINT", "INT"),
    "s": ("SMALLINT", "BIGINT"),
    "i": ("INT", "DOUBLE"),
    "n": ("INT", "DECIMAL(12,2)"),
    "f": ("FLOAT", "DOUBLE"),
    "x": ("DECIMAL(5,2)", "DECIMAL(10,4)"),
    "l": ("BIGINT", "DECIMAL(20,0)"),
    "d": ("DATE", "TIMESTAMP_NTZ"),
    "t": ("TIMESTAMP", "TIMESTAMP"),
    "e": ("DECIMAL(30,10)", "DECIMAL(30,10)"),
}
ROWS = [
    "-128, -32768, -2147483648, 7, CAST(0.1 AS FLOAT), -999.99, -9223372036854775808, DATE'1700-01-01', "
    "TIMESTAMP'1800-01-01 00:00:00', 12345678901234567890.0000000001",
    "127, 32767, 2147483647, -7, CAST(16777217 AS FLOAT), 999.99, 9223372036854775807, DATE'2020-02-29', "
    "TIMESTAMP'2020-01-01 00:00:00.000999', -0.0000000001",
    "0, 0, 16777217, 0, CAST('NaN' AS FLOAT), 0.10, 9007199254740993, DATE'9999-12-31', "
    "TIMESTAMP'1899-12-31 23:59:59.999999', 0.1",
    "1, 1, 1, 1, CAST(0.3 AS FLOAT), 0.30, 1, DATE'1970-01-01', TIMESTAMP'1883-11-18 12:03:57.5', 0.3",
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
]


def literal(value: Any, name: str) -> str:
    """SQL text of a value as delta-spark returned it."""
    match value:
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case datetime() if name == "d":
            return f"TIMESTAMP_NTZ'{value.isoformat(' ')}'"
        case datetime():
            return f"TIMESTAMP'{value.isoformat(' ')}Z'"
        case _:
            return str(value)


def make(spark: Any, table: str, properties: dict[str, str]) -> None:
    """The eleven commits of a table; the tenth has a checkpoint."""
    columns = ", ".join(f"{name} {old}" for name, (old, _) in COLUMNS.items())
    settings = {"delta.enableTypeWidening": "true", "delta.feature.timestampNtz": "supported",
                "delta.checkpointInterval": "10", **properties}  # fmt: skip
    texts = ", ".join(f"'{name}'='{value}'" for name, value in settings.items())
    spark.sql(f"CREATE TABLE delta.`{table}` ({columns}) USING delta TBLPROPERTIES ({texts})")
    for row in ROWS:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        spark.sql(f"INSERT INTO delta.`{table}` VALUES ({row})")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    for name, (old, new) in COLUMNS.items():
        if old != new:
            spark.sql(f"ALTER TABLE delta.`{table}` ALTER COLUMN {name} TYPE {new}")


def answers(spark: Any, table: str) -> dict[str, int]:
    """Predicates at the values of all rows, and how many rows match."""
    spark.conf.set("spark.databricks.delta.stats.skipping", "false")
    rows = spark.sql(f"SELECT * EXCEPT (t), CAST(t AS TIMESTAMP_NTZ) AS t FROM delta.`{table}`").collect()
    wanted = []
    for name in COLUMNS:
        for row in rows:
            if row[name] is not None:
                value = literal(row[name], name)
                wanted += [f"{name} {op} {value}" for op in ("=", "<", "<=", ">", ">=", "!=", "<=>")]
        wanted += [f"{name} IS NULL", f"{name} IS NOT NULL"]
    # A float's text as a double is not the float.
    wanted += ["f > 0.1D", "f = 0.1D", "f = 0.10000000149011612D", "f <= 0.1D", "f > 0.3D AND f < 1"]
    counts = ", ".join(f"count_if({where})" for where in wanted)
    found = spark.sql(f"SELECT {counts} FROM delta.`{table}`").first()
    spark.conf.set("spark.databricks.delta.stats.skipping", "true")
    return dict(zip(wanted, found, strict=True))


def main(folder: Path, output: Path) -> None:
    spark = session(folder / "scratch")
    found = {}
    for form, properties in FORMS.items():
        table = str(folder / form)
        make(spark, table, properties)
        found[form] = answers(spark, table)
    output.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
