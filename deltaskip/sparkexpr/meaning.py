"""The meaning of an expression in a Spark session: its time zone, its mode, and what else the session decides.

deltaskip reads SQL text as Spark does under its default settings, with ANSI mode on or off. A session may read the same
text otherwise: by its settings (`meaning_settings`), by variables that it replaces, and by functions of its own under
the names of Spark's. Such parts of an expression become a SessionExpression: they keep every file, and Spark alone
evaluates them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.functions.spark_functions import LITERAL_FUNCTIONS
from deltaskip.sparkexpr.meaning_settings import Setting, function_of, setting_of, settings_that_differ
from deltaskip.sparkexpr.text.expressions import parse_sql
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.sql_text import sql_tokens
from deltaskip.sparkexpr.types.data_types import StructType
from deltaskip.sparkexpr.types.resolve import InsideCollection, display_name, resolve

# Spark 4.1, ConfigReader
_REFERENCE = regex(r"\$\{(?:(\w+?):)?(\S+?)\}", re.ASCII)
_MOST_REPLACEMENTS = 100


class UnknownVariable(LookupError):
    """A reference in a text whose value this process cannot ask for."""


@dataclass(frozen=True, slots=True)
class SessionMeaning:
    """How a session understands expressions. The default is the meaning without a session.

    Attributes:
        time_zone: The session's time zone; None if it is not known.
        ansi: Whether the session evaluates in ANSI mode.
        settings: The settings under which the session understands expressions otherwise than deltaskip, with their
            values.
        texts: The texts that the session changes before it reads them, and what it reads instead; None for a text that
            it changes in a way that is not known.
        functions: Lower-case names of Spark's functions under which the session has functions of its own.
        variables: The names, with their parts in lower case, that are variables of the session.
    """

    time_zone: str | None = "UTC"
    ansi: bool = True
    settings: tuple[tuple[str, str], ...] = ()
    texts: Mapping[str, str | None] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    variables: frozenset[tuple[str, ...]] = frozenset()

    @classmethod
    def of(cls, time_zone: str | None, ansi: bool, given: Mapping[str, str]) -> SessionMeaning:
        """Return the meaning under settings of a session. given: All settings that the session has set."""
        return cls(time_zone, ansi, settings_that_differ(given))

    @property
    def is_usual(self) -> bool:
        """Whether only the time zone and the mode may differ from the meaning without a session."""
        return not (self.settings or self.texts or self.functions or self.variables)

    @property
    def rows(self) -> list[tuple[Setting, str]]:
        """What the settings change, with their values."""
        found = ((setting_of(key), value) for key, value in self.settings)
        return [(row, value) for row, value in found if row is not None]

    def node(self, given: str | n.Node, schema: StructType | None = None) -> n.Node:
        """Return the unbound node of an expression, whose parts with another meaning are SessionExpressions.

        schema: The columns, whose types decide whether some settings matter; None if they are not known.
        Raises PredicateError for text that Spark cannot parse.
        """
        if self.is_usual:
            return parse_sql(given) if isinstance(given, str) else given
        return _Reading(self, schema).node(given)

    def reads(self, text: str) -> bool:
        """Return whether the session finds the same parts as deltaskip in any SQL text, such as a query."""
        return not any(setting.changes_text(text) for setting, _ in self.rows)


class _Reading:
    """Reads an expression as a session understands it."""

    def __init__(self, meaning: SessionMeaning, schema: StructType | None) -> None:
        self._meaning = meaning
        self._schema = schema
        self._settings = meaning.rows

    def node(self, given: str | n.Node) -> n.Node:
        if isinstance(given, str):
            return self._of_text(given)
        why = next((setting.reason(value) for setting, value in self._settings if setting.whole), None)
        if why is None and n.is_too_large(given):
            why = "it is too large to find what the session changes in it"
        return self._marked(given) if why is None else _left(given, why)

    def _of_text(self, text: str) -> n.Node:
        read, own = self._meaning.texts.get(text, text), self._meaning.functions
        if read is None:
            return n.SessionExpression(text, (), "the session replaces a variable in it, whose value is not known")
        why = next((each.reason(value) for each, value in self._settings if each.changes_text(read)), None)
        if why is not None:
            return n.SessionExpression(text, (), why)
        hidden = own.intersection(called_names(read)) if own else own
        try:
            node = parse_sql(read)
        except PredicateError:
            if hidden:
                # Such a function may take another number of arguments.
                return n.SessionExpression(text, (), _own(min(hidden)))
            raise
        # Some calls become other nodes, such as date(x) a cast.
        lost = hidden - {name for part in n.operations(node) if (name := function_of(part)) is not None}
        return n.SessionExpression(text, n.columns_of(node), _own(min(lost))) if lost else self.node(node)

    @deep
    def _marked(self, node: n.Node) -> n.Node:
        node = n.transform(node, self._marked)
        why = self._reason(node)
        return node if why is None else _left(node, why)

    def _reason(self, node: n.Node) -> str | None:
        """Why the session understands a node otherwise, apart from its children."""
        name = function_of(node)
        if name is not None and name in self._meaning.functions:
            return _own(name)
        if isinstance(node, n.Column) and tuple(map(str.lower, node.parts)) in self._meaning.variables:
            return f"{display_name(node.parts)} is a variable of the session"
        return next((row.reason(value) for row, value in self._settings if row.changes(node, self._schema)), None)


USUAL = SessionMeaning()
"""The meaning without a session: ANSI mode, UTC, and Spark's default settings."""


def with_variables(text: str, value_of: Callable[[str | None, str], str | None]) -> str | None:
    """Return a text with its references to variables, such as `${x}`, replaced as Spark replaces them.

    value_of: Returns the value of a reference from its prefix and its name; None to leave the reference as it is.
    Raises UnknownVariable if the value is not known. The text is then None, and if a value refers to itself.
    """
    left = _MOST_REPLACEMENTS

    def replaced(match: re.Match[str]) -> str:
        nonlocal left
        left -= 1
        if left < 0:
            raise UnknownVariable(match[0])
        value = value_of(match[1], match[2])
        return match[0] if value is None else _REFERENCE.sub(replaced, value)

    try:
        return _REFERENCE.sub(replaced, text)
    except UnknownVariable:
        return None


def called_names(given: str | n.Node) -> set[str]:
    """Return the lower-case names of the functions that an expression may call, and perhaps other names."""
    if not isinstance(given, str):
        return {name for part in n.operations(given) if (name := function_of(part)) is not None}
    try:
        tokens = sql_tokens(given)
    except SchemaError:
        # The parser refuses the text, with its position.
        return set()
    words = [token.text.lower() if token.kind in ("word", "name") else "" for token in tokens]
    called = {word for word, after in zip(words, tokens[1:], strict=False) if word and after.is_symbol("(")}
    # Spark 4.1, AstBuilder: BETWEEN is a call.
    return called | {"between"}.intersection(words)


def unresolved_names(given: n.Node, schema: StructType) -> list[tuple[str, ...]]:
    """Return the names in an unbound expression that are neither columns nor functions without parentheses."""
    found = []
    for parts in n.columns_of(given):
        try:
            resolve(schema, parts)
        except InsideCollection:
            continue
        except PredicateError:
            if len(parts) > 1 or parts[0].lower() not in LITERAL_FUNCTIONS:
                found.append(parts)
    return found


def _left(node: n.Node, why: str) -> n.SessionExpression:
    return n.SessionExpression(to_sql(node), n.columns_of(node), why)


def _own(name: str) -> str:
    return f"the session has a function {name} of its own"
