"""Spark sessions for commands that need one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from deltaskip.errors import SparkUnavailable


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
