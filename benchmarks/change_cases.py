"""The changes that `benchmarks.changes` measures: each is a function pair, run on a fresh copy of a table.

To add one: write a function that takes a `Turn` and makes the change with deltaskip, and one with delta-spark, and add
a `Case` to CASES. A table that none of TABLES is like gets a function of its own there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltaskip import DeltaTable

_COLUMNS = (
    "id",
    "cast(id % 1000 AS int) AS k",
    "concat('cust_', cast(hash(id) % 1000 AS string)) AS cust",
    "cast(hash(id) AS double) / 1000 AS x",
    "timestamp_micros(1700000000000000 + id * 1000) AS ts",
    "date_add(date'2020-01-01', cast(id % 365 AS int)) AS d",
    "cast(pmod(hash(id), 100000) / 100 AS decimal(18, 2)) AS price",
    "cast(xxhash64(id) AS string) AS h",
)


@dataclass(frozen=True, slots=True)
class Size:
    """Size of the table: rows, data files, and whether deletion vectors are enabled."""

    rows: int
    files: int
    vectors: bool = True

    @property
    def properties(self) -> dict[str, str]:
        """Options of the writer that creates the table."""
        return {"delta.enableDeletionVectors": str(self.vectors).lower()}


@dataclass(frozen=True, slots=True)
class Turn:
    """One run: the session, the copy of the table that is changed, and its size."""

    spark: Any
    path: Path
    size: Size

    @property
    def ours(self) -> DeltaTable:
        """The table, opened by deltaskip."""
        return DeltaTable(self.path)

    @property
    def table(self) -> str:
        """The table's name in SQL text of delta-spark."""
        return f"delta.`{self.path}`"

    def load(self) -> None:
        """Let delta-spark load the log and keep it."""
        log = self.spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog
        log.forTable(self.spark._jsparkSession, str(self.path)).unsafeVolatileSnapshot().numOfFiles()

    def sql(self, text: str) -> None:
        """Run a statement with delta-spark; {} stands for the table."""
        self.spark.sql(text.format(self.table)).collect()


@dataclass(frozen=True, slots=True)
class Case:
    """One change, made by both engines.

    Attributes:
        name: Its name in the report.
        table: Which of TABLES it changes.
        ours: Makes it with deltaskip.
        theirs: Makes it with delta-spark.
        prepare: Changes the copy before either, which is not timed.
        same_rows: Whether both must leave the same rows, which is checked on the small table.
    """

    name: str
    table: str
    ours: Callable[[Turn], object]
    theirs: Callable[[Turn], object]
    prepare: Callable[[Turn], object] | None = None
    same_rows: bool = True


def _rows(spark: Any, size: Size) -> Any:
    return spark.range(0, size.rows, 1, size.files).selectExpr(*_COLUMNS)


def _clustered(spark: Any, path: Path, size: Size) -> None:
    """Every file holds a range of `id`."""
    _rows(spark, size).write.format("delta").options(**size.properties).save(str(path))


