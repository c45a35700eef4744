"""The registry of table features: the clients that each applies to, and the support in this package.

# PROTOCOL, Table Features and Valid Feature Names in Table Features
A new feature is one row here. The table of the documentation is `support_table()`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, Protocol

from deltaskip.errors import CorruptLog, UnsupportedFeature, meant
from deltaskip.records import dataclass
from deltaskip.schema.mapping import supports_mapping
from deltaskip.schema.properties import FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, TableProperties

FeatureKind = Literal["reader-writer", "writer"]

# "yes": supported as the protocol requires. "not needed": the feature has no requirements for readers. "no": tables are
# refused. A feature that a table has but does not use does not block commits (see features.requirements).
Support = Literal["yes", "not needed", "no"]

READER_VERSIONS = (1, 2, FEATURES_READER_VERSION)


@dataclass(frozen=True, slots=True)
class TableFeature:
    """One table feature.

    Attributes:
        name: Name as the protocol spells it.
        kind: Whether the feature applies to readers and writers, or to writers only.
        reads: Support for reading a table that has it.
        writes: Support for writing to a table that has it.
        legacy_reader_version: Reader version that implies the feature, if any.
        legacy_writer_version: Writer version that implies the feature, if any.
        note: Remark for the table in the documentation.
        requires: Features that a table with this one must have too.
        checks: What must be checked, beyond what the log shows, before files are added: their "rows", or also what the
            "files" contain. Rows that deltaskip writes are; files that other programs wrote are refused if they are
            added as actions.
        by_name: Whether tables with it are opened by name through the catalog that manages them, and not by path.
    """

    name: str
    kind: FeatureKind
    reads: Support
    writes: Support
    legacy_reader_version: int | None = None
    legacy_writer_version: int | None = None
    note: str = ""
    requires: tuple[str, ...] = ()
    checks: Literal["log", "rows", "files"] = "log"
    by_name: bool = False


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
        """The table's reader features; None if it lists none."""

    @property
    def writer_features(self) -> tuple[str, ...] | None:
        """The table's writer features; None if it lists none."""


def _writer(
    name: str,
    legacy_writer_version: int | None = None,
    note: str = "",
    writes: Support = "yes",
    requires: tuple[str, ...] = (),
    checks: Literal["log", "rows", "files"] = "log",
) -> TableFeature:
    return TableFeature(name, "writer", "not needed", writes, None, legacy_writer_version, note, requires, checks)


def _both(name: str, note: str = "", requires: tuple[str, ...] = ()) -> TableFeature:
    return TableFeature(name, "reader-writer", "yes", "yes", None, None, note, requires)


def _refused(name: str, note: str) -> TableFeature:
    return TableFeature(name, "reader-writer", "no", "no", None, None, note)


_CATALOG_MANAGED = "its newest commits may be recorded only in the catalog"
_CATALOG_DRAFT = "a draft of catalogManaged, whose commits only the catalog may know"

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
    _both("variantShredding", "files are shredded by Spark only; statistics of variants are not used"),
    _both("variantShredding-preview", "files are shredded by Spark only; statistics of variants are not used"),
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
    _refused("geospatial", "geometry and geography columns cannot be read"),
)

FEATURES: Mapping[str, TableFeature] = MappingProxyType({row.name: row for row in _ROWS})

_CATALOG_FEATURES = ("catalogManaged", "catalogOwned", "catalogOwned-preview")


def has_feature(protocol: TableProtocol, name: str) -> bool:
    """Whether the protocol has the feature: lists it, or has a version that implies it."""
    if name in (protocol.reader_features or ()) or name in (protocol.writer_features or ()):
        return True
    feature = FEATURES.get(name)
    if feature is None:
        return False
    return _implied(feature.legacy_reader_version, protocol.min_reader_version, FEATURES_READER_VERSION) or _implied(
        feature.legacy_writer_version, protocol.min_writer_version, FEATURES_WRITER_VERSION
    )


def marks_rows(protocol: TableProtocol, properties: TableProperties) -> bool:
    """Whether rows are deleted by deletion vectors: the table supports them, and its property lets writers add them.

    # PROTOCOL, Deletion Vectors
    """
    return has_feature(protocol, "deletionVectors") and properties.deletion_vectors


def no_feature(name: str, table: str = "") -> str:
    """Return the message for the name of an unknown feature. table: the table that should get it, "" for none."""
    where = f" (table {table})" if table else ""
    known = ", ".join(sorted(FEATURES))
    return f"There is no table feature {name!r}{where}.{meant(name, FEATURES)} The features are {known}."


def feature_names(name: str) -> tuple[str, ...]:
    """Return the names of a feature in protocols: its own, and that of its preview if it has one."""
    preview = f"{name}-preview"
    return (name, preview) if preview in FEATURES else (name,)


