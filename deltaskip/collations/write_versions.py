"""The collation versions for which writers keep statistics, as listed in the table's domain metadata.

# COLLATIONS RFC, Collation versions: {"writeVersions": {"icu.UNICODE_CI": ["77.1"]}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from deltaskip.json_text import parse_json

DOMAIN = "collations"
WRITE_VERSIONS = "writeVersions"


class _Domain(Protocol):
    @property
    def configuration(self) -> str:
        """The domain's configuration."""
        ...


def kept_versions(domains: Mapping[str, _Domain]) -> dict[str, tuple[str, ...]]:
    """The versions that the writers of a table with these metadata domains keep, by collation; see write_versions."""
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
    """The versions that the domain lists, by collation in the domain's spelling; malformed entries are left out.

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
