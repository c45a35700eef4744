"""Rules of the active files as the log describes them: paths, partition values, statistics, row ids, deletion vectors.

All of it is by columns: the files of a batch are looked at together, and a message names the first that is wrong.
# PROTOCOL, Add File and Remove File, Per-file Statistics, Partition Value Serialization, Row Tracking, Deletion Vectors
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import PartitionValueError
from deltaskip.errors import CorruptLog, DeltaSkipError, StatisticsWarning
from deltaskip.features.clustering import CLUSTERING_DOMAIN, clustering_paths
from deltaskip.features.row_tracking import tracks_rows
from deltaskip.log import Snapshot
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.maintenance.verify.table_rule import Found, first_of
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.add_columns import CheckpointAdds, CommitAdds
from deltaskip.skipping.file_batches import unshared
from deltaskip.skipping.partition_columns import PartitionColumn, map_values
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, numpy_values
from deltaskip.stats.layout import StatField, StatLeaf, stat_field
from deltaskip.stats.logged_stats import LoggedStats
from deltaskip.txn.row_id_assignment import high_water_mark

_COLUMNS = ("path", "partition_values", "size", "modification_time", "deletion_vector", "base_row_id")
# Several columns are decoded together, in one pass over the statistics; more would take too much memory.
_COLUMNS_AT_ONCE = 16
_ZERO = arrow_scalar(0, pa.int64())
_VECTORS_AT_ONCE = 256
_URI = r"^[^\x00-\x20\x7f\"<>\\^`{|}\[\]#?%]*(%[0-9A-Fa-f]{2}[^\x00-\x20\x7f\"<>\\^`{|}\[\]#?%]*)*$"


def file_violations(facts: TableFacts) -> Iterator[Found]:
    """What is wrong with the actions of active files, without reading these."""
    snapshot = unshared(facts.readable)
    # Warnings about malformed statistics become findings.
    ids = _RowIds(snapshot)
    rules = _StatisticsRules.of(snapshot)
    partitions = [(field, PartitionColumn(field.type)) for field in snapshot.partition_fields]
    for adds in _adds_of(snapshot):
        batch = FileBatch(adds)
        live = batch.live(None)
        columns = dict(zip(_COLUMNS, batch.rows(_COLUMNS, live), strict=True))
        count = len(columns["path"])
        facts.counts["files"] += count
        facts.advance(count)
        yield from _of_paths(columns)
        yield from _of_partitions(snapshot, columns, partitions)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", StatisticsWarning)
            records = LoggedStats(batch.num_rows, batch.adds).num_records()
            records = records if live is None else records.take(live)
            found = list(rules.violations(batch, live, columns, records))
        yield from found
        yield from _of_malformed(caught)
        yield from _of_vectors(columns, records)
        ids.add(columns, records)
    yield from ids.violations()


def _adds_of(snapshot: Snapshot) -> Iterator[CheckpointAdds | CommitAdds]:
    for part in snapshot.checkpoint_parts:
        for group in part.row_groups_with("add"):
            yield CheckpointAdds(snapshot, part, group)
    if len(snapshot.commit_adds):
        yield CommitAdds(snapshot)


def _where(
    columns: dict[str, pa.Array], mask: pa.Array, rule: str, before: str = "", after: str = ""
) -> Iterator[Found]:
    """The violation of a rule by the files where the mask is true, whose names are between two parts of a sentence."""
    wrong: list[str] = columns["path"].filter(filled(mask, False)).to_pylist()
    if wrong:
        yield Found(rule, f"{before}{first_of(wrong)}{after}", paths=wrong)


def _of_paths(columns: dict[str, pa.Array]) -> Iterator[Found]:
    odd = pc.invert(pc.match_substring_regex(columns["path"], _URI))
    yield from _where(columns, odd, "files.path", "The path of ", " is not a URI; readers differ in how they read it")
    for name in ("size", "modification_time"):
        negative = pc.less(columns[name], _ZERO)
        yield from _where(columns, negative, "files.numbers", f"The {name.replace('_', ' ')} of ", " is negative")


def _of_partitions(
    snapshot: Snapshot, columns: dict[str, pa.Array], partitions: list[tuple[t.StructField, PartitionColumn]]
) -> Iterator[Found]:
    maps, rule = columns["partition_values"], "files.partition-values"
    names = arrow_array([t.physical_name(field, snapshot.mapping_mode) for field, _ in partitions], pa.string())
    known = pc.is_in(maps.keys.slice(0), value_set=names)
    keys = pa.ListArray.from_arrays(maps.offsets, pc.cast(known, pa.int64())) if len(maps) else None
    if keys is not None:
        lengths = filled(pc.list_value_length(keys), 0)
        good = _sums(keys)
        other = np.logical_or(numpy_values(lengths) != len(names), good != len(names))
        expected = ", ".join(names.to_pylist()) or "no columns"
        others = arrow_array(other, pa.bool_())
        yield from _where(columns, others, rule, after=f" does not have values of exactly {expected}")
    for (field, column), name in zip(partitions, names.to_pylist(), strict=True):
        codes = column.encode(map_values(maps, name))
        values = column.values("UTC")
        odd = [code for code, value in enumerate(values) if isinstance(value, PartitionValueError)]
        nulls = [code for code, text in enumerate(column.texts) if not text]
        for found, why in ((odd, "is not a value of its type"), (nulls, "is null, and the column is NOT NULL")):
            if found and (found is odd or not field.nullable):
                wrong = pc.is_in(codes, value_set=arrow_array(found, pa.int32()))
                yield from _where(columns, wrong, rule, f"The partition value of {field.name} of ", f" {why}")


def _sums(lists: pa.ListArray) -> Any:
    """The sum of each list of integers."""
    totals = np.concatenate(([0], np.cumsum(numpy_values(lists.values))))
    offsets = numpy_values(lists.offsets)
    return totals[offsets[1:]] - totals[offsets[:-1]]


def _of_malformed(caught: Sequence[warnings.WarningMessage]) -> Iterator[Found]:
    for message in dict.fromkeys(str(each.message) for each in caught if each.category is StatisticsWarning):
        yield Found("statistics.json", message)


def _of_vectors(columns: dict[str, pa.Array], records: pa.Array) -> Iterator[Found]:
    vectors = columns["deletion_vector"]
    if vectors.null_count == len(vectors):
        return
    deleted = pc.struct_field(vectors, "cardinality")
    uncounted = pc.and_(vectors.is_valid(), records.is_null())
    why = " has a deletion vector, and its statistics have no numRecords"
    yield from _where(columns, uncounted, "vectors.count", after=why)
    more, before = pc.greater(deleted, records), "The deletion vector of "
    yield from _where(columns, more, "vectors.range", before, " deletes more rows than the file has")


@dataclass(frozen=True, slots=True)
class _StatisticsRules:
    """What the statistics of a table's files must say.

    fields: the columns with statistics, by groups that are decoded together. not_null: physical paths of columns that
    are never null. clustering: those of the clustering columns. counted: whether every file needs a row count.
    """

    groups: tuple[tuple[StatField, ...], ...]
    not_null: frozenset[tuple[str, ...]]
    clustering: frozenset[tuple[str, ...]]
    counted: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> _StatisticsRules:
        partitions = {t.fold_name(name) for name in snapshot.partition_columns}
        found = [
            each
            for each in t.leaves(snapshot.schema, snapshot.mapping_mode)
            if t.fold_name(each.logical[0]) not in partitions
        ]
        fields = list(map(stat_field, found))
        required = frozenset(each.physical for each in found if len(each.logical) == 1 and not each.field.nullable)
        domain = snapshot.domains.get(CLUSTERING_DOMAIN)
        clustering = frozenset() if domain is None else frozenset(clustering_paths(domain.configuration) or ())
        counted = "Iceberg compatibility" if snapshot.table_properties.well_formed().iceberg_compat else ""
        counted = counted or ("row tracking" if snapshot.table_properties.well_formed().row_tracking else "")
        at_once = range(0, len(fields), _COLUMNS_AT_ONCE)
        groups = tuple(tuple(fields[start : start + _COLUMNS_AT_ONCE]) for start in at_once)
        return cls(groups, required, clustering, counted)

    def violations(
        self, batch: FileBatch, live: pa.Array | None, columns: dict[str, pa.Array], records: pa.Array
    ) -> Iterator[Found]:
        """What is wrong with the statistics of a batch. live: the rows of the batch that are active; None for all."""
        if self.counted:
            why = f" has no numRecords in its statistics, which {self.counted} needs"
            yield from _where(columns, records.is_null(), "statistics.counts", after=why)
        for group in self.groups:
            statistics = LoggedStats(batch.num_rows, batch.adds)
            bounded = [field for field in group if field.kind is not None]
            sides = [StatLeaf(side, field) for field in bounded for side in ("minValues", "maxValues")]
            statistics.load([*(StatLeaf("nullCount", field) for field in group), *sides])

            def active(values: pa.Array) -> pa.Array:
                return values if live is None else values.take(live)

            for field in group:
                nulls = active(statistics.null_count(field))
                yield from self._of_nulls(field, nulls, columns, records)
                if field.kind is None:
                    continue
                low, high = active(statistics.bound(field, "min")), active(statistics.bound(field, "max"))
                before = f"The minimum of {field.label} is above its maximum in the statistics of "
                yield from _where(columns, pc.greater(low, high), "statistics.bounds", before)
                if field.physical in self.clustering:
                    known = pc.or_(pc.and_(low.is_valid(), high.is_valid()), filled(pc.equal(nulls, records), False))
                    empty = filled(pc.equal(records, _ZERO), False)
                    lacking = pc.invert(pc.or_(known, empty))
                    why = f" has no statistics of the clustering column {field.label}"
                    yield from _where(columns, lacking, "statistics.clustering", after=why)

    def _of_nulls(
        self, field: StatField, nulls: pa.Array, columns: dict[str, pa.Array], records: pa.Array
    ) -> Iterator[Found]:
        odd = pc.or_kleene(pc.greater(nulls, records), pc.less(nulls, _ZERO))
        before = f"The null count of {field.label} is not a count of rows of "
        yield from _where(columns, odd, "statistics.counts", before)
        if field.physical in self.not_null:
            # With a deletion vector, the nulls may be in deleted rows.
            some = pc.and_(pc.greater(nulls, _ZERO), columns["deletion_vector"].is_null())
            before = f"{field.label} is NOT NULL, and the statistics of "
            yield from _where(columns, some, "statistics.not-null", before, " count nulls")


class _RowIds:
    """The ranges of row ids of the active files, which must not overlap."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        properties = snapshot.table_properties.well_formed()
        self._enabled = properties.row_tracking and not properties.row_tracking_suspended
        self._tracked = tracks_rows(snapshot.protocol, properties)
        self._parts: list[tuple[pa.Array, pa.Array, pa.Array]] = []
        self._lacking: list[str] = []

    def add(self, columns: dict[str, pa.Array], records: pa.Array) -> None:
        """Take the files of a batch into account."""
        base = columns["base_row_id"]
        if not self._tracked:
            return
        if self._enabled and base.null_count:
            self._lacking += columns["path"].filter(base.is_null()).to_pylist()
        have = base.is_valid()
        # A file without a row count has at least one row.
        rows = pc.fill_null(records, arrow_scalar(1, pa.int64()))
        some = pc.and_(have, pc.greater(rows, _ZERO))
        self._parts.append((base.filter(some), rows.filter(some), columns["path"].filter(some)))

    def violations(self) -> Iterator[Found]:
        """Files without ids, with ids of others, or above the high-water mark."""
        if self._lacking:
            message = f"Row tracking is enabled, and {first_of(self._lacking)} has no baseRowId"
            yield Found("row-ids.assigned", message, paths=self._lacking)
        if not any(len(base) for base, _, _ in self._parts):
            return
        first = numpy_values(pa.concat_arrays([part[0] for part in self._parts]))
        last = first + numpy_values(pa.concat_arrays([part[1] for part in self._parts])) - 1
        paths = pa.concat_arrays([part[2] for part in self._parts])
        order = np.argsort(first, kind="stable")
        overlap = order[1:][first[order][1:] <= np.maximum.accumulate(last[order])[:-1]]
        if len(overlap):
            found = paths.take(arrow_array(overlap, pa.int64())).to_pylist()
            yield Found("row-ids.unique", f"Rows of {first_of(found)} have row ids of other files", paths=found)
        try:
            mark = high_water_mark(self._snapshot)
        except DeltaSkipError as error:
            yield Found("row-ids.mark", str(error))
            return
        above = np.flatnonzero(last > mark)
        if len(above):
            found = paths.take(arrow_array(above, pa.int64())).to_pylist()
            message = f"Rows of {first_of(found)} have ids above the high-water mark {mark}, which would be given again"
            yield Found("row-ids.mark", message, paths=found)


