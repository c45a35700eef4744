"""Rules of commits by themselves and of the files of the log: gaps, damage, actions that contradict each other, times.

# PROTOCOL, Delta Log Entries, Requirements for Writers: Consistency Between Table Metadata and Data Files
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import CommitInfo, Protocol, canonical_paths
from deltaskip.errors import CorruptLog, UnsupportedFeature
from deltaskip.features.change_data_feed import CHANGE_FOLDER
from deltaskip.features.registry import has_feature_or_preview
from deltaskip.features.support_checks import check_reader_version
from deltaskip.lazy_regex import regex
from deltaskip.log import commit as log
from deltaskip.log.cleanup import left_over_files, unneeded_sidecars
from deltaskip.log.compaction import cover
from deltaskip.log.file_names import Kind, LogFile, commit_name, parse_log_file
from deltaskip.log.replay import keys_of_files, repeated_key, replay
from deltaskip.log.state_actions import STATE_ACTIONS, STATE_KEYS, StateAction
from deltaskip.maintenance.verify.checkpoint_checks import sorted_features
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.maintenance.verify.table_rule import Found
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import LOG_FOLDER, join

_DIGITS = regex(r"^\d{20}\.", re.ASCII)


def file_violations(facts: TableFacts) -> Iterator[Found]:
    """Entries of the log's folder that are not what their names say."""
    for entry in facts.entries:
        parsed = parse_log_file(entry)
        if parsed is not None and not entry.is_file:
            yield Found(
                "log.regular-files",
                f"{entry.name} is a {entry.kind}, not a regular file; restore the file, or delete the {entry.kind}",
                [parsed.version],
                [entry.name],
            )
        elif parsed is None and entry.is_file and _DIGITS.match(entry.name) and not entry.name.endswith(".tmp"):
            if entry.name.rpartition(".")[2] not in ("json", "parquet", "crc"):
                continue
            message = f"{entry.name} begins as a file of the log, but has no name of one, so that readers ignore it"
            yield Found("log.names", message, (), [entry.name])
    listing = facts.listing
    for compaction in (each for entry in facts.entries if (each := parse_log_file(entry)) is not None):
        if compaction.kind is Kind.COMPACTION and compaction.end > (listing.latest or 0):
            name = compaction.file.name
            why = f"{name} ends at version {compaction.end}, but the latest version is {listing.latest}"
            yield Found("compaction.range", f"{why}; readers ignore it", [compaction.end], [name])


def gap_violations(facts: TableFacts) -> Iterator[Found]:
    """Versions that are missing, so that the latest version, or one that a commit shows, cannot be rebuilt."""
    listing = facts.listing
    latest = listing.latest
    if latest is None:
        wrong = ", ".join(sorted(file.file.name for files in listing.incomplete.values() for file in files)[:3])
        left = f"; there are only parts of a checkpoint ({wrong})" if wrong else ""
        yield Found("log.state", f"The log has neither a commit nor a complete checkpoint{left}; restore its files")
        return
    versions = sorted(listing.commits)
    compacted = [(each.version, each.end) for each in listing.compactions]
    gaps = [(before + 1, after - 1) for before, after in pairwise(versions) if after > before + 1]
    first = versions[0] if versions else None
    if first is not None and latest > versions[-1]:
        # A checkpoint may stand alone if all commits were cleaned up, but none is written before its commit.
        gaps.append((versions[-1] + 1, latest))
    for start, end in gaps:
        which = f"versions {start} to {end}" if end > start else f"version {start}"
        many = f"{commit_name(start)} to {commit_name(end)} are" if end > start else f"{commit_name(start)} is"
        # delta-spark and delta-rs need the commits that a log compaction replaces.
        bridged = any(version >= end for version in listing.checkpoints)
        bridged = bridged or any(first <= start and end <= last for first, last in compacted)
        cure = f"{which} cannot be read" if bridged else f"version {latest} cannot be rebuilt"
        yield Found(
            "commit.gap",
            f"{many} missing from the log, so {cure}; restore the file",
            range(start, min(end, start + 99) + 1),
        )
    lost = max(listing.checksums, default=latest)
    protocol = None if facts.state is None else facts.state.protocol
    # Those of a table of a catalog may not be published yet.
    managed = protocol is not None and has_feature_or_preview(protocol, "catalogManaged")
    if lost > latest and not managed and not facts.storage.exists(join(facts.root, LOG_FOLDER, commit_name(lost))):
        message = f"{commit_name(lost)} is missing from the log, which has the checksum of version {lost}"
        yield Found("commit.gap", f"{message}; restore the file", [lost])
    starts = [version for version in listing.checkpoints if first is None or version >= first - 1]
    begins = 0 in listing.commits or any(start == 0 for start, _ in compacted)
    if not begins and not starts:
        why = f"{commit_name(0)} is missing, and no complete checkpoint replaces the commits before version {first}"
        yield Found("commit.gap", f"{why}; restore the files", [0])
    for version, files in listing.incomplete.items():
        if version >= facts.since:
            names = [file.file.name for file in files]
            message = f"The checkpoint of version {version} lacks some of its parts, so that readers ignore it"
            yield Found("checkpoint.complete", message, [version], names)


