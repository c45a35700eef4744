"""The values of a long IN list in one Arrow array, as a sequence that makes a literal only when it is read.

Passes over predicates do not visit the literals (nodes.children_of): a list of a million values needs no objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.fork_safety import cached_property
from deltaskip.sparkexpr.nodes import Literal, Node
from deltaskip.sparkexpr.types.data_types import INTEGER, INTEGRAL_BITS, LONG, STRING, DataType
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values

SHORTEST = 64
"""Shorter lists are tuples of literals."""


class LiteralList(Sequence[Node]):
    """Integers (int64) or strings (string) without nulls. All have one type, or integers are INTEGER and LONG."""

    def __init__(self, array: pa.Array, types: tuple[DataType, ...]) -> None:
        self.array = array
        self.types = types

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Node]:
        return map(self._literal, self.values)

    @overload
    def __getitem__(self, at: int) -> Node: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Node, ...]: ...

    def __getitem__(self, at: int | slice) -> Node | tuple[Node, ...]:
        if isinstance(at, slice):
            return tuple(map(self._literal, self.array[at].to_pylist()))
        return self._literal(self.array[at].as_py())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LiteralList):
            return NotImplemented
        return self is other or (self.types == other.types and bool(self.array.equals(other.array)))

    def __hash__(self) -> int:
        return hash((self.types, len(self.array)))

    def __repr__(self) -> str:
        return f"LiteralList({len(self.array)} values of {', '.join(map(str, self.types))})"

    @cached_property
    def values(self) -> list[Any]:
        """The Python values, in the value domain."""
        found: list[Any] = self.array.to_pylist()
        return found

    @cached_property
    def distinct_values(self) -> frozenset[Any]:
        """The set of values, for lookups."""
        return frozenset(self.values)

    def distinct(self) -> LiteralList:
        """The list with each value once, in order."""
        once = pc.unique(self.array)
        return self if len(once) == len(self.array) else LiteralList(once, self.types)

    def within(self, type_: DataType) -> LiteralList:
        """The integers in the range of an integral type, as literals of that type."""
        bits = INTEGRAL_BITS[type_]
        numbers = numpy_values(self.array)
        held = (numbers >= -(1 << (bits - 1))) & (numbers <= (1 << (bits - 1)) - 1)
        return LiteralList(self.array if held.all() else self.array.filter(arrow_array(held)), (type_,))

    def _literal(self, value: Any) -> Literal:
        if len(self.types) == 1:
            return Literal(value, self.types[0])
        return Literal(value, INTEGER if -(2**31) <= value < 2**31 else LONG)


def integers(values: pa.Array | np.ndarray) -> LiteralList:
    """The list of int64 values as Spark types their literals."""
    array = values if isinstance(values, pa.Array) else arrow_array(values)
    numbers = numpy_values(array)
    small = (numbers >= -(2**31)) & (numbers < 2**31)
    types: tuple[DataType, ...] = (INTEGER,) if small.all() else (INTEGER, LONG) if small.any() else (LONG,)
    return LiteralList(array, types)


def text_list(values: pa.Array) -> LiteralList:
    """The list of strings."""
    return LiteralList(values, (STRING,))


def nodes_in(values: Sequence[Node]) -> Sequence[Node]:
    """The values that are separate nodes; none for a LiteralList."""
    return () if isinstance(values, LiteralList) else values


def has_null(values: Sequence[Node]) -> bool:
    """Whether a value is the literal NULL."""
    return any(isinstance(value, Literal) and value.value is None for value in nodes_in(values))
