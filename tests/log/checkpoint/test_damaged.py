"""Checkpoints whose columns or values are not what the protocol says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptLog
from deltaskip.log.checkpoint.tombstones import tombstones
from tests.each import refuses
from tests.extent import WHOLE
from tests.log.builder import (
    CHECKPOINT_SCHEMA,
    PROTOCOL,
    UUID,
    TableBuilder,
    add,
    log_name,
    metadata,
    remove,
    sidecar,
    v2_actions,
)
from tests.looped import looped

ALL = ["f0", "f1", "f2", "f3"]


@pytest.fixture
def four(table: TableBuilder) -> TableBuilder:
    """Commits 0 to 3, one file each."""
    return with_commits(table)


def with_commits(table: TableBuilder) -> TableBuilder:
    for version in range(4):
        table.commit(add(f"f{version}"))
    return table


def bytes_of(value: Any) -> Any:
    """Text as bytes, below lists, objects and pairs."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {name: bytes_of(inner) for name, inner in value.items()}
    return [bytes_of(inner) for inner in value] if isinstance(value, list | tuple) else value


def as_binary(type_: pa.DataType) -> pa.DataType:
    """The type with bytes in place of text."""
    if pa.types.is_string(type_):
        return pa.binary()
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, as_binary(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.list_(pa.struct([pa.field("key", pa.binary(), False), pa.field("value", pa.binary())]))
    return pa.list_(as_binary(type_.value_type)) if pa.types.is_list(type_) else type_


def unchecked(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """The bytes as text, without a check that they are UTF-8."""
    if pa.types.is_struct(type_):
        inner = [unchecked(child, field.type) for child, field in zip(values.flatten(), type_, strict=True)]
        return pa.StructArray.from_arrays(inner, fields=list(type_), mask=values.is_null())
    if pa.types.is_map(type_):
        pairs = values.values
        keys, items = (unchecked(each, pa.string()) for each in pairs.flatten())
        return pa.MapArray.from_arrays(values.offsets, keys, items, mask=values.is_null()) if len(values) else values
    if pa.types.is_list(type_):
        return pa.ListArray.from_arrays(
            values.offsets, unchecked(values.values, type_.value_type), mask=values.is_null()
        )
    if pa.types.is_string(type_):
        return pa.Array.from_buffers(type_, len(values), values.buffers(), values.null_count)
    return values


def write(table: TableBuilder, name: str, actions: list[dict[str, Any]]) -> None:
    """A checkpoint whose text need not be UTF-8: a surrogate escape stands for a byte."""
    pairs = ("partitionValues", "configuration", "options")

    def row(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: [{"key": k, "value": v} for k, v in inner.items()]
            if key in pairs and isinstance(inner, dict)
            else row(inner)
            for key, inner in value.items()
        }

    rows = [bytes_of(row(action)) for action in actions]
    columns = []
    for field in CHECKPOINT_SCHEMA:
        binary = as_binary(field.type)
        columns.append(unchecked(pa.array([each.get(field.name) for each in rows], binary), field.type))
    pq.write_table(pa.Table.from_arrays(columns, schema=CHECKPOINT_SCHEMA), table.log / name)


BAD = "a\udcff"
SMALL = [
    metadata(id=BAD),
    metadata(name=BAD),
    metadata(schemaString=BAD),
    metadata(partitionColumns=[BAD]),
    metadata(configuration={BAD: "x"}),
    metadata(configuration={"x": BAD}),
    metadata(format={"provider": BAD, "options": {}}),
    {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [BAD], "writerFeatures": [BAD]}},
    {"txn": {"appId": BAD, "version": 1}},
    {"domainMetadata": {"domain": BAD, "configuration": "{}", "removed": False}},
    {"domainMetadata": {"domain": "d", "configuration": BAD, "removed": False}},
    sidecar(BAD),
]


@pytest.mark.parametrize("action", SMALL, ids=lambda action: str(action)[:60].encode("ascii", "replace").decode())
def test_a_small_action_that_is_not_utf_8_gives_way_to_the_commits(four: TableBuilder, action: dict[str, Any]) -> None:
    write(four, log_name(2, "checkpoint.parquet"), [PROTOCOL, metadata(), action, *map(add, ALL[:3])])
    assert four.paths() == ALL
    four.clean_up(3)
    refuses(CorruptLog, r"2\.checkpoint\.parquet, of the checkpoint of version 2, cannot be read.*UTF", four.load)


@pytest.mark.parametrize(
    "action",
    [
        add(BAD),
        add("x", partitionValues={"p": BAD}),
        add("x", partitionValues={BAD: "p"}),
        add("x", stats=BAD),
        add("x", deletionVector={"storageType": "u", "pathOrInlineDv": BAD, "sizeInBytes": 1, "cardinality": 1}),
    ],
    ids=["path", "value", "name", "stats", "vector"],
)
def test_an_add_that_is_not_utf_8_is_named_when_it_is_read(four: TableBuilder, action: dict[str, Any]) -> None:
    write(four, log_name(3, "checkpoint.parquet"), [PROTOCOL, metadata(), add("good"), action])
    four.clean_up(4)
    snapshot = four.load()
    refuses(CorruptLog, r"3\.checkpoint\.parquet.*UTF", snapshot.adds)
    if not action["add"]["partitionValues"]:
        refuses(CorruptLog, r"3\.checkpoint\.parquet.*UTF", lambda: ds.DeltaTable(four.path).scan().files(stats=True))


TYPES = [
    pa.string(),
    pa.int64(),
    pa.bool_(),
    pa.float64(),
    pa.list_(pa.string()),
    pa.list_(pa.int64()),
    pa.date32(),
    pa.struct([("x", pa.int64())]),
    pa.map_(pa.string(), pa.string()),
    pa.map_(pa.int64(), pa.bool_()),
    pa.decimal128(10, 2),
    pa.timestamp("us"),
]


def retyped(path: str, type_: pa.DataType) -> pa.Schema:
    """CHECKPOINT_SCHEMA with another type for the field at a dotted path."""

    def change(fields: Any, names: list[str]) -> list[pa.Field]:
        return [
            field
            if field.name != names[0]
            else pa.field(field.name, type_ if len(names) == 1 else pa.struct(change(field.type, names[1:])))
            for field in fields
        ]

    return pa.schema(change(CHECKPOINT_SCHEMA, path.split(".")))


PATHS = [field.name for field in CHECKPOINT_SCHEMA] + [
    f"{field.name}.{inner.name}" for field in CHECKPOINT_SCHEMA for inner in field.type
]


def use_all(path: Path) -> None:
    """Everything that reads checkpoints."""
    table = ds.DeltaTable(path)
    table.snapshot.adds()
    table.scan("id > 1").explain()
    table.stats()
    table.detail()
    list(tombstones(table.snapshot, 0))


@looped("path", PATHS)
def test_a_column_of_another_type_is_read_or_named(tmp_path: Path, path: str) -> None:
    four = with_commits(TableBuilder(tmp_path))
    file = four.log / log_name(3, "checkpoint.parquet")
    named = 0
    # In the gate each type for some columns and each column with some types.
    types = TYPES if WHOLE else [*TYPES, *TYPES][PATHS.index(path) % len(TYPES) :][:2]
    for type_ in types:
        schema = retyped(path, type_)
        actions = [
            PROTOCOL,
            metadata(),
            {"txn": {"appId": "a", "version": 1}},
            add("x", stats='{"numRecords":1}'),
            remove("y"),
        ]
        columns = []
        for field in schema:
            values = [_fitted(_pairs(action.get(field.name)), field.type) for action in actions]
            columns.append(pa.array(values, field.type))
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), file)
        assert four.load().version == 3
        four.clean_up(0)
        try:
            four.load()
            for version in range(4):
                (four.log / log_name(version, "json")).rename(four.path / str(version))
            use_all(four.path)
        except CorruptLog as error:
            named += 1
            assert "checkpoint.parquet" in str(error) or "has no" in str(error)
        finally:
            for version in range(4):
                if (four.path / str(version)).exists():
                    (four.path / str(version)).rename(four.log / log_name(version, "json"))
    seldom = path.startswith(("add.stats_parsed", "checkpointMetadata", "sidecar", "domainMetadata"))
    assert named or seldom or not WHOLE


