"""The tables that a query names, and what it requires of their rows."""
# ruff: noqa: E501

from __future__ import annotations

import sys

import pytest

from deltaskip.errors import CatalogError, PredicateError
from deltaskip.statements import queries
from deltaskip.statements.join_equalities import required_of
from deltaskip.statements.references import query_template, references
from tests.looped import looped

TABLES = {"v0": ["id", "ts", "st", "g"], "v1": ["id", "a", "b"], "v2": ["k"]}

REFERENCES = [
    (
        "SELECT * FROM db.t WHERE db.t.id = 1 AND t.x IN (SELECT id FROM s)",
        ["db.t", "s"],
        "SELECT * FROM V0 AS `t` WHERE `t`.id = 1 AND t.x IN (SELECT id FROM V1 AS `s`)",
    ),
    (
        "WITH t AS (SELECT * FROM t), u(a,b) AS (SELECT * FROM t) SELECT * FROM u, t, v x JOIN (w JOIN db.z USING (id)) ON true WHERE extract(year FROM ts) = 1",
        ["t", "v", "w", "db.z"],
        "WITH t AS (SELECT * FROM V0 AS `t`), u(a,b) AS (SELECT * FROM t) SELECT * FROM u, t, V1 x JOIN (V2 AS `w` JOIN V3 AS `z` USING (id)) ON true WHERE extract(year FROM ts) = 1",
    ),
    (
        "SELECT trim(BOTH FROM a), a IS DISTINCT FROM b FROM t VERSION AS OF 3 TABLESAMPLE (10 ROWS) LATERAL VIEW explode(x) e AS y, z WHERE 1=1",
        ["t@3"],
        "SELECT trim(BOTH FROM a), a IS DISTINCT FROM b FROM V0 TABLESAMPLE (10 ROWS) AS `t` LATERAL VIEW explode(x) e AS y, z WHERE 1=1",
    ),
    (
        "TABLE t UNION ALL TABLE u",
        ["t", "u"],
        "TABLE V0 UNION ALL TABLE V1",
    ),
    (
        "FROM t SELECT a",
        ["t"],
        "FROM V0 AS `t` SELECT a",
    ),
    (
        "SELECT * FROM range(10), VALUES (1, 2), (a) AS v(x) JOIN t@v3 AS q",
        ["t@3"],
        "SELECT * FROM range(10), VALUES (1, 2), (a) AS v(x) JOIN V0 AS q",
    ),
    (
        "SELECT * FROM LATERAL (SELECT * FROM t) x, LATERAL explode(y)",
        ["t"],
        "SELECT * FROM LATERAL (SELECT * FROM V0 AS `t`) x, LATERAL explode(y)",
    ),
    (
        "(SELECT a FROM t) UNION (SELECT b FROM u ORDER BY c, d)",
        ["t", "u"],
        "(SELECT a FROM V0 AS `t`) UNION (SELECT b FROM V1 AS `u` ORDER BY c, d)",
    ),
    (
        "SELECT * FROM ((SELECT * FROM t) UNION (SELECT * FROM u)) x",
        ["t", "u"],
        "SELECT * FROM ((SELECT * FROM V0 AS `t`) UNION (SELECT * FROM V1 AS `u`)) x",
    ),
    (
        "SELECT count(*) FILTER (WHERE a), max(table) FROM t GROUP BY a, b HAVING c IN (SELECT 1 FROM u, v)",
        ["t", "u", "v"],
        "SELECT count(*) FILTER (WHERE a), max(table) FROM V0 AS `t` GROUP BY a, b HAVING c IN (SELECT 1 FROM V1 AS `u`, V2 AS `v`)",
    ),
    (
        "EXPLAIN SELECT * FROM t",
        ["t"],
        "EXPLAIN SELECT * FROM V0 AS `t`",
    ),
    (
        "SELECT * FROM t PIVOT (sum(a) FOR b IN (1,2)), u",
        ["t", "u"],
        "SELECT * FROM V0 AS `t` PIVOT (sum(a) FOR b IN (1,2)), V1 AS `u`",
    ),
    (
        "SELECT a.values, from_x FROM x LEFT JOIN y ON x.a = y.a, z",
        ["x", "y", "z"],
        "SELECT a.values, from_x FROM V0 AS `x` LEFT JOIN V1 AS `y` ON x.a = y.a, V2 AS `z`",
    ),
    (
        "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r",
        [],
        "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r",
    ),
]


