"""The fields of file actions and of deletion vectors: name, key in the log, Arrow type, and whether it is required.

Schemas, keys and the JSON of the actions derive from these rows. The kernels have copies; a test compares both.

# PROTOCOL, Add File and Remove File; Add CDC File; Deletion Vectors
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


TEXT_MAP = pa.map_(pa.string(), pa.string())

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
LOGGED_DELETION_VECTOR = pa.struct([(field.logged, field.type) for field in DELETION_VECTOR_FIELDS.fields])

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
    "cdc",
    "path partition_values size data_change tags",
    required="path partition_values size data_change",
)

FILE_SCHEMA = pa.schema([(field.name, field.type) for field in ADD_FIELDS.fields])
