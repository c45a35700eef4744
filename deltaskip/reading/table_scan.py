"""A scan that reads its rows in this process, as Arrow, and its pieces, which any process can read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, NotProvable
from deltaskip.fork_safety import cached_property
from deltaskip.hints import no_elements
from deltaskip.log import same_table
from deltaskip.log.one_table import of_one_table
from deltaskip.reading.scan_frames import RowsAsArrow, ScanFrames
from deltaskip.reading.selected_columns import SelectingScan, of_columns
from deltaskip.settings import options
from deltaskip.skipping.journal import note
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import ColumnExpr
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import And, Node
from deltaskip.sparkexpr.types import StructField

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

    from deltaskip.reading.metrics import ScanMetrics
    from deltaskip.reading.semi_joins import ScanJoin
    from deltaskip.skipping.explain.report import Explain
    from deltaskip.skipping.row_order import OrderTerm

_Call = tuple[str, tuple[Any, ...]]
"""A method of RowReader, and its arguments."""

OF_FRAMES = {
    "filter": "scan(where)",
    "where": "scan(where)",
    "limit": "scan(limit=…)",
    "select": "scan(columns=[…])",
    "read": "scan().to_arrow()",
    "to_df": "scan().to_pandas()",
    "toPandas": "scan().to_pandas()",
    "to_pyarrow": "scan().to_arrow()",
    "to_pyarrow_table": "scan().to_arrow()",
    "to_pyarrow_dataset": "scan().to_dataset()",
    "collect": "scan().to_arrow(), scan().to_polars() or scan().to_spark(spark)",
    "show": "scan().head()",
    "df": "scan().to_pandas()",
    "columns": "schema.names",
    "schema": "schema",
    "add_column": "alter(AddColumn(name, type))",
    "drop_column": "alter(DeleteColumn(name))",
    "write": "append(rows) or overwrite(rows)",
    "insert": "append(rows)",
    "upsert": "merge(rows, on)",
    "toDF": "scan().to_spark(spark)",
    **dict.fromkeys(("sort", "sort_by", "orderBy", "order_by", "top_k", "nlargest"), "scan().top(n, by='ts DESC')"),
    **dict.fromkeys(("agg", "groupBy", "group_by", "groupby"), "scan().aggregate(by=[…], n='count(*)')"),
    **dict.fromkeys(("join", "semijoin"), "scan().semi_join(rows, on)"),
    **dict.fromkeys(("to_delta", "to_dataframe"), "scan().to_pandas(), to_polars() or to_spark(spark)"),
    "to_pylist": "scan().to_arrow().to_pylist()",
    "to_dicts": "scan().to_arrow().to_pylist()",
    "rename_column": "alter(RenameColumn(name, new_name))",
    "set_properties": "alter(SetProperty(name, value))",
    "set_table_properties": "alter(SetProperty(name, value))",
    "add_constraint": "alter(AddConstraint(name, expression))",
    "compact": "optimize()",
    "z_order": "optimize(zorder_by=[…])",
    "zorder": "optimize(zorder_by=[…])",
    "file_uris": "scan().paths()",
    "files": "scan().files()",
    "load_cdf": "changes(start, end)",
    **dict.fromkeys(("load_as_version", "load_version", "as_version", "as_of", "at"), "DeltaTable(path, version)"),
    **dict.fromkeys(("num_rows", "height", "shape"), "scan().count() and len(schema.names)"),
    **dict.fromkeys(("dtypes", "fields"), "schema.fields"),
    "duckdb": "scan().to_duckdb(connection, name)",
    "path": "uri",
    "location": "uri",
    "table_uri": "uri",
    "update_incremental": "refresh()",
    "get_add_actions": "scan().files()",
    "num_files": "detail().num_files",
    "create_checkpoint": "checkpoint()",
    "cleanup_metadata": "clean_up_log()",
    "transaction_version": "app_versions[app_id]",
    "load_with_datetime": "DeltaTable(path, timestamp=…)",
    "restoreToVersion": "restore(version)",
    "restoreToTimestamp": "restore(timestamp=…)",
    "cloneAtVersion": "clone(path, version)",
    "addFeatureSupport": "add_feature(name)",
    "dropFeatureSupport": "drop_feature(name)",
    "upgradeTableProtocol": "add_feature(name)",
    "alias": "merge(rows, on, source_alias=…, target_alias=…)",
    "whenMatchedUpdateAll": "merge(rows, on).when_matched_update_all()",
    "repair": "verify()",
    "to_arrow_table": "scan().to_arrow()",
    "to_pandas_df": "scan().to_pandas()",
    "sql": "deltaskip.sql(\"SELECT … FROM 'path'\")",
    "query": "deltaskip.sql(\"SELECT … FROM 'path'\")",
    "drop": "a catalog's drop_table(name), or delete the folder",
    "describe": "detail()",
}
"""Methods of DataFrames and of other libraries' tables, and what to call instead."""


