"""Every case of the corpus: no matching file is dropped, and no more is kept than other engines keep."""

from typing import Any
from urllib.parse import unquote

import pytest

import deltaskip as ds
from tests import corpus
from tests.each import each

# Where another engine keeps fewer files, and was right by chance: the log does not say what it took for granted.
_BY_CHANCE = {
    "craft__stats_odd_values": "numbers in quotes: a statistic of the wrong type counts as missing",
    "craft__stats_partial": "no null count, or no bound, taken for none",
    "craft__stats_wide_bounds": "null counts of wide statistics taken for exact",
    "gen__collations_part": "collated columns, of which the log has no bounds, compared by their bytes",
    "gen__long_strings": "a maximum of 32 characters that cannot be raised taken for the true one",
    "kernelrs__external-table-different-nullability": "a column that no statistic names taken for NULL throughout",
}


@pytest.mark.long(gate=19)
@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning", "ignore::deltaskip.PredicateWarning")
@pytest.mark.parametrize("cases", corpus.skipping_params())
def test_no_matching_file_is_dropped_and_no_more_kept_than_by_other_engines(cases: list[dict[str, Any]]) -> None:
    table = ds.DeltaTable(corpus.table(cases[0]["table"]).path, version=cases[0]["version"])

    def check(case: dict[str, Any]) -> None:
        kept = set(table.scan(where=case["sql"]).files()["path"].to_pylist())
        matching = {unquote(path) for path in case["matching_files"]}
        assert matching <= kept, f"lost {matching - kept}"
        binding = not case.get("delta_spark_pruned_by_optimizer") and not case.get("delta_spark_lost")
        if binding and case.get("delta_spark_kept") is not None:
            assert len(kept) <= case["delta_spark_kept"]
        for engine in ("deltalake", "duckdb"):
            # Only an engine that found all rows is one to compare with.
            found_all = case.get(f"{engine}_rows") == case["matching_rows"]
            if case.get(f"{engine}_kept") is not None and found_all and case["table"] not in _BY_CHANCE:
                assert len(kept) <= case[f"{engine}_kept"], engine

    each(cases, check, lambda case: case["id"])
