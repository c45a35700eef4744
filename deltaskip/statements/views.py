"""Temporary views of a Spark session over Delta tables, and queries that plan them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any

from deltaskip import arguments
from deltaskip.doors import Unpicklable, door
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, SchemaError, TableNotFound, meant
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.sparkexpr import with_parameters
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import display_name, fold_name, parse_names
from deltaskip.statements.queries import QuerySession
from deltaskip.statements.reader import NameParts, StatementTable, path_of
from deltaskip.table.table import DeltaTable, table_in

# By the id of a session, then by the name of the view, folded.
_VIEWS: dict[str, dict[str, RegisteredView]] = {}


@door
class RegisteredView(Unpicklable):
    """A temporary view of a Spark session over the rows of a Delta table; made by `register_view`.

    Spark keeps the plan of a temporary view. So `spark.sql` reads the version of the table for which the view was last
    planned, until `refresh` is called, and skips the files that the predicate of the view skips. `deltaskip.sql`
    reads the latest version each time, and skips files by the conditions of its query as well.

    Attributes:
        name: Name of the view.
        where: Predicate of its rows, as SQL text; None for all rows of the table.
        table: The table, at the version that `spark.sql` reads.
    """

    def __init__(self, spark: Any, name: str, table: DeltaTable, where: str | None) -> None:
        self.name = name
        self.where = where
        self.table = table
        self._spark = spark
        self._planned: int | None = None
        self._plan()

    def __repr__(self) -> str:
        where = "" if self.where is None else f", where={self.where!r}"
        return f"RegisteredView({self.name!r}, {self.table.uri!r}, version={self.version}{where})"

    @property
    def version(self) -> int:
        """Version of the table that `spark.sql` reads by the name of the view."""
        return self.table.version

    def refresh(self) -> bool:
        """Plan the view for the latest version of the table, and return whether there was a newer one.

        Existing DataFrames of the view still read the earlier version.

        Raises:
            DeltaSkipError: The table cannot be read, or its columns no longer fit the predicate.
        """
        before = self.table.snapshot
        self.table.refresh()
        if self.table.snapshot is before:
            return False
        self._plan()
        return True

    def drop(self) -> None:
        """Drop the view. A view of this name by which the program or `register_view` has replaced it stays."""
        views = _views(self._spark)
        if views.get(fold_name(self.name)) is self:
            del views[fold_name(self.name)]
            if self._spark is not None and self._planned == self._plan_of_session():
                self._spark.catalog.dropTempView(self.name)

    def _plan(self) -> None:
        if self._spark is None:
            # The predicate is checked.
            self.table.scan(self.where)
            return
        snapshot, meaning = self.table.snapshot, None
        if self.where is not None:
            # The session of the view may not be the active one, and may have other variables.
            meaning = engine("A view").meaning(self._spark, self.where, snapshot.schema)
        scan = TableScan(snapshot, ReadOptions(self.where, meaning=meaning))
        scan.to_spark(self._spark).createOrReplaceTempView(quoted_name(self.name))
        self._planned = self._plan_of_session()

    def _plan_of_session(self) -> int | None:
        """A number for what the name means in the session; None if it means nothing."""
        try:
            return int(self._spark.table(quoted_name(self.name)).semanticHash())
        except Exception as error:
            if type(error).__name__ != "AnalysisException":
                raise
            return None


@door
def register_view(
    spark: Any,
    name: str,
    table: DeltaTable | str,
    where: object = None,
    *,
    params: Mapping[str, object] | Sequence[object] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> RegisteredView:
    """Register the rows of a Delta table as a temporary view of a Spark session; a view of the same name is replaced.

    `spark.sql` reads the latest version of the table as of now, and later ones after `refresh` of the result.
    `deltaskip.sql` reads the latest version each time, through a scan that skips files.

    Args:
        spark: A session, classic or Connect; None for the queries of `deltaskip.sql` without one.
        name: Name of the view.
        table: A DeltaTable, at any version, or its path or URI.
        where: Predicate of the rows of the view, as in `DeltaTable.scan`. The default is all rows.
        params: Values of the parameters of `where`, as in `DeltaTable.scan`.
        storage_options: Options of object stores for a path, as for DeltaTable.

    Raises:
        TableNotFound: There is no table at the path.
        PredicateError: The predicate is not valid.
        SchemaError: `name` is not the name of a view.
        UnsupportedFeature: This version of Spark cannot read the table.
        InvalidArgumentType: An argument has a wrong type.
    """
    from deltaskip.dml.overwrite import predicate_text

    parts = parse_names(arguments.unicode_text("name", name), "name", SchemaError)
    if len(parts) != 1 or len(parts[0]) != 1:
        raise SchemaError(f"{name!r} is not the name of a temporary view: write one name, without a database.")
    if isinstance(table, DeltaTable):
        opened = copy(table)
        opened.refresh()
    else:
        opened = DeltaTable(table, storage_options=storage_options)
    view = RegisteredView(spark, parts[0][0], opened, predicate_text(where, params, opened.snapshot))
    _views(spark)[fold_name(view.name)] = view
    return view


@door
def sql(
    spark: Any,
    text: str | None = None,
    params: Mapping[str, object] | Sequence[object] | None = None,
    *,
    time_zone: str = "UTC",
    storage_options: Mapping[str, str] | None = None,
) -> Any:
    """Run a query over registered views and tables by path: `sql(spark, text)` by Spark, `sql(text)` without it.

    Each view that the query names is read at the latest version of its table, through a scan that skips files by the
    predicate of the view and by the conditions of the query on its rows. So is each table whose path follows
    `deltaskip.` or `delta.`, as in ``SELECT * FROM deltaskip.`/data/orders` ``. The session resolves all other names.
    Spark runs the query as typed.

    Without a session, a path may also be in quotes, as in `SELECT * FROM 'data/orders'`. Columns and expressions of one
    table with WHERE, ORDER BY and LIMIT are read by a scan, in Spark SQL, and totals are answered from the log as far
    as it proves them; DuckDB runs any other SELECT in its SQL, and reads only the columns, files and row groups that
    the query needs, and nothing but the tables that it names. The WHERE of a table that stands alone in its FROM is
    Spark SQL there, too.

    In a join, the keys of a table that is small or filtered skip files of the others. EXPLAIN says how many.

    Args:
        spark: The session of the views, or None. It may be left out, so that the text comes first.
        text: A query. A name that `register_view` has registered stands for that view until it is dropped, even if the
            session has another view of this name meanwhile. It may have a time travel, such as VERSION AS OF 3.
        params: Values of the parameters of the text: a mapping for `:name`, a list for `?`, as in DeltaTable.scan.
        time_zone: Time zone of a query without a session. A session has its own.
        storage_options: Options of object stores for tables by path, as for DeltaTable.

    Returns:
        The rows: a DataFrame of the session, or a pyarrow table without one.

    Raises:
        PredicateError: The text is not a query, or Spark or DuckDB refuses it.
        InvalidArgument: The text is another statement, or DuckDB is not installed and the query needs it.
        TableNotFound: There is no table at a path, or no view of a name.
        DeltaSkipError: A table cannot be read.

    Warns:
        PredicateWarning: DuckDB runs the query, and functions in it may have another meaning there than in Spark.
    """
    from deltaskip.statements.from_the_log import Query, log_answer
    from deltaskip.statements.run import answer_locally, parse_statement, text_first
    from deltaskip.table.methods import time_zone_argument

    spark, text, params = text_first(spark, text, params)
    zone = "UTC" if spark is not None else time_zone_argument(time_zone, "a query")
    session = _ViewSession(spark, _views(spark), arguments.storage_settings(storage_options), zone)
    read = text if spark is None else engine("A query").substituted(spark, text)
    statement = parse_statement(str(with_parameters(read, params)))
    if not isinstance(statement, Query):
        raise InvalidArgument(
            "deltaskip.sql runs queries only: for all else use methods of DeltaTable, such as history() or delete(), "
            "or the method sql of a catalog, which runs statements."
        )
    # A backslash before a quote does not end a string in Spark, and does in DuckDB.
    proved = log_answer(session, statement.text) if spark is not None or "\\" not in text else None
    if proved is not None:
        return proved if spark is None else engine("The answer of a query").arrow_to_dataframe(spark, proved)
    if spark is None:
        return answer_locally(session, text, params, zone)
    return session.query(statement.text)


def _views(spark: Any) -> dict[str, RegisteredView]:
    """The views of a session, or of queries without one, by their folded names."""
    return _VIEWS.setdefault("" if spark is None else engine("A view").session_id(spark), {})


@dataclass(frozen=True, slots=True)
class _ViewSession(QuerySession):
    """A session whose registered views are tables of the queries.

    Attributes:
        spark: The session, classic or Connect; None for none.
        views: The views by their folded names.
        options: Options of object stores for tables by path.
        zone: The time zone of queries without a session.
    """

    views: Mapping[str, RegisteredView]
    options: Mapping[str, str] | None
    zone: str = "UTC"

    @property
    def own_zone(self) -> str:
        return self.zone

    @property
    def storage_options(self) -> Mapping[str, str] | None:
        return self.options

    def has_named(self, parts: NameParts) -> bool:
        """Whether a name refers to a registered view."""
        return len(parts) == 1 and fold_name(parts[0]) in self.views

    def named_table(self, parts: NameParts, version: int | None, time: datetime | None) -> DeltaTable:
        """The latest version of the table of a view, or the version that is given."""
        found = copy(self._view(parts).table)
        if version is None and time is None:
            found.refresh()
            return found
        return table_in(found.snapshot.storage, found.snapshot.root, version, time)

    def condition(self, name: StatementTable) -> str | None:
        """The predicate of a view."""
        return None if path_of(name.parts) is not None else self._view(name.parts).where

    def _view(self, parts: NameParts) -> RegisteredView:
        view = self.views.get(fold_name(parts[0])) if len(parts) == 1 else None
        if view is None:
            name = display_name(parts)
            elsewhere = any(fold_name(name) in views for views in _VIEWS.values())
            path = "/".join(parts[parts[0].lower() == "delta" and len(parts) > 1 :])
            raise TableNotFound(
                f"There is no registered view {name} for queries without a session.{meant(name, self.views)} "
                + ("Pass the session that has the view first, or register" if elsewhere else "Register")
                + f" it by register_view(None, {parts[-1]!r}, table), or put the path of a table in quotes, as in FROM "
                f"'{path}'. Tables of a catalog are read by its method sql."
            )
        return view
