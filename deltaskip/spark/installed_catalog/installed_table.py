"""Tables as Spark sees them: columns, partitioning and properties, and the objects that read and change their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.staged import StagedTable
from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.errors import UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.reading.read_plan import METADATA, metadata_fields
from deltaskip.spark.installed_catalog.definitions import partitioning_of, shown_properties, spark_columns
from deltaskip.spark.installed_catalog.scans import ScanBuilder, metadata_schema
from deltaskip.spark.installed_catalog.writes import Target, WriteBuilder
from deltaskip.spark.session.jvm import Jvm, Proxy, Unmeasured, answers
from deltaskip.sparkexpr.types import StructField, display_name
from deltaskip.statements.answers import visible_columns
from deltaskip.table.table import DeltaTable
from deltaskip.transforms import Transform

_CATALOG = "org.apache.spark.sql.connector.catalog"
_INTERFACES = ("SupportsRead", "SupportsWrite", "TruncatableTable", "SupportsMetadataColumns")
_CAPABILITIES = ("BATCH_READ", "BATCH_WRITE", "V1_BATCH_WRITE", "TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC")


class _TableWithColumns(Unmeasured, Proxy):
    """A table with columns.

    Args:
        jvm: The session's JVM.
        name: Name of the table, with the catalog's name.
        text: A description of the table, for comparing plans.
    """

    def __init__(self, jvm: Jvm, name: str, text: str) -> None:
        super().__init__(jvm, text)
        self._name = name
        self._lengths = True

    def _fields(self) -> list[StructField]:
        """The columns that Spark knows."""
        return []

    def _transforms(self) -> Iterable[Transform]:
        """The partitioning."""
        return ()

    def _properties(self) -> dict[str, str]:
        """The properties that Spark shows."""
        return {}

    @cached_property
    def _schema(self) -> Any:
        return self.jvm.schema(spark_columns(self._fields(), self._lengths))

    def name(self) -> str:
        """Table: the name in messages."""
        return self._name

    def id(self) -> None:
        """Table: no id, so that Spark does not compare tables with the same name."""
        return

    def version(self) -> None:
        """Table: no version, so that Spark does not load it again."""
        return

    @answers()
    def schema(self) -> Any:
        """Table: the columns."""
        return self._schema

    @answers()
    def columns(self) -> Any:
        """Table: the columns, with their defaults."""
        return self.jvm.columns(self._schema)

    @answers()
    def partitioning(self) -> Any:
        """Table: the transforms."""
        return partitioning_of(self.jvm, self._transforms())

    @answers()
    def properties(self) -> Any:
        """Table: the properties."""
        return self.jvm.map(self._properties())

    @answers()
    def constraints(self) -> Any:
        """Table: no constraints for Spark to check, since every write of this package checks them."""
        return self.jvm.array(self.jvm.view.org.apache.spark.sql.connector.catalog.constraints.Constraint, ())

    @answers()
    def capabilities(self) -> Any:
        """Table: its capabilities."""
        return self.jvm.enums(self.jvm.view.org.apache.spark.sql.connector.catalog.TableCapability, _CAPABILITIES)


class FileMetadata(Proxy):
    """The hidden column `_metadata`.

    Args:
        jvm: The session's JVM.
        fields: Its fields.
    """

    def __init__(self, jvm: Jvm, fields: Sequence[StructField]) -> None:
        super().__init__(jvm, f"{METADATA} with {', '.join(field.name for field in fields)}")
        self._fields = fields

    def name(self) -> str:
        """MetadataColumn: the name."""
        return METADATA

    @answers()
    def dataType(self) -> Any:
        """MetadataColumn: the struct."""
        return self.jvm.schema(metadata_schema(self._fields))

    def isNullable(self) -> bool:
        """MetadataColumn: never NULL."""
        return False

    def comment(self) -> None:
        """MetadataColumn: no comment, no transform, and no metadata of the column."""
        return

    transform = metadataInJSON = comment

    class Java:
        """The interfaces that Spark sees."""

        implements = (f"{_CATALOG}.MetadataColumn",)


class InstalledTable(_TableWithColumns):
    """A version of a table.

    Args:
        jvm: The session's JVM.
        name: Name of the catalog in the session.
        catalog: The catalog.
        ident: Name of the table.
        table: The table.
        travels: Whether the statement names a version, so that nothing can be written.
        latest: If the statement changes the table, returns the table at its latest version. Then Spark neither pads nor
            shortens values of type CHAR, as in delta-spark; the write checks their lengths.
    """

    def __init__(
        self,
        jvm: Jvm,
        name: str,
        catalog: TableCatalog,
        ident: CatalogIdentifier,
        table: DeltaTable,
        *,
        travels: bool = False,
        latest: Callable[[], DeltaTable] | None = None,
    ) -> None:
        self.parts = name, *ident.namespace, ident.name
        shown = display_name(self.parts)
        text = f"deltaskip table {shown} {table.metadata.id} at {table.uri} version {table.version}"
        # A statement changes no view of the table, and not what is cached of it.
        super().__init__(jvm, shown, text if latest is None else f"{text} to change")
        self.table = table
        self.catalog = catalog
        self._travels = travels
        self._lengths = latest is None
        self.latest = latest or (lambda: table)

    def _fields(self) -> list[StructField]:
        return visible_columns(self.table)

    def _transforms(self) -> Iterable[Transform]:
        return self.table.partitioning

    def _properties(self) -> dict[str, str]:
        return shown_properties(self.table)

    @answers()
    def metadataColumns(self) -> Any:
        """SupportsMetadataColumns: the column `_metadata`, unless the table has its own."""
        fields = metadata_fields(self.table.snapshot)
        of = self.jvm.view.org.apache.spark.sql.connector.catalog.MetadataColumn
        found = self.jvm.array(of, [None] if fields else ())
        if fields:
            # py4j cannot set elements of arrays to objects of this process.
            self.jvm.view.java.lang.reflect.Array.set(found, 0, FileMetadata(self.jvm, fields))
        return found

    def canRenameConflictingMetadataColumns(self) -> bool:
        """SupportsMetadataColumns: a table's own column has the name."""
        return False

    @answers()
    def newScanBuilder(self, _options: Any) -> Any:
        """SupportsRead: the builder of a scan."""
        return ScanBuilder(self.jvm, self.table, self._fields(), self.text)

    @answers()
    def newWriteBuilder(self, info: Any) -> Any:
        """SupportsWrite: the builder of a write."""
        self.check_latest()
        return WriteBuilder(self.jvm, Target(self.jvm, self._name, self.table), info, self.text)

    @answers()
    def truncateTable(self, _options: Any = None) -> bool:
        """TruncatableTable: delete all rows."""
        self.check_latest()
        self.table.delete(spark=self.jvm.spark)
        return True

    def check_latest(self) -> None:
        """Raise UnsupportedFeature for a version that the statement names."""
        if self._travels:
            raise UnsupportedFeature(f"The table {self._name} cannot be changed as of version {self.table.version}.")

    class Java:
        """The interfaces that Spark sees."""

        implements = tuple(f"{_CATALOG}.{name}" for name in _INTERFACES)


