"""Every commit of every table of the corpus, through the validator as if it were ours: none is refused for no reason.

Writers of the corpus are delta-spark, Delta Kernel, delta-rs and Databricks. A commit that is refused here breaks a
rule, which is named below, or is a refusal too many.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from deltaskip.actions import (
    AddCdcFile,
    AddFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    Txn,
    parse_action,
)
from deltaskip.errors import DeltaSkipError, InvalidCommit, UnsupportedFeature
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.storage import LocalStorage
from deltaskip.txn.changes import Changes
from deltaskip.txn.intent import Intent
from deltaskip.txn.preparation import prepare
from deltaskip.txn.validation.commit_rules import RULES
from tests import corpus
from tests.builder import log_file
from tests.each import each

# Table and version of each commit that breaks a rule, and the rule. Most are hand-made.
BROKEN: dict[tuple[str, int], str] = {
    # Removes with dataChange false, and nothing added.
    ("golden__canonicalized-paths-normal-b", 1): "files.data-change",
    ("golden__krs-canonicalized-paths-normal-a", 1): "files.data-change",
    ("golden__krs-canonicalized-paths-normal-b", 1): "files.data-change",
    ("golden__krs-canonicalized-paths-special-a", 1): "files.data-change",
    ("golden__krs-canonicalized-paths-special-b", 1): "files.data-change",
    # CDC files in a table without the feed, of partition columns that the table lacks, and with no other action.
    ("golden__deltalog-getChanges", 1): "files.cdc",
    ("kernelrs__table-with-cdf", 1): "files.partition-values",
    # The same file removed again.
    ("kernelrs__table-with-cdf", 2): "files.inactive",
    ("kernelrs__cdf-table-simple", 2): "files.cdc",
    # A column that is NOT NULL, in a file without statistics: that it has no nulls cannot be seen.
    ("deltars__delta-stats-optional", 2): "statistics.not-null",
}

# Its commits have statistics that were damaged by hand, each in another way.
DAMAGED = "craft__stats_odd_values"

_ASSIGNED = ("delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp")


def replayed(base: Snapshot, actions: list[Any]) -> Intent:
    """The actions of a commit as a transaction on the version before; without what commits assign themselves."""
    infos = [action for action in actions if isinstance(action, CommitInfo)]
    members = infos[0].members if infos else {}
    parameters = members.get("operationParameters")
    changes = Changes(base, members.get("operation") or "WRITE", parameters if isinstance(parameters, dict) else {})
    marked = any(isinstance(action, DomainMetadata) and action.domain == "delta.rowTracking" for action in actions)
    for action in actions:
        match action:
            case AddFile():
                # New row ids are assigned by the commit.
                fresh = marked or action.default_row_commit_version == base.version + 1
                changes.put_add(replace(action, base_row_id=None, default_row_commit_version=None) if fresh else action)
            case RemoveFile():
                changes.put_remove(action)
            case AddCdcFile():
                changes.put_cdc(action)
            case Metadata():
                kept = {key: value for key, value in action.configuration.items() if key not in _ASSIGNED}
                changes.metadata = replace(action, configuration=kept)
            case Protocol():
                changes.protocol = action
            case Txn():
                changes.txns[action.app_id] = action
            case DomainMetadata() if action.domain != "delta.rowTracking":
                changes.domains[action.domain] = action
    return changes.intent()


def commits(table: corpus.CorpusTable) -> Iterator[tuple[Snapshot, list[Any]]]:
    """Each commit with the version before it, where both are in the log and can be read."""
    storage = LocalStorage()
    for path in sorted((table.path / "_delta_log").glob("[0-9]*.json")):
        if not path.stem.isdigit() or int(path.stem) == 0:
            continue
        version = int(path.stem)
        try:
            base = load_snapshot(storage, str(table.path), version - 1)
            lines = log_file(table.path, version).read_text(encoding="utf-8").splitlines()
            actions = [parse_action(json.loads(line)) for line in lines if line.strip()]
        except (DeltaSkipError, OSError, ValueError):
            continue
        yield base, actions


def test_no_commit_of_others_is_refused(shared: Path) -> None:
    def check(table: corpus.CorpusTable) -> None:
        for base, actions in commits(table):
            version = base.version + 1
            try:
                prepare(replayed(base, actions), base)
                rule = None
            except UnsupportedFeature:
                # What the package cannot write yet is not a rule of the protocol; the registry names it.
                continue
            except InvalidCommit as error:
                rule, message = error.rule, str(error)
                assert rule in RULES and str(table.path) in message and f"version {base.version}" in message
            if table.name != DAMAGED or not str(rule).startswith("statistics."):
                assert rule == BROKEN.get((table.name, version)), f"version {version}"

    tables = [table for table in corpus.tables() if table.expect in ("read", "snapshot-only", "reject-or-read")]
    each(tables, check, lambda table: table.name)
