"""Typed table properties: the name, type and default of every property that deltaskip reads.

# PROTOCOL, Table Properties
Values are parsed exactly as delta-spark 4.4 parses them (DeltaConfigs): booleans and numbers without surrounding
whitespace, booleans and enumerations in any letter case unless noted, intervals in Spark's interval syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Generic, Literal, TypeVar, overload

from deltaskip.errors import InvalidArgument, SchemaError, meant
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import MappingMode, parse_names
from deltaskip.sparkexpr.values.calendar import JAVA_TRIM, UNIT_MICROS

IsolationLevel = Literal["Serializable", "WriteSerializable", "SnapshotIsolation"]
CheckpointPolicy = Literal["classic", "v2"]
FloatBounds = Literal["auto", "exact"]

# The name of a CHECK constraint follows the prefix; the value is its SQL expression.
CONSTRAINT_PREFIX = "delta.constraints."

# Additional formats in which the table can be read, such as iceberg (UniForm).
UNIFORM_KEY = "delta.universalFormat.enabledFormats"

# The transforms by which a table is partitioned; deltaskip.transforms.partitioning_property reads the value.
PARTITIONING_KEY = "deltaskip.partitioning"

_T = TypeVar("_T")
_D = TypeVar("_D")


@dataclass(frozen=True, slots=True)
class _PropertyType(Generic[_T]):
    """The parser of a property's value. parse raises ValueError; expected completes "set it to"."""

    parse: Callable[[str], _T]
    expected: str


class TableProperty(Generic[_T]):
    """A property: its name, its parser, and its default value.

    It is an attribute of TableProperties. On the class, the attribute is the definition; on an instance, it is the
    parsed value.
    """

    __slots__ = ("_kind", "default", "name")

    def __init__(self, name: str, kind: _PropertyType[_T], default: _T) -> None:
        self.name = name
        self.default = default
        self._kind = kind

    @overload
    def __get__(self, properties: None, owner: type[TableProperties]) -> TableProperty[_T]: ...
    @overload
    def __get__(self, properties: TableProperties, owner: type[TableProperties]) -> _T: ...
    def __get__(self, properties: TableProperties | None, owner: type[TableProperties]) -> TableProperty[_T] | _T:
        if properties is None:
            return self
        text = properties.configuration.get(self.name)
        return self.default if text is None else self.parse(text, properties.table)

    def parse(self, text: str, table: str = "") -> _T:
        """Return the value of `text`. Raises SchemaError with the property, the text and the allowed values."""
        try:
            return self._kind.parse(text)
        except ValueError:
            of_table = f" of {table}" if table else ""
            raise SchemaError(
                f"The table property {self.name}{of_table} is {text[:200]!r}; set it to {self._kind.expected} with "
                f"ALTER TABLE … SET TBLPROPERTIES."
            ) from None

    def refused(self, text: str) -> str:
        """The allowed values of the property, such as "true or false", if `text` is not valid; otherwise ""."""
        try:
            self._kind.parse(text)
        except ValueError:
            return self._kind.expected
        return ""

    def __repr__(self) -> str:
        return f"TableProperty({self.name!r}, default={self.default!r})"


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError(text)
    return lowered == "true"


def _integer(text: str, bits: int, minimum: int) -> int:
    if re.fullmatch(r"[+-]?\d+", text) is None:
        raise ValueError(text)
    value = int(text)
    if not max(minimum, -(1 << (bits - 1))) <= value < 1 << (bits - 1):
        raise ValueError(text)
    return value


def _up_to(most: int, value: int) -> int:
    if value > most:
        raise ValueError(value)
    return value


# Delta has no QUARTER.
_UNIT_MONTHS = {"month": 1, "year": 12}
# A term of an interval: sign, whole part, fraction (only for seconds), unit.
_TERM = regex(r"\s*([+-]?)\s*(?:(\d+)(\.\d{0,9})?|(\.\d{1,9}))\s+([a-z]+?)s?(?:\s+|$)", re.ASCII)


