"""Checks of a transaction's protocol and metadata: no feature is lost or unlisted, and existing files stay valid.

# PROTOCOL, Table Features, Column Mapping, Row Tracking, CHECK Constraints, Clustered Table
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from deltaskip.actions import Metadata, Protocol
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.features.registry import FEATURES, has_feature
from deltaskip.features.writing import uses_of
from deltaskip.log import Snapshot
from deltaskip.schema import ArrayType, DataType, MapType, StructField, StructType, physical_name, type_to_json
from deltaskip.schema.mapping import MappingMode, field_id, mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.protocol_versions import FEATURES_WRITER_VERSION
from deltaskip.schema.type_widening import widened_types
from deltaskip.schema.types import GENERATION_KEY, IDENTITY_PREFIX, INVARIANTS_KEY, nested_types

__all__ = ["NewState", "check_metadata", "check_protocol", "check_uses", "file_dependence"]

_RULE_KEYS = (INVARIANTS_KEY, GENERATION_KEY, IDENTITY_PREFIX)
# Writers change it whenever they assign identity values.
_IDENTITY_MARK = f"{IDENTITY_PREFIX}highWaterMark"
_NEEDS = {"rowTracking": "domainMetadata", "clustering": "domainMetadata"}


@dataclass(frozen=True, slots=True)
class NewState:
    """The state of the table after the commit, and the snapshot that the transaction read."""

    base: Snapshot
    protocol: Protocol
    metadata: Metadata
    schema: StructType

    @property
    def mode(self) -> MappingMode:
        """The column mapping mode after the commit."""
        return mapping_mode(self.protocol, self.properties)

    @property
    def properties(self) -> TableProperties:
        """The table properties after the commit, by typed attribute."""
        return TableProperties(self.metadata.configuration, self.base.root)


def check_protocol(base: Snapshot, protocol: Protocol) -> None:
    """Raise UnsupportedFeature if a feature is dropped, InvalidCommit if the protocol is inconsistent.

    A protocol action alone cannot drop a feature: its traces in the table have to be removed first.
    """
    if protocol.min_writer_version == FEATURES_WRITER_VERSION and protocol.writer_features is None:
        _refuse_protocol(base, f"has writer version {FEATURES_WRITER_VERSION} but lists no writerFeatures")
    old = base.protocol
    lost = sorted(_features(old) - _features(protocol))
    lower = (
        protocol.min_reader_version < old.min_reader_version or protocol.min_writer_version < old.min_writer_version
    )
    if lost or lower:
        what = f"drop the table feature {', '.join(lost)}" if lost else "lower the protocol version"
        raise UnsupportedFeature(
            f"A transaction cannot {what} of {base.root}: use ALTER TABLE … DROP FEATURE in a client that supports it, "
            f"and list every feature that the old protocol version implied."
        )
    listed, read = set(protocol.writer_features or ()), set(protocol.reader_features or ())
    # Inconsistencies that the table already had are not caused by this commit.
    had = {*(old.writer_features or ()), *(old.reader_features or ())}
    for name in sorted(read - listed - had):
        _refuse_protocol(base, f"lists {name} in its readerFeatures but not in its writerFeatures")
    if protocol.min_writer_version < FEATURES_WRITER_VERSION and listed:
        _refuse_protocol(base, f"lists writerFeatures, which need writer version {FEATURES_WRITER_VERSION}")
    for name in sorted(listed - read - had):
        feature = FEATURES.get(name)
        implied = feature is not None and feature.legacy_reader_version == protocol.min_reader_version
        if feature is not None and feature.kind == "reader-writer" and not implied:
            _refuse_protocol(base, f"lists {name} in its writerFeatures but not in its readerFeatures")
    for name, needed in _NEEDS.items():
        if name in listed - had and needed not in listed:
            _refuse_protocol(base, f"is incomplete: {name} needs {needed}")


def check_uses(state: NewState) -> None:
    """Raise InvalidCommit if the metadata starts to use a feature that the protocol does not have."""
    base = state.base
    before = uses_of(base.table_properties.well_formed(), base.schema)
    for names, what in uses_of(state.properties, state.schema).items():
        if names not in before and not any(has_feature(state.protocol, name) for name in names):
            _refuse(state, f"uses {what}, which needs the table feature {names[0]}; also set a protocol that lists it")


def check_metadata(state: NewState) -> None:
    """Raise InvalidCommit if the metadata is inconsistent or belongs to another table."""
    base, metadata = state.base, state.metadata
    unknown = [name for name in metadata.partition_columns if name not in state.schema.names]
    if unknown:
        raise InvalidCommit(f"The metaData of a commit to {base.root} partitions by the unknown column {unknown[0]}.")
    if metadata.id != base.metadata.id:
        raise InvalidCommit(f"The metaData of a commit to {base.root} must keep the table's id, {base.metadata.id}.")
    if state.mode != "none":
        _check_mapping(state)


def file_dependence(state: NewState) -> str | None:
    """The part of the new metadata that existing files may violate; None if there is none.

    Such metadata is allowed only if the commit removes every file, and no other writer adds one in the meantime.
    """
    base, metadata = state.base, state.metadata
    before = base.table_properties.constraints
    for name, text in state.properties.constraints.items():
        if before.get(name) != text:
            return f"sets the constraint {name}"
    if metadata.partition_columns != base.partition_columns:
        return "changes the partition columns"
    if state.mode != base.mapping_mode and (base.mapping_mode, state.mode) != ("none", "name"):
        return "changes the column mapping mode"
    return next(_changed_columns(state, base.schema, state.schema, ""), None)


def _changed_columns(state: NewState, old: StructType, new: StructType, above: str) -> Iterator[str]:
    before = state.base.mapping_mode
    by_name = {field.name: field for field in old.fields}
    by_physical = {physical_name(field, before): field for field in old.fields}
    for field in new.fields:
        name = f"{above}{field.name}"
        same_name = by_name.pop(field.name, None)
        if same_name is not None and physical_name(same_name, before) != physical_name(field, state.mode):
            yield f"changes the physical name of the column {name}"
        known = by_physical.get(physical_name(field, state.mode))
        if not field.nullable and (known is None or known.nullable):
            yield f"sets the column {name} to NOT NULL"
        for key, value in field.metadata.items():
            ruled = key.startswith(_RULE_KEYS) and key != _IDENTITY_MARK
            if ruled and (known is None or known.metadata.get(key) != value):
                yield f"sets {key} of the column {name}"
        if known is not None:
            yield from _changed_types(state, known.type, field, field.type, name)
    for gone in by_name.values():
        if state.mode == "none":
            yield f"drops the column {above}{gone.name}"


def _changed_types(state: NewState, old: DataType, field: StructField, new: DataType, name: str) -> Iterator[str]:
    match old, new:
        case StructType(), StructType():
            yield from _changed_columns(state, old, new, f"{name}.")
        case ArrayType(a), ArrayType(b):
            yield from _changed_types(state, a, field, b, f"{name}.element")
        case MapType(k, v), MapType(l, w):
            yield from _changed_types(state, k, field, l, f"{name}.key")
            yield from _changed_types(state, v, field, w, f"{name}.value")
        case _:
            if old != new and json.loads(type_to_json(old)) not in widened_types(field.metadata):
                yield f"changes the type of the column {name}"


def _check_mapping(state: NewState) -> None:
    """PROTOCOL, Column Mapping: unique ids, unique physical names, and a maximum id that never decreases."""
    ids: set[int] = set()
    for fields in (type_.fields for type_ in nested_types(state.schema) if isinstance(type_, StructType)):
        names: set[str] = set()
        for field in fields:
            name, number = physical_name(field, state.mode), field_id(field)
            if name in names:
                _refuse(state, f"has the physical name {name} twice")
            if number is None:
                _refuse(state, f"has no column id for {field.name}")
            if number in ids:
                _refuse(state, f"has the column id {number} twice")
            names.add(name)
            ids.add(number)
    highest = state.properties.max_column_id
    before = state.base.table_properties.well_formed().max_column_id or 0
    if highest is None or highest < max(ids, default=0) or highest < before:
        name = TableProperties.max_column_id.name
        _refuse(state, f"must set {name} to at least the highest column id and at least its previous value")


def _features(protocol: Protocol) -> set[str]:
    listed = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return listed | {name for name in FEATURES if has_feature(protocol, name)}


def _refuse(state: NewState, why: str) -> NoReturn:
    raise InvalidCommit(f"The metaData of a commit to {state.base.root} {why}.")


def _refuse_protocol(base: Snapshot, why: str) -> NoReturn:
    raise InvalidCommit(f"The protocol action of a commit to {base.root} {why}; correct the action.")
