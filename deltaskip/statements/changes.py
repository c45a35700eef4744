"""Statements that change rows or files: INSERT, DELETE, UPDATE, MERGE, OPTIMIZE, VACUUM, RESTORE and GENERATE.

# Spark 4.1, SqlBaseParser.g4, insertInto and dmlStatementNoWith; delta-spark 4.4, DeltaSqlBase.g4
"""

from __future__ import annotations

from typing import Literal

from deltaskip.errors import InvalidArgument
from deltaskip.schema.resolve import display_name
from deltaskip.schema.sql_text import sql_error
from deltaskip.statements.inserting import Insert
from deltaskip.statements.maintenance_statements import Generate, Optimize, Restore, Vacuum
from deltaskip.statements.reader import QUERY_WORDS, StatementReader
from deltaskip.statements.row_statements import Clause, Delete, MergeInto, SourceOfMerge, Update
from deltaskip.statements.values import PartitionValue, Parts

__all__ = ["delete", "generate", "insert", "merge", "optimize", "restore", "update", "vacuum"]

_Kind = Literal["matched", "not matched", "not matched by source"]


def insert(reader: StatementReader) -> Insert:
    """INSERT [WITH SCHEMA EVOLUTION] INTO | OVERWRITE [TABLE] name … query"""
    reader.need_words("INSERT")
    evolves = reader.take_words("WITH", "SCHEMA", "EVOLUTION")
    overwrite = reader.take_one("INTO", "OVERWRITE")
    if overwrite is None:
        raise reader.error("INTO or OVERWRITE is expected here")
    if reader.peek_words("DIRECTORY") or reader.peek_words("LOCAL", "DIRECTORY"):
        raise reader.error("INSERT OVERWRITE DIRECTORY is not supported: write the rows with DataFrame.write")
    reader.take_words("TABLE")
    name = reader.parts()
    evolves |= reader.take_words("WITH", "SCHEMA", "EVOLUTION")
    partition: tuple[PartitionValue, ...] = ()
    if reader.take_words("PARTITION"):
        partition = reader.partition_values()
        if reader.if_not_exists():
            raise reader.error("IF NOT EXISTS of a partition is not supported: use INSERT INTO … REPLACE WHERE")
    columns: Parts = ()
    where = None
    by_name = reader.take_words("BY", "NAME")
    if reader.peek_symbol("(") and not reader.begins_query():
        columns = tuple(reader.parenthesized_list(lambda: reader.name("the name of a column")))
        if by_name:
            raise reader.error("BY NAME takes the names of the query: leave out the list of columns")
    replacing = overwrite == "OVERWRITE"
    if reader.take_words("REPLACE"):
        if replacing:
            raise reader.error("REPLACE WHERE belongs to INSERT INTO, and OVERWRITE replaces without it")
        if not reader.take_words("WHERE"):
            raise reader.error("only REPLACE WHERE is supported: name the rows to replace by a predicate")
        where, replacing = reader.text_until("the predicate", *QUERY_WORDS), True
    query = reader.query()
    return Insert(name, query, replacing, where, columns, by_name, partition, evolves)


def delete(reader: StatementReader) -> Delete:
    """DELETE FROM name [[AS] alias] [WHERE predicate]"""
    reader.need_words("DELETE")
    reader.take_words("FROM")
    name, alias = reader.parts(), _alias(reader, "WHERE")
    where = reader.rest("the predicate") if reader.take_words("WHERE") else None
    reader.finish()
    return Delete(name, alias, where)


def update(reader: StatementReader) -> Update:
    """UPDATE name [[AS] alias] SET column = value, … [WHERE predicate]"""
    reader.need_words("UPDATE")
    name, alias = reader.parts(), _alias(reader, "SET")
    reader.need_words("SET")
    values = _assignments(reader, "WHERE")
    where = reader.rest("the predicate") if reader.take_words("WHERE") else None
    reader.finish()
    return Update(name, values, alias, where)