@door
@of_one_table
class TableScan(ScanFrames, SelectingScan, Scan):
    """A scan of a table: the files that can contain rows matching a predicate, and the rows that match.

    Created by `DeltaTable.scan`. `to_spark` reads the rows through Spark; `to_arrow`, `to_batches`, `to_pandas` and
    `__arrow_c_stream__` read them in this process without Spark. With `to_polars` and `to_duckdb`, these libraries read
    what a query needs, and `pieces` divides the rows for other processes.

    Rows are exactly those that Spark returns for the predicate in the scan's `time_zone`, with strings compared under
    the scan's `collation_version`. They come in the order of the files in the log. Files and expressions that only
    Spark can read or evaluate raise UnsupportedFeature. Each of these methods raises

    * UnsupportedFeature for dates before 1582 of old writers, and expressions that only Spark knows,
    * PredicateError if the predicate fails for a row, as a division by zero does,
    * DataFileMissing and StorageError for files that cannot be read.
    """

    def narrowed(self, names: Sequence[str] | None, predicate: Node | None, limit: int | None = None) -> Self:
        """Return a scan of some of the columns, and of the rows that also match another predicate.

        Args:
            names: Columns that this scan returns; None for all.
            predicate: Not bound; None for every row.
            limit: The most rows; None for those of this scan.
        """
        if names is None and predicate is None and limit is None:
            return self
        known = self.paths_by_name
        paths = {name: known[name] for name in (known if names is None else names)}
        scan = of_columns(self, (path[0] for path in paths.values()))
        if any(path != (name,) for name, path in paths.items()):
            scan._paths = paths
        if limit is not None:
            scan.limit = limit if self.limit is None else min(limit, self.limit)
        if predicate is not None:
            both = predicate if self._parsed is None else And((self._parsed, predicate))
            scan.where = scan.given = ColumnExpr(both)
            scan._diagnosed = True
            scan._plan(self.meaning, self.collation_version)
        return scan

    @property
    def metrics(self) -> ScanMetrics | None:
        """Metrics of the last finished read in this process, with its time; None before the first.

        They are also logged by the logger `deltaskip` at level INFO.
        """
        found: ScanMetrics | None = self.__dict__.get("_metrics")
        return found

    # Whether `narrowed` leaves out every row that does not match.
    filters_rows = True

    @property
    def columns_of_files(self) -> Sequence[StructField]:
        snapshot, paths = self.snapshot, self.paths_by_name
        is_plain = not snapshot.storage.remote and snapshot.mapping_mode == "none" and self.limit is None
        if not is_plain or any(path != (name,) for name, path in paths.items()):
            return ()
        partitions = snapshot.partition_columns
        return [each for each in snapshot.schema.fields if each.name in paths and each.name not in partitions]

    # What `explain` says of the last totals, and the semi-joins.
    _answered = ""
    joins: tuple[ScanJoin, ...] = ()

    def note_metrics(self, metrics: ScanMetrics, answered: str = "") -> None:
        """Keep the metrics of a finished read. answered: What `explain` says of totals."""
        self._metrics, self._answered = metrics, answered or self._answered

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError as error:
                if name not in OF_FRAMES:
                    raise
                instead = OF_FRAMES[name].replace("scan().", "")
                of_table = " of the DeltaTable" if instead == OF_FRAMES[name] else ""
                message = f"A scan has no {name}: write {instead}{of_table}."
                raise AttributeError(message) from error

    def explain(self) -> Explain:
        """See `LogScan.explain`. The report also says what each semi-join saves, and what the last totals read."""
        found = super().explain()
        if not self.joins and not self._answered:
            return found
        after = [*(each.before.explain().kept_files for each in self.joins[1:]), found.kept_files]
        joins = tuple([each.said(files) for each, files in zip(self.joins, after, strict=False)])
        return replace(found, answered=self._answered, joins=joins)

    def __getitem__(self, key: object) -> NoReturn:
        """Raise InvalidArgumentType: columns and rows are chosen when the scan is made."""
        raise no_elements(self, key, "table.scan(")

    def _repr_html_(self) -> str:
        metrics = self.metrics
        return super()._repr_html_() + ("" if metrics is None else metrics._repr_html_())

    def count(self, read: bool = True) -> int:
        """Return the exact number of matching rows, at most `limit`. Deleted rows do not count.

        No file is read if the log proves the number. Otherwise the rows of the files that can contain
        matching rows are counted in this process.

        Args:
            read: Whether rows may be read.

        Raises:
            NotProvable: The log does not prove the number, and `read` is false.
        """
        may_read = arguments.flag("read", read)
        try:
            return super().count()
        except NotProvable:
            if not may_read:
                raise
        return sum(batch.num_rows for batch in self.narrowed((), None).to_batches())

    def top(self, n: int, by: object) -> TopScan:
        """Return a scan of the first `n` rows in an order, as ORDER BY and LIMIT select them. Ties are in any order.

        Files are read in the order of their bounds, until the rows that were read prove that no other file has one of
        the first `n`; then the same holds for row groups and pages. `files`, `paths` and `to_spark` have the files that
        the log does not rule out.

        Args:
            n: Number of rows.
            by: The order: SQL text such as "ts DESC NULLS LAST, id", a Column of `deltaskip.col` such as
                `col("ts").desc()`, a Column of PySpark, or a list of them. NULLs come first in ascending order and last
                in descending, and NaN is the greatest number, as in Spark.

        Raises:
            PredicateError: A term does not parse, a column does not exist, or Spark does not sort its type.
            InvalidArgument: `n` is negative, `by` names no column, or the scan has a limit.
            InvalidArgumentType: An argument has the wrong type.
        """
        number = arguments.non_negative("n", n)
        if number is None:
            raise InvalidArgumentType.of("n", "an int", n)
        if self.limit is not None:
            raise InvalidArgument(
                f"A scan with a limit or an order has no first rows, because it has any {self.limit:,} of its rows: "
                f"call scan(where).top(n, by) without a limit (table {self.snapshot.table_root})."
            )
        # A table has fewer rows than a BIGINT counts.
        return TopScan(self, min(number, (1 << 63) - 1), by)

    def semi_join(self, rows: object, on: str | Sequence[str] | Mapping[str, str]) -> TableScan:
        """Return a scan of the rows whose key is among the keys of other rows, each once. It is a scan like any other.

        The keys become a predicate, by which files, row groups and pages are skipped: single values while they are few,
        and otherwise the least and the greatest. `explain` says how many files that saves. Keys are compared as `=` of
        Spark compares columns: NULL has no partner, NaN equals NaN, 0.0 equals -0.0, and types that differ are cast.
        Strings without a collation are compared under that of the table's column.

        Args:
            rows: Rows with the keys: Arrow data, a DataFrame of pandas, Polars or Spark, a list of dicts, or another
                scan. They are read at once, and their distinct keys are held in memory.
            on: The name of the key in both, a list of names, which together are the key, or the names of columns of
                `rows` by those of the table, as in `{"customer": "id"}`.

        Raises:
            PredicateError: A column does not exist, types are not comparable, or a key cannot be cast.
            UnsupportedFeature: Only Spark compares the types.
            InvalidArgument: `on` names no column, or the scan has a limit.
            InvalidArgumentType: `rows` has no rows, or `on` is of another type.
        """
        from deltaskip.reading.semi_joins import semi_joined

        return semi_joined(self, rows, on)

    def aggregate(self, by: object = (), **aggregates: str) -> pa.Table:
        """Return totals of the matching rows, from the log where it proves them.

        Files of which every row matches are counted by their statistics. Only files that match in part, or whose
        statistics do not decide, are read, and of these only the columns that are needed; for `min` and `max` only the
        files whose bound is further out than the values that are known. `metrics` and `explain` then say what was read.

        Args:
            by: The groups: names of partition columns and expressions over them, as a list of SQL text or Columns, or
                by the names of their columns in the answer. The default is one row for all rows.
            aggregates: By name `count(*)`, `count(column)`, `min(column)`, `max(column)`, `count_if(column IS NULL)` or
                `count_if(column IS NOT NULL)`, as SQL text.

        Returns:
            A table with the groups, in their order, and the aggregates; a group is there only if it has a row.

        Raises:
            UnsupportedFeature: Another aggregate, groups by other columns, or only Spark evaluates or reads something.
            PredicateError: An expression does not parse, or a column does not exist.
            InvalidArgument: Nothing is asked for, a name is used twice, or the scan has a limit.
            InvalidArgumentType: An argument has the wrong type.
        """
        from deltaskip.reading.aggregation import aggregated

        return aggregated(self, by, aggregates)

    def head(self, n: int = 5) -> pa.Table:
        """Return the first `n` rows as an Arrow table, in the order of the files in the log.

        Args:
            n: Number of rows; the table has fewer if the scan does.
        """
        number = arguments.non_negative("n", n)
        if number is None:
            raise InvalidArgumentType.of("n", "an int", n)
        from pyarrow import Table

        from deltaskip.reading.data_frames import first_batches

        return Table.from_batches(first_batches(self, number, self.note_metrics), self._arrow_schema())

    def to_spark(self, spark: Any, metadata: bool = False, listing: bool = True) -> Any:
        """See `Scan.to_spark`. Fields of structs are columns under their own names."""
        return self._with_paths(super().to_spark(spark, metadata, listing), metadata)

    def row_batches(
        self, finished: Callable[[ScanMetrics], None] | None = None, views: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """The rows, in batches of `arrow_schema_of`.

        finished: Takes the metrics; by default `metrics` has them. views: See `arrow_batches`.
        """
        from deltaskip.reading.arrow_rows import arrow_batches

        return arrow_batches(self, finished or self.note_metrics, views=views)

    def pieces(self, n: int | None = None) -> list[ScanPiece]:
        """Return parts of the rows that can be pickled and read themselves, such as for Dask, Ray or a process pool.

        Args:
            n: Most parts, of about the same number of bytes. Row groups are not divided. The default is the number of
                CPUs.

        Returns:
            ScanPiece objects, at least one, which together have the rows of the scan in their order.

        Raises:
            InvalidArgument: `n` is 0 or negative, or the scan has a limit.
        """
        return _pieces(self, n)

    def to_dataset(self) -> pyarrow.dataset.Dataset:
        """Return the rows as a pyarrow dataset, which can select further columns and rows when it is read.

        Its fragments are the files that can contain matching rows, each with its partition values. The footer of every
        file is read. Tables and scans that pyarrow does not read as Spark does are refused: deletion vectors, renamed
        columns, limits, and predicates that are not certain for every row of a file. The dataset is read by pyarrow
        alone: for a missing or damaged file it raises an OSError or a pyarrow.ArrowException.

        Raises:
            UnsupportedFeature: The dataset would have other rows than the scan. The message names the reason.
            DataFileMissing: A file does not exist.
            StorageError: A file cannot be read.
        """
        from deltaskip.reading.dataset import arrow_dataset

        return arrow_dataset(self)


@door
@of_one_table
class TopScan(TableScan):
    """A scan of the first rows of another scan in an order, made by `TableScan.top`.

    Its rows come in that order. `files` returns the files that the log does not rule out, and the rows that are read in
    this process rule out more of them.

    Args:
        rows: The scan of all rows.
        number: How many rows to return.
        by: The order, as `TableScan.top` takes it.
    """

    _planned_from: ClassVar[tuple[str, ...]] = (*TableScan._planned_from, "every_row", "_by", "order", "terms")
    _order_is_noted = False

    # The attributes are those of the scan of all rows.
    def __init__(self, rows: TableScan, number: int, by: object) -> None:
        from deltaskip.skipping.row_order import bound_terms, given_terms

        # The journal notes the predicate with the order.
        rows = copy(rows)
        rows._is_noted = True
        vars(self).update(vars(rows))
        self.every_row = rows
        try:
            each = [(given, given_terms(rows, given)) for given in (by if isinstance(by, list | tuple) else [by])]
            # Text is read again in the meaning of another session. A Column of PySpark belongs to its session.
            self._by = [given if isinstance(given, str) else term for given, terms in each for term in terms[:1]]
            self.order = given_terms(rows, self._by)
            self.terms: tuple[OrderTerm, ...] = bound_terms(rows, self.order)
        except DeltaSkipError as error:
            raise type(error)(f"{error} {self._at_version()}") from error
        self.limit = number

    def _given(self) -> dict[str, object]:
        given = super()._given()
        number = given.pop("limit")
        return {**given, "top": number, "by": self._order_text}

    @property
    def _order_text(self) -> str:
        return ", ".join(map(str, self.order))

    @cached_property
    def pruned(self) -> TableScan:
        """The scan of the rows that the log does not rule out, in any order."""
        return self.every_row.narrowed(None, self.certain)

    def note_order(self) -> None:
        """Write the line in the journal, the first time."""
        if not self._order_is_noted:
            self._order_is_noted = True
            if options.journal:
                note(self)

    @cached_property
    def certain(self) -> Node | None:
        """The condition of these rows; None for every row."""
        from deltaskip.skipping.top_files import certain_threshold

        self.note_order()
        return certain_threshold(self.every_row.compiled, self.terms[0], self.limit or 0)

    def files(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the files that can contain one of the first rows, as `Scan.files` does."""
        return self.pruned.files(stats, columns)

    def file_batches(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return a reader of the files of `files`, see `LogScan.file_batches`."""
        return self.pruned.file_batches(stats, columns)

    def paths(self, plain: bool = False) -> list[str]:
        """Return the paths of `files`, see `Scan.paths`."""
        return self.pruned.paths(plain)

    def partitions(self) -> pa.Table:
        """Return the partitions of `files`, see `LogScan.partitions`."""
        return self.pruned.partitions()

    def explain(self) -> Explain:
        """Return how many files each part of the predicate skips.

        The condition that the log proves for the first rows is one part of it. After the rows were read in this
        process, the report also says how many files that took.
        """
        found, metrics = self.pruned.explain(), self.metrics
        if metrics is None:
            return found
        return replace(found, answered=metrics.answered(f"the first {self.limit:,} by {self._order_text}"))

    def estimated_rows(self) -> int:
        """Return the estimated number of rows, at most the number of the first rows."""
        return min(self.every_row.estimated_rows(), self.limit or 0)

    def negated(self) -> Self:
        """Raise InvalidArgument: the other rows are not those that a predicate does not match."""
        raise InvalidArgument(f"The rows behind the first {self.limit:,} are not a scan {self._at_version()}.")

    def replanned(self, meaning: SessionMeaning, collation_version: str) -> Self:
        """See `LogScan.replanned`. The order is understood as the session does, too."""
        rows = self.every_row.replanned(meaning, collation_version)
        return self if rows is self.every_row else type(self)(rows, self.limit or 0, self._by)

    def at_one_time(self) -> Self:
        """See `LogScan.at_one_time`."""
        rows = self.every_row.at_one_time()
        return self if rows is self.every_row else type(self)(rows, self.limit or 0, self._by)

    def count(self, read: bool = True) -> int:
        """Return the number of rows: of all matching ones, at most the number of the first. See `TableScan.count`."""
        return min(self.every_row.count(read), self.limit or 0)

    def narrowed(self, names: Sequence[str] | None, predicate: Node | None, limit: int | None = None) -> Self:
        """See `TableScan.narrowed`. No further predicate can apply."""
        assert predicate is None, "a filter applies to the first rows"
        number = self.limit or 0
        every = self.every_row.narrowed(names, None)
        return type(self)(every, number if limit is None else min(number, limit), self._by)

    def row_batches(
        self, finished: Callable[[ScanMetrics], None] | None = None, views: bool = False
    ) -> Iterator[pa.RecordBatch]:
        from deltaskip.reading.top_rows import top_batches

        return top_batches(self, finished or self.note_metrics)


@door
class ScanPiece(RowsAsArrow):
    """A part of the rows of a scan, made by `TableScan.pieces`. It can be pickled.

    The pieces of a scan together have its rows, in its order. A process that reads one from a pickle opens the table's
    version again; secrets are in the pickle only if the pickle of the table has them, see `DeltaTable.with_secrets`.

    Attributes:
        size_in_bytes: Bytes of the files and row groups of the piece.
    """

    def __init__(self, scan: TableScan, size_in_bytes: int, calls: tuple[_Call, ...]) -> None:
        self._scan = scan
        self.size_in_bytes = size_in_bytes
        self._calls = calls

    def __repr__(self) -> str:
        return f"ScanPiece({self._scan!r}, {self.size_in_bytes:,} bytes)"

    def _arrow_schema(self) -> pa.Schema:
        return self._scan._arrow_schema()

    @door
    def row_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches."""
        from deltaskip.reading.arrow_rows import RowReader

        reader = RowReader.of(self._scan, len(self._calls))
        with same_table(self._scan.snapshot):
            for name, args in self._calls:
                yield from getattr(reader, name)(*args)


def _pieces(scan: TableScan, pieces: object) -> list[ScanPiece]:
    """The parts of a scan, see `TableScan.pieces`."""
    from deltaskip.reading.arrow_rows import row_reads

    number = arguments.non_negative("n", pieces)
    wanted = (os.cpu_count() or 1) if number is None else number
    if not wanted:
        raise InvalidArgument("n must be 1 or greater, not 0.")
    if scan.limit is not None:
        raise InvalidArgument(
            f"A scan with a limit has no pieces, because no piece knows how many rows the others have: leave out "
            f"limit={scan.limit} (table {scan.snapshot.table_root})."
        )
    most = max(1, -(-_bytes(scan) // wanted))
    found: list[tuple[int, list[_Call]]] = []
    for size, read in row_reads(scan, most):
        # `row_reads` returns methods of one reader with their arguments.
        call = read.func.__name__, read.args  # type: ignore[attr-defined]
        if not found or (found[-1][0] + size > most and len(found) < wanted):
            found.append((0, []))
        found[-1] = found[-1][0] + size, [*found[-1][1], call]
    # Without rows, one piece has the schema.
    return [ScanPiece(scan, size, tuple(calls)) for size, calls in found or [(0, [])]]


def _bytes(scan: TableScan) -> int:
    from deltaskip.sparkexpr.values.arrow_values import exact_sum

    return exact_sum(scan.files(columns=["size"])["size"])
