"""Log compactions that stand in for missing commits, and when they may.

A compaction holds the reconciled actions of its range, and a reader that has the commits needs none. Where commits
are gone its actions cannot be put in order any more, so the answer is provable only if there is no order to know: one
action a logical file, one add a path, one action of every other key. Anything else is refused.
"""

import pyarrow.compute as pc

from deltaskip.errors import CorruptLog
from deltaskip.log.commit import Commits, members_of
from deltaskip.log.file_names import Kind, LogFile, commit_name
from deltaskip.log.replay import repeated_key

__all__ = ["require_reconciled"]

_KEY_MEMBER = {"protocol": None, "metaData": None, "txn": "appId", "domainMetadata": "domain"}


def require_reconciled(commits: Commits) -> None:
    """Raises CorruptLog naming the first compaction among the files that holds several actions of one key."""
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
        f"The log of {root} is damaged: {file.file.name} holds several actions for {key} in no known order, and some "
        f"of the commits that it stands for, {commit_name(file.version)} to {commit_name(file.end)} (versions "
        f"{file.version} to {file.end}), are missing; restore them."
    )
