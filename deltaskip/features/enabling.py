"""The protocol that a table needs for the features that it uses: raised by as little as possible.

# PROTOCOL, Table Features for New and Existing Tables
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deltaskip.actions import Protocol
from deltaskip.errors import InvalidArgument
from deltaskip.features.registry import FEATURES, has_feature
from deltaskip.features.writing import uses_of
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.protocol_versions import FEATURES_READER_VERSION, FEATURES_WRITER_VERSION
from deltaskip.schema.types import StructType

__all__ = ["NEW_TABLE", "protocol_for", "with_features"]

NEW_TABLE = Protocol(1, 2)
"""The protocol of a table that uses no feature, as delta-spark creates it: append-only tables and invariants."""


def protocol_for(protocol: Protocol, properties: TableProperties, schema: StructType) -> Protocol:
    """Return the protocol with the features that properties and columns use; the same object if it has them.

    Raises SchemaError for a malformed property.
    """
    missing = [
        names[0]
        for names in uses_of(properties, schema)
        if not any(has_feature(protocol, name) for name in names)
    ]
    return with_features(protocol, missing)


def with_features(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """Return the protocol with these features and those that they require; the same object if it has them.

    A protocol of versions becomes one of features that lists everything that its versions implied, since the table may
    have used it.

    Args:
        protocol: The protocol of the table.
        names: Features by the name in the protocol.

    Raises:
        InvalidArgument: There is no such feature.
    """
    added = {name for name in _with_requirements(names) if not has_feature(protocol, name)}
    if not added:
        return protocol
    had = {*(protocol.writer_features or ()), *(protocol.reader_features or ())}
    had |= {name for name in FEATURES if has_feature(protocol, name) and _is_real(name)}
    writers = sorted(had | added)
    readers = [name for name in writers if name in FEATURES and FEATURES[name].kind == "reader-writer"]
    readers += sorted(set(protocol.reader_features or ()) - set(readers))
    version = protocol.min_reader_version
    implied = [name for name in readers if name in FEATURES and FEATURES[name].legacy_reader_version == version]
    if version < FEATURES_READER_VERSION and len(implied) == len(readers):
        # Reader version 2 implies column mapping, and readers of that version can still read the table.
        return Protocol(version, FEATURES_WRITER_VERSION, None, tuple(writers))
    return Protocol(FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, tuple(readers), tuple(writers))


def _with_requirements(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        feature = FEATURES.get(name)
        if feature is None:
            known = ", ".join(sorted(FEATURES))
            raise InvalidArgument(f"There is no table feature {name!r}; the features are {known}.")
        yield name
        yield from _with_requirements(feature.requires)


def _is_real(name: str) -> bool:
    """Whether the name is that of a feature in the protocol, and not a spelling of a draft."""
    return name != "columnInvariants"
