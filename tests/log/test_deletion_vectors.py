"""Deletion vectors are found, checked, read and written: hand-made files, real tables and damaged ones."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.actions import DELETION_VECTOR, DeletionVectorDescriptor
from deltaskip.errors import CorruptDeletionVector, DataFileMissing, UnsupportedFeature
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_encode
from deltaskip.log import deletion_vectors
from deltaskip.log.deletion_vectors import (
    read_deletion_vector,
    read_deletion_vectors,
    vector_location,
    write_deletion_vectors,
)
from deltaskip.storage import LocalStorage
from tests import corpus
from tests.each import refuses
from tests.extent import extent
from tests.looped import looped

UUID_TEXT = "^-aqEH.-t@S}K{vb[*k^"
UUID_NAME = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
PROTOCOL_ROWS = [3, 4, 7, 11, 18, 29]


class Files:
    """A storage of files in memory or on disk that counts what it is asked for."""

    def __init__(self, held: dict[str, bytes] | None = None) -> None:
        self.held = held
        self.asked: list[tuple[str, int, int]] = []

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        self.asked.append((path, offset, length))
        if self.held is None:
            return Path(path).read_bytes()[offset : offset + length]
        if path not in self.held:
            raise FileNotFoundError(path)
        return self.held[path][offset : offset + length]


def entry(rows: list[int]) -> bytes:
    data = encode(pa.array(rows, pa.int64()))
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def descriptor(rows: list[int], offset: int | None = 1, **changed: Any) -> DeletionVectorDescriptor:
    fields: dict[str, Any] = {
        "storage_type": "p",
        "path_or_inline_dv": "/t/dv.bin",
        "size_in_bytes": len(entry(rows)) - 8,
        "cardinality": len(rows),
        "offset": offset,
    }
    return DeletionVectorDescriptor(**(fields | changed))


def column(descriptors: list[DeletionVectorDescriptor | None]) -> pa.StructArray:
    names = [field.name for field in DELETION_VECTOR]
    rows = [None if d is None else {name: getattr(d, name) for name in names} for d in descriptors]
    return pa.array(rows, DELETION_VECTOR)


@pytest.mark.parametrize(
    ("root", "storage_type", "text", "location"),
    [
        ("s3://mytable", "u", "ab" + UUID_TEXT, f"s3://mytable/ab/{UUID_NAME}"),
        ("s3://mytable", "u", UUID_TEXT, f"s3://mytable/{UUID_NAME}"),
        ("/data/my table", "u", UUID_TEXT, f"/data/my table/{UUID_NAME}"),
        ("file:///data/my%20table", "u", UUID_TEXT, f"/data/my table/{UUID_NAME}"),
        ("/t", "u", "a%20b" + UUID_TEXT, f"/t/a%20b/{UUID_NAME}"),
        ("/t", "p", f"s3://mytable/{UUID_NAME}", f"s3://mytable/{UUID_NAME}"),
        ("/t", "p", "file:///other/a%20b%2541.bin", "/other/a b%41.bin"),
        ("/t", "i", "anything", None),
        ("/t", "r", f"data/a b%41/{UUID_NAME}", f"/t/data/a b%41/{UUID_NAME}"),
        ("s3://mytable", "r", f"data/{UUID_NAME}", f"s3://mytable/data/{UUID_NAME}"),
    ],
)
def test_a_descriptor_names_its_file(root: str, storage_type: str, text: str, location: str | None) -> None:
    assert vector_location(root, DeletionVectorDescriptor(storage_type, text, 40, 6, 4)) == location


@pytest.mark.parametrize(
    ("storage_type", "text"),
    [
        ("u", "short"),
        ("u", "##093" * 4),
        ("u", "é" * 20),
        ("p", "file:///%FF"),
        ("r", "/d/v"),
        ("r", "a/../../v"),
        ("r", ""),
    ],
)
def test_a_descriptor_that_names_no_file_is_refused(storage_type: str, text: str) -> None:
    with pytest.raises(CorruptDeletionVector, match="/t"):
        vector_location("/t", DeletionVectorDescriptor(storage_type, text, 40, 6, 4))


def test_a_storage_type_of_a_later_protocol_is_not_supported_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="storage type 'x'"):
        vector_location("/t", DeletionVectorDescriptor("x", UUID_TEXT, 40, 6, 4))


def test_a_vector_by_the_path_of_its_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a b%41").mkdir()
    (tmp_path / "a b%41" / "v.bin").write_bytes(b"\x01" + entry(PROTOCOL_ROWS))
    found = descriptor(PROTOCOL_ROWS, storage_type="r", path_or_inline_dv="a b%41/v.bin")
    rows = read_deletion_vector(LocalStorage(), str(tmp_path), found)
    assert rows.to_pylist() == PROTOCOL_ROWS
    keys = deletion_vectors.vector_keys(str(tmp_path), column([found]))
    assert keys.to_pylist() == ["a b%41/v.bin"]


def test_the_inline_example_of_the_protocol_is_read() -> None:
    inline = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6)
    assert read_deletion_vector(Files({}), "/t", inline).to_pylist() == PROTOCOL_ROWS


@given(st.lists(st.integers(0, 10**6), unique=True).map(sorted))
def test_inline_vectors_are_read_without_their_padding(rows: list[int]) -> None:
    data = encode(pa.array(rows, pa.int64()))
    text = z85_encode(data + b"\0" * (-len(data) % 4))
    inline = DeletionVectorDescriptor("i", text, len(data), len(rows))
    assert read_deletion_vector(Files({}), "/t", inline).to_pylist() == rows


def test_an_empty_inline_vector_deletes_nothing() -> None:
    assert read_deletion_vector(Files({}), "/t", DeletionVectorDescriptor("i", "", 0, 0)).to_pylist() == []


@pytest.mark.parametrize("size", [36, 41, 44, 0])
def test_an_inline_vector_of_another_size_is_refused(size: int) -> None:
    inline = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", size, 6)
    refuses(CorruptDeletionVector, "inline in the log", lambda: read_deletion_vector(Files({}), "/t", inline))


@pytest.mark.parametrize("offset", [1, 0, None])
def test_a_vector_is_read_at_its_offset_or_behind_the_version_byte(offset: int | None) -> None:
    storage = Files({"/t/dv.bin": b"\x01" + entry([5, 9])})
    assert read_deletion_vector(storage, "/t", descriptor([5, 9], offset)).to_pylist() == [5, 9]
    assert len(storage.asked) == 1


@pytest.mark.parametrize("offset", [0, None])
def test_a_vector_without_offset_may_lie_at_the_first_byte(offset: int | None) -> None:
    storage = Files({"/t/dv.bin": entry([5, 9])})
    assert read_deletion_vector(storage, "/t", descriptor([5, 9], offset)).to_pylist() == [5, 9]


def test_a_file_that_is_not_there_is_named() -> None:
    refuses(DataFileMissing, r"/t .*/t/dv\.bin", lambda: read_deletion_vector(Files({}), "/t", descriptor([1])))


WHOLE = b"\x01" + entry([5, 9])


@looped(
    "held, changed, reason",
    [
        (b"", {}, "empty"),
        (b"\x02" + WHOLE[1:], {}, "version is 2"),
        (WHOLE[:3], {}, "before its size"),
        (WHOLE[:20], {}, "ends after 15 of its"),
        (WHOLE[:-1], {}, "before its checksum"),
        (WHOLE[:-5] + b"\xff" + WHOLE[-4:], {}, "CRC-32"),
        (WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), {}, "CRC-32"),
        (WHOLE, {"size_in_bytes": 37}, "in the file and 37 in the log"),
        (WHOLE, {"cardinality": 3}, "number of rows differs from the cardinality"),
        (WHOLE, {"cardinality": 2**63}, "too large"),
        (WHOLE, {"offset": 2}, "its size is"),
        (WHOLE, {"offset": 500}, "before its size"),
        (WHOLE, {"offset": None, "size_in_bytes": 11}, "its size is"),
        (WHOLE, {"offset": -1}, "offset -1"),
        (WHOLE, {"size_in_bytes": -1}, "size -1"),
    ],
)
def test_each_failed_check_is_named_with_the_file(held: bytes, changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(CorruptDeletionVector, match=reason) as raised:
        read_deletion_vector(Files({"/t/dv.bin": held}), "/t", descriptor([5, 9], **changed))
    assert "/t/dv.bin" in str(raised.value)


def test_a_checksum_that_fits_damaged_contents_does_not_save_them() -> None:
    data = b"\0" * 20
    held = b"\x01" + struct.pack(">I", 20) + data + struct.pack(">I", zlib.crc32(data))
    with pytest.raises(CorruptDeletionVector, match="magic number"):
        read_deletion_vector(Files({"/t/dv.bin": held}), "/t", descriptor([5], size_in_bytes=20))


def test_vectors_of_one_file_are_read_together_and_in_the_callers_order() -> None:
    vectors = [[i, i + 7, 100_000 * i + 9] for i in range(1, 40)]
    held, offsets = b"\x01", []
    for rows in vectors:
        offsets.append(len(held))
        held += entry(rows)
    wanted = [descriptor(rows, offset) for rows, offset in zip(vectors, offsets, strict=True)]
    shuffled = [*wanted[::-2], None, *wanted[:5]]
    expected = [*vectors[::-2], None, *vectors[:5]]
    storage = Files({"/t/dv.bin": held})
    found = read_deletion_vectors(storage, "/t", column(shuffled))
    assert [None if rows is None else rows.to_pylist() for rows in found] == expected
    assert len(storage.asked) == 1


def test_far_vectors_are_read_alone_and_large_files_in_parts() -> None:
    near, far, rows = entry([1]), 3_000_000, list(range(0, 40_000_000, 5))
    large = entry(rows)
    held = b"\x01" + near + b"\0" * (far - 1 - len(near)) + entry([2]) + large
    wanted = [descriptor([2], far), descriptor(rows, far + len(entry([2]))), descriptor([1], 1)]
    storage = Files({"/t/dv.bin": held})
    found = read_deletion_vectors(storage, "/t", column(wanted))
    assert [len(rows) for rows in found if rows is not None] == [1, len(rows), 1]
    assert [(offset, length < 10_000_000) for _, offset, length in storage.asked] == [(0, True), (far, True)]


def test_the_version_byte_of_a_far_vector_is_checked() -> None:
    far = 3_000_000
    with pytest.raises(CorruptDeletionVector, match="version is 7"):
        read_deletion_vector(Files({"/t/dv.bin": b"\x07" + b"\0" * (far - 1) + entry([2])}), "/t", descriptor([2], far))


def test_files_inline_vectors_and_nulls_mix() -> None:
    held = {"/t/dv.bin": WHOLE, f"/t/{UUID_NAME}": b"\x01" + entry([8])}
    inline = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6)
    relative = descriptor([8], storage_type="u", path_or_inline_dv=UUID_TEXT)
    found = read_deletion_vectors(Files(held), "/t", column([None, inline, relative, descriptor([5, 9])]))
    assert [None if rows is None else rows.to_pylist() for rows in found] == [None, PROTOCOL_ROWS, [8], [5, 9]]
    assert read_deletion_vectors(Files({}), "/t", column([])) == []


def test_a_struct_without_its_fields_is_refused() -> None:
    empty = pa.array([{"storage_type": None}], DELETION_VECTOR)
    refuses(CorruptDeletionVector, "no storage_type", lambda: read_deletion_vectors(Files({}), "/t", empty))


@settings(max_examples=extent(50, 300), deadline=None)
@given(st.data())
def test_no_damage_to_a_file_is_read_as_other_rows(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, 300_000), min_size=1, unique=True).map(sorted))
    held = bytearray(b"\x01" + entry(rows))
    if data.draw(st.booleans()):
        held[data.draw(st.integers(0, len(held) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del held[data.draw(st.integers(0, len(held) - 1)) :]
    with pytest.raises(CorruptDeletionVector):
        read_deletion_vector(Files({"/t/dv.bin": bytes(held)}), "/t", descriptor(rows))


def logged_vectors(table: corpus.CorpusTable) -> dict[str, DeletionVectorDescriptor]:
    """Every deletion vector of the table's commits by its unique id."""
    found: dict[str, DeletionVectorDescriptor] = {}
    for commit in sorted((table.path / "_delta_log").glob("[0-9]*.json")):
        for line in commit.read_text(encoding="utf-8").splitlines():
            if '"deletionVector"' not in line:
                continue
            action = json.loads(line)
            for kind in ("add", "remove"):
                if action.get(kind, {}).get("deletionVector"):
                    vector = DeletionVectorDescriptor.from_json(action[kind]["deletionVector"])
                    found[vector.unique_id] = vector
    return found


