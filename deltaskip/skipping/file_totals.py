"""What the log proves about the rows of each file of a scan: their number, their NULLs, and the extremes of columns.

A file is *certain* if every row of it matches; then its row count less deleted rows, and its null counts, are those of
the matching rows. Bounds are values only where `min_max.bound_facts` says so (docs/pages/soundness.md, Totals).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, candidates, live_row_counts
from deltaskip.skipping.comparable import comparable, joined
from deltaskip.skipping.file_list import KeptFiles, batch_files
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.min_max import bound_facts, unfit
from deltaskip.skipping.partition_columns import as_in_rows
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.lengths import char_type
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar, is_true, numpy_values, one_chunk
from deltaskip.stats.layout import CUT_FROM, BoundKind, Side, stat_field
from deltaskip.stats.tight_bounds import are_tight

UNKNOWN = -1
"""A number of rows that the log does not prove."""

_ZERO = arrow_scalar(0, pa.int64())
_UNKNOWN = arrow_scalar(UNKNOWN, pa.int64())

Extreme = tuple[tuple[str, ...], Side]
"""A column, by its logical path, and the side of its extreme."""


@dataclass(frozen=True, slots=True)
class FileExtremes:
    """The extreme of a column in the matching rows of each file.

    Attributes:
        edges: Comparable values (`comparable`): no matching row has a value beyond it. Null if unknown or if the file
            has no value.
        exact: Where a matching row has the value of the edge.
        none: Where no matching row has a value.
    """

    edges: pa.Array
    exact: np.ndarray
    none: np.ndarray


@dataclass(frozen=True, slots=True)
class FileTotals:
    """The files that can have matching rows, in the order of the log.

    Attributes:
        files: The files.
        certain: Where every row matches.
        rows: How many rows the file has; UNKNOWN if the log does not say.
        not_null: By the path of a column, in how many rows it is not NULL; UNKNOWN if the log does not say.
        extremes: By column and side.
    """

    files: KeptFiles
    certain: np.ndarray
    rows: np.ndarray
    not_null: Mapping[tuple[str, ...], np.ndarray]
    extremes: Mapping[Extreme, FileExtremes]


def file_totals(
    predicate: CompiledPredicate,
    counted: Sequence[t.Resolved],
    extremes: Sequence[tuple[t.Resolved, Side]],
    unknown: bool = False,
) -> FileTotals:
    """Return the facts of the files that a predicate keeps.

    Args:
        predicate: The predicate.
        counted: The columns whose values are counted.
        extremes: The columns whose extremes are wanted.
        unknown: Whether the log is only asked which files these are.
    """
    snapshot, files = predicate.snapshot, KeptFiles(predicate)
    certain, rows = [np.zeros(0, bool)], [np.zeros(0, np.int64)]
    not_null: dict[tuple[str, ...], list[np.ndarray]] = {column.logical: [np.zeros(0, np.int64)] for column in counted}
    found: dict[Extreme, list[FileExtremes]] = {(column.logical, side): [] for column, side in extremes}
    for batch in candidates(snapshot, predicate.program):
        kept = files.add(batch)
        if not len(kept):
            continue
        if unknown:
            nothing, none = np.full(len(kept), UNKNOWN), np.zeros(len(kept), bool)
            certain.append(none)
            for each in (rows, *not_null.values()):
                each.append(nothing)
            for of_key in found.values():
                of_key.append(FileExtremes(pa.nulls(len(kept)), none, none))
            continue
        whole = pc.invert(predicate.negated.kept(batch).to_arrow().take(kept))
        live = live_row_counts(batch, kept)
        certain.append(numpy_values(whole))
        rows.append(_numbers(live))
        facts = _BatchFacts(predicate, batch, kept, whole, live)
        for column in counted:
            not_null[column.logical].append(_numbers(facts.not_null(column)))
        for column, side in extremes:
            found[column.logical, side].append(facts.extremes(column, side))
    return FileTotals(
        files,
        np.concatenate(certain),
        np.concatenate(rows),
        {path: np.concatenate(each) for path, each in not_null.items()},
        {key: _together(each) for key, each in found.items()},
    )


@dataclass(frozen=True, slots=True)
class _BatchFacts:
    """The kept files of a batch. whole: where every row matches. live: row counts, null if unknown."""

    predicate: CompiledPredicate
    batch: FileBatch
    kept: pa.Array
    whole: pa.BooleanArray
    live: pa.Array

    def not_null(self, column: t.Resolved) -> pa.Array:
        """In how many rows of each file the column is not NULL; null if unknown."""
        values = self._partition_values(column)
        if values is not None:
            return pc.if_else(pc.is_valid(values), self.live, _ZERO)
        stats, field = self.batch.statistics, stat_field(column)
        counts, records = stats.null_count(field).take(self.kept), stats.num_records().take(self.kept)
        [vectors] = self.batch.rows(["deletion_vector"], self.kept)
        # PROTOCOL, Per-file Statistics: a wide null count is exact if it is 0 or numRecords.
        tight = are_tight(stats.tight().take(self.kept), vectors)
        exact = pc.if_else(tight, pc.subtract(self.live, counts), arrow_scalar(None, pa.int64()))
        found = pc.if_else(is_true(pc.equal(counts, _ZERO)), self.live, exact)
        found = pc.if_else(is_true(pc.equal(counts, records)), _ZERO, found)
        return pc.if_else(pc.less(found, _ZERO), arrow_scalar(None, pa.int64()), found)

    def extremes(self, column: t.Resolved, side: Side) -> FileExtremes:
        """The extreme of the column in each file."""
        values = self._partition_values(column)
        if values is not None:
            present = pc.and_(self.whole, is_true(pc.greater(self.live, _ZERO)))
            none = pc.or_(pc.is_null(values), is_true(pc.equal(self.live, _ZERO)))
            return FileExtremes(comparable(values), numpy_values(pc.and_not(present, none)), numpy_values(none))
        field = stat_field(column)
        if field.kind is None or char_type(self.predicate.snapshot.schema, column.logical):
            none = numpy_values(is_true(pc.equal(self.live, _ZERO)))
            return FileExtremes(pa.nulls(len(none)), np.zeros(len(none), bool), none)
        facts = bound_facts(self.batch, self.kept, self.whole, self.live, field, side)
        exact = pc.and_not(facts.exact, facts.unknown)
        exact = exact if unfit(field) is None else pc.and_(exact, arrow_scalar(False, pa.bool_()))
        known = pc.if_else(facts.unknown, arrow_scalar(None, facts.values.type), facts.values)
        edges = comparable(known)
        if side == "max" and field.kind is BoundKind.TEXT:
            edges = _above_prefixes(edges)
        return FileExtremes(edges, numpy_values(exact), numpy_values(pc.invert(facts.counted)))

    def _partition_values(self, column: t.Resolved) -> pa.Array | None:
        """The values of a partition column, as rows have them; None for another column."""
        snapshot = self.predicate.snapshot
        if len(column.logical) > 1 or column.logical[0] not in {field.name for field in snapshot.partition_fields}:
            return None
        files = batch_files(self.batch, self.kept, ["partition_values"], self.predicate.portable.time_zone)
        values = one_chunk(files["partition_values"])
        return as_in_rows(pc.struct_field(values, [column.logical[0]]), column.field)


def _above_prefixes(maxima: pa.Array) -> pa.Array:
    """Maxima that may be prefixes of greater strings, raised above all of these by a byte that UTF-8 does not have."""
    long = pc.greater_equal(pc.binary_length(maxima), arrow_scalar(CUT_FROM, pa.int32()))
    raised = pc.binary_join_element_wise(maxima, arrow_scalar(b"\xff", pa.binary()), arrow_scalar(b"", pa.binary()))
    return pc.if_else(long, raised, maxima)


def _numbers(counts: pa.Array) -> np.ndarray:
    return numpy_values(pc.fill_null(counts, _UNKNOWN))


def _together(parts: Sequence[FileExtremes]) -> FileExtremes:
    if not parts:
        return FileExtremes(pa.nulls(0), np.zeros(0, bool), np.zeros(0, bool))
    edges = joined([each.edges for each in parts])
    return FileExtremes(edges, *(np.concatenate([getattr(each, name) for each in parts]) for name in ("exact", "none")))
