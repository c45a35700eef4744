"""Tables that deltaskip and delta-spark write in turns, in one session: what each then reads, compared with a model.

python -m tests.reference.playing feature_pairs ANSWERS.json ["FEATURE, FEATURE" ...]
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.types.data_types import VARIANT
from deltaskip.sparkexpr.types.json import parse_schema
from tests.extent import extent
from tests.reference.feature_cases import Case, combinations
from tests.reference.oracle import comparable
from tests.reference.predicates import random_predicates
from tests.reference.rows import digest, plain_rows

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
PREDICATES = extent(1, 4)
STATISTICS = "statistics"
CASES = [STATISTICS, *(", ".join(case.features) for case in combinations())]


class Disagreement(AssertionError):
    """Readers that do not find the rows of the model."""


class Played:
    """One table, and what its rows must be."""

    def __init__(self, spark: Any, folder: Path, case: Case, seed: str) -> None:
        self.case = case
        self.chance = random.Random(seed)
        self.spark = spark.newSession()
        jvm = spark.sparkContext._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self.spark._jsparkSession)
        self.zone = self.chance.choice(ZONES)
        self.spark.conf.set("spark.sql.session.timeZone", self.zone)
        self.folder = folder
        self.model: dict[int, dict[str, Any]] = {}
        self.inserted: list[int] = []
        self.table: ds.DeltaTable

    def play(self) -> None:
        """Create, append by both doors, read; change by delta-spark, append again, read again."""
        case, parts = self.case, self.case.parts
        self.table = ds.DeltaTable.create(
            self.folder,
            case.schema,
            [name for each in parts for name in each.partition_by],
            [name for each in parts for name in each.cluster_by],
            properties=case.properties,
        )
        self.append(range(10), "arrow")
        self.append(range(10, 22), "frame")
        self.check("after deltaskip's appends")
        self.check_others()
        ids = self.row_ids()
        others = all(each.written_by_others for each in parts)
        if others:
            self.append(range(30, 36), "delta-spark")
        if others and "append only" not in case.features:
            self.change()
        self.check("after delta-spark's changes")
        self.check_ids(ids)
        self.append(range(40, 46), "arrow")
        self.append(range(46, 50), "frame")
        self.checkpoint()
        self.check("after deltaskip's second appends")
        self.check_ids(ids)
        self.check_identity()
        self.check_feed()
        if others and "append only" not in case.features:
            self.sql("OPTIMIZE {t}")
            self.check("after OPTIMIZE")
            self.check_ids(ids)

    def append(self, ids: Iterable[int], door: str) -> None:
        """Append the rows with these ids."""
        rows = self.case.rows(ids)
        for row in rows:
            self.model[row["id"]] = self.case.stored(row)
            self.inserted.append(row["id"])
        data = self.case.arrow(rows)
        # Spark cannot write the field ids of elements, keys and values that Iceberg needs.
        if door == "arrow" or (door == "frame" and any("iceberg" in name for name in self.case.features)):
            self.table.append(data, time_zone=self.zone)
        elif door == "frame":
            self.table.append(self.frame(data))
        else:
            self.frame(data).write.format("delta").mode("append").save(str(self.folder))

    def frame(self, data: pa.Table) -> Any:
        """The rows as a DataFrame of two partitions."""
        variants = [f.name for f in self.case.schema.fields if f.type == VARIANT]
        for name in variants:
            texts = [None if r[name] is None else json.dumps({"a": r[name]["value"][-1]}) for r in data.to_pylist()]
            data = data.set_column(data.column_names.index(name), name, pa.array(texts, pa.string()))
        path = self.folder.parent / f"{self.folder.name}-{self.chance.getrandbits(60):x}.parquet"
        pq.write_table(data, path)
        frame = self.spark.read.parquet(str(path)).repartition(2, "id")
        for name in variants:
            frame = frame.selectExpr(f"* EXCEPT ({name})", f"parse_json({name}) AS {name}")
        return frame

    def change(self) -> None:
        """Update and delete rows by delta-spark."""
        self.sql("UPDATE {t} SET name = 'new' WHERE id % 5 = 3")
        self.sql("DELETE FROM {t} WHERE id % 7 = 2")
        for row in self.model.values():
            if row["id"] % 5 == 3:
                given = {**row, "name": "new"}
                row.update(self.case.stored(given))
        for i in [i for i in self.model if i % 7 == 2]:
            del self.model[i]
        if "type widening" in self.case.features:
            self.sql("ALTER TABLE {t} ALTER COLUMN w TYPE BIGINT")
            self.sql("ALTER TABLE {t} ALTER COLUMN wf TYPE DOUBLE")

    def sql(self, text: str) -> list[Any]:
        """The rows of a statement of delta-spark."""
        return self.spark.sql(text.replace("{t}", f"delta.`{self.folder}`")).collect()

    def read(self) -> Any:
        """The table as delta-spark has it."""
        return self.spark.read.format("delta").load(str(self.folder))

    def check(self, when: str) -> None:
        """Both readers have the rows of the model, also below random predicates."""
        expected = [dict(sorted(row.items())) for row in self.model.values()]
        found = self.rows_of(self.read())
        compare(f"delta-spark {when}", found, expected)
        self.table.refresh()
        compare(f"deltaskip {when}", self.rows_of(self.table.scan().to_spark(self.spark)), expected)
        schema = parse_schema(self.read().drop(*self.case.numbered).schema.json())
        drawn = [p.sql for p in random_predicates(self.chance, schema, found, 3 * PREDICATES)]
        truth = self.truth(drawn)
        for sql, ids in list(truth.items())[:PREDICATES]:
            kept = sorted(row.id for row in self.read().where(sql).select("id").collect())
            if kept != ids:
                raise Disagreement(f"delta-spark {when} WHERE {sql}: {kept}, not {ids}")
            scan = Scan(self.table.snapshot, ReadOptions(sql, time_zone=self.zone))
            kept = sorted(row.id for row in scan.to_spark(self.spark).select("id").collect())
            if kept != ids:
                raise Disagreement(f"deltaskip {when} WHERE {sql}: {kept}, not {ids}")

    def truth(self, predicates: Sequence[str]) -> dict[str, list[int]]:
        """By predicate the ids of its rows, from a projection, which prunes nothing."""
        from pyspark.sql import functions as F

        found = {}
        read = self.read()
        for sql in predicates:
            try:
                rows = read.select("id", F.expr(sql).cast("boolean").alias("holds")).collect()
            except Exception:
                continue
            found[sql] = sorted(row.id for row in rows if row.holds)
            if len(found) == PREDICATES:
                break
        return found

    def rows_of(self, frame: Any) -> list[dict[str, Any]]:
        """The rows without identity values."""
        frame = comparable(frame.drop(*self.case.numbered))
        return [_spaced(row) for row in plain_rows(frame.toArrow())]

    def check_others(self) -> None:
        """deltalake and DuckDB read the same rows."""
        expected = [
            {name: row[name] for name in ("id", "name", "dec", "flag", "st", "ts")} for row in self.model.values()
        ]
        for name, read in (("deltalake", deltalake_rows), ("duckdb", duckdb_rows)):
            if any(name in each.unread for each in self.case.parts):
                continue
            try:
                found = read(self.folder, "id, name, dec, flag, st, ts")
            except Refused as error:
                print(f"  {name} refuses {', '.join(self.case.features)}: {str(error)[:200]}")
                continue
            kind = self.case.arrow(self.case.rows([0])).select(["id", "name", "dec", "flag", "st", "ts"]).schema
            compare(name, plain_rows(found.cast(kind)), expected)

    def row_ids(self) -> dict[int, tuple[int, int]]:
        """By id, the row's stable id and commit version; empty without row tracking."""
        if "row tracking" not in self.case.features:
            return {}
        rows = self.read().selectExpr("id", "_metadata.row_id AS r", "_metadata.row_commit_version AS v").collect()
        found = {row.id: (row.r, row.v) for row in rows}
        if len({r for r, _ in found.values()}) != len(rows) or any(None in each for each in found.values()):
            raise Disagreement(f"row ids are not unique: {sorted(found.items())}")
        return found

    def check_ids(self, before: Mapping[int, tuple[int, int]]) -> None:
        """Rows keep their stable ids."""
        now = self.row_ids()
        moved = {i: (r, now[i][0]) for i, (r, _) in before.items() if i in now and now[i][0] != r}
        if moved:
            raise Disagreement(f"rows have other row ids than before: {moved}")

    def checkpoint(self) -> None:
        """A checkpoint by us, or by delta-spark."""
        if self.chance.random() < 0.5:
            self.table.checkpoint()
        else:
            jvm = self.spark.sparkContext._jvm
            log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.folder))
            log.checkpoint()

    def check_identity(self) -> None:
        """Identity values differ, are on the grid, and lie within the mark."""
        for name in self.case.numbered:
            values = [row[0] for row in self.read().select(name).collect()]
            field = next(f for f in self.table.refresh().schema.fields if f.name == name)
            start, step, mark = (field.metadata[f"delta.identity.{k}"] for k in ("start", "step", "highWaterMark"))
            wrong = [v for v in values if (v - start) % step or (v - start) // step < 0 or (mark - v) // step < 0]
            if wrong or len(set(values)) != len(values):
                raise Disagreement(f"{name} has the values {sorted(values)}, of which {wrong} are wrong; mark {mark}")

    def check_feed(self) -> None:
        """The change data feed has each inserted row once, in the commit that added it."""
        # delta-spark does not read the feed across a change of a type in a table with mapped columns.
        if "change data feed" not in self.case.features or "type widening" in self.case.features:
            return
        feed = self.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
        rows = feed.load(str(self.folder)).select("id", "_change_type", "_commit_version").collect()
        found = sorted(row.id for row in rows if row._change_type == "insert")
        if found != sorted(self.inserted):
            raise Disagreement(f"the feed has the inserts {found}, not {sorted(self.inserted)}")


def compare(who: str, found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Raise Disagreement with the first rows that differ."""
    if digest(found) == digest(expected):
        return
    by_id = {row["id"]: row for row in found}
    for row in expected:
        other = by_id.pop(row["id"], None)
        if other is None:
            raise Disagreement(f"{who} lacks the row {row}")
        if digest([row]) != digest([other]):
            values = ((name, other.get(name, "nothing"), row.get(name, "nothing")) for name in {**row, **other})
            wrong = [f"{n}: {a!r}, not {b!r}" for n, a, b in values if digest([{n: a}]) != digest([{n: b}])]
            raise Disagreement(f"{who}: {'; '.join(wrong)}")
    raise Disagreement(f"{who} has other rows, or rows twice: {by_id or [r['id'] for r in found]}")


class Refused(Exception):
    """A reader does not support a feature of the table."""


def deltalake_rows(folder: Path, columns: str) -> pa.Table:
    """The rows as delta-rs reads them."""
    import deltalake

    try:
        table = deltalake.DeltaTable(str(folder))
        builder = deltalake.QueryBuilder().register("t", table)
        return pa.table(builder.execute(f"SELECT {columns} FROM t").read_all())
    except Exception as error:
        raise Refused(error) from error


def duckdb_rows(folder: Path, columns: str) -> pa.Table:
    """The rows as DuckDB reads them."""
    import duckdb
    import duckdb_extension_delta

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    binary = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
    connection.execute(f"LOAD '{binary}'")
    connection.execute("SET TimeZone = 'UTC'")
    try:
        return connection.execute(f"SELECT {columns} FROM delta_scan('{folder}')").to_arrow_table()
    except Exception as error:
        raise Refused(error) from error


def _spaced(row: dict[str, Any]) -> dict[str, Any]:
    """The row with JSON of variants as json.dumps writes it."""
    return {
        name: json.dumps(json.loads(value)) if name == "var" and value is not None else value
        for name, value in sorted(row.items())
    }


def statistics_differ(spark: Any, folder: Path) -> str | None:
    """How the statistics of both doors differ from those that delta-spark writes of the same rows."""
    case = Case(("plain",))
    rows = case.arrow(case.rows(range(40)))
    pq.write_table(rows, folder / "rows.parquet")
    frame = spark.read.parquet(str(folder / "rows.parquet")).coalesce(1)
    frame.write.format("delta").save(str(folder / "reference"))
    table = ds.DeltaTable.create(folder / "ours", case.schema)
    table.append(rows)
    table.append(frame)
    expected, *found = (
        json.loads(text)
        for each in ("reference", "ours")
        for text in ds.DeltaTable(folder / each).snapshot.adds(["stats"])["stats"].to_pylist()
    )
    return None if found == [expected, expected] else f"{found}, not {expected}"


def play(spark: Any, folder: Path, name: str) -> None:
    """Play a case, or compare statistics."""
    if name == STATISTICS:
        differ = statistics_differ(spark, folder)
        assert differ is None, differ
    else:
        Played(spark, folder / "t", Case(tuple(name.split(", "))), name).play()
