"""Installation of a catalog in a session, and its removal.

Spark creates catalogs from JVM classes and keeps them in a private map. The catalog is put into this map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.errors import InvalidArgument, UnsupportedFeature
from deltaskip.fork_safety import new_lock
from deltaskip.spark.catalog.session_tables import SESSION_CATALOG
from deltaskip.spark.session.checks import checked
from deltaskip.spark.session.session_settings import gateway_of, is_classic, java_state, private_field

# Releases of Spark whose private interfaces are known.
_RELEASES = ("4.0", "4.1", "4.2", "4.3")
_LOCK = new_lock()


def install_in_session(session: object, name: str, catalog: TableCatalog) -> Callable[[], None]:
    """Install a catalog in a session, and return the function that removes it.

    Args:
        session: A classic session.
        name: Name of the catalog in Spark's SQL.
        catalog: The catalog.

    Raises:
        UnsupportedFeature: The session is a Connect session, or its release is unknown.
        InvalidArgument: The session was stopped, or has a catalog of this name.
        InvalidArgumentType: `session` is not a session.
    """
    spark = checked(session)
    _check_supported(spark, catalog)
    # These modules import classes that Spark 3.5 lacks.
    from deltaskip.spark.installed_catalog.callbacks import SparkPlugin
    from deltaskip.spark.installed_catalog.planned_statements import RowStatements
    from deltaskip.spark.session.jvm import Jvm

    with _LOCK:
        manager = java_state(spark).catalogManager()
        if name.lower() == SESSION_CATALOG or manager.isCatalogRegistered(name):
            raise InvalidArgument(
                f"The session has a catalog {name} already: choose another name, or close what was installed under "
                f"this one."
            )
        gateway: Any = gateway_of(spark.sparkContext)
        jvm = Jvm(spark)
        jvm.call_back()
        # Errors, such as for a missing table, must reach Spark as the exceptions that it handles.
        gateway.callback_server_parameters.propagate_java_exceptions = True
        catalogs, statements = private_field(manager, "catalogs").get(manager), RowStatements(jvm)
        statements.install()
        catalogs.put(name, SparkPlugin(jvm, name, catalog, statements))

    def uninstall() -> None:
        with _LOCK:
            if manager.currentCatalog().name() == name:
                manager.setCurrentCatalog(SESSION_CATALOG)
            catalogs.remove(name)
            statements.uninstall()

    return uninstall


def _check_supported(spark: SparkSession, catalog: TableCatalog) -> None:
    if not is_classic(spark):
        raise UnsupportedFeature(
            f"The catalog {catalog.name} cannot be installed in a session of Spark Connect, whose catalogs are classes "
            f"on the server: use catalog.sql(spark, …)."
        )
    release = ".".join(spark.version.split(".")[:2])
    if release not in _RELEASES:
        raise UnsupportedFeature(
            f"The catalog {catalog.name} cannot be installed in a session of Spark {spark.version}, because it uses "
            f"private interfaces of Spark and is tested with {', '.join(_RELEASES)} only: use catalog.sql(spark, …)."
        )
