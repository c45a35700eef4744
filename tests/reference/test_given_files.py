"""Folders that deltaskip converts and files that it adds are what delta-spark makes of them."""

import json
from typing import Any

import pytest

from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.given_files import CONVERTED

pytestmark = [pytest.mark.reference, pytest.mark.spark]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    require_delta_spark()
    printed = run_module("tests.reference.given_files", tmp_path_factory.mktemp("given"))
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.long
def test_a_converted_folder_has_types_partitions_and_rows_of_delta_spark(answers: dict[str, Any], name: str) -> None:
    ours, theirs = answers[name]["ours"], answers[name]["theirs"]
    assert ours["types"] == theirs["types"]
    assert ours["rows"] == theirs["rows"]
    assert ours["matching"] == theirs["matching"]
    if name != "uneven_spelling":
        # delta-spark keeps the spelling of the folder, here it is that of the value.
        assert ours["adds"] == theirs["adds"]


@pytest.mark.parametrize("name", CONVERTED)
def test_statistics_of_a_converted_folder_are_those_of_delta_spark_where_both_have_them(
    answers: dict[str, Any], name: str
) -> None:
    ours, theirs = answers[name]["ours"]["bounds"], answers[name]["theirs"]["bounds"]
    assert set(ours) == set(theirs)
    for path, stats in ours.items():
        other = theirs[path]
        assert stats["nullCount"] == other["nullCount"]
        for side in ("minValues", "maxValues"):
            for column, value in stats.get(side, {}).items():
                assert other[side].get(column, value) == value


@pytest.mark.parametrize("name", CONVERTED)
def test_added_files_are_read_and_deleted_by_delta_spark(answers: dict[str, Any], name: str) -> None:
    assert answers[name]["added"] == answers[name]["theirs"]["rows"]
    assert answers[name]["left"] == 0
