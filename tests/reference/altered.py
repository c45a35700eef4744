"""The same ALTER TABLE statements by delta-spark and by deltaskip, on copies of one table.

    python -m tests.reference.playing altered ANSWERS.json [CASE ...]

ANSWERS.json holds for each case what differs after which statement, and what delta-spark
finds in the table that deltaskip altered, after both have written rows to it.
"""

import json
import re
import shutil
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.features.registry import features_of
from tests.builder import logged

COLUMNS = (
    "id BIGINT, name STRING, st STRUCT<a: INT, b: STRING>, arr ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<v: INT>>"
)
MAPPED = "'delta.columnMapping.mode'='name'"
WIDENING = "'delta.enableTypeWidening'='true'"
WIDE = (
    "b TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DATE, dec DECIMAL(10,2), a ARRAY<INT>, m MAP<INT, INT>, "
    "st STRUCT<x: INT>, vc VARCHAR(5), ch CHAR(3), str STRING, aa ARRAY<ARRAY<INT>>, v2 VARCHAR(5), b2 TINYINT"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Values that depend on the version or the time of a commit.
_OF_COMMIT = (
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.requireCheckpointProtectionBeforeVersion",
)


@dataclass(frozen=True)
class Case:
    """A table, rows in it, and statements after ALTER TABLE.

    odd: statements whose answers differ, and how. other_operations: those that the histories show differently.
    """

    columns: str
    statements: tuple[str, ...]
    properties: str = ""
    clause: str = ""
    rows: str = ""
    odd: Mapping[str, str | list[str]] = field(default_factory=dict)
    other_operations: tuple[str, ...] = ()


ONLY_OURS, ONLY_THEIRS = "only deltaskip accepts it", "only delta-spark accepts it"

CASES: dict[str, Case] = {
    "added": Case(
        COLUMNS,
        (
            "ADD COLUMN c INT",
            "ADD COLUMN d INT COMMENT 'cmt' AFTER id",
            "ADD COLUMNS (e INT FIRST, f STRING NOT NULL)",
            "ADD COLUMNS (g INT FIRST, h STRING AFTER g)",
            "ADD COLUMN st.c INT AFTER a",
            "ADD COLUMN arr.element.y INT FIRST",
            "ADD COLUMN m.value.w INT",
            "ADD COLUMN ID INT",
            "ADD COLUMN nn INT DEFAULT 5",
            "ADD COLUMN nope.x INT",
            "ADD COLUMN id.x INT",
            "ADD COLUMN `a b` INT",
            "ADD COLUMN ntz TIMESTAMP_NTZ",
            "ADD COLUMN vc VARCHAR(5)",
            "ADD COLUMN ch CHAR(4) COMMENT 'x'",
            "ADD COLUMN vd VOID",
            "ADD COLUMN st.z STRUCT<q: INT COMMENT 'x'> COMMENT 'hey'",
            "ADD COLUMN st.c INT",
            "ADD COLUMN c2 INT AFTER nope",
            "ADD COLUMN dec DECIMAL(38, 10)",
            "ADD COLUMN dd ARRAY<MAP<INT, DATE>>",
            "ADD COLUMN z STRUCT<q: INT NOT NULL>",
            "SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')",
            "ADD COLUMN ntz TIMESTAMP_NTZ",
            "ADD COLUMN cc STRING COLLATE UNICODE_CI",
        ),
        odd={"ADD COLUMN cc STRING COLLATE UNICODE_CI": ONLY_OURS},
    ),
    "changed": Case(
        COLUMNS,
        (
            "ALTER COLUMN name FIRST",
            "ALTER COLUMN st.b FIRST",
            "ALTER COLUMN st.b AFTER a",
            "ALTER COLUMN id AFTER arr",
            "ALTER COLUMN id COMMENT 'x'",
            "ALTER COLUMN id COMMENT ''",
            "CHANGE COLUMN id id BIGINT COMMENT 'y' FIRST",
            "CHANGE COLUMN id id2 BIGINT",
            "ALTER COLUMN id SET NOT NULL",
            "ALTER COLUMN id TYPE INT",
            "ALTER COLUMN id TYPE BIGINT",
            "ALTER COLUMN id TYPE STRING",
            "ALTER COLUMN id AFTER zz",
            "ALTER COLUMN arr.element.x COMMENT 'n'",
            "ALTER COLUMN arr.element COMMENT 'n'",
            "ALTER COLUMN id SET DEFAULT 5",
            "ALTER COLUMN id COMMENT 'a', name COMMENT 'b'",
            "RENAME COLUMN id TO x",
            "DROP COLUMN id",
            "REPLACE COLUMNS (id BIGINT, z INT)",
            f"REPLACE COLUMNS ({COLUMNS}, z INT)",
            "alter column M.value.V comment 'deep'",
            "ALTER COLUMN m.VALUE.v COMMENT 'case'",
            "ALTER COLUMN nope COMMENT 'x'",
            "ALTER COLUMN name COMMENT 'it''s'",
        ),
        odd={"ALTER COLUMN m.VALUE.v COMMENT 'case'": ONLY_OURS},
    ),
    "nullable": Case("id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL> NOT NULL",
        ("ALTER COLUMN id DROP NOT NULL", "ALTER COLUMN s.a DROP NOT NULL", "ALTER COLUMN s DROP NOT NULL")),
    "mapped": Case(
        COLUMNS,
        (
            "RENAME COLUMN id TO x", "RENAME COLUMN st.a TO aa", "RENAME COLUMN arr.element.x TO xx",
            "RENAME COLUMN X TO name", "RENAME COLUMN nope TO name", "DROP COLUMN X", "DROP COLUMN st.b",
            "DROP COLUMN st.aa", "DROP COLUMNS (name, m)", "DROP COLUMN IF EXISTS zzz", "DROP COLUMN zzz",
            "DROP COLUMNS (st, arr)", "ADD COLUMN z STRUCT<q: INT>", "ADD COLUMN `a b` INT",
            "REPLACE COLUMNS (a INT, arr STRING)", "RENAME COLUMN arr TO `a.b`", "ADD COLUMN `a.b`.element.w INT",
            "RENAME COLUMN z TO Z", "REPLACE COLUMNS (z STRUCT<q: INT>, y INT)",
        ),
        MAPPED,
        odd={
            "RENAME COLUMN z TO Z": ONLY_OURS,
            "REPLACE COLUMNS (z STRUCT<q: INT>, y INT)": ONLY_OURS,
        },
    ),
    "enabled": Case(COLUMNS, (f"SET TBLPROPERTIES ({MAPPED})", "RENAME COLUMN name TO `n m`", "DROP COLUMN id",
        "ADD COLUMN id BIGINT FIRST", "SET TBLPROPERTIES ('delta.columnMapping.mode'='id')"),
        rows="SELECT id, 'n', named_struct('a', 1, 'b', 'x'), array(), map() FROM RANGE(5)"),
    "partitioned": Case(
        "id BIGINT, p STRING, q INT, c1 INT, c2 INT",
        (
            "RENAME COLUMN p TO pp", "DROP COLUMN pp", "ADD CONSTRAINT c CHECK (q > 0)", "RENAME COLUMN q TO qq",
            "DROP COLUMN q", "SET TBLPROPERTIES('delta.dataSkippingStatsColumns'='id,q,c1')", "RENAME COLUMN c1 TO d1",
            "DROP COLUMN d1", "RENAME COLUMN id TO `i d`", "ALTER COLUMN pp TYPE INT", "ALTER COLUMN pp FIRST",
            "ALTER COLUMN pp COMMENT 'x'", "CLUSTER BY (q)", "CLUSTER BY NONE",
        ),
        MAPPED,
        "PARTITIONED BY (p)",
        "SELECT id, 'p', 1, 2, 3 FROM RANGE(3)",
    ),
    "clustered": Case(
        "id BIGINT, g BIGINT GENERATED ALWAYS AS (id + 1), c INT, st STRUCT<a: INT, b: INT>",
        (
            "RENAME COLUMN id TO i", "DROP COLUMN id", "DROP COLUMN g", "RENAME COLUMN c TO cc", "DROP COLUMN cc",
            "RENAME COLUMN st.a TO aa", "RENAME COLUMN st TO stt", "CLUSTER BY (id)", "CLUSTER BY NONE",
            "CLUSTER BY (nope)", "CLUSTER BY (id, id)", "CLUSTER BY (stt.aa, cc)", "CLUSTER BY (stt)",
            "CLUSTER BY (id, cc, stt.aa, stt.b, nope)", "DROP COLUMN stt",
        ),
        MAPPED,
        "CLUSTER BY (c, st.a)",
        odd={"DROP COLUMN stt": ONLY_THEIRS},
    ),
    "clustered_later": Case(COLUMNS, ("CLUSTER BY (id)", "CLUSTER BY (name, st.a)", "CLUSTER BY NONE",
        "CLUSTER BY (arr)", "CLUSTER BY (name)")),
    "without_statistics": Case(COLUMNS, ("CLUSTER BY (name)", "CLUSTER BY (id)"),
        "'delta.dataSkippingNumIndexedCols'='1'"),
    "properties": Case(
        COLUMNS,
        (
            "SET TBLPROPERTIES('delta.appendOnly'='true','foo'='bar')",
            "SET TBLPROPERTIES('delta.appendOnly'='xx')",
            "SET TBLPROPERTIES('delta.nope'='1')",
            "SET TBLPROPERTIES('DELTA.APPENDONLY'='false')",
            "SET TBLPROPERTIES('delta.enableChangeDataFeed'='true')",
            "UNSET TBLPROPERTIES('delta.appendOnly')",
            "UNSET TBLPROPERTIES IF EXISTS ('zz','foo')",
            "SET TBLPROPERTIES('delta.enableDeletionVectors'='true')",
            "SET TBLPROPERTIES('delta.enableInCommitTimestamps'='true')",
            "SET TBLPROPERTIES('delta.enableInCommitTimestamps'='false')",
            "SET TBLPROPERTIES('delta.feature.checkConstraints'='supported')",
            "SET TBLPROPERTIES('delta.feature.nope'='supported')",
            "SET TBLPROPERTIES('delta.feature.checkConstraints'='no')",
            "SET TBLPROPERTIES('delta.constraints.q'='id > 0')",
            f"SET TBLPROPERTIES({WIDENING})",
            "SET TBLPROPERTIES('delta.checkpointPolicy'='v2')",
            "SET TBLPROPERTIES('comment'='hi')",
            "SET TBLPROPERTIES('delta.columnMapping.maxColumnId'='3')",
            "SET TBLPROPERTIES('delta.rowTracking.materializedRowIdColumnName'='q')",
            "SET TBLPROPERTIES('delta.clusteringColumns'='id')",
            "SET TBLPROPERTIES('external'='1')",
            "SET TBLPROPERTIES('location'='1')",
            "SET TBLPROPERTIES(k = 1, delta.appendOnly = true)",
            "SET TBLPROPERTIES('x')",
            "SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 3 days')",
            "SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 8 days')",
            "SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 9 days')",
            "SET TBLPROPERTIES ('delta.logRetentionDuration' = '3 days', "
            "'delta.deletedFileRetentionDuration' = '2 days')",
            "SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 1 month')",
            "SET TBLPROPERTIES ('delta.isolationLevel' = 'serializable')",
            "SET TBLPROPERTIES ('delta.checkpointInterval' = '0')",
            "SET TBLPROPERTIES ('a.b c' = 'x=y')",
            "SET TBLPROPERTIES ('delta.targetFileSize' = '10mb')",
            "UNSET TBLPROPERTIES('comment')",
        ),
        odd={"SET TBLPROPERTIES ('delta.targetFileSize' = '10mb')": ONLY_OURS},
        other_operations=("UNSET TBLPROPERTIES IF EXISTS ('zz','foo')",),
    ),
    "row_tracking": Case("id BIGINT", ("SET TBLPROPERTIES('delta.enableRowTracking'='true')",),
        rows="SELECT * FROM RANGE(10)"),
    "constraints": Case(
        "id BIGINT, s INT",
        (
            "ADD CONSTRAINT Pos CHECK (id > 0)",
            "ADD CONSTRAINT pos CHECK (id > 0)",
            "ADD CONSTRAINT neg CHECK (id < 2)",
            "ADD CONSTRAINT nul CHECK (s > 0)",
            "ADD CONSTRAINT q CHECK (nope > 0)",
            "ADD CONSTRAINT q CHECK (id + 1)",
            "DROP CONSTRAINT POS",
            "DROP CONSTRAINT POS",
            "ADD CONSTRAINT `we ird` CHECK (id   >  0 /* x */)",
            "ADD CONSTRAINT a.b CHECK (id > 0)",
            "ADD CONSTRAINT big CHECK (length(cast(id AS STRING)) < 3)",
            "ADD CONSTRAINT spark CHECK (to_csv(struct(cast(id AS STRING))) IS NOT NULL AND sequence(1, id)[0] = 1)",
            "ADD CONSTRAINT spark2 CHECK (sequence(1, id)[0] = 2)",
        ),
        rows="VALUES (1, 1), (2, NULL)",
    ),
    "widened": Case(
        WIDE,
        (
            "ALTER COLUMN b TYPE SMALLINT",
            "ALTER COLUMN b TYPE INT",
            "ALTER COLUMN b TYPE BIGINT",
            "ALTER COLUMN s TYPE DOUBLE",
            "ALTER COLUMN i TYPE DECIMAL(10,0)",
            "ALTER COLUMN i TYPE DECIMAL(11,1)",
            "ALTER COLUMN l TYPE DECIMAL(20,0)",
            "ALTER COLUMN f TYPE DOUBLE",
            "ALTER COLUMN d TYPE TIMESTAMP_NTZ",
            "ALTER COLUMN dec TYPE DECIMAL(12,3)",
            "ALTER COLUMN dec TYPE DECIMAL(12,5)",
            "ALTER COLUMN a.element TYPE BIGINT",
            "ALTER COLUMN m.key TYPE BIGINT",
            "ALTER COLUMN m.value TYPE BIGINT",
            "ALTER COLUMN st.x TYPE BIGINT",
            "ALTER COLUMN aa.element.element TYPE BIGINT",
            "ALTER COLUMN str TYPE INT",
            "ALTER COLUMN vc TYPE VARCHAR(10)",
            "ALTER COLUMN vc TYPE VARCHAR(4)",
            "ALTER COLUMN vc TYPE STRING",
            "ALTER COLUMN ch TYPE CHAR(5)",
            "ALTER COLUMN ch TYPE VARCHAR(5)",
            "ALTER COLUMN str TYPE VARCHAR(5)",
            "ALTER COLUMN b2 TYPE DECIMAL(10,0)",
            "ALTER COLUMN st TYPE STRUCT<x: BIGINT, y: INT>",
            "ALTER COLUMN str TYPE STRING COLLATE UNICODE_CI",
            "SET TBLPROPERTIES('delta.enableTypeWidening'='false')",
            "ALTER COLUMN b2 TYPE DECIMAL(20,0)",
            "ALTER COLUMN v2 TYPE VARCHAR(6)",
            "SET TBLPROPERTIES ('delta.enableTypeWidening'='true', 'delta.feature.timestampNtz' = 'supported')",
            "ALTER COLUMN d TYPE TIMESTAMP_NTZ",
        ),
        WIDENING,
        rows="SELECT 1, 2, 3, 4, 0.5, DATE'2024-02-29', 1.25, array(1), map(1, 2), named_struct('x', 1), 'v', "
        "'c', 's', array(array(1)), 'w', 5",
    ),
    "widened_expressions": Case("b INT, s SMALLINT, g INT GENERATED ALWAYS AS (b + 1), p INT",
        ("ALTER COLUMN b TYPE BIGINT", "ALTER COLUMN g TYPE BIGINT", "ADD CONSTRAINT c CHECK (s > 0)",
        "ALTER COLUMN s TYPE INT", "ALTER COLUMN p TYPE BIGINT"), WIDENING, "PARTITIONED BY (p)"),
    "defaults": Case(
        "id BIGINT, s STRING, e INT, t TINYINT",
        (
            "ALTER COLUMN s SET DEFAULT 'x'",
            "ALTER COLUMN s SET DEFAULT concat('a', 'b')",
            "ALTER COLUMN s SET DEFAULT id",
            "ALTER COLUMN id SET DEFAULT 'abc'",
            "ALTER COLUMN id SET DEFAULT 5",
            "ALTER COLUMN s DROP DEFAULT",
            "ALTER COLUMN e SET DEFAULT (SELECT 1)",
            "ALTER COLUMN e SET DEFAULT current_date()",
            "ALTER COLUMN t SET DEFAULT 7",
            "ALTER COLUMN t SET DEFAULT 500",
            "ALTER COLUMN s SET DEFAULT NULL",
        ),
        "'delta.feature.allowColumnDefaults'='supported'",
    ),
    "identity": Case(
        "id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 0 INCREMENT BY 10), v INT, "
        "al BIGINT GENERATED ALWAYS AS IDENTITY",
        (
            "ALTER COLUMN id SYNC IDENTITY",
            "ALTER COLUMN v SYNC IDENTITY",
            "ALTER COLUMN id TYPE INT",
            "ALTER COLUMN id SET DEFAULT 3",
            "ADD COLUMN x BIGINT GENERATED ALWAYS AS IDENTITY",
        ),
        rows="(id, v) VALUES (1003, 1)",
    ),
    "drop_checks": Case("id BIGINT", ("ADD CONSTRAINT c CHECK (id > 0)", "DROP FEATURE checkConstraints",
        "DROP CONSTRAINT c", "DROP FEATURE checkConstraints", "DROP FEATURE nope", "DROP FEATURE appendOnly",
        "DROP FEATURE invariants", "DROP FEATURE deletionVectors"), "'delta.feature.checkConstraints'='supported'"),
    "drop_rows": Case("id BIGINT", ("DROP FEATURE rowTracking", "DROP FEATURE domainMetadata"),
        "'delta.enableRowTracking'='true'", rows="SELECT * FROM RANGE(10)"),
    "drop_clustering": Case("id BIGINT", ("DROP FEATURE clustering",), clause="CLUSTER BY (id)"),
    "drop_times": Case("id BIGINT", ("DROP FEATURE inCommitTimestamp",), "'delta.enableInCommitTimestamps'='true'",
        rows="VALUES (1)", odd={"DROP FEATURE inCommitTimestamp": ["properties"]}),
    "drop_vectors": Case("id BIGINT", ("DROP FEATURE deletionVectors", "DROP FEATURE checkpointProtection"),
        "'delta.enableDeletionVectors'='true'", rows="VALUES (1)"),
    "drop_v2": Case("id BIGINT", ("DROP FEATURE v2Checkpoint",), "'delta.checkpointPolicy'='v2'", rows="VALUES (1)",
        odd={"DROP FEATURE v2Checkpoint": ["properties"]}),
    "drop_vacuum": Case("id BIGINT", ("DROP FEATURE vacuumProtocolCheck", "DROP FEATURE identityColumns"),
        "'delta.feature.vacuumProtocolCheck'='supported','delta.feature.identityColumns'='supported'"),
    "drop_widening": Case("id INT", ("DROP FEATURE typeWidening",), WIDENING, rows="VALUES (1)"),
}  # fmt: skip


def state_of(table: Path) -> dict[str, Any]:
    """What the log says about the newest version, without what differs between any two commits."""
    snapshot = ds.DeltaTable(table).snapshot
    known: dict[str, str] = {}

    def plain(text: str) -> str:
        return _UUID.sub(lambda found: known.setdefault(found[0], f"uuid {len(known)}"), text)

    properties = {
        name: "…" if name in _OF_COMMIT else re.sub(r"\s+|/\*.*?\*/", "", plain(text))
        for name, text in sorted(snapshot.properties.items())
    }
    return {
        "schema": json.loads(plain(snapshot.metadata.schema_string or "{}")),
        "partition columns": list(snapshot.partition_columns),
        "properties": properties,
        "description": snapshot.metadata.description,
        "features": sorted(features_of(snapshot.protocol)),
        "reader version": snapshot.protocol.min_reader_version,
        "domains": {n: _domain(plain(d.configuration)) for n, d in snapshot.domains.items() if not d.removed},
        "row ids": sorted(str(each) for each in snapshot.adds(["base_row_id"])["base_row_id"].to_pylist()),
    }


def _domain(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return {name: value for name, value in found.items() if name != "domainName"}


def operation_of(table: Path) -> list[Any]:
    """Name and parameters of the newest commit's operation."""
    info = logged(table, kind="commitInfo")[-1]
    parameters = {name: _plain_parameter(value) for name, value in info["operationParameters"].items()}
    return [info["operation"], parameters]


def _plain_parameter(value: Any) -> Any:
    """A parameter without ids, blanks and comments; delta-spark writes some values that are no text."""
    text = value if isinstance(value, str) else json.dumps(value)
    if text[:1] not in ("[", "{"):
        return re.sub(r"\s+|/\*.*?\*/", "", text)
    return json.loads(text, object_hook=_without_ids)


def _without_ids(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if not name.startswith("delta.columnMapping.")}


def differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that are not equal, both."""
    return {name: [theirs[name], ours[name]] for name in theirs if theirs[name] != ours[name]}


def run(spark: Any, folder: Path, case: Case) -> dict[str, Any]:
    """What differs after which statement, and what delta-spark reads at the end from deltaskip's table."""
    theirs, ours = folder / "theirs", folder / "ours"
    properties = f"TBLPROPERTIES ({case.properties})" if case.properties else ""
    spark.sql(f"CREATE TABLE delta.`{theirs}` ({case.columns}) USING delta {case.clause} {properties}")
    if case.rows:
        spark.sql(f"INSERT INTO delta.`{theirs}` {case.rows}")
    shutil.copytree(theirs, ours)
    found: dict[str, Any] = {"statements": {}, "operations": {}}
    for statement in case.statements:
        answers: dict[str, str] = {}
        # What only deltaskip accepts is tried on a copy, from which nothing follows.
        tried = Path(shutil.copytree(ours, folder / "tried")) if case.odd.get(statement) == ONLY_OURS else ours
        for kind in ("theirs", "ours"):
            try:
                if kind == "theirs":
                    spark.sql(f"ALTER TABLE delta.`{theirs}` {statement}").collect()
                else:
                    ds.DeltaTable(tried).alter_sql(statement)
            except ds.DeltaSkipError as error:
                answers[kind] = str(error)
            except Exception as error:
                answers[kind] = str(error).split("\n", 1)[0]
                if kind == "ours":
                    found["crashed"] = traceback.format_exc()
        if len(answers) == 1:
            which = ONLY_OURS if "theirs" in answers else ONLY_THEIRS
            found["statements"][statement] = {"accepted": which, **answers}
            if tried is not ours:
                shutil.rmtree(tried)
            elif case.odd.get(statement) != ONLY_THEIRS:
                # The next statements begin from the same table again; only theirs may be damaged.
                shutil.rmtree(ours)
                shutil.copytree(theirs, ours)
        elif not answers:
            differ = differences(state_of(theirs), state_of(ours))
            if differ:
                found["statements"][statement] = {"accepted": "both", "differ": differ}
            pair = [operation_of(theirs), operation_of(ours)]
            if pair[0] != pair[1]:
                found["operations"][statement] = pair
    name = ds.DeltaTable(ours).schema.names[0]
    frame = spark.read.format("delta").load(str(ours))
    before = frame.count()
    identity = {f.name for f in ds.DeltaTable(ours).schema.fields if "delta.identity.step" in f.metadata}
    empty = spark.createDataFrame([], frame.schema).drop(*identity)
    empty.write.format("delta").mode("append").save(str(ours))
    with ds.DeltaTable(ours).transaction() as transaction:
        transaction.alter(ds.SetComment(f"after {name}"))
    found["rows"] = [before, spark.read.format("delta").load(str(ours)).count()]
    return found


def play(spark: Any, folder: Path, name: str) -> dict[str, Any]:
    """Run a case."""
    return run(spark, folder, CASES[name])
