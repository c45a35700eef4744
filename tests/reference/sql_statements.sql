CREATE DATABASE q
CREATE TABLE q.t (id BIGINT, p INT, s STRING COMMENT 'text', st STRUCT<a: INT, b: STRING>) USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')
CREATE TABLE q.t (id BIGINT) USING delta
CREATE TABLE IF NOT EXISTS q.t (id BIGINT) USING delta
INSERT INTO q.t VALUES (1, 1, 'a', named_struct('a', 1, 'b', 'x')), (2, 1, NULL, NULL), (3, 2, 'c', NULL)
INSERT INTO q.t SELECT id + 10, p, concat(s, '!'), st FROM q.t
INSERT INTO q.t (p, id) VALUES (5, 100)
INSERT INTO q.t BY NAME SELECT 6 AS p, 101L AS id, 'by name' AS s, NULL AS st
INSERT INTO q.t SELECT 1
INSERT INTO q.t VALUES ('no number', 1, 'a', NULL)
INSERT INTO q.none VALUES (1)
SELECT * FROM q.t
SELECT q.t.id, t.st.a FROM q.t WHERE q.t.p = 1 AND t.s IS NOT NULL
SELECT p, count(*) AS n FROM q.t GROUP BY p HAVING count(*) > 1 ORDER BY p
WITH c AS (SELECT id AS i, p FROM q.t WHERE p < 6) SELECT * FROM c WHERE i > 2 AND p IN (1, 2)
SELECT a.id, b.s FROM q.t a LEFT JOIN q.t b ON a.id = b.id + 10 AND b.p = 1 WHERE a.p IN (1, 2)
SELECT * FROM q.t WHERE id IN (SELECT max(id) FROM q.t WHERE p = 1)
SELECT id FROM q.t VERSION AS OF 1
-- catalog: delta-spark reads @ in paths only
SELECT count(*) AS n FROM q.t@v2
SELECT * FROM q.t VERSION AS OF 99
SELECT nothing FROM q.t
UPDATE q.t SET s = upper(s), st.a = 7 WHERE p = 1
UPDATE q.t SET s = 'none' WHERE false
UPDATE q.t AS x SET x.s = 'x' WHERE x.id = 100
UPDATE q.t SET nothing = 1
DELETE FROM q.t WHERE id = 3
DELETE FROM q.t AS x WHERE x.p = 6
DELETE FROM q.t WHERE p = 77
SELECT * FROM q.t
INSERT INTO q.t REPLACE WHERE p = 5 SELECT 102, 5, 'replaced', NULL
INSERT INTO q.t REPLACE WHERE p = 5 SELECT 103, 4, 'outside', NULL
INSERT OVERWRITE q.t PARTITION (p = 5) SELECT 104, 'static', NULL
SELECT * FROM q.t
CREATE TABLE q.s USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name') AS SELECT id, p, 'source' AS s FROM q.t WHERE id < 12
MERGE INTO q.t USING q.s ON t.id = s.id WHEN MATCHED AND s.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET t.s = s.s, st = NULL
-- both: which rows are copied depends on the files of earlier statements
MERGE INTO q.t AS x USING (SELECT id + 500 AS id, p, s FROM q.s) AS y ON x.id = y.id WHEN NOT MATCHED THEN INSERT (id, p, s) VALUES (y.id, y.p, y.s) WHEN NOT MATCHED BY SOURCE AND x.id = 104 THEN DELETE
MERGE INTO q.t USING q.s ON t.p = s.p WHEN MATCHED THEN UPDATE SET s = 'twice'
-- both: which rows are copied depends on the files of earlier statements
MERGE WITH SCHEMA EVOLUTION INTO q.s AS t USING (SELECT 2L AS id, 1 AS p, 'new' AS s, 5 AS extra) AS u ON t.id = u.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
SELECT * FROM q.t
SELECT * FROM q.s
ALTER TABLE q.t ADD COLUMNS (z DOUBLE COMMENT 'new' AFTER id)
ALTER TABLE q.t ALTER COLUMN s COMMENT 'other'
ALTER TABLE q.t SET TBLPROPERTIES ('k' = 'v')
ALTER TABLE q.t ADD CONSTRAINT positive CHECK (id > 0)
INSERT INTO q.t BY NAME SELECT -1L AS id, 1 AS p
ALTER TABLE q.t DROP COLUMN z
DESCRIBE q.t
DESCRIBE q.t s
DESCRIBE q.t nothing
DESCRIBE TABLE q.none
SHOW TABLES IN q
SHOW TABLES IN q LIKE 't*'
SHOW COLUMNS IN q.t
SHOW TBLPROPERTIES q.t ('k')
-- both: the answer names the catalog
SHOW TBLPROPERTIES q.t ('nothing')
DESCRIBE DETAIL q.t
DESCRIBE HISTORY q.t
DESCRIBE HISTORY q.t LIMIT 2
-- both: the files of earlier statements are others
OPTIMIZE q.t
OPTIMIZE q.t WHERE p = 1
OPTIMIZE q.t WHERE id = 1
VACUUM q.t DRY RUN
VACUUM q.t
VACUUM q.t RETAIN 0 HOURS
RESTORE TABLE q.t TO VERSION AS OF 1
RESTORE TABLE q.t TO VERSION AS OF 999
SELECT * FROM q.t
CREATE TABLE q.k SHALLOW CLONE q.t VERSION AS OF 2
SELECT * FROM q.k
CREATE TABLE q.c (a INT, b STRING) USING delta CLUSTER BY (a)
-- catalog: delta-spark does not show the clustering columns here
DESCRIBE q.c
INSERT INTO q.c SELECT id, 'c' FROM range(10)
OPTIMIZE q.c
OPTIMIZE q.c ZORDER BY (b)
CREATE OR REPLACE TABLE q.c USING delta COMMENT 'new' AS SELECT 1 AS one
SELECT * FROM q.c
REPLACE TABLE q.none (a INT) USING delta
COMMENT ON TABLE q.c IS 'a comment'
CREATE TABLE q.g (a INT, b INT GENERATED ALWAYS AS (a + 1), i BIGINT GENERATED ALWAYS AS IDENTITY) USING delta
-- refused: Spark has no values of identity columns
INSERT INTO q.g (a) VALUES (1), (2)
INSERT INTO q.g (a, b) VALUES (1, 7)
SELECT a, b FROM q.g
-- both: delta-spark names the operation TRUNCATE, and has no number of rows
TRUNCATE TABLE q.c
SELECT * FROM q.c
-- both: the history has TRUNCATE TABLE
ALTER TABLE q.c RENAME TO q.renamed
SHOW TABLES IN q
DROP TABLE q.renamed
DROP TABLE q.renamed
DROP TABLE IF EXISTS q.renamed
GENERATE symlink_format_manifest FOR TABLE q.k
DROP DATABASE q
DROP DATABASE q CASCADE
SELECT 1; SELECT 2
SELEC 1

