"""Rules of the data files: they exist, can be read, and contain what the log says about them.

Files are read side by side, each once for its statistics and once more for the rules of its rows, if the table has any.
# PROTOCOL, Data Files, Per-file Statistics, Column Mapping, Deletion Vectors
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, DeletionVectorDescriptor, hadoop_path, parse_partition_value
from deltaskip.engine import engine
from deltaskip.errors import (
    CorruptDeletionVector,
    DataFileMissing,
    DeltaSkipError,
    PredicateError,
    SchemaError,
    StorageError,
    UnsupportedFeature,
)
from deltaskip.features.change_data_feed import FEED_NAMES
from deltaskip.features.identity_columns import IdentityColumn, identity_of
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.log import Snapshot
from deltaskip.log.deletion_vectors import read_deletion_vector, vector_location
from deltaskip.maintenance.recompute.computed_files import RecomputingEngine
from deltaskip.maintenance.unneeded_files import unneeded_by_listing
from deltaskip.maintenance.verify.statistics_checks import LoggedFiles
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.maintenance.verify.table_rule import Found, first_of
from deltaskip.reading.stored_columns import NamedColumns, in_files, is_readable_as
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.rows.rules import RowRule, generation_rule, rule_condition, rules_of
from deltaskip.rows.schema_merge import all_nullable
from deltaskip.rows.zone_dependence import predicate_depends_on_zone
from deltaskip.schema.mapping import field_key, physical_schema
from deltaskip.sparkexpr import columns_in, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.footer import Footer, read_footer
from deltaskip.stats.parquet_input import ParquetInput
from deltaskip.stats.written_types import ARROW_SCHEMA
from deltaskip.storage import Storage, storage_for
from deltaskip.storage.interface import NotAFile

_FILES_AT_ONCE = 1024
_FILES_OF_JOB = 20_000
_UNREADABLE = frozenset(("data.missing", "data.readable", "vectors.range", "vectors.readable"))
_COLUMNS = ["path", "size", "partition_values", "deletion_vector"]
# Round trips of a store overlap; more threads would wait for the GIL.
_REMOTE_READERS = 16
_SHOWN = 3
# Partition values of these types have no single spelling; the empty string may be NULL.
_SPELLED = (t.TIMESTAMP, t.BINARY, t.FLOAT, t.DOUBLE)
# A column in which delta-spark marks rows of the change data feed while it writes them.
_MARK = "__is_cdc"


@dataclass(frozen=True, slots=True)
class _LookedAt:
    """What was seen of a file.

    problems: pairs of a rule and the end of a sentence about the file. stats: its statistics as they should be, None if
    they are not known. rows: of the file. unknown: what could not be looked at.
    """

    problems: Sequence[tuple[str, str]] = ()
    stats: str | None = None
    rows: int = 0
    unknown: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether its rows can be read."""
        return not self.unknown and _UNREADABLE.isdisjoint(rule for rule, _ in self.problems)


@dataclass(slots=True)
class _Gathered:
    """What is wrong with files, by rule: each path with the end of a sentence."""

    by_rule: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, path: str, problems: Sequence[tuple[str, str]]) -> None:
        """Take what was found of a file into account."""
        for rule, why in problems:
            self.by_rule[rule].setdefault(path, why)

    def findings(self) -> Iterator[Found]:
        """One finding a rule, with the first files in its message."""
        for rule, files in self.by_rule.items():
            shown = "; ".join(f"{path} {why}" for path, why in list(files.items())[:_SHOWN])
            more = f"; and {len(files) - _SHOWN:,} more files" if len(files) > _SHOWN else ""
            yield Found(rule, f"{shown}{more}", paths=list(files))


def data_violations(facts: TableFacts) -> Iterator[Found]:
    """What is wrong with the data files of the latest version."""
    snapshot, found = facts.readable, _Gathered()
    rules = RowRules.of(snapshot)
    facts.not_checked += rules.unknown
    readers = _REMOTE_READERS if snapshot.storage.remote else os.cpu_count() or 1
    with ThreadPoolExecutor(readers, "deltaskip") as pool:
        for batch in snapshot.add_batches(_FILES_AT_ONCE if facts.spark is None else _FILES_OF_JOB):
            files = LoggedFiles(snapshot, batch)
            look = _Look(snapshot, files, rules, facts.bad_files, here=facts.spark is None)
            looked = list(pool.map(look.at, range(batch.num_rows)))
            facts.advance(batch.num_rows)
            paths = batch["path"].to_pylist()
            for path, each in zip(paths, looked, strict=True):
                found.add(path, each.problems)
                facts.counts["rows"] += each.rows
                if each.unknown:
                    facts.not_checked.append(each.unknown)
            texts = [each.stats for each in looked] if facts.spark is None else _by_job(facts, files, looked)
            for path, text, why in files.wrong_statistics(texts):
                found.add(path, [("data.statistics", why)])
                facts.statistics[path] = text
    yield from found.findings()


