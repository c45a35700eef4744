"""Checks that this package supports a table's features: before the table is read, and before each commit to it.

# PROTOCOL, Table Features: "to read a table, readers must implement and respect all features listed in readerFeatures",
# "to write a table, writers must implement and respect all features listed in writerFeatures"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from deltaskip.errors import CorruptLog, UnsupportedFeature
from deltaskip.features.feature_uses import is_used
from deltaskip.features.registry import FEATURES, TableProtocol, features_of, has_feature, writes_deletion_vectors
from deltaskip.features.violation import Violation
from deltaskip.records import dataclass
from deltaskip.schema.mapping import supports_mapping
from deltaskip.schema.properties import FEATURES_READER_VERSION, FEATURES_WRITER_VERSION, TableProperties
from deltaskip.sparkexpr.types import StructType

READER_VERSIONS = (1, 2, FEATURES_READER_VERSION)
_CATALOG_FEATURES = ("catalogManaged", "catalogOwned", "catalogOwned-preview")


@dataclass(frozen=True, slots=True)
class CommitSummary:
    """The properties of a commit on which the requirements of features depend.

    Attributes:
        adds_rows: Whether an add has dataChange.
        removes_rows: Whether a remove has dataChange.
        adds_files: Whether an add has a file that the table did not contain, even if its rows are not new.
        sets_deletion_vectors: Whether an add has a deletion vector that its file did not have.
        sets_domains: Whether an action is a domainMetadata.
        rows_checked: Whether new rows are known to satisfy the rules of the table's features.
    """

    adds_rows: bool = False
    removes_rows: bool = False
    adds_files: bool = False
    sets_deletion_vectors: bool = False
    sets_domains: bool = False
    rows_checked: bool = False


def check_readable(
    protocol: TableProtocol, properties: Mapping[str, str], table: str, version: int, managed: bool = False
) -> None:
    """Check that a table can be read.

    Writer features and writer versions do not affect reading.

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
    check_reader_version(protocol, where)
    listed = protocol.reader_features or ()
    catalog = sorted({*listed, *(protocol.writer_features or ())}.intersection(_CATALOG_FEATURES))
    if managed:
        catalog = [name for name in catalog if not FEATURES[name].by_name]
    if catalog:
        raise UnsupportedFeature(
            f"{where} is managed by a catalog (table feature {', '.join(catalog)}) and cannot be opened by its path, "
            f"because its newest commits may be recorded only in the catalog{_others(listed, catalog)}; open it by "
            f"name through that catalog, such as deltaskip.catalog('unity:URL').load_table('catalog.schema.table')."
        )
    missing = _unreadable(listed)
    if missing:
        raise _needs_features(where, "reader", missing)
    _check_column_mapping(protocol, properties, where)


def check_format(provider: str, table: str, version: int) -> None:
    """Raise UnsupportedFeature unless the data files of a table are Parquet.

    # PROTOCOL, Format Specification: "parquet" is the only format that is defined.
    """
    if provider.lower() != "parquet":
        raise UnsupportedFeature(
            f"Version {version} of {table} has data files of the format {provider!r}, but deltaskip reads only "
            f"Parquet; read it with a client that supports the format."
        )


def check_writable(
    protocol: TableProtocol, properties: TableProperties, schema: StructType, where: str, summary: CommitSummary
) -> None:
    """Check that the table's features allow a commit.

    Args:
        protocol: The protocol action.
        properties: The table properties.
        schema: The table's schema.
        where: Start of the message, such as "Version 7 of /data/events".
        summary: Properties of the commit.

    Raises:
        UnsupportedFeature: The commit is not allowed or not supported; lists every writer feature that prevents it.
        SchemaError: A table property that decides whether a feature is used is malformed.
    """
    if protocol.min_writer_version > FEATURES_WRITER_VERSION:
        raise UnsupportedFeature(
            f"{where} needs Delta writer version {protocol.min_writer_version}, but deltaskip supports versions up to "
            f"{FEATURES_WRITER_VERSION}; use a newer client."
        )
    features = sorted(features_of(protocol))
    unknown = sorted(name for name in features if name not in FEATURES)
    active = [name for name in features if name in FEATURES and is_used(name, properties, schema)]
    missing = [*unknown, *(name for name in active if FEATURES[name].writes == "no")]
    if missing:
        raise _needs_features(where, "writer", missing)
    if summary.adds_files or summary.adds_rows:
        of_none = [name for name in active if FEATURES[name].checks == "no files"]
        if of_none:
            raise _needs_features(where, "writer", of_none)
    unchecked = [name for name in active if FEATURES[name].checks != "log" and not summary.rows_checked]
    of_files = [name for name in unchecked if FEATURES[name].checks == "files"]
    if of_files and summary.adds_files and not summary.adds_rows:
        raise UnsupportedFeature(
            f"{where} has the writer feature{_s(of_files)} {', '.join(of_files)}, whose requirements for new files "
            f"the log does not show, even if their rows are not new; rewrite the files with Spark."
        )
    if unchecked and summary.adds_rows:
        raise UnsupportedFeature(
            f"{where} has the writer feature{_s(unchecked)} {', '.join(unchecked)}, whose requirements for new rows "
            f"the log does not show; add the rows with append() or overwrite(), which check them."
        )
    _check_rules(protocol, properties, active, where, summary)


