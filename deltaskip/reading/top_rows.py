"""The first rows of a scan in an order, read in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.doors import door
from deltaskip.errors import UnsupportedFeature
from deltaskip.log import same_table
from deltaskip.progress import Progress, table_name
from deltaskip.reading.arrow_rows import READ_COLUMNS, arrow_schema_of, batches_of, little_files, record_batch
from deltaskip.reading.metrics import ReadCounts, ScanMetrics
from deltaskip.reading.selected_columns import of_columns
from deltaskip.records import dataclass
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.row_order import OrderTerm
from deltaskip.skipping.top_files import ordered_files, parts_of
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import Collation, Collations
from deltaskip.sparkexpr.comparison_collation import compared_collations, comparison_collation
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.nodes import FieldRef
from deltaskip.sparkexpr.values import ordered_floats
from deltaskip.sparkexpr.values.arrow_values import domain_values, exact_sum, nested_value, no_rows, one_chunk

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan, TopScan

_LEAST_HELD = 1 << 14
"""Rows that are held before those that are not among the first are dropped."""
_LEFT_BYTES = 16 << 20
"""Bytes of local files that are read at once if what was read rules none of them out."""
_CURE = "Sort them with to_spark(spark) instead."


class _FirstRows:
    """The first rows among those that were added.

    Args:
        keys: The terms of the order.
        count: How many rows are wanted.
        schema: The schema of the rows.
    """

    def __init__(self, keys: Sequence[SortKey], count: int, schema: pa.Schema) -> None:
        self._keys = keys
        self._count = count
        self._schema = schema
        self._held: list[pa.Table] = []
        self._rows = 0

    def add_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Add the rows of batches."""
        for batch in batches:
            if batch.num_rows:
                self._add(batch)

    def _add(self, batch: pa.RecordBatch) -> None:
        values = [key.values(batch) for key in self._keys]
        keys = [key.keys(each) for key, each in zip(self._keys, values, strict=True)]
        # Columns are found by their places, because the table's may have any names.
        self._held.append(pa.table([*batch.columns, *keys, values[0]], [""] * (batch.num_columns + len(keys) + 1)))
        self._rows += batch.num_rows
        if self._rows > 2 * max(self._count, _LEAST_HELD):
            self._shrink()

    def _shrink(self) -> pa.Table | None:
        """Drop the rows that are not among the first, and return the others in their order."""
        if not self._held:
            return None
        table = pa.concat_tables(self._held).combine_chunks()
        start = len(self._schema)
        keys = [one_chunk(column) for column in table.columns[start : start + len(self._keys)]]
        found = first_rows(self._keys, keys, self._count)
        self._held = [table.take(found)]
        self._rows = len(found)
        return self._held[0]

    def last(self) -> pa.Array | None:
        """Return the value of the first term in the last wanted row, as an array; None if there are fewer rows."""
        table = self._shrink()
        if table is None or len(table) < self._count:
            return None
        return one_chunk(table.columns[-1].slice(len(table) - 1))

    def table(self) -> pa.Table:
        """Return the first rows in their order."""
        table = self._shrink()
        if table is None:
            return no_rows(self._schema)
        return pa.table(table.columns[: len(self._schema)], schema=self._schema)


