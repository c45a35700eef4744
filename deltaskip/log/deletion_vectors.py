"""Reading and writing deletion vectors: the rows of a data file that are deleted from the table.

# PROTOCOL, Deletion Vectors and Deletion Vector File Storage Format. A file is one version byte (1) followed by
# vectors: each a big-endian size, its bytes and their big-endian CRC-32. A descriptor's offset is the offset of the
# size.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, cast
from urllib.parse import quote
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import DELETION_VECTOR_FIELDS, STORAGE_TYPES, DeletionVectorDescriptor, hadoop_path, table_key
from deltaskip.actions.file_actions import UUID_CHARACTERS
from deltaskip.errors import CorruptDeletionVector, DataFileMissing, DeltaSkipError, UnsupportedFeature
from deltaskip.kernels.deletion_vector import decode
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_decode, z85_encode
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.storage import Storage, is_local, join, storage_for
from deltaskip.storage.gate import delete_file

_FORMAT_VERSION = 1
_SIZE_BYTES = 4
_CHECKSUM_BYTES = 4
# Vectors at most this far apart are read in one request, which is limited to _REQUEST_BYTES except for larger vectors.
_GAP_BYTES = 256 << 10
_REQUEST_BYTES = 8 << 20
# Offsets are 32-bit numbers, and a file of this size is still read in few requests.
_FILE_BYTES = 256 << 20


class RangeStorage(Protocol):
    """The storage interface that reading deletion vectors needs; storage.Storage implements it."""

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes from `offset`, fewer at the end of the file. Raises FileNotFoundError."""
        ...


def vector_location(table_root: str, descriptor: DeletionVectorDescriptor) -> str | None:
    """Return the location of the vector's file for storage; None for an inline vector, which has no file.

    table_root: the table's URI or absolute local path. Raises CorruptDeletionVector if the descriptor is invalid.
    """
    text = descriptor.path_or_inline_dv
    try:
        match descriptor.storage_type:
            case "i":
                return None
            case "p":
                return hadoop_path(table_root, text)
            case "u":
                if len(text) < UUID_CHARACTERS:
                    raise ValueError(f"{text!r} is shorter than the {UUID_CHARACTERS} characters of a UUID")
                prefix = vector_folder(descriptor)
                name = vector_file_name(UUID(bytes=z85_decode(text[-UUID_CHARACTERS:])))
                # The prefix is the literal name of a folder, but hadoop_path decodes its argument.
                return hadoop_path(table_root, f"{quote(prefix)}/{name}" if prefix else name)
            case "r":
                if not all(part.strip(".") for part in text.split("/")):
                    raise ValueError(f"{text!r} is not the path of a file below the table")
                return hadoop_path(table_root, quote(text))
            case unknown:
                raise UnsupportedFeature(
                    f"The deletion vector {descriptor.unique_id} of {table_root} has the storage type {unknown!r}, "
                    f"which deltaskip does not support (it reads {', '.join(STORAGE_TYPES)}); use a newer client."
                )
    except ValueError as error:
        raise _corrupt(table_root, descriptor.unique_id, str(error)) from error


def vector_folder(descriptor: DeletionVectorDescriptor) -> str:
    """Return the folder of the vector's file below the table, from a descriptor of storage type u."""
    return descriptor.path_or_inline_dv[:-UUID_CHARACTERS]


def vector_keys(table_root: str, vectors: pa.Array) -> pa.Array:
    """Return the keys of the files that contain deletion vectors; vectors: structs of FILE_SCHEMA or of the log."""
    if vectors.null_count == len(vectors):
        return pa.nulls(0, pa.string())
    fields = dict(zip((each.name for each in vectors.type), vectors.flatten(), strict=True))
    kinds = fields.get("storage_type", fields.get("storageType"))
    texts = fields.get("path_or_inline_dv", fields.get("pathOrInlineDv"))
    # A file contains the vectors of many data files.
    named = pc.binary_join_element_wise(kinds, texts, arrow_scalar("", pa.string()))
    named = named.filter(pc.not_equal(kinds, arrow_scalar("i", pa.string())))
    unique = pc.unique(named).drop_null().to_pylist()
    root, keys = hadoop_path(table_root, "x")[:-1], []
    for text in unique:
        location = vector_location(table_root, DeletionVectorDescriptor(text[0], text[1:], 0, 0))
        if location is not None and text[0] in "ur":
            keys.append(location.removeprefix(root))
        elif location is not None:
            keys.append(table_key(table_root, text[1:]))
    return arrow_array(keys, pa.string())


