"""Corpus tables as the reader takes them: files from the log alone, deletion vectors by a slow decoder."""

from __future__ import annotations

import base64
import struct
import sys
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyroaring

from deltaskip.actions import absolute_uris, partition_column
from deltaskip.errors import CorruptDeletionVector
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.mapping import physical_name
from deltaskip.spark.read import to_dataframe
from deltaskip.storage import open_storage
from tests import corpus

MAGIC = 1681511377


def snapshot_of(table: Path, version: int | None = None) -> Snapshot:
    """One version of a table on disk."""
    storage, root = open_storage(str(table), None)
    return load_snapshot(storage, root, version)


def files_of(snapshot: Snapshot) -> pa.Table:
    """The Files table of every active file."""
    adds = snapshot.adds(["path", "partition_values", "deletion_vector"]).combine_chunks()
    by_name = {f.name: f for f in snapshot.schema.fields}
    maps = [dict(values or []) for values in adds["partition_values"].to_pylist()]
    values = [
        partition_column(
            pa.array([m.get(physical_name(by_name[name], snapshot.mapping_mode)) for m in maps], pa.string()),
            by_name[name].type,
            "UTC",
        )
        for name in snapshot.partition_columns
    ]
    fields = [pa.field(name, arrow_type(by_name[name].type)) for name in snapshot.partition_columns]
    structs = (
        pa.StructArray.from_arrays(values, fields=fields)
        if fields
        else pa.Array.from_buffers(pa.struct([]), len(adds), [None])
    )
    return pa.table(
        {
            "uri": absolute_uris(snapshot.table_root, _one(adds["path"])),
            "partition_values": structs,
            "deletion_vector": _one(adds["deletion_vector"]),
        }
    )


def dataframe_of(spark: Any, snapshot: Snapshot, **options: Any) -> Any:
    """Every row of the snapshot, or those that options (where, columns, files) ask for."""
    root = Path(snapshot.root.removeprefix("file://"))
    return to_dataframe(
        spark,
        table_root=snapshot.table_root,
        schema=snapshot.schema,
        mapping_mode=snapshot.mapping_mode,
        partition_columns=snapshot.partition_columns,
        **{
            "files": options.pop("files", None) if "files" in options else files_of(snapshot),
            "read_deletion_vectors": lambda dvs: [_positions(root, dv) for dv in dvs.to_pylist()],
            **options,
        },
    )


@cache
def digest_module() -> ModuleType:
    """The corpus's digest.py."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("corpus_digest", corpus.SHARED / "tables" / "digest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _positions(root: Path, dv: dict[str, Any]) -> pa.Int64Array:
    if dv["storage_type"] == "i":
        return _decoded(base64.b85decode(_z85_as_b85(dv["path_or_inline_dv"])))
    if dv["storage_type"] == "u":
        text = dv["path_or_inline_dv"]
        prefix, encoded = text[:-20], text[-20:]
        uuid = base64.b85decode(_z85_as_b85(encoded)).hex()
        name = "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))
        path = root / prefix / f"deletion_vector_{name}.bin"
    else:
        path = Path(dv["path_or_inline_dv"].removeprefix("file://"))
    data = path.read_bytes()
    start = dv["offset"] or 0
    (size,) = struct.unpack_from(">i", data, start)
    body = data[start + 4 : start + 4 + size]
    (checksum,) = struct.unpack_from(">I", data, start + 4 + size)
    if size != dv["size_in_bytes"] or checksum != zlib.crc32(body):
        raise CorruptDeletionVector(f"{path} is damaged.")
    return _decoded(body)


def _decoded(body: bytes) -> pa.Int64Array:
    assert struct.unpack_from("<i", body)[0] == MAGIC
    return pa.array(list(pyroaring.BitMap64.deserialize(body[4:])), pa.int64())


def _z85_as_b85(text: str) -> bytes:
    z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    b85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    return text.translate(str.maketrans(z85, b85)).encode()


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pc.cast(column.combine_chunks(), column.type)
