"""Decoding of a Hadoop directory listing, an array of FileStatus serialized by ArrayWritable.write.

The format is the number of statuses and, for each, its size and a FileStatusProto of that many bytes; numbers are
4-byte big-endian. The message has (Hadoop 3, FSProtos.proto) 1 type, 2 path, 3 length in bytes, 7 modification
time in ms.
"""

from deltaskip.errors import StorageError
from deltaskip.storage.interface import FileInfo, not_a_directory
from deltaskip.storage.location import join

_TYPE, _PATH, _LENGTH, _MODIFIED = 1, 2, 3, 7
_KINDS = {1: "directory", 2: "file", 3: "link that cannot be followed"}
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def file_infos(data: bytes, directory: str, start_name: str) -> list[FileInfo]:
    """Return the entries of a directory listing with names >= start_name, sorted by name.

    Raises NotADirectory if a status is that of `directory` itself, and StorageError if the bytes are not a listing.
    """
    found = []
    at = 4
    for _ in range(int.from_bytes(data[:4], "big")):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        try:
            kind, path, size, modified_ms = _status(data, at + 4, end)
        except (IndexError, ValueError) as error:
            raise StorageError(
                f"Cannot read {directory}: the format of its listing is not supported ({error})."
            ) from error
        name = path.rpartition("/")[2]
        if name >= start_name:
            found.append(FileInfo(name, join(directory, name), size, modified_ms, _KINDS.get(kind, "special file")))
        at = end
        if path.rstrip("/") == directory.rstrip("/"):
            raise not_a_directory(directory)
    return sorted(found, key=lambda info: info.name)


def _status(data: bytes, at: int, end: int) -> tuple[int, str, int, int]:
    if end > len(data):
        raise ValueError("it is truncated")
    path = b""
    numbers = {_TYPE: 0, _LENGTH: 0, _MODIFIED: 0}
    while at < end:
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            if field in numbers:
                numbers[field] = value
                if field == _MODIFIED:
                    # Fields are written in order, and the later ones are not needed.
                    break
        elif wire == _BYTES:
            length, at = _varint(data, at)
            if field == _PATH:
                path = data[at : at + length]
            at += length
        elif wire in (_FIXED_32, _FIXED_64):
            at += 4 if wire == _FIXED_32 else 8
        else:
            raise ValueError(f"wire type {wire}")
    return numbers[_TYPE], path.decode(), numbers[_LENGTH], numbers[_MODIFIED]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
