"""INSERT: the rows of a query by position or by name, with values of partition columns and the keyword DEFAULT.

# Spark 4.1, ResolveInsertInto and TableOutputResolver; delta-spark 4.4, DeltaAnalysis
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from deltaskip.dml.assignments import is_default
from deltaskip.engine import engine
from deltaskip.errors import InvalidArgument, SchemaError, UnsupportedFeature
from deltaskip.features.identity_columns import identity_of
from deltaskip.records import dataclass
from deltaskip.rows.defaults import default_sql
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import parse_sql, sql_name
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import cast_to, plain_wider_type, type_of
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.ddl import exact_type_text
from deltaskip.sparkexpr.values.calendar import current_micros
from deltaskip.statements.answers import NO_ROWS, visible_columns
from deltaskip.statements.queries import only_spark
from deltaskip.statements.query_rows import QueryRows
from deltaskip.statements.reader import QUERY_WORDS, NameParts, PartitionValue, StatementReader
from deltaskip.statements.statement import Statement, StatementSession
from deltaskip.table.table import DeltaTable

_NO_COLUMNS = t.StructType(())

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


@dataclass(frozen=True, slots=True)
class ReplacedBy:
    """REPLACE USING or ON: when a row of the query replaces a row of the table.

    Attributes:
        on: Text of the condition, or the columns whose values are equal.
        target: Alias of the table in the condition; None for its name.
        source: Alias of the query in the condition.
    """

    on: str | NameParts
    target: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    """INSERT INTO and INSERT OVERWRITE.

    Attributes:
        name: Name of the table.
        query: Text of the query or of VALUES (…).
        overwrite: Whether the rows replace others.
        where: Text of the predicate of the rows to replace; None for all, or for the rows of partitions.
        matching: The rows to replace are those that match a row of the query; None for those of `where`.
        columns: Names of the columns that the query provides, in its order; () for all columns of the table.
        by_name: Whether columns are matched by name.
        partition: Columns of PARTITION (…).
        evolves: Whether new columns of the query are added to the table.
    """

    name: NameParts
    query: str
    overwrite: bool = False
    where: str | None = None
    matching: ReplacedBy | None = None
    columns: NameParts = ()
    by_name: bool = False
    partition: tuple[PartitionValue, ...] = ()
    evolves: bool = False

    @staticmethod
    def read(reader: StatementReader) -> Insert:
        """INSERT [WITH SCHEMA EVOLUTION] INTO | OVERWRITE [TABLE] name … query"""
        evolves = reader.take_words("WITH", "SCHEMA", "EVOLUTION")
        overwrite = reader.take_one("INTO", "OVERWRITE")
        if overwrite is None:
            raise reader.error("INTO or OVERWRITE is expected here")
        if reader.peek_words("DIRECTORY") or reader.peek_words("LOCAL", "DIRECTORY"):
            raise reader.error("INSERT OVERWRITE DIRECTORY is not supported: write the rows with DataFrame.write")
        reader.take_words("TABLE")
        name = reader.parts()
        alias = reader.name("an alias") if reader.take_words("AS") else None
        evolves |= reader.take_words("WITH", "SCHEMA", "EVOLUTION")
        partition: tuple[PartitionValue, ...] = ()
        if reader.take_words("PARTITION"):
            partition = reader.partition_values()
            if reader.if_not_exists():
                raise reader.error("IF NOT EXISTS of a partition is not supported: use INSERT INTO … REPLACE WHERE")
        columns: NameParts = ()
        where = matching = None
        by_name = reader.take_words("BY", "NAME")
        if reader.peek_symbol("(") and not reader.begins_query():
            columns = tuple(reader.parenthesized_list(lambda: reader.name("the name of a column")))
            if by_name:
                raise reader.error("BY NAME takes the names of the query: leave out the list of columns")
        replacing = overwrite == "OVERWRITE"
        if reader.take_words("REPLACE"):
            if replacing:
                raise reader.error("REPLACE WHERE belongs to INSERT INTO, and OVERWRITE replaces without it")
            if reader.take_words("USING"):
                named = tuple(reader.parenthesized_list(lambda: reader.name("the name of a column")))
                matching = ReplacedBy(named)
            elif reader.take_words("ON"):
                matching = ReplacedBy(reader.text_until("the condition", *QUERY_WORDS, query=True), alias)
                alias = None
            elif reader.take_words("WHERE"):
                where, replacing = reader.text_until("the predicate", *QUERY_WORDS), True
            else:
                raise reader.error("WHERE, USING or ON is expected after REPLACE")
        if alias is not None:
            raise reader.error("only REPLACE ON has a condition in which the table has an alias")
        if matching is not None and isinstance(matching.on, str) and reader.peek_symbol("("):
            query = reader.parenthesized()
            reader.take_words("AS")
            matching = replace(matching, source=None if reader.at_end else reader.name("an alias"))
        else:
            query = reader.query()
        return Insert(name, query, replacing, where, matching, columns, by_name, partition, evolves)

    def run(self, session: StatementSession) -> Any:
        table = session.table(self.name)
        shown = t.display_name(self.name)
        fixed = [
            (field, None if value is None else f"CAST({value} AS {exact_type_text(field.type)})")
            for field, value in _fixed(table, self.partition, shown)
        ]
        if self.by_name:
            frame, scans = session.read(self.query)
        else:
            names = {t.fold_name(field.name) for field, value in fixed if value is not None}
            columns = [field for field in _columns(table, self, shown) if t.fold_name(field.name) not in names]
            query, columns = _with_defaults(self.query, columns, shown, partial(_check_default, session, table))
            constants = _values(query) if session.spark is None else None
            if constants is not None:
                _check_count(max(map(len, constants), key=lambda count: abs(count - len(columns))), columns, shown)
                known = [value for _, value in fixed if value is not None]
                columns += [field for field, value in fixed if value is not None]
                rows = _constant_rows([[*row, *known] for row in constants], columns, session.time_zone)
                return _write(session, self, table, rows, [], fixed)
            frame, scans = session.read(query)
            _check_count(len(frame.columns), columns, shown)
            frame = _with_names(frame, columns, bool(self.columns), shown)
        given = {field.name: value for field, value in fixed if value is not None}
        if given and isinstance(frame, QueryRows):
            now = current_micros()
            frame = frame.with_constants(
                {name: _column([value], now, session.time_zone) for name, value in given.items()}
            )
        elif given:
            frame = frame.selectExpr("*", *given.values()).toDF(*frame.columns, *given)
        return _write(session, self, table, frame, scans, fixed)


def _write(
    session: StatementSession,
    statement: Insert,
    table: DeltaTable,
    frame: Any,
    scans: Sequence[Scan],
    fixed: Sequence[tuple[t.StructField, str | None]],
) -> Any:
    """Append rows, or replace other rows by them."""
    mode: Literal["keep", "merge"] = "merge" if statement.evolves else "keep"
    matching = statement.matching
    if matching is not None:
        if isinstance(matching.on, str):
            target, source = matching.target or statement.name[-1], matching.source or "s"
            table.overwrite(frame, on=matching.on, schema_mode=mode, target_alias=target, source_alias=source)
        else:
            table.overwrite(frame, on=list(matching.on), schema_mode=mode)
        return NO_ROWS
    own = [scan for scan in scans if scan.snapshot.root == table.snapshot.root]
    if not statement.overwrite:
        if own:
            _write_what_was_read(table, own, lambda target: target.append(frame, mode))
        else:
            table.append(frame, mode)
        return NO_ROWS
    where = None if statement.where is None else session.own(statement.where, statement.name, None, table)
    dynamic = session.setting(_OVERWRITE_MODE, "static") == "dynamic" and bool(table.partition_columns)
    if where is None and dynamic and (not fixed or any(value is None for _, value in fixed)):
        partitions: Literal["static", "dynamic"] = "dynamic"
    else:
        partitions, where = "static", where or partition_predicate(statement.partition)
    if own:
        _write_what_was_read(table, own, lambda target: target.overwrite(frame, where, partitions, mode))
    else:
        table.overwrite(frame, where, partitions, mode)
    return NO_ROWS


def _check_count(given: int, columns: Sequence[t.StructField], shown: str) -> None:
    if given != len(columns):
        listed = ", ".join(t.display_name([field.name]) for field in columns)
        raise SchemaError(
            f"INSERT INTO {shown} has {given} values for {len(columns)} columns ({listed}): list the columns that they "
            f"are for, as in INSERT INTO {shown} (…), or write BY NAME."
        )


def _with_names(frame: Any, columns: Sequence[t.StructField], listed: bool, shown: str) -> Any:
    """A query's DataFrame with the names of the table's columns, also inside structs; values are given by position.

    # Spark 4.1, TableOutputResolver.resolveColumnsByPosition; delta-spark 4.4, DeltaAnalysis: a query whose columns
    # have the table's names gives fields by name, and so does a list of columns inside arrays and maps.

    Args:
        frame: The query.
        columns: The columns of the table that it gives, in its order.
        listed: Whether the statement lists them.
        shown: The table, for messages.
    """
    same = [*map(t.fold_name, frame.columns)] == [t.fold_name(field.name) for field in columns]
    by_position, inside = listed or not same, not listed and not same
    names = [field.name for field in columns]
    frame = frame.toDF(*names)
    nested = [field for field in columns if any(isinstance(each, t.StructType) for each in t.nested_types(field.type))]
    if not nested:
        return frame
    given = frame if isinstance(frame, QueryRows) else frame.select(*(quoted_name(field.name) for field in nested))
    types = {field.name: field.type for field in schema_of(given.schema).fields}
    casts = {}
    for field in nested:
        where, source = f"{t.display_name([field.name])} of {shown}", types[field.name]
        named = _named(source, field.type, where, by_position, inside)
        if named != source:
            casts[field.name] = exact_type_text(named)
    if not casts:
        return frame
    if isinstance(frame, QueryRows):
        raise SchemaError(
            f"The fields of structs for {', '.join(casts)} of {shown} have other names than the table's: give them "
            f"these names, or pass a session as the first argument of sql()."
        )
    # Names that no setting takes for regular expressions.
    frame = frame.toDF(*(f"c{i}" for i in range(len(names))))
    found = zip(names, map(frame.__getitem__, frame.columns), strict=True)
    return frame.select(*(column.cast(casts[name]) if name in casts else column for name, column in found)).toDF(*names)


def _named(given: t.DataType, target: t.DataType, where: str, by_position: bool, inside: bool) -> t.DataType:
    """The type of a value with the names of the target's fields.

    by_position, inside: Whether fields of structs are given by position, at this place and inside arrays and maps.

    Raises SchemaError if a struct has too few fields, or their order is another one where position does not decide.
    """
    element_type = partial(_named, where=where, by_position=inside, inside=inside)
    match given, target:
        case t.StructType(theirs), t.StructType(fields):
            if len(theirs) < len(fields):
                raise SchemaError(
                    f"A struct of {len(theirs)} fields is given by position for {where}, which has {len(fields)}: give "
                    f"a value to each field, or write BY NAME."
                )
            names, others = ([t.fold_name(field.name) for field in each] for each in (fields, theirs))
            order = [names.index(name) for name in others if name in names]
            if not by_position and order != sorted(order):
                raise SchemaError(
                    f"The fields of a struct for {where} are in another order than the table's, and only the form of "
                    f"the statement decides whether Spark stores them by name or by position: write BY NAME, or give "
                    f"them in the table's order."
                )
            pairs = zip(theirs, fields, strict=False)
            own = [replace(a, name=b.name, type=_named(a.type, b.type, where, by_position, inside)) for a, b in pairs]
            return t.StructType((*own, *theirs[len(fields) :]))
        case t.ArrayType(element), t.ArrayType(other):
            return replace(given, element=element_type(element, other))
        case t.MapType(key, value), t.MapType(other_key, other_value):
            return replace(given, key=element_type(key, other_key), value=element_type(value, other_value))
        case _:
            return given


def _write_what_was_read(table: DeltaTable, own: Sequence[Scan], write: Callable[[Any], object]) -> None:
    """Write rows that come from the table itself, in a transaction on the version that the query reads.

    It conflicts with commits that change the rows that were read; otherwise an overwrite would remove rows that the
    query has not seen.
    """
    table.snapshot = min((scan.snapshot for scan in own), key=lambda each: each.version)
    parameters = {"mode": "Append", "partitionBy": list(table.partition_columns)}
    with table.transaction(parameters=parameters) as transaction:
        for scan in own:
            transaction.read_scan(scan)
        write(transaction)


def partition_predicate(partition: Sequence[PartitionValue]) -> str | None:
    """Return the predicate of the rows of PARTITION (p = 1, q); None if no column has a value."""
    parts = [
        f"{quoted_name(each.column)} IS NULL"
        if each.value.strip().upper() == "NULL" else f"{quoted_name(each.column)} = {each.value}"
        for each in partition if each.value is not None
    ]  # fmt: skip
    return " AND ".join(parts) or None


def _fixed(
    table: DeltaTable, partition: Sequence[PartitionValue], shown: str
) -> list[tuple[t.StructField, str | None]]:
    """The columns of PARTITION (…) with their values."""
    columns = {t.fold_name(name): name for name in table.partition_columns}
    fields = {field.name: field for field in table.schema.fields}
    found = []
    for each in partition:
        name = columns.get(t.fold_name(each.column))
        if name is None:
            listed = ", ".join(map(quoted_name, columns.values())) or "none"
            raise SchemaError(
                f"{t.display_name([each.column])} is not a partition column of {shown}; its partition columns: "
                f"{listed}."
            )
        found.append((fields[name], each.value))
    if len({field.name for field, _ in found}) < len(found):
        raise SchemaError(f"PARTITION of INSERT INTO {shown} names a column twice.")
    return found


def _columns(table: DeltaTable, statement: Insert, shown: str) -> list[t.StructField]:
    """The columns that the query provides, in its order: those listed, or all, whatever PARTITION (…) names."""
    visible = visible_columns(table)
    if not statement.columns:
        return visible
    fields = {t.fold_name(field.name): field for field in table.schema.fields}
    found = []
    for name in statement.columns:
        if t.fold_name(name) not in fields:
            listed = ", ".join(t.display_name([field.name]) for field in visible)
            raise SchemaError(f"{shown} has no column {t.display_name([name])}; its columns: {listed}.")
        found.append(fields[t.fold_name(name)])
    if len({field.name for field in found}) < len(found):
        raise SchemaError(f"INSERT INTO {shown} lists a column twice.")
    return found


def _with_defaults(
    query: str, columns: list[t.StructField], shown: str, check: Callable[[t.StructField], None]
) -> tuple[str, list[t.StructField]]:
    """The rows of VALUES with DEFAULT replaced by the default, and without columns that are DEFAULT in every row.

    # PROTOCOL, Default Columns; Spark 4.1, ResolveColumnDefaultInCommandInputQuery
    """
    lists = _values(query)
    if lists is None or not any(is_default(value) for row in lists for value in row):
        return query, columns
    if any(len(row) != len(columns) for row in lists):
        return query, columns
    for field, *values in zip(columns, *lists, strict=True):
        if any(map(is_default, values)):
            check(field)
    kept = [i for i in range(len(columns)) if not all(is_default(row[i]) for row in lists)]
    if not kept:
        raise InvalidArgument(f"INSERT INTO {shown} has DEFAULT for every column: give at least one a value.")
    texts = []
    for row in lists:
        texts.append("(" + ", ".join(_value(row[i], columns[i], shown) for i in kept) + ")")
    return "VALUES " + ", ".join(texts), [columns[i] for i in kept]


def _check_default(session: StatementSession, table: DeltaTable, field: t.StructField) -> None:
    """Refuse a default that Spark must not evaluate. Without a session, no default with a call is evaluated."""
    text = field.metadata.get(t.DEFAULT_KEY)
    if text is not None and session.spark is not None:
        what = f"The default value of the column {field.name}"
        engine("A default").check_stored_text(session.spark, [(what, str(text))], table.snapshot)


def _value(text: str, field: t.StructField, shown: str) -> str:
    if not is_default(text):
        return text
    if t.GENERATION_KEY in field.metadata or identity_of(field) is not None:
        raise InvalidArgument(
            f"The column {t.display_name([field.name])} of {shown} is computed, so DEFAULT must be its value in every "
            f"row of VALUES or in none."
        )
    return default_sql(field)


def _values(query: str) -> list[list[str]] | None:
    """The expressions of each row of VALUES (…), (…); None for another query."""
    reader = StatementReader(query)
    if not reader.take_words("VALUES"):
        return None
    found: list[list[str]] = []
    while True:
        if not reader.peek_symbol("("):
            return None
        found.append(reader.parenthesized_list(lambda: reader.text_until("a value", comma=True)))
        if reader.at_end:
            return found
        if not reader.peek_symbol(","):
            return None
        reader.at += 1


def _constant_rows(rows: Sequence[Sequence[str]], columns: Sequence[t.StructField], time_zone: str) -> pa.Table:
    """Return rows of constants under the names of columns.

    Args:
        rows: For each row the SQL text of its values, one for each column.
        columns: The columns.
        time_zone: Time zone of timestamps without one.

    Raises:
        PredicateError: A text is not an expression, or Spark raises an error for it.
        SparkUnavailable: Only Spark can evaluate an expression.
    """
    now = current_micros()
    arrays = [_column([row[i] for row in rows], now, time_zone) for i in range(len(columns))]
    return pa.table(arrays, names=[field.name for field in columns])


def _column(texts: Sequence[str], now: int, time_zone: str) -> pa.Array:
    """The values of constants as an array of their common type.

    # Spark 4.1, EvaluateUnresolvedInlineTable: findWiderTypeWithoutStringPromotion
    """
    nodes = [bound(parse_sql(text), _NO_COLUMNS, time_zone, now, False) for text in texts]
    common: t.DataType = t.VOID
    for node, text in zip(nodes, texts, strict=True):
        kind = type_of(node)
        if kind is None or isinstance(kind, t.ArrayType | t.MapType | t.StructType):
            raise only_spark(text)
        met = plain_wider_type(common, kind, ansi=False)
        if met is None:
            raise SchemaError(
                f"The rows of VALUES have values of the types {sql_name(common)} and {sql_name(kind)} in one column, "
                f"which have no common type: write CAST({text} AS {sql_name(common)})."
            )
        common = met
    return pa.concat_arrays([_constant(node, common, text, time_zone) for node, text in zip(nodes, texts, strict=True)])


def _constant(node: Node, kind: t.DataType, text: str, time_zone: str) -> pa.Array:
    """The value of a constant in a type, as an array of one."""
    place = EvaluationPlace("INSERT", "", "", what=text)
    try:
        constant = LocalExpression(cast_to(node, kind), _NO_COLUMNS, place, time_zone=time_zone, shown=lambda _: "")
        return constant.values({}, 1)
    except UnsupportedFeature as error:
        raise only_spark(text) from error