def merge(reader: StatementReader) -> MergeInto:
    """MERGE [WITH SCHEMA EVOLUTION] INTO name [alias] USING source [alias] ON condition WHEN … THEN …"""
    reader.need_words("MERGE")
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
    reader.finish()
    return MergeInto(name, source, on, tuple(clauses), alias, evolves)


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
    kind: _Kind = "matched"
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


def _inserted(reader: StatementReader) -> tuple[tuple[Parts, str], ...]:
    """(column, …) VALUES (value, …)"""
    columns = reader.parenthesized_list(reader.path)
    reader.need_words("VALUES")
    at = reader.position
    values = reader.parenthesized_list(lambda: reader.text_until("a value", comma=True))
    if len(columns) != len(values):
        raise sql_error(reader.text, at, f"there are {len(columns)} columns, but {len(values)} values")
    _refuse_twice(columns)
    return tuple(zip(columns, values, strict=True))


def _assignments(reader: StatementReader, until: str) -> tuple[tuple[Parts, str], ...]:
    """column = value, …"""

    def one() -> tuple[Parts, str]:
        column = reader.path()
        reader.expect("=")
        return column, reader.text_until(f"the value of {display_name(column)}", until, comma=True)

    found = reader.list_of(one)
    _refuse_twice([column for column, _ in found])
    return tuple(found)


def _refuse_twice(columns: list[Parts]) -> None:
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


def optimize(reader: StatementReader) -> Optimize:
    """OPTIMIZE name [FULL] [WHERE predicate] [ZORDER BY (column, …)]"""
    reader.need_words("OPTIMIZE")
    name = reader.parts()
    full = reader.take_words("FULL")
    where = reader.text_until("the predicate", "ZORDER") if reader.take_words("WHERE") else None
    columns: tuple[Parts, ...] = ()
    if reader.take_words("ZORDER"):
        reader.need_words("BY")
        columns = tuple(reader.enclosed_list(reader.path))
    reader.finish()
    return Optimize(name, where, columns, full)


def vacuum(reader: StatementReader) -> Vacuum:
    """VACUUM name [FULL | LITE] [RETAIN n HOURS] [DRY RUN], the last in any order"""
    reader.need_words("VACUUM")
    name = reader.parts()
    if reader.peek_words("USING", "INVENTORY"):
        raise reader.error("USING INVENTORY is not supported: VACUUM … LITE finds the files without listing folders")
    hours: float | None = None
    lite = dry_run = False
    while True:
        if reader.take_words("RETAIN"):
            hours = _hours(reader)
            reader.need_words("HOURS")
        elif reader.take_words("DRY", "RUN"):
            dry_run = True
        elif reader.peek_word("FULL", "LITE"):
            lite = reader.take_one("FULL", "LITE") == "LITE"
        else:
            break
    reader.finish()
    return Vacuum(name, hours, dry_run, lite)


def _hours(reader: StatementReader) -> float:
    at = reader.position
    text = reader.text_until("the number of hours", "HOURS")
    try:
        found = float(text)
    except ValueError:
        raise sql_error(reader.text, at, "the number of hours is expected here") from None
    if not 0 <= found < 1e12:
        raise sql_error(reader.text, at, "the number of hours must not be negative")
    return found


def restore(reader: StatementReader) -> Restore:
    """RESTORE [TABLE] name [TO] VERSION AS OF n | TIMESTAMP AS OF time"""
    reader.need_words("RESTORE")
    reader.take_words("TABLE")
    name = reader.parts()
    reader.take_words("TO")
    version, timestamp = reader.time_travel()
    if version is None and timestamp is None:
        raise reader.error("TO VERSION AS OF or TO TIMESTAMP AS OF is expected here")
    reader.finish()
    return Restore(name, version, timestamp)


def generate(reader: StatementReader) -> Generate:
    """GENERATE mode FOR TABLE name"""
    reader.need_words("GENERATE")
    at = reader.position
    token = reader.next("the kind of manifest")
    mode = token.text
    if mode.lower() != "symlink_format_manifest":
        raise sql_error(reader.text, at, "only symlink_format_manifest can be generated")
    reader.need_words("FOR", "TABLE")
    name = reader.parts()
    reader.finish()
    return Generate(name, mode.lower())