def commit_violations(facts: TableFacts) -> Iterator[Found]:
    """Commits that cannot be read, or whose actions contradict each other."""
    files = [file for version, file in sorted(facts.listing.commits.items()) if version >= facts.since]
    times = _Times(facts)
    # A large commit is read in pieces.
    lacking = {"protocol", "metaData"} if files and files[0].version == 0 else set()
    for commits, start in _readable(facts, files):
        if isinstance(commits, CorruptLog):
            yield Found("commit.readable", str(commits), [files[start].version], [files[start].file.name])
            lacking = lacking if files[start].version else set()
            continue
        lacking -= {action.name for action in commits.others if commits.files[action.commit].version == 0}
        yield from _of_nothing(commits, start)
        yield from _of_files(commits, start)
        yield from _of_state(commits)
        yield from _of_changes(commits, start)
        yield from times.of(commits, start)
    if lacking:
        missing = " and no ".join(sorted(lacking, reverse=True))
        message = f"Version 0 has no {missing} action, which the first version must have"
        yield Found("commit.first", message, [0], [files[0].file.name])


def _readable(facts: TableFacts, files: Sequence[LogFile]) -> Iterator[tuple[log.Commits | CorruptLog, int]]:
    """Commits with the ordinal of the first that is new in each piece, or why one cannot be read."""
    start = 0
    while start < len(files):
        done = 0
        try:
            for piece in log.commit_pieces(facts.storage, facts.root, files[start:], also=(log.CHANGE_FILE,)):
                yield piece, done
                facts.counts["commits"] += len(piece.files) - done
                facts.advance(len(piece.files) - done)
                done = len(piece.files)
            return
        except CorruptLog:
            start += done
        # One of the next piece is damaged: they are read one by one up to it.
        while start < len(files):
            facts.counts["commits"] += 1
            facts.advance(1)
            start += 1
            try:
                yield log.read_commits(facts.storage, facts.root, [files[start - 1]], also=(log.CHANGE_FILE,)), 0
            except CorruptLog as error:
                yield error, start - 1
                break


def _versions(commits: log.Commits, ordinals: Sequence[int]) -> list[int]:
    return [commits.files[ordinal].version for ordinal in ordinals]


def _of_nothing(commits: log.Commits, start: int) -> Iterator[Found]:
    """Commits without any action, which no writer writes: a file system may lose what a file had when it stops."""
    known = {*pc.unique(commits.actions["commit"]).to_pylist(), *(action.commit for action in commits.others)}
    empty = [commits.files[ordinal] for ordinal in range(start, len(commits.files)) if ordinal not in known]
    if empty:
        names, versions = [each.file.name for each in empty], [each.version for each in empty]
        message = f"{names[0]} has no action, as if its contents were lost; restore the file"
        yield Found("commit.empty", message, versions, names)


