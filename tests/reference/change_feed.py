"""Random histories by delta-spark and deltaskip; their change feed against delta-spark's and against a model of rows.

In Spark 4.2 and newer, changes by row ids are compared with those of CHANGES, too.

    python -m tests.reference.playing change_feed ANSWERS.json [SEED ...]

ANSWERS.json has by seed the error that it ended with and the operations before it; null if everything agrees.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pyspark.errors import UnsupportedOperationException

import deltaskip as ds
from deltaskip.errors import SchemaError
from tests.extent import extent

STEPS = extent(3, 9)
FEED = ("_change_type", "_commit_version", "_commit_timestamp")
PROPERTIES = (
    ("delta.columnMapping.mode", "name"),
    ("delta.columnMapping.mode", "id"),
    ("delta.enableDeletionVectors", "true"),
    ("delta.enableDeletionVectors", "true"),
    ("delta.enableRowTracking", "true"),
    ("delta.enableInCommitTimestamps", "true"),
    ("delta.checkpointInterval", "3"),
)
PREDICATES = (
    "id < 12", "p = '1'", "x IS NULL", "id % 5 = 0 AND x > 20", "_change_type = 'delete'", "id > 40 OR p = '0'",
    "_commit_version > 3 AND id < 30", "st.a = 7",
)  # fmt: skip

Row = tuple[Any, ...]


class Disagreement(Exception):
    """Two feeds, or a feed and the model, differ."""


class History:
    """A table whose rows are also known by a model, version by version."""

    def __init__(self, spark: Any, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.spark, self.folder = spark, folder
        self.played: list[str] = []
        self.next_id = 0
        self.columns = ["id", "p", "x", "st"]
        self.can_evolve = True
        properties = dict(self.chance.sample(PROPERTIES, self.chance.randint(0, 5)))
        properties["delta.enableChangeDataFeed"] = "true"
        self.mapped = "delta.columnMapping.mode" in properties
        self.tracked = "delta.enableRowTracking" in properties
        partitions = ["p"] if self.chance.random() < 0.5 else []
        self.note("create", properties=properties, partitions=partitions)
        ddl = "id BIGINT, p STRING, x INT, st STRUCT<a: INT, b: STRING>"
        self.table = ds.DeltaTable.create(folder, ddl, partitions, properties=properties)
        self.by_version: dict[int, Counter[Row]] = {0: Counter()}

    def note(self, operation: str, **details: object) -> None:
        """Remember an operation for the message."""
        self.played.append(f"{operation} {details or ''}")

    def play(self) -> None:
        """Random operations, then comparisons of ranges, predicates and row ids."""
        moves: list[Callable[[], None]] = [
            self.append, self.append, self.append_by_us, self.delete, self.delete, self.delete_by_us, self.update,
            self.update, self.merge, self.merge, self.overwrite_where, self.optimize, self.restore, self.recompute,
            self.delete_all_of_a_partition, self.add_column,
        ]  # fmt: skip
        self.append()
        self.append_by_us()
        for _ in range(STEPS):
            self.chance.choice(moves)()
            self.remember()
        self.check()

    def remember(self) -> None:
        """Keep the rows of each version, as a reader sees them."""
        self.table.refresh()
        for version in range(max(self.by_version) + 1, self.table.version + 1):
            frame = ds.DeltaTable(self.folder, version).scan(columns=["id", "p", "x"]).to_spark(self.spark)
            self.by_version[version] = Counter(map(tuple, frame.collect()))

    def sql(self, text: str) -> None:
        """A statement of delta-spark, with {t} for the table."""
        self.note(text)
        self.spark.sql(text.format(t=f"delta.`{self.folder}`")).collect()

    def new_rows(self) -> str:
        """A query of new rows."""
        first, self.next_id = self.next_id, self.next_id + self.chance.choice([1, 8, 25])
        return (
            f"SELECT id, CAST(id % 3 AS STRING) p, IF(id % 4 = 0, NULL, CAST(id AS INT)) x,"
            f" named_struct('a', CAST(id % 9 AS INT), 'b', 'k') st FROM range({first}, {self.next_id}, 1, 3)"
        )

    def append(self) -> None:
        query = self.new_rows()
        self.note("append", query=query)
        self.spark.sql(query).write.format("delta").mode("append").save(str(self.folder))

    def append_by_us(self) -> None:
        query = self.new_rows()
        self.note("append by deltaskip", query=query)
        frame = self.spark.sql(query)
        self.table.append(frame if self.chance.random() < 0.5 else frame.toArrow())

    def delete(self) -> None:
        self.sql(f"DELETE FROM {{t}} WHERE id % {self.chance.randint(3, 9)} = 1")

    def delete_by_us(self) -> None:
        where = f"id % {self.chance.randint(3, 9)} = 2"
        spark = self.spark if self.chance.random() < 0.5 else None
        self.note("delete by deltaskip", where=where, spark=spark is not None)
        self.table.delete(where, spark)

    def delete_all_of_a_partition(self) -> None:
        self.sql(f"DELETE FROM {{t}} WHERE p = '{self.chance.randint(0, 2)}'")

    def update(self) -> None:
        to = self.chance.choice(["x = -x", "p = '7'", "x = 1, st.b = 'new'"])
        self.sql(f"UPDATE {{t}} SET {to} WHERE id % {self.chance.randint(2, 6)} = 0")

    def merge(self) -> None:
        low = self.chance.randint(0, max(1, self.next_id))
        high, step = low + self.chance.randint(1, 20), self.chance.randint(1, 3)
        self.next_id = max(self.next_id, high)
        source = f"(SELECT id, CAST(id % 3 AS STRING) p FROM range({low}, {high}, {step})) s"
        kinds = [
            "WHEN MATCHED AND s.id % 3 = 0 THEN DELETE",
            "WHEN MATCHED THEN UPDATE SET x = 99",
            "WHEN NOT MATCHED THEN INSERT (id, p, x) VALUES (s.id, s.p, -1)",
        ]
        if self.chance.random() < 0.2:
            kinds = ["WHEN MATCHED AND s.id < 0 THEN UPDATE SET x = 0"]
        self.sql(f"MERGE INTO {{t}} t USING {source} ON t.id = s.id {' '.join(kinds)}")

    def overwrite_where(self) -> None:
        low = self.chance.randint(0, self.next_id)
        high = low + self.chance.randint(1, 8)
        where = f"id >= {low} AND id < {high}"
        query = f"SELECT id, '1' p, 5 x, named_struct('a', 7, 'b', 'o') st FROM range({low}, {high}, 2)"
        self.next_id = max(self.next_id, high)
        if self.chance.random() < 0.5:
            self.note("overwrite by deltaskip", where=where)
            self.table.overwrite(self.spark.sql(query), where=where)
        else:
            self.note("overwrite", where=where)
            frame = self.spark.sql(query).write.format("delta").mode("overwrite").option("replaceWhere", where)
            frame.save(str(self.folder))

    def optimize(self) -> None:
        self.sql("OPTIMIZE {t}")

    def restore(self) -> None:
        self.sql(f"RESTORE TABLE {{t}} TO VERSION AS OF {self.chance.randint(1, self.table.refresh().version)}")

    def recompute(self) -> None:
        self.note("recompute")
        self.table.refresh().recompute_stats(self.spark)

    def add_column(self) -> None:
        if "extra" not in self.columns and self.chance.random() < 0.5:
            self.sql("ALTER TABLE {t} ADD COLUMN extra INT")
            self.columns.append("extra")

    def check(self) -> None:
        """Compare ranges by version and by time, predicates, the model, and row ids."""
        latest = self.table.refresh().version
        self.check_range(0, latest)
        self.check_model(latest)
        for _ in range(3):
            start = self.chance.randint(0, latest)
            self.check_range(start, self.chance.randint(start, latest))
        if self.tracked:
            self.check_model(latest, source="rows")
            for _ in range(3):
                start = self.chance.randint(1, latest)
                self.check_net(start, self.chance.randint(start, latest))
                if self.spark.version >= "4.2":
                    self.check_changes(start, self.chance.randint(start, latest))
        self.check_times(latest)
        self.check_predicates(latest)
        self.check_row_ids()

    def check_range(self, start: int, end: int) -> None:
        """Our feed against delta-spark's."""
        theirs = self.theirs(startingVersion=start, endingVersion=end)
        ours = self.table.changes(start, end).to_spark(self.spark)
        names = ours.columns[:-3]
        known = [name for name in names if name in theirs.columns]
        self.compare_feeds(f"versions {start} to {end}", ours, theirs, known)

    def check_times(self, latest: int) -> None:
        """Ranges between times near those of commits."""
        commits = sorted(entry.timestamp_ms for entry in self.table.history())
        near = [each + off for each in commits for off in (-1, 0, 1) if each + off <= commits[-1]]
        near = [each for each in near if each >= commits[0]]
        start, end = sorted(self.chance.sample(near, 2))
        first, last = (datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=each) for each in (start, end))
        texts = [each.strftime("%Y-%m-%d %H:%M:%S.%f") for each in (first, last)]
        theirs = self.theirs(startingTimestamp=texts[0], endingTimestamp=texts[1])
        ours = self.table.changes(first, last).to_spark(self.spark)
        names = [name for name in ours.columns[:-3] if name in theirs.columns]
        self.compare_feeds(f"times {texts} of {latest}", ours, theirs, names)

    def check_predicates(self, latest: int) -> None:
        """Predicates against filters on the whole feed, and the number of rows that the files are said to have."""
        whole = self.table.changes(0, latest).to_spark(self.spark).persist()
        # RESTORE may have taken a column away.
        names = [name for name in self.columns if name in whole.columns]
        for where in self.chance.sample(PREDICATES, 4):
            found = self.table.changes(0, latest, where=where)
            self.compare(where, rows(found.to_spark(self.spark), names), rows(whole.where(where), names))
        counts: Counter[tuple[int, str]] = Counter()
        files = self.table.changes(0, latest).files().to_pylist()
        for file in files:
            if file["change_type"] is not None and file["num_rows"] is not None:
                counts[file["version"], file["change_type"]] += file["num_rows"]
        exact = {file["version"] for file in files if file["num_rows"] is not None}
        exact -= {file["version"] for file in files if file["num_rows"] is None}
        listed = whole.groupBy("_commit_version", "_change_type").count().collect()
        stored = {(row[0], row[1]): row[2] for row in listed if row[0] in exact}
        if stored != {key: count for key, count in counts.items() if key[0] in exact and count}:
            raise Disagreement(f"counts: {stored} and {counts}")
        whole.unpersist()

    def check_net(self, start: int, end: int) -> None:
        """Net changes are the difference of two versions."""
        names = ["id", "p", "x"]
        frame = self.table.changes(start, end, net=True).to_spark(self.spark).select(*names, *FEED)
        sides = [
            Counter(tuple(row)[:3] for row in frame.collect() if row["_change_type"] in types)
            for types in (("delete", "update_preimage"), ("insert", "update_postimage"))
        ]
        before, after = self.by_version[start - 1], self.by_version[end]
        # The struct, which the model lacks, may have changed alone: such rows are on both sides.
        alone = sides[0] & sides[1]
        if [side - alone for side in sides] != [before - after, after - before]:
            raise Disagreement(f"net changes of {start} to {end}: {sides}, not {[before - after, after - before]}")

    def check_changes(self, start: int, end: int) -> None:
        """Changes by row ids against CHANGES of Spark 4.2, where delta-spark answers it.

        delta-spark 4.4.0 reads partition values from files, which need not have them, and does not find the columns of
        row ids under column mapping.
        """
        if self.mapped:
            return
        self.spark.conf.set("spark.databricks.delta.changelogV2.enabled", "true")
        clause = f"CHANGES FROM VERSION {start} TO VERSION {end} WITH (computeUpdates = true)"
        ours = self.table.changes(start, end, source="rows").to_spark(self.spark)
        theirs = self.spark.sql(f"SELECT * FROM delta.`{self.folder}` {clause}")
        partitions = self.table.snapshot.partition_columns
        names = [name for name in ours.columns[:-3] if name in theirs.columns and name not in partitions]
        self.compare_feeds(clause, ours, theirs, names)

    def check_model(self, latest: int, source: Literal["auto", "rows"] = "auto") -> None:
        """Each version's rows are those of the version before it and its changes."""
        names = ["id", "p", "x"]
        changes: dict[int, Counter[Row]] = {}
        frame = self.table.changes(0, latest, source=source).to_spark(self.spark)
        for row in frame.select(*names, *FEED).collect():
            sign = 1 if row["_change_type"] in ("insert", "update_postimage") else -1
            found = changes.setdefault(row["_commit_version"], Counter())
            found[tuple(row)[:3]] += sign
        for version in range(1, latest + 1):
            wanted = Counter(self.by_version[version])
            wanted.subtract(self.by_version[version - 1])
            got = changes.get(version, Counter())
            if any(wanted[key] != got[key] for key in {*wanted, *got}):
                raise Disagreement(f"version {version}: {[k for k in {*wanted, *got} if wanted[k] != got[k]][:3]}")

    def check_row_ids(self) -> None:
        """The column `_metadata` against delta-spark's hidden one."""
        frame = self.table.scan().to_spark(self.spark, metadata=True)
        tracked = "row_id" in frame.schema["_metadata"].dataType.fieldNames()
        if tracked != (self.table.properties.get("delta.enableRowTracking") == "true"):
            raise Disagreement("row ids")
        # delta-spark does not have the position.
        names = ["file_path", *(["row_id", "row_commit_version"] if tracked else [])]
        theirs = self.spark.read.format("delta").load(str(self.folder))
        wanted = [f"_metadata.{name}" for name in names]
        mine = sorted(map(str, frame.select("id", "x", *wanted).collect()))
        if mine != sorted(map(str, theirs.select("id", "x", *wanted).collect())):
            raise Disagreement("_metadata")

    def theirs(self, **options: object) -> Any:
        """The feed that delta-spark reads."""
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.load(str(self.folder))

    def compare_feeds(self, what: str, ours: Any, theirs: Any, names: Sequence[str]) -> None:
        """Compare both feeds, unless delta-spark reads no range in which RESTORE has taken a column away."""
        try:
            wanted = rows(theirs, names)
        except UnsupportedOperationException as error:
            if "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_" not in str(error):
                raise
            return
        self.compare(what, rows(ours, names), wanted)

    def compare(self, what: str, ours: list[str], theirs: list[str]) -> None:
        """Raise Disagreement with some of the rows that differ."""
        if ours != theirs:
            left, right = Counter(ours), Counter(theirs)
            only = [list((a - b).elements())[:4] for a, b in ((left, right), (right, left))]
            raise Disagreement(f"{what}: {len(ours)} and {len(theirs)} rows; only here {only[0]}, only there {only[1]}")


