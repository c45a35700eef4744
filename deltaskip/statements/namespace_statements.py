"""Statements about namespaces."""

from __future__ import annotations

from typing import Any

from deltaskip.alter.changes import RemoveProperty, SetProperty
from deltaskip.errors import NamespaceAlreadyExists, NamespaceNotFound
from deltaskip.records import dataclass
from deltaskip.schema.resolve import display_name
from deltaskip.statements import answers
from deltaskip.statements.answers import NOTHING
from deltaskip.statements.session import StatementSession
from deltaskip.statements.statement import Statement
from deltaskip.statements.values import Parts

__all__ = ["AlterNamespace", "CreateNamespace", "DescribeNamespace", "DropNamespace", "ShowNamespaces"]


@dataclass(frozen=True, slots=True)
class CreateNamespace(Statement):
    """CREATE NAMESPACE."""

    name: Parts
    properties: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False

    def run(self, session: StatementSession) -> Any:
        try:
            session.catalog.create_namespace(session.namespace(self.name), dict(self.properties))
        except NamespaceAlreadyExists:
            if not self.if_not_exists:
                raise
        return NOTHING


@dataclass(frozen=True, slots=True)
class DropNamespace(Statement):
    """DROP NAMESPACE."""

    name: Parts
    if_exists: bool = False
    cascade: bool = False

    def run(self, session: StatementSession) -> Any:
        dropped = session.catalog.drop_namespace(session.namespace(self.name), cascade=self.cascade)
        if not dropped and not self.if_exists:
            raise NamespaceNotFound(f"The catalog {session.catalog.name} has no namespace {display_name(self.name)}.")
        return NOTHING


@dataclass(frozen=True, slots=True)
class AlterNamespace(Statement):
    """ALTER NAMESPACE … SET or UNSET properties."""

    name: Parts
    changes: tuple[SetProperty | RemoveProperty, ...]

    def run(self, session: StatementSession) -> Any:
        session.catalog.alter_namespace(session.namespace(self.name), *self.changes)
        return NOTHING


@dataclass(frozen=True, slots=True)
class DescribeNamespace(Statement):
    """DESCRIBE NAMESPACE."""

    name: Parts
    extended: bool = False

    def run(self, session: StatementSession) -> Any:
        described = session.catalog.describe_namespace(session.namespace(self.name))
        return answers.described_namespace(described, self.extended)


@dataclass(frozen=True, slots=True)
class ShowNamespaces(Statement):
    """SHOW NAMESPACES. pattern: `*` for any characters, `|` between alternatives."""

    parent: Parts = ()
    pattern: str | None = None

    def run(self, session: StatementSession) -> Any:
        names = session.catalog.list_namespaces(session.namespace(self.parent))
        return answers.listed_namespaces(names, self.pattern)
