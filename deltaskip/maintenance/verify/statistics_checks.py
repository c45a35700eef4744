"""Whether logged statistics are true: compared with those that are computed from the values of the files.

A bound that is wider than the values is right. A bound counts as far as readers believe it (see `believed_bounds`): one
that a writer had to cut or to round is not wrong.
# PROTOCOL, Per-file Statistics
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.maintenance.recompute.expression_stats import BoundsOfExpressions
from deltaskip.schema.type_widening import widened_types
from deltaskip.skipping.file_predicates import expressions_of
from deltaskip.skipping.proofs.expression_bounds import BETWEEN_ZONES, BoundedExpression
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import FALSE, TRUE, arrow_array, arrow_scalar, is_true
from deltaskip.stats.file_facts import StatisticsRequest
from deltaskip.stats.layout import CUT_FROM, BoundKind, Side, StatField, StatLeaf
from deltaskip.stats.logged_stats import LoggedStats, StatisticsSource
from deltaskip.stats.merged_stats import with_expression_stats
from deltaskip.stats.stats_columns import StatColumn, of_every_column
from deltaskip.stats.tight_bounds import are_tight, writes_tight_bounds

_SIDES: tuple[Side, Side] = ("min", "max")


class _Texts(StatisticsSource):
    """Statistics as JSON texts."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def struct_leaves(self, paths: Sequence[tuple[str, ...]]) -> list[pa.Array | None]:
        return [None] * len(paths)

    def struct_valid(self) -> pa.BooleanArray | None:
        return None

    def json(self) -> Iterator[pa.Array]:
        yield self._texts

    def nan_recorded(self) -> pa.BooleanArray:
        return pa.repeat(TRUE, len(self._texts))

    def nan_absent(self, path: tuple[str, ...]) -> pa.BooleanArray:
        return pa.repeat(FALSE, len(self._texts))

    def computed(self) -> pa.BooleanArray:
        return pa.repeat(TRUE, len(self._texts))


class LoggedFiles:
    """Some active files with their logged statistics.

    Args:
        snapshot: The table.
        batch: The files, with all columns of FILE_SCHEMA.

    Attributes:
        request: The statistics to compute: of the columns that have any in the log.
        records: Number of rows of each file in the log; None if it is not known.
    """

    def __init__(self, snapshot: Snapshot, batch: pa.RecordBatch) -> None:
        self.batch, self._snapshot = batch, snapshot
        self._logged = _read(batch["stats"])
        self._fields = self._with_statistics(snapshot)
        self.request = StatisticsRequest(
            tuple(column for column, _ in self._fields),
            ((),) * len(self._fields),
            snapshot.mapping_mode,
            tight_bounds=writes_tight_bounds(snapshot.protocol, snapshot.properties),
        )
        self.records: list[int | None] = self._logged.num_records().to_pylist()
        self._expressions = self._with_bounds(expressions_of(snapshot))

    @property
    def need_values(self) -> bool:
        """Whether there are statistics to compare with the values of the files."""
        return bool(self.request.columns or self._expressions)

    def _with_bounds(self, expressions: Sequence[BoundedExpression]) -> list[BoundedExpression]:
        sides = [(each, _leaves(each.bounds)[1:]) for each in expressions]
        self._logged.load([leaf for _, leaves in sides for leaf in leaves])
        some = self.batch.num_rows
        return [each for each, leaves in sides if any(self._logged.leaf(leaf).null_count < some for leaf in leaves)]

    def _with_statistics(self, snapshot: Snapshot) -> list[tuple[StatColumn, StatField]]:
        types = {each.physical: each for each in t.leaves(snapshot.schema, snapshot.mapping_mode)}
        columns = snapshot.indexed_columns(of_every_column(snapshot.properties))
        found = []
        for column in columns:
            resolved = types.get(column.physical)
            widened = frozenset[str]() if resolved is None else widened_types(resolved.field.metadata)
            found.append((column, StatField(column.physical, column.type, t.display_name(column.logical), widened)))
        self._logged.load([leaf for _, field in found for leaf in _leaves(field)])
        return [
            (column, field)
            for column, field in found
            if any(self._logged.leaf(leaf).null_count < self.batch.num_rows for leaf in _leaves(field))
        ]

    def file(self, number: int) -> pa.Table:
        """Return one file with the columns that are needed to read its rows."""
        return self._files.slice(number, 1)

    @cached_property
    def _files(self) -> pa.Table:
        """The files as a scan lists them, in the order of the batch."""
        adds = pa.Table.from_batches([self.batch])
        of_files = Snapshot.of_files(self._snapshot, self._snapshot.metadata, adds)
        return Scan(of_files).files(columns=["uri", "partition_values", "deletion_vector"])

    def wrong_statistics(self, computed: Sequence[str | None]) -> Iterator[tuple[str, str, str]]:
        """Yield path, right statistics and what is wrong of each file whose logged statistics are not true."""
        computed, bounds = list(computed), dict[int, dict[str, str]]()
        if self._expressions:
            known_files = [number for number, text in enumerate(computed) if text is not None]
            chosen = pa.Table.from_batches([self.batch.take(arrow_array(known_files, pa.int64()))])
            found_bounds = BoundsOfExpressions(self._snapshot, self._expressions).of_files(chosen)
            bounds = dict(zip(known_files, found_bounds, strict=True))
        with_bounds = [
            text if text is None else with_expression_stats(text, None, bounds.get(number, {}))
            for number, text in enumerate(computed)
        ]
        true = _read(arrow_array(with_bounds, pa.string()))
        fields = [field for _, field in self._fields] + [each.bounds for each in self._expressions]
        true.load([leaf for field in fields for leaf in _leaves(field)])
        tight = are_tight(self._logged.tight(), self.batch["deletion_vector"])
        known = arrow_array([text is not None for text in computed], pa.bool_())
        why: dict[int, str] = {}
        rows = is_true(pc.not_equal(self._logged.num_records(), true.num_records()))
        masks: list[tuple[str, pa.Array]] = [("numRecords is wrong", rows)]
        for _, field in self._fields:
            logged, found = self._logged.null_count(field), true.null_count(field)
            masks.append((f"the null count of {field.label} is wrong", _wrong_nulls(logged, found, tight)))
            if field.kind is not None:
                for side in _SIDES:
                    mask = is_wrong(self._logged.bound(field, side), true.bound(field, side), field, side)
                    masks.append((f"the {side}imum of {field.label} does not hold", mask))
        for each in self._expressions:
            for side in _SIDES:
                mask = _is_wrong_of(each, self._logged.bound(each.bounds, side), true.bound(each.bounds, side), side)
                masks.append((f"the {side}imum of {each.bounds.label} does not hold", mask))
        for text, mask in masks:
            for number in pc.indices_nonzero(pc.and_(mask, known)).to_pylist():
                why.setdefault(number, text)
        paths, logged_texts = self.batch["path"], self.batch["stats"]
        for number in sorted(why):
            # Bounds of expressions that are not known here stay.
            right = with_expression_stats(str(computed[number]), logged_texts[number].as_py(), bounds.get(number, {}))
            yield paths[number].as_py(), right, why[number]


