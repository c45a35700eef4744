"""DELETE, UPDATE, MERGE and TRUNCATE."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa

from deltaskip.dml.merge.clauses import ClauseKind
from deltaskip.errors import InvalidArgument, PredicateError, SparkUnavailable, UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.schema.relations import qualifier_length, unqualified_text
from deltaskip.sparkexpr import columns_in, exact_sql, is_valid_sql, literal_node, parse_sql
from deltaskip.sparkexpr.nodes import And, In, Node, Not, Or, walk
from deltaskip.sparkexpr.text.sql_text import quoted_name, quoted_path, sql_error
from deltaskip.sparkexpr.types import VOID, StructField, StructType, collation_inside, display_name, fold_name
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.statements.answers import NO_ROWS, rows
from deltaskip.statements.inserting import partition_predicate
from deltaskip.statements.query_rows import QueryRows
from deltaskip.statements.reader import NameParts, PartitionValue, StatementReader, qualifiers
from deltaskip.statements.references import references
from deltaskip.statements.statement import Statement, StatementSession
from deltaskip.table.delta_rows import AFFECTED, MERGED, merged_row
from deltaskip.table.table import DeltaTable

_MOST_VALUES = 10_000
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_TYPES = ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date", "float", "double", "void")
# Types of all literals of a form.
_OF_LITERALS = ("string", "boolean", "date", "double")
# Beside types: the values of a query are a list after IN.
_LISTED = "IN"
_INSTEAD = "use MERGE INTO … USING (query) … WHEN MATCHED THEN DELETE or UPDATE"

_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


@dataclass(frozen=True, slots=True)
class RowChange(Statement):
    """A statement that changes rows of a table."""

    def run(self, session: StatementSession) -> pa.Table:
        """Run the statement. If only Spark can evaluate it and there is no session, the error says to pass one."""
        try:
            return self.change(session)
        except UnsupportedFeature as error:
            if session.spark is not None or not error.needs_session:
                raise
            raise SparkUnavailable(f"{error} The session is the first argument of sql().") from error

    @abstractmethod
    def change(self, session: StatementSession) -> pa.Table:
        """Change the rows. Returns the rows of the answer."""


@dataclass(frozen=True, slots=True)
class Delete(RowChange):
    """DELETE FROM."""

    name: NameParts
    alias: str | None = None
    where: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> Delete:
        """DELETE FROM name [[AS] alias] [WHERE predicate]"""
        reader.take_words("FROM")
        name, alias = reader.parts(), _alias(reader, "WHERE")
        where = reader.rest("the predicate") if reader.take_words("WHERE") else None
        return Delete(name, alias, where)

    def change(self, session: StatementSession) -> pa.Table:
        table = session.table(self.name)
        own = None
        if self.where is not None:
            own = _own(session, self.where, self, table)
        return _affected(table.delete(own, session.spark).metrics.get("numDeletedRows"))


@dataclass(frozen=True, slots=True)
class TruncateTable(RowChange):
    """TRUNCATE TABLE, or only partitions with the values of columns."""

    name: NameParts
    partition: tuple[PartitionValue, ...] = ()

    @staticmethod
    def read(reader: StatementReader) -> TruncateTable:
        """TRUNCATE TABLE name [PARTITION (…)]"""
        name = reader.parts()
        return TruncateTable(name, reader.partition_values() if reader.take_words("PARTITION") else ())

    def change(self, session: StatementSession) -> pa.Table:
        session.table(self.name).delete(partition_predicate(self.partition), session.spark)
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class Update(RowChange):
    """UPDATE. values: SQL text of the new value by the path of a column."""

    name: NameParts
    values: tuple[tuple[NameParts, str], ...]
    alias: str | None = None
    where: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> Update:
        """UPDATE name [[AS] alias] SET column = value, … [WHERE predicate]"""
        name, alias = reader.parts(), _alias(reader, "SET")
        reader.need_words("SET")
        values = _assignments(reader, "WHERE")
        where = reader.rest("the predicate") if reader.take_words("WHERE") else None
        return Update(name, values, alias, where)

    def change(self, session: StatementSession) -> pa.Table:
        table = session.table(self.name)
        given = {}
        for path, expression in self.values:
            own_path = path[qualifier_length(path, table.schema, qualifiers(self.name, self.alias)) :]
            given[quoted_path(own_path)] = _own(session, expression, self, table, is_value=True)
        own = None
        if self.where is not None:
            own = _own(session, self.where, self, table)
        return _affected(table.update(given, own, session.spark).metrics.get("numUpdatedRows", 0))


@dataclass(frozen=True, slots=True)
class SourceOfMerge:
    """The source of a MERGE.

    Attributes:
        text: The name of a table with its time travel, or a query without its parentheses.
        is_query: Whether it is a query.
        alias: Its name in expressions.
    """

    text: str
    is_query: bool
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """A WHEN clause of a MERGE.

    Attributes:
        kind: The rows that the clause applies to.
        action: The action on these rows.
        where: Text of its condition.
        values: SQL text by the path of a column; None for `*`.
    """

    kind: ClauseKind
    action: Literal["update", "insert", "delete"]
    where: str | None = None
    values: tuple[tuple[NameParts, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class MergeInto(RowChange):
    """MERGE INTO."""

    name: NameParts
    source: SourceOfMerge
    on: str
    clauses: tuple[Clause, ...]
    alias: str | None = None
    evolves: bool = False

    @staticmethod
    def read(reader: StatementReader) -> MergeInto:
        """MERGE [WITH SCHEMA EVOLUTION] INTO name [alias] USING source [alias] ON condition WHEN … THEN …"""
        evolves = reader.take_words("WITH", "SCHEMA", "EVOLUTION")
        reader.need_words("INTO")
        name, alias = reader.parts(), _alias(reader, "USING")
        reader.need_words("USING")
        source = _source(reader)
        reader.need_words("ON")
        on = reader.text_until("the condition", "WHEN")
        clauses: list[Clause] = []
        while reader.peek_word("WHEN"):
            clauses.append(_clause(reader))
        if not clauses:
            raise reader.error("a MERGE needs a clause, such as WHEN MATCHED THEN UPDATE SET *")
        return MergeInto(name, source, on, tuple(clauses), alias, evolves)

    def change(self, session: StatementSession) -> pa.Table:
        table = session.table(self.name)
        source = self.source
        text = source.text if source.is_query else f"SELECT * FROM {source.text}"
        frame = session.query(text)
        # A merge may read its source twice.
        frame = pa.table(frame) if isinstance(frame, QueryRows) else frame
        names = frame.column_names if isinstance(frame, pa.Table) else frame.columns
        alias, target = source.alias, self.alias or self.name[-1]
        # Only their names matter here.
        columns = StructType(tuple(StructField(name, VOID) for name in names))
        named = [(self.name, table.schema)] if self.alias is None else []
        if alias is None and source.is_query:
            # As in Spark, its columns are named without a qualifier.
            alias = "__auto_generated_subquery_name"
        elif alias is None:
            found = references(f"SELECT * FROM {source.text}")
            alias = found[0].name.parts[-1] if found else None
            named += [(each.name.parts, columns) for each in found]

        def own(expression: str) -> str:
            """The expression with `t.` instead of `db.t.`."""
            for parts, schema in named:
                expression = unqualified_text(
                    expression, schema, qualifiers(parts, None)[:-1], f"{quoted_name(parts[-1])}."
                )
            return expression

        evolves = self.evolves or session.setting(_AUTO_MERGE, "false") == "true"
        after = StructType((*table.schema.fields, *columns.fields)) if evolves else table.schema

        def length(path: NameParts) -> int:
            """How many parts of the name of a column to set are the table's name."""
            return qualifier_length(path, after, qualifiers(self.name, self.alias))

        builder = table.merge(
            frame, own(self.on), alias, target, schema_mode="merge" if evolves else "keep", spark=session.spark
        )
        for clause in self.clauses:
            where = None if clause.where is None else own(clause.where)
            kind = clause.kind.replace(" ", "_")
            if clause.action == "delete":
                builder = getattr(builder, f"when_{kind}_delete")(where=where)
            elif clause.values is None:
                builder = getattr(builder, f"when_{kind}_{clause.action}_all")(where=where)
            else:
                given = {quoted_path(path[length(path) :]): own(text) for path, text in clause.values}
                builder = getattr(builder, f"when_{kind}_{clause.action}")(given, where=where)
        return rows(MERGED, [merged_row(builder.execute().metrics)])


