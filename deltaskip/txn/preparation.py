"""One attempt of a transaction: its check against the rules of the table, and the text of its commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions as a
from deltaskip.actions.action_fields import ActionFields, Field
from deltaskip.errors import InvalidCommit, UnsupportedFeature
from deltaskip.features.registry import has_feature, has_tree
from deltaskip.json_text import compact_json, parse_json
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint.manifests import ManifestPart
from deltaskip.log.commit_times import next_in_commit_timestamp, with_enablement
from deltaskip.log.file_names import Kind
from deltaskip.log.new_table import BEFORE_CREATION
from deltaskip.records import dataclass
from deltaskip.schema.mapping import fields_by_path, mapping_mode
from deltaskip.schema.properties import IsolationLevel, TableProperties
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, no_rows, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.txn.changes import expanded
from deltaskip.txn.intent import Intent, logged_parameter
from deltaskip.txn.known_files import Known, known_files
from deltaskip.txn.removed_files import removes_as_listed
from deltaskip.txn.row_id_assignment import assign_row_ids
from deltaskip.txn.validation import CommitFacts, validate
from deltaskip.txn.validation.files import is_uri
from deltaskip.version import engine_info

# Up to this number, removed files are checked faster one by one than as columns.
_FEW_REMOVES = 32
# Characters that java.net.URI leaves in a path.
_NOT_ENCODED = "!$&'()*+,-./:;=@_~"
_USAGE_TRACKING = "columnMappingUsageTracking"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction whose actions are all allowed in the commit after `facts.base`.

    every_file: whether the transaction is valid only for the files of its snapshot, so that every new file conflicts.
    """

    facts: CommitFacts
    isolation: IsolationLevel
    every_file: bool


def prepare(intent: Intent, base: Snapshot) -> Prepared:
    """Check the transaction as the commit that follows `base`, without writing anything.

    Raises UnsupportedFeature with every feature that prevents the commit, and InvalidCommit for actions that the
    protocol does not allow.
    """
    removed = _removed(intent, base)
    if removed is None and intent.removed:
        intent = expanded(intent)
    facts = CommitFacts(intent, base, _known(intent, base), removed)
    every_file = validate(facts)
    return Prepared(facts, facts.properties.isolation_level, every_file)


def commit_text(prepared: Prepared, latest: Snapshot, txn_id: str) -> bytes:
    """The commit that follows `latest`, as JSON lines; commitInfo comes first, as in-commit timestamps require.

    Row ids, row commit versions and the in-commit timestamp are assigned for this version. A file of the table is
    named as in the log, since not every reader knows that two spellings are one path.
    """
    facts, version = prepared.facts, latest.version + 1
    intent, known = facts.intent, facts.known
    now = current_ms()
    enabled = facts.properties.in_commit_timestamps
    timestamp = next_in_commit_timestamp(latest, now) if enabled else None
    metadata = intent.metadata
    if metadata is not None and timestamp is not None and latest.version != BEFORE_CREATION:
        configuration = with_enablement(metadata.configuration, latest, version, timestamp)
        metadata = replace(metadata, configuration=configuration)
    metadata = with_tracked_usage(metadata, facts.protocol, latest, latest.version == BEFORE_CREATION)
    if metadata is not None and any(intent.dropped_features.values()):
        # RFC Checkpoint Protection: earlier versions must not be cleaned up piecemeal.
        name = TableProperties.checkpoint_protection_version.name
        metadata = replace(metadata, configuration={**metadata.configuration, name: str(version)})
    adds, mark = [_as_logged(add, known.get(key)) for key, add in intent.adds.items()], None
    if adds:
        _check_location(intent.base.root)
    if adds and facts.tracks_rows:
        adds, mark = assign_row_ids(adds, known, intent.adds, latest, version)
    info = _commit_info(prepared, latest, txn_id, now, timestamp)
    domains: list[a.DomainMetadata] = [*intent.domains.values(), *([mark] if mark else [])]
    state = [action for action in (intent.protocol, metadata) if action is not None]
    removes = {key: _completed(remove, known[key], now) for key, remove in intent.removes.items()}
    first: list[a.Action] = [info, *state, *intent.txns.values(), *domains]
    try:
        if has_tree(latest.protocol):
            ended, begun = tree_lines(latest, removes, facts.removed, adds)
            added = "".join(begun).encode()
            tree = b"" if intent.tree is None else intent.tree.line(latest)
            return b"".join((_lines(first), *ended, added, _lines(intent.cdc_files.values()), tree))
        whole = () if facts.removed is None else a.to_lines(a.REMOVE_FIELDS, facts.removed)
        last: list[a.Action] = [*removes.values(), *intent.vector_files.values(), *adds, *intent.cdc_files.values()]
        return b"".join((_lines(first), *whole, _lines(last)))
    except UnicodeEncodeError as error:
        raise InvalidCommit(
            f"A commit to {intent.base.root} contains the unpaired surrogate "
            f"{error.object[error.start : error.end]!r}, which cannot be encoded as UTF-8: correct the text."
        ) from error


