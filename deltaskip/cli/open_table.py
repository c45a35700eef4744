"""The table that a command works on, by its path, or by its name if `--catalog` is given; its Spark session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltaskip.errors import InvalidArgument, SparkUnavailable

if TYPE_CHECKING:
    from deltaskip.catalogs import TableCatalog
    from deltaskip.table.table import DeltaTable


def given_catalog() -> str | None:
    """Return the URL or name that `--catalog` gives; None without the option."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_root().obj


def open_catalog(storage_options: Mapping[str, str]) -> TableCatalog:
    """Return the catalog that `--catalog` or the configuration names.

    Raises InvalidArgument if there is none.
    """
    from deltaskip.catalogs import catalog
    from deltaskip.catalogs.configuration import default_name

    url = given_catalog() or default_name()
    if url is None:
        raise InvalidArgument(
            "The command needs a catalog: put --catalog with its URL or name before the command, or name one in "
            "DELTASKIP_CATALOG or as default-catalog in ~/.config/deltaskip.toml."
        )
    if url.startswith("spark:"):
        session_for_catalog()
    options: dict[str, Any] = {"storage_options": dict(storage_options)} if storage_options else {}
    return catalog(url, **options)


def session_for_catalog() -> Any:
    """Start a session until the command ends, and return it."""
    return click.get_current_context().with_resource(session("The statement"))


def open_table(
    table: str,
    storage_options: Mapping[str, str],
    version: int | None = None,
    timestamp: str | None = None,
    float_bounds: Any = None,
) -> DeltaTable:
    """Return a table, by its name if `--catalog` is given, otherwise by its path or URI."""
    if given_catalog() is None:
        from deltaskip.table.table import DeltaTable

        session_for_location(table)
        return DeltaTable(table, version, timestamp, storage_options or None, float_bounds=float_bounds)
    found = open_catalog(storage_options).load_table(table, version=version, timestamp=timestamp)
    if float_bounds is not None:
        found.snapshot.float_bounds = float_bounds
    return found


@contextmanager
def session(act: str) -> Iterator[Any]:
    """Yield the active Spark session, or a local one that stops at the end of the block.

    Args:
        act: The operation as the beginning of a sentence, such as `Opening hdfs://host/table`.

    Raises:
        SparkUnavailable: PySpark is not installed, or Spark does not start.
    """
    import tempfile

    from deltaskip.engine import engine

    local_session = engine(act).local_session
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="deltaskip-"))
        try:
            spark = stack.enter_context(local_session(Path(scratch)))
        except RuntimeError as error:
            raise SparkUnavailable(
                f"{act} needs Spark, which did not start: {' '.join(str(error).split())} Spark needs Java 17 or newer, "
                f"on PATH or named by JAVA_HOME."
            ) from error
        yield spark


def session_for_location(table: str) -> None:
    """Start a session until the command ends if the table is on HDFS or another Hadoop file system."""
    from deltaskip.storage import HADOOP_SCHEMES, scheme_of

    if scheme_of(table) in HADOOP_SCHEMES:
        click.get_current_context().with_resource(session(f"Opening {table}"))
