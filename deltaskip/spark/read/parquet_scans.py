"""The scans of one read: Spark's Parquet scans of the files, combined with partition values and deletion vectors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.actions.paths import escape_globs
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import arrow_array, numpy_values, one_chunk
from deltaskip.schema.mapping import physical_name
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import StructField, StructType
from deltaskip.settings import options
from deltaskip.spark.columns.literal_columns import decoded_sql
from deltaskip.spark.columns.spark_types import logical_type, spark_schema
from deltaskip.spark.read.file_index import CODE, listed_here, missing_files_named, tuned_listing, unlisted_scan
from deltaskip.spark.read.file_paths import metadata_path, needs_own_scan
from deltaskip.spark.read.partitions import PartitionTable, constants, hive_directory, indexed
from deltaskip.spark.read.projection import logical_columns, projected
from deltaskip.spark.session.releases import broadcast_rows, metadata_column, parquet_scan, union

# Row numbers that each deletion vector deletes, ascending; the structs are those of FILE_SCHEMA.
DeletionVectorReader = Callable[[pa.Table], list[pa.Int64Array]]

_READER_OPTIONS = {
    "mergeSchema": "false",
    # A file that the log lists and storage does not have is an error, whatever the session's settings are.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "recursiveFileLookup": "false",
}

_METADATA = "_metadata"
_PATH = "__deltaskip_path"
_ROW = "__deltaskip_row"
_KEY = "__deltaskip_key"
_WORDS = "__deltaskip_words"
_MARKED = "__deltaskip_marked"
_NOTHING = "__deltaskip_nothing"
_FILE = "__deltaskip_file_number"
_ENTRY_FILE = "__deltaskip_entry_file"
_ANY_WORDS = "__deltaskip_any_words"


# Row `i` is bit `i % 64` of word `i >> WORD_SHIFT`.
_WORD_SHIFT = 6
# Bit words need a bit for every row up to the last deleted one; pairs need the path and the number of each deleted row
# (and a hash probe for each row read). With words, the join also proves that every file was found.
_MAX_WORD_BYTES = 32 << 20
_PAIR_BYTES = 64
_MIN_CONSTANT_SCANS = 8
_MAX_HIVE_SCANS = 8
_BYTES_OF_A_SCAN = 16 << 20
"""Bytes of files whose rows are joined in the time in which one more scan is planned."""


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """Settings that all scans of one read share.

    paths: the spark_path of each file. data: the columns to read from the files, under physical names. sizes: bytes of
    each file. times: milliseconds since the epoch at which each file was written; None if Spark lists the files.
    """

    spark: SparkSession
    table_root: str
    schema: StructType
    mode: MappingMode
    partitions: PartitionTable
    paths: list[str]
    data: spark_types.StructType
    sizes: list[int] | None = None
    times: list[int] | None = None


def live_rows(source: ScanSettings, files: pa.Table, read_deletion_vectors: DeletionVectorReader) -> DataFrame:
    """Every row of the files that is not deleted, in the table's columns."""
    if not source.paths:
        return source.spark.createDataFrame([], spark_schema(source.schema))
    vectors = one_chunk(files["deletion_vector"])
    deleting = pc.is_valid(vectors).to_numpy(zero_copy_only=False)
    whole = [row for row in range(len(source.paths)) if not deleting[row]]
    cut = [row for row in range(len(source.paths)) if deleting[row]]
    deleted = deleted_rows(read_deletion_vectors(files.filter(pc.is_valid(vectors)))) if cut else None
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frames = [_scan(source, shape) for shape in _shapes(source, whole)]
        if deleted is not None:
            frames.append(_with_file_values(source, cut, deleted))
        frame = union(frames)
        # Connect checks the paths only when a request needs them.
        _ = frame.schema
    return frame


@dataclass(frozen=True, slots=True)
class PositionalRows:
    """The rows of files to read, and the columns to return beside those of the table.

    Attributes:
        positions: For each file the positions of rows, ascending; None for every row.
        only: Whether to read the rows at these positions, instead of all others.
        position: Name of a column with the position of a row in its file; None for none.
        path: Name of a column with the path of the file, as Spark writes it; None for none.
        values: Columns with one value for each file, by name.
        stored: Columns of the files by their names there, which `Source.data` contains.
    """

    positions: Sequence[pa.Int64Array] | None = None
    only: bool = False
    position: str | None = None
    path: str | None = None
    values: Mapping[str, pa.Array] = field(default_factory=dict)
    stored: Sequence[str] = ()