CREATE DATABASE d COMMENT 'definitions'
CREATE TABLE d.plain (i TINYINT, j SMALLINT, k INT, l BIGINT, f FLOAT, g DOUBLE, n DECIMAL(12, 3), b BOOLEAN, s STRING, x BINARY, dt DATE, ts TIMESTAMP, nt TIMESTAMP_NTZ) USING delta
INSERT INTO d.plain VALUES (1, 2, 3, 4, 1.5, 2.5, 12.345, true, 'text', X'0102', DATE '2026-03-01', TIMESTAMP '2026-03-01 04:05:06', TIMESTAMP_NTZ '2026-03-01 04:05:06')
INSERT INTO d.plain VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
SELECT * FROM d.plain
DESCRIBE d.plain
CREATE TABLE d.nested (id INT, a ARRAY<STRUCT<x: INT, y: ARRAY<STRING>>>, m MAP<STRING, STRUCT<v: DOUBLE>>, st STRUCT<p: STRUCT<q: STRING COMMENT 'deep'>, r: DATE>) USING delta COMMENT 'nested columns'
INSERT INTO d.nested SELECT 1, array(named_struct('x', 1, 'y', array('a', NULL))), map('k', named_struct('v', 0.5D)), named_struct('p', named_struct('q', 'z'), 'r', DATE '2026-01-01')
SELECT id, a[0].x, a.y, m['k'].v, st.p.q, st.* FROM d.nested
DESCRIBE d.nested
CREATE TABLE d.parted (id BIGINT NOT NULL COMMENT 'the key', day DATE, kind STRING) USING delta PARTITIONED BY (day, kind) TBLPROPERTIES ('delta.appendOnly' = 'false', 'owner.team' = 'a b', `quoted.key` = '1') COMMENT 'by day'
DESCRIBE TABLE d.parted
SHOW TBLPROPERTIES d.parted ('owner.team')
CREATE TABLE d.by_types (id BIGINT) USING delta PARTITIONED BY (p INT, q STRING)
INSERT INTO d.by_types VALUES (1, 2, 'three')
SELECT * FROM d.by_types
CREATE TABLE d.twice (a INT, A STRING) USING delta
-- both: a table has at least one column
CREATE TABLE d.no_columns USING delta
CREATE TABLE d.only_partition (p INT) USING delta PARTITIONED BY (p)
CREATE TABLE d.missing (a INT) USING delta PARTITIONED BY (b)
CREATE TABLE d.unknown (a INT) USING delta TBLPROPERTIES ('delta.unknownProperty' = '1')
CREATE TABLE d.wrong (a INT) USING delta TBLPROPERTIES ('delta.appendOnly' = 'perhaps')
CREATE TABLE d.blank (`a b` INT, `c,d` STRING) USING delta
CREATE TABLE d.blank (`a b` INT, `c,d` STRING, `e.f` INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')
INSERT INTO d.blank VALUES (1, 'x', 2)
SELECT `a b`, `c,d`, `e.f` FROM d.blank WHERE `e.f` = 2
UPDATE d.blank SET `e.f` = `a b` + 5, `c,d` = concat(`c,d`, '!') WHERE `a b` = 1
SELECT * FROM d.blank
CREATE TABLE d.clustered (a INT, b STRUCT<c: STRING, d: INT>, e DATE) USING delta CLUSTER BY (a, b.c)
INSERT INTO d.clustered VALUES (1, named_struct('c', 'x', 'd', 2), DATE '2026-01-01')
CREATE TABLE d.both (a INT, b INT) USING delta PARTITIONED BY (a) CLUSTER BY (b)
CREATE TABLE d.many (a INT, b INT, c INT, d INT, e INT) USING delta CLUSTER BY (a, b, c, d, e)
CREATE OR REPLACE TABLE d.only_kept (a INT NOT NULL, b STRING) USING delta
INSERT INTO d.only_kept VALUES (1, 'x'), (2, 'y')
CREATE OR REPLACE TABLE d.only_kept (b STRING, c DATE) USING delta PARTITIONED BY (c) COMMENT 'other' TBLPROPERTIES ('k' = 'v')
SELECT * FROM d.only_kept
SELECT * FROM d.only_kept VERSION AS OF 1
REPLACE TABLE d.only_kept USING delta AS SELECT 5 AS five, 'f' AS letter
SELECT * FROM d.only_kept
DESCRIBE d.only_kept
CREATE TABLE IF NOT EXISTS d.only_kept USING delta AS SELECT 6 AS six
SELECT * FROM d.only_kept
CREATE TABLE d.both_given (a INT) USING delta AS SELECT 1 AS a
CREATE TABLE d.no_names USING delta AS SELECT 1, 2
CREATE TABLE d.same_names USING delta AS SELECT 1 AS a, 2 AS a
CREATE TABLE d.from_values USING delta PARTITIONED BY (p) AS SELECT * FROM VALUES (1, 'a'), (2, 'b'), (3, 'a') AS t(id, p)
SELECT p, count(*) FROM d.from_values GROUP BY p
SHOW PARTITIONS d.from_values
DROP TABLE d.from_values
SELECT * FROM d.from_values
-- refused: Spark 4.1 looks in its own catalog
CREATE TABLE d.like_other LIKE d.parted
CREATE TABLE d.at_place (a INT) USING delta LOCATION '$FOLDERplace'
INSERT INTO d.at_place VALUES (1), (2)
CREATE TABLE d.again USING delta LOCATION '$FOLDERplace'
SELECT * FROM d.again
CREATE TABLE d.other_columns (b STRING) USING delta LOCATION '$FOLDERplace'
INSERT INTO d.again VALUES (3)
SELECT * FROM d.at_place
DROP TABLE d.again
SELECT count(*) FROM d.at_place
SELECT * FROM delta.`$FOLDERplace` WHERE a > 1
DROP DATABASE d RESTRICT
ALTER DATABASE d SET DBPROPERTIES ('a' = 'b')
COMMENT ON DATABASE d IS 'other words'
SHOW DATABASES LIKE 'd'
DROP DATABASE nowhere
DROP DATABASE IF EXISTS nowhere

CREATE DATABASE g
CREATE TABLE g.days (ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), y INT GENERATED ALWAYS AS (year(ts)), n INT) USING delta PARTITIONED BY (day)
INSERT INTO g.days (ts, n) VALUES (TIMESTAMP '2026-05-06 07:08:09', 1), (NULL, 2)
INSERT INTO g.days VALUES (TIMESTAMP '2025-12-31 23:59:59', DATE '2025-12-31', 2025, 3)
INSERT INTO g.days VALUES (TIMESTAMP '2025-12-31 23:59:59', DATE '2026-12-31', 2025, 3)
INSERT INTO g.days BY NAME SELECT 4 AS n, TIMESTAMP '2024-02-29 00:00:00' AS ts
SELECT * FROM g.days
SELECT n FROM g.days WHERE ts > TIMESTAMP '2026-01-01 00:00:00'
UPDATE g.days SET ts = TIMESTAMP '2026-07-07 00:00:00' WHERE n = 4
UPDATE g.days SET day = DATE '2020-01-01' WHERE n = 1
SELECT day, y, n FROM g.days
MERGE INTO g.days t USING (SELECT 5 AS n, TIMESTAMP '2023-03-03 03:03:03' AS ts) s ON t.n = s.n WHEN NOT MATCHED THEN INSERT (n, ts) VALUES (s.n, s.ts)
SELECT day, y, n FROM g.days WHERE n = 5
CREATE TABLE g.bad (a INT, b INT GENERATED ALWAYS AS (rand() * a)) USING delta
CREATE TABLE g.bad (a INT, b INT GENERATED ALWAYS AS (c + 1)) USING delta
CREATE TABLE g.bad (a INT, b INT GENERATED ALWAYS AS (a), c INT GENERATED ALWAYS AS (b)) USING delta
CREATE TABLE g.ids (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), s STRING) USING delta
-- refused: Spark has no values of identity columns
INSERT INTO g.ids (s) VALUES ('a')
-- refused: Spark has no values of identity columns
INSERT INTO g.ids (s) VALUES ('b')
INSERT INTO g.ids VALUES (77, 'c')
SELECT * FROM g.ids
UPDATE g.ids SET id = 5
CREATE TABLE g.either (id BIGINT GENERATED BY DEFAULT AS IDENTITY (INCREMENT BY -1), s STRING) USING delta
-- refused: Spark has no values of identity columns
INSERT INTO g.either (s) VALUES ('a')
-- refused: Spark has no values of identity columns
INSERT INTO g.either VALUES (-90, 'given')
SELECT * FROM g.either
ALTER TABLE g.either ALTER COLUMN id SYNC IDENTITY
-- refused: Spark has no values of identity columns
INSERT INTO g.either (s) VALUES ('after')
SELECT min(id) FROM g.either
CREATE TABLE g.bad (id INT GENERATED ALWAYS AS IDENTITY) USING delta
CREATE TABLE g.bad (id BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY 0)) USING delta
CREATE TABLE g.bad (id BIGINT GENERATED ALWAYS AS IDENTITY, s STRING) USING delta PARTITIONED BY (id)
-- both: a default adds its feature
CREATE TABLE g.without_feature (id INT, s STRING DEFAULT 'none') USING delta
CREATE TABLE g.defaults (id INT, s STRING DEFAULT 'none', d DATE DEFAULT DATE '2026-01-01', n DECIMAL(5, 2) DEFAULT 1.5) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')
INSERT INTO g.defaults (id) VALUES (1)
INSERT INTO g.defaults VALUES (2, DEFAULT, NULL, DEFAULT)
INSERT INTO g.defaults (n, id) VALUES (DEFAULT, 3)
INSERT INTO g.defaults BY NAME SELECT 4 AS id
SELECT * FROM g.defaults
UPDATE g.defaults SET s = DEFAULT, n = 9 WHERE id = 2
UPDATE g.defaults SET d = DEFAULT WHERE d IS NULL
-- both: delta-spark has an internal error
MERGE INTO g.defaults t USING (SELECT 1 AS id UNION ALL SELECT 9) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = DEFAULT, n = 0 WHEN NOT MATCHED THEN INSERT (id, s) VALUES (s.id, DEFAULT)
-- both: it has the rows of that MERGE
SELECT * FROM g.defaults
ALTER TABLE g.defaults ALTER COLUMN s SET DEFAULT 'other'
ALTER TABLE g.defaults ALTER COLUMN d DROP DEFAULT
INSERT INTO g.defaults (id) VALUES (10)
SELECT * FROM g.defaults WHERE id = 10
ALTER TABLE g.defaults ALTER COLUMN id SET DEFAULT 'no number'
ALTER TABLE g.defaults ALTER COLUMN id SET DEFAULT (SELECT 1)
ALTER TABLE g.defaults ADD COLUMN z INT DEFAULT 5
CREATE TABLE g.bad (a INT DEFAULT b, b INT) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')

