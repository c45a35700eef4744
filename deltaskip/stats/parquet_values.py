"""Statistics from the values of a Parquet file, for columns whose footer does not prove them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.doors import first_line
from deltaskip.errors import StorageError
from deltaskip.kernels.deletion_vector import live_rows
from deltaskip.kernels.extremes import binary_extremes, decimal_extremes, float_extremes, integer_extremes, used_entries
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.functions import variant_path_extremes
from deltaskip.sparkexpr.types import GEOSPATIAL, VARIANT, DataType
from deltaskip.stats.boxes import box_of
from deltaskip.stats.facts import NO_VALUES, UNKNOWN, ColumnFacts, Extremes, PathExtremes, combined_facts
from deltaskip.stats.footer import DAMAGE, DataStorage, Footer, FooterColumn, data_file_missing, since
from deltaskip.stats.footer_columns import ParquetNode
from deltaskip.stats.parquet_input import ParquetInput
from deltaskip.stats.shredded_variants import ShreddingError, unshredded
from deltaskip.stats.stored_bounds import Bound, StoredType, converters

_DECIMAL128_DIGITS = 38
_READ_AS = {
    pa.uint8(): pa.int64(),
    pa.uint16(): pa.int64(),
    pa.uint32(): pa.int64(),
    pa.date64(): pa.date32(),
    **{pa.duration(unit): pa.int64() for unit in ("s", "ms", "us", "ns")},
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}

# Limits of a batch: rows, and bytes of Parquet.
_BATCH_ROWS = 1 << 18
_BATCH_BYTES = 32 << 20
_BYTE_ARRAY = 6
# A chunk's dictionary encodings, and encodings with which pyarrow still keeps the dictionary (PLAIN, RLE, BIT_PACKED).
_DICTIONARY_ENCODINGS = frozenset((2, 8))
_BESIDE_DICTIONARY = _DICTIONARY_ENCODINGS | {0, 3, 4}
# Average bytes per value above which rebuilding an abandoned dictionary is not worthwhile.
_DICTIONARY_VALUE_BYTES = 5
# Fields of RowGroup, ColumnChunk, ColumnMetaData, PageEncodingStats and SizeStatistics.
_COLUMNS, _META = 1, 3
_TYPE, _ENCODINGS, _PATH, _VALUES, _SIZE, _PAGES, _SIZES = 1, 2, 3, 5, 6, 13, 16
_PAGE_TYPE, _ENCODING = 1, 2
_DATA_PAGES = (0, 3)
_DECODED = 1


@dataclass(frozen=True, slots=True)
class ScannedColumn:
    """A column to read: its position, whether to compute binary extremes, and the orders of collated extremes."""

    plan: FooterColumn
    bounds: bool
    orders: tuple[Collation, ...] = ()
    path: str = field(init=False)

    def __post_init__(self) -> None:
        nodes = self.plan.nodes or ()
        names = [node.name for node in nodes] if self.of_variants else _readable(nodes)
        object.__setattr__(self, "path", ".".join(names))

    @property
    def of_variants(self) -> bool:
        """Whether the bounds of paths inside variants are computed."""
        return self.bounds and self.plan.column.type == VARIANT


def scan_file(
    storage: DataStorage,
    path: str,
    footer: Footer,
    columns: Sequence[ScannedColumn],
    row_groups: Sequence[int],
    deleted: pa.Int64Array | None = None,
) -> list[ColumnFacts]:
    """Return the facts of each column over the rows of the row groups, without deleted rows.

    row_groups: Ascending. deleted: Row positions in the whole file, ascending. Raises StorageError for a file that
    cannot be read.
    """
    parts: list[list[ColumnFacts]] = [[ColumnFacts(0, NO_VALUES, (NO_VALUES,) * len(c.orders))] for c in columns]
    try:
        for start, batch in _batches(storage, path, footer, columns, row_groups):
            live = None
            if deleted is not None and len(deleted):
                live = live_rows(deleted, start, batch.num_rows).to_arrow()
                live = live if live.false_count else None
            for i, column in enumerate(columns):
                parts[i].append(_batch_facts(_values(batch, column.plan.nodes or ()), live, column))
    except FileNotFoundError as error:
        raise data_file_missing(path) from error
    except (pa.ArrowException, OSError, ShreddingError, *DAMAGE) as error:
        reason = first_line(error)
        cure = 'restore it, or use mode="footer" for the statistics that its footer proves'
        raise StorageError(f"The data file {path} cannot be read: {reason}; {cure}.") from error
    return [_whole(part, column) for part, column in zip(parts, columns, strict=True)]


def _batches(
    storage: DataStorage, path: str, footer: Footer, columns: Sequence[ScannedColumn], row_groups: Sequence[int]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with the position of their first row in the file."""
    with storage.open_input(path) as source:
        dictionaries = frozenset(path for column in columns for path in _dictionary_paths(column, footer, row_groups))
        file = ParquetInput(source, read_dictionary=dictionaries)
        paths = list(dict.fromkeys(column.path for column in columns))
        for row_group in row_groups:
            start = footer.rows_before(row_group)
            chunks = [chunk for column in columns for [chunk] in _chunks(column, footer, [row_group])]
            rows = _batch_rows(chunks, footer.group_rows(row_group), dictionaries)
            for batch in file.iter_batches(rows, [row_group], paths, use_threads=False):
                yield start, batch
                start += batch.num_rows


