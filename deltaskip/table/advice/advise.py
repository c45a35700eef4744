"""The advice for a table: changes of it are simulated on a sample, and compared with what queries read today.

A layout is simulated by a table in a temporary folder with the columns of the queries, whose files hold a few hundred
rows each: so partition values, statistics and their use are those of the real code.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions.partition_values import PartitionValueError, partition_texts
from deltaskip.data_files.append import add_rows, plan_append
from deltaskip.data_files.data import GivenRows
from deltaskip.data_files.data_file import add_of_new_file, parquet_schema, viewed
from deltaskip.data_files.parquet_writer import DataFileLayout, encoded_columns
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.files_to_change import kept_files, size_of_table
from deltaskip.errors import DeltaSkipError
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.maintenance.optimize.rewriting import RowOrder, placed
from deltaskip.maintenance.optimize.strategy import OptimizeRequest, curve_through, strategy_of
from deltaskip.reading import arrow_rows
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping.journal import TableQuery, noted, paused
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.skipping.table_coverage import table_coverage
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.values.arrow_values import exact_sum, one_chunk, tuple_codes
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.stats.footer import FileInMemory, read_footer
from deltaskip.storage import join, open_storage
from deltaskip.table.advice.advice import Suggestion, TableAdvice
from deltaskip.table.creation import TableDefinition, creation

_MOST_QUERIES = 500
_MOST_COLUMNS = 4
_MOST_PARTITIONS = 200
# A change is suggested if it saves at least this share of the bytes.
_WORTH = 0.2
_LEAST_FILE, _MOST_FILE = 64 << 20, 1 << 30
# Changes whose bytes differ by a smaller factor save about the same.
_SAME = 1.15
# Of a key column, the distinct values of the sample as a share of its rows.
_KEY = 0.5


@dataclass(frozen=True, slots=True)
class _Candidate:
    kind: str
    columns: tuple[t.Resolved, ...]
    # Bytes that each query would read.
    after: tuple[int, ...]


def advise(snapshot: Snapshot, queries: Sequence[object] | None, target_bytes: int | None) -> TableAdvice:
    """Return the advice for a version; see `DeltaTable.advise`."""
    asked = noted(snapshot.table_root) if queries is None else [TableQuery(each) for each in queries]
    with paused():
        return _Advisor(snapshot, _some(asked), target_bytes).advice()


def _some(queries: Sequence[TableQuery]) -> Sequence[TableQuery]:
    """At most 500 of the queries, which stand for the others; chosen at random, since kinds of them may alternate."""
    if len(queries) <= _MOST_QUERIES:
        return queries
    share = len(queries) / _MOST_QUERIES
    chosen = [queries[at] for at in sorted(Random(0).sample(range(len(queries)), _MOST_QUERIES))]
    return [TableQuery(each.where, each.by, each.limit, max(1, round(each.times * share))) for each in chosen]


class _Advisor:
    """What queries read today, and what they would read."""

    def __init__(self, snapshot: Snapshot, queries: Sequence[TableQuery], target_bytes: int | None) -> None:
        self._snapshot, self._queries = snapshot, queries
        self._scans = [_scan(snapshot, each) for each in queries]
        self._before = tuple(exact_sum(scan.files(columns=["size"])["size"]) for scan in self._scans)
        self._used = self._columns_of_queries()
        self._size = size_of_table(snapshot).bytes
        self._file_bytes = self._size / max(1, snapshot.num_files)
        own = target_bytes or snapshot.table_properties.target_file_bytes
        self._target = own or min(_MOST_FILE, max(_LEAST_FILE, round(self._file_bytes)))
        self._new_files = max(1, round(self._size / self._target))

    def advice(self) -> TableAdvice:
        snapshot = self._snapshot
        before = sum(size * query.times for size, query in zip(self._before, self._queries, strict=True))
        found: list[_Candidate] = []
        if before and self._used:
            sample = sampled(snapshot, [column.logical[0] for column in self._used], self._new_files)
            if sample.files:
                with TemporaryDirectory(prefix="deltaskip-") as folder:
                    found = [
                        *self._statistics(sample, Path(folder)),
                        *self._layouts(sample, Path(folder)),
                        *self._keys(sample),
                    ]
        totals = [sum(a * q.times for a, q in zip(each.after, self._queries, strict=True)) for each in found]
        # Of changes that save about the same, the one with fewer columns is first.
        order = sorted(
            (at for at in range(len(found)) if totals[at] <= (1 - _WORTH) * before),
            key=lambda at: (round(log(1 + totals[at], _SAME)), len(found[at].columns), totals[at]),
        )
        suggestions = [self._suggestion(found[at], before, totals[at]) for at in order]
        return TableAdvice(
            snapshot.table_root,
            snapshot.version,
            tuple(map(_text, self._queries)),
            tuple(query.times for query in self._queries),
            self._before,
            tuple(suggestions),
            tuple(found[at].after for at in order),
            self._size,
        )

    def _columns_of_queries(self) -> list[t.Resolved]:
        """The columns of data that queries use, those of the most bytes first."""
        leaves = {column.logical: column for column in t.leaves(self._snapshot.schema, self._snapshot.mapping_mode)}
        partitions = {t.fold_name(name) for name in self._snapshot.partition_columns}
        weights = Counter[tuple[str, ...]]()
        for scan, query, size in zip(self._scans, self._queries, self._before, strict=True):
            nodes = [scan.predicate, *(term.node for term in scan.order)]
            used = {parts for node in nodes for parts in columns_of(node)}
            for parts in used:
                if parts in leaves and t.fold_name(parts[0]) not in partitions:
                    weights[parts] += size * query.times
        return [leaves[parts] for parts, _ in weights.most_common()]

    def _statistics(self, sample: Sample, folder: Path) -> Iterator[_Candidate]:
        """Bounds of the columns, where files lack them."""
        known = {each.name: each for each in table_coverage(self._snapshot, depth=False).columns}
        lacking = []
        for column in self._used:
            coverage = known.get(t.display_name(column.logical))
            bounded = None if coverage is None else coverage.files_with_bounds
            if bounded is not None and bounded < self._snapshot.num_files:
                lacking.append(column)
        if lacking:
            after = self._after(sample, sample.as_it_is(), folder / "statistics", self._snapshot.num_files)
            yield _Candidate("statistics", tuple(lacking), after)

    def _layouts(self, sample: Sample, folder: Path) -> Iterator[_Candidate]:
        """Orders of rows by one to three of the columns, and partitions."""
        used = [column for column in self._used if self._can_order(column)][:_MOST_COLUMNS]
        sets: list[tuple[t.Resolved, ...]] = [(column,) for column in used]
        sets += [each for count in (2, 3) for each in itertools.combinations(used[:3], count)]
        if self._new_files > 1:
            for at, columns in enumerate(sets):
                files = sample.ordered(columns, self._new_files)
                yield _Candidate("order", columns, self._after(sample, files, folder / f"order-{at}", self._new_files))
        for at, column in enumerate(
            () if sample.partition_columns or self._is_clustered else self._used[:_MOST_COLUMNS]
        ):
            name = column.logical[0]
            count = sample.distinct(name) if len(column.logical) == 1 else None
            if count is not None and 1 < count <= min(_MOST_PARTITIONS, 2 * self._new_files):
                try:
                    after = self._after(sample, sample.partitioned(name), folder / f"partitions-{at}", count, (name,))
                except PartitionValueError:  # the log has no text for some bytes
                    continue
                yield _Candidate("partitioning", (column,), after)

    @property
    def _is_clustered(self) -> bool:
        return has_feature(self._snapshot.protocol, "clustering")

    def _can_order(self, column: t.Resolved) -> bool:
        """Whether OPTIMIZE orders rows by the column: not by maps, for example, or without statistics."""
        if self._is_clustered:
            return not isinstance(column.type, t.ArrayType | t.MapType | t.StructType)
        try:
            strategy_of(self._snapshot, OptimizeRequest(zorder_by=(t.display_name(column.logical),)))
        except DeltaSkipError:
            return False
        return True

    def _after(
        self, sample: Sample, files: Sequence[pa.Table], folder: Path, real_files: int, partition_by: Sequence[str] = ()
    ) -> tuple[int, ...]:
        """The bytes that each query would read, if the table had these files."""
        by = partition_by or sample.partition_columns
        snapshot = simulated(str(folder), sample.schema, files, by)
        rows = sum(len(each) for each in files)
        after = []
        for query, today in zip(self._queries, self._before, strict=True):
            try:
                kept = _scan(snapshot, query).files(columns=["num_records"])["num_records"]
            except DeltaSkipError:  # a query that only the table itself can answer
                after.append(today)
                continue
            share = exact_sum(kept) / rows
            if len(files) < real_files and len(kept):
                # A query reads one file more than its share of the rows, and the table's files are smaller.
                share = max(0.0, share - 1 / len(files)) + 1 / real_files
            after.append(round(share * self._size))
        return tuple(after)

    def _keys(self, sample: Sample) -> Iterator[_Candidate]:
        """The key index, and Bloom filters, of columns with many values that queries look up."""
        properties = self._snapshot.table_properties
        has = {"index": properties.key_index_columns, "bloom": properties.bloom_columns}
        rows = len(sample.rows)
        for column in self._used:
            count = sample.distinct(column.logical[0]) if len(column.logical) == 1 else None
            if count is None or count < _KEY * rows:
                continue
            after = []
            for scan, today in zip(self._scans, self._before, strict=True):
                keys = _sought(scan.predicate, column.logical)
                # A key is in as many files as it has rows.
                after.append(today if keys is None else min(today, round(keys * self._file_bytes * rows / count)))
            for kind, columns in has.items():
                if column.logical not in columns and (kind != "bloom" or self._file_bytes > arrow_rows.SMALL_BYTES):
                    yield _Candidate(kind, (column,), tuple(after))

    def _suggestion(self, found: _Candidate, before: int, after: int) -> Suggestion:
        columns = tuple(t.display_name(column.logical) for column in found.columns)
        gaining = tuple(at for at, size in enumerate(found.after) if size < self._before[at])
        return Suggestion(found.kind, columns, self._command(found.kind, columns), before, after, gaining)

    def _command(self, kind: str, columns: tuple[str, ...]) -> str:
        names = repr(list(columns))
        match kind:
            case "order":
                own = self._snapshot.table_properties.target_file_bytes
                size = "" if self._target == own else f", target_file_bytes={self._target}"
                if self._is_clustered:
                    return f"t.alter(ds.ClusterBy({', '.join(map(repr, columns))})); t.optimize(full=True{size})"
                return f"t.optimize(zorder_by={names}{size})"
            case "partitioning":
                return f"ds.write(NEW_PATH, t.scan().to_batches(), partition_by={names})"
            case "statistics":
                return f"t.recompute_stats(columns={names})"
            case "bloom":
                return f"t.optimize(bloom={names})"
            case _:
                has = self._snapshot.table_properties.key_index_columns
                key = f'"{TableProperties.key_index_columns.name}", {",".join((*map(t.display_name, has), *columns))!r}'
                return f"t.alter(ds.SetProperty({key})); t.recompute_stats(columns=[], index=True)"


def _scan(snapshot: Snapshot, query: TableQuery) -> TableScan:
    scan = TableScan(snapshot, ReadOptions(query.where))
    return scan.top(query.limit or 1, list(query.by)) if query.by else scan


def _text(query: TableQuery) -> str:
    where = "every row" if query.where is None else str(query.where)
    return f"{where}, first {query.limit} by {', '.join(query.by)}" if query.by else where


def _sought(node: n.Node, column: tuple[str, ...]) -> int | None:
    """The number of constants to which the predicate compares a column, if only rows that equal one of them match."""
    match node:
        case n.And(children):
            found = [count for child in children if (count := _sought(child, column)) is not None]
            return min(found, default=None)
        case n.Or(children):
            each = [_sought(child, column) for child in children]
            return None if None in each else sum(count for count in each if count is not None)
        case n.In(n.FieldRef() as child, values) if child.logical == column:
            return len(values)
        case n.Compare("=", n.FieldRef() as left, n.Literal()) if left.logical == column:
            return 1
    return None


_MOST_FILES = 256
_MOST_SIMULATED = 400
_ROWS_PER_FILE = 250
_FILE = "{}.parquet"
_FILLER = "_deltaskip_filler"
# What a field of a simulated table keeps of its metadata: the collation, and the length of CHAR and VARCHAR.
_DROPPED = ("delta.", "CURRENT_DEFAULT", "EXISTS_DEFAULT")


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a table.

    Attributes:
        schema: The columns that queries use, with the partition columns.
        partition_columns: Names of the partition columns.
        files: Rows of each file that was read.
    """

    schema: t.StructType
    partition_columns: tuple[str, ...]
    files: tuple[pa.Table, ...]

    @property
    def rows(self) -> pa.Table:
        """The rows of all files."""
        return pa.concat_tables(self.files)

    def distinct(self, column: str) -> int | None:
        """Return the number of distinct values of a column in the sample; None for nested columns."""
        values = self.rows[column] if column in self.rows.column_names else None
        return None if values is None or pa.types.is_nested(values.type) else int(pc.count_distinct(values).as_py())

    def as_it_is(self) -> list[pa.Table]:
        """Return the rows in files as they are now."""
        return list(self.files)

    def ordered(self, columns: Sequence[t.Resolved], new_files: int) -> list[pa.Table]:
        """Return the rows in files as OPTIMIZE would write them, ordered along a curve within each partition.

        Args:
            columns: The columns that order them.
            new_files: Number of files of the whole table after it.
        """
        count = min(new_files, _MOST_SIMULATED)
        rows = self.rows
        found = []
        for part in self._partitions(rows, self.partition_columns):
            share = max(1, round(count * len(part) / max(1, len(rows))))
            order = placed(part.to_batches(), RowOrder(tuple(columns), curve_through(columns), share))
            ends = (np.arange(1, share + 1) * len(order)) // share
            starts = np.concatenate([[0], ends[:-1]])
            found += [part.take(pa.array(order[start:end])) for start, end in zip(starts, ends, strict=True)]
        return [each for each in found if len(each)]

    def partitioned(self, column: str) -> list[pa.Table]:
        """Return the rows in one file for each value of a column."""
        return list(self._partitions(self.rows, (column,)))

    def _partitions(self, rows: pa.Table, names: Sequence[str]) -> Iterator[pa.Table]:
        if not names:
            yield rows
            return
        codes = tuple_codes([rows[name] for name in names], len(rows))
        for code in np.unique(codes):
            yield rows.filter(pa.array(codes == code))