_LIVE = PositionalRows()


def constant_rows(source: ScanSettings, rows: Sequence[int], code: int) -> DataFrame | None:
    """Every row of these files, which have the partition values of the tuple `code`; None without files."""
    if not rows:
        return None
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frame = _scan(source, ConstantScan(tuple(rows), code))
        _ = frame.schema
    return frame


def coded_rows(
    source: ScanSettings, rows: Sequence[int], stored: str | None = None, wanted: PositionalRows = _LIVE
) -> DataFrame:
    """Every row of the files in the table's columns, by one scan whatever the number of partition values.

    Args:
        source: The files with their sizes and times. A file may be listed more than once, with several values.
        rows: The numbers of the files to read.
        stored: A partition column whose value, where it is null, is that of the file's column of the same name.
        wanted: The columns to return beside the table's; neither `positions` nor `values` are set.
    """
    if stored is not None:
        source.data.add(stored, spark_types.StringType())
    with missing_files_named(source.table_root):
        frame = _files(source, rows, None, _location_for(wanted), coded=True)
        values = indexed(source.partitions, CODE)
        if stored is not None:
            values[stored] = f"coalesce({values[stored]}, {quoted_name(stored)})"
        frame = projected(frame, [*_logical(source, values), *_beside(wanted)])
        _ = frame.schema
    return frame


def rows_at(source: ScanSettings, wanted: PositionalRows, files: Sequence[int] | None = None) -> DataFrame:
    """The rows in the table's columns, followed by the position, the values of the file and the stored columns.

    files: numbers of the files to read, in whose order `wanted` is; None for all.
    """
    rows = range(len(source.paths)) if files is None else files
    marked = None if wanted.positions is None else deleted_rows(wanted.positions)
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frame = _with_file_values(source, rows, marked, wanted)
        _ = frame.schema
    return frame


def rows_by_path(source: ScanSettings, wanted: PositionalRows) -> DataFrame:
    """The rows in the table's columns, then path, position and stored columns, but no values of the file.

    Rows of files without marked rows are not joined with anything, so that `with_values_of_files` can be applied to the
    few that something else chooses.

    Args:
        source: The files.
        wanted: The rows: all others than those at its positions. `path` and `position` are given, and no `values`.
    """
    marked = wanted.positions
    whole = [i for i in range(len(source.paths)) if marked is None or not len(marked[i])]
    cut = [i for i in range(len(source.paths)) if marked is not None and len(marked[i])]
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frames = [_scan(source, shape, replace(wanted, positions=None)) for shape in _shapes(source, whole)]
        if marked is not None and cut:
            rows = [marked[i] for i in cut]
            frames.append(_with_file_values(source, cut, deleted_rows(rows), replace(wanted, positions=rows)))
        frame = union(frames)
        _ = frame.schema
    return frame


def with_values_of_files(
    frame: DataFrame, source: ScanSettings, path: str, values: Mapping[str, pa.Array]
) -> DataFrame:
    """Rows of `rows_by_path` with a value of their file in further columns.

    Args:
        frame: The rows.
        source: The files.
        path: The column of `frame` with the path of a row's file.
        values: One value for each file, by the name of the new column.
    """
    keys = pa.array([metadata_path(each) for each in source.paths], pa.string())
    side = broadcast_rows(source.spark, pa.table({_KEY: keys, **values}))
    joined = frame.join(F.broadcast(side), _same_hash(path), "left")
    found = [f"{_of_file(path, quoted_name(name))} AS {quoted_name(name)}" for name in values]
    return projected(joined, [*map(quoted_name, frame.columns), *found])


@dataclass(frozen=True, slots=True)
class EntryRows:
    """Rows of files with further values; entries may be of one file, and of one row.

    Attributes:
        files: For each entry the number of its file.
        positions: For each entry the positions of its rows in the file, ascending.
        fields: Columns of the schema that each entry has a value of.
        values: These values as carriers, by the name of the field.
    """

    files: npt.NDArray[Any]
    positions: Sequence[pa.Int64Array]
    fields: Sequence[StructField]
    values: Mapping[str, pa.Array]


