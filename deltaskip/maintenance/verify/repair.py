"""Repair: what a verification has found and can prove is mended; data is never deleted.

Files of the log that contradict the commits are renamed, so that readers ignore them, and are written again. What
changes the table, the removal of files that do not exist and new statistics, is one commit.
# delta-spark, FSCK REPAIR TABLE
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, add_actions, hadoop_path, remove_of, with_stats
from deltaskip.errors import StorageError
from deltaskip.features.row_tracking import tracks_rows
from deltaskip.log import load_snapshot
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.log.checksum_writing import write_checksum
from deltaskip.log.compaction import cover
from deltaskip.log.last_checkpoint import LAST_CHECKPOINT
from deltaskip.maintenance.verify.checkpoint_checks import checksum_agrees, doubt
from deltaskip.maintenance.verify.findings import Finding, RepairStep
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.path_bytes import encoded
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats.tags import STATS_TAG
from deltaskip.storage import LOG_FOLDER, is_local, join, parent, storage_for
from deltaskip.storage.gate import delete_file, log_names
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.transaction import Transaction

REMOVE, RECOMPUTE, ASIDE = "remove files", "replace statistics", "set aside"
CHECKPOINT, CHECKSUM = "write checkpoint", "write checksum"
OPERATION = "FSCK"
"""The operation of the commit in the table's history."""

_SUFFIX = ".damaged"
_DOUBT = "the commits before the checkpoint are gone, and the checkpoint may be what is wrong"
_BATCH_ROWS = 1 << 16
_CHECKPOINT_RULES = ("checkpoint.readable", "checkpoint.reconciled", "checkpoint.contents")
_COMPACTION_RULES = ("compaction.readable", "compaction.reconciled", "compaction.contents", "compaction.range")
_STATISTICS_RULES = ("data.row-count", "data.statistics")


def planned(facts: TableFacts, findings: Sequence[Finding]) -> tuple[RepairStep, ...]:
    """Return the steps that mend the findings, and those that are refused, with the reason."""
    steps = [_possible(facts, step) for step in (*_of_log(facts, findings), *_of_files(facts, findings))]
    mended = any(step.action == ASIDE and step.rule in _CHECKPOINT_RULES and not step.refused for step in steps)
    if mended or any(each.rule.startswith("hint.") for each in findings):
        rule = next((each.rule for each in findings if each.rule.startswith("hint.")), _CHECKPOINT_RULES[0])
        why = "" if mended or facts.snapshot is not None else "the latest version cannot be read"
        why = why or next((step.refused for step in steps if step.refused and step.rule.endswith(".contents")), "")
        steps.append(_possible(facts, RepairStep(rule, CHECKPOINT, (LAST_CHECKPOINT,), refused=why)))
    return tuple(steps)


def _possible(facts: TableFacts, step: RepairStep) -> RepairStep:
    """The step, refused if it would rename what is no regular file of the log."""
    odd = {entry.name: entry.kind for entry in facts.entries if not entry.is_file}
    name = next((path for path in step.paths if path in odd), None)
    if name is None or step.refused or step.action in (REMOVE, RECOMPUTE):
        return step
    return replace(step, refused=f"{name} is a {odd[name]}, not a regular file")


