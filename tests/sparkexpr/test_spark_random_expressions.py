"""Random expressions over all functions: their values by column and by row, and the files kept, are those of Spark."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.extent import extent, seed
from tests.sparkexpr.spark_random_expressions import BATCH, Mode, compared, differs

pytestmark = pytest.mark.spark


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("batch", range(extent(1, 16)))
def test_random_expressions_are_those_of_spark(expression_session: Any, tmp_path: Path, batch: int) -> None:
    chance = random.Random(seed() + batch)
    told = list(compared(expression_session, tmp_path / "rows.parquet", chance, Mode.of(batch), BATCH))
    counts = Counter(each.kind for each in told)
    wrong = [f"{each.kind} {each.text}" for each in told if differs(each)]
    assert not wrong, f"seed {batch}: " + "\n".join(wrong[:10])
    assert counts["ok"] > BATCH / 3, counts
