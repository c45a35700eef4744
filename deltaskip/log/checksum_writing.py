"""Writing the version checksum `n.crc`.

# today's protocol, Version Checksum
"""

from __future__ import annotations

import json

from deltaskip.actions import CommitInfo
from deltaskip.log.commit import last_commit_info, parse_contents, read_commits
from deltaskip.log.file_names import Kind, LogFile, commit_name, version_prefix
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.state_actions import StateChange, overlay
from deltaskip.log.tail import tail_of
from deltaskip.path_bytes import encoded
from deltaskip.schema.properties import TableProperties
from deltaskip.storage import FileInfo, Storage, join
from deltaskip.storage.location import LOG_FOLDER

# Each commit's checksum counts all files again, so that an error cannot spread from one checksum to the next. Up to
# this number of files, counting takes less time than the commit.
_COUNTED_FILES = 20_000


def write_checksum(snapshot: Snapshot, num_files: int, table_bytes: int) -> None:
    """Write the snapshot's version checksum, unless it exists. num_files, table_bytes: of the active files."""
    info = snapshot.tail.info
    own = snapshot.segment.own_commit
    if info is None and own is not None:
        info = last_commit_info(read_commits(snapshot.storage, snapshot.root, [own], ["path"]))
    where = snapshot.storage, snapshot.root, snapshot.version
    _write(*where, snapshot.state, info, snapshot.in_commit_timestamp, num_files=num_files, table_bytes=table_bytes)


def write_checksum_after(latest: Snapshot, commit: bytes, after: Snapshot | None = None) -> bool:
    """Write the version checksum of the version after `latest`; commit: the text of its commit; after: its snapshot.

    Returns False, without writing, if the table has too many files to count them with every commit. The next
    checkpoint then writes the checksum.
    """
    groups = ((part, group) for part in latest.checkpoint_parts for group in part.row_groups_with("add"))
    if len(latest.commit_adds) + sum(part.add_rows(group) for part, group in groups) > _COUNTED_FILES:
        return False
    if after is not None:
        write_checksum(after, *after.totals())
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
    where = latest.storage, latest.root, version
    _write(*where, state, tail.info, timestamp, num_files=files, table_bytes=size)
    return True


def _write(
    storage: Storage,
    root: str,
    version: int,
    state: StateChange,
    info: CommitInfo | None,
    in_commit_timestamp: int | None,
    *,
    num_files: int,
    table_bytes: int,
) -> None:
    path = join(root, LOG_FOLDER, f"{version_prefix(version)}.crc")
    # All writers of one version write the same contents. A size that no reader can read is not written.
    if table_bytes >= 1 << 63 or (not storage.remote and storage.exists(path)):
        return
    members = {
        "txnId": None if info is None else info.txn_id,
        "tableSizeBytes": table_bytes,
        "numFiles": num_files,
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": in_commit_timestamp,
        "setTransactions": [txn.to_json() for txn in state.txns.values()],
        "domainMetadata": [domain.to_json() for domain in state.domains.values() if not domain.removed],
        "metadata": None if state.metadata is None else state.metadata.to_json(),
        "protocol": None if state.protocol is None else state.protocol.to_json(),
    }
    present = {name: value for name, value in members.items() if value is not None}
    text = json.dumps(present, ensure_ascii=False, separators=(",", ":"))
    if storage.remote:
        # An existing checksum is not replaced, and no request looks for it.
        with storage.publish(path) as file, open(encoded(file), "wb") as opened:
            opened.write(text.encode())
        return
    # Readers do not depend on the checksum and ignore a damaged one, so it need not be durable.
    storage.put(path, text.encode(), durable=False)