def _check_location(root: str) -> None:
    """Raise InvalidCommit for a local path that is not UTF-8, below which no scan finds a file."""
    try:
        root.encode()
    except UnicodeEncodeError as error:
        raise InvalidCommit(
            f"The path {root!a} of the table is not UTF-8: rename it before rows are written."
        ) from error


def _lines(actions: Iterable[a.Action]) -> bytes:
    return "".join(f"{a.to_line(action)}\n" for action in actions).encode()


def _removed(intent: Intent, base: Snapshot) -> pa.Table | None:
    """The files that are removed as columns; None if the actions must be checked one by one."""
    if sum(map(len, intent.removed)) <= _FEW_REMOVES:
        return None
    keys = intent.removed_keys
    single = arrow_array([*intent.adds, *intent.removes], pa.string())
    if pc.any(pc.is_in(single, value_set=keys.slice(len(intent.removes))), min_count=0).as_py():
        return None
    tables = [removes_as_listed(each, base) for each in intent.removed]
    found = [table for table in tables if table is not None]
    if len(found) < len(tables) or len(pc.unique(keys)) < len(keys):
        return None
    return pa.concat_tables(found) if found else None


def _as_logged(add: a.AddFile, known: Known | None) -> a.AddFile:
    """The add with the path as logged."""
    return add if known is None or known.path == add.path else replace(add, path=known.path)


def _completed(remove: a.RemoveFile, known: Known, now: int) -> a.RemoveFile:
    """The remove with the row ids of the path's last add, and a deletion timestamp, without which it would be expired.

    Partition values are those of the deleted rows, which readers of the change data feed take from the remove. They and
    the size are then present, which extendedFileMetadata says.
    # PROTOCOL, Row Tracking; Action Reconciliation; Remove File
    """
    return replace(
        remove,
        path=known.path,
        extended_file_metadata=remove.extended_file_metadata is not False,
        size=known.size if remove.size is None else remove.size,
        partition_values=known.partition_values if remove.partition_values is None else remove.partition_values,
        base_row_id=known.base_row_id,
        default_row_commit_version=known.default_row_commit_version,
        deletion_timestamp=now if remove.deletion_timestamp is None else remove.deletion_timestamp,
    )


def _commit_info(
    prepared: Prepared, latest: Snapshot, txn_id: str, now: int, in_commit_timestamp: int | None
) -> a.CommitInfo:
    facts = prepared.facts
    intent = facts.intent
    members: dict[str, Any] = {
        "inCommitTimestamp": in_commit_timestamp,
        "timestamp": now,
        "operation": intent.operation,
        "operationParameters": {name: logged_parameter(value) for name, value in intent.parameters.items()},
        # The creation of a table reads no version.
        **({"readVersion": intent.base.version} if intent.base.version >= 0 else {}),
        "isolationLevel": "SnapshotIsolation" if intent.rearranges else prepared.isolation,
        "isBlindAppend": intent.is_blind_append,
        "operationMetrics": dict(intent.metrics),
        "userMetadata": intent.user_metadata,
        "engineInfo": engine_info(),
        "txnId": txn_id,
        "tags": None,
    }
    if has_tree(latest.protocol):
        own = {"version": latest.version + 1, "contentRootVersion": latest.version}
        members["lastManifestCommit"] = last_manifest_commit(latest) if intent.tree is None else own
    if facts.tracks_rows:
        # PROTOCOL, Row Tracking: rows copied into new files lose their ids, unless these files contain them.
        adds_rows = bool(intent.num_removes) and any(key not in facts.known for key in intent.adds)
        members["tags"] = {"delta.rowTracking.preserved": "false" if adds_rows and not intent.row_ids_kept else "true"}
    return a.CommitInfo(members)


def _known(intent: Intent, base: Snapshot) -> Mapping[str, Known]:
    """The entries of the snapshot for removed files, and for adds whose files may not be new."""
    new = {key for key, add in intent.adds.items() if key not in intent.removes and _is_new(base.table_root, add)}
    looked_up = (*intent.removes, *(key for key in intent.adds if key not in new))
    wanted = dict.fromkeys(key for key in looked_up if key not in intent.unchanged)
    return {**intent.unchanged, **known_files(base, wanted, new)}