def rows(frame: Any, names: Sequence[str]) -> list[str]:
    """The rows of a feed as text, in order."""
    return sorted(map(str, frame.select(*names, *FEED).collect()))


def renamed_and_dropped(spark: Any, folder: Path) -> None:
    """Renamed and dropped columns, which delta-spark refuses, against the rows that are expected."""
    on = {"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name"}
    table = ds.DeltaTable.create(folder, "id BIGINT, a INT, b INT", properties=on)
    table.append(pa.table({"id": [1], "a": pa.array([10], pa.int32()), "b": pa.array([20], pa.int32())}))
    spark.sql(f"ALTER TABLE delta.`{folder}` RENAME COLUMN a TO c").collect()
    spark.sql(f"ALTER TABLE delta.`{folder}` DROP COLUMN b").collect()
    spark.sql(f"UPDATE delta.`{folder}` SET c = 11").collect()
    found = table.refresh().changes(0).to_spark(spark).select("id", "c", "_change_type", "_commit_version").collect()
    wanted = {(1, 10, "insert", 1), (1, 10, "update_preimage", 4), (1, 11, "update_postimage", 4)}
    if {tuple(row) for row in found} != wanted:
        raise Disagreement(f"renamed: {found}")
    spark.sql(f"ALTER TABLE delta.`{folder}` ADD COLUMN b INT").collect()
    try:
        table.refresh().changes(0)
    except SchemaError:
        return
    raise Disagreement("a column that was dropped and created again is read")