PREDICATES = [
    (
        "SELECT * FROM v0 WHERE id = 1 AND year(ts) = 2024 AND g BETWEEN 1 AND 2",
        {"v0": ["`id` = 1", "year(`ts`) = 2024", "`g` BETWEEN 1 AND 2"]},
    ),
    (
        "SELECT * FROM v0 AS t JOIN v1 AS u ON t.id = u.id AND u.a > 1 AND t.g = 2 WHERE t.ts < '2024' AND b = 'x' AND id = 1",
        {"v0": ["`ts` < '2024'", "`g` = 2"], "v1": ["`b` = 'x'", "`a` > 1"]},
    ),
    (
        "SELECT * FROM v0 AS t LEFT JOIN v1 AS u ON t.id = u.id AND u.a > 1 AND t.g = 2 WHERE t.ts < '2024' AND b = 'x'",
        {"v0": ["`ts` < '2024'"], "v1": ["`a` > 1"]},
    ),
    (
        "SELECT * FROM v0 AS t RIGHT JOIN v1 AS u ON t.id = u.id AND u.a > 1 AND t.g = 2 WHERE t.ts < '2024' AND b = 'x'",
        {"v1": ["`b` = 'x'"]},
    ),
    (
        "SELECT * FROM v0 AS t FULL JOIN v1 AS u ON t.id = u.id AND u.a > 1 WHERE t.ts < '2024' AND b = 'x'",
        {},
    ),
    (
        "SELECT * FROM v0 AS t LEFT ANTI JOIN v1 AS u ON t.id = u.id AND u.a > 1 AND t.g = 2 WHERE g = 4",
        {"v0": ["`g` = 4"], "v1": ["`a` > 1"]},
    ),
    (
        "WITH c AS (SELECT id AS i, ts FROM v0 WHERE g = 1) SELECT * FROM c WHERE i = 5 AND c.ts > 1",
        {"v0": ["`g` = 1", "`id` = 5", "`ts` > 1"]},
    ),
    (
        "WITH c AS (SELECT id AS i, ts FROM v0 WHERE g = 1) SELECT * FROM c JOIN c d ON c.i = d.i WHERE c.i = 5",
        {"v0": ["`g` = 1"]},
    ),
    (
        "SELECT * FROM (SELECT * FROM v0) x WHERE x.st.b = 3",
        {"v0": ["`st`.`b` = 3"]},
    ),
    (
        "SELECT * FROM (SELECT id, count(*) c FROM v0 WHERE g = 3 GROUP BY id) x WHERE x.id = 3",
        {"v0": ["`g` = 3"]},
    ),
    (
        "SELECT * FROM (SELECT * FROM v0 LIMIT 3) x WHERE x.id = 3",
        {},
    ),
    (
        "SELECT * FROM v0 WHERE g = 1 OR id = 2",
        {"v0": ["`g` = 1 OR `id` = 2"]},
    ),
    (
        "SELECT * FROM v0 WHERE id IN (SELECT id FROM v1 WHERE a = 2 AND g = 7) AND g = 1",
        {"v0": ["`g` = 1"], "v1": ["`a` = 2"]},
    ),
    (
        "SELECT * FROM v0 WHERE EXISTS (SELECT 1 FROM v1 WHERE v1.id = v0.id AND v1.a = v0.g AND b = 4)",
        {"v1": ["`b` = 4"]},
    ),
    (
        "SELECT a FROM v1 WHERE a = 1 UNION ALL SELECT k FROM v2 WHERE k = 2",
        {"v1": ["`a` = 1"], "v2": ["`k` = 2"]},
    ),
    (
        "SELECT * FROM v1 LATERAL VIEW explode(b) e AS a WHERE a = 1 AND v1.id = 2",
        {},
    ),
    (
        "SELECT * FROM v0 WHERE CASE WHEN id = 1 AND g = 2 THEN true ELSE false END AND NOT id = 2 AND left(st, 2) = 'ab'",
        {"v0": ["CASE WHEN `id` = 1 AND `g` = 2 THEN true ELSE false END", "NOT `id` = 2", "left(`st`, 2) = 'ab'"]},
    ),
    (
        "SELECT * FROM v0 t, v1 u WHERE t.id = 3 AND u.a = 4 AND t.id = u.id",
        {"v0": ["`id` = 3"], "v1": ["`a` = 4"]},
    ),
    (
        "SELECT * FROM v1 AS `t` WHERE rand() < 0.5 AND a = 2 AND v1.b = 3",
        {"v1": ["`a` = 2"]},
    ),
    (
        "SELECT * FROM v0 x LEFT JOIN v1 y ON x.id=y.id JOIN v2 z ON y.a = 4 AND x.g = 5 AND z.k = 6",
        {"v0": ["`g` = 5"], "v2": ["`k` = 6"]},
    ),
    (
        "FROM v0 SELECT id WHERE g = 1",
        {"v0": ["`g` = 1"]},
    ),
    (
        "SELECT * FROM v0 AS t(a, b, c, d) WHERE a = 1",
        {},
    ),
    (
        "SELECT * FROM v0 TABLESAMPLE (10 ROWS) WHERE id = 1",
        {},
    ),
    (
        "SELECT id AS g FROM v0 WHERE g = 1 -- AND id = 2\n AND id /* = 3 */ > 5",
        {"v0": ["`g` = 1", "`id` /* = 3 */ > 5"]},
    ),
    (
        "SELECT * FROM v0 WHERE id = 1 HAVING g = 2",
        {"v0": ["`id` = 1"]},
    ),
    (
        "SELECT * FROM (SELECT id, row_number() OVER (ORDER BY ts) r FROM v0) WHERE id = 3",
        {},
    ),
]


