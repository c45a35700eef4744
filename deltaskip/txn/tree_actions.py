"""Actions on files of a table with an adaptive metadata tree: where their entries are in it, and their statistics.

# RFC Adaptive Metadata, Remove File; Backreferences
A commit that builds a newer tree takes an entry out of a manifest by the back reference of the action that ends it, so
it is computed for the tree of the version that the commit follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import REMOVE_FIELDS, AddFile, RemoveFile, table_keys, to_line, to_lines
from deltaskip.actions.action_fields import ActionFields, Field
from deltaskip.errors import UnsupportedFeature
from deltaskip.json_text import compact_json, parse_json
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint.manifests import ManifestPart
from deltaskip.log.file_names import Kind
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, no_rows, one_chunk

_REFERENCE = pa.struct([("manifest", pa.string()), ("pos", pa.int64())])
_FOUND = pa.schema([("key", pa.string()), ("stats", pa.string()), ("back_reference", _REFERENCE)])
_REMOVES = ActionFields(
    "remove",
    (
        *(field for field in REMOVE_FIELDS.fields if field.name != "deletion_timestamp"),
        Field("back_reference", "backReference", _REFERENCE),
    ),
    REMOVE_FIELDS.required,
)


def last_manifest_commit(latest: Snapshot) -> Mapping[str, Any] | None:
    """Return what delta-spark notes in the commitInfo of each commit: which commit has the newest tree."""
    checkpoint = latest.segment.checkpoint
    if checkpoint is not None and checkpoint.kind is Kind.COMMIT:
        return {"version": checkpoint.files[0].version, "contentRootVersion": checkpoint.version}
    told = None if latest.tail.info is None else latest.tail.info.members.get("lastManifestCommit")
    return told if isinstance(told, Mapping) else None


def tree_lines(
    latest: Snapshot, removes: Mapping[str, RemoveFile], removed: pa.Table | None, adds: Sequence[AddFile]
) -> tuple[list[bytes], list[str]]:
    """Return the lines of removes, and of adds, of a commit that follows a version of the table.

    Removes have no deletion timestamp, and the statistics of the file. One whose file has an entry in a manifest other
    than the root refers to it; so does an add that replaces the add of a file without a remove.

    Args:
        latest: The version.
        removes: Remove actions by table_key.
        removed: Further ones as columns, with the paths as logged.
        adds: Add actions.

    Raises:
        UnsupportedFeature: It is not known how many rows a removed file has, which every remove must say.
    """
    inline = [add.path for add in adds if add.deletion_vector is not None and add.deletion_vector.storage_type == "i"]
    if inline:
        raise UnsupportedFeature(
            f"{latest.root} has an adaptive metadata tree, so the deletion vector of {inline[0]} cannot be inline in "
            f"the log: write it to a file."
        )
    keys = [arrow_array(list(removes), pa.string())]
    added = table_keys(latest.table_root, arrow_array([add.path for add in adds], pa.string()))
    whole = None if removed is None else table_keys(latest.table_root, one_chunk(removed["path"]))
    found = _found(latest, pa.concat_arrays([*keys, added, *([] if whole is None else [whole])]))
    single = found.filter(pc.is_in(found["key"], value_set=pa.concat_arrays([*keys, added])))
    rows = {row["key"]: row for row in single.to_pylist()}
    lines = [] if removed is None or whole is None else [*_columns(latest, removed, whole, found)]
    for key, remove in removes.items():
        row = rows.get(key) or {"stats": None, "back_reference": None}
        if row["stats"] is None or not _counts(row["stats"]):
            raise _uncounted(latest, remove.path)
        lines.append(
            _line(replace(remove, deletion_timestamp=None, stats=row["stats"]), row["back_reference"]).encode()
        )
    texts = []
    for key, add in zip(added.to_pylist(), adds, strict=True):
        replaced = rows.get(key) if key not in removes else None
        texts.append(_line(add, None if replaced is None else replaced["back_reference"]))
    return lines, texts


def _line(action: RemoveFile | AddFile, reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return f"{to_line(action)}\n"
    members = {**action.to_json(), "backReference": dict(reference)}
    return compact_json({action.FIELDS.action: members}) + "\n"


def _columns(latest: Snapshot, removed: pa.Table, keys: pa.Array, found: pa.Table) -> Iterator[bytes]:
    at = pc.index_in(keys, value_set=one_chunk(found["key"]))
    stats = one_chunk(found["stats"]).take(at)
    counted = pc.match_substring(stats, '"numRecords":')
    unknown = pc.index(filled(counted, False), arrow_scalar(False, pa.bool_())).as_py()
    if unknown >= 0:
        raise _uncounted(latest, removed["path"][unknown].as_py())
    references = one_chunk(found["back_reference"]).take(at)
    columns = removed.drop_columns("deletion_timestamp").append_column("stats", stats)
    yield from to_lines(_REMOVES, columns.append_column("back_reference", references))


def _found(latest: Snapshot, keys: pa.Array) -> pa.Table:
    """The active files with these keys: their statistics, and their entries in manifests other than the root."""
    tables = [no_rows(_FOUND)]
    for part in latest.checkpoint_parts:
        for group in part.row_groups_with("add"):
            adds = latest.add_group(part, group)
            paths, vectors = adds.columns(["path", "deletion_vector"])
            own = table_keys(latest.table_root, paths)
            live = pc.and_(pc.is_in(own, value_set=keys), adds.live_mask(latest.superseded, paths, vectors))
            rows = pc.indices_nonzero(live).cast(pa.int64())
            if len(rows):
                [stats] = adds.rows(["stats"], rows)
                references = pa.nulls(len(rows), _REFERENCE)
                if isinstance(part, ManifestPart) and part.manifest.is_leaf:
                    manifest = pa.repeat(arrow_scalar(part.manifest.name, pa.string()), len(rows))
                    positions = part.positions(group).take(rows)
                    references = pa.StructArray.from_arrays([manifest, positions], fields=list(_REFERENCE))
                tables.append(pa.Table.from_arrays([own.take(rows), stats, references], schema=_FOUND))
    newer = latest.commit_adds
    if len(newer):
        own = table_keys(latest.table_root, one_chunk(newer["path"]))
        mask = pc.is_in(own, value_set=keys)
        stats = one_chunk(newer["stats"]).filter(mask)
        tables.append(pa.Table.from_arrays([own.filter(mask), stats, pa.nulls(len(stats), _REFERENCE)], schema=_FOUND))
    return pa.concat_tables(tables).combine_chunks()


def _counts(stats: str) -> bool:
    try:
        found = parse_json(stats)
    except ValueError:
        return False
    return isinstance(found, Mapping) and isinstance(found.get("numRecords"), int)


def _uncounted(latest: Snapshot, path: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"Version {latest.version} of {latest.root} does not say how many rows {path} has, which the commit that "
        f"removes the file must say in a table with an adaptive metadata tree: call recompute_stats() first."
    )
