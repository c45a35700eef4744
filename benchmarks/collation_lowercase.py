"""UTF8_LCASE over a million strings, beside pyarrow's utf8_lower and what must follow it for the same answer.

pyarrow lowers some 30 code points otherwise than Spark does, leaves bytes that are no UTF-8 to chance, and knows one
version of Unicode; it is the measure of speed only.
"""

import random

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.sizes import sized
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.collations.spark_order import spark_order

STRINGS = sized(1_000_000, 1_000)
ALPHABETS = {
    "ascii": ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789", 16),
    "latin": ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ÄÖÜäöüßéèÉÈñç", 16),
    "cyrillic": ("абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИЙКЛМН ", 16),
    "cjk": ("".join(map(chr, range(0x4E00, 0x5E00))), 6),
}


def _strings(kind: str) -> pa.Array:
    alphabet, size = ALPHABETS[kind]
    chooser = random.Random(5)
    distinct = pa.array(["".join(chooser.choices(alphabet, k=size)) for _ in range(STRINGS // 10)])
    return pa.concat_arrays([distinct] * 10)


class Lowercase:
    """One pass, single-threaded on both sides."""

    params = (tuple(ALPHABETS),)
    param_names = ("strings",)

    def setup(self, strings: str) -> None:
        self.values = _strings(strings)
        self.literal = self.values[7].as_py()
        self.order = spark_order(CollationId.parse("spark.UTF8_LCASE.77.1"))
        self.trimming = spark_order(CollationId.parse("spark.UTF8_LCASE_RTRIM.77.1"))
        self.binary = spark_order(CollationId.parse("spark.UTF8_BINARY.77.1"))

    def time_sort_keys(self, strings: str) -> None:
        self.order.sort_keys(self.values)

    def time_sort_keys_rtrim(self, strings: str) -> None:
        self.trimming.sort_keys(self.values)

    def time_sort_keys_pyarrow(self, strings: str) -> None:
        pc.utf8_lower(self.values)

    def time_compare(self, strings: str) -> None:
        self.order.compare(self.values, self.literal)

    def time_compare_pyarrow(self, strings: str) -> None:
        pc.less(pc.utf8_lower(self.values), self.literal.lower())

    def time_min_max(self, strings: str) -> None:
        self.order.min_max(self.values)

    def time_min_max_pyarrow(self, strings: str) -> None:
        pc.min_max(pc.utf8_lower(self.values))

    def time_min_max_binary(self, strings: str) -> None:
        self.binary.min_max(self.values)

    def time_min_max_binary_pyarrow(self, strings: str) -> None:
        pc.min_max(self.values)
