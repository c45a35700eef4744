"""ALTER TABLE statements as changes: the text after ALTER TABLE and the table's name.

# Spark 4.1, SqlBaseParser.g4; delta-spark, DeltaSqlBase.g4
Names and keywords are parsed; types and expressions keep the text as typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deltaskip.alter import table_changes
from deltaskip.alter.table_changes import FIRST
from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.text.sql_text import sql_error
from deltaskip.sparkexpr.types import ColumnPath, display_name, fold_name, simple_string
from deltaskip.sparkexpr.types.ddl import DdlParser, parse_columns

_T = TypeVar("_T")
_ACTIONS = ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP", "SYNC")


def parse_alter(text: str) -> tuple[table_changes.TableChange, ...]:
    """Return the changes of an ALTER TABLE statement without ALTER TABLE and the table's name.

    Raises SchemaError for other text.
    """
    statement = AlterParser(text)
    if statement.at_end:
        raise SchemaError("The statement is empty: write what follows ALTER TABLE and the table's name.")
    changes = statement.changes()
    if not statement.at_end and statement.peek_symbol(";"):
        statement.at += 1
    if not statement.at_end:
        raise statement.error("this is unexpected after the statement")
    return tuple(changes)


class AlterParser(DdlParser):
    """A recursive descent over the tokens after ALTER TABLE and the table's name."""

    def changes(self) -> list[table_changes.TableChange]:
        """The changes of the statement."""
        if self.take_words("ADD", "COLUMNS") or self.take_words("ADD", "COLUMN"):
            return list(self.enclosed_list(self.added_column))
        if self.take_words("ADD", "CONSTRAINT"):
            return [self.added_constraint()]
        if self.take_words("RENAME", "COLUMN"):
            return [self.renamed_column()]
        if self.take_words("DROP"):
            return self.drop()
        if self.take_words("REPLACE", "COLUMNS"):
            return [self.replaced_columns()]
        if self.take_words("SET", "TBLPROPERTIES"):
            return list(self.parenthesized_list(self.property_with_value))
        if self.take_words("UNSET", "TBLPROPERTIES"):
            # delta-spark does not distinguish the two forms.
            self.take_words("IF", "EXISTS")
            return [
                table_changes.RemoveProperty(name, if_exists=True)
                for name in self.parenthesized_list(self.property_name)
            ]
        if self.take_words("CLUSTER", "BY"):
            return [
                table_changes.ClusterBy()
                if self.take_words("NONE")
                else table_changes.ClusterBy(*self.parenthesized_list(self.path))
            ]
        after = self.tokens[self.at + 1 : self.at + 3]
        named = len(after) > 1 and after[0].is_word("TABLE") and not after[1].is_word(*_ACTIONS)
        if not named and (self.take_words("ALTER") or self.take_words("CHANGE")):
            self.take_words("COLUMN")
            return self.altered_columns()
        raise self.error(
            "write ADD COLUMN, DROP COLUMN, RENAME COLUMN, ALTER COLUMN, REPLACE COLUMNS, SET or UNSET TBLPROPERTIES, "
            "ADD or DROP CONSTRAINT, CLUSTER BY, or DROP FEATURE, without ALTER TABLE and the table's name"
        )

    def added_column(self) -> table_changes.AddColumn:
        """A name, a type and options in any order."""
        path = self.path()
        declared = self.type_source(path[-1])
        nullable, comment, position = True, None, None
        while not (self.at_end or self.peek_symbol(",") or self.peek_symbol(")") or self.peek_symbol(";")):
            if self.take_words("NOT", "NULL"):
                nullable = False
            elif comment is None and self.take_words("COMMENT"):
                comment = self.string("the comment")
            elif position is None and self.peek_word("FIRST", "AFTER"):
                position = self.position_clause()
            elif self.peek_word("DEFAULT"):
                raise self.error(
                    f"existing rows would need a value: add the column {display_name(path)} first, and then ALTER "
                    f"COLUMN {display_name(path)} SET DEFAULT"
                )
            elif self.peek_word("GENERATED"):
                raise self.error("existing rows would need a value, so a generated column cannot be added")
            else:
                raise self.error(f"this is not an option of the column {display_name(path)}")
        return table_changes.AddColumn(path, declared, comment, nullable, position)

    def added_constraint(self) -> table_changes.AddConstraint:
        """name CHECK (condition)"""
        name = self.name("the constraint's name")
        if not self.take_words("CHECK"):
            raise self.error("only CHECK constraints can be added: write CHECK (condition)")
        return table_changes.AddConstraint(name, self.parenthesized())

    def renamed_column(self) -> table_changes.RenameColumn:
        """path TO name"""
        path = self.path()
        if not self.take_words("TO"):
            raise self.error("TO and the new name are expected here")
        return table_changes.RenameColumn(path, self.name("the new name"))

    def drop(self) -> list[table_changes.TableChange]:
        """COLUMN, CONSTRAINT or FEATURE."""
        if self.take_words("COLUMNS") or self.take_words("COLUMN"):
            exists = self.take_words("IF", "EXISTS")
            return [table_changes.DeleteColumn(path, exists) for path in self.enclosed_list(self.path)]
        if self.take_words("CONSTRAINT"):
            exists = self.take_words("IF", "EXISTS")
            return [table_changes.DropConstraint(self.name("the constraint's name"), exists)]
        if self.take_words("FEATURE"):
            token = self.next("the feature's name")
            if token.kind == "symbol" or not token.text:
                raise sql_error(self.text, token.start, "the feature's name is expected here")
            return [table_changes.DropFeature(token.text, self.take_words("TRUNCATE", "HISTORY"))]
        raise self.error("write DROP COLUMN, DROP CONSTRAINT or DROP FEATURE")

    def replaced_columns(self) -> table_changes.ReplaceColumns:
        """(column, …)"""
        if not self.peek_symbol("("):
            raise self.error("the columns are expected here, in parentheses")
        return table_changes.ReplaceColumns(parse_columns(self.parenthesized(), self.timestamp))

    def property_with_value(self) -> table_changes.SetProperty:
        """name = value"""
        at = self.position
        name = self.property_name()
        if self.peek_symbol("="):
            self.at += 1
        if self.at_end or self.peek_symbol(",") or self.peek_symbol(")"):
            raise sql_error(self.text, at, f"the property {name} needs a value")
        first = self.tokens[self.at]
        if first.kind == "string":
            self.at += 1
            return table_changes.SetProperty(name, first.text)
        while not (self.at_end or self.peek_symbol(",") or self.peek_symbol(")")):
            self.at += 1
        value = self.text[first.start : self.tokens[self.at - 1].end]
        return table_changes.SetProperty(name, value.lower() if value.lower() in ("true", "false") else value)

    def property_name(self) -> str:
        """A string, or names with dots between them."""
        if not self.at_end and self.tokens[self.at].kind == "string":
            return self.string("the name of a property")
        return ".".join(self.path())

    def altered_columns(self) -> list[table_changes.TableChange]:
        """path action, …; or path, the same name, a type and options."""
        changes: list[table_changes.TableChange] = []
        while True:
            path = self.path()
            changes += self.action(path) if self.peek_word(*_ACTIONS) else self.described(path)
            if not self.peek_symbol(","):
                return changes
            self.at += 1

    def action(self, path: ColumnPath) -> list[table_changes.TableChange]:
        """One change of a column."""
        if self.take_words("TYPE"):
            return [table_changes.UpdateColumn(path, self.type_source(path[-1]))]
        if self.take_words("COMMENT"):
            return [table_changes.UpdateColumnComment(path, self.string("the comment"))]
        if self.peek_word("FIRST", "AFTER"):
            return [table_changes.MoveColumn(path, self.position_clause())]
        if self.take_words("SET", "NOT", "NULL"):
            return [table_changes.UpdateColumnNullability(path, nullable=False)]
        if self.take_words("DROP", "NOT", "NULL"):
            return [table_changes.UpdateColumnNullability(path, nullable=True)]
        if self.take_words("SET", "DEFAULT"):
            return [table_changes.SetDefault(path, self.expression())]
        if self.take_words("DROP", "DEFAULT"):
            return [table_changes.DropDefault(path)]
        if self.take_words("SYNC", "IDENTITY"):
            return [table_changes.SyncIdentity(path)]
        raise self.error("write SET or DROP NOT NULL, SET or DROP DEFAULT, or SYNC IDENTITY")

    def described(self, path: ColumnPath) -> list[table_changes.TableChange]:
        """Read a column change in Hive's form: the name again, a type, and options."""
        at = self.position
        name = self.name("TYPE, COMMENT, FIRST, AFTER, SET, DROP or SYNC")
        if fold_name(name) != fold_name(path[-1]):
            raise sql_error(self.text, at, "a column is renamed with RENAME COLUMN")
        changes: list[table_changes.TableChange] = [table_changes.UpdateColumn(path, self.type_source(name))]
        if self.take_words("NOT", "NULL"):
            changes.append(table_changes.UpdateColumnNullability(path, nullable=False))
        if self.take_words("COMMENT"):
            changes.append(table_changes.UpdateColumnComment(path, self.string("the comment")))
        if self.peek_word("FIRST", "AFTER"):
            changes.append(table_changes.MoveColumn(path, self.position_clause()))
        return changes

    def position_clause(self) -> table_changes.Position:
        """FIRST or AFTER name."""
        if self.take_words("FIRST"):
            return FIRST
        self.at += 1
        return table_changes.After(self.name("the name of another column"))

    def type_source(self, name: str) -> str:
        """The text of a type, as typed, but with TIMESTAMP_NTZ for TIMESTAMP if it means that."""
        start, known = self.position, len(self.timestamps)
        self.type(name, {})
        text, end = "", start
        for token in self.timestamps[known:]:
            text += self.text[end : token.start] + simple_string(self.timestamp)
            end = token.end
        return text + self.text[end : self.tokens[self.at - 1].end]

    def path(self) -> ColumnPath:
        """Names with dots between them."""
        parts = [self.name("a column's name")]
        while self.peek_symbol("."):
            self.at += 1
            parts.append(self.name("the name of a field"))
        return tuple(parts)

    def enclosed_list(self, item: Callable[[], _T]) -> list[_T]:
        """Items separated by commas, with or without parentheses around the list."""
        return self.parenthesized_list(item) if self.peek_symbol("(") else self.list_of(item)

    def parenthesized_list(self, item: Callable[[], _T]) -> list[_T]:
        """Items separated by commas, in parentheses."""
        self.expect("(")
        found = self.list_of(item)
        self.expect(")")
        return found

    def list_of(self, item: Callable[[], _T]) -> list[_T]:
        """Items separated by commas."""
        found = [item()]
        while self.peek_symbol(","):
            self.at += 1
            found.append(item())
        return found
