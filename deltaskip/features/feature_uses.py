"""The features that a table uses by its properties, and by the metadata and types of its columns.

# PROTOCOL, Table Features
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaskip.features.registry import FEATURES, RECORD_INDEX, feature_names
from deltaskip.schema.properties import TableProperties, TableProperty
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY
from deltaskip.sparkexpr import types as t


def uses_of(properties: TableProperties, schema: t.StructType) -> dict[tuple[str, ...], str]:
    """Return the features that properties and columns use: alternative names of each, and a description of the use."""
    uses: dict[tuple[str, ...], str] = {}
    for definition, names in _USING_PROPERTIES:
        if properties.uses(definition):
            uses[names] = f"the property {definition.name}"
    for name in properties.constraints:
        uses["checkConstraints",] = f"the constraint {name}"
    for field in t.nested_fields(schema):
        for key in field.metadata:
            found = next((names for prefix, names in _USING_KEYS.items() if key.startswith(prefix)), None)
            if found is not None:
                uses.setdefault(found, f"{key} of the column {field.name}")
        # A field of a struct is reported by its own name.
        for type_ in t.nested_types(field.type, into_structs=False):
            of_type = _GEOSPATIAL if isinstance(type_, t.GEOSPATIAL) else _USING_TYPES.get(type_)
            if of_type is not None:
                uses.setdefault(of_type, f"the type {t.simple_string(type_)} of the column {field.name}")
    return uses


def is_used(name: str, properties: TableProperties, schema: t.StructType) -> bool:
    """Whether the table uses a feature that it has; True for features whose use cannot be detected."""
    if name in _PROPERTY:
        return properties.uses(_PROPERTY[name])
    if name in _FIELD_KEY:
        return any(key.startswith(_FIELD_KEY[name]) for field in t.nested_fields(schema) for key in field.metadata)
    return name != "checkConstraints" or bool(properties.constraints)


_PROPERTY: Mapping[str, TableProperty[Any]] = {
    "appendOnly": TableProperties.append_only,
    "changeDataFeed": TableProperties.change_data_feed,
    "icebergCompatV1": TableProperties.iceberg_compat_v1,
    "icebergCompatV2": TableProperties.iceberg_compat_v2,
    "icebergCompatV3": TableProperties.iceberg_compat_v3,
    "icebergWriterCompatV1": TableProperties.iceberg_writer_compat_v1,
    "icebergWriterCompatV3": TableProperties.iceberg_writer_compat_v3,
    "coordinatedCommits-preview": TableProperties.commit_coordinator,
    "redirectWriterOnly-preview": TableProperties.writer_redirect,
}
_WIDENING = feature_names("typeWidening")
_USING_PROPERTIES: tuple[tuple[TableProperty[Any], tuple[str, ...]], ...] = (
    *((definition, (feature,)) for feature, definition in _PROPERTY.items()),
    (TableProperties.deletion_vectors, ("deletionVectors",)),
    (TableProperties.variant_shredding, feature_names("variantShredding")),
    (TableProperties.materialized_partition_columns, ("materializePartitionColumns",)),
    (TableProperties.row_tracking, ("rowTracking",)),
    (TableProperties.record_index, RECORD_INDEX),
    (TableProperties.in_commit_timestamps, ("inCommitTimestamp",)),
    (TableProperties.type_widening, _WIDENING),
    (TableProperties.checkpoint_policy, ("v2Checkpoint",)),
    (TableProperties.mapping_mode, ("columnMapping",)),
    (TableProperties.checkpoint_protection_version, ("checkpointProtection",)),
)
PROPERTY_OF: Mapping[str, TableProperty[Any]] = {name: used for used, names in _USING_PROPERTIES for name in names}
"""For each feature that a table property uses, the property."""
_USING_KEYS: Mapping[str, tuple[str, ...]] = {
    t.INVARIANTS_KEY: ("invariants", "columnInvariants"),
    t.GENERATION_KEY: ("generatedColumns",),
    t.IDENTITY_PREFIX: ("identityColumns",),
    TYPE_CHANGES_KEY: _WIDENING,
    t.DEFAULT_KEY: ("allowColumnDefaults",),
    t.COLLATIONS_KEY: feature_names("collations"),
}
_GEOSPATIAL = ("geospatial", "geospatial-dev")
_USING_TYPES: Mapping[t.DataType, tuple[str, ...]] = {
    t.TIMESTAMP_NTZ: ("timestampNtz", "timestampNTZ", "timestampWithoutTimezone"),
    t.VARIANT: feature_names("variantType"),
    **dict.fromkeys(t.NANOSECONDS, ("timestampNanos",)),
}
_FIELD_KEY = {name: key for key, names in _USING_KEYS.items() for name in names if FEATURES[name].checks != "log"}