def _partitioned(spark: Any, path: Path, size: Size) -> None:
    """Every file holds a range of `id`, and one of 20 partitions `p` holds a twentieth of the files."""
    per_part = -(-size.rows // 20)
    frame = _rows(spark, size).selectExpr("*", f"cast(id DIV {per_part} AS int) AS p")
    frame.write.format("delta").partitionBy("p").options(**size.properties).save(str(path))


def _with_feed(spark: Any, path: Path, size: Size) -> None:
    """Ten versions with changes after the first: appends, deletes, updates and merges."""
    options = {**size.properties, "delta.enableChangeDataFeed": "true"}
    _rows(spark, size).write.format("delta").options(**options).save(str(path))
    table = f"delta.`{path}`"
    for turn in range(2):
        low = size.rows + turn * size.rows // 50
        new = spark.range(low, low + size.rows // 100, 1, 2).selectExpr(*_COLUMNS)
        new.write.format("delta").mode("append").save(str(path))
        half_new = spark.range(low, low + size.rows // 100, 1, 2).selectExpr(f"id - {size.rows // 200} AS id")
        half_new.selectExpr(*_COLUMNS).createOrReplaceTempView("deltaskip_source")
        for statement in (
            f"DELETE FROM {table} WHERE k = {turn}",
            f"UPDATE {table} SET x = x + 1 WHERE k BETWEEN {10 + 20 * turn} AND {14 + 20 * turn}",
            f"MERGE INTO {table} t USING deltaskip_source s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            f"DELETE FROM {table} WHERE id >= {turn * size.rows // 40} AND id < {(turn + 1) * size.rows // 40}",
        ):
            spark.sql(statement).collect()


def _small_files(spark: Any, path: Path, size: Size) -> None:
    """A tenth of the rows, in twenty times as many files."""
    _clustered(spark, path, Size(max(100, size.rows // 10), size.files * 20, size.vectors))


TABLES: Mapping[str, Callable[[Any, Path, Size], None]] = {
    "clustered": _clustered,
    "partitioned": _partitioned,
    "small files": _small_files,
    "with feed": _with_feed,
}


def _delete(name: str, where: Callable[[Size], str], table: str = "clustered") -> Case:
    def ours(turn: Turn) -> object:
        return turn.ours.delete(where(turn.size), turn.spark)

    def theirs(turn: Turn) -> None:
        turn.sql(f"DELETE FROM {{}} WHERE {where(turn.size)}")

    return Case(name, table, ours, theirs)


def _update(name: str, given: Mapping[str, str], where: Callable[[Size], str | None], table: str = "clustered") -> Case:
    def ours(turn: Turn) -> object:
        return turn.ours.update(given, where(turn.size), turn.spark)

    def theirs(turn: Turn) -> None:
        condition = where(turn.size)
        assigned = ", ".join(f"{column} = {value}" for column, value in given.items())
        turn.sql(f"UPDATE {{}} SET {assigned}" + ("" if condition is None else f" WHERE {condition}"))

    return Case(name, table, ours, theirs)


def _merge(
    name: str,
    ids: Callable[[Size], str],
    key: str = "id",
    clauses: str = "upsert",
    more: str = "",
    rows: int | None = None,
) -> Case:
    """A merge of 2 % of the rows of the table, half of them new.

    Args:
        name: Its name in the report.
        ids: SQL text of the ids of rows 0, 1, … of the source.
        key: The column of the ON condition.
        clauses: "upsert", or "inserts" for inserts only.
        more: What the ON condition says beside.
        rows: Number of rows of the source, instead.
    """

    def source(turn: Turn) -> Any:
        made = turn.spark.range(0, turn.size.rows // 50 if rows is None else rows, 1, 2)
        return made.selectExpr(f"{ids(turn.size)} AS id").selectExpr(*_COLUMNS)

    def ours(turn: Turn) -> object:
        merge = turn.ours.merge(source(turn), f"t.{key} = s.{key}{more}", "s", "t")
        if clauses == "upsert":
            merge = merge.when_matched_update_all()
        return merge.when_not_matched_insert_all().execute()

    def theirs(turn: Turn) -> None:
        source(turn).createOrReplaceTempView("deltaskip_source")
        matched = " WHEN MATCHED THEN UPDATE SET *" if clauses == "upsert" else ""
        turn.sql(
            f"MERGE INTO {{}} t USING deltaskip_source s ON t.{key} = s.{key}{more}{matched}"
            " WHEN NOT MATCHED THEN INSERT *"
        )

    return Case(name, "clustered", ours, theirs)


def _scattered(size: Size) -> str:
    """Every second id is one of the table, from all files, and the others are new."""
    return f"IF(id % 2 = 0, id * 50, id + {size.rows})"


def _optimize(name: str, zorder_by: tuple[str, ...] = (), table: str = "clustered", deleted: str | None = None) -> Case:
    order = f" ZORDER BY ({', '.join(zorder_by)})" if zorder_by else ""

    def prepare(turn: Turn) -> object:
        return None if deleted is None else turn.ours.delete(deleted)

    def ours(turn: Turn) -> object:
        return turn.ours.optimize(zorder_by=zorder_by, spark=turn.spark)

    return Case(name, table, ours, lambda turn: turn.sql(f"OPTIMIZE {{}}{order}"), prepare)


def _feed(name: str, start: int) -> list[Case]:
    """Reading a feed whole, and counting its rows by type."""

    def ours(turn: Turn) -> Any:
        return turn.ours.changes(start, 10).to_spark(turn.spark)

    def theirs(turn: Turn) -> Any:
        reader = turn.spark.read.format("delta").option("readChangeFeed", "true")
        return reader.option("startingVersion", start).option("endingVersion", 10).load(str(turn.path))

    def read(frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def count(frame: Any) -> None:
        frame.groupBy("_commit_version", "_change_type").count().collect()

    return [
        Case(f"{name}: every row", "with feed", lambda turn: read(ours(turn)), lambda turn: read(theirs(turn))),
        Case(f"{name}: rows by type", "with feed", lambda turn: count(ours(turn)), lambda turn: count(theirs(turn))),
    ]


def _in_two_percent(size: Size) -> str:
    """A range of `id` within the middle of 2 % of the files, all of them touched and none of them whole."""
    files = max(1, size.files // 50)
    per_file = size.rows // size.files
    first = size.files // 2 * per_file
    return f"id >= {first + per_file // 4} AND id < {first + files * per_file - per_file // 4}"


def _orphans(turn: Turn) -> None:
    """Files of failed writes, 200 for each data file, in folders like those of partitions."""
    turn.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    # The default of 10,000 is for a cluster, and costs half a minute here.
    turn.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "8")
    for folder in range(turn.size.files):
        place = turn.path / f"p={folder}"
        place.mkdir(exist_ok=True)
        for number in range(200):
            (place / f"part-{number:05}-left.c000.snappy.parquet").write_bytes(b"left")


def _emptied(turn: Turn) -> None:
    turn.ours.delete()


_MAINTENANCE = [
    Case(
        "vacuum of 200 orphans a file",
        "clustered",
        lambda turn: turn.ours.vacuum(0, enforce_retention=False),
        lambda turn: turn.sql("VACUUM {} RETAIN 0 HOURS"),
        _orphans,
    ),
    Case(
        "vacuum of 200 orphans a file, dry run",
        "clustered",
        lambda turn: turn.ours.vacuum(0, dry_run=True, enforce_retention=False),
        lambda turn: turn.sql("VACUUM {} RETAIN 0 HOURS DRY RUN"),
        _orphans,
    ),
    Case(
        "restore of every file",
        "clustered",
        lambda turn: turn.ours.restore(0),
        lambda turn: turn.sql("RESTORE TABLE {} TO VERSION AS OF 0"),
        _emptied,
    ),
    Case(
        "shallow clone",
        "clustered",
        lambda turn: turn.ours.clone(turn.path.with_name("clone")),
        lambda turn: turn.sql(f"CREATE TABLE delta.`{turn.path.with_name('clone')}` SHALLOW CLONE {{}}"),
    ),
]

_BY_JOBS = "merge of 2 %, half of it new, on a scattered key and a function that only Spark has"

CASES = [
    _delete("delete of 0.1 % scattered rows", lambda _: "k = 7"),
    _delete("delete of 0.1 % scattered rows by a function", lambda _: "pmod(hash(id), 1000) = 7"),
    _delete("delete of a range held by 2 % of the files", _in_two_percent),
    _delete("delete by partition alone", lambda _: "p = 3", "partitioned"),
    _delete("delete of every row", lambda _: "true"),
    _update("update of 1 % scattered rows", {"price": "price * 2", "cust": "'x'"}, lambda _: "k < 10"),
    _update("update of a range held by 2 % of the files", {"price": "price * 2"}, _in_two_percent),
    _update("update of one partition", {"x": "x + 1"}, lambda _: "p = 3", "partitioned"),
    _update("update of every row", {"x": "x + 1"}, lambda _: None),
    _merge("merge of 2 %, half of it new, on a clustered key", lambda size: f"id + {size.rows - size.rows // 100}"),
    _merge("merge of 2 %, half of it new, on a scattered key", _scattered),
    _merge("merge of 2 %, half of it new, on a scattered text", _scattered, "h"),
    _merge("merge of 2 %, half of it new, of inserts only", _scattered, clauses="inserts"),
    _merge("merge of 100 rows on a scattered key", _scattered, rows=100),
    _merge(_BY_JOBS, _scattered, more=" AND hash(t.k) = hash(s.k)"),
    _optimize("compaction"),
    _optimize("compaction after a delete of 0.1 % scattered rows", deleted="k = 7"),
    _optimize("compaction of 2,000 small files", table="small files"),
    _optimize("Z-order by two columns", ("k", "x")),
    _optimize("Z-order by four columns", ("k", "cust", "ts", "price")),
    *_feed("change feed of ten versions", 1),
    *_feed("change feed of the last version", 10),
    *_MAINTENANCE,
]