def rows_of_entries(source: ScanSettings, entries: EntryRows) -> DataFrame:
    """The rows of all entries in the table's columns, a row once for each entry that has it. Each file is read once.

    The rows that no entry has are dropped before the entries multiply those that are left.
    """
    marked = deleted_rows(entries.positions)
    values = {f"__deltaskip_entry_{i}": entries.values[f.name] for i, f in enumerate(entries.fields)}
    numbers = arrow_array(entries.files, pa.int64())
    if marked.words is None:
        taken = np.repeat(np.arange(len(marked.counts)), marked.counts)
        index = arrow_array(taken, pa.int64())
        side = {_ENTRY_FILE: numbers.take(index), _MARKED: marked.numbers}
        side |= {name: column.take(index) for name, column in values.items()}
        some = None
    else:
        side = {_ENTRY_FILE: numbers, _WORDS: marked.words, **values}
        some = _joint_words(marked.words, entries.files, len(source.paths))
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frame = _files(source, range(len(source.paths)), extra=_with_location)
        keys = arrow_array([metadata_path(path) for path in source.paths], pa.string())
        partitions = {f"__deltaskip_{i}": column for i, column in enumerate(source.partitions.values)}
        of_file = {_KEY: keys, _FILE: arrow_array(np.arange(len(keys), dtype=np.int64)), **partitions}
        of_file |= {} if some is None else {_ANY_WORDS: some}
        by_path = F.broadcast(broadcast_rows(source.spark, pa.table(of_file)))
        frame = frame.join(by_path, _same_hash(_PATH), "left")
        holds = F.lit(True) if some is None else _is_bit(_ANY_WORDS, 1)
        lost = _is_lost(_PATH)
        frame = frame.where(F.when(lost, _lost(_PATH)).otherwise(holds))
        # The number is NULL for no row, but Spark must not conclude that the join above may drop such rows.
        same = F.when(lost, _lost(_PATH)).otherwise(F.col(_FILE)) == F.col(_ENTRY_FILE)
        same &= F.col(_ROW) == F.col(_MARKED) if some is None else _is_bit(_WORDS, 1)
        frame = frame.join(F.broadcast(broadcast_rows(source.spark, pa.table(side))), same)
        named = [*zip(source.partitions.fields, partitions, strict=True), *zip(entries.fields, values, strict=True)]
        columns = {field.name: decoded_sql(name, field.type, logical_type(field)) for field, name in named}
        frame = projected(frame, _logical(source, columns))
        _ = frame.schema
    return frame


def _joint_words(words: pa.ListArray, files: npt.NDArray[Any], count: int) -> pa.ListArray:
    """For each file the bits that are set in the words of any of its entries."""
    found: list[npt.NDArray[Any]] = [np.zeros(0, np.int64)] * count
    for file, entry in zip(files.tolist(), words, strict=True):
        one, other = found[file], numpy_values(entry.values)
        if len(one) < len(other):
            one, other = other, one
        joint = one.copy()
        joint[: len(other)] |= other
        found[file] = joint
    offsets = np.cumsum([0, *map(len, found)]).astype(np.int32)
    return pa.ListArray.from_arrays(arrow_array(offsets), arrow_array(np.concatenate(found)))


def _is_bit(words: str, value: int) -> Column:
    """Whether the row's bit has this value, 0 or 1."""
    word = f"get({words}, CAST(shiftright({_ROW}, {_WORD_SHIFT}) AS INT))"
    return F.expr(f"coalesce(getbit({word}, CAST({_ROW} % {1 << _WORD_SHIFT} AS INT)), 0) = {value}")


def _same_hash(path: str) -> Column:
    """The condition of a left join of rows with their files, for which `_is_lost` must be checked.

    Spark finds a number in half the time that it needs for a text of this length.
    """
    return F.expr(f"xxhash64({path}) = xxhash64({_KEY})")


def _is_lost(path: str) -> Column:
    """Whether the join has found no file for a row, or another one, whose path has the same hash."""
    return F.expr(f"NOT ({path} <=> {_KEY})")


def _lost(path: str) -> Column:
    return F.expr(_lost_sql(path))


def _lost_sql(path: str) -> str:
    return f"raise_error(concat('deltaskip has no log entry for the data file ', {path}))"


def _of_file(path: str, value: str) -> str:
    """A value of the file that the join has found. value: its SQL text."""
    return f"CASE WHEN NOT ({path} <=> {_KEY}) THEN {_lost_sql(path)} ELSE {value} END"


