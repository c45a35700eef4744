"""Statistics of a batch of add actions, decoded a leaf at a time and only where asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels.stats_json import extract_double, extract_int64, extract_leaves
from deltaskip.schema.types import BYTE, FLOAT, INTEGER, LONG, SHORT
from deltaskip.stats.decode import from_double, from_struct, from_text
from deltaskip.stats.layout import NUM_RECORDS, BoundKind, Side, StatField, StatLeaf

__all__ = ["FileStats", "StatisticsWarning"]

_INTEGERS = (BYTE, SHORT, INTEGER, LONG)
_MISSING, _NULL, _STRING, _NUMBER, _BOOLEAN = range(5)
_GROUP_NAMES = {"nullCount": ("nullCount", "nullCounts")}


class StatisticsWarning(UserWarning):
    """A statistic in the log has the wrong JSON type or is no JSON at all; it counts as missing."""


class FileStats:
    """min/max, null counts and row counts of `num_rows` files.

    parsed: `stats_parsed` of the rows (StructArray) or None. json: called once at most, gives `stats` as text or None.
    A row whose `stats_parsed` is not null is read from there, any other row and any leaf that the struct's schema lacks
    from the text (skipping.md, trap 11). nan_recorded: True where the file's writer is known to record NaN in its
    bounds; elsewhere, and beside a maximum that is a number, a NaN minimum is no bound (trap 1).
    """

    def __init__(
        self,
        num_rows: int,
        parsed: pa.StructArray | None,
        json: Callable[[], pa.Array | None],
        nan_recorded: Callable[[], pa.BooleanArray],
    ) -> None:
        self.num_rows = num_rows
        self._parsed = parsed
        self._load_json = json
        self._load_nan_recorded = nan_recorded
        self._json: pa.Array | None = None
        self._json_loaded = False
        self._nan_recorded: pa.BooleanArray | None = None
        self._decoded: dict[StatLeaf, pa.Array] = {}

    def load(self, leaves: Iterable[StatLeaf]) -> None:
        """Decode `leaves` in one pass over each text."""
        wanted = [leaf for leaf in dict.fromkeys(leaves) if leaf not in self._decoded]
        from_parsed = {leaf: self._struct_leaf(leaf) for leaf in wanted}
        from_json = [leaf for leaf, values in from_parsed.items() if values is None or self._some_rows_unparsed()]
        texts = self._json_leaves(from_json)
        for leaf in wanted:
            self._decoded[leaf] = self._merge(from_parsed[leaf], texts.get(leaf), leaf)

    def bound(self, field: StatField, side: Side) -> pa.Array:
        """Minimum or maximum in the kernel layout of `field.kind`; null where missing or unusable. Inclusive."""
        return self._leaf(StatLeaf("minValues" if side == "min" else "maxValues", field))

    def null_count(self, field: StatField) -> pa.Array:
        """int64 null counts; null where missing."""
        return self._leaf(StatLeaf("nullCount", field))

    def num_records(self) -> pa.Array:
        """int64 physical row counts; null where missing."""
        return self._leaf(NUM_RECORDS)

    def nan_recorded(self) -> pa.BooleanArray:
        """Whether each file's writer is known to record NaN."""
        if self._nan_recorded is None:
            self._nan_recorded = self._load_nan_recorded()
        return self._nan_recorded

    def _leaf(self, leaf: StatLeaf) -> pa.Array:
        if leaf not in self._decoded:
            self.load([leaf])
        return self._decoded[leaf]

    def _some_rows_unparsed(self) -> bool:
        return self._parsed is None or self._parsed.null_count > 0

    def _struct_leaf(self, leaf: StatLeaf) -> pa.Array | None:
        """The leaf's column in `stats_parsed`, or None where its schema has no such leaf."""
        if self._parsed is None:
            return None
        for group in _GROUP_NAMES.get(leaf.group, (leaf.group,)):
            values: pa.Array = self._parsed
            for name in (group, *leaf.path[1:]):
                index = values.type.get_field_index(name) if pa.types.is_struct(values.type) else -1
                if index < 0:
                    break
                values = pc.struct_field(values, [index])
            else:
                return values
        return None

    def _json_text(self) -> pa.Array | None:
        if not self._json_loaded:
            self._json = self._load_json()
            self._json_loaded = True
        return self._json

    def _json_leaves(self, leaves: list[StatLeaf]) -> dict[StatLeaf, pa.Array]:
        if not leaves:
            return {}
        text = self._json_text()
        if text is None or text.null_count == len(text):
            return {}
        integral = [leaf for leaf in leaves if _is_integral(leaf)]
        doubles = [leaf for leaf in leaves if _layout(leaf) is BoundKind.DOUBLE]
        others = [leaf for leaf in leaves if leaf not in integral and leaf not in doubles]
        found: dict[StatLeaf, pa.Array] = {}
        if integral:
            for leaf, (values, kinds) in zip(integral, extract_int64(text, [x.path for x in integral]), strict=True):
                self._warn(leaf, kinds, _NUMBER)
                found[leaf] = values
        if doubles:
            for leaf, (values, kinds) in zip(doubles, extract_double(text, [x.path for x in doubles]), strict=True):
                if pc.any(pc.equal(kinds, pa.scalar(_STRING, pa.uint8()))).as_py():
                    others.append(leaf)
                else:
                    self._warn(leaf, kinds, _NUMBER)
                    found[leaf] = from_double(values, _field(leaf), _side(leaf))
        if others:
            for leaf, (texts, kinds) in zip(others, extract_leaves(text, [x.path for x in others]), strict=True):
                self._warn(leaf, kinds, *_expected(leaf))
                found[leaf] = from_text(texts, kinds, _field(leaf), _side(leaf))
        return found

    def _merge(self, parsed: pa.Array | None, text: pa.Array | None, leaf: StatLeaf) -> pa.Array:
        struct_values = None if parsed is None else _decode_struct(parsed, leaf)
        if struct_values is None and text is None:
            return _guard(pa.nulls(self.num_rows, _arrow_type(leaf)), leaf)
        if struct_values is None or text is None:
            merged = text if struct_values is None else struct_values
        else:
            assert self._parsed is not None
            text = pc.cast(text, struct_values.type)
            merged = pc.if_else(self._parsed.is_valid(), struct_values, text)
        return self._trust(_guard(merged, leaf), leaf)

    def _trust(self, values: pa.Array, leaf: StatLeaf) -> pa.Array:
        if leaf.side != "min" or _layout(leaf) is not BoundKind.DOUBLE:
            return values
        nan = pc.is_nan(values)
        if not pc.any(nan).as_py():
            return values
        # NaN is the greatest number, so it is the smallest only where it is the only one.
        only_nan = pc.and_(pc.fill_null(pc.is_nan(self.bound(_field(leaf), "max")), False), self.nan_recorded())
        return pc.if_else(pc.and_not(nan, only_nan), pa.scalar(None, pa.float64()), values)

    def _warn(self, leaf: StatLeaf, kinds: pa.Array, *expected: int) -> None:
        wrong = pc.invert(pc.is_in(kinds, value_set=pa.array([_MISSING, _NULL, *expected], pa.uint8())))
        count = pc.sum(wrong).as_py() or 0
        if count:
            warnings.warn(
                f"{count} of {len(kinds)} files have an unusable statistic at {'.'.join(leaf.path)}: it counts as "
                "missing",
                StatisticsWarning,
                stacklevel=2,
            )


