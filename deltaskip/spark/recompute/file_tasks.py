"""The task of a recomputation: read files and return their statistics.

Runs on executors, in Python processes without a session; they need this package but not pyspark.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from deltaskip.errors import StorageError
from deltaskip.maintenance.recompute.computed_files import DataFile, facts_of
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.stats.footer import FileInMemory
from deltaskip.storage.interface import Storage
from deltaskip.storage.opening import storage_for

TASK_RESULT = pa.schema(
    [
        pa.field("file", pa.int64()),
        pa.field("num_records", pa.int64()),
        pa.field("stats", pa.string()),
        pa.field("facts", pa.binary()),
        pa.field("scanned", pa.int64()),
    ]
)
"""One row per file or piece of a file: `stats` has the text for a file, `facts` the pickled FileFacts of a piece."""
RESULT_DDL = "file bigint, num_records bigint, stats string, facts binary, scanned bigint"
"""The schema of TASK_RESULT as Spark DDL."""

_RESULT_ROWS = 1000


def packed_files(files: Sequence[DataFile]) -> bytes:
    """Serialize the files of one task for task_runner."""
    return pickle.dumps(tuple(files))


def task_runner(
    tasks: Sequence[bytes], request: StatisticsRequest, table_root: str, storage_options: Mapping[str, str] | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow that reads batches with `id`, indexes of packed `tasks`, and returns TASK_RESULT."""
    options = None if storage_options is None else dict(storage_options)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = FileReader(request)
        storage: Storage | None = None
        rows: list[tuple[int, int, str | None, bytes | None, int]] = []
        for batch in batches:
            for task in batch.column(batch.schema.get_field_index("id")).to_pylist():
                for file in pickle.loads(tasks[task]):
                    storage = storage_for(file.location, options, storage)
                    facts = facts_of(reader, storage, file, table_root, options)
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
    """A function for mapInArrow that reads batches with `path` and `content` of whole files, and returns TASK_RESULT.

    files: By path, the index of the file in the job and its deleted rows. Raises StorageError for an unknown path.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = FileReader(request)
        for batch in batches:
            rows: list[tuple[int, int, str | None, bytes | None, int]] = []
            names = batch.schema.names
            contents = batch.column(names.index("content"))
            for i, path in enumerate(batch.column(names.index("path")).to_pylist()):
                if path not in files:
                    raise StorageError(
                        f"Spark returned the data file {path}, whose path matches no requested file: rewrite it under "
                        f"another name."
                    )
                number, deleted = files[path]
                content = contents[i].as_buffer()
                facts = reader.facts(FileInMemory(content), path, size=content.size, deleted=deleted)
                rows.append((number, facts.num_records, stats_json(facts, request), None, facts.scanned))
            if rows:
                yield _batch(rows)

    return run


def _batch(rows: list[tuple[int, int, str | None, bytes | None, int]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [arrow_array(list(values), field.type) for values, field in zip(columns, TASK_RESULT, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=TASK_RESULT)
