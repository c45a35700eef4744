"""The contract of changes with Spark: as jobs and by the driver, over Connect, with delta-spark's names, as statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from tests.contracts.doors import DeltaNames, Door, Frames, Statements, connect_session
from tests.contracts.play import played
from tests.contracts.tables import FEATURES
from tests.extent import WHOLE

pytestmark = pytest.mark.spark


@contextmanager
def opened(name: str, spark: Any, folder: Path) -> Iterator[Door]:
    """The door of a name."""
    if name == "connect":
        with connect_session(spark) as session:
            yield Frames(session)
    elif name == "jobs":
        with ds.options.changed(spark_jobs="always"):
            yield Frames(spark)
    elif name == "driver":
        yield Frames(spark)
    elif name == "delta names":
        from deltaskip.spark.data_source.source import DeltaSkipDataSource

        spark.dataSource.register(DeltaSkipDataSource)
        yield DeltaNames(spark)
    else:
        yield Statements(folder / "catalog", spark)


# In the gate each door has a table with everything and some others, so that all tables come; else every pair.
GATE = {
    "jobs": ["nothing", "everything", "change feed"],
    "driver": ["everything", "generated partition column"],
    "connect": ["everything"],
    "delta names": ["everything", "partitions"],
    "statements": ["everything", "collation"],
}


@pytest.mark.parametrize(
    ("name", "feature"), [(name, each) for name, gate in GATE.items() for each in (FEATURES if WHOLE else gate)]
)
def test_every_step_leaves_what_the_model_says(spark: Any, tmp_path: Path, name: str, feature: str) -> None:
    with opened(name, spark, tmp_path) as door:
        played(door, feature, tmp_path / "t")
