"""Rules for file actions: adds, removes and CDC files, one by one and together.

# PROTOCOL, Add File and Remove File, Add CDC File, Deletion Vectors, Partition Value Serialization
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.errors import CorruptDeletionVector, DataFileMissing
from deltaskip.features.support_checks import CommitSummary, check_writable
from deltaskip.features.violation import Violation
from deltaskip.lazy_regex import regex
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.log.deletion_vectors import vector_location
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import StructField, physical_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.storage import storage_for
from deltaskip.txn.intent import dv_id
from deltaskip.txn.known_files import Known
from deltaskip.txn.validation.commit_facts import CommitFacts
from deltaskip.txn.validation.statistics import StatisticsRules, statistics_violations

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
    def of(cls, facts: CommitFacts) -> _Partitioning:
        by_name = {each.name: each for each in facts.schema.fields}
        names = facts.metadata.partition_columns
        return cls({physical_name(by_name[name], facts.mode): by_name[name] for name in names if name in by_name})


@dataclass(slots=True)
class _RowCounts:
    """Rows of the actions that change no data; None once a count is unknown."""

    added: int | None = 0
    removed: int | None = 0
    adds: int = 0
    removes: int = 0


def file_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A file action that is not allowed, or all of them together."""
    partitioning, rows = _Partitioning.of(facts), _RowCounts()
    statistics = StatisticsRules.of(facts)
    for key, remove in facts.intent.removes.items():
        old = facts.known.get(key)
        yield from _of_remove(facts, remove, old)
        if not remove.data_change and old is not None:
            rows.removes += 1
            rows.removed = _sum(rows.removed, facts.rows_before(key), old.deleted)
    for key, add, stats in facts.adds():
        if add.stats is not None and stats is None:
            why = "its statistics are not a JSON object; correct them or leave them out"
            yield facts.of_file(add, "statistics.json", why)
        yield from _of_add(facts, key, add, partitioning)
        yield from _of_vector(facts, key, add)
        if not facts.intent.copies_state:
            yield from statistics_violations(statistics, key, add, stats or {})
        if not add.data_change and (facts.is_new(key) or key in facts.intent.removes):
            rows.adds += 1
            deleted = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
            rows.added = _sum(rows.added, facts.rows(key), deleted)
    yield from _of_rearranged(facts, rows)
    for cdc in facts.intent.cdc_files.values():
        yield from _of_cdc(facts, cdc, partitioning)
    yield from _of_changes(facts)


def is_uri(path: str) -> bool:
    """Whether the path is a URI, so that it can be logged unchanged."""
    if _URI_TEXT.fullmatch(path) is None:
        return False
    return ":" not in path.partition("/")[0] or _SCHEME.match(path) is not None


def _of_remove(facts: CommitFacts, remove: actions.RemoveFile, old: Known | None) -> Iterator[Violation]:
    base = facts.base
    if old is None:
        yield Violation(
            "files.inactive",
            f"{remove.path} cannot be removed from {base.root}: it is not an active file of version {base.version}; "
            f"remove files that a scan of the transaction's snapshot returns",
        )
        return
    if dv_id(remove) != old.dv_id:
        yield Violation(
            "files.inactive",
            f"{remove.path} cannot be removed from {base.root} with a different deletion vector than at version "
            f"{base.version}: remove it with the one that a scan returns",
        )
    if _differ(remove.partition_values, old.partition_values):
        yield Violation(
            "files.partition-values",
            f"{remove.path} cannot be removed from {base.root} with other partition values than at version "
            f"{base.version}, {old.partition_values}: remove it with those, or without",
        )
    if (remove.size or 0) < 0:
        yield Violation(
            "files.numbers", f"{remove.path} cannot be removed from {facts.table}: its size must not be negative"
        )


def _of_add(facts: CommitFacts, key: str, add: actions.AddFile, partitioning: _Partitioning) -> Iterator[Violation]:
    if facts.is_new(key) and not is_uri(add.path):
        yield facts.of_file(add, "files.path", "it is not a URI; percent-encode it")
    if add.size < 0 or add.modification_time < 0:
        yield facts.of_file(add, "files.numbers", "its size and modification time must not be negative")
    if add.data_change and key in facts.intent.unchanged:
        yield facts.of_file(add, "files.data-change", "add_again changes no data, so dataChange must be false")
    yield from _of_partition_values(facts, add, partitioning)
    old = facts.known.get(key)
    in_place = add.data_change and old is not None and old.dv_id == dv_id(add)
    if old is not None and not in_place and _differ(add.partition_values, old.partition_values):
        why = f"its partition values differ from those of version {facts.base.version}, {old.partition_values}"
        yield facts.of_file(add, "files.partition-values", f"{why}; the rows of a file stay in their partition")


def _differ(given: Mapping[str, str | None] | None, logged: Mapping[str, str | None] | None) -> bool:
    """Whether partition values differ, where both are known; "" is null."""
    if given is None or logged is None:
        return False
    return {name: text or None for name, text in given.items()} != {n: text or None for n, text in logged.items()}


