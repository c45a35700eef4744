"""Strings in ICU's order, each beside pyicu from the same Arrow column (or pyarrow's binary order); one thread."""

import random
import string
from functools import cache
from typing import Any

import icu
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.sizes import sized
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.collations.libraries import icu_library
from deltaskip.sparkexpr.collations.lookup import collation
from deltaskip.sparkexpr.collations.spark_data import IcuCollation, icu_collation
from deltaskip.sparkexpr.kernels.key_column import KeyColumn
from deltaskip.sparkexpr.kernels.lane import and_lanes

ROWS = sized(200_000, 1_000)
FILES = sized(1_000_000, 1_000)
TEXTS = ("ascii", "latin", "cjk", "mixed", "ids")
NAMES = ("UNICODE", "UNICODE_CI", "hu")
_ASCII = string.ascii_letters + string.digits + " -_."
_LETTERS = {"ascii": _ASCII, "latin": _ASCII + "äöüßéèàçñ" * 3, "cjk": "".join(map(chr, range(0x4E00, 0x9FA5)))}


@cache
def _column(kind: str, rows: int = ROWS) -> pa.Array:
    """Words of 16 characters on average (CJK 7); `mixed` has a third of each, `ids` one beginning for all."""
    generator = random.Random(1)

    def word(of: str) -> str:
        length = max(1, int(generator.gauss(7 if of == "cjk" else 16, 4)))
        return "".join(generator.choices(_LETTERS[of], k=length))

    if kind == "ids":
        return pa.array([f"customer-{generator.randrange(10**9):010d}" for _ in range(rows)])
    kinds = ("ascii", "latin", "cjk") if kind == "mixed" else (kind,)
    return pa.array([word(kinds[i % len(kinds)]) for i in range(rows)])


def _order(name: str) -> IcuCollation:
    order = collation(f"icu.{name}.77.1")
    assert isinstance(order, IcuCollation)
    return order


def _pyicu(name: str) -> Any:
    tag = {"UNICODE": "und-u-ks-level3", "UNICODE_CI": "und-u-ks-level2"}.get(name, name)
    return icu.Collator.createInstance(icu.Locale.forLanguageTag(tag))


class Column:
    """Keys, least and greatest, and comparison with one literal, over 200,000 strings."""

    params = (TEXTS, NAMES)
    param_names = ("text", "collation")

    def setup(self, text: str, name: str) -> None:
        self.order, self.pyicu, self.array = _order(name), _pyicu(name), _column(text)
        self.literal = self.array[77].as_py()

    def time_sort_keys(self, text: str, name: str) -> None:
        self.order.sort_keys(self.array)

    def time_sort_keys_pyicu(self, text: str, name: str) -> None:
        pa.array([self.pyicu.getSortKey(value) for value in self.array.to_pylist()], pa.large_binary())

    def time_min_max(self, text: str, name: str) -> None:
        self.order.min_max(self.array)

    def time_min_max_pyicu(self, text: str, name: str) -> None:
        values = self.array.to_pylist()
        min(values, key=self.pyicu.getSortKey)
        max(values, key=self.pyicu.getSortKey)

    def time_min_max_pyarrow_binary(self, text: str, name: str) -> None:
        pc.min_max(self.array)

    def time_compare(self, text: str, name: str) -> None:
        self.order.compare(self.array, self.literal)

    def time_compare_pyicu(self, text: str, name: str) -> None:
        compare, literal = self.pyicu.compare, self.literal
        pa.array([compare(value, literal) for value in self.array.to_pylist()], pa.int8())


class Files:
    """Files that may hold a literal, out of the bounds of a million: without keys, and with keys kept from before."""

    params = (("ascii", "mixed", "ids"),)
    param_names = ("text",)

    def setup(self, text: str) -> None:
        self.order = _order("UNICODE_CI")
        column = _column(text, FILES)
        self.mins, self.maxs = column, column.take(pc.sort_indices(column, sort_keys=[("", "descending")]))
        self.literal = column[77].as_py()
        self.min_keys = KeyColumn(self.order.sort_keys(self.mins))
        self.max_keys = KeyColumn(self.order.sort_keys(self.maxs))

    def time_without_keys(self, text: str) -> None:
        above = self.order.compare(self.mins, self.literal)
        below = self.order.compare(self.maxs, self.literal)
        pc.and_(pc.less_equal(above, pa.scalar(0, pa.int8())), pc.greater_equal(below, pa.scalar(0, pa.int8())))

    def time_with_keys(self, text: str) -> None:
        key = self.order.key(self.literal)
        lane = self.min_keys.keep("le", key)
        and_lanes(lane, self.max_keys.keep("ge", key))

    def time_keys_once(self, text: str) -> None:
        KeyColumn(self.order.sort_keys(self.mins))

    def time_prefix_with_keys(self, text: str) -> None:
        self.order.may_start_with(self.min_keys, self.max_keys, self.literal[:3])


class Opening:
    """A collation of a library that is loaded already."""

    def setup(self) -> None:
        self.library: Any = icu_library("77.1")

    def time_collator(self) -> None:
        icu_collation(CollationId.parse("icu.de_CI"), self.library)
