"""Files whose timestamps a setting of the session would change.

With `spark.sql.parquet.int96TimestampConversion`, which is meant for files of Impala, Spark's Parquet reader moves
INT96 by the time zone of the session, unless the file names parquet-mr as its writer. Statistics, other engines and the
rest of this package take the values as they are stored. Spark asks for the setting when it plans a scan, and no option
of the reader replaces it. # Spark 4.1, ParquetFileFormat.buildReaderWithPartitionValues
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.read_plan import ReadPlan
from deltaskip.sparkexpr import types as t
from deltaskip.stats.footer import read_footer
from deltaskip.storage import storage_for

_CONVERSION = "spark.sql.parquet.int96TimestampConversion"
_WRITER = b"parquet-mr"
_TYPE, _INT96 = 1, 3
_AT_ONCE = 32


def moved_int96(
    spark: SparkSession, schema: t.StructType, paths: Sequence[str], options: Mapping[str, str] | None
) -> str | None:
    """Return a file whose timestamps Spark would change; None if there is none. Reads footers only with the setting.

    Args:
        spark: The session, classic or Connect.
        schema: The columns that are read from the files.
        paths: The spark_path of each file.
        options: Options of the table's object store.

    Raises:
        DataFileMissing: A file is not in storage.
        StorageError: A footer cannot be read.
    """
    if t.TIMESTAMP not in t.nested_types(schema) or str(spark.conf.get(_CONVERSION, "false")).lower() != "true":
        return None

    def is_moved(path: str) -> bool:
        location = path.removeprefix("file:")
        footer = read_footer(storage_for(location, options), location)
        return not footer.created_by.startswith(_WRITER) and any(e.get(_TYPE) == _INT96 for e in footer.elements)

    with ThreadPoolExecutor(_AT_ONCE, "deltaskip") as pool:
        return next((path for path, found in zip(paths, pool.map(is_moved, paths), strict=True) if found), None)


def check_int96(spark: SparkSession, plan: ReadPlan) -> None:
    """Raise UnsupportedFeature if Spark would change timestamps of the files of a plan; others as `moved_int96`."""
    moved = moved_int96(spark, plan.data, plan.paths, plan.table.storage_options)
    if moved is not None:
        raise UnsupportedFeature(
            f"{_CONVERSION} is true, so Spark would move the timestamps of {moved} (INT96, not written by parquet-mr) "
            f"by the time zone of the session, and {plan.table.root} has them as they are stored: set it to false in "
            f"this session, or read the rows without Spark, by to_arrow."
        )
