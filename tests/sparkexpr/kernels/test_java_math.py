"""Functions of java.lang.StrictMath and java.lang.Math against the JVM, bit by bit."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deltaskip.sparkexpr.kernels import agreed_math, strict_math
from tests.each import refuses
from tests.sparkexpr.kernels.java_math import AGREED, STRICT, STRICT_PAIRS, stored


def column(name: str) -> pa.Array:
    return stored()[name].combine_chunks()


def bits(values: pa.Array) -> Any:
    """The bits of doubles, the same for every NaN."""
    found = values.to_numpy(zero_copy_only=False)
    return np.where(np.isnan(found), np.nan, found).view(np.int64)


def check(found: pa.Array, name: str, certain: Any = True) -> None:
    wanted = column(name)
    same = (bits(found) == bits(wanted)) | wanted.is_null().to_numpy(zero_copy_only=False)
    odd = np.flatnonzero(~same & certain)
    assert not len(odd), [(name, column("x")[int(i)], column("y")[int(i)], found[int(i)], wanted[int(i)]) for i in odd]


@pytest.mark.parametrize("name", STRICT)
def test_functions_of_one_double_are_those_of_the_jvm(name: str) -> None:
    found = strict_math.unary(name, column("x"))
    check(found, name)
    for at in range(0, len(found), 37):
        value = strict_math.unary_value(name, column("x")[at].as_py())
        assert bits(pa.array([value])) == bits(found.slice(at, 1))


@pytest.mark.parametrize("name", STRICT_PAIRS)
def test_functions_of_two_doubles_are_those_of_the_jvm(name: str) -> None:
    # Spark adds 0.0 to both operands of atan2.
    moved = 0.0 if name == "atan2" else -0.0
    x, y = (pa.array(column(each).to_numpy() + moved) for each in "xy")
    found = strict_math.binary(name, x, y)
    check(found, name)
    for at in range(0, len(found), 37):
        value = strict_math.binary_value(name, x[at].as_py(), y[at].as_py())
        assert bits(pa.array([value])) == bits(found.slice(at, 1))


@pytest.mark.parametrize("name", AGREED)
def test_certain_results_are_those_of_the_jvm(name: str) -> None:
    found, doubtful = agreed_math.agreed(name, column("x"))
    certain = ~doubtful.to_numpy().astype(np.bool_)
    assert certain.mean() > 0.6
    check(found, name, certain)


@pytest.mark.parametrize("name", [*STRICT, *AGREED])
def test_results_are_near_those_of_python(name: str) -> None:
    function = getattr(math, name)
    values = [0.1 * n for n in range(-9, 10)]
    found = (
        agreed_math.agreed(name, pa.array(values))[0] if name in AGREED else strict_math.unary(name, pa.array(values))
    )
    for value, result in zip(values, found.to_pylist(), strict=True):
        try:
            wanted = function(value)
        except ValueError:
            continue
        assert result == pytest.approx(wanted, rel=1e-15, abs=1e-300), (name, value)


def test_a_slice_with_nulls_keeps_them() -> None:
    values = pa.array([9.0, None, 0.0, 0.0, None]).slice(1)
    assert strict_math.unary("exp", values).to_pylist() == [None, 1.0, 1.0, None]
    found, doubtful = agreed_math.agreed("cos", values)
    assert found.to_pylist()[:2] == [None, 1.0]
    assert doubtful.to_pylist()[0] == 0


def test_other_functions_and_types_are_refused() -> None:
    numbers = pa.array([1.0])
    for call in (strict_math.unary, agreed_math.agreed):
        refuses(ValueError, "is no function", call, "gamma", numbers)
        with pytest.raises(TypeError):
            call("exp" if call is strict_math.unary else "sin", pa.array([1]))
    refuses(ValueError, "is no function", strict_math.binary, "fmod", numbers, numbers)
    refuses(ValueError, None, strict_math.binary, "pow", numbers, pa.array([1.0, 2.0]))
