"""The changes of a table that `DeltaTable.alter` makes, as values. Names are those of Spark's TableChange.

# SPIP Spark API for Table Metadata, Table Changes; Spark 4.1, TableChange
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaskip.arguments import flag, text, unicode_text
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.schema.resolve import display_name
from deltaskip.stats.columns import parse_names

__all__ = [
    "FIRST",
    "AddColumn",
    "AddConstraint",
    "AddFeature",
    "After",
    "ClusterBy",
    "ColumnPath",
    "DeleteColumn",
    "DropConstraint",
    "DropDefault",
    "DropFeature",
    "First",
    "MoveColumn",
    "Position",
    "RemoveProperty",
    "RenameColumn",
    "ReplaceColumns",
    "SetComment",
    "SetDefault",
    "SetProperty",
    "SyncIdentity",
    "TableChange",
    "UpdateColumn",
    "UpdateColumnComment",
    "UpdateColumnNullability",
    "column_path",
]

ColumnPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class First:
    """The position before all other fields; use the constant FIRST."""

    def __str__(self) -> str:
        return "FIRST"


FIRST = First()
"""The position before all other fields of the struct, or before all other columns."""


@dataclass(frozen=True, slots=True)
class After:
    """The position after another field of the same struct, or after another column.

    Attributes:
        column: Name of the other field, without the path to it, in any letter case.
    """

    column: str

    def __post_init__(self) -> None:
        unicode_text("column", self.column)

    def __str__(self) -> str:
        return f"AFTER {display_name([self.column])}"


Position = First | After


class TableChange:
    """Base class of the changes that `DeltaTable.alter` accepts."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class AddColumn(TableChange):
    """Add a nullable column, or a field to a struct. Existing rows have NULL there.

    Attributes:
        column: Name of the new column, such as "price" or "address.city"; dots go through structs, and through
            `element`, `key` and `value` of arrays and maps. A name that contains a dot is put in backticks, or given as
            a tuple of its parts.
        type: The type as SQL text such as "DECIMAL(10,2)" or "STRING COLLATE UNICODE_CI", or a type of PySpark, Arrow
            or deltaskip.
        comment: The column's comment.
        nullable: True; existing rows have no value for a column that is NOT NULL, so that False is refused.
        position: FIRST, After("name"), or None for the end.
    """

    column: str | Sequence[str]
    type: Any
    comment: str | None = None
    nullable: bool = True
    position: First | After | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        _check_comment(self.comment)
        _check_position(self.position)
        flag("nullable", self.nullable)


@dataclass(frozen=True, slots=True)
class DeleteColumn(TableChange):
    """Drop a column or a field of a struct. The table must have column mapping; data files are not rewritten.

    Attributes:
        column: Name of the column, as in AddColumn.
        if_exists: Whether a column that does not exist is no error.
    """

    column: str | Sequence[str]
    if_exists: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        flag("if_exists", self.if_exists)


@dataclass(frozen=True, slots=True)
class RenameColumn(TableChange):
    """Rename a column or a field of a struct, which stays where it is. The table must have column mapping.

    Attributes:
        column: Name of the column, as in AddColumn.
        new_name: The new name of the field, without a path.
    """

    column: str | Sequence[str]
    new_name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        if not unicode_text("new_name", self.new_name):
            raise InvalidArgument("new_name must not be empty.")


@dataclass(frozen=True, slots=True)
class UpdateColumn(TableChange):
    """Change the type of a column to a wider one.

    The table must have `delta.enableTypeWidening`, except for VARCHAR(n) with a greater length and for STRING.

    Attributes:
        column: Name of the column, as in AddColumn; it may end in `element`, `key` or `value`.
        type: The new type, as in AddColumn.
    """

    column: str | Sequence[str]
    type: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))


@dataclass(frozen=True, slots=True)
class UpdateColumnComment(TableChange):
    """Set the comment of a column or field.

    Attributes:
        column: Name of the column, as in AddColumn.
        comment: The comment; None removes it.
    """

    column: str | Sequence[str]
    comment: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        _check_comment(self.comment)


@dataclass(frozen=True, slots=True)
class UpdateColumnNullability(TableChange):
    """Allow NULL in a column that is NOT NULL. The converse is refused; add a CHECK constraint instead.

    Attributes:
        column: Name of the column, as in AddColumn.
        nullable: Whether the column may contain NULL.
    """

    column: str | Sequence[str]
    nullable: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        flag("nullable", self.nullable)


@dataclass(frozen=True, slots=True)
class MoveColumn(TableChange):
    """Move a column, or a field inside its struct.

    Attributes:
        column: Name of the column, as in AddColumn.
        position: FIRST, After("name"), or the new position counted from 0.
    """

    column: str | Sequence[str]
    position: First | After | int

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        if isinstance(self.position, int) and not isinstance(self.position, bool):
            if self.position < 0:
                raise InvalidArgument(f"position must be 0 or greater, not {self.position}.")
        elif self.position is None:
            raise InvalidArgumentType.of("position", "FIRST, After(name) or an int", self.position)
        else:
            _check_position(self.position)


@dataclass(frozen=True, slots=True)
class SetDefault(TableChange):
    """Set the default of a column, for rows that are written from now on. Existing rows keep their values.

    Attributes:
        column: Name of a top-level column.
        expression: A constant expression as SQL text, such as "0" or "current_date()".
    """

    column: str | Sequence[str]
    expression: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        unicode_text("expression", self.expression)


