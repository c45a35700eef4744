"""The rows that match a scan as Arrow batches: files side by side, in the order of the log and in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from functools import partial
from itertools import takewhile
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
from typing import Any, Self, TypeAlias

import pyarrow as pa

from deltaskip.doors import door
from deltaskip.log import same_table
from deltaskip.progress import Progress, table_name
from deltaskip.reading.column_chunks import ROWS_PER_MATCH
from deltaskip.reading.matching_rows import MatchingRows
from deltaskip.reading.metrics import ReadCounts, ScanMetrics
from deltaskip.reading.open_file import OpenFile
from deltaskip.reading.read_ahead import Reads, read_ahead
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.reading.row_groups import RowGroups
from deltaskip.reading.selected_columns import Paths, field_at, with_fields
from deltaskip.reading.small_files import SmallFiles
from deltaskip.reading.stored_rows import DICTIONARY, StoredBatch, StoredRows, as_dictionary, without_dictionary
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.rows.store import written_type
from deltaskip.settings import options
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import And, Node, columns_of, top_level_columns
from deltaskip.sparkexpr.types import VOID, DataType, StructField, StructType, extension_metadata, storage_type
from deltaskip.sparkexpr.types.lengths import char_columns, char_padded
from deltaskip.sparkexpr.values.arrow_nested import changed_inside
from deltaskip.sparkexpr.values.arrow_values import exact_sum, nested_value

READ_COLUMNS = ["uri", "size", "partition_values", "deletion_vector"]
"""Columns of `Scan.files()` that reading rows needs."""

# Local files of so few bytes are read in less time than the log is asked which of them have the first rows or extremes.
LITTLE_FILES, LITTLE_BYTES = 128, 1 << 20

# Where many rows match in a larger share of the files, the columns of the predicate are not read first.
_STAGED_SHARE = 0.6
_LATE_READS = 10
SMALL_BYTES = 8 << 20
"""Files up to this size are read together, without their footers' statistics and Bloom filters."""
# So many at a time.
_SMALL_FILES = 64
# Rows for which the predicate is evaluated at once, if their batches are smaller.
_EVALUATED_ROWS = 1 << 18
# Bytes of files that are read ahead of their turn. Remote files have high latency; local ones only cost memory.
_AHEAD_BYTES = 64 << 20
_FAR_AHEAD_BYTES = 256 << 20
_CURE = "Read the rows with to_spark instead."


def arrow_schema_of(scan: Scan) -> pa.Schema:
    """Return the schema of the rows of a scan: the selected columns in Arrow's types, all nullable."""
    fields = _fields(scan)
    paths = _paths(scan)
    if paths is not None:
        fields = [replace(field_at(scan.snapshot.schema, path), name=name) for name, path in paths.items()]
    return pa.schema(
        [pa.field(field.name, row_type(field, scan), metadata=extension_metadata(field.type)) for field in fields]
    )


def plain_schema_of(scan: Scan) -> pa.Schema:
    """Return `arrow_schema_of` for other engines: shapes are binary, without the extension type that fields name."""
    return pa.schema([pa.field(field.name, storage_type(field.type)) for field in arrow_schema_of(scan)])


