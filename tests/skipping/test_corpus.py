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
        return [pytest.param(None, marks=pytest.mark.skip(reason=corpus.ABSENT), id="absent")]
    return [pytest.param(case, id=case["id"]) for case in cases]


def _kept(case: dict[str, Any]) -> set[str]:
    scan = _table(case["table"], case["version"]).scan(where=case["sql"])
    return set(scan.files()["path"].to_pylist())


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")
@pytest.mark.parametrize("case", _cases())
def test_no_matching_file_is_dropped_and_no_more_kept_than_by_delta_spark(case: dict[str, Any]) -> None:
    kept = _kept(case)
    matching = {unquote(path) for path in case["matching_files"]}
    assert matching <= kept, f"lost {matching - kept}"
    binding = not case.get("delta_spark_pruned_by_optimizer") and not case.get("delta_spark_lost")
    if binding and case.get("delta_spark_kept") is not None:
        assert len(kept) <= case["delta_spark_kept"]
