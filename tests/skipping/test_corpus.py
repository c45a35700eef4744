"""Every case of the corpus: no matching file is dropped, and no more is kept than delta-spark keeps."""

from functools import cache
from typing import Any
from urllib.parse import unquote

import pytest

import deltaskip as ds
from tests import corpus


@cache
def _table(name: str, version: int) -> ds.DeltaTable:
    return ds.DeltaTable(corpus.table(name).path, version=version)


def _cases() -> list[Any]:
    cases = corpus.skipping_cases()
    if not cases:
        return corpus.absent()
    return [pytest.param(case, id=case["id"]) for case in cases]


def _kept(case: dict[str, Any]) -> set[str]:
    scan = _table(case["table"], case["version"]).scan(where=case["sql"])
    return set(scan.files()["path"].to_pylist())


# Where another engine keeps fewer files, and was right by chance: the log does not say what it took for granted.
_BY_CHANCE = {
    "craft__stats_odd_values": "numbers in quotes: a statistic of the wrong type counts as missing",
    "craft__stats_partial": "no null count, or no bound, taken for none",
    "craft__stats_wide_bounds": "null counts of wide statistics taken for exact",
    "gen__collations_part": "collated columns, of which the log has no bounds, compared by their bytes",
    "gen__long_strings": "a maximum of 32 characters that cannot be raised taken for the true one",
    "kernelrs__external-table-different-nullability": "a column that no statistic names taken for NULL throughout",
}


def _of_others() -> list[Any]:
    """(case, files kept) of every other engine that found all rows of the case."""
    found = [
        pytest.param(case, case[f"{engine}_kept"], id=f"{case['id']}-{engine}")
        for case in corpus.skipping_cases()
        for engine in ("deltalake", "duckdb")
        if case.get(f"{engine}_kept") is not None
        and case.get(f"{engine}_rows") == case["matching_rows"]
        and case["table"] not in _BY_CHANCE
    ]
    return found or corpus.absent(2)


@pytest.mark.parametrize(("case", "kept"), _of_others())
def test_no_more_is_kept_than_by_another_engine_that_lost_nothing(case: dict[str, Any], kept: int) -> None:
    assert len(_kept(case)) <= kept


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")
@pytest.mark.parametrize("case", _cases())
def test_no_matching_file_is_dropped_and_no_more_kept_than_by_delta_spark(case: dict[str, Any]) -> None:
    kept = _kept(case)
    matching = {unquote(path) for path in case["matching_files"]}
    assert matching <= kept, f"lost {matching - kept}"
    binding = not case.get("delta_spark_pruned_by_optimizer") and not case.get("delta_spark_lost")
    if binding and case.get("delta_spark_kept") is not None:
        assert len(kept) <= case["delta_spark_kept"]
