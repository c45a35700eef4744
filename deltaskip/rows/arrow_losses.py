"""Values that store assignment changes without an error, as in Spark: the first one of each column is reported.

They are fractions that are cut or rounded, whole numbers that a floating type cannot represent, numbers that become
infinite, NaN and the infinities in a decimal, times of day that a date drops, and the empty string in a partition
column. Other casts are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import WriteWarning
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, Zone, instant_of
from deltaskip.warning import warn

_FIRST_ROWS = 1024
_MOST_DIGITS = 38
# The relative difference between a binary fraction and the decimal that it stands for.
_NOISE = {t.FLOAT: 1e-6, t.DOUBLE: 1e-9}
# The number of bits up to which a floating type represents every whole number.
_WHOLE_BITS = {t.FLOAT: 24, t.DOUBLE: 53}


@dataclass(frozen=True, slots=True)
class LossyCast:
    """A value that is stored as another one.

    Attributes:
        column: The column, such as `st.x`.
        type_name: Its type as DDL text.
        given: The value as text.
        stored: The stored value as text.
        cure: What to do, a sentence.
    """

    column: str
    type_name: str
    given: str
    stored: str
    cure: str = "Round or cast the values before, or give the column a type that holds them."


def first_loss(array: pa.Array, stored: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> int | None:
    """Return the index of the first value that changes when it is stored; None if none does.

    Args:
        array: The values.
        stored: The same values, converted.
        source: Their type.
        target: The type to which they are converted.
        zone: The session's time zone.
    """
    start, rows = 0, _FIRST_ROWS
    while start < len(array):
        # If fractions are lost, one of the first values usually has one.
        lost = _lost(array.slice(start, rows), stored.slice(start, rows), source, target, zone)
        if lost is None:
            return None
        if pc.any(lost).as_py():
            return start + int(pc.index(lost, True).as_py())
        start, rows = start + rows, 8 * rows
    return None


def warn_of_losses(losses: Sequence[LossyCast], table: str) -> None:
    """Issue the warning for the columns of a write, which has at least one."""
    told = {each.column: each for each in losses}
    first, more = losses[0], list(told)[1:]
    also = f" Values of {', '.join(more)} are changed, too." if more else ""
    warn(
        f"The value {first.given} is stored as {first.stored} in the column {first.column} of {table}, which is "
        f"{first.type_name}, as Spark stores it.{also} {first.cure}",
        WriteWarning,
    )


def empty_partition(column: str) -> LossyCast:
    """Return the LossyCast for an empty string that is stored as NULL in a partition column of type STRING."""
    cure = "Look for it with IS NULL, or write another string in its place."
    return LossyCast(column, "a partition column of type STRING", "''", "NULL", cure)


def _lost(array: pa.Array, stored: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> pa.Array | None:
    """Which values the cast changes; None if it keeps all of them."""
    if isinstance(source, t.DecimalType) and (scale := _scale(target)) is not None and source.scale > scale:
        # pyarrow refuses to round a decimal without a digit before the point.
        roomy = array.cast(pa.decimal256(2 * _MOST_DIGITS, source.scale))
        return pc.not_equal(roomy, pc.round(roomy, ndigits=scale, round_mode="towards_zero"))
    if source in _NOISE and target in t.INTEGRAL_BITS:
        return pc.not_equal(array, pc.trunc(array))
    if source in _NOISE and isinstance(target, t.DecimalType):
        values = array.cast(pa.float64())
        off = pc.abs(pc.subtract(stored.cast(pa.float64()), values))
        # NaN and the infinities are stored as NULL.
        return pc.or_kleene(
            pc.invert(pc.is_finite(values)), pc.greater(off, pc.multiply(pc.abs(values), _NOISE[source]))
        )
    if source == t.DOUBLE and target == t.FLOAT:
        infinite = pc.is_inf(stored)
        return pc.and_(infinite, pc.is_finite(array)) if pc.any(infinite).as_py() else infinite
    if target in _WHOLE_BITS and (
        isinstance(source, t.DecimalType) or t.INTEGRAL_BITS.get(source, 0) > _WHOLE_BITS[target]
    ):
        return _inexact(array, stored, 1 << _WHOLE_BITS[target], source)
    if target == t.DATE and source in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return pc.not_equal(array.view(pa.int64()), _midnights(stored, source, zone))
    return None


def _inexact(array: pa.Array, stored: pa.Array, limit: int, source: t.DataType) -> pa.Array:
    """Which whole numbers floating values do not represent exactly. Numbers up to the limit are exact."""
    least, most = pc.min_max(array).as_py().values()
    if least is None or -limit <= least <= most <= limit:
        return pa.array([], pa.bool_())
    # The greatest integers of 64 bits are rounded to 2**63, which is none of them.
    exact = pa.decimal256(2 * _MOST_DIGITS, source.scale if isinstance(source, t.DecimalType) else 0)
    given, kept = array.cast(exact), stored.cast(pa.float64()).cast(exact)
    return pc.and_(pc.equal(given, pc.trunc(given)), pc.not_equal(given, kept))


def _midnights(dates: pa.Array, source: t.DataType, zone: Zone) -> pa.Array:
    """The microseconds at which days begin, in the zone or as a local time."""
    if source == t.TIMESTAMP_NTZ or (zone.rules is None and not zone.offset):
        return dates.cast(pa.timestamp("us"), safe=False).view(pa.int64())
    encoded = dates.view(pa.int32()).dictionary_encode()
    begins = [instant_of(day * MICROS_PER_DAY, zone) for day in encoded.dictionary.to_pylist()]
    return arrow_array(begins, pa.int64()).take(encoded.indices)


def _scale(data_type: t.DataType) -> int | None:
    return data_type.scale if isinstance(data_type, t.DecimalType) else 0 if data_type in t.INTEGRAL_BITS else None
