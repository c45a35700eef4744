"""Streams into a table: each micro-batch is one commit and is in the table exactly once. Spark 4.1 and newer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSourceStreamArrowWriter

from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.source.batch_write import TaskFiles, delete_uncommitted, written_by_task
from deltaskip.spark.source.planned_write import PlannedWrite
from deltaskip.spark.source.source_write_options import SourceWriteOptions
from deltaskip.spark.source.workers import SentToWorkers, commits_streams


class StreamWriter(SentToWorkers, DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Appends micro-batches to a table exactly once.

    Spark creates one object to write a micro-batch and another object to commit it, so the plan is sent with the files.
    The table records the id of the batch with its rows. The files of a repeated batch are written and then deleted.

    Args:
        options: The options.
        schema: Columns of the rows.
    """

    def __init__(self, options: SourceWriteOptions, schema: spark_types.StructType) -> None:
        self._app_id = options.app_id
        # A process that commits a micro-batch finds the plan in the messages.
        self._plan = None if commits_streams() else PlannedWrite.of(options, schema_of(schema))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskFiles:
        """Write the rows of a task."""
        assert self._plan is not None
        return written_by_task(self._plan, iterator)

    def commit(self, messages: Sequence[TaskFiles | None], batchId: int) -> None:
        """Commit the files of a micro-batch, unless the table has it."""
        found = [each for each in messages if each is not None]
        if not found:
            return
        parameters = {"outputMode": "Append", "queryId": self._app_id, "epochId": str(batchId)}
        operation = "STREAMING UPDATE", parameters
        found[0].plan.commit([each.written for each in found], (self._app_id, batchId), operation)

    def abort(self, messages: Sequence[TaskFiles | None], batchId: int) -> None:
        """Delete the files of a micro-batch after a task failed."""
        delete_uncommitted(messages)
