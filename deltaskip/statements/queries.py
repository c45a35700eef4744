"""Queries over named tables in addition to the session's. Each table is read through a separate scan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import pyarrow as pa

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.engine import engine, in_one_meaning
from deltaskip.errors import CatalogError, DeltaSkipError, PredicateError, SparkUnavailable, UnsupportedFeature
from deltaskip.extras import install_command
from deltaskip.features.change_data_feed import FEED_NAMES
from deltaskip.reading.read_plan import METADATA
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.schema.relations import unqualified_text
from deltaskip.sparkexpr import evaluate, parse_sql
from deltaskip.sparkexpr.nodes import Cast, Literal, Node
from deltaskip.sparkexpr.types import TIMESTAMP, display_name, fold_name
from deltaskip.sparkexpr.values.calendar import EPOCH, parse_timestamp, zone_of
from deltaskip.statements.reader import (
    NameParts,
    StatementChanges,
    StatementReader,
    StatementTable,
    path_of,
    qualifiers,
)
from deltaskip.statements.references import (
    EXPLAINED,
    Reference,
    check_query,
    names_metadata,
    query_template,
    references,
)
from deltaskip.statements.required import Required
from deltaskip.statements.simple_query import order_text, simple_query
from deltaskip.table.table import DeltaTable

# Other versions of sqlglot may produce other trees (statements.pushdown).
_SQLGLOT = "30"


@dataclass(frozen=True, slots=True)
class QuerySession(ABC):
    """A Spark session that runs queries in which some names are tables of deltaskip.

    Attributes:
        spark: The session, classic or Connect; None for none.
    """

    spark: Any

    @property
    def knows_names(self) -> bool:
        """Whether a name that refers to no table is an error, if there is no session that may have it."""
        return True

    @abstractmethod
    def has_named(self, parts: NameParts) -> bool:
        """Whether a name that is not a path refers to a table."""

    @abstractmethod
    def named_table(self, parts: NameParts, version: int | None, time: datetime | None) -> DeltaTable:
        """The table of a name that is not a path, at a version or time. Raises TableNotFound."""

    def has_table(self, parts: NameParts) -> bool:
        """Whether a name refers to a table, by name or by path."""
        return path_of(parts) is not None or self.has_named(parts)

    def table(self, name: NameParts | StatementTable) -> DeltaTable:
        """The table of a name or path, at the version that it names. Raises TableNotFound."""
        named = name if isinstance(name, StatementTable) else StatementTable(name)
        if named.version is not None and named.changes is not None:
            raise PredicateError(f"{display_name(named.parts)} is read at a version or by its changes, not both.")
        time = None if named.timestamp is None else self.moment(named.timestamp)
        path = path_of(named.parts)
        if path is None:
            return self.named_table(named.parts, named.version, time)
        return DeltaTable(path, named.version, time, self.storage_options)

    @property
    def storage_options(self) -> Mapping[str, str] | None:
        """Options of object stores for tables by path."""
        return None

    def condition(self, name: StatementTable) -> str | None:
        """The predicate, as SQL text, of the rows that the name stands for; None for all rows."""
        return None

    @property
    def time_zone(self) -> str:
        """The session's time zone, or without a session that of its queries."""
        return self.own_zone if self.spark is None else str(self.spark.conf.get("spark.sql.session.timeZone"))

    @property
    def own_zone(self) -> str:
        """The time zone of queries without a session."""
        return "UTC"

    def moment(self, text: str) -> datetime:
        """The time of an SQL expression. Raises PredicateError if it is not a time, or needs a session."""
        try:
            node = parse_sql(text)
        except PredicateError as error:
            raise PredicateError(f"{text} is not a time: {error}") from error
        literal = _constant(node)
        if literal is not None:
            micros = parse_timestamp(literal, zone_of(self.time_zone))
            if micros is None:
                raise PredicateError(f"{text} is not a time such as '2026-01-31 12:00:00'.")
            return EPOCH + timedelta(microseconds=micros)
        micros_text = f"unix_micros(CAST(({text}) AS TIMESTAMP))"
        if self.spark is None:
            found = self._constant_here(micros_text, text)
        else:
            found = self.query(f"SELECT {micros_text} AS micros").collect()[0][0]
        if found is None:
            raise PredicateError(f"{text} is NULL, and not a time.")
        return EPOCH + timedelta(microseconds=found)

    def _constant_here(self, text: str, shown: str) -> Any:
        """The value of a constant, without a session."""
        from deltaskip.statements.local_projection import ONE_ROW

        try:
            return evaluate(text, ONE_ROW, time_zone=self.time_zone)[0].as_py()
        except UnsupportedFeature as error:
            raise only_spark(shown) from error

    def query(self, text: str) -> Any:
        """The DataFrame of a query over tables of the catalog and other relations of the session.

        Each table is read through a separate scan, which skips files by the conditions of the query on its rows.
        """
        frame, scans = in_one_meaning(self.spark, lambda: self.read(text))
        said = [] if explained(text) is None else [each for scan in scans for each in scan.explain().joins]
        if not said:
            return frame
        # The plan of Spark has no place for it.
        plan = "\n".join([frame.collect()[0][0].rstrip(), "", "== Joins of deltaskip ==", *said, ""])
        return engine("The answer of a statement").arrow_to_dataframe(self.spark, pa.table({"plan": [plan]}))

    def read(self, text: str) -> tuple[Any, list[TableScan]]:
        """The DataFrame of a query, and the scans through which it reads the latest version of tables."""
        check_query(text)
        named = [ref for ref in references(text) if self.has_table(ref.name.parts)]
        # A table that is named twice is read at one version.
        opened = {name: self.table(name) for name in {ref.name for ref in named}}
        tables = {ref: opened[ref.name] for ref in named}
        # No name in the query begins as those of its tables.
        prefix = "__deltaskip_"
        while prefix in text.lower():
            prefix += "_"
        names = {ref: f"{prefix}{i}" for i, ref in enumerate(named)}
        required = self.required(text, tables, names)
        conditions = {name: found for ref, name in names.items() if (found := self.condition(ref.name)) is not None}
        scans: dict[str, Any] = {}
        for ref, name in names.items():
            own = [conditions[name]] if name in conditions else []
            if ref.name.changes is not None:
                scans[name] = self.changes(ref.name, tables[ref], [*own, *required.predicates.get(name, [])])
                continue
            first = self.first_rows(text, tables[ref], own) if len(names) == 1 else None
            scans[name] = first or self.scan(tables[ref], [*own, *required.predicates.get(name, [])])
        if required.joins and not any(ref.name.changes is not None for ref in names):
            from deltaskip.statements.join_pruning import without_partnerless

            aliases = {name: ref.alias for ref, name in names.items()}
            scans = without_partnerless(scans, required.joins, aliases)
        # A table's own column of this name hides Spark's.
        wanted_by = [ref for ref in names if ref.name.changes is None] if names_metadata(text) else ()
        metadata = [ref for ref in wanted_by if METADATA not in map(fold_name, tables[ref].schema.names)]
        template = query_template(text, names, metadata)
        return engine("A query").query(self.spark, template, scans, conditions, [names[ref] for ref in metadata]), [
            scan
            for ref, name in names.items()
            if ref.name.version is None and ref.name.timestamp is None and isinstance(scan := scans[name], TableScan)
        ]

    def required(self, text: str, tables: Mapping[Reference, DeltaTable], names: Mapping[Reference, str]) -> Required:
        """What a query requires of the rows of each table, by the name of its reference.

        That is nothing if the session reads the text otherwise under its settings.
        """
        meaning = engine("A query").meaning(self.spark)
        if meaning is None or not meaning.reads(text):
            return Required({})
        columns: dict[str, Sequence[str]] = {
            name: tables[ref].scan().columns or tables[ref].schema.names for ref, name in names.items()
        }
        columns |= {name: [*columns[name], *FEED_NAMES] for ref, name in names.items() if ref.name.changes is not None}
        plain = query_template(text, names).format_map({name: name for name in columns})
        return _required(explained(plain) or plain, columns)

    def first_rows(self, text: str, table: DeltaTable, own: Sequence[str]) -> TableScan | None:
        """The scan of a query with LIMIT, without the files of which it needs no row; None for other queries.

        own: The predicates of the rows that the name of the table stands for.
        """
        query = simple_query(text)
        meaning = engine("A query").meaning(self.spark)
        if query is None or query.limit is None or meaning is None or not meaning.reads(text):
            return None
        if query.is_any and query.where is None and not own:
            # Spark limits the rows of files that certainly have so many.
            return table.scan(limit=query.limit, time_zone=self.time_zone)
        if not query.is_top:
            return None
        names = qualifiers(query.table.parts, query.alias)
        order = order_text(query, names, table.schema.names)
        if order is None or query.limit is None:
            return None
        # Rows count only if they certainly satisfy the whole predicate.
        where = [*own] if query.where is None else [*own, unqualified_text(query.where, table.schema, names)]
        try:
            scan = table.scan(" AND ".join(f"({each})" for each in where) or None, time_zone=self.time_zone)
            return scan.top(query.limit, order).pruned
        except DeltaSkipError:
            return None

    def scan(self, table: DeltaTable, wanted: list[str]) -> TableScan:
        """The scan of a table by the predicates that can be bound; the others are left to Spark."""
        zone, bound = self.time_zone, []
        for text in wanted:
            try:
                table.scan(text, time_zone=zone)
            except DeltaSkipError:
                continue
            bound.append(f"({text})")
        return table.scan(" AND ".join(bound) or None, time_zone=zone)

    def changes(
        self, name: StatementTable, table: DeltaTable, wanted: Sequence[str], zone: str | None = None
    ) -> ChangeScan:
        """The changed rows of a table that satisfy predicates.

        Args:
            name: The name of the table, with its CHANGES.
            table: The table.
            wanted: Predicates as SQL text. With a session, those that this process cannot evaluate are left out.
            zone: The time zone. The default is the session's.

        Raises PredicateError for an option that does not exist, and as `DeltaTable.changes` does.
        """
        clause = name.changes
        assert clause is not None
        start = self.moment(clause.start) if isinstance(clause.start, str) else clause.start
        end = self.moment(clause.end) if isinstance(clause.end, str) else clause.end
        timed = replace(clause, start=start, end=end)
        return changed_rows(timed, table, wanted, zone or self.time_zone, exact=self.spark is None)


