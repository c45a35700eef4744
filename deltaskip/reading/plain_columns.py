"""Columns of Parquet files that the kernels decode without pyarrow: not nested, and of a common type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.kernels.row_runs import Runs, bits_in, bytes_in, offsets_in
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import without_views
from deltaskip.sparkexpr.values.arrow_values import arrow_array

PHYSICAL_TYPES = {
    "BOOLEAN": 0,
    "INT32": 1,
    "INT64": 2,
    "INT96": 3,
    "FLOAT": 4,
    "DOUBLE": 5,
    "BYTE_ARRAY": 6,
    "FIXED_LEN_BYTE_ARRAY": 7,
}
"""Codes of physical types (parquet.thrift, Type) by pyarrow's names."""

VIEWS = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
"""Types of views by the types of the same values."""

# Types that only say how a writer had the same values in memory: deltalake and Polars write them.
_OTHER_LAYOUTS = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
# Array of bytes of any length; bits; times as INT96; strings, which are checked.
_OF_ANY_LENGTH, _BITS, _INT96, _TEXT = 0, -1, -2, -3
# Bytes of a view.
_VIEW_BYTES = 16
# If at most one in this many views is taken, the strings are copied.
_FEW = 2


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column and how its values are stored: see kernels.parquet_pages.RowTaker.

    Attributes:
        arrow: Its Arrow type.
        number: Its index among the Parquet columns.
        width: Bytes of a value in pages; 0 for byte arrays, -1 for booleans, -2 for INT96, -3 for strings.
        out_width: Bytes of a value in Arrow.
        big_endian: Whether values in pages are big-endian.
        optional: Whether it can be null.
    """

    arrow: pa.DataType
    number: int
    width: int
    out_width: int
    big_endian: bool
    optional: bool

    @classmethod
    def of(cls, stored: pq.ParquetSchema, schema: pa.Schema, name: str, number: int) -> PlainColumn | None:
        """Return the column with a name and index; None if pyarrow must read it.

        Args:
            stored: The schema of the file.
            schema: Its Arrow schema, as pyarrow reads it.
            name: The name of the column, which is not nested.
            number: Its index among the Parquet columns.
        """
        column = stored.column(number)
        if column.path != name or column.max_repetition_level or column.max_definition_level > 1:
            return None
        return cls.of_leaf(schema.field(name).type, column, number)

    @classmethod
    def of_leaf(cls, arrow: pa.DataType, column: pq.ColumnSchema, number: int) -> PlainColumn | None:
        """Return a column, or a leaf of a nested one, of an Arrow type; None if pyarrow must read it."""
        arrow = _OTHER_LAYOUTS.get(arrow, arrow)
        widths = _widths(arrow, column)
        return None if widths is None else cls(arrow, number, *widths, column.max_definition_level > 0)

    @property
    def has_bytes(self) -> bool:
        """Whether its values are strings or binary, of which the kernels can make views."""
        return self.width in (_OF_ANY_LENGTH, _TEXT)

    @property
    def is_int96(self) -> bool:
        """Whether its values are times as INT96."""
        return self.width == _INT96

    @property
    def stored_as(self) -> tuple[int, int, bool, bool]:
        """The arguments of the kernels."""
        return self.width, self.out_width, self.big_endian, self.optional


def leaf_numbers(schema: pa.Schema) -> Mapping[str, int]:
    """Return the indexes of the Parquet columns of all fields that are not nested; their names are unique."""
    found: dict[str, int] = {}
    number = 0
    for field in schema:
        if not pa.types.is_nested(field.type):
            found[field.name] = number
        number += leaves_of(field.type)
    return found


def from_buffers(arrow: pa.DataType, rows: int, buffers: Sequence[pa.Buffer | None], views: bool = False) -> pa.Array:
    """Return an array made of a kernel's buffers: validity, offsets and values; views: views instead of offsets."""
    if views:
        return pa.Array.from_buffers(VIEWS[arrow], rows, list(buffers))
    validity, offsets, values = buffers
    return pa.Array.from_buffers(arrow, rows, [validity, values] if offsets is None else list(buffers))