CREATE DATABASE c
CREATE TABLE c.t (id INT NOT NULL, amount DECIMAL(8, 2), st STRUCT<a: INT NOT NULL, b: STRING>, tag STRING) USING delta
INSERT INTO c.t VALUES (1, 10, named_struct('a', 1, 'b', 'x'), 'ok'), (2, 20, NULL, NULL)
INSERT INTO c.t VALUES (NULL, 1, NULL, NULL)
INSERT INTO c.t VALUES (3, 1, named_struct('a', CAST(NULL AS INT), 'b', 'y'), NULL)
INSERT INTO c.t (amount) VALUES (5)
UPDATE c.t SET id = NULL WHERE id = 1
ALTER TABLE c.t ADD CONSTRAINT few CHECK (amount < 100)
ALTER TABLE c.t ADD CONSTRAINT few CHECK (amount < 100)
ALTER TABLE c.t ADD CONSTRAINT less CHECK (amount < 15)
ALTER TABLE c.t ADD CONSTRAINT of_field CHECK (st.a IS NULL OR st.a > 0)
ALTER TABLE c.t ADD CONSTRAINT `odd name` CHECK (tag <> 'bad''s')
ALTER TABLE c.t ADD CONSTRAINT `odd name` CHECK (tag IS NULL OR tag <> 'bad''s')
INSERT INTO c.t VALUES (4, 100, NULL, NULL)
INSERT INTO c.t VALUES (5, 5, named_struct('a', 0, 'b', 'z'), NULL)
INSERT INTO c.t VALUES (6, 5, NULL, 'bad''s')
INSERT INTO c.t VALUES (7, NULL, NULL, 'n')
UPDATE c.t SET amount = amount * 10 WHERE id = 2
MERGE INTO c.t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = 1000
MERGE INTO c.t USING (SELECT 8 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, tag) VALUES (s.id, 'bad''s')
MERGE INTO c.t USING (SELECT 8 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (amount) VALUES (3)
SELECT * FROM c.t
ALTER TABLE c.t DROP CONSTRAINT few
ALTER TABLE c.t DROP CONSTRAINT few
-- both: without effect, no commit
ALTER TABLE c.t DROP CONSTRAINT IF EXISTS few
INSERT INTO c.t VALUES (9, 500, NULL, NULL)
ALTER TABLE c.t ADD CONSTRAINT sub CHECK (id IN (SELECT 1))
ALTER TABLE c.t ADD CONSTRAINT unknown CHECK (nothing > 0)
ALTER TABLE c.t ADD CONSTRAINT number CHECK (id + 1)
ALTER TABLE c.t ALTER COLUMN id DROP NOT NULL
INSERT INTO c.t (tag) VALUES ('no id')
ALTER TABLE c.t ALTER COLUMN amount SET NOT NULL
ALTER TABLE c.t DROP COLUMN tag
SELECT id, amount, tag FROM c.t
CREATE TABLE c.keyed (id INT PRIMARY KEY, s STRING) USING delta
-- installed: delta-spark has no constraints in CREATE TABLE
CREATE TABLE c.checked (id INT, CONSTRAINT pos CHECK (id > 0)) USING delta
CREATE TABLE c.props (id INT) USING delta TBLPROPERTIES ('delta.constraints.pos' = 'id > 0')

CREATE DATABASE a
CREATE TABLE a.t (id INT, s STRING, st STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<e: INT>>, m MAP<STRING, STRUCT<v: INT>>) USING delta
INSERT INTO a.t VALUES (1, 'one', named_struct('x', 1, 'y', 'y'), array(named_struct('e', 1)), map('k', named_struct('v', 1)))
ALTER TABLE a.t ADD COLUMN c DATE
ALTER TABLE a.t ADD COLUMNS (d INT FIRST, e STRING COMMENT 'after d' AFTER d)
ALTER TABLE a.t ADD COLUMN st.z DOUBLE AFTER x
ALTER TABLE a.t ADD COLUMN l.element.f STRING
ALTER TABLE a.t ADD COLUMN m.value.w BIGINT FIRST
ALTER TABLE a.t ADD COLUMN c INT
ALTER TABLE a.t ADD COLUMN C INT
ALTER TABLE a.t ADD COLUMN nowhere.q INT
ALTER TABLE a.t ADD COLUMN n INT NOT NULL
ALTER TABLE a.t ADD COLUMN IF NOT EXISTS c INT
ALTER TABLE a.t ADD COLUMN after_none INT AFTER nothing
DESCRIBE a.t
SELECT * FROM a.t
INSERT INTO a.t (id, st) VALUES (2, named_struct('x', 5, 'z', 0.5D, 'y', 'n'))
SELECT id, st, l.f, m['k'].w FROM a.t
ALTER TABLE a.t ALTER COLUMN c COMMENT 'a day'
ALTER TABLE a.t CHANGE COLUMN s s STRING COMMENT 'words' AFTER id
ALTER TABLE a.t ALTER COLUMN st.y FIRST
ALTER TABLE a.t ALTER COLUMN c AFTER nothing
ALTER TABLE a.t ALTER COLUMN nothing COMMENT 'x'
ALTER TABLE a.t ALTER COLUMN c TYPE STRING
ALTER TABLE a.t ALTER COLUMN id TYPE BIGINT
ALTER TABLE a.t CHANGE COLUMN s other STRING
ALTER TABLE a.t RENAME COLUMN s TO other
DESCRIBE a.t
SELECT * FROM a.t
ALTER TABLE a.t SET TBLPROPERTIES ('delta.appendOnly' = 'true', 'mine' = 'x')
DELETE FROM a.t WHERE id = 1
UPDATE a.t SET s = 'no'
MERGE INTO a.t USING (SELECT 3 AS id) n ON t.id = n.id WHEN NOT MATCHED THEN INSERT (id) VALUES (n.id)
ALTER TABLE a.t UNSET TBLPROPERTIES ('delta.appendOnly')
-- both: without effect, no commit
ALTER TABLE a.t UNSET TBLPROPERTIES ('nothing')
ALTER TABLE a.t UNSET TBLPROPERTIES IF EXISTS ('nothing', 'mine')
ALTER TABLE a.t SET TBLPROPERTIES ('delta.checkpointInterval' = '0')
-- both: without effect, no commit
ALTER TABLE a.t SET TBLPROPERTIES ('delta.minWriterVersion' = '1')
DELETE FROM a.t WHERE id = 3
COMMENT ON TABLE a.t IS 'altered'
COMMENT ON TABLE a.t IS NULL
ALTER TABLE a.t REPLACE COLUMNS (id INT, s STRING)
ALTER TABLE a.t SET LOCATION '/nowhere'
ALTER TABLE a.t ADD PARTITION (id = 1)
-- both: the history lacks commits without effect
ALTER TABLE a.t RENAME TO a.u
SELECT count(*) FROM a.t
SELECT count(*) FROM a.u
CREATE TABLE a.t (z INT) USING delta
ALTER TABLE a.u RENAME TO a.t
ALTER TABLE a.nothing ADD COLUMN x INT
CREATE TABLE a.k (a INT, b INT, c STRING) USING delta
ALTER TABLE a.k CLUSTER BY (a, b)
CREATE TABLE a.kk (a INT, b INT, c STRING) USING delta CLUSTER BY (a)
ALTER TABLE a.kk CLUSTER BY (b)
ALTER TABLE a.kk CLUSTER BY NONE
ALTER TABLE a.kk DROP COLUMN c
ALTER TABLE a.kk SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true')
INSERT INTO a.kk VALUES (1, 1, 'a'), (2, 2, 'b')
UPDATE a.kk SET c = 'z' WHERE a = 1
SELECT a, c, _change_type, _commit_version FROM table_changes('a.kk', 0)
SELECT a, c, _change_type FROM table_changes('a.kk', 5, 5)
ALTER TABLE a.kk DROP FEATURE nothing
ALTER TABLE a.kk DROP FEATURE changeDataFeed

CREATE DATABASE n
CREATE TABLE n.t (id INT, a STRING, st STRUCT<x: INT, y: STRING>, p STRING) USING delta PARTITIONED BY (p)
INSERT INTO n.t VALUES (1, 'a', named_struct('x', 1, 'y', 'yy'), 'p1'), (2, 'b', NULL, 'p2')
ALTER TABLE n.t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'id')
ALTER TABLE n.t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')
ALTER TABLE n.t RENAME COLUMN a TO `new name`
ALTER TABLE n.t RENAME COLUMN st.x TO z
ALTER TABLE n.t RENAME COLUMN p TO part
ALTER TABLE n.t RENAME COLUMN id TO part
ALTER TABLE n.t RENAME COLUMN nothing TO something
-- catalog: only the letter case changes
ALTER TABLE n.t RENAME COLUMN `new name` TO `NEW name`
SELECT id, `new name`, st.z, part FROM n.t WHERE part = 'p1' AND st.z = 1
INSERT INTO n.t VALUES (3, 'c', named_struct('z', 3, 'y', 'n'), 'p3')
ALTER TABLE n.t DROP COLUMN st.y