def _pairs(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: list(inner.items()) if name in ("partitionValues", "configuration", "options") else _pairs(inner)
        for name, inner in value.items()
    }


def _fitted(value: Any, type_: pa.DataType) -> Any:
    """The value if Arrow makes it of the type, member by member; else one of the type."""
    if isinstance(value, dict) and pa.types.is_struct(type_):
        return {field.name: _fitted(value.get(field.name), field.type) for field in type_}
    if value is None:
        return None
    for candidate in (value, 1, "1", True, [], [1], {}):
        try:
            pa.array([candidate], type_)
        except (pa.ArrowException, TypeError, ValueError, AttributeError):
            continue
        return candidate
    return None


@pytest.mark.long(gate=18)
@pytest.mark.parametrize("kind", ["parquet", "json"])
@pytest.mark.parametrize(
    "path",
    [
        "../s.parquet", "../../s.parquet", "_delta_log/s.parquet", "/etc/s.parquet", "file:///etc/s.parquet", "", ".",
        "..", "s3://bucket/t/_delta_log/_sidecars/s.parquet", "_delta_log/_sidecars/", "%2e%2e/s.parquet",
        "..%2fs.parquet", "_delta_log/_sidecars/../s.parquet", "_delta_log/_sidecars/x/s.parquet", "%ff", "nul%00",
        "http://[", "file:",
    ],
)  # fmt: skip
def test_a_sidecar_elsewhere_is_refused(four: TableBuilder, kind: str, path: str) -> None:
    for place in (four.path, four.log, four.log / "_sidecars"):
        place.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist([], schema=CHECKPOINT_SCHEMA), place / "s.parquet")
    write_it: Callable[..., Path] = four.parquet if kind == "parquet" else four.json_lines
    actions = v2_actions(2, sidecar(path))
    write_it(log_name(2, f"checkpoint.{UUID}.{kind}"), actions)
    assert four.paths() == ALL
    four.clean_up(3)
    refuses(CorruptLog, rf"2\.checkpoint\.{UUID}\.{kind}|cannot be read", four.load)


