"""Views of Arrow arrays begin at the array's offset, and a kernel's return codes become exceptions."""

import ctypes
import importlib
import itertools
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.kernels.compare import compare_columns_int64, compare_decimal128, compare_double, compare_int64
from deltaskip.kernels.deletion_vector import decode, live_rows
from deltaskip.kernels.extremes import decimal_extremes, float_extremes, integer_extremes, used_entries
from deltaskip.kernels.in_range import in_range_double, in_range_int64
from deltaskip.kernels.roaring_encode import encode
from deltaskip.sparkexpr.kernels.lane import take_lane
from tests.each import each, refuses


def behind(skip: int, values: list[Any], kind: pa.DataType) -> pa.Array:
    """The values as an array of offset `skip`; a kernel that ignores the offset reads 0 and 1 instead."""
    filler = [type(values[0])(i % 2) for i in range(skip)]
    array = pa.array([*filler, *values], kind).slice(skip)
    assert array.offset == skip
    return array


def test_every_kernel_of_fixed_width_arrays_reads_from_the_offset() -> None:
    def check(skip: int, kernel: Callable[[int], Any], expected: Any) -> None:
        assert kernel(skip) == expected

    each(
        itertools.product(
            [0, 1, 8, 13],
            [
                *(
                    (lambda skip, kind=kind: bytes(compare_int64(behind(skip, [5, 9, 7], kind), "ge", 7)), b"\0\1\1")
                    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
                ),
                (lambda skip: bytes(compare_int64(behind(skip, [False, False, True], pa.bool_()), "eq", 1)), b"\0\0\1"),
                (lambda skip: bytes(compare_double(behind(skip, [5, 9, 7], pa.float32()), "ge", 7)), b"\0\1\1"),
                (lambda skip: bytes(compare_double(behind(skip, [5, 9, 7], pa.float64()), "ge", 7)), b"\0\1\1"),
                (
                    lambda skip: bytes(
                        compare_decimal128(behind(skip, [*map(Decimal, (5, 9, 7))], pa.decimal128(9, 0)), "ge", 7)
                    ),
                    b"\0\1\1",
                ),
                (
                    lambda skip: bytes(
                        compare_columns_int64(
                            behind(skip, [5, 9, 7], pa.int32()), behind(skip + 3, [6, 6, 6], pa.int32()), "gt"
                        )
                    ),
                    b"\0\1\1",
                ),
                *(
                    (
                        lambda skip, kernel=kernel, bounds=bounds, kind=kind: bytes(
                            kernel(
                                behind(skip, [5, 9, 7], bounds),
                                behind(skip + 3, [6, 9, 8], bounds),
                                behind(skip + 5, [8, 9], kind),
                            )
                        ),
                        b"\0\1\1",
                    )
                    for kernel, bounds, kind in (
                        (in_range_int64, pa.int16(), pa.int64()),
                        (in_range_double, pa.float32(), pa.float64()),
                    )
                ),
                (lambda skip: integer_extremes(behind(skip, [5, 9, 7], pa.int32())), (5, 9)),
                (lambda skip: float_extremes(behind(skip, [5, 9, 7], pa.float32())), (5.0, 9.0)),
                (lambda skip: decimal_extremes(behind(skip, [Decimal(5), Decimal(9)], pa.decimal128(9, 0))), (5, 9)),
                (lambda skip: bytes(used_entries(behind(skip, [2, 3], pa.int16()), 5)), b"\0\0\1\1\0"),
                (lambda skip: bytes(take_lane(behind(skip, [2, 3, 2], pa.int32()), b"\0\0\1\0", False)), b"\1\0\1"),
                (lambda skip: decode(encode(behind(skip, [5, 7, 9], pa.int64())), 3).to_pylist(), [5, 7, 9]),
                (lambda skip: bytes(live_rows(behind(skip, [5, 7], pa.int64()), 4, 4)), b"\1\0\1\0"),
            ],
        ),
        lambda case: check(case[0], *case[1]),
        lambda case: f"offset {case[0]}, line {case[1][0].__code__.co_firstlineno}",
    )


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.null(), pa.binary(4)]
)
def test_an_array_without_a_fixed_width_is_refused(kind: pa.DataType) -> None:
    refuses(TypeError, "fixed-width", lambda: integer_extremes(pa.nulls(3, kind)))


@pytest.mark.parametrize(
    "kind",
    [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.date64(), pa.duration("us"),
     pa.time32("ms"), pa.time64("ns"), pa.decimal128(9, 2), pa.decimal256(50, 2)],
)  # fmt: skip
def test_a_fixed_width_that_a_kernel_does_not_compare_is_refused_by_the_kernel(kind: pa.DataType) -> None:
    refuses(TypeError, "signed integer", lambda: compare_int64(pa.nulls(3, kind), "lt", 1))


def check(code: int) -> int:
    """The C function by which every kernel raises, called as the kernels call it."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsules = importlib.import_module("deltaskip.sparkexpr.kernels.arrow").__pyx_capi__
    address = pointer(capsules["check"], b"int (int)")
    return int(ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)(code))


def test_only_code_zero_is_success() -> None:
    assert check(0) == 0
    refuses(MemoryError, None, check, -1)
    for unknown in (1, 2, -2, -3, 77):
        refuses(RuntimeError, f"unknown code {unknown}", check, unknown)
