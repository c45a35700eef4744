"""The collation versions that a table's writers write statistics for: the metadata domain `collations`.

# COLLATIONS RFC, Collation versions: {"writeVersions": {"icu.UNICODE_CI": ["77.1"]}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from deltaskip.actions import DomainMetadata, Protocol
from deltaskip.errors import InvalidCommit
from deltaskip.features.registry import FEATURES, feature_names, has_feature
from deltaskip.schema.properties import FEATURES_WRITER_VERSION
from deltaskip.sparkexpr.collations import DOMAIN, WRITE_VERSIONS, CollationId, domain_members, kept_versions
from deltaskip.txn.transaction import Transaction

_FEATURES = ("collations", "domainMetadata")


def announce(transaction: Transaction, identifiers: Iterable[str]) -> None:
    """Add versioned collation identifiers, for which the commit writes statistics, to the domain.

    The features `collations` and `domainMetadata`, and with them writer version 7, are added to a table without them.
    # COLLATIONS RFC, Writer Requirements: "the writer should also update the domainMetadata"
    """
    listed = tuple(identifiers)
    if not listed:
        return
    domain = announced(transaction.domains, listed)
    if domain is not None:
        transaction.set_domain(domain.domain, domain.configuration)
    protocol = _with_features(transaction.protocol)
    if protocol != transaction.protocol:
        transaction.set_protocol(protocol)


def announced(domains: Mapping[str, DomainMetadata], identifiers: Iterable[str]) -> DomainMetadata | None:
    """Return the domain with versioned collation identifiers added; None if it already lists them.

    domains: The metadata domains of the table by name.
    """
    versions = kept_versions(domains)
    before = dict(versions)
    for identifier in (CollationId.parse(each).canonical for each in identifiers):
        name = _spelling(versions, identifier)
        listed = versions.setdefault(name, ())
        if identifier.version is not None and identifier.version not in listed:
            versions[name] = (*listed, identifier.version)
    return None if versions == before else _with_versions(domains, versions)


def retire(transaction: Transaction, collation: str, version: str) -> None:
    """Remove a collation version from the domain, so that writers stop writing its statistics; existing ones stay.

    collation: `icu.UNICODE_CI`, in any letter case, or a name without provider. Raises InvalidCollation for an unknown
    name, InvalidCommit if the domain does not list the version.
    """
    versions = kept_versions(transaction.snapshot.domains)
    name = _spelling(versions, CollationId.named(collation).without_version.canonical)
    if version not in versions.get(name, ()):
        listed = ", ".join(f"{each} {', '.join(found)}" for each, found in versions.items()) or "none"
        raise InvalidCommit(
            f"{transaction.snapshot.root} does not list version {version} of {collation}; its writers write statistics "
            f"for: {listed}."
        )
    versions[name] = tuple(each for each in versions[name] if each != version)
    kept = {each: found for each, found in versions.items() if found}
    domain = _with_versions(transaction.snapshot.domains, kept)
    transaction.set_domain(domain.domain, domain.configuration)


def _with_versions(domains: Mapping[str, DomainMetadata], versions: Mapping[str, tuple[str, ...]]) -> DomainMetadata:
    """The domain with these versions; other members of the configuration, which other writers set, stay."""
    domain = domains.get(DOMAIN)
    others = domain_members(None if domain is None else domain.configuration)
    return DomainMetadata(DOMAIN, json.dumps({**others, WRITE_VERSIONS: dict(versions)}))


def _spelling(versions: Mapping[str, tuple[str, ...]], identifier: CollationId) -> str:
    """The key of the collation in the domain, or Spark's spelling if the domain does not list it."""
    wanted = identifier.without_version.canonical
    for name in versions:
        found = CollationId.parsed(name)
        if found is not None and found.canonical == wanted:
            return name
    return str(wanted)


def _with_features(protocol: Protocol) -> Protocol:
    if protocol.min_writer_version == FEATURES_WRITER_VERSION:
        listed = protocol.writer_features or ()
        missing = [name for name in _FEATURES if not any(each in listed for each in feature_names(name))]
        if not missing:
            return protocol
        writer = (*listed, *missing)
    else:
        # PROTOCOL, Table Features: from writer version 7 on, features that older versions imply must be listed.
        implied = [name for name in FEATURES if has_feature(protocol, name)]
        writer = (*implied, *(name for name in _FEATURES if name not in implied))
    return Protocol(protocol.min_reader_version, FEATURES_WRITER_VERSION, protocol.reader_features, writer)
