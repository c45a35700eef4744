"""The same SQL statements by delta-spark and by a catalog of deltaskip: the same columns and rows, or refused by both.

    python -m tests.reference.sql_statements ANSWERS.json

Runs in a process of its own. ANSWERS.json holds for each statement what each of the two answered.
"""

import json
import re
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import deltaskip as ds
from tests.extent import extent
from tests.reference.oracle import session

_ALL = Path(__file__).with_name("sql_statements.sql").read_text(encoding="utf-8").splitlines()
_OWN_TABLE = _ALL.index("CREATE DATABASE w")
# Those at the end have a table of their own, which the first of them make and change.
STATEMENTS = extent(_ALL[_OWN_TABLE : _OWN_TABLE + 8], _ALL)

# Values that differ from table to table, and from one run to the next.
_OWN = ("id", "location", "createdAt", "lastModified", "timestamp", "engineInfo", "path", "name", "job", "notebook",
        "clusterId", "userId", "userName", "startTimeMs", "endTimeMs", "sizeInBytes", "operationMetrics",
        "operationParameters", "properties", "tableFeatures", "minReaderVersion", "minWriterVersion",
        "totalClusterParallelism", "totalScheduledTasks", "isolationLevel", "numFiles")  # fmt: skip
_OF_SIZE = re.compile(r"(?i)size|bytes|metrics")


def main(output: Path) -> None:
    """Run the statements on both sides."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        spark = session(scratch)
        spark.conf.set("spark.databricks.delta.properties.defaults.columnMapping.mode", "name")
        spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "true")
        catalog = ds.catalog(f"warehouse:{scratch / 'ours'}")
        answers = []
        for text in STATEMENTS:
            own = text
            if "(" in text and text.startswith(("CREATE TABLE q.t ", "CREATE TABLE q.s")):
                own = text.replace(" AS SELECT", " TBLPROPERTIES ('delta.columnMapping.mode' = 'name') AS SELECT", 1)
                if own == text:
                    own = f"{text} TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
            answers.append({
                "statement": text,
                "delta-spark": answer(lambda text=text: spark.sql(text)),
                "deltaskip": answer(lambda own=own: catalog.sql(spark, own)),
            })  # fmt: skip
        output.write_text(json.dumps(answers, indent=1, default=str), encoding="utf-8")
        spark.stop()


def answer(run: Any) -> dict[str, Any]:
    """The columns and rows of a statement, or its error."""
    try:
        frame = run()
        rows = [_plain(row.asDict(recursive=True)) for row in frame.collect()]
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500], "trace": traceback.format_exc()[-1500:]}
    return {
        "columns": [(field.name, field.dataType.simpleString()) for field in frame.schema.fields],
        "rows": sorted(rows, key=str),
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    own = {"metrics": None} if "metrics" in row else {}
    return {
        key: value for key, value in {**row, **own}.items()
        if not (key in _OWN and not (key in ("id", "name") and "format" not in row)) and not _OF_SIZE.search(key)
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
