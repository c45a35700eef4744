"""The table of rules that a verification checks. A search for the name of a rule finds its check.

A new rule is one row here, of the check that finds what violates it, or of a new check: a function of `TableFacts` that
yields `Found`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from deltaskip.maintenance.verify import checkpoint_checks, commit_checks, data_checks, file_checks, state_checks
from deltaskip.maintenance.verify.table_rule import TableCheck, TableRule
from deltaskip.txn.validation.commit_rules import Rule

_ENTRIES = "PROTOCOL, Delta Log Entries"
_WRITERS = "PROTOCOL, Requirements for Writers"
_CHECKPOINTS = "PROTOCOL, Checkpoints"
_HINT = "PROTOCOL, Last Checkpoint File"
_CHECKSUM = "PROTOCOL, Version Checksum File"
_CDC = "PROTOCOL, Add CDC File"
_COMPACTION = "PROTOCOL, Log Compaction Files"
_FILES = "PROTOCOL, Add File and Remove File"
_STATS = "PROTOCOL, Per-file Statistics"
_VECTORS = "PROTOCOL, Deletion Vectors"
_IDS = "PROTOCOL, Row Tracking"
_DATA = "PROTOCOL, Data Files"
_DELTA_SPARK = "delta-spark"
_AWAY = "it is renamed, so that readers ignore it"
_REWRITTEN = "it is written again"
_RECOMPUTED = "they are computed again"


def _of_commits() -> tuple[TableRule, ...]:
    """Rules of commits for the state; what only delta-spark requires makes no table unreadable."""
    return tuple(
        TableRule(rule.name, rule.requires, rule.source, "warning" if _is_mild(rule) else "error")
        for rule in state_checks.STATE_RULES
    )


def _is_mild(rule: Rule) -> bool:
    """Whether readers that follow the protocol read a table rightly that violates the rule."""
    return rule.source == _DELTA_SPARK or rule.name == "protocol.unlisted"


# Each check is followed by the rules whose violations it finds.
_TABLE: tuple[TableCheck | TableRule, ...] = (
    TableCheck("log", commit_checks.file_violations),
    TableRule("log.regular-files", "Files of the log are regular files.", _ENTRIES),
    TableRule("log.names", "Files that begin with a version have a name of the protocol.", _ENTRIES, "info"),
    TableRule("compaction.range", "A log compaction ends at a version of the table.", _COMPACTION, "warning", _AWAY),
    TableCheck("log", commit_checks.gap_violations),
    TableRule("commit.gap", "Versions are contiguous from version 0 or a checkpoint on.", _ENTRIES),
    TableRule("checkpoint.complete", "A checkpoint has all its parts.", _CHECKPOINTS, "warning"),
    TableRule("log.state", "The log has a protocol and metadata, and the latest version can be rebuilt.", _ENTRIES),
    TableCheck("log", commit_checks.commit_violations),
    TableRule("commit.readable", "A commit is one JSON object a line, each an action with its fields.", _ENTRIES),
    TableRule("commit.first", "The first version has a protocol and a metaData action.", "PROTOCOL, Change Metadata"),
    TableRule("commit.empty", "A commit has an action.", _ENTRIES, "warning"),
    TableRule("commit.reconciled", "No commit has several actions of one key.", _WRITERS),
    TableRule("files.removed-again", "A commit that adds files removes files that the table has.", _FILES, "warning"),
    TableRule("commit.timestamp", "In-commit timestamps come first and ascend.", "PROTOCOL, In-Commit Timestamps"),
    TableRule("files.cdc", "Change data files have no dataChange.", _CDC, "warning"),
    # delta-spark's are elsewhere in tables with random prefixes of files, such as those with mapped columns.
    TableRule("files.cdc-folder", "Change data files are in their folder.", _CDC, "info"),
    TableCheck("log", commit_checks.compaction_violations),
    TableRule("compaction.readable", "A log compaction can be read.", _COMPACTION, "error", _AWAY),
    TableRule("compaction.reconciled", "A log compaction has each file once.", _COMPACTION, "warning", _AWAY),
    TableRule("compaction.contents", "A log compaction says what its commits say.", _COMPACTION, "error", _AWAY),
    TableCheck("log", checkpoint_checks.checkpoint_violations),
    TableRule("checkpoint.readable", "A checkpoint and its sidecars can be read.", _CHECKPOINTS, "error", _AWAY),
    TableRule(
        "checkpoint.reconciled",
        "A checkpoint has each file once, active or removed.",
        "PROTOCOL, Action Reconciliation",
        "error",
        _AWAY,
    ),
    TableRule("checkpoint.contents", "A checkpoint says what the commits say.", _CHECKPOINTS, "error", _AWAY),
    TableRule(
        "checkpoint.sidecar",
        "A sidecar has the size that its checkpoint says.",
        "PROTOCOL, Sidecar File Information",
        "warning",
    ),
    TableCheck("log", checkpoint_checks.hint_violations),
    TableRule("hint.readable", "The hint and its checksum are valid.", _HINT, "warning", _REWRITTEN),
    TableRule("hint.version", "The hint names a complete checkpoint.", _HINT, "warning", _REWRITTEN),
    TableRule("hint.contents", "The hint describes its checkpoint.", _HINT, "warning", _REWRITTEN),
    TableCheck("log", checkpoint_checks.checksum_violations),
    TableRule("checksum.readable", "A version checksum can be read.", _CHECKSUM, "error", _REWRITTEN),
    TableRule("checksum.contents", "A version checksum says what the log says.", _CHECKSUM, "error", _REWRITTEN),
    TableCheck("state", state_checks.state_violations),
    *_of_commits(),
    TableCheck("state", state_checks.row_tracking_violations),
    TableRule("row-ids.columns", "A table with row tracking names the columns of its ids.", _IDS),
    TableCheck("snapshot", file_checks.file_violations),
    TableRule("files.path", "Paths are URIs.", _FILES, "warning"),
    TableRule("files.numbers", "Sizes and times are not negative.", _FILES),
    TableRule(
        "files.partition-values",
        "Files have values for exactly the partition columns, and of their types.",
        "PROTOCOL, Partition Value Serialization",
    ),
    TableRule("statistics.json", "Statistics are a JSON object with values of the columns' types.", _STATS),
    TableRule("statistics.counts", "Null counts are counts of the file's rows.", _STATS),
    TableRule("statistics.bounds", "No minimum is above its maximum.", _STATS),
    TableRule("statistics.not-null", "Columns that are NOT NULL have no nulls.", "PROTOCOL, Column Invariants"),
    TableRule(
        "statistics.clustering",
        "Files of a clustered table have statistics of the clustering columns.",
        "PROTOCOL, Clustered Table",
        "warning",
    ),
    TableRule("vectors.count", "A file with a deletion vector has numRecords.", _VECTORS),
    TableRule("row-ids.assigned", "With row tracking enabled, every file has row ids.", _IDS),
    TableRule("row-ids.unique", "No two rows have one row id.", _IDS),
    TableRule("row-ids.mark", "No row id is above the high-water mark.", _IDS),
    TableCheck("snapshot", file_checks.vector_violations),
    TableRule("vectors.readable", "Deletion vectors can be read, with their checksum and cardinality.", _VECTORS),
    TableRule("vectors.range", "Deletion vectors delete rows that their files have.", _VECTORS),
    TableCheck("snapshot", commit_checks.left_over),
    TableRule("log.orphans", "Every file of the log is needed.", "PROTOCOL, Metadata Cleanup", "info"),
    TableCheck("data", data_checks.data_violations),
    TableRule("data.missing", "Active files exist.", _DATA, "error", "they are removed from the log"),
    TableRule("data.size", "Files have the size in the log.", _FILES),
    TableRule("data.readable", "Files are complete Parquet files.", _DATA),
    TableRule("data.row-count", "Files have numRecords rows.", _STATS, "error", _RECOMPUTED),
    TableRule(
        "data.statistics",
        "Bounds and null counts hold for the rows, also bounds of expressions (`expressionStats`).",
        _STATS,
        "error",
        _RECOMPUTED,
    ),
    TableRule("data.columns", "Columns of files can be read as the table's types.", _DATA),
    TableRule("data.unknown-columns", "Columns of files are columns of the table.", _WRITERS, "warning"),
    TableRule("data.mapped-names", "Files have the mapped names or ids.", "PROTOCOL, Column Mapping"),
    TableRule(
        "data.partition-values",
        "Partition columns in files have the partition value.",
        "PROTOCOL, Materialize Partition Columns",
        "warning",
    ),
    TableRule("rows.not-null", "Columns that are NOT NULL have no NULL.", "PROTOCOL, Column Invariants"),
    TableRule("rows.constraint", "Rows satisfy constraints.", "PROTOCOL, CHECK Constraints"),
    TableRule("rows.generated", "Generated columns have their values.", "PROTOCOL, Generated Columns"),
    TableRule("rows.identity", "Identity columns have values that they generate.", "PROTOCOL, Identity Columns"),
    TableCheck("data", data_checks.orphan_violations),
    TableRule("data.orphans", "Every file of the folder is needed.", "delta-spark, VACUUM", "info"),
)

GATES = (
    TableRule("gate.skipped", "A predicate skips as many files as `min_skipped` asks for.", "the caller"),
    TableRule("gate.statistics", "Every file has statistics of the columns of `assert_stats`.", "the caller"),
)


def _rules_by_check() -> dict[TableCheck, list[TableRule]]:
    found = dict[TableCheck, list[TableRule]]()
    for row in _TABLE:
        if isinstance(row, TableCheck):
            rules = found[row] = []
        else:
            rules.append(row)
    return found


CHECKS: Mapping[TableCheck, list[TableRule]] = _rules_by_check()
RULES: Mapping[str, TableRule] = MappingProxyType(
    {row.name: row for row in (*_TABLE, *GATES) if isinstance(row, TableRule)}
)


def rule_table() -> str:
    """Return the rules as a Markdown table, one row per rule."""
    lines = ["| rule | requires | from | severity | `repair` |", "|---|---|---|---|---|"]
    for rule in RULES.values():
        lines.append(f"| `{rule.name}` | {rule.requires} | {rule.source} | {rule.severity} | {rule.repair} |")
    return "\n".join(lines) + "\n"