def _affected(count: int | None) -> pa.Table:
    return rows(AFFECTED, [(-1 if count is None else count,)])


def _source(reader: StatementReader) -> SourceOfMerge:
    if reader.peek_symbol("("):
        if not reader.begins_query():
            raise reader.error("a query is expected in the parentheses: SELECT, WITH, FROM, VALUES or TABLE")
        text, is_query = reader.parenthesized(), True
    else:
        first = reader.position
        reader.table_name()
        if reader.peek_symbol("("):
            reader.at = reader.closing(reader.at) + 1
        text, is_query = reader.text[first : reader.tokens[reader.at - 1].end], False
    return SourceOfMerge(text, is_query, _alias(reader, "ON"))


def _clause(reader: StatementReader) -> Clause:
    """WHEN [NOT] MATCHED [BY SOURCE | TARGET] [AND condition] THEN action"""
    reader.need_words("WHEN")
    kind: ClauseKind = "matched"
    if reader.take_words("NOT"):
        kind = "not matched"
    reader.need_words("MATCHED")
    if reader.take_words("BY", "SOURCE"):
        if kind == "matched":
            raise reader.error("BY SOURCE follows WHEN NOT MATCHED")
        kind = "not matched by source"
    elif kind == "not matched":
        reader.take_words("BY", "TARGET")
    where = reader.text_until("the condition", "THEN") if reader.take_words("AND") else None
    reader.need_words("THEN")
    at = reader.position
    if reader.take_words("DELETE"):
        if kind == "not matched":
            raise sql_error(reader.text, at, "rows of the source cannot be deleted: write INSERT")
        return Clause(kind, "delete", where)
    if reader.take_words("UPDATE", "SET"):
        if kind == "not matched":
            raise sql_error(reader.text, at, "rows that are not in the table cannot be updated: write INSERT")
        if _star(reader):
            if kind == "not matched by source":
                raise sql_error(reader.text, at, "there is no row of the source: write UPDATE SET column = value")
            return Clause(kind, "update", where)
        return Clause(kind, "update", where, _assignments(reader, "WHEN"))
    if reader.take_words("INSERT"):
        if kind != "not matched":
            raise sql_error(reader.text, at, "INSERT belongs to WHEN NOT MATCHED")
        if _star(reader):
            return Clause(kind, "insert", where)
        return Clause(kind, "insert", where, _inserted(reader))
    raise reader.error("UPDATE SET, INSERT or DELETE is expected here")


