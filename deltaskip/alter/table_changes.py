"""The changes of a table that `DeltaTable.alter` makes, as values, named after Spark's TableChange.

# SPIP Spark API for Table Metadata, Table Changes; Spark 4.1, TableChange
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from deltaskip.arguments import flag, property_text, text, unicode_text
from deltaskip.doors import door
from deltaskip.errors import InvalidArgument, InvalidArgumentType, OptionAdvice, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import column_path, display_name

IF_EXISTS = OptionAdvice("if_exists", True)


@dataclass(frozen=True, slots=True)
class First:
    """The position before all other fields; use the constant FIRST."""

    def __str__(self) -> str:
        return "FIRST"


FIRST = First()
"""The position before all other fields of the struct, or before all other columns."""


@door
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


@door
@dataclass(frozen=True, slots=True, init=False)
class AddColumn(TableChange):
    """Add a nullable column, or a field to a struct. Existing rows have NULL there.

    AddColumn("address.city", "STRING", "where") can also be written as in the SPIP: AddColumn(parent=["address"],
    name="city", type="STRING", comment="where"), or with the first three or four of these by position. The parent is
    then a list, or the second argument is not a type; [] is the parent of a top-level column.

    Attributes:
        column: Name of the new column, such as "price" or "address.city"; dots go through structs, and through
            `element`, `key` and `value` of arrays and maps. A name that contains a dot is put in backticks, or given as
            a tuple of its parts.
        type: The type as SQL text such as "DECIMAL(10,2)" or "STRING COLLATE UNICODE_CI", or a type of PySpark, Arrow
            or deltaskip.
        comment: The column's comment.
        nullable: True. False is refused, because existing rows have no value for a column that is NOT NULL.
        position: FIRST, After("name"), or None for the end.
    """

    # SPIP, Table Changes: AddColumn(List<String> parent, String name, DataType type, String cmnt)

    column: str | Sequence[str]
    type: Any
    comment: str | None = None
    nullable: bool = True
    position: First | After | None = None

    def __init__(
        self,
        column: str | Sequence[str] | None = None,
        type: Any = None,
        comment: Any = None,
        nullable: Any = True,
        position: First | After | None = None,
        *,
        parent: str | Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        if name is None and parent is None and isinstance(type, str):
            # parent, name, type and comment: `nullable` is a bool otherwise.
            if nullable is None or isinstance(nullable, str):
                parent, name, type, comment, nullable, column = column, type, comment, nullable, True, None
            elif comment is not None and _is_parent_first(column, type, comment):
                parent, name, type, comment, column = column, type, comment, None, None
        path = _new_path(column, parent, name)
        if type is None:
            raise InvalidArgumentType.of("type", "a type such as 'BIGINT'", type)
        _check_comment(comment)
        _check_position(position)
        values = (path, type, comment, flag("nullable", nullable), position)
        for attribute, value in zip(("column", "type", "comment", "nullable", "position"), values, strict=True):
            object.__setattr__(self, attribute, value)


def _is_parent_first(first: object, second: str, third: object) -> bool:
    """Whether three arguments are parent, name and type, not column, type and comment."""
    return _is_type(third) and (isinstance(first, list) or not first or not _is_type(second))


def _is_type(value: object) -> bool:
    # Importing deltaskip does not import the parser of types.
    from deltaskip.schema.user_schema import field_of

    try:
        field_of("column", value)
    except (SchemaError, InvalidArgumentType):
        return False
    return True


def _new_path(column: object, parent: object, name: object) -> tuple[str, ...]:
    """The path of a new column, from the path or from a parent and a name."""
    if name is None:
        if parent is not None:
            raise InvalidArgument("A column that has a parent needs a name.")
        return column_path("column", column)
    if column is not None:
        raise InvalidArgument("Specify either the column, or its parent and name, not both.")
    if not unicode_text("name", name):
        raise InvalidArgument("The name of a column must not be empty.")
    above = () if parent is None or parent == "" or parent == () or parent == [] else column_path("parent", parent)
    return (*above, str(name))


@door
@dataclass(frozen=True, slots=True)
class DeleteColumn(TableChange):
    """Drop a column or a field of a struct. The table must have column mapping; data files are not rewritten.

    Attributes:
        column: Name of the column, as in AddColumn.
        if_exists: Whether to ignore a column that does not exist.
    """

    column: str | Sequence[str]
    if_exists: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        flag("if_exists", self.if_exists)


@door
@dataclass(frozen=True, slots=True)
class RenameColumn(TableChange):
    """Rename a column or a field of a struct in place. The table must have column mapping.

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


