"""The registry of table features: the clients to which each feature applies, and the support in this package.

# PROTOCOL, Table Features and Valid Feature Names in Table Features
A new feature is one row of the registry. `support_table()` returns the table of the documentation.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, Protocol

from deltaskip.errors import meant
from deltaskip.records import dataclass
from deltaskip.schema.properties import FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, TableProperties

FeatureKind = Literal["reader-writer", "writer"]

# "yes": supported as the protocol requires. "not needed": the feature has no requirements for readers. "no": tables are
# refused. A feature that a table has but does not use does not block commits (see features.feature_uses).
Support = Literal["yes", "not needed", "no"]
Checks = Literal["log", "rows", "files", "no files"]


@dataclass(frozen=True, slots=True)
class TableFeature:
    """One table feature.

    Attributes:
        name: Name as the protocol spells it.
        kind: Whether the feature applies to readers and writers, or to writers only.
        reads: Support for reading a table with the feature.
        writes: Support for writing to a table with the feature.
        legacy_reader_version: Reader version that implies the feature, if any.
        legacy_writer_version: Writer version that implies the feature, if any.
        note: Remark for the table in the documentation.
        requires: Features that a table with this feature must also have.
        checks: The checks before files are added, in addition to the log: of their "rows", or also of the contents of
            the "files". Rows that deltaskip writes are checked. Files of other programs are refused if they are added
            as actions. "no files" can be added if the feature asks for what deltaskip does not write.
        by_name: Whether the catalog that manages a table with the feature opens it by name, and not by path.
        only_kept: Whether tables do not get the feature here, and nothing of their logs is deleted.
    """

    name: str
    kind: FeatureKind
    reads: Support
    writes: Support
    legacy_reader_version: int | None = None
    legacy_writer_version: int | None = None
    note: str = ""
    requires: tuple[str, ...] = ()
    checks: Checks = "log"
    by_name: bool = False
    only_kept: bool = False


class TableProtocol(Hashable, Protocol):
    """The part of a protocol action that the checks need."""

    @property
    def min_reader_version(self) -> int:
        """The table's reader version."""

    @property
    def min_writer_version(self) -> int:
        """The table's writer version."""

    @property
    def reader_features(self) -> tuple[str, ...] | None:
        """The table's reader features; None without a list."""

    @property
    def writer_features(self) -> tuple[str, ...] | None:
        """The table's writer features; None without a list."""


def _writer(
    name: str,
    legacy_writer_version: int | None = None,
    note: str = "",
    writes: Support = "yes",
    requires: tuple[str, ...] = (),
    checks: Checks = "log",
) -> TableFeature:
    return TableFeature(name, "writer", "not needed", writes, None, legacy_writer_version, note, requires, checks)


def _both(name: str, note: str = "", requires: tuple[str, ...] = ()) -> TableFeature:
    return TableFeature(name, "reader-writer", "yes", "yes", None, None, note, requires)


def _refused(name: str, note: str, requires: tuple[str, ...] = ()) -> TableFeature:
    return TableFeature(name, "reader-writer", "no", "no", None, None, note, requires)


def _only_kept(name: str, note: str, requires: tuple[str, ...]) -> TableFeature:
    return TableFeature(name, "reader-writer", "yes", "yes", None, None, note, requires, "files", only_kept=True)


def _unwritten(name: str, note: str) -> TableFeature:
    """A feature of writers that this package does not support: tables are read."""
    return TableFeature(name, "writer", "not needed", "no", None, None, note)


_TREE = "commits on top of the tree, and newer trees; no VACUUM, no clean-up of the log"
_TREE_NEEDS = ("columnMapping", "rowTracking", "domainMetadata", "deletionVectors", "inCommitTimestamp")
_CATALOG_DRAFT = "a draft of catalogManaged, whose commits only the catalog may know"

_EXPRESSIONS = "no new files, of which each needs bounds of expressions; recompute_stats writes these"
RECORD_INDEX = ("recordLevelIndex", "recordLevelIndex-dev")
"""The names of the feature of tables whose commits keep an index of records."""
_INDEX = "every commit must keep an index from keys to rows"
_REDIRECT = "which a table property of the feature's name describes"
_UNSIGNED = "columns of unsigned integers cannot be read"

_ICEBERG_TYPES = "through Spark, no arrays and maps, whose field ids its writer cannot set: append Arrow data instead"
_DOMAINS = ("domainMetadata",)

