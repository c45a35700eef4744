"""Folders of Parquet files that delta-spark and deltaskip convert, and tables with added files that delta-spark reads.

    python -m tests.reference.given_files FOLDER

Prints one JSON object: by name of the folder what each of the two has made of it, as delta-spark reads it.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from tests.builder import logged
from tests.extent import extent
from tests.reference.oracle import session

# Name of the folder → its partition columns.
_ALL = {
    "partitioned": "p STRING, n INT, d DATE", "old_layout": "", "nested": "", "merged": "", "unsigned": "",
    "inside": "p BIGINT", "uneven_spelling": "p INT",
}  # fmt: skip
CONVERTED = {name: _ALL[name] for name in extent(["partitioned"], _ALL)}


def make_folders(spark: Any, folder: Path) -> None:
    """Write the files."""
    rows = (
        "SELECT CAST(id AS INT) AS id, CAST(id AS STRING) AS name, IF(id = 1, NULL, concat('a b/%:é+#', id)) AS p, "
        "CAST(id * 7 AS INT) AS n, date_add(date'1969-12-31', CAST(id AS INT)) AS d FROM range(4)"
    )
    spark.sql(rows).write.partitionBy("p", "n", "d").parquet(str(folder / "partitioned"))
    nested = (
        "SELECT id, array(1, null) AS l, map('a', CAST(1 AS TINYINT)) AS m, "
        "named_struct('x', 1, 'y', array('z')) AS s, "
        "timestamp'2024-01-01 12:00:00' AS ts, timestamp_ntz'2024-01-01 12:00:00' AS ntz, "
        "CAST(1.5 AS DECIMAL(9,2)) AS d, CAST('ab' AS BINARY) AS b, double('NaN') AS f FROM range(3)"
    )
    spark.sql(nested).coalesce(1).write.parquet(str(folder / "nested"))
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
    spark.sql(nested).drop("ntz").coalesce(1).write.parquet(str(folder / "old_layout"))
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    spark.conf.unset("spark.sql.parquet.writeLegacyFormat")

    def write(path: str, columns: dict[str, Any]) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), folder / path)

    write("merged/1.parquet", {"a": pa.array([1], pa.int8()), "b": ["x"]})
    write("merged/2.parquet", {"a": pa.array([70000], pa.int32()), "c": [1.5]})
    unsigned = {f"u{width}": pa.array([1, None], getattr(pa, f"uint{width}")()) for width in (8, 16, 32, 64)}
    write("unsigned/a.parquet", {**unsigned, "ms": pa.array([1, None], pa.timestamp("ms", "UTC"))})
    write("inside/p=1/a.parquet", {"a": [1], "p": pa.array([7], pa.int32()), "b": [2]})
    write("uneven_spelling/P=01/a b.parquet", {"a": [1]})


def answer(spark: Any, path: Path) -> dict[str, Any]:
    """The table as delta-spark reads it, and its adds."""
    frame = spark.read.format("delta").load(str(path))
    adds = logged(path, 0, kind="add")
    columns = sorted(frame.columns)
    return {
        "types": {field.name: field.dataType.simpleString() for field in frame.schema.fields},
        "rows": sorted(str(row) for row in frame.select(columns).collect()),
        "adds": sorted([add["path"], add["partitionValues"], json.loads(add["stats"])["numRecords"]] for add in adds),
        "matching": frame.where(f"{columns[0]} IS NOT NULL").count(),
        "bounds": {add["path"]: json.loads(add["stats"]) for add in adds},
    }


def main(folder: Path) -> None:
    """Convert every folder twice, and print both answers."""
    spark = session(folder / "scratch")
    source = folder / "source"
    make_folders(spark, source)
    found: dict[str, Any] = {}
    for name, partitions in CONVERTED.items():
        theirs, ours = folder / "theirs" / name, folder / "ours" / name
        shutil.copytree(source / name, theirs)
        shutil.copytree(source / name, ours)
        clause = f"PARTITIONED BY ({partitions})" if partitions else ""
        spark.sql(f"CONVERT TO DELTA parquet.`{theirs}` {clause}")
        ds.convert_to_delta(ours, partitions or None)
        found[name] = {"theirs": answer(spark, theirs), "ours": answer(spark, ours)}
        table = ds.DeltaTable.create(
            folder / "added" / name,
            spark.read.format("delta").load(str(theirs)).schema,
            partition_by=[part.split()[0] for part in partitions.split(",") if part],
        )
        files = [str(path) for path in (source / name).rglob("*.parquet")]
        table = ds.DeltaTable(folder / "added" / name)
        table.add_files(files)
        frame = spark.read.format("delta").load(str(folder / "added" / name))
        found[name]["added"] = sorted(str(row) for row in frame.select(sorted(frame.columns)).collect())
        spark.sql(f"DELETE FROM delta.`{folder}/added/{name}`")
        found[name]["left"] = ds.DeltaTable(folder / "added" / name).snapshot.num_files
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