def check_readable(
    protocol: TableProtocol, properties: Mapping[str, str], table: str, version: int, managed: bool = False
) -> None:
    """Check that a table can be read.

    # PROTOCOL, Table Features: "to read a table, readers must implement and respect all features listed in
    # readerFeatures". Writer features and writer versions do not affect reading.

    Args:
        protocol: The protocol action.
        properties: The table properties.
        table: Location of the table, for messages.
        version: Version of the table, for messages.
        managed: Whether the table was opened through the catalog that manages it, and not by its path.

    Raises:
        UnsupportedFeature: Reading needs a feature or version that is not supported; lists every such feature.
        CorruptLog: The protocol action contradicts itself.
    """
    where = f"Version {version} of {table}"
    _check_reader_version(protocol, where)
    listed = protocol.reader_features or ()
    catalog = sorted({*listed, *(protocol.writer_features or ())}.intersection(_CATALOG_FEATURES))
    if managed:
        catalog = [name for name in catalog if not FEATURES[name].by_name]
    if catalog:
        raise UnsupportedFeature(
            f"{where} is managed by a catalog (table feature {', '.join(catalog)}) and cannot be opened by its path, "
            f"because {_CATALOG_MANAGED}{_others(listed, catalog)}; open it by name through that catalog, such as "
            f"deltaskip.catalog('unity:URL').load_table('catalog.schema.table')."
        )
    missing = _unreadable(listed)
    if missing:
        raise needs_features(where, "reader", missing)
    _check_column_mapping(protocol, properties, where)


def needs_features(where: str, side: Literal["reader", "writer"], names: Sequence[str]) -> UnsupportedFeature:
    """Return the error for a table with features that are not supported. where: the start of the message."""
    return UnsupportedFeature(
        f"{where} needs the {side} feature{'s' if len(names) > 1 else ''} {', '.join(names)}, which deltaskip does not "
        f"support; use a client that does, or drop the feature with ALTER TABLE … DROP FEATURE."
    )


def check_format(provider: str, table: str, version: int) -> None:
    """Raise UnsupportedFeature unless the data files of a table are Parquet.

    # PROTOCOL, Format Specification: "parquet" is the only format that is defined.
    """
    if provider.lower() != "parquet":
        raise UnsupportedFeature(
            f"Version {version} of {table} has data files of the format {provider!r}, but deltaskip reads only "
            f"Parquet; read it with a client that supports the format."
        )


def support_table() -> str:
    """Return the registry as a Markdown table, one row per feature."""
    lines = ["| table feature | applies to | read | write | note |", "|---|---|---|---|---|"]
    for row in FEATURES.values():
        applies = "readers and writers" if row.kind == "reader-writer" else "writers"
        lines.append(f"| `{row.name}` | {applies} | {row.reads} | {row.writes} | {row.note} |")
    return "\n".join(lines) + "\n"


def _check_reader_version(protocol: TableProtocol, where: str) -> None:
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    if reader > max(READER_VERSIONS):
        listed = _unreadable(protocol.reader_features or ())
        also = f" and the reader features {', '.join(listed)}" if listed else ""
        raise UnsupportedFeature(
            f"{where} needs Delta reader version {reader}{also}, but deltaskip supports versions 1 to "
            f"{max(READER_VERSIONS)}; use a newer client."
        )
    if reader < min(READER_VERSIONS):
        raise CorruptLog(f"{where} has reader version {reader} in its protocol action; restore the log.")
    if reader == FEATURES_READER_VERSION and protocol.reader_features is None:
        raise CorruptLog(
            f"{where} has reader version {reader} but no readerFeatures in its protocol action; restore the log."
        )
    if reader == FEATURES_READER_VERSION and writer < FEATURES_WRITER_VERSION:
        raise CorruptLog(
            f"{where} has reader version {reader} with writer version {writer}, not {FEATURES_WRITER_VERSION}; restore "
            f"the log."
        )
    if reader < FEATURES_READER_VERSION and protocol.reader_features:
        raise CorruptLog(
            f"{where} lists the reader features {', '.join(protocol.reader_features)} although its reader version is "
            f"{reader} and not {FEATURES_READER_VERSION}; restore the log."
        )


def _check_column_mapping(protocol: TableProtocol, properties: Mapping[str, str], where: str) -> None:
    name = TableProperties.mapping_mode.name
    mode = properties.get(name, "none").lower()
    if mode != "none" and not supports_mapping(protocol):
        # Nobody knows whether the files use logical or physical names; a wrong guess would read nulls.
        raise CorruptLog(
            f"{where} has {name}={mode}, but its protocol action lacks the feature columnMapping; restore the log."
        )


def _unreadable(listed: Iterable[str]) -> list[str]:
    return sorted({name for name in listed if name not in FEATURES or FEATURES[name].reads == "no"})


def _others(listed: Iterable[str], catalog: Iterable[str]) -> str:
    others = [name for name in _unreadable(listed) if name not in catalog]
    return f", and it also needs the unsupported reader features {', '.join(others)}" if others else ""


def _implied(legacy_version: int | None, table_version: int, features_version: int) -> bool:
    return legacy_version is not None and legacy_version <= table_version < features_version
