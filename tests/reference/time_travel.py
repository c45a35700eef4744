"""The versions that delta-spark opens by time, of tables whose version n has n + 1 files.

    python -m tests.reference.time_travel FOLDER

Reads lines `table timestamp_ms` from FOLDER/questions, and writes one JSON value for each to FOLDER/answers: the
version, or null where delta-spark finds none.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.reference.oracle import session


def main(folder: Path) -> None:
    """Answer every question."""
    spark = session(folder / "scratch")
    asked = [line.split() for line in (folder / "questions").read_text(encoding="utf-8").splitlines()]
    answers = [_version(spark, folder / table, int(time)) for table, time in asked]
    (folder / "answers").write_text(json.dumps(answers), encoding="utf-8")
    spark.stop()


def _version(spark: Any, table: Path, timestamp_ms: int) -> int | None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    text = moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    try:
        frame = spark.read.format("delta").option("timestampAsOf", text).load(str(table))
        return len(frame.inputFiles()) - 1
    except Exception as error:
        if "TIMESTAMP" not in str(error):
            raise
        return None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
