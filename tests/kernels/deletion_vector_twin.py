"""A slow plain twin of the deletion vector kernels, and a builder of serialised bitmaps with chosen containers."""

import struct
from collections.abc import Iterable, Sequence
from itertools import groupby

PORTABLE, NATIVE = 1681511377, 1681511376
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85_decode(text: str) -> bytes:
    if len(text) % 5:
        raise ValueError(text)
    out = b""
    for i in range(0, len(text), 5):
        block = 0
        for character in text[i : i + 5]:
            block = block * 85 + ALPHABET.index(character)
        if block >= 2**32:
            raise ValueError(text)
        out += block.to_bytes(4, "big")
    return out


def decode(data: bytes, cardinality: int) -> list[int]:
    """The row indexes; ValueError or struct.error where the bytes break the format."""
    reader = _Reader(data)
    rows: list[int] = []
    (magic,) = reader.unpack("<I")
    if magic == PORTABLE:
        (buckets,) = reader.unpack("<Q")
        keys: list[int] = []
        for _ in range(buckets):
            keys += reader.unpack("<I")
            _demand(keys[-1] < 2**31 and keys == sorted(set(keys)))
            rows += (keys[-1] << 32 | low for low in _bitmap(reader))
    else:
        order = "<" if magic == NATIVE else ">"
        _demand(magic == NATIVE or data[:4] == struct.pack(">I", NATIVE))
        (buckets,) = reader.unpack(f"{order}I")
        for key in range(buckets):
            (size,) = reader.unpack(f"{order}I")
            part = _Reader(reader.take(size))
            rows += (key << 32 | low for low in _bitmap(part))
            _demand(part.at == size)
    _demand(reader.at == len(data) and len(rows) == cardinality)
    return rows


def serialise(rows: Iterable[int], runs_in: Sequence[int] = (), magic: int = PORTABLE, order: str = "<") -> bytes:
    """The serialised form, with runs for the containers (rows >> 16) in `runs_in` and plain ones elsewhere."""
    buckets = [(key, _serialise_bitmap(list(part), runs_in)) for key, part in groupby(sorted(rows), lambda r: r >> 32)]
    if magic == PORTABLE:
        body = b"".join(struct.pack("<I", key) + bitmap for key, bitmap in buckets)
        return struct.pack("<IQ", magic, len(buckets)) + body
    by_key = dict(buckets)
    count = max(by_key, default=-1) + 1
    empty = struct.pack("<II", 12346, 0)
    body = b"".join(struct.pack(f"{order}I", len(b)) + b for b in (by_key.get(key, empty) for key in range(count)))
    return struct.pack(f"{order}II", magic, count) + body


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        _demand(0 <= size <= len(self.data) - self.at)
        self.at += size
        return self.data[self.at - size : self.at]

    def unpack(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))


def _bitmap(reader: _Reader) -> list[int]:
    start = reader.at
    (cookie,) = reader.unpack("<I")
    flags = None
    if cookie == 12346:
        (count,) = reader.unpack("<I")
        _demand(count <= 65536)
    else:
        _demand(cookie & 0xFFFF == 12347)
        count = (cookie >> 16) + 1
        flags = int.from_bytes(reader.take((count + 7) // 8), "little")
    headers = [reader.unpack("<HH") for _ in range(count)]
    keys = [key for key, _ in headers]
    _demand(keys == sorted(set(keys)))
    offsets = reader.unpack(f"<{count}I") if flags is None or count >= 4 else None
    rows: list[int] = []
    for i, (key, less_one) in enumerate(headers):
        _demand(offsets is None or offsets[i] == reader.at - start)
        values = _container(reader, less_one + 1, flags is not None and bool(flags >> i & 1))
        _demand(len(values) == less_one + 1 and values == sorted(set(values)) and values[-1] < 65536)
        rows += (key << 16 | value for value in values)
    return rows


def _container(reader: _Reader, cardinality: int, runs: bool) -> list[int]:
    if runs:
        (count,) = reader.unpack("<H")
        pairs = [reader.unpack("<HH") for _ in range(count)]
        return [first + i for first, less_one in pairs for i in range(less_one + 1)]
    if cardinality <= 4096:
        return list(reader.unpack(f"<{cardinality}H"))
    word = int.from_bytes(reader.take(8192), "little")
    return [i for i, bit in enumerate(reversed(bin(word)[2:])) if bit == "1"]


def _serialise_bitmap(rows: list[int], runs_in: Sequence[int]) -> bytes:
    found = [(key, [row & 0xFFFF for row in part]) for key, part in groupby(rows, lambda r: r >> 16)]
    as_runs = [key in runs_in for key, _ in found]
    if any(as_runs):
        flags = sum(1 << i for i, run in enumerate(as_runs) if run)
        head = struct.pack("<I", 12347 | (len(found) - 1) << 16) + flags.to_bytes((len(found) + 7) // 8, "little")
    else:
        head = struct.pack("<II", 12346, len(found))
    head += b"".join(struct.pack("<HH", key & 0xFFFF, len(values) - 1) for key, values in found)
    bodies = [_serialise_container(values, run) for (_, values), run in zip(found, as_runs, strict=True)]
    if not any(as_runs) or len(found) >= 4:
        at = len(head) + 4 * len(found)
        for body in bodies:
            head += struct.pack("<I", at)
            at += len(body)
    return head + b"".join(bodies)


def _serialise_container(values: list[int], run: bool) -> bytes:
    if run:
        firsts = [v for i, v in enumerate(values) if i == 0 or values[i - 1] != v - 1]
        lasts = [v for i, v in enumerate(values) if i == len(values) - 1 or values[i + 1] != v + 1]
        pairs = b"".join(struct.pack("<HH", a, b - a) for a, b in zip(firsts, lasts, strict=True))
        return struct.pack("<H", len(firsts)) + pairs
    if len(values) <= 4096:
        return struct.pack(f"<{len(values)}H", *values)
    return sum(1 << v for v in values).to_bytes(8192, "little")


def _demand(condition: bool) -> None:
    if not condition:
        raise ValueError("damaged")