def _of_files(commits: log.Commits, start: int) -> Iterator[Found]:
    """Adds and removes of one file in one commit."""
    actions = commits.actions
    if not len(actions):
        return
    commit = numpy_values(actions["commit"])
    try:
        paths = canonical_paths(one_chunk(actions["path"]))
    except ValueError as error:
        yield Found(
            "files.path", f"A path of the log cannot be decoded: {error}", _versions(commits, [int(commit[-1])])
        )
        return
    is_remove = one_chunk(actions["is_remove"])
    keys = keys_of_files(paths, actions["deletion_vector"])
    adds = numpy_values(is_remove) == 0
    of_keys, of_paths = (numpy_values(each.dictionary_encode().indices).astype(np.int64) for each in (keys, paths))
    for what, which, codes in (("actions", np.ones(len(adds), bool), of_keys), ("adds", adds, of_paths)):
        pairs = commit.astype(np.int64) * (int(codes.max()) + 1) + codes
        rows = np.flatnonzero(which)
        _, first, counts = np.unique(pairs[rows], return_index=True, return_counts=True)
        twice = rows[first[counts > 1]]
        if len(twice):
            found = [path.as_py() for path in actions["path"].take(arrow_array(twice, pa.int64()))]
            versions = sorted({int(commit[row]) for row in twice})
            where = f"Version {commits.files[versions[0]].version}"
            cause = "several actions for the file" if what == "actions" else "several adds of the file"
            message = f"{where} has {cause} {found[0]}, whose order is not defined; rewrite the commit"
            yield Found("commit.reconciled", message, _versions(commits, versions), found)
            break
    yield from _of_removed(commits, of_keys, adds)
    if "size" in actions.column_names:
        wrong = filled(pc.less(actions["size"], arrow_scalar(0, pa.int64())), False)
        rows = np.flatnonzero(numpy_values(one_chunk(wrong)))
        if len(rows):
            found = actions["path"].take(arrow_array(rows, pa.int64())).to_pylist()
            message = f"The size of {found[0]} in the log is negative"
            yield Found("files.numbers", message, _versions(commits, sorted({int(commit[row]) for row in rows})), found)


def _of_removed(commits: log.Commits, codes: npt.NDArray[np.int64], adds: npt.NDArray[np.bool_]) -> Iterator[Found]:
    """Files that a commit that adds files removes again. codes: Of the keys of files. adds: Which actions are adds."""
    commit = numpy_values(commits.actions["commit"])
    order = np.lexsort((commit, codes))
    before, row = order[:-1], order[1:]
    again = (codes[before] == codes[row]) & ~adds[before] & ~adds[row] & (commit[before] < commit[row])
    again &= np.isin(commit[row], commit[adds])
    if again.any():
        rows, first = np.sort(row[again]), before[again][np.argmin(row[again])]
        removed = commits.actions["path"].take(arrow_array(rows, pa.int64())).to_pylist()
        versions = _versions(commits, sorted({int(commit[each]) for each in rows}))
        [earlier] = _versions(commits, [int(commit[first])])
        message = (
            f"Version {versions[0]} removes {removed[0]}, which version {earlier} had removed: its writer had not read "
            f"that version, and rows that both wrote anew are in the table twice; compare it with version "
            f"{versions[0] - 1}, to which RESTORE leads back"
        )
        yield Found("files.removed-again", message, versions, removed)


def _of_state(commits: log.Commits) -> Iterator[Found]:
    """Actions about the table that cannot be read, or that contradict another one of their commit."""
    seen: Counter[tuple[int, str, object]] = Counter()
    for action in commits.others:
        if action.name not in STATE_ACTIONS:
            continue
        try:
            parsed: StateAction = log.state_action(commits, action)
            if isinstance(parsed, Protocol):
                with suppress(UnsupportedFeature):
                    check_reader_version(parsed, f"Version {commits.files[action.commit].version}")
        except CorruptLog as error:
            file = commits.files[action.commit]
            yield Found("commit.readable", str(error), [file.version], [file.file.name])
            continue
        member = STATE_KEYS[action.name]
        key = getattr(parsed, {"appId": "app_id", "domain": "domain"}[member]) if member is not None else ""
        seen[action.commit, action.name, key] += 1
        if seen[action.commit, action.name, key] == 2:
            version = commits.files[action.commit].version
            what = f"{action.name} {key}".rstrip()
            message = f"Version {version} has several actions {what}, of which one is allowed; rewrite the commit"
            yield Found("commit.reconciled", message, [version], [commits.files[action.commit].file.name])


def _of_changes(commits: log.Commits, start: int) -> Iterator[Found]:
    """Change data files in a commit."""
    if not any(action.name == log.CHANGE_FILE for action in commits.others):
        return
    try:
        found = log.change_files(commits)
    except CorruptLog as error:
        yield Found("commit.readable", str(error))
        return
    outside = pc.invert(pc.match_substring(found["path"], f"{CHANGE_FOLDER}/"))
    changes = filled(found["data_change"], False)
    for mask, rule, why in (
        (outside, "files.cdc-folder", f"is not in the folder {CHANGE_FOLDER}"),
        (changes, "files.cdc", "has dataChange true"),
    ):
        paths = found.filter(mask)
        if len(paths):
            names = paths["path"].to_pylist()
            versions = sorted(set(_versions(commits, paths["commit"].to_pylist())))
            yield Found(rule, f"The change data file {names[0]} {why}", versions, names)


