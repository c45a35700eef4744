"""Manifests of the adaptive metadata tree: Parquet files whose rows name data files, or other manifests.

# RFC Adaptive Metadata, Content Entry Schema: fields are resolved by their ids, not by their names.
A manifest is read as a part of a checkpoint: `ManifestPart` has the columns of `add`, made from those of its entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import LOGGED_DELETION_VECTOR, PartitionValueError
from deltaskip.actions.file_actions import VECTOR_FILE, z85_uuids
from deltaskip.actions.partition_values import partition_texts
from deltaskip.actions.paths import encode_locations
from deltaskip.errors import UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.kernels.deletion_vector import decode
from deltaskip.log.checkpoint.read import CheckpointPart, corrupt_checkpoint, reading_checkpoint
from deltaskip.records import dataclass
from deltaskip.schema.mapping import PARQUET_ID, field_id
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import TRUE, arrow_array, arrow_scalar, is_true, numpy_values, one_chunk
from deltaskip.stats.layout import PARTITION_VALUES
from deltaskip.stats.tight_bounds import TIGHT_BOUNDS
from deltaskip.storage import Storage, is_local

Ids = tuple[int, ...]
Path = tuple[str, ...]

# Field ids of entries, from the root.
TRACKING, MANIFEST, VECTOR, STATS, PARTITION = 147, 150, 148, 146, 102
CONTENT, LOCATION, FORMAT, RECORDS, SIZE = (134,), (100,), (101,), (103,), (104,)
STATUS, SEQUENCE, ROW_ID = (TRACKING, 0), (TRACKING, 3), (TRACKING, 142)
FORMAT_VERSION = (157,)
SNAPSHOT_ID, FILE_SEQUENCE, VECTOR_SNAPSHOT_ID = (TRACKING, 1), (TRACKING, 4), (TRACKING, 5)
_VECTOR = ((VECTOR, 155), (VECTOR, 144), (VECTOR, 145), (VECTOR, 156))
POSITIONS, POSITION_COUNT = (MANIFEST, 522), (MANIFEST, 523)
# delta-spark has a fifth status, 4, of entries that replace others: they are part of the table, as added ones are.
ADDED, LIVE, DEAD = 1, (0, 1, 4), (2, 3)
# The numbers of entries with the statuses of LIVE that a manifest has.
COUNTS = ((MANIFEST, 505), (MANIFEST, 504), (MANIFEST, 524))
DATA, MANIFEST_ENTRY = 0, 3
_FIRST_STATS, _STATS_IDS, _FIRST_PARTITION = 10_000, 200, 1_000
LOWER, UPPER, TIGHT, NULLS = 1, 2, 3, 5
_GROUPS = {"minValues": LOWER, "maxValues": UPPER, "nullCount": NULLS}
# Bytes beside the bitmap of a deletion vector in its file, which Iceberg counts and Delta does not: size and checksum.
FRAME_BYTES = 8
_WHOLE_GROUP = 1 << 31
_INTEGERS = (CONTENT, RECORDS, SIZE, STATUS, SEQUENCE, ROW_ID, *_VECTOR[1:], POSITION_COUNT, *COUNTS)
_TEXTS = (LOCATION, FORMAT, _VECTOR[0])
_REQUIRED = (CONTENT, LOCATION, RECORDS, SIZE, STATUS)


@dataclass(frozen=True, slots=True)
class TreeColumns:
    """The columns of a table as manifests have them. It can be pickled.

    Attributes:
        stats: Physical path of each column with statistics, by its column id.
        partitions: Physical name and type of each partition column, in order.
    """

    stats: Mapping[int, Path]
    partitions: tuple[tuple[str, t.DataType], ...]

    @classmethod
    def of(cls, schema: t.StructType, partition_columns: Sequence[str]) -> TreeColumns:
        """Return the columns of a schema. Raises SchemaError for a column id that is not an integer."""
        # Field ids and physical names exist in both modes.
        leaves = {field_id(leaf.field): leaf.physical for leaf in t.leaves(schema, "id")}
        fields = {each.name: each for each in schema.fields}
        partitions = tuple((t.physical_name(fields[name], "id"), fields[name].type) for name in partition_columns)
        return cls({number: path for number, path in leaves.items() if number is not None}, partitions)

    def stats_of(self, number: int) -> Ids:
        """The id of the struct with the statistics of a column."""
        return (STATS, _FIRST_STATS + _STATS_IDS * number)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest and what the tree says of it. It can be pickled.

    Attributes:
        path: Its location.
        name: Its path as the tree has it.
        size: Its bytes.
        columns: The table's columns.
        is_leaf: Whether another manifest names it, so that it may not name others.
        dead: The bitmap of entries that are no longer part of the table; None if there is none.
        dead_count: Number of these entries.
        count: Number of its entries that were added or kept; None if it is not known.
        sequence_number, first_row_id: What its entries inherit.
        bounds: Statistics of all its entries together, by the ids of their columns; empty without.
    """

    path: str
    name: str
    size: int
    columns: TreeColumns
    is_leaf: bool = False
    dead: bytes | None = None
    dead_count: int = 0
    count: int | None = None
    sequence_number: int | None = None
    first_row_id: int | None = None
    bounds: Mapping[Ids, pa.Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A Parquet column: its ordinal, its names from the root, and its type."""

    ordinal: int
    names: Path
    type: pa.DataType


class ManifestPart(CheckpointPart):
    """A manifest as a part of a checkpoint. Rows whose `add` is null are entries that are not live data files."""

    # A changed status would take a file away, and writers on the JVM write checksums by default.
    verifies = True

    def __init__(
        self, storage: Storage, root: str, version: int, manifest: Manifest, like: ManifestPart | None = None
    ) -> None:
        """like: Another manifest of the tree, which mostly has the same schema."""
        super().__init__(storage, root, version, manifest.path, None, manifest.size)
        self._like = like
        self.manifest = manifest
        self._alive: dict[int, tuple[pa.BooleanArray | None, int]] = {}

    @cached_property
    def _same(self) -> ManifestPart | None:
        """A manifest with the same schema and columns, whose fields are known."""
        like = self._like
        is_same = like is not None and self.metadata.schema.equals(like.metadata.schema)
        return like if is_same else None

    @cached_property
    def ids(self) -> dict[Ids, _Leaf]:
        """The columns that are not inside of lists or maps, by the ids of their fields. Raises CorruptLog."""
        if self._same is not None:
            return self._same.ids
        found: dict[Ids, _Leaf] = {}
        for ordinal, (ids, names, type_) in enumerate(self._every_leaf):
            if -1 in ids:
                continue
            if ids in found:
                raise self.damaged(f"its field id {ids[-1]} occurs twice")
            found[ids] = _Leaf(ordinal, names, type_)
        for ids in _REQUIRED:
            if ids not in found:
                raise self.damaged(f"it has no field with the id {ids[-1]}")
        for kinds, fits in ((_INTEGERS, pa.types.is_integer), (_TEXTS, _is_text)):
            wrong = [ids for ids in kinds if ids in found and not fits(found[ids].type)]
            if wrong:
                raise self.damaged(f"its field with the id {wrong[0][-1]} has the type {found[wrong[0]].type}")
        return found

    @cached_property
    def _every_leaf(self) -> list[tuple[Ids, Path, pa.DataType]]:
        with reading_checkpoint(self.root, self.version, self.path):
            return list(id_leaves(self._arrow_schema, (), ()))

    @cached_property
    def _partition_map(self) -> tuple[Path, list[int]] | None:
        """Names and ordinals of a map of partition values as text, which delta-spark 4.4.0 writes; None without one."""
        for each in self._arrow_schema:
            if id_of(each) == PARTITION and pa.types.is_struct(each.type) and each.type.num_fields == 1:
                inner = each.type.field(0)
                if pa.types.is_map(inner.type):
                    names = (each.name, inner.name)
                    return names, [at for at, (_, found, _) in enumerate(self._every_leaf) if found[:2] == names]
        return None

    @cached_property
    def _bounded(self) -> dict[Path, tuple[Ids, ...]]:
        """The ids of the columns that make each leaf of `add`, by its path."""
        if self._same is not None:
            return self._same._bounded
        columns, ids = self.manifest.columns, self.ids
        one: dict[Path, Ids] = {("path",): LOCATION, ("size",): SIZE, ("stats_parsed", "numRecords"): RECORDS}
        for number, path in columns.stats.items():
            above = columns.stats_of(number)
            for group, offset in _GROUPS.items():
                one[("stats_parsed", group, *path)] = (*above, above[1] + offset)
        for at, (name, _) in enumerate(columns.partitions):
            one[(PARTITION_VALUES, name)] = partition_of(at)
        found: dict[Path, tuple[Ids, ...]] = {("add", *path): (each,) for path, each in one.items() if each in ids}
        for name, several in (
            ("partitionValues", [one[(PARTITION_VALUES, name)] for name, _ in columns.partitions]),
            ("modificationTime", []),
            ("dataChange", []),
            ("deletionVector", _VECTOR),
            ("baseRowId", [ROW_ID]),
            ("defaultRowCommitVersion", [STATUS, SEQUENCE]),
        ):
            found[("add", name)] = tuple(each for each in several if each in ids)
        bounded = [
            above for above in map(columns.stats_of, columns.stats) if any(each in ids for each in _sides(above))
        ]
        if bounded:
            found[_TIGHT_PATH] = tuple((*above, above[1] + TIGHT) for above in bounded)
        return found

    @cached_property
    def leaves(self) -> dict[tuple[str, ...], tuple[int, pa.DataType]]:
        """Ordinal and type of the Parquet column that has the values of a leaf of `add`, where there is one."""
        if self._same is not None:
            return self._same.leaves
        single = {
            path: self.ids[ids[0]]
            for path, ids in self._bounded.items()
            if path[1] not in _DERIVED and path != _TIGHT_PATH
        }
        found = {path: (leaf.ordinal, leaf.type) for path, leaf in single.items()}
        if _TIGHT_PATH in self._bounded:
            found[_TIGHT_PATH] = (-1, pa.bool_())
        return found

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Dotted paths of the leaves of `add`."""
        return tuple(map(".".join, self._bounded))

    @property
    def bounds(self) -> dict[Path, pa.Scalar]:
        """Statistics of all entries together, by their paths in the statistics of a file. Nothing is read."""
        columns, known = self.manifest.columns, self.manifest.bounds
        found = {}
        for number, path in columns.stats.items():
            above = columns.stats_of(number)
            for group, offset in _GROUPS.items():
                value = known.get((*above, above[1] + offset))
                if value is not None:
                    found[(group, *path)] = value
        return found

    def check(self) -> None:
        """Raise CorruptLog, or UnsupportedFeature, for a manifest that cannot be read."""
        self.ids  # noqa: B018 raises
        found = sum(self._counted(group)[1] for group in range(self.metadata.num_row_groups))
        if self.manifest.count not in (None, found):
            raise self.damaged(f"it has {found} entries, and the root of the tree says {self.manifest.count}")

    def row_groups_with(self, action: str) -> list[int]:
        """Return the row groups that may contain the action; a manifest has nothing but adds."""
        footer = self.metadata
        groups = range(footer.num_row_groups) if action == "add" else ()
        return [group for group in groups if footer.row_group(group).num_rows]

    def read(self, columns: Sequence[str], row_groups: Sequence[int] | None = None) -> pa.Table:
        """Read the column `add`; see CheckpointPart.read."""
        present = [name for name in columns if self.has(name)] or ["add.path"]
        groups = range(self.metadata.num_row_groups) if row_groups is None else row_groups
        batches = [each for group in groups for each in self.columns_of(present, group, _WHOLE_GROUP)]
        return pa.Table.from_batches(batches) if batches else pa.table({"add": pa.nulls(0, pa.struct([]))})

    def values_at(self, ordinal: int, group: int) -> int | None:
        """Number of live adds of a row group with a value; None unless all entries have one, or none."""
        found = None if ordinal < 0 else super().values_at(ordinal, group)
        return self.add_rows(group) if found == self.metadata.row_group(group).num_rows else 0 if found == 0 else None

    def all_null(self, path: tuple[str, ...], group: int) -> bool:
        """Whether the footer proves that a column of `add` is null throughout a row group."""
        if path == ("add", "deletionVector"):
            present = [each for each in _VECTOR if each in self.ids]
            return all(self._holds_nothing(self.ids[each].ordinal, group) for each in present)
        # Only columns beside the statistics are asked for, each of which is one column of the manifest.
        return path[1] not in _DERIVED and super().all_null(path, group)

    def _counted_adds(self, group: int) -> int:
        alive = self.alive(group)
        return int(self.metadata.row_group(group).num_rows if alive is None else alive.true_count)

    def alive(self, group: int) -> pa.BooleanArray | None:
        """Whether each entry of a row group is a live data file; None if all are. Raises CorruptLog."""
        return self._counted(group)[0]

    def positions(self, group: int) -> pa.Int64Array:
        """The positions in the manifest of the live data files of a row group."""
        rows = np.arange(self.metadata.row_group(group).num_rows, dtype=np.int64) + self._first_rows[group]
        alive = self.alive(group)
        return arrow_array(rows) if alive is None else arrow_array(rows).filter(alive)

    def _counted(self, group: int) -> tuple[pa.BooleanArray | None, int]:
        """See `alive`; and the number of entries with the status of live ones, before any is taken out."""
        if group not in self._alive:
            self._alive[group] = self._found_alive(group)
        return self._alive[group]

    def _found_alive(self, group: int) -> tuple[pa.BooleanArray | None, int]:
        rows = self.metadata.row_group(group).num_rows
        if not rows:
            return None, 0
        columns = (CONTENT, STATUS, *((FORMAT,) if FORMAT in self.ids else ()))
        same = [self._one_value(each, group) for each in columns]
        if same[0] == DATA and same[1] in LIVE and same[2:] in ([], ["parquet"]) and not len(self.dead):
            return None, rows
        batches = list(self.entries(columns, group, _WHOLE_GROUP))
        content, status, *formats = (pa.chunked_array([each[i] for each in batches]) for i in range(len(columns)))
        if content.null_count or status.null_count:
            raise self.damaged("an entry has no content type or no status")
        unknown = pc.unique(content).to_pylist()
        if not {DATA, MANIFEST_ENTRY}.issuperset(unknown):
            raise UnsupportedFeature(
                f"The manifest {self.path} of {self.root} has an entry of the content type {unknown[-1]}, which is "
                f"neither a data file (0) nor a manifest (3): deltaskip cannot read it; use a newer client."
            )
        if self.manifest.is_leaf and MANIFEST_ENTRY in unknown:
            raise self.damaged("it names another manifest, which only the root may do")
        if not {*LIVE, *DEAD}.issuperset(pc.unique(status).to_pylist()):
            raise self.damaged("an entry has an unknown status")
        others = [
            text for each in formats for text in pc.unique(each).to_pylist() if text and text.lower() != "parquet"
        ]
        if others:
            raise UnsupportedFeature(
                f"The manifest {self.path} of {self.root} names a file of the format {others[0]!r}, but deltaskip "
                f"reads only Parquet; read the table with a client that supports the format."
            )
        alive = pc.and_(
            pc.equal(content, arrow_scalar(DATA, content.type)), pc.is_in(status, arrow_array(LIVE, status.type))
        )
        mask = one_chunk(alive)
        count = mask.true_count
        if len(dead := self.dead):
            first = self._first_rows[group]
            here = numpy_values(dead)
            here = here[(here >= first) & (here < first + rows)] - first
            values = np.asarray(mask.to_numpy(zero_copy_only=False)).copy()
            values[here] = False
            mask = arrow_array(values, pa.bool_())
        return None if mask.true_count == rows else mask, count

    def _one_value(self, ids: Ids, group: int) -> Any:
        """The value that the footer proves every entry of a row group to have; None if it does not."""
        found = self.metadata.row_group(group).column(self.ids[ids].ordinal).statistics
        if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
            return None
        try:
            return found.min if found.min == found.max else None
        except UnicodeDecodeError:
            return None  # the values themselves are damaged, or only their bounds

    @cached_property
    def _first_rows(self) -> list[int]:
        """The position of the first entry of each row group."""
        rows = [self.metadata.row_group(group).num_rows for group in range(self.metadata.num_row_groups)]
        return [0, *np.cumsum(rows).tolist()]

    @cached_property
    def dead(self) -> pa.Int64Array:
        """Positions of entries that the root of the tree takes out. Raises CorruptLog."""
        if self.manifest.dead is None:
            return arrow_array([], pa.int64())
        try:
            found = decode(self.manifest.dead, self.manifest.dead_count)
        except (ValueError, OverflowError) as error:
            raise self.damaged(f"the bitmap of its deleted entries is not valid: {error}") from error
        if len(found) and found[-1].as_py() >= self.metadata.num_rows:
            raise self.damaged("the bitmap of its deleted entries has positions that it lacks")
        return found

    def entries(self, columns: Sequence[Ids], group: int, rows: int) -> Iterator[list[pa.Array]]:
        """Yield columns of all entries of a row group, live or not, at most `rows` rows at a time."""
        leaves = [self.ids[each] for each in columns]
        for batch in self._physical([leaf.ordinal for leaf in leaves], group, rows):
            with reading_checkpoint(self.root, self.version, self.path):
                found = [_leaf(batch, leaf.names) for leaf in leaves]
            yield found

    def _physical(self, ordinals: Sequence[int], group: int, rows: int) -> Iterator[pa.RecordBatch]:
        with reading_checkpoint(self.root, self.version, self.path), self._opened() as file:
            numbers = sorted(set(ordinals)) or [self.ids[CONTENT].ordinal]
            for batch in file.iter_batches(rows, [group], column_indices=numbers, use_threads=len(numbers) > 1):
                batch = self._as_read(batch)
                batch.validate(full=True)
                yield batch

    def _decoded(self, columns: Sequence[str], group: int, rows: int) -> Iterator[pa.RecordBatch]:
        paths = [path for path in self._bounded if any(_is_below(".".join(path), name) for name in columns)]
        needed = [self.ids[each].ordinal for path in paths for each in self._needed(path, group) if each in self.ids]
        if ("add", "partitionValues") in paths and self._partition_map is not None:
            needed += self._partition_map[1]
        alive, start = self.alive(group), 0
        for batch in self._physical(needed, group, rows):
            mask = None if alive is None else alive.slice(start, len(batch))
            with reading_checkpoint(self.root, self.version, self.path):
                yield self._adds(paths, batch, mask, group, start)
            start += len(batch)

    def _needed(self, path: Path, group: int) -> tuple[Ids, ...]:
        """The columns to read for a leaf of `add`."""
        if path != _TIGHT_PATH:
            return self._bounded[path]
        unknown = [each for each in self._bounded[path] if not self._proves_tight(each, group)]
        return tuple(one for each in unknown for one in (each, *_sides(each)) if one in self.ids)

    def _proves_tight(self, ids: Ids, group: int) -> bool:
        """Whether the footer proves that the bounds of a column are exact in every entry, or that there are none."""
        sides = [each for each in _sides(ids) if each in self.ids]
        if all(self._holds_nothing(self.ids[each].ordinal, group) for each in sides):
            return True
        if ids not in self.ids:
            return False
        found = self.metadata.row_group(group).column(self.ids[ids].ordinal).statistics
        return bool(found is not None and found.has_min_max and found.min is True and found.null_count == 0)

    def _adds(
        self, paths: Sequence[Path], batch: pa.RecordBatch, alive: pa.BooleanArray | None, group: int, start: int
    ) -> pa.RecordBatch:
        nested: dict[str, Any] = {}
        for path in paths:
            level = nested
            for name in path[1:-1]:
                level = level.setdefault(name, {})
            level[path[-1]] = self._values(path, batch, alive, group, start)
        rows = len(batch)
        dead = None if alive is None else pc.invert(alive)
        return pa.RecordBatch.from_arrays([_struct(nested, rows, dead)], names=["add"])

    def _values(
        self, path: Path, batch: pa.RecordBatch, alive: pa.BooleanArray | None, group: int, start: int
    ) -> pa.Array:
        rows = len(batch)
        if path == _TIGHT_PATH:
            return self._tight(batch, group)
        found = [_leaf(batch, self.ids[each].names) for each in self._needed(path, group)]
        match path[1:]:
            case ("modificationTime",):
                # Entries have no time, and delta-spark reads 0.
                return pa.repeat(arrow_scalar(0, pa.int64()), rows)
            case ("dataChange",):
                return pa.repeat(arrow_scalar(False, pa.bool_()), rows)
            case ("partitionValues",):
                return self._partition_values(batch, found, alive)
            case ("deletionVector",):
                return (
                    _vectors(found, self.root) if len(found) == len(_VECTOR) else pa.nulls(rows, LOGGED_DELETION_VECTOR)
                )
            case ("baseRowId",):
                return self._row_ids(found, rows, self._first_rows[group] + start)
            case ("defaultRowCommitVersion",):
                return self._sequence_numbers(found, rows)
            case _:
                return found[0]

    def _tight(self, batch: pa.RecordBatch, group: int) -> pa.BooleanArray:
        """Whether the bounds of every column are exact, or it has none; that is unknown without the field."""
        tight = pa.repeat(TRUE, len(batch))
        for each in self._bounded[_TIGHT_PATH]:
            if not self._proves_tight(each, group):
                sides = [_leaf(batch, self.ids[one].names) for one in _sides(each) if one in self.ids]
                without = pc.invert(pc.is_valid(pc.coalesce(*sides)))
                known = is_true(_leaf(batch, self.ids[each].names)) if each in self.ids else without
                tight = pc.and_(tight, pc.or_(known, without))
        return tight

    def _sequence_numbers(self, found: Sequence[pa.Array], rows: int) -> pa.Array:
        """Versions that added the files: a file that the manifest added has that of the manifest, unless it says so."""
        status, *numbers = found
        known = numbers[0].cast(pa.int64()) if numbers else pa.nulls(rows, pa.int64())
        own = arrow_scalar(self.manifest.sequence_number, pa.int64())
        if self.manifest.sequence_number is None or not known.null_count:
            return known
        inherits = pc.and_(pc.is_null(known), pc.equal(status, arrow_scalar(ADDED, status.type)))
        return pc.if_else(inherits, own, known)

    def _row_ids(self, found: Sequence[pa.Array], rows: int, start: int) -> pa.Array:
        known = found[0].cast(pa.int64()) if found else pa.nulls(rows, pa.int64())
        if self.manifest.first_row_id is None or not known.null_count:
            return known
        return pc.coalesce(known, self._inherited_row_ids.slice(start, rows))

    @cached_property
    def _inherited_row_ids(self) -> pa.Int64Array:
        """The first row id of each entry that has none: those of the manifest, in the order of its entries.

        # Iceberg, First Row ID Inheritance
        """
        columns = (RECORDS, *((ROW_ID,) if ROW_ID in self.ids else ()))
        counts: list[Any] = []
        for group in range(self.metadata.num_row_groups):
            for records, *known in self.entries(columns, group, _WHOLE_GROUP):
                records = records.cast(pa.int64())
                taken = pc.if_else(pc.is_null(known[0]), records, arrow_scalar(0, pa.int64())) if known else records
                counts.append(numpy_values(taken))
        each = np.concatenate(counts) if counts else np.zeros(0, np.int64)
        return arrow_array(np.cumsum(each) - each + (self.manifest.first_row_id or 0), pa.int64())

    def _partition_values(
        self, batch: pa.RecordBatch, found: Sequence[pa.Array], alive: pa.BooleanArray | None
    ) -> pa.Array:
        """The map of partition values, as text by physical name."""
        columns, rows = self.manifest.columns.partitions, len(batch)
        if columns and self._partition_map is not None:
            texts = _leaf(batch, self._partition_map[0])
            lacking = texts.is_null() if alive is None else pc.and_(texts.is_null(), alive)
            if lacking.true_count:
                raise self.damaged("an entry has no partition values")
            return pc.if_else(texts.is_null(), _NO_VALUES, texts) if texts.null_count else texts
        if len(found) < len(columns):
            missing = next(i for i in range(len(columns)) if partition_of(i) not in self.ids)
            raise self.damaged(
                f"it has no field with the id {_FIRST_PARTITION + missing} for the partition column {missing}"
            )
        try:
            # An empty string is one here, as delta-spark reads it; texts of other types are never empty.
            texts = [
                values.cast(pa.string()) if type_ == t.STRING else partition_texts(_typed(values, type_), type_)
                for values, (_, type_) in zip(found, columns, strict=True)
            ]
        except PartitionValueError as error:
            raise self.damaged(f"a partition value is not valid: {error}") from error
        names = [name for name, _ in columns]
        offsets = arrow_array(np.arange(rows + 1, dtype=np.int32) * len(names), pa.int32())
        if not names:
            return pa.MapArray.from_arrays(offsets, pa.nulls(0, pa.string()), pa.nulls(0, pa.string()))
        keys = arrow_array(names, pa.string()).take(arrow_array(np.tile(np.arange(len(names)), rows)))
        # Row by row: the texts of all columns of the first row, then those of the second.
        order = np.arange(rows * len(names)).reshape(len(names), rows).T.ravel()
        return pa.MapArray.from_arrays(offsets, keys, pa.concat_arrays(texts).take(arrow_array(order)))

    def damaged(self, reason: str) -> Exception:
        """The error for a manifest that is damaged."""
        return corrupt_checkpoint(self.root, self.version, self.path, reason)


_DERIVED = frozenset(
    ("partitionValues", "modificationTime", "dataChange", "deletionVector", "baseRowId", "defaultRowCommitVersion")
)
_TIGHT_PATH = ("add", "stats_parsed", TIGHT_BOUNDS)
# Built this way because `pa.scalar` would load pandas.
_NO_VALUES = pa.MapArray.from_arrays(
    arrow_array([0, 0], pa.int32()), pa.nulls(0, pa.string()), pa.nulls(0, pa.string())
)[0]


def partition_of(at: int) -> Ids:
    """The id of the value of a partition column, by its ordinal."""
    return (PARTITION, _FIRST_PARTITION + at)


def id_of(each: pa.Field) -> int:
    """The field id; -1 without one."""
    text = (each.metadata or {}).get(PARQUET_ID, b"")
    return int(text) if text.isdigit() else -1


def id_leaves(fields: Any, ids: Ids, names: Path) -> Iterator[tuple[Ids, Path, pa.DataType]]:
    """The ids, names and type of each Parquet column, in the order of the file; id -1 in lists and maps."""
    for each in fields:
        type_, own, named = each.type, (*ids, id_of(each)), (*names, each.name)
        if pa.types.is_struct(type_):
            yield from id_leaves([type_.field(i) for i in range(type_.num_fields)], own, named)
        elif pa.types.is_map(type_):
            yield from id_leaves([type_.key_field, type_.item_field], (*own, -1), named)
        elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
            yield from id_leaves([type_.value_field], (*own, -1), named)
        else:
            yield own, named, type_


def _sides(above: Ids) -> list[Ids]:
    """The ids of the bounds of a column, by that of its statistics or of one of them."""
    return [(*above[:2], above[1] + side) for side in (LOWER, UPPER)]


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _is_below(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _leaf(batch: pa.RecordBatch, names: Path) -> pa.Array:
    """A column by its names from the root, null where a struct above it is null."""
    at = batch.schema.get_field_index(names[0])
    if at < 0:
        raise ValueError(f"its column {names[0]} has different names in its footer")
    column = batch.column(at)
    return pc.struct_field(column, list(names[1:])) if len(names) > 1 else column


def _struct(nested: Mapping[str, Any], rows: int, dead: pa.BooleanArray | None) -> pa.StructArray:
    arrays = [_struct(each, rows, None) if isinstance(each, dict) else each for each in nested.values()]
    fields = [pa.field(name, each.type) for name, each in zip(nested, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=dead)


def _typed(values: pa.Array, type_: t.DataType) -> pa.Array:
    wanted = t.arrow_type(type_)
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("us", values.type.tz)).view(wanted)
    return values if values.type == wanted else values.cast(wanted)


def _vectors(found: Sequence[pa.Array], root: str) -> pa.StructArray:
    """Deletion vectors as commits have them: by the UUID in the name of a file of the table, else by its path.

    A location without scheme that begins with no slash is below the table.
    """
    location, offset, size, cardinality = found
    schemes = ("", "file:", "file://") if is_local(root) else ("",)
    above = "|".join(re.escape(f"{scheme}{root}/") for scheme in schemes)
    location = pc.replace_substring_regex(location, f"^(?:{above})", "")
    named = pc.extract_regex(location, f"^(?P<prefix>[^/]+/)?{VECTOR_FILE}")
    prefix, uuid = (pc.struct_field(named, name) for name in ("prefix", "uuid"))
    absolute = pc.match_substring_regex(location, "^(/|[A-Za-z][A-Za-z0-9+.-]*:)")
    kinds = pc.if_else(absolute, arrow_scalar("p", pa.string()), arrow_scalar("r", pa.string()))
    kinds = pc.if_else(uuid.is_valid(), arrow_scalar("u", pa.string()), kinds)
    paths = pc.if_else(absolute, encode_locations(location), location)
    short = pc.binary_join_element_wise(pc.utf8_rtrim(prefix, "/"), z85_uuids(uuid), arrow_scalar("", pa.string()))
    paths = pc.if_else(uuid.is_valid(), short, paths)
    sizes = pc.subtract(size.cast(pa.int64()), arrow_scalar(FRAME_BYTES, pa.int64()))
    arrays = [kinds, paths, offset.cast(pa.int32()), sizes.cast(pa.int32()), cardinality.cast(pa.int64())]
    typed = [each.cast(field.type) for each, field in zip(arrays, LOGGED_DELETION_VECTOR, strict=True)]
    return pa.StructArray.from_arrays(typed, fields=list(LOGGED_DELETION_VECTOR), mask=pc.is_null(location))
