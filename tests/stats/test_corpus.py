"""Statistics computed out of the corpus' data files against those that delta-spark wrote into its logs."""

from __future__ import annotations

from typing import Any

import pytest

from tests import corpus
from tests.stats.logged import compared, logged_stats

# Tables whose logs say something else than their files for a reason that is not the writer's rule.
OTHER = {
    "craft__stats_odd_values": "edited by hand",
    "craft__stats_partial": "edited by hand",
    "craft__stats_wide_bounds": "edited by hand",
    "gen__stats_cols_2": "the columns with statistics were chosen anew after files were written",
    "golden__data-skipping-change-stats-collected-across-versions": "the columns were chosen anew",
    "gen__type_widening": "statistics of files from before the type was widened",
    "golden__type-widening": "statistics of files from before the type was widened",
    "golden__data-skipping-basic-stats-all-types-checkpoint": "timestamps in a zone other than UTC",
    "golden__data-skipping-basic-stats-all-types-columnmapping-id": "timestamps in a zone other than UTC",
    "golden__data-skipping-basic-stats-all-types-columnmapping-name": "timestamps in a zone other than UTC",
    "golden__kernel-timestamp-PST": "timestamps in a zone other than UTC",
    "kernelrs__parsed-stats": "statistics of a column that its files lack",
}


@pytest.mark.parametrize("mode", ["auto", "scan"])
@pytest.mark.parametrize("table", corpus.table_params("read"))
def test_statistics_are_those_of_delta_spark(table: corpus.CorpusTable, mode: Any) -> None:
    if table.name in OTHER:
        pytest.skip(OTHER[table.name])
    if not logged_stats(table.path):
        pytest.skip("delta-spark did not write statistics into its commits")
    for path, found, expected in compared(table.path, mode):
        assert found == expected, path
