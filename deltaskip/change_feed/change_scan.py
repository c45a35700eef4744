"""ChangeScan: the changes of a range of versions, and the files with changes that match a predicate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import DELETION_VECTOR, FILE_SCHEMA, Metadata, canonical_paths, dv_ids
from deltaskip.change_feed.feed_files import FeedFiles, FileGroup, feed_files, files_of_state, joined, taken
from deltaskip.change_feed.states import (
    EVERY_CHANGE,
    ComparedVersions,
    WantedChanges,
    check_removed_rows,
    check_states,
    state_at,
)
from deltaskip.change_feed.version_range import VersionRange
from deltaskip.dml.positions import RowPositions
from deltaskip.doors import door
from deltaskip.engine import engine, is_column
from deltaskip.errors import CorruptLog, DeltaSkipError, SchemaError, UnsupportedFeature, VersionNotFound
from deltaskip.features.change_data_feed import FEED_FIELDS, FEED_NAMES
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.checkpoint.metadata_tree import require_logged_files
from deltaskip.log.commit import CHANGE_FILE, commit_infos, read_commits
from deltaskip.log.commit_times import CommitTimes
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.log.loading import list_log
from deltaskip.log.one_table import of_one_table
from deltaskip.log.reopening import Reopened, SnapshotReference
from deltaskip.predicates import expression_node, given_predicate
from deltaskip.reading.scan_frames import ScanFrames
from deltaskip.records import dataclass
from deltaskip.shown import html_table
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.add_columns import CommitAdds
from deltaskip.skipping.explain.report import Explain
from deltaskip.skipping.file_list import batch_files
from deltaskip.skipping.log_scan import chosen_by
from deltaskip.skipping.read_options import ALL_ROWS, ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import ColumnExpr
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import And, Node, columns_of
from deltaskip.sparkexpr.types import StructType, schema_to_json
from deltaskip.sparkexpr.values import arrow_values

if TYPE_CHECKING:
    from deltaskip.change_feed.feed_files import ComparedFiles
    from deltaskip.change_feed.row_changes import Rows, Values
    from deltaskip.reading.read_ahead import Reads

_LISTED = ("path", "uri", "size", "partition_values")
_VECTORS_AT_ONCE = 64
_BATCH_ROWS = 1 << 16
_COPIED = ("stats", "tags", "deletion_vector")

Matches: TypeAlias = Callable[[FileGroup], Iterable[np.ndarray[Any, Any]]]
"""Finds for each file of a group whether each of its rows at the positions matches a predicate."""


class ChangeFeedEngine(Protocol):
    """An engine that reads changes."""

    def changes_to_dataframe(self, session: Any, scan: ChangeScan) -> Any:
        """Return a DataFrame of the changes that match a scan."""


@door
@of_one_table
class ChangeScan(ScanFrames, Reopened):
    """The rows that a range of versions inserted, deleted and updated, and the files that contain them.

    Made by `DeltaTable.changes`. Rows have the columns of `to_spark`. Versions whose rows are compared are compared one
    after the other; of each, the ids of the rows in its files are in memory. With net changes, the changes of all
    versions are.

    Args:
        versions: The range.
        options: The changes to read. The predicate may use the columns of the feed; `columns` are columns of the
            table, and there is no limit.
        wanted: Which changes are read, and where they come from.
    """

    limit: int | None = None
    _shown: tuple[str, ...] | None = None

    def __init__(
        self, versions: VersionRange, options: ReadOptions = ALL_ROWS, wanted: WantedChanges = EVERY_CHANGE
    ) -> None:
        self._versions, self._wanted = versions, wanted
        base = versions.snapshot
        metadata = _feed_metadata(base)
        found = _read(versions, wanted) if versions.commits else (None, {}, ComparedVersions())
        changes, self._times, self._compared = found
        if changes is not None and _reads_statistics(options.where, options.params, base):
            changes = _with_older_statistics(changes, base, versions.start + wanted.snapshot_first)
        self._changes = changes or _nothing()
        snapshot = Snapshot.of_files(base, metadata, self._changes.adds)
        self._scan = Scan(snapshot, options)
        self._hidden = options.hidden

    def _pickled(self) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
        options = replace(chosen_by(self._scan), hidden=self._hidden)
        reference = SnapshotReference.of(self._versions.snapshot)
        return _restored, (reference, (self.start, self.end), options, self._wanted, self._shown, self.limit)

    @property
    def start(self) -> int:
        """The first version of the range."""
        return self._versions.start

    @property
    def end(self) -> int:
        """The last version of the range; `start - 1` if there is none."""
        return self._versions.end

    @property
    def snapshot(self) -> Snapshot:
        """The files as a snapshot with the table's columns at the last version and the columns of the feed."""
        return self._scan.snapshot

    @property
    def where(self) -> object:
        """The predicate as the caller wrote it; None for every row."""
        return self._scan.where

    @property
    def given(self) -> object:
        """See `LogScan.given`."""
        return self._scan.given

    @property
    def columns(self) -> Sequence[str] | None:
        """The columns to read, with the columns of the feed last; None for all."""
        if self._shown is not None:
            return self._shown
        chosen = self._scan.columns
        return None if chosen is None else (*chosen, *(name for name in FEED_NAMES if name not in chosen))

    @property
    def paths_by_name(self) -> Mapping[str, tuple[str, ...]]:
        """The path of each column that the rows have."""
        names = self.snapshot.schema.names if self.columns is None else self.columns
        return {name: (name,) for name in dict.fromkeys(names)}

    @property
    def predicate(self) -> Node:
        """The bound predicate; a TRUE literal if there is none."""
        return self._scan.predicate

    @property
    def time_zone(self) -> str | None:
        """The time zone that the files were pruned in."""
        return self._scan.time_zone

    @property
    def collation_version(self) -> str:
        """The version of the collations that the files were pruned by."""
        return self._scan.collation_version

    def replanned(self, meaning: SessionMeaning, collation_version: str) -> Self:
        """Return the scan in another time zone, version of the collations, or mode; see `Scan.replanned`."""
        scan = self._scan.replanned(meaning, collation_version)
        if scan is self._scan:
            return self
        return self._copied(scan)

    def _copied(self, scan: Scan) -> Self:
        found = copy(self)
        for name in ("_found", "_chosen_rows"):
            found.__dict__.pop(name, None)
        found._scan = scan
        return found

    def narrowed(self, names: Sequence[str] | None, predicate: Node | None, limit: int | None = None) -> Self:
        """Return a scan of some of the columns, and of the changes whose rows also match another predicate.

        If the scan has a predicate that one image of a change matches, and the other image may match the narrower
        predicate alone, then this one is not pushed down.

        Args:
            names: Columns of this scan; None for all.
            predicate: Not bound; None for every change.
            limit: The most rows; None for those of this scan.
        """
        found = self._copied(self._scan)
        if predicate is not None and self.filters_rows:
            given = self._scan._parsed
            where = ColumnExpr(predicate if given is None else And((given, predicate)))
            base, changes, options = self._versions.snapshot, self._changes, chosen_by(self._scan)
            if _reads_statistics(where, None, base) and not _reads_statistics(options.where, options.params, base):
                changes = _with_older_statistics(changes, base, self.start + self._wanted.snapshot_first)
            found = self._of(changes, replace(options, where=where, params=None))
            found._wanted = replace(self._wanted, images=False)
        found._shown = tuple(self.paths_by_name if names is None else names)
        found.limit = self.limit if limit is None else min(limit, self.limit or limit)
        return found

    @property
    def filters_rows(self) -> bool:
        """Whether `narrowed` leaves out every row that does not match."""
        return not (self._compared.every and self._wanted.images and self.where is not None)

    @property
    def tells_updates(self) -> bool:
        """Whether images of updates are told as such; otherwise as a delete and an insert."""
        return self._wanted.updates

    @property
    def narrower(self) -> str | None:
        """Which integer type became narrower in the range; its values are checked when this process reads them."""
        return self._compared.narrower

    def entries(self) -> tuple[pa.Int64Array, pa.StringArray, pa.Int64Array]:
        """Return the version, path and bytes of each file with changes, whether they match the predicate or not."""
        adds = self._changes.adds
        return self._changes.versions, *(arrow_values.one_chunk(adds[name]) for name in ("path", "size"))

    def _only(self, entries: pa.BooleanArray) -> Self:
        """Return the scan of some of the files. entries: whether to read each of `entries`."""
        changes = self._changes.take(np.flatnonzero(arrow_values.numpy_values(entries)))
        return self._of(changes, chosen_by(self._scan))

    def _of(self, changes: FeedFiles, options: ReadOptions) -> Self:
        base = self._versions.snapshot
        found = self._copied(Scan(Snapshot.of_files(base, _feed_metadata(base), changes.adds), options))
        found._changes = changes
        return found

    def _row_by_row(self, updates: bool = True) -> Self:
        """Return the scan of the changed rows that match the predicate, without other images of them.

        Args:
            updates: Whether images of updates are told as such; otherwise as a delete and an insert.
        """
        found = self._copied(self._scan)
        found._wanted = replace(self._wanted, images=False, updates=updates)
        return found

    def __repr__(self) -> str:
        where = "" if self.where is None else f", where={self.where!r}"
        return f"ChangeScan({self.snapshot.table_root!r}, start={self.start}, end={self.end}{where})"

    def _repr_html_(self) -> str:
        given = [("table", self.snapshot.table_root), ("start", str(self.start)), ("end", str(self.end))]
        return html_table([*given, *([] if self.where is None else [("where", str(self.where))])])

    def files(self) -> pa.Table:
        """Return the files that can contain matching changes, one row for each version and type of change.

        The columns are `version`, `timestamp` (of the commit), `change_type` ("insert" or "delete"; null for a change
        data file, whose rows have their types), `path` (decoded), `uri` (absolute, percent-encoded), `size` (bytes),
        `partition_values` (a struct, typed by the schema), `num_rows` (the number of changes; null if the log does not
        have it), `deletion_vector_before` and `deletion_vector_after` (structs, null for none). A file that the version
        removed and added again with another deletion vector has both: its changes are the rows that only the later one
        contains, or for "insert" only the earlier one.

        Raises:
            CorruptLog: A path, partition value or deletion vector cannot be read.
            DataFileMissing: The file of a deletion vector does not exist.
        """
        found, chosen = self._found, self._chosen_rows
        files = taken(found.counted(), found.some)
        if chosen.positions is None:
            return files
        counts = arrow_values.arrow_array(list(chosen.positions.counts), pa.int64())
        others = chosen.files.append_column("num_rows", counts).select(files.column_names)
        order = [("version", "ascending"), ("change_type", "ascending")]
        return pa.concat_tables([files, others]).sort_by(order).combine_chunks()

    def explain(self) -> Explain:
        """Return how many files each part of the predicate skips, and why a part skips none.

        A file counts once for each version and type of change.
        """
        return self._scan.explain()

    def to_spark(self, spark: Any) -> Any:
        """Return a Spark DataFrame of the changes that match the predicate, in no particular order.

        Its columns are the table's at the last version, then `_change_type` ("insert", "delete",
        "update_preimage" or "update_postimage"), `_commit_version` and `_commit_timestamp`.

        Args:
            spark: A SparkSession, classic or Connect.

        Raises:
            SparkUnavailable: PySpark is not installed.
            DataFileMissing: A file with changes does not exist, because it was vacuumed.
            UnsupportedFeature: This version of Spark cannot read the table.
        """
        asked = engine(f"Reading the changes of {self.snapshot.table_root} through Spark", ChangeFeedEngine)
        return asked.changes_to_dataframe(spark, self)

    def row_batches(self, finished: object = None, views: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows in batches. finished, views: See `TableScan`; there are no metrics."""
        from deltaskip.change_feed.change_rows import change_batches

        left, names = self.limit, list(self.paths_by_name)
        for batch in change_batches(self._scan, self._groups(), names, self._wanted.updates, views):
            yield batch if left is None else batch.slice(0, left)
            left = None if left is None else max(0, left - len(batch))
            if left == 0:
                return

    def note_metrics(self, metrics: object) -> None:
        """Take the metrics of a read, of which there are none."""

    def reads(self) -> Reads:
        """Return a reader of each file with changes. Raises UnsupportedFeature as `to_arrow` does."""
        from deltaskip.change_feed.change_rows import change_reads

        names = list(self.paths_by_name)
        return change_reads(self._scan, self.rows(), names, self._wanted.updates, together=False)

    def read_directly(self) -> tuple[FileGroup, FileGroup, FileGroup]:
        """Change data files, whole files, and some rows of files, all without a comparison of rows."""
        found = self._found
        return found.change_files, found.whole, found.partly

    def evaluates_here(self) -> bool:
        """Whether this process can evaluate the predicate for every row. Without ANSI mode it does not."""
        from deltaskip.change_feed.change_rows import matching_of

        try:
            matching_of(self._scan)
        except UnsupportedFeature:
            return False
        return self._scan.in_ansi

    def rows(self, matches: Matches | None = None) -> tuple[FileGroup, FileGroup, FileGroup, FileGroup]:
        """The files of `files()` by how they are read.

        Change data files, whole files, some rows of files, and rows that were found by comparison, which match.

        Args:
            matches: Finds the rows that match the predicate. The default is this process.
        """
        return *self.read_directly(), self._chosen_rows if matches is None else self._choose(matches)

    @cached_property
    def _found(self) -> _FilesByReading:
        """If one entry of a version that is read by comparison can have matching changes, the others are read, too."""
        batch = FileBatch(CommitAdds(self.snapshot))
        matching = self._scan.compiled.matching(batch)
        may = kept = np.full(batch.num_rows, matching is None)
        if matching is not None:
            may[arrow_values.numpy_values(matching)] = True
            versions, compared = arrow_values.numpy_values(self._changes.versions), list(self._compared.every)
            kept = may | (np.isin(versions, compared) & (self._wanted.net | np.isin(versions, versions[may])))
        rows = np.flatnonzero(kept)
        indices = None if len(rows) == len(kept) else arrow_values.arrow_array(rows, pa.int64())
        listed = batch_files(batch, indices, _LISTED, self._scan.time_zone)
        records = partial(batch.rows, ["num_records"], indices)
        changes = self._changes if indices is None else self._changes.take(rows)
        return _FilesByReading.of(self.snapshot, listed, changes, self._times, self._compared, may[rows], records)

    @cached_property
    def _chosen_rows(self) -> FileGroup:
        return self._choose(None)

    def _choose(self, matches: Matches | None) -> FileGroup:
        """The changed rows of versions that are read by comparison, where one of a row's images matches."""
        from deltaskip.change_feed.row_changes import Rows

        found = self._found
        if found.compared is None:
            return FileGroup(found.files.slice(0, 0), pa.nulls(0, DELETION_VECTOR), is_chosen=True)
        return self._group(found.compared.files, Rows.joined(list(self._compare(found.compared, matches))))

    def _groups(self) -> Iterator[FileGroup]:
        """The groups of `rows`. Versions are compared when the rows of the ones before have been read."""
        yield from self.read_directly()
        compared = self._found.compared
        if compared is not None and "_chosen_rows" in self.__dict__:
            yield self._chosen_rows
        elif compared is not None:
            for rows in self._compare(compared, None):
                yield self._group(compared.files, rows)

    def _compare(self, compared: ComparedFiles, matches: Matches | None) -> Iterator[Rows]:
        """The changed rows where one image matches: of each version, or of all for net changes."""
        from deltaskip.change_feed import row_changes

        values = partial(self._values, compared.files)
        if self._wanted.net and compared.by_values:
            every = row_changes.Rows.joined(list(compared.changed(self.snapshot, values)))
            found = iter([row_changes.net_of_values(every, values)])
        elif self._wanted.net:
            found = iter([row_changes.net(self._chosen_by_id(compared, values, matches), values)])
        else:
            found = compared.changed(self.snapshot, values)
        for rows in found:
            if self._scan.where is not None and len(rows.ids):
                rows = rows.take(self._matching(compared, rows, matches))
            yield rows

    def _chosen_by_id(self, compared: ComparedFiles, values: Values, matches: Matches | None) -> Rows:
        """The changes, in all versions, of the rows of which an image in one of them matches."""
        from deltaskip.change_feed.row_changes import Rows

        changed = partial(compared.changed, self.snapshot, values)
        if self._scan.where is None:
            return Rows.joined(list(changed()))
        versions = arrow_values.numpy_values(compared.files["version"].combine_chunks())
        likely = np.unique(versions[compared.may])
        found = Rows.joined(list(changed(likely)))
        ids = np.unique(found.ids[self._matching(compared, found, matches)] if len(found.ids) else found.ids)
        others = changed(np.setdiff1d(versions, likely)) if len(ids) else ()
        return Rows.joined([each.take(np.isin(each.ids, ids)) for each in (found, *others)])

    def _group(self, files: pa.Table, rows: Rows) -> FileGroup:
        """The group of changed rows; files: those that the rows name."""
        from deltaskip.change_feed.change_rows import without_updates
        from deltaskip.change_feed.row_changes import as_entries

        numbers, versions, types, positions = as_entries(rows)
        entries = files.take(arrow_values.arrow_array(numbers, pa.int64())).select(self._found.files.column_names)
        stamps = np.array([self._times[version] for version in versions.tolist()], np.int64)
        kinds = arrow_values.arrow_array(types, pa.string())
        if not self._wanted.updates:
            kinds = without_updates(kinds)
        replaced = {
            "version": arrow_values.arrow_array(versions, pa.int64()),
            "timestamp": arrow_values.arrow_array(stamps, pa.int64()).cast(pa.timestamp("ms", "UTC")),
            "change_type": kinds,
        }
        columns = {name: replaced.get(name, entries[name]) for name in entries.column_names}
        none = pa.nulls(len(entries), DELETION_VECTOR)
        return FileGroup(pa.table(columns, entries.schema).combine_chunks(), none, positions, is_chosen=True)

    def _matching(self, compared: ComparedFiles, rows: Rows, matches: Matches | None) -> np.ndarray[Any, Any]:
        """A mask of the rows that match the predicate, or whose other image does."""
        from deltaskip.change_feed.change_rows import matching_rows
        from deltaskip.change_feed.row_changes import order_of

        order = order_of(rows)
        # Of a file that cannot have a matching row, no row is read.
        order = order[compared.may[rows.files[order]]]
        mask = np.zeros(len(rows.ids), np.bool_)
        if len(order):
            group = self._group(compared.files, rows.take(order))
            mask[order] = np.concatenate(list((matches or partial(matching_rows, self._scan))(group)))
        if compared.by_values or not self._wanted.images:
            return mask
        keys = np.stack([rows.ids, rows.versions], axis=1)
        _, at = np.unique(keys, axis=0, return_inverse=True)
        either = np.zeros(len(keys), np.bool_)
        np.logical_or.at(either, at.ravel(), mask)
        return np.asarray(either[at.ravel()])

    def _values(self, files: pa.Table, rows: Rows) -> pa.Table:
        """The values of rows in all columns of the table, in the order of the rows."""
        from deltaskip.change_feed.change_rows import change_batches, change_schema
        from deltaskip.change_feed.row_changes import order_of

        order = order_of(rows)
        every = Scan(self.snapshot, ReadOptions(time_zone=self.time_zone, hidden=True))
        names = [name for name in self.snapshot.schema.names if name not in FEED_NAMES]
        batches = change_batches(every, [self._group(files, rows)], names)
        found = pa.Table.from_batches(batches, change_schema(every, names))
        return found.take(arrow_values.arrow_array(np.argsort(order), pa.int64())).combine_chunks()


@dataclass(frozen=True, slots=True)
class _FilesByReading:
    """Entries, those to read without a comparison of rows, and these grouped by how they are read.

    Attributes:
        files: The entries, with the columns of `ChangeScan.files()` except `num_rows`.
        counted: Returns them with `num_rows`, which few callers need.
        some: The indexes of those to read.
    """

    files: pa.Table
    counted: Callable[[], pa.Table]
    some: np.ndarray[Any, Any]
    change_files: FileGroup
    whole: FileGroup
    partly: FileGroup
    compared: ComparedFiles | None

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        listed: pa.Table,
        changes: FeedFiles,
        times: dict[int, int],
        versions: ComparedVersions,
        may: np.ndarray[Any, Any],
        records: Callable[[], list[pa.Int64Array]],
    ) -> _FilesByReading:
        """The files of entries.

        listed: Their columns of `_LISTED`. may: Whether each can have matching changes. records: Their `num_records`.
        """
        inserts = changes.inserts
        typed = arrow_values.numpy_values(changes.types.is_valid())
        had, has = (arrow_values.numpy_values(each.is_valid()) for each in (changes.before, changes.after))
        part = typed & np.where(inserts, had, has)
        positions = RowPositions(_differences(snapshot, changes, np.flatnonzero(part)))
        gone = pc.if_else(arrow_values.arrow_array(inserts), changes.after, changes.before)
        numbers, at = np.unique(arrow_values.numpy_values(changes.versions), return_inverse=True)
        stamps = np.array([times[version] for version in numbers.tolist()], np.int64)[at]
        columns = {
            "version": changes.versions,
            "timestamp": arrow_values.arrow_array(stamps).cast(pa.timestamp("ms", "UTC")),
            "change_type": changes.types,
            **{name: listed[name] for name in ("path", "uri", "size", "partition_values")},
            "deletion_vector_before": changes.before,
            "deletion_vector_after": changes.after,
        }
        files = pa.table(columns).combine_chunks()
        places = np.full(len(files), -1, np.int64)
        places[part] = np.arange(len(positions))

        def counted() -> pa.Table:
            deleted = pc.fill_null(pc.struct_field(gone, ["cardinality"]), arrow_values.arrow_scalar(0, pa.int64()))
            rows = pc.subtract(*records(), pc.cast(deleted, pa.int64()))
            exact = arrow_values.arrow_array(np.array([*positions.counts, -1], np.int64)[places])
            counts = pc.if_else(arrow_values.arrow_array(part), exact, rows)
            counts = pc.if_else(arrow_values.arrow_array(typed), counts, pa.nulls(1, pa.int64())[0])
            return files.add_column(files.column_names.index("partition_values") + 1, "num_rows", [counts])

        compared, ids = None, np.zeros(len(files), np.bool_)
        if versions.every:
            from deltaskip.change_feed.feed_files import ComparedFiles

            ids = np.isin(arrow_values.numpy_values(changes.versions), list(versions.every))
            at = np.flatnonzero(ids)
            own, adds = taken(counted(), at), taken(changes.adds, at)
            for name in ("base_row_id", "default_row_commit_version"):
                own = own.append_column(name, adds[name])
            whole = arrow_values.arrow_array(places[at] < 0)
            deleted = pc.if_else(whole, taken(gone, at), pa.nulls(1, DELETION_VECTOR)[0])
            compared = (
                ComparedFiles(own, deleted, places[at], positions, may[at], versions.by_values) if len(at) else None
            )
        some = ~ids
        some[part] &= np.array(positions.counts, np.int64) > 0
        none = pa.nulls(len(files), DELETION_VECTOR)
        written, whole, partly = (np.flatnonzero(some & each) for each in (~typed, typed & ~part, part))
        return cls(
            files,
            counted,
            np.flatnonzero(some),
            FileGroup(taken(files, written), none[: len(written)]),
            FileGroup(taken(files, whole), taken(gone, whole)),
            FileGroup(taken(files, partly), none[: len(partly)], positions.take(places[partly].tolist())),
            compared,
        )


