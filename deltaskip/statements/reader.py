"""Parts that all statements share: names with time travel, expressions and queries as typed, lists of properties.

# Spark 4.1, SqlBaseParser.g4: identifierReference, temporalClause, propertyList, partitionSpec
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from deltaskip.alter.alter_sql import AlterParser
from deltaskip.errors import SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_error
from deltaskip.sparkexpr.types import StructType, display_name, parse_names
from deltaskip.sparkexpr.types.ddl import DdlParser

NameParts = tuple[str, ...]
"""The parts of a name, without backticks."""

Creating = Literal["create", "replace", "create or replace"]


def path_of(parts: NameParts) -> str | None:
    """The path of a name such as ``delta.`/data/events` `` or with `deltaskip.`; None for another name."""
    is_path = len(parts) == 2 and parts[0].lower() in ("delta", "deltaskip") and "/" in parts[1]
    return parts[1] if is_path else None


def name_of_path(path: str) -> NameParts:
    """The name of a table whose path is in quotes. Without a slash it would be a name of a catalog."""
    return "delta", path if "/" in path else f"./{path}"


def qualifiers(parts: NameParts, alias: str | None) -> list[NameParts]:
    """The qualifiers of a table's columns: its alias, or its name with all or some of its namespaces."""
    return [parts[i:] for i in range(len(parts))] if alias is None else [(alias,)]


@dataclass(frozen=True, slots=True)
class StatementChanges:
    """The changes of a table in a query.

    Attributes:
        start: The first version, or the time from which on versions are read, also as SQL text.
        end: The last version, or a time; None for the latest.
        after_start: Whether `start` itself is left out.
        before_end: Whether `end` itself is left out.
        options: The options of WITH, by their names in lower case.
        updates: Whether images of updates are told as such; otherwise as a delete and an insert.
    """

    start: int | str | datetime
    end: int | str | datetime | None = None
    after_start: bool = False
    before_end: bool = False
    options: tuple[tuple[str, str], ...] = ()
    updates: bool = False


@dataclass(frozen=True, slots=True)
class StatementTable:
    """The name of a table in a statement.

    Attributes:
        parts: The parts of the name; ("delta", path) for a table by its path.
        version: The version to read; None for the latest.
        timestamp: SQL text of the time to read; None for the latest version.
        changes: The changes to read; None for the rows.
    """

    parts: NameParts
    version: int | None = None
    timestamp: str | None = None
    changes: StatementChanges | None = None


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """A column of PARTITION (…). value: SQL text of its value; None if the query provides it."""

    column: str
    value: str | None = None


QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE")
_SIGNS = ("+", "-", "*", "/", "%", "||")
_CLOSING = (")", "]")


def check_reads(reader: StatementReader) -> None:
    """Raise SchemaError if a text that begins as a query changes rows, which Spark would do in its own tables."""
    at = reader.changing()
    if at is not None:
        raise sql_error(
            reader.text,
            reader.tokens[at].start,
            "a query is expected here: write the query of WITH inside of the statement, and one INSERT a statement",
        )


