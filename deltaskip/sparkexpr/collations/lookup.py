"""Looks up collations by name, or by identifier and exact version, and lists the versions that can be evaluated here.

A version is that of Spark, one that writers keep, or that of an ICU library.

# COLLATIONS RFC: "an engine must take care to only use column statistics for file skipping from a collation that is
# identical to the one specified in the filtering operation in all aspects, including the collation version."
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from deltaskip.doors import door
from deltaskip.errors import CollationUnavailable, DeltaSkipError, InvalidArgumentType, InvalidCollation
from deltaskip.extras import install_command
from deltaskip.fork_safety import new_lock
from deltaskip.json_text import parse_json
from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.sparkexpr.collations.collation import Collation
from deltaskip.sparkexpr.collations.collation_id import CollationId

_PROVIDERS = ("icu", "spark")

_lock = new_lock()
_collations: dict[tuple[str, str], Collation] = {}


@dataclass(frozen=True, slots=True, repr=False)
class AvailableCollations(Shown):
    """Collations of one provider in one exact version that this process can evaluate.

    Attributes:
        provider: "icu" or "spark".
        version: major.minor, such as "77.1".
        source: "built in", or the path of the ICU library.
    """

    provider: str
    version: str
    source: str


@door
def available_collations() -> tuple[AvailableCollations, ...]:
    """List the providers and exact versions that this process can evaluate, newest version first.

    The first call loads every ICU library found, each in some milliseconds.

    Returns:
        One entry for each provider and version. An entry with the provider "icu" covers all locales of that version.
    """
    from deltaskip.sparkexpr.collations.libraries import icu_libraries
    from deltaskip.sparkexpr.collations.spark_order import lowercase_versions

    icu = [AvailableCollations("icu", version, library.source) for version, library in icu_libraries().items()]
    own = [AvailableCollations("spark", version, "built in") for version in reversed(lowercase_versions())]
    return (*icu, *own)


@door
def collation(identifier: str | CollationId) -> Collation:
    """Return the collation with this identifier, evaluated by a library of exactly its version.

    Equal identifiers in the same spelling return the same object.

    Args:
        identifier: provider.name[.version], such as "icu.UNICODE_CI.77.1" or "spark.UTF8_LCASE.77.1", in any letter
            case. The default version is 77.1, the version of Spark 4.1, if it is available, else the newest available
            version; the `id` of the result contains it.

    Returns:
        The collation, with `sort_keys`, `compare`, `min_max` and other methods for Arrow arrays.

    Raises:
        InvalidCollation: The text is not a collation identifier, or its provider does not have this name.
        CollationUnavailable: No library of this version is available, or the library does not have the locale. The
            message names the available versions.
        InvalidArgumentType: `identifier` is neither a str nor a CollationId.
    """
    if not isinstance(identifier, str | CollationId):
        raise InvalidArgumentType.of("identifier", "a str such as 'icu.UNICODE_CI.77.1'", identifier)
    wanted = CollationId.parse(identifier) if isinstance(identifier, str) else identifier
    provider = wanted.provider.lower()
    if provider not in _PROVIDERS or not wanted.provider.isascii():
        raise CollationUnavailable(
            f"{wanted} cannot be evaluated: the provider must be icu or spark, not {wanted.provider!r}."
        )
    belongs = wanted.name_parts
    if belongs.provider != provider:
        raise InvalidCollation(f"{wanted} does not exist; use {belongs.provider}.{belongs.normalized}.")
    version = wanted.version or _default_version(provider)
    # The key contains the text: the id of the result keeps the caller's spelling.
    key = (wanted.text, version)
    found = _collations.get(key)
    if found is None:
        with _lock:
            found = _collations.setdefault(key, _made(wanted.with_version(version), provider, version))
    return found


def find(identifier: str | CollationId) -> Collation | None:
    """The collation; None if this process cannot evaluate it: its statistics then prove nothing.

    Never raises. The default version is the default of `collation`.
    """
    try:
        return collation(identifier)
    except DeltaSkipError:
        return None


def is_known(identifier: str) -> bool:
    """Whether the text identifies a collation that some version of its library can evaluate. Never raises."""
    try:
        known = CollationId.parse(identifier).without_version.canonical
        name = known.name_parts
    except InvalidCollation:
        return False
    return known.provider == name.provider and (name.spark or find(known) is not None)


def _made(wanted: CollationId, provider: str, version: str) -> Collation:
    # ICU modules are imported for the first collation; most tables have no collations.
    if provider == "spark":
        from deltaskip.sparkexpr.collations.spark_order import spark_order

        return spark_order(wanted)
    from deltaskip.sparkexpr.collations.libraries import icu_libraries, icu_library
    from deltaskip.sparkexpr.collations.spark_data import icu_collation

    library = icu_library(version)
    if library is None:
        here = ", ".join(icu_libraries()) or "none"
        raise CollationUnavailable(
            f"{wanted} needs ICU {version}, and the available versions are {here}: {how_to_get(version)}."
        )
    return icu_collation(wanted, library)


def _default_version(provider: str) -> str:
    from deltaskip.sparkexpr.collations.libraries import icu_libraries, icu_library

    if provider == "spark" or icu_library(SPARK_VERSION) is not None:
        return SPARK_VERSION
    newest = next(iter(icu_libraries()), None)
    if newest is None:
        raise CollationUnavailable(
            "No ICU library is available: install pyicu-wheels, or set DELTASKIP_ICU_PATH to a folder with libicui18n."
        )
    return newest


SPARK_VERSION = "77.1"
"""The collation version of Spark 4.1 for both providers."""

UNKNOWN_VERSION = "unknown"
"""The collation version of a session that does not report it."""

_PACKAGES = {
    "77.1": "run: pip install 'pyicu-wheels==2.15.*'",
    "78.3": f"run: {install_command('spark', 'icu4py')}",
    "76.1": "run: pip install --no-deps --target FOLDER pyicu-wheels==2.14, and set DELTASKIP_ICU_PATH to "
    "FOLDER/pyicu_wheels.libs; where PySpark 4.0 is installed, its own data is used",
}
_OTHERWISE = "set DELTASKIP_ICU_PATH to the folder of its libicui18n, or call deltaskip.register_icu with it"
DOMAIN = "collations"
WRITE_VERSIONS = "writeVersions"


def installed_spark_version() -> str:
    """The collation version of the Spark in SPARK_HOME or of the installed PySpark; without either, SPARK_VERSION."""
    from deltaskip.sparkexpr.collations.spark_data import spark_jar

    jar = spark_jar()
    return SPARK_VERSION if jar is None else jar.version


def how_to_get(version: str) -> str:
    """An instruction to install ICU of this version, which can follow a colon."""
    return _PACKAGES.get(version, _OTHERWISE)


class _Domain(Protocol):
    @property
    def configuration(self) -> str:
        """The domain's configuration."""
        ...


def kept_versions(domains: Mapping[str, _Domain]) -> dict[str, tuple[str, ...]]:
    """The versions that the writers of a table with these metadata domains keep, by collation (see write_versions)."""
    domain = domains.get(DOMAIN)
    return write_versions(None if domain is None else domain.configuration)


def domain_members(configuration: str | None) -> dict[str, Any]:
    """The members of the domain's configuration; empty if it is missing or damaged."""
    try:
        found = parse_json(configuration) if configuration else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def write_versions(configuration: str | None) -> dict[str, tuple[str, ...]]:
    """The versions that the domain lists, by collation in the domain's spelling, without malformed entries.

    # COLLATIONS RFC: "Clients are allowed to ignore the hints."
    """
    versions = domain_members(configuration).get(WRITE_VERSIONS)
    if not isinstance(versions, dict):
        return {}
    return {
        name: tuple(version for version in listed if isinstance(version, str) and version)
        for name, listed in versions.items()
        if isinstance(listed, list)
    }
