"""Adding Parquet files of other writers: their contents are checked against the table, and committed.

The files are never copied, changed or deleted.
# PROTOCOL, Add File, Column Mapping, Identity Columns, Writer Requirements for IcebergCompatV1
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, table_key, table_keys
from deltaskip.actions.partition_folders import folder_pairs
from deltaskip.data_files.file_layout import layout_after, needs_partition_columns
from deltaskip.data_files.file_rules import NewFile, check_rules
from deltaskip.data_files.folder_values import FolderValues, given_texts
from deltaskip.data_files.given_files import GivenFile, find_files
from deltaskip.data_files.parquet_types import FileColumns, is_shredded
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.features.enabling import with_features
from deltaskip.features.identity_columns import identity_of
from deltaskip.features.registry import has_feature_or_preview, has_tree
from deltaskip.log import Snapshot
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import display_name, fold_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.footer import Footer, read_footer
from deltaskip.stats.footer_columns import ParquetNode, parquet_root
from deltaskip.stats.tags import written_tags
from deltaskip.storage import storage_for
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

_OPERATION = "ADD FILES"
# Round trips of footers overlap; more threads would wait for the GIL.
_FOOTER_READERS = 32
# Files that a thread takes at once: passing them one by one would cost as much as some footers.
_SHARE = 64
_INT96 = 3


def add_files(
    snapshot: Snapshot,
    paths: Sequence[str],
    partition_values: Mapping[str, object] | None = None,
    options: WriteOptions = PLAIN_WRITE,
) -> WriteResult:
    """Add files to the table, see DeltaTable.add_files."""

    def act(transaction: Transaction) -> Mapping[str, int]:
        transaction.set_parameters({"partitionBy": list(transaction.snapshot.partition_columns)})
        return add_files_to(transaction, paths, partition_values, options.time_zone)

    return commit_operation(snapshot, _OPERATION, act, options)


def add_files_to(
    transaction: Transaction,
    paths: Iterable[str],
    partition_values: Mapping[str, object] | None = None,
    time_zone: str = "UTC",
) -> dict[str, int]:
    """Add files to a transaction, and return Delta's metrics of a write.

    Args:
        transaction: The transaction. Its `discard` does not delete the files.
        paths: Files and folders; see DeltaTable.add_files.
        partition_values: Values of partition columns that all files have.
        time_zone: Time zone of timestamps in directory names, and of the expressions of the table.

    Raises:
        DataFileMissing: A file does not exist.
        InvalidArgument: A file is already in the table, or lacks a partition value.
        SchemaError: The columns of a file do not fit the table.
        RowViolation: A row violates a constraint.
        UnsupportedFeature: An expression of the table needs a Spark session.
        StorageError: A file cannot be read.
    """
    root = transaction.snapshot.root
    files = find_files(transaction.snapshot.storage, root, paths)
    _refuse_active(transaction.snapshot, files)
    layout = _layout(transaction, time_zone)
    given = given_texts(root, layout.partition_fields(), partition_values or {}, time_zone)
    return add_given_files(transaction, files, layout, given)


def add_given_files(
    transaction: Transaction,
    files: Sequence[GivenFile],
    layout: DataFileLayout | None = None,
    given: Mapping[str, str | None] | None = None,
    time_zone: str = "UTC",
    footers: Mapping[str, Footer] | None = None,
) -> dict[str, int]:
    """Add files that were found, and are not in the table, as `add_files_to` does; return the same numbers.

    footers: The footers that were read, by location.
    """
    layout = _layout(transaction, time_zone) if layout is None else layout
    _refuse_generated_identities(layout)
    check = _FileCheck(transaction, layout, given or {}, footers or {})
    found = [file for file in check.all(files) if file is not None]
    if check.shredded and not has_feature_or_preview(transaction.protocol, "variantShredding"):
        # PROTOCOL, Variant Data Type: without this feature, files have no typed_value.
        transaction.set_protocol(with_features(transaction.protocol, ["variantShredding"]))
    check_rules(transaction, found, layout.mapping_mode, layout.time_zone)
    transaction.add_written(*(file.add for file in found), inserted=True)
    return {
        "numFiles": len(found),
        "numOutputRows": sum(check.rows[file.location] for file in found),
        "numOutputBytes": sum(file.add.size for file in found),
    }


def _layout(transaction: Transaction, time_zone: str) -> DataFileLayout:
    state = transaction.protocol, transaction.metadata, transaction.schema, transaction.domains
    return layout_after(transaction.snapshot, *state, time_zone)


def _refuse_active(snapshot: Snapshot, files: Sequence[GivenFile]) -> None:
    keys = arrow_array([table_key(snapshot.table_root, file.path) for file in files], pa.string())
    active = table_keys(snapshot.table_root, snapshot.adds(["path"])["path"])
    known = pc.is_in(keys, value_set=active)
    if pc.any(known).as_py():
        path = files[known.index(True).as_py()].path
        raise InvalidArgument(
            f"The file {path} is in {snapshot.root} at version {snapshot.version} already; its rows would count twice."
        )


def _refuse_generated_identities(layout: DataFileLayout) -> None:
    """# PROTOCOL, Identity Columns: only writers generate values of a column that does not allow explicit ones."""
    for field in layout.schema.fields:
        identity = identity_of(field)
        if identity is not None and not identity.explicit:
            raise SchemaError(
                f"Files cannot be added to {layout.root}: its column {display_name([field.name])} is GENERATED ALWAYS "
                f"AS IDENTITY, and the values in files were not generated by the table. Append their rows instead."
            )


