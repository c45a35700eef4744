"""The rules of time zones in the JVM of a session, which may be of another release than those of this process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from deltaskip.lazy_regex import regex
from deltaskip.spark.session.session_settings import is_classic, java_view
from deltaskip.sparkexpr.values.zone_rules import (
    LAST_YEAR,
    SHORT_IDS,
    Region,
    java_region_file,
    knows_rules,
    region_file,
    use_rules,
)

# Spark 4.1, SparkDateTimeUtils.getZoneId: the error for a name that java.time does not have.
_REFUSED = regex(r"INVALID_TIMEZONE|ZoneRulesException|DateTimeException|time-zone")
# From 1840, before the first change of a region, to the end of LAST_YEAR.
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1840, LAST_YEAR + 1))
_OFFSET = "unix_seconds(from_utc_timestamp(timestamp_seconds({at}), '{name}')) - ({at})"
# No region changes its offset twice within three days.
_STEPS = (3 * 86_400, 3600, 60, 1)
_RELEASE = "reflect('java.time.zone.ZoneRulesProvider', 'getVersions', 'UTC')"

_releases: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def use_session_rules(spark: Any) -> None:
    """Let this process use the rules of a session, if they are of another release than its own.

    A JVM, or the server of a session of Spark Connect, is asked once.
    """
    jvm = java_view(spark) if is_classic(spark) else None
    asked = spark if jvm is None else jvm
    release = _releases.get(asked)
    if release is not None and knows_rules(release):
        return
    in_jvm: list[_JavaRules | _QueriedRules] = [] if jvm is None else [_JavaRules(jvm)]
    for rules in (*in_jvm, _QueriedRules(spark)):
        try:
            release = _releases[asked] = rules.release()
        except Exception:  # a session that was stopped, or that does not allow the question
            continue
        use_rules(release, rules)
        break


class _JavaRules:
    """The rules of the JVM of a classic session."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._zones = jvm.java.time.ZoneId

    def release(self) -> str:
        versions = self._jvm.java.time.zone.ZoneRulesProvider.getVersions("UTC").toString()
        return _named(versions, self._zones.SHORT_IDS.get("EST").startswith("-"))

    def __call__(self, name: str) -> Region | None:
        try:
            zone = self._zones.of(name, self._zones.SHORT_IDS)
        except Exception as error:
            if _REFUSED.search(str(error)):
                return None
            raise
        rules = zone.getRules()
        texts = rules.getTransitions().toString(), rules.getTransitionRules().toString()
        standing = 0
        if texts[0] == "[]":
            standing = rules.getOffset(self._jvm.java.time.Instant.EPOCH).getTotalSeconds()
        return zone.getId(), java_region_file(*texts, standing)


class _QueriedRules:
    """The rules of the server of a session of Spark Connect."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def release(self) -> str:
        """The release; a name of its own if the server does not allow calls of Java."""
        fixed = f"{_OFFSET.format(at=-2_208_988_800, name='EST')} = -18000"
        try:
            [row] = self._spark.sql(f"SELECT {_RELEASE}, {fixed}").collect()
        except Exception:  # Connect wraps every error
            [row] = self._spark.sql(f"SELECT concat('{{', uuid(), '='), {fixed}").collect()
        return _named(*row)

    def __call__(self, name: str) -> Region | None:
        found = f"SELECT id AS s FROM range({_FIRST}, {_LAST}, {_STEPS[0]}, 4)"
        for step, finer in zip(_STEPS, (*_STEPS[1:], None), strict=True):
            found = f"SELECT s FROM ({found}) WHERE {self._at('s', name)} != {self._at(f's + {step}', name)}"
            if finer is not None:
                found = f"SELECT explode(sequence(s, s + {step - finer}, {finer})) AS s FROM ({found})"
        try:
            query = f"SELECT s + 1, {self._at('s', name)}, {self._at('s + 1', name)} FROM ({found})"
            rows = sorted(tuple(row) for row in self._spark.sql(query).collect() if row[0] < _LAST)
            first = rows[0][1] if rows else self._spark.sql(f"SELECT {self._at(0, name)}").collect()[0][0]
        except Exception as error:  # Connect wraps every error
            if _REFUSED.search(str(error)):
                return None
            raise
        known = SHORT_IDS.get(name, name)
        # Of some short names, the region depends on the release of Java.
        known = "" if known.startswith("-") and rows else known
        return known, region_file(first, [(at, after) for at, _, after in rows])

    def _at(self, at: object, name: str) -> str:
        return _OFFSET.format(at=at, name=name)


def _named(versions: str, short_ids_are_offsets: bool) -> str:
    """The release of the time zone database. Java 25 has regions for the short names of offsets."""
    release = versions.strip("{").partition("=")[0]
    return release if short_ids_are_offsets else f"{release} with regions for EST, MST and HST"
