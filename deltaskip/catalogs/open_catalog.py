"""Opening a catalog by its URL, or by its name in the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol

from deltaskip import arguments
from deltaskip.catalogs.configuration import configured, configured_names, default_name
from deltaskip.catalogs.table_catalog import TableCatalog, TransactionalTableCatalog
from deltaskip.doors import Unpicklable, door
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, InvalidArgumentType, shown

# For each scheme the function that opens a catalog, from the rest of the URL, `name`, and further options.
_BACKENDS = {
    "spark": "deltaskip.catalogs.open_catalog:session_catalog",
    "sql": "deltaskip.catalogs.database:SqlCatalog",
    "unity": "deltaskip.catalogs.unity.unity_catalog:UnityCatalog",
    "warehouse": "deltaskip.catalogs.warehouse:WarehouseCatalog",
}


@door
def catalog(url: str | None = None, *, name: str | None = None, **options: Any) -> TableCatalog:
    """Return a catalog.

    A name stands for a section `[catalog.NAME]` of `~/.config/deltaskip.toml`, and for variables
    `DELTASKIP_CATALOG__NAME__URI` of the environment, which take precedence over the file; arguments do over both.

    Args:
        url: "warehouse:" and the path or URI of a folder, "sql:" and the URL of a database, "spark:" for the
            catalog of a Spark session, "unity:" and the URL of a server, or the name of a catalog that is configured.
            The default is the variable `DELTASKIP_CATALOG`, otherwise `default-catalog` of the file.
        name: Name of the catalog, for messages and SQL.
        options: Options of the catalog, such as `storage_options` for the object store, `warehouse` for the folder in
            which a catalog in a database creates tables, or `spark` for the session.

    Raises:
        InvalidArgument: The kind, the name or an option of the catalog does not exist.
        InvalidArgumentType: An argument has a wrong type.
        CatalogError: The catalog cannot be reached.
        StorageError: The storage of the catalog cannot be accessed.
    """
    wanted = default_name() if url is None else arguments.text("url", url)
    if not wanted:
        raise InvalidArgument(
            "url must be a catalog such as 'warehouse:/data/warehouse', because neither the variable "
            "DELTASKIP_CATALOG nor default-catalog in ~/.config/deltaskip.toml names one."
        )
    if _scheme_of(wanted) is None:
        options = {**_found(wanted), **options}
        name = name if name is not None else wanted
        wanted = arguments.text("uri", options.pop("uri"))
    scheme = _scheme_of(wanted)
    if scheme not in _BACKENDS:
        known = ", ".join(f"{each}:" for each in sorted(_BACKENDS))
        raise InvalidArgument(f"The URL of a catalog begins with one of {known}, not with {shown(scheme or '')}:.")
    module, _, member = _BACKENDS[scheme].partition(":")
    make = getattr(import_module(module), member)
    if name is not None:
        options["name"] = arguments.unicode_text("name", name)
    _check_options(make, scheme, options)
    found: TableCatalog = make(wanted.partition(":")[2], **options)
    return found


def _found(name: str) -> dict[str, Any]:
    """The options of a configured catalog, with its URI."""
    options = configured(name)
    if options is None:
        names = ", ".join(configured_names()) or "none"
        raise InvalidArgument(
            f"No catalog {name!r} is configured in ~/.config/deltaskip.toml or the environment; configured: {names}. "
            f"A URL begins with one of {', '.join(f'{each}:' for each in sorted(_BACKENDS))}."
        )
    if "uri" not in options:
        raise InvalidArgument(f"The configuration of the catalog {name!r} has no uri, such as warehouse:/data.")
    return options


def _scheme_of(url: str) -> str | None:
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon else None


def _check_options(make: Any, scheme: str, options: dict[str, Any]) -> None:
    parameters = list(inspect.signature(make).parameters.values())[1:]
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters]
    unknown = next((each for each in options if each not in known), None)
    if unknown is not None:
        raise InvalidArgument(f"A catalog {scheme}: has no option {unknown}; it has {', '.join(known)}.")


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
        """Remove the catalog from the session, which returns to its default catalog if this was the current one.

        DataFrames of its tables stay usable. Closing it again does nothing.
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
    """Install a catalog in a classic Spark session: Spark SQL and `df.writeTo` reach its tables by `name.db.t`.

    Queries, CREATE TABLE with transforms, ALTER, CREATE TABLE AS SELECT and REPLACE TABLE AS SELECT in one commit,
    INSERT INTO, INSERT OVERWRITE, REPLACE WHERE, UPDATE, DELETE and MERGE work. `catalog.sql` works in every session.
    The catalog belongs to this session only, not to sessions that `newSession` creates.

    This uses private interfaces of Spark, so it works only with the releases 4.0 to 4.3.

    Args:
        spark: A classic session.
        name: Name of the catalog in Spark's SQL.
        catalog: The catalog.

    Returns:
        The installed catalog, whose `close` removes it again.

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
    asked = engine("Installing a catalog in a Spark session", CatalogEngine)
    uninstall = asked.install_catalog(spark, wanted, catalog)
    return InstalledCatalog(wanted, catalog, uninstall)


class CatalogEngine(Protocol):
    """An engine whose sessions have catalogs."""

    def session_catalog(
        self, session: Any, name: str, storage_options: Mapping[str, str] | None = None
    ) -> TransactionalTableCatalog:
        """Return the catalog of a session; None for the active one. name: In messages and SQL."""

    def install_catalog(self, session: Any, name: str, catalog: TableCatalog) -> Callable[[], None]:
        """Install a catalog in a session, and return the function that removes it. name: In Spark's SQL."""


def session_catalog(
    rest: str = "", spark: Any = None, *, name: str = "spark_catalog", storage_options: Mapping[str, str] | None = None
) -> TransactionalTableCatalog:
    """Return the catalog of a Spark session, in a Hive metastore or in the memory of the session.

    Args:
        rest: The text after "spark:", which must be empty.
        spark: The session, classic or Connect. The default is the active session of this process.
        name: Name of the catalog in messages and SQL.
        storage_options: Options of object stores for all tables, as for DeltaTable.

    Raises:
        InvalidArgument: There is no active session, or something follows "spark:".
        InvalidArgumentType: `spark` is not a session.
        SparkUnavailable: PySpark is not installed.
    """
    if rest:
        raise InvalidArgument(f"The URL of the catalog of a Spark session must be 'spark:', not 'spark:{rest}'.")
    asked = engine("Opening the catalog of a Spark session", CatalogEngine)
    return asked.session_catalog(spark, arguments.unicode_text("name", name), storage_options)
