"""The collation versions for which writers keep statistics, as listed in the table's domain metadata.

# COLLATIONS RFC, Collation versions: {"writeVersions": {"icu.UNICODE_CI": ["77.1"]}}
"""

from __future__ import annotations

from typing import Any

from deltaskip.json_text import parse_json

__all__ = ["DOMAIN", "WRITE_VERSIONS", "domain_members", "write_versions"]

DOMAIN = "collations"
WRITE_VERSIONS = "writeVersions"


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
