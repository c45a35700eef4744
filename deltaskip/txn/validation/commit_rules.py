"""The table of rules that every commit must satisfy. A search for the name of a rule finds its check.

The checks stand in an order in which each may rely on those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from deltaskip.features.violation import Violation
from deltaskip.records import dataclass
from deltaskip.txn.validation import (
    column_mapping,
    domains,
    files,
    iceberg,
    metadata,
    protocol,
    row_ids,
    schema,
    schema_changes,
)
from deltaskip.txn.validation.commit_facts import CommitFacts


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of commits.

    Attributes:
        name: The name, such as "files.size"; the part before the dot is the kind of action.
        requires: The requirement, as a sentence.
        source: The source of the rule: a section of the protocol, the collations RFC, or delta-spark.
    """

    name: str
    requires: str
    source: str


@dataclass(frozen=True, slots=True)
class Check:
    """What finds violations of some rules.

    Attributes:
        applies: Whether a commit can violate the rules at all.
        violations: Yields violations. The commit is refused for the first one, so that a check may rely on the checks
            before it, and on what it has found itself. Raises UnsupportedFeature with every feature that prevents the
            commit, and SchemaError for a malformed property of the table on which a rule depends.
    """

    applies: Callable[[CommitFacts], bool]
    violations: Callable[[CommitFacts], Iterator[Violation]]


def always(_: CommitFacts) -> bool:
    """Whether the rules apply: to every commit."""
    return True


def sets_state(facts: CommitFacts) -> bool:
    """Whether the commit sets the metadata or the protocol."""
    return facts.changes_state


_FILES = "PROTOCOL, Add File and Remove File"
_STATS = "PROTOCOL, Per-file Statistics"
_VECTORS = "PROTOCOL, Deletion Vectors"
_FEATURES = "PROTOCOL, Table Features"
_MAPPING = "PROTOCOL, Column Mapping"
_IDS = "PROTOCOL, Row Tracking"
_SCHEMA = "PROTOCOL, Schema Serialization Format"
_COLLATIONS = "COLLATIONS RFC, Writer Requirements"
_DELTA_SPARK = "delta-spark"
_ICEBERG = "PROTOCOL, Iceberg Compatibility V1, V2"

