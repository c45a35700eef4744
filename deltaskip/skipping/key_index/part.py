"""The format of a part of a key index: fingerprints of the keys of one column in up to 65,535 data files.

A part is a file that is written once and never changed:

    blocks     one for each range of hashes: a checksum (4 bytes), then the fingerprints (2 bytes each) of its keys,
               then the numbers of the data files that have them (2 bytes each)
    header     Arrow's stream format: the data files, with the column, the table and the counts as metadata
    offsets    4 bytes for each block and one more: how many keys are before it
    tail       what the header, the offsets and the file measure, their checksum, and a magic number

A key with the hash h (48 bits) is in block `(h >> 16) * blocks >> 32`, its fingerprint is the last 16 bits of h. With
256 keys in a block on average, a key that a part does not have is reported for one data file in 256 look-ups. A key
takes 32 bits, its share of offsets and checksum 0.25, its share of the names of data files less at a thousand keys a
file.

A part is believed as a whole or not at all: its tail and header when it is opened, each block when it is read.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.json_text import parse_json
from deltaskip.records import dataclass
from deltaskip.skipping.key_index.key_columns import Hashes, kind_of
from deltaskip.sparkexpr.values.arrow_values import filled, one_chunk
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.storage import FileInfo, Storage
from deltaskip.storage.range_file import Range, read_ranges

KNOWN_FILES = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64())])
"""The data files of a part: the key of the path, and what identifies the add action beside it."""

MOST_FILES = (1 << 16) - 1
"""The most data files of a part."""

_MAGIC = b"DSKEYS1\n"
_TAIL = struct.Struct("<QQQI8s")
_METADATA = b"deltaskip.keys"
_KEYS_OF_BLOCK = 256
_ENTRY_BYTES, _CHECKSUM_BYTES = 4, 4
# Enough for the header of ten thousand files and the offsets of millions of keys, in one request.
_HEAD_BYTES = 1 << 20
# Keys that are compared with the fingerprints of their blocks at once.
_AT_ONCE = 4096


class DamagedPart(ValueError):
    """A part is not what its writer has written."""


@dataclass(frozen=True, slots=True)
class PartOf:
    """The place of a part.

    Attributes:
        table_id: Identifier of the table.
        column: Physical names of the column.
        kind: Kind of its hashes, see `kind_of`.
    """

    table_id: str
    column: tuple[str, ...]
    kind: str

    @classmethod
    def of(cls, table_id: str, column: StatColumn) -> PartOf:
        """Return the place of a part of a column."""
        return cls(table_id, column.physical, kind_of(column.type) or "")


def packed(hashes_: Hashes, file: int) -> Hashes:
    """Return keys as a part sorts them: 48 bits of the hash, then the number of the data file."""
    return (hashes_ & ~np.uint64(0xFFFF)) | np.uint64(file)


class PartWriter:
    """Writes a part from sorted keys.

    Args:
        sink: The file.
        place: The place of the part.
        files: The data files, by their numbers (KNOWN_FILES).
        keys: How many keys will come, at most.
    """

    def __init__(self, sink: IO[bytes], place: PartOf, files: pa.Table, keys: int) -> None:
        self._sink = sink
        self._place = place
        self._files = files
        self.blocks = max(1, -(-keys // _KEYS_OF_BLOCK))
        self._offsets = [np.zeros(1, np.uint32)]
        self.keys = 0
        self._next = 0

    def bounds(self, blocks: int) -> list[int]:
        """Return the first packed key of every so many blocks, and the end of all."""
        starts = [*range(0, self.blocks, blocks), self.blocks]
        return [-(-(each << 32) // self.blocks) << 32 for each in starts]

    def put(self, keys: Hashes) -> None:
        """Write the keys of the next blocks, sorted and without duplicates; every key of each of them."""
        places = _block_of(keys, self.blocks)
        end = int(places[-1]) + 1 if len(places) else self._next
        counts = np.searchsorted(places, np.arange(self._next + 1, end + 1))
        data = (keys >> np.uint64(16)).astype("<u2").tobytes()
        numbers = keys.astype("<u2").tobytes()
        start, chunks = 0, []
        for block, stop in enumerate((2 * counts).tolist(), self._next):
            first, second = data[start:stop], numbers[start:stop]
            chunks += [_checksum(block, first, second), first, second]
            start = stop
        self._sink.write(b"".join(chunks))
        self._offsets.append((counts + self.keys).astype(np.uint32))
        self.keys += len(keys)
        self._next = end

    def close(self) -> None:
        """Write what follows the blocks."""
        if self._next < self.blocks:
            empty = [_checksum(block, b"", b"") for block in range(self._next, self.blocks)]
            self._sink.write(b"".join(empty))
            self._offsets.append(np.full(len(empty), self.keys, np.uint32))
        place = self._place
        said = {"table": place.table_id, "column": list(place.column), "kind": place.kind, "keys": self.keys}
        schema = KNOWN_FILES.with_metadata({_METADATA: json.dumps(said).encode()})
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(self._files.cast(KNOWN_FILES).replace_schema_metadata(schema.metadata))
        header = buffer.getvalue().to_pybytes()
        offsets = np.concatenate(self._offsets).astype("<u4").tobytes()
        total = _blocks_bytes(self.keys, self.blocks) + len(header) + len(offsets) + _TAIL.size
        measures = struct.pack("<QQQ", len(header), self.blocks, total)
        check = zlib.crc32(measures, zlib.crc32(offsets, zlib.crc32(header)))
        self._sink.write(header + offsets + measures + struct.pack("<I", check) + _MAGIC)


@dataclass(frozen=True, slots=True, eq=False)
class KeyPart:
    """A part that was opened.

    Attributes:
        info: The file.
        place: What it says of its place.
        files: The data files that it knows (KNOWN_FILES).
        offsets: How many keys are before each block.
        held: The blocks, if they were read with the rest; None if they stay in the file.
    """

    info: FileInfo
    place: PartOf
    files: pa.Table
    offsets: npt.NDArray[np.uint32]
    held: memoryview | None

    @property
    def keys(self) -> int:
        """How many keys it has, of each data file every one once."""
        return int(self.offsets[-1])

    @property
    def nbytes(self) -> int:
        """Bytes that it takes in memory."""
        return int(self.files.nbytes + self.offsets.nbytes) + (0 if self.held is None else self.held.nbytes)

    @classmethod
    def open(cls, storage: Storage, info: FileInfo) -> KeyPart:
        """Return the part in a file. The blocks of a large one stay there.

        Raises:
            DamagedPart: It is not a part, or it is damaged.
            StorageError: It cannot be read; FileNotFoundError if it is gone.
        """
        with _reading(storage, info) as read:
            head = read(max(0, info.size - _HEAD_BYTES), min(info.size, _HEAD_BYTES))
            if len(head) < _TAIL.size:
                raise DamagedPart("it is too short")
            header_bytes, blocks, total, check, magic = _TAIL.unpack(head[-_TAIL.size :])
            if magic != _MAGIC or total != info.size:
                raise DamagedPart("it does not end as a part does")
            offset_bytes = 4 * (blocks + 1)
            rest = header_bytes + offset_bytes + _TAIL.size
            if not 0 < blocks < 1 << 32 or rest > total:
                raise DamagedPart("its measures are impossible")
            if rest > len(head):
                head = read(total - rest, rest)
        held = head[:-rest] if len(head) == total else None
        head = head[len(head) - rest :]
        if zlib.crc32(head[:-12]) != check:
            raise DamagedPart("its checksum is wrong")
        offsets = np.frombuffer(head[header_bytes : header_bytes + offset_bytes], "<u4")
        if _blocks_bytes(int(offsets[-1]), blocks) != total - rest:
            raise DamagedPart("its measures are impossible")
        return cls(info, *_read_header(head[:header_bytes]), offsets, held)

    def containing(self, storage: Storage, keys: Hashes) -> npt.NDArray[np.bool_]:
        """Return for each data file whether it may have one of the keys.

        Args:
            storage: The storage of the table.
            keys: Hashes of the keys.

        Raises:
            DamagedPart: A block is damaged.
            StorageError: It cannot be read; FileNotFoundError if it is gone.
        """
        found = np.zeros(len(self.files), np.bool_)
        wanted = np.unique(keys & ~np.uint64(0xFFFF))
        places = _block_of(wanted, len(self.offsets) - 1)
        prints = (wanted >> np.uint64(16)).astype(np.uint16)
        with ExitStack() as stack:
            opened: list[pa.NativeFile] = []

            def read(ranges: Sequence[Range]) -> list[memoryview]:
                first, end = min(ranges)[0], max(offset + length for offset, length in ranges)
                if self.held is None and storage.remote and end - first <= _HEAD_BYTES:
                    data = memoryview(storage.read_range(self.info.path, first, end - first))
                    return [data[offset - first : offset - first + length] for offset, length in ranges]
                if not opened:
                    held = None if self.held is None else pa.BufferReader(self.held)
                    opened.append(stack.enter_context(held or storage.open_input(self.info.path, self.info.size)))
                return read_ranges(opened[0], ranges)

            for start in range(0, len(wanted), _AT_ONCE):
                self._mark(read, places[start : start + _AT_ONCE], prints[start : start + _AT_ONCE], found)
        return found

    def _mark(
        self,
        read: Callable[[Sequence[Range]], list[memoryview]],
        places: npt.NDArray[np.int64],
        prints: npt.NDArray[np.uint16],
        found: npt.NDArray[np.bool_],
    ) -> None:
        blocks, of_key = np.unique(places, return_inverse=True)
        counts = self.offsets[blocks + 1].astype(np.int64) - self.offsets[blocks]
        starts = _ENTRY_BYTES * self.offsets[blocks].astype(np.int64) + _CHECKSUM_BYTES * blocks
        lengths = _ENTRY_BYTES * counts + _CHECKSUM_BYTES
        data_of = read(list(zip(starts.tolist(), lengths.tolist(), strict=True)))
        for block, data, length in zip(blocks.tolist(), data_of, lengths.tolist(), strict=True):
            if len(data) != length or bytes(data[:4]) != _checksum(block, data[4:]):
                raise DamagedPart("the checksum of a block is wrong")
        entries = np.frombuffer(b"".join([each[4:] for each in data_of]), "<u2")
        # Each key is compared with all fingerprints of its block; the numbers of the files follow them.
        begin = 2 * (np.cumsum(counts) - counts)[of_key]
        of_key_counts = counts[of_key]
        before = np.cumsum(of_key_counts) - of_key_counts
        at = np.arange(int(of_key_counts.sum())) + np.repeat(begin - before, of_key_counts)
        equal = np.flatnonzero(entries[at] == np.repeat(prints, of_key_counts))
        numbers = entries[at[equal] + np.repeat(of_key_counts, of_key_counts)[equal]]
        if len(numbers) and int(numbers.max()) >= len(found):
            raise DamagedPart("a block names a data file that the part does not know")
        found[numbers] = True


@contextmanager
def _reading(storage: Storage, info: FileInfo) -> Iterator[Callable[[int, int], memoryview]]:
    """A function that reads a range of a part, remote ones by one request: opening a remote file would read its end."""
    if storage.remote:
        yield lambda offset, length: memoryview(storage.read_range(info.path, offset, length))
        return
    with storage.open_input(info.path, info.size) as source:
        yield lambda offset, length: read_ranges(source, [(offset, length)])[0]


def _read_header(data: memoryview) -> tuple[PartOf, pa.Table]:
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            files = reader.read_all().combine_chunks()
        said: Any = parse_json((files.schema.metadata or {})[_METADATA].decode())
        place = PartOf(str(said["table"]), tuple(map(str, said["column"])), str(said["kind"]))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise DamagedPart("its header cannot be read") from error
    if not files.schema.equals(KNOWN_FILES) or len(files) > MOST_FILES:
        raise DamagedPart("its header has other columns")
    return place, files


def known_numbers(files: pa.Table, known: pa.Table) -> npt.NDArray[np.int32]:
    """Return the numbers that data files have among others, -1 for each that is not there with its size and time.

    Args:
        files: The data files (KNOWN_FILES).
        known: The others.
    """
    found = pc.index_in(files["path"], value_set=one_chunk(known["path"]))
    numbers = np.array(one_chunk(filled(found, -1)), np.int32)
    there = numbers >= 0
    for name in KNOWN_FILES.names[1:]:
        mine, theirs = (np.array(one_chunk(filled(each[name], -1)), np.int64) for each in (files, known))
        if len(theirs):
            there &= mine == theirs[numbers]
    numbers[~there] = -1
    return numbers


class SortedRun:
    """Packed keys, sorted, which come in chunks. count: How many they are."""

    def __init__(self, count: int, chunks: Iterator[Hashes]) -> None:
        self.count = count
        self._chunks = chunks
        self._rest: Hashes = np.empty(0, np.uint64)

    def take(self, end: int) -> list[Hashes]:
        """Return the next keys that are less than `end`."""
        found = []
        while True:
            stop = len(self._rest) if end >= 1 << 64 else int(np.searchsorted(self._rest, np.uint64(end)))
            found.append(self._rest[:stop])
            self._rest = self._rest[stop:]
            if len(self._rest):
                return found
            rest = next(self._chunks, None)
            if rest is None:
                return found
            self._rest = rest


def unique(keys: Hashes) -> Hashes:
    """Return keys sorted and without duplicates; sorts them in place."""
    keys.sort()
    if len(keys) < 2:
        return keys
    new = np.empty(len(keys), np.bool_)
    new[0] = True
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys if new.all() else keys[new]


def write_blocks(writer: PartWriter, runs: Sequence[SortedRun], blocks: int) -> None:
    """Write the keys of sorted runs, so many blocks at a time, and close the writer."""
    for end in writer.bounds(blocks)[1:]:
        writer.put(unique(np.concatenate([np.empty(0, np.uint64), *(keys for run in runs for keys in run.take(end))])))
    writer.close()


def _block_of(keys: Hashes, blocks: int) -> npt.NDArray[np.int64]:
    return (((keys >> np.uint64(32)) * np.uint64(blocks)) >> np.uint64(32)).astype(np.int64)


def _blocks_bytes(keys: int, blocks: int) -> int:
    return _ENTRY_BYTES * keys + _CHECKSUM_BYTES * blocks


def _checksum(block: int, *data: Any) -> bytes:
    found = zlib.crc32(block.to_bytes(4, "little"))
    for each in data:
        found = zlib.crc32(each, found)
    return found.to_bytes(4, "little")