_ROWS = (
    _writer("appendOnly", 2),
    _writer("invariants", 2, checks="rows"),
    _writer("columnInvariants", None, "another name of invariants in a draft of the protocol", checks="rows"),
    _writer("checkConstraints", 3, checks="rows"),
    _writer("changeDataFeed", 4, "commits that replace files must include CDC files (`add_cdc`), except overwrites"),
    _writer("generatedColumns", 4, checks="rows"),
    TableFeature("columnMapping", "reader-writer", "yes", "yes", 2, 5, "modes name and id"),
    _writer("identityColumns", 6, checks="rows"),
    _writer("allowColumnDefaults"),
    _both("deletionVectors"),
    _writer("rowTracking", requires=_DOMAINS),
    _both("timestampNtz"),
    _both("timestampNTZ", "the spelling of timestampNtz in a draft of the protocol"),
    _both("timestampWithoutTimezone", "an early name of timestampNtz"),
    _both("timestampNanos", "compared with constants only; not read by Spark", requires=("timestampNtz",)),
    _writer("domainMetadata"),
    _both("v2Checkpoint"),
    _writer("inCommitTimestamp"),
    _both("vacuumProtocolCheck"),
    _writer("clustering", requires=_DOMAINS),
    _writer("liquid", None, "an early name of clustering, which no version of the protocol defines", "no"),
    _both("typeWidening"),
    _both("typeWidening-preview"),
    _both("variantType", "Spark 4.0 or later reads the rows"),
    _both("variantType-preview", "Spark 4.0 or later reads the rows"),
    _both("variantShredding"),
    _both("variantShredding-preview"),
    _writer("icebergCompatV1", None, "has no arrays and maps", requires=("columnMapping",), checks="files"),
    _writer("icebergCompatV2", None, _ICEBERG_TYPES, requires=("columnMapping",), checks="files"),
    _writer("icebergCompatV3", None, _ICEBERG_TYPES, requires=("columnMapping", "rowTracking"), checks="files"),
    _writer("checkpointProtection"),
    _writer("materializePartitionColumns", checks="files"),
    _writer("collations", requires=_DOMAINS),
    _writer("collations-preview", requires=_DOMAINS),
    TableFeature(
        "catalogManaged",
        "reader-writer",
        "yes",
        "yes",
        by_name=True,
        note="by name, through the catalog of the table; not by path",
    ),
    _refused("catalogOwned", _CATALOG_DRAFT),
    _refused("catalogOwned-preview", _CATALOG_DRAFT),
    _both("geospatial", "Spark 4.2 or later reads the columns"),
    _both("geospatial-dev", "the preview of geospatial"),
    _writer("columnMappingUsageTracking", requires=("columnMapping",)),
    _unwritten("icebergWriterCompatV1", "files and schemas must follow the rules of Iceberg's writers"),
    _unwritten("icebergWriterCompatV3", "files and schemas must follow the rules of Iceberg's writers"),
    _unwritten("coordinatedCommits-preview", "commits pass through a coordinator, which may know newer ones"),
    _refused("redirectReaderWriter-preview", f"the table is kept in another place, {_REDIRECT}"),
    _unwritten("redirectWriterOnly-preview", f"writes go to another place, {_REDIRECT}"),
    _only_kept("adaptiveMetadata", _TREE, _TREE_NEEDS),
    _only_kept("adaptiveMetadata-preview", _TREE, _TREE_NEEDS),
    # Proposals of the protocol that are not accepted: names and meanings may change.
    _refused("materializedVoidType", "VOID columns are stored in files"),
    *(_unwritten(name, _INDEX) for name in RECORD_INDEX),
    _writer("clusteringExpressions", None, _EXPRESSIONS, requires=("clustering", *_DOMAINS), checks="no files"),
    _refused("columnUpdates", "columns of a data file are replaced by those of other files"),
    _refused("unsignedIntegerTypes", _UNSIGNED),
    _refused("unsignedIntegerTypes-dev", _UNSIGNED),
    _refused("fileType", "columns refer to files"),
    _unwritten("concurrentIdentityColumns", "identity columns take ranges of numbers from a shared counter"),
)

FEATURES: Mapping[str, TableFeature] = MappingProxyType({row.name: row for row in _ROWS})


def feature_named(name: str) -> str | None:
    """Return the name of a feature by its name in any letter case; None for an unknown name."""
    # If names differ only in letter case, the first name is the protocol's.
    return next((known for known in FEATURES if known.lower() == name.lower()), None)


def has_feature(protocol: TableProtocol, name: str) -> bool:
    """Whether the protocol has the feature: lists it, or has a version that implies it."""
    if name in (protocol.reader_features or ()) or name in (protocol.writer_features or ()):
        return True
    feature = FEATURES.get(name)
    if feature is None:
        return False
    reader, writer = feature.legacy_reader_version, feature.legacy_writer_version
    return (reader is not None and reader <= protocol.min_reader_version < FEATURES_READER_VERSION) or (
        writer is not None and writer <= protocol.min_writer_version < FEATURES_WRITER_VERSION
    )


def has_feature_or_preview(protocol: TableProtocol, name: str) -> bool:
    """Whether the protocol has the feature or the preview of the feature."""
    return any(has_feature(protocol, each) for each in feature_names(name))


def has_tree(protocol: TableProtocol) -> bool:
    """Whether commits of the table must follow the rules of the adaptive metadata tree."""
    return has_feature_or_preview(protocol, "adaptiveMetadata")


@lru_cache(maxsize=16)
def features_of(protocol: TableProtocol) -> frozenset[str]:
    """Return the names of the features that a protocol lists or implies."""
    listed = {*(protocol.writer_features or ()), *(protocol.reader_features or ())}
    return frozenset(listed | {name for name in FEATURES if has_feature(protocol, name)})


def writes_deletion_vectors(protocol: TableProtocol, properties: TableProperties) -> bool:
    """Whether deletion vectors delete rows: the table supports them, and its property lets writers add them.

    # PROTOCOL, Deletion Vectors
    """
    return has_feature(protocol, "deletionVectors") and properties.deletion_vectors


def no_feature(name: str, table: str = "") -> str:
    """Return the message for the name of an unknown feature. table: The table, "" for no table."""
    where = f" (table {table})" if table else ""
    known = ", ".join(sorted(name for name, row in FEATURES.items() if row.writes != "no"))
    return f"There is no table feature {name!r}{where}.{meant(name, FEATURES)} Those that can be written are {known}."


def feature_names(name: str) -> tuple[str, ...]:
    """Return the names of a feature in protocols: its name, and the name of its preview, if any."""
    preview = f"{name}-preview"
    return (name, preview) if preview in FEATURES else (name,)


def support_table() -> str:
    """Return the registry as a Markdown table, one row per feature."""
    lines = ["| table feature | applies to | read | write | note |", "|---|---|---|---|---|"]
    for row in FEATURES.values():
        applies = "readers and writers" if row.kind == "reader-writer" else "writers"
        lines.append(f"| `{row.name}` | {applies} | {row.reads} | {row.writes} | {row.note} |")
    return "\n".join(lines) + "\n"
