"""Deletion vectors decode and encode as the plain twin and pyroaring do, and damage is refused, never misread."""

import struct
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.kernels.deletion_vector import decode, live_rows
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_decode, z85_encode
from tests.each import refuses
from tests.extent import extent
from tests.kernels import deletion_vector_twin as twin
from tests.looped import looped

pyroaring = pytest.importorskip("pyroaring")

# PROTOCOL, Deletion Vectors: "The row indexes encoded in this DV are: 3, 4, 7, 11, 18, 29."
PROTOCOL_EXAMPLE = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"


@st.composite
def row_sets(draw: st.DrawFn) -> list[int]:
    """Rows in a few containers of a few buckets, each sparse, dense or of long runs."""
    rows: set[int] = set()
    for container in draw(st.lists(st.integers(0, 5), max_size=6, unique=True)):
        bucket = draw(st.sampled_from([0, 0, 0, 1, 2, 2**31 - 1]))
        base = bucket << 32 | container << 16
        match draw(st.sampled_from(["sparse", "dense", "runs", "full", "edges"])):
            case "sparse":
                rows.update(base + i for i in draw(st.lists(st.integers(0, 65535), max_size=20)))
            case "dense":
                step = draw(st.integers(2, 15))
                rows.update(range(base + draw(st.integers(0, 5)), base + 65536, step))
            case "runs":
                for first, length in draw(st.lists(st.tuples(st.integers(0, 65535), st.integers(1, 3000)), max_size=5)):
                    rows.update(range(base + first, min(base + first + length, base + 65536)))
            case "full":
                rows.update(range(base, base + 65536))
            case _:
                rows.update((base, base + 65535))
    return sorted(rows)


@settings(max_examples=extent(15, 60), deadline=None)
@given(row_sets())
def test_encoded_rows_are_read_back_by_kernel_twin_and_pyroaring(rows: list[int]) -> None:
    data = encode(pa.array(rows, pa.int64()))
    assert decode(data, len(rows)).to_pylist() == rows
    assert twin.decode(data, len(rows)) == rows
    assert list(pyroaring.BitMap64.deserialize(data[4:])) == rows


@settings(max_examples=extent(15, 60), deadline=None)
@given(row_sets())
def test_encoding_is_as_small_as_pyroarings(rows: list[int]) -> None:
    best = pyroaring.BitMap64(rows)
    best.run_optimize()
    assert len(encode(pa.array(rows, pa.int64()))) == len(best.serialize()) + 4


@settings(max_examples=extent(15, 60), deadline=None)
@given(row_sets(), st.booleans())
def test_what_pyroaring_serialises_is_decoded(rows: list[int], runs: bool) -> None:
    bitmap = pyroaring.BitMap64(rows)
    if runs:
        bitmap.run_optimize()
    decoded = decode(struct.pack("<I", twin.PORTABLE) + bitmap.serialize(), len(rows))
    decoded.validate(full=True)
    assert decoded.to_pylist() == rows


@settings(max_examples=extent(15, 60), deadline=None)
@given(row_sets(), st.data(), st.sampled_from([(twin.PORTABLE, "<"), (twin.NATIVE, "<"), (twin.NATIVE, ">")]))
def test_any_choice_of_run_containers_is_decoded(rows: list[int], data: st.DataObject, form: tuple[int, str]) -> None:
    magic, order = form
    if magic == twin.NATIVE:
        rows = [row for row in rows if row < 3 << 32]
    containers = sorted({row >> 16 for row in rows})
    runs_in = data.draw(st.lists(st.sampled_from(containers), unique=True)) if containers else []
    assert decode(twin.serialise(rows, runs_in, magic, order), len(rows)).to_pylist() == rows


def test_the_example_of_the_protocol_is_decoded() -> None:
    assert decode(z85_decode(PROTOCOL_EXAMPLE), 6).to_pylist() == [3, 4, 7, 11, 18, 29]


@settings(max_examples=extent(60, 400), deadline=None)
@given(st.data())
def test_damaged_bytes_are_refused_or_read_like_the_twin(data: st.DataObject) -> None:
    rows = data.draw(row_sets())[:6000]
    containers = sorted({row >> 16 for row in rows})
    runs_in = data.draw(st.lists(st.sampled_from(containers), unique=True)) if containers else []
    magic, order = data.draw(st.sampled_from([(twin.PORTABLE, "<"), (twin.NATIVE, "<"), (twin.NATIVE, ">")]))
    if magic == twin.NATIVE:
        rows = [row for row in rows if row < 3 << 32]
    whole = bytearray(twin.serialise(rows, runs_in, magic, order))
    cardinality = len(rows)
    for _ in range(data.draw(st.integers(1, 3))):
        match data.draw(st.sampled_from(["flip", "set", "cut", "grow", "count"])):
            case "flip" if whole:
                whole[data.draw(near_the_start(len(whole)))] ^= 1 << data.draw(st.integers(0, 7))
            case "set" if whole:
                whole[data.draw(near_the_start(len(whole)))] = data.draw(st.sampled_from([0, 1, 127, 128, 255]))
            case "cut":
                del whole[data.draw(near_the_start(len(whole) + 1)) :]
            case "grow":
                whole += data.draw(st.binary(min_size=1, max_size=9))
            case _:
                cardinality += data.draw(st.integers(-1, 1))
    try:
        expected = twin.decode(bytes(whole), cardinality)
    except (ValueError, IndexError, struct.error):
        expected = None
    if expected is None:
        refuses(ValueError, "the deletion vector is damaged", decode, bytes(whole), cardinality)
    else:
        assert decode(bytes(whole), cardinality).to_pylist() == expected


