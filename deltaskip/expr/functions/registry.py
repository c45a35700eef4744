"""The table of functions: one row each, from the modules of their families.

Only deterministic functions are listed. A call without a row, or with unsupported types, stays untyped and proves
nothing.

# Spark 4.1, FunctionRegistry and the inputTypes of its expressions
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaskip.expr.functions.conditions import CONDITIONS
from deltaskip.expr.functions.function import Function
from deltaskip.expr.functions.hashing import HASHING
from deltaskip.expr.functions.numbers import NUMBERS
from deltaskip.expr.functions.text import TEXT
from deltaskip.expr.functions.times import TIMES

__all__ = ["FUNCTIONS"]

FUNCTIONS: Mapping[str, Function] = {**NUMBERS, **CONDITIONS, **TEXT, **TIMES, **HASHING}