def _layout(leaf: StatLeaf) -> BoundKind | None:
    return leaf.field.kind if leaf.side and leaf.field else None


def _is_integral(leaf: StatLeaf) -> bool:
    return leaf.side is None or (leaf.field is not None and leaf.field.type in _INTEGERS)


def _field(leaf: StatLeaf) -> StatField:
    assert leaf.field is not None
    return leaf.field


def _side(leaf: StatLeaf) -> Side:
    assert leaf.side is not None
    return leaf.side


def _expected(leaf: StatLeaf) -> tuple[int, ...]:
    match _layout(leaf):
        case BoundKind.DECIMAL:
            return (_NUMBER,)
        case BoundKind.DOUBLE:
            return (_NUMBER, _STRING)
        case BoundKind.TEXT:
            return (_STRING,)
        case _:
            return (_BOOLEAN, _STRING)


def _arrow_type(leaf: StatLeaf) -> pa.DataType:
    match _layout(leaf):
        case BoundKind.DOUBLE:
            return pa.float64()
        case BoundKind.TEXT:
            return pa.large_string()
        case BoundKind.DECIMAL:
            type_ = _field(leaf).type
            return pa.decimal128(type_.precision, type_.scale)  # type: ignore[attr-defined]
        case _:
            return pa.int64()


def _decode_struct(values: pa.Array, leaf: StatLeaf) -> pa.Array:
    if leaf.side is None:
        return pc.cast(values, pa.int64()) if pa.types.is_integer(values.type) else pa.nulls(len(values), pa.int64())
    decoded = from_struct(values, _field(leaf), leaf.side)
    if _field(leaf).type == FLOAT:
        return pc.cast(pc.cast(decoded, pa.float32(), safe=False), pa.float64())
    return decoded


def _guard(values: pa.Array, leaf: StatLeaf) -> pa.Array:
    """Counts below zero are no counts."""
    if leaf.side is not None:
        return values
    negative = pc.less(values, pa.scalar(0, pa.int64()))
    if not pc.any(negative).as_py():
        return values
    return pc.if_else(negative, pa.scalar(None, pa.int64()), values)
