"""Rules for row ids: each row has a unique id, and files keep theirs.

# PROTOCOL, Row Tracking
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, table_keys
from deltaskip.features.violation import Violation
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import physical_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.txn.row_id_assignment import high_water_mark
from deltaskip.txn.validation.commit_facts import CommitFacts

_BATCH_ROWS = 1 << 16
_ROW_COUNT = r'"numRecords"\s*:\s*(?P<rows>\d{1,18})'


def tracks_rows(facts: CommitFacts) -> bool:
    """Whether rows have ids after the commit."""
    return facts.tracks_rows


def id_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A file whose row ids contradict the table's, or that needs new ones and has no row count."""
    given: dict[str, AddFile] = {}
    for key, add in facts.intent.adds.items():
        old = facts.known.get(key)
        if add.base_row_id is None:
            if (old is None or old.base_row_id is None) and facts.rows(key) is None:
                why = "the table has row tracking, so the statistics of every new file must have numRecords"
                yield facts.of_file(add, "row-ids.count", why)
            continue
        if old is not None and old.base_row_id is not None:
            if add.base_row_id != old.base_row_id:
                why = f"its baseRowId is {add.base_row_id}, but the file has {old.base_row_id}; leave it out"
                yield facts.of_file(add, "row-ids.assigned", why)
        elif facts.rows(key) != 0:
            given[key] = add
        version = add.default_row_commit_version
        before = None if old is None else old.default_row_commit_version
        if version is not None and before is not None and version != before:
            why = f"its defaultRowCommitVersion is {version}, but the file has {before}; leave it out"
            yield facts.of_file(add, "row-ids.assigned", why)
        if version is not None and not 0 <= version <= facts.base.version + 1:
            why = f"its defaultRowCommitVersion is {version}, which is not a version of the table; leave it out"
            yield facts.of_file(add, "row-ids.assigned", why)
    if given:
        yield from _given(facts, given)


def enables_row_tracking(facts: CommitFacts) -> bool:
    """Whether the commit enables row tracking."""
    return facts.properties.row_tracking and not facts.properties_before.row_tracking


def enabling_violations(facts: CommitFacts) -> Iterator[Violation]:
    """Row tracking that is enabled while it is suspended, or without columns for the ids, or while files lack ids."""
    properties = facts.properties
    rule = "row-ids.enabling"
    if properties.row_tracking_suspended:
        suspended = TableProperties.row_tracking_suspended.name
        yield facts.of_metadata(rule, f"enables row tracking although {suspended} is true: unset one of them")
    fields = facts.schema.fields
    taken = {name.lower() for field in fields for name in (field.name, physical_name(field, facts.mode))}
    for definition in (TableProperties.row_id_column, TableProperties.row_commit_version_column):
        column = (properties.configuration.get(definition.name) or "").lower()
        if not column or column in taken:
            yield facts.of_metadata(
                rule,
                f"enables row tracking, so {definition.name} must be set to a column name that the table does not "
                f"have: set it in the same transaction",
            )
        taken.add(column)
    yield from _files_without_ids(facts)


def _files_without_ids(facts: CommitFacts) -> Iterator[Violation]:
    base = facts.base
    again = pa.concat_arrays([arrow_array(list(facts.intent.adds), pa.string()), facts.intent.removed_keys])
    for adds in base.add_batches(_BATCH_ROWS, ["path", "base_row_id", "default_row_commit_version"]):
        lacks = pc.or_(pc.is_null(adds["base_row_id"]), pc.is_null(adds["default_row_commit_version"]))
        paths = adds["path"].filter(lacks)
        late = paths.filter(pc.invert(pc.is_in(table_keys(base.table_root, paths), value_set=again)))
        if len(late):
            yield Violation(
                "row-ids.enabling",
                f"Row tracking of {base.root} cannot be enabled while {late[0].as_py()} has no row ids: add it again "
                f"first, or in the same transaction",
            )


def _given(facts: CommitFacts, given: dict[str, AddFile]) -> Iterator[Violation]:
    """Ids of new files, such as restored ones, must have been assigned before, and belong to no other file."""
    mark = high_water_mark(facts.base)
    starts, ends = np.zeros(len(given), np.int64), np.zeros(len(given), np.int64)
    for i, (key, add) in enumerate(given.items()):
        first = add.base_row_id or 0
        last = first + (facts.rows(key) or 1) - 1
        if first < 0 or last > mark:
            why = f"only ids from 0 to {mark} are assigned: leave out baseRowId, and the commit assigns it"
            yield facts.of_file(add, "row-ids.assigned", f"its rows have the ids {first} to {last}, but {why}")
        starts[i], ends[i] = first, last
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    overlap = np.flatnonzero(starts[1:] <= np.maximum.accumulate(ends)[:-1])
    adds = [list(given.values())[i] for i in order]
    if len(overlap):
        yield _taken(facts, adds[overlap[0] + 1], "another file of the commit")
    gone = pa.concat_arrays([facts.intent.removed_keys, arrow_array(list(given), pa.string())])
    ends = np.maximum.accumulate(ends)
    for batch in facts.base.add_batches(_BATCH_ROWS, ["path", "base_row_id", "stats"]):
        yield from _of_batch(facts, batch, gone, adds, starts, ends)


def _of_batch(
    facts: CommitFacts,
    batch: pa.RecordBatch,
    gone: pa.Array,
    adds: list[AddFile],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
) -> Iterator[Violation]:
    """Files of the batch that have an id in the ranges, which are disjoint and ascending."""
    batch = batch.filter(pc.is_valid(batch["base_row_id"]))
    found = pc.struct_field(pc.extract_regex(batch["stats"].cast(pa.string()), _ROW_COUNT), "rows")
    # A file without a row count has at least one row.
    rows = pc.fill_null(found.cast(pa.int64()), arrow_scalar(1, pa.int64())).to_numpy(zero_copy_only=False)
    batch, rows = batch.filter(arrow_array(rows > 0)), rows[rows > 0]
    first = batch["base_row_id"].to_numpy(zero_copy_only=False)
    last = first + rows - 1
    # The last range that starts at or before the file's last id is the only one that may contain its first.
    at = np.searchsorted(starts, last, side="right") - 1
    hits = np.flatnonzero((at >= 0) & (ends[np.maximum(at, 0)] >= first))
    if not len(hits):
        return
    paths = batch["path"].take(arrow_array(hits, pa.int64()))
    others = pc.invert(pc.is_in(table_keys(facts.base.table_root, paths), value_set=gone)).to_pylist()
    for hit, is_other, path in zip(hits, others, paths.to_pylist(), strict=True):
        if is_other:
            yield _taken(facts, adds[at[hit]], path)


def _taken(facts: CommitFacts, add: AddFile, owner: str) -> Violation:
    why = f"rows of {owner} have some of the ids that begin at its baseRowId, {add.base_row_id}"
    return facts.of_file(add, "row-ids.assigned", f"{why}: leave it out, and the commit assigns it")
