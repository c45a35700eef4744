"""The rules of a table, checked for files of other writers: proved by statistics, else by reading the rows.

Only the columns of a rule that a file's statistics do not prove are read, by pyarrow. An expression that only Spark can
evaluate is checked by the active session.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deltaskip.actions import FILE_SCHEMA, AddFile, PartitionValueError, parse_partition_value, partition_column
from deltaskip.data_files.written_rows import WritingEngine
from deltaskip.doors import first_line
from deltaskip.engine import active_engine, engine
from deltaskip.errors import DeltaSkipError, PredicateError, RowViolation, StorageError, UnsupportedFeature
from deltaskip.log import LogSegment, Snapshot
from deltaskip.log.state_actions import StateChange
from deltaskip.log.tail import Tail
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.arrow_layout import plain_array, stored_type
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import RowRule, generation_rule, rules_of
from deltaskip.rows.schema_merge import incoming_type
from deltaskip.rows.store import written_type
from deltaskip.schema.mapping import field_key, stored_key, with_names_of
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.add_columns import CommitAdds
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import columns_in, is_valid_sql, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Column, Literal, Node, transform
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array, has_utf8
from deltaskip.stats.parquet_input import ParquetInput
from deltaskip.storage import Storage, storage_for
from deltaskip.txn.transaction import Transaction

# Partitions for which a rule over partition and data columns is proved one by one.
_MOST_PARTITIONS = 5_000
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to check: its location, and its add action with statistics.

    Attributes:
        location: Location of the file.
        add: The add action.
        misread: Whether pyarrow may read other timestamps from it than Spark.
    """

    location: str
    add: AddFile
    misread: bool = False


def check_rules(transaction: Transaction, files: Sequence[NewFile], mode: t.MappingMode, time_zone: str = "UTC") -> int:
    """Check that every row of the files satisfies the rules of the table with the transaction's changes.

    Args:
        transaction: The transaction that will add the files.
        files: The files.
        mode: Column mapping mode of the table.
        time_zone: Time zone of the expressions of the table.

    Returns:
        The number of files whose rows were read.

    Raises:
        RowViolation: A row violates a rule.
        UnsupportedFeature: An expression can only be evaluated by Spark, and there is no active session.
        StorageError: A file cannot be read.
    """
    snapshot = _snapshot_of(transaction, [file.add for file in files])
    schema = snapshot.schema
    rules = [*rules_of(schema, snapshot.table_properties)]
    rules += [generation_rule(field) for field in schema.fields if t.GENERATION_KEY in field.metadata]
    unproved = [_unproved(snapshot, rule, time_zone) for rule in rules]
    wanted = [i for i in range(len(files)) if any(mask[i] for mask in unproved)]
    if not wanted:
        return 0
    check = _Check(snapshot, rules, mode, time_zone)

    def read(i: int) -> tuple[int, list[RowRule]]:
        return i, check.file(files[i], [rule for rule, mask in zip(rules, unproved, strict=True) if mask[i]])

    with ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip") as pool:
        left = [(i, found) for i, found in pool.map(read, wanted) if found]
    if left:
        chosen = _snapshot_of(transaction, [files[i].add for i, _ in left])
        needed = list(dict.fromkeys(rule for _, found in left for rule in found))
        check.by_session(chosen, needed)
    return len(wanted)


def _snapshot_of(transaction: Transaction, adds: Sequence[AddFile]) -> Snapshot:
    """A snapshot of the table as the transaction leaves it, whose only files are the new ones."""
    base = transaction.snapshot
    values: dict[str, Any] = {
        "path": [add.path for add in adds],
        "partition_values": [list(add.partition_values.items()) for add in adds],
        "size": [add.size for add in adds],
        "modification_time": [add.modification_time for add in adds],
        "data_change": [True] * len(adds),
        "stats": [add.stats for add in adds],
    }
    columns = {
        field.name: arrow_array(values[field.name], field.type)
        if field.name in values
        else pa.nulls(len(adds), field.type)
        for field in FILE_SCHEMA
    }
    commit = arrow_array(np.zeros(len(adds), np.int32))
    actions = pa.table({"commit": commit, "is_remove": arrow_array([False] * len(adds), pa.bool_()), **columns})
    state = StateChange(transaction.protocol, transaction.metadata)
    segment = LogSegment(base.root, base.version, None, ())
    snapshot = Snapshot(base.storage, segment, None, Tail(base.root, state, None, actions))
    snapshot.told_as(base)
    # deltaskip computes the statistics, and their maxima cover NaN.
    snapshot.float_bounds = "exact"
    return snapshot


