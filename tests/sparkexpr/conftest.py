"""A session of Spark that evaluates single expressions."""

import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def expression_session() -> Iterator[Any]:
    """A small session; what it was configured to before is left as it was."""
    sql = pytest.importorskip("pyspark.sql")
    from tests.sparkexpr.spark_random_expressions import Mode, session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    existing, level = sql.SparkSession.getActiveSession(), logging.root.manager.disable
    found = session()
    before = {name: found.conf.get(name, None) for name in Mode.of(0).configuration()}
    yield found
    logging.disable(level)
    for name, value in before.items():
        found.conf.unset(name) if value is None else found.conf.set(name, value)
    if existing is None:
        found.stop()