def _read(versions: VersionRange, wanted: WantedChanges) -> tuple[FeedFiles, dict[int, int], ComparedVersions]:
    """The files with the changes of a range, which is not empty, the commit times, and the versions to compare."""
    snapshot = versions.snapshot
    files = versions.commits[wanted.snapshot_first :]
    commits = read_commits(snapshot.storage, snapshot.root, files, also=(CHANGE_FILE,))
    require_logged_files(commits)
    first = state_at(snapshot, versions.start) if wanted.snapshot_first else None
    compared = check_states(commits, snapshot, wanted, first, versions.at_end)
    parts = [] if first is None else [files_of_state(first)]
    infos = commit_infos(commits)
    if files:
        changes = feed_files(commits, infos, snapshot, compared.every)
        if (changes.deletes & (arrow_values.numpy_values(changes.versions) == files[0].version)).any():
            narrower = check_removed_rows(commits, snapshot)
            compared = replace(compared, narrower=narrower or compared.narrower)
        if compared.every and not wanted.net:
            compared = compared.without(_one_sided(changes))
        parts.append(changes)
    known = dict(zip((file.version for file in files), infos, strict=True))
    listed = [version for version in sorted(versions.listing.commits) if version <= versions.end]
    where = snapshot.storage, snapshot.root, versions.listing
    times = CommitTimes(*where, listed, known, snapshot.table_properties)
    return joined(parts), {file.version: times[file.version] for file in versions.commits}, compared