def _unproved(snapshot: Snapshot, rule: RowRule, time_zone: str) -> NDArray[np.bool_]:
    """For each file whether it may contain a row for which the rule is not TRUE."""
    try:
        node = parse_sql(rule.sql)
        found = _may_violate(snapshot, node, time_zone)
    except PredicateError:
        return np.ones(len(snapshot.commit_adds), bool)
    partitions = {t.fold_name(field.name): field for field in snapshot.partition_fields}
    used = {t.fold_name(parts[0]) for parts in columns_in(rule.sql)}
    if not found.any() or not partitions.keys() & used:
        return found
    for texts, rows in _by_partition(snapshot, found).items():
        try:
            fixed = _with_values(node, _values(snapshot, texts, time_zone))
            found[rows] = _may_violate(snapshot, fixed, time_zone)[rows]
        except (PredicateError, PartitionValueError):
            continue
    return found


def _may_violate(snapshot: Snapshot, where: Node, time_zone: str) -> NDArray[np.bool_]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scan = Scan(snapshot, ReadOptions(where, time_zone=time_zone))
        batch = FileBatch(CommitAdds(snapshot))
        lane = scan.compiled.negated.kept(batch)
    mask: NDArray[np.bool_] = np.asarray(memoryview(lane)).astype(bool)
    return mask


def _by_partition(snapshot: Snapshot, wanted: NDArray[np.bool_]) -> Mapping[tuple[str | None, ...], NDArray[np.int64]]:
    """The rows of the wanted files by their partition values; empty if there are too many partitions."""
    names = [t.physical_name(field, snapshot.mapping_mode) for field in snapshot.partition_fields]
    found: dict[tuple[str | None, ...], list[int]] = {}
    maps = snapshot.commit_adds["partition_values"].to_pylist()
    for i in np.flatnonzero(wanted):
        values = dict(maps[i])
        found.setdefault(tuple(values.get(name) for name in names), []).append(int(i))
        if len(found) > _MOST_PARTITIONS:
            return {}
    return {texts: np.array(rows) for texts, rows in found.items()}


def _values(snapshot: Snapshot, texts: tuple[str | None, ...], time_zone: str) -> dict[str, Literal]:
    fields = snapshot.partition_fields
    return {
        t.fold_name(field.name): Literal(parse_partition_value(text, field.type, time_zone), field.type)
        for field, text in zip(fields, texts, strict=True)
    }


@deep
def _with_values(node: Node, values: Mapping[str, Literal]) -> Node:
    """The unbound expression with partition columns replaced by their values."""
    if isinstance(node, Column) and len(node.parts) == 1:
        return values.get(t.fold_name(node.parts[0]), node)
    return transform(node, lambda child: _with_values(child, values))


