"""Scan: a predicate on a snapshot, and the files that can hold a row which matches it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from deltaskip import arguments
from deltaskip.actions.paths import escape_globs, hadoop_path, hadoop_paths, may_hold_globs
from deltaskip.collations.registry import SPARK_VERSION
from deltaskip.engine import engine, is_column
from deltaskip.errors import InvalidArgument, PredicateError
from deltaskip.expr import Node, bind, normalize, parse_sql, to_node
from deltaskip.expr.nodes import Collate, Column, FieldRef, Literal, walk
from deltaskip.kernels.lane import Lane
from deltaskip.log import Snapshot
from deltaskip.schema.arrow_values import empty_table
from deltaskip.schema.resolve import resolve
from deltaskip.schema.types import BOOLEAN
from deltaskip.skipping.batches import Batch, each_candidate
from deltaskip.skipping.counts import estimated_rows, exact_count, fewest_files, proved_rows
from deltaskip.skipping.evaluate import evaluate
from deltaskip.skipping.explain.explain import explain
from deltaskip.skipping.explain.report import Explain
from deltaskip.skipping.files import FILE_COLUMNS, batch_files, decoded, files_schema
from deltaskip.skipping.min_max import exact_extreme
from deltaskip.skipping.partition_terms import PartitionTruth
from deltaskip.skipping.program import PartitionTerm, Program
from deltaskip.skipping.proofs.collated import Collations
from deltaskip.skipping.proofs.not_true import not_true
from deltaskip.skipping.proofs.rewrite import rewrite
from deltaskip.stats.layout import Side

__all__ = ["Scan"]

_NO_ROWS = pa.nulls(0, pa.int64())


class Scan:
    """The files of one snapshot that may hold rows matching `where`.

    where: SQL text (Spark's dialect), an expression of `deltaskip.col`, or a pyspark Column; None for every file.
    columns: top-level columns that `to_spark` reads; None for all. limit: at most so many rows are wanted, any.
    time_zone: the session's, in which zone-less timestamps of literals and partition values are read; None says that
    the zone of partition values is unknown: they keep their file wherever it matters.
    collation_version: version of the collations under which the rows will be compared, by default that of Spark 4.1;
    statistics of another version prove nothing.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        where: object = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        time_zone: str | None = "UTC",
        collation_version: str = SPARK_VERSION,
    ) -> None:
        self.snapshot = snapshot
        self.where = where
        self.columns = None if columns is None else self._checked_columns(columns)
        self.limit = arguments.non_negative("limit", limit)
        self.time_zone = None if time_zone is None else arguments.text("time_zone", time_zone)
        self._predicate = self._bound(where)
        self.collation_version = arguments.text("collation_version", collation_version)
        self._collations = Collations(collation_version)
        self._partition_truth = PartitionTruth(time_zone, self._collations.order)
        self.program: Program = self._rewritten(self._predicate)

    @property
    def predicate(self) -> Node:
        """The bound, normalised predicate; a TRUE literal where there is none."""
        return self._predicate

    @property
    def compares_collated(self) -> bool:
        """Whether a part of the predicate that may prune compares strings otherwise than by their bytes."""
        return any(
            isinstance(part, Collate) or (isinstance(part, FieldRef) and part.collation is not None)
            for part in walk(self._predicate)
        )

    def files(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.Table:
        """One row a file that may hold a matching row, in a stable order (checkpoint, then commits, as logged).

        Columns: path (decoded), uri (absolute, encoded), size (bytes), modification_time, partition_values (struct,
        typed by the schema), num_records, deletion_vector (struct or null), base_row_id, default_row_commit_version,
        and with stats=True `stats`, the statistics as JSON text. columns: only these of them, read and made alone.
        """
        names = self._file_columns(stats, columns)
        tables, proved = [empty_table(files_schema(self.snapshot, names))], []
        for found in each_candidate(self.snapshot, self.program, partial(self._files_of, names)):
            if found is not None:
                tables.append(found[0])
                proved.append(found[1])
        table = pa.concat_tables(tables)
        chosen = None if self.limit is None or not proved else fewest_files(pa.concat_arrays(proved), self.limit)
        return table if chosen is None else table.take(chosen)

    def paths(self) -> list[str]:
        """Paths of the kept files as `spark.read.parquet(*paths)` takes them: decoded, glob characters escaped.

        Deleted rows and partition values are not in those files: `to_spark` reads the table's rows. Other readers want
        the column `uri` of `files()`.
        """
        root = self.snapshot.table_root
        if self.limit is not None:
            return [escape_globs(hadoop_path(root, uri)) for uri in self.files(columns=["uri"])["uri"].to_pylist()]
        found: list[str] = []
        for located, odd in each_candidate(self.snapshot, self.program, self._locations):
            paths = located.to_pylist()
            found += map(escape_globs, paths) if odd else paths
        return found

    def total_files(self) -> int:
        """Number of files in the snapshot."""
        return self.snapshot.num_files

    def count(self) -> int:
        """Number of rows that match, from the log alone: exact, deletion vectors counted off.

        Raises PredicateError with the reason where the log does not prove it.
        """
        count = exact_count(self.snapshot, self.program, self._may_not, self._lane)
        return count if self.limit is None else min(count, self.limit)

    def min(self, column: str) -> Any:
        """The least value of `column` in the rows that match, from the log alone; None where there is none but NULL.

        column: a name as in SQL, `a.b` for a field of a struct. Returns int, float, bool, str, Decimal, date or, of a
        partition column, datetime. Raises PredicateError with the reason where the log does not prove it.
        """
        return self._extreme(column, "min")

    def max(self, column: str) -> Any:
        """The greatest value of `column` in the rows that match; see `min`. NaN is greater than any number."""
        return self._extreme(column, "max")

    def _extreme(self, column: str, side: Side) -> Any:
        if self.limit is not None:
            raise PredicateError(f"The {side}imum of a scan with a limit depends on which rows are taken.")
        named = parse_sql(arguments.text("column", column))
        if not isinstance(named, Column):
            raise PredicateError(f"{column!r} is not the name of a column.")
        resolved = resolve(self.snapshot.schema, named.parts, self.snapshot.mapping_mode)
        return exact_extreme(self.snapshot, self.program, self._may_not, self._lane, resolved, side, self.time_zone)

    def estimated_rows(self) -> int:
        """Rows of the kept files, those without a row count taken as the average; else no fewer than match."""
        return estimated_rows(self.snapshot, self.program, self._lane)

    def explain(self) -> Explain:
        """What each leaf of the predicate could prove, and how many files it dropped."""
        return explain(self.snapshot, self.program, self._lane)

    def to_spark(self, spark: Any) -> Any:
        """A DataFrame of exactly the rows of the table that match `where`, with the table's schema.

        spark: a SparkSession, classic or Connect. Needs pyspark (`pip install 'deltaskip[spark]'`).
        """
        return engine(f"Reading {self.snapshot.table_root} through Spark").scan_to_dataframe(spark, self)

    def _bound(self, where: object) -> Node:
        if where is None:
            return Literal(True, BOOLEAN)
        snapshot, zone = self.snapshot, self.time_zone or "UTC"
        try:
            node = parse_sql(where) if isinstance(where, str) else _node(where)
            return normalize(bind(node, snapshot.schema, snapshot.partition_columns, snapshot.mapping_mode, zone))
        except PredicateError as error:
            raise PredicateError(f"{error} (table {snapshot.table_root}, version {snapshot.version})") from error

    def _checked_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        names = arguments.texts("columns", columns)
        return tuple(resolve(self.snapshot.schema, [name]).logical[0] for name in names)

    def _keeps_all(self) -> bool:
        return isinstance(self._predicate, Literal) and self._predicate.value is True

    @cached_property
    def _may_not(self) -> Program:
        """Keeps the files that may hold a row which does not match."""
        return self._rewritten(not_true(self._predicate))

    def _rewritten(self, predicate: Node) -> Program:
        snapshot, zone = self.snapshot, self.time_zone or "UTC"
        columns, properties = snapshot.partition_columns, snapshot.properties
        return rewrite(predicate, snapshot.schema, snapshot.mapping_mode, zone, columns, properties, self._collations)

    def _file_columns(self, stats: bool, columns: Sequence[str] | None) -> tuple[str, ...]:
        if columns is None:
            return (*FILE_COLUMNS, "stats") if stats else FILE_COLUMNS
        names = arguments.texts("columns", columns)
        unknown = [name for name in names if name not in (*FILE_COLUMNS, "stats")]
        if unknown:
            raise InvalidArgument(
                f"A file list has no column {unknown[0]!r}; its columns are {', '.join(FILE_COLUMNS)} and stats."
            )
        return names

    def _files_of(self, names: Sequence[str], batch: Batch) -> tuple[pa.Table, pa.Array] | None:
        """The batch's kept files, and for a limit the rows of each that certainly match; None where none is kept."""
        kept = self._kept(batch)
        if kept is not None and not len(kept):
            return None
        proved = _NO_ROWS if self.limit is None else proved_rows(batch, kept, self._may_not, self._lane)
        return batch_files(batch, kept, names, self.time_zone), proved

    def _locations(self, batch: Batch) -> tuple[pa.Array, bool]:
        """Paths of the batch's kept files, and whether they may hold glob characters."""
        [paths] = batch.rows(["path"], self._kept(batch))
        root = self.snapshot.table_root
        return decoded(self.snapshot, partial(hadoop_paths, root), paths), may_hold_globs(root, paths)

    def _kept(self, batch: Batch) -> pa.Array | None:
        """Rows of the batch that are kept and part of the snapshot; None for all of them."""
        if self._keeps_all():
            return batch.live(None)
        lane = self._lane(self.program, batch)
        count = lane.count()
        if count == 0:
            return lane.indices()
        return batch.live(None if count == batch.num_rows else lane.indices())

    def _lane(self, program: Program, batch: Batch) -> Lane:
        batch.prepare(program)

        def partitions(term: PartitionTerm) -> Lane:
            return self._partition_truth.lane(term, lambda column: batch.partition(column.physical[0], column.type))

        return evaluate(program.root, batch.statistics, partitions)


def _node(where: object) -> Node:
    """A Python expression or a pyspark Column as a node."""
    return engine("A predicate of pyspark").column_to_node(where) if is_column(where) else to_node(where)
