"""Statistics from a Parquet footer, if they provably describe all rows.

# Apache Parquet, parquet.thrift: FileMetaData, Statistics, ColumnOrder
Only `min_value` and `max_value` in the type's own order are used: the order of the old fields `min` and `max` depends
on the writer. Whether `min_value` and `max_value` are exact depends on the writer:

* integers, dates and timestamps (never INT96): any writer, unless its flags mark them as inexact;
* float and double: parquet-mr from 1.10 on, which orders NaN last, so a NaN in the column is its maximum; other
  writers, and all writers that count NaN in `nan_count`, ignore NaN and prove nothing if the column may contain one,
  unless the caller knows that a column with NaN has no statistics;
* strings: if the flags `is_min_value_exact` and `is_max_value_exact` are set, or by writers that do not truncate them:
  parquet-cpp-arrow, and parquet-mr, whose setting parquet.statistics.truncate.length is assumed to be the default;
* decimals in bytes: writers that compare them as numbers.

Statistics that contradict each other prove nothing.
A null count is used if every row group has one; the null count of a nested field only from parquet-mr, which counts
rows whose parent is null. pyarrow counts the values at each definition level, from which the null counts of nested
fields, arrays, maps and variants follow. Dates and timestamps that may be in the calendar before 1582 are unknown.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Any, Protocol

import pyarrow as pa

from deltaskip.errors import DataFileMissing, StorageError, UnsupportedFeature
from deltaskip.kernels.thrift_compact import read_struct
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import GEOSPATIAL, MappingMode
from deltaskip.stats.believed_bounds import GREGORIAN_FROM, hybrid_calendar
from deltaskip.stats.boxes import footer_box
from deltaskip.stats.facts import NO_VALUES, UNKNOWN, ColumnFacts, Extremes
from deltaskip.stats.footer_columns import AMBIGUOUS, ColumnLookup, ParquetNode, parquet_root, type_of_leaf
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.stored_bounds import Bound, Convert, converters
from deltaskip.storage import Storage, storage_for

_MAGIC, _ENCRYPTED_MAGIC = b"PAR1", b"PARE"
_TAIL_BYTES = 32 << 10
_WRITER = regex(rb"(parquet-mr|parquet-cpp-arrow|parquet-rs) version (\d+)\.(\d+)")
# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData and Statistics.
_SCHEMA, _NUM_ROWS, _ROW_GROUPS, _KEY_VALUES, _CREATED_BY, _COLUMN_ORDERS, _ENCRYPTION = 2, 3, 4, 5, 6, 7, 8
COLUMNS, GROUP_ROWS, _OFFSET_INDEX = 1, 3, 4
META, NUM_VALUES, _CHUNK_BYTES, _DATA_PAGE, _DICTIONARY_PAGE, STATISTICS = 3, 5, 7, 9, 11, 12
_SIZES, _REPEATED_AT, _DEFINED = 16, 2, 3
NULL_COUNT, MAX, MIN, MAX_EXACT, MIN_EXACT, NAN_COUNT = 3, 5, 6, 7, 8, 9
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, struct.error)
"""The errors that a damaged footer causes."""

_INT96 = 3
# INT32, INT64, FLOAT and DOUBLE.
_NUMBERS = {kind: struct.Struct(form) for kind, form in ((1, "<i"), (2, "<q"), (4, "<f"), (5, "<d"))}


class TailStorage(Protocol):
    """The part of storage.Storage that reading footers needs."""

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end. Raises FileNotFoundError for a missing file."""

    def size(self, path: str) -> int:
        """Return the size of the file in bytes."""


