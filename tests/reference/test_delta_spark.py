"""Tables that delta-spark has just written: its file lists, its rows, and the files that its predicates match."""

from collections.abc import Iterator
from typing import Any

import pytest

import deltaskip as ds
from tests.reference.oracle import comparable, name_of, real_path
from tests.reference.recipes import CHOSEN
from tests.reference.rows import digest, plain_rows
from tests.spark.session_zone import session_zone

pytestmark = [
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning"),
]
every_table = pytest.mark.parametrize("name", CHOSEN)

# Rows through Spark cost more than file lists: of each version so many predicates.
READ = 2

# Spark compares char(n) padded with blanks; such comparisons keep.
KEEPS_MORE = frozenset({"declared_lengths"})


@pytest.fixture
def table(oracle_answers: dict[str, Any], name: str) -> dict[str, Any]:
    """The answers for one table."""
    answers: dict[str, Any] = oracle_answers[name]
    assert "error" not in answers, answers["error"]
    return answers


@every_table
def test_the_active_files_are_the_same(table: dict[str, Any]) -> None:
    for version in table["versions"]:
        files = opened(table, version).snapshot.adds(["path", "size", "partition_values", "deletion_vector"])
        found = [
            {
                "size": row["size"],
                "partition_values": dict(row["partition_values"] or []),
                "dv": row["deletion_vector"] and row["deletion_vector"]["cardinality"],
            }
            for row in files.to_pylist()
        ]
        paths = [real_path(uri) for uri in opened(table, version).scan().files()["uri"].to_pylist()]
        assert len(set(paths)) == len(paths)
        assert dict(zip(paths, found, strict=True)) == version["files"]


@every_table
def test_no_file_with_a_matching_row_is_dropped(table: dict[str, Any]) -> None:
    lost = {}
    for version, predicate, kept in scanned(table):
        if missing := set(predicate["matching"]) - kept:
            lost[version["version"], predicate["sql"]] = sorted(missing)
    assert not lost


@pytest.mark.parametrize("name", [name for name in CHOSEN if name not in KEEPS_MORE])
def test_no_more_files_are_kept_than_by_delta_spark(table: dict[str, Any]) -> None:
    wider = {}
    for version, predicate, kept in scanned(table):
        theirs = predicate["kept"]
        if not predicate["plain"] or theirs is None or predicate["emptied"]:
            continue
        if len(kept) > len(theirs) and {name_of(path) for path in predicate["matching"]} <= set(theirs):
            wider[version["version"], predicate["sql"]] = (len(kept), len(theirs))
    assert not wider


@every_table
def test_rows_are_the_same(table: dict[str, Any], spark: Any) -> None:
    with session_zone(spark, table["time_zone"]):
        for version in table["versions"]:
            frame = opened(table, version).scan().to_spark(spark)
            assert [[f.name, f.dataType.simpleString()] for f in frame.schema.fields] == version["columns"]
            assert rows_of(frame) == (version["count"], version["digest"])


@every_table
def test_rows_that_match_are_the_same(table: dict[str, Any], spark: Any) -> None:
    with session_zone(spark, table["time_zone"]):
        for version in table["versions"]:
            found = [p for p in version["predicates"] if p["matching"]][:READ]
            for predicate in found:
                frame = opened(table, version).scan(where=predicate["sql"]).to_spark(spark)
                assert rows_of(frame) == (predicate["count"], predicate["digest"]), predicate["sql"]


def opened(table: dict[str, Any], version: dict[str, Any]) -> ds.DeltaTable:
    """The table at that version."""
    return ds.DeltaTable(table["path"], version=version["version"])


def scanned(table: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], set[str]]]:
    """Each version and predicate with the files that are kept."""
    for version in table["versions"]:
        delta_table = opened(table, version)
        for predicate in version["predicates"]:
            files = delta_table.scan(where=predicate["sql"], time_zone=table["time_zone"]).files(columns=["uri"])
            yield version, predicate, {real_path(uri) for uri in files["uri"].to_pylist()}


def rows_of(frame: Any) -> tuple[int, str]:
    """Count and digest of a frame's rows."""
    rows = plain_rows(comparable(frame).toArrow())
    return len(rows), digest(rows)