def _inserted(reader: StatementReader) -> tuple[tuple[NameParts, str], ...]:
    """(column, …) VALUES (value, …)"""
    columns = reader.parenthesized_list(reader.path)
    reader.need_words("VALUES")
    at = reader.position
    values = reader.parenthesized_list(lambda: reader.text_until("a value", comma=True))
    if len(columns) != len(values):
        raise sql_error(reader.text, at, f"there are {len(columns)} columns, but {len(values)} values")
    _refuse_twice(columns)
    return tuple(zip(columns, values, strict=True))


def _assignments(reader: StatementReader, until: str) -> tuple[tuple[NameParts, str], ...]:
    """column = value, …"""

    def one() -> tuple[NameParts, str]:
        column = reader.path()
        reader.expect("=")
        return column, reader.text_until(f"the value of {display_name(column)}", until, comma=True)

    found = reader.list_of(one)
    _refuse_twice([column for column, _ in found])
    return tuple(found)


def _refuse_twice(columns: list[NameParts]) -> None:
    seen: set[tuple[str, ...]] = set()
    for column in columns:
        folded = tuple(part.casefold() for part in column)
        if folded in seen:
            raise InvalidArgument(f"{display_name(column)} is set twice.")
        seen.add(folded)


def _star(reader: StatementReader) -> bool:
    if not reader.peek_symbol("*"):
        return False
    reader.at += 1
    return True