class DataStorage(TailStorage, Protocol):
    """The part of storage.Storage that reading data files needs."""

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access. The caller closes it."""


class FileInMemory:
    """A storage of a single file, whose bytes are in memory (DataStorage)."""

    def __init__(self, data: pa.Buffer) -> None:
        self._data = data

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return the bytes of the range."""
        return bytes(memoryview(self._data)[offset : offset + length])

    def size(self, path: str) -> int:
        """Return the number of bytes."""
        return int(self._data.size)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the bytes for random access."""
        return pa.BufferReader(self._data)


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file: `elements` are the schema elements of Thrift, `row_groups` dicts by Thrift's field ids.

    data: the bytes of the footer.
    """

    num_rows: int
    elements: list[dict[int, Any]]
    row_groups: list[dict[int, Any]]
    created_by: bytes
    key_values: Mapping[bytes, bytes]
    column_orders: list[dict[int, Any]]
    data: bytes = field(default=b"", compare=False, repr=False)

    def rows_before(self, row_group: int) -> int:
        """Number of rows in the row groups before it."""
        return sum(group[GROUP_ROWS] for group in self.row_groups[:row_group])

    def group_rows(self, row_group: int) -> int:
        """Number of rows."""
        return int(self.row_groups[row_group][GROUP_ROWS])

    def column_chunk(self, row_group: int, leaf: int) -> Mapping[int, Any]:
        """Metadata of a column chunk (parquet.thrift, ColumnMetaData), by the index of its Parquet column."""
        return _chunk(self.row_groups[row_group], leaf)

    def chunk_range(self, row_group: int, leaf: int) -> tuple[int, int]:
        """The start and end of the pages of a column chunk in the file."""
        meta = self.column_chunk(row_group, leaf)
        start, dictionary = meta[_DATA_PAGE], meta.get(_DICTIONARY_PAGE, 0)
        if 0 < dictionary < start:
            start = dictionary
        return start, start + meta[_CHUNK_BYTES]

    def has_page_locations(self, row_group: int) -> bool:
        """Whether each column chunk has an offset index."""
        try:
            return all(_OFFSET_INDEX in each for each in self.row_groups[row_group][COLUMNS])
        except DAMAGE:
            return False

    def group_bytes(self) -> list[int] | None:
        """Bytes of each row group in the file; None if the footer is damaged."""
        try:
            return [sum(each[META][_CHUNK_BYTES] for each in group[COLUMNS]) for group in self.row_groups]
        except DAMAGE:
            return None


class OpenSource:
    """A file that is open for reading (TailStorage)."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """The bytes at the offset; `path` is ignored."""
        read: bytes = self._source.read_at(length, offset)
        return read

    def size(self, path: str) -> int:
        """Size of the file in bytes."""
        return int(self._source.size())


@dataclass(frozen=True, slots=True)
class FooterColumn:
    """The position of a table's column in files of one schema, and the statistics that their footers prove.

    nodes: From the top level; empty if the file lacks the column, None if it is ambiguous.
    decode, convert: Convert a footer's bound, then minima and maxima, to values of the table's type; None if footers
    prove no bound.
    not_before: Bounds below it may be in another calendar and count as unknown.
    orders_nan: The writer orders NaN last, so that a NaN in a float column is its maximum.
    level: The definition level from which on a nested column is not null; None if its writer's histograms are not used.
    required: Whether every row has a value.
    """

    column: StatColumn
    nodes: tuple[ParquetNode, ...] | None
    decode: Callable[[bytes], Bound] | None = None
    convert: tuple[Convert, Convert] | None = None
    says_exact: bool = False
    counts_nulls: bool = False
    not_before: int | None = None
    orders_nan: bool = False
    level: int | None = None
    required: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", all(map(attrgetter("required"), self.nodes or ())))


class Planner:
    """Plans of the same columns for many files. The plans of the last schema are cached.

    exact_floats: Whether columns with NaN are known to have no statistics, whichever writer wrote the file.
    """

    def __init__(self, columns: Sequence[StatColumn], mapping_mode: MappingMode, exact_floats: bool = False) -> None:
        self._columns = columns
        self._mode = mapping_mode
        self._exact_floats = exact_floats
        # One value, since several threads read files.
        self._known: tuple[tuple[object, ...], tuple[FooterColumn, ...]] | None = None

    def plans(self, footer: Footer) -> tuple[FooterColumn, ...]:
        """Return a plan for each column. Raises ValueError if the footer's schema is damaged."""
        calendar = hybrid_calendar(footer.created_by, footer.key_values)
        key = (footer.created_by, calendar, footer.column_orders, footer.elements)
        known = self._known
        if known is not None and known[0] == key:
            return known[1]
        lookup = ColumnLookup(parquet_root(footer.elements), self._mode)
        plans = tuple(self._plan(column, lookup, footer, calendar) for column in self._columns)
        self._known = key, plans
        return plans

    def _plan(
        self, column: StatColumn, lookup: ColumnLookup, footer: Footer, calendar: tuple[bool, bool]
    ) -> FooterColumn:
        nodes = lookup.nodes_to(column)
        if nodes is None or isinstance(nodes, str):
            return FooterColumn(column, None if nodes == AMBIGUOUS else ())
        node = nodes[-1]
        writer = writer_of(footer.created_by)
        mr = writer[0] == b"parquet-mr" and writer[1:] >= (1, 10)
        counts = (mr or (len(nodes) == 1 and node.is_leaf)) and not node.is_repeated
        level = None
        if (
            writer[0] == b"parquet-cpp-arrow"
            and writer[1] >= 20
            and not (counts or node.is_repeated or _has_optional_keys(node))
        ):
            level = sum(not each.required for each in nodes)
        old = node.is_leaf and calendar[node.physical_type == _INT96]
        not_before = GREGORIAN_FROM.get(column.type) if old else None
        source = type_of_leaf(node) if node.is_leaf and not node.is_repeated and column.bounded else None
        if source is None or footer.column_orders[node.first_leaf : node.first_leaf + 1] != [{1: {}}]:
            return FooterColumn(column, nodes, counts_nulls=counts, not_before=not_before, level=level)
        numbers = node.physical_type in (1, 2)
        whole = mr or (writer[0] == b"parquet-cpp-arrow" and writer[1] >= 10)
        proves = (
            numbers
            or (source.kind in ("float", "double") and (mr or self._exact_floats))
            or (source.kind == "decimal" and whole)
            or source.kind == "string"
        )
        return FooterColumn(
            column,
            nodes,
            _decoder(node) if proves else None,
            converters(source, column.type),
            says_exact=numbers or whole,
            counts_nulls=counts,
            not_before=not_before,
            orders_nan=mr,
            level=level,
        )