@looped("text, names, replaced", REFERENCES)
def test_tables_of_a_query_and_the_query_with_others(text: str, names: list[str], replaced: str) -> None:
    found = references(text)
    shown = [".".join(each.name.parts) for each in found]
    versions = ["" if each.name.version is None else f"@{each.name.version}" for each in found]
    assert [name + version for name, version in zip(shown, versions, strict=True)] == names
    views = [f"V{i}" for i in range(len(found))]
    template = query_template(text, dict(zip(found, views, strict=True)))
    assert template.format(**{view: view for view in views}) == replaced


# Queries with the column `_metadata`, and what stands for each `*`.
STARS = [
    ("SELECT *, _metadata.x FROM t", "SELECT * EXCEPT (`t`._metadata), _metadata.x FROM V0 AS `t`"),
    ("SELECT DISTINCT A.* FROM t AS a, u", "SELECT DISTINCT A.* EXCEPT (`a`._metadata) FROM V0 AS a, V1 AS `u`"),
    ("SELECT * FROM a JOIN (b c)", "SELECT * EXCEPT (`a`._metadata, `c`._metadata) FROM V0 AS `a` JOIN (V1 c)"),
    ("SELECT * EXCEPT (x) FROM t", "SELECT * EXCEPT (`t`._metadata, x) FROM V0 AS `t`"),
    (
        "SELECT count(*), f(1, t.*), a * b FROM t",
        "SELECT count(*), f(1, t.* EXCEPT (`t`._metadata)), a * b FROM V0 AS `t`",
    ),
    ("SELECT * FROM (SELECT * FROM t)", "SELECT * FROM (SELECT * EXCEPT (`t`._metadata) FROM V0 AS `t`)"),
    (
        "SELECT * FROM w WHERE x IN (SELECT y FROM t)",
        "SELECT * EXCEPT (`w`._metadata) FROM V0 AS `w` WHERE x IN (SELECT y FROM V1 AS `t`)",
    ),
    ("SELECT * FROM t LEFT SEMI JOIN u", "SELECT * EXCEPT (`t`._metadata) FROM V0 AS `t` LEFT SEMI JOIN V1 AS `u`"),
    (
        "SELECT 1 FROM t UNION SELECT * FROM u",
        "SELECT 1 FROM V0 AS `t` UNION SELECT * EXCEPT (`u`._metadata) FROM V1 AS `u`",
    ),
    ("SELECT db.t.* FROM db.t WHERE s = '|>'", "SELECT `t`.* EXCEPT (`t`._metadata) FROM V0 AS `t` WHERE s = '|>'"),
    ("SELECT * FROM `{}`", "SELECT * EXCEPT (`{}`._metadata) FROM V0 AS `{}`"),
]


@looped("text, replaced", STARS)
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


@looped("text, required", PREDICATES)
def test_predicates_that_rows_of_a_table_must_satisfy(text: str, required: dict[str, list[str]]) -> None:
    assert {name: found for name, found in required_of(text, TABLES).predicates.items() if found} == required


