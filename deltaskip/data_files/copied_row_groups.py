"""Copies row groups of a data file, or some columns of them, into a new file without decoding their pages."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import BinaryIO
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.actions import AddFile, parse_partition_value
from deltaskip.data_files.data_file import add_of_new_file, parquet_schema
from deltaskip.data_files.parquet_writer import IN_MEMORY_BYTES, DataFileLayout, encoded_columns
from deltaskip.path_bytes import encoded
from deltaskip.sparkexpr.types import physical_name
from deltaskip.stats.bloom_filters import lacks_filters
from deltaskip.stats.facts import FileFacts
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.footer import DAMAGE, Footer, Planner, writer_of
from deltaskip.stats.row_group_copy import RowGroupCopy
from deltaskip.storage import Storage, join
from deltaskip.storage.uploads import publish_growing

_MAGIC = b"PAR1"


def can_copy(footer: Footer, layout: DataFileLayout) -> bool:
    """Whether row groups of a file differ only in encoding from those that this process would write for the table.

    Args:
        footer: The footer of the file.
        layout: The layout of new files of the table.
    """
    # parquet-mr before 1.2.9 left the dictionary's header out of the size of a column chunk (PARQUET-816).
    name, *version = writer_of(footer.created_by)
    if name == b"parquet-mr" and version < [1, 8]:
        return False
    if layout.extra or layout.sort_by:
        return False
    try:
        schema = _stored_schema(footer)
        if layout.bloom and lacks_filters(footer, Planner(layout.bloom, layout.mapping_mode)):
            return False
    except (pa.ArrowException, *DAMAGE):
        return False
    stored = {field.name: field for field in schema}
    partitions = [physical_name(field, layout.mapping_mode) for field in layout.partition_fields()]
    if layout.keeps_partition_columns and not stored.keys() >= set(partitions):
        return False
    # Some writers have partition columns in all files.
    columns = range(len(layout.schema.fields))
    wanted = {field.name: field for field in parquet_schema(layout.schema, columns, layout.mapping_mode)[0]}
    by_id = layout.mapping_mode != "none"
    if len(stored) < len(schema) or not stored.keys() <= wanted.keys():
        return False
    return all(_is_written_as(field, wanted[name], by_id) for name, field in stored.items())


def _is_written_as(stored: pa.Field, wanted: pa.Field, by_id: bool) -> bool:
    """Whether a column has the types, names and ids with which it is written now; it may be declared less nullable."""
    if by_id and stored.metadata != wanted.metadata:
        return False
    kind, other = stored.type, wanted.type
    if not pa.types.is_nested(kind):
        return bool(kind == other)
    if kind.id != other.id or kind.num_fields != other.num_fields:
        return False
    if pa.types.is_struct(kind):
        # Readers find elements, keys and values by position, and fields by name.
        pairs = [(kind.field(i), other.field(i)) for i in range(kind.num_fields)]
        return all(one.name == each.name and _is_written_as(one, each, by_id) for one, each in pairs)
    if pa.types.is_map(kind):
        of_keys = _is_written_as(kind.key_field, other.key_field, by_id)
        return of_keys and _is_written_as(kind.item_field, other.item_field, by_id)
    return _is_written_as(kind.value_field, other.value_field, by_id)


def copy_row_groups(
    storage: Storage,
    source: str,
    footer: Footer,
    numbers: Sequence[int],
    layout: DataFileLayout,
    add: AddFile,
    columns: pa.Table | None = None,
) -> AddFile | None:
    """Write a data file of row groups of another file, with their page indexes and Bloom filters.

    Args:
        storage: The storage of the file.
        source: Its location.
        footer: Its footer.
        numbers: Indexes of the row groups, ascending.
        layout: The layout of new files of the table.
        add: The add action of the file.
        columns: New values of some columns in all these rows, of the types of `parquet_schema`; none of the columns has
            Bloom filters.

    Returns:
        The add action of the new file, with statistics; None, and no file, if the footer or an index is unusual, or if
        the file has other types than the new columns.

    Raises:
        StorageError: The file cannot be read or written.
    """
    fields = layout.partition_fields()
    texts = [add.partition_values[physical_name(field, layout.mapping_mode)] for field in fields]
    values = [
        None if text is None else parse_partition_value(text, field.type)
        for text, field in zip(texts, fields, strict=True)
    ]
    folder = layout.folder(values)
    name = f"part-00000-{uuid4()}.c000.parquet"
    path = f"{folder}/{name}" if folder else name
    location = join(layout.root, path)
    request, new = layout.request, None
    try:
        if columns is None:
            facts = FileReader(request).facts(storage, source, size=add.size, footer=footer, row_groups=numbers)
        else:
            others, own = request.divided(columns.column_names)
            facts = FileReader(others).facts(storage, source, size=add.size, footer=footer, row_groups=numbers)
            new, of_own = encoded_columns(columns, [footer.group_rows(number) for number in numbers], layout, own)
            found = iter(facts.columns), iter(of_own.columns)
            of_all = (next(found[each.physical[0] in columns.column_names]) for each in request.columns)
            facts = FileFacts(facts.num_records, tuple(of_all), facts.scanned + of_own.scanned)
        with storage.open_input(source, add.size) as opened, _new_file(layout, location, add.size) as out:
            size = RowGroupCopy(opened, f"the data file {source}", out).write_file(footer.data, numbers, new)
    except DAMAGE:
        return None
    return add_of_new_file(path, add.partition_values, size, stats_json(facts, request), request)


@contextmanager
def _new_file(layout: DataFileLayout, location: str, size: int) -> Iterator[BinaryIO]:
    """A file to write, which exists after the block. size: In bytes, about."""
    if layout.unsynced is not None and size < IN_MEMORY_BYTES and not layout.storage.remote:
        data = BytesIO()
        yield data
        layout.unsynced.put(location, data.getbuffer())
        return
    with publish_growing(layout.storage, location) as (local, upload):
        upload()
        with open(encoded(local), "wb") as out:
            yield out


def _stored_schema(footer: Footer) -> pa.Schema:
    """The schema of the file by its Parquet types, ignoring the writer's Arrow schema.

    Raises ArrowException for a type that Arrow does not have.
    """
    data = footer.data
    whole = BytesIO(_MAGIC + data + struct.pack("<I", len(data)) + _MAGIC)
    return pq.read_metadata(whole).schema.to_arrow_schema()
