"""Z-order beside the Hilbert curve: the share of files that point and range predicates keep, on one to four columns.

    python -m benchmarks.curves [--rows 1000000] [--files 256]

Rows are ordered as `DeltaTable.optimize` orders them and divided into files of the same number of rows; a predicate
keeps a file if the minima and maxima of its columns leave room for a match. Values are uniform, skewed, or follow each
other as time and an order number do.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from deltaskip.maintenance.optimize.curve import SAMPLE_ROWS, cells_of, cuts_of, places_on, side_bits
from deltaskip.maintenance.optimize.strategy import CurveName

_POINTS = 200
_CURVES: tuple[CurveName, ...] = ("zorder", "hilbert")
_Values = list[npt.NDArray[Any]]


def tables(rows: int, columns: int) -> dict[str, _Values]:
    """Columns of each distribution."""
    random = np.random.default_rng(1)
    time = np.arange(rows, dtype=np.float64)
    correlated = [time + random.normal(0, rows / 50 * (i + 1), rows) for i in range(columns)]
    return {
        "uniform": [random.random(rows) for _ in range(columns)],
        "skewed": [random.zipf(1.3, rows).clip(max=10**6).astype(np.float64) for _ in range(columns)],
        "correlated": correlated,
    }


def bounds(values: _Values, curve: CurveName, files: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Minimum and maximum of each column in each file."""
    bits = side_bits(len(values))
    step = max(1, len(values[0]) // SAMPLE_ROWS)
    cells = [cells_of(each, None, cuts_of(each[::step], 0, bits)) for each in values]
    parts = np.array_split(np.argsort(places_on(curve, cells, bits), kind="stable"), files)
    low = np.array([[each[part].min() for part in parts] for each in values])
    return low, np.array([[each[part].max() for part in parts] for each in values])


def kept(values: _Values, low: npt.NDArray[Any], high: npt.NDArray[Any], used: int, share: float) -> float:
    """Average share of files that predicates on `used` columns keep, each of a point or of a share of the rows."""
    random = np.random.default_rng(2)
    ordered = [np.sort(each) for each in values]
    total, rows = 0.0, len(values[0])
    chosen = list(combinations(range(len(values)), used))
    for _ in range(_POINTS):
        columns = chosen[random.integers(len(chosen))]
        row = int(random.integers(rows))
        may = np.ones(low.shape[1], np.bool_)
        for column in columns:
            at = int(np.searchsorted(ordered[column], values[column][row]))
            first, last = ordered[column][at], ordered[column][min(rows - 1, at + int(share * rows))]
            may &= (low[column] <= last) & (high[column] >= first)
        total += may.mean()
    return total / _POINTS


def main() -> None:
    """Print a line for each distribution and number of columns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=256)
    options = parser.parse_args()
    print("| values | ordered by | predicate on | point: Z-order | Hilbert | 5 % of the rows: Z-order | Hilbert |")
    print("|---|---|---|---|---|---|---|")
    for count in (2, 3, 4):
        for name, values in tables(options.rows, count).items():
            found = {curve: bounds(values, curve, options.files) for curve in _CURVES}
            for used in sorted({1, count}):
                shares = [100 * kept(values, *found[curve], used, share) for share in (0, 0.05) for curve in _CURVES]
                figures = " | ".join(f"{share:.1f} %" for share in shares)
                print(f"| {name} | {count} columns | {used} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