JOINS = [
    ("SELECT * FROM v0 AS t JOIN v1 AS u ON t.id = u.id", ["v0.id in v1.id", "v1.id in v0.id"]),
    ("SELECT * FROM v0 AS t, v1 AS u WHERE t.id = u.id AND u.a > 1", ["v0.id in v1.id", "v1.id in v0.id"]),
    ("SELECT * FROM v0 AS t JOIN v1 AS u USING (id)", ["v0.id in v1.id", "v1.id in v0.id"]),
    ("SELECT * FROM v0 AS t LEFT JOIN v1 AS u ON t.id = u.id", ["v1.id in v0.id"]),
    ("SELECT * FROM v0 AS t RIGHT JOIN v1 AS u ON t.id = u.id", ["v0.id in v1.id"]),
    ("SELECT * FROM v0 AS t FULL JOIN v1 AS u ON t.id = u.id", []),
    ("SELECT * FROM v0 AS t LEFT SEMI JOIN v1 AS u ON t.id = u.id", ["v0.id in v1.id", "v1.id in v0.id"]),
    ("SELECT * FROM v0 AS t LEFT ANTI JOIN v1 AS u ON t.id = u.id", ["v1.id in v0.id"]),
    ("SELECT * FROM v0 AS t LEFT JOIN v1 AS u ON t.g = u.a WHERE t.id = u.id", ["v0.id in v1.id", "v1.a in v0.g"]),
    ("SELECT * FROM v0 AS t JOIN v1 AS u ON t.id <=> u.id OR t.g = u.a", []),
    ("SELECT * FROM v0 AS t JOIN v1 AS u ON NOT (t.id = u.id)", []),
    ("SELECT * FROM v0 AS t JOIN v1 AS u ON t.st.x = u.id", []),
    ("SELECT * FROM v0 AS t JOIN v1 AS u ON t.id = u.id + 1", []),
    ("SELECT * FROM v0 WHERE id IN (SELECT k FROM v2 WHERE k > 3)", ["v0.id in v2.k", "v2.k in v0.id"]),
    ("SELECT * FROM v0 WHERE id IN (SELECT k FROM v2 LIMIT 3)", ["v0.id in v2.k"]),
    ("SELECT * FROM v0 WHERE id IN (SELECT k FROM v2 GROUP BY k HAVING count(*) > 1)", ["v0.id in v2.k"]),
    ("SELECT * FROM v0 WHERE id IN (SELECT max(k) FROM v2)", []),
    ("SELECT * FROM v0 WHERE id IN (SELECT k FROM v2 UNION SELECT id FROM v1)", []),
    ("SELECT * FROM v0 WHERE id NOT IN (SELECT k FROM v2)", []),
    ("SELECT * FROM v0 WHERE g = 1 OR id IN (SELECT k FROM v2)", []),
    ("SELECT * FROM v0 AS t WHERE EXISTS (SELECT 1 FROM v2 AS u WHERE u.k = t.id)", ["v0.id in v2.k", "v2.k in v0.id"]),
    ("SELECT * FROM v0 AS t WHERE EXISTS (SELECT max(k) FROM v2 AS u WHERE u.k = t.id)", []),
    ("SELECT * FROM v0 AS t WHERE NOT EXISTS (SELECT 1 FROM v2 AS u WHERE u.k = t.id)", []),
    ("SELECT * FROM v0 AS t WHERE EXISTS (SELECT 1 FROM v2 AS u WHERE k = id)", ["v0.id in v2.k", "v2.k in v0.id"]),
    ("WITH c AS (SELECT k AS i FROM v2) SELECT * FROM v0 JOIN c ON v0.id = c.i", ["v0.id in v2.k"]),
    ("SELECT * FROM v0 JOIN (SELECT k FROM v2 WHERE k > 1 LIMIT 5) c ON v0.id = c.k", ["v0.id in v2.k"]),
    ("SELECT * FROM v0 JOIN (SELECT k + 1 AS k FROM v2) c ON v0.id = c.k", []),
    ("SELECT * FROM v0 JOIN (SELECT k FROM v2 UNION SELECT 1) c ON v0.id = c.k", []),
    ("SELECT * FROM v0 TABLESAMPLE (10 ROWS) AS t JOIN v1 AS u ON t.id = u.id", []),
    (
        "SELECT * FROM v0 AS t LEFT JOIN v1 AS u ON t.g = u.a JOIN v2 AS w ON w.k = t.id AND w.k = u.id",
        ["v0.id in v2.k", "v1.a in v0.g", "v2.k in v0.id", "v2.k in v1.id"],
    ),
    (
        "SELECT * FROM v0 AS t JOIN v1 AS u ON t.id = u.id FULL JOIN v2 AS w ON w.k = t.id",
        ["v0.id in v1.id", "v1.id in v0.id"],
    ),
    ("SELECT * FROM v0 AS t LEFT JOIN v1 AS u ON t.id = u.id RIGHT JOIN v2 AS w ON w.k = u.id", ["v1.id in v0.id"]),
]


@looped("text, equal", JOINS)
def test_equalities_that_rows_must_satisfy_with_a_row_of_another_table(text: str, equal: list[str]) -> None:
    found = required_of(text, TABLES).joins
    assert sorted(f"{each.table}.{each.column} in {each.other}.{each.other_column}" for each in found) == equal


def test_a_query_without_sqlglot_or_with_another_version_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlglot

    assert queries._required("SELECT * FROM a WHERE x = 1", {"a": ["x"]}).predicates == {"a": ["`x` = 1"]}
    monkeypatch.setattr(sqlglot, "__version__", "29.1.0")
    with pytest.raises(CatalogError, match=r"needs sqlglot 30, .*, not 29.1.0: pip install 'sqlglot>=30\.24,<31'\.$"):
        queries._required("SELECT 1", {})
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(CatalogError, match=r"needs sqlglot 30, .*: pip install 'sqlglot>=30\.24,<31'\.$"):
        queries._required("SELECT 1", {})
