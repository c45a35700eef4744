"""No input makes a kernel read or write beyond it: a result of the right length, or an error. Run by `sanitize` too."""

import itertools
import json
import os
import random
import struct
import tempfile
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.kernels import (
    commit_json,
    compare,
    compare_binary,
    deletion_vector,
    extremes,
    in_range,
    parquet_files,
    parquet_metadata,
    parquet_pages,
    paths,
    roaring_encode,
    stats_json,
    thrift_compact,
    z85,
)
from deltaskip.sparkexpr.collations.libraries import icu_library
from deltaskip.sparkexpr.kernels import (
    icu_keys,
    icu_order,
    key_column,
    lane,
    lowercase,
    variant_building,
    variant_objects,
)
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator
from tests.extent import extent
from tests.kernels.foreign import ForeignArray, foreign
from tests.looped import looped
from tests.sparkexpr.kernels import icu_twin, variant_twin

EXAMPLES = int(os.environ.get("DELTASKIP_EXAMPLES", extent(12, 100)))
REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, LookupError, ArithmeticError)
TABLE = lowercase.LowercaseTable({code: ord(chr(code).lower()) for code in range(0xC0, 0xDF)})

D128 = [Decimal(-1), Decimal(10**30), None, Decimal(7)]
TEXTS = ["", "a", None, "ä" * 20, "x" * 70, "𝕏\0", "%41", "z" * 15]
BASES: list[tuple[str, pa.Array]] = [
    *((code, pa.array([-1, 0, None, 100, 7] * 9, kind)) for code,
        kind in [("c", pa.int8()), ("s", pa.int16()), ("i", pa.int32()), ("l", pa.int64())]),
    *((code, pa.array([1, 0, None, 100, 7] * 9, kind)) for code,
        kind in [("C", pa.uint8()), ("S", pa.uint16()), ("I", pa.uint32()), ("L", pa.uint64())]),
    ("l", pa.array([1, 3, 5, 70_000, 1 << 40], pa.int64())),
    ("l", pa.array([], pa.int64())),
    ("i", pa.array([0, 1, 2, 3], pa.int32())),
    ("f", pa.array([1.5, None, float("nan")] * 9, pa.float32())),
    ("g", pa.array([1.5, None, float("inf"), -0.0] * 9, pa.float64())),
    ("b", pa.array([True, None, False] * 9)),
    ("tdD", pa.array([1, None, 3], pa.date32())),
    ("tsu:", pa.array([1, None, 3], pa.timestamp("us"))),
    ("d:38,0", pa.array(D128 * 5, pa.decimal128(38, 0))),
    ("u", pa.array(TEXTS * 3, pa.string())),
    ("U", pa.array(TEXTS * 3, pa.large_string())),
    ("z", pa.array([b"\xff\xfe", b"", None, b"\xed\xa0\x80", b"\xf0\x9f"] * 3, pa.binary())),
    ("Z", pa.array([b"\xc3", b"a" * 33, None] * 3, pa.large_binary())),
]  # fmt: skip

METADATA = variant_twin.metadata_of(["b", "a", "x" * 30, "ä"])
VARIANT = variant_twin.encode({"a": [1, "y" * 70], "b": {"a": None}, "ä": 2.5}, variant_twin.keys_of(METADATA))


def structs(fields: list[Any], count: int = 24, **given: Any) -> Any:
    """The values of shredded objects with the fields z and a."""
    given = {"metadata": pa.array([METADATA] * count), **given}
    return variant_objects.of_structs(pa.array([True] * count), [b"z", b"a"][: len(fields)], fields, **given)


