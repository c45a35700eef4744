"""The rules of regions: of the package tzdata, and of sessions with other rules."""

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from deltaskip.sparkexpr.preimages.time_steps import offsets
from deltaskip.sparkexpr.values import calendar, zone_rules
from deltaskip.sparkexpr.values.calendar import local_of, zone_of
from deltaskip.sparkexpr.values.zone_rules import (
    Region,
    SharedRules,
    UnknownZone,
    forget_given_rules,
    java_region_file,
    packaged_release,
    region_file,
    rules_in_use,
    use_rules,
)
from tests.each import refuses
from tests.looped import looped

HOUR = 3600
MICROS = 1_000_000


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No session was asked; what a test uses is forgotten."""
    before = zone_rules._sources
    zone_rules._keep({})
    monkeypatch.setattr(zone_rules, "_from_others", {})
    monkeypatch.setattr(zone_rules, "_lost", 0)
    monkeypatch.setattr(zone_rules, "_used", {})
    # Each test has rules of its own for the same names.
    calendar._zone_of.cache_clear()
    yield
    zone_rules._keep(before)
    calendar._zone_of.cache_clear()


def offset(name: str, *moment: int) -> float:
    """The offset of a region at a time in UTC, in hours."""
    seconds = int(datetime(*moment, tzinfo=UTC).timestamp())
    return local_of(seconds * MICROS, zone_of(name)) / MICROS / HOUR - seconds / HOUR


def always(hours: int) -> Region:
    return "Europe/Oslo", region_file(hours * HOUR, [])


def test_regions_are_those_of_the_package_whatever_files_the_system_has() -> None:
    # Files that are built with the option PACKRATDATA have other rules for these times, 1 and 0:19:32.
    assert offset("Europe/Oslo", 1947, 7, 14, 22, 30) == 2
    assert offset("Europe/Amsterdam", 1910, 1, 14, 23, 45) == 0
    assert rules_in_use() == ()


@looped("name", ["europe/oslo", "Europe", "Europe/Oslo/", "SystemV/EST5", "tzdata.zi", "America/../Europe/Oslo"])
def test_other_names_are_unknown(name: str) -> None:
    refuses(UnknownZone, None, zone_of, name)


def test_a_session_of_another_release_has_its_rules_here() -> None:
    assert offset("Europe/Oslo", 2026, 1, 1) == 1
    use_rules("1999z", lambda name: always(5) if name != "X/Y" else None)
    assert rules_in_use() == ("1999z",)
    assert offset("Europe/Oslo", 2026, 1, 1) == 5
    assert offsets("Europe/Oslo") == (4 * HOUR * MICROS, 6 * HOUR * MICROS)
    refuses(UnknownZone, "'X/Y' is not a time zone of the session", zone_of, "X/Y")


def test_a_session_of_the_same_release_is_asked_only_for_what_the_package_lacks() -> None:
    asked: list[str] = []

    def source(name: str) -> Region:
        asked.append(name)
        return always(5)

    use_rules(packaged_release(), source)
    assert (rules_in_use(), offset("Europe/Oslo", 2026, 1, 1), offset("SystemV/EST5", 2026, 1, 1)) == ((), 1, 5)
    assert asked == ["SystemV/EST5"]


def test_rules_that_differ_between_sessions_are_unknown() -> None:
    use_rules("1999y", lambda name: always(5))
    use_rules("1999z", lambda name: always(5 if name == "Europe/Oslo" else 6))
    assert offset("Europe/Oslo", 2026, 1, 1) == 5
    refuses(UnknownZone, "other rules", zone_of, "Europe/Rome")


def test_a_session_that_is_gone_is_forgotten() -> None:
    def gone(name: str) -> Region:
        raise ConnectionError(name)

    use_rules("1999z", gone)
    assert offset("Europe/Oslo", 2026, 1, 1) == 1
    # What was kept while the session was asked is not used again when it answers.
    assert rules_in_use() not in ((), ("1999z",))
    use_rules("1999z", lambda name: always(5))
    assert offset("Europe/Oslo", 2026, 1, 1) == 5


def test_a_pickle_has_the_rules_of_zones_that_were_looked_up_before_the_rules_changed_and_came_back() -> None:
    use_rules("1999z", lambda _: always(5))
    assert offset("Europe/Oslo", 2026, 1, 1) == 5
    zone_rules._keep({})
    use_rules("1999z", lambda _: always(5))
    assert offset("Europe/Oslo", 2026, 1, 1) == 5
    packed = pickle.dumps(SharedRules())
    zone_rules._keep({})
    pickle.loads(packed)
    calendar._zone_of.cache_clear()
    assert offset("Europe/Oslo", 2026, 1, 1) == 5


def test_another_process_uses_the_rules_in_a_pickle() -> None:
    use_rules("1999z", lambda name: always(5))
    assert offset("Europe/Oslo", 2026, 1, 1) == 5
    packed = pickle.dumps(SharedRules())
    zone_rules._keep({})
    assert offset("Europe/Oslo", 2026, 1, 1) == 1
    pickle.loads(packed)
    assert (rules_in_use(), offset("Europe/Oslo", 2026, 1, 1)) == (("1999z",), 5)
    refuses(UnknownZone, None, zone_of, "Europe/Rome")
    forget_given_rules()
    assert (rules_in_use(), offset("Europe/Oslo", 2026, 1, 1), offset("Europe/Rome", 2026, 1, 1)) == ((), 1, 1)
    # A second pickle has more of the same rules.
    zone_rules._keep({"1999z": lambda name: always(5)})
    zone_of("Europe/Rome")
    packed = pickle.dumps(SharedRules())
    zone_rules._keep({})
    pickle.loads(packed)
    assert offset("Europe/Rome", 2026, 1, 1) == 5


@pytest.mark.parametrize("later", ["2001z", None])
def test_a_later_plan_in_the_same_process_has_the_rules_of_its_own_zones(later: str | None) -> None:
    """A worker of Spark runs tasks of several plans, with the rules of another session, or of the package."""
    use_rules("1999z", lambda name: always(5))
    zone_of("Europe/Oslo")
    first = pickle.dumps(SharedRules())
    zone_rules._keep({} if later is None else {later: lambda name: always(7)})
    zone_of("Europe/Rome")
    second = pickle.dumps(SharedRules())
    zone_rules._keep({})
    pickle.loads(first)
    assert offset("Europe/Oslo", 2026, 1, 1) == 5
    pickle.loads(second)
    assert offset("Europe/Rome", 2026, 1, 1) == (1 if later is None else 7)
    pickle.loads(first)
    assert offset("Europe/Oslo", 2026, 1, 1) == 5


def test_a_process_of_the_same_release_keeps_its_own_rules() -> None:
    zone_of("Europe/Oslo")
    pickle.loads(pickle.dumps(SharedRules()))
    assert rules_in_use() == ()


@looped(
    "on, year, expected",
    [
        ("Gap Z to +01:00, SUNDAY on or after MARCH 25 at 01:00 UTC", 2026, (2026, 3, 29, 1)),
        ("Gap Z to +01:00, SUNDAY on or before last day of MARCH at 01:00 UTC", 2026, (2026, 3, 29, 1)),
        ("Gap Z to +01:00, FRIDAY on or before last day minus 2 of MAY at 24:00 WALL", 2026, (2026, 5, 30)),
        ("Gap Z to +01:00, SATURDAY on or after DECEMBER 31 at 00:30:15 WALL", 2026, (2027, 1, 2, 0, 30, 15)),
        ("Gap Z to +01:00, FEBRUARY -1 at 00:00 UTC", 2028, (2028, 2, 29)),
        ("Gap Z to +01:00, DECEMBER -1 at 00:00 UTC", 2028, (2028, 12, 31)),
        ("Overlap +02:00 to +01:00, APRIL 3 at 02:00 WALL", 2026, (2026, 4, 3)),
        ("Overlap +02:00 to +01:00, APRIL 3 at 02:00 STANDARD", 2026, (2026, 4, 3, 1)),
        ("Overlap -03:30 to -04:00:10, APRIL 3 at 02:00 WALL", 2026, (2026, 4, 3, 5, 30)),
    ],
)
def test_yearly_rules_of_java_are_read(on: str, year: int, expected: tuple[int, ...]) -> None:
    kind, _, changed = on.partition(" ")
    before, _, rest = changed.partition(" to ")
    after, standard = rest.partition(",")[0], "Z" if kind == "Gap" else rest.partition(",")[0]
    back = f"Gap {after} to {before}, JANUARY 10 at 00:00 UTC, standard offset Z"
    rules = f"[TransitionRule[{on}, standard offset {standard}], TransitionRule[{back}]]"
    file = java_region_file(f"[Transition[Gap at 1990-01-01T00:00{after} to {before}]]", rules, 0)
    use_rules(on, lambda name: ("A/B", file))
    at = int(datetime(*expected, tzinfo=UTC).timestamp())
    found = [local_of((at + more) * MICROS, zone_of("A/B")) // MICROS - at - more for more in (-1, 0)]
    zone_rules._keep({})
    assert found == [zone_rules._offset(before), zone_rules._offset(after)]
