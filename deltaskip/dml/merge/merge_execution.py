"""Execution of a MERGE by an engine: it reads the source once, and joins it with the rows of the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from deltaskip.data_files.data import GivenRows
from deltaskip.dml.changed_rows import NewRows
from deltaskip.dml.execution import RowExecution
from deltaskip.dml.files_to_change import DataFiles
from deltaskip.dml.merge.clauses import ClauseAction, ClauseKind
from deltaskip.dml.merge.merge_assignments import PlannedClause
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import AmbiguousMerge
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping.joins.source_keys import KeyValues, SourceKey
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.types import MappingMode, StructType


@dataclass(frozen=True, slots=True)
class MergeJoin:
    """A merge with the files that it may touch.

    Attributes:
        snapshot: The target.
        files: The files of the target that may contain matching rows, or rows that a clause for unmatched target rows
            may change.
        on: The condition as the caller wrote it.
        clauses: The clauses in their order; a row goes to the first of its kind whose condition is TRUE.
        schema: The schema of the target after the merge.
        properties: The properties of the target after the merge.
        partition_columns: Names of the partition columns.
        mapping_mode: The column mapping mode of the target.
        target_alias: The name of the target in expressions.
        row_ids: The columns of materialized row ids; None if rows have no stable ids.
        keys: Columns of the target that the condition names.
        evolves: Whether structs may lack fields that the table has, as with schema evolution.
    """

    snapshot: Snapshot
    files: DataFiles
    on: Any
    clauses: tuple[PlannedClause, ...]
    schema: StructType
    properties: TableProperties
    partition_columns: tuple[str, ...]
    mapping_mode: MappingMode
    target_alias: str | None
    row_ids: RowIdColumns | None
    keys: tuple[str, ...] = ()
    evolves: bool = False

    def numbers(self, kind: ClauseKind | None = None, action: ClauseAction | None = None) -> list[int]:
        """Return the indexes of the clauses of a kind, of an action, or of both."""
        return [
            i
            for i, clause in enumerate(self.clauses)
            if kind in (None, clause.kind) and action in (None, clause.action)
        ]

    @property
    def inserts_only(self) -> bool:
        """Whether no row of the target changes."""
        return len(self.numbers("not matched")) == len(self.clauses)

    @property
    def may_match_twice(self) -> bool:
        """Whether several rows of the source may match one row of the target.

        # delta-spark, MergeIntoCommandBase: the order does not matter if nothing changes or all is deleted
        """
        matched = [self.clauses[i] for i in self.numbers("matched")]
        deletes = len(matched) == 1 and matched[0].action == "delete" and matched[0].where is None
        return self.inserts_only or deletes


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """The rows that the join found.

    Attributes:
        deleted: For each file of the join the positions of deleted rows; None if no row is deleted.
        updated: The same for rows that are updated.
        new: The rows to write; None if there are none.
        inserts: Whether `new` may have rows to insert.
        counts: Number of rows of the target that each clause changes, by the index of the clause.
    """

    deleted: RowPositions | None = None
    updated: RowPositions | None = None
    new: NewRows | None = None
    inserts: bool = False
    counts: Mapping[int, int] = field(default_factory=dict)


class MergingEngine(Protocol):
    """An engine that merges rows."""

    def merge_source(self, session: Any, data: Any, alias: str | None) -> MergeSource:
        """Return the source of a merge for rows: a DataFrame of the session, or an Arrow table.

        session: The session, or a DataFrame of it. alias: The name of the source in expressions; None for the alias of
        the DataFrame.
        """


class MergeSource(Protocol):
    """The source of a merge. Its rows are computed once, even if the merge is planned several times."""

    @property
    def time_zone(self) -> str:
        """The time zone in which expressions are evaluated."""

    @property
    def is_plain(self) -> bool:
        """Whether strings of the source without a collation are compared under the table's, as literals are."""

    def meaning(self, expressions: Iterable[object]) -> SessionMeaning:
        """How the session understands the expressions of the merge; the usual meaning without a session."""

    def schema_for(self, table_schema: StructType) -> StructType:
        """Return the schema of the source, for a merge into a table with this schema."""

    def prepared(self, join: MergeJoin, schema: StructType) -> SourceRows:
        """Resolve all names and types, and return the rows with the execution of the merge. No row is read yet.

        Its errors do not depend on the rows of either side.

        Args:
            join: The merge, without files.
            schema: The schema of the source, from `schema_for`.

        Raises:
            UnknownName: A name is unknown. A subclass of PredicateError and SchemaError.
            PredicateError: A condition or expression is not valid.
            SchemaError: A value has a type that its column cannot store.
            UnsupportedFeature: An expression can only be evaluated by Spark.
        """

    def computed(self) -> GivenRows:
        """The rows of the source as they were computed for `prepared`, which comes first."""

    def release(self) -> None:
        """Release the cached rows."""


class SourceRows(Protocol):
    """The rows of a source, which are read when they are first asked for, and the execution of the merge."""

    def count(self) -> int:
        """Return the number of rows."""

    @property
    def execution(self) -> RowExecution:
        """The execution that reads and writes rows of the target."""

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        """Return the least and greatest value of each key, with all values if `distinct` and they are few."""

    def matched(self, join: MergeJoin) -> MatchedRows:
        """Join the source with the files of the target, and apply the clauses to each row.

        Raises:
            AmbiguousMerge: Several rows of the source match one row of the target.
            PredicateError: A condition or expression is not valid, or a condition fails for a row.
            RowViolation: A value does not fit its column.
        """


def ambiguous_merge(table: str, example: Mapping[str, object]) -> AmbiguousMerge:
    """Return the error for a row of the target that several rows of the source match.

    example: Columns of such a row.
    """
    shown = ", ".join(f"{name}={value!r}" for name, value in example.items())
    such = f", such as the one with {shown}" if shown else ""
    return AmbiguousMerge(
        f"More than one row of the source matches one row of {table}{such}, so its new values depend on their "
        f"order. Make the keys of the source unique. Nothing was written."
    )
