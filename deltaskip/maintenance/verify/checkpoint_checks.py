"""Rules of checkpoints, their sidecars, the hint and version checksums, which all repeat what the commits say.

# PROTOCOL, Checkpoints, Action Reconciliation, Last Checkpoint File; today's protocol: V2 checkpoints, Version Checksum
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import eq
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.errors import CorruptLog, DeltaSkipError, StorageError
from deltaskip.features.registry import has_tree
from deltaskip.json_text import parse_json
from deltaskip.log import CheckpointRef, Snapshot
from deltaskip.log.checksum import file_differences, json_or_text, parse_checksum, state_differences
from deltaskip.log.file_counts import VECTOR_COUNTS, FileCounts
from deltaskip.log.file_names import LogFile
from deltaskip.log.last_checkpoint import LAST_CHECKPOINT, parse_hint
from deltaskip.log.replay import file_keys, keys_of_files
from deltaskip.log.state_actions import StateChange
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.maintenance.verify.table_rule import Found
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import NOTHING, arrow_scalar, filled, one_chunk
from deltaskip.storage import LOG_FOLDER, join

_COMPARED = ["path", "deletion_vector", "size", "partition_values", "base_row_id"]
# Checkpoints are compared with the commits, newest first, up to this many files, and so are version checksums.
_MOST_FILES = 4_000_000
_MOST_CHECKSUMS = 20
_LARGEST_CHECKSUM = 256 << 20
# Members of actions that writers spell in several ways: no tags may be {}, and checkpoints keep statistics as structs.
_SPELLED = ("path", "partitionValues", "tags", "stats")
_SMALL_HINT = 1 << 20


def names_of(ref: CheckpointRef) -> list[str]:
    """Return the names of a checkpoint's files."""
    return [file.file.name for file in ref.files]


def checkpoint_violations(facts: TableFacts) -> Iterator[Found]:
    """Checkpoints that cannot be read, or that differ from the commits and checkpoints before them."""
    budget = _MOST_FILES
    for ref, found in sorted(facts.checkpoints.items(), key=lambda item: item[0].version, reverse=True):
        names, version = names_of(ref), [ref.version]
        if isinstance(found, CorruptLog):
            yield Found("checkpoint.readable", str(found), version, names)
            continue
        if budget <= 0:
            yield from _of_sidecars(facts, ref, found)
            continue
        try:
            budget -= found.num_files
            yield from _of_files(found, ref, names)
            expected = facts.rebuilt(ref.version, names)
            if expected is not None:
                yield from _compared(found, expected, ref, names)
            elif ref.version in facts.refused:
                message = f"The checkpoint of version {ref.version} differs from the commits before it"
                yield Found("checkpoint.contents", f"{message}: {facts.refused[ref.version]}", version, names)
        except CorruptLog as error:
            yield Found("checkpoint.readable", str(error), version, names)
        yield from _of_sidecars(facts, ref, found)


def _of_files(found: Snapshot, ref: CheckpointRef, names: list[str]) -> Iterator[Found]:
    """Files that a checkpoint has twice, or both as active and as removed."""
    adds = found.adds(["path", "deletion_vector"])
    paths = _paths(adds["path"], names)
    counts = paths.value_counts()
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), arrow_scalar(1, pa.int64())))
    if len(twice):
        message = f"The checkpoint of version {ref.version} has the file {twice[0]} twice"
        yield Found("checkpoint.reconciled", message, [ref.version], names)
    active = keys_of_files(paths, adds["deletion_vector"])
    for part in () if found.checkpoint is None else found.checkpoint.remove_parts:
        for group in part.row_groups_with("remove"):
            columns = [name for name in ("remove.path", "remove.deletionVector") if part.has(name)]
            for batch in part.columns_of(columns, group, 1 << 16):
                removes = batch.column(0).drop_null()
                fields = dict(zip((each.name for each in removes.type), removes.flatten(), strict=True))
                if "path" not in fields:
                    raise CorruptLog(f"{names[0]} contains a remove without a path.")
                vectors = fields.get("deletionVector")
                vectors = pa.nulls(len(removes), pa.string()) if vectors is None else actions.dv_ids(vectors)
                keys = file_keys(_paths(fields["path"], names), pc.fill_null(vectors, NOTHING))
                both = fields["path"].filter(pc.is_in(keys, value_set=active))
                if len(both):
                    message = f"The checkpoint of version {ref.version} has the file {both[0]} as active and as removed"
                    yield Found("checkpoint.reconciled", message, [ref.version], names)
                    return