@pytest.mark.parametrize("path", ["s.parquet", "_delta_log/_sidecars/s.parquet", "absolute", "%73.parquet"])
def test_a_sidecar_in_its_folder_is_read_however_it_is_spelled(four: TableBuilder, path: str) -> None:
    file = four.parquet("_sidecars/s.parquet", [add(path) for path in ALL[:3]])
    path = file.as_uri() if path == "absolute" else path
    actions = v2_actions(2, sidecar(path))
    four.parquet(log_name(2, f"checkpoint.{UUID}.parquet"), actions)
    four.clean_up(3)
    assert four.paths() == ALL


def test_a_path_of_a_json_checkpoint_that_does_not_decode_gives_way_to_the_commits(four: TableBuilder) -> None:
    actions = v2_actions(2, add("f%ff"))
    name = four.json_lines(log_name(2, f"checkpoint.{UUID}.json"), actions).name
    assert four.paths() == ALL
    four.clean_up(3)
    refuses(CorruptLog, f"{name}.*f%ff", four.load)


@pytest.mark.parametrize("columns", [["nope"], ["ID"], ["id", "id"]])
def test_a_partition_column_that_the_schema_lacks_is_named_at_need(table: TableBuilder, columns: list[str]) -> None:
    table.commit(PROTOCOL, metadata(partitionColumns=columns), add("f", stats='{"numRecords":1}'))
    opened = ds.DeltaTable(table.path)
    assert opened.scan().count() == 1
    for act in (lambda: opened.scan().files(), lambda: opened.scan("id > 1").paths()):
        refuses(CorruptLog, rf"version 0 of {table.path} .* partition column '{columns[0]}'", act)
    assert not (table.log / "00000000000000000000.checkpoint.parquet").exists()