One = Callable[[Any], Any]
KERNELS: dict[str, One] = {
    "compare_int64": lambda a: compare.compare_int64(a, "lt", 5),
    "compare_int64_ne": lambda a: compare.compare_int64(a, "ne", 0),
    "compare_double": lambda a: compare.compare_double(a, "ge", 1.0),
    "compare_decimal128": lambda a: compare.compare_decimal128(a, "gt", 3),
    "compare_columns_int64": lambda a: compare.compare_columns_int64(a, a, "ne"),
    "compare_binary": lambda a: compare_binary.compare_binary(a, "le", b"m"),
    "max_may_reach": lambda a: compare_binary.max_may_reach(a, b"x" * 40, 32),
    "in_range_binary": lambda a: compare_binary.in_range_binary(a, a, a, 32),
    "in_range_int64": lambda a: in_range.in_range_int64(a, a, pa.array([1, 7], pa.int64())),
    "in_range_int64_points": lambda a: in_range.in_range_int64(pa.array([1]), pa.array([9]), a),
    "in_range_double": lambda a: in_range.in_range_double(a, a, pa.array([1.0, 2.0])),
    "in_range_double_points": lambda a: in_range.in_range_double(pa.array([1.0]), pa.array([9.0]), a),
    "integer_extremes": extremes.integer_extremes,
    "float_extremes": extremes.float_extremes,
    "decimal_extremes": extremes.decimal_extremes,
    "binary_extremes": extremes.binary_extremes,
    "used_entries": lambda a: extremes.used_entries(a, 101),
    "take_lane_codes": lambda a: lane.take_lane(a, bytes(101), True),
    "live_rows": lambda a: deletion_vector.live_rows(a, 0, 100),
    "encode": roaring_encode.encode,
    "lower_keys": lambda a: lowercase.lower_keys(a, TABLE, True),
    "compare_lower": lambda a: lowercase.compare_lower(a, b"\xc3\x84x", TABLE),
    "extremes_lower": lambda a: lowercase.extremes_lower(a, TABLE),
    "key_column": lambda a: key_column.KeyColumn(a).keep("le", b"mmmmmmmmmmmm"),
    "all_plain": paths.all_plain,
    "prefixed": lambda a: paths.prefixed(b"file:/", a),
    "extract_leaves": lambda a: stats_json.extract_leaves(a, [("a", "b"), ("statsWithCollation", "icu.x.1", "y")]),
    "extract_int64": lambda a: stats_json.extract_int64(a, [("a",)]),
    "extract_double": lambda a: stats_json.extract_double(a, [("a",)]),
    "of_numbers": variant_building.of_numbers,
    "of_texts": lambda a: variant_building.of_texts(a, uuid=True),
    "of_texts with value": lambda a: variant_building.of_texts(a, a),
    "of_lists": lambda a: variant_building.of_lists(a, pa.array([b"\0"] * 15, pa.binary())),
    "of_lists elements": lambda a: variant_building.of_lists(pa.array([1, None, 0, 8]), a),
    "of_lists with value": lambda a: variant_building.of_lists(pa.nulls(24, pa.int64()), pa.array([b"a"]), a),
    "of_structs present": lambda a: variant_objects.of_structs(a, [], [], pa.array([METADATA] * 45)),
    "of_structs fields": lambda a: structs([a, a]),
    "of_structs value": lambda a: structs([], value=a),
    "of_structs metadata": lambda a: structs([], metadata=a),
    "of_structs rows": lambda a: structs([], 5, rows=a),
}
LIBRARY = icu_library(icu_twin.VERSION)
if LIBRARY is not None:
    for LOCALE in ("und-u-ks-level2", "th", "fr-CA"):
        COLLATOR = IcuCollator(LIBRARY, LOCALE)
        KERNELS[f"sort_keys {LOCALE}"] = partial(icu_keys.sort_keys, COLLATOR)
        KERNELS[f"compare {LOCALE}"] = partial(icu_order.compare, COLLATOR, literal=b"b\xcc\x81", rtrim=True)
        KERNELS[f"min_max {LOCALE}"] = partial(icu_order.min_max, COLLATOR)


