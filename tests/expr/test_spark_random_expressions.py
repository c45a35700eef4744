"""Random expressions over all functions: their values by column and by row, and the files kept, are those of Spark."""

from __future__ import annotations

import logging
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.expr.spark_random_expressions import BATCH, Mode, compared, differs, session
from tests.extent import extent, seed

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A small session; what it was configured to before is left as it was."""
    sql = pytest.importorskip("pyspark.sql")
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


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("batch", range(extent(1, 16)))
def test_random_expressions_are_those_of_spark(spark: Any, tmp_path: Path, batch: int) -> None:
    chance = random.Random(seed() + batch)
    told = list(compared(spark, tmp_path / "rows.parquet", chance, Mode.of(batch), BATCH))
    counts = Counter(each.kind for each in told)
    wrong = [f"{each.kind} {each.text}" for each in told if differs(each)]
    assert not wrong, f"seed {batch}: " + "\n".join(wrong[:10])
    assert counts["ok"] > BATCH / 3, counts