def _one_sided(changes: FeedFiles) -> set[int]:
    """The versions that only insert rows, or only delete rows, of which none can be a row that only moved."""
    numbers, at = np.unique(arrow_values.numpy_values(changes.versions), return_inverse=True)
    inserts = np.bincount(at, changes.inserts)
    total = np.bincount(at, minlength=len(numbers))
    return set(numbers[(inserts == 0) | (inserts == total)].tolist())


def _differences(snapshot: Snapshot, changes: FeedFiles, rows: np.ndarray[Any, Any]) -> Iterator[pa.Int64Array]:
    """For each of these entries, the rows that one of its deletion vectors contains and the other does not.

    For deletes these are the rows that the later vector adds, for inserts the rows that it lacks.
    """
    for start in range(0, len(rows), _VECTORS_AT_ONCE):
        some = changes.take(rows[start : start + _VECTORS_AT_ONCE])
        vectors = pa.concat_arrays([some.before, some.after])
        # The vector after a version is often the one before the next.
        codes = arrow_values.numpy_values(dv_ids(vectors).dictionary_encode("encode").indices)
        _, first, at = np.unique(codes, return_index=True, return_inverse=True)
        # Statistics of changes do not describe whole files.
        files = pa.table({"uri": taken(arrow_values.one_chunk(some.adds["path"]), first % len(some.adds))})
        read = read_deleted_rows(snapshot.storage, snapshot.table_root, files, taken(vectors, first))
        sides = ([read[number] for number in side] for side in np.split(at, 2))
        for is_insert, before, after in zip(some.inserts.tolist(), *sides, strict=True):
            marked, other = (before, after) if is_insert else (after, before)
            assert marked is not None
            yield marked if other is None else _without(marked, other)