class _FileCheck:
    """Reads the footer of each file, and makes its add action if the file fits the table."""

    def __init__(
        self,
        transaction: Transaction,
        layout: DataFileLayout,
        given: Mapping[str, str | None],
        footers: Mapping[str, Footer],
    ) -> None:
        properties = TableProperties(transaction.metadata.configuration, layout.root)
        iceberg = properties.iceberg_compat_v1 or properties.iceberg_compat_v2 or properties.iceberg_compat_v3
        widening = has_feature_or_preview(transaction.protocol, "typeWidening")
        self._layout = layout
        self._columns = FileColumns(
            layout.schema,
            layout.partition_columns,
            layout.mapping_mode,
            widening,
            int96=not (iceberg or has_tree(transaction.protocol)),
            needs_ids=iceberg or has_tree(transaction.protocol),
            needs_partitions=needs_partition_columns(transaction.protocol, properties),
        )
        fields = layout.partition_fields()
        self._values = FolderValues(layout.root, fields, layout.mapping_mode, given, layout.time_zone)
        self._reader = FileReader(layout.request)
        self._footers = footers
        partitions = set(map(fold_name, layout.partition_columns))
        self._data = {fold_name(n) for n in layout.schema.names} - partitions
        # The columns of the last file; most files have the same.
        self._last: tuple[object, frozenset[str]] = (None, frozenset())
        self.rows: dict[str, int] = {}
        self.shredded = False

    def all(self, files: Sequence[GivenFile]) -> Iterator[NewFile | None]:
        """The files with their statistics; None for files without rows."""
        if len(files) < 2:
            yield from map(self._checked, files)
            return
        # Where footers prove too little, pyarrow reads values without the GIL.
        readers = _FOOTER_READERS if self._layout.storage.remote else os.cpu_count() or 1
        size = max(1, min(_SHARE, len(files) // (4 * readers)))
        shares = [files[start : start + size] for start in range(0, len(files), size)]
        with ThreadPoolExecutor(readers, "deltaskip") as pool:
            for found in pool.map(lambda share: list(map(self._checked, share)), shares):
                yield from found

    def _checked(self, file: GivenFile) -> NewFile | None:
        layout = self._layout
        storage = storage_for(file.location, None, layout.storage)
        footer = self._footers.get(file.location) or read_footer(storage, file.location, file.size)
        self._check_columns(file, footer)
        self.shredded |= is_shredded(footer, layout.schema)
        values = self._values.of(file.folders, file.path)
        facts = self._reader.facts(storage, file.location, size=file.size, footer=footer)
        if not facts.num_records:
            return None
        self.rows[file.location] = facts.num_records
        stats = stats_json(facts, layout.request)
        tags = written_tags(stats, layout.request.columns)
        add = AddFile(file.path, values, file.size, file.modified_ms, True, stats=stats, tags=tags)
        return NewFile(file.location, add, any(element.get(1) == _INT96 for element in footer.elements))

    def _check_columns(self, file: GivenFile, footer: Footer) -> None:
        known, names = self._last
        if footer.elements != known:
            root = parquet_root(footer.elements)
            why = self._columns.misfit(root) or self._without_number(root)
            if why is not None:
                raise SchemaError(f"The file {file.path} cannot be added to {self._layout.root}: {why}.")
            names = frozenset(fold_name(child.name) for child in root.children)
            self._last = footer.elements, names
        for name, value in folder_pairs(file.folders):
            if fold_name(name) in self._data and fold_name(name) not in names:
                raise SchemaError(
                    f"The file {file.path} cannot be added to {self._layout.root}: it lacks the column "
                    f"{display_name([name])}, and its folder {name}={value} gives a value only to a partition column."
                )

    def _without_number(self, root: ParquetNode) -> str | None:
        """Why the file cannot be added without values of an identity column."""
        for field in self._layout.schema.fields:
            if identity_of(field) is not None and self._columns.node_of(root, field) is None:
                return f"it lacks the identity column {display_name([field.name])}; append its rows instead"
        return None
