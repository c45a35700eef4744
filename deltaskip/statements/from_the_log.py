"""Queries; the log answers some: totals, DISTINCT values of partition columns, and the first rows of an order.

# SPIP Spark API for Table Metadata, Transform API: metadata-only queries
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltaskip.errors import DeltaSkipError
from deltaskip.reading.aggregation import aggregated
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.schema.relations import unqualified_text
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import StructField, fold_name
from deltaskip.statements.queries import QuerySession
from deltaskip.statements.reader import NameParts, qualifiers
from deltaskip.statements.simple_query import QueryItem, SimpleQuery, order_text, simple_query, unqualified
from deltaskip.statements.statement import ReadStatement, StatementSession
from deltaskip.table.table import DeltaTable

_MOST_BYTES = 64 << 20
"""Up to so many bytes of files, this process reads what the log does not decide, although there is a session."""


class _Unknown(Exception):
    """A query that is answered by Spark."""


@dataclass(frozen=True, slots=True)
class Query(ReadStatement):
    """A query, or EXPLAIN of one.

    Attributes:
        text: The query as typed.
    """

    text: str

    def run(self, session: StatementSession) -> Any:
        answer = self.from_log(session)
        return session.query(self.text) if answer is None else answer

    def from_log(self, session: StatementSession) -> pa.Table | None:
        """The rows if the log alone proves them; None if it is another query, or the log does not."""
        return log_answer(session, self.text)


def log_answer(session: QuerySession, text: str) -> pa.Table | None:
    """Return the rows of a query that the log answers, with Spark's names and types; None for another query.

    Without a session, this process reads the files that the log does not decide; with a session, only a few.

    Args:
        session: The tables by name.
        text: The query.
    """
    query = simple_query(text)
    if (
        query is None
        or query.table.changes is not None
        or query.is_any
        or (query.in_quotes and session.spark is not None)
    ):
        return None
    if not session.has_table(query.table.parts):
        return None
    table = session.table(query.table)
    own = (
        []
        if query.where is None
        else [unqualified_text(query.where, table.schema, qualifiers(query.table.parts, query.alias))]
    )
    condition = session.condition(query.table)
    where = [*([] if condition is None else [condition]), *own]
    try:
        scan = table.scan(" AND ".join(f"({each})" for each in where) or None, time_zone=session.time_zone)
        if query.is_top:
            return _first_rows(scan, query) if session.spark is None else None
        columns = [_field(item.column, query, table) if item.column else None for item in query.items]
        if query.distinct and not query.group_by and query.limit is None:
            return _distinct(scan, query.items, [field for field in columns if field is not None])
        return _totals(scan, query, columns, None if session.spark is None else _MOST_BYTES)
    except (DeltaSkipError, _Unknown):
        # Spark answers, or raises the error.
        return None


def _first_rows(scan: TableScan, query: SimpleQuery) -> pa.Table:
    """The first rows of an order. Raises _Unknown for other columns than those of the table."""
    own = qualifiers(query.table.parts, query.alias)
    shown = list(scan.paths_by_name)
    order = order_text(query, own, shown)
    if order is None or query.limit is None:
        raise _Unknown
    fields = {fold_name(name): name for name in shown}
    names = []
    for item in query.items:
        path = unqualified(item.column, own, shown)
        if len(path) != 1 or fold_name(path[0]) not in fields or fields[fold_name(path[0])] in names:
            raise _Unknown
        names.append(fields[fold_name(path[0])])
    return scan.narrowed(names or None, None).top(query.limit, order).to_arrow()


def _totals(scan: TableScan, query: SimpleQuery, columns: list[StructField | None], most_bytes: int | None) -> pa.Table:
    """The totals of groups. Raises NotProvable if more than that many bytes of files must be read."""
    if not query.is_total:
        raise _Unknown
    own = qualifiers(query.table.parts, query.alias)
    grouped = [unqualified(path, own, scan.snapshot.schema.names) for path in query.group_by]
    aggregates, by, names = {}, {}, []
    for number, (item, field) in enumerate(zip(query.items, columns, strict=True)):
        key = f"{number}"
        if not item.function:
            assert field is not None
            if [fold_name(field.name)] not in [[*map(fold_name, path)] for path in grouped]:
                raise _Unknown
            by[key] = _quoted(field)
        else:
            aggregates[key] = _aggregate_text(item, field)
        names.append(item.name or _spark_name(item, field))
    if {*by.values()} != {_quoted(_field(path, query, scan)) for path in grouped}:
        raise _Unknown
    found = aggregated(scan, by, aggregates, most_bytes)
    return found.select([f"{number}" for number in range(len(names))]).rename_columns(names)


def _aggregate_text(item: QueryItem, field: StructField | None) -> str:
    if field is None:
        return "count(*)"
    test = "" if item.function != "COUNT_IF" else " IS NOT NULL" if item.negated else " IS NULL"
    return f"{item.function}({_quoted(field)}{test})"


def _spark_name(item: QueryItem, field: StructField | None) -> str:
    if not item.function:
        assert field is not None
        return field.name
    return "count(1)" if field is None else f"{item.function.lower()}({field.name})"


def _distinct(scan: TableScan, items: tuple[QueryItem, ...], fields: list[StructField]) -> pa.Table:
    """The distinct values of partition columns, or combinations of them. Raises NotProvable, also for other columns."""
    if len(fields) < len(items) or not items or any(item.function for item in items):
        raise _Unknown
    found = scan.distinct(*map(_quoted, fields))
    columns = [found[field.name] for field in fields]
    return pa.table(columns, names=[item.name or field.name for item, field in zip(items, fields, strict=True)])


def _field(path: NameParts, query: SimpleQuery, table: DeltaTable | TableScan) -> StructField:
    """The top-level column of a path. Raises _Unknown for another expression."""
    schema = table.snapshot.schema
    plain = unqualified(path, qualifiers(query.table.parts, query.alias), schema.names)
    fields = {fold_name(field.name): field for field in schema.fields}
    if len(plain) != 1 or fold_name(plain[0]) not in fields:
        raise _Unknown
    return fields[fold_name(plain[0])]


def _quoted(field: StructField) -> str:
    return quoted_name(field.name)
