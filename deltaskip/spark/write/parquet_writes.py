"""Data files that Spark writes from a DataFrame: one job, into a separate folder below the table's root.

Spark's own Parquet writer makes the files. It writes into a new folder, so that two writers, and the attempts of a task
that Spark repeats, cannot disturb each other; nothing is visible before a commit adds the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame

from deltaskip.actions.partition_folders import folder_pairs
from deltaskip.spark.read.file_paths import spark_paths
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.storage import Storage, join, uri_of
from deltaskip.storage.gate import delete_folder
from deltaskip.storage.tree import files_below

WRITTEN_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modification_time", pa.int64(), nullable=False),
        pa.field("partition_texts", pa.list_(pa.string()), nullable=False),
    ]
)
"""One row per file: path below the table's root, bytes, milliseconds since the epoch, one text per partition column."""

# Footers have statistics of timestamps in microseconds, but not of INT96. Dates before 1582 do not change.
WRITE_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
}
"""Settings of the session for a job that writes files."""
WRITER_OPTIONS = {
    # A commit of the table adds the files, so the job needs neither a rename at its end nor files about the others.
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "parquet.summary.metadata.level": "NONE",
    # Readers skip files whose names begin with an underscore or a dot.
    "mapreduce.output.basename": "part",
}
"""Options of Spark's Parquet writer. They replace settings of the session's Hadoop."""


def new_folder() -> str:
    """Return the name of a folder that no other write uses and that VACUUM does not treat as hidden."""
    return f"part-{uuid4()}"


def write_parquet(
    frame: DataFrame,
    storage: Storage,
    root: str,
    folder: str,
    partition_columns: Sequence[str] = (),
    *,
    codec: str | None = None,
    options: Mapping[str, str] | None = None,
) -> pa.Table:
    """Write the rows of a DataFrame as Parquet files, and list them. After an error the folder is deleted.

    Args:
        frame: The rows, with the columns of the files by physical name. Its session has WRITE_SETTINGS.
        storage: The storage of the table.
        root: Location of the table.
        folder: A new folder below the root, see `new_folder`.
        partition_columns: Columns with the log's text of each partition value. They are not written into the files;
            rows that differ in one are in different files.
        codec: Compression codec, as Spark names it; None for that of the session.
        options: Further options of Spark's Parquet writer, such as maxRecordsPerFile.

    Returns:
        WRITTEN_SCHEMA, sorted by path. Spark writes an empty file if the DataFrame has no rows.

    Raises:
        Exception: The Spark error if the job fails.
        StorageError: The folder cannot be listed.
    """
    location = join(root, folder)
    writer = frame.write.options(**WRITER_OPTIONS, **(options or {}))
    if codec is not None:
        writer = writer.option("compression", codec)
    if partition_columns:
        writer = writer.partitionBy(*partition_columns)
    try:
        spark = frame.sparkSession
        with described_jobs(spark, f"write to {root}"):
            [path] = spark_paths(spark, [uri_of(location)], getattr(storage, "options", None))
            writer.parquet(path)
        files = files_below(storage, location, lambda each: "=" in each.name)
    except BaseException:
        delete_folder(storage, root, folder)
        raise
    files = [file for file in files if file.name.endswith(".parquet") and not file.name.startswith((".", "_"))]
    start = len(root.rstrip("/")) + 1
    paths = [file.path[start:] for file in files]
    texts = [[value for _, value in folder_pairs(path.removeprefix(folder).split("/")[1:-1])] for path in paths]
    return pa.Table.from_arrays(
        [
            arrow_array(paths, pa.string()),
            arrow_array([file.size for file in files], pa.int64()),
            arrow_array([file.modified_ms for file in files], pa.int64()),
            pa.array(texts, WRITTEN_SCHEMA.field("partition_texts").type),
        ],
        schema=WRITTEN_SCHEMA,
    )