def _shapes(source: ScanSettings, rows: Sequence[int]) -> list[_Shape]:
    """The scans that read these files."""
    if source.times is None:
        return shapes_of(source.paths, rows, source.partitions, source.mode, source.sizes)
    # Folders tell partition values only if Spark lists them.
    codes = {int(source.partitions.codes[row]) for row in rows}
    return [JoinedScan(tuple(rows))] if len(codes) > 1 else [ConstantScan(tuple(rows), code) for code in codes]


def _scan(source: ScanSettings, shape: _Shape, wanted: PositionalRows = _LIVE) -> DataFrame:
    """The rows of a shape. wanted: the columns to return beside the table's."""
    extra = _location_for(wanted)
    match shape:
        case ConstantScan(rows, code):
            frame = _files(source, rows, None, extra)
            return projected(frame, [*_logical(source, constants(source.partitions, code)), *_beside(wanted)])
        case HiveScan(rows, base_path):
            frame = _files(source, rows, base_path, extra)
            return projected(frame, [*_logical(source, _hive_columns(source)), *_beside(wanted)])
        case JoinedScan(rows):
            listed = listed_source(source, rows) if wanted.positions is None and not wanted.values else None
            if listed is None:
                return _with_file_values(source, rows, None, wanted)
            return coded_rows(listed, rows, wanted=wanted)


def listed_source(source: ScanSettings, rows: Sequence[int]) -> ScanSettings | None:
    """The source with sizes and times of these files; None if `coded_rows` cannot read them."""
    if len(source.partitions.tuples) > options.listed_partitions:
        return None
    if source.times is not None:
        return source
    here = listed_here(source.spark, [source.paths[row] for row in rows])
    if here is None:
        return None
    sizes, times = [0] * len(source.paths), [0] * len(source.paths)
    for row, size, time in zip(rows, *here, strict=True):
        sizes[row], times[row] = size, time
    return replace(source, sizes=sizes, times=times)


def _with_file_values(
    source: ScanSettings, rows: Sequence[int], marked: _BroadcastDeletions | None, wanted: PositionalRows = _LIVE
) -> DataFrame:
    """Rows of the files, joined with partition values and marked rows, such as the deleted ones, from the log.

    It is a left join, and a row without a match raises an error: a path that Spark writes differently than
    metadata_path must not lose rows or return deleted ones. The check uses the row's path, so that Spark can neither
    fold it nor move it below the join.
    """
    frame = _files(source, rows, extra=_with_location)
    keys = pa.array([metadata_path(source.paths[row]) for row in rows], pa.string())
    values = {f"__deltaskip_{i}": v.take(pa.array(rows)) for i, v in enumerate(source.partitions.values)}
    words = {_WORDS: marked.words} if marked is not None and marked.words is not None else {}
    side = broadcast_rows(source.spark, pa.table({_KEY: keys, **values, **words, **wanted.values}))
    joined = frame.join(F.broadcast(side), _same_hash(_PATH), "left")
    if words:
        chosen = _is_bit(_WORDS, int(wanted.only))
        joined = joined.where(F.when(_is_lost(_PATH), _lost(_PATH)).otherwise(chosen))
    elif marked is not None:
        numbers = _marked_numbers(source, keys, marked)
        same = (F.col(_PATH) == F.col(_KEY + "2")) & (F.col(_ROW) == F.col(_MARKED))
        joined = joined.where(F.when(_is_lost(_PATH), _lost(_PATH)).otherwise(True))
        joined = joined.join(F.broadcast(numbers), same, "left_semi" if wanted.only else "left_anti")
    columns = {
        field.name: _of_file(_PATH, decoded_sql(name, field.type, logical_type(field)))
        for field, name in zip(source.partitions.fields, values, strict=True)
    }
    values_of_file = [f"{_of_file(_PATH, quoted_name(name))} AS {quoted_name(name)}" for name in wanted.values]
    return projected(joined, [*_logical(source, columns), *_beside(wanted, values_of_file)])


def _beside(wanted: PositionalRows, values: Sequence[str] = ()) -> list[str]:
    """The requested values of each row beside the table's columns. values: those of its file."""
    places = (_PATH, wanted.path), (_ROW, wanted.position)
    found = [f"{name} AS {quoted_name(new)}" for name, new in places if new is not None]
    return [*found, *values, *map(quoted_name, wanted.stored)]


