"""Statistics of a batch of add actions, decoded leaf by leaf on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import StatisticsWarning
from deltaskip.kernels import stats_json
from deltaskip.kernels.stats_json import extract_double, extract_int64, extract_leaves
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.types import GEOSPATIAL, INTEGRAL_BITS, VARIANT
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, is_true
from deltaskip.stats import boxes, variant_bounds
from deltaskip.stats.believed_bounds import BoundForm, believed
from deltaskip.stats.cache_keys import AddsScope, CacheKey, CommitsScope
from deltaskip.stats.collated_bounds import CollatedBounds, collated_leaf, merged_spellings
from deltaskip.stats.decode import from_struct, from_text, only
from deltaskip.stats.layout import MOST_ROWS, NUM_RECORDS, BoundKind, Side, StatField, StatLeaf
from deltaskip.stats.tight_bounds import TIGHT_BOUNDS
from deltaskip.warning import warn

_TIGHT = StatLeaf(TIGHT_BOUNDS)
_SIDES = ("minValues", "maxValues")


_Extraction = Callable[[pa.Array, Sequence[tuple[str, ...]]], Sequence[tuple[pa.Array, pa.Array]]]
"""A function of kernels.stats_json: from JSON strings and paths to the values and kinds at each path."""


class ColumnStore(Protocol):
    """Keeps decoded columns for later."""

    def get(self, key: CacheKey) -> Any:
        """Return the value for `key`, or None."""

    def put(self, key: CacheKey, value: Any, size_bytes: int) -> None:
        """Keep `value` if there is room."""


class _Nowhere:
    """A cache that stores nothing."""

    def get(self, key: CacheKey) -> Any:
        return None

    def put(self, key: CacheKey, value: Any, size_bytes: int) -> None:
        return None


_NOWHERE = _Nowhere()
_UNCACHED = CommitsScope(-1)


class StatisticsSource(Protocol):
    """Reads the statistics of a batch of files; each call reads the columns that are not cached."""

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        """Leaves of `stats_parsed`, None if its schema lacks the leaf. paths: names below `stats_parsed`."""

    def struct_valid(self) -> pa.BooleanArray | None:
        """Where `stats_parsed` is not null; None if it is null everywhere."""

    def json(self) -> Iterator[pa.Array]:
        """`stats`, the JSON strings of all files in pieces, so that they need not be in memory together.

        None without pieces.
        """

    def nan_recorded(self) -> pa.BooleanArray:
        """Where the file's writer is known to record NaN in its bounds."""

    def nan_absent(self, path: tuple[str, ...]) -> pa.BooleanArray:
        """Where a tag of the file records that a float column, given by its physical names, contains no NaN."""

    def computed(self) -> pa.BooleanArray:
        """Where this package computed all of the file's statistics from its values."""


