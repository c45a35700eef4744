"""Fractions that store assignment cuts or rounds without an error, as Spark does: the first of each column is told.

Casts between other types are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import WriteWarning
from deltaskip.expr.coerce import INTEGRAL_BITS
from deltaskip.records import dataclass
from deltaskip.schema.types import DOUBLE, FLOAT, DataType, DecimalType
from deltaskip.warning import warn

_FIRST_ROWS = 1024
_MOST_DIGITS = 38
# The relative difference between a binary fraction and the decimal that it stands for.
_NOISE = {FLOAT: 1e-6, DOUBLE: 1e-9}


@dataclass(frozen=True, slots=True)
class LossyCast:
    """A value that is stored as another one.

    Attributes:
        column: The column, such as `st.x`.
        type_name: Its type as DDL text.
        given: The value as text.
        stored: What the column has instead.
    """

    column: str
    type_name: str
    given: str
    stored: str


def first_loss(array: pa.Array, stored: pa.Array, source: DataType, target: DataType) -> int | None:
    """Return the index of the first value that lost digits of its fraction when it was stored; None if none did.

    Args:
        array: The values of the type `source`.
        stored: The same values as the type `target` has them.
    """
    start, rows = 0, _FIRST_ROWS
    while start < len(array):
        # Where fractions are lost, most often one of the first values has one.
        lost = _lost(array.slice(start, rows), stored.slice(start, rows), source, target)
        if lost is None:
            return None
        index = pc.index(lost, True).as_py()
        if index >= 0:
            return start + int(index)
        start, rows = start + rows, 8 * rows
    return None


def warn_of_losses(losses: Sequence[LossyCast], table: str) -> None:
    """Issue the warning for the columns of a write, which has at least one."""
    told = {each.column: each for each in losses}
    first, more = losses[0], list(told)[1:]
    also = f" Values of {', '.join(more)} are rounded, too." if more else ""
    warn(
        f"The value {first.given} is stored as {first.stored} in the column {first.column} of {table}, which is "
        f"{first.type_name}, as Spark stores it.{also} Round or cast the values before, or give the column a type that "
        f"holds them.",
        WriteWarning,
    )


def _lost(array: pa.Array, stored: pa.Array, source: DataType, target: DataType) -> pa.Array | None:
    """Which values are stored as others; None where the cast keeps all of them."""
    if isinstance(source, DecimalType) and (scale := _scale(target)) is not None and source.scale > scale:
        # pyarrow refuses to round a decimal without a digit before the point.
        roomy = array.cast(pa.decimal256(2 * _MOST_DIGITS, source.scale))
        return pc.not_equal(roomy, pc.round(roomy, ndigits=scale, round_mode="towards_zero"))
    if source in _NOISE and target in INTEGRAL_BITS:
        return pc.not_equal(array, pc.trunc(array))
    if source in _NOISE and isinstance(target, DecimalType):
        values = array.cast(pa.float64())
        off = pc.abs(pc.subtract(stored.cast(pa.float64()), values))
        return pc.greater(off, pc.multiply(pc.abs(values), _NOISE[source]))
    return None


def _scale(data_type: DataType) -> int | None:
    return data_type.scale if isinstance(data_type, DecimalType) else 0 if data_type in INTEGRAL_BITS else None
