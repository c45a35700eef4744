"""Opening a small table in an object store from its version checksum, which lists the files.

Three requests, which are in flight at once, for the checksum and the last two commits, take the place of those for the
checkpoint and for each commit after it. The commit before the last one shows whether the checksum is of this table: a
writer that had opened a table at the same path, which was dropped meanwhile, may have left the last one with its
checksum. The checksum has neither removed files nor, perhaps, every transaction identifier: see `Snapshot.whole`.

# today's protocol, Version Checksum File: "allFiles"
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltaskip.errors import CorruptLog
from deltaskip.features.registry import has_tree
from deltaskip.json_text import compact_json, parse_json
from deltaskip.log.commit import Commits, parse_contents
from deltaskip.log.file_names import LogFile
from deltaskip.log.last_checkpoint import Hint
from deltaskip.log.segment import LogSegment
from deltaskip.log.state_actions import StateChange
from deltaskip.log.tail import Tail, tail_of
from deltaskip.sparkexpr.values.arrow_values import exact_sum

LISTED_FILES = 50
"""The checksum of a table with at most this many files lists them, as delta-spark's does."""
# Larger files take longer to read than the log.
_MOST_BYTES = 1 << 19
# So many commits are read as fast as a checksum.
_FEW_COMMITS = 2
# The members of a checksum that have the actions of the state, besides `protocol` and `metadata`.
_STATE_LISTS = (("txn", "setTransactions"), ("domainMetadata", "domainMetadata"))


def may_list_files(segment: LogSegment, hint: Hint | None) -> bool:
    """Return whether the checksum of a version probably lists its files, and is read faster than the log.

    Args:
        segment: The files of the version.
        hint: The contents of `_last_checkpoint`, which may say how many files the checkpoint has.
    """
    own, checksum, checkpoint = segment.own_commit, segment.checksum, segment.checkpoint
    if own is None or checksum is None or not 0 < max(own.file.size, checksum.file.size) <= _MOST_BYTES:
        return False
    if checkpoint is None:
        return _FEW_COMMITS < len(segment.commits) <= LISTED_FILES
    if hint is None or hint.version != checkpoint.version or hint.num_adds is None:
        return False
    return hint.num_adds <= LISTED_FILES and bool(segment.commits)


def listed_tail(commits: Commits, checksum: LogFile, text: bytes) -> Tail | None:
    """Return a tail with the state and all files of a version, from its checksum and its last commits.

    None if the checksum does not list them, does not name the last commit by its txnId, or if the list differs from the
    counts beside it or from what the commits leave.

    Args:
        commits: The last commits, oldest first.
        checksum: The version checksum.
        text: Its text.

    Raises:
        CorruptLog: A commit is damaged.
    """
    root, newest = commits.root, tail_of(commits)
    try:
        fields = parse_json(text)
        older = tail_of(parse_contents(root, [checksum], memoryview(_as_commit(fields)), [0]))
        listed = older.files.adds
    except (ValueError, KeyError, TypeError, AttributeError, CorruptLog):
        return None
    found = newest.following(older)
    counted = (fields.get("numFiles"), fields.get("tableSizeBytes"))
    if counted != (len(listed), exact_sum(listed["size"])) or len(fields["allFiles"]) != len(listed):
        return None
    if newest.info is None or newest.info.txn_id is None or newest.info.txn_id != fields.get("txnId"):
        # It may be the checksum of another table that was at the path before.
        return None
    if not _by_path(found.files.adds).equals(_by_path(listed)) or _live(found.state) != _live(older.state):
        return None
    return None if found.state.protocol is None or has_tree(found.state.protocol) else found


def _as_commit(fields: dict[str, Any]) -> bytes:
    """The contents of a checksum as the text of a commit. Raises KeyError if it lacks a part."""
    actions = [("protocol", fields["protocol"]), ("metaData", fields["metadata"])]
    actions += [(action, each) for action, name in _STATE_LISTS for each in fields[name]]
    actions += [("add", each) for each in fields["allFiles"]]
    return "\n".join(compact_json({action: each}) for action, each in actions).encode()


def _by_path(adds: pa.Table) -> pa.Table:
    return adds.drop_columns(["data_change"]).sort_by("path")


def _live(state: StateChange) -> tuple[object, ...]:
    domains = {name: domain for name, domain in state.domains.items() if not domain.removed}
    return state.protocol, state.metadata, dict(state.txns), domains