def _without(rows: pa.Int64Array, others: pa.Int64Array) -> pa.Int64Array:
    """The rows that are not among others; both ascend."""
    if not len(others):
        return rows
    own, other = arrow_values.numpy_values(rows), arrow_values.numpy_values(others)
    at = np.minimum(np.searchsorted(other, own), len(other) - 1)
    return arrow_values.arrow_array(own[other[at] != own], pa.int64())


def _nothing() -> FeedFiles:
    none = pa.nulls(0, DELETION_VECTOR)
    adds = pa.Table.from_batches([], FILE_SCHEMA)
    return FeedFiles(
        adds, arrow_values.arrow_array([], pa.int64()), arrow_values.arrow_array([], pa.string()), none, none
    )


def _restored(
    reference: SnapshotReference,
    bounds: tuple[int, int],
    options: ReadOptions,
    wanted: WantedChanges,
    shown: tuple[str, ...] | None,
    limit: int | None,
) -> dict[str, Any]:
    """The attributes of a pickled scan."""
    snapshot = reference.opened()
    # Times depend on the commits before the first one.
    start, end = bounds
    at_end = state_at(snapshot, end) if start <= end < snapshot.version else None
    versions = VersionRange(start, end, snapshot, list_log(snapshot.storage, snapshot.root, checksums=False), at_end)
    return {**vars(ChangeScan(versions, options, wanted)), "_shown": shown, "limit": limit}