def _by_job(facts: TableFacts, files: LoggedFiles, looked: Sequence[_LookedAt]) -> list[str | None]:
    """The statistics of the files that can be read, computed by a job of Spark; None for the others."""
    found: list[str | None] = [None] * len(looked)
    good = [number for number, each in enumerate(looked) if each.is_whole]
    if good and files.need_values:
        job = engine(f"Verifying {facts.root}", RecomputingEngine)
        chosen = files.batch.take(arrow_array(good, pa.int64()))
        batches = iter([chosen.select(FILE_SCHEMA.names)])
        tables = job.recompute_statistics(
            facts.spark, facts.readable, batches, files.request, merge=False, job_files=len(good)
        )
        texts = (text for table in tables for text in table["stats"].to_pylist())
        for number, text in zip(good, texts, strict=True):
            found[number] = text
    return found


class _Look:
    """Looks at files of a batch, each in a thread. here: whether their statistics are computed in this process."""

    def __init__(
        self, snapshot: Snapshot, files: LoggedFiles, rules: RowRules, bad_files: set[str], *, here: bool
    ) -> None:
        self._here = here
        self._snapshot, self._files, self._rules, self._bad = snapshot, files, rules, bad_files
        self._reader = FileReader(files.request)
        self._rows = files.batch.select(_COLUMNS).to_pylist()
        self._partitions = {t.physical_name(each, snapshot.mapping_mode): each for each in snapshot.partition_fields}
        names = row_id_columns(snapshot.table_properties.well_formed())
        self._own = {_MARK, *FEED_NAMES, *(() if names is None else (names.row_id, names.commit_version))}
        self._schema: tuple[Any, list[tuple[str, str]], frozenset[str]] | None = None

    def at(self, number: int) -> _LookedAt:
        """Return what was seen of the file with this number."""
        row = self._rows[number]
        location = hadoop_path(self._snapshot.table_root, row["path"])
        storage = storage_for(location, None, self._snapshot.storage)
        try:
            size = storage.info(location).size
            footer = read_footer(storage, location, size)
        except (FileNotFoundError, NotADirectoryError, DataFileMissing):
            return _LookedAt([("data.missing", "does not exist")])
        except NotAFile as error:
            return _LookedAt([("data.readable", f"is a {error.kind}, not a regular file")])
        except UnsupportedFeature as error:
            return _LookedAt(unknown=str(error))
        except StorageError as error:
            if "not a complete Parquet file" in str(error):
                return _LookedAt([("data.readable", f"cannot be read: {error}")])
            return _LookedAt(unknown=str(error))
        problems = (
            [] if size == row["size"] else [("data.size", f"has {size:,} bytes, and the log says {row['size']:,}")]
        )
        logged = self._files.records[number]
        if logged is not None and logged != footer.num_rows:
            problems.append(("data.row-count", f"has {footer.num_rows:,} rows, and numRecords is {logged:,}"))
        unknown, stats = "", None
        try:
            problems += self._of_columns(storage, location, footer, row)
            deleted = self._deleted(storage, row, footer.num_rows)
            if self._here and (self._files.need_values or (logged is not None and logged != footer.num_rows)):
                known = self._reader.facts(storage, location, size=size, deleted=deleted, footer=footer)
                stats = stats_json(known, self._files.request)
            problems += self._rules.violations(self._files.file(number))
        except CorruptDeletionVector as error:
            if row["path"] not in self._bad:
                problems.append(("vectors.range", f"has a deletion vector that does not fit: {error}"))
        except DataFileMissing as error:
            if row["path"] not in self._bad:
                problems.append(("vectors.readable", f"has a deletion vector that is missing: {error}"))
        except UnsupportedFeature as error:
            unknown = str(error)
        except StorageError as error:
            problems.append(("data.readable", f"cannot be read: {error}"))
        except DeltaSkipError as error:
            unknown = str(error)
        return _LookedAt(problems, stats, footer.num_rows, unknown)

    def _deleted(self, storage: Storage, row: Mapping[str, Any], rows: int) -> pa.Int64Array | None:
        if row["deletion_vector"] is None:
            return None
        vector, root = DeletionVectorDescriptor(**row["deletion_vector"]), self._snapshot.table_root
        location = vector_location(root, vector)
        holder = storage if location is None else storage_for(location, None, storage)
        return read_deletion_vector(holder, root, vector, rows)

    def _of_columns(
        self, storage: Storage, location: str, footer: Footer, row: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        """Columns of a file that are not those of the table; the answer is kept for files of the same schema."""
        known, written = self._schema, footer.key_values.get(ARROW_SCHEMA)
        if known is None or known[0] != (footer.elements, written):
            with storage.open_input(location) as source:
                try:
                    parquet = ParquetInput(source)
                    schema = parquet.schema_arrow
                except (pa.ArrowException, ValueError, OSError) as error:
                    yield "data.readable", f"cannot be read: {error}"
                    return
            known = (footer.elements, written), list(self._of_schema(schema)), frozenset(schema.names)
            # The types of columns of the logical type UNKNOWN are those of their values.
            if not parquet.has_foreign_types and pa.null() not in schema.types:
                self._schema = known
        if footer.num_rows:
            yield from known[1]
            for name in known[2].intersection(self._partitions):
                yield from self._of_partition(storage, location, name, row)

    def _of_schema(self, schema: pa.Schema) -> Iterator[tuple[str, str]]:
        snapshot = self._snapshot
        named = NamedColumns(schema, snapshot.mapping_mode)
        stored = {}
        # Fields of structs have their physical names in files.
        physical = physical_schema(snapshot.schema, snapshot.mapping_mode).fields
        for column, in_file in zip(snapshot.schema.fields, physical, strict=True):
            if column.name in snapshot.partition_columns or column.type == t.VOID:
                continue
            name = stored[column.name] = named.of(column)
            kind = None if name is None else in_files(schema.field(name).type)
            if kind is not None and not is_readable_as(kind, in_file.type):
                wanted = t.simple_string(column.type).upper()
                yield "data.columns", f"has the column {column.name} as {kind}, which cannot be read as {wanted}"
        if snapshot.mapping_mode != "none" and stored and not any(stored.values()):
            keys = ", ".join(field_key(each, snapshot.mapping_mode) for each in snapshot.schema.fields[:_SHOWN])
            yield "data.mapped-names", f"has none of the mapped columns ({keys})"
        if snapshot.mapping_mode == "none":
            folded = {t.fold_name(each) for each in (*snapshot.schema.names, *self._own)}
            others = [name for name in schema.names if t.fold_name(name) not in folded]
            if others:
                yield "data.unknown-columns", f"has the column {others[0]}, which the table does not have"

    def _of_partition(
        self, storage: Storage, location: str, name: str, row: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        """A partition column in a file with other values than the log's."""
        text, column = dict(row["partition_values"]).get(name), self._partitions[name]
        if column.type in _SPELLED or (not text and column.type == t.STRING):
            return
        try:
            value = parse_partition_value(text or None, column.type)
            with storage.open_input(location) as source:
                parquet = ParquetInput(source)
                values = parquet.read_row_groups(range(parquet.num_row_groups), [name])[name].unique()
            expected = pa.array([value], pa.int64()).cast(values.type, safe=False) if column.type == t.DATE else None
            expected = pa.array([value], values.type) if expected is None else expected
        except (pa.ArrowException, ValueError, TypeError, OSError):
            return
        if len(values) != 1 or not values.equals(expected):
            yield "data.partition-values", f"has other values of {column.name} than its partition value {text!r}"


def orphan_violations(facts: TableFacts) -> Iterator[Found]:
    """Files that a VACUUM would delete."""
    snapshot = facts.readable
    now, retention = current_ms(), snapshot.table_properties.deleted_file_retention_ms
    files = unneeded_by_listing(snapshot, now - retention, now - retention, lambda *_: None).files
    if len(files):
        paths = files["path"].to_pylist()
        yield Found("data.orphans", f"No retained version needs {first_of(paths)}: VACUUM deletes them", paths=paths)


_NAMES = {"not null": "rows.not-null", "generated": "rows.generated", "check": "rows.constraint"}
_OTHER = "rows.constraint"


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules of a table's rows that can be evaluated in this process.

    Attributes:
        reader: Reads the columns that the rules use; None if there is no rule.
        conditions: Each rule, with the condition that its violation is.
        identities: The identity columns.
        unknown: Rules that cannot be evaluated, with the reason.
    """

    reader: StoredRows | None
    conditions: Sequence[tuple[RowRule, LocalExpression]]
    identities: Sequence[IdentityColumn]
    unknown: Sequence[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> RowRules:
        """Return the rules of a table. Expressions that depend on the time zone of a session are left out."""
        # Otherwise NOT NULL would count as proved.
        schema = all_nullable(snapshot.schema)
        assert isinstance(schema, t.StructType)
        place = EvaluationPlace(snapshot.root, "Verify such rows with Spark.", "", what="The rule")
        conditions: list[tuple[RowRule, LocalExpression]] = []
        unknown, used = list[str](), set[str]()
        for rule in _rules(snapshot, unknown):
            try:
                violated = f"NOT ({rule_condition(rule)})"
                if predicate_depends_on_zone(violated, schema):
                    continue
                node = bound(parse_sql(violated), schema, "UTC", None, True)
                conditions.append((rule, LocalExpression(node, schema, place)))
            except (UnsupportedFeature, PredicateError) as error:
                unknown.append(f"{rule.name}: {error}")
                continue
            used |= {t.fold_name(parts[0]) for parts in columns_in(rule.sql)}
        identities = []
        for column in snapshot.schema.fields:
            try:
                identity = identity_of(column)
            except SchemaError:
                continue  # a rule of the state has said so
            if identity is not None and not identity.explicit:
                identities.append(identity)
                used.add(t.fold_name(column.name))
        names = tuple(field.name for field in snapshot.schema.fields if t.fold_name(field.name) in used)
        reader = None
        if conditions or identities:
            names = names or tuple(snapshot.schema.names[:1])
            reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, names, threads=False)
        return cls(reader, conditions, identities, unknown)

    def violations(self, file: pa.Table) -> Iterator[tuple[str, str]]:
        """Yield each rule that rows of a file violate, and how many. Raises what reading the file raises."""
        if self.reader is None:
            return
        counts = [0] * len(self.conditions)
        numbers = [0] * len(self.identities)
        failed: dict[int, str] = {}
        with self.reader.open(file) as opened:
            for _, batch in self.reader.live(file, None, opened):
                for i, (_, condition) in enumerate(self.conditions):
                    try:
                        counts[i] += int(np.count_nonzero(condition.mask(batch.columns, len(batch))))
                    except DeltaSkipError as error:
                        failed[i] = str(error)
                for i, identity in enumerate(self.identities):
                    numbers[i] += _foreign(identity, batch.columns[identity.column])
        for (rule, _), count in zip(self.conditions, counts, strict=True):
            if count:
                what = f"{count:,} rows" if count > 1 else "a row"
                yield _NAMES.get(rule.kind, _OTHER), f"has {what} that violate{'' if count > 1 else 's'} {rule.name}"
        for identity, count in zip(self.identities, numbers, strict=True):
            if count:
                yield "rows.identity", f"has {count:,} values of {identity.column} that it cannot have generated"
        for i, why in failed.items():
            rule = self.conditions[i][0]
            yield _NAMES.get(rule.kind, _OTHER), f"has a row for which {rule.name} fails: {why}"


def _rules(snapshot: Snapshot, unknown: list[str]) -> Iterator[RowRule]:
    try:
        yield from rules_of(snapshot.schema, snapshot.table_properties)
        yield from (generation_rule(each) for each in snapshot.schema.fields if t.GENERATION_KEY in each.metadata)
    except SchemaError as error:
        unknown.append(str(error))


def _foreign(identity: IdentityColumn, values: pa.Array) -> int:
    """Number of values that an identity column that is always generated cannot have."""
    step = identity.step
    offset = pc.subtract(values, arrow_scalar(identity.start, pa.int64()))
    steps = pc.divide(offset, arrow_scalar(step, pa.int64()))
    other = pc.not_equal(pc.multiply(steps, arrow_scalar(step, pa.int64())), offset)
    other = pc.or_(other, pc.less(steps, arrow_scalar(0, pa.int64())))
    if identity.mark is None:
        return int(len(values) - values.null_count)
    mark = arrow_scalar(identity.mark, pa.int64())
    beyond = pc.greater(values, mark) if step > 0 else pc.less(values, mark)
    return int(pc.sum(pc.or_(other, beyond)).as_py() or 0)