def _alias(reader: StatementReader, until: str) -> str | None:
    if reader.take_words("AS"):
        return reader.name("an alias")
    if reader.at_end or reader.peek_word(until) or reader.tokens[reader.at].kind not in ("word", "name"):
        return None
    return reader.name("an alias")


def _own(
    session: StatementSession, text: str, change: Delete | Update, table: DeltaTable, is_value: bool = False
) -> str:
    """Return an expression of DELETE or UPDATE with constants in place of queries, and its columns without qualifiers.

    Raises:
        PredicateError: A column of type CHAR, or with a collation, is in it beside the strings of a query, or IN has a
            query and its value is an operand.
    """
    value, kinds = _with_values(text, session.query)
    own = session.own(value, change.name, change.alias, table)
    if _LISTED in kinds and is_valid_sql(own) and (is_value or not _only_selects(parse_sql(own))):
        raise PredicateError(
            f"IN (SELECT …) is a value in {text!r}: Spark's is never NULL, and that of a list of the values of the "
            f"query can be. Write it as a condition of WHERE between AND and OR, or {_INSTEAD}."
        )
    if "string" not in kinds:
        return own
    named = {fold_name(path[0]) for path in columns_in(own)}
    for field in table.schema.fields:
        # Spark 4.1, ApplyCharTypePadding; CollationTypeCoercion: both are implicit
        said = (
            "has the type CHAR: Spark pads constants that it compares with it, and no strings of a query"
            if declares_char(field)
            else "has a collation: Spark compares it with constants, and refuses strings of a query that have another"
            if collation_inside(field)
            else ""
        )
        if said and (fold_name(field.name) in named or not is_valid_sql(own)):
            raise PredicateError(
                f"The column {field.name} of {table.uri} {said}. No constant can replace the query: {_INSTEAD}."
            )
    return own


def _only_selects(node: Node) -> bool:
    """Whether IN stands only where NULL selects no row, as FALSE: between AND and OR, maybe after NOT."""
    # Spark 4.1, RewritePredicateSubquery
    if isinstance(node, And | Or):
        return all(map(_only_selects, node.children))
    found = node.child if isinstance(node, Not) else node
    return not any(isinstance(each, In) for each in walk(found) if each is not found)


def _with_values(text: str, run: Callable[[str], Any]) -> tuple[str, set[str]]:
    """Return a predicate in which constants replace queries: after IN and EXISTS, and scalar ones; and their types.

    # Spark 4.1, SqlBaseParser.g4: predicate (IN), primaryExpression (subqueryExpression), EXISTS

    Args:
        text: The predicate.
        run: Returns the DataFrame of a query.

    Raises:
        InvalidArgument: A query has more values than a predicate can hold, or values of a type without literals.
        PredicateError: Spark cannot run a query by itself, since it uses columns of the table, for example.
    """
    reader = StatementReader(text)
    pieces: list[str] = []
    kinds = set[str]()
    end = at = 0
    while at < len(reader.tokens):
        token = reader.tokens[at]
        first = reader.tokens[at + 1] if at + 1 < len(reader.tokens) else None
        if not token.is_symbol("(") or first is None or not first.is_word(*_QUERIES):
            at += 1
            continue
        closing = reader.closing(at)
        query = text[token.end : reader.tokens[closing].start]
        start, constant, kind = _constant(reader, at, query, run)
        kinds |= {kind, _LISTED} if "IN (" in constant[:8] else {kind}
        pieces += text[end:start], constant
        end = reader.tokens[closing].end
        at = closing + 1
    return "".join([*pieces, text[end:]]), kinds


