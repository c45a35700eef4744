"""Statements that Spark's own SQL cannot run on a table, and the error that shows how the catalog's SQL runs them.

Spark plans UPDATE, MERGE and all other deletes only for writers that are classes of its JVM. Session extensions are
also JVM classes, and Spark has no extension that passes a statement on, so no setting gives this package the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.lazy_regex import regex
from deltaskip.spark.session.jvm import Jvm
from deltaskip.sparkexpr import parameter_names
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.sparkexpr.types import display_name
from deltaskip.statements.reader import path_of

_BEGINNINGS = (("UPDATE",), ("DELETE", "FROM"), ("MERGE", "INTO"), ("MERGE", "WITH", "SCHEMA", "EVOLUTION", "INTO"))
# Patterns that Spark converts to a prefix or an equality; it passes no other pattern.
_HANDED_OVER = regex(r"[^%_\\]*%?")


def use_sql(jvm: Jvm, what: str, catalog: str, ident: CatalogIdentifier) -> UnsupportedFeature:
    """Return the error for a statement that Spark's own SQL cannot run on a table.

    Args:
        jvm: The session's JVM, in whose thread the statement is analysed.
        what: The kind of statement.
        catalog: Name of the catalog in the session.
        ident: Name of the table in the catalog.
    """
    parts = (*ident.namespace, ident.name)
    # The catalog's SQL accepts a path after the name of the format.
    own = display_name((catalog, *parts) if path_of((catalog, *parts)) is not None else parts)
    text = _statement(jvm)
    more = ""
    if text is None:
        line = f"catalog.load_table({own!r}).merge(…)"
    else:
        changed = _in_catalog(text, catalog, own)
        unbound = parameter_names(changed) or any(token.is_symbol("?") for token in _tokens(changed))
        params = ", params=args" if unbound else ""
        line = f"catalog.sql(spark, {_quoted(changed)}{params})"
        if params:
            more = ", where args are those of spark.sql"
        if _begins(_tokens(text), ("WITH",)):
            more = ", after the query of WITH was moved into USING (WITH … SELECT …) or a temporary view"
    name = display_name([catalog, *ident.namespace, ident.name])
    return UnsupportedFeature(
        f"{what} of the table {name} cannot be run by Spark's own SQL. Run it with the catalog that install_catalog "
        f"was given{more}: {line}"
    )


def check_insert(jvm: Jvm, catalog: str, ident: CatalogIdentifier) -> None:
    """Raise UnsupportedFeature for a MERGE that only inserts. For Spark's interfaces, it looks like an INSERT."""
    if _is_merge(_tokens(_statement(jvm) or "")):
        raise use_sql(jvm, "UPDATE and MERGE", catalog, ident)


def check_delete(jvm: Jvm, catalog: str, ident: CatalogIdentifier) -> None:
    """Raise UnsupportedFeature for a deletion that Spark refuses before it asks the table: a MERGE, or a condition."""
    text = _statement(jvm)
    tokens = _tokens(text or "")
    if text is None or _is_merge(tokens):
        raise use_sql(jvm, "UPDATE and MERGE", catalog, ident)
    patterns = (after.text for token, after in pairwise(tokens) if token.is_word("LIKE") and after.kind == "string")
    if any(token.is_word("SELECT", "RLIKE", "REGEXP", "ILIKE") for token in tokens) or not all(
        map(_HANDED_OVER.fullmatch, patterns)
    ):
        raise use_sql(jvm, "DELETE with this condition", catalog, ident)


def _statement(jvm: Jvm) -> str | None:
    """The text of the statement that is analysed; None for a call of a DataFrame."""
    found = jvm.view.org.apache.spark.sql.catalyst.trees.CurrentOrigin.get().sqlText()
    return str(found.get()) if found.isDefined() else None


def _in_catalog(text: str, catalog: str, own: str) -> str:
    """The statement with names that the catalog resolves. own: The name of the table that the statement changes."""
    text = text.strip().rstrip(";")
    tokens = _tokens(text)
    words = next((each for each in _BEGINNINGS if _begins(tokens, each)), ())
    replaced: list[tuple[int, int, str]] = []
    at = len(words)
    if words and at < len(tokens):
        last = at
        if tokens[last].is_word("IDENTIFIER") and last + 1 < len(tokens) and tokens[last + 1].is_symbol("("):
            last = next(i for i in range(at, len(tokens)) if tokens[i].is_symbol(")"))
        while last + 2 < len(tokens) and tokens[last + 1].is_symbol("."):
            last += 2
        replaced.append((tokens[at].start, tokens[last].end, own))
        at = last + 1
    for i in range(at, len(tokens) - 2):
        first = tokens[i].kind in ("word", "name") and tokens[i].text == catalog and not tokens[i - 1].is_symbol(".")
        is_path = path_of((catalog, tokens[i + 2].text)) is not None
        if first and tokens[i + 1].is_symbol(".") and not is_path:
            replaced.append((tokens[i].start, tokens[i + 2].start, ""))
    for start, end, new in reversed(replaced):
        text = text[:start] + new + text[end:]
    return text


def _tokens(text: str) -> list[SqlToken]:
    try:
        return sql_tokens(text)
    except SchemaError:
        return []


def _is_merge(tokens: Sequence[SqlToken]) -> bool:
    """Whether a statement is a MERGE, also after a WITH clause."""
    after_with = _begins(tokens, ("WITH",)) and any(
        first.is_word("MERGE") and second.is_word("INTO", "WITH") for first, second in pairwise(tokens)
    )
    return after_with or _begins(tokens, ("MERGE",))


def _begins(tokens: Sequence[SqlToken], words: Sequence[str]) -> bool:
    return len(tokens) > len(words) and all(token.is_word(word) for token, word in zip(tokens, words, strict=False))


def _quoted(text: str) -> str:
    """The text as a Python literal, with its line breaks if possible."""
    plain = "\n" in text and not any(each in text for each in ("\\", '"""')) and not text.endswith('"')
    return f'"""{text}"""' if plain else repr(text)
