"""The stored answers to the grid of edges against Spark itself; `tests.sparkexpr.spark_edges` renews them."""

from typing import Any

import pytest

from tests.extent import extent
from tests.sparkexpr.edges import VERSIONS, answers, cases
from tests.sparkexpr.spark_edges import collect, version_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

EVERY = 25
"""One case in so many is evaluated again."""


@pytest.mark.parametrize("part", range(extent(1, 3)))
def test_spark_still_has_the_stored_answers(spark: Any, part: int) -> None:
    version = version_of(spark)
    if version not in VERSIONS:
        pytest.skip(f"no stored answers of Spark {version}")
    some = cases()[part * 7 :: EVERY * extent(180, 3)]
    found, stored = collect(spark, some), answers(version)
    assert found == {case.key: stored[case.key] for case in some if case.key in stored}