@corpus.each_version("read", where=lambda version: any(file.get("dv") for file in version["files"]))
def test_real_tables_have_the_rows_of_the_reference(table: corpus.CorpusTable, version: dict[str, Any]) -> None:
    logged, files = logged_vectors(table), version["files"]
    wanted = [logged[file["dv"]] if file.get("dv") else None for file in files]
    found = read_deletion_vectors(Files(), str(table.path), column(wanted))
    live = 0
    for file, rows in zip(files, found, strict=True):
        assert (rows is not None) == bool(file.get("dv"))
        live += file["num_records"]
        if rows is not None:
            assert len(rows) == file["dv_cardinality"]
            assert rows[0].as_py() >= 0
            assert rows[-1].as_py() < file["num_records"]
            live -= len(rows)
    if "count" in version["rows"]:
        assert live == version["rows"]["count"]


def test_inline_vectors_of_a_real_table_are_read() -> None:
    table = corpus.table("kernelrs__cdf-table-with-dv")
    inline = [v for v in logged_vectors(table).values() if v.storage_type == "i" and "##" not in v.path_or_inline_dv]
    rows = [read_deletion_vector(Files({}), str(table.path), vector).to_pylist() for vector in inline]
    assert sorted(rows) == [[0, 1, 4, 5], [0, 5]]