def _has_optional_keys(node: ParquetNode) -> bool:
    """Whether keys of maps may be NULL: their values are read, because Spark reads no map with such a key."""
    return any(
        (each.is_repeated and len(each.children) == 2 and not each.children[0].required) or _has_optional_keys(each)
        for each in node.children
    )


def read_footer(storage: TailStorage, path: str, size: int | None = None) -> Footer:
    """Read the footer of the file at the location. size: In bytes; None requests it.

    Raises DataFileMissing for a missing file, StorageError for a file that is not a complete Parquet file, and
    UnsupportedFeature for an encrypted file.
    """
    try:
        length = storage.size(path) if size is None else size
        tail = storage.read_range(path, max(0, length - _TAIL_BYTES), min(length, _TAIL_BYTES))
        if tail[-4:] == _ENCRYPTED_MAGIC:
            raise UnsupportedFeature(f"The data file {path} is encrypted, so its statistics cannot be computed here.")
        if len(tail) < 12 or tail[-4:] != _MAGIC:
            raise ValueError("it does not end with the Parquet magic number")
        (footer_bytes,) = struct.unpack("<I", tail[-8:-4])
        if footer_bytes + 8 > length:
            raise ValueError(f"its footer would have {footer_bytes} bytes")
        if footer_bytes + 8 > len(tail):
            tail = storage.read_range(path, length - footer_bytes - 8, footer_bytes + 8)
        data = tail[-8 - footer_bytes : -8]
        fields = read_struct(data)
        if _ENCRYPTION in fields:
            raise UnsupportedFeature(f"Columns of the data file {path} are encrypted: no statistics are computed here.")
        return _footer(fields, data)
    except FileNotFoundError as error:
        raise data_file_missing(path) from error
    except DAMAGE as error:
        raise StorageError(f"The data file {path} is not a complete Parquet file: {error}; restore it.") from error


def stored_file_rows(storage: Storage, location: str) -> int:
    """Return the number of rows of a data file. Raises as `read_footer` does."""
    return read_footer(storage_for(location, near=storage), location).num_rows