def check_maintainable(protocol: TableProtocol, where: str) -> None:
    """Check that checkpoints and clean-ups of the table's log lose no information.

    Raises UnsupportedFeature, which lists every feature that is unknown, not supported for reading, or only kept.
    """
    unknown = sorted(
        name
        for name in features_of(protocol)
        if name not in FEATURES or FEATURES[name].reads == "no" or FEATURES[name].only_kept
    )
    if protocol.min_writer_version > FEATURES_WRITER_VERSION:
        unknown.append(f"writer version {protocol.min_writer_version}")
    if unknown:
        raise UnsupportedFeature(
            f"{where} needs {', '.join(_noted(unknown))}, which deltaskip does not support, so it cannot know which "
            f"parts of the log must be kept; write checkpoints and clean up the log with a client that supports it."
        )


def _needs_features(where: str, side: Literal["reader", "writer"], names: Sequence[str]) -> UnsupportedFeature:
    """The error for a table with features that are not supported. where: The start of the message."""
    return UnsupportedFeature(
        f"{where} needs the {side} feature{'s' if len(names) > 1 else ''} {', '.join(_noted(names))}, which deltaskip "
        f"does not support; use a client that does, or drop the feature with ALTER TABLE … DROP FEATURE."
    )


def _noted(names: Iterable[str]) -> list[str]:
    """The names of features, each with its note."""
    return [f"{name} ({FEATURES[name].note})" if name in FEATURES and FEATURES[name].note else name for name in names]


def check_reader_version(protocol: TableProtocol, where: str) -> None:
    """Raise CorruptLog for a protocol that contradicts itself, and UnsupportedFeature for a later reader version."""
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
        # The files may use logical or physical names. A wrong guess would read nulls.
        raise CorruptLog(
            f"{where} has {name}={mode}, but its protocol action lacks the feature columnMapping; restore the log."
        )


def _check_rules(
    protocol: TableProtocol, properties: TableProperties, active: list[str], where: str, summary: CommitSummary
) -> None:
    if "appendOnly" in active and summary.removes_rows:
        raise Violation(
            "files.append-only",
            f"{where} is append-only (table feature appendOnly), so no rows can be removed; set "
            f"{TableProperties.append_only.name} to false first",
            is_unsupported=True,
        ).error()
    if summary.sets_deletion_vectors and not writes_deletion_vectors(protocol, properties):
        raise Violation(
            "files.deletion-vector",
            f"{where} does not allow deletion vectors: enable the table feature deletionVectors by setting "
            f"{TableProperties.deletion_vectors.name} to true",
            is_unsupported=True,
        ).error()
    if summary.sets_domains and not has_feature(protocol, "domainMetadata"):
        raise Violation(
            "protocol.unlisted",
            f"{where} lacks the writer feature domainMetadata, so domain metadata cannot be set: enable it first",
            is_unsupported=True,
        ).error()


def _s(names: list[str]) -> str:
    return "s" if len(names) > 1 else ""


def _unreadable(listed: Iterable[str]) -> list[str]:
    return sorted({name for name in listed if name not in FEATURES or FEATURES[name].reads == "no"})


def _others(listed: Iterable[str], catalog: Iterable[str]) -> str:
    others = [name for name in _unreadable(listed) if name not in catalog]
    return f", and it also needs the unsupported reader features {', '.join(others)}" if others else ""
