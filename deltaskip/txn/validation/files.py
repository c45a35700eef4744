"""Rules for file actions: adds, removes and CDC files, one by one and together.

# PROTOCOL, Add File and Remove File, Add CDC File, Deletion Vectors, Partition Value Serialization
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.errors import CorruptDeletionVector, DataFileMissing
from deltaskip.features.commit_rules import refusal, unsupported
from deltaskip.features.support_checks import CommitSummary, check_writable
from deltaskip.lazy_regex import regex
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.log.deletion_vectors import vector_location
from deltaskip.log.new_table import table_after
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import StructField, physical_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.storage import storage_for
from deltaskip.txn.intent import dv_id
from deltaskip.txn.known_files import Known
from deltaskip.txn.validation.candidate import Candidate, refuse_file
from deltaskip.txn.validation.statistics import StatisticsRules, check_statistics

# PROTOCOL, Add File: "a URI as specified by RFC 2396". Readers parse it with java.net.URI, which accepts characters
# beyond ASCII except blanks and control characters.
_URI_TEXT = regex(
    r"(?:[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\"<>\\^`{|}\[\]#?%]|%[0-9A-Fa-f]{2})+"
)
_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.\-]*:/")
# Operations that replace whole files by unrelated rows: rows of removes are deleted, rows of adds are inserted.
_OVERWRITES = ("TRUNCATE", "RESTORE", "CLONE", "REPLACE TABLE", "CREATE OR REPLACE TABLE", "RTAS", "STREAMING UPDATE")
_READERS = 32
_VECTORS = 256


@dataclass(frozen=True, slots=True)
class _Partitioning:
    """The partition columns after the commit by physical name, and parsed values: whether each is null."""

    columns: Mapping[str, StructField]
    parsed: dict[tuple[str, str | None], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, candidate: Candidate) -> _Partitioning:
        by_name = {each.name: each for each in candidate.schema.fields}
        names = candidate.metadata.partition_columns
        return cls({physical_name(by_name[name], candidate.mode): by_name[name] for name in names if name in by_name})


@dataclass(slots=True)
class _RowCounts:
    """Rows of the actions that change no data; None once a count is unknown."""

    added: int | None = 0
    removed: int | None = 0
    adds: int = 0
    removes: int = 0


def check_files(candidate: Candidate) -> None:
    """Raise InvalidCommit for the first file action that is not allowed, or for all of them together."""
    partitioning, rows = _Partitioning.of(candidate), _RowCounts()
    statistics = StatisticsRules.of(candidate)
    for key, remove in candidate.intent.removes.items():
        old = candidate.known.get(key)
        _check_remove(candidate, remove, old)
        if not remove.data_change and old is not None:
            rows.removes += 1
            rows.removed = _sum(rows.removed, num_records(parsed_stats(candidate.stats_before(key))), old.deleted)
    for key, add in candidate.intent.adds.items():
        stats = parsed_stats(add.stats)
        if add.stats is not None and stats is None:
            why = "its statistics are not a JSON object; correct them or leave them out"
            refuse_file(candidate, add, "statistics.json", why)
        _check_add(candidate, key, add, partitioning)
        _check_vector(candidate, key, add, stats or {})
        if not candidate.intent.copies_state:
            check_statistics(statistics, key, add, stats or {})
        if not add.data_change and (candidate.is_new(key) or key in candidate.intent.removes):
            rows.adds += 1
            deleted = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
            rows.added = _sum(rows.added, num_records(stats), deleted)
    _check_rearranged(candidate, rows)
    for cdc in candidate.intent.cdc_files.values():
        _check_cdc(candidate, cdc, partitioning)
    _check_changes(candidate)


def is_uri(path: str) -> bool:
    """Whether the path is a URI, so that it can be logged unchanged."""
    if _URI_TEXT.fullmatch(path) is None:
        return False
    return ":" not in path.partition("/")[0] or _SCHEME.match(path) is not None


def _check_remove(candidate: Candidate, remove: actions.RemoveFile, old: Known | None) -> None:
    base = candidate.base
    if old is None:
        raise refusal(
            "files.inactive",
            f"{remove.path} cannot be removed from {base.root}: it is not an active file of version {base.version}; "
            f"remove files that a scan of the transaction's snapshot returns",
        )
    if dv_id(remove) != old.dv_id:
        raise refusal(
            "files.inactive",
            f"{remove.path} cannot be removed from {base.root} with a different deletion vector than at version "
            f"{base.version}: remove it with the one that a scan returns",
        )
    if _differ(remove.partition_values, old.partition_values):
        raise refusal(
            "files.partition-values",
            f"{remove.path} cannot be removed from {base.root} with other partition values than at version "
            f"{base.version}, {old.partition_values}: remove it with those, or without",
        )
    if (remove.size or 0) < 0:
        raise refusal(
            "files.numbers",
            f"{remove.path} cannot be removed from {table_after(base)}: its size must not be negative",
        )


def _check_add(candidate: Candidate, key: str, add: actions.AddFile, partitioning: _Partitioning) -> None:
    if candidate.is_new(key) and not is_uri(add.path):
        refuse_file(candidate, add, "files.path", "it is not a URI; percent-encode it")
    if add.size < 0 or add.modification_time < 0:
        refuse_file(candidate, add, "files.numbers", "its size and modification time must not be negative")
    if add.data_change and key in candidate.intent.unchanged:
        refuse_file(candidate, add, "files.data-change", "add_again changes no data, so dataChange must be false")
    _check_partition_values(candidate, add, partitioning)
    old = candidate.known.get(key)
    in_place = add.data_change and old is not None and old.dv_id == dv_id(add)
    if old is not None and not in_place and _differ(add.partition_values, old.partition_values):
        why = f"its partition values differ from those of version {candidate.base.version}, {old.partition_values}"
        refuse_file(candidate, add, "files.partition-values", f"{why}; the rows of a file stay in their partition")


def _differ(given: Mapping[str, str | None] | None, logged: Mapping[str, str | None] | None) -> bool:
    """Whether partition values differ, where both are known; "" is null."""
    if given is None or logged is None:
        return False
    return {name: text or None for name, text in given.items()} != {n: text or None for n, text in logged.items()}


def _check_partition_values(
    candidate: Candidate, add: actions.AddFile | actions.AddCdcFile, partitioning: _Partitioning
) -> None:
    rule = "files.partition-values"
    if set(add.partition_values) != set(partitioning.columns):
        names = ", ".join(sorted(partitioning.columns)) or "none"
        refuse_file(candidate, add, rule, f"its partition values must be of exactly these columns: {names}")
    for name, column in partitioning.columns.items():
        text = add.partition_values[name]
        is_null = partitioning.parsed.get((name, text))
        if is_null is None:
            try:
                # PROTOCOL, Partition Value Serialization: "" is null, whatever the type.
                is_null = not text or actions.parse_partition_value(text, column.type) is None
            except actions.PartitionValueError as error:
                refuse_file(candidate, add, rule, f"the partition value of {column.name} is not valid: {error}")
            partitioning.parsed[name, text] = is_null
        if is_null and not column.nullable:
            refuse_file(candidate, add, rule, f"{column.name} is NOT NULL, but its partition value is null")


def _check_vector(candidate: Candidate, key: str, add: actions.AddFile, stats: Mapping[str, Any]) -> None:
    old, rule, vector = candidate.known.get(key), "files.deletion-vector", add.deletion_vector
    deleted = 0 if vector is None else vector.cardinality
    if vector is not None:
        rows = num_records(stats)
        if rows is None:
            # PROTOCOL, Per-file Statistics: required if there is a deletion vector.
            refuse_file(candidate, add, rule, "a file with a deletion vector needs numRecords in its statistics")
        if deleted > rows:
            why = f"its deletion vector deletes {deleted} of {rows} rows; correct its cardinality"
            refuse_file(candidate, add, rule, why)
        try:
            vector_location(candidate.base.table_root, vector)
        except CorruptDeletionVector as error:
            refuse_file(candidate, add, rule, f"its deletion vector cannot be read: {error}")
    if old is None or old.dv_id == dv_id(add):
        return
    if key not in candidate.intent.removes:
        why = f"it has a different deletion vector than at version {candidate.base.version}"
        refuse_file(candidate, add, rule, f"{why}; also remove the file with the old one in this transaction")
    if not add.data_change and deleted != old.deleted:
        why = "its deletion vector deletes a different number of rows, so dataChange must be true"
        refuse_file(candidate, add, "files.data-change", why)


def _check_rearranged(candidate: Candidate, rows: _RowCounts) -> None:
    """# PROTOCOL, Add File and Remove File, dataChange: false only if the records are in the commit's other actions."""
    if rows.adds and not rows.removes:
        add = next(a for key, a in candidate.intent.adds.items() if not a.data_change and candidate.is_new(key))
        why = f"it is not an active file of version {candidate.base.version}, so dataChange must be true"
        refuse_file(candidate, add, "files.data-change", why)
    if rows.removed == rows.added or (rows.adds and None in (rows.removed, rows.added)):
        return
    removed = "an unknown number of" if rows.removed is None else rows.removed
    raise refusal(
        "files.data-change",
        f"The file actions of {candidate.place} with dataChange false remove {removed} rows and add {rows.added} rows: "
        f"set dataChange to true if rows come or go, otherwise correct numRecords",
    )


