"""A scan as a session evaluates its predicate, by the facts of the session. Needs no session."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deltaskip.errors import CollationWarning, StatisticsWarning, UnsupportedFeature
from deltaskip.reading import session_scan
from deltaskip.reading.session_scan import SessionFacts, SessionNeeds, planned_for, read_by
from deltaskip.reading.table_scan import TableScan
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from deltaskip.table.table import DeltaTable
from tests.builder import TableBuilder, add
from tests.looped import looped

FIELD = StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}})
SCHEMA = StructType((StructField("id", LONG), FIELD))


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pair of versions was warned about before."""
    monkeypatch.setattr(session_scan, "_warned", set())


def facts(scan: TableScan, **said: Any) -> SessionFacts:
    plain = SessionFacts(SessionNeeds.of(scan), SessionMeaning(), "4.1.0", True, None, {}, (), "engine")
    return replace(plain, **said)


def warned(table: Path, session: str, times: int = 1) -> list[str]:
    scan = DeltaTable(table).scan("name = 'a'")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(times):
            read_by(scan, facts(scan, collation_version=session))
    assert all(issubclass(each.category, StatisticsWarning) for each in found)
    return [str(each.message) for each in found]


def table_of(folder: Path, *versions: str, listed: tuple[str, ...] = ()) -> Path:
    bounds = {f"icu.UNICODE_CI.{v}": {"minValues": {"name": "a"}, "maxValues": {"name": "b"}} for v in versions}
    stats = {"numRecords": 1, "statsWithCollation": bounds} if versions else {"numRecords": 1}
    actions: list[Any] = [add("a.parquet", stats)]
    if listed:
        hints = '{"writeVersions": {"icu.UNICODE_CI": [' + ", ".join(f'"{v}"' for v in listed) + "]}}"
        domain = {"domain": "collations", "configuration": hints, "removed": False}
        actions.append({"domainMetadata": domain})
    TableBuilder(folder / "t", SCHEMA).commit(*actions)
    return folder / "t"


# Versions of statistics, those that the domain lists, that of the session; what a warning has, and what it lacks.
WARNED: dict[str, tuple[tuple[str, ...], tuple[str, ...], str, tuple[str, ...], str]] = {
    "another version, with the cure and once": (("76.1",), (), "77.1", (
        "compares strings by ICU 77.1", "are of ICU 76.1", "recompute_stats(spark, collation_versions=['77.1'])",
        "version 0"), "install"),
    "a missing library, with its source": (("77.1",), (), "99.9", (
        "install ICU 99.9 (set DELTASKIP_ICU_PATH", "and run recompute_stats(spark, collation_versions=['99.9'])"),
        "unknown"),
    "statistics of the session without the library": (("99.9",), (), "99.9", ("install ICU 99.9",), "recompute"),
    "versions that only the domain lists": ((), ("75.1", "76.1"), "77.1", ("are of ICU 75.1, 76.1",), "install"),
    "a session that reports no version": (("77.1",), (), "unknown", ("collations()",), "recompute"),
    **{f"statistics that serve, {listed} listed": (("76.1", "77.1"), listed, "77.1", (), "")
       for listed in ((), ("77.1",), ("76.1",))},
    "no collated statistics": ((), (), "77.1", (), ""),
}  # fmt: skip


@looped("case", WARNED)
def test_warnings_name_versions_and_cure_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setattr(session_scan, "_warned", set())
    versions, listed, session, words, lacks = WARNED[case]
    found = warned(table_of(tmp_path, *versions, listed=listed), session, times=3)
    assert len(found) == bool(words)
    for message in found:
        assert str(tmp_path / "t") in message and lacks not in message, message
        assert all(word in message for word in words), message


def test_each_pair_of_versions_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert len(warned(table_of(tmp_path, "76.1"), "77.1")) == 1
    assert len(warned(table_of(tmp_path / "other", "75.1"), "77.1")) == 1


def test_a_scan_is_planned_as_the_session_evaluates_it(tmp_path: Path) -> None:
    scan = DeltaTable(table_of(tmp_path)).scan("name = 'a'", time_zone="UTC", collation_version="77.1")
    planned = planned_for(scan, facts(scan, meaning=SessionMeaning("Asia/Tokyo", ansi=False), collation_version="76.1"))
    assert (planned.time_zone, planned.collation_version, planned.in_ansi) == ("Asia/Tokyo", "76.1", False)


def test_a_predicate_that_the_session_evaluates_otherwise_is_refused(tmp_path: Path) -> None:
    table = DeltaTable(table_of(tmp_path))
    scan = table.scan("name = 'a'")
    with pytest.raises(UnsupportedFeature, match=r"but Spark 3\.5\.0 compares by bytes"):
        planned_for(scan, facts(scan, version="3.5.0", has_collations=False))


def test_strings_that_the_session_compares_by_bytes_are_named(tmp_path: Path) -> None:
    scan = DeltaTable(table_of(tmp_path)).scan("id = 1")
    with pytest.warns(CollationWarning, match=r"Spark 3\.5\.0 does not have the collation of name \(icu\.UNICODE_CI\)"):
        read_by(scan, facts(scan, version="3.5.0", has_collations=False, unknown_collations={"name": "icu.UNICODE_CI"}))