# Each check is followed by the rules whose violations it finds.
_TABLE: tuple[Check | Rule, ...] = (
    Check(always, metadata.info_violations),
    Rule(
        "commit.info",
        "The operation has a name, and its parameters can be written as JSON.",
        "PROTOCOL, Commit Provenance",
    ),
    Check(always, metadata.malformed_actions),
    Rule("commit.actions", "Fields of actions have the types that the protocol defines.", "PROTOCOL, Actions"),
    Check(protocol.sets_protocol, protocol.protocol_violations),
    Rule(
        "protocol.versions",
        "The protocol defines the versions, and lists of features come with versions 3 and 7.",
        _FEATURES,
    ),
    Rule(
        "protocol.both-lists",
        "A feature for readers is in both lists, a feature for writers only in `writerFeatures`.",
        _FEATURES,
    ),
    Rule("protocol.lowered", "No version is lowered and no feature is dropped.", _FEATURES),
    Rule("protocol.required", "A feature comes with the features that it requires.", _FEATURES),
    Check(metadata.sets_metadata, metadata.metadata_violations),
    Rule("metadata.id", "The id of the table does not change.", "PROTOCOL, Change Metadata"),
    Rule("metadata.format", "Data files are Parquet.", "PROTOCOL, Format Specification"),
    Rule("schema.json", "The schema can be parsed.", _SCHEMA),
    Check(metadata.sets_metadata, metadata.property_violations),
    Rule("properties.values", "Properties that Delta defines can be parsed.", "PROTOCOL, Table Properties"),
    Rule("properties.unknown", "Delta defines every property that begins with `delta.`.", _DELTA_SPARK),
    Rule(
        "properties.guarded",
        "Users do not set properties that writers maintain.",
        "PROTOCOL, In-Commit Timestamps, Row Tracking",
    ),
    Rule("row-ids.columns", "The columns of materialized row ids keep their names.", _IDS),
    Check(sets_state, protocol.unlisted_uses),
    Rule("protocol.unlisted", "The protocol has every feature that properties, columns or statistics use.", _FEATURES),
    Check(always, protocol.feature_violations),
    Rule(
        "protocol.catalog-managed",
        "A table that a catalog manages has in-commit timestamps.",
        "PROTOCOL, Catalog-managed tables",
    ),
    Rule(
        "protocol.metadata-tree",
        "A table with an adaptive metadata tree keeps deletion vectors, row tracking and in-commit timestamps.",
        "RFC Adaptive Metadata, Table Feature Enablement",
    ),
    Rule("files.append-only", "No rows are removed from an append-only table.", "PROTOCOL, Append-only Tables"),
    Check(metadata.sets_metadata, column_mapping.mapping_violations),
    Rule("mapping.ids", "Every mapped column has a unique id and physical name, and keeps both.", _MAPPING),
    Rule("mapping.reuse", "Ids and physical names of dropped columns are not reused.", _MAPPING),
    Rule("mapping.highest-id", "`delta.columnMapping.maxColumnId` covers every id and never decreases.", _MAPPING),
    Check(metadata.sets_metadata, schema.new_problems),
    Rule(
        "metadata.partitioning",
        "Partition columns are distinct columns of atomic types, and not all columns of the table.",
        _DELTA_SPARK,
    ),
    Rule("schema.duplicates", "Names of columns at one level differ in more than letter case.", _DELTA_SPARK),
    Rule("schema.names", "Names have only characters that data files allow, unless columns are mapped.", _DELTA_SPARK),
    Rule("schema.reserved", "Columns do not have names of the change data feed or of row tracking.", _IDS),
    Rule("schema.types", "The protocol defines the types, and void is not nested in arrays or maps.", _SCHEMA),
    Rule(
        "schema.collations",
        "Only strings declare collations, by provider and name: names that Spark knows, but not the default.",
        _COLLATIONS,
    ),
    Rule(
        "schema.identity",
        "An identity column is a long with a start, a step and a high-water mark that only advances.",
        "PROTOCOL, Identity Columns",
    ),
    Rule(
        "schema.expressions", "Expressions can be parsed and name columns of the table.", "PROTOCOL, Generated Columns"
    ),
    Check(metadata.sets_metadata, schema_changes.change_violations),
    Rule(
        "schema.type-changes",
        "Types change only as type widening allows, and `delta.typeChanges` records exactly these changes.",
        "PROTOCOL, Type Widening",
    ),
    Rule(
        "schema.existing-files",
        "A rule that existing files may violate is set only if the commit removes these files.",
        "PROTOCOL, CHECK Constraints, Column Mapping",
    ),
    Rule("schema.dependents", "A column that an expression uses keeps its type.", _DELTA_SPARK),
    Check(row_ids.enables_row_tracking, row_ids.enabling_violations),
    Rule("row-ids.enabling", "Row tracking is enabled only when every file has row ids.", _IDS),
    Check(always, files.file_violations),
    Rule("files.path", "Paths are URIs.", _FILES),
    Rule("files.numbers", "Sizes and times are not negative.", _FILES),
    Rule("files.missing", "Added files exist in storage, with the size in their add action.", _FILES),
    Rule(
        "files.partition-values",
        "Files have values for exactly the partition columns, and of their types.",
        "PROTOCOL, Partition Value Serialization",
    ),
    Rule("files.inactive", "Only active files are removed, with their current deletion vector.", _FILES),
    Rule("files.data-change", "A commit that changes no data adds as many rows as it removes.", _FILES),
    Rule(
        "files.deletion-vector",
        "A deletion vector replaces another only with a remove action, and its file has a matching numRecords.",
        _VECTORS,
    ),
    Rule(
        "files.cdc",
        "A commit has change data files only if it changes rows, and then for all changed rows.",
        "PROTOCOL, Add CDC File",
    ),
    Rule("statistics.json", "Statistics are a JSON object whose values have the types of their columns.", _STATS),
    Rule(
        "statistics.counts",
        "Row counts and null counts are not negative, and no null count is above the row count.",
        _STATS,
    ),
    Rule("statistics.bounds", "No minimum is above its maximum.", _STATS),
    Rule(
        "statistics.not-null",
        "Statistics of NOT NULL columns in new files, if any, show that the columns contain no nulls.",
        "PROTOCOL, Column Invariants",
    ),
    Rule(
        "statistics.clustering",
        "Files of a clustered table have statistics of the clustering columns.",
        "PROTOCOL, Clustered Table",
    ),
    Rule("statistics.collations", "Collated bounds have versions that the domain `collations` lists.", _COLLATIONS),
    Check(iceberg.for_iceberg, iceberg.state_violations),
    Rule(
        "iceberg.features",
        "One version of Iceberg compatibility is enabled, with column mapping and its other requirements.",
        _ICEBERG,
    ),
    Rule(
        "iceberg.types",
        "Iceberg has the types and type changes of all columns, and elements of arrays and maps have ids.",
        _ICEBERG,
    ),
    Rule("iceberg.partitioning", "Partition columns of tables that Iceberg reads keep their names.", _ICEBERG),
    Check(iceberg.for_iceberg, iceberg.missing_counts),
    Rule("iceberg.count", "New files of tables that Iceberg reads have a row count.", _ICEBERG),
    Check(row_ids.tracks_rows, row_ids.id_violations),
    Rule(
        "row-ids.assigned", "Row ids are unique, and row ids in an add action are not above the high-water mark.", _IDS
    ),
    Rule("row-ids.count", "New files of a table with row tracking have a row count.", _IDS),
    Check(domains.sets_domains, domains.domain_violations),
    Rule(
        "domains.reserved",
        "A domain that begins with `delta.` is set only by the feature that owns it.",
        "PROTOCOL, Domain Metadata",
    ),
    Rule(
        "domains.clustering", "Clustering columns are columns of an unpartitioned table.", "PROTOCOL, Clustered Table"
    ),
    Rule(
        "domains.collations",
        "The domain `collations` lists versions by collation.",
        "COLLATIONS RFC, Collation versions",
    ),
    Check(always, domains.decreased_versions),
    Rule("txn.version", "The version of an application never decreases.", "PROTOCOL, Transaction Identifiers"),
)

RULES: Mapping[str, Rule] = MappingProxyType({row.name: row for row in _TABLE if isinstance(row, Rule)})


def validate(facts: CommitFacts) -> bool:
    """Check a commit against every rule, without writing anything.

    Returns whether it is valid only for the files of its base, so that other writers must not add any.

    Raises UnsupportedFeature with every feature that prevents the commit, InvalidCommit for the first rule that it
    violates, and SchemaError for a malformed property of the table on which a rule depends.
    """
    for check in _TABLE:
        if isinstance(check, Check) and check.applies(facts):
            for violation in check.violations(facts):
                raise violation.error()
    if facts.intent.dropped_features:
        return True
    # Files that are added meanwhile have row ids only if their writers already had to give them.
    late = row_ids.enables_row_tracking(facts) and not facts.tracked_rows
    return metadata.sets_metadata(facts) and (late or schema_changes.needs_every_file(facts))


def rule_table() -> str:
    """Return the rules as a Markdown table, one row per rule."""
    lines = ["| rule | requires | from |", "|---|---|---|"]
    lines += [f"| `{row.name}` | {row.requires} | {row.source} |" for row in RULES.values()]
    return "\n".join(lines) + "\n"
