"""Scan: a predicate on a snapshot, and the files that can contain rows matching it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

import pyarrow as pa

from deltaskip import arguments
from deltaskip.actions.paths import escape_globs, hadoop_path, hadoop_paths, may_hold_globs
from deltaskip.doors import door
from deltaskip.engine import engine
from deltaskip.log import same_table
from deltaskip.skipping.add_batches import FileBatch, each_candidate
from deltaskip.skipping.counts import fewest_files, first_files, proved_rows
from deltaskip.skipping.file_list import batch_files, chosen_columns, decoded_paths, files_schema, log_plan
from deltaskip.skipping.log_scan import LogScan
from deltaskip.sparkexpr.values.arrow_values import no_rows

_NO_ROWS = pa.nulls(0, pa.int64())


@door
class Scan(LogScan):
    """The files of a snapshot that can contain rows matching a predicate, and what the log proves about these rows.

    Made by `DeltaTable.scan`. Planning starts when a method is called; columns that were read stay cached with the
    snapshot, so that later scans of the same table are faster. Safe to share between threads.
    """

    takes_first = False
    """Whether a limit means the first rows in the order of the files."""

    def files(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the files that can contain matching rows, one row each, in the order of the log.

        The columns are `path` (decoded), `uri` (absolute, percent-encoded), `size` (bytes), `modification_time`,
        `partition_values` (a struct, typed by the schema), `num_records` (including deleted rows), `deletion_vector`
        (a struct, null for files without one), `base_row_id` and `default_row_commit_version`. With a limit, the
        result has no more files than that many rows need, if the log proves which files suffice.

        Args:
            stats: Whether to add the column `stats`, the statistics as JSON text.
            columns: Names of the columns to return, which may include `stats`; only these are read. The default is all
                columns except `stats`.

        Raises:
            CorruptLog: A path or partition value in the log cannot be read.
            InvalidArgument: A file list has no column of that name, or `stats` is true and not listed in `columns`.
            InvalidArgumentType: `columns` is not a list of str.
        """
        names, begun = chosen_columns(stats, columns), perf_counter()
        tables, proved = [no_rows(files_schema(self.snapshot, names))], []
        for found in each_candidate(self.snapshot, self.compiled.program, partial(self._files_of, names)):
            if found is not None:
                tables.append(found[0])
                proved.append(found[1])
        table = pa.concat_tables(tables)
        choose = first_files if self.takes_first else fewest_files
        chosen = None if self.limit is None or not proved else choose(pa.concat_arrays(proved), self.limit)
        table = table if chosen is None else table.take(chosen)
        log_plan(self.snapshot, len(table), begun)
        self._is_planned = True
        return table

    def file_batches(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """See `LogScan.file_batches`. A scan with a limit computes its list as a whole."""
        return super().file_batches(stats, columns) if self.limit is None else self.files(stats, columns).to_reader()

    def paths(self, plain: bool = False) -> list[str]:
        """Return the paths of `files()` for `spark.read.parquet(*paths)`: decoded, with glob characters escaped.

        Data files contain deleted rows, and no partition columns: use `to_spark` to read the rows of the table. Readers
        other than Spark need the column `uri` of `files()`.

        Args:
            plain: Whether to refuse files whose rows, as `spark.read.parquet` returns them, are not those of the table:
                files with deleted rows, without a column, or with physical names, and tables with partition columns,
                widened types, CHAR or VARCHAR, or collations. The footer of each file is read.

        Raises:
            CorruptLog: A path in the log cannot be read.
            UnsupportedFeature: `plain` is true, and the list alone is not enough; the message says why.
            DataFileMissing: `plain` is true, and a file does not exist.
            StorageError: `plain` is true, and a file cannot be read.
        """
        root = self.snapshot.table_root
        if arguments.flag("plain", plain):
            # Reading of footers is not loaded for other plans.
            from deltaskip.skipping.plain_files import PLAIN_COLUMNS, check_plain

            check_plain(self.snapshot, self.files(columns=list(PLAIN_COLUMNS)))
        if self.limit is not None:
            return [escape_globs(hadoop_path(root, uri)) for uri in self.files(columns=["uri"])["uri"].to_pylist()]
        found: list[str] = []
        begun = perf_counter()
        for located, odd in each_candidate(self.snapshot, self.compiled.program, self._locations):
            paths = located.to_pylist()
            found += map(escape_globs, paths) if odd else paths
        log_plan(self.snapshot, len(found), begun)
        self._is_planned = True
        return found

    def to_spark(self, spark: Any, metadata: bool = False, listing: bool = True) -> Any:
        """Return a Spark DataFrame of the rows that match the predicate, with the selected columns and the limit.

        Spark interprets timestamps without a time zone in its session time zone, and compares strings under its own
        version of their collations, in ANSI mode or without it. If one of these differs from the scan's `time_zone`,
        `collation_version` or `ansi`, the files are planned again with the session's: the DataFrame's rows are always
        the rows that Spark itself would return for the predicate, and its files can then differ from `files()`.

        Args:
            spark: A SparkSession, classic or Connect.
            metadata: Whether to add the column `_metadata`, a struct with Spark's fields, such as `file_path` and
                `row_index` (the position in the file, counting deleted rows), and in tables with row tracking `row_id`
                and `row_commit_version`.
            listing: Whether Spark asks storage for the size and time of each file. If not, it takes them from the log,
                which makes planning of many files faster; a missing file then raises when the DataFrame runs. False is
                for classic sessions only.

        Raises:
            SparkUnavailable: PySpark is not installed.
            DataFileMissing: A data file of the snapshot does not exist.
            UnsupportedFeature: This version of Spark cannot read the table, or `listing` is false with Spark Connect.
            InvalidArgument: `metadata` is true, and the table has a column named `_metadata`.
        """
        given = arguments.flag("metadata", metadata), arguments.flag("listing", listing)
        reading = engine(f"Reading {self.snapshot.table_root} through Spark")
        with same_table(self.snapshot):
            return reading.scan_to_dataframe(spark, self, *given)

    def _files_of(self, names: Sequence[str], batch: FileBatch) -> tuple[pa.Table, pa.Array] | None:
        """The batch's kept files, and with a limit how many rows of each certainly match; None if no file is kept."""
        kept = self.compiled.listed(batch)
        if kept is not None and not len(kept):
            return None
        proved = _NO_ROWS if self.limit is None else proved_rows(self.compiled, batch, kept)
        return batch_files(batch, kept, names, self.time_zone), proved

    def _locations(self, batch: FileBatch) -> tuple[pa.Array, bool]:
        """Paths of the batch's kept files, and whether they may contain glob characters."""
        [paths] = batch.rows(["path"], self.compiled.listed(batch))
        root = self.snapshot.table_root
        return decoded_paths(self.snapshot, partial(hadoop_paths, root), paths), may_hold_globs(root, paths)
