"""One reader of a checkpoint's adds: whoever reads them gets the same, also from odd checkpoints."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import CorruptLog
from deltaskip.log import Snapshot
from tests.each import refuses
from tests.log.builder import PROTOCOL, TableBuilder, add, load, log_name, metadata, remove

_MAP = pa.map_(pa.string(), pa.string())
_BASE = {
    "path": pa.string(),
    "partitionValues": _MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
}
_STATS = pa.struct([("numRecords", pa.int64()), ("minValues", pa.struct([("id", pa.int64())]))])
_NAMES = ["path", "size", "stats", "deletion_vector"]
_VECTOR = {"storageType": "i", "pathOrInlineDv": "dv", "offset": None, "sizeInBytes": 1, "cardinality": 1}


def vectors(text: pa.DataType) -> pa.DataType:
    kinds = [text, text, pa.int32(), pa.int32(), pa.int64()]
    return pa.struct(list(zip(_VECTOR, kinds, strict=True)))


def write(path: Path, fields: dict[str, pa.DataType], adds: Sequence[dict[str, Any]], *newer: dict[str, Any]) -> None:
    """A checkpoint of version 0 with these columns of `add`, and one commit after it."""
    builder = TableBuilder(path)
    builder.commit()
    head = metadata(configuration=[], format={"provider": "parquet"})
    rows = [PROTOCOL, head, *({"add": {**each["add"], "partitionValues": []}} for each in adds)]
    strings = pa.list_(pa.string())
    schema = pa.schema(
        {
            "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]),
            "metaData": pa.struct(
                [("id", pa.string()), ("format", pa.struct([("provider", pa.string())])),
                 ("schemaString", pa.string()), ("partitionColumns", strings), ("configuration", _MAP)]
            ),
            "add": pa.struct(list(fields.items())),
        }
    )  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, schema), builder.log / log_name(0, "checkpoint.parquet"))
    builder.commit(*newer)


def of_snapshot(snapshot: Snapshot) -> list[Any]:
    return snapshot.adds(_NAMES).to_pylist()


def of_batches(snapshot: Snapshot) -> list[Any]:
    return pa.Table.from_batches(list(snapshot.add_batches(2, _NAMES))).to_pylist()


def of_a_scan(snapshot: Snapshot) -> list[Any]:
    return ds.Scan(snapshot).files(columns=_NAMES).to_pylist()


READERS = [of_snapshot, of_batches, of_a_scan]

ODD: dict[str, tuple[dict[str, pa.DataType], list[dict[str, Any]]]] = {
    "text and struct, each null somewhere": ({**_BASE, "stats": pa.string(), "stats_parsed": _STATS},
        [add("a", stats='{"numRecords":1}', stats_parsed=None),
        add("b", stats=None, stats_parsed={"numRecords": 3, "minValues": {"id": 1}}),
        add("c", stats='{"numRecords":7}', stats_parsed={"numRecords": 3, "minValues": None}), add("d")]),
    "stats_parsed is text": ({**_BASE, "stats": pa.string(), "stats_parsed": pa.string()},
        [add("a", stats_parsed="x"), add("b"), add("c", stats='{"numRecords":2}')]),
    "large strings": ({**_BASE, "path": pa.large_string(), "deletionVector": vectors(pa.large_string())},
        [add("a", "dv"), add("b", "dv"), add("c")]),
    "strings in dictionaries": ({**_BASE, "deletionVector": vectors(pa.dictionary(pa.int32(), pa.string()))},
        [add("a", "dv"), add("b", "dv"), add("c")]),
    "deletion vectors without some columns": ({**_BASE,
        "deletionVector": pa.struct([("storageType", pa.string()), ("pathOrInlineDv", pa.string())])},
        [add("a", "dv"), add("b", "dv"), add("c")]),
}  # fmt: skip


def test_an_add_without_a_required_field_is_named(tmp_path: Path) -> None:
    lacking = {name: kind for name, kind in _BASE.items() if name != "size"}
    write(tmp_path / "column", lacking, [add("a")], add("new"))
    write(tmp_path / "value", _BASE, [add("a"), add("b", size=None)], add("new"))
    for name in ("column", "value"):
        for read in READERS:
            with pytest.raises(CorruptLog, match=r"checkpoint\.parquet contains an add without size; restore"):
                read(load(tmp_path / name))


@pytest.mark.parametrize("odd", ODD)
def test_every_reader_returns_the_same_adds(tmp_path: Path, odd: str) -> None:
    fields, adds = ODD[odd]
    dv = "dv" if "deletionVector" in fields else None
    write(tmp_path, fields, adds, remove("b", dv), add("new"))
    found = [reader(load(tmp_path)) for reader in READERS]
    assert found[0] == found[1] == found[2]
    left = [each["add"]["path"] for each in adds if each["add"]["path"] != "b"]
    assert [row["path"] for row in found[0]] == [*left, "new"]
    assert load(tmp_path).num_files == len(found[0])


def test_statistics_are_the_text_where_there_is_one_and_else_that_of_the_struct(tmp_path: Path) -> None:
    write(tmp_path, *ODD["text and struct, each null somewhere"])
    expected = ['{"numRecords":1}', '{"numRecords":3,"minValues":{"id":1}}', '{"numRecords":7}', None]
    assert [[row["stats"] for row in reader(load(tmp_path))] for reader in READERS] == [expected] * 3


def test_statistics_of_a_few_kept_files_are_rendered_from_the_struct(tmp_path: Path) -> None:
    stats = [{"numRecords": 1, "minValues": {"id": i}} for i in range(200)]
    write(tmp_path, {**_BASE, "stats_parsed": _STATS}, [add(f"f{i}", stats_parsed=stats[i]) for i in range(200)])
    [row] = ds.DeltaTable(tmp_path).scan("id < 1").files(stats=True).to_pylist()
    assert (row["path"], row["stats"]) == ("f0", '{"numRecords":1,"minValues":{"id":0}}')


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("newer", [[], [remove("b")]], ids=["alone", "with newer commits"])
def test_an_add_without_a_path_is_damage(
    tmp_path: Path, reader: Callable[[Snapshot], list[Any]], newer: list[dict[str, Any]]
) -> None:
    write(tmp_path, _BASE, [add("a"), add(None), add("c")], *newer)
    with pytest.raises(ds.CorruptLog, match=r"checkpoint\.parquet contains an add without a path; restore that file"):
        reader(load(tmp_path))


@pytest.mark.parametrize("reader", READERS)
def test_a_path_that_does_not_decode_is_damage(tmp_path: Path, reader: Callable[[Snapshot], list[Any]]) -> None:
    write(tmp_path, _BASE, [add("a%FF"), add("b")], remove("b"))
    refuses(ds.CorruptLog, "does not decode to UTF-8", lambda: reader(load(tmp_path)))


def test_a_path_that_does_not_decode_is_damage_to_a_scan_without_newer_commits(tmp_path: Path) -> None:
    write(tmp_path, _BASE, [add("a%FF"), add("b")])
    scan = ds.Scan(load(tmp_path))
    for read in (scan.files, scan.paths):
        refuses(ds.CorruptLog, r"version 1 .* does not decode to UTF-8", read)