def read_deletion_vector(
    storage: RangeStorage, table_root: str, descriptor: DeletionVectorDescriptor, file_rows: int | None = None
) -> pa.Int64Array:
    """Return the ordinals, from 0, of the rows that the vector deletes, in ascending order.

    Args:
        storage: Storage that contains the vector's file.
        table_root: The table's URI or absolute local path.
        descriptor: Descriptor of the vector in the log.
        file_rows: Number of rows of the data file; None if it is not known; memory is then unbounded.

    Raises:
        CorruptDeletionVector: Size, checksum, contents or cardinality differ from the descriptor, or the vector deletes
            rows that the data file does not have. The message names the file and the failed check.
        DataFileMissing: The vector's file does not exist.
    """
    _check_cardinality(table_root, descriptor, file_rows)
    location = vector_location(table_root, descriptor)
    if location is None:
        rows = _inline_rows(table_root, descriptor)
    else:
        ((_, rows),) = _rows_of_file(storage, table_root, location, [(0, descriptor)])
    _check_last(table_root, descriptor, rows, file_rows)
    return rows


def read_deletion_vectors(
    storage: RangeStorage, table_root: str, descriptors: pa.StructArray, file_rows: Sequence[int | None] | None = None
) -> list[pa.Int64Array | None]:
    """Return the rows of each descriptor as read_deletion_vector does; None for a null struct.

    descriptors: the `deletion_vector` column of FILE_SCHEMA. file_rows: the number of rows of each data file, see
    `log.deleted_rows`. Vectors of one file are read together, adjacent ones in one request. Besides the rows, at most
    one request is held in memory.
    """
    counts = [None] * len(descriptors) if file_rows is None else file_rows
    rows: list[pa.Int64Array | None] = [None] * len(descriptors)
    by_location: dict[str, list[tuple[int, DeletionVectorDescriptor]]] = {}
    locations: dict[tuple[str, str], str | None] = {}
    for i, fields in enumerate(descriptors.to_pylist()):
        if fields is None:
            continue
        descriptor = _descriptor(table_root, fields)
        _check_cardinality(table_root, descriptor, counts[i])
        name = descriptor.storage_type, descriptor.path_or_inline_dv
        if name not in locations:
            locations[name] = vector_location(table_root, descriptor)
        location = locations[name]
        if location is None:
            rows[i] = _inline_rows(table_root, descriptor)
            _check_last(table_root, descriptor, rows[i], counts[i])
        else:
            by_location.setdefault(location, []).append((i, descriptor))
    for location, wanted in by_location.items():
        of_number = dict(wanted)
        for i, found in _rows_of_file(storage, table_root, location, wanted):
            _check_last(table_root, of_number[i], found, counts[i])
            rows[i] = found
    return rows


def _check_cardinality(table_root: str, descriptor: DeletionVectorDescriptor, file_rows: int | None) -> None:
    """Refuse a vector that deletes more rows than its file has, before memory is allocated for them."""
    if file_rows is not None and descriptor.cardinality > file_rows:
        why = f"it deletes {descriptor.cardinality:,} rows of a file that has {file_rows:,}"
        raise _corrupt(table_root, descriptor.unique_id[:80], why)


def _check_last(
    table_root: str, descriptor: DeletionVectorDescriptor, rows: pa.Int64Array, file_rows: int | None
) -> None:
    if file_rows is not None and len(rows) and rows[-1].as_py() >= file_rows:
        why = f"it deletes row {rows[-1].as_py():,}, counted from 0, of a file that has {file_rows:,}"
        raise _corrupt(table_root, descriptor.unique_id[:80], why)


@dataclass(frozen=True, slots=True)
class WrittenVectors:
    """Deletion vectors in storage that no commit refers to yet.

    descriptors: one for each set of rows, in their order. paths: the files, below the table's root.
    """

    descriptors: tuple[DeletionVectorDescriptor, ...]
    paths: tuple[str, ...]


