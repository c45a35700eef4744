"""Builders of new tables: delta-spark's DeltaTableBuilder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from deltaskip.delta.argument_checks import found, names_argument, typed_string
from deltaskip.delta.creating import NewTable, create_table, identity_column, new_column
from deltaskip.doors import Unpicklable, door
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.sparkexpr.types import COMMENT_KEY, GENERATION_KEY
from deltaskip.sparkexpr.types import data_types as types
from deltaskip.table.merge_builder import Unrun

if TYPE_CHECKING:
    from deltaskip.delta.tables import DeltaTable

_Method = TypeVar("_Method", bound=Callable[..., Any])

_NOT_CREATED = "The table that a DeltaTableBuilder describes was not created: call execute() after its columns."


@dataclass
class IdentityGenerator:
    """The values of an identity column.

    Attributes:
        start: The first value.
        step: The distance between values; not 0.
    """

    start: int = 1
    step: int = 1


def _describing(method: _Method) -> _Method:
    """A method that adds to the description of a table: unless it fails, `execute` must follow."""

    @wraps(method)
    def described(self: DeltaTableBuilder, *args: Any, **options: Any) -> Any:
        self._unrun.message = None
        found = method(self, *args, **options)
        self._unrun.message = _NOT_CREATED
        return found

    return described  # type: ignore[return-value]


@door
class DeltaTableBuilder(Unpicklable):
    r"""Describes a table step by step; `execute` creates or replaces it.

    A WriteWarning is issued if it is dropped without `execute`.

    Made by `DeltaTable.create`, `createIfNotExists`, `replace` and `createOrReplace`. A name or a location is needed:

        DeltaTable.create(spark).location("/data/events") \
            .addColumn("id", "BIGINT", generatedAlwaysAs=IdentityGenerator()) \
            .addColumn("ts", "TIMESTAMP", nullable=False) \
            .partitionedBy("day").execute()
    """

    def __init__(
        self,
        spark: SparkSession,
        mode: Literal["create", "createIfNotExists", "replace", "createOrReplace"],
        made: type[DeltaTable],
    ) -> None:
        self._spark = spark
        self._table = NewTable(mode)
        self._made = made
        self._unrun = Unrun(_NOT_CREATED)

    @property
    def _jbuilder(self) -> DeltaTableBuilder:
        # Code that continues with delta-spark's builder in the JVM continues with this builder.
        return self

    @_jbuilder.setter
    def _jbuilder(self, builder: DeltaTableBuilder) -> None:
        self._table = builder._table
        if builder is not self:
            builder._unrun.message = None

    @_describing
    def tableName(self, identifier: str) -> DeltaTableBuilder:
        """Set the name of the table in the session's catalog, with or without its database.

        ``delta.`/path` `` is a location.
        """
        self._table.name = typed_string("Identifier", identifier)
        return self

    @_describing
    def location(self, location: str) -> DeltaTableBuilder:
        """Set the folder of the table. Without a location, a table with a name is created in Spark's warehouse."""
        self._table.location = typed_string("Location", location)
        return self

    @_describing
    def comment(self, comment: str) -> DeltaTableBuilder:
        """Set the description of the table."""
        self._table.comment = typed_string("Table comment", comment)
        return self

    @_describing
    def addColumn(
        self,
        colName: str,
        dataType: str | DataType,
        nullable: bool = True,
        generatedAlwaysAs: str | IdentityGenerator | None = None,
        generatedByDefaultAs: IdentityGenerator | None = None,
        comment: str | None = None,
    ) -> DeltaTableBuilder:
        """Add a column.

        Args:
            colName: Name of the column.
            dataType: Type of the column, as SQL text or a PySpark type.
            nullable: Whether the column can contain NULL.
            generatedAlwaysAs: SQL expression of a generated column, or the generator of an identity column for which
                rows must not have values.
            generatedByDefaultAs: Generator of an identity column for which rows may have values.
            comment: Description of the column.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: Both generators are given, or a step is 0.
            ParseException: The type cannot be parsed.
            UnsupportedOperationException: An identity column is not BIGINT.
        """
        typed_string("Column name", colName)
        if type(dataType) is not str and not isinstance(dataType, DataType):
            raise InvalidArgumentType(f"Column data type must be str or DataType. {found(dataType)}")
        column = new_column(self._spark, colName, dataType)
        if type(nullable) is not bool:
            raise InvalidArgumentType(f"Column nullable must be bool. {found(nullable)}")
        metadata: dict[str, Any] = dict(column.metadata)
        if generatedAlwaysAs is not None and generatedByDefaultAs is not None:
            raise InvalidArgument(
                f"generatedByDefaultAs and generatedAlwaysAs cannot both be set for the column {colName}."
            )
        if isinstance(generatedAlwaysAs, str):
            metadata[GENERATION_KEY] = generatedAlwaysAs
        elif generatedAlwaysAs is not None:
            always = _generator("Generated always as expression must be str or IdentityGenerator.", generatedAlwaysAs)
            metadata |= identity_column(column, always.start, always.step, explicit=False)
        elif generatedByDefaultAs is not None:
            default = _generator("Generated by default expression must be IdentityGenerator.", generatedByDefaultAs)
            metadata |= identity_column(column, default.start, default.step, explicit=True)
        if comment is not None:
            metadata[COMMENT_KEY] = typed_string("Column comment", comment)
        self._table.columns.append(types.StructField(colName, column.type, nullable, metadata))
        return self

    @_describing
    def addColumns(self, cols: StructType | list[StructField]) -> DeltaTableBuilder:
        """Add the columns of a schema or of a list of fields."""
        if isinstance(cols, list):
            wrong = next((each for each in cols if type(each) is not StructField), None)
            if wrong is not None:
                raise InvalidArgumentType(f"Column in existing schema must be StructField. {found(wrong)}")
            cols = StructType(cols)
        if type(cols) is not StructType:
            raise InvalidArgumentType(f"Schema must be StructType or a list of StructField. {found(cols)}")
        self._table.columns += schema_of(cols).fields
        return self

    @_describing
    def partitionedBy(self, *cols: str | Sequence[str]) -> DeltaTableBuilder:
        """Set the partition columns: names, or one list of names."""
        self._table.partition_columns = names_argument("Partitioning column", _unpacked(cols))
        return self

    @_describing
    def clusterBy(self, *cols: str | Sequence[str]) -> DeltaTableBuilder:
        """Set the clustering columns: names, or one list of names."""
        self._table.clustering_columns = names_argument("Clustering column", _unpacked(cols))
        return self

    @_describing
    def property(self, key: str, value: str) -> DeltaTableBuilder:
        """Set a table property."""
        if type(key) is not str or type(value) is not str:
            raise InvalidArgumentType(f"Key and value of property must be string. {found(key)} {found(value)}")
        self._table.properties[key] = value
        return self

    def execute(self) -> DeltaTable:
        """Create or replace the table, and return it.

        A table with a name is registered in the session's catalog. `create` also registers a table that exists at the
        location, if the builder has the same columns or no columns.

        Raises:
            AnalysisException: The table already exists, the table to replace does not exist, or the description is not
                allowed.
            UnsupportedOperationException: The catalog of the session cannot register the table.
        """
        self._unrun.message = None
        opened, name = create_table(self._spark, self._table)
        return self._made(self._spark, opened, name)


def _generator(expected: str, value: object) -> IdentityGenerator:
    if not isinstance(value, IdentityGenerator):
        raise InvalidArgumentType(f"{expected} {found(value)}")
    for number in (value.start, value.step):
        if not isinstance(number, int) or isinstance(number, bool):
            raise InvalidArgumentType(f"Start and step of an IdentityGenerator must be int. {found(number)}")
    if value.step == 0:
        raise InvalidArgument("Column identity generation requires step to be non-zero.")
    return value


def _unpacked(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The names as a tuple, also from a JVM sequence, which delta-spark's builder accepts."""
    only: Any = values[0] if len(values) == 1 else None
    if type(only).__module__.partition(".")[0] == "py4j" and hasattr(only, "size"):
        return tuple(only.apply(i) for i in range(only.size()))
    return values
