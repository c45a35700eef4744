"""Keys of a join, as one set of tuples, and values in a form in which equal ones are identical."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.fork_safety import cached_property
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import FLOATING, ArrayType, DataType, StructType
from deltaskip.sparkexpr.values.arrow_nested import list_items, list_offsets
from deltaskip.sparkexpr.values.arrow_values import (
    arrow_array,
    arrow_scalar,
    filled,
    numpy_values,
    one_chunk,
    typed_array,
)

if TYPE_CHECKING:
    from deltaskip.sparkexpr.collations.collation import Collation

_EMPTY = arrow_array([b""], pa.binary())[0]
_NAN = np.int64(0x7FF8000000000000)


class KeyTuples:
    """Tuples of values, which other tuples equal or not, as `=` compares each value. It can be pickled.

    Args:
        columns: The values, one array for each place of the tuples, without NULL.
        types: The types of the places.

    Attributes:
        columns: The values.
        types: The types.
    """

    def __init__(self, columns: Sequence[pa.Array], types: Sequence[DataType]) -> None:
        self.columns = tuple(columns)
        self.types = tuple(types)
        self._indexes: dict[tuple[str, ...], list[_Place]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyTuples, (self.columns, self.types)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __repr__(self) -> str:
        return f"KeyTuples({len(self)} keys of {', '.join(map(str, self.types))})"

    def among(self, values: Sequence[pa.Array], orders: Sequence[Collation | None]) -> pa.BooleanArray:
        """Return for each row whether its tuple is one of these; NULL if a value of it is.

        values: One array for each place. orders: The collation of the strings of each place; None for their bytes.
        """
        valid = values[0].is_valid()
        for each in values[1:]:
            valid = pc.and_(valid, each.is_valid())
        found = np.ones(len(values[0]), np.bool_)
        codes: npt.NDArray[Any] = np.zeros(len(found), np.int64)
        for place, each, type_, order in zip(self._index(orders), values, self.types, orders, strict=True):
            codes, known = place.codes(codes, _form(each, type_, order))
            found &= known
        return pc.if_else(valid, arrow_array(found), arrow_scalar(None, pa.bool_()))

    def has(self, values: Sequence[object]) -> bool:
        """Return whether a tuple without NULL is one of these. Strings are compared by their bytes."""
        arrays = [typed_array([each], arrow_type(type_)) for each, type_ in zip(values, self.types, strict=True)]
        return tuple(_form(each, type_)[0].as_py() for each, type_ in zip(arrays, self.types, strict=True)) in self._set

    @cached_property
    def _set(self) -> frozenset[tuple[Any, ...]]:
        forms = (_form(each, type_).to_pylist() for each, type_ in zip(self.columns, self.types, strict=True))
        return frozenset(zip(*forms, strict=True))

    def _index(self, orders: Sequence[Collation | None]) -> list[_Place]:
        key = tuple("" if order is None else f"{order.id}" for order in orders)
        if key not in self._indexes:
            places: list[_Place] = []
            codes: npt.NDArray[Any] = np.zeros(len(self), np.int64)
            for column, type_, order in zip(self.columns, self.types, orders, strict=True):
                place, codes = _Place.of(codes, _form(column, type_, order))
                places.append(place)
            self._indexes[key] = places
        return self._indexes[key]


class _Place:
    """Numbers of the tuples up to a place, by those up to the place before and the value at this place.

    Args:
        values: The distinct values, in the form of `equal_form`.
        pairs: int64, ascending: number of the tuple before times the count of values, plus the place of the value.
    """

    def __init__(self, values: pa.Array, pairs: npt.NDArray[Any]) -> None:
        self._values = values
        self._pairs = pairs

    @classmethod
    def of(cls, before: npt.NDArray[Any], values: pa.Array) -> tuple[_Place, npt.NDArray[Any]]:
        """Return the place of tuples, and the number of each of them."""
        distinct = pc.unique(values)
        pairs = before * len(distinct) + numpy_values(pc.index_in(values, value_set=distinct)).astype(np.int64)
        once, numbers = np.unique(pairs, return_inverse=True)
        return cls(distinct, once), numbers.astype(np.int64)

    def codes(self, before: npt.NDArray[Any], values: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the numbers of tuples, and whether each of them is known."""
        if not len(self._pairs):
            return before, np.zeros(len(before), np.bool_)
        found = numpy_values(filled(pc.index_in(values, value_set=self._values), -1)).astype(np.int64)
        pairs = before * len(self._values) + found
        numbers = np.minimum(np.searchsorted(self._pairs, pairs), len(self._pairs) - 1)
        return numbers, (found >= 0) & (self._pairs[numbers] == pairs)


def _form(values: pa.Array, type_: DataType, order: Collation | None = None) -> pa.Array:
    return equal_form(values if order is None else one_chunk(order.sort_keys(values).cast(pa.binary())), type_)


def equal_form(values: pa.Array, type_: Any) -> pa.Array:
    """Return values in a form in which values that Spark considers equal are identical; none is NULL.

    NaN equals NaN, and 0.0 equals -0.0. NULL is the form of some value. Collated strings are given as sort keys.
    """
    if isinstance(type_, StructType | ArrayType):
        return _framed(values, type_)
    if type_ in FLOATING:
        numbers = np.asarray(values.to_numpy(zero_copy_only=False), np.float64) + 0.0
        nan = np.isnan(numbers) & numpy_values(pc.is_valid(values))
        bits = np.where(np.isnan(numbers), 0.0, numbers).view(np.int64)
        return arrow_array(np.where(nan, _NAN, bits))
    if pa.types.is_null(values.type):
        return arrow_array(np.zeros(len(values), np.int64))
    if not values.null_count:
        return values
    return one_chunk(pc.fill_null(values, typed_array([_zero(values.type)], values.type)[0]))


def _framed(values: pa.Array, type_: DataType) -> pa.Array:
    """The bytes of values at every depth, each after its length. NULL equals NULL inside of arrays and structs."""
    match type_:
        case StructType(fields):
            inner = [_framed(child, f.type) for f, child in zip(fields, values.flatten(), strict=True)]
            found = pc.binary_join_element_wise(*inner, b"") if inner else pa.repeat(_EMPTY, len(values))
        case ArrayType(element):
            found = pc.binary_join(
                pa.ListArray.from_arrays(list_offsets(values), _framed(list_items(values), element)), b""
            )
        case _:
            found = equal_form(values, type_)
            if not (pa.types.is_string(found.type) or pa.types.is_binary(found.type)):
                if pa.types.is_date(found.type) or pa.types.is_timestamp(found.type):
                    found = found.view(pa.int32() if pa.types.is_date(found.type) else pa.int64())
                found = found.cast(pa.string())
    found = found.cast(pa.binary())
    lengths = pc.binary_length(found).cast(pa.string()).cast(pa.binary())
    whole = pc.binary_join_element_wise(lengths, found, b":")
    return one_chunk(pc.if_else(pc.is_valid(values), whole, arrow_scalar(b"-", pa.binary())))


def _zero(kind: pa.DataType) -> Any:
    """Some value of a flat type, in the value domain."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return b""
    if pa.types.is_decimal(kind):
        return Decimal(0)
    return False if pa.types.is_boolean(kind) else 0
