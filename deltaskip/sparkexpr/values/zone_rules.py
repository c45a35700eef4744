"""The rules of regions such as Europe/Oslo: those of the package tzdata, or of the Spark sessions that were asked.

java.time and the package tzdata have the same rules at every time if both are of one release of the time zone database.
Files of an operating system may be built otherwise and have other rules before 1970, so they are not used. Releases
differ, for present and future times, too: if a session has another release than the package, its rules apply here.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import cache

from deltaskip.errors import shown

Region = tuple[str, bytes]
"""The name of a region in java.time, and its rules in the format TZif. For an offset such as -05:00 without rules."""

LAST_YEAR = 2500
"""The last year whose changes are in the rules of a session. Rules of later years repeat those of 400 years before."""

# java.time.ZoneId.SHORT_IDS, which Spark accepts in addition to the names of the time zone database.
SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}

_MONTHS = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
_WEEKDAYS = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]
_EPOCH = datetime(1970, 1, 1)
_OFFSET = r"Z|[+-][0-9:]+"
# The texts of java.time.zone.ZoneOffsetTransition and ZoneOffsetTransitionRule, Java 8 to 25.
_CHANGE = rf"(?:Gap|Overlap) at (\S+?)({_OFFSET}) to ({_OFFSET})\]"
_YEARLY = (
    rf"(?:Gap|Overlap) ({_OFFSET}) to ({_OFFSET}), (?:([A-Z]+) on or (?:after|before) )?"
    rf"(?:last day(?: minus ([0-9]+))? of )?([A-Z]+)(?: (-?[0-9]+))? at ([0-9:]+) (UTC|WALL|STANDARD), "
    rf"standard offset ({_OFFSET})\]"
)

Source = Callable[[str], Region | None]
"""The rules of a name in a session. None if the session does not accept the name. Raises if the session is gone."""

_sources: dict[str, Source] = {}
_from_others: dict[str, dict[str, Region]] = {}
_releases: tuple[str, ...] = ()
_lost = 0
_in_use: tuple[str, ...] = ()
# The rules of each name that was used, by those in use: other modules keep zones, and do not ask again.
_used: dict[tuple[str, ...], dict[str, Region]] = {}


class UnknownZone(LookupError):
    """A name that may be a region, for which this process has no rules. Spark's JVM may have them."""


class SharedRules:
    """The rules that this process has used, in the pickle of an object: the process that reads it uses them, too."""

    def __reduce__(self) -> tuple[Callable[..., SharedRules], tuple[tuple[str, ...], dict[str, Region]]]:
        return _received, (_releases or (packaged_release(),), dict(_used.get(_in_use, {})))


def rules_in_use() -> tuple[str, ...]:
    """The rules that apply here, for values that are kept; empty for those of the package."""
    return _in_use


def packaged_release() -> str:
    """The release of the package tzdata, such as `2026a`."""
    import tzdata

    return str(tzdata.IANA_VERSION)


def knows_rules(release: str) -> bool:
    """Whether this process has a source of the release's rules."""
    return release in _sources


def use_rules(release: str, source: Source) -> None:
    """Let this process use the rules of a session, which are asked for once for each name.

    release: The release of its time zone database, with everything else in which sessions may differ.
    """
    _keep({**_sources, release: source})


def forget_given_rules() -> None:
    """Let this process use the rules of its own sessions, or of the package, after it was given those of another one.

    A worker of Spark runs tasks of several plans, one after the other, and a plan has the rules of its own zones only.
    """
    given = {*_from_others}
    if given:
        _from_others.clear()
        _keep({each: source for each, source in _sources.items() if each not in given})


def region(name: str) -> Region:
    """The rules of a name that is no offset.

    Raises UnknownZone if the rules are unknown here, or differ between the sessions of this process.
    """
    # Zones that only Java has, such as SystemV/EST5, are asked of every session.
    asked = _releases or (() if SHORT_IDS.get(name, name) in _packaged_names() else tuple(_sources))
    found = {answer[0] for release in asked if (answer := _answer(release, name))} or {_packaged(name)}
    result = found.pop()
    if found:
        raise UnknownZone(f"{shown(name)} has other rules in one session of this process than in another.")
    if result is None:
        raise UnknownZone(f"{shown(name)} is not a time zone of the session.")
    _used.setdefault(_in_use, {})[name] = result
    return result


def region_file(first: int, changes: Iterable[tuple[int, int]]) -> bytes:
    """Rules in the format TZif: the first offset, then the time and the new offset of each change, in seconds."""
    times = list(changes)
    offsets = list(dict.fromkeys([first, *(offset for _, offset in times)]))
    header = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 0, 0)
    counts = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, len(times), len(offsets), 1)
    body = struct.pack(f">{len(times)}q", *(time for time, _ in times))
    numbers = bytes(offsets.index(offset) for _, offset in times)
    types = b"".join(struct.pack(">lbb", offset, 0, 0) for offset in offsets)
    return header + counts + body + numbers + types + b"\0" + b"\n\n"