class LoggedStats:
    """min/max, null counts and row counts of `num_rows` files, decoded once each.

    Statistics are read from `stats_parsed` if it is not null in a row and has the leaf, otherwise from the JSON
    (docs/pages/soundness.md, trap 11). A NaN minimum counts as missing unless the file's writer records NaN and the
    maximum is also NaN (trap 1). cache, scope: the cache of decoded leaves for the next scan, and their scope in it.
    """

    def __init__(
        self, num_rows: int, source: StatisticsSource, cache: ColumnStore = _NOWHERE, scope: AddsScope = _UNCACHED
    ) -> None:
        self.num_rows = num_rows
        self._source = source
        self._cache = cache
        self._scope = scope
        self._decoded: dict[StatLeaf, pa.Array] = {}

    def are_cached(self, leaves: Iterable[StatLeaf]) -> bool:
        """Whether `leaves` were decoded before, by this or an earlier scan."""
        return all(map(self._known, leaves))

    def load(self, leaves: Iterable[StatLeaf]) -> None:
        """Decode `leaves`; leaves in JSON in one pass over each string."""
        wanted = [leaf for leaf in dict.fromkeys(leaves) if not self._known(leaf)]
        inside = {leaf.field: None for leaf in wanted if leaf.side and leaf.field is not None and leaf.field.inside}
        if inside:
            wanted = [leaf for leaf in wanted if not leaf.side or leaf.field not in inside]
            whole = (each for field in inside for each in _containers_of(field))
            wanted += [leaf for leaf in dict.fromkeys(whole) if not self._known(leaf)]
        if wanted:
            self._load(wanted)
        for field in inside:
            for group, values in zip(_SIDES, self._inside(field), strict=False):
                self._remember(StatLeaf(group, field), values)

    def _load(self, wanted: list[StatLeaf]) -> None:
        spelled = [spelling for leaf in wanted for spelling in leaf.spellings]
        parsed = self._struct_leaves(spelled)
        valid = self._source.struct_valid() if any(values is not None for values in parsed) else None
        unparsed = valid is None or valid.false_count > 0
        read = [i for i, values in enumerate(parsed) if values is None or unparsed]
        texts: list[pa.Array | None] = [None] * len(spelled)
        for i, values in zip(read, self._json_leaves([spelled[i] for i in read]), strict=False):
            texts[i] = values
        merged = map(self._merge, parsed, texts, repeat(valid), spelled)
        for leaf in wanted:
            if leaf.collation:
                values = merged_spellings(list(islice(merged, len(leaf.collation))), self._source.computed)
            else:
                values = next(merged)
            self._remember(leaf, values)

    def _remember(self, leaf: StatLeaf, values: pa.Array) -> None:
        self._decoded[leaf] = values
        self._cache.put(("statistic", self._scope, leaf), values, values.nbytes)

    def _inside(self, field: StatField) -> tuple[pa.Array, pa.Array, pa.BooleanArray]:
        low, high = map(self.leaf, _containers_of(field))
        read = boxes.axis_bounds if isinstance(field.container, GEOSPATIAL) else variant_bounds.path_bounds
        return read(low, high, field)

    def bound(self, field: StatField, side: Side) -> pa.Array:
        """Minimum or maximum, inclusive, in the kernel layout of `field.kind`; null if missing or unusable."""
        return self.leaf(StatLeaf("minValues" if side == "min" else "maxValues", field))

    def collated(self, field: StatField, side: Side, keys: tuple[str, ...], collation: Collation) -> CollatedBounds:
        """Minimum or maximum under a collation, from statsWithCollation. keys: spellings of its identifier."""
        leaf = collated_leaf(field, side, keys)
        key: CacheKey = ("collated", self._scope, leaf, str(collation.id))
        found: CollatedBounds | None = self._cache.get(key)
        if found is None:
            found = CollatedBounds(self.leaf(leaf), collation)
            self._cache.put(key, found, found.nbytes)
        return found

    def null_count(self, field: StatField) -> pa.Array:
        """int64 null counts; null if missing."""
        return self.leaf(StatLeaf("nullCount", field))

    def num_records(self) -> pa.Array:
        """int64 row counts, including deleted rows; null if missing."""
        return self.leaf(NUM_RECORDS)

    def tight(self) -> pa.BooleanArray:
        """`tightBounds`: False where bounds and null counts may include deleted rows; null if it is not recorded."""
        [parsed] = self._source.struct_leaves([(TIGHT_BOUNDS,)])
        valid = None if parsed is None else self._source.struct_valid()
        said = pa.nulls(self.num_rows, pa.bool_()) if parsed is None else parsed.cast(pa.bool_())
        if valid is not None and valid.false_count == 0:
            return said
        found = self._extracted([_TIGHT], [extract_leaves])
        if not found:
            return said
        [(values, _)] = found
        return pc.coalesce(said, pc.equal(values, arrow_scalar("true", values.type)))

    def max_covers_nan(self, field: StatField) -> pa.BooleanArray:
        """Whether each file's maximum of a float column is also an upper bound of NaN, or the column has no NaN."""
        if field.inside:
            return self._inside(field)[2]
        if field.signature:
            return arrow_array([False] * self.num_rows)
        recorded = self._source.nan_recorded()
        if recorded.false_count == 0:
            return recorded
        key: CacheKey = ("NaN absent", self._scope, field.physical)
        absent = self._cache.get(key)
        if absent is None:
            absent = self._source.nan_absent(field.physical)
            self._cache.put(key, absent, absent.nbytes)
        return pc.or_(recorded, absent)

    def _known(self, leaf: StatLeaf) -> bool:
        if leaf not in self._decoded:
            cached = self._cache.get(("statistic", self._scope, leaf))
            if cached is None:
                return False
            self._decoded[leaf] = cached
        return True

    def leaf(self, leaf: StatLeaf) -> pa.Array:
        """Any leaf, decoded; null if missing or unusable."""
        if leaf not in self._decoded:
            self.load([leaf])
        return self._decoded[leaf]

    def _struct_leaves(self, leaves: list[StatLeaf]) -> list[pa.Array | None]:
        found = self._source.struct_leaves([leaf.path for leaf in leaves])
        # The draft's example says nullCounts.
        again = [i for i, leaf in enumerate(leaves) if found[i] is None and leaf.group == "nullCount"]
        if again:
            plural = self._source.struct_leaves([("nullCounts", *leaves[i].path[1:]) for i in again])
            for i, values in zip(again, plural, strict=True):
                found[i] = values
        return found

    def _json_leaves(self, leaves: list[StatLeaf]) -> list[pa.Array]:
        """Leaves in the JSON strings; none if no file has JSON."""
        extract = [_extraction(leaf) for leaf in leaves]
        found: list[pa.Array] = []
        named: list[int] = []
        for leaf, function, (values, kinds) in zip(leaves, extract, self._extracted(leaves, extract), strict=False):
            if function is extract_int64:
                self._warn(leaf, kinds, stats_json.NUMBER)
                found.append(values if leaf.side is None else believed(values, _field(leaf), leaf.side, BoundForm.TEXT))
            elif function is extract_leaves:
                self._warn(leaf, kinds, *_expected(leaf))
                found.append(_from_text(values, kinds, leaf))
            elif _holds(pc.equal(kinds, arrow_scalar(stats_json.STRING, pa.uint8()))) or _holds(pc.is_inf(values)):
                # NaN and infinities are strings, and numbers beyond the range are no values: the JSON is read again.
                named.append(len(found))
                found.append(values)
            else:
                self._warn(leaf, kinds, stats_json.NUMBER)
                found.append(believed(values, _field(leaf), _side(leaf), BoundForm.TEXT))
        again = [leaves[i] for i in named]
        for i, leaf, (values, kinds) in zip(
            named, again, self._extracted(again, [extract_leaves] * len(again)), strict=True
        ):
            self._warn(leaf, kinds, *_expected(leaf))
            found[i] = _from_text(values, kinds, leaf)
        return found

    def _extracted(self, leaves: Sequence[StatLeaf], extract: Sequence[_Extraction]) -> list[tuple[pa.Array, pa.Array]]:
        """Values and kinds of leaves in the JSON strings, each by its function; empty if no file has JSON."""
        by_function: dict[_Extraction, list[int]] = {}
        for i, function in enumerate(extract):
            by_function.setdefault(function, []).append(i)
        pieces: list[list[tuple[pa.Array, pa.Array]]] = [[] for _ in leaves]
        exist = False
        for text in self._source.json() if leaves else ():
            exist = exist or text.null_count < len(text)
            for function, numbers in by_function.items():
                for i, columns in zip(numbers, function(text, [leaves[i].path for i in numbers]), strict=True):
                    pieces[i].append(columns)
        if not exist:
            return []
        return [
            found[0] if len(found) == 1 else tuple(pa.concat_arrays([each[at] for each in found]) for at in (0, 1))
            for found in pieces
        ]

    def _merge(
        self, parsed: pa.Array | None, text: pa.Array | None, valid: pa.BooleanArray | None, leaf: StatLeaf
    ) -> pa.Array:
        struct_values = None if parsed is None else _decode_struct(parsed, leaf)
        if struct_values is None and text is None:
            return pa.nulls(self.num_rows, _arrow_type(leaf))
        if struct_values is None or text is None:
            merged = text if struct_values is None else struct_values
        else:
            merged = pc.if_else(valid, struct_values, pc.cast(text, struct_values.type))
        return self._trust(_guard(merged, leaf), leaf)

    def _trust(self, values: pa.Array, leaf: StatLeaf) -> pa.Array:
        if leaf.side != "min" or _layout(leaf) is not BoundKind.DOUBLE:
            return values
        nan = pc.is_nan(values)
        if not pc.any(nan).as_py():
            return values
        # NaN is the greatest number, so it is the minimum only if all values are NaN.
        only_nan = pc.and_(is_true(pc.is_nan(self.bound(_field(leaf), "max"))), self._source.nan_recorded())
        return pc.if_else(pc.and_not(nan, only_nan), arrow_scalar(None, pa.float64()), values)

    def _warn(self, leaf: StatLeaf, kinds: pa.Array, *expected: int) -> None:
        never = stats_json.MISSING, stats_json.JSON_NULL, *expected
        # As bytes, because for thousands of columns, calls of Arrow take longer than copying the few bytes.
        count = len(kinds.buffers()[1].to_pybytes()[: len(kinds)].translate(None, bytes(never)))
        if count:
            warn(
                f"{count} of {len(kinds)} files have an unusable statistic at {'.'.join(leaf.path)}; it counts as "
                "missing.",
                StatisticsWarning,
            )