class StatementReader(AlterParser):
    """A recursive descent over the tokens of one statement."""

    def peek_words(self, *words: str) -> bool:
        """Whether the next tokens are these words."""
        if self.at + len(words) > len(self.tokens):
            return False
        return all(self.tokens[self.at + i].is_word(word) for i, word in enumerate(words))

    def take_one(self, *words: str) -> str | None:
        """Read the next token if it is one of these words, and return it in upper case."""
        if not self.peek_word(*words):
            return None
        self.at += 1
        return self.tokens[self.at - 1].text.upper()

    def need_words(self, *words: str) -> None:
        """Read these words. Raises if the next tokens are others."""
        if not self.take_words(*words):
            raise self.error(f"{' '.join(words)} is expected here")

    def finish(self) -> None:
        """Raise unless the statement ends here, with or without a semicolon."""
        if self.peek_symbol(";"):
            while self.peek_symbol(";"):
                self.at += 1
            if not self.at_end:
                raise self.error("one statement at a time: this begins a second one")
        elif not self.at_end:
            raise self.error("this is unexpected after the statement")

    def parts(self, what: str = "the name of a table") -> NameParts:
        """A name with dots between its parts, or a path as a string."""
        if not self.at_end and self.tokens[self.at].kind == "string" and what == "the name of a table":
            return name_of_path(self.string(what))
        found = [self.name(what)]
        while self.peek_symbol("."):
            self.at += 1
            found.append(self.name(what))
        return tuple(found)

    def if_exists(self) -> bool:
        """Read IF EXISTS if it is next; return whether it was."""
        if not self.peek_words("IF", "EXISTS"):
            return False
        self.at += 2
        return True

    def if_not_exists(self) -> bool:
        """Read IF NOT EXISTS if it is next; return whether it was."""
        return self.take_words("IF", "NOT", "EXISTS")

    def table_name(self) -> StatementTable:
        """The name of a table, with @v1, VERSION AS OF or TIMESTAMP AS OF."""
        parts = self.parts()
        if self.peek_symbol("@"):
            return self.at_version(parts)
        version, timestamp = self.time_travel()
        return StatementTable(parts, version, timestamp)

    def at_version(self, parts: NameParts) -> StatementTable:
        """@v1 or @yyyyMMddHHmmssSSS.

        # delta-spark, DeltaTimeTravelSpec: the suffix of a name
        """
        self.at += 1
        token = self.next("a version such as v3, or a time of 17 digits,")
        digits = token.text[1:] if token.text[:1] in "vV" else token.text
        if token.kind in ("word", "number") and digits.isascii() and digits.isdigit():
            if digits is not token.text and len(digits) < 19:
                return StatementTable(parts, int(digits))
            if digits is token.text and len(digits) == 17:
                d = digits
                text = f"{d[:4]}-{d[4:6]}-{d[6:8]} {d[8:10]}:{d[10:12]}:{d[12:14]}.{d[14:]}"
                return StatementTable(parts, None, f"'{text}'")
        raise sql_error(self.text, token.start, "write a version as in t@v3, or a time as in t@20260131120000000")

    def time_travel(self) -> tuple[int | None, str | None]:
        """[FOR] VERSION AS OF number or TIMESTAMP AS OF expression, if one is next: the version, or the text."""
        start = self.at
        spelled = self.take_words("FOR")
        if self.take_one("VERSION", "SYSTEM_VERSION") and self.take_words("AS", "OF"):
            return self.version(), None
        self.at = start + spelled
        if self.take_one("TIMESTAMP", "SYSTEM_TIME") and self.take_words("AS", "OF"):
            return None, self.operand()
        self.at = start
        return None, None

    def version(self) -> int:
        """A version, as a number or a string."""
        token = self.next("the version")
        if token.kind not in ("number", "string") or not (token.text.isascii() and token.text.isdigit()):
            raise sql_error(self.text, token.start, "the version must be a whole number")
        if len(token.text) > 18:
            raise sql_error(self.text, token.start, "the version is too large")
        return int(token.text)

    def changes_clause(self) -> StatementChanges | None:
        """CHANGES FROM VERSION a [EXCLUSIVE] [TO VERSION b [EXCLUSIVE]] [WITH (options)] or TIMESTAMP, if it is next.

        # Spark 4.2, SqlBaseParser.g4: changesClause, optionsClause
        """
        start = self.at
        if not self.take_words("CHANGES", "FROM"):
            return None
        words = ("VERSION", "SYSTEM_VERSION") if self.peek_word("VERSION", "SYSTEM_VERSION") else ("TIMESTAMP",)
        words = words if len(words) > 1 else ("TIMESTAMP", "SYSTEM_TIME")
        if self.take_one(*words) is None:
            self.at = start
            return None
        read = self.version if "VERSION" in words else self.operand
        first, after = read(), self.take_one("INCLUSIVE", "EXCLUSIVE") == "EXCLUSIVE"
        last, before = None, False
        if self.take_words("TO"):
            if self.take_one(*words) is None:
                raise self.error(f"{words[0]} is expected here, as after FROM")
            last, before = read(), self.take_one("INCLUSIVE", "EXCLUSIVE") == "EXCLUSIVE"
        options: tuple[tuple[str, str], ...] = ()
        if self.take_words("WITH"):
            options = tuple(
                (each.property.lower(), each.value) for each in self.parenthesized_list(self.property_with_value)
            )
        return StatementChanges(first, last, after, before, options)

    def table_changes(self, by_path: bool) -> StatementTable | None:
        """The table and the range of a call of table_changes or table_changes_by_path; None unless they are constants.

        # delta-spark, DeltaTableValueFunctions
        """
        closing = self.closing(self.at)
        tokens = [token for token in self.tokens[self.at + 1 : closing] if not token.is_symbol(",")]
        known = len(tokens) in (2, 3) and tokens[0].kind == "string"
        self.at = closing + 1
        if not known or any(token.kind not in ("number", "string") for token in tokens[1:]):
            return None
        bounds: list[int | str] = []
        for token in tokens[1:]:
            is_version = token.kind == "number" and token.text.isascii() and token.text.isdigit()
            bounds.append(int(token.text) if is_version else self.text[token.start : token.end])
        if by_path:
            path = tokens[0].text
            parts = name_of_path(path)
        else:
            [parts] = (tuple(each) for each in parse_names(tokens[0].text, "table_changes", SchemaError))
        return StatementTable(parts, changes=StatementChanges(bounds[0], (*bounds[1:], None)[0], updates=True))

    def operand(self) -> str:
        """The text of a value without surrounding words, such as `current_timestamp() - INTERVAL 1 DAY`."""
        first = self.at
        while True:
            token = self.next("a value")
            if token.is_symbol("("):
                self.at = self.closing(self.at - 1) + 1
            elif token.is_word("INTERVAL"):
                self.next("the interval")
                if not self.at_end and self.tokens[self.at].kind == "word":
                    self.at += 1
            elif token.kind in ("word", "name"):
                self.rest_of_value()
            elif token.kind not in ("string", "number"):
                raise sql_error(self.text, token.start, "a value is expected here")
            if self.at_end or not any(map(self.peek_symbol, _SIGNS)):
                break
            self.at += 1
        return self.text[self.tokens[first].start : self.tokens[self.at - 1].end]

    def rest_of_value(self) -> None:
        """The rest of a value after its first word: a string, names after dots, and arguments."""
        if not self.at_end and self.tokens[self.at].kind == "string":
            self.at += 1
        while self.peek_symbol("."):
            self.at += 2
        if self.peek_symbol("("):
            self.at = self.closing(self.at) + 1

    def text_until(self, what: str, *words: str, comma: bool = False, query: bool = False) -> str:
        """The text up to one of the words outside of parentheses and CASE … END, or up to the end. what: for errors.

        comma: whether a comma also ends it. query: whether a query in parentheses does, except after IN and EXISTS.
        """
        first, cases = self.at, 0
        while not self.at_end:
            token = self.tokens[self.at]
            if token.kind == "symbol":
                if token.text == ";" or (comma and token.text == "," and not cases):
                    break
                if query and self.at > first and self.begins_query() and not self.after_word("IN", "EXISTS"):
                    break
                if token.text in ("(", "["):
                    self.at = self.closing(self.at)
                elif token.text in _CLOSING:
                    break
            elif token.kind == "word" and not self.after_dot():
                if not cases and self.at > first and token.is_word(*words) and self.ends_here(token):
                    break
                cases += token.is_word("CASE") - (token.is_word("END") and cases > 0)
            self.at += 1
        if self.at == first:
            raise self.error(f"{what} is missing")
        return self.text[self.tokens[first].start : self.tokens[self.at - 1].end]

    def after_dot(self) -> bool:
        """Whether the next token is a part of a name, after a dot."""
        return self.at > 0 and self.tokens[self.at - 1].is_symbol(".")

    def after_word(self, *words: str) -> bool:
        """Whether the token before the next one is one of these words."""
        return self.at > 0 and self.tokens[self.at - 1].is_word(*words)

    def ends_here(self, token: SqlToken) -> bool:
        """Whether a word that could end a text does: WHEN only before MATCHED or NOT."""
        if not token.is_word("WHEN"):
            return True
        follows = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        return follows is not None and follows.is_word("MATCHED", "NOT")

    def rest(self, what: str) -> str:
        """The rest of the text, without a semicolon at its end. Raises if there is a second statement."""
        first = self.at
        while not self.at_end and not self.peek_symbol(";"):
            symbol = self.tokens[self.at]
            if symbol.is_symbol("(") or symbol.is_symbol("["):
                self.at = self.closing(self.at)
            elif symbol.kind == "symbol" and symbol.text in _CLOSING:
                raise self.error("this closes nothing")
            self.at += 1
        if self.at == first:
            raise self.error(f"{what} is missing")
        text = self.text[self.tokens[first].start : self.tokens[self.at - 1].end]
        self.finish()
        self.at = len(self.tokens)
        return text

    def query(self) -> str:
        """The text of a query, which is the rest of the statement."""
        if not self.begins_query():
            raise self.error("a query is expected here: SELECT, WITH, FROM, VALUES or TABLE")
        return self.rest("the query")

    def begins_query(self) -> bool:
        """Whether a query is next, possibly in parentheses."""
        at = self.at
        while at < len(self.tokens) and self.tokens[at].is_symbol("("):
            at += 1
        return at < len(self.tokens) and self.tokens[at].is_word(*QUERY_WORDS)

    def changing(self) -> int | None:
        """The token at which a text that begins as a query changes rows, as in WITH … INSERT; None for a query."""
        # Spark 4.1, SqlBaseParser.g4: ctes? dmlStatementNoWith
        tokens = self.tokens
        at = self._after_names() if self.peek_word("WITH") else self.at
        if at > self.at and at < len(tokens) and tokens[at].is_word("INSERT", "UPDATE", "DELETE", "MERGE"):
            return at
        reads_first = at < len(tokens) and tokens[at].is_word("FROM")
        while reads_first and at + 1 < len(tokens):
            if tokens[at].is_word("INSERT") and tokens[at + 1].is_word("INTO", "OVERWRITE"):
                return at
            at = self.closing(at) + 1 if tokens[at].is_symbol("(") else at + 1
        return None

    def _after_names(self) -> int:
        """The first token after WITH and its named queries, each of which ends in a parenthesis."""
        at = self.at
        while at < len(self.tokens):
            at = next((i for i in range(at, len(self.tokens)) if self.tokens[i].is_symbol("(")), len(self.tokens))
            at = self.closing(at) + 1 if at < len(self.tokens) else at
            after = self.tokens[at] if at < len(self.tokens) else None
            if after is None or not (after.is_symbol("(") or after.is_symbol(",") or after.is_word("AS", "MAX")):
                break
        return at

    def properties(self) -> tuple[tuple[str, str], ...]:
        """('name' = 'value', …)"""
        return tuple((each.property, each.value) for each in self.parenthesized_list(self.property_with_value))

    def partition_values(self) -> tuple[PartitionValue, ...]:
        """(column [= value], …)"""
        return tuple(self.parenthesized_list(self.partition_value))

    def partition_value(self) -> PartitionValue:
        """column [= value]"""
        column = self.name("the name of a partition column")
        if not self.peek_symbol("="):
            return PartitionValue(column)
        self.at += 1
        return PartitionValue(column, self.text_until(f"the value of {display_name([column])}", comma=True))

    def column_definitions(self) -> StructType:
        """(name type options, …)"""
        self.expect("(")
        closing = self.closing(self.at - 1)
        if closing == self.at:
            raise self.error("a table needs at least one column")
        inner = DdlParser(self.text, self.tokens[self.at : closing], self.timestamp)
        found = inner.columns()
        self.at = closing + 1
        return found

    def pattern(self) -> str | None:
        """[LIKE] 'pattern', if it is next."""
        if self.take_words("LIKE") or (not self.at_end and self.tokens[self.at].kind == "string"):
            return self.string("the pattern")
        return None

    def chosen(self, *words: tuple[str, Callable[[], None]]) -> bool:
        """Run the reader of the option whose word is next; return whether there was one."""
        for word, read in words:
            if self.take_words(*word.split()):
                read()
                return True
        return False
