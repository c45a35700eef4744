"""Catalogs in a Spark session, so that Spark's own SQL and `df.writeTo` reach their tables."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, cast

from deltaskip import arguments
from deltaskip.catalogs.session import CatalogEngine
from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.doors import Unpicklable, door
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, InvalidArgumentType

__all__ = ["InstalledCatalog", "install_catalog"]


@door
class InstalledCatalog(Unpicklable):
    """A catalog that a Spark session knows by a name, until it is closed.

    Made by `install_catalog`. As a context manager it closes when the block ends.

    Attributes:
        name: Name of the catalog in Spark's SQL.
        catalog: The catalog.
    """

    def __init__(self, name: str, catalog: TableCatalog, uninstall: Callable[[], None]) -> None:
        self.name = name
        self.catalog = catalog
        self._uninstall: Callable[[], None] | None = uninstall

    def close(self) -> None:
        """Take the catalog away from the session, which returns to its own catalog if this was the current one.

        DataFrames that were made of its tables stay usable. Closing it again does nothing.
        """
        uninstall, self._uninstall = self._uninstall, None
        if uninstall is not None:
            uninstall()

    @property
    def closed(self) -> bool:
        """Whether the catalog was closed."""
        return self._uninstall is None

    def __enter__(self) -> InstalledCatalog:
        """Begin a block at whose end the catalog is closed."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Close the catalog."""
        self.close()

    def __repr__(self) -> str:
        return f"InstalledCatalog({self.name!r}, {self.catalog!r})"


@door
def install_catalog(spark: Any, name: str, catalog: TableCatalog) -> InstalledCatalog:
    """Install a catalog in a classic Spark session: Spark's own SQL and `df.writeTo` reach its tables by `name.db.t`.

    Queries, CREATE TABLE with transforms, ALTER, CREATE TABLE AS SELECT and REPLACE TABLE AS SELECT in one commit,
    INSERT INTO, INSERT OVERWRITE, REPLACE WHERE and DELETE work. UPDATE and MERGE are refused: use `catalog.sql`, which
    works in every session. The catalog belongs to this session alone, and not to those that `newSession` makes of it.

    This uses interfaces that are private to Spark, so that it works with the releases 4.0, 4.1 and 4.3.

    Args:
        spark: A classic session.
        name: Name of the catalog in Spark's SQL.
        catalog: The catalog.

    Returns:
        The installed catalog, whose `close` takes it away again.

    Raises:
        UnsupportedFeature: The session is one of Spark Connect, or of another release of Spark.
        InvalidArgument: The session was stopped or has a catalog of this name, or the name is empty.
        InvalidArgumentType: An argument has a wrong type.
        SparkUnavailable: PySpark is not installed.
    """
    wanted = arguments.unicode_text("name", name)
    if not wanted:
        raise InvalidArgument("name must be the name of the catalog in Spark's SQL, such as 'lake', not ''.")
    if not isinstance(catalog, TableCatalog):
        raise InvalidArgumentType.of("catalog", "a TableCatalog", catalog)
    asked = cast(CatalogEngine, engine("Installing a catalog in a Spark session"))
    uninstall = asked.install_catalog(spark, wanted, catalog)
    return InstalledCatalog(wanted, catalog, uninstall)