def _of_partition_values(
    facts: CommitFacts, add: actions.AddFile | actions.AddCdcFile, partitioning: _Partitioning
) -> Iterator[Violation]:
    rule = "files.partition-values"
    if set(add.partition_values) != set(partitioning.columns):
        names = ", ".join(sorted(partitioning.columns)) or "none"
        yield facts.of_file(add, rule, f"its partition values must be of exactly these columns: {names}")
        return
    for name, column in partitioning.columns.items():
        text = add.partition_values[name]
        is_null = partitioning.parsed.get((name, text))
        if is_null is None:
            try:
                # PROTOCOL, Partition Value Serialization: "" is null, whatever the type.
                is_null = not text or actions.parse_partition_value(text, column.type) is None
            except actions.PartitionValueError as error:
                yield facts.of_file(add, rule, f"the partition value of {column.name} is not valid: {error}")
                return
            partitioning.parsed[name, text] = is_null
        if is_null and not column.nullable:
            yield facts.of_file(add, rule, f"{column.name} is NOT NULL, but its partition value is null")


def _of_vector(facts: CommitFacts, key: str, add: actions.AddFile) -> Iterator[Violation]:
    old, rule, vector = facts.known.get(key), "files.deletion-vector", add.deletion_vector
    deleted = 0 if vector is None else vector.cardinality
    if vector is not None:
        rows = facts.rows(key)
        if rows is None:
            # PROTOCOL, Per-file Statistics: required if there is a deletion vector.
            yield facts.of_file(add, rule, "a file with a deletion vector needs numRecords in its statistics")
            return
        if deleted > rows:
            why = f"its deletion vector deletes {deleted} of {rows} rows; correct its cardinality"
            yield facts.of_file(add, rule, why)
        try:
            vector_location(facts.base.table_root, vector)
        except CorruptDeletionVector as error:
            yield facts.of_file(add, rule, f"its deletion vector cannot be read: {error}")
    if old is None or old.dv_id == dv_id(add):
        return
    if key not in facts.intent.removes:
        why = f"it has a different deletion vector than at version {facts.base.version}"
        yield facts.of_file(add, rule, f"{why}; also remove the file with the old one in this transaction")
    if not add.data_change and deleted != old.deleted:
        why = "its deletion vector deletes a different number of rows, so dataChange must be true"
        yield facts.of_file(add, "files.data-change", why)


def _of_rearranged(facts: CommitFacts, rows: _RowCounts) -> Iterator[Violation]:
    """# PROTOCOL, Add File and Remove File, dataChange: false only if the records are in the commit's other actions."""
    if rows.adds and not rows.removes:
        add = next(a for key, a in facts.intent.adds.items() if not a.data_change and facts.is_new(key))
        why = f"it is not an active file of version {facts.base.version}, so dataChange must be true"
        yield facts.of_file(add, "files.data-change", why)
    if rows.removed == rows.added or (rows.adds and None in (rows.removed, rows.added)):
        return
    removed = "an unknown number of" if rows.removed is None else rows.removed
    yield Violation(
        "files.data-change",
        f"The file actions of {facts.place} with dataChange false remove {removed} rows and add {rows.added} rows: "
        f"set dataChange to true if rows come or go, otherwise correct numRecords",
    )


def _of_cdc(facts: CommitFacts, cdc: actions.AddCdcFile, partitioning: _Partitioning) -> Iterator[Violation]:
    if not facts.properties.change_data_feed:
        yield facts.of_file(cdc, "files.cdc", "the table has no change data feed enabled; leave it out")
    if not is_uri(cdc.path):
        yield facts.of_file(cdc, "files.path", "it is not a URI; percent-encode it")
    if cdc.data_change:
        # PROTOCOL, Add CDC File
        yield facts.of_file(cdc, "files.cdc", "dataChange of a CDC file must be false")
    if cdc.size < 0:
        yield facts.of_file(cdc, "files.numbers", "its size must not be negative")
    yield from _of_partition_values(facts, cdc, partitioning)


def _of_changes(facts: CommitFacts) -> Iterator[Violation]:
    """Changes of rows that readers of the change data feed would not learn from the commit."""
    intent = facts.intent
    if intent.cdc_files and not intent.changes_data:
        first = next(iter(intent.cdc_files.values()))
        why = "a commit without data change changes no rows; leave CDC files out"
        yield facts.of_file(first, "files.cdc", why)
    if intent.cdc_files or not facts.properties.change_data_feed:
        return
    # PROTOCOL, Add CDC File: without CDC files all rows of the removes are deletions and all rows of the adds are
    # insertions, which is right for a transaction that deletes and inserts rows. Files that are added again differ
    # from their removes only by the deletion vectors.
    removed = facts.removed is not None or any(
        key not in intent.adds and remove.data_change for key, remove in intent.removes.items()
    )
    added = any(
        add.data_change and facts.is_new(key) and key not in intent.inserted for key, add in intent.adds.items()
    )
    overwrites = intent.operation.startswith(_OVERWRITES) or (
        intent.operation == "WRITE" and str(intent.parameters.get("mode")).lower() == "overwrite"
    )
    if removed and added and not overwrites:
        base = facts.base
        if not base.table_properties.change_data_feed:
            yield Violation(
                "files.cdc",
                f"This transaction on {base.root} changes rows before it enables the change data feed, so that the "
                f"feed would lack them; enable it first",
                is_unsupported=True,
            )
        yield Violation(
            "files.cdc",
            f"Version {base.version} of {base.root} has change data feed enabled (table feature changeDataFeed), and "
            f"this commit both adds and removes rows, so it must include CDC files; add them with add_cdc, make the "
            f"change with Spark, or name the operation WRITE with the parameter mode Overwrite if no row is kept",
            is_unsupported=True,
        )


