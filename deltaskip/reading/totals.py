"""Totals of the matching rows: from the log where it proves them, and from as few files as possible otherwise.

Counts add up over files: those of certain files come from the log, the others are read. An extreme is the outermost of
the values that are known, after every file was read whose bound is further out (docs/pages/soundness.md, Totals).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import NotProvable, UnsupportedFeature
from deltaskip.log import same_table
from deltaskip.progress import Progress, table_name
from deltaskip.reading.aggregates import Aggregate
from deltaskip.reading.arrow_rows import READ_COLUMNS, batches_of, little_files
from deltaskip.reading.metrics import ReadCounts, ScanMetrics
from deltaskip.reading.selected_columns import of_columns
from deltaskip.records import dataclass
from deltaskip.skipping.comparable import comparable, joined, restored
from deltaskip.skipping.file_totals import UNKNOWN, Extreme, FileTotals, file_totals
from deltaskip.skipping.partition_columns import as_in_rows
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.values.arrow_values import (
    arrow_array,
    arrow_scalar,
    exact_sum,
    filled,
    nested_value,
    numpy_values,
    one_chunk,
    tuple_codes,
)
from deltaskip.stats.layout import Side

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan

_CURE = "Group the rows of to_polars(lazy=True), to_duckdb() or to_spark(spark) instead."
_COUNT = "rows"


@dataclass(frozen=True, slots=True)
class GroupKey:
    """An expression over partition columns, by whose values rows are grouped.

    Attributes:
        name: Its column in the answer.
        node: The expression, bound.
        expression: Evaluates it; None for a column.
    """

    name: str
    node: n.Node
    expression: LocalExpression | None

    @classmethod
    def of(cls, scan: TableScan, name: str, node: n.Node) -> GroupKey:
        """Return the key of a bound expression. Raises UnsupportedFeature if groups by it need rows, or Spark."""
        snapshot = scan.snapshot
        partitions = {each.name for each in snapshot.partition_fields}
        table = snapshot.root
        others = sorted(t.display_name(path) for path in n.columns_of(node) if path[0] not in partitions)
        if others or not n.columns_of(node):
            why = f"{others[0]} is not a partition column" if others else "it names no column"
            raise UnsupportedFeature(f"Rows of {table} are not grouped by {name} from the log: {why}. {_CURE}")
        collated = [each for each in n.walk(node) if isinstance(each, n.FieldRef) and each.collation is not None]
        kind = type_of(node)
        if collated or not isinstance(kind, t.PrimitiveType | t.DecimalType) or kind == t.VARIANT:
            why = "its strings have a collation" if collated else "its type is not known or not simple"
            raise UnsupportedFeature(f"Rows of {table} are not grouped by {name} from the log: {why}. {_CURE}")
        if isinstance(node, n.FieldRef):
            return cls(name, node, None)
        place = EvaluationPlace(f"the table {table}", _CURE, "")
        zone = scan.time_zone or "UTC"
        return cls(name, node, LocalExpression(node, snapshot.schema, place, time_zone=zone, ansi=scan.in_ansi))

    @property
    def type(self) -> t.DataType:
        """The type of its values."""
        found = type_of(self.node)
        assert found is not None
        return found

    def values(self, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
        """Return its value for each row. columns: The partition columns."""
        if self.expression is not None:
            return self.expression.values(columns, rows)
        assert isinstance(self.node, n.FieldRef)
        return columns[self.node.logical[0]]


def totals(
    scan: TableScan, keys: Sequence[GroupKey], aggregates: Sequence[Aggregate], most_bytes: int | None = None
) -> tuple[pa.Table, ScanMetrics]:
    """Return a row for each group, with its keys and aggregates, in the order of the keys; and what was read.

    Args:
        scan: The scan of the rows, without a limit.
        keys: The keys of the groups; none for one row.
        aggregates: What to compute.
        most_bytes: The most bytes of files to read; None for no limit.

    Raises:
        NotProvable: More bytes would have to be read.
    """
    counts = ReadCounts()
    scan = scan.at_one_time()
    facts = _facts(scan, aggregates)
    counts.plan_ends()
    with same_table(scan.snapshot):
        work = _Totals(scan, keys, aggregates, facts, counts, most_bytes)
        work.read(work.uncounted() | work.existing())
        work.read_extremes()
        table = work.table()
    files = int(work.was_read.sum())
    return table, counts.metrics("Totals of", scan.snapshot, files, work.bytes_read, len(table))


def _facts(scan: TableScan, aggregates: Sequence[Aggregate]) -> FileTotals:
    counted: dict[tuple[str, ...], t.Resolved] = {}
    extremes: dict[Extreme, tuple[t.Resolved, Side]] = {}
    for each in aggregates:
        if each.column is None:
            continue
        if each.kind == "min" or each.kind == "max":
            extremes[each.column.logical, each.kind] = each.column, each.kind
        else:
            counted[each.column.logical] = each.column
    # Reading the rows of a small table takes less time than asking the log for extremes.
    is_little = bool(extremes) and little_files(scan) is not None
    return file_totals(scan.compiled, list(counted.values()), list(extremes.values()), unknown=is_little)


class _Totals:
    """Adds up the totals of groups.

    Args:
        scan: The scan of the rows.
        keys: The keys of the groups.
        aggregates: What is computed.
        facts: What the log says of each file.
        counts: Counts row groups.
        bytes_left: How many bytes of files may still be read; None for any number.
    """

    def __init__(
        self,
        scan: TableScan,
        keys: Sequence[GroupKey],
        aggregates: Sequence[Aggregate],
        facts: FileTotals,
        counts: ReadCounts,
        bytes_left: int | None,
    ) -> None:
        self.scan, self.keys, self.aggregates, self.facts, self.counts = scan, keys, aggregates, facts, counts
        # The group of each file, and the values of the keys in each group that may have rows.
        self.groups, self.values = _grouped(scan, keys, facts)
        self.group_count = len(self.values[0]) if keys else 1
        # Which files were read, and how many bytes of them.
        self.was_read, self.bytes_read, self.bytes_left = np.zeros(len(self.groups), bool), 0, bytes_left
        # For each group whether it has a row.
        self.known = np.zeros(self.group_count, bool)
        # For each group the rows, by "rows", and those with values, by the path of a column.
        self.sums: dict[Any, np.ndarray] = {}
        # For each extreme the outermost known value of each group, as a comparable value.
        self.best: dict[Extreme, pa.Array] = {}

    def uncounted(self) -> np.ndarray:
        """The files whose rows must be counted by reading them."""
        facts = self.facts
        unknown = np.zeros(len(facts.rows), bool)
        for each in self.aggregates:
            if each.kind in ("min", "max"):
                continue
            unknown |= ~facts.certain
            if each.kind in ("rows", "null"):
                unknown |= facts.rows == UNKNOWN
            if each.column is not None:
                unknown |= facts.not_null[each.column.logical] == UNKNOWN
        found: np.ndarray = unknown & (facts.rows != 0)
        return found

    def existing(self) -> np.ndarray:
        """The files that must be read to know whether their group has a row."""
        facts = self.facts
        present = facts.certain & (facts.rows > 0)
        self.known[self.groups[present]] = True
        if not self.keys:
            return np.zeros(len(facts.rows), bool)
        found: np.ndarray = ~self.known[self.groups] & (facts.rows != 0)
        return found

    def read(self, chosen: np.ndarray) -> None:
        """Read files, and add up the totals of these and of the files that need no reading.

        chosen: Which files to read.
        """
        facts, certain = self.facts, ~chosen & self.facts.certain
        self.sums[_COUNT] = self._added(np.where(certain, np.maximum(facts.rows, 0), 0))
        for path, rows in facts.not_null.items():
            self.sums[path] = self._added(np.where(certain, np.maximum(rows, 0), 0))
        for key, found in facts.extremes.items():
            exact = arrow_array(found.exact & ~chosen)
            self.best[key] = self._outermost(key, found.edges.filter(exact), self.groups[numpy_values(exact)])
        self._read_files(chosen, counting=True)

    def _added(self, rows: np.ndarray) -> np.ndarray:
        found = np.zeros(self.group_count, np.int64)
        np.add.at(found, self.groups, rows)
        return found

    def _outermost(self, key: Extreme, values: pa.Array, groups: np.ndarray) -> pa.Array:
        """The outermost value of each group, null for a group without one."""
        side = key[1]
        if pa.types.is_null(values.type):
            return pa.nulls(self.group_count)
        if self.group_count == 1:
            return pa.repeat((pc.min if side == "min" else pc.max)(values), 1)
        table = pa.table([arrow_array(groups.astype(np.int64)), values], ["group", "value"])
        found = table.group_by("group").aggregate([("value", side)])
        places = np.full(self.group_count, len(found), np.int64)
        places[numpy_values(found["group"])] = np.arange(len(found))
        padded = pa.concat_arrays([one_chunk(found[f"value_{side}"]), pa.nulls(1, values.type)])
        return padded.take(arrow_array(places))

    def read_extremes(self) -> None:
        """Read the files whose bounds are further out than the values that are known, the furthest first."""
        for key, found in self.facts.extremes.items():
            count = 1
            while True:
                left = self._further_out(key)
                chosen = left & _furthest(found.edges, self.groups, left, key[1], count)
                if not chosen.any():
                    break
                self._read_files(chosen)
                count *= 2

    def _further_out(self, key: Extreme) -> np.ndarray:
        """The files that may have a value further out than the known ones of their group."""
        found = self.facts.extremes[key]
        left: np.ndarray = ~self.was_read & ~found.exact & ~found.none & (self.facts.rows != 0)
        best = self.best[key]
        if pa.types.is_null(found.edges.type) or pa.types.is_null(best.type):
            return left
        compare = pc.less if key[1] == "min" else pc.greater
        beyond = compare(found.edges, best.take(arrow_array(self.groups)))
        left &= numpy_values(filled(beyond, True))
        return left

    def _read_files(self, chosen: np.ndarray, counting: bool = False) -> None:
        """Read files. counting: Whether their rows are not in `sums` yet."""
        if not chosen.any():
            return
        places = np.flatnonzero(chosen)
        size = exact_sum(self.facts.files.listed(places, ["size"])["size"])
        self.bytes_read += size
        if self.bytes_left is not None:
            self.bytes_left -= size
            if self.bytes_left < 0:
                raise NotProvable(
                    f"The log of {self.scan.snapshot.table_root} at version {self.scan.snapshot.version} does not "
                    f"prove the totals, and the files that decide are large: read them with aggregate()."
                )
        scan, files = self._of_columns(), self.facts.files.listed(places, READ_COLUMNS)
        table = self.scan.snapshot.table_root
        with Progress(f"Reading {table_name(table)}", size) as progress:
            for batch in batches_of(scan, files, self.counts, progress.advance):
                if batch.num_rows:
                    self._add_rows(batch, counting)
        self.was_read |= chosen

    def _of_columns(self) -> TableScan:
        names = [each.column.logical[0] for each in self.aggregates if each.column is not None]
        for key in self.keys:
            names += sorted(n.top_level_columns(key.node))
        return of_columns(self.scan, names)

    def _add_rows(self, batch: pa.RecordBatch, counting: bool) -> None:
        columns = {name: one_chunk(batch.column(name)) for name in batch.schema.names}
        groups = self._groups_of(columns, batch.num_rows)
        self.known[groups] = True

        def values(path: tuple[str, ...]) -> pa.Array:
            return nested_value(columns[path[0]], path[1:])

        if counting:
            self.sums[_COUNT] += np.bincount(groups, minlength=self.group_count)
            for path in self.facts.not_null:
                present = numpy_values(pc.is_valid(values(path)))
                self.sums[path] += np.bincount(groups[present], minlength=self.group_count)
        for key, known in self.best.items():
            found = self._outermost(key, comparable(values(key[0])), groups)
            both = joined([known, found])
            every = np.concatenate([np.arange(self.group_count)] * 2)
            self.best[key] = self._outermost(key, both, every)

    def _groups_of(self, columns: Mapping[str, pa.Array], rows: int) -> np.ndarray:
        if not self.keys:
            return np.zeros(rows, np.int64)
        found = [key.values(columns, rows) for key in self.keys]
        return _ids([comparable(each) for each in found], [comparable(each) for each in self.values])

    def table(self) -> pa.Table:
        """The answer."""
        arrays = [*self.values, *map(self._values, self.aggregates)]
        names = [*(key.name for key in self.keys), *(each.name for each in self.aggregates)]
        types = [*(key.type for key in self.keys), *(each.type for each in self.aggregates)]
        pairs = zip(arrays, map(t.arrow_type, types), strict=True)
        table = pa.table([each.cast(kind) for each, kind in pairs], names)
        if not self.keys:
            return table
        table = table.filter(arrow_array(self.known))
        order: list[pa.Array] = []
        for number in range(len(self.keys)):
            column = one_chunk(table.column(number))
            order += [pc.is_valid(column), comparable(column)]
        sort = [(f"{number}", "ascending") for number in range(len(order))]
        return table.take(pc.sort_indices(pa.table(order, [name for name, _ in sort]), sort_keys=sort))

    def _values(self, aggregate: Aggregate) -> pa.Array:
        if aggregate.column is None:
            return arrow_array(self.sums[_COUNT])
        path = aggregate.column.logical
        match aggregate.kind:
            case "not_null":
                return arrow_array(self.sums[path])
            case "null":
                return arrow_array(self.sums[_COUNT] - self.sums[path])
            case side:
                return restored(self.best[path, side], aggregate.column.type)  # type: ignore[index]


def _grouped(scan: TableScan, keys: Sequence[GroupKey], facts: FileTotals) -> tuple[np.ndarray, list[pa.Array]]:
    """The group of each file, and the values of the keys in each group."""
    rows = len(facts.rows)
    if not keys:
        return np.zeros(rows, np.int64), []
    structs = one_chunk(facts.files.listed(np.arange(rows), ["partition_values"])["partition_values"])
    columns = {
        each.name: as_in_rows(pc.struct_field(structs, [each.name]), each) for each in scan.snapshot.partition_fields
    }
    found = [key.values(columns, rows) for key in keys]
    groups = tuple_codes(map(comparable, found), rows)
    first = arrow_array(np.unique(groups, return_index=True)[1])
    return groups, [_normal(each.take(first)) for each in found]


def _normal(values: pa.Array) -> pa.Array:
    """Values of keys as Spark returns them: 0.0 for -0.0."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.equal(values, 0.0), arrow_scalar(0.0, values.type), values)


