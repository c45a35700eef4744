"""Log compactions: when one is used in place of commits, and the condition under which it can be.

A compaction contains the reconciled actions of its range, in unknown order. The result is certain only if the order
does not matter: one action per logical file, one add per path, one action of every other key. Anything else is refused;
a reader that has the commits then reads these.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from deltaskip.errors import CorruptLog
from deltaskip.log.commit import Commits, members_of
from deltaskip.log.file_names import Kind, LogFile, commit_name
from deltaskip.log.replay import repeated_key
from deltaskip.log.state_actions import STATE_KEYS
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar


def cover(
    commits: Mapping[int, LogFile], compactions: Sequence[LogFile], start: int, end: int, most: int | None = None
) -> tuple[LogFile, ...] | None:
    """Return the commits start … end, with log compactions for missing commits; None if neither exists.

    A compaction is used only from its first version on. Commits contain everything that a compaction contains, their
    order and their writers, too.

    Args:
        commits: The commits of the log, by version.
        compactions: Its log compactions.
        start: The first version.
        end: The last version.
        most: If more commits than this are there, the fewest files are returned, and the last commit in any case.
            None: all commits that are there.
    """
    # A stray name far above the rest must not cost a loop over all numbers.
    some = range(start, end + 1) if end - start < len(commits) else ()
    every = [commits[version] for version in some if version in commits]
    if len(every) == end + 1 - start:
        if most is None or end - start < most:
            return tuple(every)
        step, compactions = 1, [each for each in compactions if each.end < end]
    else:
        step = 0
    by_start: dict[int, list[LogFile]] = defaultdict(list)
    for compaction in compactions:
        by_start[compaction.version].append(compaction)
    # best[v]: the smallest number of compactions (or of files) from v to the end, and the first file of that path.
    best: dict[int, tuple[int, LogFile | None]] = {end + 1: (0, None)}
    # Only versions at which a file starts.
    for version in sorted({v for v in (*commits, *by_start) if start <= v <= end}, reverse=True):
        ways = [(best[c.end + 1][0] + 1, c) for c in by_start.get(version, ()) if c.end + 1 in best]
        if version in commits and version + 1 in best:
            ways.append((best[version + 1][0] + step, commits[version]))
        if ways:
            best[version] = min(ways, key=lambda way: way[0])
    files: list[LogFile] = []
    version = start
    while version <= end:
        file = best.get(version, (0, None))[1]
        if file is None:
            return None
        files.append(file)
        version = (file.end if file.kind is Kind.COMPACTION else file.version) + 1
    return tuple(files)


def require_reconciled(commits: Commits) -> None:
    """Raise CorruptLog if a compaction among the files contains several actions of one key, or no action."""
    for ordinal, file in enumerate(commits.files):
        if file.kind is not Kind.COMPACTION:
            continue
        place = arrow_scalar(ordinal, commits.actions["commit"].type)
        files = commits.actions.filter(pc.equal(commits.actions["commit"], place))
        states = [action for action in commits.others if action.commit == ordinal and action.name in STATE_KEYS]
        if not len(files) and not states:
            raise _not_usable(commits.root, file, "has no actions")
        repeated = repeated_key(files)
        if repeated is not None:
            raise _unreconciled(commits.root, file, f"the file {repeated}")
        seen: set[tuple[str, str]] = set()
        for action in states:
            member = STATE_KEYS[action.name]
            value = "" if member is None else str(members_of(commits, action).get(member))
            if (action.name, value) in seen:
                raise _unreconciled(commits.root, file, f"{action.name} {value}".rstrip())
            seen.add((action.name, value))


def _unreconciled(root: str, file: LogFile, key: str) -> CorruptLog:
    return _not_usable(root, file, f"holds several actions for {key} in unknown order")


def _not_usable(root: str, file: LogFile, fault: str) -> CorruptLog:
    return CorruptLog(
        f"The log of {root} is damaged: {file.file.name} {fault}, and some of the commits that it replaces, "
        f"{commit_name(file.version)} to {commit_name(file.end)} (versions {file.version} to {file.end}), are missing; "
        f"restore them."
    )