def test_text_that_is_no_z85_is_refused_though_a_real_table_holds_it() -> None:
    table = corpus.table("kernelrs__cdf-table-with-dv")
    vector = next(v for v in logged_vectors(table).values() if "##" in v.path_or_inline_dv)
    refuses(CorruptDeletionVector, "32 bits", lambda: read_deletion_vector(Files(), str(table.path), vector))


@pytest.mark.parametrize(
    ("name", "reason"), [("craft__dv_bad_checksum", "CRC-32"), ("craft__dv_wrong_size", "in the file and")]
)
def test_damaged_real_vectors_are_refused(name: str, reason: str) -> None:
    table = corpus.table(name)
    vectors = [logged_vectors(table)[f["dv"]] for f in table.versions[0]["files"] if f.get("dv")]
    refuses(CorruptDeletionVector, reason, lambda: read_deletion_vectors(Files(), str(table.path), column(vectors)))
    for in_file in {vector_location(str(table.path), vector) for vector in vectors}:
        together = [v for v in vectors if vector_location(str(table.path), v) == in_file]
        assert any(refused(table, vector) for vector in together)


def refused(table: corpus.CorpusTable, vector: DeletionVectorDescriptor) -> bool:
    try:
        return len(read_deletion_vector(Files(), str(table.path), vector)) != vector.cardinality
    except CorruptDeletionVector:
        return True


