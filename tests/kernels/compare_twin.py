"""Slow plain twins of the comparison kernels: lists with None for null in, lists of 0 and 1 out."""

import math
from collections.abc import Callable, Sequence
from typing import Any

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def spark_order(value: float) -> tuple[bool, float]:
    """A key that orders doubles as Spark does: NaN last and equal to itself, zeros alike."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def compare(values: Sequence[Any], op: str, literal: Any, key: Callable[[Any], Any] = lambda v: v) -> list[int]:
    return [int(v is None or OPERATORS[op](key(v), key(literal))) for v in values]


def compare_columns(left: Sequence[Any], right: Sequence[Any], op: str) -> list[int]:
    return [int(a is None or b is None or OPERATORS[op](a, b)) for a, b in zip(left, right, strict=True)]


def max_may_reach(values: Sequence[bytes | None], literal: bytes, cut_from: int, strict: bool) -> list[int]:
    """Whether some true maximum, the bound itself or what a cut one begins, reaches the literal."""

    def reaches(bound: bytes) -> bool:
        candidates = [bound]
        if len(bound) >= cut_from:
            candidates.append(bound + b"\xff" * (len(literal) + 1))
        return any(c > literal if strict else c >= literal for c in candidates)

    return [int(v is None or reaches(v)) for v in values]


def in_range(
    mins: Sequence[Any],
    maxs: Sequence[Any],
    points: Sequence[Any],
    key: Callable[[Any], Any] = lambda v: v,
    cut_from: int | None = None,
) -> list[int]:
    def within(low: Any, high: Any, point: Any) -> bool:
        if low is not None and key(point) < key(low):
            return False
        if high is None or key(point) <= key(high):
            return True
        return cut_from is not None and len(high) >= cut_from and point.startswith(high)

    return [int(any(within(a, b, p) for p in points)) for a, b in zip(mins, maxs, strict=True)]