def _chunks(column: ScannedColumn, footer: Footer, row_groups: Sequence[int]) -> Iterator[list[Mapping[int, Any]]]:
    """The metadata of a leaf's chunks, for each leaf at or below the column."""
    for leaf in _leaves((column.plan.nodes or ())[-1:]):
        yield [footer.row_groups[row_group][_COLUMNS][leaf.first_leaf][_META] for row_group in row_groups]


def _leaves(nodes: Sequence[ParquetNode]) -> Iterator[ParquetNode]:
    for node in nodes:
        if node.is_leaf:
            yield node
        yield from _leaves(node.children)


def _batch_rows(chunks: Sequence[Mapping[int, Any]], rows: int, dictionaries: Collection[str]) -> int:
    """Rows of a batch: fewer if rows are long. chunks: Metadata of all leaves, some read with their dictionaries."""
    size = 0
    for meta in chunks:
        decoded = 0 if _path(meta) in dictionaries else meta.get(_SIZES, {}).get(_DECODED, 0)
        size += max(meta[_SIZE], decoded)
    return max(1, min(_BATCH_ROWS, rows * _BATCH_BYTES // max(size, 1)))


def _dictionary_paths(column: ScannedColumn, footer: Footer, row_groups: Sequence[int]) -> Iterator[str]:
    """Paths of the leaves that are read with their dictionaries: each distinct string is stored and visited once.

    This is never slower if all pages are dictionary-encoded, and saves memory for long repeated strings. If the writer
    abandoned its dictionary, pyarrow builds one, which is worthwhile only for few distinct values and is not possible
    inside a struct.
    """
    for chunks in () if column.of_variants else _chunks(column, footer, row_groups):
        if not chunks or chunks[0][_TYPE] != _BYTE_ARRAY:
            continue
        pays = sum(meta[_SIZE] for meta in chunks) <= _DICTIONARY_VALUE_BYTES * sum(meta[_VALUES] for meta in chunks)
        mixed = pays and len(column.plan.nodes or ()) == 1 and all(map(_keeps_dictionary, chunks))
        if mixed or all(map(_has_codes_only, chunks)):
            yield _path(chunks[0])


def _has_codes_only(meta: Mapping[int, Any]) -> bool:
    pages = [page[_ENCODING] for page in meta.get(_PAGES, ()) if page[_PAGE_TYPE] in _DATA_PAGES]
    return bool(pages) and _DICTIONARY_ENCODINGS.issuperset(pages)


def _keeps_dictionary(meta: Mapping[int, Any]) -> bool:
    encodings = _BESIDE_DICTIONARY.intersection(meta[_ENCODINGS])
    return len(encodings) == len(set(meta[_ENCODINGS])) and not encodings.isdisjoint(_DICTIONARY_ENCODINGS)


def _path(meta: Mapping[int, Any]) -> str:
    return b".".join(meta[_PATH]).decode()


def _readable(nodes: tuple[ParquetNode, ...]) -> Iterator[str]:
    """The path of a leaf that shows where the column is null: its own, or the first below an array, map or variant."""
    for node in nodes:
        yield node.name
    if not nodes:
        return
    node = nodes[-1]
    while node.children:
        # pyarrow reads a map's keys only together with its values.
        if node.children[0].is_repeated and len(node.children[0].children) > 1:
            return
        node = node.children[0]
        yield node.name


def _values(batch: pa.RecordBatch, nodes: tuple[ParquetNode, ...]) -> pa.Array:
    """The column, with null in rows where an enclosing struct is null."""
    array = batch.column(_index(batch.schema, nodes[0]))
    for node in nodes[1:]:
        array = pc.struct_field(array, [_index(array.type, node)])
    return array


def _index(fields: pa.Schema | pa.StructType, node: ParquetNode) -> int:
    found: int = fields.get_field_index(node.name)
    if found < 0:
        raise pa.ArrowKeyError(f"its column {node.name} was not found")
    return found


def _batch_facts(array: pa.Array, live: pa.BooleanArray | None, column: ScannedColumn) -> ColumnFacts:
    nulls = array.null_count if live is None else pc.sum(pc.and_(pc.is_null(array), live), min_count=0).as_py()
    if not column.bounds and not column.orders:
        return ColumnFacts(nulls)
    array = _kernel_array(array)
    if live is not None:
        array = array.filter(live)
    if column.of_variants:
        return ColumnFacts(nulls, path_extremes(unshredded(array, VARIANT)))
    if isinstance(column.plan.column.type, GEOSPATIAL):
        return ColumnFacts(nulls, box_of(array, column.plan.column.type))
    extremes = _array_extremes(array, column.plan.column.type) if column.bounds else UNKNOWN
    collated = tuple(_collated_extremes(array, order) if _is_text(array) else UNKNOWN for order in column.orders)
    return ColumnFacts(nulls, extremes, collated)


def _is_text(array: pa.Array) -> bool:
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _whole(parts: Sequence[ColumnFacts], column: ScannedColumn) -> ColumnFacts:
    facts = combined_facts(parts, column.orders)
    extremes: Extremes = since(facts.extremes, column.plan.not_before) if column.bounds else UNKNOWN
    return ColumnFacts(facts.null_count, extremes, facts.collated)


def _kernel_array(array: pa.Array) -> pa.Array:
    """Return the values in a layout that the kernels accept, if there is one.

    Files that pyarrow wrote record the Arrow types of their columns, and reading restores these types.
    """
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _kernel_array(array.storage)
    if pa.types.is_dictionary(kind) and not any(test(kind.value_type) for test in _TEXTS):
        return _kernel_array(array.dictionary_decode())
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind) and kind.precision <= _DECIMAL128_DIGITS:
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    wanted = _READ_AS.get(kind)
    return array if wanted is None else array.cast(wanted)


def _array_extremes(array: pa.Array, type_: DataType) -> Extremes:
    """Return the extremes of a _kernel_array as bounds of `type_`; unknown if its values cannot be read as that type.

    NaN is the greatest number. In a dictionary, only strings that occur in a row count.
    """
    if array.null_count == len(array):
        return NO_VALUES
    source = _source(array.type)
    convert = None if source is None else converters(source, type_)
    if source is None or convert is None:
        return UNKNOWN
    found = _found(array, source)
    if found is None:
        return NO_VALUES
    low, high = convert[0](found[0]), convert[1](found[1])
    return UNKNOWN if low is None or high is None else Extremes(low, high)


def _collated_extremes(array: pa.Array, order: Collation) -> Extremes:
    """Return the extremes of strings in `order`, as str; unknown if Spark may order one of them differently.

    array: string, large_string, or a dictionary of them.
    """
    if array.null_count == len(array):
        return NO_VALUES
    values = _plain_strings(array)
    if not order.exact_keys and not pc.all(order.trusts_each(values)).as_py():
        return UNKNOWN
    low, high = order.min_max(values)
    return Extremes(low, high) if isinstance(low, str) and isinstance(high, str) else UNKNOWN


def _plain_strings(array: pa.Array) -> pa.Array:
    """Return the array itself, or the distinct entries of a dictionary that occur in a row."""
    if not isinstance(array, pa.DictionaryArray):
        return array
    indices = array.indices
    if pa.types.is_unsigned_integer(indices.type):
        # From the writer's Arrow schema in the file: categories of Polars.
        indices = indices.cast(pa.int64())
    used = used_entries(indices, len(array.dictionary)).to_arrow()
    return array.dictionary if used.true_count == len(used) else array.dictionary.filter(used)


def _source(stored: pa.DataType) -> StoredType | None:
    value_type = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_signed_integer(stored):
        return StoredType("integer")
    if pa.types.is_float32(stored) or pa.types.is_float64(stored):
        return StoredType("float" if pa.types.is_float32(stored) else "double")
    if pa.types.is_decimal128(stored):
        return StoredType("decimal", scale=stored.scale)
    if stored == pa.date32():
        return StoredType("date")
    if pa.types.is_timestamp(stored):
        return StoredType("timestamp", unit=stored.unit)
    if any(test(value_type) for test in _TEXTS):
        return StoredType("string")
    return None


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def _found(array: pa.Array, source: StoredType) -> tuple[Bound, Bound] | None:
    match source.kind:
        case "float" | "double":
            return float_extremes(array)
        case "decimal":
            return decimal_extremes(array)
        case "string":
            texts = _plain_strings(array)
            places = binary_extremes(texts)
            return None if places is None else (_bytes(texts, places[0]), _bytes(texts, places[1]))
        case _:
            return integer_extremes(array)


def _bytes(texts: pa.Array, i: int) -> bytes:
    return cast(bytes, texts[i].as_buffer().to_pybytes())


def path_extremes(variants: pa.Array) -> Extremes:
    """Return the extremes at the paths of some variants; see `variant_path_extremes`."""
    if variants.null_count == len(variants):
        return NO_VALUES
    found = PathExtremes(variant_path_extremes(variants))
    return Extremes(found, found)
