"""The builder of a merge: clauses are added one by one, and `execute` runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from deltaskip import arguments
from deltaskip.dml.merge.clauses import ClauseAction, ClauseKind, MergeClause, checked_condition, checked_values
from deltaskip.doors import Unpicklable, door
from deltaskip.errors import InvalidArgumentType, WriteWarning
from deltaskip.records import dataclass
from deltaskip.warning import warn

if TYPE_CHECKING:
    from deltaskip.dml.change_plan import ChangePlan
    from deltaskip.txn.result import WriteResult


class Unrun:
    """Warns when the last builder of an operation is dropped and none was executed.

    Attributes:
        message: The warning; None if no warning is needed.
    """

    __slots__ = ("message",)

    def __init__(self, message: str | None = None) -> None:
        self.message = message

    def __del__(self) -> None:
        if self.message is not None and not sys.is_finalizing():
            warn(self.message, WriteWarning)


def unrun_merge(table: str) -> str:
    """Return the warning of a merge into a table that was not executed."""
    return f"The merge into {table} was not run: call execute() after its clauses."


@door
@dataclass(frozen=True, slots=True)
class MergeBuilder(Unpicklable):
    """The clauses of a merge, made by `DeltaTable.merge`.

    Each method returns a new builder with one more clause. A merge may have any number of clauses of each kind. The
    first clause of its kind whose condition is TRUE applies to a row; only the last clause of a kind may lack a
    condition. Nothing happens before `execute`; a WriteWarning is issued if the builder is dropped without it.

    Conditions and values are SQL text, PySpark Columns or expressions of `deltaskip.col`. Clauses for matched rows may
    use columns of both sides, clauses for rows that are not matched columns of the source, and clauses for rows that
    are not matched by the source columns of the table. DEFAULT as a value stands for the column's default.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            snake = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
            said = f": write {snake}, or use deltaskip.delta" if hasattr(type(self), snake) else ""
            raise AttributeError(f"A merge has no {name}{said}.", name=name, obj=self)

    instead: ClassVar[str] = "pickle the DeltaTable, and call merge where it is executed"
    _run: Callable[[tuple[MergeClause, ...], bool], Any]
    _clauses: tuple[MergeClause, ...] = ()
    _table: str = ""
    _unrun: Unrun = field(default_factory=Unrun, compare=False)

    def __copy__(self) -> MergeBuilder:
        """Return the same builder, since its methods do not change it."""
        return self

    def __deepcopy__(self, memo: object) -> MergeBuilder:
        """Return the same builder."""
        return self

    def __repr__(self) -> str:
        count = len(self._clauses)
        return f"MergeBuilder({self._table!r}, {count} clause{'' if count == 1 else 's'}, runs with execute())"

    def when_matched_update(self, values: Mapping[str, object], where: object = None) -> MergeBuilder:
        """Set columns of rows that a row of the source matches.

        Args:
            values: New values by the name of a column or nested field: SQL text such as {"price": "s.price"}, an
                expression of `deltaskip.col`, a Column, or a constant other than text, such as None or a date. Other
                columns stay; generated columns are computed again.
            where: Condition that the pair of rows must satisfy.
        """
        return self._setting("matched", "update", values, where)

    def when_matched_update_all(self, except_: Sequence[str] = (), where: object = None) -> MergeBuilder:
        """Set all columns of rows that a row of the source matches to its columns of the same names.

        The source must have all columns of the table unless the merge evolves the schema; then missing columns stay.

        Args:
            except_: Columns that stay.
            where: Condition that the pair of rows must satisfy.
        """
        return self._all("matched", "update", except_, where)

    def when_matched_delete(self, where: object = None) -> MergeBuilder:
        """Delete rows that a row of the source matches.

        Args:
            where: Condition that the pair of rows must satisfy.
        """
        return self._with("matched", "delete", where)

    def when_not_matched_insert(self, values: Mapping[str, object], where: object = None) -> MergeBuilder:
        """Insert rows of the source that match no row of the table.

        Args:
            values: Values by column name. Other columns have their default, the value of their expression, an identity
                value or NULL.
            where: Condition that the row of the source must satisfy.
        """
        return self._setting("not matched", "insert", values, where)

    def when_not_matched_insert_all(self, except_: Sequence[str] = (), where: object = None) -> MergeBuilder:
        """Insert rows of the source that match no row of the table, by the names of their columns.

        The source must have all columns of the table unless the merge evolves the schema.

        Args:
            except_: Columns of the source to leave out.
            where: Condition that the row of the source must satisfy.
        """
        return self._all("not matched", "insert", except_, where)

    def when_not_matched_by_source_update(self, values: Mapping[str, object], where: object = None) -> MergeBuilder:
        """Set columns of rows of the table that no row of the source matches.

        Args:
            values: New values by the name of a column or nested field, over columns of the table.
            where: Condition that the row of the table must satisfy.
        """
        return self._setting("not matched by source", "update", values, where)

    def when_not_matched_by_source_delete(self, where: object = None) -> MergeBuilder:
        """Delete rows of the table that no row of the source matches.

        Args:
            where: Condition that the row of the table must satisfy.
        """
        return self._with("not matched by source", "delete", where)

    @overload
    def execute(self, dry_run: Literal[False] = False) -> WriteResult: ...

    @overload
    def execute(self, dry_run: Literal[True]) -> ChangePlan: ...

    def execute(self, dry_run: bool = False) -> WriteResult | ChangePlan:
        """Run the merge on the latest version of the table, and move to the version that it commits.

        Args:
            dry_run: Whether only to plan: the source is read, and nothing is written.

        Returns:
            The committed version and Delta's metrics; the version is None if no row changes. With `dry_run` the plan:
            the files that may be touched, and the reasons.

        Raises:
            AmbiguousMerge: More than one row of the source matches one row of the table.
            PredicateError: A condition or expression is not valid, or a condition fails for a row.
            SchemaError: A column does not exist or cannot be set, or a value has a type that it cannot store.
            RowViolation: A row violates a constraint, or a value does not fit its column. Nothing was written.
            CommitConflict: A concurrent commit changed data that the operation read.
            UnsupportedFeature: The table is append-only, or needs a feature that deltaskip cannot write, or Spark for
                an expression.
            StorageError: Storage failed.
            InvalidArgument: The merge has no clause, or a clause can never apply.
            InvalidArgumentType: An argument has a wrong type.
        """
        self._unrun.message = None
        found: WriteResult | ChangePlan = self._run(self._clauses, arguments.flag("dry_run", dry_run))
        return found

    def _setting(self, kind: ClauseKind, action: ClauseAction, values: object, where: object) -> MergeBuilder:
        # If this call fails, no warning is needed.
        self._unrun.message = None
        return self._with(kind, action, where, checked_values("values", values))

    def _all(self, kind: ClauseKind, action: ClauseAction, except_: Sequence[str], where: object) -> MergeBuilder:
        self._unrun.message = None
        if isinstance(except_, str):
            raise InvalidArgumentType(
                f"except_ must be a list of columns, not a str: write where={except_!r} for a condition, or "
                f"except_=[{except_!r}] for a column."
            )
        return self._with(kind, action, where, None, arguments.texts("except_", except_))

    def _with(
        self,
        kind: ClauseKind,
        action: ClauseAction,
        where: object,
        values: Mapping[str, object] | None = None,
        except_: tuple[str, ...] = (),
    ) -> MergeBuilder:
        self._unrun.message = None
        clause = MergeClause(kind, action, checked_condition("where", where), values, except_)
        self._unrun.message = unrun_merge(self._table)
        return replace(self, _clauses=(*self._clauses, clause))