def write_deletion_vectors(
    storage: Storage,
    root: str,
    rows: Iterable[pa.Int64Array],
    prefix: str = "",
    put: Callable[[str, bytes], None] | None = None,
) -> WrittenVectors:
    """Write deletion vectors into as few files as possible. Each file begins with the version byte.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        rows: For each data file the ordinals of its deleted rows, from 0, in ascending order.
        prefix: Folder below the root, of letters and digits; "" for the root.
        put: Creates a file; None to make each file durable at once.

    Raises:
        StorageError: A file cannot be written. The files so far are deleted.
    """
    descriptors: list[DeletionVectorDescriptor] = []
    paths: list[str] = []
    content, offset = bytearray(), 0
    name, put = uuid4(), storage.put if put is None else put
    try:
        for each in rows:
            data = encode(each)
            if content and len(content) + len(data) > _FILE_BYTES:
                _put_vectors(put, root, prefix, name, content, paths)
                content, name = bytearray(), uuid4()
            if not content:
                content.append(_FORMAT_VERSION)
            offset = len(content)
            size, checksum = len(data).to_bytes(_SIZE_BYTES, "big"), zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "big")
            content += size + data + checksum
            text = f"{prefix}{z85_encode(name.bytes)}"
            descriptors.append(DeletionVectorDescriptor("u", text, len(data), len(each), offset))
        if content:
            _put_vectors(put, root, prefix, name, content, paths)
    except BaseException:
        for path in paths:
            with suppress(OSError, DeltaSkipError):
                delete_file(storage, root, path)
        raise
    return WrittenVectors(tuple(descriptors), tuple(paths))


def _put_vectors(
    put: Callable[[str, bytes], None], root: str, prefix: str, name: UUID, content: bytearray, paths: list[str]
) -> None:
    path = f"{prefix}/{vector_file_name(name)}" if prefix else vector_file_name(name)
    paths.append(path)
    put(join(root, path), bytes(content))


def vector_file_name(name: UUID) -> str:
    """Return the name of the file of vectors of storage type u."""
    return f"deletion_vector_{name}.bin"


@dataclass(frozen=True, slots=True)
class _Request:
    """A byte range of a file to read at once, and the numbered descriptors of the vectors in it."""

    start: int
    stop: int
    wanted: tuple[tuple[int, DeletionVectorDescriptor], ...]


def _descriptor(table_root: str, fields: dict[str, object]) -> DeletionVectorDescriptor:
    """The descriptor as an object; fields: a struct of FILE_SCHEMA's `deletion_vector`."""
    for name in DELETION_VECTOR_FIELDS.required:
        if fields[name] is None:
            raise _corrupt(table_root, "of a file", f"its descriptor has no {name}")
    return DeletionVectorDescriptor(**fields)  # type: ignore[arg-type]


def _inline_rows(table_root: str, descriptor: DeletionVectorDescriptor) -> pa.Int64Array:
    if descriptor.cardinality == 0 and descriptor.size_in_bytes == 0:
        return arrow_array([], pa.int64())
    size = descriptor.size_in_bytes
    try:
        data = z85_decode(descriptor.path_or_inline_dv)
        # Z85 encodes whole words, so up to three bytes at the end are padding.
        if not 0 <= len(data) - size < 4:
            raise ValueError(f"its text has {len(data)} bytes, but its descriptor has size {size}")
        return decode(data[:size], descriptor.cardinality)
    except (ValueError, OverflowError) as error:
        raise _corrupt(table_root, "inline in the log", str(error)) from error


def _rows_of_file(
    storage: RangeStorage, table_root: str, location: str, wanted: Sequence[tuple[int, DeletionVectorDescriptor]]
) -> Iterator[tuple[int, pa.Int64Array]]:
    """The rows of each numbered descriptor, all of one file."""
    storage = _storage_of(location, storage)
    for request in _requests(table_root, location, wanted):
        try:
            data = storage.read_range(location, request.start, request.stop - request.start)
        except FileNotFoundError as error:
            raise DataFileMissing(
                f"The log of table {table_root} references the deletion vector file {location}, which does not exist; "
                "VACUUM may have deleted it: read a later version of the table, or restore the file."
            ) from error
        if request.start == 0 and any(descriptor.offset for _, descriptor in wanted):
            _check_version(table_root, location, data)
        for i, descriptor in request.wanted:
            try:
                yield i, _stored_rows(memoryview(data), request.start, descriptor)
            except (ValueError, OverflowError) as error:
                raise _corrupt(table_root, f"at byte {descriptor.offset or 0} of {location}", str(error)) from error


