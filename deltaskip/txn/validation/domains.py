"""Rules for metadata domains and application versions.

# PROTOCOL, Domain Metadata, Transaction Identifiers; COLLATIONS RFC, Collation versions
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from deltaskip.errors import InvalidCollation
from deltaskip.features.clustering import CLUSTERING_DOMAIN, check_clustering
from deltaskip.features.commit_rules import refusal
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.schema import physical_schema
from deltaskip.sparkexpr.collations import DOMAIN, WRITE_VERSIONS, CollationId, domain_members, write_versions
from deltaskip.txn.validation.candidate import Candidate

# Reserved domains that operations of this package set. Users cannot: Transaction.set_domain refuses them.
_OWNED = (CLUSTERING_DOMAIN,)
_FEATURES_OF = {ROW_TRACKING_DOMAIN: "rowTracking"}
_RESERVED_PREFIX = "delta."


def check_domains(candidate: Candidate) -> None:
    """Check the domains that the commit sets, and that the clustering columns still exist."""
    base = candidate.base
    for name, domain in candidate.intent.domains.items():
        ends = domain.removed and _FEATURES_OF.get(name) in candidate.intent.dropped_features
        if is_reserved(name) and name not in _OWNED and not ends:
            why = f"The metadata domain {name} of {candidate.place} is reserved by the protocol; leave it out"
            raise refusal("domains.reserved", why)
        if not name:
            raise refusal("commit.actions", f"A metadata domain of {candidate.place} has no name; give it one")
        if name == DOMAIN and not domain.removed:
            _check_collations(candidate, domain.configuration)
    clustering = candidate.intent.domains.get(CLUSTERING_DOMAIN)
    if clustering is None and (candidate.intent.metadata is not None or candidate.intent.protocol is not None):
        clustering = base.domains.get(CLUSTERING_DOMAIN)
    if clustering is not None and not clustering.removed:
        columns = physical_schema(candidate.schema, candidate.mode)
        partitions = candidate.metadata.partition_columns
        check_clustering(clustering.configuration, candidate.protocol, partitions, columns, base.root, base.version)


def check_app_versions(candidate: Candidate) -> None:
    """Check that no version of an application decreases."""
    for app_id, txn in candidate.intent.txns.items():
        before = candidate.base.txns.get(app_id)
        if before is not None and txn.version < before.version:
            raise refusal(
                "txn.version",
                f"The application {app_id} cannot go back to version {txn.version} in {candidate.place}, which "
                f"contains its version {before.version}: skip batches that are already committed",
            )


def listed_collations(candidate: Candidate) -> frozenset[CollationId]:
    """The versioned collations that the domain `collations` lists after the commit, in Spark's spelling."""
    domain = candidate.intent.domains.get(DOMAIN) or candidate.base.domains.get(DOMAIN)
    if domain is None or domain.removed:
        return frozenset()
    listed = set()
    for name, versions in write_versions(domain.configuration).items():
        for version in versions:
            try:
                listed.add(CollationId.parse(f"{name}.{version}").canonical)
            except InvalidCollation:
                continue
    return frozenset(listed)


def _check_collations(candidate: Candidate, configuration: str) -> None:
    if configuration == getattr(candidate.base.domains.get(DOMAIN), "configuration", None):
        return
    versions = domain_members(configuration).get(WRITE_VERSIONS)
    if not isinstance(versions, Mapping):
        _refuse(candidate, f"must be a JSON object with {WRITE_VERSIONS}, a list of versions for each collation")
    for name, listed in versions.items():
        try:
            identifier = CollationId.parse(name)
        except InvalidCollation as error:
            _refuse(candidate, f"is malformed: {error}")
        if identifier.version is not None:
            _refuse(candidate, f"lists {name}, which must be a collation without its version")
        if not isinstance(listed, list) or not all(isinstance(each, str) and each for each in listed):
            _refuse(candidate, f"must list the versions of {name} as texts")


def _refuse(candidate: Candidate, why: str) -> NoReturn:
    raise refusal("domains.collations", f"The domain {DOMAIN} of {candidate.place} {why}")


def is_reserved(domain: str) -> bool:
    """Whether only the feature that owns the metadata domain may set or remove it."""
    return domain.startswith(_RESERVED_PREFIX)


def check_settable_domain(domain: str, table: str) -> None:
    """Raise InvalidCommit if users must not set or remove the metadata domain. table: for the message."""
    if is_reserved(domain):
        raise refusal(
            "domains.reserved",
            f"The metadata domain {domain} of {table} is reserved by the protocol and cannot be set: use a name that "
            f"does not start with {_RESERVED_PREFIX!r}",
        )
