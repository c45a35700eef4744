"""The methods of DeltaTable that change rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

from deltaskip import arguments
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import InvalidArgumentType
from deltaskip.log import refresh
from deltaskip.table.methods import TableMethods

if TYPE_CHECKING:
    from deltaskip.dml.change_plan import ChangePlan
    from deltaskip.dml.merge.clauses import MergeClause
    from deltaskip.table.merge_builder import MergeBuilder
    from deltaskip.txn.result import WriteResult


class ChangingMethods(TableMethods):
    """Changing rows of the latest version of a table."""

    @overload
    def delete(
        self,
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: Literal[False] = False,
    ) -> WriteResult: ...

    @overload
    def delete(
        self,
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: Literal[True],
    ) -> ChangePlan: ...

    def delete(
        self,
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: bool = False,
    ) -> WriteResult | ChangePlan:
        """Delete the rows that match a predicate, or all rows without a predicate, and move to the new version.

        `t.delete()` empties the table, as in delta-spark and delta-rs. Files in which every row matches are removed
        without being read; rows of other files are deleted by deletion vectors, or by rewriting the files.

        Args:
            where: Predicate of the rows to delete, as in `scan`; a row for which it is NULL stays. The default deletes
                all rows.
            spark: A session, classic or Connect, that reads and rewrites files that lose some rows. By default, this
                process does.
            params: Values of the parameters of `where`, as in `scan`.
            txn: Application id and version, as in `append`.
            user_metadata: Text to record with the commit in the table's history.
            time_zone: Time zone of `where`; a session uses its own.
                The default is the active Spark session's, and UTC without a session.
            dry_run: Whether only the plan is returned: the files that may be touched, and the reasons. Only the log is
                read, and nothing is written.

        Returns:
            The committed version, Delta's metrics and what the deletion cost; the version is None if no row matches.
            With `dry_run` the plan.

        Raises:
            PredicateError: The predicate is not valid, or fails for a row.
            CommitConflict: A concurrent commit changed data that the operation read.
            UnsupportedFeature: The table is append-only, or needs a feature that deltaskip cannot write, or Spark for
                the predicate.
            StorageError: Storage failed.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.dml.change_plan import dry_run_plan
        from deltaskip.dml.delete import delete
        from deltaskip.dml.overwrite import predicate_text

        options = self._write_options(txn, user_metadata, time_zone)
        text = predicate_text(where, params, self.snapshot)
        if arguments.flag("dry_run", dry_run):
            return dry_run_plan(self.snapshot, "DELETE", text, spark, options.time_zone, "Deleting")
        return self._written(delete(self.snapshot, text, spark, options))

    @overload
    def update(
        self,
        set: Mapping[str, object],
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: Literal[False] = False,
    ) -> WriteResult: ...

    @overload
    def update(
        self,
        set: Mapping[str, object],
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: Literal[True],
    ) -> ChangePlan: ...

    def update(
        self,
        set: Mapping[str, object],
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
        dry_run: bool = False,
    ) -> WriteResult | ChangePlan:
        """Set columns of the rows that match a predicate, or of all rows without a predicate; move to the new version.

        New values are computed from the old values of the row, and stored as Spark's ANSI store assignment does.
        Generated columns are computed again, so a row may move to another partition. Updated rows must satisfy the
        table's constraints; they keep their row ids. If `delta.enableDeletionVectors` is true, only updated rows are
        written; otherwise files that contain updated rows are rewritten.

        Args:
            set: New values by column: SQL text over the columns of the row, such as "price * 1.1" or "'paid'"; DEFAULT;
                an expression of `deltaskip.col`; a PySpark Column; or another constant of Python. Names match in any
                letter case, and a nested field is `st.b`.
            where: Predicate of the rows to update, as in `scan`; a row for which it is NULL is not updated. The default
                updates all rows.
            spark: A session, classic or Connect, that reads and writes the rows. By default, this process does, and
                only expressions that deltaskip can evaluate are possible.
            params: Values of the parameters of `where`, as in `scan`, and of new values, by name.
            txn: Application id and version, as in `append`.
            user_metadata: Text to record with the commit in the table's history.
            time_zone: Time zone of expressions; a session uses its own.
                The default is the active Spark session's, and UTC without a session.
            dry_run: Whether only the plan is returned, as by `delete`.

        Returns:
            The committed version, Delta's metrics and what the update cost; the version is None if no row matches.
            With `dry_run` the plan.

        Raises:
            PredicateError: The predicate or a new value is not valid, or fails for a row.
            SchemaError: A column does not exist, is set twice or is an identity column, or its new value has a type
                that it cannot store.
            RowViolation: An updated row violates a constraint, or a value does not fit its column. Nothing was written.
            CommitConflict: A concurrent commit changed data that the operation read.
            UnsupportedFeature: The table is append-only, or needs a feature that deltaskip cannot write, or Spark for
                an expression.
            StorageError: Storage failed.
            InvalidArgument: `set` is empty, or Spark cannot compute a new value.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.dml.assignments import given_values
        from deltaskip.dml.change_plan import dry_run_plan
        from deltaskip.dml.overwrite import predicate_text
        from deltaskip.dml.update import check_values, update

        given, predicate = given_values(set, where, params, self.snapshot.table_root)
        options = self._write_options(txn, user_metadata, time_zone)
        text = predicate_text(predicate, None, self.snapshot)
        if arguments.flag("dry_run", dry_run):
            check_values(refresh(self.snapshot), given)
            return dry_run_plan(self.snapshot, "UPDATE", text, spark, options.time_zone, "Updating")
        return self._written(update(self.snapshot, given, text, spark, options))

    def merge(
        self,
        source: object,
        on: object,
        source_alias: str | None = None,
        target_alias: str | None = None,
        schema_mode: Literal["keep", "merge"] = "keep",
        spark: object = None,
        *,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = SESSION_ZONE,
    ) -> MergeBuilder:
        """Return a builder for a merge: rows of a source update, delete and add to rows of the table.

        The values of the source's keys decide which files can match. The source is computed once, and joined with these
        files once.

        Args:
            source: A PySpark DataFrame, or Arrow data, as in `append`. Arrow data are collected, also from a LazyFrame,
                a RecordBatchReader or a relation of DuckDB: a merge in this process needs memory for three to six times
                the bytes of the source, whatever the size of the table.
            on: Condition under which a row of the source matches a row of the table, such as "target.id = source.id".
                It names columns of both sides, or is TRUE or FALSE. Names of common columns, such as "id" or
                ["id", "day"], mean that these columns are equal.
            source_alias: The name of the source in expressions. The default is `source`, and for a DataFrame also its
                aliases.
            target_alias: The name of the table in expressions. The default is `target`.
            schema_mode: "keep" does not change the columns of the table. "merge" adds new columns of the source that
                clauses take or set, at every depth.
            spark: A session, classic or Connect, that joins and writes the rows of Arrow data; a DataFrame uses its
                own session. By default, this process does.
            txn: Application id and version, as in `append`.
            user_metadata: Text to record with the commit in the table's history.
            time_zone: Time zone of expressions and casts; a session uses its own.
                The default is the active Spark session's, and UTC without a session.

        Returns:
            The builder. Nothing happens before its `execute`.

        Raises:
            PredicateError: The condition is empty or contains a query.
            InvalidArgument: An argument has a wrong value.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.data_files.data import GivenRows
        from deltaskip.dml.merge.clauses import checked_condition
        from deltaskip.dml.merge.merge import Merge, merge, merge_source, plan_merge, without_frames
        from deltaskip.skipping.joins.name_resolution import condition_of, default_aliases
        from deltaskip.table.merge_builder import MergeBuilder, Unrun, unrun_merge

        if isinstance(source, str) and on is not None and not isinstance(on, str):
            raise InvalidArgumentType(f"merge takes the rows before the condition: write merge(rows, on={source!r}).")
        on = condition_of(on, self.snapshot.schema, target_alias, source_alias)
        if on is None or isinstance(on, list | tuple):
            raise InvalidArgumentType.of("on", "a condition such as 'target.id = source.id'", on)
        condition = checked_condition("on", on)
        arguments.choice("schema_mode", schema_mode, "keep", "merge")
        source_name = arguments.text_or_none("source_alias", source_alias)
        target_name = arguments.text_or_none("target_alias", target_alias)
        options = self._write_options(txn, user_metadata, time_zone)
        given = GivenRows(source, "source")
        target_name, source_name = default_aliases(target_name, source_name, given.frame is not None)

        def run(clauses: tuple[MergeClause, ...], dry_run: bool) -> WriteResult | ChangePlan:
            self.snapshot = refresh(self.snapshot)
            statement = Merge(condition, clauses, source_name, target_name, schema_mode == "merge")
            statement = without_frames(statement, self.snapshot.table_root, given.frame)
            rows = merge_source(given, source_name, spark, options.time_zone, self.snapshot)
            if dry_run:
                return plan_merge(self.snapshot, statement, rows)
            return self._written(merge(self.snapshot, statement, rows, options))

        return MergeBuilder(run, _table=self.uri, _unrun=Unrun(unrun_merge(self.uri)))
