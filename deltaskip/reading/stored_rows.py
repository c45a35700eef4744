"""Rows of data files as Arrow: columns under the table's names and in its types, read by pyarrow in this process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip import errors
from deltaskip.actions import hadoop_path, hadoop_paths
from deltaskip.doors import first_line
from deltaskip.kernels.deletion_vector import live_rows
from deltaskip.kernels.row_runs import runs_of
from deltaskip.log import Snapshot
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.reading.column_chunks import decode_columns, decode_parts
from deltaskip.reading.julian import has_older, is_of_old_writer, may_be_julian
from deltaskip.reading.marked_rows import chosen_rows
from deltaskip.reading.metrics import ReadCounts
from deltaskip.reading.open_file import OpenFile
from deltaskip.reading.plain_columns import leaf_numbers, rows_at, rows_in
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.reading.row_groups import RowGroups, is_narrow
from deltaskip.reading.small_files import SmallFiles
from deltaskip.reading.stored_columns import FileLayout, NamedColumns, in_files, is_readable_as, parts_of
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import plain_array, stored_type
from deltaskip.rows.arrow_store import ArrowTarget, store_array
from deltaskip.rows.schema_merge import incoming_type
from deltaskip.rows.store import written_type
from deltaskip.schema.mapping import with_names_of
from deltaskip.sparkexpr import sql_name
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, has_utf8, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.stats.parquet_input import ParquetInput
from deltaskip.stats.shredded_variants import ShreddingError, unshredded
from deltaskip.storage import Storage, open_storage, storage_for
from deltaskip.version import engine_info

SESSION_CURE = errors.OptionAdvice("spark", "rows", "Pass a session as spark, or write the rows as a DataFrame of one.")
"""The advice after the message that rows cannot be changed without Spark."""

DICTIONARY = pa.dictionary(pa.int32(), pa.string())
"""The type of strings that stay as a file has them."""

_BATCH_ROWS = 1 << 16
_LONG_BATCH_ROWS = 1 << 13
# Row groups up to this size in uncompressed bytes are read at once, if their values are not much larger: a byte may
# encode thousands of equal values.
_AT_ONCE_BYTES = 64 << 20
_AT_ONCE_VALUES = 16 << 20
# Of larger ones, so many bytes are decoded at a time.
_PART_BYTES = 8 << 20
# Decoding fewer bytes takes less time than waking up other threads.
_LITTLE_BYTES = 1 << 18
_NOT_PICKLED = {"_storage": None, "_layout": None, "_counts": None}
# A plain page has at least this many bytes per string; a page of dictionary codes seldom has.
_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Some rows of a file: their positions in it, ascending, and their columns.

    rows: The positions; a range if the rows follow each other.
    """

    rows: npt.NDArray[Any] | range
    columns: Mapping[str, pa.Array]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def positions(self) -> npt.NDArray[Any]:
        """Positions of the rows in the file."""
        rows = self.rows
        return np.arange(rows.start, rows.stop, dtype=np.int64) if isinstance(rows, range) else rows

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in memory, with their positions."""
        found: int = 8 * len(self) + sum(column.nbytes for column in self.columns.values())
        return found

    @classmethod
    def joined(cls, batches: Sequence[StoredBatch]) -> StoredBatch:
        """Return the concatenated rows of batches with the same columns."""
        if len(batches) == 1:
            return batches[0]
        columns = {name: _joined([each.columns[name] for each in batches]) for name in batches[0].columns}
        return cls(np.concatenate([each.positions for each in batches]), columns)

    def not_at(self, positions: pa.Int64Array) -> npt.NDArray[Any]:
        """Return for each row whether its position in the file is not one of these. There must be at least one row."""
        first, last = int(self.rows[0]), int(self.rows[-1])
        others = numpy_values(live_rows(positions, first, last + 1 - first).to_arrow())
        return others if isinstance(self.rows, range) else others[self.rows - first]

    def filter(self, mask: npt.NDArray[Any]) -> StoredBatch:
        """Return the rows where the mask is true."""
        runs = runs_of(mask)
        if runs.rows == len(self):
            return self
        if 2 * runs.rows < len(self):
            return self.take(np.flatnonzero(mask))
        return StoredBatch(self.positions[mask], {name: rows_in(each, runs) for name, each in self.columns.items()})

    def take(self, numbers: npt.NDArray[Any]) -> StoredBatch:
        """Return the rows at these ascending positions within the batch."""
        if len(numbers) == len(self):
            return self
        if isinstance(self.rows, range):
            rows = numbers + self.rows.start if self.rows.start else numbers
        else:
            rows = self.rows[numbers]
        chosen = arrow_array(numbers, pa.int64())
        return StoredBatch(rows, {name: rows_at(each, chosen) for name, each in self.columns.items()})


class StoredRows:
    """Reads rows of the files of a table. It can be pickled, and opens the storage of the table anew where it is used.

    Args:
        snapshot: The table.
        schema: The schema of the rows; a column that a file lacks is null.
        mode: The column mapping mode of the schema.
        columns: Top-level columns to read.
        extra: Further columns of files, by the names that files have; null where a file lacks one.
        cure: The advice after the message that only Spark can read a file.
        pruning: Finds the row groups to read; None for all.
        counts: Counts the row groups that are read and skipped; not pickled.
        threads: Whether columns are decoded by threads, which is slower where several files are read at the same time.
        encoded: String columns that stay dictionary-encoded where they are so in a large file.
        dictionaries: String columns that stay so where they are so in any file.
        views: Other columns whose strings may be views, at any depth.
        constants: Columns whose values are among the partition values of the files, beside the partition columns.

    Attributes:
        most: So many rows of each file are enough; None for all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        schema: t.StructType,
        mode: t.MappingMode,
        columns: Collection[str] | None = None,
        extra: Sequence[t.StructField] = (),
        *,
        cure: str = SESSION_CURE,
        pruning: RowGroupPruning | None = None,
        counts: ReadCounts | None = None,
        threads: bool = True,
        encoded: Collection[str] = (),
        dictionaries: Collection[str] = (),
        views: Collection[str] = (),
        constants: Collection[str] = (),
    ) -> None:
        self.most: int | None = None
        self._root, self.table_root, self._version = snapshot.root, snapshot.table_root, snapshot.version
        self._options = getattr(snapshot.storage, "options", None)
        self._storage: Storage | None = snapshot.storage
        self._mode = mode
        self._fields = [field for field in schema.fields if columns is None or field.name in columns]
        self._types = {
            field.name: field.type if field.type == t.VOID else written_type(field.type, (field.name,), snapshot.root)
            for field in self._fields
        }
        self._stored_types = {name: stored_type(data_type) for name, data_type in self._types.items()}
        self._layout: FileLayout | None = None
        self._last: dict[str, tuple[pa.Array, pa.Array]] = {}
        self._partitions = frozenset((*snapshot.partition_columns, *constants))
        self._is_nested = any(
            isinstance(each, t.StructType | t.ArrayType | t.MapType) or each == t.VARIANT
            for each in self._types.values()
        )
        self._extra = extra
        self._cure = cure
        self._pruning = pruning
        self._counts = counts
        self._threads = threads
        self._dictionaries = frozenset(dictionaries)
        self._encoded = frozenset(encoded) | self._dictionaries
        self._views = frozenset(views) - self._encoded
        self._target = ArrowTarget(snapshot.root, zone_of("UTC"))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **_NOT_PICKLED, "_last": {}, "_planned_by": engine_info()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        planned_by, here = state.get("_planned_by", "deltaskip/0.3.0 or older"), engine_info()
        # A process that has only the folder of the package does not know its release.
        if planned_by != here and "/" in planned_by and "/" in here:
            raise errors.UnsupportedFeature(
                f"The read of {state['_root']} was planned by {planned_by}, and this process has {here}: install the "
                f"same release in both, such as the driver and the executors of Spark."
            )
        self.__dict__.update(state)

    @property
    def storage(self) -> Storage:
        """Storage of the table."""
        if self._storage is None:
            self._storage = open_storage(self._root, self._options)[0]
        return self._storage

    def live(
        self, files: pa.Table, groups: RowGroups | None = None, opened: OpenFile | None = None
    ) -> Iterator[tuple[int, StoredBatch]]:
        """Yield the index of a file and a batch of its rows that are not deleted.

        Args:
            files: Columns of `Scan.files()`: uri, partition_values and deletion_vector, and num_records if it is known.
                With the column of `with_chosen_rows`, only these rows of the files are read.
            groups: The row groups to read, if there is one file; None for all.
            opened: The file, if there is one and it is open.
        """
        vectors = one_chunk(files["deletion_vector"])
        chosen = chosen_rows(files)
        for number in range(len(files)):
            file, deleted = files.slice(number, 1), None
            if chosen is not None:
                positions = numpy_values(chosen[number])
                with self.open(file) if opened is None else nullcontext(opened) as there:
                    some = (groups or self.row_groups_of(file, there)).with_rows(positions)
                    yield from ((number, batch) for batch in self.at(file, some, positions, there))
                continue
            if vectors[number].is_valid:
                if opened is None:
                    # The log may have another number of rows than the file.
                    with self.open(file, None if groups is None else groups.footer) as own:
                        yield from ((number, batch) for _, batch in self.live(file, groups, own))
                    continue
                counts = arrow_array([opened.parquet.metadata.num_rows], pa.int64())
                known = pa.table({"uri": file["uri"], "num_records": counts})
                vector = vectors.slice(number, 1)
                [deleted] = read_deleted_rows(self.storage, self.table_root, known, vector)
            for batch in self._batches(file, groups, opened):
                if deleted is not None and len(batch):
                    batch = batch.filter(batch.not_at(deleted))
                if len(batch):
                    yield number, batch

    def at(
        self, file: pa.Table, groups: RowGroups, positions: npt.NDArray[Any], opened: OpenFile
    ) -> Iterator[StoredBatch]:
        """Yield rows of one file.

        Args:
            file: As for `live`.
            groups: The row groups that contain the rows.
            positions: Positions of the rows in the file, ascending.
            opened: The file.
        """
        constants = self._constants(file)
        layout = self._layout_of(opened.schema, opened.location)
        for number, start in zip(groups.numbers, groups.starts, strict=True):
            rows = opened.parquet.metadata.row_group(number).num_rows
            first, last = np.searchsorted(positions, (start, start + rows))
            wanted = positions[first:last]
            span = range(int(wanted[0]), int(wanted[-1]) + 1)
            single = len(wanted) * opened.one_in <= rows
            by_pages = layout.leaves or self._few_nested_in(opened, layout, number)
            if by_pages and (single or is_narrow(len(span), rows)):
                few = self._some(opened, layout, constants, number, start, wanted if single else span)
                yield few if single else few.take(wanted - span.start)
                continue
            group = RowGroups(groups.footer, [number], [start])
            for batch in self._read(opened, constants, group):
                begin = int(batch.rows[0])
                first, last = np.searchsorted(wanted, (begin, int(batch.rows[-1]) + 1))
                if first < last:
                    yield batch.take(wanted[first:last] - begin if begin else wanted[first:last])

    def small_files(self, files: pa.Table) -> Iterator[tuple[pa.Table, SmallFiles | None]]:
        """Yield successive files, and the files opened to be read together; None for files that `live` must read.

        Args:
            files: As for `live`.
        """
        if self._is_nested:
            # The kernels do not decode these.
            yield files, None
            return
        start = 0
        for count, opened in SmallFiles.runs(hadoop_paths(self.table_root, files["uri"]).to_pylist()):
            readable = opened is not None and not is_of_old_writer(opened.metadata)
            yield files.slice(start, count), opened if readable else None
            start += count

    def live_together(self, files: pa.Table, opened: SmallFiles) -> npt.NDArray[np.int64] | None:
        """Return the positions of the rows that are not deleted, or are chosen; None for all. See `together`."""
        chosen = chosen_rows(files)
        if chosen is not None:
            rows = np.diff(opened.starts).tolist()
            places = [numpy_values(each) for each in chosen]
            within = [each[: np.searchsorted(each, most)] for each, most in zip(places, rows, strict=True)]
            return np.concatenate([each + start for each, start in zip(within, opened.starts[:-1], strict=True)])
        vectors = one_chunk(files["deletion_vector"])
        if vectors.null_count == len(vectors):
            return None
        live = np.ones(opened.starts[-1], np.bool_)
        counts = arrow_array(np.diff(opened.starts), pa.int64())
        known = pa.table({"uri": files["uri"], "num_records": counts})
        for number, deleted in enumerate(read_deleted_rows(self.storage, self.table_root, known, vectors)):
            if deleted is not None:
                start, end = opened.starts[number : number + 2].tolist()
                live[start:end] = numpy_values(live_rows(deleted, 0, end - start).to_arrow())
        return np.flatnonzero(live)

    def together(
        self, files: pa.Table, opened: SmallFiles, positions: npt.NDArray[np.int64] | None
    ) -> StoredBatch | None:
        """Return rows of small files, positioned as if the files were one; None if they must be read one by one.

        Args:
            files: As for `live`.
            opened: The files.
            positions: Positions of the rows, counted from the first row of the first file, ascending; None for all.
        """
        try:
            return self._together(files, opened, positions)
        except (errors.StorageError, errors.UnsupportedFeature):
            # If the files are read one by one, the error names the file.
            return None

    def _together(
        self, files: pa.Table, opened: SmallFiles, positions: npt.NDArray[np.int64] | None
    ) -> StoredBatch | None:
        layout = self._layout_of(opened.schema, self._root)
        encoded = [name for column, name in layout.found.items() if name is not None and column in self._dictionaries]
        found = opened.columns(layout.names, positions, self._views_in(layout), encoded)
        if found is None:
            return None
        batch = pa.RecordBatch.from_arrays(list(found.values()), names=list(found)) if found else None
        constants = self._constants(files)
        if constants:
            numbers = np.arange(opened.starts[-1]) if positions is None else positions
            numbers = arrow_array(np.searchsorted(opened.starts, numbers, "right") - 1, pa.int64())
            constants = {name: each.take(numbers) for name, each in constants.items()}
        rows = range(opened.starts[-1]) if positions is None else positions
        return self._batch(batch, layout, constants, rows, self._root, found)

    def live_of_many(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        """Yield what `live` does; small files are opened together."""
        first = 0
        for part, opened in self.small_files(files):
            batch = None if opened is None else self.together(part, opened, self.live_together(part, opened))
            if opened is None or batch is None:
                yield from ((first + number, each) for number, each in self.live(part))
            else:
                places = batch.positions
                ends = np.searchsorted(places, opened.starts).tolist()
                for number, start in enumerate(opened.starts[:-1].tolist()):
                    begin, count = ends[number], ends[number + 1] - ends[number]
                    columns = {name: each.slice(begin, count) for name, each in batch.columns.items()}
                    if count:
                        yield first + number, StoredBatch(places[begin : begin + count] - start, columns)
            first += len(part)

    def count_row_groups(self, read: int) -> None:
        """Count row groups that are read."""
        if self._counts is not None:
            self._counts.add(read, 0)

    def _some(
        self,
        opened: OpenFile,
        layout: FileLayout,
        constants: Mapping[str, pa.Array],
        group: int,
        start: int,
        rows: npt.NDArray[Any] | range,
    ) -> StoredBatch:
        """A few rows of a row group, or the rows of a range of it, by their positions in the file."""
        parquet = opened.parquet
        forms: dict[str, Any] = {}
        own: npt.NDArray[Any] | range
        if isinstance(rows, range):
            own = range(rows.start - start, rows.stop - start)
            encoded = self._encoded_in(opened, layout, [group]) if self._encoded else []
            forms = {"threads": self._threads, "encoded": encoded, "views": self._views_in(layout)}
        else:
            own = rows - start
        forms["nested"] = self._few_nested_in(opened, layout, group)
        with self._naming(opened.location):
            given = opened.schema, [group], layout.leaves, own, opened.own_footer
            found = decode_columns(opened.source, parquet.metadata, *given, **forms)
            decoded = frozenset(found)
            left = [name for name in layout.names if name not in found]
            if left:
                columns = layout.paths_of(left)
                rest = parquet.read_row_groups([group], columns=columns, use_threads=self._threads)
                self._check_rows(len(rest), parquet.metadata.row_group(group).num_rows, opened.location)
                found |= {name: _rows_of(rest[name], own) for name in left}
        batch = pa.RecordBatch.from_arrays([found[name] for name in layout.names], names=list(layout.names))
        if may_be_julian(parquet.metadata):
            self._check_calendar(batch, opened.location)
        return self._batch(batch, layout, constants, rows, opened.location, decoded)

    def row_groups(self, file: pa.Table) -> RowGroups:
        """Return the row groups of one file to read; file: as for `live`."""
        with self.open(file) as opened:
            return self.row_groups_of(file, opened)

    def pieces(self, file: pa.Table, most_bytes: int) -> Iterator[tuple[int, RowGroups | None]]:
        """Yield sizes and row groups to read of one file, as many at a time as fit into `most_bytes`, but at least one.

        None for all at once, if the footer does not say how large they are.
        """
        with self.open(file) as opened:
            sizes = None if opened.own_footer is None else opened.own_footer.group_bytes()
            if sizes is None:
                yield file["size"][0].as_py(), None
                return
            found = self.row_groups_of(file, opened)
        yield from found.pieces(sizes, most_bytes)

    def row_groups_of(self, file: pa.Table, opened: OpenFile) -> RowGroups:
        """Return the row groups of a file that can contain matching rows; file: as for `live`."""
        footer = opened.parquet.metadata
        kept = None
        if self._pruning is not None:
            kept = self._pruning.kept(opened.source, footer, opened.location, lambda: opened.own_footer)
        groups = RowGroups.of(footer, kept)
        if self._pruning is not None and opened.own_footer is not None:
            rows = self._pruning.rows(opened.source, opened.own_footer, groups, opened.one_in)
            groups = groups if rows is None else groups.only(rows)
        elif self.most is not None:
            groups = groups.first(self.most + _deleted_rows(file))
        if self._counts is not None:
            self._counts.add(len(groups.numbers), footer.num_row_groups - len(groups.numbers))
        return groups

    def _batches(
        self, file: pa.Table, groups: RowGroups | None, opened: OpenFile | None = None
    ) -> Iterator[StoredBatch]:
        """The rows of one file, or of some row groups of it."""
        footer = None if groups is None else groups.footer
        with self.open(file, footer) if opened is None else nullcontext(opened) as there:
            chosen = groups or self.row_groups_of(file, there)
            if chosen.rows is not None:
                yield from self.at(file, chosen, chosen.rows, there)
            else:
                yield from self._read(there, self._constants(file), chosen)

    def _constants(self, file: pa.Table) -> dict[str, pa.Array]:
        """The partition values of files."""
        if not self._partitions:
            return {}
        partition = one_chunk(file["partition_values"])
        return {
            field.name: one_chunk(pc.struct_field(partition, [field.name]))
            for field in self._fields
            if field.name in self._partitions
        }

    @contextmanager
    def open(self, file: pa.Table, footer: pq.FileMetaData | None = None) -> Iterator[OpenFile]:
        """Open one file. Raises DataFileMissing and StorageError.

        Args:
            file: As for `live`.
            footer: Its footer, if that is known.
        """
        location = hadoop_path(self.table_root, file["uri"][0].as_py())
        size = file["size"][0].as_py() if "size" in file.column_names else None
        with self._naming(location):
            source = storage_for(location, near=self.storage).open_input(location, size)
        with source:
            with self._naming(location):
                # Reading ahead pays where requests have high latency; elsewhere it only costs a copy.
                far = {"pre_buffer": isinstance(source, pa.PythonFile)}
                parquet = ParquetInput(source, footer, **far)
                opened = OpenFile(source, location, parquet, parquet.schema_arrow)
            yield opened

    @contextmanager
    def _naming(self, location: str) -> Iterator[None]:
        """Errors within the block name the file."""
        try:
            yield
        except FileNotFoundError as error:
            raise errors.DataFileMissing.of(f"Version {self._version}", self._root, location) from error
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, errors.DeltaSkipError):
                raise
            raise errors.StorageError(
                f"The data file {location} of version {self._version} cannot be read: {first_line(error)}; restore it."
            ) from error

    def _read(self, opened: OpenFile, constants: Mapping[str, pa.Array], groups: RowGroups) -> Iterator[StoredBatch]:
        parquet, location = opened.parquet, opened.location
        layout = self._layout_of(opened.schema, opened.location)
        legacy = may_be_julian(parquet.metadata)
        for start, rows, numbers in groups.runs():
            if not layout.names:
                for first in range(start, start + rows, _BATCH_ROWS):
                    following = range(first, min(first + _BATCH_ROWS, start + rows))
                    yield self._batch(None, layout, constants, following, location, ())
                continue
            end = start + rows
            with self._naming(location):
                for batch, decoded in self._record_batches(opened, numbers, layout, rows):
                    if legacy:
                        self._check_calendar(batch, location)
                    following = range(start, start + batch.num_rows)
                    yield self._batch(batch, layout, constants, following, location, decoded)
                    start += batch.num_rows
                self._check_rows(start, end, location)

    def _record_batches(
        self, opened: OpenFile, numbers: list[int], layout: FileLayout, rows: int
    ) -> Iterator[tuple[pa.RecordBatch, Collection[str]]]:
        """The rows of consecutive row groups, and the columns that the kernels decoded: at once if they are small."""
        parquet = opened.parquet
        encoded = self._encoded_in(opened, layout, numbers) if self._encoded else []
        threads = self._threads and _bytes_in(parquet.metadata, numbers) > _LITTLE_BYTES
        forms: dict[str, Any] = {"threads": threads, "encoded": encoded, "views": self._views_in(layout)}
        found: dict[str, pa.Array | pa.ChunkedArray] = {}
        decoded: Collection[str] = ()
        done = 0
        at_once = self._is_small(parquet.metadata, numbers, layout)
        if at_once and opened.own_footer is not None:
            whole = opened.schema, numbers, layout.leaves, None, opened.own_footer
            nested = self._nested_in(opened, layout)
            found |= decode_columns(opened.source, parquet.metadata, *whole, **forms, nested=nested)
            decoded = frozenset(found)
        elif opened.own_footer is not None and len(layout.leaves) == len(layout.names):
            decoded = frozenset(layout.names)
            # Requests of remote files have high latency.
            part_bytes = _AT_ONCE_BYTES if isinstance(opened.source, pa.PythonFile) else _PART_BYTES
            for number in numbers:
                group = parquet.metadata.row_group(number)
                most = group.num_rows * part_bytes // max(1, group.total_byte_size)
                most = max(1, min(most, _AT_ONCE_VALUES // len(decoded)))
                given = opened.schema, number, layout.leaves, opened.own_footer, most
                before = done
                for part in decode_parts(opened.source, parquet.metadata, *given, **forms):
                    done += len(part)
                    yield from ((batch, decoded) for batch in part.select(list(layout.names)).to_batches())
                if done - before < group.num_rows:
                    break
            if done == rows:
                return
        left = [name for name in layout.names if name not in found]
        if not set(encoded).isdisjoint(left):
            parquet = ParquetInput(opened.source, parquet.metadata, read_dictionary=encoded)
        # Strings that the kernels leave may be long ones of a dictionary, for many rows.
        long = rows > _BATCH_ROWS and any(_has_any_length(opened.schema.field(name).type) for name in left)
        if long or not at_once:
            most = _LONG_BATCH_ROWS if long and at_once else _BATCH_ROWS
            for batch in parquet.iter_batches(most, numbers, columns=layout.paths):
                passed = min(done, len(batch))
                done -= passed
                if passed < len(batch):
                    yield batch.slice(passed), ()
            return
        if left:
            rest = parquet.read_row_groups(numbers, columns=layout.paths_of(left), use_threads=threads)
            self._check_rows(len(rest), rows, opened.location)
            found |= {name: rest[name] for name in left}
        table = pa.table([found[name] for name in layout.names], list(layout.names))
        yield from ((batch, decoded) for batch in table.to_batches())

    def _is_small(self, footer: pq.FileMetaData, numbers: Sequence[int], layout: FileLayout) -> bool:
        """Whether row groups are decoded at once."""
        return _bytes_in(footer, numbers) <= _AT_ONCE_BYTES and _values_in(footer, numbers, layout) <= _AT_ONCE_VALUES

    def _nested_in(self, opened: OpenFile, layout: FileLayout) -> Mapping[str, Collection[str]]:
        """The nested columns that the kernels may decode, with the paths to read of each."""
        return {} if layout.paths is None or opened.parquet.has_foreign_types else layout.nested

    def _few_nested_in(self, opened: OpenFile, layout: FileLayout, group: int) -> Mapping[str, Collection[str]]:
        """The nested columns of which the kernels may decode a few rows: of a large row group, by their pages."""
        indexed = opened.own_footer is not None and opened.own_footer.has_page_locations(group)
        few = indexed or self._is_small(opened.parquet.metadata, [group], layout)
        return self._nested_in(opened, layout) if few else {}

    def _encoded_in(self, opened: OpenFile, layout: FileLayout, numbers: Sequence[int]) -> list[str]:
        """The columns, by their names in a file, that row groups have as dictionaries."""
        footer = opened.parquet.metadata
        names = [name for column, name in layout.found.items() if column in self._encoded and name in layout.leaves]
        return [
            name
            for name in names
            if name is not None
            and opened.schema.field(name).type == pa.string()
            and all(is_dictionary(footer.row_group(number).column(layout.leaves[name])) for number in numbers)
        ]

    def _views_in(self, layout: FileLayout) -> Collection[str]:
        """The columns, by their names in a file, whose strings may be views."""
        return [
            name
            for column, name in layout.found.items()
            if column in self._views
            and name is not None
            and (name in layout.leaves or layout.schema.field(name).type == self._stored_types[column])
        ]

    def _check_rows(self, found: int, expected: int, location: str) -> None:
        """Raise StorageError if the number of rows in pages differs from the footer: rows would be paired wrongly."""
        if found != expected:
            raise errors.StorageError(
                f"The data file {location} cannot be read: its pages do not have the {expected} rows that its footer "
                f"says; restore the file."
            )

    def _layout_of(self, schema: pa.Schema, location: str) -> FileLayout:
        """The layout of a file with this schema. The last one is cached, since most files have the same schema."""
        known = self._layout
        if known is not None and (known.schema is schema or known.schema.equals(schema, check_metadata=True)):
            return known
        there = frozenset(schema.names)
        if len(there) < len(schema.names):
            twice = next(name for name in schema.names if schema.names.count(name) > 1)
            raise errors.StorageError(f"The data file {location} has several columns {twice!r}: restore the file.")
        named = NamedColumns(schema, self._mode)
        # PROTOCOL, Partition Value Serialization: the values of the log win over a column in the file.
        found = {
            field.name: named.of(field)
            for field in self._fields
            if field.name not in self._partitions and field.type != t.VOID
        }
        self._check_types(schema, found, location)
        names = [name for name in found.values() if name is not None]
        names += [field.name for field in self._extra if field.name in there]
        # A name with a dot could also be a path.
        wanted = frozenset(names)
        leaves = {name: leaf for name, leaf in leaf_numbers(schema).items() if name in wanted and "." not in name}
        fields = {found.get(field.name): field for field in self._fields}
        parts = {
            name: parts_of(schema.field(name), field.type, self._mode)
            for name, field in fields.items()
            if name in wanted
        }
        layout = self._layout = FileLayout(schema, found, names, leaves, parts)
        return layout

    def _check_types(self, schema: pa.Schema, found: Mapping[str, str | None], location: str) -> None:
        """Raise StorageError if a column of a file cannot be read as the table's type."""
        for field in self._fields:
            name = found.get(field.name)
            kind = None if name is None else schema.field(name).type
            if kind is None or (kind == self._stored_types[field.name] and not pa.types.is_nested(kind)):
                continue
            if is_readable_as(with_names_of(kind, field.type, self._mode), field.type):
                continue
            raise errors.StorageError(
                f"The data file {location} has values of the Arrow type {kind} in the column "
                f"{field.name!r}, which is {sql_name(field.type)} in the table {self._root}: restore the file."
            )

    def _batch(
        self,
        batch: pa.RecordBatch | None,
        layout: FileLayout,
        constants: Mapping[str, pa.Array],
        positions: npt.NDArray[Any] | range,
        location: str,
        decoded: Collection[str],
    ) -> StoredBatch:
        """Rows of files in the table's types.

        constants: Partition values, one for all rows or one for each.
        decoded: The columns that the kernels have decoded, which check that strings are UTF-8.
        """
        rows = len(positions)
        columns: dict[str, pa.Array] = {}
        for field in self._fields:
            name = layout.found.get(field.name)
            if field.name in constants:
                values = constants[field.name]
                columns[field.name] = values if len(values) == rows != 1 else self._repeated(field.name, values, rows)
            elif batch is None or name is None:
                columns[field.name] = pa.nulls(rows, self._stored_types[field.name])
            else:
                columns[field.name] = self._stored(batch.column(name), field, location, name in decoded)
        for field in self._extra:
            if batch is not None and field.name in layout.names:
                columns[field.name] = batch.column(field.name)
            else:
                columns[field.name] = pa.nulls(rows, stored_type(field.type))
        return StoredBatch(positions, columns)

    def _repeated(self, name: str, value: pa.Array, rows: int) -> pa.Array:
        """The value of a constant for so many rows; batches of a file share the memory."""
        known = self._last.get(name)
        if known is None or len(known[1]) < rows or known[0] is not value:
            known = self._last[name] = value, pa.repeat(value[0], rows)
        return known[1].slice(0, rows)

    def _stored(self, array: pa.Array, field: t.StructField, location: str, decoded: bool) -> pa.Array:
        if not decoded and not has_utf8(array):
            raise errors.UnsupportedFeature(
                f"The data file {location} has a value in the column {field.name!r} that is not UTF-8, which cannot be "
                f"read without Spark. {self._cure}",
                needs_session=True,
            ).advising(self._cure)
        if not pa.types.is_nested(array.type) and array.type == self._stored_types[field.name]:
            return array
        if field.name in self._encoded and array.type == DICTIONARY:
            return array
        if decoded and field.name in self._views and t.without_views(array.type) == self._stored_types[field.name]:
            return array
        kind = in_files(array.type)
        array = array if kind == array.type else array.view(kind)
        renamed = with_names_of(array.type, field.type, self._mode)
        array = array if renamed == array.type else array.view(renamed)
        try:
            array = unshredded(array, field.type)
        except ShreddingError as error:
            raise errors.StorageError(
                f"The data file {location} has a shredded variant that is invalid in the column {field.name!r}: "
                f"{error}; restore the file."
            ) from error
        try:
            given = plain_array(array, incoming_type(t.storage_type(array.type), field), (field.name,), self._root)
            return store_array(given, self._types[field.name], (field.name,), self._target)
        except errors.RowViolation as error:
            raise errors.StorageError(
                f"The data file {location} has a value in the column {field.name!r} that is not one of its type, "
                f"{sql_name(field.type)}, in version {self._version} of the table {self._root}: "
                f"restore the file, or if the type has become narrower, read the versions before that separately."
            ) from error

    def _check_calendar(self, batch: pa.RecordBatch, location: str) -> None:
        if any(has_older(column) for column in batch.columns):
            raise errors.UnsupportedFeature(
                f"The data file {location} has dates of the Julian calendar, which cannot be read without Spark. "
                f"{self._cure}",
                needs_session=True,
            ).advising(self._cure)


def _joined(arrays: Sequence[pa.Array]) -> pa.Array:
    """The arrays of one column as one. Some files may have dictionaries and others plain strings."""
    if any(each.type != arrays[0].type for each in arrays):
        arrays = [without_dictionary(each) for each in arrays]
    return pa.concat_arrays(arrays)


def listed_twice(table: str, location: str) -> errors.CorruptLog:
    """Return the error for a data file that the log lists twice."""
    return errors.CorruptLog(f"The log of {table} lists {location} twice, which would duplicate its rows.")


def without_dictionary(array: pa.Array) -> pa.Array:
    """Return the values of an array that may be a dictionary."""
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def as_dictionary(array: pa.Array) -> pa.Array:
    """Return the strings of an array, which may be a dictionary already, as one."""
    return array if array.type == DICTIONARY else array.dictionary_encode()


def _deleted_rows(file: pa.Table) -> int:
    """The number of rows of a file that its deletion vector marks."""
    vector = file["deletion_vector"][0]
    return int(vector["cardinality"].as_py()) if vector.is_valid else 0


def _bytes_in(footer: pq.FileMetaData, numbers: Sequence[int]) -> int:
    """Uncompressed bytes of row groups."""
    return int(sum(footer.row_group(number).total_byte_size for number in numbers))


def _values_in(footer: pq.FileMetaData, numbers: Sequence[int], layout: FileLayout) -> int:
    """The number of values to read in row groups, of every column if one of those to read is nested."""
    groups = map(footer.row_group, numbers)
    if len(layout.leaves) == len(layout.names):
        return int(sum(group.num_rows for group in groups)) * len(layout.names)
    found: int = sum(group.column(leaf).num_values for group in groups for leaf in range(footer.num_columns))
    return found


def _has_any_length(kind: pa.DataType) -> bool:
    """Whether values are strings or binary."""
    kinds = pa.types
    return any(is_kind(kind) for is_kind in (kinds.is_string, kinds.is_binary, kinds.is_large_string))


def is_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Return whether the strings of a column chunk are a dictionary, as far as its size shows."""
    return bool(chunk.has_dictionary_page and chunk.total_uncompressed_size < _LENGTH_BYTES * chunk.num_values)


def _rows_of(column: pa.ChunkedArray, rows: npt.NDArray[Any] | range) -> pa.Array:
    kind = t.without_views(column.type)
    column = column if kind == column.type else column.cast(kind)
    if isinstance(rows, range):
        return one_chunk(column.slice(rows.start, len(rows)))
    return one_chunk(column.take(arrow_array(rows, pa.int64())))
