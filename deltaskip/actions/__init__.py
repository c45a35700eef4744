"""The actions of the log as frozen dataclasses, with conversion to JSON and Arrow, paths and partition values."""

from deltaskip.actions.action_fields import (
    ADD_FIELDS,
    DELETION_VECTOR,
    DELETION_VECTOR_FIELDS,
    FILE_SCHEMA,
    LOGGED_DELETION_VECTOR,
    REMOVE_FIELDS,
    TEXT_MAP,
)
from deltaskip.actions.file_actions import (
    STORAGE_TYPES,
    AddCdcFile,
    AddFile,
    DeletionVectorDescriptor,
    RemoveFile,
    add_actions,
    dv_ids,
    remove_files,
    remove_of,
    vector_ids,
    with_stats,
)
from deltaskip.actions.lines import Action, parse_action, to_line, to_lines
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
    hadoop_paths,
    listed_keys,
    relative_path,
    table_key,
    table_keys,
)
from deltaskip.actions.table_actions import (
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
    "ADD_FIELDS", "DELETION_VECTOR", "DELETION_VECTOR_FIELDS", "FILE_SCHEMA", "LOGGED_DELETION_VECTOR", "REMOVE_FIELDS",
    "STORAGE_TYPES", "TEXT_MAP", "Action", "AddCdcFile", "AddFile", "CheckpointMetadata", "CommitInfo",
    "DeletionVectorDescriptor", "DomainMetadata", "Format", "Metadata", "PartitionValueError", "Protocol", "RemoveFile",
    "Sidecar", "TimestampRange", "Txn", "absolute_uri", "absolute_uris", "add_actions", "canonical_path",
    "canonical_paths", "decode_path", "decode_paths", "dv_ids", "hadoop_path", "hadoop_paths", "listed_keys",
    "parse_action", "parse_partition_value", "partition_column", "relative_path", "remove_files", "remove_of",
    "serialize_partition_value", "table_key", "table_keys", "to_line", "to_lines", "vector_ids",
    "with_stats",
]  # fmt: skip