def _holds(flags: pa.BooleanArray) -> bool:
    return bool(pc.any(flags).as_py())


def _extraction(leaf: StatLeaf) -> _Extraction:
    if leaf.side is None or (leaf.field is not None and leaf.field.type in INTEGRAL_BITS):
        return extract_int64
    return extract_double if _layout(leaf) is BoundKind.DOUBLE else extract_leaves


def _layout(leaf: StatLeaf) -> BoundKind | None:
    return leaf.field.kind if leaf.side and leaf.field else None


def _field(leaf: StatLeaf) -> StatField:
    assert leaf.field is not None
    return leaf.field


def _side(leaf: StatLeaf) -> Side:
    assert leaf.side is not None
    return leaf.side


def _expected(leaf: StatLeaf) -> tuple[int, ...]:
    match _layout(leaf):
        case BoundKind.DECIMAL:
            return (stats_json.NUMBER,)
        case BoundKind.DOUBLE:
            return (stats_json.NUMBER, stats_json.STRING)
        case BoundKind.TEXT:
            return (stats_json.STRING,)
        case _:
            return (stats_json.BOOLEAN, stats_json.STRING)


def _arrow_type(leaf: StatLeaf) -> pa.DataType:
    if _is_variant(leaf):
        return variant_bounds.STRUCT_TYPE
    if _is_point(leaf):
        return pa.large_string()
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


