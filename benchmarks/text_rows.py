"""Texts changed by numbers of their own rows, beside Python's own functions.

pyarrow has no such functions.
"""

import numpy as np
import pyarrow as pa

from benchmarks.sizes import sized
from deltaskip.sparkexpr.kernels import text_rows

ROWS = sized(1_000_000, 100_000)
_SOME = ROWS // 10


class TextRows:
    """A string column of 20 characters; `time_python` takes a tenth of the rows, as Python strings."""

    params = ("substring", "lpad")
    param_names = ("function",)

    def setup(self, function: str) -> None:
        self.texts = pa.array([f"name-{row:07d} of {row % 97:02d} é" for row in range(ROWS)])
        self.numbers = pa.array(np.arange(ROWS, dtype=np.int32) % 30)
        self.pads = pa.repeat(pa.scalar("*"), ROWS)
        self.some = self.texts.slice(0, _SOME).to_pylist()

    def time_kernel(self, function: str) -> None:
        if function == "substring":
            text_rows.slices(self.texts, self.numbers, self.numbers)
        else:
            text_rows.padded(self.texts, self.numbers, self.pads, True)

    def time_python(self, function: str) -> None:
        for row, text in enumerate(self.some):
            if function == "substring":
                text[row % 30 : 2 * (row % 30)]
            else:
                text.rjust(row % 30, "*")
