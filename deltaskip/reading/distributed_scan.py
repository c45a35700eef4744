"""A scan whose files are found by executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.log.one_table import of_one_table
from deltaskip.reading.selected_columns import SelectingScan
from deltaskip.skipping.file_list import chosen_columns
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.read_options import ALL_ROWS, ReadOptions

_ROWS = "call to_spark(spark)"
_CURES = {
    "files": "call files_to_spark(spark), or file_batches() for the list piece by piece",
    "paths": "call files_to_spark(spark, columns=['path'])",
    "head": "call to_spark(spark).limit(n)",
    "top": "call to_spark(spark).orderBy(…).limit(n)",
    "semi_join": "call to_spark(spark).join(rows, on, 'left_semi')",
    "aggregate": "call to_spark(spark).groupBy(…).agg(…)",
    **dict.fromkeys(("to_arrow", "to_batches", "__arrow_c_stream__", "to_pandas", "to_polars"), _ROWS),
    **dict.fromkeys(("to_duckdb", "to_dataset", "pieces"), _ROWS),
}
"""The method to call instead of a method that would return all files or all rows to this process."""


class PlanningEngine(Protocol):
    """An engine whose executors find the files of a scan; nothing is collected."""

    def planned_files(self, session: Any, scan: LogScan, columns: Sequence[str]) -> Any:
        """Return a DataFrame of the rows of `scan.file_batches(columns=columns)`."""

    def planned_rows(self, session: Any, scan: LogScan) -> Any:
        """Return a DataFrame of the rows that match a scan, which executors read."""


@door
@of_one_table
class DistributedScan(SelectingScan):
    """A scan whose files the executors of a Spark session find: made by `DeltaTable.scan(..., engine="spark")`.

    It keeps the same files and rows as other scans of the table. `files_to_spark` returns the files, and `to_spark` the
    rows, as DataFrames. The driver names the parts of the log, and holds neither the list of files nor their
    statistics. Methods that would return all of it raise UnsupportedFeature and name what to call instead. Methods with
    small results, such as `count`, `explain` and `file_batches`, read the log in this process, in bounded memory.

    A limit is refused as well, because no process knows all of the files.
    """

    # Executors read the rows, so this process has nothing to report.
    metrics = None

    def __init__(self, snapshot: Snapshot, options: ReadOptions = ALL_ROWS) -> None:
        super().__init__(snapshot, options)
        if self.limit is not None:
            raise InvalidArgument(
                f"A scan with engine='spark' has no limit: leave it out, and call limit({self.limit}) of the DataFrame "
                f"that to_spark returns {self._at_version()}."
            )

    def files_to_spark(self, spark: Any, stats: bool = False, columns: Sequence[str] | None = None) -> Any:
        """Return the files that can contain matching rows as a Spark DataFrame, in no defined order.

        The columns are those of `files`. `modification_time` is a timestamp, and strings of `partition_values` have no
        collation. Every action on the DataFrame reads the log again; `persist` keeps the files.

        Args:
            spark: A SparkSession, classic or Connect, whose executors reach the log and have deltaskip.
            stats: As in `files`.
            columns: As in `files`.

        Raises:
            SparkUnavailable: PySpark is not installed.
            UnsupportedFeature: Executors cannot read the log, as it is on HDFS.
            InvalidArgument: A file list has no column of that name, or `stats` is true and not listed in `columns`.
            InvalidArgumentType: `columns` is not a list of str, or `spark` is not a session.
        """
        names = chosen_columns(stats, columns)
        if len(set(names)) < len(names):
            raise InvalidArgument(f"A column is listed twice in {list(names)}: list it once {self._at_version()}.")
        return engine(f"Planning a scan of {self.snapshot.table_root} on Spark", PlanningEngine).planned_files(
            spark, self, names
        )

    def to_spark(self, spark: Any, metadata: bool = False, listing: bool = True) -> Any:
        """Return a Spark DataFrame of the rows that match the predicate, with the selected columns.

        Executors find the files and read them with pyarrow; Spark evaluates the predicate, in its session time zone
        and under its version of the collations, as for other scans. One job adds up the bytes of the files, to decide
        how many tasks read them.

        Args:
            spark: A SparkSession, classic or Connect, whose executors reach the files and have deltaskip.
            metadata: Must be False: executors do not return the positions of rows.
            listing: Has no effect: Spark does not list the files.

        Raises:
            SparkUnavailable: PySpark is not installed.
            UnsupportedFeature: Executors cannot read the log or a column, or `metadata` is true.
            InvalidArgumentType: An argument has the wrong type.
        """
        arguments.flag("listing", listing)
        if arguments.flag("metadata", metadata):
            self._refuse("metadata=True", "leave out engine='spark' for the position of each row")
        return self._with_paths(
            engine(f"Reading {self.snapshot.table_root} through Spark", PlanningEngine).planned_rows(spark, self)
        )

    def count(self, read: bool = False) -> int:
        """Return the exact number of matching rows from the log alone. Deleted rows do not count.

        Args:
            read: Must be False: this process reads no rows.

        Raises:
            NotProvable: The log does not prove the number.
            UnsupportedFeature: `read` is true.
        """
        if arguments.flag("read", read):
            self._refuse("count(read=True)", "call to_spark(spark).count()")
        return super().count()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _CURES:
                return lambda *_arguments, **_options: self._refuse(f"{name}()", _CURES[name])
            return super().__getattr__(name)

    def _refuse(self, what: str, cure: str) -> NoReturn:
        raise UnsupportedFeature(
            f"A scan with engine='spark' does not support {what}: {cure}, or scan without engine='spark' "
            f"{self._at_version()}."
        )