# A remove action seldom has statistics. The statistics of the add that returns with another deletion vector are not
# used, since they may not cover the rows that this vector deletes.
def _reads_statistics(where: object, params: object, snapshot: Snapshot) -> bool:
    """Whether a predicate uses columns that have statistics, apart from partition columns and columns of the feed."""
    if where is None:
        return False
    try:
        given = given_predicate(where, params, snapshot.schema)
        if is_column(given):
            return True
        node = expression_node(given)
    except DeltaSkipError:
        # The scan raises the error, with the table.
        return False
    others = {name.lower() for name in (*snapshot.partition_columns, *FEED_NAMES)}
    return any(path[0].lower() not in others for path in columns_of(node))


def _with_older_statistics(changes: FeedFiles, snapshot: Snapshot, start: int) -> FeedFiles:
    """Return the files; removed ones receive their statistics from the version before `start`.

    Files without statistics in that version are unchanged; so are all files if its log files were deleted.
    """
    lacking = arrow_values.numpy_values(pc.is_null(changes.adds["stats"]))
    rows = np.flatnonzero(changes.deletes & lacking)
    if not start or not len(rows):
        return changes
    index = arrow_values.arrow_array(rows, pa.int64())
    paths = canonical_paths(arrow_values.one_chunk(changes.adds["path"].take(index)))
    vectors = pc.fill_null(dv_ids(changes.before.take(index)), arrow_values.NOTHING)
    try:
        older = load_snapshot(snapshot.storage, snapshot.root, start - 1)
        found = _files(older, paths)
    except (VersionNotFound, CorruptLog):
        return changes
    # At one version a path has one add, which covers the rows of its own deletion vector; without one, of the file.
    at = pc.index_in(paths, value_set=canonical_paths(arrow_values.one_chunk(found["path"])))
    there = arrow_values.numpy_values(at.is_valid())
    place = arrow_values.numpy_values(pc.fill_null(at, arrow_values.arrow_scalar(0, pa.int32()))).astype(np.int64)
    if len(found):
        its = pc.fill_null(dv_ids(arrow_values.one_chunk(found["deletion_vector"])), arrow_values.NOTHING).take(
            arrow_values.arrow_array(place)
        )
        same = pc.or_(pc.equal(its, vectors), pc.equal(its, arrow_values.NOTHING))
        there = there & arrow_values.numpy_values(same)
    if not there.any():
        return changes
    own = np.arange(len(changes.adds), dtype=np.int64)
    own[rows[there]] = len(changes.adds) + place[there]
    columns = {name: arrow_values.one_chunk(changes.adds[name]) for name in FILE_SCHEMA.names}
    for name in _COPIED:
        joined = pa.concat_arrays([columns[name], arrow_values.one_chunk(found[name])])
        columns[name] = joined.take(arrow_values.arrow_array(own))
    return replace(changes, adds=pa.table(columns, schema=FILE_SCHEMA))


