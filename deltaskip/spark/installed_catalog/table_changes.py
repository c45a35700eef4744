"""Changes of tables and namespaces, from Spark's objects to those of this package."""

from __future__ import annotations

from typing import Any

from deltaskip.alter.changes import (
    FIRST,
    AddColumn,
    AddConstraint,
    After,
    ClusterBy,
    DeleteColumn,
    DropConstraint,
    DropDefault,
    First,
    MoveColumn,
    RemoveProperty,
    RenameColumn,
    SetDefault,
    SetProperty,
    TableChange,
    UpdateColumn,
    UpdateColumnComment,
    UpdateColumnNullability,
)
from deltaskip.errors import UnsupportedFeature
from deltaskip.schema.resolve import display_name

__all__ = ["namespace_change", "table_changes"]


def table_changes(change: Any) -> list[TableChange]:
    """Return a change of a table; a column with a default is added first. Raises UnsupportedFeature for other ones."""
    match change.getClass().getSimpleName():
        case "AddColumn":
            return _add_column(change)
        case "RenameColumn":
            return [RenameColumn(_path(change), change.newName())]
        case "UpdateColumnType":
            return [UpdateColumn(_path(change), _type(change.newDataType()))]
        case "UpdateColumnNullability":
            return [UpdateColumnNullability(_path(change), bool(change.nullable()))]
        case "UpdateColumnComment":
            return [UpdateColumnComment(_path(change), change.newComment())]
        case "UpdateColumnPosition":
            position = _position(change.position())
            return [] if position is None else [MoveColumn(_path(change), position)]
        case "UpdateColumnDefaultValue":
            text = change.newDefaultValue()
            return [SetDefault(_path(change), text) if text else DropDefault(_path(change))]
        case "DeleteColumn":
            return [DeleteColumn(_path(change), bool(change.ifExists()))]
        case "SetProperty":
            return [SetProperty(change.property(), change.value())]
        case "RemoveProperty":
            # Spark passes the name alone, whether or not the statement has IF EXISTS.
            return [RemoveProperty(change.property(), if_exists=True)]
        case "ClusterBy":
            return [ClusterBy(*(tuple(map(str, each.fieldNames())) for each in change.clusteringColumns()))]
        case "AddConstraint" if change.constraint().getClass().getSimpleName() == "Check":
            return [AddConstraint(change.constraint().name(), change.constraint().predicateSql())]
        case "DropConstraint":
            return [DropConstraint(change.name(), bool(change.ifExists()))]
        case other:
            raise UnsupportedFeature(f"The change {other} of a table is not one that Delta tables have: {change}.")


def namespace_change(change: Any) -> SetProperty | RemoveProperty:
    """Return a change of a namespace."""
    if change.getClass().getSimpleName() == "SetProperty":
        return SetProperty(change.property(), change.value())
    return RemoveProperty(change.property(), if_exists=True)


def _add_column(change: Any) -> list[TableChange]:
    path = _path(change)
    if change.defaultValue() is not None:
        raise UnsupportedFeature(
            f"The column {display_name(path)} cannot be added with a default, because rows that are there would need "
            f"a value: add it first, and then write ALTER COLUMN … SET DEFAULT."
        )
    position = None if change.position() is None else _position(change.position())
    return [AddColumn(path, _type(change.dataType()), change.comment(), bool(change.isNullable()), position)]


def _path(change: Any) -> tuple[str, ...]:
    return tuple(str(part) for part in change.fieldNames())


def _position(position: Any) -> First | After | None:
    if position is None:
        return None
    return FIRST if position.getClass().getSimpleName() == "First" else After(position.column())


def _type(data_type: Any) -> str:
    """The type as SQL text, with collations and declared lengths."""
    return str(data_type.sql())
