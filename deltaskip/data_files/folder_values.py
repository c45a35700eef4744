"""Partition values of files of other writers, from directory names or from the caller.

# Hive's layout: directories `name=value`, with characters escaped as `%XX`; delta-spark's CONVERT TO DELTA
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa

from deltaskip.actions import PartitionValueError, parse_partition_value, serialize_partition_value
from deltaskip.actions.partition_folders import folder_pairs
from deltaskip.actions.partition_values import partition_texts
from deltaskip.errors import InvalidArgument, InvalidArgumentType, SchemaError
from deltaskip.rows.arrow_layout import plain_array
from deltaskip.rows.arrow_store import ArrowTarget, store_array
from deltaskip.rows.store import check_assignable
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import exactly
from deltaskip.sparkexpr.values.calendar import zone_of

_INTEGERS = (t.BYTE, t.SHORT, t.INTEGER, t.LONG)


class FolderValues:
    """Finds the partition values of files, as serialized in the log.

    Args:
        table: Location of the table, for messages.
        columns: The partition columns.
        mode: Column mapping mode of the table.
        given: The serialized value that all files have, by the column's name; see `given_texts`.
        time_zone: Time zone of timestamps in directory names.
    """

    def __init__(
        self,
        table: str,
        columns: Sequence[t.StructField],
        mode: t.MappingMode = "none",
        given: Mapping[str, str | None] | None = None,
        time_zone: str = "UTC",
    ) -> None:
        self._table = table
        self._columns = columns
        self._mode = mode
        self._given = given or {}
        self._time_zone = time_zone
        self._names = {t.fold_name(name): f for f in columns for name in (t.physical_name(f, mode), f.name)}
        self._known: dict[tuple[str, ...], dict[str, str | None]] = {}

    def of(self, folders: tuple[str, ...], path: str) -> dict[str, str | None]:
        """Return the value of each partition column by physical name.

        Args:
            folders: Names of the directories above the file.
            path: The file, for messages.

        Raises:
            InvalidArgument: A column has no value or two, or a value is not of the column's type.
        """
        found = self._known.get(folders)
        if found is None:
            found = self._known[folders] = self._found(folders, path)
        return found

    def _found(self, folders: tuple[str, ...], path: str) -> dict[str, str | None]:
        texts: dict[str, str | None] = dict(self._given)
        for name, value in folder_pairs(folders):
            field = self._names.get(t.fold_name(name))
            if field is None:
                continue
            try:
                text = log_text(value, field.type, self._time_zone)
            except PartitionValueError as error:
                raise InvalidArgument(
                    f"The folder {name}={value} of {path} does not name a value of the partition column "
                    f"{t.display_name([field.name])} of {self._table}, which is {t.simple_string(field.type).upper()}: "
                    f"{error}. Rename the folder, or give another type to the column."
                ) from error
            if texts.setdefault(field.name, text) != text:
                raise InvalidArgument(
                    f"The file {path} has two values of the partition column {t.display_name([field.name])} of "
                    f"{self._table}: {texts[field.name]!r} and {text!r}. Move it, or correct partition_values."
                )
        values = {}
        for field in self._columns:
            if field.name not in texts:
                raise InvalidArgument(
                    f"The file {path} has no value of the partition column {t.display_name([field.name])} of "
                    f"{self._table}: it needs a folder {field.name}=VALUE above it, or partition_values with the value "
                    f"of all files."
                )
            if texts[field.name] is None and not field.nullable:
                raise InvalidArgument(
                    f"The partition column {t.display_name([field.name])} of {self._table} is NOT NULL, and the file "
                    f"{path} has no value for it."
                )
            values[t.physical_name(field, self._mode)] = texts[field.name]
        return values


def given_texts(
    table: str, columns: Sequence[t.StructField], values: Mapping[str, object], time_zone: str
) -> dict[str, str | None]:
    """Return the given value of each partition column, as serialized in the log, by the column's name.

    Args:
        table: Location of the table, for messages.
        columns: The partition columns.
        values: Values by name, in any letter case; a string stands for the value of a directory with this name.
        time_zone: Time zone of timestamps without one.

    Raises:
        InvalidArgument: A partition column does not exist, or a value does not have its type.
        InvalidArgumentType: A value has no counterpart in Delta.
    """
    by_name = {t.fold_name(field.name): field for field in columns}
    found: dict[str, str | None] = {}
    for name, value in values.items():
        field = by_name.get(t.fold_name(name)) if isinstance(name, str) else None
        if field is None or field.name in found:
            listed = ", ".join(t.display_name([each.name]) for each in columns) or "none"
            what = "is given twice in partition_values" if field is not None else "is not a partition column"
            raise InvalidArgument(f"{name!r} {what} of {table}; its partition columns are {listed}.")
        try:
            found[field.name] = _text_of(value, field, table, time_zone)
        except PartitionValueError as error:
            raise InvalidArgument(
                f"The value of the partition column {t.display_name([field.name])} of {table} is not of its type: "
                f"{error}."
            ) from error
    return found


def log_text(text: str | None, data_type: t.DataType, time_zone: str) -> str | None:
    """Return a directory's value as serialized in the log. Raises PartitionValueError if it is not an exact value.

    Spark would cut `7.9` to 7 and round decimals, which changes values without notice.
    """
    value = parse_partition_value(text, data_type, time_zone)
    if text and value is not None:
        cut = data_type in _INTEGERS and "." in text
        rounded = isinstance(data_type, t.DecimalType) and isinstance(value, Decimal) and exactly(text.strip()) != value
        if cut or rounded:
            raise PartitionValueError(f"{text!r} is not exactly a value of type {t.simple_string(data_type)}")
    return serialize_partition_value(value, data_type)


def _text_of(value: object, field: t.StructField, table: str, time_zone: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and field.type != t.STRING:
        return log_text(value, field.type, time_zone)
    try:
        array = pa.array([value])
        source = t.from_arrow_type(array.type)
    except (pa.ArrowException, SchemaError, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentType.of(
            f"The value of {field.name} in partition_values", f"a value of {t.simple_string(field.type)}", value
        ) from error
    check_assignable(source, field.type, (field.name,), table)
    array = plain_array(array, source, (field.name,), table)
    stored = store_array(array, field.type, (field.name,), ArrowTarget(table, zone_of(time_zone)))
    text: str | None = partition_texts(stored, field.type)[0].as_py()
    return text
