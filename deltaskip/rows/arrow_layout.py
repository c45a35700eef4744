"""Converts Arrow arrays of every layout to the one layout of their Delta type, and checks them before anything else.

Arrow has several layouts for the values of one Delta type: strings with offsets of 32 or 64 bits, views, dictionaries
and run-end encoding; timestamps in four units and every time zone; decimals of 32 to 256 bits; unsigned integers; five
kinds of lists. Outside of this module each type has one layout, `stored_type`. Arrays that have it are not copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import InvalidArgument
from deltaskip.rows.rules import value_violation
from deltaskip.rows.schema_merge import all_nullable
from deltaskip.settings import options
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.ddl import type_text
from deltaskip.sparkexpr.values.arrow_nested import list_items, list_offsets, map_lists, run_numbers
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, one_chunk

_PATH = tuple[str, ...]
# Below these, starting threads takes longer than they save.
_PARALLEL_ROWS = 1 << 16
_NANOS_PER_MICRO = 1_000
# Where the parts of a UUID begin among its hexadecimal digits, and where they end.
_UUID_PARTS = (0, 8, 12, 16, 20, 32)
# The two hexadecimal digits of each byte.
_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)


def stored_type(data_type: t.DataType) -> pa.DataType:
    """Return the Arrow type of a column's values in files: everything is nullable, as in files of Spark."""
    return t.arrow_type(all_nullable(data_type))