def _check_cdc(candidate: Candidate, cdc: actions.AddCdcFile, partitioning: _Partitioning) -> None:
    if not candidate.properties.change_data_feed:
        refuse_file(candidate, cdc, "files.cdc", "the table has no change data feed enabled; leave it out")
    if not is_uri(cdc.path):
        refuse_file(candidate, cdc, "files.path", "it is not a URI; percent-encode it")
    if cdc.data_change:
        # PROTOCOL, Add CDC File
        refuse_file(candidate, cdc, "files.cdc", "dataChange of a CDC file must be false")
    if cdc.size < 0:
        refuse_file(candidate, cdc, "files.numbers", "its size must not be negative")
    _check_partition_values(candidate, cdc, partitioning)


def _check_changes(candidate: Candidate) -> None:
    """Readers of the change data feed learn from the commit which rows it changes."""
    intent = candidate.intent
    if intent.cdc_files and not intent.changes_data:
        first = next(iter(intent.cdc_files.values()))
        why = "a commit without data change changes no rows; leave CDC files out"
        refuse_file(candidate, first, "files.cdc", why)
    if intent.cdc_files or not candidate.properties.change_data_feed:
        return
    # PROTOCOL, Add CDC File: without CDC files all rows of the removes are deletions and all rows of the adds are
    # insertions, which is right for a transaction that deletes and inserts rows. Files that are added again differ
    # from their removes only by the deletion vectors.
    removed = candidate.removed is not None or any(
        key not in intent.adds and remove.data_change for key, remove in intent.removes.items()
    )
    added = any(
        add.data_change and candidate.is_new(key) and key not in intent.inserted for key, add in intent.adds.items()
    )
    overwrites = intent.operation.startswith(_OVERWRITES) or (
        intent.operation == "WRITE" and str(intent.parameters.get("mode")).lower() == "overwrite"
    )
    if removed and added and not overwrites:
        base = candidate.base
        if not base.table_properties.change_data_feed:
            raise unsupported(
                "files.cdc",
                f"This transaction on {base.root} changes rows before it enables the change data feed, so that the "
                f"feed would lack them; enable it first",
            )
        raise unsupported(
            "files.cdc",
            f"Version {base.version} of {base.root} has change data feed enabled (table feature changeDataFeed), and "
            f"this commit both adds and removes rows, so it must include CDC files; add them with add_cdc, make the "
            f"change with Spark, or name the operation WRITE with the parameter mode Overwrite if no row is kept",
        )


