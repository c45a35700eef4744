"""Statements about namespaces."""

from __future__ import annotations

from typing import Any

from deltaskip.alter.table_changes import RemoveProperty, SetProperty
from deltaskip.errors import NamespaceAlreadyExists, NamespaceNotFound
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import display_name
from deltaskip.statements import answers
from deltaskip.statements.answers import NO_ROWS
from deltaskip.statements.reader import NameParts, StatementReader
from deltaskip.statements.statement import ReadStatement, Statement, StatementSession

ALL_NAMESPACES = ("NAMESPACES", "SCHEMAS", "DATABASES")

NAMESPACE_WORDS = ("NAMESPACE", "SCHEMA", "DATABASE")


@dataclass(frozen=True, slots=True)
class CreateNamespace(Statement):
    """CREATE NAMESPACE."""

    name: NameParts
    properties: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False

    @staticmethod
    def read(reader: StatementReader) -> CreateNamespace:
        """CREATE NAMESPACE [IF NOT EXISTS] name [COMMENT] [LOCATION] [WITH PROPERTIES]"""
        if_not_exists = reader.if_not_exists()
        name = reader.parts("the name of a namespace")
        properties: dict[str, str] = {}
        while True:
            if reader.take_words("COMMENT"):
                properties["comment"] = reader.string("the comment")
            elif reader.take_words("LOCATION"):
                properties["location"] = reader.string("the location")
            elif reader.take_words("WITH"):
                if not reader.take_one("PROPERTIES", "DBPROPERTIES"):
                    raise reader.error("PROPERTIES is expected here")
                properties.update(reader.properties())
            else:
                break
        return CreateNamespace(name, tuple(properties.items()), if_not_exists)

    def run(self, session: StatementSession) -> Any:
        try:
            session.catalog.create_namespace(session.namespace(self.name), dict(self.properties))
        except NamespaceAlreadyExists:
            if not self.if_not_exists:
                raise
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class DropNamespace(Statement):
    """DROP NAMESPACE."""

    name: NameParts
    if_exists: bool = False
    cascade: bool = False

    @staticmethod
    def read(reader: StatementReader) -> DropNamespace:
        """DROP NAMESPACE [IF EXISTS] name [RESTRICT | CASCADE]"""
        if_exists = reader.if_exists()
        name = reader.parts("the name of a namespace")
        cascade = reader.take_one("RESTRICT", "CASCADE") == "CASCADE"
        return DropNamespace(name, if_exists, cascade)

    def run(self, session: StatementSession) -> Any:
        dropped = session.catalog.drop_namespace(session.namespace(self.name), cascade=self.cascade)
        if not dropped and not self.if_exists:
            raise NamespaceNotFound(f"The catalog {session.catalog.name} has no namespace {display_name(self.name)}.")
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class AlterNamespace(Statement):
    """ALTER NAMESPACE … SET or UNSET properties."""

    name: NameParts
    changes: tuple[SetProperty | RemoveProperty, ...]

    @staticmethod
    def read(reader: StatementReader) -> AlterNamespace:
        """ALTER NAMESPACE name SET | UNSET PROPERTIES (…)"""
        name = reader.parts("the name of a namespace")
        changes: list[SetProperty | RemoveProperty] = []
        if reader.take_words("UNSET"):
            if not reader.take_one("PROPERTIES", "DBPROPERTIES"):
                raise reader.error("PROPERTIES is expected here")
            exists = reader.if_exists()
            changes += [RemoveProperty(each, exists) for each in reader.parenthesized_list(reader.property_name)]
        else:
            reader.need_words("SET")
            if reader.take_words("LOCATION"):
                changes.append(SetProperty("location", reader.string("the location")))
            elif reader.take_one("PROPERTIES", "DBPROPERTIES"):
                changes += [SetProperty(*each) for each in reader.properties()]
            else:
                raise reader.error("PROPERTIES or LOCATION is expected here")
        return AlterNamespace(name, tuple(changes))

    def run(self, session: StatementSession) -> Any:
        session.catalog.alter_namespace(session.namespace(self.name), *self.changes)
        return NO_ROWS


@dataclass(frozen=True, slots=True)
class DescribeNamespace(ReadStatement):
    """DESCRIBE NAMESPACE."""

    name: NameParts
    extended: bool = False

    @staticmethod
    def read(reader: StatementReader) -> DescribeNamespace:
        """DESCRIBE NAMESPACE [EXTENDED] name"""
        extended = reader.take_words("EXTENDED")
        return DescribeNamespace(reader.parts("the name of a namespace"), extended)

    def run(self, session: StatementSession) -> Any:
        described = session.catalog.describe_namespace(session.namespace(self.name))
        return answers.described_namespace(described, self.extended)


@dataclass(frozen=True, slots=True)
class ShowNamespaces(ReadStatement):
    """SHOW NAMESPACES. pattern: `*` for any characters, `|` between alternatives."""

    parent: NameParts = ()
    pattern: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> ShowNamespaces:
        """SHOW NAMESPACES [FROM | IN parent] [[LIKE] pattern]"""
        parent = reader.parts("the name of a namespace") if reader.take_one("FROM", "IN") else ()
        return ShowNamespaces(parent, reader.pattern())

    def run(self, session: StatementSession) -> Any:
        names = session.catalog.list_namespaces(session.namespace(self.parent))
        return answers.listed_namespaces(names, self.pattern)
