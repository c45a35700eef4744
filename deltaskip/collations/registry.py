"""From a collation's identifier to what evaluates it, by exact version; and which versions are in this process.

# COLLATIONS RFC: "an engine must take care to only use column statistics for file skipping from a collation that is
# identical to the one specified in the filtering operation in all aspects, including the collation version."
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from deltaskip.collations.collation import Collation
from deltaskip.collations.icu import icu_collation
from deltaskip.collations.identifier import CollationId
from deltaskip.collations.libraries import icu_libraries, icu_library
from deltaskip.collations.names import parse_name
from deltaskip.collations.spark_order import spark_order, spark_order_versions
from deltaskip.errors import CollationUnavailable, DeltaSkipError, InvalidCollation

__all__ = ["SPARK_VERSION", "AvailableCollations", "available_collations", "evaluator", "find"]

SPARK_VERSION = "77.1"
"""The version that Spark 4.1 has, of both providers."""

_PROVIDERS = ("icu", "spark")

_lock = threading.Lock()
_evaluators: dict[tuple[str, str], Collation] = {}


@dataclass(frozen=True, slots=True)
class AvailableCollations:
    """Collations of one provider in one exact version that this process can evaluate.

    provider: "icu" or "spark". version: major.minor, such as "77.1". source: "built in", or the path of a library.
    """

    provider: str
    version: str
    source: str


def available_collations() -> tuple[AvailableCollations, ...]:
    """Providers and exact versions that are here, the newest version first.

    Loads every ICU library that is found: some milliseconds each, the first time.
    """
    icu = [AvailableCollations("icu", version, library.source) for version, library in icu_libraries().items()]
    own = [AvailableCollations("spark", version, "built in") for version in reversed(spark_order_versions())]
    return (*icu, *own)


def evaluator(identifier: str | CollationId) -> Collation:
    """What evaluates the collation, by a library of exactly its version; the same object each time it is asked for.

    identifier: such as "icu.UNICODE_CI.77.1", in any letter case. Without a version it is that of Spark 4.1, 77.1, if
    it is here, else the newest that is; look at the answer's `id`.
    Raises InvalidCollation for an identifier or name that is none, CollationUnavailable where no library of the version
    is here or knows the locale; it names the versions that are.
    """
    wanted = CollationId.parse(identifier) if isinstance(identifier, str) else identifier
    provider = wanted.provider.lower()
    if provider not in _PROVIDERS or not wanted.provider.isascii():
        raise CollationUnavailable(
            f"{wanted} cannot be evaluated: there is no provider {wanted.provider!r} here, only icu and spark."
        )
    belongs = parse_name(wanted.name)
    if belongs.provider != provider:
        raise InvalidCollation(f"{wanted} does not exist; write {belongs.provider}.{belongs.normalized}.")
    version = wanted.version or _default_version(provider)
    # By the text, not by meaning, so that each asker gets the spelling that it came with.
    key = (wanted.text, version)
    found = _evaluators.get(key)
    if found is None:
        with _lock:
            found = _evaluators.setdefault(key, _made(wanted.with_version(version), provider, version))
    return found


def find(identifier: str | CollationId) -> Collation | None:
    """What evaluates the collation, or None where nothing here does: statistics under it then prove nothing.

    Raises nothing; without a version it is as in `evaluator`.
    """
    try:
        return evaluator(identifier)
    except DeltaSkipError:
        return None


def _made(wanted: CollationId, provider: str, version: str) -> Collation:
    if provider == "spark":
        return spark_order(wanted)
    library = icu_library(version)
    if library is None:
        here = ", ".join(icu_libraries()) or "none"
        raise CollationUnavailable(
            f"{wanted} needs ICU {version}, and the versions here are {here}: install a package that brings it "
            "(pyicu-wheels 2.15 brings 77.1), or name the folder of its libicui18n in DELTASKIP_ICU_PATH."
        )
    return icu_collation(wanted, library)


def _default_version(provider: str) -> str:
    if provider == "spark" or icu_library(SPARK_VERSION) is not None:
        return SPARK_VERSION
    newest = next(iter(icu_libraries()), None)
    if newest is None:
        raise CollationUnavailable(
            "No ICU library is here: install pyicu-wheels, or name the folder of a libicui18n in DELTASKIP_ICU_PATH."
        )
    return newest
