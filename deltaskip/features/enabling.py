"""The lowest protocol that a table needs for the features that it uses.

# PROTOCOL, Table Features for New and Existing Tables
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from deltaskip.actions import Protocol
from deltaskip.errors import InvalidArgument
from deltaskip.features.feature_uses import uses_of
from deltaskip.features.registry import FEATURES, features_of, has_feature, no_feature
from deltaskip.schema.properties import (
    CONSTRAINT_PREFIX,
    FEATURES_READER_VERSION,
    FEATURES_WRITER_VERSION,
    TableProperties,
    delta_property,
)
from deltaskip.sparkexpr.types import StructType
from deltaskip.sparkexpr.values import integer_of

FEATURE_PREFIX = "delta.feature."
"""A property with this prefix and the value `supported` adds a table feature, and is not a property of the table."""

READER_VERSION, WRITER_VERSION = VERSION_PROPERTIES = ("delta.minReaderVersion", "delta.minWriterVersion")
"""Properties that raise the versions of the protocol, and are not properties of the table."""

_SUPPORTED = ("supported", "enabled")

NEW_TABLE = Protocol(1, 2)
"""The protocol of a table that uses no feature, as delta-spark creates it: append-only tables and invariants."""


def feature_of_property(name: str, value: str, where: str = "") -> str | None:
    """Return the feature that setting a property adds; None for a property of the table itself.

    Raises InvalidArgument for a value other than `supported` or `enabled`. where: the end of the message.
    """
    if not name.startswith(FEATURE_PREFIX):
        return None
    if value.lower() not in _SUPPORTED:
        raise InvalidArgument(f"The property {name} must be 'supported', not {value!r}{where}.")
    return name.removeprefix(FEATURE_PREFIX)


def without_feature_properties(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the properties of the table, and the features that other properties add. Raises InvalidArgument."""
    configuration: dict[str, str] = {}
    features: list[str] = []
    protocol = NEW_TABLE
    for given, value in properties.items():
        name = spelled_property(given)
        feature = feature_of_property(name, value)
        if feature is not None:
            features.append(feature)
        elif name in VERSION_PROPERTIES:
            protocol = with_version_property(protocol, name, value)
        else:
            configuration[name] = value
    return configuration, features + sorted(features_of(protocol) - features_of(NEW_TABLE))


def spelled_property(name: str) -> str:
    """Return the name of a property as Delta spells it. Letter case matters only in properties that Delta lacks."""
    lowered = name.lower()
    for prefix in (FEATURE_PREFIX, CONSTRAINT_PREFIX):
        if lowered.startswith(prefix):
            return prefix + name[len(prefix) :]
    special = {each.lower(): each for each in VERSION_PROPERTIES}
    return special.get(lowered) or delta_property(name) or name


def with_version_property(protocol: Protocol, name: str, value: str, where: str = "") -> Protocol:
    """Return the protocol with the features that one of VERSION_PROPERTIES implies.

    Raises InvalidArgument for a number that is not a version of the protocol. where: the end of the message.
    """
    if not (value.isascii() and value.isdigit()):
        raise InvalidArgument(f"The property {name} must be a version, not {value!r}{where}.")
    reader = integer_of(value) if name == READER_VERSION else 1
    writer = integer_of(value) if name == WRITER_VERSION else 1
    return with_versions(protocol, reader, writer)


def protocol_for(protocol: Protocol, properties: TableProperties, schema: StructType) -> Protocol:
    """Return the protocol with the features that properties and columns use; the same object if it has them.

    Raises SchemaError for a malformed property.
    """
    missing = [
        names[0] for names in uses_of(properties, schema) if not any(has_feature(protocol, name) for name in names)
    ]
    return with_features(protocol, missing)


def with_features(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """Return the protocol with these features and the features that they require; the same object if it has them.

    A protocol without lists of features gets lists with all features that its versions implied, since the table may use
    them.

    Args:
        protocol: The protocol of the table.
        names: Features by the name in the protocol.

    Raises:
        InvalidArgument: A feature does not exist.
    """
    added = {name for name in _with_required(names) if not has_feature(protocol, name)}
    if not added:
        return protocol
    had = features_of(protocol)
    lowest = lowest_protocol(had | added, protocol.reader_features or ())
    if protocol.min_reader_version < FEATURES_READER_VERSION:
        # Reader version 2 implies column mapping, and readers of that version can still read the table.
        reader = max(lowest.min_reader_version, protocol.min_reader_version)
        if lowest.min_writer_version >= protocol.min_writer_version:
            return replace(lowest, min_reader_version=reader)
    writers = sorted(had | added)
    readers = _for_readers(writers, protocol.reader_features or ())
    return Protocol(FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, tuple(readers), tuple(writers))


def with_versions(protocol: Protocol, reader: int, writer: int) -> Protocol:
    """Return the protocol with the features that these versions imply; the same object if it has them.

    Versions 3 and 7 imply no features. Raises InvalidArgument for versions that the protocol does not define.
    """
    if not (1 <= reader <= FEATURES_READER_VERSION and 1 <= writer <= FEATURES_WRITER_VERSION):
        raise InvalidArgument(
            f"Delta has reader versions 1 to {FEATURES_READER_VERSION} and writer versions 1 to "
            f"{FEATURES_WRITER_VERSION}, not {reader} and {writer}."
        )
    return with_features(protocol, sorted(_features_of_versions(reader, writer)))


def lowest_protocol(features: Collection[str], read: Collection[str] = ()) -> Protocol:
    """Return the protocol with the lowest versions that has exactly these features.

    Args:
        features: Names of the features.
        read: Names of features that also apply to readers, even if this package does not know them.
    """
    names = {*features}
    both = _for_readers(names, read)
    versions = (FEATURES[name].legacy_reader_version if name in FEATURES else None for name in both)
    reader = max((version or FEATURES_READER_VERSION for version in versions), default=1)
    for writer in range(1, FEATURES_WRITER_VERSION):
        implied = _features_of_versions(1, writer)
        if implied == names and reader < FEATURES_READER_VERSION:
            return Protocol(reader, writer)
    if reader < FEATURES_READER_VERSION:
        return Protocol(reader, FEATURES_WRITER_VERSION, None, tuple(sorted(names)))
    return Protocol(FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, tuple(both), tuple(sorted(names)))


def _for_readers(names: Iterable[str], read: Collection[str]) -> list[str]:
    """The names of features for readers and writers."""
    known = {name for name in names if name in FEATURES and FEATURES[name].kind == "reader-writer"}
    return sorted(known | {name for name in names if name in read})


def _features_of_versions(reader: int, writer: int) -> frozenset[str]:
    """Features that protocol versions without lists of features imply."""
    versions = Protocol(min(reader, FEATURES_READER_VERSION - 1), min(writer, FEATURES_WRITER_VERSION - 1))
    if reader == FEATURES_READER_VERSION:
        versions = Protocol(1, versions.min_writer_version)
    if writer == FEATURES_WRITER_VERSION:
        versions = Protocol(versions.min_reader_version, 1)
    return features_of(versions)


def _with_required(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        feature = FEATURES.get(name)
        if feature is None:
            raise InvalidArgument(no_feature(name))
        yield name
        yield from _with_required(feature.requires)