def with_dictionaries(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Return a schema in which some columns of strings are dictionaries."""
    return pa.schema([each.with_type(DICTIONARY) if each.name in names else each for each in schema])


# A file, as one row with the columns FILE_COLUMNS, the open file, and the row groups to read (None: those not pruned).
_Part: TypeAlias = tuple[pa.Table, OpenFile, RowGroups | None]


@dataclass(slots=True)
class _Matches:
    """The share of the recently read files in which many rows matched."""

    share: float = 0.0

    def add(self, many: bool) -> None:
        """Take a file, or row groups of it, into account."""
        self.share += (many - self.share) / _LATE_READS


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the matching rows of the files of a scan. It can be pickled.

    In larger files, the columns of the predicate are read first, and the others only for row groups with matching rows,
    unless many rows match in most files.

    Attributes:
        rows: Reads the rows of files.
        matching: Finds the rows that match; None if all do.
        schema: The schema of the batches.
        stages: The columns to read at each step, with the conjuncts to evaluate on them. The last step reads the
            remaining columns and evaluates nothing. Empty if everything is read in one step.
        chars: The columns with strings of type char(n), of `char_columns`.
        voids: The columns that contain fields of type void, of `_void_columns`.
        paths: The path of each column of the batches; None if all are top-level columns.
        matches: The share of files in which many rows match.
        share: The share of the table's columns that are read.
        views: Whether strings and binary of the batches may be views.
        dictionaries: The columns of strings that are dictionaries.
    """

    rows: StoredRows
    matching: MatchingRows | None
    schema: pa.Schema
    stages: tuple[tuple[StoredRows, MatchingRows | None], ...] = ()
    chars: Mapping[str, DataType] = field(default_factory=dict)
    voids: Mapping[str, DataType] = field(default_factory=dict)
    paths: Paths | None = None
    matches: _Matches = field(default_factory=_Matches)
    share: float = 1.0
    views: bool = False
    dictionaries: Collection[str] = ()

    @classmethod
    def of(
        cls,
        scan: Scan,
        files: int,
        counts: ReadCounts | None = None,
        extra: Sequence[StructField] = (),
        *,
        views: bool = False,
        stored_rows: Callable[..., StoredRows] = StoredRows,
        constants: Sequence[str] = (),
        dictionaries: Collection[str] = (),
    ) -> Self:
        """Return the reader of a scan. Raises UnsupportedFeature for predicates that only Spark evaluates.

        Args:
            scan: The scan.
            files: Number of files that will be read.
            counts: Counts the row groups that are read and skipped.
            extra: Further columns of files for subclasses, by the names that files have.
            views: Whether strings and binary may be returned as views.
            stored_rows: Makes the reader of files, with the arguments of StoredRows.
            constants: See `StoredRows`.
            dictionaries: The top-level columns of strings that are returned as dictionaries.
        """
        scan, snapshot = scan.at_one_time(), scan.snapshot
        schema = with_dictionaries(arrow_schema_of(scan), dictionaries)
        pruning = None if scan.where is None else RowGroupPruning.of(scan, constants=constants)
        threads = files < pa.cpu_count()
        fields, paths = _fields(scan), _paths(scan)
        names = {each.name for each in fields}
        stored = snapshot.schema
        if paths is not None:
            read = [*paths.values(), *columns_of(scan.predicate)]
            stored = StructType(tuple(with_fields(each, read) for each in stored.fields))
            fields = [with_fields(each, paths.values()) for each in fields]
        chars, voids = char_columns(fields), _void_columns(fields)
        shown: dict[str, Any] = {"chars": chars, "voids": voids, "paths": paths, "views": views}
        shown["dictionaries"] = dictionaries

        keys = set() if scan.where is None else top_level_columns(scan.predicate)
        shown["share"] = len(names | keys) / max(1, len(snapshot.schema.fields))
        if paths is None and not keys <= names:
            # A struct that is not returned is read only as far as the predicate needs it.
            used = columns_of(scan.predicate)
            kept = (with_fields(each, used) if each.name in keys - names else each for each in stored.fields)
            stored = StructType(tuple(kept))

        def rows(columns: set[str]) -> StoredRows:
            found = snapshot, stored, snapshot.mapping_mode, columns
            # A predicate over strings is evaluated once for each value of a dictionary.
            options: dict[str, Any] = {"pruning": pruning, "counts": counts, "threads": threads, "encoded": keys}
            options["dictionaries"] = dictionaries
            # Predicates, padding and parts of structs need strings in another layout.
            seen = names - keys - set(chars) - set(voids) if views and paths is None else set()
            return stored_rows(*found, extra, cure=_CURE, **options, views=seen, constants=constants)

        if scan.where is None:
            return cls(rows(names), None, schema, **shown)
        known = {*snapshot.partition_columns, *constants}

        def matching(predicate: Node) -> MatchingRows:
            bound = predicate, snapshot.schema, snapshot.root, scan.time_zone or "UTC"
            return MatchingRows(*bound, _CURE, collation_version=scan.collation_version, ansi=scan.in_ansi)

        every = cls(rows(names | keys), matching(scan.predicate), schema, **shown)
        beginning = _beginning(scan.predicate)
        first = top_level_columns(beginning)
        others = rows(names - keys), None
        if not (first <= known or keys - first <= known):
            parts = (rows(first), matching(beginning)), (rows(keys - first), every.matching)
            return replace(every, stages=(*parts, others))
        if keys <= known or names - keys <= known:
            return every
        return replace(every, stages=((rows(keys), every.matching), others))

    def read(self, file: pa.Table, groups: RowGroups | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows of a file.

        Args:
            file: One row with the columns FILE_COLUMNS of `Scan.files()`.
            groups: The row groups to read; None for all.
        """
        if self._in_stages(min(_sizes(file))):
            with self.rows.open(file, None if groups is None else groups.footer) as opened:
                yield from self._read_in_stages([(file, opened, groups)])
            return
        many = False
        for _, batch in self.rows.live(file, groups):
            chosen = batch if self.matching is None else self._selected(batch).filter(self.matching.mask(batch))
            many |= len(chosen) * ROWS_PER_MATCH > len(batch)
            if len(chosen):
                yield self._record_batch(chosen.columns, len(chosen))
        self.matches.add(many)

    def read_files(self, files: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows of several small files. The predicate is evaluated once for all of them.

        Args:
            files: One row for each file, as for `read`.
        """
        for part, opened in self.rows.small_files(files):
            batch = None if opened is None else self._read_together(part, opened)
            if batch is None:
                yield from self._read_one_by_one(part)
            elif batch.num_rows:
                yield batch

    def _read_one_by_one(self, files: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows of small files, each of which is opened by pyarrow."""
        each = [files.slice(number, 1) for number in range(len(files))]
        if not self._in_stages(min(_sizes(files))):
            for file in each:
                yield from self.read(file)
            return
        with ExitStack() as stack:
            yield from self._read_in_stages([(file, stack.enter_context(self.rows.open(file)), None) for file in each])

    def _read_together(self, files: pa.Table, opened: SmallFiles) -> pa.RecordBatch | None:
        """The matching rows of small files; None if they must be read one by one."""
        positions = self.rows.live_together(files, opened)
        columns: dict[str, pa.Array] = {}
        left = 0
        for rows, matching in self.stages or ((self.rows, self.matching),):
            batch = rows.together(files, opened, positions)
            if batch is None:
                return None
            batch = StoredBatch(batch.rows, {**columns, **batch.columns})
            if matching is not None:
                batch = batch.filter(matching.mask(batch))
                positions = batch.positions
            columns, left = dict(batch.columns), len(batch)
        self.rows.count_row_groups(len(files))
        return self._record_batch(columns, left)

    def _in_stages(self, size: int) -> bool:
        """Whether files of at least this size are read in stages: the columns of the predicate before the others."""
        return bool(self.stages) and size >= options.read_staged_bytes and self.matches.share < _STAGED_SHARE

    def _read_in_stages(self, parts: Sequence[_Part]) -> Iterator[pa.RecordBatch]:
        """Yield the matching rows of files: the columns of the predicate are read first."""
        groups = [chosen or self.rows.row_groups_of(file, opened) for file, opened, chosen in parts]
        (first, matching), *between, (others, _) = self.stages
        assert matching is not None
        batches = (
            (number, batch)
            for number, (file, opened, _) in enumerate(parts)
            for _, batch in first.live(file, groups[number], opened)
        )
        left = _by_number(_matches_of(matching, batches, None if between else self._selected))
        for rows, part in between:
            assert part is not None
            more = ((number, _with_columns(rows, parts[number], groups[number], left[number])) for number in left)
            left = _by_number(_matches_of(part, more, self._selected))
        for number, (file, opened, _) in enumerate(parts):
            if number not in left:
                self.matches.add(False)
                continue
            positions, keys = left[number].positions, left[number].columns
            self.matches.add(len(positions) * ROWS_PER_MATCH > groups[number].num_rows)
            start = 0
            for batch in others.at(file, groups[number].with_rows(positions), positions, opened):
                end = start + len(batch)
                chosen = {name: array.slice(start, end - start) for name, array in keys.items()}
                start = end
                yield self._record_batch({**chosen, **batch.columns}, len(batch))

    def _selected(self, batch: StoredBatch) -> StoredBatch:
        """The batch without the columns that only the predicate uses."""
        shown = self.schema.names if self.paths is None else {path[0] for path in self.paths.values()}
        return StoredBatch(batch.rows, {n: each for n, each in batch.columns.items() if n in shown})

    def _record_batch(self, columns: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        if not len(self.schema):
            return record_batch([], self.schema, rows)
        columns = {
            name: as_dictionary(each) if name in self.dictionaries else without_dictionary(each)
            for name, each in columns.items()
        }
        changed = {name: char_padded(columns[name], declared) for name, declared in self.chars.items()}
        for name, data_type in self.voids.items():
            changed[name] = _with_void_fields(changed.get(name, columns[name]), data_type)
        columns = {**columns, **changed}
        if self.paths is None:
            arrays = [columns[name] for name in self.schema.names]
        else:
            arrays = [nested_value(columns[path[0]], path[1:]) for path in self.paths.values()]
        if self.views:
            return pa.RecordBatch.from_arrays(arrays, names=self.schema.names)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _beginning(predicate: Node) -> Node:
    """The leading conjuncts that use only the columns of the first one; the others are evaluated later."""
    if not isinstance(predicate, And):
        return predicate
    first = top_level_columns(predicate.children[0])
    chosen = tuple(takewhile(lambda child: top_level_columns(child) <= first, predicate.children))
    return chosen[0] if len(chosen) == 1 else And(chosen)


def _by_number(batches: Iterable[tuple[int, StoredBatch]]) -> dict[int, StoredBatch]:
    """The rows of batches by their number, in ascending order."""
    found: dict[int, list[StoredBatch]] = {}
    for number, batch in batches:
        found.setdefault(number, []).append(batch)
    return {number: StoredBatch.joined(found[number]) for number in found}


def _with_columns(rows: StoredRows, part: _Part, groups: RowGroups, known: StoredBatch) -> StoredBatch:
    """Rows of a file with further columns."""
    file, opened, _ = part
    positions = known.positions
    more = StoredBatch.joined(list(rows.at(file, groups.with_rows(positions), positions, opened)))
    return StoredBatch(positions, {**known.columns, **more.columns})


def _matches_of(
    matching: MatchingRows,
    batches: Iterable[tuple[int, StoredBatch]],
    selected: Callable[[StoredBatch], StoredBatch] | None,
) -> Iterator[tuple[int, StoredBatch]]:
    """Yield the matching rows of numbered batches, with their numbers; small batches are evaluated together.

    selected: Returns a batch with the columns that are needed afterwards; None for all.
    """
    waiting: list[tuple[int, StoredBatch]] = []
    rows = 0
    for number, batch in batches:
        waiting.append((number, batch))
        rows += len(batch)
        if rows >= _EVALUATED_ROWS:
            yield from _matches_among(matching, waiting, selected)
            waiting, rows = [], 0
    if waiting:
        yield from _matches_among(matching, waiting, selected)


def _matches_among(
    matching: MatchingRows,
    batches: Sequence[tuple[int, StoredBatch]],
    selected: Callable[[StoredBatch], StoredBatch] | None,
) -> Iterator[tuple[int, StoredBatch]]:
    mask, start = matching.mask(StoredBatch.joined([batch for _, batch in batches])), 0
    for number, batch in batches:
        end = start + len(batch)
        if mask[start:end].any():
            yield number, (selected(batch) if selected else batch).filter(mask[start:end])
        start = end


@door
def arrow_batches(
    scan: Scan, finished: Callable[[ScanMetrics], None], views: bool = False, dictionaries: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that match a scan, at most its limit; every batch has `arrow_schema_of`.

    A bar shows the progress of longer reads, and the logger `deltaskip` receives a line at level INFO.

    Args:
        scan: The scan.
        finished: Called with the metrics when all rows were taken, or the iterator is closed.
        views: Whether strings and binary may be views instead, which some libraries take without copying.
        dictionaries: The top-level columns of strings that are dictionaries instead, of which an entry may be there
            twice.

    Raises:
        UnsupportedFeature: Only Spark can read a file, or evaluate the predicate.
        PredicateError: The predicate fails for a row.
        DataFileMissing: A file does not exist.
        StorageError: A file cannot be read.
    """
    left = scan.limit
    if left == 0:
        return
    counts, rows = ReadCounts(), 0
    files = scan.files(columns=READ_COLUMNS)
    counts.plan_ends()
    reader = RowReader.of(scan, len(files), counts, views=views, dictionaries=dictionaries)
    reader.rows.most = left if reader.matching is None else None
    total = exact_sum(files["size"])
    try:
        reading = Progress(f"Reading {table_name(scan.snapshot.table_root)}", total)
        with same_table(scan.snapshot), reading as progress:
            for batch in _read_ahead(reader, files, progress.advance, together=left is None):
                if left is not None:
                    batch = batch.slice(0, min(left, batch.num_rows))
                    left -= batch.num_rows
                rows += batch.num_rows
                yield batch
                if left == 0:
                    return
    finally:
        finished(counts.metrics("Read", scan.snapshot, len(files), total, rows))


def little_files(scan: Scan) -> pa.Table | None:
    """Return the files of a scan of a small table, with the columns READ_COLUMNS; None if their bytes are not few."""
    snapshot = scan.snapshot
    if snapshot.num_files > LITTLE_FILES or snapshot.storage.remote or not LITTLE_BYTES:
        return None
    files = scan.files(columns=READ_COLUMNS)
    return files if exact_sum(files["size"]) <= LITTLE_BYTES else None


def batches_of(
    scan: Scan, files: pa.Table, counts: ReadCounts, done: Callable[[int], object] = lambda _: None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some files that match a scan, in the order of the files.

    Args:
        scan: The scan; its limit does not count.
        files: The files, with the columns READ_COLUMNS.
        counts: Counts the row groups that are read and skipped.
        done: Called with the bytes of files whose rows were taken.

    Raises:
        DeltaSkipError: As `arrow_batches`.
    """
    yield from _read_ahead(RowReader.of(scan, len(files), counts), files, done)


def _read_ahead(
    reader: RowReader, files: pa.Table, done: Callable[[int], object], together: bool = True
) -> Iterator[pa.RecordBatch]:
    remote = reader.rows.storage.remote
    reads = reads_of(reader, files, options.read_piece_bytes, together)
    return read_ahead(reads, _FAR_AHEAD_BYTES if remote else _AHEAD_BYTES, done, remote)


def _fields(scan: Scan) -> list[StructField]:
    fields = scan.snapshot.schema.fields
    if scan.columns is None:
        return list(fields)
    by_name = {field.name: field for field in fields}
    return [by_name[name] for name in dict.fromkeys(scan.columns)]


def _paths(scan: Scan) -> Paths | None:
    """The paths of the returned columns, if one of them is a field of a struct."""
    found: Paths | None = vars(scan).get("_paths")
    return found


def record_batch(arrays: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of columns, of which there may be none."""
    if not len(schema):
        # A batch made from an empty list of columns would have no rows.
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def row_type(field: StructField, scan: LogScan) -> pa.DataType:
    """Return the Arrow type of a column in the rows of a scan."""
    if field.type != VOID:
        # Raises for types that files cannot contain.
        written_type(field.type, (field.name,), scan.snapshot.root)
    return stored_type(field.type)


def row_reads(
    scan: Scan, piece_bytes: int | None = None, files: pa.Table | None = None, reader: RowReader | None = None
) -> Reads:
    """Return sizes in bytes, and functions that read the matching rows of so much data, in the order of the rows.

    The functions can be pickled. Each reads a whole file, or some row groups of a large one.

    Args:
        scan: The scan; its limit does not count.
        piece_bytes: Bytes of files that one function reads, as far as row groups allow.
        files: The files to read, with the columns FILE_COLUMNS. The default is the files that the scan keeps.
        reader: The reader of the files. The default is the one of the scan.
    """
    most = options.read_piece_bytes if piece_bytes is None else piece_bytes
    files = scan.files(columns=READ_COLUMNS) if files is None else files
    return reads_of(reader or RowReader.of(scan, len(files)), files, most, together=False)


def _most_files() -> int:
    """The small files that one read may open: read_ahead has two reads more than threads, and others need handles."""
    limit = getrlimit(RLIMIT_NOFILE)[0]
    share = max(1, limit // (2 * (max(2, pa.cpu_count()) + 2)))
    return _SMALL_FILES if limit == RLIM_INFINITY else min(_SMALL_FILES, share)


def _sizes(files: pa.Table) -> list[int]:
    """Bytes of files; 0 where the log does not say it, as of some removed files."""
    return [size or 0 for size in files["size"].to_pylist()]


def reads_of(reader: RowReader, files: pa.Table, most_bytes: int, together: bool = True) -> Reads:
    """See row_reads. together: Whether one function may read several small files, not only what a limit needs next."""
    sizes = _sizes(files)
    most_files, share = (_most_files() if together else 1), 0
    if not reader.rows.storage.remote:
        # Two reads per core, plus half a file, so that equal files are shared equally.
        share = max(
            options.read_together_bytes, sum(sizes) // (2 * pa.cpu_count()) + sum(sizes) // (2 * max(1, len(sizes)))
        )
    end = 0
    for number, size in enumerate(sizes):
        if number < end:
            continue
        end = _end_of_small(sizes, number, min(SMALL_BYTES, most_bytes), most_files, min(most_bytes, share))
        if end > number:
            yield sum(sizes[number:end]), partial(reader.read_files, files.slice(number, end - number))
            continue
        file = files.slice(number, 1)
        # If there are enough files to occupy every core, a file is not split if only a small share of it is read.
        if (size * reader.share if len(files) >= 2 * pa.cpu_count() else size) <= most_bytes:
            yield size, partial(reader.read, file)
            continue
        for total, groups in reader.rows.pieces(file, most_bytes):
            yield total, partial(reader.read, file, groups)


def _end_of_small(sizes: Sequence[int], start: int, small: int, most_files: int, most_bytes: int) -> int:
    """The end of files of at most `small` bytes, from `start` on, that are read together."""
    end, total = start, 0
    while end < len(sizes) and end - start < most_files and sizes[end] <= small:
        total += sizes[end]
        if end > start and total > most_bytes:
            break
        end += 1
    return end


def _void_columns(fields: Iterable[t.StructField]) -> dict[str, t.DataType]:
    """The types of the columns that contain fields of type void, by name."""
    return {f.name: f.type for f in fields if f.type != t.VOID and t.VOID in t.nested_types(f.type)}


def _with_void_fields(array: pa.Array, data_type: t.DataType) -> pa.Array:
    """A column of a file, with the names of the table, and the fields of type void at every depth.

    # PROTOCOL, Void Type: files do not contain them
    """
    if t.VOID not in t.nested_types(data_type):
        return array
    if not isinstance(data_type, t.StructType):
        return changed_inside(array, data_type, _with_void_fields)
    stored = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    children = [
        pa.nulls(len(array)) if field.type == t.VOID else _with_void_fields(stored[field.name], field.type)
        for field in data_type.fields
    ]
    named = [pa.field(field.name, child.type) for field, child in zip(data_type.fields, children, strict=True)]
    return pa.StructArray.from_arrays(children, fields=named, mask=array.is_null() if array.null_count else None)