def _paths(paths: pa.Array | pa.ChunkedArray, names: list[str]) -> pa.Array:
    try:
        return actions.canonical_paths(one_chunk(paths))
    except ValueError as error:
        raise CorruptLog(f"{names[0]} contains a path that cannot be decoded: {error}.") from error


def _compared(found: Snapshot, expected: Snapshot, ref: CheckpointRef, names: list[str]) -> Iterator[Found]:
    """Differences between a checkpoint and the same version without it."""
    rule, where = "checkpoint.contents", f"The checkpoint of version {ref.version}"
    difference = next(_of_state(found.state, expected.state), None)
    if difference is not None:
        yield Found(rule, f"{where} differs from the commits before it: {difference}", [ref.version], names)
    mine, theirs = (each.adds(_COMPARED) for each in (found, expected))
    keys = [_keys(each, names) for each in (mine, theirs)]
    for what, rows, others in (("lacks", 1, 0), ("has", 0, 1)):
        other = _without(keys[rows], keys[others])
        if len(other):
            path = other[0].as_py().partition("\0")[0]
            side = "which the commits before it have" if what == "lacks" else "which the commits before it do not have"
            more = f" and {len(other) - 1:,} more" if len(other) > 1 else ""
            yield Found(rule, f"{where} {what} the file {path}{more}, {side}", [ref.version], names)
            return
    at = pc.index_in(keys[0], value_set=keys[1])
    for name in ("size", "partition_values", "base_row_id"):
        first, second = one_chunk(mine[name]), one_chunk(theirs[name]).take(at)
        if name == "partition_values":
            values = _Partitioning(found).values
            if first.equals(second) or all(map(eq, *(map(values, each.to_pylist()) for each in (first, second)))):
                continue
            yield Found(rule, f"{where} has other partition values than the commits before it", [ref.version], names)
            continue
        unequal = pc.or_(pc.xor(first.is_valid(), second.is_valid()), filled(pc.not_equal(first, second), False))
        if pc.any(unequal).as_py():
            path = mine["path"].filter(unequal)[0]
            yield Found(rule, f"{where} has another {name} of {path} than the commits", [ref.version], names)


def _keys(files: pa.Table, names: list[str]) -> pa.Array:
    return keys_of_files(_paths(files["path"], names), files["deletion_vector"])


def _without(keys: pa.Array, others: pa.Array) -> pa.Array:
    return keys.filter(pc.invert(pc.is_in(keys, value_set=others)))


def doubt(facts: TableFacts, version: int, names: Sequence[str]) -> str:
    """Return why it is not certain that a checkpoint or compaction is wrong, and not a commit; "" if it is.

    A commit may have lost lines when a disk was full or a machine stopped, and a checkpoint may be all that still has
    its files. A version checksum decides, otherwise which of the data files exist.

    Args:
        facts: The table.
        version: The version of the checkpoint, or the last one of the compaction.
        names: The names of its files.
    """
    later = min((each for each in facts.listing.checkpoints if each > version), default=None)
    for each in sorted(facts.listing.checksums):
        if each < version or (later is not None and each >= later) or _fault(facts, facts.listing.checksums[each]):
            continue
        agree = checksum_agrees(facts, each, names), checksum_agrees(facts, each)
        if agree[0] != agree[1]:
            return "" if agree[0] else f"the checksum of version {each} agrees with it, and not with the commits"
        if not agree[0]:
            return f"the checksum of version {each} agrees neither with it nor with the commits"
    expected, found = facts.rebuilt(version, names), facts.rebuilt(version)
    if expected is None or found is None:
        return ""
    mine, theirs = (_keys(each.adds(["path", "deletion_vector"]), [*names]) for each in (found, expected))
    own, others = (
        {actions.hadoop_path(found.table_root, key.partition("\0")[0]) for key in _without(*keys).to_pylist()}
        for keys in ((mine, theirs), (theirs, mine))
    )
    exists = facts.storage.exists
    if (own or others) and not (own and not any(map(exists, own)) and all(map(exists, others))):
        return "a commit may have lost actions, and nothing but the commits says otherwise"
    return ""


def checksum_agrees(facts: TableFacts, version: int, without: Collection[str] = ()) -> bool:
    """Return whether a version checksum says what the log says without some files, see `TableFacts.rebuilt`."""
    file, snapshot = facts.listing.checksums[version], facts.rebuilt(version, without)
    return _fault(facts, file) is None and snapshot is not None and not any(_differences(facts, file, snapshot))


