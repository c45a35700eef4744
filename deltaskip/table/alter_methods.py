"""The methods of DeltaTable that alter the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaskip import arguments
from deltaskip.log import refresh
from deltaskip.schema.properties import TableProperties
from deltaskip.table.methods import TableMethods
from deltaskip.txn.write_options import WriteOptions

if TYPE_CHECKING:
    from deltaskip.alter.table_changes import TableChange
    from deltaskip.txn.result import WriteResult


class AlteringMethods(TableMethods):
    """Altering a table: columns, properties, constraints, clustering and table features."""

    def alter(self, *changes: TableChange, user_metadata: str | None = None) -> WriteResult:
        """Change columns, properties, constraints, clustering or features in one commit, and move to the new version.

        The changes are made in order, each on the result of the previous change. If a change is refused, nothing is
        committed.
        No data file is rewritten, except before the feature deletionVectors is dropped: see `drop_feature`. If nothing
        would change, nothing is committed.

        Args:
            changes: AddColumn, DeleteColumn, RenameColumn, MoveColumn, ReplaceColumns, UpdateColumn (the type),
                UpdateColumnComment, UpdateColumnNullability, SetDefault, DropDefault, SyncIdentity, SetProperty,
                RemoveProperty, SetComment, AddConstraint, DropConstraint, ClusterBy, AddFeature and DropFeature.
            user_metadata: Text to record with the commit in the table's history.

        Returns:
            The committed version; None if nothing would change.

        Raises:
            SchemaError: A change of a column is not possible.
            InvalidArgument: A property, constraint or feature is not possible, or there is no change.
            InvalidArgumentType: An argument has a wrong type.
            RowViolation: A row of the table violates a new constraint.
            UnsupportedFeature: deltaskip cannot write a table with the change, or needs Spark for a constraint.
            InvalidCommit: A rule of the protocol forbids the new state of the table.
            CommitConflict: Other writers changed the table in every attempt.
            StorageError: Storage failed.
        """
        from deltaskip.alter.alter import alter
        from deltaskip.alter.table_changes import DropFeature

        options = self._write_options(None, user_metadata, "UTC")
        if any(isinstance(each, DropFeature) and each.feature.lower() == "deletionvectors" for each in changes):
            self._purge_deletion_vectors(options)
        return self._moved(alter(self.snapshot, changes, options))

    def alter_sql(self, statement: str, user_metadata: str | None = None) -> WriteResult:
        """Alter the table as an ALTER TABLE statement of Spark or Delta does; see `alter`.

        Args:
            statement: The text after ALTER TABLE and the table's name, such as "ADD COLUMN c INT AFTER b". Types and
                expressions are stored as typed.
            user_metadata: Text to record with the commit in the table's history.

        Returns:
            The committed version; None if nothing would change.

        Raises:
            SchemaError: The statement cannot be parsed, or a change of a column is not possible.
            DeltaSkipError: As `alter` does.
        """
        from deltaskip.alter.alter_sql import parse_alter

        return self.alter(*parse_alter(arguments.unicode_text("statement", statement)), user_metadata=user_metadata)

    def add_feature(self, name: str) -> WriteResult:
        """Add a table feature to the protocol, with the features that it requires, and move to the commit's version.

        Args:
            name: Name of the feature in the protocol, such as "deletionVectors", in any letter case.

        Returns:
            The committed version; None if the table has the feature.

        Raises:
            InvalidArgument: The feature does not exist.
            UnsupportedFeature: deltaskip cannot write tables with the feature.
            CommitConflict: Other writers changed the table in every attempt.
        """
        from deltaskip.alter.table_changes import AddFeature

        return self.alter(AddFeature(arguments.text("name", name)))

    def drop_feature(self, name: str, truncate_history: bool = False) -> WriteResult:
        """Drop a table feature from the protocol, so that clients without it can work with the table.

        Properties that enable the feature are removed with it. Other uses must be removed before, except for
        deletion vectors: they are disabled first, and files with deletion vectors are rewritten without deleted rows,
        each step in a separate commit. Earlier versions of the table still need the feature: checkpoints around the
        commit and the feature checkpointProtection keep clients without it from misreading them.

        Args:
            name: Name of the feature in the protocol, in any letter case.
            truncate_history: Instead of the protection, delete the versions that need the feature from the log. They
                must be older than `delta.dropFeatureTruncateHistory.retentionDuration`, 24 hours by default.

        Returns:
            The committed version.

        Raises:
            InvalidArgument: The table does not have the feature.
            SchemaError: Something still uses the feature; the message names it.
            UnsupportedFeature: The feature cannot be dropped, or versions that need it are too new to be deleted.
            CommitConflict: Other writers changed the table in every attempt.
        """
        from deltaskip.alter.table_changes import DropFeature

        truncated = arguments.flag("truncate_history", truncate_history)
        return self.alter(DropFeature(arguments.text("name", name), truncated))

    def _purge_deletion_vectors(self, options: WriteOptions) -> None:
        """Disable deletion vectors, and rewrite files that have them. # delta-spark, REORG TABLE … APPLY (PURGE)"""
        from deltaskip.alter.alter import alter
        from deltaskip.alter.table_changes import RemoveProperty
        from deltaskip.maintenance.optimize.optimize import optimize, optimize_plan
        from deltaskip.maintenance.optimize.strategy import OptimizeRequest

        purge = OptimizeRequest(purge=True)
        self.snapshot = refresh(self.snapshot)
        if optimize_plan(self.snapshot, purge).bins:
            # Otherwise other writers could add deletion vectors during the rewrite.
            alter(self.snapshot, [RemoveProperty(TableProperties.deletion_vectors.name, True)], options)
            optimize(self.snapshot, purge, write=options)