def _containers_of(field: StatField) -> list[StatLeaf]:
    """The bounds of the column of variants in which a path is, or of shapes that have a coordinate."""
    return [StatLeaf(group, field.column) for group in _SIDES]


def _is_variant(leaf: StatLeaf) -> bool:
    return leaf.side is not None and _field(leaf).type == VARIANT


def _is_point(leaf: StatLeaf) -> bool:
    return leaf.side is not None and isinstance(_field(leaf).type, GEOSPATIAL)


def _from_text(texts: pa.Array, kinds: pa.Array, leaf: StatLeaf) -> pa.Array:
    if leaf.collation or _is_point(leaf):
        return only(texts, kinds, stats_json.STRING)
    if _is_variant(leaf):
        return variant_bounds.of_texts(only(texts, kinds, stats_json.STRING))
    return from_text(texts, kinds, _field(leaf), _side(leaf))


def _decode_struct(values: pa.Array, leaf: StatLeaf) -> pa.Array:
    if leaf.collation or _is_point(leaf):
        is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        return values if is_text else pa.nulls(len(values), pa.large_string())
    if _is_variant(leaf):
        return variant_bounds.of_structs(values)
    if leaf.side is None:
        is_count = pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type)
        return pc.cast(values, pa.int64()) if is_count else pa.nulls(len(values), pa.int64())
    return from_struct(values, _field(leaf), leaf.side)


def _guard(values: pa.Array, leaf: StatLeaf) -> pa.Array:
    """Counts that no file can have, negative or above MOST_ROWS, count as missing."""
    if leaf.side is not None:
        return values
    # As unsigned numbers, negative ones are the greatest.
    impossible = pc.greater(values.view(pa.uint64()), arrow_scalar(MOST_ROWS, pa.uint64()))
    if not pc.any(impossible).as_py():
        return values
    return pc.if_else(impossible, arrow_scalar(None, pa.int64()), values)
