"""Requirements of the catalog for tables that it manages: features and properties that version 0 sets and later keep.

# Unity Catalog, ManagedTablesSpec, Create a Table: the authoritative set is what the server answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.unity.models import StagingTable
from deltaskip.errors import InvalidArgument, InvalidCommit, UnsupportedFeature
from deltaskip.features.enabling import FEATURE_PREFIX
from deltaskip.features.registry import FEATURES
from deltaskip.log import Snapshot
from deltaskip.schema.properties import TableProperties, is_delta_property

TABLE_ID = "io.unitycatalog.tableId"
"""Property of a managed table: its identifier in the catalog."""

# Creating a table chooses the values of these properties.
_CHOSEN = (
    TableProperties.max_column_id.name,
    TableProperties.row_id_column.name,
    TableProperties.row_commit_version_column.name,
)
_REQUIRED = (
    TABLE_ID,
    TableProperties.checkpoint_policy.name,
    TableProperties.deletion_vectors.name,
    TableProperties.in_commit_timestamps.name,
    TableProperties.write_stats_as_struct.name,
    TableProperties.write_stats_as_json.name,
)
_LONGEST = 255
_SUGGESTED = (
    TableProperties.row_tracking.name,
    TableProperties.randomize_file_prefixes.name,
    TableProperties.compression_codec.name,
)


def new_properties(staging: StagingTable, given: Mapping[str, str], ident: CatalogIdentifier) -> dict[str, str]:
    """Return the properties with which a managed table is created, including those that add features.

    Args:
        staging: The requirements and suggestions of the catalog.
        given: Properties of the user, which take precedence over suggested ones.
        ident: Name of the table, for messages.

    Raises:
        InvalidArgument: A property of the user contradicts a required one.
        UnsupportedFeature: deltaskip lacks a required feature, or cannot choose the value of a property.
    """
    properties = {TABLE_ID: staging.uuid, **given}
    for name in staging.required.features:
        if name not in FEATURES or FEATURES[name].writes == "no":
            raise UnsupportedFeature(f"The catalog requires the feature {name} of {ident}, which deltaskip lacks.")
        properties[f"{FEATURE_PREFIX}{name}"] = "supported"
    for name, text in staging.required.properties.items():
        if text is not None:
            _set(properties, name, text, ident)
        elif name not in properties and name not in _CHOSEN:
            raise UnsupportedFeature(f"The catalog requires a value of {name} for {ident}: give it as a property.")
    for name in staging.suggested.features:
        if name in FEATURES and FEATURES[name].writes == "yes":
            properties.setdefault(f"{FEATURE_PREFIX}{name}", "supported")
    for name, text in staging.suggested.properties.items():
        if text is not None and (is_delta_property(name) or not name.startswith("delta.")):
            properties.setdefault(name, text)
    return properties


def kept_properties(latest: Snapshot, given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with which a managed table is replaced: the user's, and those that the catalog requires.

    Raises InvalidArgument if a property of the user contradicts a required one.
    """
    had = latest.properties
    properties = {**{name: had[name] for name in _SUGGESTED if name in had}, **given}
    for name in _REQUIRED:
        if name in had:
            _set(properties, name, had[name], latest.root)
    return properties


def check_lengths(properties: Mapping[str, str], what: str) -> None:
    """Raise InvalidArgument for a property that the server cannot keep.

    # Unity Catalog, PropertyDAO: columns of 255 characters; a longer value fails with an internal error

    Args:
        properties: Properties of a table or namespace.
        what: Its name, for the message.
    """
    for name, text in properties.items():
        if len(name) > _LONGEST or (len(text) > _LONGEST and name != "comment"):
            shown = name if len(name) <= _LONGEST else f"{name[:50]}…"
            part = "name" if len(name) > _LONGEST else "value"
            raise InvalidArgument(
                f"The {part} of the property {shown} of {what} is too long for Unity Catalog, which keeps at most "
                f"{_LONGEST} characters: shorten it, or leave it out."
            )


def told(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the updates of an external table without properties that the server cannot keep: its log has them."""
    found = []
    for each in updates:
        if each["action"] == "set-properties":
            kept = {name: text for name, text in each["updates"].items() if max(len(name), len(text)) <= _LONGEST}
            if not kept:
                continue
            each = {**each, "updates": kept}
        found.append(each)
    return found


def check_kept(latest: Snapshot, configuration: Mapping[str, str], table: str) -> None:
    """Raise InvalidCommit if a commit changes a property that the catalog has required of its table.

    Raises InvalidArgument for a new property that the server cannot keep.

    Args:
        latest: The version before the commit.
        configuration: The properties after it.
        table: Name of the table, for the message.
    """
    changed = {name: text for name, text in configuration.items() if latest.properties.get(name) != text}
    check_lengths(changed, table)
    for name in _REQUIRED:
        had = latest.properties.get(name)
        if had is not None and configuration.get(name) != had:
            raise InvalidCommit(
                f"A commit to {table} changes the property {name}, which its catalog requires to be {had!r}: leave it "
                f"as it is.",
                "catalog",
            )


def _set(properties: dict[str, str], name: str, text: str, table: object) -> None:
    if properties.setdefault(name, text) != text:
        raise InvalidArgument(
            f"The catalog requires {name}={text} of {table}, not {properties[name]!r}: leave the property out, or "
            f"create an external table with the property location."
        )