def _sum(total: int | None, rows: int | None, deleted: int) -> int | None:
    return None if total is None or rows is None else total + rows - deleted


def check_data_files(facts: CommitFacts) -> None:
    """Raise InvalidCommit for the first added file that is missing or has another size, and for wrong deletion vectors.

    Active files that are added again with the same size are not looked up. Raises StorageError.
    """
    wanted = list(_wanted(facts))
    if len(wanted) <= 1 or not facts.base.storage.remote:
        # Looking up a local file takes less time than starting a thread.
        for file in wanted:
            _check_size(facts, file)
    else:
        with ThreadPoolExecutor(min(_READERS, len(wanted)), "deltaskip") as pool:
            for _ in pool.map(lambda file: _check_size(facts, file), wanted):
                pass
    vectors = list(_with_new_vectors(facts))
    for start in range(0, len(vectors), _VECTORS):
        _check_vectors(facts, vectors[start : start + _VECTORS])


def _wanted(facts: CommitFacts) -> Iterator[actions.AddFile | actions.AddCdcFile]:
    for key, add in facts.intent.adds.items():
        old = facts.known.get(key)
        if old is None or (old.size is not None and old.size != add.size):
            yield add
    yield from facts.intent.cdc_files.values()


def _check_size(facts: CommitFacts, file: actions.AddFile | actions.AddCdcFile) -> None:
    location = actions.hadoop_path(facts.base.table_root, file.path)
    try:
        size = storage_for(location, near=facts.base.storage).size(location)
    except FileNotFoundError:
        why = f"there is no file {location}; write it first, or correct the path"
        raise facts.of_file(file, "files.missing", why).error() from None
    if size != file.size:
        why = f"the size of {location} is {size} bytes, not {file.size}; correct the action"
        raise facts.of_file(file, "files.missing", why).error()


def _with_new_vectors(facts: CommitFacts) -> Iterator[tuple[str, actions.AddFile, actions.DeletionVectorDescriptor]]:
    for key, add in facts.intent.adds.items():
        old = facts.known.get(key)
        if add.deletion_vector is not None and (old is None or old.dv_id != dv_id(add)):
            yield key, add, add.deletion_vector


def _check_vectors(
    facts: CommitFacts, found: Sequence[tuple[str, actions.AddFile, actions.DeletionVectorDescriptor]]
) -> None:
    """Each vector can be read, deletes rows that its file has, and restores no row that should stay deleted."""
    rule = "files.deletion-vector"
    try:
        new = _rows(facts, found, [vector for _, _, vector in found])
    except (CorruptDeletionVector, DataFileMissing) as error:
        raise Violation(rule, f"A deletion vector of {facts.place} cannot be read: {error}").error() from error
    known_vectors = [known.vector if (known := facts.known.get(key)) else None for key, _, _ in found]
    old = _rows(facts, found, known_vectors)
    for (_, add, _), rows, before in zip(found, new, old, strict=True):
        kept = before is None or rows is None or pc.all(pc.is_in(before, value_set=rows), min_count=0).as_py()
        if kept:
            continue
        if not add.data_change:
            why = "its deletion vector deletes other rows, so dataChange must be true"
            raise facts.of_file(add, "files.data-change", why).error()
        base = facts.base
        where = f"Version {base.version} of {base.root}"
        check_writable(facts.protocol, facts.properties, facts.schema, where, CommitSummary(adds_rows=True))


def _rows(
    facts: CommitFacts,
    found: Sequence[tuple[str, actions.AddFile, actions.DeletionVectorDescriptor]],
    vectors: Sequence[actions.DeletionVectorDescriptor | None],
) -> list[pa.Int64Array | None]:
    fields = [field.name for field in actions.DELETION_VECTOR]
    values = [None if each is None else {name: getattr(each, name) for name in fields} for each in vectors]
    array = arrow_array(values, actions.DELETION_VECTOR)
    counts = [facts.rows(key) for key, _, _ in found]
    files = pa.table({"uri": [add.path for _, add, _ in found], "num_records": arrow_array(counts, pa.int64())})
    return read_deleted_rows(facts.base.storage, facts.base.table_root, files, array)