def dictionary_of(rows: int, *buffers: pa.Buffer | None) -> pa.DictionaryArray:
    """Return strings as a dictionary made of a kernel's buffers of codes, offsets and bytes, which it has checked."""
    *codes, offsets, data = buffers
    assert offsets is not None
    entries = pa.Array.from_buffers(pa.string(), offsets.size // 4 - 1, [None, offsets, data])
    return pa.DictionaryArray.from_arrays(from_buffers(pa.int32(), rows, codes), entries, safe=False)


def rows_at(array: pa.Array, positions: pa.Array) -> pa.Array:
    """Return some values of an array, which may be views: Arrow takes none of them.

    Of few views, and of nested ones, the strings are copied, so that they do not keep those of all others in memory.
    """
    plain = without_views(array.type)
    if plain != array.type and (pa.types.is_nested(plain) or len(positions) * _FEW <= len(array)):
        array = array.cast(plain)
    return _of_views(array, lambda each: each.take(positions))


def some_rows(array: pa.Array, positions: npt.NDArray[np.int64] | range) -> pa.Array:
    """Return the values at ascending positions; a slice of the array for a range."""
    if isinstance(positions, range):
        return array.slice(positions.start, len(positions))
    return rows_at(array, arrow_array(positions, pa.int64()))


def rows_in(array: pa.Array, runs: Runs) -> pa.Array:
    """Return the values in some runs of rows: faster than `rows_at` for most rows, and of nested values and views."""
    kind, first = array.type, array.offset
    if not runs.rows:
        return array.slice(0, 0)
    if pa.types.is_dictionary(kind):
        indexes = rows_in(array.indices, runs)
        return pa.DictionaryArray.from_arrays(indexes, array.dictionary, ordered=kind.ordered, safe=False)
    if pa.types.is_null(kind):
        return array.slice(0, runs.rows)
    width = _width(kind)
    has_offsets = kind in VIEWS or pa.types.is_list(kind) or pa.types.is_map(kind)
    if not (width or has_offsets or kind == pa.bool_() or pa.types.is_struct(kind)):
        return array.take(pa.Array.from_buffers(pa.int64(), runs.rows, [None, runs.numbers()]))
    validity, *buffers = array.buffers()
    held = None if not array.null_count else bits_in(validity, first, runs)
    if pa.types.is_struct(kind):
        parts = [rows_in(array.field(number), runs) for number in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, runs.rows, [held], children=parts)
    if kind == pa.bool_():
        return pa.Array.from_buffers(kind, runs.rows, [held, bits_in(buffers[0], first, runs)])
    if width:
        return pa.Array.from_buffers(kind, runs.rows, [held, bytes_in(buffers[0], width, first, runs), *buffers[1:]])
    offsets, inner = offsets_in(buffers[0], first, runs)
    if kind in VIEWS:
        return pa.Array.from_buffers(kind, runs.rows, [held, offsets, bytes_in(buffers[1], 1, 0, inner)])
    return pa.Array.from_buffers(kind, runs.rows, [held, offsets], children=[rows_in(array.values, inner)])


def _width(kind: pa.DataType) -> int:
    """Bytes of each value of a type; 0 if they differ, or a value has no whole bytes."""
    if kind in VIEWS.values():
        return _VIEW_BYTES
    fixed = pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind)
    return kind.bit_width // 8 if fixed else 0


def _of_views(array: pa.Array, select: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Some values of an array that has views only if it is one: their bytes are selected, and the strings stay."""
    if array.type not in VIEWS.values():
        return select(array)
    validity, views, *data = array.buffers()
    found = select(pa.Array.from_buffers(pa.binary(_VIEW_BYTES), len(array), [validity, views], offset=array.offset))
    return pa.Array.from_buffers(array.type, len(found), [*found.buffers(), *data], offset=found.offset)


def leaves_of(arrow: pa.DataType) -> int:
    """Return the number of Parquet columns of an Arrow type."""
    return sum(leaves_of(arrow.field(i).type) for i in range(arrow.num_fields)) if pa.types.is_nested(arrow) else 1


def _widths(arrow: pa.DataType, column: pq.ColumnSchema) -> tuple[int, int, bool] | None:
    """Bytes of a value in pages and in Arrow, and whether the former are big-endian; None for types with other bits."""
    match column.physical_type:
        case "BOOLEAN" if pa.types.is_boolean(arrow):
            return _BITS, 0, False
        case "INT32" if arrow in (pa.int32(), pa.date32(), pa.int16(), pa.int8()):
            return 4, arrow.byte_width, False
        case "INT64" if arrow == pa.int64():
            return 8, 8, False
        case "INT64" if pa.types.is_timestamp(arrow) and arrow.unit == "us":
            return (8, 8, False) if "timeUnit=microseconds" in str(column.logical_type) else None
        case "INT96" if pa.types.is_timestamp(arrow) and arrow.unit == "us":
            return _INT96, 8, False
        case "INT32" | "INT64" if pa.types.is_decimal128(arrow):
            return 4 if column.physical_type == "INT32" else 8, 16, False
        case "FLOAT" if arrow == pa.float32():
            return 4, 4, False
        case "DOUBLE" if arrow == pa.float64():
            return 8, 8, False
        case "BYTE_ARRAY" if arrow == pa.string():
            return _TEXT, 0, False
        case "BYTE_ARRAY" if arrow == pa.binary():
            return _OF_ANY_LENGTH, 0, False
        case "FIXED_LEN_BYTE_ARRAY" if pa.types.is_decimal128(arrow) and 0 < column.length <= 16:
            return column.length, 16, True
        case _:
            return None
