"""Results of Spark's mathematical functions on Java 17: `python -m tests.sparkexpr.kernels.java_math` renews them.

They hold the bits of a few thousand results; tests/sparkexpr/test_spark_math.py compares many more with a live session.
"""

import math
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.sparkexpr.stored import read_stored, session, write_stored

FILE = Path(__file__).with_name("java_math.json.gz")
STORED = 100

STRICT = {
    "acos": "acos(x)",
    "asin": "asin(x)",
    "atan": "atan(x)",
    "cosh": "cosh(x)",
    "exp": "exp(x)",
    "expm1": "expm1(x)",
    "log": "ln(x)",
    "log10": "log10(x)",
    "log1p": "log1p(x)",
    "sinh": "sinh(x)",
}
"""Functions of StrictMath, and Spark's expression for each; NULL where Spark has no logarithm."""

STRICT_PAIRS = {"atan2": "atan2(x, y)", "hypot": "hypot(x, y)", "pow": "pow(x, y)"}
AGREED = {name: f"{name}(x)" for name in ("cbrt", "cos", "sin", "tan", "tanh")}

EDGES = (
    *(0.0, 1.0, 0.5, 2.0, 3.0, 22.0, 36.0, math.e, math.pi, math.inf, 5e-324, 2.2250738585072014e-308),
    *(1.7976931348623157e308, 709.782712893384, 710.4758600739439, 745.1332191019412, 1 - 2**-53, 1 + 2**-52),
    *(2.0**-28, 2.0**-54, 2.0**53, 2.0**66, 0.4142135623730950, 0.3465735902799726, 7 / 16, 19 / 16, 0.975, 0.6744),
)


def sample(count: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pairs of doubles: of all magnitudes, in the ranges where the functions change their formulas, and edges."""
    random = np.random.default_rng(seed)
    parts = [
        random.integers(0, 2**64, count, dtype=np.uint64).view(np.float64),
        random.uniform(-1, 1, count),
        random.uniform(-12, 12, count),
        random.uniform(-800, 800, count),
        10.0 ** random.uniform(-9, 9, count) * random.choice([-1, 1], count),
        random.integers(-2000, 2000, count) / 8.0,
        np.nextafter(random.integers(-400, 400, count) * math.pi / 4, math.inf),
    ]
    x = np.concatenate(parts)
    y = random.permutation(np.concatenate([*parts[1:], random.integers(-40, 40, count).astype(np.float64)]))
    edges = np.array([*EDGES, *(-each for each in EDGES), math.nan])
    grid = np.meshgrid(edges, random.permutation(edges)[: 60 if count > STORED else 12])
    return np.concatenate([x, grid[0].ravel()]), np.concatenate([y, grid[1].ravel()])


def asked(spark: Any, count: int, seed: int) -> pa.Table:
    """The sample, and Spark's results by the name of the function."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.parquet")
        x, y = sample(count, seed)
        pq.write_table(pa.table({"x": x, "y": y}), path)
        named = {**STRICT, **STRICT_PAIRS, **AGREED}
        frame = spark.read.parquet(path).selectExpr("x", "y", *(f"{sql} AS {name}" for name, sql in named.items()))
        return frame.coalesce(1).toArrow()


@cache
def stored() -> pa.Table:
    """The stored results."""
    found = read_stored(FILE)
    return pa.table({name: [None if v is None else float.fromhex(v) for v in found[name]] for name in found})


if __name__ == "__main__":
    table = asked(session(), STORED, 1)
    told = {name: [None if v is None else v.hex() for v in table[name].to_pylist()] for name in table.column_names}
    write_stored(FILE, told)
