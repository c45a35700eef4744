"""Adds and drops table features: the remaining uses of a feature, and the protection of the history.

# PROTOCOL, Table Features; RFC Checkpoint Protection
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow.compute as pc

from deltaskip.actions import Protocol
from deltaskip.alter.altered_table import AlteredTable, done, with_property
from deltaskip.alter.table_changes import AddFeature, DropFeature
from deltaskip.errors import InvalidArgument, SchemaError, UnsupportedFeature
from deltaskip.features.enabling import lowest_protocol, protocol_for, with_features
from deltaskip.features.feature_uses import PROPERTY_OF, uses_of
from deltaskip.features.registry import FEATURES, feature_named, features_of, has_feature, no_feature
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS
from deltaskip.schema.mapping import ID_KEY
from deltaskip.schema.properties import TableProperties

# Features that are added only by name, as in delta-spark; columns of the table do not enable them.
_BY_REQUEST = ("timestampNtz", "allowColumnDefaults")
_PROTECTION = "checkpointProtection"
_BATCH_ROWS = 1 << 16

# Features whose property is removed when they are dropped.
_SWITCHED = (
    "deletionVectors", "typeWidening", "typeWidening-preview", "inCommitTimestamp", "variantShredding",
    "variantShredding-preview", "v2Checkpoint", "rowTracking", _PROTECTION,
)  # fmt: skip
DROPPABLE = frozenset(
    (
        *_SWITCHED,
        "allowColumnDefaults",
        "checkConstraints",
        "clustering",
        "collations",
        "collations-preview",
        "columnMapping",
        "domainMetadata",
        "timestampNtz",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    )
)


def requested_feature(state: AlteredTable, name: str) -> AlteredTable:
    """Return the state with a feature that was requested by name, in any letter case."""
    feature = _spelled(name, state.table)
    if FEATURES[feature].by_name and feature not in features_of(state.protocol):
        raise UnsupportedFeature(
            f"{state.table} cannot get the feature {feature} later: create a table in the catalog that will manage it."
        )
    if FEATURES[feature].writes == "no":
        raise UnsupportedFeature(
            f"deltaskip cannot write tables with the feature {feature}, so {state.table} cannot "
            f"get it: add it with a client that can."
        )
    return replace(state, protocol=with_features(state.protocol, [feature]))


def add_feature(state: AlteredTable, change: AddFeature) -> AlteredTable:
    """Return the state with a feature, and with the features that it requires."""
    after = requested_feature(state, change.feature)
    if after.protocol == state.protocol:
        return state
    return done(after, "UPGRADE PROTOCOL", {"newProtocol": _protocol_json(after.protocol)})


def drop_feature(state: AlteredTable, change: DropFeature) -> AlteredTable:
    """Return the state without a feature; its protocol is lowered after all changes.

    Properties that only enable the feature are removed with it. Raises if anything else uses it.
    """
    feature, features = _spelled(change.feature, state.table), features_of(state.protocol) - {*state.dropped}
    if feature not in features:
        raise InvalidArgument(
            f"{state.table} does not have the feature {feature}, so it cannot be dropped; it has "
            f"{', '.join(sorted(features))}."
        )
    if feature not in DROPPABLE:
        raise UnsupportedFeature(
            f"The feature {feature} of {state.table} cannot be dropped; features that can are "
            f"{', '.join(sorted(DROPPABLE))}."
        )
    needing = next((name for name in sorted(features) if name in FEATURES and feature in FEATURES[name].requires), None)
    if needing is not None:
        raise SchemaError(
            f"The feature {feature} of {state.table} cannot be dropped, because {needing} needs it: drop {needing} "
            f"first."
        )
    state = _switched_off(state, feature)
    left = next(_remaining(state, feature), None)
    if left is not None:
        raise SchemaError(f"The feature {feature} of {state.table} cannot be dropped, because {left}.")
    if feature == _PROTECTION and not change.truncate_history:
        raise SchemaError(
            f"The feature {feature} of {state.table} protects versions of its history, so it can only be dropped with "
            f"truncate_history=True, which deletes them."
        )
    clustering = None if feature == "clustering" else state.clustering
    state = replace(state, clustering=clustering, dropped={**state.dropped, feature: change.truncate_history})
    parameters = {"featureName": feature, "truncateHistory": change.truncate_history}
    return done(state, "DROP FEATURE", parameters)


def protocol_after(state: AlteredTable) -> Protocol:
    """Return the protocol that the state needs: raised for what it uses, without the features that were dropped.

    Raises SchemaError for a feature that must be requested by name, and for a dropped feature that is used again.
    """
    for names, what in uses_of(state.properties, state.schema).items():
        if names[0] in _BY_REQUEST and not any(has_feature(state.protocol, name) for name in names):
            raise SchemaError(
                f"{state.table} needs the table feature {names[0]} for {what}, and does not have it: add it with "
                f"AddFeature({names[0]!r}) in the same alter. Clients of the table must then support it."
            )
    protocol = protocol_for(state.protocol, state.properties, state.schema)
    if state.clustering is not None:
        protocol = with_features(protocol, ["clustering"])
    if not state.dropped:
        return protocol
    used = next((name for name in state.dropped if any(_uses(state, name))), None)
    if used is not None:
        raise SchemaError(f"The feature {used} of {state.table} is dropped, but used by a later change.")
    left = {*features_of(protocol)} - {*state.dropped}
    if any(needs_protection(name) and not truncated for name, truncated in state.dropped.items()):
        left.add(_PROTECTION)
    return lowest_protocol(left, protocol.reader_features or ())


def needs_protection(feature: str) -> bool:
    """Whether clients without the feature could misread versions of the table that had it."""
    known = feature_named(feature)
    return known is not None and FEATURES[known].kind == "reader-writer"


def _spelled(name: str, table: str) -> str:
    found = feature_named(name)
    if found is None:
        raise InvalidArgument(no_feature(name, table))
    return found


def _protocol_json(protocol: Protocol) -> dict[str, object]:
    return {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "readerFeatures": None if protocol.reader_features is None else list(protocol.reader_features),
        "writerFeatures": None if protocol.writer_features is None else list(protocol.writer_features),
    }


def _switched_off(state: AlteredTable, feature: str) -> AlteredTable:
    """The state without the properties that only enable the feature."""
    if feature in _SWITCHED:
        state = with_property(state, PROPERTY_OF[feature].name, None)
    match feature:
        case "inCommitTimestamp":
            for since in (TableProperties.in_commit_timestamps_version, TableProperties.in_commit_timestamps_since_ms):
                state = with_property(state, since.name, None)
        case "rowTracking":
            for name in (TableProperties.row_tracking_suspended.name, *MATERIALIZED_COLUMNS):
                state = with_property(state, name, None)
    return state


def _uses(state: AlteredTable, feature: str) -> Iterator[str]:
    """The parts of the metadata that use the feature."""
    for names, what in uses_of(state.properties, state.schema).items():
        if feature in names:
            yield what


def _remaining(state: AlteredTable, feature: str) -> Iterator[str]:
    """The remaining uses of a feature, and how each is removed."""
    for what in _uses(state, feature):
        yield f"{what} uses it: {_CURES.get(feature, 'remove that first')}"
    match feature:
        case "deletionVectors":
            yield from _files(
                state, "deletion_vector", "has a deletion vector that another writer has added: try again"
            )
        case "clustering" if state.clustering:
            yield "the table is clustered: end that with ClusterBy() first"
        case "domainMetadata":
            names = [name for name, domain in state.snapshot.domains.items() if not domain.removed]
            if names:
                yield f"the metadata domain {names[0]} is set: remove it first"
        case "columnMapping" if any(ID_KEY in field.metadata for field in state.schema.fields):
            yield "columns have ids and physical names: rewrite the table into one without them"


def _files(state: AlteredTable, column: str, what: str) -> Iterator[str]:
    for adds in state.snapshot.add_batches(_BATCH_ROWS, ["path", column]):
        paths = adds["path"].filter(pc.is_valid(adds[column]))
        if len(paths):
            yield f"the file {paths[0].as_py()} {what}"
            return


_CURES: Mapping[str, str] = {
    "allowColumnDefaults": "remove the defaults with DropDefault first",
    "checkConstraints": "drop the constraints first",
    "columnMapping": "it cannot be removed without rewriting the files",
    "timestampNtz": "drop the columns of the type first",
    "typeWidening": "files may have the narrower type: rewrite them with delta-spark, which drops the feature",
    "variantType": "drop the columns of the type first",
    "collations": "columns have collations: drop them first",
}