def java_region_file(transitions: str, rules: str, standing: int) -> bytes:
    """Rules in the format TZif, from the texts of ZoneRules.getTransitions() and getTransitionRules().

    standing: The offset in seconds if there are no transitions.
    """
    changes = [
        (int((datetime.fromisoformat(at) - _EPOCH).total_seconds()) - _offset(before), _offset(before), _offset(after))
        for at, before, after in re.findall(_CHANGE, transitions)
    ]
    first, last = (changes[0][1], changes[-1][0]) if changes else (standing, -(2**62))
    found = [(time, after) for time, _, after in changes]
    if rules != "[]":
        start = (_EPOCH + timedelta(seconds=last)).year if changes else 1900
        found += sorted(each for rule in re.findall(_YEARLY, rules) for each in _yearly(rule, start) if each[0] > last)
    return region_file(first, found)


def _answer(release: str, name: str) -> tuple[Region | None] | None:
    """The answer of a session; None if the session is gone, which is then forgotten."""
    try:
        return (_sources[release](name),)
    except UnknownZone:
        raise
    except Exception:  # a session that was stopped, or whose server is gone
        _keep({each: source for each, source in _sources.items() if each != release}, is_lost=True)
        return None


def _received(releases: tuple[str, ...], regions: dict[str, Region]) -> SharedRules:
    """Use the rules of another process, unless this process has its own of these releases.

    Those that came with an earlier plan are forgotten: they have the zones of that plan only.
    """
    release = " or ".join(releases)
    if not _from_others.keys() <= {release}:
        forget_given_rules()
    if release in _from_others or not {packaged_release(), *_sources}.issuperset(releases):
        known = _from_others.setdefault(release, {})
        known.update(regions)

        def source(name: str) -> Region:
            if name not in known:
                raise UnknownZone(f"{shown(name)} is not among the rules that this process was given.")
            return known[name]

        use_rules(release, source)
    return SharedRules()


def _keep(sources: dict[str, Source], is_lost: bool = False) -> None:
    """Use these sources. is_lost: whether one was lost, so that values kept for its rules may be of other rules."""
    global _sources, _releases, _lost, _in_use
    _sources, _releases = sources, tuple(each for each in sources if each != packaged_release())
    _lost += is_lost
    _in_use = (*_releases, *([f"{_lost} lost"] if _lost else []))


def _packaged(name: str) -> Region:
    known = SHORT_IDS.get(name, name)
    if known.startswith("-"):
        return known, b""
    if known not in _packaged_names():
        raise UnknownZone(f"{shown(name)} is not in release {packaged_release()} of the time zone database.")
    return known, _read("zoneinfo", *known.split("/"))


@cache
def _packaged_names() -> frozenset[str]:
    return frozenset(_read("zones").decode().split())


def _read(*path: str) -> bytes:
    """A file of the package, which may be in an archive."""
    import tzdata

    content: bytes = tzdata.__loader__.get_data(os.path.join(os.path.dirname(tzdata.__file__), *path))
    return content


def _yearly(rule: tuple[str, ...], first_year: int) -> Iterator[tuple[int, int]]:
    """The time of a yearly change in each year, and the new offset."""
    before, after, weekday, days_after, month, day, clock, by, standard = rule
    hours, minutes, *seconds = map(int, clock.split(":"))
    since_midnight = hours * 3600 + minutes * 60 + sum(seconds)
    offset = {"UTC": 0, "WALL": _offset(before), "STANDARD": _offset(standard)}[by]
    # java.time.zone.ZoneOffsetTransitionRule: a negative day counts from the end of the month.
    number = int(day) if day else -1 - int(days_after or 0)
    for year in range(first_year, LAST_YEAR + 1):
        months = year * 12 + _MONTHS.index(month[:3]) // 3 + (number < 0)
        found = date(months // 12, months % 12 + 1, 1).toordinal() + number - (number > 0)
        if weekday:
            # The ordinal of a Monday is 1 modulo 7.
            ahead = (_WEEKDAYS.index(weekday) + 1 - found) % 7
            found += ahead - 7 if number < 0 and ahead else ahead
        yield (found - _EPOCH.toordinal()) * 86_400 + since_midnight - offset, _offset(after)


def _offset(text: str) -> int:
    if text == "Z":
        return 0
    hours, minutes, seconds = map(int, [*text[1:].split(":"), "0"][:3])
    total = hours * 3600 + minutes * 60 + seconds
    return -total if text[0] == "-" else total
