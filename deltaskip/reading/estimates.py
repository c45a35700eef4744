"""Estimates for the optimizer of an engine, from the log: rows, NULLs, bounds and distinct values.

The distinct values of strings are counted in the dictionaries of one file.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import hadoop_path
from deltaskip.errors import DeltaSkipError
from deltaskip.kernels.thrift_compact import read_struct
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import candidates
from deltaskip.skipping.comparable import restored
from deltaskip.skipping.file_list import KeptFiles
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.file_totals import UNKNOWN, FileTotals, file_totals
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.cache_keys import CacheKey
from deltaskip.stats.footer import DAMAGE, NUM_VALUES, read_footer
from deltaskip.stats.footer_columns import ColumnLookup, parquet_root
from deltaskip.stats.layout import Side
from deltaskip.stats.stats_columns import every_column
from deltaskip.storage import storage_for

# Of parquet.thrift, and the least size of a dictionary that may have been full: parquet-mr and Arrow stop at 1 MiB.
_PAGE_TYPE, _PAGE_BYTES, _ENTRIES, _DICTIONARY, _HEADER_BYTES, _FULL_BYTES = 1, 2, 7, 2, 64, 1_000_000

_COLUMN_BYTES = 1 << 10
_SIDES: tuple[Side, Side] = ("min", "max")
_BOUNDED = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.BOOLEAN, t.DATE, t.TIMESTAMP, *t.FLOATING)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of the rows of the files that a scan keeps.

    Attributes:
        rows: The number of rows.
        columns: By the name of a column, its statistics as text, by Spark's names of them: `nullCount`, and together
            `distinctCount`, `min` and `max`. A statistic that the log does not have is missing.
    """

    rows: int
    columns: Mapping[str, Mapping[str, str]]


def estimated(predicate: CompiledPredicate, names: Sequence[str] | None = None) -> Estimates | None:
    """Return the estimates of the files that a predicate keeps; None if the log does not say how many rows they have.

    Those of all files of a version are kept with the table.
    Columns are numbers, dates, timestamps, booleans and strings without a collation: Spark's optimizer fails on
    statistics of other types. # Spark 4.1, FilterEstimation.evaluateBinary

    names: Of these columns; None for all.
    """
    snapshot = predicate.snapshot
    if not _keeps_every_file(predicate):
        return _of_files(predicate, names)
    columns = None if names is None else tuple(names)
    key: CacheKey = ("estimates", snapshot.version, predicate.portable.time_zone, columns)
    found: Estimates | None = snapshot.cache.get(key)
    if found is None:
        found = _of_files(predicate, names)
        snapshot.cache.put(key, found, _COLUMN_BYTES * len(snapshot.schema.fields))
    return found


def _keeps_every_file(predicate: CompiledPredicate) -> bool:
    """Whether a predicate keeps all files; False where their number would take reading all paths of a checkpoint."""
    snapshot, files = predicate.snapshot, KeptFiles(predicate)
    if predicate.portable.is_true or (snapshot.checkpoint_parts and snapshot.superseded):
        return predicate.portable.is_true
    for batch in candidates(snapshot, predicate.program):
        files.add(batch)
    return len(files) == snapshot.num_files


def _of_files(predicate: CompiledPredicate, names: Sequence[str] | None) -> Estimates | None:
    snapshot = predicate.snapshot
    partitions = {field.name for field in snapshot.partition_fields}
    fields = [field for field in snapshot.schema.fields if names is None or field.name in names]
    resolved = (t.resolve(snapshot.schema, [f.name], snapshot.mapping_mode, True) for f in fields)
    columns = [each for each in resolved if _is_bounded(each) or (each.type == t.STRING and not t.collation_of(each))]
    texts = [each for each in columns if not _is_bounded(each) and each.logical[0] not in partitions]
    sides = [(each, side) for each in columns for side in (_SIDES[:1] if each in texts else _SIDES)]
    found = file_totals(predicate, columns, sides)
    if (found.rows == UNKNOWN).any():
        return None
    entries = _in_largest_file(found, texts)
    known = {each.logical[0]: _of_column(found, each, partitions, entries.get(each.physical)) for each in columns}
    return Estimates(int(found.rows.sum()), known)


def _is_bounded(column: t.Resolved) -> bool:
    return column.type in _BOUNDED or isinstance(column.type, t.DecimalType)