class _Times:
    """In-commit timestamps, which ascend from the version that enabled them on."""

    def __init__(self, facts: TableFacts) -> None:
        metadata = None if facts.state is None else facts.state.metadata
        properties = TableProperties({} if metadata is None else metadata.configuration, facts.root).well_formed()
        self._first: int | None = properties.in_commit_timestamps_version or 0
        if not properties.in_commit_timestamps:
            self._first = None
        self._last: tuple[int, int] | None = None

    def of(self, commits: log.Commits, start: int) -> Iterator[Found]:
        infos = [None] * len(commits.files) if self._first is None else _infos(commits)
        for ordinal in range(start, len(commits.files)):
            file, info = commits.files[ordinal], infos[ordinal]
            if self._first is None or file.version < self._first:
                continue
            where = f"Version {file.version}"
            time, line = (None, 0) if info is None else (info[0].in_commit_timestamp, info[1])
            if time is None:
                message = f"{where} has no in-commit timestamp, although the table has them enabled"
                yield Found("commit.timestamp", message, [file.version], [file.file.name])
                continue
            if line != 1:
                message = f"The commitInfo of version {file.version}, with its timestamp, is not the first action"
                yield Found("commit.timestamp", message, [file.version], [file.file.name])
            if self._last is not None and time <= self._last[1]:
                message = f"{where} has the in-commit timestamp {time}, which is not later than that of version"
                yield Found("commit.timestamp", f"{message} {self._last[0]}", [file.version], [file.file.name])
            self._last = file.version, time


def _infos(commits: log.Commits) -> list[tuple[CommitInfo, int] | None]:
    found: list[tuple[CommitInfo, int] | None] = [None] * len(commits.files)
    for action in commits.others:
        if action.name == "commitInfo" and found[action.commit] is None:
            found[action.commit] = CommitInfo.from_json(log.members_of(commits, action)), action.line
    return found


def left_over(facts: TableFacts) -> Iterator[Found]:
    """Files of the log that killed writers and old checkpoints left behind."""
    snapshot, now = facts.readable, current_ms()
    names = [f"_sidecars/{each.name}" for each in unneeded_sidecars(snapshot, now)] + left_over_files(snapshot, now)
    if names:
        message = f"No checkpoint needs {names[0]} and {len(names) - 1:,} more files" if len(names) > 1 else ""
        message = message or f"No checkpoint needs {names[0]}"
        yield Found("log.orphans", f"{message}; VACUUM deletes them when they are old enough", (), names)


def compaction_violations(facts: TableFacts) -> Iterator[Found]:
    """Log compactions that do not have what their commits have."""
    for compaction in facts.listing.compactions:
        if compaction.end < facts.since:
            continue
        name, versions = compaction.file.name, [compaction.version, compaction.end]
        facts.advance(1)
        try:
            own = log.read_commits(facts.storage, facts.root, [compaction])
            mine, state = replay(own.actions), log.state_change(own)
        except (CorruptLog, ValueError) as error:
            yield Found("compaction.readable", str(error), versions, [name])
            continue
        repeated = repeated_key(own.actions) if len(own.actions) else None
        if repeated is not None:
            message = f"{name} has several actions of the file {repeated}, of which the last should be left"
            yield Found("compaction.reconciled", message, versions, [name])
            continue
        commits = cover(facts.listing.commits, (), compaction.version, compaction.end)
        if commits is None:
            continue
        try:
            others = log.read_commits(facts.storage, facts.root, commits)
            theirs, expected = replay(others.actions), log.state_change(others)
        except (CorruptLog, ValueError):
            continue
        same_files = _keys(mine.adds) == _keys(theirs.adds)
        same_state = (sorted_features(state.protocol), state.metadata, dict(state.txns)) == (
            sorted_features(expected.protocol),
            expected.metadata,
            dict(expected.txns),
        )
        if not same_files or not same_state:
            what = "other files" if not same_files else "another protocol, metadata or transaction"
            message = f"{name} has {what} than the commits {compaction.version} to {compaction.end}, which it replaces"
            yield Found("compaction.contents", message, versions, [name])


def _keys(adds: pa.Table) -> set[str]:
    return set(keys_of_files(canonical_paths(one_chunk(adds["path"])), adds["deletion_vector"]).to_pylist())
