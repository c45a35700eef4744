"""The fields of actions, of deletion vectors and of formats: name, key in the log, Arrow type, and whether required.

Schemas, keys and the JSON of the actions derive from these rows. The kernels have copies; a test compares both.

# PROTOCOL, Actions; Deletion Vectors; Checkpoint Schema
"""

from __future__ import annotations

import pyarrow as pa

from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field: `name` of the attribute and the column, `logged` key in the log, `type` of the column."""

    name: str
    logged: str
    type: pa.DataType

    @property
    def logged_type(self) -> pa.DataType:
        """The type of the field in a checkpoint, whose structs use the keys of the log."""
        return LOGGED_DELETION_VECTOR if self.type == DELETION_VECTOR else self.type


@dataclass(frozen=True, slots=True)
class ActionFields:
    """The fields of an action in the order in which they are written, and the names of required fields."""

    action: str
    fields: tuple[Field, ...]
    required: tuple[str, ...]

    @property
    def logged(self) -> dict[str, str]:
        """Name → key in the log."""
        return {field.name: field.logged for field in self.fields}

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of required fields without which a logged action is damaged. A missing dataChange means true."""
        return tuple(name for name in self.required if name != "data_change")

    @property
    def logged_type(self) -> pa.StructType:
        """The type of the column of a checkpoint that has the action."""
        return pa.struct([(field.logged, field.logged_type) for field in self.fields])


TEXT_MAP = pa.map_(pa.string(), pa.string())
TEXT_LIST = pa.list_(pa.field("element", pa.string()))

DELETION_VECTOR_FIELDS = ActionFields(
    "deletionVector",
    (
        Field("storage_type", "storageType", pa.string()),
        Field("path_or_inline_dv", "pathOrInlineDv", pa.string()),
        Field("offset", "offset", pa.int32()),
        Field("size_in_bytes", "sizeInBytes", pa.int32()),
        Field("cardinality", "cardinality", pa.int64()),
    ),
    required=("storage_type", "path_or_inline_dv", "size_in_bytes", "cardinality"),
)
DELETION_VECTOR = pa.struct([(field.name, field.type) for field in DELETION_VECTOR_FIELDS.fields])
LOGGED_DELETION_VECTOR = DELETION_VECTOR_FIELDS.logged_type

# Paths and partition values are raw strings of the log, and times are milliseconds since the epoch.
_FILE_FIELDS = {
    field.name: field
    for field in (
        Field("path", "path", pa.string()),
        Field("partition_values", "partitionValues", TEXT_MAP),
        Field("size", "size", pa.int64()),
        Field("modification_time", "modificationTime", pa.int64()),
        Field("deletion_timestamp", "deletionTimestamp", pa.int64()),
        Field("data_change", "dataChange", pa.bool_()),
        Field("extended_file_metadata", "extendedFileMetadata", pa.bool_()),
        Field("stats", "stats", pa.string()),
        Field("tags", "tags", TEXT_MAP),
        Field("deletion_vector", "deletionVector", DELETION_VECTOR),
        Field("base_row_id", "baseRowId", pa.int64()),
        Field("default_row_commit_version", "defaultRowCommitVersion", pa.int64()),
        Field("clustering_provider", "clusteringProvider", pa.string()),
    )
}


def _action(action: str, names: str, required: str) -> ActionFields:
    return ActionFields(action, tuple(_FILE_FIELDS[name] for name in names.split()), tuple(required.split()))


ADD_FIELDS = _action(
    "add",
    "path partition_values size modification_time data_change stats tags deletion_vector base_row_id"
    " default_row_commit_version clustering_provider",
    required="path partition_values size modification_time data_change",
)
REMOVE_FIELDS = _action(
    "remove",
    "path deletion_timestamp data_change extended_file_metadata partition_values size stats tags deletion_vector"
    " base_row_id default_row_commit_version",
    required="path data_change",
)
CDC_FIELDS = _action(
    "cdc", "path partition_values size data_change tags", required="path partition_values size data_change"
)

FILE_SCHEMA = pa.schema([(field.name, field.type) for field in ADD_FIELDS.fields])

PROTOCOL_FIELDS = ActionFields(
    "protocol",
    (
        Field("min_reader_version", "minReaderVersion", pa.int32()),
        Field("min_writer_version", "minWriterVersion", pa.int32()),
        Field("reader_features", "readerFeatures", TEXT_LIST),
        Field("writer_features", "writerFeatures", TEXT_LIST),
    ),
    required=("min_reader_version", "min_writer_version"),
)
FORMAT_FIELDS = ActionFields(
    "metaData.format",
    (Field("provider", "provider", pa.string()), Field("options", "options", TEXT_MAP)),
    required=("provider",),
)
FORMAT = FORMAT_FIELDS.logged_type
METADATA_FIELDS = ActionFields(
    "metaData",
    (
        Field("id", "id", pa.string()),
        Field("name", "name", pa.string()),
        Field("description", "description", pa.string()),
        Field("format", "format", FORMAT),
        Field("schema_string", "schemaString", pa.string()),
        Field("partition_columns", "partitionColumns", TEXT_LIST),
        Field("configuration", "configuration", TEXT_MAP),
        Field("created_time", "createdTime", pa.int64()),
    ),
    required=("id", "format", "partition_columns", "configuration"),
)
TXN_FIELDS = ActionFields(
    "txn",
    (
        Field("app_id", "appId", pa.string()),
        Field("version", "version", pa.int64()),
        Field("last_updated", "lastUpdated", pa.int64()),
    ),
    required=("app_id", "version"),
)
DOMAIN_METADATA_FIELDS = ActionFields(
    "domainMetadata",
    (
        Field("domain", "domain", pa.string()),
        Field("configuration", "configuration", pa.string()),
        Field("removed", "removed", pa.bool_()),
    ),
    required=("domain", "configuration"),
)
CHECKPOINT_METADATA_FIELDS = ActionFields(
    "checkpointMetadata", (Field("version", "version", pa.int64()), Field("tags", "tags", TEXT_MAP)), ("version",)
)
SIDECAR_FIELDS = ActionFields(
    "sidecar",
    (
        Field("path", "path", pa.string()),
        Field("size_in_bytes", "sizeInBytes", pa.int64()),
        Field("modification_time", "modificationTime", pa.int64()),
        Field("tags", "tags", TEXT_MAP),
    ),
    required=("path", "size_in_bytes", "modification_time"),
)
TABLE_ACTIONS = (
    TXN_FIELDS,
    METADATA_FIELDS,
    PROTOCOL_FIELDS,
    DOMAIN_METADATA_FIELDS,
    CHECKPOINT_METADATA_FIELDS,
    SIDECAR_FIELDS,
)
"""The actions of a checkpoint other than those of files."""
