"""A table that becomes visible in its catalog with all its rows, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.data_files.sort_order import SortOrder
from deltaskip.doors import Unpicklable, door
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import CommitConflict, InvalidCommit
from deltaskip.log.new_table import check_no_files
from deltaskip.storage import address_of

if TYPE_CHECKING:
    from deltaskip.sparkexpr.types import StructType
    from deltaskip.table.table import DeltaTable
    from deltaskip.transforms import Transform
    from deltaskip.txn.transaction import Transaction

_WITH_ROWS = " AS SELECT"


@door
class StagedTable(Unpicklable):
    """A table that was staged by a catalog: it is created or replaced, with its rows, by `commit_staged_changes`.

    As a context manager it commits when the block ends, and aborts if the block raises:

        with catalog.stage_create("sales.orders", schema, ["day"]) as staged:
            staged.append(orders)

    Before the commit, neither the catalog nor a reader sees the table.

    Args:
        identifier: Name of the table in its catalog.
        transaction: The transaction that creates or replaces the table.
        sort_order: Order in which rows are written.
        finish: Makes the committed table visible in the catalog, and returns it.
    """

    instead = "stage the table where it is committed"

    # SPIP Spark API for Table Metadata, Atomic Operations; Spark 4.1, StagedTable

    def __init__(
        self,
        identifier: CatalogIdentifier,
        transaction: Transaction,
        sort_order: Sequence[SortOrder],
        finish: Callable[[], DeltaTable],
    ) -> None:
        self.identifier = identifier
        self.sort_order = tuple(sort_order)
        self._transaction = transaction
        self._finish = finish
        self._ended = False

    @property
    def location(self) -> str:
        """URI of the table."""
        return address_of(self._transaction.snapshot.root)

    @property
    def schema(self) -> StructType:
        """Schema that the table will have."""
        return self._transaction.schema

    @property
    def partitioning(self) -> tuple[Transform, ...]:
        """Transforms by which the table will be partitioned."""
        from deltaskip.transforms.generated_columns import transform_of

        fields = {field.name: field for field in self.schema.fields}
        return tuple(transform_of(self.schema, fields[name]) for name in self._transaction.metadata.partition_columns)

    @property
    def properties(self) -> Mapping[str, str]:
        """Properties that the table will have."""
        return self._transaction.metadata.configuration

    def check_no_files(self) -> None:
        """Raise InvalidArgument if the folder already has data files, which the table would not list."""
        snapshot = self._transaction.snapshot
        check_no_files(snapshot.storage, snapshot.root)

    def append(
        self,
        data: object,
        *,
        time_zone: str = SESSION_ZONE,
        compression: str | None = None,
        max_records_per_file: int | None = None,
    ) -> None:
        """Write rows, as DeltaTable.append does, with its arguments. They become visible with the commit.

        It can be called several times. Raises the errors of DeltaTable.append, and InvalidCommit if the table was
        already committed or aborted.
        """
        from deltaskip.data_files.append import append_to, write_metrics
        from deltaskip.data_files.data import GivenRows
        from deltaskip.table.creation import replaced_metrics
        from deltaskip.table.methods import time_zone_argument
        from deltaskip.table.write_methods import file_options

        self._check_open()
        zone = time_zone_argument(time_zone, self.location)
        rows = data if isinstance(data, GivenRows) else GivenRows(data)
        files = file_options(compression, max_records_per_file)
        transaction = self._transaction
        transaction.add_metrics(write_metrics(append_to(transaction, rows, "keep", zone, files=files)))
        if not transaction.changes.operation.endswith(_WITH_ROWS):
            transaction.set_operation(f"{transaction.changes.operation}{_WITH_ROWS}")
            transaction.add_metrics(replaced_metrics(transaction))

    def commit_staged_changes(self) -> DeltaTable:
        """Create or replace the table with the rows that were appended, in one commit, and return it.

        After an error nothing of it is left, unless the outcome of the commit is unknown.

        Raises:
            TableAlreadyExists: Another writer has created a table of this name.
            CommitConflict: Another writer has changed the table to replace.
            InvalidCommit: The table was already committed or aborted.
            StorageError: Storage failed.
        """
        self._check_open()
        try:
            self._transaction.commit()
        except BaseException:
            self.abort_staged_changes()
            raise
        self._ended = True
        return self._finish()

    def abort_staged_changes(self) -> None:
        """Delete the files that were written. Nothing happens if the table was already committed or aborted."""
        if self._ended:
            return
        self._ended = True
        self._transaction.discard()

    def __repr__(self) -> str:
        return f"StagedTable({str(self.identifier)!r})"

    def __enter__(self) -> StagedTable:
        """Begin a block that commits when it ends, or aborts if it raises."""
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Commit unless the block has already committed or aborted; abort if the block raised."""
        if self._ended:
            return
        if kind is None:
            self.commit_staged_changes()
        else:
            self.abort_staged_changes()

    def _check_open(self) -> None:
        if self._ended:
            raise InvalidCommit(f"The staged table {self.identifier} was already committed or aborted: stage it again.")


def changed_since_read(table: object) -> CommitConflict:
    """Return the error for replacing a table by a query over itself, if another writer has changed it."""
    return CommitConflict(
        f"Another writer has changed the table {table}, which is replaced by a query over itself: run the statement "
        f"again."
    )