class _Check:
    """Evaluates rules over the rows of files, by pyarrow and by the active session."""

    def __init__(self, snapshot: Snapshot, rules: Sequence[RowRule], mode: t.MappingMode, time_zone: str) -> None:
        self._snapshot = snapshot
        self._mode = mode
        self._time_zone = time_zone
        self._columns = {rule: self._needed(rule) for rule in rules}
        self._refused: dict[RowRule, UnsupportedFeature] = {}

    def file(self, file: NewFile, rules: Sequence[RowRule]) -> list[RowRule]:
        """Raise RowViolation for the first row that violates a rule; return the rules that only Spark evaluates."""
        left = []
        for rule in rules:
            if file.misread or rule in self._refused:
                left.append(rule)
                continue
            try:
                self._by_arrow(file, rule)
            except UnsupportedFeature as error:
                self._refused[rule] = error
                left.append(rule)
            except RowViolation as error:
                raise _named(error, file.add.path) from error
        return left

    def by_session(self, files: Snapshot, rules: Sequence[RowRule]) -> None:
        """Check rules over the files by the active session; without one, raise the reason why it is needed."""
        plan = self._plan(rules)
        if active_engine() is None:
            reason = next((self._refused[rule] for rule in rules if rule in self._refused), None)
            raise reason or UnsupportedFeature(
                f"Timestamps of INT96 in files for {plan.table} are read by Spark only, to check "
                f"{rules[0].expression}: start a session first."
            )
        engine("Checking files", WritingEngine).check_rows(Scan(files, ReadOptions(hidden=True)), plan)

    def _by_arrow(self, file: NewFile, rule: RowRule) -> None:
        rows = ArrowRows(self._plan([rule]), self._time_zone)
        for batch in _batches(self._snapshot, file, self._columns[rule], self._mode, self._time_zone):
            rows.convert(batch)

    def _plan(self, rules: Sequence[RowRule]) -> RowPlan:
        """The plan of rows that are stored as they are, in the columns of the rules."""
        snapshot = self._snapshot
        names = {field.name for rule in rules for field in self._columns[rule]}
        fields = [field for field in snapshot.schema.fields if field.name in names]
        columns = []
        for field in fields:
            data_type = written_type(field.type, (field.name,), snapshot.root)
            written = t.StructField(field.name, data_type, field.nullable, field.metadata)
            columns.append(PlannedColumn(written, "given", quoted_name(field.name), written))
        partitions = tuple(name for name in snapshot.partition_columns if name in names)
        return RowPlan(
            snapshot.root,
            snapshot.schema,
            tuple(columns),
            partition_columns=partitions,
            rules=tuple(rules),
            allow_reflection=snapshot.allow_reflection,
        )

    def _needed(self, rule: RowRule) -> tuple[t.StructField, ...]:
        fields = tuple(field for field in self._snapshot.schema.fields if field.type != t.VOID)
        if rule.kind in ("not null", "length"):
            return tuple(field for field in fields if field.name == rule.path[0][1])
        if not is_valid_sql(rule.sql):
            return fields
        used = {t.fold_name(parts[0]) for parts in columns_in(rule.sql)}
        return tuple(field for field in fields if t.fold_name(field.name) in used) or fields[:1]


def _named(error: RowViolation, path: str) -> RowViolation:
    message = str(error).removesuffix(" Nothing was written.")
    return RowViolation(
        f"The file {path} cannot be added: {message} Nothing was committed.",
        error.rule,
        error.expression,
        error.row,
        error.column,
        error.value,
    )


def _batches(
    snapshot: Snapshot, file: NewFile, fields: Sequence[t.StructField], mode: t.MappingMode, time_zone: str
) -> Iterator[pa.RecordBatch]:
    """The rows of a file in some columns of the table, under logical names."""
    storage: Storage = storage_for(file.location, None, snapshot.storage)
    partitions = {field.name for field in snapshot.partition_fields}
    try:
        with storage.open_input(file.location) as source:
            parquet = ParquetInput(source)
            there = {stored_key(parquet.schema_arrow.field(i), mode): i for i in range(len(parquet.schema_arrow))}
            found = {f.name: there.get(field_key(f, mode)) for f in fields if f.name not in partitions}
            names = [parquet.schema_arrow.field(i).name for i in found.values() if i is not None]
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
                arrays = []
                for field in fields:
                    at = found.get(field.name)
                    if field.name in partitions:
                        text = file.add.partition_values[t.physical_name(field, mode)]
                        one = partition_column(pa.array([text], pa.string()), field.type, time_zone)
                        arrays.append(one.take(pa.array(np.zeros(batch.num_rows, np.int64))))
                    elif at is None:
                        arrays.append(pa.nulls(batch.num_rows, stored_type(field.type)))
                    else:
                        values = batch.column(batch.schema.get_field_index(parquet.schema_arrow.field(at).name))
                        if not has_utf8(values):
                            raise UnsupportedFeature(
                                f"The file {file.location} has a value in the column {field.name!r} that is not UTF-8, "
                                f"so its rules cannot be checked without Spark. Write its rows as a DataFrame."
                            )
                        renamed = (
                            values if mode == "none" else values.view(with_names_of(values.type, field.type, mode))
                        )
                        given = incoming_type(t.storage_type(renamed.type), field)
                        arrays.append(plain_array(renamed, given, (field.name,), snapshot.root))
                yield pa.RecordBatch.from_arrays(arrays, names=[field.name for field in fields])
    except DeltaSkipError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = first_line(error)
        raise StorageError(f"The data file {file.location} cannot be read: {reason}; restore it.") from error
