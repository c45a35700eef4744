"""Rules for the protocol action, and for the features that the state after the commit uses.

# PROTOCOL, Table Features
"""

from __future__ import annotations

from collections.abc import Iterator

from deltaskip.actions import Protocol
from deltaskip.errors import UnsupportedFeature
from deltaskip.features import check_readable, check_writable
from deltaskip.features.feature_uses import uses_of
from deltaskip.features.registry import FEATURES, features_of, has_tree
from deltaskip.features.support_checks import READER_VERSIONS, CommitSummary
from deltaskip.features.violation import Violation
from deltaskip.log.catalog_commits import is_managed
from deltaskip.schema.properties import FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, TableProperties
from deltaskip.txn.validation.commit_facts import CommitFacts


def sets_protocol(facts: CommitFacts) -> bool:
    """Whether the commit changes the protocol."""
    return facts.intent.protocol not in (None, facts.base.protocol)


def protocol_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A protocol action that contradicts itself, or is lower than the table's protocol.

    A protocol action alone cannot drop a feature: its traces in the table must be removed first. Inconsistencies that
    the table already has are not caused by the commit, and are accepted.
    """
    old, new = facts.base.protocol, facts.protocol
    yield from _versions(facts, new)
    yield from _lowered(facts, old)
    listed, read = set(new.writer_features or ()), set(new.reader_features or ())
    had = {*(old.writer_features or ()), *(old.reader_features or ())}
    for name in sorted(read - listed - had):
        yield facts.of_protocol(
            "protocol.both-lists", f"lists {name} in its readerFeatures but not in its writerFeatures"
        )
    for name in sorted((read | listed) - had):
        feature = FEATURES.get(name)
        if feature is None:
            continue
        if feature.kind == "writer" and name in read:
            yield facts.of_protocol(
                "protocol.both-lists", f"lists {name} in its readerFeatures, but it is only for writers"
            )
        implied = feature.legacy_reader_version == new.min_reader_version
        if feature.kind == "reader-writer" and name not in read and not implied:
            why = f"lists {name} in its writerFeatures but not in its readerFeatures"
            yield facts.of_protocol("protocol.both-lists", why)
        for needed in feature.requires:
            if needed not in facts.features:
                yield facts.of_protocol("protocol.required", f"is incomplete: {name} needs {needed}; list both")


def unlisted_uses(facts: CommitFacts) -> Iterator[Violation]:
    """A use of a feature that the protocol lacks, if the table did not have it before."""
    base = facts.base
    before = uses_of(facts.properties_before, base.schema)
    for names, what in uses_of(facts.properties, facts.schema).items():
        if names not in before and facts.features.isdisjoint(names):
            why = f"uses {what}, which needs the table feature {names[0]}; also set a protocol that lists it"
            yield facts.of_metadata("protocol.unlisted", why)


def feature_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A commit that the features of the table, before or after it, do not allow.

    Raises UnsupportedFeature, with every feature that is not supported.
    """
    base = facts.base
    where = f"Version {base.version} of {base.root}"
    summary = _summary(facts)
    if not facts.changes_state:
        base.check_writable(summary)
        return
    check_writable(base.protocol, facts.properties_before, base.schema, where, CommitSummary())
    protocol, after = facts.protocol, f"The new state of {facts.table}"
    new = (FEATURES[name] for name in facts.features - features_of(base.protocol) if name in FEATURES)
    got = sorted(feature.name for feature in new if feature.only_kept)
    if got:
        raise UnsupportedFeature(
            f"{after} has the table feature {', '.join(got)}, which deltaskip only keeps in tables that have it: "
            f"create the table with a client that gives tables the feature, such as delta-spark."
        )
    check_readable(protocol, facts.metadata.configuration, base.root, base.version + 1, is_managed(base.storage))
    check_writable(protocol, facts.properties, facts.schema, after, summary)
    if "catalogManaged" in facts.features and not facts.properties.in_commit_timestamps:
        name = TableProperties.in_commit_timestamps.name
        why = f"turns {name} off, which a table that a catalog manages needs; leave it true"
        yield facts.of_metadata("protocol.catalog-managed", why)
    if has_tree(protocol):
        was, now = facts.properties_before, facts.properties
        for each, lost in (
            (TableProperties.deletion_vectors, was.deletion_vectors and not now.deletion_vectors),
            (TableProperties.row_tracking, was.row_tracking and not now.row_tracking),
            (TableProperties.in_commit_timestamps, was.in_commit_timestamps and not now.in_commit_timestamps),
        ):
            if lost:
                why = f"turns {each.name} off, which an adaptive metadata tree needs; leave it true"
                yield facts.of_metadata("protocol.metadata-tree", why)


