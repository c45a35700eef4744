"""The catalog of a Spark session, which the engine provides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from deltaskip import arguments
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument

if TYPE_CHECKING:
    from deltaskip.catalogs.table_catalog import TableCatalog, TransactionalTableCatalog


class CatalogEngine(Protocol):
    """An engine whose sessions have catalogs."""

    def session_catalog(
        self, session: Any, name: str, storage_options: Mapping[str, str] | None = None
    ) -> TransactionalTableCatalog:
        """Return the catalog of a session; None for the active one. name: In messages and SQL."""

    def install_catalog(self, session: Any, name: str, catalog: TableCatalog) -> Callable[[], None]:
        """Install a catalog in a session, and return the function that removes it. name: In Spark's SQL."""


def session_catalog(
    rest: str = "",
    spark: Any = None,
    *,
    name: str = "spark_catalog",
    storage_options: Mapping[str, str] | None = None,
) -> TransactionalTableCatalog:
    """Return the catalog of a Spark session, in a Hive metastore or in the memory of the session.

    Args:
        rest: The text after "spark:", which must be empty.
        spark: The session, classic or Connect. The default is the active session of this process.
        name: Name of the catalog in messages and SQL.
        storage_options: Options of object stores for all tables, as for DeltaTable.

    Raises:
        InvalidArgument: There is no active session, or something follows "spark:".
        InvalidArgumentType: `spark` is no session.
        SparkUnavailable: PySpark is not installed.
    """
    if rest:
        raise InvalidArgument(f"The URL of a Spark session's catalog is 'spark:' alone, not 'spark:{rest}'.")
    asked = cast(CatalogEngine, engine("Opening the catalog of a Spark session"))
    return asked.session_catalog(spark, arguments.unicode_text("name", name), storage_options)
