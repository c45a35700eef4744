"""The tables that a query names, and what it requires of their rows."""

from __future__ import annotations

import sys

import pytest

from deltaskip.errors import CatalogError, PredicateError
from deltaskip.statements import queries
from deltaskip.statements.join_equalities import required_of
from deltaskip.statements.references import query_template, references
from tests.cases import cases
from tests.looped import looped

TABLES = {"v0": ["id", "ts", "st", "g"], "v1": ["id", "a", "b"], "v2": ["k"]}


@looped("text, names, replaced", cases(__file__, "references.txt"))
def test_tables_of_a_query_and_the_query_with_others(text: str, names: str, replaced: str) -> None:
    found = references(text)
    shown = [".".join(each.name.parts) for each in found]
    versions = ["" if each.name.version is None else f"@{each.name.version}" for each in found]
    assert ", ".join(name + version for name, version in zip(shown, versions, strict=True)) == names
    views = [f"V{i}" for i in range(len(found))]
    template = query_template(text, dict(zip(found, views, strict=True)))
    assert template.format(**{view: view for view in views}) == replaced


@looped("text, replaced", cases(__file__, "stars_with_metadata.txt"))
def test_no_star_includes_the_metadata_column(text: str, replaced: str) -> None:
    found = references(text)
    views = {each: f"V{i}" for i, each in enumerate(found)}
    assert query_template(text, views, found).format(**{view: view for view in views.values()}) == replaced


@looped(
    "text", ["TABLE t", "FROM t", "SELECT * FROM t NATURAL JOIN u", "FROM t |> SELECT *", "SELECT * FROM t PIVOT (x)"]
)
def test_queries_that_would_show_the_metadata_column_are_refused(text: str) -> None:
    found = references(text)
    with pytest.raises(PredicateError, match="_metadata"):
        query_template(text, dict.fromkeys(found, "v"), found)


COMMENTED = [
    "SELECT id AS g FROM v0 WHERE g = 1 -- AND id = 2\n AND id /* = 3 */ > 5",
    "v0: `g` = 1; `id` /* = 3 */ > 5",
]


@looped("query", [*cases(__file__, "required_predicates.txt"), COMMENTED])
def test_predicates_that_rows_of_a_table_must_satisfy(query: list[str]) -> None:
    text, *required = query
    found = required_of(text, TABLES).predicates.items()
    assert sorted(f"{name}: {'; '.join(predicates)}" for name, predicates in found if predicates) == required


@looped("text, equal", cases(__file__, "join_equalities.txt"))
def test_equalities_that_rows_must_satisfy_with_a_row_of_another_table(text: str, equal: str) -> None:
    found = required_of(text, TABLES).joins
    shown = sorted(f"{each.table}.{each.column} in {each.other}.{each.other_column}" for each in found)
    assert "; ".join(shown) == equal


def test_a_query_without_sqlglot_or_with_another_version_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlglot

    assert queries._required("SELECT * FROM a WHERE x = 1", {"a": ["x"]}).predicates == {"a": ["`x` = 1"]}
    monkeypatch.setattr(sqlglot, "__version__", "29.1.0")
    with pytest.raises(CatalogError, match=r"needs sqlglot 30, .*, not 29.1.0: pip install 'sqlglot>=30\.24,<31'\.$"):
        queries._required("SELECT 1", {})
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(CatalogError, match=r"needs sqlglot 30, .*: pip install 'sqlglot>=30\.24,<31'\.$"):
        queries._required("SELECT 1", {})
