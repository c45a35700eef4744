"""Run in a process with delta-spark: writes sound tables, or says which ids it reads of tables that were repaired.

python -m tests.reference.repaired write FOLDER
python -m tests.reference.repaired read FOLDER ANSWERS
"""

import json
import sys
import tempfile
from pathlib import Path

from tests.reference.histories.history import INCREMENTAL, STRICT
from tests.reference.oracle import session

_TABLES = {
    "plain": "USING delta",
    "parts": "USING delta PARTITIONED BY (p)",
    "vectors": "USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true', 'delta.enableRowTracking'='true', "
    "'delta.checkpointInterval'='2', 'delta.checkpointPolicy'='v2')",
    "mapped": "USING delta CLUSTER BY (id) TBLPROPERTIES ('delta.columnMapping.mode'='id', "
    "'delta.enableInCommitTimestamps'='true')",
}


def main(act: str, folder: Path, answers: Path | None = None) -> None:
    """Write the tables below a folder, read those in it, or commit to them."""
    spark = session(Path(tempfile.mkdtemp()))
    if act == "commit":
        for name, value in STRICT.items():
            spark.conf.set(name, value)
        for path in sorted(folder.iterdir()):
            table, number = f"delta.`{path}`", int(str(answers))
            spark.sql(f"INSERT INTO {table} (id, name, p) VALUES ({5000 + number}, 'spark', 1)")
            spark.sql(f"DELETE FROM {table} WHERE id = {number}")
        assert spark.conf.get(INCREMENTAL, "true") == "true", "delta-spark derives another checksum"
        for name in STRICT:
            spark.conf.unset(name)
        return
    if act == "write":
        for name, layout in _TABLES.items():
            table = f"delta.`{folder / name}`"
            spark.sql(f"CREATE TABLE {table} (id BIGINT, s STRING, x DOUBLE, ts TIMESTAMP, p INT) {layout}")
            for start in (0, 100):
                rows = (
                    f"SELECT id + {start}, concat('n', id), id / 3, timestamp_micros(id), int(id % 3) FROM range(100)"
                )
                spark.sql(f"INSERT INTO {table} {rows}")
            spark.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
        return
    assert answers is not None
    found = {}
    for path in sorted(folder.iterdir()):
        ids = spark.read.format("delta").load(str(path)).select("id").collect()
        found[path.name] = sorted(row[0] for row in ids)
    answers.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
