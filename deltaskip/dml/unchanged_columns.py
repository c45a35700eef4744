"""Copies the columns that an UPDATE does not set, without decoding them, from the files that it rewrites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa

from deltaskip.actions import AddFile, hadoop_path
from deltaskip.data_files.copied_row_groups import can_copy, copy_row_groups
from deltaskip.data_files.data_file import parquet_schema, viewed
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.files_to_change import DataFiles
from deltaskip.errors import DeltaSkipError
from deltaskip.log import Snapshot
from deltaskip.progress import Progress, table_name
from deltaskip.sparkexpr import types as t
from deltaskip.stats.believed_bounds import hybrid_calendar
from deltaskip.stats.footer import read_footer
from deltaskip.storage import storage_for

_LEAST_BYTES, _MOST_BYTES = 256 << 10, 256 << 20
"""Smaller files are rewritten, together with others; the new values of larger ones would take too much memory."""

_TIMES = (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ, *t.NANOSECONDS)

_THREADS, _REMOTE_THREADS = 4, 16


def copy_unchanged_columns(
    snapshot: Snapshot,
    files: DataFiles,
    part: RowsOfFiles,
    changed: Sequence[t.StructField],
    new_values: Callable[[RowsOfFiles], Iterable[pa.RecordBatch]],
    layout: DataFileLayout,
) -> tuple[WrittenRows, RowsOfFiles, DataFiles]:
    """Write files with new values of some columns and copies of the others. After an error no file is left.

    A file is left to the caller if it is small, has deleted rows, is unlike the files that this process writes, or if
    its new values cannot be computed.

    Args:
        snapshot: The table.
        files: The files of `part`.
        part: The rows that are updated: all rows of the files, or those at positions.
        changed: The columns that are set.
        new_values: Returns them in all rows of one file, in order, also in those that are not updated.
        layout: The layout of new files.

    Returns:
        The new files, and what is left.

    Raises:
        StorageError: A file cannot be read or written.
    """
    nothing = WrittenRows((), 0), part, files
    sizes, vectors = files.logged["size"].to_pylist(), files.listed["deletion_vector"]
    chosen = [
        number
        for number, size in enumerate(sizes)
        if _LEAST_BYTES <= size <= _MOST_BYTES
        and not vectors[number].is_valid
        and (part.positions is None or len(part.positions[number]))
    ]
    names = {field.name for field in changed}
    if not chosen or layout.extra or not names.isdisjoint(layout.partition_columns):
        return nothing
    places = [i for i, field in enumerate(layout.schema.fields) if field.name in names]
    schema, places = parquet_schema(layout.schema, places, layout.mapping_mode)
    fields = [layout.schema.fields[i] for i in places]
    types = {each for field in fields for each in t.nested_types(field.type)}
    if t.VARIANT in types or any(column.physical[0] in schema.names for column in layout.bloom):
        return nothing
    partitions, uris = files.logged["partition_values"], part.files["uri"]

    def copied(number: int) -> tuple[AddFile, int] | None:
        uri = uris[number].as_py()
        location = hadoop_path(snapshot.table_root, uri)
        storage = storage_for(location, near=snapshot.storage)
        positions = None if part.positions is None else [part.positions[number]]
        try:
            footer = read_footer(storage, location, sizes[number])
            # Spark's settings decide the calendar of files that do not name it.
            shifted = any(hybrid_calendar(b"", footer.key_values)) and not types.isdisjoint(_TIMES)
            if shifted or not can_copy(footer, layout):
                return None
            rows = new_values(replace(part, files=part.files.slice(number, 1), positions=positions))
            new = pa.Table.from_batches(
                [
                    pa.RecordBatch.from_arrays(
                        [viewed(batch.column(f.name), each.type) for f, each in zip(fields, schema, strict=True)],
                        schema=schema,
                    )
                    for batch in rows
                ],
                schema,
            )
        except DeltaSkipError:
            # The caller, which reads all columns, raises errors that name the row.
            return None
        without = frozenset(part.copied_groups.get(uri, ()))
        numbers = [each for each in range(len(footer.row_groups)) if each not in without]
        n_rows = sum(map(footer.group_rows, numbers))
        if new.num_rows != n_rows or (layout.max_rows and n_rows > layout.max_rows):
            return None
        add = AddFile("", dict(partitions[number].as_py() or ()), sizes[number], 0, True)
        file = copy_row_groups(storage, location, footer, numbers, layout, add, new)
        return None if file is None else (file, n_rows)

    found: dict[int, tuple[AddFile, int]] = {}
    errors: list[BaseException] = []

    def tried(number: int) -> None:
        try:
            file = None if errors else copied(number)
            if file is not None:
                found[number] = file
        except BaseException as error:
            errors.append(error)

    threads = _REMOTE_THREADS if snapshot.storage.remote else _THREADS
    label = f"Writing {table_name(layout.root)}"
    with (
        Progress(label, len(chosen), "files", blocks=True) as progress,
        ThreadPoolExecutor(threads, "deltaskip") as pool,
    ):
        try:
            for _ in map(tried, chosen) if len(chosen) == 1 else pool.map(tried, chosen):
                progress.advance(1)
        except BaseException as error:
            errors.append(error)
    new = [found[number] for number in sorted(found)]
    written = WrittenRows(tuple(file for file, _ in new), sum(rows for _, rows in new))
    if errors:
        written.delete(layout.storage, layout.root)
        raise errors[0]
    left = [number for number in range(len(files)) if number not in found]
    rest = part.positions if part.positions is None else [part.positions[number] for number in left]
    others = files.take(left)
    return written, replace(part, files=others.listed, positions=rest), others