def sampled(snapshot: Snapshot, columns: Sequence[str], new_files: int) -> Sample:
    """Return a sample of the rows of a version, from at most 256 files at even distances in the order of the log.

    Args:
        snapshot: The version.
        columns: Names of its columns that are read.
        new_files: Number of files into which the rows will be divided.
    """
    files = kept_files(Scan(snapshot))
    places = np.unique(np.linspace(0, len(files) - 1, min(len(files), _MOST_FILES)).astype(int)).tolist()
    chosen = files.take(places)
    wanted = max(_ROWS_PER_FILE, -(-min(new_files, _MOST_SIMULATED) * _ROWS_PER_FILE // max(1, len(places))))
    names = {t.fold_name(name) for name in (*columns, *snapshot.partition_columns)}
    fields = [field for field in snapshot.schema.fields if t.fold_name(field.name) in names]
    execution = ArrowExecution(snapshot, "UTC")
    found = []
    for at in range(len(chosen)):
        rows = chosen.live_rows[at].as_py()
        step = max(1, (rows or 0) // wanted)
        read = execution.rows(
            [RowsOfFiles(chosen.take([at]).listed)], t.StructType(tuple(fields)), None, snapshot.mapping_mode
        )
        parts = [batch.take(pa.array(np.arange(0, batch.num_rows, step))) for batch in read]
        if parts:
            found.append(pa.Table.from_batches(parts))
    plain = [replace(field, nullable=True, metadata=_kept(field)) for field in fields]
    return Sample(t.StructType(tuple(plain)), tuple(snapshot.partition_columns), tuple(found))


def _kept(field: t.StructField) -> dict[str, object]:
    return {key: value for key, value in field.metadata.items() if not key.startswith(_DROPPED)}


def simulated(
    folder: str, schema: t.StructType, files: Sequence[pa.Table], partition_columns: Sequence[str]
) -> Snapshot:
    """Return a new table with the given rows in each file.

    Args:
        folder: Its folder, which does not exist.
        schema: Its columns.
        files: The rows of each file, which belong to one partition.
        partition_columns: Names of the partition columns.
    """
    properties = {TableProperties.num_indexed_columns.name: "-1", TableProperties.mapping_mode.name: "name"}
    if len(partition_columns) == len(schema.fields):  # a table needs a column that is not one of them
        schema = t.StructType((*schema.fields, t.StructField(_FILLER, t.BOOLEAN)))
    storage, root = open_storage(folder)
    transaction = creation(storage, root, TableDefinition(schema, partition_columns, properties=properties))
    rows = GivenRows(pa.concat_tables(files))
    planned = plan_append(transaction, rows.schema_for(transaction.schema), "keep", "UTC", rows.collation_version)
    stored = ArrowRows(planned.rows, planned.layout.time_zone).stream(rows.batches(root))
    add_rows(transaction, planned, _described(list(stored), [len(each) for each in files], planned.layout))
    transaction.commit()
    return load_snapshot(storage, root)


def _described(batches: Sequence[pa.RecordBatch], counts: Sequence[int], layout: DataFileLayout) -> WrittenRows:
    """The actions of files with so many rows each. They are the row groups of the first, the only one that exists."""
    fields, mode = layout.schema.fields, layout.mapping_mode
    kept = [at for at, field in enumerate(fields) if field.name not in layout.partition_columns]
    schema, kept = parquet_schema(layout.schema, kept, mode)
    rows = pa.Table.from_batches(batches)
    parts = [
        pa.RecordBatch.from_arrays(
            [viewed(batch.column(fields[at].name), of.type) for at, of in zip(kept, schema, strict=True)], schema=schema
        )
        for batch in batches
    ]
    data, _ = encoded_columns(pa.Table.from_batches(parts), counts, layout, StatisticsRequest((), ()))
    # The commit that creates a table looks for its first file.
    layout.storage.put_if_absent(join(layout.root, _FILE.format(0)), bytes(data))
    file, reader = FileInMemory(pa.py_buffer(data)), FileReader(layout.request, exact_floats=True)
    footer = read_footer(file, layout.root)
    firsts = pa.array(np.cumsum([0, *counts[:-1]]))
    texts = {
        t.physical_name(field, mode): partition_texts(one_chunk(rows[field.name].take(firsts)), field.type).to_pylist()
        for field in layout.partition_fields()
    }
    adds = []
    for at in range(len(counts)):
        facts = reader.facts(file, layout.root, row_groups=[at], footer=footer)
        values = {name: column[at] for name, column in texts.items()}
        adds.append(add_of_new_file(_FILE.format(at), values, 1, stats_json(facts, layout.request), layout.request))
    return WrittenRows(tuple(adds), len(rows))