class TableToCommit(_TableWithColumns):
    """A table that is created or replaced together with its rows.

    Args:
        jvm: The session's JVM.
        catalog: Name of the catalog in the session.
        staged: The staged table.
        fields: The columns as in the statement.
        latest: Returns the latest version of the table that it replaces.
    """

    def __init__(
        self,
        jvm: Jvm,
        catalog: str,
        staged: StagedTable,
        fields: Iterable[StructField],
        latest: Callable[[], int],
    ) -> None:
        ident = staged.identifier
        name = display_name([catalog, *ident.namespace, ident.name])
        super().__init__(jvm, name, f"staged table {name} at {staged.location} #{id(staged)}")
        self._staged = staged
        self._given = list(fields)
        self._latest = latest

    def _fields(self) -> list[StructField]:
        return self._given

    def _transforms(self) -> Iterable[Transform]:
        return self._staged.partitioning

    def _properties(self) -> dict[str, str]:
        return {**self._staged.properties, "provider": "delta"}

    @answers()
    def newWriteBuilder(self, info: Any) -> Any:
        """SupportsWrite: the builder of a write."""
        target = Target(self.jvm, self._name, self._staged, self._latest)
        return WriteBuilder(self.jvm, target, info, self.text)

    @answers()
    def commitStagedChanges(self) -> None:
        """StagedTable: commit the table."""
        self._staged.commit_staged_changes()

    @answers()
    def abortStagedChanges(self) -> None:
        """StagedTable: discard the table and its files."""
        self._staged.abort_staged_changes()

    class Java:
        """The interfaces that Spark sees."""

        implements = tuple(f"{_CATALOG}.{name}" for name in ("StagedTable", "SupportsWrite"))