class _Partitioning:
    """Compares partition values, which have several texts. An empty text is null."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._types = {t.physical_name(each, snapshot.mapping_mode): each.type for each in snapshot.partition_fields}

    def values(self, texts: Mapping[str, str | None] | Sequence[tuple[str, str | None]]) -> dict[str, object]:
        """Return the values of a file."""
        return {name: self._value(text, self._types.get(name, t.STRING)) for name, text in dict(texts).items()}

    @staticmethod
    def _value(text: str | None, type_: t.DataType) -> object:
        try:
            value = actions.parse_partition_value(text or None, type_)
        except actions.PartitionValueError:
            return text
        return value if value == value else "NaN"


def _of_state(found: StateChange, expected: StateChange) -> Iterator[str]:
    for name, mine, theirs in (
        ("protocol", sorted_features(found.protocol), sorted_features(expected.protocol)),
        ("metaData", found.metadata, expected.metadata),
    ):
        if mine != theirs and not (name == "metaData" and _same_metadata(mine, theirs)):
            yield f"its {name} action is another one"
    txns = {key: txn.version for key, txn in expected.txns.items()}
    for key, txn in found.txns.items():
        if txns.get(key, txn.version) != txn.version:
            yield f"version {txn.version} of the application {key} is {txns[key]} there"
    domains = {name: each.configuration for name, each in expected.domains.items() if not each.removed}
    mine_domains = {name: each.configuration for name, each in found.domains.items() if not each.removed}
    if mine_domains != domains:
        name = next(iter({*domains} ^ {*mine_domains}), "") or next(k for k in domains if domains[k] != mine_domains[k])
        yield f"the metadata domain {name} is another one"


def sorted_features(protocol: actions.Protocol | None) -> object:
    """Return a protocol whose features are in order: delta-spark writes them in that of a set."""
    if protocol is None:
        return None
    features = (None if each is None else sorted(each) for each in (protocol.reader_features, protocol.writer_features))
    return protocol.min_reader_version, protocol.min_writer_version, *features


def _same_metadata(first: Any, second: Any) -> bool:
    """Whether two metaData actions say the same: Parquet does not keep the difference between {} and nothing."""
    texts = [each.to_json() for each in (first, second) if each is not None]
    if len(texts) < 2:
        return False
    for text in texts:
        text["schemaString"] = json_or_text(text.get("schemaString"))
    named = [{name: value for name, value in text.items() if value} for text in texts]
    return bool(named[0] == named[1])


def _of_sidecars(facts: TableFacts, ref: CheckpointRef, found: Snapshot) -> Iterator[Found]:
    for path, sidecar in () if found.checkpoint is None else found.checkpoint.sidecars.items():
        facts.advance(1)
        try:
            size = facts.storage.size(path)
        except (FileNotFoundError, StorageError):
            continue  # opening the checkpoint has said so
        if size != sidecar.size_in_bytes:
            message = (
                f"The sidecar {sidecar.path} has {size:,} bytes, and its checkpoint says {sidecar.size_in_bytes:,}"
            )
            yield Found("checkpoint.sidecar", message, [ref.version], [sidecar.path])


def hint_violations(facts: TableFacts) -> Iterator[Found]:
    """A `_last_checkpoint` that is damaged, or names a checkpoint that does not exist."""
    try:
        text = facts.storage.read(join(facts.root, LOG_FOLDER, LAST_CHECKPOINT), _SMALL_HINT)
    except FileNotFoundError:
        return
    except StorageError as error:
        entry = next((each for each in facts.entries if each.name == LAST_CHECKPOINT), None)
        if entry is not None and not entry.is_file:
            yield Found("hint.readable", f"{LAST_CHECKPOINT} is a {entry.kind}", (), [LAST_CHECKPOINT])
        else:
            facts.not_checked.append(str(error))
        return
    hint, fields = parse_hint(text), {}
    with suppress(ValueError):
        fields = parse_json(text)
    if hint is None or not fields:
        yield Found("hint.readable", f"{LAST_CHECKPOINT} is damaged, or its checksum is wrong", (), [LAST_CHECKPOINT])
        return
    version = hint.version
    refs = facts.listing.checkpoints.get(version)
    if refs is None:
        message = f"{LAST_CHECKPOINT} names version {version}, of which there is no complete checkpoint"
        yield Found("hint.version", message, [version], [LAST_CHECKPOINT])
        return
    parts = fields.get("parts")
    if isinstance(parts, int) and all(len(ref.files) != parts for ref in refs):
        message = f"{LAST_CHECKPOINT} says that the checkpoint of version {version} has {parts} parts"
        yield Found("hint.contents", message, [version], [LAST_CHECKPOINT])
    adds = fields.get("numOfAddFiles")
    counts = {
        found.num_files for ref, found in facts.checkpoints.items() if ref in refs and isinstance(found, Snapshot)
    }
    if isinstance(adds, int) and counts and adds not in counts:
        message = f"{LAST_CHECKPOINT} says that the checkpoint of version {version} has {adds:,} files"
        yield Found("hint.contents", f"{message}, and it has {min(counts):,}", [version], [LAST_CHECKPOINT])


def checksum_violations(facts: TableFacts) -> Iterator[Found]:
    """Version checksums that are damaged, or differ from the log."""
    chosen = sorted((v for v in facts.listing.checksums if v >= facts.since), reverse=True)
    left = _MOST_CHECKSUMS
    for version in chosen:
        file = facts.listing.checksums[version]
        facts.counts["checksums"] += 1
        facts.advance(1)
        fault = _fault(facts, file)
        if fault is not None:
            yield Found(*fault, [version], [file.file.name])
            continue
        snapshot = facts.snapshot if version == facts.version else None
        if snapshot is None and left > 0:
            snapshot = facts.rebuilt(version)
        left -= 1
        if snapshot is None or left < 0:
            continue
        try:
            differences = list(_differences(facts, file, snapshot))
        except CorruptLog:
            continue  # a checkpoint that is damaged has a finding
        if not differences:
            facts.agreed.add(version)
        else:
            message = f"The checksum of version {version} differs from the log: {differences[0]}"
            yield Found("checksum.contents", message, [version], [file.file.name])


def _fault(facts: TableFacts, file: LogFile) -> tuple[str, str] | None:
    name = file.file.name
    if file.file.size > _LARGEST_CHECKSUM:
        return "checksum.readable", f"The checksum {name} has {file.file.size:,} bytes, which no writer writes"
    try:
        parse_checksum(facts.storage.read(file.path))
    except (ValueError, FileNotFoundError) as error:
        return "checksum.readable", f"The checksum {name} is damaged: {str(error).rstrip('.')}"
    except DeltaSkipError as error:
        facts.not_checked.append(str(error))
    return None


def _differences(facts: TableFacts, file: LogFile, snapshot: Snapshot) -> Iterator[str]:
    text = facts.storage.read(file.path)
    checksum, fields = parse_checksum(text), parse_json(text)
    yield from state_differences(checksum, snapshot.state)
    yield from file_differences(checksum, *snapshot.totals())
    for name in ("numMetadata", "numProtocol"):
        if fields.get(name) not in (None, 1):
            yield f"{name} is {fields[name]}, and the table has 1"
    listed = fields.get("allFiles")
    counted = [name for name in ("fileSizeHistogram", "histogramOpt", *VECTOR_COUNTS) if fields.get(name) is not None]
    if counted:
        counts = FileCounts.of(snapshot.add_batches(1 << 16, ["size", "deletion_vector"]))
        known = {**dict(counts.members(True)), "histogramOpt": counts.sizes}
        for name in counted:
            # A histogram with other bins is one of a later version of its writer.
            same_bins = "Histogram" not in name or _bins(fields[name]) == _bins(known[name])
            if same_bins and fields[name] != known[name]:
                yield f"{name} is another one than that of the files"
    if isinstance(listed, list):
        adds = {
            actions.canonical_path(each.path): replace(each, data_change=False)
            for each in actions.add_actions(snapshot.adds())
        }
        named = {
            actions.canonical_path(each["path"]): each for each in listed if isinstance(each, dict) and "path" in each
        }
        if adds.keys() != named.keys() or len(listed) != len(named):
            yield "allFiles lists other files"
            return
        described = _Partitioning(snapshot)
        # Entries of trees have no time.
        spelled = (*_SPELLED, "modificationTime") if has_tree(snapshot.protocol) else _SPELLED
        for path, add in adds.items():
            own, other = add.to_json(), named[path]
            texts = other.get("partitionValues")
            same = isinstance(texts, dict) and described.values(own["partitionValues"]) == described.values(texts)
            if not same or any(other.get(key) != value for key, value in own.items() if key not in spelled):
                yield f"allFiles describes {path} otherwise"
                return


def _bins(histogram: object) -> object:
    return histogram.get("sortedBinBoundaries") if isinstance(histogram, dict) else histogram
