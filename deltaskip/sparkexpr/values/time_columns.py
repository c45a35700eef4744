"""Calendar arithmetic on whole columns of dates and timestamps, shared by the functions of times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import NOTHING
from deltaskip.sparkexpr.values.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    Zone,
    civil_from_days,
    days_from_civil,
)
from deltaskip.sparkexpr.values.zones import local_times, near_limits

DATES_FROM, DATES_TO = -719_162, 2_932_896
"""The days of the years 1 to 9999, for which Arrow's calendar functions are used."""


def time_texts(local: np.ndarray, given: v.Values) -> v.Partly | pa.Array:
    """The strings of CAST(… AS STRING) for local microseconds; years outside 1 to 9999 are left over."""
    seconds, fraction = local // MICROS_PER_SECOND, local % MICROS_PER_SECOND
    usual = (local >= DATES_FROM * MICROS_PER_DAY) & (local < (DATES_TO + 1) * MICROS_PER_DAY)
    whole = v.made(np.where(usual, seconds, 0), pa.timestamp("s"), given)
    found = pc.cast(whole, pa.string())
    if fraction.any():
        digits = pc.utf8_lpad(pc.cast(v.made(fraction, pa.int64(), given), pa.string()), 6, "0")
        tail = pc.if_else(v.made(fraction != 0, pa.bool_()), pc.utf8_rtrim(digits, "0"), NOTHING)
        point = pc.if_else(pc.equal(tail, NOTHING), NOTHING, v.constant_of(".", pa.string()))
        found = pc.binary_join_element_wise(found, point, tail, NOTHING)
    return found if usual.all() else v.Partly(found, ~usual)


def within_limits(found: pa.Array, times: v.Values) -> v.Values | v.Partly:
    """The results of a function of `times`; rows with times near the limits of 64 bits are left over."""
    rest = near_limits(v.numbers(times))
    return found if rest is None else v.Partly(found, rest)


def local_column(values: v.Values, zoned: bool, zone: Zone) -> np.ndarray:
    """Local microseconds of an array of timestamps; 0 for null."""
    micros = v.filled(v.column(values))
    return local_times(micros, zone) if zoned else micros


def date_column(days: np.ndarray, *given: v.Values) -> pa.Array:
    """The days as dates. Raises NotByColumn for days out of range: Spark raises for some units and wraps for others."""
    if v.any_set((days < -(2**31)) | (days >= 2**31), *given):
        raise v.NotByColumn
    return v.made(days.astype(np.int32), pa.date32(), *given)


def civil(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Year, month and day of days since 1970-01-01."""
    return civil_from_days(days.astype(np.int64))


def first_of_month(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    """Days from 1970-01-01 to the first day of a month from 1 to 13."""
    return days_from_civil(year + month // 13, (month - 1) % 12 + 1, 1)
