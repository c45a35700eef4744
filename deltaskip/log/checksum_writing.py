"""Writing the version checksum `n.crc`.

# today's protocol, Version Checksum
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deltaskip.actions import CommitInfo, add_actions
from deltaskip.features.registry import has_feature
from deltaskip.json_text import compact_json
from deltaskip.log.commit import last_commit_info, parse_contents, read_commits
from deltaskip.log.file_counts import FileCounts
from deltaskip.log.file_names import Kind, LogFile, commit_name, version_prefix
from deltaskip.log.listed_files import LISTED_FILES
from deltaskip.log.replay import EMPTY, Replay
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.state_actions import StateChange, overlay
from deltaskip.log.tail import tail_of
from deltaskip.path_bytes import encoded
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.storage import LOG_FOLDER, FileInfo, join

# Each commit's checksum counts all files again, so that an error cannot spread from one checksum to the next. Up to
# this number of files, counting takes less time than the commit.
_COUNTED_FILES = 20_000
# A list with longer statistics would take longer to read with each opening than the files.
_LISTED_CHARACTERS = 1 << 17


def write_checksum(snapshot: Snapshot, num_files: int, table_bytes: int, histograms: bool = True) -> None:
    """Write the snapshot's version checksum, unless it exists.

    Args:
        snapshot: The version.
        num_files: Number of its active files.
        table_bytes: Their bytes.
        histograms: Whether sizes and deleted rows are counted in tables of more than 50 files, too.
    """
    info = snapshot.tail.info
    own = snapshot.segment.own_commit
    if info is None and own is not None:
        info = last_commit_info(read_commits(snapshot.storage, snapshot.root, [own], ["path"]))
    totals = _Totals(num_files, table_bytes, snapshot, EMPTY, histograms)
    _write(snapshot.version, snapshot.state, info, snapshot.in_commit_timestamp, totals)


def write_checksum_after(latest: Snapshot, commit: bytes, after: Snapshot | None = None) -> bool:
    """Write the version checksum of the version after `latest`; commit: the text of its commit; after: its snapshot.

    Returns False, without writing, if the table has too many files to count them with every commit. The next
    checkpoint then writes the checksum.
    """
    groups = ((part, group) for part in latest.checkpoint_parts for group in part.row_groups_with("add"))
    if len(latest.commit_adds) + sum(part.add_rows(group) for part, group in groups) > _COUNTED_FILES:
        return False
    if after is not None:
        write_checksum(after, *after.totals(), histograms=False)
        return True
    version = latest.version + 1
    name = commit_name(version)
    file = FileInfo(name, join(latest.root, LOG_FOLDER, name), len(commit), 0)
    tail = tail_of(parse_contents(latest.root, [LogFile(Kind.COMMIT, version, file)], memoryview(commit), [0]))
    state = overlay(latest.state, tail.state)
    timestamp = None
    if state.metadata is not None and TableProperties(state.metadata.configuration, latest.root).in_commit_timestamps:
        timestamp = None if tail.info is None else tail.info.in_commit_timestamp
    files, size = latest.totals(tail.files)
    _write(version, state, tail.info, timestamp, _Totals(files, size, latest, tail.files, False))
    return True


@dataclass(frozen=True, slots=True)
class _Totals:
    """What a checksum says of all active files.

    num_files, table_bytes: their number and bytes. base, newer: the version or one before it, and what follows it.
    histograms: whether sizes and deleted rows of many files are counted, too.
    """

    num_files: int
    table_bytes: int
    base: Snapshot
    newer: Replay
    histograms: bool

    def members(self, with_vectors: bool) -> Iterator[tuple[str, Any]]:
        """Yield the members that delta-spark writes, too: histograms, and the files themselves if they are few."""
        if self.num_files <= LISTED_FILES:
            listed = self.base.files_after(self.newer)
            yield from FileCounts.of([listed]).members(with_vectors)
            files = [{**add.to_json(), "dataChange": False} for add in add_actions(listed)]
            if sum(len(each.get("stats", "")) for each in files) <= _LISTED_CHARACTERS:
                yield "allFiles", files
        elif self.histograms and self.num_files <= _COUNTED_FILES:
            batches = self.base.add_batches(_COUNTED_FILES, ["size", "deletion_vector"])
            yield from FileCounts.of(batches).members(with_vectors)


def _write(
    version: int, state: StateChange, info: CommitInfo | None, in_commit_timestamp: int | None, totals: _Totals
) -> None:
    storage, root = totals.base.storage, totals.base.root
    path = join(root, LOG_FOLDER, f"{version_prefix(version)}.crc")
    # All writers of one version write the same contents. A size that no reader can read is not written.
    if totals.table_bytes >= 1 << 63 or (not storage.remote and storage.exists(path)):
        return
    members = {
        "txnId": None if info is None else info.txn_id,
        "tableSizeBytes": totals.table_bytes,
        "numFiles": totals.num_files,
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": in_commit_timestamp,
        "setTransactions": [txn.to_json() for txn in state.txns.values()],
        "domainMetadata": [domain.to_json() for domain in state.domains.values() if not domain.removed],
        "metadata": None if state.metadata is None else state.metadata.to_json(),
        "protocol": None if state.protocol is None else state.protocol.to_json(),
        # delta-spark believes no adaptive metadata tree whose checksum lacks what commitInfo says of the newest one.
        "lastManifestCommit": None if info is None else info.members.get("lastManifestCommit"),
        **dict(totals.members(state.protocol is not None and has_feature(state.protocol, "deletionVectors"))),
    }
    present = {name: value for name, value in members.items() if value is not None}
    text = compact_json(present)
    if storage.remote:
        # An existing checksum is not replaced, and no request looks for it.
        with storage.publish(path) as file, open(encoded(file), "wb") as opened:
            opened.write(text.encode())
        return
    # Readers do not depend on the checksum and ignore a damaged one, so it need not be durable.
    storage.put(path, text.encode(), durable=False)
