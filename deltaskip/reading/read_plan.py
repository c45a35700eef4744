"""The plan of a read by a query engine: which files, rows and columns it reads, and by which scans."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace

import pyarrow as pa

from deltaskip.actions.paths import is_local_path, spark_path
from deltaskip.engine import ListedScan
from deltaskip.errors import InvalidArgument
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.log import Snapshot
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.path_bytes import encoded
from deltaskip.reading.estimates import Estimates, estimated
from deltaskip.reading.file_scans import FileScan, JoinedScan, UnlistedScan, scans_of
from deltaskip.reading.marked_rows import MarkedRows
from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.reading.session_scan import Listing, SessionFacts, read_by
from deltaskip.reading.stored_rows import listed_twice
from deltaskip.records import dataclass
from deltaskip.schema.mapping import physical_schema
from deltaskip.settings import options
from deltaskip.sparkexpr import SortTerm
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.values.arrow_values import arrow_array, one_chunk

METADATA = "_metadata"
"""Name of the column with the location and ids of a row, as Spark and Delta name their hidden column."""

FILE_FACTS: dict[str, t.DataType] = {
    "file_name": t.STRING,
    "file_size": t.LONG,
    "file_block_start": t.LONG,
    "file_block_length": t.LONG,
    "file_modification_time": t.TIMESTAMP,
}
"""Fields of Spark's `_metadata` beside file_path and row_index, with their types.

