"""Texts changed by numbers of their own rows, the encoding of forms and checksums, beside Python's own functions.

pyarrow has no such functions.
"""

import zlib
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa

from benchmarks.sizes import sized
from deltaskip.sparkexpr.kernels import text_rows

ROWS = sized(1_000_000, 100_000)
_SOME = ROWS // 10


class TextRows:
    """A string column of 20 characters; `time_python` takes a tenth of the rows, as Python strings."""

    params = ("substring", "lpad", "url_encode", "crc32")
    param_names = ("function",)

    def setup(self, function: str) -> None:
        self.texts = pa.array([f"name-{row:07d} of {row % 97:02d} é" for row in range(ROWS)])
        self.numbers = pa.array(np.arange(ROWS, dtype=np.int32) % 30)
        self.pads = pa.repeat(pa.scalar("*"), ROWS)
        self.some = self.texts.slice(0, _SOME).to_pylist()

    def time_kernel(self, function: str) -> None:
        match function:
            case "substring":
                text_rows.slices(self.texts, self.numbers, self.numbers)
            case "lpad":
                text_rows.padded(self.texts, self.numbers, self.pads, True)
            case "url_encode":
                text_rows.form_encoded(self.texts)
            case _:
                text_rows.checksums(self.texts)

    def time_python(self, function: str) -> None:
        for row, text in enumerate(self.some):
            match function:
                case "substring":
                    text[row % 30 : 2 * (row % 30)]
                case "lpad":
                    text.rjust(row % 30, "*")
                case "url_encode":
                    quote_plus(text)
                case _:
                    zlib.crc32(text.encode())