def _read(texts: pa.Array) -> LoggedStats:
    return LoggedStats(len(texts), _Texts(texts))


def _leaves(field: StatField) -> list[StatLeaf]:
    bounds = [] if field.kind is None else [StatLeaf("minValues", field), StatLeaf("maxValues", field)]
    return [StatLeaf("nullCount", field), *bounds]


def _wrong_nulls(logged: pa.Array, found: pa.Array, tight: pa.BooleanArray) -> pa.BooleanArray:
    """Null counts are exact if bounds are tight; otherwise only 0 says something.

    # PROTOCOL, Per-file Statistics: nullCount with tightBounds=false
    """
    none = pc.and_(pc.equal(logged, arrow_scalar(0, pa.int64())), pc.greater(found, arrow_scalar(0, pa.int64())))
    return is_true(pc.if_else(tight, pc.not_equal(logged, found), none))


def _is_wrong_of(of: BoundedExpression, logged: pa.Array, found: pa.Array, side: Side) -> pa.BooleanArray:
    """Whether each logged bound of an expression leaves out a value, as far as all writers compute the same values."""
    if of.is_midnight:
        unit = arrow_scalar(BETWEEN_ZONES if side == "min" else -BETWEEN_ZONES, pa.int64())
        found = pc.add(found, unit)
    wrong = is_wrong(logged, found, of.bounds, side)
    if not of.is_cased:
        return wrong
    both = zip(wrong.to_pylist(), logged.to_pylist(), found.to_pylist(), strict=True)
    return arrow_array([each and low.isascii() and high.isascii() for each, low, high in both], pa.bool_())


def is_wrong(logged: pa.Array, found: pa.Array, field: StatField, side: Side) -> pa.BooleanArray:
    """Whether each logged bound leaves out a value: a minimum above the least one, a maximum below the greatest."""
    if field.kind is BoundKind.DOUBLE:
        # NaN is the greatest value, and writers differ in whether bounds include it.
        null = arrow_scalar(None, pa.float64())
        logged, found = (pc.if_else(pc.is_nan(each), null, each) for each in (logged, found))
    if field.type in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        # Both may be cut to milliseconds, also those before 1970.
        logged, found = (
            pc.floor_temporal(each.view(pa.timestamp("us")), unit="millisecond") for each in (logged, found)
        )
    narrower = is_true(pc.greater(logged, found) if side == "min" else pc.less(logged, found))
    if field.kind is not BoundKind.TEXT or not pc.any(narrower).as_py():
        return narrower
    # Both may be cut: the logged one after more characters than the computed one, or after as many.
    cut = [
        wrong and not _is_cut(low, high)
        for wrong, low, high in zip(narrower.to_pylist(), logged.to_pylist(), found.to_pylist(), strict=True)
    ]
    return arrow_array(cut, pa.bool_())


def _is_cut(logged: str | bytes | None, found: str | bytes | None) -> bool:
    """Whether two bounds may be of one value, of which each has a prefix of at least CUT_FROM code points or bytes."""
    first, second = (each if isinstance(each, bytes) else (each or "").encode() for each in (logged, found))
    texts = [each.decode("utf-8", "replace")[:CUT_FROM] for each in (first, second)]
    if texts[0] == texts[1] and len(texts[0]) == CUT_FROM:
        return True
    short, long = sorted((first, second), key=len)
    return len(short) >= CUT_FROM and long.startswith(short)
