"""delta-spark on a table with a key index and Bloom filters: python -m tests.reference.indexed FOLDER.

It reads, appends, deletes, merges, optimizes and vacuums. Prints "done".
"""

import os
import sys
from pathlib import Path

import deltaskip as ds
from deltaskip.skipping.key_index.folder import KEY_FOLDER
from tests.maintenance.test_key_index import DDL, assert_like_twin, rows
from tests.reference.oracle import session

PROPERTIES = {
    "deltaskip.keyIndexColumns": "id, k",
    "deltaskip.bloomColumns": "id",
    "delta.enableDeletionVectors": "true",
}
MERGE = """
MERGE INTO {0} AS t USING (SELECT id, k, 9 AS v FROM {0} WHERE k % 5 = 0) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v
"""


def changed_by_delta_spark(folder: Path) -> None:
    """Check after each statement of delta-spark that the index loses no row, and at the end that it is still there."""
    spark = session(folder.parent)
    table = ds.DeltaTable.create(folder, DDL, properties=PROPERTIES)
    for number in range(4):
        table.append(rows(range(number * 20, number * 20 + 20), number))
    table.recompute_stats(columns=[], index=True)
    parts = sorted(os.listdir(folder / KEY_FOLDER))
    at = f"delta.`{folder}`"
    key = rows(range(25, 26))["id"][0].as_py()
    assert [row.v for row in spark.sql(f"SELECT v FROM {at} WHERE id = '{key}'").collect()] == [1]
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    for statement in (
        f"INSERT INTO {at} SELECT concat('z', id), k + 1, 5 FROM {at} WHERE v = 2",
        f"DELETE FROM {at} WHERE v = 3 AND k % 2 = 0", f"UPDATE {at} SET k = k + 7 WHERE v = 0",
        MERGE.format(at),
        f"OPTIMIZE {at}", f"RESTORE TABLE {at} TO VERSION AS OF 5", f"VACUUM {at} RETAIN 0 HOURS",
    ):  # fmt: skip
        spark.sql(statement)
        assert_like_twin(folder)
    assert sorted(os.listdir(folder / KEY_FOLDER)) == parts
    assert ds.DeltaTable(folder).scan(f"id = '{key}'").explain().index


if __name__ == "__main__":
    changed_by_delta_spark(Path(sys.argv[1]))
    print("done")