@dataclass(frozen=True, slots=True)
class DropDefault(TableChange):
    """Remove the default of a column, if it has one.

    Attributes:
        column: Name of a top-level column.
    """

    column: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))


@dataclass(frozen=True, slots=True)
class SyncIdentity(TableChange):
    """Move the high-water mark of an identity column past the values that it contains, given ones included.

    Attributes:
        column: Name of the identity column.
    """

    column: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))


@dataclass(frozen=True, slots=True)
class ReplaceColumns(TableChange):
    """Replace the columns by those of a schema.

    Columns with the same name keep their rows' values and must have the same type, the others are dropped and added.
    A column is never renamed.

    Attributes:
        schema: The new columns, as in DeltaTable.create.
    """

    schema: Any


@dataclass(frozen=True, slots=True)
class SetProperty(TableChange):
    """Set a table property. The table gets the table features that the property needs.

    Attributes:
        property: Name of the property. `delta.feature.NAME` with the value "supported" adds a table feature.
        value: Its value, as text.
    """

    property: str
    value: str

    def __post_init__(self) -> None:
        if not unicode_text("property", self.property):
            raise InvalidArgument("The name of a property must not be empty.")
        unicode_text(f"The value of the property {self.property}", self.value)


@dataclass(frozen=True, slots=True)
class RemoveProperty(TableChange):
    """Remove a table property.

    Attributes:
        property: Name of the property.
        if_exists: Whether a property that is not set is no error.
    """

    property: str
    if_exists: bool = False

    def __post_init__(self) -> None:
        unicode_text("property", self.property)
        flag("if_exists", self.if_exists)


@dataclass(frozen=True, slots=True)
class SetComment(TableChange):
    """Set the description of the table.

    Attributes:
        comment: The description; None removes it.
    """

    comment: str | None

    def __post_init__(self) -> None:
        _check_comment(self.comment)


@dataclass(frozen=True, slots=True)
class AddConstraint(TableChange):
    """Add a CHECK constraint. Every existing row must satisfy it; files whose statistics prove that are not read.

    Attributes:
        name: Name of the constraint; letter case does not count.
        expression: A condition as SQL text. NULL violates it.
    """

    name: str
    expression: str

    def __post_init__(self) -> None:
        if not unicode_text("name", self.name):
            raise InvalidArgument("The name of a constraint must not be empty.")
        unicode_text("expression", self.expression)


@dataclass(frozen=True, slots=True)
class DropConstraint(TableChange):
    """Drop a CHECK constraint.

    Attributes:
        name: Name of the constraint; letter case does not count.
        if_exists: Whether a constraint that does not exist is no error.
    """

    name: str
    if_exists: bool = False

    def __post_init__(self) -> None:
        unicode_text("name", self.name)
        flag("if_exists", self.if_exists)


@dataclass(frozen=True, slots=True, init=False)
class ClusterBy(TableChange):
    """Set the clustering columns of a table without partition columns. Existing files stay as they are.

    ClusterBy("a", "st.b") has two columns; ClusterBy() ends clustering of new files.

    Attributes:
        columns: Names of at most four columns with statistics, as in AddColumn.
    """

    columns: tuple[tuple[str, ...], ...] = field(default=())

    def __init__(self, *columns: str | Sequence[str]) -> None:
        object.__setattr__(self, "columns", tuple(column_path("columns", each) for each in columns))


@dataclass(frozen=True, slots=True)
class AddFeature(TableChange):
    """Add a table feature to the protocol, with the features that it requires.

    Attributes:
        feature: Name of the feature in the protocol, such as "deletionVectors".
    """

    feature: str

    def __post_init__(self) -> None:
        text("feature", self.feature)


@dataclass(frozen=True, slots=True)
class DropFeature(TableChange):
    """Drop a table feature from the protocol; see DeltaTable.drop_feature.

    Attributes:
        feature: Name of the feature in the protocol.
        truncate_history: Whether versions that need the feature are deleted from the log, instead of protected by the
            feature checkpointProtection.
    """

    feature: str
    truncate_history: bool = False

    def __post_init__(self) -> None:
        text("feature", self.feature)
        flag("truncate_history", self.truncate_history)


def column_path(argument: str, column: object) -> ColumnPath:
    """Return the parts of a column's name: a text with dots between them, or a sequence of parts.

    Raises InvalidArgument for a text that is no name, and InvalidArgumentType for other values.
    """
    if isinstance(column, str):
        names = parse_names(unicode_text(argument, column), argument, InvalidArgument)
        if len(names) != 1:
            raise InvalidArgument(f"{argument} must be the name of one column, not {column!r}.")
        return names[0]
    if isinstance(column, Sequence) and column and all(isinstance(part, str) for part in column):
        return tuple(unicode_text(argument, part) for part in column)
    raise InvalidArgumentType.of(argument, "the name of a column, or a tuple of its parts", column)


def _check_comment(comment: str | None) -> None:
    if comment is not None:
        unicode_text("comment", comment)


def _check_position(position: object) -> None:
    if position is not None and not isinstance(position, First | After):
        raise InvalidArgumentType.of("position", "FIRST or After(name)", position)