@door
def top_batches(scan: TopScan, finished: Callable[[ScanMetrics], None]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the scan in their order."""
    number = scan.limit or 0
    if not number:
        return
    counts = ReadCounts()
    snapshot, rows = scan.snapshot, _of_columns(scan)
    keys = [SortKey.of(rows, term) for term in scan.terms]
    found, little = _FirstRows(keys, number, arrow_schema_of(rows)), little_files(rows)
    scan.note_order()
    if little is not None:
        counts.plan_ends()
        read, size = len(little), exact_sum(little["size"])
        with same_table(snapshot):
            found.add_all(batches_of(rows, little, counts))
    else:
        read, size = _read_in_order(scan, rows, found, counts)
    table = found.table()
    finished(counts.metrics("Read the first rows of", snapshot, read, size, len(table)))
    yield from _selected(scan, table)


def _read_in_order(scan: TopScan, rows: TableScan, found: _FirstRows, counts: ReadCounts) -> tuple[int, int]:
    """Add the rows of files in the order of their bounds, until no other can have one. Returns files and bytes."""
    snapshot, left = scan.snapshot, ordered_files(scan.pruned.compiled, scan.terms[0])
    counts.plan_ends()
    every = current = rows.narrowed(None, scan.certain)
    read = size = steps = 0
    is_stuck = False
    with (
        same_table(snapshot),
        Progress(f"Reading {table_name(snapshot.table_root)}", len(left), unit="files") as bar,
    ):
        for count in parts_of(left, scan.limit or 0):
            if is_stuck and not snapshot.storage.remote and size // read * len(left) <= _LEFT_BYTES:
                # A further step takes longer than reading the rest.
                count = len(left)
            files, left = left.split(count, READ_COLUMNS)
            read, size = read + len(files), size + exact_sum(files["size"])
            found.add_all(batches_of(current, files, counts))
            bar.advance(len(files))
            last = found.last() if len(left) else None
            threshold = _threshold(scan.terms, last)
            steps, before = steps + 1, len(left)
            if threshold is not None:
                current = every.narrowed(None, threshold)
                left = left.kept_by(current.compiled)
            # The first step rules few files out if all overlap.
            is_stuck = threshold is None or (steps > 1 and len(left) == before)
            if not len(left):
                break
    return read, size


def _of_columns(scan: TopScan) -> TableScan:
    """The scan of all rows with the top-level columns that are returned, and those of the order."""
    rows = scan.every_row.at_one_time()
    names = [path[0] for path in rows.paths_by_name.values()]
    for term in scan.terms:
        names += sorted(n.top_level_columns(term.node))
    return of_columns(rows, names)


def _threshold(terms: Sequence[OrderTerm], last: pa.Array | None) -> n.Node | None:
    """The condition of the rows that can be among the first, if `last` has the last value; None for every row."""
    if last is None or not terms[0].prunes:
        return None
    [value] = domain_values(last)
    return terms[0].not_behind(value, strict=len(terms) == 1)


def _selected(scan: TopScan, table: pa.Table) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema_of(scan)
    paths = scan.paths_by_name.values()
    for batch in table.to_batches():
        arrays = [nested_value(batch.column(path[0]), path[1:]) for path in paths]
        yield record_batch(arrays, schema, batch.num_rows)


@dataclass(frozen=True, slots=True)
class SortKey:
    """Computes the values of a term of an order, and their sort keys.

    Attributes:
        term: The term.
        expression: Evaluates it; None for a column.
        collation: The collation of its strings; None if they are compared by their bytes.
        table: The location of the table, for messages.
    """

    term: OrderTerm
    expression: LocalExpression | None
    collation: Collation | None
    table: str

    @classmethod
    def of(cls, scan: LogScan, term: OrderTerm) -> SortKey:
        """Return the sort key of a term. Raises UnsupportedFeature if only Spark sorts by it."""
        table, node = scan.snapshot.root, term.node
        if not t.is_ordered(term.type) and term.type != t.VOID and not term.padded:
            kind = "values of a type that is not known" if term.type is None else t.simple_string(term.type).upper()
            raise UnsupportedFeature(f"Rows of {table} cannot be sorted by {to_sql(term.given.node)}, {kind}. {_CURE}")
        collations = Collations(scan.collation_version)
        expression = None
        if not isinstance(node, FieldRef):
            place = EvaluationPlace(f"the table {table}", _CURE, "")
            zone = scan.time_zone or "UTC"
            evaluated = collations if compared_collations(node) else None
            options: dict[str, Any] = {"time_zone": zone, "collations": evaluated, "ansi": scan.in_ansi}
            expression = LocalExpression(node, scan.snapshot.schema, place, **options)
        named = comparison_collation(node) if term.type == t.STRING else None
        collation = None if named is None else collations.evaluator(named)
        if named is not None and (collation is None or not collation.exact_keys):
            why = collations.unavailable(named) if collation is None else f"its keys do not have the order of {named}"
            raise UnsupportedFeature(f"Rows of {table} cannot be sorted by {to_sql(term.given.node)}: {why}. {_CURE}")
        return cls(term, expression, collation, table)

    def values(self, rows: pa.RecordBatch) -> pa.Array:
        """Return the value of the term for each row. rows: Top-level columns of the table by their names."""
        columns = {name: one_chunk(rows.column(name)) for name in rows.schema.names}
        if self.expression is not None:
            return self.expression.values(columns, rows.num_rows)
        assert isinstance(self.term.node, FieldRef)
        name, *fields = self.term.node.logical
        return pc.struct_field(columns[name], fields) if fields else columns[name]

    def keys(self, values: pa.Array) -> pa.Array:
        """Return sort keys of values, which Arrow sorts as Spark sorts the values; NULL stays NULL."""
        if self.collation is not None:
            if not pc.all(self.collation.trusts_each(values)).as_py() and len(values) > values.null_count:
                raise UnsupportedFeature(
                    f"Rows of {self.table} cannot be sorted by {to_sql(self.term.given.node)}: its strings have "
                    f"characters that versions of {self.collation.id} order differently. {_CURE}"
                )
            return self.collation.sort_keys(values)
        if pa.types.is_floating(values.type):
            return ordered_floats(values)
        return values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values


def first_rows(keys: Sequence[SortKey], columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Return the positions of the first rows in their order.

    Args:
        keys: The terms of the order.
        columns: The sort keys of each term.
        count: The most rows.
    """
    sorted_by: list[tuple[str, str]] = []
    arrays: list[pa.Array] = []
    for number, (key, column) in enumerate(zip(keys, columns, strict=True)):
        given = key.term.given
        if column.null_count:
            arrays.append(pc.is_null(column).cast(pa.int8()))
            sorted_by.append((f"null {number}", "descending" if given.nulls_first else "ascending"))
        arrays.append(column)
        sorted_by.append((f"key {number}", "descending" if given.descending else "ascending"))
    table = pa.table(arrays, [name for name, _ in sorted_by])
    return pc.sort_indices(table, sort_keys=sorted_by).slice(0, count)
