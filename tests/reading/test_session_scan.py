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


def test_another_version_is_named_with_the_cure_and_once(tmp_path: Path) -> None:
    (message,) = warned(table_of(tmp_path, "76.1"), "77.1", times=3)
    assert "compares strings by ICU 77.1" in message and "are of ICU 76.1" in message
    assert "recompute_stats(spark, collation_versions=['77.1'])" in message
    assert "install" not in message
    assert str(tmp_path / "t") in message and "version 0" in message


def test_each_pair_of_versions_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert len(warned(table_of(tmp_path, "76.1"), "77.1")) == 1
    assert len(warned(table_of(tmp_path / "other", "75.1"), "77.1")) == 1


def test_a_missing_library_is_named_with_its_source(tmp_path: Path) -> None:
    (message,) = warned(table_of(tmp_path, "77.1"), "99.9")
    assert "install ICU 99.9 (set DELTASKIP_ICU_PATH" in message
    assert "and run recompute_stats(spark, collation_versions=['99.9'])" in message


def test_statistics_of_the_session_without_the_library_need_the_library_only(tmp_path: Path) -> None:
    (message,) = warned(table_of(tmp_path, "99.9"), "99.9")
    assert "install ICU 99.9" in message and "recompute" not in message


@pytest.mark.parametrize("listed", [(), ("77.1",), ("76.1",)])
def test_statistics_that_serve_are_not_warned_about(tmp_path: Path, listed: tuple[str, ...]) -> None:
    assert warned(table_of(tmp_path, "76.1", "77.1", listed=listed), "77.1") == []


def test_a_table_without_collated_statistics_is_not_warned_about(tmp_path: Path) -> None:
    assert warned(table_of(tmp_path), "77.1") == []


def test_versions_that_only_the_domain_lists_are_named(tmp_path: Path) -> None:
    (message,) = warned(table_of(tmp_path, listed=("75.1", "76.1")), "77.1")
    assert "are of ICU 75.1, 76.1" in message


def test_a_session_that_reports_no_version_is_named(tmp_path: Path) -> None:
    (message,) = warned(table_of(tmp_path, "77.1"), "unknown")
    assert "collations()" in message and "recompute" not in message


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
