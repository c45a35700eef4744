"""The text of `deltaskip query`: queries that a scan can answer, and the tables that DuckDB reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import pyarrow as pa

from deltaskip.cli.open_table import given_catalog, open_table
from deltaskip.errors import InvalidArgument, PredicateError, SchemaError
from deltaskip.printable import printable
from deltaskip.records import dataclass
from deltaskip.redaction import redacted
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.functions import ALIASES, FUNCTIONS, PRESENT, REPLACED
from deltaskip.sparkexpr.nodes import Column
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.table.table import DeltaTable

# Functions with the same values in DuckDB and Spark. Not among them: upper ('ß'), round (1.005), concat (NULL).
_SAME = frozenset(("abs", "ceil", "ceiling", "char_length", "coalesce", "floor", "greatest", "hour", "ifnull", "least",
                   "length", "minute", "month", "nullif", "year"))  # fmt: skip
# Expressions without a row in the table of functions: CAST rounds in DuckDB, ^ is a power and not XOR, and elements
# count from 1.
_OPERATORS = {"::": "cast", "^": "^", "[": "[]"}
_OF_SPARK = {"cast", "try_cast", *FUNCTIONS, *REPLACED, *PRESENT, *ALIASES}
_CLOSED = ("python_enable_replacements = false", "enable_external_access = false", "lock_configuration = true")
_SOURCE_WORDS = ("FROM", "JOIN")
_NEXT_WORDS = ("GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "OFFSET")


@dataclass(frozen=True, slots=True)
class _Named:
    """A table of the query: its path or name, and where it stands in the text."""

    table: str
    start: int
    end: int


def query_rows(text: str, time_zone: str, storage_options: Mapping[str, str]) -> pa.RecordBatchReader:
    """Return the rows of a query.

    Raises:
        InvalidArgument: The text is not a query of tables, or needs DuckDB, which is not installed.
        PredicateError: DuckDB refuses the query, or a predicate cannot be parsed.
    """
    try:
        tokens = sql_tokens(text.rstrip().rstrip(";"))
    except SchemaError as error:
        raise InvalidArgument(f"The query cannot be read: {error}") from error
    if not tokens or not tokens[0].is_word("SELECT", "WITH", "FROM"):
        raise InvalidArgument("A query begins with SELECT, such as SELECT * FROM 'data/orders' WHERE price > 10.")
    if any(token.is_symbol(";") for token in tokens):
        raise InvalidArgument("A query is one statement: leave out what follows the semicolon, or run it by itself.")
    named = _named(tokens)
    if not named:
        example = next(_quoted(text.rstrip("; \n"), tokens), "SELECT * FROM 'data/orders'")
        raise InvalidArgument(f"The query names no table: put its path in quotes, as in: {example}")
    tables = {each.table: open_table(each.table, storage_options) for each in named}
    simple = _scan(text, tokens, named, tables, time_zone)
    if simple is not None:
        return simple
    cure = next((f" Put the path in quotes: {each}" for each in _quoted(text, tokens, exists=True)), "")
    rows = _by_duckdb(text, named, tables, time_zone, cure)
    others = _others(tokens)
    if others:
        names = " and ".join(filter(None, (", ".join(others[:-1]), others[-1])))
        have = "has" if len(others) == 1 else "have"
        said = f"DuckDB runs this query, so that {names} {have} the meaning of DuckDB and not that of Spark."
        click.echo(printable(said), err=True)
    return rows


def _others(tokens: Sequence[SqlToken]) -> list[str]:
    """The functions and operators of Spark, each once, that may have other values in DuckDB."""
    found: dict[str, None] = {}
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        after = tokens[at + 1 : at + 3]
        if token.kind == "symbol":
            # A bracket after nothing that has elements begins a list.
            is_list = token.text == "[" and (before is None or (before.kind == "symbol" and before.text not in ")]"))
            if token.text in _OPERATORS and not is_list:
                found[_OPERATORS[token.text]] = None
        elif token.kind == "word" and after and after[0].is_symbol("("):
            # EXISTS and FILTER look like functions, and so may types and aliases.
            is_clause = len(after) == 2 and after[1].is_word("SELECT", "WITH", "FROM", "WHERE")
            is_name = before is not None and (before.is_word("AS") or before.is_symbol("::"))
            name = token.text.lower()
            if not is_clause and not is_name and name not in _SAME and name in _OF_SPARK:
                found[name] = None
    return list(found)


def _quoted(text: str, tokens: Sequence[SqlToken], exists: bool = False) -> Iterator[str]:
    """The query with quotes around a path that has none; with `exists`, only around a folder that exists."""
    for token in tokens:
        path = re.match(r"\s+([\w./~:\-]+)", text[token.end :]) if token.is_word(*_SOURCE_WORDS) else None
        if path is not None and (not exists or Path(path[1]).is_dir()):
            yield f"{text[: token.end]} '{path[1]}'{text[token.end + path.end() :]}"


def _named(tokens: Sequence[SqlToken]) -> list[_Named]:
    """The tables after FROM and JOIN: quoted paths, and names in the catalog that --catalog gives."""
    found = []
    for at, token in enumerate(tokens[:-1]):
        if not token.is_word(*_SOURCE_WORDS):
            continue
        first = tokens[at + 1]
        if first.kind == "string":
            found.append(_Named(first.text, first.start, first.end))
        elif given_catalog() is not None and first.kind in ("word", "name"):
            last = at + 1
            while last + 2 < len(tokens) and tokens[last + 1].is_symbol("."):
                last += 2
            parts = [f"`{each.text}`" for each in tokens[at + 1 : last + 1 : 2]]
            if len(parts) > 1:
                found.append(_Named(".".join(parts), first.start, tokens[last].end))
    return found


def _scan(
    text: str, tokens: Sequence[SqlToken], named: Sequence[_Named], tables: Mapping[str, DeltaTable], time_zone: str
) -> pa.RecordBatchReader | None:
    """The rows of `SELECT columns FROM table [WHERE predicate] [LIMIT n]`; None for any other query."""
    if len(named) != 1 or not tokens[0].is_word("SELECT"):
        return None
    [one] = named
    before = [token for token in tokens[1:] if token.end <= one.start][:-1]
    after = [token for token in tokens if token.start >= one.end]
    columns = _columns(text, before)
    if columns is None:
        return None
    where, limit = None, None
    if after and after[0].is_word("WHERE"):
        rest = next((i for i, token in enumerate(after[1:], 1) if token.is_word(*_NEXT_WORDS)), len(after))
        end = after[rest - 1].end
        where, after = text[after[0].end : end], after[rest:]
    if len(after) == 2 and after[0].is_word("LIMIT") and after[1].text.isdigit():
        limit, after = int(after[1].text), []
    if after:
        return None
    if where is not None:
        try:
            parse_sql(where)
        except PredicateError:
            return None
    scan = tables[one.table].scan(where, columns=columns or None, limit=limit, time_zone=time_zone)
    return scan.to_batches()


def _columns(text: str, tokens: Sequence[SqlToken]) -> list[str] | None:
    """The columns of a select list, [] for `*`; None if it has anything else."""
    if len(tokens) == 1 and tokens[0].is_symbol("*"):
        return []
    found: list[str] = []
    start = 0
    for at in range(len(tokens) + 1):
        if at < len(tokens) and not tokens[at].is_symbol(","):
            continue
        part = tokens[start:at]
        if len(part) != 1 or part[0].kind not in ("word", "name"):
            return None
        try:
            node = parse_sql(text[part[0].start : part[0].end])
        except PredicateError:
            return None
        if not isinstance(node, Column):
            return None
        found.append(node.parts[0])
        start = at + 1
    return found


def _by_duckdb(
    text: str, named: Sequence[_Named], tables: Mapping[str, DeltaTable], time_zone: str, cure: str
) -> pa.RecordBatchReader:
    try:
        import duckdb
    except ImportError as error:
        raise InvalidArgument(
            "This query needs DuckDB: pip install duckdb. Without it, write SELECT columns FROM 'table' WHERE "
            "predicate LIMIT n."
        ) from error
    names = {table: f"deltaskip_{number}" for number, table in enumerate(tables)}
    for each in sorted(named, key=lambda one: one.start, reverse=True):
        text = text[: each.start] + names[each.table] + text[each.end :]
    connection = duckdb.connect()
    try:
        connection.execute("SET TimeZone = ?", [time_zone])
        for table, name in names.items():
            tables[table].scan(time_zone=time_zone).to_duckdb(connection, name)
        # The query reads the tables that it names, and no file, variable or extension beside them.
        for setting in _CLOSED:
            connection.execute(f"SET {setting}")
        if [each.type for each in connection.extract_statements(text)] != [duckdb.StatementType.SELECT]:
            raise InvalidArgument("A query is one SELECT: other statements are not run.")
        found = pa.RecordBatchReader.from_stream(connection.sql(text))
    except duckdb.Error as error:
        said = redacted(str(error))
        for table, name in names.items():
            said = said.replace(name, f"'{table}'")
        travels = re.search(r"\b(VERSION|TIMESTAMP)\s+AS\s+OF\b", text, re.IGNORECASE)
        cure += " Write AND for &&." if "&&" in text else ""
        cure += " An earlier version is read by deltaskip head with --version or --timestamp." if travels else ""
        raise PredicateError(f"DuckDB refuses the query: {said}{cure}") from error

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from found
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            raise PredicateError(f"DuckDB cannot finish the query: {redacted(str(error))}") from error

    return pa.RecordBatchReader.from_batches(found.schema, batches())