def near_the_start(size: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(0, min(size, 60) - 1), st.integers(0, size - 1))


@settings(max_examples=extent(60, 300), deadline=None)
@given(st.binary(max_size=200), st.sampled_from([twin.PORTABLE, twin.NATIVE]), st.integers(-2, 70000))
def test_random_bytes_never_decode_to_another_cardinality(body: bytes, magic: int, cardinality: int) -> None:
    try:
        decoded = decode(struct.pack("<I", magic) + body, cardinality)
    except ValueError:
        return
    assert len(decoded) == cardinality
    assert decoded.to_pylist() == twin.decode(struct.pack("<I", magic) + body, cardinality)


FEW = twin.serialise([1, 5, 70000])


@looped(
    "data, cardinality, reason",
    [
        (b"", 0, "ends before"),
        (FEW[:-1], 3, "ends before"),
        (FEW + b"\x00", 3, "bytes after the last container"),
        (b"\x00" * 20, 0, "magic number"),
        (FEW, 4, "descriptor"),
        (FEW, 2, "descriptor"),
        (FEW, -1, "descriptor"),
        # A promised cardinality takes no memory by itself.
        (FEW, 2**60, "descriptor"),
        (FEW, 2**61 + 3, "descriptor"),
        (struct.pack("<IQ", twin.PORTABLE, 2**63), 0, "buckets"),
        (struct.pack("<IQIII", twin.PORTABLE, 1, 2**31, 12346, 0), 0, "key"),
        (struct.pack("<IQ" + "III" * 2, twin.PORTABLE, 2, *[7, 12346, 0] * 2), 0, "key"),
        (struct.pack("<IQIII", twin.PORTABLE, 1, 0, 12345, 0), 0, "cookie"),
        (struct.pack("<IQIII", twin.PORTABLE, 1, 0, 12346, 65537), 0, "containers"),
        (struct.pack("<IQIII", twin.PORTABLE, 1, 0, 12346, 2**32 - 1), 0, "containers"),
        (struct.pack("<IQIIIHHIHH", twin.PORTABLE, 1, 0, 12346, 1, 0, 1, 16, 5, 5), 2, "ascend"),
        (struct.pack("<IQIIIHHIHH", twin.PORTABLE, 1, 0, 12346, 1, 0, 1, 17, 5, 6), 2, "offset"),
        (struct.pack("<IQIIBHHHHHHH", twin.PORTABLE, 1, 0, 12347, 1, 0, 5, 2, 1, 2, 3, 2), 6, "overlap"),
        (struct.pack("<IQIIBHHHHH", twin.PORTABLE, 1, 0, 12347, 1, 0, 1, 1, 65535, 1), 2, "pass its end"),
        (struct.pack("<IQIIBHHHHH", twin.PORTABLE, 1, 0, 12347, 1, 0, 1, 1, 7, 2), 2, "differs from its header"),
        (struct.pack("<IQIIIHHI", twin.PORTABLE, 1, 0, 12346, 1, 0, 4999, 16) + b"\x01" * 8192, 5000,
            "differs from its header"),
    ],
)  # fmt: skip
def test_each_kind_of_damage_is_named(data: bytes, cardinality: int, reason: str) -> None:
    refuses(ValueError, reason, decode, data, cardinality)


@looped(
    "act, error, reason",
    [
        *((lambda rows=rows: encode(pa.array(rows, pa.int64())), ValueError, "ascending|null")
          for rows in ([-1], [3, 3], [4, 3], [1, None])),
        (lambda: encode(pa.array([1], pa.int32())), TypeError, "int64"),
        *((lambda where=where: live_rows(pa.array([1], pa.int64()), *where), ValueError, "range of rows")
          for where in ((-1, 2), (0, -1), (2**63 - 1, 1))),
        (lambda: z85_encode(b"abc"), ValueError, "multiples of 4"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(act: Callable[[], object], error: type[Exception], reason: str) -> None:
    refuses(error, reason, act)


@given(st.lists(st.integers(0, 300), unique=True).map(sorted), *[st.integers(0, 320)] * 2, st.integers(0, 9))
def test_live_rows_are_those_that_are_not_deleted(rows: list[int], start: int, length: int, skip: int) -> None:
    array = pa.array([0] * skip + rows, pa.int64())[skip:]
    expected = [int(row not in rows) for row in range(start, start + length)]
    assert list(bytes(live_rows(array, start, length))) == expected


@given(st.binary(max_size=80))
def test_z85_round_trips(data: bytes) -> None:
    data = data[: len(data) // 4 * 4]
    assert z85_decode(z85_encode(data)) == data
    assert twin.z85_decode(z85_encode(data)) == data


@given(st.one_of(st.text(max_size=11), st.text(twin.ALPHABET, min_size=5, max_size=5), st.text("#$%@0", max_size=10)))
def test_z85_text_is_decoded_like_the_twin_or_refused(text: str) -> None:
    try:
        expected = twin.z85_decode(text)
    except ValueError:
        expected = None
    if expected is None:
        refuses(ValueError, "Z85", z85_decode, text)
    else:
        assert z85_decode(text) == expected
