"""Log compactions that replace missing commits, and the condition under which they can.

A compaction contains the reconciled actions of its range; a reader that has the commits does not need it. If commits
are missing, the order of the compaction's actions is unknown. The result is then certain only if the order does not
matter: one action per logical file, one add per path, one action of every other key. Anything else is refused.
"""

import pyarrow.compute as pc

from deltaskip.errors import CorruptLog
from deltaskip.log.commit import Commits, members_of
from deltaskip.log.file_names import Kind, LogFile, commit_name
from deltaskip.log.replay import repeated_key

__all__ = ["require_reconciled"]

_KEY_MEMBER = {"protocol": None, "metaData": None, "txn": "appId", "domainMetadata": "domain"}


def require_reconciled(commits: Commits) -> None:
    """Raise CorruptLog if a compaction among the files contains several actions of one key."""
    for ordinal, file in enumerate(commits.files):
        if file.kind is not Kind.COMPACTION:
            continue
        repeated = repeated_key(commits.actions.filter(pc.equal(commits.actions["commit"], ordinal)))
        if repeated is not None:
            raise _unreconciled(commits.root, file, f"the file {repeated}")
        seen: set[tuple[str, str]] = set()
        for action in commits.others:
            if action.commit != ordinal or action.name not in _KEY_MEMBER:
                continue
            member = _KEY_MEMBER[action.name]
            value = "" if member is None else str(members_of(commits, action).get(member))
            if (action.name, value) in seen:
                raise _unreconciled(commits.root, file, f"{action.name} {value}".rstrip())
            seen.add((action.name, value))


def _unreconciled(root: str, file: LogFile, key: str) -> CorruptLog:
    return CorruptLog(
        f"The log of {root} is damaged: {file.file.name} holds several actions for {key} in unknown order, and some of "
        f"the commits that it replaces, {commit_name(file.version)} to {commit_name(file.end)} (versions "
        f"{file.version} to {file.end}), are missing; restore them."
    )
