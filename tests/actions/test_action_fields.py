"""One table names the fields of actions; the dataclasses, the kernels and the checkpoint's types agree with it."""

import json
from dataclasses import MISSING, fields
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.actions import (
    DELETION_VECTOR,
    FILE_SCHEMA,
    LOGGED_DELETION_VECTOR,
    AddCdcFile,
    AddFile,
    CheckpointMetadata,
    DeletionVectorDescriptor,
    DomainMetadata,
    Protocol,
    RemoveFile,
    Sidecar,
    Txn,
    parse_action,
)
from deltaskip.actions.action_fields import (
    ADD_FIELDS,
    CDC_FIELDS,
    DELETION_VECTOR_FIELDS,
    REMOVE_FIELDS,
    ActionFields,
    Field,
)
from deltaskip.kernels.commit_json import FILES_SCHEMA, CommitSyntaxError, parse_commits
from deltaskip.log.checkpoint.adds import adds_column
from deltaskip.log.checkpoint.tombstones import REMOVE_TYPE
from tests.each import refuses

# PROTOCOL, Add File: the keys of an add in the order of the table there, and the types of Checkpoint Schema.
ADD_KEYS = {
    "path": "string", "partitionValues": "map<string, string>", "size": "int64", "modificationTime": "int64",
    "dataChange": "bool", "stats": "string", "tags": "map<string, string>", "deletionVector": None,
    "baseRowId": "int64", "defaultRowCommitVersion": "int64", "clusteringProvider": "string",
}  # fmt: skip
VECTOR_KEYS = {
    "storageType": "string", "pathOrInlineDv": "string", "offset": "int32", "sizeInBytes": "int32",
    "cardinality": "int64",
}  # fmt: skip
# Of a remove, extendedFileMetadata is read by nobody: whether the others are there shows what it promises.
UNREAD = {"extended_file_metadata"}


def sample(field: Field) -> Any:
    """A value of the field as JSON, another for every field of one type."""
    number = len(field.logged)
    match field.type:
        case t if t == DELETION_VECTOR:
            return {inner.logged: sample(inner) for inner in DELETION_VECTOR_FIELDS.fields}
        case t if pa.types.is_map(t):
            return {field.logged: "x", "none": None}
        case t if pa.types.is_list(t):
            return [field.logged]
        case t if pa.types.is_boolean(t):
            return True
        case t if pa.types.is_integer(t):
            return number
        case _:
            return "u" if field.logged == "storageType" else f"{field.logged}-text"


def column_value(field: Field, value: Any) -> Any:
    """What an Arrow column gives for the value of sample()."""
    match value:
        case dict() if field.type == DELETION_VECTOR:
            return {inner.name: value[inner.logged] for inner in DELETION_VECTOR_FIELDS.fields}
        case dict():
            return list(value.items())
        case _:
            return value


def members(action: ActionFields) -> dict[str, Any]:
    return {field.logged: sample(field) for field in action.fields}


def test_the_table_has_the_keys_and_types_of_the_protocol() -> None:
    assert {f.logged: None if f.type == DELETION_VECTOR else str(f.type) for f in ADD_FIELDS.fields} == ADD_KEYS
    assert list(ADD_FIELDS.logged.values()) == list(ADD_KEYS)
    assert {f.logged: str(f.type) for f in DELETION_VECTOR_FIELDS.fields} == VECTOR_KEYS
    assert FILE_SCHEMA.names == list(ADD_FIELDS.logged)
    assert [f.name for f in LOGGED_DELETION_VECTOR] == list(VECTOR_KEYS)


@pytest.mark.parametrize(
    ("action", "type_"),
    [
        (ADD_FIELDS, AddFile),
        (REMOVE_FIELDS, RemoveFile),
        (CDC_FIELDS, AddCdcFile),
        (DELETION_VECTOR_FIELDS, DeletionVectorDescriptor),
        *((kind.FIELDS, kind) for kind in (Protocol, Txn, DomainMetadata, CheckpointMetadata, Sidecar)),
    ],
    ids=lambda value: getattr(value, "action", ""),
)
def test_a_dataclass_has_the_fields_of_its_action_and_defaults_for_the_rest(action: ActionFields, type_: Any) -> None:
    assert {f.name for f in fields(type_)} == set(action.logged)
    without_default = {f.name for f in fields(type_) if f.default is MISSING}
    # The log requires dataChange of a cdc action, and it is always false.
    assert without_default == set(action.required) - ({"data_change"} if type_ is AddCdcFile else set())
    assert type_.from_json(members(action)).to_json() == members(action)
    assert list(type_.from_json(members(action)).to_json()) == list(action.logged.values())


def test_the_kernel_of_commits_has_the_columns_of_the_table() -> None:
    remove_only = [f for f in REMOVE_FIELDS.fields if f.name not in ADD_FIELDS.logged and f.name not in UNREAD]
    expected = [
        pa.field("commit", pa.int32()),
        pa.field("is_remove", pa.bool_()),
        *FILE_SCHEMA,
        *(pa.field(f.name, f.type) for f in remove_only),
    ]
    assert FILES_SCHEMA.equals(pa.schema(expected))


@pytest.mark.parametrize("action", [ADD_FIELDS, REMOVE_FIELDS], ids=lambda action: action.action)
def test_the_kernel_of_commits_reads_every_key_of_the_table_into_its_column(action: ActionFields) -> None:
    line = json.dumps({action.action: members(action)}).encode()
    [row] = parse_commits(line, [0]).files.to_pylist()
    for field in action.fields:
        if field.name not in UNREAD:
            assert row.pop(field.name) == column_value(field, sample(field)), field
    assert {name: value for name, value in row.items() if value is not None} == {
        "commit": 0,
        "is_remove": action is REMOVE_FIELDS,
    }


def test_a_checkpoints_structs_have_the_keys_of_the_table() -> None:
    adds = pa.array(
        [{f.logged: sample(f) if not pa.types.is_map(f.type) else list(sample(f).items()) for f in ADD_FIELDS.fields}],
        pa.struct([(f.logged, f.logged_type) for f in ADD_FIELDS.fields]),
    )
    for field in ADD_FIELDS.fields:
        [value] = adds_column(adds, field.name).to_pylist()
        assert value == column_value(field, sample(field)), field
    assert {f.name: f.type for f in REMOVE_TYPE} == {
        f.logged: f.logged_type for f in REMOVE_FIELDS.fields if f.name not in ("stats", "tags")
    }


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**63 - 1])
@pytest.mark.parametrize("name", ["offset", "sizeInBytes"])
def test_a_number_beyond_its_columns_width_is_refused_by_kernel_and_dataclass_alike(name: str, value: int) -> None:
    add = members(ADD_FIELDS)
    add["deletionVector"][name] = value
    wanted = f"{name} is not a 32-bit integer"
    refuses(CommitSyntaxError, wanted, lambda: parse_commits(json.dumps({"add": add}).encode(), [0]))
    refuses(ValueError, wanted, parse_action, {"add": add})