def brought_back(spark: Any, folder: Path, mode: str) -> None:
    """A column that RESTORE takes away and brings back: delta-spark reads it, too, if it does not check schemas."""
    on = {"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": mode}
    table = ds.DeltaTable.create(folder, "id BIGINT", properties=on)
    table.append(pa.table({"id": [1]}))
    table.alter_sql("ADD COLUMN x INT")
    table.append(pa.table({"id": [2], "x": pa.array([20], pa.int32())}))
    table.update({"x": "5"}, "id = 1")
    for version in (1, 4):
        table.restore(version=version)
        table.update({"id": "id + 10"}, "id = 1")
    unchecked = "spark.databricks.delta.changeDataFeed.unsafeBatchReadOnIncompatibleSchemaChanges.enabled"
    spark.conf.set(unchecked, "true")
    names = ["id", "x"]
    for start in range(9):
        theirs = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", start)
        each = table.changes(start).to_spark(spark), theirs.load(str(folder))
        found, wanted = (rows(frame, names) for frame in each)
        if found != wanted:
            raise Disagreement(f"changes from version {start}, {mode}: {found}, not {wanted}")
    spark.conf.unset(unchecked)


SEEDS = [str(seed) for seed in range(20)]
CASES = ["renamed", *SEEDS]


def play(spark: Any, folder: Path, name: str) -> None:
    """Play a seed, or the case with other names."""
    if name == "renamed":
        renamed_and_dropped(spark, folder / "t")
        for mode in ("none", "name"):
            brought_back(spark, folder / f"back-{mode}", mode)
        return
    history = History(spark, folder / "t", int(name))
    try:
        history.play()
    except Exception as error:
        error.add_note("\n".join(history.played))
        raise