def only_spark(text: str) -> SparkUnavailable:
    """Return the error for an expression of a statement without a session."""
    return SparkUnavailable(f"Only Spark can evaluate {text}: pass a session as the first argument of sql().")


def changed_rows(
    clause: StatementChanges, table: DeltaTable, wanted: Sequence[str], zone: str, exact: bool = False
) -> ChangeScan:
    """Return the changed rows of a table.

    Args:
        clause: The changes, with times instead of SQL text.
        table: The table.
        wanted: Predicates of the rows as SQL text.
        zone: The time zone.
        exact: Whether all predicates are evaluated; otherwise those are left out that this process cannot evaluate.

    Raises PredicateError for an option that does not exist, and as `DeltaTable.changes` does.
    """
    mode, updates, source = _changes_options(clause)
    step = timedelta(milliseconds=1)
    start, end = clause.start, clause.end
    assert not (isinstance(start, str) or isinstance(end, str))
    if clause.after_start:
        start = start + step if isinstance(start, datetime) else start + 1
    if clause.before_end and end is not None:
        end = end - step if isinstance(end, datetime) else end - 1
    given: dict[str, Any] = {"source": source, "net": mode == "netchanges", "time_zone": zone}
    if clause.after_start:
        given["allow_out_of_range"] = True
    bound = [f"({text})" for text in wanted if exact]
    for text in () if exact else wanted:
        try:
            scan = table.changes(start, end, text, **given)
        except PredicateError:
            continue
        if scan.evaluates_here():
            bound.append(f"({text})")
    return table.changes(start, end, " AND ".join(bound) or None, **given)._row_by_row(updates)


