"""Converts a folder of Parquet files to a table in place: the schema from the files, partitions from directory names.

# delta-spark's CONVERT TO DELTA: ConvertToDeltaCommand, ConvertUtils, SchemaMergingUtils
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from deltaskip.actions import parse_partition_value
from deltaskip.actions.partition_folders import folder_pairs
from deltaskip.actions.partition_values import PartitionValueError
from deltaskip.data_files.add_files import add_given_files
from deltaskip.data_files.folder_values import log_text
from deltaskip.data_files.given_files import GivenFile, find_files
from deltaskip.data_files.parquet_types import file_schema
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.records import dataclass
from deltaskip.rows.schema_merge import replaced_schema
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.ddl import type_text
from deltaskip.stats.footer import Footer, read_footer
from deltaskip.storage import Storage
from deltaskip.txn.transaction import Transaction

CONVERT = "CONVERT"
_FOOTER_READERS = 32
_INTEGERS: tuple[t.DataType, ...] = (t.BYTE, t.SHORT, t.INTEGER)
# The types that the message about a missing partition schema proposes, narrowest first.
_PROPOSED = (t.INTEGER, t.LONG, t.DATE, t.TIMESTAMP)


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """The contents of a folder of Parquet files.

    Attributes:
        root: Location of the folder.
        schema: The columns of all files and of the partitions.
        partition_columns: Names of the partition columns.
        files: The files.
        footers: The footer of each file, by location.
    """

    root: str
    schema: t.StructType
    partition_columns: tuple[str, ...]
    files: tuple[GivenFile, ...]
    footers: Mapping[str, Footer]

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the operation in the table's history."""
        return {
            "numFiles": len(self.files),
            "partitionedBy": list(self.partition_columns),
            "collectStats": True,
            "sourceFormat": "parquet",
        }


def read_folder(
    storage: Storage,
    root: str,
    partition_schema: t.StructType | None = None,
    time_zone: str = "UTC",
    nanoseconds: bool = True,
) -> ParquetFolder:
    """Return the contents of a folder. Columns are nullable, and the columns of several files are merged.

    Args:
        storage: Storage of the folder.
        root: Location of the folder.
        partition_schema: The partition columns, in the order of the directories.
        time_zone: Time zone of timestamps in directory names.
        nanoseconds: Whether the table may have columns of nanoseconds.

    Raises:
        DataFileMissing: The folder does not exist, or contains no data files.
        SchemaError: The files have columns of one name and types that cannot be merged, or a type that Spark does not
            read.
        InvalidArgument: The directories above a file do not match the partition columns.
        StorageError: A file cannot be read.
    """
    files = find_files(storage, root, [root])
    partitions = partition_schema or t.StructType()
    for file in files:
        _check_folders(root, file, files, partitions, time_zone)

    def footer(file: GivenFile) -> Footer:
        return read_footer(storage, file.location, file.size)

    if storage.remote:
        with ThreadPoolExecutor(_FOOTER_READERS, "deltaskip") as pool:
            read = list(pool.map(footer, files))
    else:
        read = list(map(footer, files))
    footers = {file.location: found for file, found in zip(files, read, strict=True)}
    merged = _merged(root, files, footers)
    fine = [each.name for each in merged.fields if any(inner in t.NANOSECONDS for inner in t.nested_types(each.type))]
    if fine and not nanoseconds:
        raise SchemaError(
            f"{root} cannot be converted: {_shown(fine[0])} has nanoseconds, which Spark cannot read. If that is "
            f"wanted, give properties={{'delta.feature.timestampNanos': 'supported'}}."
        )
    schema = _with_partitions(merged, partitions)
    return ParquetFolder(root, schema, partitions.names, tuple(files), footers)


def add_folder(transaction: Transaction, folder: ParquetFolder, time_zone: str = "UTC") -> None:
    """Add the files to the transaction that creates the table.

    Raises as add_files_to does.
    """
    written = add_given_files(transaction, folder.files, time_zone=time_zone, footers=folder.footers)
    transaction.set_metrics({"numConvertedFiles": written["numFiles"]})


def _check_folders(
    root: str, file: GivenFile, files: Sequence[GivenFile], partitions: t.StructType, time_zone: str
) -> None:
    found = [name for name, _ in folder_pairs(file.folders)]
    if list(map(t.fold_name, found)) == [t.fold_name(name) for name in partitions.names]:
        return
    expected = ", ".join(map(_shown, partitions.names)) or "no partition columns"
    proposed = _proposed(files, time_zone) if found else ""
    cure = f": pass partition_schema={proposed!r}" if proposed else ""
    raise InvalidArgument(
        f"{root} cannot be converted: partition_schema has {expected}, and the folders above {file.path} are named for "
        f"{', '.join(map(_shown, found)) or 'none'}{cure}."
    )