def test_every_file_of_vectors_in_the_corpus_has_a_good_checksum(shared: Path) -> None:
    read = 0
    for table in corpus.tables():
        if table.name in ("craft__dv_bad_checksum", "craft__dv_wrong_size"):
            continue
        for vector in logged_vectors(table).values():
            location = vector_location(str(table.path), vector)
            if location is not None and Path(location).exists():
                assert len(read_deletion_vector(Files(), str(table.path), vector)) == vector.cardinality
                read += 1
    assert read > 100


@pytest.mark.parametrize("prefix", ["", "Ab"])
def test_written_vectors_are_read_back_and_have_the_format_of_the_protocol(tmp_path: Path, prefix: str) -> None:
    rows = [pa.array(each, pa.int64()) for each in ([0], [5, 1 << 33], list(range(0, 200_000, 3)), [])]
    written = write_deletion_vectors(LocalStorage(), str(tmp_path), rows, prefix)
    [path] = written.paths
    content = (tmp_path / path).read_bytes()
    assert path.startswith(f"{prefix}/deletion_vector_" if prefix else "deletion_vector_")
    assert content[0] == 1
    assert written.descriptors[0].offset == 1
    for descriptor, expected in zip(written.descriptors, rows, strict=True):
        assert descriptor.storage_type == "u"
        assert len(descriptor.path_or_inline_dv) == 20 + len(prefix)
        assert descriptor.cardinality == len(expected)
        start, size = descriptor.offset, descriptor.size_in_bytes
        assert int.from_bytes(content[start : start + 4], "big") == size
        assert int.from_bytes(content[start + 4 + size :][:4], "big") == zlib.crc32(content[start + 4 :][:size])
        assert read_deletion_vector(LocalStorage(), str(tmp_path), descriptor).equals(expected)


def test_vectors_of_many_bytes_are_in_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion_vectors, "_FILE_BYTES", 100)
    rows = [pa.array([i, i + 2], pa.int64()) for i in range(10)]
    written = write_deletion_vectors(LocalStorage(), str(tmp_path), rows)
    assert len(written.paths) > 2
    for descriptor, expected in zip(written.descriptors, rows, strict=True):
        assert read_deletion_vector(LocalStorage(), str(tmp_path), descriptor).equals(expected)
    assert write_deletion_vectors(LocalStorage(), str(tmp_path), []).paths == ()