def _files(snapshot: Snapshot, paths: pa.Array) -> pa.Table:
    """The files of a snapshot with these canonical paths that have statistics."""
    wanted = paths.unique()
    found = []
    for batch in snapshot.add_batches(_BATCH_ROWS, ["path", *_COPIED]):
        mask = pc.and_(
            pc.is_in(canonical_paths(batch.column("path")), value_set=wanted), pc.is_valid(batch.column("stats"))
        )
        found.append(batch.filter(mask))
    schema = pa.schema([FILE_SCHEMA.field(name) for name in ("path", *_COPIED)])
    return pa.Table.from_batches([batch.cast(schema) for batch in found if len(batch)], schema).combine_chunks()


def _feed_metadata(snapshot: Snapshot) -> Metadata:
    """Return the snapshot's metadata with the columns of the feed after the table's columns.

    Raises SchemaError if the table has a column with one of these names.
    """
    for field in snapshot.schema.fields:
        if field.name.lower() in FEED_NAMES:
            raise SchemaError(
                f"Version {snapshot.version} of {snapshot.root} has a column {field.name!r}, which is the name of a "
                f"column of the change data feed: rename the column to read the feed."
            )
    schema = StructType((*snapshot.schema.fields, *FEED_FIELDS))
    return replace(snapshot.metadata, schema_string=schema_to_json(schema))
