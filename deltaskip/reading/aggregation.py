"""`TableScan.aggregate`: its arguments, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaskip import arguments
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.predicates import expression_node
from deltaskip.reading.aggregates import read_aggregate
from deltaskip.reading.totals import GroupKey, totals
from deltaskip.sparkexpr import as_read, to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.nodes import Column, Node

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan

_BY = "a list of partition columns or expressions over them, or a dict of them by name"


def aggregated(
    scan: TableScan, by: object, aggregates: Mapping[str, object], most_bytes: int | None = None
) -> pa.Table:
    """Return the totals of a scan, see `TableScan.aggregate`.

    Args:
        scan: The scan.
        by: The groups.
        aggregates: The aggregates by name.
        most_bytes: The most bytes of files to read; None for no limit.

    Raises:
        NotProvable: More bytes would have to be read.
        DeltaSkipError: As `TableScan.aggregate`.
    """
    snapshot = scan.snapshot
    at = f"(table {snapshot.table_root}, version {snapshot.version})"
    if scan.limit is not None:
        raise InvalidArgument(f"Totals of a scan with a limit depend on which rows are read: leave it out {at}.")
    for name, text in aggregates.items():
        if not isinstance(text, str):
            raise InvalidArgumentType.of(name, "an aggregate as SQL text, such as 'max(ts)'", text)

    def resolved(column: Column) -> t.Resolved:
        return t.resolve(snapshot.schema, column.parts, snapshot.mapping_mode)

    try:
        keys = _keys(scan, by)
        table = snapshot.root
        found = [
            read_aggregate(name, arguments.text(name, text), resolved, snapshot.schema, table)
            for name, text in aggregates.items()
        ]
    except DeltaSkipError as error:
        raise type(error)(f"{error} {at}") from error
    names = [key.name for key in keys] + [each.name for each in found]
    if not names:
        raise InvalidArgument(f"aggregate needs an aggregate, such as n='count(*)' {at}.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(f"The name {twice} is used twice: give each aggregate its own name {at}.")
    answer, metrics = totals(scan, keys, found, most_bytes)
    of_groups = f" by {', '.join(key.name for key in keys)}" if keys else ""
    scan.note_metrics(metrics, metrics.answered((", ".join(map(str, aggregates.values())) or "the groups") + of_groups))
    return answer


def _keys(scan: TableScan, by: object) -> list[GroupKey]:
    """The keys of the groups. Raises PredicateError and UnsupportedFeature."""
    given: list[tuple[str | None, object]]
    if isinstance(by, Mapping):
        given = [(arguments.text("by", name), each) for name, each in by.items()]
    elif isinstance(by, list | tuple):
        given = [(None, each) for each in by]
    elif by is None:
        given = []
    else:
        given = [(None, by)]
    found = []
    for name, each in given:
        if isinstance(each, bool | int | float | bytes):
            raise InvalidArgumentType.of("by", _BY, by)
        try:
            node = expression_node(each, "A Column of pyspark", scan.meaning)
        except PredicateError as error:
            raise PredicateError(f"by is not valid: {error}") from error
        found.append(GroupKey.of(scan, name or _shown(each, node), _bound(scan, node)))
    return found


def _bound(scan: TableScan, node: Node) -> Node:
    snapshot, zone = scan.snapshot, scan.time_zone or "UTC"
    partitions = [field.name for field in snapshot.partition_fields]
    read = node if isinstance(node, Column) else as_read(node, snapshot.schema, zone)
    return bind_expression(read, snapshot.schema, partitions, snapshot.mapping_mode, zone, ansi=scan.in_ansi)


def _shown(given: object, node: Node) -> str:
    """The name of a key in the answer: that of the column, or the text."""
    if isinstance(node, Column):
        return node.parts[-1]
    return given.strip() if isinstance(given, str) else to_sql(node)
