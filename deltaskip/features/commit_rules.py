"""The table of rules that every commit must satisfy. A search for the name of a rule finds its check."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class CommitRule:
    """One rule of commits.

    Attributes:
        name: The name, such as "files.size"; the part before the dot is the kind of action.
        requires: The requirement, as a sentence.
        source: The source of the rule: a section of the protocol, the collations RFC, or delta-spark.
    """

    name: str
    requires: str
    source: str


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

_ROWS = (
    CommitRule("commit.actions", "Fields of actions have the types that the protocol defines.", "PROTOCOL, Actions"),
    CommitRule(
        "commit.info",
        "The operation has a name, and its parameters can be written as JSON.",
        "PROTOCOL, Commit Provenance",
    ),
    CommitRule(
        "protocol.versions",
        "The protocol defines the versions, and lists of features come with versions 3 and 7.",
        _FEATURES,
    ),
    CommitRule(
        "protocol.both-lists",
        "A feature for readers is in both lists, a feature for writers only in `writerFeatures`.",
        _FEATURES,
    ),
    CommitRule("protocol.lowered", "No version is lowered and no feature is dropped.", _FEATURES),
    CommitRule("protocol.required", "A feature comes with the features that it requires.", _FEATURES),
    CommitRule(
        "protocol.unlisted", "The protocol has every feature that properties, columns or statistics use.", _FEATURES
    ),
    CommitRule(
        "protocol.catalog-managed",
        "A table that a catalog manages has in-commit timestamps.",
        "PROTOCOL, Catalog-managed tables",
    ),
    CommitRule("metadata.id", "The id of the table does not change.", "PROTOCOL, Change Metadata"),
    CommitRule("metadata.format", "Data files are Parquet.", "PROTOCOL, Format Specification"),
    CommitRule(
        "metadata.partitioning",
        "Partition columns are distinct columns of atomic types, and not all columns of the table.",
        _DELTA_SPARK,
    ),
    CommitRule("schema.json", "The schema can be parsed.", _SCHEMA),
    CommitRule("schema.duplicates", "Names of columns at one level differ in more than letter case.", _DELTA_SPARK),
    CommitRule(
        "schema.names",
        "Names have only characters that data files allow, unless columns are mapped.",
        _DELTA_SPARK,
    ),
    CommitRule("schema.reserved", "Columns do not have names of the change data feed or of row tracking.", _IDS),
    CommitRule("schema.types", "The protocol defines the types, and void is not nested in arrays or maps.", _SCHEMA),
    CommitRule(
        "schema.collations",
        "Only strings declare collations, by provider and name: collations that Spark knows, but not the default.",
        _COLLATIONS,
    ),
    CommitRule(
        "schema.identity",
        "An identity column is a long with a start, a step and a high-water mark that only advances.",
        "PROTOCOL, Identity Columns",
    ),
    CommitRule(
        "schema.expressions", "Expressions can be parsed and name columns of the table.", "PROTOCOL, Generated Columns"
    ),
    CommitRule(
        "schema.type-changes",
        "Types change only as type widening allows, and `delta.typeChanges` records exactly these changes.",
        "PROTOCOL, Type Widening",
    ),
    CommitRule(
        "schema.existing-files",
        "A rule that existing files may violate is set only if the commit removes these files.",
        "PROTOCOL, CHECK Constraints, Column Mapping",
    ),
    CommitRule("schema.dependents", "A column that an expression uses keeps its type.", _DELTA_SPARK),
    CommitRule("mapping.ids", "Every mapped column has a unique id and physical name, and keeps both.", _MAPPING),
    CommitRule("mapping.reuse", "Ids and physical names of dropped columns are not reused.", _MAPPING),
    CommitRule(
        "mapping.highest-id", "`delta.columnMapping.maxColumnId` covers every id and never decreases.", _MAPPING
    ),
    CommitRule("properties.values", "Properties that Delta defines can be parsed.", "PROTOCOL, Table Properties"),
    CommitRule("properties.unknown", "Delta defines every property that begins with `delta.`.", _DELTA_SPARK),
    CommitRule(
        "properties.guarded",
        "Users do not set properties that writers maintain.",
        "PROTOCOL, In-Commit Timestamps, Row Tracking",
    ),
    CommitRule("files.path", "Paths are URIs.", _FILES),
    CommitRule("files.numbers", "Sizes and times are not negative.", _FILES),
    CommitRule("files.missing", "Added files exist in storage, with the size in their add action.", _FILES),
    CommitRule(
        "files.partition-values",
        "Files have values for exactly the partition columns, and of their types.",
        "PROTOCOL, Partition Value Serialization",
    ),
    CommitRule("files.inactive", "Only active files are removed, with their current deletion vector.", _FILES),
    CommitRule("files.data-change", "A commit that changes no data adds as many rows as it removes.", _FILES),
    CommitRule("files.append-only", "No rows are removed from an append-only table.", "PROTOCOL, Append-only Tables"),
    CommitRule(
        "files.deletion-vector",
        "A deletion vector replaces another only with a remove action, and its file has a matching numRecords.",
        _VECTORS,
    ),
    CommitRule(
        "files.cdc",
        "A commit has change data files only if it changes rows, and then for all changed rows.",
        "PROTOCOL, Add CDC File",
    ),
    CommitRule("statistics.json", "Statistics are a JSON object whose values have the types of their columns.", _STATS),
    CommitRule(
        "statistics.counts",
        "Row counts and null counts are not negative, and no null count is above the row count.",
        _STATS,
    ),
    CommitRule("statistics.bounds", "No minimum is above its maximum.", _STATS),
    CommitRule(
        "statistics.not-null",
        "Statistics of NOT NULL columns in new files, if any, show that the columns contain no nulls.",
        "PROTOCOL, Column Invariants",
    ),
    CommitRule(
        "statistics.clustering",
        "Files of a clustered table have statistics of the clustering columns.",
        "PROTOCOL, Clustered Table",
    ),
    CommitRule(
        "statistics.collations", "Collated bounds have versions that the domain `collations` lists.", _COLLATIONS
    ),
    CommitRule(
        "row-ids.assigned", "Row ids are unique, and row ids in an add action are not above the high-water mark.", _IDS
    ),
    CommitRule("row-ids.count", "New files of a table with row tracking have a row count.", _IDS),
    CommitRule("row-ids.columns", "The columns of materialized row ids keep their names.", _IDS),
    CommitRule("row-ids.enabling", "Row tracking is enabled only when every file has row ids.", _IDS),
    CommitRule(
        "iceberg.features",
        "One version of Iceberg compatibility is enabled, with column mapping and its other requirements.",
        _ICEBERG,
    ),
    CommitRule(
        "iceberg.types",
        "Iceberg has the types and type changes of all columns, and elements of arrays and maps have ids.",
        _ICEBERG,
    ),
    CommitRule("iceberg.partitioning", "Partition columns of tables that Iceberg reads keep their names.", _ICEBERG),
    CommitRule("iceberg.count", "New files of tables that Iceberg reads have a row count.", _ICEBERG),
    CommitRule(
        "domains.reserved",
        "A domain that begins with `delta.` is set only by the feature that owns it.",
        "PROTOCOL, Domain Metadata",
    ),
    CommitRule(
        "domains.clustering",
        "Clustering columns are columns of an unpartitioned table.",
        "PROTOCOL, Clustered Table",
    ),
    CommitRule(
        "domains.collations",
        "The domain `collations` lists versions by collation.",
        "COLLATIONS RFC, Collation versions",
    ),
    CommitRule("txn.version", "The version of an application never decreases.", "PROTOCOL, Transaction Identifiers"),
)

RULES: Mapping[str, CommitRule] = MappingProxyType({row.name: row for row in _ROWS})


def refusal(rule: str, message: str) -> InvalidCommit:
    """Return the error for a commit that violates a rule. message: the table, what is wrong and what to do."""
    return InvalidCommit(f"{message.rstrip('.')} (rule {RULES[rule].name}).", rule)


def unsupported(rule: str, message: str) -> UnsupportedFeature:
    """Return the error of `refusal` for an action that the table's features do not allow."""
    return UnsupportedFeature(f"{message.rstrip('.')} (rule {RULES[rule].name}).")


def rule_table() -> str:
    """Return the rules as a Markdown table, one row per rule."""
    lines = ["| rule | requires | from |", "|---|---|---|"]
    lines += [f"| `{row.name}` | {row.requires} | {row.source} |" for row in RULES.values()]
    return "\n".join(lines) + "\n"
