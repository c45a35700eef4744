"""The facts of a Spark session on which a read depends, and the scan as the session evaluates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal as Values
from typing import TypeVar

from deltaskip.engine import PlannedScan
from deltaskip.errors import CollationWarning, InvalidCollation, PredicateError, StatisticsWarning, UnsupportedFeature
from deltaskip.fork_safety import new_lock
from deltaskip.records import dataclass
from deltaskip.skipping.explain.reasons import logged_collations
from deltaskip.sparkexpr import collations
from deltaskip.sparkexpr.comparison_collation import compared_collations, is_binary
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import Opaque, walk
from deltaskip.sparkexpr.types import StructType, collation_of, resolve
from deltaskip.warning import warn

Listing = Values["engine", "here", "log"]
"""The source of the sizes and times of files: the engine, this process if the files are local and many, or the log."""

Planned = TypeVar("Planned", bound=PlannedScan)
_lock = new_lock()
_warned: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True)
class SessionNeeds:
    """The requirements of a predicate on a session.

    Attributes:
        table: The table and its version, for messages.
        compared: The collations, as written, that deltaskip compares under; without UTF8_BINARY.
        opaque: The collations of columns in the parts that only Spark can evaluate; without UTF8_BINARY.
    """

    table: str
    compared: tuple[str, ...]
    opaque: tuple[str, ...]

    @classmethod
    def of(cls, scan: PlannedScan) -> SessionNeeds:
        """Return the requirements of the bound predicate of a scan."""
        snapshot, opaque = scan.snapshot, list[str]()
        for part in walk(scan.predicate):
            if isinstance(part, Opaque):
                opaque += _collations(snapshot.schema, part)
        table = f"{snapshot.table_root} (version {snapshot.version})"
        return cls(table, compared_collations(scan.predicate), tuple(opaque))


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The facts of a Spark session that reads a scan.

    Attributes:
        needs: The requirements of the scan's predicate.
        meaning: How it understands the scan's predicate.
        version: Release of Spark.
        has_collations: Whether strings have collations at all.
        collation_version: The version by which it compares strings; None if the predicate compares under no collation.
        unknown_collations: The strings of the table whose collation it does not have: path → identifier as declared.
        unreadable: Names of columns whose types it does not have, if the scan names its columns.
        listing: The source of the sizes and times of files.
        estimates: Whether its optimizer uses numbers of rows and statistics of columns.
    """

    needs: SessionNeeds
    meaning: SessionMeaning
    version: str
    has_collations: bool
    collation_version: str | None
    unknown_collations: Mapping[str, str]
    unreadable: tuple[str, ...]
    listing: Listing
    estimates: bool = False


def planned_for(scan: Planned, session: SessionFacts) -> Planned:
    """Return the scan as the session understands it, and for its version of the collations that it compares.

    Raises UnsupportedFeature if the session evaluates the predicate in another way than deltaskip.
    """
    table, needed = session.needs.table, (*session.needs.compared, *session.needs.opaque)
    missing = next((each for each in needed if not (session.has_collations and collations.spark_collation(each))), None)
    if missing is not None:
        lack = f"but Spark {session.version} compares by bytes; use Spark 4.0 or newer."
        if session.has_collations:
            lack = (
                f"which Spark {session.version} does not have; list the files with scan.paths(), or compare under "
                "another collation, as in c COLLATE UTF8_BINARY = 'x'."
            )
        raise UnsupportedFeature(f"The predicate compares strings of {table} under the collation {missing}, {lack}")
    return scan.replanned(session.meaning, session.collation_version or scan.collation_version)


def read_by(scan: Planned, session: SessionFacts) -> Planned:
    """Return the scan as `planned_for` does, for its rows to be read, with warnings about the table's collations."""
    scan, needs = planned_for(scan, session), session.needs
    if session.unknown_collations:
        named = ", ".join(f"{path} ({identifier})" for path, identifier in session.unknown_collations.items())
        warn(
            f"Spark {session.version} does not have the collation of {named} in {needs.table}; the DataFrame contains "
            "the strings and compares them by their bytes.",
            CollationWarning,
        )
    if session.collation_version is not None:
        listed, logged = collations.kept_versions(scan.snapshot.domains), partial(logged_collations, scan.snapshot)
        warn_if_unused(needs.table, needs.compared, session.collation_version, listed, logged)
    return scan


def _collations(struct: StructType, part: Opaque) -> Iterator[str]:
    """The collations of the columns in a part of a predicate."""
    for column in part.columns:
        try:
            identifier = collation_of(resolve(struct, column))
        except PredicateError:
            continue
        if identifier is not None and not is_binary(identifier):
            yield identifier


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
        available = collations.find(wanted.with_version(session)) is not None
        versions = {version for name, kept in listed.items() if _names(name, wanted) for version in kept}
        if available and session in versions:
            continue
        found = filter(None, map(_parsed, logged()))
        versions |= {each.version for each in found if each.version and each.without_version.canonical == wanted}
        if versions and not (available and session in versions):
            _warn(table, wanted, session, versions, available)


def _warn(
    table: str, collation: collations.CollationId, session: str, versions: Iterable[str], available: bool
) -> None:
    others = sorted(versions, key=_numbers)
    with _lock:
        pair = session, session if session in others else others[-1]
        if pair in _warned:
            return
        _warned.add(pair)
    install = "" if available else f"install ICU {session} ({collations.how_to_get(session)})"
    recompute = "" if session in others else f"run recompute_stats(spark, collation_versions=[{session!r}])"
    if session == collations.UNKNOWN_VERSION:
        install, recompute = "", "filter with a Spark that lists its version in collations()"
    warn(
        f"This Spark session compares strings by ICU {session}, and the statistics of {collation} in {table} are of "
        f"ICU {', '.join(others)}, so they cannot be used to skip files here: "
        f"{' and '.join(filter(None, (install, recompute)))}.",
        StatisticsWarning,
    )


def _names(text: str, wanted: collations.CollationId) -> bool:
    named = _parsed(text)
    return named is not None and named.canonical == wanted


def _parsed(text: str) -> collations.CollationId | None:
    try:
        return collations.CollationId.named(text)
    except InvalidCollation:
        return None


def _numbers(version: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in version.split(".")]