def carried_out(facts: TableFacts, steps: Iterable[RepairStep]) -> tuple[tuple[RepairStep, ...], int | None]:
    """Carry out the steps that are not refused; return them, and the version that was committed, if any.

    Raises StorageError and what a commit raises; the steps before it are done then.
    """
    done, version = [], None
    wanted = [step for step in steps if not step.refused]
    for step in wanted:
        if step.action == ASIDE:
            _set_aside(facts, step.paths)
            done.append(step)
    changes = [step for step in wanted if step.action in (REMOVE, RECOMPUTE)]
    if changes:
        removed = {path for step in changes if step.action == REMOVE for path in step.paths}
        texts = {path: facts.statistics[path] for step in changes if step.action == RECOMPUTE for path in step.paths}
        snapshot = load_snapshot(facts.storage, facts.root)
        version = commit_operation(snapshot, OPERATION, lambda txn: _change(txn, removed, texts)).version
        done += changes
    for step in wanted:
        if step.action == CHECKSUM:
            _write_checksum(facts, step.paths)
            done.append(step)
        if step.action == CHECKPOINT:
            if any(entry.name == LAST_CHECKPOINT for entry in facts.entries):
                _set_aside(facts, [LAST_CHECKPOINT])
            # If the latest version has one, there is no hint until the next checkpoint, which no reader needs.
            write_checkpoint(load_snapshot(facts.storage, facts.root))
            done.append(step)
    finished = {id(step) for step in done}
    return tuple(replace(step, done=True) if id(step) in finished else step for step in steps), version


def _of_log(facts: TableFacts, findings: Sequence[Finding]) -> Iterator[RepairStep]:
    listing = facts.listing
    bad = {name for each in findings if each.rule in _CHECKPOINT_RULES for name in each.paths}
    gone = bad.union(*(each.paths for each in findings if each.rule in _COMPACTION_RULES))
    proven = not bad or facts.rebuilt(facts.version, bad) is not None
    doubts = [
        (each, why)
        for each in findings
        if each.rule in ("checkpoint.contents", "compaction.contents")
        and (why := doubt(facts, each.versions[-1], each.paths))
    ]
    seen: set[str] = set()
    for each in findings:
        names = tuple(name for name in each.paths if name not in seen)
        seen.update(names)
        if not names:
            continue
        if each.rule in _CHECKPOINT_RULES:
            why = next((why for other, why in doubts if not set(names).isdisjoint(other.paths)), "")
            yield RepairStep(each.rule, ASIDE, names, refused=why if proven else "without it no version can be read")
        elif each.rule in _COMPACTION_RULES:
            first, last = each.versions[0], each.versions[-1]
            known = last > (listing.latest or 0) or cover(listing.commits, (), first, last) is not None
            why = next((why for other, why in doubts if other is each), "")
            yield RepairStep(each.rule, ASIDE, names, refused=why if known else "its commits are gone")
        elif each.rule.startswith("checksum."):
            if gone and not doubts and checksum_agrees(facts, each.versions[0], gone):
                continue
            why = _doubt(facts, findings, each.rule, each.versions[0]) or next((why for _, why in doubts), "")
            yield RepairStep(each.rule, CHECKSUM, names, refused=why)


def _doubt(facts: TableFacts, findings: Sequence[Finding], rule: str, version: int) -> str:
    """Why it is not certain that a version checksum is wrong, and not the log; empty if it is."""
    if facts.snapshot is None or facts.rebuilt(version) is None:
        return "its version cannot be read"
    commits = cover(facts.listing.commits, (), 0, version)
    base = max((each for each in facts.listing.checkpoints if each <= version), default=-1)
    proven = any(base == max((c for c in facts.listing.checkpoints if c <= v), default=-1) for v in facts.agreed)
    if rule == "checksum.contents" and commits is None and not proven:
        return _DOUBT
    wrong = {each.versions[0] for each in findings if each.rule == "checksum.contents"}
    at_the_end = {each for each in wrong if each > max(facts.agreed, default=-1)}
    if version in at_the_end and (len(at_the_end) > 1 or any(each.rule == "commit.empty" for each in findings)):
        return f"all checksums from version {min(at_the_end)} on say so: that commit may have lost actions"
    return ""