def survives(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result; the error where the input is refused."""
    try:
        return work(*arguments, **options)
    except REFUSALS as error:
        return error


def shown(result: Any) -> str:
    return f"{type(result).__name__}: {result}" if isinstance(result, Exception) else repr(plain(result))


def plain(result: Any) -> Any:
    """The result in a form that compares by value."""
    if isinstance(result, lane.Lane | memoryview):
        return bytes(result)
    if isinstance(result, pa.Array):
        return result.to_pylist() if not pa.types.is_string(result.type) else result.cast(pa.binary()).to_pylist()
    if isinstance(result, list | tuple):
        return [plain(each) for each in result]
    return result


@looped("kernel", KERNELS)
def test_where_an_array_lies_in_memory_does_not_matter(kernel: str) -> None:
    for code, array in BASES:
        for start, length in [(0, len(array)), (1, len(array)), (3, 9), (13, 2), (2, 0)]:
            part = array.slice(start, length)
            expected = shown(survives(KERNELS[kernel], part))
            for shift in (0, 1, 4, 8):
                given_ = foreign(part, code, shift)
                assert shown(survives(KERNELS[kernel], given_)) == expected, (code, start, shift)


WRONG: dict[str, Callable[[], Any]] = {
    "no values": lambda: ForeignArray("l", 3, [None, None]),
    "no offsets": lambda: ForeignArray("u", 3, [None, None, b"abc"]),
    "no data": lambda: ForeignArray("u", 1, [None, struct.pack("<2i", 0, 3), None]),
    "negative length": lambda: ForeignArray("l", -1, [None, b"\0" * 8]),
    "negative offset": lambda: ForeignArray("l", 1, [None, b"\0" * 8], offset=-1),
    "falling offsets": lambda: ForeignArray("u", 2, [None, struct.pack("<3i", 0, 3, 1), b"abc"]),
    "negative offsets": lambda: ForeignArray("u", 1, [None, struct.pack("<2i", -8, 3), b"abc"]),
    "falling long offsets": lambda: ForeignArray("Z", 2, [None, struct.pack("<3q", 0, 3, 1), b"abc"]),
    "dictionary": lambda: ForeignArray("i", 1, [None, b"\0" * 4], dictionary=True),
    "one buffer": lambda: ForeignArray("l", 1, [None]),
    "no buffers": lambda: ForeignArray("n", 5, []),
    "text of two buffers": lambda: ForeignArray("u", 1, [None, b"\0" * 8]),
    "view": lambda: ForeignArray("vu", 1, [None, b"\0" * 16, None]),
    "list": lambda: ForeignArray("+l", 1, [None, b"\0" * 8]),
    "struct": lambda: ForeignArray("+s", 1, [None]),
    "odd format": lambda: ForeignArray("d:1,2,x", 1, [None, b"\0" * 16]),
    "wide decimal": lambda: ForeignArray("d:1,2,256", 1, [None, b"\0" * 32]),
    "narrow decimal": lambda: ForeignArray("d:1,2,32", 1, [None, b"\0" * 4]),
    "no format": lambda: ForeignArray("", 1, [None, b"\0" * 8]),
    "no array": lambda: 5,
    "dictionary of pyarrow": lambda: pa.array(["a"]).dictionary_encode(),
    "chunks": lambda: pa.chunked_array([[1], [2]]),
}


@looped("wrong, kernel", itertools.product(WRONG, KERNELS))
def test_an_array_that_is_wrong_is_refused(wrong: str, kernel: str) -> None:
    assert isinstance(survives(KERNELS[kernel], WRONG[wrong]()), REFUSALS), wrong


ODD = [b"\0", b"\xff" * 9, b'"', b"\\", b"{" * 600, b"1" * 400, b"\\ud800", b"\xf4\x90"]


def mutated(data: bytes, seed: int) -> bytes:
    """The bytes with a few cut out, repeated, changed or inserted."""
    rng = random.Random(seed)
    found = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(found) + 1)
        match rng.randrange(6):
            case 0:
                del found[at : at + rng.choice([1, 2, 8, 1000])]
            case 1:
                found[at:at] = found[at : at + rng.choice([1, 4, 100])]
            case 2:
                found[at:at] = rng.choice(ODD)
            case 3:
                del found[at:]
            case _ if found:
                found[at % len(found)] = rng.choice([0, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(found)


COMMIT = "\n".join(
    json.dumps(action, ensure_ascii=False)
    for action in [
        {"commitInfo": {"operation": "WRITE", "x": [1, {"y": None}]}},
        {"add": {"path": "a%20b", "partitionValues": {"p": "ä", "q": None}, "size": 10, "modificationTime": -5,
            "dataChange": True, "stats": '{"numRecords":1,"x":"\\u00e9"}', "tags": {"k": "v"}, "baseRowId": 7,
            "deletionVector": {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 4,
            "cardinality": 2}}},
        {"remove": {"path": "c", "dataChange": False, "deletionTimestamp": 9}},
        {"cdc": {"path": "d", "partitionValues": {}, "size": 1, "dataChange": False}},
    ]
).encode()  # fmt: skip
STATS = json.dumps(
    {
        "numRecords": 12,
        "minValues": {"a": {"b": -1.5e-300, "c": 'x\u00e9\\"'}},
        "a": 123456789012345678,
        "statsWithCollation": {"ICU.x.1": {"y": "z" * 40}},
        "tightBounds": True,
        "n": [[[]]],
    }
).encode()
VECTOR = bytes(roaring_encode.encode(pa.array([*range(0, 70_000, 3), *range(80_000, 90_000), 1 << 33], pa.int64())))


def footer() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1, None], "b": [{"c": "x"}, None], "d": [[1.5], []]}), sink)
    data = sink.getvalue().to_pybytes()
    size = int.from_bytes(data[-8:-4], "little")
    return bytes(data[-8 - size : -8])


FOOTER = footer()


def parquet(**options: Any) -> bytes:
    """A file of three columns and 200 rows."""
    sink = pa.BufferOutputStream()
    few = [None if i % 7 == 0 else f"word {i % 9}" for i in range(200)]
    pq.write_table(pa.table({"a": range(200), "b": few, "c": [i % 3 == 0 for i in range(200)]}), sink, **options)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def chunks(data: bytes) -> list[bytes]:
    """The column chunks of a file with one row group."""
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    return [data[at : at + each.total_compressed_size] for at, each in zip(starts, columns, strict=True)]


PARQUET = parquet()
# Of two levels of the format, compressed or not.
CHUNKS = [
    *chunks(PARQUET),
    *chunks(parquet(compression="none", data_page_version="2.0")),
    *chunks(parquet(compression="zstd", use_dictionary=False)),
]
SEEDS = st.integers(0, 2**63)


@settings(max_examples=EXAMPLES)
@given(SEEDS, st.sampled_from([1 << 30, 1, 7, 64]))
def test_damaged_commits(seed: int, chunk_bytes: int) -> None:
    data = mutated(COMMIT, seed)
    cut = random.Random(seed).randrange(len(data) + 1)
    survives(commit_json.parse_commits, data, [0, cut], chunk_bytes=chunk_bytes)
    survives(commit_json.parse_commits, memoryview(data), [0], ["path", "stats", "deletion_vector"])


@settings(max_examples=EXAMPLES)
@given(SEEDS)
def test_damaged_statistics(seed: int) -> None:
    texts = [STATS, mutated(STATS, seed), mutated(STATS, seed + 1), STATS]
    leaves = [("numRecords",), ("minValues", "a", "b"), ("minValues", "a", "c"), ("a",), ("n",)]
    leaves += [("statsWithCollation", "icu.x.1", "y"), ("statsWithCollation", "ICU.x.1", "y"), ("tightBounds",)]
    for kind in (pa.binary(), pa.large_binary()):
        array = pa.array(texts, kind)
        given_ = foreign(array, "z" if kind == pa.binary() else "Z")
        for extract in (stats_json.extract_leaves, stats_json.extract_int64, stats_json.extract_double):
            found = survives(extract, given_, leaves)
            assert isinstance(found, Exception) or all(len(values) == len(texts) for values, _ in found)


@settings(max_examples=EXAMPLES)
@given(SEEDS, st.integers(-1, 1 << 40))
def test_damaged_deletion_vectors(seed: int, cardinality: int) -> None:
    survives(deletion_vector.decode, mutated(VECTOR, seed), cardinality)
    survives(deletion_vector.decode, mutated(VECTOR[:64], seed), 3)


@settings(max_examples=EXAMPLES)
@given(SEEDS)
def test_damaged_footers(seed: int) -> None:
    survives(thrift_compact.read_struct, mutated(FOOTER, seed))
    survives(parquet_metadata.footer_fits, mutated(FOOTER, seed))


@settings(max_examples=EXAMPLES)
@given(SEEDS, st.sampled_from([-1, 0, 1, 8, 16]), st.booleans(), st.sampled_from([0, 1, 6]), st.booleans())
def test_damaged_pages(seed: int, width: int, optional: bool, codec: int, every: bool) -> None:
    rng = random.Random(seed)
    rows = mutated(struct.pack("<5q", 0, 1, 5, 70, 300), seed) if seed % 3 else struct.pack("<5q", 0, 1, 5, 70, 300)
    wanted, many = None if every else rows, rng.choice([0, 400])
    arguments = many, width, rng.choice([1, 8, 16]), seed % 2 > 0, optional
    views = wanted is None and width in (0, -3) and rng.random() < 0.5
    taker = survives(parquet_pages.RowTaker, wanted, *arguments, rng.choice([2**31 - 1, 100]), False, views)
    if isinstance(taker, Exception):
        return
    for start in range(2):
        chunk, first_row = mutated(rng.choice(CHUNKS), seed + start), rng.choice([-1, -1, 0, 3, 200, 2**63 - 1])
        survives(taker.take_chunk, chunk, rng.choice([-1, 3, 200]), codec, first_row)
        survives(parquet_pages.values_in, chunk)
    survives(taker.finish)


@settings(max_examples=EXAMPLES)
@given(SEEDS, st.sampled_from([-1, 0, 4, 8, 16]), st.booleans())
def test_damaged_parquet_files(seed: int, width: int, optional: bool) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.fsencode(os.path.join(folder, str(number))) for number in range(3)]
        for number, path in enumerate(paths[:2]):
            with open(path, "wb") as file:
                file.write(mutated(PARQUET, seed + number) if number or seed % 5 else PARQUET)
        for chosen in (paths, paths[:2], paths[:1]):
            files = parquet_files.ParquetFiles(chosen)
            assert all(files.key(number) is None or files.rows(number) >= 0 for number in range(len(chosen)))
            if all(files.key(number) is not None and files.rows(number) < 10**6 for number in range(len(chosen))):
                leaf, wanted = rng.randrange(-1, 5), rng.choice([None, struct.pack("<3q", 0, 7, 250)])
                survives(files.take, wanted, leaf, width, rng.choice([4, 8, 16]), False, optional)
            files.close()
            survives(files.take, b"", 0, 8, 8, False, optional)


@settings(max_examples=EXAMPLES)
@given(SEEDS, st.integers(0, 15))
def test_damaged_variants(seed: int, size: int) -> None:
    values = [VARIANT, mutated(VARIANT, seed), bytes([2 | seed % 64 << 2]) + mutated(VARIANT[1:], seed), VARIANT[:size]]
    metadata = [METADATA, METADATA, mutated(METADATA, seed), METADATA[:size]]
    for value in values:
        for known in metadata:
            given_ = [foreign(pa.array([each, each], pa.binary()), "z") for each in (value, known)]
            found = survives(structs, [given_[0]] * 2, 2, value=given_[0], metadata=given_[1])
            assert isinstance(found, Exception) or len(found) == 2
            found = survives(structs, [], 2, value=given_[0], metadata=given_[1])
            assert isinstance(found, Exception) or len(found) == 2


@settings(max_examples=EXAMPLES)
@given(st.one_of(st.text(max_size=60), st.text("0123456789abcXYZ-:@$#", max_size=200)), st.binary(max_size=100))
def test_any_text_as_base85(text: str, data: bytes) -> None:
    survives(z85.z85_decode, text)
    padded = data + b"\0" * (-len(data) % 4)
    assert z85.z85_decode(z85.z85_encode(padded)) == padded


@settings(max_examples=EXAMPLES)
@given(st.lists(st.one_of(st.none(), st.binary(max_size=90)), max_size=12), st.binary(max_size=40), st.booleans())
def test_any_bytes_as_text(values: list[bytes | None], literal: bytes, trim: bool) -> None:
    array = foreign(pa.array(values, pa.binary()), "z")
    for kernel in KERNELS.values():
        survives(kernel, array)
    survives(lowercase.compare_lower, array, literal, TABLE, trim)
    survives(lowercase.lower_key, literal, TABLE, trim)
    survives(compare_binary.max_may_reach, array, literal, len(literal), trim)
    survives(key_column.KeyColumn(array).keep, "eq", literal, trim)


@settings(max_examples=EXAMPLES)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_any_numbers_as_rows(rows: list[int]) -> None:
    for values in (rows, sorted(set(rows)), sorted({row & 0xFFFFF for row in rows})):
        array = foreign(pa.array(values, pa.int64()), "l")
        data = survives(roaring_encode.encode, array)
        if not isinstance(data, Exception):
            assert deletion_vector.decode(data, len(values)).to_pylist() == values
        survives(deletion_vector.live_rows, array, min(values, default=0), 50)