def _constant(reader: StatementReader, at: int, query: str, run: Callable[[str], Any]) -> tuple[int, str, str]:
    """The start of the text around a query, its replacement, and the type of its values. at: of the parenthesis."""
    tokens = reader.tokens
    before = tokens[at - 1] if at else None
    if before is not None and before.is_word("EXISTS"):
        return before.start, "(TRUE)" if _rows(query, run, 1)[0] else "(FALSE)", "boolean"
    if before is None or not before.is_word("IN"):
        values, null, kind = _values(query, run, 2)
        if len(values) > 1:
            raise PredicateError(f"The query ({query}) must have one row, but has more.")
        return tokens[at].start, f"({values[0] if values else null})", kind
    values, null, kind = _values(query, run, _MOST_VALUES + 1)
    if len(values) > _MOST_VALUES:
        raise InvalidArgument(f"The query ({query}) has more than {_MOST_VALUES:,} values: {_INSTEAD}.")
    negated = at > 1 and tokens[at - 2].is_word("NOT")
    start = tokens[at - 2].start if negated else before.start
    if not values:
        # Spark 4.1: x IN () is FALSE and x NOT IN () is TRUE for every x, also for NULL.
        return start, f"<=> {null} IS {'NOT ' if negated else ''}NULL ", kind
    return start, f"{'NOT ' if negated else ''}IN ({', '.join(values)})", kind


def _values(query: str, run: Callable[[str], Any], most: int) -> tuple[list[str], str, str]:
    """The values of a query of one column up to a limit, the first with its type; NULL of this type; and the type."""
    found, kinds = _rows(query, run, most)
    if len(kinds) != 1:
        raise PredicateError(f"The query ({query}) must have one column, but has {len(kinds)}.")
    [kind] = kinds
    # Literals of numbers count by their digits, and NULL has no type: sums, quotients and comparisons depend on it.
    null = "NULL" if kind == "void" else f"CAST(NULL AS {kind})"
    texts = [
        null if value is None else exact_sql(literal_node(value, f"A value of the query ({query})"))
        for [value] in found
    ]
    if texts and kind not in _OF_LITERALS and texts[0] != null:
        texts[0] = f"CAST({texts[0]} AS {kind})"
    return texts, null, kind


def _rows(query: str, run: Callable[[str], Any], most: int) -> tuple[list[Any], list[str]]:
    """The first rows of a query, and the names of its columns' types."""
    try:
        frame = run(query)
    except PredicateError as error:
        raise PredicateError(
            f"The query ({query}) in a predicate of DELETE or UPDATE must be one that can run by itself; if it uses "
            f"columns of the table, {_INSTEAD}. {error}"
        ) from error
    is_local = isinstance(frame, QueryRows)
    kinds = frame.kinds if is_local else [field.dataType.simpleString() for field in frame.schema.fields]
    odd = [kind for kind in kinds if kind not in _TYPES and not kind.startswith("decimal")]
    if most > 1 and odd:
        raise InvalidArgument(
            f"The query ({query}) in a predicate of DELETE or UPDATE has values of the type {odd[0]}, which cannot be "
            f"written into the predicate: {_INSTEAD}."
        )
    try:
        found: list[Any] = frame.limit(most).collect()
    except (ValueError, OverflowError) as error:
        # Python's dates end.
        raise InvalidArgument(
            f"The query ({query}) in a predicate of DELETE or UPDATE has a date outside of the years 1 to 9999, which "
            f"cannot be written into the predicate: {_INSTEAD}."
        ) from error
    return found, kinds
