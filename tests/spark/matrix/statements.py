"""SQL statements over the tables of a catalog."""

from __future__ import annotations

from typing import Any

import deltaskip as ds
from tests.spark.matrix.cases import Session, case, equal


@case("SQL of a catalog creates, fills, queries, changes and describes tables")
def statements(session: Session) -> None:
    catalog = ds.catalog(f"warehouse:{session.folder / 'warehouse'}")

    def rows(text: str, params: Any = None) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in catalog.sql(session.spark, text, params).collect()]

    equal(rows("CREATE NAMESPACE db"), [])
    rows("CREATE TABLE db.t (id BIGINT, day DATE, s STRING) PARTITIONED BY (day)")
    rows("INSERT INTO db.t VALUES (1, DATE '2026-01-01', 'a'), (2, DATE '2026-01-02', '{b}'), (3, NULL, NULL)")
    rows("CREATE TABLE db.u AS SELECT id, concat(s, '!') AS s FROM db.t WHERE day = DATE '2026-01-02'")
    equal(
        rows("SELECT t.id, u.s FROM db.t LEFT JOIN db.u ON db.t.id = u.id WHERE t.id > :x ORDER BY 1", {"x": 1}),
        [(2, "{b}!"), (3, None)],
    )
    frame = catalog.sql(session.spark, "SELECT * FROM db.t WHERE day = DATE '2026-01-01'")
    equal(len(frame.inputFiles()), 1)
    # What is made of a query later still finds its tables.
    equal([row[0] for row in frame.select("id").union(frame.select("id")).collect()], [1, 1])
    equal(
        rows(
            "MERGE INTO db.t USING (SELECT id, 'merged' AS s FROM db.u) AS n ON t.id = n.id "
            "WHEN MATCHED THEN UPDATE SET s = n.s"
        ),
        [(1, 1, 0, 0)],
    )
    equal(rows("UPDATE db.t SET s = concat(s, '?') WHERE id = 2"), [(1,)])
    equal(rows("DELETE FROM db.t WHERE s IS NULL"), [(1,)])
    equal(rows("SELECT id, s FROM db.t ORDER BY id"), [(1, "a"), (2, "merged?")])
    equal(rows("SELECT count(*) FROM db.t VERSION AS OF 1"), [(3,)])
    equal(rows("SHOW TABLES IN db"), [("db", "t", False), ("db", "u", False)])
    equal([row[0] for row in rows("DESCRIBE HISTORY db.t LIMIT 2")], [4, 3])
    rows("CREATE OR REPLACE TABLE db.u AS SELECT 1 AS one")
    equal(rows("SELECT * FROM db.u"), [(1,)])
