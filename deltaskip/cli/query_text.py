"""The tables of `deltaskip query`: paths, and names in the catalog that --catalog gives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import click
import pyarrow as pa

from deltaskip.cli.open_table import given_catalog, open_table
from deltaskip.printable import printable
from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import quoted_path
from deltaskip.statements.local_query import local_rows
from deltaskip.statements.queries import QuerySession
from deltaskip.statements.reader import NameParts, StatementTable, path_of
from deltaskip.table.table import DeltaTable


@dataclass(frozen=True, slots=True)
class _CommandTables(QuerySession):
    """Tables by path, and by their names in the catalog of --catalog."""

    options: Mapping[str, str]

    @property
    def knows_names(self) -> bool:
        return False

    def has_named(self, parts: NameParts) -> bool:
        """Whether a name with a namespace is given and there is a catalog."""
        return len(parts) > 1 and given_catalog() is not None

    def named_table(self, parts: NameParts, version: int | None, time: datetime | None) -> DeltaTable:
        """The table of the catalog."""
        return open_table(quoted_path(parts), self.options, version, None if time is None else time.isoformat())

    def table(self, name: NameParts | StatementTable) -> DeltaTable:
        named = name if isinstance(name, StatementTable) else StatementTable(name)
        path = path_of(named.parts)
        if path is None:
            return QuerySession.table(self, named)
        time = None if named.timestamp is None else self.moment(named.timestamp).isoformat()
        return open_table(path.removeprefix("./"), self.options, named.version, time)


def query_rows(text: str, time_zone: str, storage_options: Mapping[str, str]) -> pa.RecordBatchReader:
    """Return the rows of a query; functions that have the meaning of DuckDB are named on standard error.

    Raises as `local_rows` does.
    """
    found = local_rows(_CommandTables(None, storage_options), text, None, time_zone)
    if found.warning:
        click.echo(printable(found.warning), err=True)
    return found.batches