def data_file_missing(path: str) -> DataFileMissing:
    """Return the error for a data file that does not exist."""
    return DataFileMissing(f"The data file {path} does not exist; restore it, or remove it from the table.")


def footer_facts(plan: FooterColumn, groups: Sequence[Mapping[int, Any]]) -> tuple[ColumnFacts, bool]:
    """Return the facts that the row groups prove about the column, and whether the rest needs its values."""
    if plan.nodes is None:
        return ColumnFacts(None), False
    rows = sum([group[GROUP_ROWS] for group in groups])
    if not plan.nodes:
        return ColumnFacts(rows, NO_VALUES), False
    if not plan.nodes[-1].is_leaf:
        nulls = _group_null_count(plan, groups, rows)
        facts = ColumnFacts(nulls, NO_VALUES if nulls == rows else UNKNOWN)
        return facts, nulls is None or (plan.column.bounded and nulls != rows)
    nulls = _null_count(plan, groups)
    if nulls == rows:
        return ColumnFacts(rows, NO_VALUES), False
    if not plan.column.bounded:
        return ColumnFacts(nulls), nulls is None
    extremes = _boxes(plan, groups) if isinstance(plan.column.type, GEOSPATIAL) else _extremes(plan, groups)
    return ColumnFacts(nulls, extremes or UNKNOWN), nulls is None or extremes is None


def since(extremes: Extremes, not_before: int | None) -> Extremes:
    """Return the extremes; unknown ones if the calendar of the least value is not certain."""
    if not_before is not None and extremes.low is not None and extremes.low < not_before:
        return UNKNOWN
    return extremes


def _footer(fields: Mapping[int, Any], data: bytes) -> Footer:
    pairs = {pair[1]: pair.get(2, b"") for pair in fields.get(_KEY_VALUES, ())}
    groups = fields.get(_ROW_GROUPS, [])
    rows = sum(group[GROUP_ROWS] for group in groups)
    # Spark and pyarrow count the rows of the row groups. Some writers leave 0 or -1 in the footer.
    if fields[_NUM_ROWS] > 0 and fields[_NUM_ROWS] != rows:
        raise ValueError("its number of rows differs from that of its row groups")
    created_by, orders = fields.get(_CREATED_BY, b""), fields.get(_COLUMN_ORDERS, [])
    return Footer(rows, fields[_SCHEMA], groups, created_by, pairs, orders, data)


def writer_of(created_by: bytes) -> tuple[bytes, int, int]:
    """The name and the version of a writer; "" for an unknown writer."""
    match = _WRITER.match(created_by)
    return (match[1], int(match[2]), int(match[3])) if match else (b"", 0, 0)


def _decoder(node: ParquetNode) -> Callable[[bytes], Bound]:
    number = _NUMBERS.get(node.physical_type)
    if number is not None:
        return lambda raw: number.unpack(raw)[0]
    source = type_of_leaf(node)
    if source is not None and source.kind == "decimal":
        return lambda raw: int.from_bytes(raw, "big", signed=True)
    return lambda raw: raw


def _chunk(group: Mapping[int, Any], leaf: int) -> Mapping[int, Any]:
    meta: Mapping[int, Any] = group[COLUMNS][leaf][META]
    return meta


def _null_count(plan: FooterColumn, groups: Sequence[Mapping[int, Any]]) -> int | None:
    if plan.required:
        return 0
    if plan.level is not None:
        return _nulls_below(plan, plan.level, groups)
    if not plan.counts_nulls or plan.nodes is None:
        return None
    total = 0
    for group in groups:
        meta = _chunk(group, plan.nodes[-1].first_leaf)
        statistics = meta.get(STATISTICS, {})
        count = _nulls(meta) if isinstance(plan.column.type, GEOSPATIAL) else statistics.get(NULL_COUNT)
        if count is None or not 0 <= count <= meta[NUM_VALUES] or meta[NUM_VALUES] != group[GROUP_ROWS]:
            return None
        if count and count == meta[NUM_VALUES] and not statistics.keys().isdisjoint((MIN, MAX)):
            return None
        total += count
    return total


