"""Adds of a checkpoint's Parquet files as columns of FILE_SCHEMA."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import ADD_FIELDS, DELETION_VECTOR, DELETION_VECTOR_FIELDS, FILE_SCHEMA, canonical_paths
from deltaskip.doors import first_line
from deltaskip.errors import CorruptLog
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.log.replay import Superseded
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import exact_sum, one_chunk
from deltaskip.stats.parsed_stats import Instants, stats_texts

_COUNTED_ROWS = 1 << 15
# More paths than this are compared in one pass over the adds.
_LOOKED_UP = 4096
_NEEDED = frozenset(ADD_FIELDS.needed)


@dataclass(frozen=True, slots=True)
class AddGroup:
    """The adds of one row group of a checkpoint; every reader of adds decodes and checks them by this class.

    instants: returns the paths of bounds that are instants (see `stats_texts`); called only if statistics are read.

    Statistics that exist only as a struct are returned as their JSON text. Every method raises CorruptLog if the file
    is damaged, or has an add without a required field, or with a path that does not decode.
    """

    part: CheckpointPart
    group: int
    instants: Callable[[], Instants]

    def __len__(self) -> int:
        """Number of adds."""
        return self.part.add_rows(self.group)

    def is_null(self, name: str) -> bool:
        """Whether the footer proves that a column of FILE_SCHEMA is null in every add. Never true if it is required."""
        if name in _NEEDED or (name == "stats" and self.part.has_stats_structs):
            return False
        return self.part.all_null(("add", ADD_FIELDS.logged[name]), self.group)

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """Columns of FILE_SCHEMA, one value for each add, read together."""
        return self.decoded(self.structs(self.logged(names)), names)

    def rows(self, names: Sequence[str], indices: pa.Array) -> list[pa.Array]:
        """As `columns`, for the adds at `indices` (ascending int64) only."""
        adds = self.part.read_rows(self.logged(names), self.group, indices)
        self._check(len(adds) == len(indices))
        return self.decoded(adds, names)

    def structs(self, columns: Sequence[str]) -> pa.StructArray:
        """The `add` structs as logged. columns: dotted Parquet paths, see `CheckpointPart.read`."""
        adds = one_chunk(self.part.read(columns, [self.group])["add"])
        adds = _valid(adds) if adds.null_count else adds
        self._check(len(adds) == len(self))
        return adds

    def pieces(self, columns: Sequence[str], rows: int) -> Iterator[pa.StructArray]:
        """As `structs`, in pieces of at most `rows` rows of the row group, which are decoded one after the other."""
        count = 0
        for adds in self.part.adds(columns, self.group, rows):
            count += len(adds)
            yield adds
        self._check(count == len(self))

    def live(self, names: Sequence[str], superseded: Superseded, rows: int) -> Iterator[pa.RecordBatch]:
        """Columns of FILE_SCHEMA of the adds that nothing newer has superseded, at most `rows` at a time."""
        schema = pa.schema([FILE_SCHEMA.field(name) for name in names])
        for adds, mask in self._batches(self.logged(["path", *self._vector(), *names]), superseded, rows):
            if not mask.true_count:
                continue
            kept = adds if mask.false_count == 0 else adds.filter(mask)
            yield pa.RecordBatch.from_arrays(self.decoded(kept, names), schema=schema)

    def count_live(self, superseded: Superseded) -> int:
        """Number of adds that nothing newer has superseded."""
        columns = self.logged(["path", *self._vector()])
        return sum(mask.true_count for _, mask in self._batches(columns, superseded, _COUNTED_ROWS))

    def totals(self, superseded: Superseded) -> tuple[int, int]:
        """Number of adds that nothing newer has superseded, and bytes of their files."""
        known = self._sizes()
        if known is not None and superseded.ended is not None and len(superseded.ended) <= _LOOKED_UP:
            sizes, total = known
            ended = [sizes[path] for path in superseded.ended if path in sizes]
            return len(sizes) - len(ended), total - sum(ended)
        count = size = 0
        for adds, mask in self._batches(self.logged(["path", *self._vector(), "size"]), superseded, _COUNTED_ROWS):
            [sizes] = self.decoded(adds, ["size"])
            count += mask.true_count
            size += exact_sum(sizes if not mask.false_count else sizes.filter(mask))
        return count, size

    def _sizes(self) -> tuple[dict[str, int], int] | None:
        """The size of each file by its canonical path, and their sum, when a held row group is counted again.

        None for the first count, for which decoding takes less time, and if paths alone do not tell which add is live.
        """
        known, group = self.part.sizes, self.group
        if group not in known:
            known[group] = None
        elif known[group] is None and self.part.is_counted and self.is_null("deletion_vector"):
            paths, sizes = self.columns(["path", "size"])
            try:
                found = dict(zip(canonical_paths(paths).to_pylist(), sizes.to_pylist(), strict=True))
            except ValueError as error:
                raise self._damaged(f"contains an invalid add: {error}") from error
            known[group] = (found, sum(found.values())) if len(found) == len(self) else None
        return known[group]

    def live_mask(self, superseded: Superseded, paths: pa.Array, vectors: pa.Array) -> pa.BooleanArray:
        """The adds that nothing newer has superseded. paths, vectors: their columns of FILE_SCHEMA."""
        self._check(paths.null_count == 0)
        try:
            return superseded.live_mask(paths, vectors)
        except ValueError as error:
            raise self._damaged(f"contains an invalid add: {error}") from error

    def _batches(
        self, columns: Sequence[str], superseded: Superseded, rows: int
    ) -> Iterator[tuple[pa.StructArray, pa.BooleanArray]]:
        for adds in self.part.adds(columns, self.group, rows):
            yield adds, self.live_mask(superseded, adds_column(adds, "path"), adds_column(adds, "deletion_vector"))

    def _vector(self) -> list[str]:
        return [] if self.is_null("deletion_vector") else ["deletion_vector"]

    def logged(self, names: Sequence[str]) -> list[str]:
        """Parquet paths to read for columns of FILE_SCHEMA."""
        paths = [f"add.{ADD_FIELDS.logged[name]}" for name in dict.fromkeys(names)]
        return [*paths, "add.stats_parsed"] if "stats" in names and self._lacks_text() else paths

    def _lacks_text(self) -> bool:
        """Whether the statistics of some add may exist only as a struct."""
        if not self.part.has_stats_structs:
            return False
        texts = self.part.values_in(("add", "stats"), self.group)
        return texts is None or texts < len(self)

    def decoded(self, adds: pa.StructArray, names: Sequence[str]) -> list[pa.Array]:
        """Columns of FILE_SCHEMA out of `add` structs with the columns that `logged` names."""
        try:
            arrays = [adds_column(adds, name) for name in names]
        except (pa.ArrowException, ValueError) as error:
            raise self._damaged(f"contains an invalid add: {first_line(error)}") from error
        for name, array in zip(names, arrays, strict=True):
            if array.null_count and name in _NEEDED:
                raise self._damaged(f"contains an add without {ADD_FIELDS.logged[name]}")
        if "stats" in names and adds.type.get_field_index("stats_parsed") >= 0:
            at = list(names).index("stats")
            structs = struct_fields(adds)["stats_parsed"]
            text = stats_texts(structs, self.instants(), self.part.hybrid_calendar)
            arrays[at] = pc.coalesce(arrays[at], text)
        return arrays

    def _check(self, complete: bool) -> None:
        if not complete:
            raise self._damaged("contains an add without a path")

    def _damaged(self, fault: str) -> CorruptLog:
        part = self.part
        return CorruptLog(
            f"The log of {part.root} is damaged: {part.path} {fault}; restore that file, or open a version before "
            f"{part.version}."
        )


def adds_column(adds: pa.StructArray, name: str) -> pa.Array:
    """The column `name` of FILE_SCHEMA; nulls where the log's `add` structs lack it."""
    kind = FILE_SCHEMA.field(name).type
    at = adds.type.get_field_index(ADD_FIELDS.logged[name])
    values = None if at < 0 else _field(adds, at)
    if values is None or values.null_count == len(adds):
        return pa.nulls(len(adds), kind)
    return _deletion_vectors(values) if name == "deletion_vector" else values.cast(kind)


def _deletion_vectors(values: pa.StructArray) -> pa.StructArray:
    there = struct_fields(values)
    arrays = [
        there[field.logged].cast(field.type) if field.logged in there else pa.nulls(len(values), field.type)
        for field in DELETION_VECTOR_FIELDS.fields
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(DELETION_VECTOR), mask=pc.is_null(values))


def struct_fields(values: pa.StructArray) -> dict[str, pa.Array]:
    """The fields of a struct by name, null where the struct is null."""
    names = [field.name for field in values.type]
    return dict(zip(names, [_field(values, at) for at in range(len(names))], strict=True))


def _field(values: pa.StructArray, at: int) -> pa.Array:
    # `flatten` computes the nulls of every field.
    return pc.struct_field(values, [at]) if values.null_count else values.field(at)


def _valid(adds: pa.StructArray) -> pa.StructArray:
    """The rows that are not null; where they are contiguous, as writers sort them, without a copy."""
    rows = pc.indices_nonzero(adds.is_valid())
    first, last = (rows[0].as_py(), rows[-1].as_py()) if len(rows) else (0, -1)
    return adds.slice(first, len(rows)) if last - first + 1 == len(rows) else adds.take(rows)