def _storage_of(location: str, storage: RangeStorage) -> RangeStorage:
    """The storage of a vector's file; it is not the table's in a clone of a table in another storage."""
    if not hasattr(storage, "base"):  # not a Storage, for which isinstance would look at every method
        return storage
    own = cast(Storage, storage)
    same = location.startswith(f"{own.base}/") if own.base else is_local(location)
    return own if same else storage_for(location, near=own)


def _requests(
    table_root: str, location: str, wanted: Sequence[tuple[int, DeletionVectorDescriptor]]
) -> Iterator[_Request]:
    """Yield the fewest requests that read all vectors and the version byte, which comes first."""
    start, stop = 0, 1
    together: list[tuple[int, DeletionVectorDescriptor]] = []
    for i, descriptor in sorted(wanted, key=lambda numbered: numbered[1].offset or 0):
        offset, size = descriptor.offset or 0, descriptor.size_in_bytes
        if offset < 0 or size < 0:
            raise _corrupt(table_root, f"in {location}", f"its descriptor has offset {offset} and size {size}")
        # A vector without an offset is at byte 0 or after the version byte; one more byte covers both.
        end = (offset or 1) + _SIZE_BYTES + size + _CHECKSUM_BYTES
        if offset - stop > _GAP_BYTES or end - start > _REQUEST_BYTES:
            yield _Request(start, stop, tuple(together))
            start, stop, together = offset, end, []
        stop = max(stop, end)
        together.append((i, descriptor))
    yield _Request(start, stop, tuple(together))


def _check_version(table_root: str, location: str, data: bytes) -> None:
    if data[:1] != bytes([_FORMAT_VERSION]):
        found = f"its format version is {data[0]}, not {_FORMAT_VERSION}" if data else "the file is empty"
        raise _corrupt(table_root, f"file {location}", found)


def _stored_rows(data: memoryview, start: int, descriptor: DeletionVectorDescriptor) -> pa.Int64Array:
    """The rows of the vector in `data`, the file's bytes from `start` on. Raises ValueError with the failed check."""
    size = descriptor.size_in_bytes
    at = _size_position(data, descriptor) if not descriptor.offset else descriptor.offset - start
    body = data[at + _SIZE_BYTES : at + _SIZE_BYTES + size]
    checksum = data[at + _SIZE_BYTES + size :][:_CHECKSUM_BYTES]
    stored_size = _big_endian(data[at:][:_SIZE_BYTES], "size")
    if stored_size != size:
        raise ValueError(f"its size is {stored_size} bytes in the file and {size} in the log")
    if len(body) < size:
        raise ValueError(f"the file ends after {len(body)} of its {size} bytes")
    expected, computed = _big_endian(checksum, "checksum"), zlib.crc32(body)
    if expected != computed:
        raise ValueError(f"its CRC-32 is {computed:08x}, but the file contains {expected:08x}")
    return decode(body, descriptor.cardinality)


def _size_position(data: memoryview, descriptor: DeletionVectorDescriptor) -> int:
    """Position of the size if the log has no offset: byte 0, or byte 1 after a version byte.

    delta-spark uses byte 0 and Delta's Rust kernel byte 1. The position that contains the log's size is the right one,
    or byte 0 if both do; checksum and cardinality confirm it.
    """
    size = descriptor.size_in_bytes
    behind_version = data[:1] == bytes([_FORMAT_VERSION]) and data[1:5] == size.to_bytes(_SIZE_BYTES, "big")
    return 1 if behind_version and data[:4] != size.to_bytes(_SIZE_BYTES, "big") else 0


def _big_endian(data: memoryview, what: str) -> int:
    if len(data) < 4:
        raise ValueError(f"the file ends before its {what}")
    return int.from_bytes(data, "big")


def _corrupt(table_root: str, where: str, reason: str) -> CorruptDeletionVector:
    return CorruptDeletionVector(
        f"The deletion vector {where} of table {table_root} is corrupt: {reason.rstrip('.')}; "
        "restore the file, or read an earlier version of the table."
    )
