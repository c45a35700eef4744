"""Writes of the data source: Python workers write data files, and a Python process of the driver commits them.

The files of a task that fails or runs twice are not in the messages that Spark passes to `commit`. A task deletes its
own files when it fails; files of a killed worker stay until VACUUM deletes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.errors import DeltaSkipError
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.spark.source.planned_write import PlannedWrite
from deltaskip.spark.source.source_write_options import SourceWriteOptions
from deltaskip.spark.source.workers import SentToWorkers
from deltaskip.sparkexpr.values.zone_rules import forget_given_rules


@dataclass
class TaskFiles(WriterCommitMessage):  # type: ignore[misc]
    """The data files of a task.

    Attributes:
        written: The files.
        plan: The plan by which they were written.
        keys: The distinct values of the plan's keys; None for none.
    """

    written: WrittenRows
    plan: PlannedWrite
    keys: pa.Table | None = None

    def delete(self) -> None:
        """Delete the files of the task, which no commit has added."""
        layout = self.plan.layout
        self.written.delete(layout.storage, layout.root)


class BatchWriter(SentToWorkers, DataSourceArrowWriter):  # type: ignore[misc]
    """Appends to a table, overwrites rows of it, or creates it.

    The driver creates the object and plans the write. The commit conflicts with later changes of other writers.

    Args:
        options: The options.
        schema: Columns of the rows.
    """

    def __init__(self, options: SourceWriteOptions, schema: spark_types.StructType) -> None:
        self._plan = PlannedWrite.of(options, schema_of(schema))
        self._txn = options.app_version
        self._is_done = self._plan.is_done(self._txn)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskFiles:
        """Write the rows of a task, or no file if the table has this version of the application."""
        return written_by_task(self._plan, iterator, self._is_done)

    def commit(self, messages: Sequence[TaskFiles | None]) -> None:
        """Commit the files as one version of the table."""
        if not self._is_done:
            found = [each for each in messages if each is not None]
            keys = [each.keys for each in found if each.keys is not None]
            self._plan.commit([each.written for each in found], self._txn, keys=keys)

    def abort(self, messages: Sequence[TaskFiles | None]) -> None:
        """Delete the files of a write after a task failed, and the folders that were made for a new table."""
        delete_uncommitted(messages)
        if self._plan.new_folders is not None:
            self._plan.new_folders.remove_empty()


def written_by_task(plan: PlannedWrite, batches: Iterator[pa.RecordBatch], is_done: bool = False) -> TaskFiles:
    """Write the rows of the task that this process runs.

    Args:
        plan: The plan.
        batches: The rows.
        is_done: Whether the table has the rows already.
    """
    if is_done:
        for _ in batches:
            pass
        return TaskFiles(WrittenRows((), 0), plan)
    task = TaskContext.get()
    assert task is not None
    # The zone of the rows need not be one of those that an earlier task of this worker brought.
    forget_given_rules()
    written, keys = plan.write(batches, task.partitionId())
    return TaskFiles(written, plan, keys)


def delete_uncommitted(messages: Sequence[TaskFiles | None]) -> None:
    """Delete the files of a write that Spark gives up.

    If all tasks have succeeded, the commit was tried. A failed commit has deleted the files itself, unless its outcome
    is unknown; then they stay.
    """
    if all(message is not None for message in messages):
        return
    for message in messages:
        if message is not None:
            with suppress(OSError, DeltaSkipError):
                message.delete()
