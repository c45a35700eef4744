"""Converts ICU collation data from big-endian, as in ICU4J's jar, to little-endian, which ICU4C reads.

A file has a header and an image. The image is `UCol`, the tables of a collation (of the root in ucadata.icu), or
`ResB`, a resource bundle, which contains the `UCol` image of a locale. Both have arrays of integers at offsets that are
stored at the start of the image. Each array is swapped in place by the width of its integers. An unknown layout raises
ValueError.
"""

from __future__ import annotations

from array import array
from struct import error as StructError
from struct import unpack_from

_MAGIC = b"\xda\x27"
_BIG_ENDIAN = 8

# Bytes per integer in each section between a collation's offsets 5 and 19; 0 for a section that must be empty.
_SECTIONS = {5: 4, 6: 1, 8: 0, 9: 8, 10: 0, 11: 4, 12: 4, 13: 2, 14: 2, 15: 2, 16: 2, 17: 1, 18: 0}
_TRIE = 7

# Kinds of resources. Resources in 16-bit units contain no others, and are swapped at once.
_STRING, _BINARY, _TABLE, _ALIAS, _TABLE32, _ARRAY, _VECTOR = 0, 1, 2, 3, 4, 8, 14
_TABLE16, _STRING16, _INT, _ARRAY16 = 5, 6, 7, 9


def swapped(data: bytes) -> bytes:
    """Convert a big-endian ICU data file to little-endian. Raises ValueError for an unknown layout."""
    image = bytearray(data)
    try:
        start, kind, version = _swap_header(image, 0)
        if kind == b"UCol" and version == 5:
            _swap_collation(image, start, len(image))
        elif kind == b"ResB" and version in (2, 3):
            _Bundle(image, start).swap()
        else:
            raise ValueError(f"ICU data of format {kind!r} {version} is not supported")
    except (StructError, IndexError) as error:
        raise ValueError("the ICU data is truncated") from error
    return bytes(image)


def _swap_header(image: bytearray, at: int) -> tuple[int, bytes, int]:
    """Swap the header at `at`; return the start of its image, the format and the major version of the format."""
    if image[at + 2 : at + 4] != _MAGIC or image[at + _BIG_ENDIAN] != 1:
        raise ValueError("not big-endian ICU data")
    (size,) = unpack_from(">H", image, at)
    _swap(image, at, at + 2, 2)
    _swap(image, at + 4, at + 8, 2)
    image[at + _BIG_ENDIAN] = 0
    return at + size, bytes(image[at + 12 : at + 16]), image[at + 16]


def _swap(image: bytearray, start: int, end: int, width: int) -> None:
    """Swap the integers of `width` bytes between two offsets."""
    if not 0 <= start <= end <= len(image) or (end - start) % width:
        raise ValueError("an array of the ICU data is outside of it")
    if width > 1:
        numbers = array({2: "H", 4: "I", 8: "Q"}[width], bytes(image[start:end]))
        numbers.byteswap()
        image[start:end] = numbers.tobytes()


def _swap_collation(image: bytearray, start: int, end: int) -> None:
    count = unpack_from(">i", image, start)[0]
    if not 2 <= count <= 64:
        raise ValueError("the ICU collation has no indexes")
    indexes = unpack_from(f">{count}i", image, start)
    _swap(image, start, start + 4 * count, 4)
    for i in range(5, min(count - 1, 19)):
        first, last = start + indexes[i], start + indexes[i + 1]
        if not first <= last <= end:
            raise ValueError("a section of the ICU collation is outside of it")
        if first == last:
            continue
        if i == _TRIE:
            _swap_trie(image, first, last)
        elif _SECTIONS[i] == 0:
            raise ValueError(f"section {i} of the ICU collation is not supported")
        else:
            _swap(image, first, last, _SECTIONS[i])


def _swap_trie(image: bytearray, start: int, end: int) -> None:
    signature, options, index_length, shifted_data_length = unpack_from(">4sHHH", image, start)
    width = {0: 2, 1: 4}.get(options & 0xF, 0)
    index_end = start + 16 + 2 * index_length
    data_end = index_end + width * (shifted_data_length << 2)
    if signature != b"Tri2" or not width or data_end > end:
        raise ValueError("the trie of the ICU collation is not supported")
    _swap(image, start, start + 4, 4)
    _swap(image, start + 4, index_end, 2)
    _swap(image, index_end, data_end, width)


class _Bundle:
    """A resource bundle; offsets in it count words of 32 bits from `start`."""

    def __init__(self, image: bytearray, start: int) -> None:
        self.image, self.start = image, start
        self.swapped: set[int] = set()

    def swap(self) -> None:
        root, first = unpack_from(">II", self.image, self.start)
        count = first & 0xFF
        if count < 7:
            raise ValueError("the ICU resource bundle has too few indexes")
        keys_top, units_top = (unpack_from(">I", self.image, self.start + 4 * i)[0] for i in (2, 7))
        self._words(0, 1 + count)
        _swap(self.image, self.start + 4 * keys_top, self.start + 4 * units_top, 2)
        self._resource(root)

    def _resource(self, resource: int) -> None:
        kind, at = resource >> 28, resource & 0xFFFFFFF
        if kind in (_TABLE16, _STRING16, _INT, _ARRAY16) or at == 0 or at in self.swapped:
            return
        self.swapped.add(at)
        offset = self.start + 4 * at
        if kind == _TABLE:
            (count,) = unpack_from(">H", self.image, offset)
            words = (2 + 2 * count + 3) // 4
            items = unpack_from(f">{count}I", self.image, offset + 4 * words)
            _swap(self.image, offset, offset + 2 + 2 * count, 2)
            self._words(at + words, count)
            self._all(items)
            return
        (count,) = unpack_from(">I", self.image, offset)
        self._words(at, 1)
        if kind in (_STRING, _ALIAS):
            _swap(self.image, offset + 4, offset + 4 + 2 * count, 2)
        elif kind == _BINARY:
            self._binary(offset + 4, count)
        elif kind == _VECTOR:
            self._words(at + 1, count)
        elif kind in (_ARRAY, _TABLE32):
            keys = count if kind == _TABLE32 else 0
            items = unpack_from(f">{count}I", self.image, offset + 4 * (1 + keys))
            self._words(at + 1, keys + count)
            self._all(items)
        else:
            raise ValueError(f"an ICU resource of kind {kind} is not supported")

    def _all(self, resources: tuple[int, ...]) -> None:
        for resource in resources:
            self._resource(resource)

    def _binary(self, start: int, size: int) -> None:
        """Convert binary data. Only a collation changes, which begins with a header."""
        if size > 24 and self.image[start + 2 : start + 4] == _MAGIC and self.image[start + 12 : start + 16] == b"UCol":
            image, _, version = _swap_header(self.image, start)
            if version != 5:
                raise ValueError(f"an ICU collation of format {version} is not supported")
            _swap_collation(self.image, image, start + size)

    def _words(self, at: int, count: int) -> None:
        _swap(self.image, self.start + 4 * at, self.start + 4 * (at + count), 4)