def _marked_numbers(source: ScanSettings, keys: pa.Array, marked: _BroadcastDeletions) -> DataFrame:
    indices = pa.array([i for i, count in enumerate(marked.counts) for _ in range(count)], pa.int64())
    return broadcast_rows(source.spark, pa.table({_KEY + "2": keys.take(indices), _MARKED: marked.numbers}))


def _files(
    source: ScanSettings,
    rows: Sequence[int],
    base_path: str | None = None,
    extra: Callable[[DataFrame], DataFrame] | None = None,
    coded: bool = False,
) -> DataFrame:
    """Rows of the files under physical names; with a base path, the directories below it add partition columns.

    extra: applied to each of Spark's scans before their union. coded: whether to add the column CODE, the number of the
    partition values, to files that Spark does not list.
    """
    fields = list(source.data.fields)
    if base_path is not None:
        fields += [
            spark_types.StructField(name, logical_type(field))
            for name, field in zip(_hive_names(source), source.partitions.fields, strict=True)
        ]
    if not source.data.fields:
        # Without a field the reader would infer a schema; a field that no file has still counts the rows.
        fields.append(spark_types.StructField(_NOTHING, spark_types.BooleanType()))
    reader = source.spark.read.schema(spark_types.StructType(fields)).options(**_READER_OPTIONS)
    if base_path is not None:
        reader = reader.option("basePath", base_path)
    paths = [source.paths[row] for row in rows]
    if source.times is not None and source.sizes is not None:
        sizes, times = ([each[row] for row in rows] for each in (source.sizes, source.times))
        schema = spark_types.StructType(fields)
        codes = source.partitions.codes[list(rows)].tolist() if coded else None
        frame = unlisted_scan(source.spark, schema, source.table_root, paths, sizes, times, _READER_OPTIONS, codes)
        return frame if extra is None else extra(frame)
    alone = set(paths if len(paths) == 1 else filter(needs_own_scan, paths))
    together = [escape_globs(path) for path in paths if path not in alone]
    if extra is _with_location and _METADATA not in (field.name.lower() for field in fields):
        extra = _with_plain_location
    frames = [parquet_scan(reader, together)] if together else []
    frames += [reader.option("__globPaths__", "false").parquet(path) for path in alone]
    return union(frames if extra is None else map(extra, frames))


def _location_for(wanted: PositionalRows) -> Callable[[DataFrame], DataFrame] | None:
    """The function that adds the location of rows to a scan; None if only the table's columns are requested."""
    return None if wanted is _LIVE else _with_location


def _with_location(frame: DataFrame) -> DataFrame:
    """The scan `frame` with the file path of each row and its row number in the file."""
    metadata = metadata_column(frame)
    return frame.select("*", metadata["file_path"].alias(_PATH), metadata["row_index"].alias(_ROW))


def _with_plain_location(frame: DataFrame) -> DataFrame:
    """Add the file path and the row number to a scan whose files have no column named as the metadata."""
    return frame.selectExpr("*", f"{_METADATA}.file_path AS {_PATH}", f"{_METADATA}.row_index AS {_ROW}")


def _logical(source: ScanSettings, partition_values: dict[str, str]) -> list[str | Column]:
    return logical_columns(source.schema, source.mode, partition_values)


def _hive_names(source: ScanSettings) -> list[str]:
    return [physical_name(field, source.mode) for field in source.partitions.fields]


def _hive_columns(source: ScanSettings) -> dict[str, str]:
    names = zip(source.partitions.fields, _hive_names(source), strict=True)
    return {field.name: quoted_name(name) for field, name in names}


@dataclass(frozen=True, slots=True)
class _BroadcastDeletions:
    """Deleted rows of some files, as bit words or as row numbers.

    words: a list<int64> for each file in which the bits of deleted rows are set; None if row numbers are used instead.
    numbers: deleted row numbers, file after file. counts: number of deleted rows of each file.
    """

    words: pa.Array | None
    numbers: pa.Array
    counts: tuple[int, ...]


