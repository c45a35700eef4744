"""Running SQL text: the statement in it, over the tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.arguments import unicode_text
from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.doors import first_line
from deltaskip.engine import engine
from deltaskip.errors import MaintenanceWarning
from deltaskip.expr import with_parameters
from deltaskip.statements.parse import parse_statement
from deltaskip.statements.session import StatementSession
from deltaskip.warning import warn

__all__ = ["run_statement"]


def run_statement(
    catalog: TableCatalog, spark: Any, text: str, params: Mapping[str, object] | Sequence[object] | None = None
) -> Any:
    """Run an SQL statement; see TableCatalog.sql."""
    given = with_parameters(unicode_text("text", text), params)
    answer = parse_statement(str(given)).run(StatementSession(spark, catalog))
    if spark is None or not isinstance(answer, pa.Table):
        return answer
    try:
        return engine("The answer of a statement").arrow_to_dataframe(spark, answer)
    except Exception as error:
        # An error would say that the statement has failed, which would then be repeated.
        warn(
            f"The statement has succeeded, but Spark cannot make a DataFrame of its answer, which is a pyarrow.Table "
            f"therefore: {first_line(error)}.",
            MaintenanceWarning,
        )
        return answer
