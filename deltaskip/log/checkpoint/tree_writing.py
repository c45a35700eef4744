"""Writing an adaptive metadata tree: its manifests with statistics, and the `checkpoint` action that names it.

# RFC Adaptive Metadata, Manifest Commit Procedure; Content Entry Schema
Manifests of the tree before are named again, with a bitmap of the entries that are no longer part of the table, unless
those are many. The files of newer commits become entries of the root or, if they are many, of a new manifest.

delta-spark 4.4.0 differs from the text where its feature is the preview: the action is an object, as it fails to read
the array, and partition values are a map of texts. Statistics are as the text says in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import PartitionValueError, decode_paths, table_keys
from deltaskip.actions.file_actions import UUID_CHARACTERS
from deltaskip.errors import DeltaSkipError, UnsupportedFeature
from deltaskip.features.registry import has_feature
from deltaskip.json_text import compact_json
from deltaskip.kernels.roaring_encode import encode
from deltaskip.kernels.z85 import z85_decode
from deltaskip.log.checkpoint import manifests as m
from deltaskip.log.checkpoint.action_structs import AddRows
from deltaskip.log.deletion_vectors import vector_file_name
from deltaskip.log.snapshot import Snapshot
from deltaskip.records import dataclass
from deltaskip.schema.mapping import PARQUET_ID
from deltaskip.schema.properties import DEFAULT_CODEC
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import (
    FALSE,
    NOTHING,
    arrow_array,
    arrow_scalar,
    exact_sum,
    filled,
    numpy_values,
    one_chunk,
)
from deltaskip.stats.believed_bounds import CALENDAR_OF_NEW_FILES
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.tight_bounds import TIGHT_BOUNDS
from deltaskip.storage import join
from deltaskip.storage.gate import delete_file

LEAF_ENTRIES = 50_000
"""Number of data files in a manifest."""
INLINE_ENTRIES = 1_000
"""Most data files in the root of a tree."""
# RFC Adaptive Metadata, Manifest Compaction
_MOST_DEAD = 0.1
_FOLDER = "metadata"
_FORMAT_VERSION = 4
_COUNTS = {
    505: "existing_files_count",
    504: "added_files_count",
    506: "deleted_files_count",
    520: "replaced_files_count",
}
_ROWS = {513: "existing_rows_count", 512: "added_rows_count", 514: "deleted_rows_count", 521: "replaced_rows_count"}
_Columns = dict[m.Ids, pa.Array]


@dataclass(slots=True)
class WrittenTree:
    """A tree.

    Attributes:
        version: The version of the table that it describes.
        paths: Its manifests that were written, relative to the table; the last is the root.
        size_bytes: Their bytes.
        root_bytes: Those of the root.
    """

    version: int
    paths: list[str]
    size_bytes: int = 0
    root_bytes: int = 0


def write_tree(
    snapshot: Snapshot, leaf_entries: int = LEAF_ENTRIES, inline_entries: int = INLINE_ENTRIES
) -> WrittenTree:
    """Write the manifests of the tree of a version. After an error none is left.

    Args:
        snapshot: The version.
        leaf_entries: Number of data files in a manifest.
        inline_entries: Most data files in the root.

    Raises:
        UnsupportedFeature: An entry cannot say what the RFC asks for: a file has no row ids or number of rows, a
            deletion vector is inline, or a partition value is not one of its type.
        CorruptLog: The log is damaged.
        StorageError: Storage failed.
    """
    made = WrittenTree(snapshot.version, [])
    layout = _Layout(snapshot, leaf_entries)
    try:
        kept, loose = _divided(snapshot, layout)
        rows = [kept] if kept is not None else []
        held: list[pa.Table] = []
        for table in loose:
            held.append(table)
            while sum(map(len, held)) >= leaf_entries:
                whole = pa.concat_tables(held)
                rows.append(_leaf(snapshot, layout, whole.slice(0, leaf_entries), made))
                held = [whole.slice(leaf_entries)]
        if sum(map(len, held)) > inline_entries:
            rows.append(_leaf(snapshot, layout, pa.concat_tables(held), made))
            held = []
        root = pa.concat_tables([layout.table({}, 0), *held, *rows])
        made.root_bytes = _written(snapshot, root, f"root-{uuid4()}.parquet", made)
    except BaseException:
        delete_tree(snapshot, made)
        raise
    return made


def delete_tree(snapshot: Snapshot, made: WrittenTree) -> None:
    """Delete the manifests of a tree that is not committed; those that storage cannot delete stay."""
    for path in made.paths:
        with suppress(OSError, DeltaSkipError):
            delete_file(snapshot.storage, snapshot.root, path)


def checkpoint_line(snapshot: Snapshot, made: WrittenTree, state: Sequence[Any]) -> bytes:
    """Return the `checkpoint` action of a commit. state: the actions on the table; see the module for the two forms."""
    content: dict[str, Any] = {"path": made.paths[-1], "sizeInBytes": made.root_bytes}
    named = [(each.FIELDS.action, each.to_json()) for each in state]
    if not _is_preview(snapshot):
        content["version"] = made.version
        value: Any = [{"checkpointMetadata": {"version": made.version}}, {"contentRoot": content}]
        value += [{name: members} for name, members in named]
    else:
        single = {name: members for name, members in named if name in ("protocol", "metaData")}
        domains, txns = ([members for name, members in named if name == each] for each in ("domainMetadata", "txn"))
        value = {"version": made.version, "contentRoot": content, **single}
        value |= {"domainMetadata": domains, "txns": txns, "sidecars": []}
    return f"{compact_json({'checkpoint': value})}\n".encode()


def _is_preview(snapshot: Snapshot) -> bool:
    return not has_feature(snapshot.protocol, "adaptiveMetadata")


class _Layout:
    """The columns of manifests of a table, and the entries of its files."""

    def __init__(self, snapshot: Snapshot, rows: int) -> None:
        self._snapshot = snapshot
        self.adds = AddRows(snapshot, rows, in_tree=True)
        self._columns = m.TreeColumns.of(snapshot.schema, snapshot.partition_columns)
        self._snapshot_id = uuid4().int >> 65
        self.bounded = [each for each in self.adds.stats_columns if each.field_ids[-1] is not None]
        self.schema = self._schema()
        self.ids = {ids: type_ for ids, _, type_ in m.id_leaves(self.schema, (), ())}

    def stats_of(self, column: StatColumn) -> m.Ids:
        """The id of the struct with the statistics of a column."""
        number = column.field_ids[-1]
        assert number is not None
        return self._columns.stats_of(number)

    def table(self, columns: Mapping[m.Ids, pa.Array], rows: int) -> pa.Table:
        """Entries with these columns, by the ids of their fields; null in the others."""
        return pa.Table.from_arrays([self._array(each, (), columns, rows) for each in self.schema], schema=self.schema)

    def entries(self, adds: pa.StructArray) -> pa.Table:
        """The entries of data files, from the column `add` of a checkpoint."""
        root, rows = self._snapshot.table_root, len(adds)
        stats, vectors = pc.struct_field(adds, "stats_parsed"), pc.struct_field(adds, "deletionVector")
        paths, version = pc.struct_field(adds, "path"), pc.struct_field(adds, "defaultRowCommitVersion")
        with_vector = pc.is_valid(vectors)
        own = arrow_scalar(self._snapshot_id, pa.int64())
        columns: _Columns = {
            m.CONTENT: _repeated(m.DATA, pa.int32(), rows),
            m.FORMAT_VERSION: _repeated(_FORMAT_VERSION, pa.int32(), rows),
            m.LOCATION: table_keys(root, paths),
            m.FORMAT: _repeated("parquet", pa.string(), rows),
            m.STATUS: _repeated(0, pa.int32(), rows),
            m.SNAPSHOT_ID: pa.repeat(own, rows),
            m.VECTOR_SNAPSHOT_ID: pc.if_else(with_vector, own, arrow_scalar(None, pa.int64())),
            m.SEQUENCE: version,
            m.FILE_SEQUENCE: version,
            m.ROW_ID: pc.struct_field(adds, "baseRowId"),
            m.RECORDS: pc.struct_field(stats, "numRecords"),
            m.SIZE: pc.struct_field(adds, "size"),
            **self._partitions(adds),
            **self._vectors(vectors, paths),
        }
        self._require(columns, paths)
        for column in self.bounded:
            columns |= self._bounds(column, stats)
        return self.table(columns, rows)

    def _require(self, columns: _Columns, paths: pa.Array) -> None:
        """Raise UnsupportedFeature for the first file whose entry lacks what each must have."""
        for ids, what in ((m.RECORDS, "its number of rows"), (m.ROW_ID, "row ids"), (m.SEQUENCE, "row ids")):
            at = pc.index(pc.is_null(columns[ids]), arrow_scalar(True, pa.bool_())).as_py()
            if at >= 0:
                cure = "call recompute_stats()" if ids == m.RECORDS else "enable row tracking again, which assigns them"
                raise self.refused(f"the log does not say {what} of {paths[at].as_py()}: {cure} first.")

    def refused(self, why: str) -> UnsupportedFeature:
        snapshot = self._snapshot
        return UnsupportedFeature(
            f"No metadata tree of version {snapshot.version} of {snapshot.root} is written: {why}"
        )

    def _partitions(self, adds: pa.StructArray) -> _Columns:
        if not self._columns.partitions:
            return {}
        if _is_preview(self._snapshot):
            return {(m.PARTITION, -1): pc.struct_field(adds, "partitionValues")}
        parsed = pc.struct_field(adds, "partitionValues_parsed")
        numbered = enumerate(self._columns.partitions)
        return {m.partition_of(at): pc.struct_field(parsed, [name]) for at, (name, _) in numbered}

    def _vectors(self, vectors: pa.StructArray, paths: pa.Array) -> _Columns:
        if vectors.null_count == len(vectors):
            return {}
        kinds, where = (pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv"))
        inline = pc.index(kinds, arrow_scalar("i", pa.string())).as_py()
        if inline >= 0:
            raise self.refused(
                f"the deletion vector of {paths[inline].as_py()} is inline in the log, and the RFC forbids that: "
                f"delete a row of the file, or rewrite the file."
            )
        named = pc.utf8_slice_codeunits(where, -UUID_CHARACTERS).dictionary_encode()
        is_named = pc.equal(kinds, arrow_scalar("u", pa.string()))
        used = set(pc.unique(named.indices.filter(is_named)).to_pylist())
        files = [
            vector_file_name(UUID(bytes=z85_decode(text))) if at in used else None
            for at, text in enumerate(named.dictionary.to_pylist())
        ]
        folders = pc.utf8_slice_codeunits(where, 0, -UUID_CHARACTERS)
        slash = pc.if_else(pc.equal(folders, NOTHING), NOTHING, arrow_scalar("/", pa.string()))
        names = arrow_array(files, pa.string()).take(named.indices)
        by_uuid = pc.binary_join_element_wise(folders, slash, names, NOTHING)
        absolute = pc.equal(kinds, arrow_scalar("p", pa.string()))
        try:
            decoded = decode_paths(pc.if_else(absolute, where, NOTHING))
        except ValueError as error:
            raise self.refused(f"{error}.") from error
        locations = pc.if_else(is_named, by_uuid, pc.if_else(absolute, decoded, where))
        size = pc.struct_field(vectors, "sizeInBytes").cast(pa.int64())
        values = {
            155: locations,
            144: filled(pc.struct_field(vectors, "offset").cast(pa.int64()), 0),
            145: pc.add(size, arrow_scalar(m.FRAME_BYTES, pa.int64())),
            156: pc.struct_field(vectors, "cardinality"),
        }
        there = pc.is_valid(vectors)
        return {
            (m.VECTOR, number): pc.if_else(there, each, arrow_scalar(None, each.type))
            for number, each in values.items()
        }

    def _bounds(self, column: StatColumn, stats: pa.StructArray) -> _Columns:
        """The statistics of a column in the struct `stats_parsed`."""
        above, found = self.stats_of(column), {}
        tight, some = pc.struct_field(stats, TIGHT_BOUNDS), pa.repeat(FALSE, len(stats))
        for side, group in ((m.LOWER, "minValues"), (m.UPPER, "maxValues")):
            ids, values = (*above, above[1] + side), _at(stats, (group, *column.physical))
            if values is None or ids not in self.ids:
                continue
            if pa.types.is_floating(values.type):
                # Spark sorts NaN above all numbers, and Iceberg has no bounds of it.
                values = pc.if_else(pc.is_nan(values), arrow_scalar(None, values.type), values)
            found[ids], some = values, pc.or_(some, pc.is_valid(values))
        if found:
            found[(*above, above[1] + m.TIGHT)] = pc.if_else(some, tight, arrow_scalar(None, pa.bool_()))
        nulls = _at(stats, ("nullCount", *column.physical))
        return found if nulls is None else {**found, (*above, above[1] + m.NULLS): nulls}

    def _array(self, each: pa.Field, above: m.Ids, columns: Mapping[m.Ids, pa.Array], rows: int) -> pa.Array:
        ids = (*above, m.id_of(each))
        if not pa.types.is_struct(each.type):
            found = columns.get(ids)
            return pa.nulls(rows, each.type) if found is None else one_chunk(found).cast(each.type)
        fields = list(each.type)
        children = [self._array(child, ids, columns, rows) for child in fields]
        mask = pc.is_null(children[0])
        for child in children[1:]:
            mask = pc.and_(mask, pc.is_null(child))
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    def _schema(self) -> pa.Schema:
        stats = []
        for column in self.bounded:
            above = self.stats_of(column)[1]
            kind = t.arrow_type(column.type)
            has_bounds = column.bounded and column.type != t.VARIANT and not isinstance(column.type, t.GEOSPATIAL)
            bounds = [_field("lower_bound", above + m.LOWER, kind), _field("upper_bound", above + m.UPPER, kind)]
            bounds.append(_field("tight_bounds", above + m.TIGHT, pa.bool_()))
            nulls = _field("null_value_count", above + m.NULLS, pa.int64())
            stats.append(_field(str(column.field_ids[-1]), above, pa.struct([*(bounds if has_bounds else ()), nulls])))
        partitions = [
            _field(name, m.partition_of(at)[1], t.arrow_type(kind))
            for at, (name, kind) in enumerate(self._columns.partitions)
        ]
        if partitions and _is_preview(self._snapshot):
            partitions = [pa.field("values", pa.map_(pa.string(), pa.string()))]
        tracking = {0: "status", 1: "snapshot_id", 5: "dv_snapshot_id", 3: "sequence_number", 4: "file_sequence_number"}
        tracking[142] = "first_row_id"
        counts = [_field(name, number, pa.int32()) for number, name in _COUNTS.items()]
        counts += [_field(name, number, pa.int64()) for number, name in _ROWS.items()]
        info = [*counts, _field("min_sequence_number", 516, pa.int64()), _field("dv", 522, pa.binary())]
        vector = {144: "offset", 145: "size_in_bytes", 156: "cardinality"}
        return pa.schema([
            _field("tracking", m.TRACKING, pa.struct([
                _field(name, number, pa.int64() if number else pa.int32()) for number, name in tracking.items()
            ]), True),
            _field("content_type", *m.CONTENT, pa.int32(), True),
            _field("format_version", *m.FORMAT_VERSION, pa.int32(), True),
            _field("location", *m.LOCATION, pa.string(), True),
            _field("file_format", *m.FORMAT, pa.string(), True),
            *([_field("partition", m.PARTITION, pa.struct(partitions))] if partitions else ()),
            _field("record_count", *m.RECORDS, pa.int64(), True),
            _field("file_size_in_bytes", *m.SIZE, pa.int64(), True),
            *([_field("content_stats", m.STATS, pa.struct(stats))] if stats else ()),
            _field("deletion_vector", m.VECTOR, pa.struct([
                _field("location", 155, pa.string()),
                *(_field(name, number, pa.int64()) for number, name in vector.items()),
            ])),
            _field("manifest_info", m.MANIFEST, pa.struct([*info, _field("dv_cardinality", 523, pa.int64())])),
        ])  # fmt: skip


def _field(name: str, number: int, kind: pa.DataType, required: bool = False) -> pa.Field:
    return pa.field(name, kind, not required, {PARQUET_ID: str(number).encode()})


def _repeated(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.repeat(arrow_scalar(value, kind), rows)


def _at(struct: pa.StructArray, path: Sequence[str]) -> pa.Array | None:
    """A field of structs by its path; None where there is none."""
    type_ = struct.type
    for name in path:
        at = type_.get_field_index(name) if pa.types.is_struct(type_) else -1
        if at < 0:
            return None
        type_ = type_.field(at).type
    return pc.struct_field(struct, list(path))


def _divided(snapshot: Snapshot, layout: _Layout) -> tuple[pa.Table | None, Iterator[pa.Table]]:
    """Entries of manifests that are named again, and the entries of the files that are in none of them."""
    kept: dict[str, Sequence[int]] = {}
    rewritten: list[Any] = []
    root: m.ManifestPart | None = None
    for part in snapshot.checkpoint_parts:
        dead = None
        if isinstance(part, m.ManifestPart) and part.manifest.is_leaf:
            dead = _dead(snapshot, part)
            if len(dead) <= _MOST_DEAD * part.metadata.num_rows:
                kept[part.manifest.name] = dead
                continue
        elif isinstance(part, m.ManifestPart):
            root = part
        rewritten.append(part)

    def loose() -> Iterator[pa.Table]:
        try:
            for part in rewritten:
                for group in part.row_groups_with("add"):
                    yield from map(layout.entries, layout.adds.of_group(part, group))
            yield from map(layout.entries, layout.adds.of_commits())
        except PartitionValueError as error:
            raise layout.refused(f"{error}.") from error

    return (_named_again(layout, root, kept) if root is not None and kept else None), loose()


def _dead(snapshot: Snapshot, part: m.ManifestPart) -> Any:
    """The positions of the entries of a manifest that are no longer part of the table."""
    found = [numpy_values(part.dead)]
    if snapshot.superseded:
        for group in part.row_groups_with("add"):
            adds = snapshot.add_group(part, group)
            live = adds.live_mask(snapshot.superseded, *adds.columns(["path", "deletion_vector"]))
            found.append(numpy_values(part.positions(group).filter(pc.invert(live))))
    return np.unique(np.concatenate(found))


def _named_again(layout: _Layout, root: m.ManifestPart, kept: Mapping[str, Any]) -> pa.Table:
    """The entries of manifests in the tree before, with their dead entries."""
    ids = [
        each
        for each, type_ in layout.ids.items()
        if each in root.ids and (each[0] != m.STATS or (root.ids[each].type == type_ and not root.hybrid_calendar))
    ]
    tables = []
    for group in range(root.metadata.num_row_groups):
        for found in root.entries(ids, group, 1 << 16):
            columns = dict(zip(ids, found, strict=True))
            status, location = columns[m.STATUS], columns[m.LOCATION]
            mask = pc.and_(
                pc.equal(columns[m.CONTENT], arrow_scalar(m.MANIFEST_ENTRY, columns[m.CONTENT].type)),
                pc.is_in(status, arrow_array(m.LIVE, status.type)),
            )
            mask = pc.and_(mask, pc.is_in(location, arrow_array(list(kept), location.type)))
            if pc.any(mask).as_py():
                tables.append(_with_dead(layout, {each: column.filter(mask) for each, column in columns.items()}, kept))
    return pa.concat_tables(tables)


def _with_dead(layout: _Layout, columns: _Columns, kept: Mapping[str, Any]) -> pa.Table:
    names = columns[m.LOCATION].to_pylist()
    dead = [kept[name] for name in names]
    bitmaps = [bytes(encode(arrow_array(each, pa.int64()))) if len(each) else None for each in dead]
    has_dead = arrow_array([each is not None for each in bitmaps], pa.bool_())
    # Other writers may leave these out.
    columns[m.FORMAT] = _repeated("parquet", pa.string(), len(names))
    columns[m.FORMAT_VERSION] = _repeated(_FORMAT_VERSION, pa.int32(), len(names))
    columns[m.STATUS] = _repeated(0, pa.int32(), len(names))
    columns[m.POSITIONS] = arrow_array(bitmaps, pa.binary())
    columns[m.POSITION_COUNT] = arrow_array([len(each) or None for each in dead], pa.int64())
    for ids in [each for each in columns if each[0] == m.STATS and each[-1] - each[1] == m.TIGHT]:
        # RFC Adaptive Metadata, Manifest Deletion Vectors: the bounds are those of all entries.
        columns[ids] = pc.if_else(pc.and_(has_dead, pc.is_valid(columns[ids])), FALSE, columns[ids])
    return layout.table(columns, len(names))


def _leaf(snapshot: Snapshot, layout: _Layout, table: pa.Table, made: WrittenTree) -> pa.Table:
    """Write a manifest, and return its entry in the root, with the statistics of all its entries."""
    table = table.combine_chunks()
    size = _written(snapshot, table, f"leaf-{uuid4()}.parquet", made)
    rows, records = len(table), exact_sum(table["record_count"])
    tracking = table["tracking"]
    sequences = pc.struct_field(tracking, "sequence_number")
    values: dict[m.Ids, Any] = {
        m.CONTENT: m.MANIFEST_ENTRY, m.FORMAT_VERSION: _FORMAT_VERSION, m.LOCATION: made.paths[-1],
        m.FORMAT: "parquet", m.STATUS: m.ADDED, m.SEQUENCE: snapshot.version, m.FILE_SEQUENCE: snapshot.version,
        m.SNAPSHOT_ID: pc.struct_field(tracking, "snapshot_id")[0].as_py(), m.RECORDS: rows, m.SIZE: size,
        m.ROW_ID: pc.min(pc.struct_field(tracking, "first_row_id")).as_py(),
        (m.MANIFEST, 505): rows, (m.MANIFEST, 513): records, (m.MANIFEST, 516): pc.min(sequences).as_py(),
    }  # fmt: skip
    values |= {(m.MANIFEST, number): 0 for number in (*_COUNTS, *_ROWS) if (m.MANIFEST, number) not in values}
    columns: _Columns = {ids: _repeated(value, layout.ids[ids], 1) for ids, value in values.items()}
    for column in layout.bounded:
        above = layout.stats_of(column)
        stats = pc.struct_field(table["content_stats"], str(column.field_ids[-1]))
        for field, function in (
            ("lower_bound", pc.min), ("upper_bound", pc.max), ("null_value_count", pc.sum), ("tight_bounds", pc.all),
        ):  # fmt: skip
            at = stats.type.get_field_index(field)
            if at >= 0:
                each = pc.struct_field(stats, field)
                if not each.null_count:
                    ids = (*above, m.id_of(stats.type.field(at)))
                    columns[ids] = pa.repeat(function(each), 1).cast(layout.ids[ids])
    return layout.table(columns, 1)


def _written(snapshot: Snapshot, table: pa.Table, name: str, made: WrittenTree) -> int:
    """Write a manifest; return its bytes."""
    path = join(snapshot.root, _FOLDER, name)
    with snapshot.storage.publish(path) as local:
        # Other readers ignore Arrow's own schema in the footer. A changed status would take a file away.
        options = {"store_schema": False, "write_page_checksum": True}
        codec = snapshot.table_properties.compression_codec or DEFAULT_CODEC
        with pq.ParquetWriter(local, table.schema, compression=codec, **options) as writer:
            writer.add_key_value_metadata(CALENDAR_OF_NEW_FILES)
            writer.write_table(table, LEAF_ENTRIES)
    size = snapshot.storage.size(path)
    made.paths.append(f"{_FOLDER}/{name}")
    made.size_bytes += size
    return size
