"""Rules for the protocol action, and for the features that the state after the commit uses.

# PROTOCOL, Table Features
"""

from __future__ import annotations

from typing import NoReturn

from deltaskip.actions import Protocol
from deltaskip.features import check_readable, check_writable
from deltaskip.features.commit_rules import refusal, unsupported
from deltaskip.features.feature_uses import uses_of
from deltaskip.features.registry import FEATURES, features_of, has_feature
from deltaskip.features.support_checks import READER_VERSIONS, CommitSummary
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.new_table import table_after
from deltaskip.schema.properties import FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, TableProperties
from deltaskip.txn.validation.candidate import Candidate


def check_protocol(candidate: Candidate) -> None:
    """Check a protocol action: consistent in itself, and not lower than the table's protocol.

    A protocol action alone cannot drop a feature: its traces in the table must be removed first. Inconsistencies that
    the table already has are not caused by the commit, and are accepted.
    """
    old, new = candidate.base.protocol, candidate.protocol
    if candidate.intent.protocol is None or new == old:
        return
    _check_versions(candidate, new)
    _check_not_lowered(candidate, old, new)
    listed, read = set(new.writer_features or ()), set(new.reader_features or ())
    had = {*(old.writer_features or ()), *(old.reader_features or ())}
    for name in sorted(read - listed - had):
        _refuse(candidate, "protocol.both-lists", f"lists {name} in its readerFeatures but not in its writerFeatures")
    for name in sorted((read | listed) - had):
        feature = FEATURES.get(name)
        if feature is None:
            continue
        if feature.kind == "writer" and name in read:
            _refuse(candidate, "protocol.both-lists", f"lists {name} in its readerFeatures, but it is only for writers")
        implied = feature.legacy_reader_version == new.min_reader_version
        if feature.kind == "reader-writer" and name not in read and not implied:
            why = f"lists {name} in its writerFeatures but not in its readerFeatures"
            _refuse(candidate, "protocol.both-lists", why)
        for needed in feature.requires:
            if not has_feature(new, needed):
                _refuse(candidate, "protocol.required", f"is incomplete: {name} needs {needed}; list both")


def check_uses(candidate: Candidate) -> None:
    """Check that the commit adds no use of a feature that the protocol lacks."""
    base = candidate.base
    before = uses_of(base.table_properties.well_formed(), base.schema)
    for names, what in uses_of(candidate.properties, candidate.schema).items():
        if names not in before and not any(has_feature(candidate.protocol, name) for name in names):
            why = f"uses {what}, which needs the table feature {names[0]}; also set a protocol that lists it"
            candidate.refuse_metadata("protocol.unlisted", why)


def check_features(candidate: Candidate) -> None:
    """Check that the features of the table, before and after the commit, allow it and are supported."""
    base, intent = candidate.base, candidate.intent
    where = f"Version {base.version} of {base.root}"
    summary = _summary(candidate)
    if intent.protocol is None and intent.metadata is None:
        check_writable(base.protocol, base.table_properties, base.schema, where, summary)
        return
    check_writable(base.protocol, base.table_properties.well_formed(), base.schema, where, CommitSummary())
    protocol, after = candidate.protocol, f"The new state of {table_after(base)}"
    check_readable(protocol, candidate.metadata.configuration, base.root, base.version + 1, is_managed(base.storage))
    check_writable(protocol, candidate.properties, candidate.schema, after, summary)
    if has_feature(protocol, "catalogManaged") and not candidate.properties.in_commit_timestamps:
        name = TableProperties.in_commit_timestamps.name
        why = f"turns {name} off, which a table that a catalog manages needs; leave it true"
        candidate.refuse_metadata("protocol.catalog-managed", why)


def _check_versions(candidate: Candidate, new: Protocol) -> None:
    """# PROTOCOL, Table Features: lists exist exactly for reader version 3 and writer version 7."""
    reader, writer = new.min_reader_version, new.min_writer_version
    if reader not in READER_VERSIONS or not 1 <= writer <= FEATURES_WRITER_VERSION:
        raise unsupported(
            "protocol.versions",
            f"The protocol action of {candidate.place} needs reader version {reader} and writer version {writer}, but "
            f"deltaskip supports reader versions 1 to {FEATURES_READER_VERSION} and writer versions 1 to "
            f"{FEATURES_WRITER_VERSION}; correct the action",
        )
    for kind, version, needed, listed in (
        ("reader", reader, FEATURES_READER_VERSION, new.reader_features),
        ("writer", writer, FEATURES_WRITER_VERSION, new.writer_features),
    ):
        if version == needed and listed is None:
            _refuse(candidate, "protocol.versions", f"has {kind} version {needed} but lists no {kind}Features")
        if version < needed and listed is not None:
            _refuse(candidate, "protocol.versions", f"lists {kind}Features, which need {kind} version {needed}")
    if reader == FEATURES_READER_VERSION and writer < FEATURES_WRITER_VERSION:
        why = f"has reader version {reader}, which needs writer version {FEATURES_WRITER_VERSION}"
        _refuse(candidate, "protocol.versions", why)


def _check_not_lowered(candidate: Candidate, old: Protocol, new: Protocol) -> None:
    dropped = candidate.intent.dropped_features
    lost = sorted(features_of(old) - features_of(new) - {*dropped})
    if dropped and not lost:
        return
    lower = new.min_reader_version < old.min_reader_version or new.min_writer_version < old.min_writer_version
    if lost or lower:
        what = f"drop the table feature {', '.join(lost)}" if lost else "lower the protocol version"
        raise unsupported(
            "protocol.lowered",
            f"A transaction on version {candidate.base.version} of {candidate.base.root} cannot {what}: use "
            f"DeltaTable.drop_feature or ALTER TABLE … DROP FEATURE, and list every feature that the old protocol "
            f"version implied",
        )


def _summary(candidate: Candidate) -> CommitSummary:
    intent, known = candidate.intent, candidate.known
    if intent.copies_state:
        # Properties and deletion vectors come from the restored version; the rows that it lacks go for another reason.
        return CommitSummary(sets_domains=bool(intent.domains), rows_checked=intent.rows_checked)
    new_vectors = any(
        add.deletion_vector is not None and (key not in known or known[key].dv_id != add.deletion_vector.unique_id)
        for key, add in intent.adds.items()
    )
    return CommitSummary(
        adds_rows=any(candidate.brings_rows(key, add) for key, add in intent.adds.items()),
        removes_rows=candidate.removed is not None or any(candidate.takes_rows(key) for key in intent.removes),
        adds_files=any(key not in known for key in intent.adds),
        sets_deletion_vectors=new_vectors,
        sets_domains=bool(intent.domains),
        rows_checked=intent.rows_checked,
    )


def _refuse(candidate: Candidate, rule: str, why: str) -> NoReturn:
    raise refusal(rule, f"The protocol action of {candidate.place} {why}; correct the action")