def _sum(total: int | None, rows: int | None, deleted: int) -> int | None:
    return None if total is None or rows is None else total + rows - deleted


def check_data_files(candidate: Candidate) -> None:
    """Raise InvalidCommit for the first added file that is missing or has another size, and for wrong deletion vectors.

    Active files that are added again with the same size are not looked up. Raises StorageError.
    """
    wanted = list(_wanted(candidate))
    if len(wanted) <= 1 or not candidate.base.storage.remote:
        # Looking up a local file takes less time than starting a thread.
        for file in wanted:
            _check_size(candidate, file)
    else:
        with ThreadPoolExecutor(min(_READERS, len(wanted)), "deltaskip") as pool:
            for _ in pool.map(lambda file: _check_size(candidate, file), wanted):
                pass
    vectors = list(_with_new_vectors(candidate))
    for start in range(0, len(vectors), _VECTORS):
        _check_vectors(candidate, vectors[start : start + _VECTORS])


def _wanted(candidate: Candidate) -> Iterator[actions.AddFile | actions.AddCdcFile]:
    for key, add in candidate.intent.adds.items():
        old = candidate.known.get(key)
        if old is None or (old.size is not None and old.size != add.size):
            yield add
    yield from candidate.intent.cdc_files.values()


def _check_size(candidate: Candidate, file: actions.AddFile | actions.AddCdcFile) -> None:
    location = actions.hadoop_path(candidate.base.table_root, file.path)
    try:
        size = storage_for(location, near=candidate.base.storage).size(location)
    except FileNotFoundError:
        refuse_file(
            candidate, file, "files.missing", f"there is no file {location}; write it first, or correct the path"
        )
    if size != file.size:
        why = f"the size of {location} is {size} bytes, not {file.size}; correct the action"
        refuse_file(candidate, file, "files.missing", why)


