"""The arguments of DeltaTable.recompute_stats: what they request of the engine, under their old names too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.log.stats_provenance import COMPUTE_OPERATION
from deltaskip.maintenance.recompute.request import files_to_read, recompute_request
from deltaskip.sparkexpr.types import LONG, STRING, StructField, StructType
from tests.each import refuses
from tests.txn.tables import append, file, make_table

NAME = StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}})
COLLATED = StructType((StructField("id", LONG), NAME))


class Asked:
    """An engine that computes nothing and keeps what it was asked for."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.requests: list[Any] = []
        self.merged: list[bool] = []

    def collation_version(self, _session: Any) -> None:
        return None

    def recompute_statistics(
        self, _session: Any, _snapshot: Any, files: Any, request: Any, *, merge: bool, job_files: int
    ) -> Iterator[Any]:
        self.paths = sorted(path for batch in files for path in batch["path"].to_pylist())
        self.requests.append(request)
        self.merged.append(merge)
        return iter(())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    made = Asked()
    for module in ("table.recompute_methods", "maintenance.recompute.recompute"):
        monkeypatch.setattr(f"deltaskip.{module}.engine", lambda *_: made)
    return made


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Two files without statistics of names, of which an interrupted run has finished the first."""
    table = make_table(tmp_path / "t", {}, ["collations", "domainMetadata"], schema=COLLATED)
    append(table, file("a", 0, 9), file("b", 10, 19))
    parameters = recompute_request(table.refresh().snapshot, mode="scan").parameters
    txn = table.transaction(operation=COMPUTE_OPERATION, parameters=parameters)
    txn.add(file("a", 1, 2, data_change=False))
    txn.commit()
    return table.refresh()


def test_a_run_resumes_where_another_was_interrupted(asked: Asked, table: ds.DeltaTable) -> None:
    table.recompute_stats("a session", mode="scan")
    assert asked.paths == ["b"]
    table.recompute_stats("a session", mode="scan", resume=False)
    assert asked.paths == ["a", "b"]
    table.recompute_stats("a session", mode="footer")
    assert asked.paths == ["a", "b"]


def test_versions_are_of_every_collated_column(asked: Asked, table: ds.DeltaTable) -> None:
    table.recompute_stats("a session", collation_versions=["77.1"])
    table.recompute_stats("a session", collations={"name": ["icu.UNICODE_CI.77.1"]})
    assert [request.collations for request in asked.requests] == [((), ("icu.UNICODE_CI.77.1",))] * 2


def test_arguments_that_are_refused(asked: Asked, table: ds.DeltaTable) -> None:
    with pytest.raises(ds.InvalidArgument, match=r"either collations or collation_versions .*, not both"):
        table.recompute_stats("a session", collations={"name": ["icu.UNICODE_CI.77.1"]}, collation_versions=["77.1"])
    with pytest.raises(ds.InvalidArgumentType, match=r"collation_versions must be a list of str, .* \['77\.1'\]"):
        table.recompute_stats("a session", collation_versions="77.1")
    with pytest.raises(ds.InvalidArgumentType, match=r"collations must be a mapping, not list"):
        table.recompute_stats("a session", collations=["77.1"])
    with pytest.raises(ds.InvalidArgument, match="batch_files must be 1 or greater, not 0"):
        table.recompute_stats("a session", batch_files=0)
    with pytest.raises(ds.InvalidArgument, match="mode must be auto, footer or scan, not 'fast'"):
        table.recompute_stats("a session", mode="fast")
    assert not asked.requests


def test_statistics_of_other_columns_are_merged(asked: Asked, table: ds.DeltaTable) -> None:
    table.recompute_stats("a session", columns=["id"])
    table.recompute_stats("a session")
    assert asked.merged == [True, False]


def test_only_files_that_match_and_lack_something_are_read(table: ds.DeltaTable) -> None:
    def paths(**options: Any) -> list[str]:
        request = recompute_request(table.snapshot, resume=False, **options)
        files = files_to_read(table.snapshot, request)
        return sorted(path for batch in files for path in batch["path"].to_pylist())

    assert paths() == ["a", "b"]
    assert paths(where="id = 15") == ["b"]
    assert paths(columns=["id"], only_missing=True) == []
    assert paths(only_missing=True) == ["a", "b"]


def plan_of(folder: Path, features: list[str], collations: dict[str, str]) -> tuple[str, ...]:
    """The identifiers that a plan computes without a choice by the caller."""
    fields = [StructField(n, STRING, True, {"__COLLATIONS": {n: c}}) for n, c in collations.items()]
    table = make_table(folder, {}, features, schema=StructType((StructField("id", LONG), *fields)))
    return recompute_request(table.snapshot, spark_version="77.1").identifiers


def test_the_version_of_the_session_is_added_where_the_table_has_the_feature(tmp_path: Path) -> None:
    collations = {"a": "ICU.unicode_ci", "b": "acme.X", "c": "icu.", "d": "spark.UNICODE"}
    features = ["collations", "domainMetadata"]
    assert plan_of(tmp_path / "t", features, collations) == ("icu.UNICODE_CI.77.1", "icu.UNICODE.77.1")
    assert plan_of(tmp_path / "u", [], collations) == ()


def test_columns_of_unknown_collations_are_left_out_with_a_warning(asked: Asked, tmp_path: Path) -> None:
    declared = {"a": "icu.UNICODE_CI", "b": "acme.X", "c": "not one", "d": "ICU.de_DE"}
    fields = [StructField(n, STRING, True, {"__COLLATIONS": {n: c}}) for n, c in declared.items()]
    table = make_table(tmp_path / "t", {}, ["collations", "domainMetadata"], schema=StructType(tuple(fields)))
    with pytest.warns(ds.StatisticsWarning) as found:
        table.recompute_stats("a session", collation_versions=["77.1"])
    (request,) = asked.requests
    assert request.collations == (("icu.UNICODE_CI.77.1",), (), (), ("icu.de_DE.77.1",))
    assert sorted(str(each.message).split(" has ")[0] for each in found) == ["Column b", "Column c"]
    refuses(ds.CollationUnavailable, "acme", table.recompute_stats, "a session", collations={"b": ["acme.X.1"]})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"columns": ["idd"]}, ds.PredicateError),
        ({"columns": "id"}, ds.InvalidArgumentType),
        ({"mode": "all"}, ds.InvalidArgument),
        ({"collation_versions": [1]}, ds.InvalidArgumentType),
        ({"collations": {"name": ["x"]}}, ds.DeltaSkipError),
        ({"collations": {"idd": ["icu.UNICODE.77.1"]}}, ds.PredicateError),
        ({"where": "nothing = 1"}, ds.PredicateError),
        ({"resume": "yes"}, ds.InvalidArgumentType),
    ],
)
def test_wrong_arguments_come_with_the_table(tmp_path: Path, arguments: dict[str, Any], error: type[Exception]) -> None:
    table = make_table(tmp_path / "odd table")
    refuses(error, r"\(table .*odd%20table", table.recompute_plan, **arguments)


def test_a_limit_or_batch_is_reported_with_the_table(tmp_path: Path) -> None:
    table = make_table(tmp_path / "odd table")
    for work in (
        lambda: table.scan(limit=-1),
        lambda: table.history(limit=-1),
        lambda: table.recompute_stats("a session", batch_files=0),
        lambda: table.recompute_stats("a session", batch_files=-1),
        lambda: ds.DeltaTable(tmp_path / "odd table", version=-1),
    ):
        refuses(ds.InvalidArgument, r"\(table .*odd( |%20)table", work)