def _of_column(totals: FileTotals, column: t.Resolved, partitions: set[str], entries: int | None) -> dict[str, str]:
    """The statistics of a column.

    The log has no number of distinct values but of a partition column. A string has as many as in one file, for each of
    the files with another least value: files of few values have the same, and files of other values each their own.
    Another column has at most as many as it has values, and as there are numbers between its bounds.

    entries: Distinct values in one file; None if unknown.
    """
    counts = totals.not_null[column.logical]
    if (counts == UNKNOWN).any():
        return {}
    distinct = int(counts.sum())
    found = {"nullCount": str(int(totals.rows.sum()) - distinct)}
    sides = [totals.extremes[column.logical, side] for side in _SIDES if (column.logical, side) in totals.extremes]
    if any((numpy_values(pc.is_null(each.edges)) & ~each.none).any() for each in sides):
        return found
    in_partition = column.logical[0] in partitions
    if not distinct:  # Without a value, the bounds have no type.
        return {**found, "distinctCount": "0"}
    if in_partition:
        distinct = pc.count_distinct(sides[0].edges).as_py()
    elif column.type == t.STRING:
        if entries is None:
            return found
        distinct = min(distinct, entries * pc.count_distinct(sides[0].edges).as_py())
    if column.type == t.STRING:
        return {**found, "distinctCount": str(distinct)}
    ends = [pc.min_max(each.edges)[side].as_py() for each, side in zip(sides, _SIDES, strict=True)]
    if not in_partition and column.type not in t.FLOATING:
        steps = 10**column.type.scale if isinstance(column.type, t.DecimalType) else 1
        distinct = min(distinct, int((ends[1] - ends[0]) * steps) + 1)
    texts = [_text(restored(arrow_array([end], sides[0].edges.type), column.type)) for end in ends]
    if None in texts:
        return found
    return {
        **found,
        "distinctCount": str(distinct),
        **{side: str(text) for side, text in zip(_SIDES, texts, strict=True)},
    }


def _in_largest_file(totals: FileTotals, columns: Sequence[t.Resolved]) -> Mapping[tuple[str, ...], int]:
    """How many distinct values columns have in a part of the file with most rows, by physical path, if it is known."""
    if not columns or not len(totals.files):
        return {}
    snapshot = totals.files.predicate.snapshot
    paths = tuple(column.physical for column in columns)
    file = totals.files.listed(np.array([np.argmax(totals.rows)]), ["uri", "size"])
    [uri], [size] = file["uri"].to_pylist(), file["size"].to_pylist()
    known: Mapping[tuple[str, ...], int] | None = snapshot.cache.get(("dictionaries", uri, paths))
    if known is None:
        known = dict(_dictionary_entries(snapshot, hadoop_path(snapshot.table_root, uri), size, paths))
        snapshot.cache.put(("dictionaries", uri, paths), known, 64 * len(paths))
    return known


def _dictionary_entries(
    snapshot: Snapshot, location: str, size: int, paths: Collection[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The numbers of entries of the dictionaries of columns, in the first row group of a file.

    # Apache Parquet, parquet.thrift: PageHeader, DictionaryPageHeader
    """
    try:
        storage = storage_for(location, near=snapshot.storage)
        footer = read_footer(storage, location, size)
        lookup = ColumnLookup(parquet_root(footer.elements), snapshot.mapping_mode)
        for column in every_column(snapshot.schema, snapshot.partition_columns, snapshot.mapping_mode):
            nodes = lookup.nodes_to(column) if column.physical in paths else None
            if isinstance(nodes, tuple) and footer.row_groups:
                leaf = nodes[-1].first_leaf
                start, _ = footer.chunk_range(0, leaf)
                header = read_struct(storage.read_range(location, start, _HEADER_BYTES))
                if header[_PAGE_TYPE] == _DICTIONARY:
                    # A writer goes on without a dictionary that is full.
                    full = header[_PAGE_BYTES] >= _FULL_BYTES
                    yield column.physical, footer.column_chunk(0, leaf)[NUM_VALUES] if full else header[_ENTRIES][1]
    except (DeltaSkipError, *DAMAGE):
        # Spark says what is wrong with the file, if it reads it.
        return


def _text(one: pa.Array) -> str | None:
    """A value as Spark's catalogs have it; None for one that they do not have. # Spark 4.1, CatalogColumnStat"""
    try:
        [found] = one.to_pylist()
    except (OverflowError, ValueError):
        return None
    match found:
        case bool():
            return str(found).lower()
        case float():
            return repr(found) if math.isfinite(found) else None
        case Decimal():
            return format(found, "f")
        case datetime():
            return found.replace(tzinfo=None).isoformat(" ", "microseconds")
        case _:
            return str(found)