CREATE DATABASE i
CREATE TABLE i.t (id BIGINT, p STRING, v INT, st STRUCT<a: INT, b: STRING>) USING delta PARTITIONED BY (p)
INSERT INTO i.t VALUES (1, 'a', 10, named_struct('a', 1, 'b', 'x')), (2, 'b', 20, NULL)
INSERT INTO TABLE i.t TABLE i.t
INSERT INTO i.t (id, p) SELECT id + 2, p FROM i.t WHERE id = 1 LIMIT 1
INSERT INTO i.t (p, st, v, id) VALUES ('c', named_struct('a', 9, 'b', 'z'), 30, 4)
INSERT INTO i.t BY NAME SELECT 'd' AS p, 5L AS id, named_struct('b', 'by name', 'a', 7) AS st
INSERT INTO i.t BY NAME SELECT 'd' AS p, 5L AS id, 1 AS more
INSERT INTO i.t (id, nothing) VALUES (1, 2)
INSERT INTO i.t (id, id) VALUES (1, 2)
INSERT INTO i.t VALUES (1, 'a', 10)
INSERT INTO i.t VALUES (1, 'a', 10, NULL, 5)
INSERT INTO i.t VALUES (1, 'a', 3000000000, NULL)
INSERT INTO i.t VALUES ('x', 'a', 1, NULL)
INSERT INTO i.t VALUES (DATE '2026-01-01', 'a', 1, NULL)
INSERT INTO i.t PARTITION (p = 'e') VALUES (6, 60, NULL)
INSERT INTO i.t PARTITION (p = 'e') (v, id) VALUES (61, 7)
INSERT INTO i.t PARTITION (p = 'e') SELECT 6
INSERT INTO i.t PARTITION (v = 1) SELECT 6, 'p', NULL
INSERT INTO i.t PARTITION (nothing = 1) SELECT 6, 'p', 1, NULL
INSERT INTO i.t FROM i.t SELECT id + 100, p, v, st WHERE id < 2
INSERT INTO i.t WITH q AS (SELECT 200L AS id) SELECT id, 'with', 1, NULL FROM q
SELECT * FROM i.t
INSERT OVERWRITE i.t PARTITION (p = 'e') SELECT 8, 80, NULL
INSERT OVERWRITE TABLE i.t PARTITION (p = 'none') SELECT 9, 90, NULL WHERE false
SELECT id, p, v FROM i.t WHERE p IN ('e', 'none')
SET spark.sql.sources.partitionOverwriteMode = dynamic
INSERT OVERWRITE i.t SELECT id + 1000, p, v, st FROM i.t WHERE p = 'e'
INSERT OVERWRITE i.t PARTITION (p) SELECT 70, 7, NULL, 'with'
INSERT OVERWRITE i.t BY NAME SELECT 'dyn' AS p, 71L AS id
RESET spark.sql.sources.partitionOverwriteMode
SELECT id, p, v FROM i.t
INSERT INTO i.t REPLACE WHERE p = 'a' SELECT 300, 'a', 1, NULL
INSERT INTO i.t REPLACE WHERE id BETWEEN 70 AND 71 SELECT 72, 'with', 1, NULL
INSERT INTO i.t REPLACE WHERE id > 1000 AND v IS NOT NULL VALUES (1001, 'e', 5, NULL)
INSERT INTO i.t REPLACE WHERE nothing = 1 SELECT 300, 'a', 1, NULL
INSERT INTO i.t REPLACE WHERE p = 'z' SELECT 301, 'a', 1, NULL
INSERT INTO i.t REPLACE WHERE id > 0 SELECT id, p, v, st FROM i.t WHERE id > 100
SELECT id, p, v FROM i.t
SELECT * FROM i.t
SELECT * FROM i.t
SELECT * FROM i.t
SELECT * FROM i.t

