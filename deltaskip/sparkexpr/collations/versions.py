"""Collation versions: the version of Spark, the versions that writers keep, and the sources of ICU libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from deltaskip.extras import install_command
from deltaskip.json_text import parse_json

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