def _of_files(facts: TableFacts, findings: Sequence[Finding]) -> Iterator[RepairStep]:
    missing: tuple[str, ...] = ()
    for each in findings:
        if each.rule == "data.missing":
            missing = each.paths
            yield from _of_missing(facts, each)
    wrong = [(each, path) for each in findings if each.rule in _STATISTICS_RULES for path in each.paths]
    known = dict.fromkeys(path for _, path in wrong if path in facts.statistics and path not in missing)
    if known:
        counted = {path for each in findings if each.rule == "data.row-count" for path in each.paths}
        tracked = tracks_rows(facts.readable.protocol, facts.readable.table_properties.well_formed())
        kept = tuple(path for path in known if not (tracked and path in counted))
        if kept:
            yield RepairStep("data.statistics", RECOMPUTE, kept)
        if len(kept) < len(known):
            others = tuple(path for path in known if path not in kept)
            why = "row ids were assigned for another number of rows"
            yield RepairStep("data.row-count", RECOMPUTE, others, refused=why)


def _of_missing(facts: TableFacts, finding: Finding) -> Iterator[RepairStep]:
    snapshot = facts.readable
    if len(finding.paths) == snapshot.num_files:
        why = "every file of the table is missing, which may be a fault of the storage and not of the log"
        yield RepairStep(finding.rule, REMOVE, finding.paths, refused=why)
        return
    outside = {path for path in finding.paths if not _is_certain(facts, hadoop_path(snapshot.table_root, path))}
    certain = tuple(path for path in finding.paths if path not in outside)
    if certain:
        yield RepairStep(finding.rule, REMOVE, certain)
    if outside:
        why = "they are outside of the table's folder, and their folder is missing, or a link leads to them"
        yield RepairStep(finding.rule, REMOVE, tuple(sorted(outside)), refused=why)


def _is_certain(facts: TableFacts, location: str) -> bool:
    """Whether a file that is not found does not exist: in the table's folder, or in another folder that exists.

    A link may lead to a disk that is not there for the moment.
    """
    root = (facts.root if is_local(facts.root) else facts.readable.table_root).rstrip("/")
    if location.startswith(f"{root}/"):
        parts = location[len(root) + 1 :].split("/") if is_local(location) else ()
        return not any(os.path.islink(encoded(join(root, *parts[: at + 1]))) for at in range(len(parts)))
    try:
        return storage_for(location, None, facts.storage).exists(parent(location))
    except StorageError:
        return False


def _change(transaction: Transaction, removed: set[str], texts: Mapping[str, str]) -> Mapping[str, int]:
    """Put the removes and the new statistics of files that are still active as they were."""
    paths = arrow_array([*removed, *texts], pa.string())
    batches = transaction.snapshot.add_batches(_BATCH_ROWS)
    found = [batch.filter(pc.is_in(batch["path"], value_set=paths)) for batch in batches]
    wanted = pa.Table.from_batches(found, FILE_SCHEMA)
    now, gone, again = current_ms(), 0, 0
    for add in add_actions(wanted):
        if add.path in removed:
            transaction.remove(remove_of(add, now))
            gone += 1
        else:
            text = texts[add.path]
            # The tag that says which columns are without NaN came with the wrong statistics.
            tags = {name: value for name, value in (add.tags or {}).items() if name != STATS_TAG}
            transaction.add_again(replace(with_stats(add, text), tags=None if add.tags is None else tags))
            again += 1
    return {"numRemovedFiles": gone, "numFilesWithNewStatistics": again}


def _set_aside(facts: TableFacts, names: Iterable[str]) -> None:
    """Rename files of the log, so that no reader takes them for files of the log."""
    folder = join(facts.root, LOG_FOLDER)
    for name in names:
        path, number = join(folder, name), 0
        target = f"{path}{_SUFFIX}"
        while facts.storage.exists(target):
            number += 1
            target = f"{path}{_SUFFIX}-{number}"
        facts.storage.put_if_absent(target, facts.storage.read(path))
        delete_file(facts.storage, facts.root, f"{LOG_FOLDER}/{name}", log_names)


def _write_checksum(facts: TableFacts, names: Iterable[str]) -> None:
    for name in names:
        snapshot = facts.rebuilt(int(name[:20]))
        if snapshot is not None:
            _set_aside(facts, [name])
            write_checksum(snapshot, *snapshot.totals())