def _is_new(root: str, add: a.AddFile) -> bool:
    """Whether the add is of a new file, assuming that its path was generated for it.

    It changes data and has no row ids, and its path is spelled as Spark would write it, so that an active file cannot
    have the path in another spelling.
    """
    if not add.data_change or add.deletion_vector is not None or add.base_row_id is not None:
        return False
    decoded = unquote(add.path)
    encoded = quote(decoded, safe=_NOT_ENCODED) == quote(add.path, safe=f"{_NOT_ENCODED}%")
    return encoded and is_uri(add.path) and a.table_key(root, add.path) == decoded


def with_tracked_usage(
    metadata: a.Metadata | None, protocol: a.Protocol, latest: Snapshot, is_new: bool
) -> a.Metadata | None:
    """Return the metaData action of a commit with `delta.columnMapping.hasDroppedOrRenamed`.

    The property becomes true with the first column that is dropped or renamed, and never false again. If the feature is
    new, it is true for a table whose columns are mapped already, since these may have been dropped.

    Args:
        metadata: The action of the commit; None if it has none.
        protocol: The protocol after the commit.
        latest: The version before the commit.
        is_new: Whether the commit creates the table.
    """
    if not has_feature(protocol, _USAGE_TRACKING):
        return metadata
    had = not is_new and has_feature(latest.protocol, _USAGE_TRACKING)
    if metadata is None and had:
        return None
    after = latest.metadata if metadata is None else metadata
    name = TableProperties.has_dropped_or_renamed.name
    told = (after.configuration if is_new else latest.properties).get(name, "").lower()
    if is_new:
        changed = told == "true"
    elif not had:
        changed = told == "true" or latest.mapping_mode != "none"
    else:
        properties = latest.typed(after.configuration).well_formed()
        names = _names(t.parse_schema(after.schema_string), mapping_mode(protocol, properties))
        before = _names(latest.schema, latest.mapping_mode)
        changed = told != "false" or any(names.get(path) != name for path, name in before.items())
    text = "true" if changed else "false"
    if after.configuration.get(name) == text:
        return metadata
    return replace(after, configuration={**after.configuration, name: text})


def _names(schema: t.StructType, mode: t.MappingMode) -> dict[tuple[str, ...], str]:
    """The logical name of each field, at any depth, by its physical path."""
    return {path: field.name for path, field in fields_by_path(schema, lambda field: t.physical_name(field, mode))}


_REFERENCE = pa.struct([("manifest", pa.string()), ("pos", pa.int64())])
_FOUND = pa.schema([("key", pa.string()), ("stats", pa.string()), ("back_reference", _REFERENCE)])
_REMOVES = ActionFields(
    "remove",
    (
        *(field for field in a.REMOVE_FIELDS.fields if field.name != "deletion_timestamp"),
        Field("back_reference", "backReference", _REFERENCE),
    ),
    a.REMOVE_FIELDS.required,
)


def last_manifest_commit(latest: Snapshot) -> Mapping[str, Any] | None:
    """Return what delta-spark notes in the commitInfo of each commit: which commit has the newest tree."""
    checkpoint = latest.segment.checkpoint
    if checkpoint is not None and checkpoint.kind is Kind.COMMIT:
        return {"version": checkpoint.files[0].version, "contentRootVersion": checkpoint.version}
    told = None if latest.tail.info is None else latest.tail.info.members.get("lastManifestCommit")
    return told if isinstance(told, Mapping) else None


def tree_lines(
    latest: Snapshot, removes: Mapping[str, a.RemoveFile], removed: pa.Table | None, adds: Sequence[a.AddFile]
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
    added = a.table_keys(latest.table_root, arrow_array([add.path for add in adds], pa.string()))
    whole = None if removed is None else a.table_keys(latest.table_root, one_chunk(removed["path"]))
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


def _line(action: a.RemoveFile | a.AddFile, reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return f"{a.to_line(action)}\n"
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
    yield from a.to_lines(_REMOVES, columns.append_column("back_reference", references))


def _found(latest: Snapshot, keys: pa.Array) -> pa.Table:
    """The active files with these keys: their statistics, and their entries in manifests other than the root."""
    tables = [no_rows(_FOUND)]
    for part in latest.checkpoint_parts:
        for group in part.row_groups_with("add"):
            adds = latest.add_group(part, group)
            paths, vectors = adds.columns(["path", "deletion_vector"])
            own = a.table_keys(latest.table_root, paths)
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
        own = a.table_keys(latest.table_root, one_chunk(newer["path"]))
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
