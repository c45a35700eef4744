"""One data file that is being written: its schema, and its columns with dictionaries, and with bounds in the footer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import AddFile
from deltaskip.actions.paths import encode_path
from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError, UnsupportedFeature
from deltaskip.path_bytes import absolute_path, encoded
from deltaskip.schema.mapping import NESTED_IDS_KEY, field_id, parquet_id
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_nested import list_items, list_offsets, map_lists
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats.believed_bounds import CALENDAR_OF_NEW_FILES
from deltaskip.stats.boxes import WkbType
from deltaskip.stats.facts import FileFacts
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.stats.footer import FileInMemory
from deltaskip.stats.footer_columns import inner_columns, leaf_paths
from deltaskip.stats.tags import written_tags
from deltaskip.storage import LocalStorage, Storage
from deltaskip.storage.uploads import PART_BYTES, publish_growing

_SAMPLE_ROWS = 4096
# The share of absent values that a Bloom filter reports, as in Spark by default: 10 bits for each distinct value.
_FALSE_POSITIVES = 0.01
# A dictionary pays if it is well below the number of values.
_MOST_DISTINCT = 0.5
# Rows of the sample that decide alone, in a fourth of the time, if nearly all of their values differ.
_SOME = arrow_array(np.arange(0, _SAMPLE_ROWS, 4))
_NEARLY_ALL = 0.95

# Uncompressed bytes of a page, which a reader of a single row reads for each column. Pages of half the size make files
# up to 6 % larger, and take an eighth more time to write; twice the size, and a remote reader of few rows reads half of
# the file.
_PAGE_BYTES = 1 << 14
_PAGE_ROWS = 20_000
# Rows after which pyarrow looks whether a page is full.
_PAGE_CHECK_ROWS = 512

# Pages are written to a file together: a call for each would take a sixth of the time of encoding.
_SINK_BYTES = 1 << 18


class OpenDataFile:
    """A data file that is being written: a local file, which its storage publishes when it is closed.

    filters: Leaves with a Bloom filter, and about how many distinct values a row group has of each.
    put: Creates the file from its bytes, if it is small enough to stay in memory until it is closed.

    Attributes:
        without_statistics: Leaves that have no statistics in the footer. Arrow's bounds leave NaN out, so that readers
            that order it last, as Spark does, would not find it.
    """

    def __init__(
        self,
        storage: Storage,
        location: str,
        path: str,
        schema: pa.Schema,
        codec: str,
        dictionary: list[str],
        without_statistics: frozenset[str],
        *,
        page_version: str = "1.0",
        filters: Mapping[str, int] | None = None,
        put: Callable[[str, memoryview], None] | None = None,
    ) -> None:
        self.without_statistics = without_statistics
        statistics: bool | list[str] = True
        if without_statistics or any(pa.types.is_nested(kind) for kind in schema.types):
            # No reader uses bounds of elements, keys and values.
            leaves = (leaf for field in schema for leaf in leaf_paths(field.name, field.type, repeated=False))
            statistics = [leaf for leaf in leaves if leaf not in without_statistics] or False
        self._path = path
        self._location = location
        self._stack = ExitStack()
        self._put = put
        self._local: str | None = None
        self._upload: Callable[[], None] | None = None
        if put is None:
            self._local, self._upload = self._stack.enter_context(publish_growing(storage, location))
        try:
            with self._naming():
                # A writer that opens a path keeps it open after an error, and so the space that the file takes. The new
                # file is not truncated, after which ext4 writes it to the disk when any of its readers closes it.
                if self._local is None:
                    self._sink = pa.BufferOutputStream()
                else:
                    self._sink = pa.BufferedOutputStream(pa.OSFile(encoded(self._local), "ab"), _SINK_BYTES)
                sink = self._stack.enter_context(self._sink)
                self._parquet = pq.ParquetWriter(
                    sink,
                    schema,
                    compression=codec,
                    data_page_version=page_version,
                    use_dictionary=dictionary or False,
                    write_statistics=statistics,
                    store_schema=False,
                    store_decimal_as_integer=True,
                    write_page_index=True,
                    data_page_size=_PAGE_BYTES,
                    max_rows_per_page=_PAGE_ROWS,
                    write_batch_size=_PAGE_CHECK_ROWS,
                    **_filter_options(filters or {}),
                )
                self._parquet.add_key_value_metadata(CALENDAR_OF_NEW_FILES)
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise

    @property
    def size(self) -> int:
        """Bytes so far."""
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Write rows as a row group. Raises StorageError."""
        with self._naming():
            if self._upload is not None and rows.nbytes > PART_BYTES:
                self._upload()
            self._parquet.write_table(rows, row_group_size=max(1, len(rows)))

    def close(
        self, reader: FileReader, request: StatisticsRequest, partition_values: Mapping[str, str | None]
    ) -> AddFile:
        """Publish the file and return its add action, with statistics. Raises StorageError."""
        size, facts = self.finish(reader)
        return add_of_new_file(self._path, partition_values, size, stats_json(facts, request), request)

    def finish(self, reader: FileReader) -> tuple[int, FileFacts]:
        """Publish the file and return its size in bytes, and its facts. Raises StorageError."""
        with self._naming(), self._stack:
            try:
                self._parquet.close()
            finally:
                # Otherwise pyarrow closes it again when it is collected, and prints the error.
                self._parquet.is_open = False
            if self._put is not None:
                data = self._sink.getvalue()
                size = data.size
                facts = reader.facts(FileInMemory(data), self._location, size=size)
                self._put(self._location, memoryview(data))
            else:
                assert self._local is not None
                self._sink.flush()
                size = self.size
                facts = reader.facts(LocalStorage(), absolute_path(self._local), size=size)
        return size, facts

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except DeltaSkipError:
            raise
        except (OSError, pa.ArrowException) as error:
            reason = (isinstance(error, OSError) and error.strerror) or first_line(error)
            raise StorageError(f"Cannot write the data file {self._location}: {reason}.") from error

    def abandon(self) -> None:
        """Publish nothing, and delete the local file."""
        error = StorageError("The file was abandoned.")
        with suppress(Exception):
            self._parquet.close()
        self._parquet.is_open = False
        with suppress(OSError):
            self._stack.__exit__(StorageError, error, None)


