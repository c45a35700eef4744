"""Writing the version checksum `n.crc`.

# today's protocol, Version Checksum
"""

from __future__ import annotations

import json

from deltaskip.actions import CommitInfo
from deltaskip.log.commit import last_commit_info, read_commits
from deltaskip.log.file_names import LOG_FOLDER, version_prefix
from deltaskip.log.snapshot import Snapshot
from deltaskip.storage import join

__all__ = ["write_checksum"]


def write_checksum(snapshot: Snapshot, num_files: int, table_bytes: int) -> None:
    """Write the snapshot's checksum, unless it is there. num_files, table_bytes: of the active files."""
    info = _info(snapshot)
    members = {
        "txnId": info.txn_id,
        "tableSizeBytes": table_bytes,
        "numFiles": num_files,
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": snapshot.in_commit_timestamp,
        "setTransactions": [txn.to_json() for txn in snapshot.txns.values()],
        "domainMetadata": [domain.to_json() for domain in snapshot.domains.values()],
        "metadata": snapshot.metadata.to_json(),
        "protocol": snapshot.protocol.to_json(),
    }
    present = {name: value for name, value in members.items() if value is not None}
    text = json.dumps(present, ensure_ascii=False, separators=(",", ":"))
    path = join(snapshot.root, LOG_FOLDER, f"{version_prefix(snapshot.version)}.crc")
    # Two writers of one version say the same.
    if not snapshot.storage.exists(path):
        snapshot.storage.put(path, text.encode())


def _info(snapshot: Snapshot) -> CommitInfo:
    info = snapshot.tail.info
    own = snapshot.segment.own_commit
    if info is None and own is not None:
        info = last_commit_info(read_commits(snapshot.storage, snapshot.root, [own], ["path"]))
    return info or CommitInfo({})