def _changes_options(clause: StatementChanges) -> tuple[str, bool, Any]:
    """The mode in lower case, whether updates are told as such, and the source of changes.

    # Spark 4.2, ChangelogContextUtils: deduplicationMode and computeUpdates
    """
    mode, updates, source = "dropcarryovers", clause.updates, "auto"
    for name, text in clause.options:
        value = text.strip().lower()
        known = {
            "deduplicationmode": ("none", "dropcarryovers", "netchanges"),
            "computeupdates": ("true", "false"),
            "source": ("auto", "feed", "rows"),
        }.get(name)
        if known is None or value not in known:
            raise PredicateError(
                f"CHANGES takes the options deduplicationMode (none, dropCarryovers, netChanges), computeUpdates "
                f"(true, false) and source (auto, feed, rows), not {name} = {text}."
            )
        mode = value if name == "deduplicationmode" else mode
        updates = value == "true" if name == "computeupdates" else updates
        source = value if name == "source" else source
    return mode, updates, source


def _constant(node: Node) -> str | None:
    """The text of a string, or of a typed literal of a time."""
    match node:
        case Literal(str() as value):
            return value
        case Cast(Literal(str() as value), type_, _) if type_ == TIMESTAMP:
            return value
    return None


def explained(text: str) -> str | None:
    """Return the query of EXPLAIN; None for another text. Raises SchemaError for text that Spark cannot read."""
    reader = StatementReader(text)
    if not reader.take_words("EXPLAIN"):
        return None
    reader.take_one(*EXPLAINED)
    return "" if reader.at_end else text[reader.tokens[reader.at].start :]


def _required(text: str, columns: Mapping[str, Sequence[str]]) -> Required:
    """See `required_of`. Raises CatalogError without sqlglot, or with another version of it."""
    found = _sqlglot_version()
    if found is not None and found.partition(".")[0] == _SQLGLOT:
        return _kept(text, tuple((name, tuple(each)) for name, each in columns.items()), "spark")
    raise CatalogError(
        f"A query needs sqlglot {_SQLGLOT}, by which it is known which files to read"
        f"{'' if found is None else f', not {found}'}: {install_command('sql', 'sqlglot')}."
    )


def required_locally(text: str, columns: Mapping[str, Sequence[str]]) -> Required:
    """Return `required_of` for a query of DuckDB; nothing without sqlglot, which such a query does not need.

    Args:
        text: The query, in which each table has one name that occurs once.
        columns: Names of the columns of each table.
    """
    found = _sqlglot_version()
    if found is None or found.partition(".")[0] != _SQLGLOT:
        return Required({})
    return _kept(text, tuple((name, tuple(each)) for name, each in columns.items()), "duckdb")


@lru_cache(1 << 5)
def _kept(text: str, columns: tuple[tuple[str, tuple[str, ...]], ...], dialect: str) -> Required:
    """See `required_of`. A program asks the same again, and sqlglot takes as long as the plan of a table."""
    from deltaskip.statements.join_equalities import required_of

    return required_of(text, dict(columns), dialect)


def _sqlglot_version() -> str | None:
    """The version of sqlglot; None if it is not installed."""
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        return None
    return str(sqlglot.__version__)