def vector_violations(facts: TableFacts) -> Iterator[Found]:
    """Deletion vectors that cannot be read, or that delete rows that their files do not have."""
    snapshot = facts.readable
    for batch in snapshot.add_batches(1 << 16, ["path", "deletion_vector", "stats"]):
        chosen = batch.filter(batch["deletion_vector"].is_valid())
        if not len(chosen):
            continue
        adds = pa.Table.from_batches([chosen])
        records = pc.struct_field(pc.extract_regex(filled(adds["stats"], ""), _ROW_COUNT), "rows")
        columns = [adds["path"], adds["deletion_vector"], pc.cast(records, pa.int64())]
        files = pa.table(columns, ["uri", "deletion_vector", "num_records"])
        for start in range(0, len(files), _VECTORS_AT_ONCE):
            yield from _of_vector_files(facts, snapshot, files.slice(start, _VECTORS_AT_ONCE))


_ROW_COUNT = r'"numRecords"\s*:\s*(?P<rows>\d{1,18})'


def _of_vector_files(facts: TableFacts, snapshot: Snapshot, files: pa.Table) -> Iterator[Found]:
    facts.counts["deletion vectors"] += len(files)
    facts.advance(len(files))
    if _vector_error(snapshot, files) is None:
        return
    with ThreadPoolExecutor(8, "deltaskip") as pool:
        errors = list(pool.map(lambda i: _vector_error(snapshot, files.slice(i, 1)), range(len(files))))
    for path, error in zip(files["uri"].to_pylist(), errors, strict=True):
        if error is not None:
            facts.bad_files.add(path)
            rule = "vectors.range" if "of a file that has" in str(error) else "vectors.readable"
            yield Found(rule, str(error), paths=[path])


def _vector_error(snapshot: Snapshot, files: pa.Table) -> Exception | None:
    try:
        read_deleted_rows(snapshot.storage, snapshot.table_root, files)
    except (DeltaSkipError, CorruptLog) as error:
        return error
    return None