def add_of_new_file(
    path: str, partition_values: Mapping[str, str | None], size: int, stats: str, request: StatisticsRequest
) -> AddFile:
    """Return the add action of a new file. path: Below the table's root, not encoded. stats: As `request` specifies."""
    now = current_ms()
    tags = written_tags(stats, request.columns)
    return AddFile(encode_path(path), partition_values, size, now, True, stats=stats, tags=tags)


def _filter_options(filters: Mapping[str, int]) -> dict[str, Any]:
    options = {leaf: {"ndv": max(1, count), "fpp": _FALSE_POSITIVES} for leaf, count in filters.items()}
    return {"bloom_filter_options": options} if options else {}


def dictionary_columns(table: pa.Table) -> list[str]:
    """Leaves that repeat enough of their values for a dictionary."""
    found: list[str] = []
    step = max(1, len(table) // _SAMPLE_ROWS)
    sample = None if step == 1 else pa.array(np.arange(0, len(table), step)[:_SAMPLE_ROWS])
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = one_chunk(column.slice(0, _SAMPLE_ROWS) if sample is None else column.take(sample))
        found.extend(leaf for leaf, each in _leaf_values(name, values) if _repeats(each))
    return found


def _leaf_values(name: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """The values of each leaf of a column; see `leaf_paths`."""
    columns = inner_columns(name, values.type)
    if columns is None:
        yield name, values.storage if isinstance(values, pa.ExtensionArray) else values
        return
    if pa.types.is_list(values.type):
        # Without those of other rows: the values of a slice are those of the whole array.
        inner = [list_items(values)]
    else:
        fields = list_items(map_lists(values)) if pa.types.is_map(values.type) else values
        inner = [fields.field(i) for i in range(len(columns))]
    for (path, _), each in zip(columns, inner, strict=True):
        yield from _leaf_values(path, each)


def _repeats(values: pa.Array) -> bool:
    """Whether the values of a sample repeat enough for a dictionary."""
    if pa.types.is_boolean(values.type):
        return False
    if len(values) >= _SAMPLE_ROWS and len(values.take(_SOME).unique()) > _NEARLY_ALL * len(_SOME):
        return False
    return len(values.unique()) <= max(16, _MOST_DISTINCT * len(values))


def leaves_with_nan(table: pa.Table) -> Iterator[str]:
    """Paths of the floating-point columns and fields that have a NaN."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _has_floats(column.type):
            yield from _nan_below(name, column)


def _nan_below(path: str, array: pa.ChunkedArray) -> Iterator[str]:
    if pa.types.is_floating(array.type):
        total = pc.sum(array).as_py()
        # The sum of opposite infinities is also NaN.
        if total is not None and total != total and pc.any(pc.is_nan(array)).as_py():
            yield path
    elif pa.types.is_struct(array.type) and _has_floats(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            yield from _nan_below(f"{path}.{field.name}", child)


def _has_floats(kind: pa.DataType) -> bool:
    """Whether values are floating-point numbers, or structs of them; readers use no bounds of arrays and maps."""
    return pa.types.is_floating(kind) or (pa.types.is_struct(kind) and any(_has_floats(f.type) for f in kind))


def parquet_schema(schema: t.StructType, columns: Sequence[int], mode: t.MappingMode) -> tuple[pa.Schema, list[int]]:
    """Return the Arrow schema of the data files and the columns that it consists of.

    Names are physical, and ids of column mapping become Parquet field ids. All fields are optional, as delta-spark
    writes them: NOT NULL is a rule of the table, which changes without rewriting files. Void columns are left out.

    Args:
        schema: Schema of the table.
        columns: Positions of the columns that files may contain.
        mode: Column mapping mode of the table.

    Raises:
        SchemaError: A column's type is not supported, or column mapping lacks a name.
    """
    # PROTOCOL, Void Type: "void columns are never written to data files".
    kept = [i for i in columns if schema.fields[i].type != t.VOID]
    return pa.schema([_field(schema.fields[i], mode) for i in kept]), kept


def viewed(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return the array under a type that differs in names, ids and nullability, and lacks void fields of structs."""
    if data_type == t.VARIANT_STORAGE and array.null_count:
        # Both members are required, also below a null.
        members = [filled(member, b"") for member in array.flatten()]
        return pa.StructArray.from_arrays(members, fields=list(t.VARIANT_STORAGE), mask=array.is_null())
    has_variants = _has_variants(data_type)
    if array.type == data_type and (data_type == t.VARIANT_STORAGE or not has_variants):
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_list(data_type) and has_variants:
        values = viewed(list_items(array), data_type.value_type)
        return pa.ListArray.from_arrays(list_offsets(array), values, type=data_type, mask=mask)
    if pa.types.is_map(data_type) and has_variants:
        entries = list_items(map_lists(array))
        items = viewed(entries.field(1), data_type.item_type)
        keys = entries.field(0).view(data_type.key_type)
        return pa.MapArray.from_arrays(list_offsets(map_lists(array)), keys, items, data_type, mask=mask)
    if not pa.types.is_struct(data_type):
        return array.view(data_type)
    # Unlike `field`, `flatten` applies the offset of a slice.
    kept = [field for field in array.flatten() if not pa.types.is_null(field.type)]
    fields = [data_type.field(i) for i in range(data_type.num_fields)]
    arrays = [viewed(each, field.type) for each, field in zip(kept, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def _has_variants(data_type: pa.DataType) -> bool:
    """Whether some values below are variants, of which each may be null, and its members may not."""
    if data_type == t.VARIANT_STORAGE:
        return True
    inner = [data_type.field(i).type for i in range(data_type.num_fields)]
    return any(map(_has_variants, inner))


def _field(field: t.StructField, mode: t.MappingMode) -> pa.Field:
    name = t.physical_name(field, mode)
    nested = field.metadata.get(NESTED_IDS_KEY) if mode != "none" else None
    ids: Mapping[str, Any] = nested if isinstance(nested, Mapping) else {}
    data_type = _type(field.type, mode, name, ids)
    return pa.field(name, data_type, True, parquet_id(field_id(field) if mode != "none" else None))


def _type(data_type: t.DataType, mode: t.MappingMode, path: str, ids: Mapping[str, Any]) -> pa.DataType:
    """The Arrow type with physical names. ids: of elements, keys and values below `path`."""
    match data_type:
        case t.StructType(fields):
            return pa.struct([_field(field, mode) for field in fields if field.type != t.VOID])
        case t.ArrayType(element):
            inner = f"{path}.element"
            return pa.list_(pa.field("element", _type(element, mode, inner, ids), True, parquet_id(ids.get(inner))))
        case t.MapType(key, value):
            of_key, of_value = f"{path}.key", f"{path}.value"
            return pa.map_(
                pa.field("key", _type(key, mode, of_key, ids), False, parquet_id(ids.get(of_key))),
                pa.field("value", _type(value, mode, of_value, ids), True, parquet_id(ids.get(of_value))),
            )
        case t.GeographyType(_, algorithm) if algorithm != "spherical":
            raise UnsupportedFeature(
                f"The column {path} has the edges {algorithm}, which pyarrow writes to no file: use edges that are "
                f"spherical, or write through Spark."
            )
        case t.GeometryType() | t.GeographyType():
            return WkbType(data_type)
        case _:
            return t.arrow_type(data_type)
