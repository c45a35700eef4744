"""Columns, protocol and properties of a table, as `deltaskip create` and `alter` show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltaskip.sparkexpr.types import StructType


def table_state(schema: StructType, protocol: Any, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return columns, protocol and properties for JSON."""
    from deltaskip.sparkexpr.types import simple_string

    return {
        "schema": [
            {
                "name": field.name,
                "type": simple_string(field.type, field),
                "nullable": field.nullable,
                "metadata": dict(field.metadata),
            }
            for field in schema.fields
        ],
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": sorted(protocol.reader_features or ()),
        "writer_features": sorted(protocol.writer_features or ()),
        "properties": dict(sorted(properties.items())),
    }


def typed_columns(schema: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the names of columns with their types, for a table of text."""
    return [(each["name"], each["type"] + ("" if each["nullable"] else " NOT NULL")) for each in schema]


def protocol_facts(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return lines of text for the protocol, its features and the properties."""
    features = ", ".join(state["writer_features"]) or "-"
    properties = ", ".join(f"{name}={value}" for name, value in state["properties"].items()) or "-"
    return [
        ("protocol:", f"reader {state['min_reader_version']}, writer {state['min_writer_version']}"),
        ("features:", features),
        ("properties:", properties),
    ]