def plain_batches(batches: Iterable[pa.RecordBatch], schema: t.StructType, table: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches in the layout of their types. Large batches are divided, and empty ones left out.

    Args:
        batches: Rows of any producer. They are checked before they are read.
        schema: Their columns, in order, as `from_arrow` returns them for their Arrow types.
        table: The destination table, for messages.

    Raises:
        InvalidArgument: An array is damaged: offsets that decrease or lead out of it, indices outside of a dictionary,
            strings that are not UTF-8.
        RowViolation: A value is outside of the range of its type.
    """
    names = [field.name for field in schema.fields]
    with ExitStack() as stack:
        pool: ThreadPoolExecutor | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if pool is None and len(names) > 1 and batch.num_rows >= _PARALLEL_ROWS:
                # Arrow checks and casts without the GIL.
                pool = stack.enter_context(ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip"))
            each = map if pool is None or batch.num_rows < _PARALLEL_ROWS else pool.map
            columns = list(each(_sound, batch.columns, names))
            n_bytes = sum(column.nbytes for column in columns)
            size = -(-batch.num_rows // max(1, -(-n_bytes // options.write_batch_bytes)))
            for start in range(0, batch.num_rows, size):
                part = [column.slice(start, size) for column in columns]
                plain = list(each(lambda field, column: _plain_column(column, field, table), schema.fields, part))
                if plain:
                    yield pa.RecordBatch.from_arrays(plain, names=names)
                else:
                    yield batch


def plain_table(rows: pa.Table, schema: t.StructType, table: str) -> pa.Table:
    """Return rows as `plain_batches` yields them."""
    if not schema.fields:
        return rows
    batches = list(plain_batches(rows.to_batches(), schema, table))
    if batches:
        return pa.Table.from_batches(batches)
    empty = [_plain_column(one_chunk(rows.column(i)), field, table) for i, field in enumerate(schema.fields)]
    return pa.table(empty, names=[field.name for field in schema.fields])


def plain_array(array: pa.Array, data_type: t.DataType, path: _PATH, table: str) -> pa.Array:
    """Return values in the layout of their type.

    It is `stored_type(data_type)`, except that a variant is a struct with the members that were given.

    Args:
        array: The values, which were checked.
        data_type: Their type, as `from_arrow_type` returns it; for UUIDs also STRING.
        path: The column or field, for messages.
        table: The table, for messages.

    Raises:
        InvalidArgument: Lists have more than 2^31 - 1 values together.
        RowViolation: A value is outside of the range of its type.
    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain_array(array.storage, data_type, path, table)
    wanted = stored_type(data_type)
    if pa.types.is_null(kind):
        return pa.nulls(len(array), wanted)
    if kind == wanted and t.VARIANT not in t.nested_types(data_type):
        return array
    if pa.types.is_dictionary(kind):
        return plain_array(array.dictionary, data_type, path, table).take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        return plain_array(array.values, data_type, path, table).take(run_numbers(array))
    match data_type:
        case t.StructType(fields):
            return _struct(array, fields, path, table)
        case t.ArrayType(element):
            values = plain_array(list_items(array), element, (*path, "element"), table)
            listed = pa.list_(pa.field("element", values.type))
            return pa.ListArray.from_arrays(list_offsets(array), values, type=listed, mask=_nulls(array))
        case t.MapType():
            return _map(array, data_type, path, table)
        case t.GeometryType() | t.GeographyType() if pa.types.is_struct(kind):
            # As Spark gives them to Python: an SRID, and WKB, which is null with the struct.
            return plain_array(array.flatten()[1], data_type, path, table)
        case _ if data_type == t.VARIANT:
            return _struct(array, [t.StructField(member.name, t.BINARY) for member in kind], path, table)
        case _:
            return _atoms(array, data_type, path, table)


def floor_divided(array: pa.Array, divisor: int, kind: pa.DataType) -> pa.Array:
    """Return integers divided by a number and rounded down, as integers of a type."""
    values = np.asarray(filled(array, 0)) // divisor
    divided = pa.array(values).cast(kind)
    return pc.if_else(array.is_valid(), divided, arrow_scalar(None, kind)) if array.null_count else divided


def scalar_text(value: pa.Scalar) -> str:
    """Return the text of a value for messages."""
    try:
        return str(value)
    except (OverflowError, ValueError):
        # The year is out of Python's range.
        return str(value.value)


def _sound(array: pa.Array, name: str) -> pa.Array:
    """The values, checked so that pyarrow reads within their buffers. Raises InvalidArgument."""
    try:
        try:
            array = _checked(array)
        except pa.ArrowException:
            # Spark gives empty arrays no offsets, and the C interface, which has no sizes, makes one of other bytes.
            array.validate()
            array = _with_new_empty_arrays(array)
            array.validate(full=True)
        # An empty list, map or text may have no offsets, but pyarrow reads the first offset to compute the size.
        return pa.concat_arrays([array]) if _lacks_offsets(array) else array
    except pa.ArrowException as error:
        raise InvalidArgument(f"The column {name} of the rows is damaged: {error}") from error


def _checked(array: pa.Array) -> pa.Array:
    """The values, checked. Those of a slice alone: slices share their children, and each would check all of these."""
    kind = array.type
    is_map = pa.types.is_map(kind)
    if array.offset and pa.types.is_struct(kind):
        array.validate()
        children = [_checked(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=_nulls(array))
    if array.offset and (is_map or pa.types.is_list(kind) or pa.types.is_large_list(kind)) and len(array):
        array.validate()
        offsets = np.asarray(array.offsets)
        if (offsets[1:] < offsets[:-1]).any():
            raise pa.ArrowInvalid("its offsets decrease")
        first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        inner = (array.keys, array.items) if is_map else (array.values,)
        own = arrow_array(offsets - offsets[0])
        children = [_checked(each.slice(first, count)) for each in inner]
        return (pa.MapArray if is_map else type(array)).from_arrays(own, *children, kind, mask=_nulls(array))
    array.validate(full=True)
    return array


def _with_new_empty_arrays(array: pa.Array) -> pa.Array:
    """The same values, with a new array instead of each empty one in it. Reads no offsets."""
    kind = array.type
    if not len(array):
        return pa.nulls(0, kind)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _with_new_empty_arrays(array.storage))
    if pa.types.is_struct(kind):
        children = [_with_new_empty_arrays(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=_nulls(array))
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            array.indices, _with_new_empty_arrays(array.dictionary), ordered=kind.ordered, safe=False
        )
    if hasattr(array, "values"):
        children = [_with_new_empty_arrays(array.values)]
        if pa.types.is_run_end_encoded(kind):
            children.insert(0, array.run_ends)
        own = array.buffers()[: kind.num_buffers]
        return pa.Array.from_buffers(kind, len(array), own, offset=array.offset, children=children)
    return array


def _lacks_offsets(array: pa.Array) -> bool:
    """Whether an array, at any depth, is empty and has no offsets."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _lacks_offsets(array.storage)
    if pa.types.is_dictionary(kind):
        return _lacks_offsets(array.dictionary)
    if pa.types.is_run_end_encoded(kind):
        return _lacks_offsets(array.values)
    if pa.types.is_struct(kind):
        return any(_lacks_offsets(array.field(i)) for i in range(kind.num_fields))
    width = _OFFSET_BYTES.get(kind.id)
    if width is not None and not len(array):
        offsets = array.buffers()[1]
        if offsets is None or offsets.size < (array.offset + 1) * width:
            return True
    if pa.types.is_map(kind):
        return _lacks_offsets(array.keys) or _lacks_offsets(array.items)
    return pa.types.is_nested(kind) and hasattr(array, "values") and _lacks_offsets(array.values)


_OFFSET_BYTES = {
    each.id: width
    for width, kinds in {
        4: (pa.string(), pa.binary(), pa.list_(pa.null()), pa.map_(pa.int8(), pa.int8())),
        8: (pa.large_string(), pa.large_binary(), pa.large_list(pa.null())),
    }.items()
    for each in kinds
}


def _plain_column(array: pa.Array, field: t.StructField, table: str) -> pa.Array:
    try:
        return plain_array(array, field.type, (field.name,), table)
    except pa.ArrowException as error:
        raise InvalidArgument(
            f"The column {t.display_name([field.name])} of the rows for {table} cannot be converted from the Arrow "
            f"type {array.type} to {type_text(field.type).upper()}: {error}"
        ) from error


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _struct(array: pa.StructArray, fields: Iterable[t.StructField], path: _PATH, table: str) -> pa.Array:
    kind = array.type
    if array.null_count and any(pa.types.is_run_end_encoded(each.type) for each in kind):
        # These cannot hold the nulls of the struct.
        children = [array.field(i) for i in range(kind.num_fields)]
        children = [plain_array(child, f.type, (*path, f.name), table)
                    if pa.types.is_run_end_encoded(child.type) else child
                    for child, f in zip(children, fields, strict=True)]  # fmt: skip
        named = [pa.field(f.name, child.type) for f, child in zip(fields, children, strict=True)]
        array = pa.StructArray.from_arrays(children, fields=named, mask=_nulls(array))
    # Flattened children are null where the struct is, so that nothing below a null is converted.
    children = [
        plain_array(child, f.type, (*path, f.name), table)
        for f, child in zip(fields, array.flatten(), strict=True)
    ]  # fmt: skip
    named = [pa.field(f.name, child.type) for f, child in zip(fields, children, strict=True)]
    return pa.StructArray.from_arrays(children, fields=named, mask=_nulls(array))


def _map(array: pa.MapArray, data_type: t.MapType, path: _PATH, table: str) -> pa.Array:
    lists = map_lists(array)
    entries = list_items(lists)
    keys = plain_array(entries.field("key"), data_type.key, (*path, "key"), table)
    values = plain_array(entries.field("value"), data_type.value, (*path, "value"), table)
    mapped = pa.map_(pa.field("key", keys.type, False), pa.field("value", values.type))
    return pa.MapArray.from_arrays(list_offsets(lists), keys, values, mapped, mask=_nulls(lists))


def _atoms(array: pa.Array, data_type: t.DataType, path: _PATH, table: str) -> pa.Array:
    kind, wanted = array.type, t.arrow_type(data_type)
    if data_type == t.BOOLEAN and pa.types.is_int8(kind):
        return pc.not_equal(array, arrow_scalar(0, kind))
    if data_type == t.STRING and pa.types.is_fixed_size_binary(kind):
        return _uuid_texts(array)
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and data_type not in t.NANOSECONDS:
        # Digits below a microsecond are cut off: the time is rounded down.
        return floor_divided(array.view(pa.int64()), _NANOS_PER_MICRO, pa.int64()).view(wanted)
    try:
        return _from_zero(array).cast(wanted)
    except pa.ArrowInvalid as error:
        broken = next((value for value in array.drop_null() if _fails(value, wanted)), None)
        shown = "" if broken is None else scalar_text(broken)
        raise value_violation(t.display_name(path), type_text(data_type).upper(), shown, table) from error


def _from_zero(array: pa.Array) -> pa.Array:
    """The array; for a slice of a long text or binary array, whose offsets a string array cannot have, a copy."""
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    if not is_large or not array.offset:
        return array
    last = np.frombuffer(array.buffers()[1], np.int64)[array.offset + len(array)]
    return array.take(pa.array(np.arange(len(array)))) if last > np.iinfo(np.int32).max else array


def _uuid_texts(array: pa.FixedSizeBinaryArray) -> pa.StringArray:
    """UUIDs of 16 bytes as text: 36 characters in lower case."""
    data = np.frombuffer(array.buffers()[1], np.uint8)[16 * array.offset :][: 16 * len(array)]
    digits = _HEX[data].view(np.uint8).reshape(-1, 32)
    texts = np.full((len(array), 36), ord("-"), np.uint8)
    for number, (start, stop) in enumerate(pairwise(_UUID_PARTS)):
        texts[:, start + number : stop + number] = digits[:, start:stop]
    offsets = arrow_array(np.arange(len(array) + 1, dtype=np.int32) * 36)
    found = pa.StringArray.from_buffers(len(array), offsets.buffers()[1], pa.py_buffer(texts))
    return pc.if_else(array.is_valid(), found, arrow_scalar(None, pa.string())) if array.null_count else found


def _fails(value: pa.Scalar, wanted: pa.DataType) -> bool:
    try:
        value.cast(wanted)
    except pa.ArrowInvalid:
        return True
    return False


def with_schema(batches: pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows under other names or with metadata."""
    given = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
    return pa.RecordBatchReader.from_batches(schema, given)
