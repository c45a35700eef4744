"""Running SQL text: a statement over the tables of a catalog, or a query over registered views and tables by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip.arguments import unicode_text
from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.doors import first_line
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, MaintenanceWarning, PredicateError, SchemaError, advice_in
from deltaskip.expr import with_parameters
from deltaskip.records import dataclass
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.sql_text import sql_error
from deltaskip.statements.from_the_log import Query
from deltaskip.statements.grammar import GRAMMAR, NEAREST, StatementForm
from deltaskip.statements.queries import QuerySession
from deltaskip.statements.reader import Parts, StatementReader, StatementTable
from deltaskip.statements.statement import Statement, StatementSession, path_of
from deltaskip.table.table import DeltaTable, table_in
from deltaskip.warning import warn

if TYPE_CHECKING:
    from deltaskip.statements.views import RegisteredView


_WORDS = {"with schema_mode='merge'": "by WITH SCHEMA EVOLUTION", "leave it out with except_, or keep": "or keep"}


def run_statement(
    catalog: TableCatalog, spark: Any, text: str, params: Mapping[str, object] | Sequence[object] | None = None
) -> Any:
    """Run an SQL statement; see TableCatalog.sql."""
    given = with_parameters(unicode_text("text", text), params)
    statement = parse_statement(str(given))
    with advice_in(_WORDS):
        answer = statement.run(StatementSession(spark, catalog))
    if spark is None or not isinstance(answer, pa.Table):
        return answer
    try:
        return engine("The answer of a statement").arrow_to_dataframe(spark, answer)
    except Exception as error:
        if statement.only_reads:
            raise
        # An error would suggest that the statement failed and should be repeated.
        warn(
            f"The statement has succeeded, but Spark cannot make a DataFrame of its answer, which is a pyarrow.Table "
            f"therefore: {first_line(error)}.",
            MaintenanceWarning,
        )
        return answer


def parse_statement(text: str) -> Statement:
    """Return the statement of a text.

    Names and keywords are read here; expressions and queries keep their text as typed.

    Raises:
        PredicateError: The text is no statement, with the line and column where it stops to be one.
        InvalidArgument: The statement is one that is not supported, or contradicts itself.
    """
    try:
        reader = StatementReader(text)
        if reader.at_end:
            raise sql_error(text, 0, "the statement is empty")
        return _form(reader).read(reader)
    except SchemaError as error:
        raise PredicateError(str(error)) from error
    except RecursionError:
        raise PredicateError(f"The SQL text is nested too deeply: {text[:150]}") from None


def query_views(
    spark: Any,
    views: Mapping[str, RegisteredView],
    text: str,
    params: Mapping[str, object] | Sequence[object] | None = None,
) -> Any:
    """Return the DataFrame of a query; see `deltaskip.sql`.

    Args:
        spark: The session.
        views: Its registered views by their folded names.
        text: The query.
        params: Values of its parameters.
    """
    statement = parse_statement(str(with_parameters(unicode_text("text", text), params)))
    if not isinstance(statement, Query):
        raise InvalidArgument(
            "deltaskip.sql runs queries only: change tables with the methods of DeltaTable, or by statements with the "
            "method sql of a catalog."
        )
    return _ViewSession(spark, views).query(statement.text)


def _form(reader: StatementReader) -> StatementForm:
    """The form that reads the statement."""
    for form in GRAMMAR:
        if all(i < len(reader.tokens) and reader.tokens[i].is_word(*words) for i, words in enumerate(form.begins)):
            return form
    if reader.begins_query():
        return next(form for form in GRAMMAR if "SELECT" in form.begins[0])
    first = reader.tokens[0]
    words = first.text.upper() if first.kind == "word" else ""
    if words in ("CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC"):
        later = (token.text.upper() for token in reader.tokens[1:5] if token.is_word("VIEW", "FUNCTION"))
        words = next(later, words)
    if words not in NEAREST:
        raise reader.error("a statement begins with a word such as SELECT, INSERT, CREATE, ALTER or DESCRIBE")
    shown = " ".join(token.text for token in reader.tokens[:2] if token.kind == "word")
    raise InvalidArgument(f"{shown} is not supported: use {NEAREST[words]}.")


@dataclass(frozen=True, slots=True)
class _ViewSession(QuerySession):
    """A session whose registered views are tables of the queries."""

    views: Mapping[str, RegisteredView]

    def has_table(self, parts: Parts) -> bool:
        """Whether a name is one of a registered view, or the path of a table."""
        return path_of(parts) is not None or (len(parts) == 1 and fold_name(parts[0]) in self.views)

    def table(self, name: Parts | StatementTable) -> DeltaTable:
        """The latest version of the table of a view or path, or the version that the name has."""
        named = name if isinstance(name, StatementTable) else StatementTable(name)
        time = None if named.timestamp is None else self.moment(named.timestamp)
        path = path_of(named.parts)
        if path is not None:
            return DeltaTable(path, named.version, time)
        found = copy(self._view(named).table)
        if named.version is None and time is None:
            found.refresh()
            return found
        return table_in(found.snapshot.storage, found.snapshot.root, named.version, time)

    def condition(self, name: StatementTable) -> str | None:
        """The predicate of a view."""
        return None if path_of(name.parts) is not None else self._view(name).where

    def _view(self, name: StatementTable) -> RegisteredView:
        return self.views[fold_name(name.parts[0])]
