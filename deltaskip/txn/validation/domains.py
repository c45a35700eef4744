"""Rules for metadata domains and application versions.

# PROTOCOL, Domain Metadata, Transaction Identifiers; COLLATIONS RFC, Collation versions
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deltaskip.errors import InvalidCollation
from deltaskip.features.clustering import CLUSTERING_DOMAIN, check_clustering
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.features.violation import Violation
from deltaskip.sparkexpr.collations import DOMAIN, WRITE_VERSIONS, CollationId, domain_members, write_versions
from deltaskip.txn.validation.commit_facts import CommitFacts

# Reserved domains that operations of this package set. Users cannot: Transaction.set_domain refuses them.
_OWNED = (CLUSTERING_DOMAIN,)
_FEATURES_OF = {ROW_TRACKING_DOMAIN: "rowTracking"}
_RESERVED_PREFIX = "delta."


def sets_domains(facts: CommitFacts) -> bool:
    """Whether the commit sets a domain, or what the clustering columns depend on."""
    return bool(facts.intent.domains) or facts.changes_state


def domain_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A domain that the commit must not set, or clustering columns that do not exist any more."""
    base = facts.base
    for name, domain in facts.intent.domains.items():
        ends = domain.removed and _FEATURES_OF.get(name) in facts.intent.dropped_features
        if is_reserved(name) and name not in _OWNED and not ends:
            why = f"The metadata domain {name} of {facts.place} is reserved by the protocol; leave it out"
            yield Violation("domains.reserved", why)
        if not name:
            yield Violation("commit.actions", f"A metadata domain of {facts.place} has no name; give it one")
        if name == DOMAIN and not domain.removed:
            yield from _collations(facts, domain.configuration)
    changes = facts.changes_state or CLUSTERING_DOMAIN in facts.intent.domains
    clustering = facts.domain(CLUSTERING_DOMAIN) if changes else None
    if clustering is not None:
        partitions, columns = facts.metadata.partition_columns, facts.physical_schema
        check_clustering(clustering.configuration, facts.protocol, partitions, columns, base.root, base.version)


def decreased_versions(facts: CommitFacts) -> Iterator[Violation]:
    """A version of an application that is below its last one."""
    for app_id, txn in facts.intent.txns.items():
        before = facts.base.txns.get(app_id)
        if before is not None and txn.version < before.version:
            yield Violation(
                "txn.version",
                f"The application {app_id} cannot go back to version {txn.version} in {facts.place}, which "
                f"contains its version {before.version}: skip batches that are already committed",
            )


def listed_collations(facts: CommitFacts) -> frozenset[CollationId]:
    """The versioned collations that the domain `collations` lists after the commit, in Spark's spelling."""
    domain = facts.domain(DOMAIN)
    if domain is None:
        return frozenset()
    listed = write_versions(domain.configuration)
    found = [CollationId.parsed(f"{name}.{version}") for name, versions in listed.items() for version in versions]
    return frozenset(each.canonical for each in found if each is not None)


def _collations(facts: CommitFacts, configuration: str) -> Iterator[Violation]:
    if configuration == getattr(facts.base.domains.get(DOMAIN), "configuration", None):
        return
    versions = domain_members(configuration).get(WRITE_VERSIONS)
    if not isinstance(versions, Mapping):
        what = "a list of versions for each collation"
        yield _of_collations(facts, f"must be a JSON object with {WRITE_VERSIONS}, {what}")
        return
    for name, listed in versions.items():
        try:
            identifier = CollationId.parse(name)
        except InvalidCollation as error:
            yield _of_collations(facts, f"is malformed: {error}")
            return
        if identifier.version is not None:
            yield _of_collations(facts, f"lists {name}, which must be a collation without its version")
        if not isinstance(listed, list) or not all(isinstance(each, str) and each for each in listed):
            yield _of_collations(facts, f"must list the versions of {name} as texts")


def _of_collations(facts: CommitFacts, why: str) -> Violation:
    return Violation("domains.collations", f"The domain {DOMAIN} of {facts.place} {why}")


def is_reserved(domain: str) -> bool:
    """Whether only the feature that owns the metadata domain may set or remove it."""
    return domain.startswith(_RESERVED_PREFIX)


def check_settable_domain(domain: str, table: str) -> None:
    """Raise InvalidCommit if users must not set or remove the metadata domain. table: for the message."""
    if is_reserved(domain):
        raise Violation(
            "domains.reserved",
            f"The metadata domain {domain} of {table} is reserved by the protocol and cannot be set: use a name that "
            f"does not start with {_RESERVED_PREFIX!r}",
        ).error()
