"""ICU collations, each evaluated by a library of one exact version, or with the collation data of Spark's ICU4J jar.

If no ICU4C has the jar's version, its data is loaded into one of another version: an engine with the same Unicode
version computes the sort keys of the version of its data. The data directory is a setting of a loaded library, and
other code in the process may use the same file. Therefore a copy with another name is loaded: the loader would reuse a
loaded library of the same name.

The data of the jar is big-endian, and ICU4C reads little-endian. A file has a header and an image. The image is `UCol`,
the tables of a collation (of the root in ucadata.icu), or `ResB`, a resource bundle, which contains the `UCol` image of
a locale. Both have arrays of integers at offsets that are stored at the start of the image. Each array is swapped in
place by the width of its integers. An unknown layout raises ValueError.

# Spark 4.1, CollationFactory: each maximal ill-formed part of bytes counts as U+FFFD; RTRIM first removes U+0020, and
# no other space, from the end of both operands.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from array import array
from dataclasses import field
from importlib.machinery import PathFinder
from itertools import count, pairwise
from pathlib import Path
from struct import error as StructError
from struct import unpack_from
from zipfile import BadZipFile, ZipFile

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import CollationUnavailable, InvalidCollation
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations.collation_id import CollationId, CollationName
from deltaskip.sparkexpr.collations.texts import KernelCollation, kernel_texts, text_bytes
from deltaskip.sparkexpr.kernels import icu_keys, icu_order
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator, IcuLibrary

_JAR = regex(r"icu4j-(\d+\.\d+)(?:\.\d+)*\.jar")
_COLLATIONS = "com/ibm/icu/impl/data/icudata/coll/"
_copies = count()


@dataclass(frozen=True, slots=True)
class SparkJar:
    """The ICU4J jar of a Spark installation: its path, and the version in its name."""

    path: str
    version: str


def spark_jar() -> SparkJar | None:
    """The ICU4J jar in SPARK_HOME, else in the installed PySpark, which is not imported; None if neither has a jar."""
    for folder in _spark_homes():
        for path in sorted(folder.glob("jars/icu4j-*.jar")):
            match = _JAR.fullmatch(path.name)
            if match is not None:
                return SparkJar(str(path), match[1])
    return None


def library_with_data(path: str, dependencies: tuple[str, ...], major: str, jar: SparkJar) -> IcuLibrary:
    """A copy of the ICU library at `path`, of the major version `major`, that reads the collations of `jar`.

    Its files stay in a temporary folder until the process ends. Raises OSError if the files cannot be read, written or
    loaded, and ValueError if the format of the jar is not supported.
    """
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-icu-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _write_collations(jar, folder / f"icudt{major}l" / "coll")
    tag = f"d{next(_copies) % 100:02d}"
    *others, common = dependencies or (path,)
    copied = [_renamed(file, folder, tag) for file in (common, path)]
    return IcuLibrary(
        copied[1],
        (*others, copied[0]),
        data_folder=str(folder),
        data_version=jar.version,
        source=f"{path} with the data of {jar.path}",
    )


def _spark_homes() -> list[Path]:
    homes = [Path(home)] if (home := os.environ.get("SPARK_HOME")) else []
    # PathFinder does not import the package and runs no import hooks.
    spec = PathFinder.find_spec("pyspark")
    return homes + [Path(folder) for folder in (spec.submodule_search_locations or () if spec is not None else ())]


def _write_collations(jar: SparkJar, folder: Path) -> None:
    """Write the collations of the jar in this machine's byte order, and Swedish a second time as the locale `zxx`.

    No ICU has that locale: a library that has it reads this folder.
    """
    folder.mkdir(parents=True)
    try:
        with ZipFile(jar.path) as archive:
            names = [name for name in archive.namelist() if name.startswith(_COLLATIONS) and not name.endswith("/")]
            for name in names:
                (folder / name.rpartition("/")[2]).write_bytes(swapped(archive.read(name)))
    except BadZipFile as error:
        raise ValueError(f"{jar.path} is not a jar: {error}") from error
    if not {"ucadata.icu", "sv.res", "res_index.res"} <= {name.rpartition("/")[2] for name in names}:
        raise ValueError(f"{jar.path} does not contain collations")
    shutil.copyfile(folder / "sv.res", folder / "zxx.res")


def _renamed(file: str, folder: Path, tag: str) -> str:
    """A copy of a library in which the names of ICU libraries are replaced by other names of the same length."""
    image = Path(file).read_bytes()
    for name in (b"uc", b"i18n"):
        image = image.replace(b"libicu" + name, b"lib" + tag.encode() + name)
    copy = folder / Path(file).name.replace("libicu", f"lib{tag}")
    copy.write_bytes(image)
    return str(copy)


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


# Bytes that do not occur in weights.
_KEY_END, _LEVEL_END = b"\x00", b"\x01"
_SHARP_S = "ß"
_SAMPLE = (*map(chr, range(0x20, 0x7F)), *"àÆßøαωабяאבابकกあア一三가\U00020000")


@dataclass(frozen=True, slots=True, eq=False)
class IcuCollation(KernelCollation):
    """A collation of an ICU library. Thread-safe.

    exact_keys: False for case-sensitive collations that ignore accents (`*_AI`). Spark's comparator (of ICU4J) and sort
        keys disagree on strings with U+00DF: only values that the collation `trusts` may prove a result.
    """

    id: CollationId
    name: CollationName
    source: str
    exact_keys: bool
    collator: IcuCollator = field(repr=False)

    def _keys(self, texts: pa.Array) -> pa.Array:
        return icu_keys.sort_keys(self.collator, texts, self.name.rtrim)

    def _orders(self, texts: pa.Array, literal: bytes) -> pa.Array:
        return icu_order.compare(self.collator, texts, literal, self.name.rtrim)

    def _extremes(self, texts: pa.Array) -> tuple[int, int] | None:
        return icu_order.min_max(self.collator, texts, self.name.rtrim)

    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        return icu_order.compare_texts(self.collator, text_bytes(left), text_bytes(right), self.name.rtrim)

    def key(self, value: str | bytes) -> bytes:
        """The sort key of one value, including the final zero byte."""
        return icu_keys.sort_key(self.collator, text_bytes(value), self.name.rtrim)

    def prefix_key(self, prefix: str | bytes) -> bytes | None:
        """The leading primary weights of every string that starts with `prefix`; None if they are not certain.

        Spark uses ICU's StringSearch, for which `é` starts with `E◌́` and `ﬁn` with `fi`: no prefix of the string
        is certain. Primary weights are not certain if the locale ignores punctuation (Thai), in `*_AI` collations, for
        which Spark refuses the function, and for a prefix of characters without primary weights.
        """
        if not self.exact_keys or not any(self.collator.ascii_ranks()):
            return None
        return self.key(prefix).removesuffix(_KEY_END).partition(_LEVEL_END)[0] or None

    def trusts(self, text: str | bytes) -> bool:
        return self.exact_keys or _SHARP_S.encode() not in text_bytes(text)

    def trusts_each(self, array: pa.Array) -> pa.BooleanArray:
        texts, codes = kernel_texts(array)
        if self.exact_keys:
            trusted = pc.or_(texts.is_null(), texts.is_valid())
        else:
            trusted = pc.or_kleene(pc.invert(pc.match_substring(texts, _SHARP_S)), texts.is_null())
        return trusted if codes is None else pc.or_kleene(trusted.take(codes), codes.is_null())


def icu_collation(identifier: CollationId, library: IcuLibrary) -> IcuCollation:
    """The collation with this identifier in the version of the library.

    Raises InvalidCollation for a name that is not of ICU, and CollationUnavailable if the library lacks the locale.
    """
    name = identifier.name_parts
    if name.provider != "icu":
        raise InvalidCollation(f"{identifier} is not a collation of ICU: use spark.{name.normalized}.")
    tag = name.icu_locale
    if not _has_locale(library, tag.partition("-u-")[0], exactly=name.spark):
        raise CollationUnavailable(
            f"{identifier} cannot be evaluated: ICU {library.version} in {library.path} has no collation for the "
            f"locale {name.locale}."
        )
    try:
        collator = IcuCollator(library, tag)
    except OSError as error:
        raise CollationUnavailable(f"{identifier} cannot be evaluated: {error}.") from error
    if _contradicts_itself(collator):
        raise CollationUnavailable(
            f"{identifier} cannot be evaluated: ICU {library.version} in {library.path} compares strings "
            "differently from its sort keys."
        )
    return IcuCollation(identifier, name, library.source, not collator.case_level, collator)


def _contradicts_itself(collator: IcuCollator) -> bool:
    """Whether the comparator and the sort keys order some characters differently.

    In ICU 77.1 they differ if a locale reorders digits (`und-u-kr-latn-digit`), which its fast path for Latin ignores.
    """
    texts = [character.encode() for character in _SAMPLE]
    keyed = sorted((icu_keys.sort_key(collator, text), text) for text in texts)
    return any(
        icu_order.compare_texts(collator, low, high) != (-1 if low_key < high_key else 0)
        for (low_key, low), (high_key, high) in pairwise(keyed)
    )


def _has_locale(library: IcuLibrary, tag: str, exactly: bool) -> bool:
    """Whether the library has the locale or, if not `exactly`, a locale to which ICU falls back (`de` for `de_DE`).

    ICU opens an unknown locale without an error, with the order of the root.
    """
    known = library.locales()
    locale = tag.replace("-", "_")
    while locale not in known and not exactly and "_" in locale:
        locale = locale.rpartition("_")[0]
    return locale in known or locale == "und"