# Spark 4.1, FileFormat.BASE_METADATA_FIELDS
"""

_PATH = "__deltaskip_file_path"
_POSITION = "__deltaskip_row_index"
BASE_ROW_ID = "__deltaskip_base_row_id"
DEFAULT_COMMIT_VERSION = "__deltaskip_default_version"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The facts of a table that a read of its files needs.

    Attributes:
        root: URI of the table.
        schema: The columns to read.
        mapping_mode: The column mapping mode of the files.
        partition_columns: Names of the partition columns in `schema`.
        storage_options: Options of the table's object store, which name the account of an Azure container.
        has_shapes: Whether files may have a column of shapes, also one that is not read.
    """

    root: str
    schema: t.StructType
    mapping_mode: t.MappingMode
    partition_columns: Sequence[str]
    storage_options: Mapping[str, str] | None = None
    has_shapes: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot, schema: t.StructType) -> StoredTable:
        """Return the StoredTable of a snapshot, restricted to the columns of `schema`."""
        names = frozenset(schema.names)
        partitions = tuple(name for name in snapshot.partition_columns if name in names)
        options = getattr(snapshot.storage, "options", None)
        shapes = any(isinstance(each, t.GEOSPATIAL) for each in t.nested_types(snapshot.schema))
        return cls(snapshot.table_root, schema, snapshot.mapping_mode, partitions, options, shapes)


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows of files to read, and the columns to return beside those of the table.

    Attributes:
        positions: For each file the positions of rows, ascending; None for every row, also for a single file.
        only: Whether to read the rows at these positions, instead of all others.
        position: Name of a column with the position of a row in its file; None for none.
        path: Name of a column with the path of the file, as Spark writes it; None for none.
        facts: Whether to return the columns FILE_FACTS.
        values: Columns with one value for each file, by name.
        own: Columns that files have under these names, whatever the column mapping mode. A column that the table also
            has is not returned twice; if it is a partition column, it fills in rows whose file has no value.
    """

    positions: Sequence[pa.Int64Array | None] | None = None
    only: bool = False
    position: str | None = None
    path: str | None = None
    facts: bool = False
    values: Mapping[str, pa.Array] = field(default_factory=dict)
    own: Sequence[t.StructField] = ()


ALL_STORED_ROWS = WantedRows()
"""Every row, in the columns of the table."""


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The files of a table that an engine reads, and the rows and columns that it returns.

    Attributes:
        table: The table. The rows have the columns of its schema, then those of `wanted`.
        stored_schema: The columns of the table under their physical names, in the same order.
        data: The columns to read from the files, under physical names, without the columns of `wanted`.
        partitions: Partition values of the files.
        paths: The spark_path of each file.
        sizes: Bytes of each file; None if they are not known.
        times: Milliseconds since the epoch at which each file was written; None if the engine lists the files.
        listing: The source of the sizes and times of the files.
        wanted: The rows of the files, and the columns beside those of the table.
        scans: The scans that read them.
        metadata: Fields of the column `_metadata`, by name the SQL text of each over the columns of the rows; none for
            no such column.
        where: The predicate of the rows as the caller wrote it; None for every row.
        columns: Top-level columns to return, in their order; None for all.
        limit: The most rows to return; None for no limit.
        order: The order whose first rows are returned; empty for any rows.
        estimates: Estimates of the rows for the engine's optimizer; None if it uses none, or the log has none.
    """

    table: StoredTable
    stored_schema: t.StructType
    data: t.StructType
    partitions: PartitionTuples
    paths: Sequence[str]
    sizes: Sequence[int] | None
    times: Sequence[int] | None
    listing: Listing
    wanted: WantedRows
    scans: tuple[FileScan, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    where: object = None
    columns: Sequence[str] | None = None
    limit: int | None = None
    order: Sequence[SortTerm] = ()
    estimates: Estimates | None = None

    @classmethod
    def of(
        cls,
        table: StoredTable,
        files: pa.Table,
        wanted: WantedRows = ALL_STORED_ROWS,
        listing: Listing = "engine",
        repeated: bool = False,
    ) -> ReadPlan:
        """Return the plan of a read of files, in the columns of the table.

        Args:
            table: The table.
            files: Rows of Scan.files(), with uri and partition_values, and for the listing "log" size and
                modification_time.
            wanted: The rows of the files.
            listing: The source of the sizes and times of the files.
            repeated: Whether a file may be listed more than once.

        Raises CorruptLog if a file is listed twice.
        """
        paths = [spark_path(uri) for uri in files["uri"].to_pylist()]
        if not repeated and len(set(paths)) != len(paths):
            raise listed_twice(table.root, Counter(paths).most_common(1)[0][0])
        stored = physical_schema(table.schema, table.mapping_mode)
        partitions = PartitionTuples.of(files, table.schema, table.partition_columns)
        sizes = files["size"].to_pylist() if "size" in files.column_names else None
        times = epoch_milliseconds(files["modification_time"]) if listing == "log" else None
        if listing == "here" and len(paths) >= options.listed_files:
            sizes, times = _listed_here(paths) or (sizes, None)
        data = data_columns(table.schema, stored, {*table.partition_columns, *(each.name for each in wanted.own)})
        plan = cls(table, stored, data, partitions, paths, sizes, times, listing, wanted)
        return replace(plan, scans=plan._scans()) if paths else plan

    def _scans(self) -> tuple[FileScan, ...]:
        """The scans that read the wanted rows."""
        rows = range(len(self.paths))
        if self.wanted.values or self.wanted.only:
            return (self.joined(rows),)
        marks = [each is not None and len(each) > 0 for each in self.wanted.positions or [None] * len(rows)]
        whole, cut = ([row for row in rows if marks[row] == is_cut] for is_cut in (False, True))
        scans = [
            self.unlisted(each.rows) or each if isinstance(each, JoinedScan) else each
            for each in self._scans_of_whole(whole)
        ]
        return (*scans, *([self.joined(cut)] if cut else []))

    def _scans_of_whole(self, rows: Sequence[int]) -> Sequence[FileScan]:
        codes = {int(self.partitions.codes[row]) for row in rows}
        if self.times is not None and len(codes) > 1:
            # Directory names give partition values only if the engine lists the directories.
            return [JoinedScan(tuple(rows))]
        scans = scans_of(self.paths, rows, self.partitions, self.table.mapping_mode, self.sizes)
        # Spark leaves out no partitions of a union while a query runs: # Spark 4.1, PartitionPruning
        listed = self.unlisted(rows) if len(scans) > 1 else None
        return scans if listed is None else [listed]

    def joined(self, rows: Sequence[int]) -> JoinedScan:
        """Return the scan that joins files, given by their indexes, with all of their values and positions."""
        positions = self.wanted.positions
        if positions is None or not any(positions[row] is not None for row in rows):
            return JoinedScan(tuple(rows))
        nothing = arrow_array([], pa.int64())
        found = [positions[row] for row in rows]
        marked = MarkedRows.of([nothing if each is None else each for each in found])
        return JoinedScan(tuple(rows), marked, self.wanted.only)

    def unlisted(self, rows: Sequence[int]) -> UnlistedScan | None:
        """Return the scan of files, given by their indexes, without listing; None if the engine has to list them."""
        if self.times is not None and self.sizes is not None:
            return UnlistedScan(tuple(rows), [self.sizes[row] for row in rows], [self.times[row] for row in rows])
        found = _listed_here([self.paths[row] for row in rows]) if self.listing == "here" else None
        return None if found is None else UnlistedScan(tuple(rows), *found)


def scan_plan(scan: ListedScan, session: SessionFacts, metadata: bool = False, filtered: bool = True) -> ReadPlan:
    """Return the plan of the rows that match a scan, with its columns and its limit. Reads deletion vectors.

    Args:
        scan: The scan. It is planned again as the session evaluates its predicate.
        session: The facts of the session that reads.
        metadata: Whether to add the column `_metadata`.
        filtered: If False, all rows of the files that the scan keeps are read.

    Raises:
        InvalidArgument: `metadata` is true, and the table has a column named `_metadata`.
        CorruptLog: A file is listed twice.
        DeltaSkipError: As `read_by`, `Scan.files` and `read_deleted_rows`.
    """
    table = StoredTable.of(scan.snapshot, _read_schema(scan, session.unreadable))
    scan = read_by(scan, session)
    snapshot, files = scan.snapshot, scan.files()
    wanted, members = WantedRows(deleted_rows(snapshot, files)), dict[str, str]()
    if metadata:
        wanted, members = _with_metadata(snapshot, files, wanted)
    plan = ReadPlan.of(table, files, wanted, session.listing)
    where = scan.where if filtered else None
    plan = replace(plan, metadata=members, where=where, columns=scan.columns, limit=scan.limit, order=scan.order)
    return plan if not session.estimates else replace(plan, estimates=estimated(scan.compiled))


def own_metadata(schema: t.StructType) -> str | None:
    """Return the name of a table's own column `_metadata`; None if it has none."""
    return next((field.name for field in schema.fields if field.name.lower() == METADATA), None)


def metadata_fields(snapshot: Snapshot) -> tuple[t.StructField, ...]:
    """Return the fields of the column `_metadata` of a table; none if it has a column of this name."""
    if own_metadata(snapshot.schema) is not None:
        return ()
    types = {"file_path": t.STRING, "row_index": t.LONG, **FILE_FACTS}
    tracked = row_id_columns(snapshot.table_properties) is not None
    return (
        *(t.StructField(name, kind, nullable=False) for name, kind in types.items()),
        *(t.StructField(name, t.LONG) for name in ("row_id", "row_commit_version") if tracked),
    )


def deleted_rows(snapshot: Snapshot, files: pa.Table) -> list[pa.Int64Array | None] | None:
    """Return the positions of the deleted rows of each file, ascending; None if no file has a deletion vector."""
    vectors = one_chunk(files["deletion_vector"])
    if vectors.null_count == len(vectors):
        return None
    return read_deleted_rows(snapshot.storage, snapshot.table_root, files)


def row_id_values(files: pa.Table) -> dict[str, pa.Array]:
    """Return the columns of a file list that determine ids and commit versions of rows."""
    return {
        BASE_ROW_ID: one_chunk(files["base_row_id"]),
        DEFAULT_COMMIT_VERSION: one_chunk(files["default_row_commit_version"]),
    }


def epoch_milliseconds(times: pa.ChunkedArray) -> list[int]:
    """Return timestamps as milliseconds since the epoch."""
    found: list[int] = times.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_pylist()
    return found


def data_columns(schema: t.StructType, stored: t.StructType, left_out: Collection[str]) -> t.StructType:
    """Return the columns of a table to read from files, under physical names.

    Files may contain the partition columns as well (materializePartitionColumns); those columns are not read, since the
    log's value takes precedence. Files do not contain columns of type VOID.

    Args:
        schema: The columns of the table.
        stored: The same columns under their physical names.
        left_out: Names of columns that are not read, such as the partition columns.
    """
    fields = zip(schema.fields, stored.fields, strict=True)
    return t.StructType(tuple(its for field, its in fields if field.name not in left_out and field.type != t.VOID))


def _read_schema(scan: ListedScan, unreadable: Collection[str]) -> t.StructType:
    """The columns that a scan reads, without those of types that the session lacks if the scan does not need them."""
    schema, predicate = scan.snapshot.schema, scan.predicate
    if scan.columns is None or not unreadable or (scan.where is not None and not columns_of(predicate)):
        # A predicate that deltaskip cannot parse may use any column.
        return schema
    paths = [*columns_of(predicate), *([name] for name in scan.columns)]
    asked = {t.fold_name(part) for path in paths for part in path}
    return t.StructType(tuple(f for f in schema.fields if t.fold_name(f.name) in asked or f.name not in unreadable))


def fact_column(name: str) -> str:
    """The column of one of FILE_FACTS."""
    return f"__deltaskip_{name}"


def _with_metadata(snapshot: Snapshot, files: pa.Table, wanted: WantedRows) -> tuple[WantedRows, dict[str, str]]:
    """The rows with the columns that `_metadata` needs, and the SQL text of each of its fields, by name.

    Raises InvalidArgument if the table has a column of this name.
    """
    taken = own_metadata(snapshot.schema)
    if taken is not None:
        raise InvalidArgument(
            f"metadata=True adds the column {METADATA}, but version {snapshot.version} of {snapshot.root} has the "
            f"column {taken!r}: rename it, or read the table without metadata."
        )
    wanted = replace(wanted, position=_POSITION, path=_PATH, facts=True)
    members = {"file_path": _PATH, "row_index": _POSITION, **{name: fact_column(name) for name in FILE_FACTS}}
    ids = row_id_columns(snapshot.table_properties)
    if ids is None:
        return wanted, members
    members["row_id"] = ids.row_id_sql(BASE_ROW_ID, _POSITION)
    members["row_commit_version"] = ids.commit_version_sql(DEFAULT_COMMIT_VERSION)
    return replace(wanted, values=row_id_values(files), own=ids.fields), members


def _listed_here(paths: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Sizes in bytes and times in milliseconds of local files, for which Spark needs fifty microseconds each.

    None if the engine has to list the files: some are remote or missing.
    """
    if not all(map(is_local_path, paths)):
        return None
    try:
        found = [os.stat(encoded(path.removeprefix("file:"))) for path in paths]
    except OSError:
        return None
    if not all(stat.S_ISREG(each.st_mode) for each in found):
        return None
    return [each.st_size for each in found], [each.st_mtime_ns // 1_000_000 for each in found]