def _proposed(files: Sequence[GivenFile], time_zone: str) -> str:
    """The partition columns that fit all directory names, as DDL text; "" if the files have different ones."""
    values: dict[str, set[str | None]] = {}
    levels = {tuple(t.fold_name(name) for name, _ in folder_pairs(file.folders)) for file in files}
    if len(levels) != 1:
        return ""
    for file in files:
        for name, value in folder_pairs(file.folders):
            values.setdefault(name, set()).add(value)
    return ", ".join(f"{_shown(name)} {_fitting(found, time_zone)}" for name, found in values.items())


def _fitting(values: set[str | None], time_zone: str) -> str:
    texts = [value for value in values if value]
    for data_type in _PROPOSED if texts else ():
        try:
            if all(_spells(text, data_type, time_zone) for text in texts):
                return type_text(data_type).upper()
        except PartitionValueError:
            continue
    return "STRING"


def _spells(text: str, data_type: t.DataType, time_zone: str) -> bool:
    """Whether the text is exactly a value of the type, so that no digit is lost."""
    if data_type == t.TIMESTAMP:
        return ":" in text and parse_partition_value(text, data_type, time_zone) is not None
    return log_text(text, data_type, time_zone) == text and parse_partition_value(text, data_type) is not None


def _merged(root: str, files: Sequence[GivenFile], footers: Mapping[str, Footer]) -> t.StructType:
    merged: t.StructType | None = None
    seen: list[object] = []
    origins: dict[tuple[str, ...], str] = {}
    for file in files:
        footer = footers[file.location]
        # Most files have the columns of the one before them.
        known: list[object] = [footer.elements, footer.key_values]
        if known == seen:
            continue
        seen = known
        try:
            schema = file_schema(footer)
        except (SchemaError, ValueError) as error:
            raise SchemaError(f"{root} cannot be converted: in the file {file.path}, {error}") from error
        schema = replaced_schema(schema, root)
        merge = _MergedColumns(root, file.path, origins)
        merged = merge.noted(schema) if merged is None else merge.struct(merged, schema, ())
    assert merged is not None
    return merged


@dataclass(frozen=True, slots=True)
class _MergedColumns:
    """The merge of one file's columns into those of the files before it. origins: the first file with each column."""

    root: str
    path: str
    origins: dict[tuple[str, ...], str]

    def noted(self, struct: t.StructType) -> t.StructType:
        """The struct of the first file."""
        return self.struct(t.StructType(), struct, ())

    def struct(self, before: t.StructType, found: t.StructType, above: tuple[str, ...]) -> t.StructType:
        """The fields of both, new ones at the end."""
        new = {t.fold_name(field.name): field for field in found.fields}
        fields = []
        for field in before.fields:
            other = new.pop(t.fold_name(field.name), None)
            fields.append(field if other is None else self._field(field, other, (*above, field.name)))
        for field in new.values():
            self.origins[*above, field.name] = self.path
        return t.StructType((*fields, *new.values()))

    def _field(self, before: t.StructField, found: t.StructField, path: tuple[str, ...]) -> t.StructField:
        if before.name != found.name:
            self._conflict(path, f"is spelled {_shown(before.name)}", f"{_shown(found.name)}")
        return t.StructField(before.name, self._type(before.type, found.type, path), True, before.metadata)

    def _type(self, before: t.DataType, found: t.DataType, path: tuple[str, ...]) -> t.DataType:
        match before, found:
            case t.StructType(), t.StructType():
                return self.struct(before, found, path)
            case t.ArrayType(old), t.ArrayType(new):
                return t.ArrayType(self._type(old, new, (*path, "element")))
            case t.MapType(old_key, old_value), t.MapType(key, value):
                return t.MapType(
                    self._type(old_key, key, (*path, "key")), self._type(old_value, value, (*path, "value"))
                )
            case _ if before in _INTEGERS and found in _INTEGERS:
                return max(before, found, key=_INTEGERS.index)
            case _ if before != found:
                self._conflict(path, f"is {type_text(before).upper()}", type_text(found).upper())
        return before

    def _conflict(self, path: tuple[str, ...], before: str, found: str) -> None:
        first = next((self.origins[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.origins), "")
        raise SchemaError(
            f"{self.root} cannot be converted: the column {t.display_name(path)} {before} in {first} and {found} in "
            f"{self.path}. Rewrite one of the files."
        )


def _with_partitions(data: t.StructType, partitions: t.StructType) -> t.StructType:
    """The columns of the files, with partition columns replacing columns of the same name or at the end."""
    left = {t.fold_name(field.name): field for field in partitions.fields}
    fields = [left.pop(t.fold_name(field.name), field) for field in data.fields]
    return t.StructType((*fields, *left.values()))


def _shown(name: str) -> str:
    return t.display_name([name])
