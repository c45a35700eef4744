"""The actions of the log: a frozen dataclass for each, its JSON and Arrow forms, its paths and partition values."""

from deltaskip.actions.file_fields import (
    ADD_FIELDS,
    DELETION_VECTOR,
    DELETION_VECTOR_FIELDS,
    FILE_SCHEMA,
    LOGGED_DELETION_VECTOR,
    REMOVE_FIELDS,
    TEXT_MAP,
)
from deltaskip.actions.files import AddCdcFile, AddFile, DeletionVectorDescriptor, RemoveFile
from deltaskip.actions.line import Action, parse_action, to_line
from deltaskip.actions.partition_values import (
    PartitionValueError,
    TimestampRange,
    parse_partition_value,
    partition_column,
    serialize_partition_value,
)
from deltaskip.actions.paths import (
    absolute_uri,
    absolute_uris,
    canonical_path,
    canonical_paths,
    decode_path,
    decode_paths,
    hadoop_path,
)
from deltaskip.actions.rows import add_files, remove_of, unchanged
from deltaskip.actions.table_state import (
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Sidecar,
    Txn,
)

__all__ = [
    "ADD_FIELDS",
    "DELETION_VECTOR",
    "DELETION_VECTOR_FIELDS",
    "FILE_SCHEMA",
    "LOGGED_DELETION_VECTOR",
    "REMOVE_FIELDS",
    "TEXT_MAP",
    "Action",
    "AddCdcFile",
    "AddFile",
    "CheckpointMetadata",
    "CommitInfo",
    "DeletionVectorDescriptor",
    "DomainMetadata",
    "Format",
    "Metadata",
    "PartitionValueError",
    "Protocol",
    "RemoveFile",
    "Sidecar",
    "TimestampRange",
    "Txn",
    "absolute_uri",
    "absolute_uris",
    "add_files",
    "canonical_path",
    "canonical_paths",
    "decode_path",
    "decode_paths",
    "hadoop_path",
    "parse_action",
    "parse_partition_value",
    "partition_column",
    "remove_of",
    "serialize_partition_value",
    "to_line",
    "unchanged",
]