def _interval_ms(text: str) -> int:
    """An interval in milliseconds, rounded down. Months and years have no fixed length: their sum must be zero."""
    rest = text.strip(JAVA_TRIM).lower().removeprefix("interval ")
    months = micros = position = 0
    if not rest:
        raise ValueError(text)
    while position < len(rest):
        term = _TERM.match(rest, position)
        if term is None:
            raise ValueError(text)
        sign, whole, decimals, only_decimals, unit = term.groups()
        fraction = decimals or only_decimals
        if fraction is not None and unit != "second":
            raise ValueError(text)
        count = int(whole or 0) * (-1 if sign == "-" else 1)
        if unit in _UNIT_MONTHS:
            months += count * _UNIT_MONTHS[unit]
        elif unit.upper() in UNIT_MICROS:
            # Digits below a microsecond are truncated.
            below = int(((fraction or ".")[1:] + "0" * 9)[:6])
            micros += count * UNIT_MICROS[unit.upper()] + (-below if sign == "-" else below)
        else:
            raise ValueError(text)
        position = term.end()
    if months or not 0 <= micros < 1 << 63:
        raise ValueError(text)
    return micros // 1000


def _one_of(values: tuple[_T, ...], any_case: bool = True) -> _PropertyType[_T]:
    spelled = {str(value).lower() if any_case else str(value): value for value in values}

    def parse(text: str) -> _T:
        try:
            return spelled[text.lower() if any_case else text]
        except KeyError:
            raise ValueError(text) from None

    names = [str(value) for value in values]
    return _PropertyType(parse, f"{', '.join(names[:-1])} or {names[-1]}")


def _optional(kind: _PropertyType[_D]) -> _PropertyType[_D | None]:
    return _PropertyType(kind.parse, kind.expected)


_BYTE_UNITS = {"": 1, "b": 1, **{f"{unit}{b}": 1 << 10 * n for n, unit in enumerate("kmgtp", 1) for b in ("", "b")}}


def _codec(text: str) -> str:
    found = _CODECS.get(text.lower())
    if found is None:
        raise ValueError(text)
    return found


def _pages(text: str) -> str:
    """The version of data pages, as pyarrow names it. PROTOCOL, Table Properties: 1.0.0, or 2.MINOR.PATCH."""
    if text != "1.0.0" and re.fullmatch(r"2\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", text, re.ASCII) is None:
        raise ValueError(text)
    return f"{text[0]}.0"


def _names(text: str) -> tuple[tuple[str, ...], ...]:
    try:
        return tuple(parse_names(text, "the property"))
    except SchemaError:
        raise ValueError(text) from None