def deleted_rows(positions: Sequence[pa.Int64Array]) -> _BroadcastDeletions:
    """The form that the option chooses. positions: for each file its deleted row numbers, in ascending order."""
    counts = tuple(len(p) for p in positions)
    lengths = [(p[-1].as_py() >> _WORD_SHIFT) + 1 if len(p) else 0 for p in positions]
    smaller = "bits" if sum(lengths) * 8 <= max(_MAX_WORD_BYTES, sum(counts) * _PAIR_BYTES) else "positions"
    if (smaller if options.deleted_rows == "auto" else options.deleted_rows) == "bits":
        words = [_bit_words(p, n) for p, n in zip(positions, lengths, strict=True)]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        flat = pa.array(np.concatenate(words) if words else np.empty(0, np.int64), pa.int64())
        return _BroadcastDeletions(pa.ListArray.from_arrays(pa.array(offsets), flat), pa.array([], pa.int64()), counts)
    return _BroadcastDeletions(None, pa.concat_arrays([p.cast(pa.int64()) for p in positions]), counts)


def _bit_words(positions: pa.Int64Array, length: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    bits = np.zeros(length << _WORD_SHIFT, np.uint8)
    bits[positions.to_numpy(zero_copy_only=False)] = 1
    return np.packbits(bits, bitorder="little").view("<i8").astype(np.int64)


@dataclass(frozen=True, slots=True)
class ConstantScan:
    """Files, by row number, that all have the partition values of the tuple `code`, which may be the empty tuple."""

    rows: tuple[int, ...]
    code: int


@dataclass(frozen=True, slots=True)
class HiveScan:
    """Files below the directory `base_path` whose directory names contain their partition values."""

    rows: tuple[int, ...]
    base_path: str


@dataclass(frozen=True, slots=True)
class JoinedScan:
    """Files whose partition values come from a broadcast join."""

    rows: tuple[int, ...]


_Shape = ConstantScan | HiveScan | JoinedScan


def shapes_of(
    paths: Sequence[str],
    rows: Sequence[int],
    table: PartitionTable,
    mode: MappingMode,
    sizes: Sequence[int] | None = None,
) -> list[_Shape]:
    """Scans that together read each of `rows` once.

    paths: the spark_path of every file of `table`. sizes: bytes of every file; None if they are not known.
    """
    if not rows:
        return []
    codes = {int(table.codes[row]) for row in rows}
    if len(codes) == 1:
        return [ConstantScan(tuple(rows), codes.pop())]
    scans, rest = _hive_scans(paths, rows, table, mode)
    by_code = defaultdict(list)
    for row in rest:
        by_code[int(table.codes[row])].append(row)
    if len(by_code) <= _constant_scans_worth(rest, sizes):
        return [*scans, *(ConstantScan(tuple(members), code) for code, members in by_code.items())]
    large = [scan for scan in scans if sizes is None or _bytes(scan.rows, sizes) >= _BYTES_OF_A_SCAN]
    alone = {row for scan in large for row in scan.rows}
    return [*large, JoinedScan(tuple(row for row in rows if row not in alone))]


def _constant_scans_worth(rows: Sequence[int], sizes: Sequence[int] | None) -> int:
    """The number of scans with literals of these files that take less time than one scan and a join."""
    if sizes is None:
        return options.partition_scans
    return min(max(_bytes(rows, sizes) // _BYTES_OF_A_SCAN, _MIN_CONSTANT_SCANS), options.partition_scans)


def _bytes(rows: Sequence[int], sizes: Sequence[int]) -> int:
    return sum(sizes[row] for row in rows)


def _hive_scans(
    paths: Sequence[str], rows: Sequence[int], table: PartitionTable, mode: MappingMode
) -> tuple[list[HiveScan], list[int]]:
    """Scans of the roots with the most files, and the rows that are in none of them."""
    directories = {code: hive_directory(table, code, mode) for code in {int(table.codes[row]) for row in rows}}
    roots: dict[int, str] = {}
    for row in rows:
        wanted = directories[int(table.codes[row])]
        folder = paths[row].rpartition("/")[0]
        if wanted is not None and folder.endswith(f"/{wanted}"):
            roots[row] = folder[: -len(wanted) - 1]
    chosen = [root for root, _ in Counter(roots.values()).most_common(_MAX_HIVE_SCANS)]
    members: dict[str, list[int]] = {root: [] for root in chosen}
    rest: list[int] = []
    for row in rows:
        members.get(roots.get(row, ""), rest).append(row)
    return [HiveScan(tuple(found), root) for root, found in members.items()], rest