def _with_new_vectors(candidate: Candidate) -> Iterator[tuple[str, actions.AddFile, actions.DeletionVectorDescriptor]]:
    for key, add in candidate.intent.adds.items():
        old = candidate.known.get(key)
        if add.deletion_vector is not None and (old is None or old.dv_id != dv_id(add)):
            yield key, add, add.deletion_vector


def _check_vectors(
    candidate: Candidate, found: Sequence[tuple[str, actions.AddFile, actions.DeletionVectorDescriptor]]
) -> None:
    """Each vector can be read, deletes rows that its file has, and restores no row that should stay deleted."""
    rule = "files.deletion-vector"
    try:
        new = _rows(candidate, found, [vector for _, _, vector in found])
    except (CorruptDeletionVector, DataFileMissing) as error:
        raise refusal(rule, f"A deletion vector of {candidate.place} cannot be read: {error}") from error
    known_vectors = [known.vector if (known := candidate.known.get(key)) else None for key, _, _ in found]
    old = _rows(candidate, found, known_vectors)
    for (_, add, _), rows, before in zip(found, new, old, strict=True):
        kept = before is None or rows is None or pc.all(pc.is_in(before, value_set=rows), min_count=0).as_py()
        if kept:
            continue
        if not add.data_change:
            why = "its deletion vector deletes other rows, so dataChange must be true"
            refuse_file(candidate, add, "files.data-change", why)
        base = candidate.base
        where = f"Version {base.version} of {base.root}"
        check_writable(candidate.protocol, candidate.properties, candidate.schema, where, CommitSummary(adds_rows=True))


def _rows(
    candidate: Candidate,
    found: Sequence[tuple[str, actions.AddFile, actions.DeletionVectorDescriptor]],
    vectors: Sequence[actions.DeletionVectorDescriptor | None],
) -> list[pa.Int64Array | None]:
    fields = [field.name for field in actions.DELETION_VECTOR]
    values = [None if each is None else {name: getattr(each, name) for name in fields} for each in vectors]
    array = arrow_array(values, actions.DELETION_VECTOR)
    counts = [num_records(parsed_stats(add.stats)) for _, add, _ in found]
    files = pa.table({"uri": [add.path for _, add, _ in found], "num_records": arrow_array(counts, pa.int64())})
    return read_deleted_rows(candidate.base.storage, candidate.base.table_root, files, array)
