"""Queries over registered views and tables by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from deltaskip.arguments import unicode_text
from deltaskip.errors import InvalidArgument
from deltaskip.expr import with_parameters
from deltaskip.records import dataclass
from deltaskip.schema.resolve import fold_name
from deltaskip.statements.from_the_log import Query
from deltaskip.statements.queries import QuerySession
from deltaskip.statements.run import parse_statement
from deltaskip.statements.session import path_of
from deltaskip.statements.values import Parts, StatementTable
from deltaskip.table.table import DeltaTable, table_in

if TYPE_CHECKING:
    from deltaskip.statements.views import RegisteredView


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