def _versions(facts: CommitFacts, new: Protocol) -> Iterator[Violation]:
    """# PROTOCOL, Table Features: lists exist exactly for reader version 3 and writer version 7."""
    reader, writer = new.min_reader_version, new.min_writer_version
    if reader not in READER_VERSIONS or not 1 <= writer <= FEATURES_WRITER_VERSION:
        yield Violation(
            "protocol.versions",
            f"The protocol action of {facts.place} needs reader version {reader} and writer version {writer}, but "
            f"deltaskip supports reader versions 1 to {FEATURES_READER_VERSION} and writer versions 1 to "
            f"{FEATURES_WRITER_VERSION}; correct the action",
            is_unsupported=True,
        )
    for kind, version, needed, listed in (
        ("reader", reader, FEATURES_READER_VERSION, new.reader_features),
        ("writer", writer, FEATURES_WRITER_VERSION, new.writer_features),
    ):
        if version == needed and listed is None:
            yield facts.of_protocol("protocol.versions", f"has {kind} version {needed} but lists no {kind}Features")
        if version < needed and listed is not None:
            yield facts.of_protocol("protocol.versions", f"lists {kind}Features, which need {kind} version {needed}")
    if reader == FEATURES_READER_VERSION and writer < FEATURES_WRITER_VERSION:
        why = f"has reader version {reader}, which needs writer version {FEATURES_WRITER_VERSION}"
        yield facts.of_protocol("protocol.versions", why)


def _lowered(facts: CommitFacts, old: Protocol) -> Iterator[Violation]:
    new, dropped = facts.protocol, facts.intent.dropped_features
    lost = sorted(features_of(old) - facts.features - {*dropped})
    if dropped and not lost:
        return
    lower = new.min_reader_version < old.min_reader_version or new.min_writer_version < old.min_writer_version
    if lost or lower:
        what = f"drop the table feature {', '.join(lost)}" if lost else "lower the protocol version"
        yield Violation(
            "protocol.lowered",
            f"A transaction on version {facts.base.version} of {facts.base.root} cannot {what}: use "
            f"DeltaTable.drop_feature or ALTER TABLE … DROP FEATURE, and list every feature that the old protocol "
            f"version implied",
            is_unsupported=True,
        )


def _summary(facts: CommitFacts) -> CommitSummary:
    intent, known = facts.intent, facts.known
    if intent.copies_state:
        # Properties and deletion vectors come from the restored version; the rows that it lacks go for another reason.
        return CommitSummary(sets_domains=bool(intent.domains), rows_checked=intent.rows_checked)
    new_vectors = any(
        add.deletion_vector is not None and (key not in known or known[key].dv_id != add.deletion_vector.unique_id)
        for key, add in intent.adds.items()
    )
    return CommitSummary(
        adds_rows=any(facts.brings_rows(key, add) for key, add in intent.adds.items()),
        removes_rows=facts.removed is not None or any(facts.takes_rows(key) for key in intent.removes),
        adds_files=any(key not in known for key in intent.adds),
        sets_deletion_vectors=new_vectors,
        sets_domains=bool(intent.domains),
        rows_checked=intent.rows_checked,
    )