@door
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


@door
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


@door
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


@door
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


@door
@dataclass(frozen=True, slots=True)
class SetDefault(TableChange):
    """Set the default of a column for new rows. Existing rows keep their values.

    Attributes:
        column: Name of a top-level column.
        expression: A constant expression as SQL text, such as "0" or "current_date()".
    """

    column: str | Sequence[str]
    expression: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))
        unicode_text("expression", self.expression)


@door
@dataclass(frozen=True, slots=True)
class DropDefault(TableChange):
    """Remove the default of a column, if it has one.

    Attributes:
        column: Name of a top-level column.
    """

    column: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))


@door
@dataclass(frozen=True, slots=True)
class SyncIdentity(TableChange):
    """Move the high-water mark of an identity column past the values that it contains, including given ones.

    Attributes:
        column: Name of the identity column.
    """

    column: str | Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_path("column", self.column))


@door
@dataclass(frozen=True, slots=True)
class ReplaceColumns(TableChange):
    """Replace the columns by the columns of a schema.

    Columns with the same name keep their values and must have the same type; the others are dropped and added.
    A column is never renamed.

    Attributes:
        schema: The new columns, as in DeltaTable.create.
    """

    schema: Any


@door
@dataclass(frozen=True, slots=True)
class SetProperty(TableChange):
    """Set a table property, and add the table features that it needs.

    Attributes:
        property: Name of the property. `delta.feature.NAME` with the value "supported" adds a table feature.
        value: Its value, as a string.
    """

    property: str
    value: str

    def __post_init__(self) -> None:
        if not unicode_text("property", self.property):
            raise InvalidArgument("The name of a property must not be empty.")
        what = f"The value of the property {self.property}"
        unicode_text(what, property_text(what, self.value))


@door
@dataclass(frozen=True, slots=True)
class RemoveProperty(TableChange):
    """Remove a table property.

    Attributes:
        property: Name of the property.
        if_exists: Whether to ignore a property that is not set.
    """

    property: str
    if_exists: bool = False

    def __post_init__(self) -> None:
        unicode_text("property", self.property)
        flag("if_exists", self.if_exists)


@door
@dataclass(frozen=True, slots=True)
class SetComment(TableChange):
    """Set the description of the table.

    Attributes:
        comment: The description; None removes it.
    """

    comment: str | None

    def __post_init__(self) -> None:
        _check_comment(self.comment)


@door
@dataclass(frozen=True, slots=True)
class AddConstraint(TableChange):
    """Add a CHECK constraint. Every existing row must satisfy it; files whose statistics prove that are not read.

    Attributes:
        name: Name of the constraint, which is case-insensitive.
        expression: A condition as SQL text. NULL violates it.
    """

    name: str
    expression: str

    def __post_init__(self) -> None:
        if not unicode_text("name", self.name):
            raise InvalidArgument("The name of a constraint must not be empty.")
        unicode_text("expression", self.expression)


@door
@dataclass(frozen=True, slots=True)
class DropConstraint(TableChange):
    """Drop a CHECK constraint.

    Attributes:
        name: Name of the constraint, which is case-insensitive.
        if_exists: Whether to ignore a constraint that does not exist.
    """

    name: str
    if_exists: bool = False

    def __post_init__(self) -> None:
        unicode_text("name", self.name)
        flag("if_exists", self.if_exists)


@door
@dataclass(frozen=True, slots=True, init=False)
class ClusterBy(TableChange):
    """Set the clustering columns of a table without partition columns. Existing files are not changed.

    ClusterBy("a", "st.b") has two columns; ClusterBy() ends clustering of new files.

    Attributes:
        columns: Names of at most four columns with statistics, as in AddColumn.
    """

    columns: tuple[tuple[str, ...], ...] = field(default=())

    def __init__(self, *columns: str | Sequence[str]) -> None:
        object.__setattr__(self, "columns", tuple(column_path("columns", each) for each in columns))


@door
@dataclass(frozen=True, slots=True)
class AddFeature(TableChange):
    """Add a table feature to the protocol, with the features that it requires.

    Attributes:
        feature: Name of the feature in the protocol, such as "deletionVectors".
    """

    feature: str

    def __post_init__(self) -> None:
        text("feature", self.feature)


@door
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


def _check_comment(comment: str | None) -> None:
    if comment is not None:
        unicode_text("comment", comment)


def _check_position(position: object) -> None:
    if position is not None and not isinstance(position, First | After):
        raise InvalidArgumentType.of("position", "FIRST or After(name)", position)