def _texts(text: str) -> tuple[str, ...]:
    found = parse_json(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(text)
    return tuple(found)


def _bytes(text: str) -> int:
    """A number of bytes as Spark's ByteUnit reads it, such as 104857600, 100m or 100MB; at least 1."""
    found = re.fullmatch(r"([0-9]{1,18})([a-z]{0,2})", text.strip(JAVA_TRIM).lower(), re.ASCII)
    if found is None or found[2] not in _BYTE_UNITS or not int(found[1]):
        raise ValueError(text)
    return int(found[1]) * _BYTE_UNITS[found[2]]


_BOOLEAN = _PropertyType(_boolean, "true or false")
_POSITIVE = _PropertyType(lambda text: _integer(text, 32, 1), "a positive integer")
# The length of a folder name: file systems allow at most 255 bytes.
_FOLDER_LENGTH = _PropertyType(lambda text: _up_to(255, _integer(text, 32, 1)), "an integer from 1 to 255")
_COUNT = _PropertyType(lambda text: _integer(text, 32, -(1 << 31)), "an integer (-1 for every column)")
_LONG = _PropertyType(lambda text: _integer(text, 64, 0), "an integer that is not negative")
_NAMES = _PropertyType(_names, "names of columns, such as user_id, `order id`, or place.code")
_TEXTS = _PropertyType(_texts, 'a JSON list of columns, such as ["ts DESC"]')
_INTERVAL = _PropertyType(_interval_ms, "an interval of weeks or shorter units, such as 'interval 30 days'")
_TEXT: _PropertyType[str | None] = _PropertyType(str, "text")
# delta-spark takes a boolean, and Databricks also writes these words.
_AUTO = _PropertyType(lambda text: text in ("auto", "legacy") or _boolean(text), "true, auto, legacy or false")
_BYTES: _PropertyType[int | None] = _PropertyType(_bytes, "a number of bytes, such as 104857600 or 100mb")
DEFAULT_CODEC = "zstd"
"""The codec of data files and checkpoints of a table without the property. # PROTOCOL, Table Properties"""

# Parquet's LZ4 with Hadoop's framing is deprecated: readers of lz4 have lz4_raw, too.
_CODECS = {
    **{name: name for name in ("snappy", "zstd", "gzip", "lz4_raw", "brotli", "none")},
    "uncompressed": "none",
    "lz4": "lz4_raw",
}
_CODEC: _PropertyType[str | None] = _PropertyType(_codec, f"{', '.join([*_CODECS][:-1])} or {[*_CODECS][-1]}")
_PAGES = _PropertyType(_pages, "1.0.0 or 2.MINOR.PATCH, such as 2.12.0")
_ISOLATION: tuple[IsolationLevel, ...] = ("Serializable", "WriteSerializable", "SnapshotIsolation")
_MAPPING: tuple[MappingMode, ...] = ("none", "name", "id")
_POLICY: tuple[CheckpointPolicy, ...] = ("classic", "v2")
FLOAT_BOUNDS: tuple[FloatBounds, ...] = ("auto", "exact")


def codec_argument(text: str) -> str:
    """Return the codec of a write as DataFileLayout has it. Raises InvalidArgument if it does not exist."""
    try:
        return _codec(text)
    except ValueError:
        raise InvalidArgument(f"compression must be {_CODEC.expected}, not {text!r}.") from None


HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class TableProperties:
    """The properties of a table (metaData.configuration) by typed attribute.

    An attribute is parsed each time it is read, and only then raises SchemaError: a malformed property stops only the
    operations that depend on it. `TableProperties.append_only.name` is the property's name in the log.
    `*_ms` attributes are in milliseconds.

    table: The table's location, for messages.
    allow_reflection: Whether the caller allows expressions of the table to call any function.
    """

    configuration: Mapping[str, str]
    table: str = field(default="", compare=False)
    allow_reflection: bool = field(default=False, compare=False)

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, str] | None, table: str = "") -> TableProperties:
        """Return the typed properties of a metaData action's configuration; None means an empty configuration."""
        return cls(configuration or {}, table)

    # Properties that restrict or extend the content of commits.
    append_only = TableProperty("delta.appendOnly", _BOOLEAN, False)
    change_data_feed = TableProperty("delta.enableChangeDataFeed", _BOOLEAN, False)
    deletion_vectors = TableProperty("delta.enableDeletionVectors", _BOOLEAN, False)
    type_widening = TableProperty("delta.enableTypeWidening", _BOOLEAN, False)
    iceberg_compat_v1 = TableProperty("delta.enableIcebergCompatV1", _BOOLEAN, False)
    iceberg_compat_v2 = TableProperty("delta.enableIcebergCompatV2", _BOOLEAN, False)
    iceberg_compat_v3 = TableProperty("delta.enableIcebergCompatV3", _BOOLEAN, False)
    iceberg_writer_compat_v1 = TableProperty("delta.enableIcebergWriterCompatV1", _BOOLEAN, False)
    iceberg_writer_compat_v3 = TableProperty("delta.enableIcebergWriterCompatV3", _BOOLEAN, False)
    commit_coordinator = TableProperty("delta.coordinatedCommits.commitCoordinator-preview", _TEXT, None)
    writer_redirect = TableProperty("delta.redirectWriterOnly-preview", _TEXT, None)
    variant_shredding = TableProperty("delta.enableVariantShredding", _BOOLEAN, False)
    materialized_partition_columns = TableProperty("delta.enableMaterializePartitionColumnsFeature", _BOOLEAN, False)
    isolation_level = TableProperty("delta.isolationLevel", _one_of(_ISOLATION), "Serializable")

    # Column names.
    mapping_mode = TableProperty("delta.columnMapping.mode", _one_of(_MAPPING), "none")
    max_column_id = TableProperty("delta.columnMapping.maxColumnId", _optional(_LONG), None)
    has_dropped_or_renamed = TableProperty("delta.columnMapping.hasDroppedOrRenamed", _optional(_BOOLEAN), None)

    # Folders, columns, size and encoding of data files. None: the writer decides.
    compression_codec = TableProperty("delta.parquet.compression.codec", _CODEC, None)
    page_version = TableProperty("delta.parquet.format.version", _PAGES, "1.0")
    write_partition_columns = TableProperty("delta.writePartitionColumnsToParquet", _BOOLEAN, False)
    target_file_bytes = TableProperty("delta.targetFileSize", _BYTES, None)
    optimize_write = TableProperty("delta.autoOptimize.optimizeWrite", _BOOLEAN, False)
    auto_compact = TableProperty("delta.autoOptimize.autoCompact", _AUTO, False)
    randomize_file_prefixes = TableProperty("delta.randomizeFilePrefixes", _BOOLEAN, False)
    random_prefix_length = TableProperty("delta.randomPrefixLength", _FOLDER_LENGTH, 2)

    # Row tracking and in-commit timestamps.
    row_tracking = TableProperty("delta.enableRowTracking", _BOOLEAN, False)
    row_tracking_suspended = TableProperty("delta.rowTrackingSuspended", _BOOLEAN, False)
    row_id_column = TableProperty("delta.rowTracking.materializedRowIdColumnName", _TEXT, None)
    row_commit_version_column = TableProperty("delta.rowTracking.materializedRowCommitVersionColumnName", _TEXT, None)
    in_commit_timestamps = TableProperty("delta.enableInCommitTimestamps", _BOOLEAN, False)
    in_commit_timestamps_version = TableProperty("delta.inCommitTimestampEnablementVersion", _optional(_LONG), None)
    in_commit_timestamps_since_ms = TableProperty("delta.inCommitTimestampEnablementTimestamp", _optional(_LONG), None)

    # Checkpoints and retention. The policy is case-sensitive in delta-spark.
    checkpoint_interval = TableProperty("delta.checkpointInterval", _POSITIVE, 10)
    checkpoint_policy = TableProperty("delta.checkpointPolicy", _one_of(_POLICY, any_case=False), "classic")
    write_stats_as_json = TableProperty("delta.checkpoint.writeStatsAsJson", _BOOLEAN, True)
    write_stats_as_struct = TableProperty("delta.checkpoint.writeStatsAsStruct", _BOOLEAN, True)
    expired_log_cleanup = TableProperty("delta.enableExpiredLogCleanup", _BOOLEAN, True)
    log_retention_ms = TableProperty("delta.logRetentionDuration", _INTERVAL, 30 * DAY_MS)
    deleted_file_retention_ms = TableProperty("delta.deletedFileRetentionDuration", _INTERVAL, 7 * DAY_MS)
    drop_feature_retention_ms = TableProperty("delta.dropFeatureTruncateHistory.retentionDuration", _INTERVAL, DAY_MS)
    txn_retention_ms = TableProperty("delta.setTransactionRetentionDuration", _optional(_INTERVAL), None)
    # PROTOCOL, checkpointProtection: the log before this version must not be deleted in parts.
    checkpoint_protection_version = TableProperty("delta.requireCheckpointProtectionBeforeVersion", _LONG, 0)

    # Whether every commit updates the symlink manifests.
    symlink_manifests = TableProperty("delta.compatibility.symlinkFormatManifest.enabled", _BOOLEAN, False)

    # The columns with statistics. The list of names is parsed by code that knows the schema.
    stats_columns = TableProperty("delta.dataSkippingStatsColumns", _TEXT, None)
    num_indexed_columns = TableProperty("delta.dataSkippingNumIndexedCols", _COUNT, 32)

    # Whether the maximum of a float column includes NaN: inferred from the writer of each file, or set by the owner.
    float_bounds = TableProperty("deltaskip.floatBounds", _one_of(FLOAT_BOUNDS), "auto")

    # Columns whose Bloom filters are written into data files, and columns whose keys are indexed beside the log.
    bloom_columns = TableProperty("deltaskip.bloomColumns", _NAMES, ())
    record_index = TableProperty("delta.enableRecordLevelIndex", _BOOLEAN, False)
    key_index_columns = TableProperty("deltaskip.keyIndexColumns", _NAMES, ())

    # The order of rows in new files; its terms are parsed by code that knows the schema.
    sort_order = TableProperty("deltaskip.sortOrder", _TEXTS, ())

    @property
    def constraints(self) -> Mapping[str, str]:
        """The SQL expression of each CHECK constraint, by the constraint's name."""
        return {
            name.removeprefix(CONSTRAINT_PREFIX): text
            for name, text in self.configuration.items()
            if name.startswith(CONSTRAINT_PREFIX)
        }

    @property
    def iceberg_compat(self) -> tuple[int, ...]:
        """The versions of Iceberg compatibility that are enabled; a table may have one."""
        enabled = (self.iceberg_compat_v1, self.iceberg_compat_v2, self.iceberg_compat_v3)
        return tuple(version for version, is_on in enumerate(enabled, 1) if is_on)

    @property
    def nested_ids(self) -> bool:
        """Whether elements, keys and values of arrays and maps have ids (PROTOCOL, IcebergCompatV2)."""
        return self.iceberg_compat_v2 or self.iceberg_compat_v3

    def well_formed(self) -> TableProperties:
        """Return these properties without malformed properties, which then have their defaults.

        Use it for the old properties when properties are replaced: a malformed property must be correctable.
        """
        set_here = _DEFINITIONS.keys() & self.configuration.keys()
        malformed = {name for name in set_here if _is_malformed(name, self.configuration[name])}
        if not malformed:
            return self
        kept = {name: text for name, text in self.configuration.items() if name not in malformed}
        return TableProperties(kept, self.table)

    def uses(self, definition: TableProperty[Any]) -> bool:
        """Whether the table sets the property to a value other than its default. Raises SchemaError."""
        text = self.configuration.get(definition.name)
        return text is not None and definition.parse(text, self.table) != definition.default


