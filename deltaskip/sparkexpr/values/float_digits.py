"""Converts columns of doubles and floats to the decimals that Java writes for them.

The string of x reads back as x, and the string of a decimal t reads back as the double nearest to t. If x is not the
nearest double, x and its string are on the same side of t. If x is the nearest double and t has few digits, x and t
have the same string: all versions of Java write the same string for up to 15 digits between 10⁻³ and 10⁷.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.sparkexpr.values.vectors import numbers, valid

EXACT_POWER = 22
"""The greatest power of ten that a double represents exactly."""

_EXACT = 2.0**53
_SURE_DIGITS = 1e15
_SURE_FROM, _SURE_TO = 0.001, 1e7
# The digits up to which the string of a float is certain, and the digits after its point.
_SINGLE_DIGITS = 1e6
_SINGLE_PLACES, _PLACES = 9, 15


def units_of(size: Any, scale: int, to_even: bool = False) -> tuple[Any, Any]:
    """Return magnitudes in units of 10^-scale, rounded as their strings, and a mask of the rows where this is certain.

    scale: From -21 to 21. to_even: Whether a half is rounded to the even number, not up.
    """
    unit = 10.0 ** abs(scale)
    fraction = scale >= 0

    def result(units: Any) -> Any:
        return units / unit if fraction else units * unit

    with np.errstate(all="ignore"):
        units = np.floor(size * unit if fraction else size / unit)
        units = np.where(result(units) > size, units - 1, units)
        units = np.where(result(units + 1) <= size, units + 1, units)
        middle = (2 * units + 1) * 5 / (unit * 10) if fraction else units * unit + unit / 2
        tie = size == middle
        few = (middle * unit * 10 if fraction else middle) < _SURE_DIGITS
        sure = ~tie | (few & (middle >= _SURE_FROM) & (middle < _SURE_TO))
        units = units + ((size > middle) | (tie & ((units % 2 == 1) if to_even else True)))
        sure &= ((units if fraction else units * unit) + 1) * 10 < _EXACT
    return units, sure


def decimals_of(given: Any, known: Any, precision: int, scale: int) -> tuple[pa.Array, Any]:
    """Return doubles as decimals, and a mask of the finite doubles that must be converted one by one.

    A decimal is null if its double is missing, not finite or must be converted alone. known: A mask of the rows that
    have a double; None for all rows.
    """
    finite = np.isfinite(given) if known is None else np.isfinite(given) & known
    size = np.abs(np.where(finite, given, 0.0))
    if scale >= EXACT_POWER:
        return pa.nulls(len(given), pa.decimal128(precision, scale)), finite
    units, sure = units_of(size, scale)
    done = finite & sure & (units < 10.0 ** min(precision, 15))
    whole = np.where(done, np.copysign(units, given), 0.0).astype(np.int64)
    return _decimals(whole, precision, scale, done), finite & ~done


def float_texts(values: pa.Array) -> tuple[pa.Array, Any]:
    """Return doubles or floats as strings, and a mask of the rows that must be converted one by one."""
    single = values.type == pa.float32()
    given, rows = numbers(values), valid(values)
    size = np.abs(given)
    open_ = (size >= _SURE_FROM) & (size < _SURE_TO)
    if rows is not None:
        open_ &= rows
    parts: list[pa.Array] = []
    places: list[Any] = []
    for scale in range(1, (_SINGLE_PLACES if single else _PLACES) + 1):
        at = np.flatnonzero(open_)
        if not len(at):
            break
        unit = given.dtype.type(10.0**scale)
        here = size[at]
        units = np.rint(here.astype(np.float64) * unit)
        same = (units < (_SINGLE_DIGITS if single else _SURE_DIGITS)) & (units.astype(given.dtype) / unit == here)
        found = at[same]
        if len(found):
            whole = np.copysign(units[same], given[found]).astype(np.int64)
            parts.append(_decimals(whole, 38, scale).cast(pa.string()))
            places.append(found)
            open_[found] = False
    done = np.concatenate(places) if places else np.zeros(0, np.int64)
    rest = np.ones(len(given), np.bool_) if rows is None else rows.copy()
    rest[done] = False
    indices = np.full(len(given), -1, np.int64)
    indices[done] = np.arange(len(done))
    taken = pa.array(indices, mask=indices < 0)
    return pa.concat_arrays([*parts, pa.array([], pa.string())]).take(taken), rest


def _decimals(units: Any, precision: int, scale: int, known: Any = None) -> pa.Array:
    halves = np.empty(2 * len(units), np.int64)
    halves[::2], halves[1::2] = units, units >> 63
    bits = None if known is None or known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(units), [bits, pa.py_buffer(halves)])