CREATE DATABASE w
CREATE TABLE w.t (id BIGINT, p INT, s STRING) USING delta PARTITIONED BY (p)
INSERT INTO w.t VALUES (1, 1, 'a'), (2, 2, NULL), (3, NULL, 'c')
DELETE FROM w.t AS x WHERE length(x.s) > 5 OR id = 77
UPDATE w.t SET s = 'u' WHERE id = 1
SELECT * FROM w.t
INSERT OVERWRITE w.t SELECT id + 1, p, s FROM w.t
SELECT * FROM w.t WHERE p = 1 OR p IS NULL ORDER BY id LIMIT 1
SELECT x.id, (SELECT count(*) FROM w.t y WHERE y.p = x.p) AS n FROM w.t x
SELECT * FROM w.t PIVOT (count(id) FOR p IN (1, 2))
SELECT id, explode(array(1, 2)) AS e FROM w.t WHERE p = 1
SELECT id, v FROM w.t LATERAL VIEW explode(array(p, 9)) e AS v WHERE id = 2 AND v = 9
SELECT id FROM w.t WHERE p = 1 UNION ALL SELECT p FROM w.t EXCEPT SELECT 7
FROM w.t SELECT id, p WHERE p = 1
TABLE w.t
CREATE OR REPLACE TABLE w.t USING delta PARTITIONED BY (s) AS SELECT id, s FROM w.t
DESCRIBE w.t
INSERT INTO w.t PARTITION (s = 'z') SELECT 50
INSERT OVERWRITE w.t PARTITION (s) SELECT 51, 'z'
SELECT * FROM w.t
DELETE FROM w.t
SELECT * FROM w.t
SELECT max(id) AS m, count(*), min(s) FROM w.t
-- both: delta-spark refuses queries in predicates of DELETE
DELETE FROM w.t WHERE id IN (SELECT max(id) FROM w.t)

CREATE DATABASE z
CREATE TABLE z.t (id BIGINT, st STRUCT<a: INT, b: STRING>) USING delta CLUSTER BY (id)
INSERT INTO z.t VALUES (1, named_struct('a', 1, 'b', 'x')), (2, NULL)
MERGE INTO z.t AS x USING (SELECT 1L AS id, 7 AS n UNION ALL SELECT 3, 8) AS s ON x.id = s.id WHEN MATCHED THEN UPDATE SET x.st.a = s.n, st.b = 'set' WHEN NOT MATCHED THEN INSERT (id, st) VALUES (s.id, named_struct('a', s.n, 'b', 'new'))
MERGE INTO z.t USING (SELECT 2L AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.st.a = 5 WHEN NOT MATCHED BY SOURCE THEN UPDATE SET st.b = concat(st.b, '!')
UPDATE z.t SET st.a = st.a + 1 WHERE id = 3
SELECT * FROM z.t
