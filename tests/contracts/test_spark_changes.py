"""The contract of changes with Spark: as jobs, by the driver, over Connect, with delta-spark's names, as statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from tests.contracts.doors import DeltaNames, Door, Frames, Statements, connect_session
from tests.contracts.play import played
from tests.contracts.tables import FEATURES
from tests.extent import WHOLE

pytestmark = pytest.mark.spark


connected = cache(connect_session)


@contextmanager
def opened(name: str, spark: Any, folder: Path) -> Iterator[Door]:
    """The door of a name."""
    if name == "connect":
        # By this variable PySpark's functions know that they are called for Connect.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
            yield Frames(connected(spark))
    elif name == "jobs":
        with ds.options.changed(spark_jobs="always"):
            yield Frames(spark)
    elif name == "driver":
        yield Frames(spark)
    elif name == "delta names":
        from deltaskip.spark.source.data_source import DeltaSkipDataSource

        spark.dataSource.register(DeltaSkipDataSource)
        yield DeltaNames(spark)
    else:
        yield Statements(folder / "catalog", spark)


# In the gate two doors have a table with everything, as each takes a minute; else every door has every table.
GATE = {"jobs": ["everything"], "connect": ["everything"], "driver": [], "delta names": [], "statements": []}
PLAYED = [f"{name}: {each}" for name, gate in GATE.items() for each in (FEATURES if WHOLE else gate)]


@pytest.mark.parametrize("play", PLAYED)
def test_every_step_leaves_what_the_model_says(spark: Any, tmp_path: Path, play: str) -> None:
    name, _, feature = play.partition(": ")
    with opened(name, spark, tmp_path) as door:
        played(door, feature, tmp_path / "t")
