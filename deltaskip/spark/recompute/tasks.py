"""What a Spark task does for recomputed statistics: reads its files and gives their statistics back.

Runs on executors, in Python processes without a session; it needs this package there, and no pyspark.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaskip.actions import DeletionVectorDescriptor
from deltaskip.errors import StorageError
from deltaskip.features.deletion_vectors import absolute_path, read_deletion_vector
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.stats.facts import FileFacts
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.stats.footer import read_footer
from deltaskip.storage.interface import Storage
from deltaskip.storage.opening import storage_for

__all__ = ["TASK_RESULT", "DataFile", "contents_runner", "pack", "task_runner"]

TASK_RESULT = pa.schema(
    [
        pa.field("file", pa.int64()),
        pa.field("num_records", pa.int64()),
        pa.field("stats", pa.string()),
        pa.field("facts", pa.binary()),
        pa.field("scanned", pa.int64()),
    ]
)
"""A row a file, or a piece of one: `stats` is the text of a whole file, `facts` the pickled FileFacts of a piece."""

_RESULT_ROWS = 1000


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to read: its number in the job, location, size in bytes, deletion vector; piece `i` of `n` of its row
    groups."""

    number: int
    location: str
    size: int
    deletion_vector: DeletionVectorDescriptor | None = None
    piece: tuple[int, int] = (0, 1)


def pack(files: Sequence[DataFile]) -> bytes:
    """The files of one task as bytes that task_runner reads."""
    return pickle.dumps(tuple(files))


def task_runner(
    tasks: Sequence[bytes], request: StatisticsRequest, table_root: str, storage_options: Mapping[str, str] | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for mapInArrow: batches with a column `id`, numbers of packed `tasks`, in; TASK_RESULT out."""
    options = None if storage_options is None else dict(storage_options)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = FileReader(request)
        storage: Storage | None = None
        rows: list[tuple[int, int, str | None, bytes | None, int]] = []
        for batch in batches:
            for task in batch.column(batch.schema.get_field_index("id")).to_pylist():
                for file in pickle.loads(tasks[task]):
                    storage = storage_for(file.location, options, storage)
                    facts = _facts(reader, storage, file, table_root, options)
                    if file.piece[1] == 1:
                        rows.append((file.number, facts.num_records, stats_json(facts, request), None, facts.scanned))
                    else:
                        rows.append((file.number, facts.num_records, None, pickle.dumps(facts), facts.scanned))
                    if len(rows) >= _RESULT_ROWS:
                        yield _batch(rows)
                        rows = []
        if rows:
            yield _batch(rows)

    return run


def contents_runner(
    files: Mapping[str, tuple[int, pa.Int64Array | None]], request: StatisticsRequest
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for mapInArrow: batches with columns `path` and `content` of whole files in; TASK_RESULT out.

    files: by path the file's number in the job and its deleted rows. Raises StorageError for a path that is not there.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = FileReader(request)
        for batch in batches:
            rows: list[tuple[int, int, str | None, bytes | None, int]] = []
            names = batch.schema.names
            contents = batch.column(names.index("content"))
            for i, path in enumerate(batch.column(names.index("path")).to_pylist()):
                if path not in files:
                    raise StorageError(f"Spark read the data file {path}, which was asked for under another name.")
                number, deleted = files[path]
                content = contents[i].as_buffer()
                facts = reader.facts(_Content(content), path, size=content.size, deleted=deleted)
                rows.append((number, facts.num_records, stats_json(facts, request), None, facts.scanned))
            if rows:
                yield _batch(rows)

    return run


class _Content:
    """A file in memory, as a storage that holds nothing else."""

    def __init__(self, content: pa.Buffer) -> None:
        self._content = content

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return bytes(memoryview(self._content)[offset : offset + length])

    def size(self, path: str) -> int:
        return int(self._content.size)

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self._content)


def _facts(
    reader: FileReader, storage: Storage, file: DataFile, table_root: str, options: Mapping[str, str] | None
) -> FileFacts:
    deleted = None
    if file.deletion_vector is not None:
        location = absolute_path(table_root, file.deletion_vector)
        holder = storage if location is None else storage_for(location, options, storage)
        deleted = read_deletion_vector(holder, table_root, file.deletion_vector)
    i, n = file.piece
    groups = None
    if n > 1:
        count = len(read_footer(storage, file.location, file.size).row_groups)
        groups = [group for group in range(count) if group * n // count == i]
    return reader.facts(storage, file.location, size=file.size, deleted=deleted, row_groups=groups)


def _batch(rows: list[tuple[int, int, str | None, bytes | None, int]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [arrow_array(list(values), field.type) for values, field in zip(columns, TASK_RESULT, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=TASK_RESULT)