def _nulls(meta: Mapping[int, Any]) -> int | None:
    """The null count of a chunk; None if it is unknown. Shapes, which have no order, may have only SizeStatistics."""
    count: int | None = meta.get(STATISTICS, {}).get(NULL_COUNT)
    levels = meta.get(_SIZES, {}).get(_DEFINED)
    return sum(levels[:-1]) if count is None and levels else count


def _nulls_below(plan: FooterColumn, level: int, groups: Sequence[Mapping[int, Any]]) -> int | None:
    """The number of values below a definition level: a row has one if the column, or a struct around it, is null."""
    if not plan.nodes or plan.nodes[-1].first_leaf < 0:
        return None
    total = 0
    for group in groups:
        meta = _chunk(group, plan.nodes[-1].first_leaf)
        sizes = meta.get(_SIZES, {})
        defined: Sequence[int] = sizes.get(_DEFINED, ())
        begun = (sizes.get(_REPEATED_AT) or [meta[NUM_VALUES]])[0]
        # A value of repetition level 0 begins each row.
        if len(defined) <= level or sum(defined) != meta[NUM_VALUES] or begun != group[GROUP_ROWS]:
            return None
        total += sum(defined[:level])
    return total


def _group_null_count(plan: FooterColumn, groups: Sequence[Mapping[int, Any]], rows: int) -> int | None:
    """The null count of an array, map or variant: 0 where it is required, or where no value below it is missing."""
    if plan.required or rows == 0:
        return 0
    if plan.level is not None:
        return _nulls_below(plan, plan.level, groups)
    if not plan.counts_nulls or plan.nodes is None or plan.nodes[-1].first_leaf < 0:
        return None
    statistics = (_chunk(group, plan.nodes[-1].first_leaf).get(STATISTICS, {}) for group in groups)
    return 0 if all(each.get(NULL_COUNT) == 0 for each in statistics) else None


def _boxes(plan: FooterColumn, groups: Sequence[Mapping[int, Any]]) -> Extremes | None:
    """The box of a column of shapes in all row groups; None if a row group proves none."""
    if plan.nodes is None or plan.nodes[-1].is_repeated:
        return None
    chunks = [_chunk(group, plan.nodes[-1].first_leaf) for group in groups]
    there = [each for each in chunks if _nulls(each) != each[NUM_VALUES]]
    return footer_box(there, plan.column.type)


def _extremes(plan: FooterColumn, groups: Sequence[Mapping[int, Any]]) -> Extremes | None:
    """The extremes of a column in all row groups; None if a row group proves nothing."""
    if plan.decode is None or plan.convert is None or plan.nodes is None:
        return None
    (to_low, to_high), leaf = plan.convert, plan.nodes[-1].first_leaf
    low_of_all: Any = None
    high_of_all: Any = None
    is_empty = is_known = True
    for group in groups:
        meta = _chunk(group, leaf)
        statistics = meta.get(STATISTICS, {})
        low, high = statistics.get(MIN), statistics.get(MAX)
        if low is None or high is None:
            if meta[NUM_VALUES] == 0 or (plan.counts_nulls and statistics.get(NULL_COUNT) == meta[NUM_VALUES]):
                continue
            return None
        if not (statistics.get(MIN_EXACT, plan.says_exact) and statistics.get(MAX_EXACT, plan.says_exact)):
            return None
        if statistics.get(NAN_COUNT):
            return None
        try:
            least, greatest = plan.decode(low), plan.decode(high)
        except struct.error:
            return None
        # NaN sorts last, so it is the minimum only if it is also the maximum.
        if least > greatest or (least != least and greatest == greatest):  # type: ignore[operator]
            return None
        low, high = to_low(least), to_high(greatest)
        is_empty = False
        if low is None or high is None:
            is_known = False
            continue
        # NaN sorts last, which Python's comparisons do not observe.
        if low_of_all is None or low < low_of_all or low_of_all != low_of_all:
            low_of_all = low
        if high_of_all is None or high > high_of_all or high != high:
            high_of_all = high
    if is_empty:
        return NO_VALUES
    return since(Extremes(low_of_all, high_of_all), plan.not_before) if is_known else UNKNOWN
