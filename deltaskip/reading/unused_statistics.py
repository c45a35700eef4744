"""Warns about collated statistics of a collation version other than the version of the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from deltaskip.errors import InvalidCollation, StatisticsWarning
from deltaskip.fork_safety import new_lock
from deltaskip.sparkexpr.collations import UNKNOWN_VERSION, CollationId, find, how_to_get
from deltaskip.warning import warn

_lock = new_lock()
_warned: set[tuple[str, str]] = set()


def warn_if_unused(
    table: str,
    compared: Iterable[str],
    session: str,
    listed: Mapping[str, Iterable[str]],
    logged: Callable[[], Iterable[str]],
) -> None:
    """Warn, once for each pair of versions, if a session's comparisons cannot use a table's collated statistics.

    Args:
        table: The table and its version, for messages.
        compared: The collations, as written, of the comparisons of a predicate.
        session: The collation version of the session.
        listed: The versions that the table's writers keep, by collation; see `kept_versions`.
        logged: Returns the identifiers for which the log has statistics. It is called only if `listed` does not decide.
    """
    for text in compared:
        collation = _parsed(text)
        if collation is None or collation.version is not None:
            continue
        wanted = collation.canonical
        available = find(wanted.with_version(session)) is not None
        versions = {version for name, kept in listed.items() if _names(name, wanted) for version in kept}
        if available and session in versions:
            continue
        found = filter(None, map(_parsed, logged()))
        versions |= {each.version for each in found if each.version and each.without_version.canonical == wanted}
        if versions and not (available and session in versions):
            _warn(table, wanted, session, versions, available)


def _warn(table: str, collation: CollationId, session: str, versions: Iterable[str], available: bool) -> None:
    others = sorted(versions, key=_numbers)
    with _lock:
        pair = session, session if session in others else others[-1]
        if pair in _warned:
            return
        _warned.add(pair)
    install = "" if available else f"install ICU {session} ({how_to_get(session)})"
    recompute = "" if session in others else f"run recompute_stats(spark, collation_versions=[{session!r}])"
    if session == UNKNOWN_VERSION:
        install, recompute = "", "filter with a Spark that lists its version in collations()"
    warn(
        f"This Spark session compares strings by ICU {session}, and the statistics of {collation} in {table} are of "
        f"ICU {', '.join(others)}, so they cannot be used to skip files here: "
        f"{' and '.join(filter(None, (install, recompute)))}.",
        StatisticsWarning,
    )


def _names(text: str, wanted: CollationId) -> bool:
    named = _parsed(text)
    return named is not None and named.canonical == wanted


def _parsed(text: str) -> CollationId | None:
    try:
        return CollationId.named(text)
    except InvalidCollation:
        return None


def _numbers(version: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in version.split(".")]