_DEFINITIONS: Mapping[str, TableProperty[Any]] = {
    value.name: value for value in vars(TableProperties).values() if isinstance(value, TableProperty)
}

# Properties of delta-spark 4.4, the protocol and delta-rs that deltaskip does not use.
_UNUSED: Mapping[str, _PropertyType[Any]] = {
    "delta.autoOptimize": _BOOLEAN,
    "delta.castIcebergTimeType": _BOOLEAN,
    "delta.checkpointRetentionDuration": _INTERVAL,
    "delta.dataSkippingStringPrefixLength": _COUNT,
    "delta.enableFullRetentionRollback": _BOOLEAN,
    "delta.ignoreIcebergBucketPartition": _BOOLEAN,
    "delta.sampleRetentionDuration": _INTERVAL,
    "delta.tuneFileSizesForRewrites": _BOOLEAN,
    UNIFORM_KEY: _TEXT,
}


_BY_LOWER_NAME: Mapping[str, str] = {name.lower(): name for name in (*_DEFINITIONS, *_UNUSED)}


def is_delta_property(name: str) -> bool:
    """Whether Delta or deltaskip defines a property with this exact name.

    delta-spark refuses other properties that begin with `delta.`.
    """
    return name in _DEFINITIONS or name in _UNUSED


def meant_property(name: str) -> str:
    """Return the question which property was meant instead of an unknown name, as `errors.meant` does."""
    return meant(name, (*_DEFINITIONS, *_UNUSED), 0.8)


def delta_property(name: str) -> str | None:
    """Return the name of a property of Delta or deltaskip that is given in any letter case; None for other names."""
    return _BY_LOWER_NAME.get(name.lower())


def parse_property(name: str, text: str) -> object:
    """Return the value of a property that Delta or deltaskip defines. Raises SchemaError like TableProperty.parse."""
    if name in _DEFINITIONS:
        return _DEFINITIONS[name].parse(text)
    return TableProperty(name, _UNUSED[name], None).parse(text)


def check_given_property(name: str, text: str, table: str) -> None:
    """Check a property that a caller sets on a new or existing table.

    Raises InvalidArgument for an invalid value of a property of Delta or deltaskip.
    """
    definition = _DEFINITIONS.get(name) or (TableProperty(name, _UNUSED[name], None) if name in _UNUSED else None)
    if definition is not None and (expected := definition.refused(text)):
        raise InvalidArgument(f"The property {name} of {table} must be {expected}, not {text[:200]!r}.")


def _is_malformed(name: str, text: str) -> bool:
    try:
        _DEFINITIONS[name].parse(text)
    except SchemaError:
        return True
    return False


FEATURES_READER_VERSION = 3
FEATURES_WRITER_VERSION = 7