def _ids(columns: Sequence[pa.Array], known: Sequence[pa.Array]) -> np.ndarray:
    """The place of each row among rows that are known and distinct."""
    count = len(known[0])
    every = [joined([places, rows]) for places, rows in zip(known, columns, strict=True)]
    ids = tuple_codes(every, len(every[0]))
    places = np.empty(int(ids.max(initial=0)) + 1, np.int64)
    places[ids[:count]] = np.arange(count)
    found: np.ndarray = places[ids[count:]]
    return found


def _furthest(edges: pa.Array, groups: np.ndarray, left: np.ndarray, side: str, count: int) -> np.ndarray:
    """Of the files that are left in each group, those with the furthest edges, and those without an edge."""
    places = np.flatnonzero(left)
    if pa.types.is_null(edges.type):
        return left
    some = edges.take(arrow_array(places))
    of_groups = groups[places]
    direction = "ascending" if side == "min" else "descending"
    keys = pa.table([arrow_array(of_groups), some], ["group", "edge"])
    order = numpy_values(pc.sort_indices(keys, sort_keys=[("group", "ascending"), ("edge", direction)]))
    sorted_groups = of_groups[order]
    starts = np.searchsorted(sorted_groups, sorted_groups)
    chosen = np.zeros(len(left), bool)
    chosen[places[order[np.arange(len(order)) - starts < count]]] = True
    chosen[places[numpy_values(pc.is_null(some))]] = True
    return chosen
