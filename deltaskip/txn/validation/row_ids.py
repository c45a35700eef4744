"""Rules for row ids: each row has a unique id, and files keep theirs.

# PROTOCOL, Row Tracking
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, table_keys
from deltaskip.features.commit_rules import refusal
from deltaskip.features.row_tracking import tracks_rows
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import physical_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.txn.intent import Intent
from deltaskip.txn.row_id_assignment import high_water_mark
from deltaskip.txn.validation.candidate import Candidate, refuse_file

_BATCH_ROWS = 1 << 16
_ROW_COUNT = r'"numRecords"\s*:\s*(?P<rows>\d{1,18})'


def check_row_ids(candidate: Candidate) -> None:
    """Check the row ids of adds, and the row count of files that need new row ids."""
    if not tracks_rows(candidate.protocol, candidate.properties):
        return
    given: dict[str, AddFile] = {}
    for key, add in candidate.intent.adds.items():
        old = candidate.known.get(key)
        if add.base_row_id is None:
            if (old is None or old.base_row_id is None) and num_records(parsed_stats(add.stats)) is None:
                why = "the table has row tracking, so the statistics of every new file must have numRecords"
                refuse_file(candidate, add, "row-ids.count", why)
            continue
        if old is not None and old.base_row_id is not None:
            if add.base_row_id != old.base_row_id:
                why = f"its baseRowId is {add.base_row_id}, but the file has {old.base_row_id}; leave it out"
                refuse_file(candidate, add, "row-ids.assigned", why)
        elif num_records(parsed_stats(add.stats)) != 0:
            given[key] = add
        version = add.default_row_commit_version
        before = None if old is None else old.default_row_commit_version
        if version is not None and before is not None and version != before:
            why = f"its defaultRowCommitVersion is {version}, but the file has {before}; leave it out"
            refuse_file(candidate, add, "row-ids.assigned", why)
        if version is not None and not 0 <= version <= candidate.base.version + 1:
            why = f"its defaultRowCommitVersion is {version}, which is not a version of the table; leave it out"
            refuse_file(candidate, add, "row-ids.assigned", why)
    if given:
        _check_given(candidate, given)


def enables_late(candidate: Candidate) -> bool:
    """Check that a commit that enables row tracking may do so; return whether other writers must not add files.

    They may add files only if writers already had to assign row ids.
    """
    base, properties = candidate.base, candidate.properties
    if not properties.row_tracking or base.table_properties.well_formed().row_tracking:
        return False
    rule = "row-ids.enabling"
    if properties.row_tracking_suspended:
        suspended = TableProperties.row_tracking_suspended.name
        candidate.refuse_metadata(rule, f"enables row tracking although {suspended} is true: unset one of them")
    fields = candidate.schema.fields
    taken = {name.lower() for field in fields for name in (field.name, physical_name(field, candidate.mode))}
    for definition in (TableProperties.row_id_column, TableProperties.row_commit_version_column):
        column = (properties.configuration.get(definition.name) or "").lower()
        if not column or column in taken:
            candidate.refuse_metadata(
                rule,
                f"enables row tracking, so {definition.name} must be set to a column name that the table does not "
                f"have: set it in the same transaction",
            )
        taken.add(column)
    _check_every_file(candidate, candidate.intent)
    return not tracks_rows(base.protocol, base.table_properties)


def _check_every_file(candidate: Candidate, intent: Intent) -> None:
    base = candidate.base
    again = pa.concat_arrays([arrow_array(list(intent.adds), pa.string()), intent.removed_keys])
    for adds in base.add_batches(_BATCH_ROWS, ["path", "base_row_id", "default_row_commit_version"]):
        lacks = pc.or_(pc.is_null(adds["base_row_id"]), pc.is_null(adds["default_row_commit_version"]))
        paths = adds["path"].filter(lacks)
        late = paths.filter(pc.invert(pc.is_in(table_keys(base.table_root, paths), value_set=again)))
        if len(late):
            raise refusal(
                "row-ids.enabling",
                f"Row tracking of {base.root} cannot be enabled while {late[0].as_py()} has no row ids: add it again "
                f"first, or in the same transaction",
            )


def _check_given(candidate: Candidate, given: dict[str, AddFile]) -> None:
    """Ids of new files, such as restored ones, must have been assigned before, and belong to no other file."""
    mark = high_water_mark(candidate.base)
    starts, ends = np.zeros(len(given), np.int64), np.zeros(len(given), np.int64)
    for i, add in enumerate(given.values()):
        first = add.base_row_id or 0
        last = first + (num_records(parsed_stats(add.stats)) or 1) - 1
        if first < 0 or last > mark:
            why = f"only ids from 0 to {mark} are assigned: leave out baseRowId, and the commit assigns it"
            refuse_file(candidate, add, "row-ids.assigned", f"its rows have the ids {first} to {last}, but {why}")
        starts[i], ends[i] = first, last
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    overlap = np.flatnonzero(starts[1:] <= np.maximum.accumulate(ends)[:-1])
    adds = [list(given.values())[i] for i in order]
    if len(overlap):
        _refuse_taken(candidate, adds[overlap[0] + 1], "another file of the commit")
    gone = pa.concat_arrays([candidate.intent.removed_keys, arrow_array(list(given), pa.string())])
    ends = np.maximum.accumulate(ends)
    for batch in candidate.base.add_batches(_BATCH_ROWS, ["path", "base_row_id", "stats"]):
        _check_batch(candidate, batch, gone, adds, starts, ends)


def _check_batch(
    candidate: Candidate,
    batch: pa.RecordBatch,
    gone: pa.Array,
    adds: list[AddFile],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
) -> None:
    """Refuse if a file of the batch has an id in the ranges, which are disjoint and ascending."""
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
    others = pc.invert(pc.is_in(table_keys(candidate.base.table_root, paths), value_set=gone)).to_pylist()
    for hit, is_other, path in zip(hits, others, paths.to_pylist(), strict=True):
        if is_other:
            _refuse_taken(candidate, adds[at[hit]], path)


def _refuse_taken(candidate: Candidate, add: AddFile, owner: str) -> NoReturn:
    why = f"rows of {owner} have some of the ids that begin at its baseRowId, {add.base_row_id}"
    refuse_file(candidate, add, "row-ids.assigned", f"{why}: leave it out, and the commit assigns it")
