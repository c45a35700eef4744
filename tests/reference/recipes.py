"""Tables as delta-spark writes them: one function a table, each reaching a part of the protocol."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.sparkexpr import types as t
from tests.extent import extent
from tests.reference.rows import random_rows

PRIMITIVES: dict[str, t.DataType] = {
    "b": t.BYTE, "sh": t.SHORT, "i": t.INTEGER, "l": t.LONG, "f": t.FLOAT, "d": t.DOUBLE,
    "dec5": t.DecimalType(5, 2),
    "dec18": t.DecimalType(18, 2),
    "dec38": t.DecimalType(38, 8),
    "bo": t.BOOLEAN, "s": t.STRING, "bin": t.BINARY, "da": t.DATE, "ts": t.TIMESTAMP, "ntz": t.TIMESTAMP_NTZ,
}  # fmt: skip
FEW: dict[str, t.DataType] = {name: PRIMITIVES[name] for name in ("i", "l", "d", "s", "da", "ts")}
NESTED = t.StructType(
    (
        t.StructField("x", t.INTEGER),
        t.StructField("with.dot", t.STRING),
        t.StructField(
            "deep", t.StructType((t.StructField("y", t.TIMESTAMP), t.StructField("z", t.DecimalType(12, 3))))
        ),
    )
)
SPECIAL_TEXTS = [
    *["", " ", "a b", "a/b", "a%b", "a%20b", "a=b", "a:b", "a#b?c", "a+b", "é", "é", "中", "😀", "'", '"', "\\", "{a}"],
    *["[a]", "*", "__HIVE_DEFAULT_PARTITION__", "null", "A", "a", "a\tb", "ab\n", "\x7f", "x" * 60],
]
SECOND, DAY = 1_000_000, 86_400_000_000


@dataclass
class Writer:
    """A session of its own, a table's folder, and seeded randomness.

    read_in: the time zone in which the finished table is to be read.
    """

    spark: Any
    folder: Path
    scratch: Path
    rng: random.Random
    read_in: str = "UTC"
    rows_written: int = field(default=0)

    def sql(self, text: str) -> list[Any]:
        """Runs a statement; `{t}` in it is the table."""
        return self.spark.sql(text.replace("{t}", f"delta.`{self.folder}`")).collect()

    def properties(self, **properties: str) -> None:
        """Properties, without their `delta.`, of the table that is created next."""
        for name, value in properties.items():
            self.spark.conf.set(f"spark.databricks.delta.properties.defaults.{name}", value)

    def append(
        self,
        types: Mapping[str, t.DataType],
        files: int,
        per_file: int = 8,
        partition_by: Sequence[str] = (),
        choices: Mapping[str, Sequence[Any]] | None = None,
        mode: str = "append",
        **options: str,
    ) -> None:
        """One commit of random rows, about `files` files."""
        rows = random_rows(self.rng, types, files, per_file, self.rows_written, choices)
        self.rows_written += len(rows)
        writer = self.frame(rows).write.format("delta").mode(mode).option("maxRecordsPerFile", per_file)
        writer.options(**options).partitionBy(*partition_by).save(str(self.folder))

    def frame(self, rows: pa.Table) -> Any:
        """The rows in their order, in one partition."""
        source = self.scratch / f"{self.rng.getrandbits(64):x}.parquet"
        pq.write_table(rows, source)
        return self.spark.read.parquet(str(source))

    def log(self) -> Any:
        """The JVM's DeltaLog of the table."""
        jvm = self.spark.sparkContext._jvm
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.folder))


def every_type(w: Writer) -> None:
    """All types with nulls, NaN, zeros of both signs, extremes, long strings, the year 1500."""
    w.properties(dataSkippingNumIndexedCols="-1")
    nested = {"n": NESTED, "arr": t.ArrayType(t.LONG, True), "m": t.MapType(t.STRING, t.DOUBLE, True)}
    nested["structs"] = t.ArrayType(NESTED, True)
    for _ in range(2):
        w.append({**PRIMITIVES, **nested}, 6)


def other_layouts(w: Writer) -> None:
    """The same types in pages of version 2 and in Spark's legacy layout, timestamps in each of their forms."""
    w.properties(dataSkippingNumIndexedCols="-1")
    types = {**PRIMITIVES, "n": NESTED, "arr": t.ArrayType(t.STRING, True), "m": t.MapType(t.STRING, t.STRING, True)}
    layouts = [("v2", "true", "TIMESTAMP_MICROS"), ("v1", "true", "TIMESTAMP_MILLIS"), ("v2", "false", "INT96")]
    for pages, legacy, timestamps in layouts:
        w.spark.conf.set("parquet.writer.version", pages)
        w.spark.conf.set("parquet.dictionary.page.size", "64")
        w.spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
        w.spark.conf.set("spark.sql.parquet.outputTimestampType", timestamps)
        w.append(types, 3)


def partitioned_by_every_type(w: Writer) -> None:
    """A partition column of each type, with null values."""
    types = {f"p_{name}": kind for name, kind in PRIMITIVES.items() if name != "bin"}
    choices = _partition_choices(w, types)
    w.append({**types, "l": t.LONG, "s": t.STRING}, 14, per_file=3, partition_by=list(types), choices=choices)


def partitioned_by_text(w: Writer) -> None:
    """Partition values that paths escape, the empty string, binary values."""
    choices = {"p": SPECIAL_TEXTS, "q": [b"a", b"", "é".encode(), b"%2F/"]}
    types = {"p": t.STRING, "q": t.BINARY, "i": t.INTEGER, "s": t.STRING}
    w.append(types, 24, per_file=4, partition_by=["p", "q"], choices=choices)


def partitioned_with_nulls(w: Writer) -> None:
    """Few partitions of several files; OPTIMIZE of one, overwriting another."""
    choices = {"p": [1, 2, 3], "day": [18_000, 18_001]}
    types = {"p": t.INTEGER, "day": t.DATE, **FEW}
    w.append(types, 8, partition_by=["day", "p"], choices=choices)
    w.append(types, 4, choices=choices)
    w.sql("OPTIMIZE {t} WHERE p = 2")
    replaced = random_rows(w.rng, types, 2, 8, 500, {"p": [3], "day": [18_000]})
    w.frame(replaced).where("p = 3 AND day = '2019-04-14'").write.format("delta").mode("overwrite").option(
        "replaceWhere", "p = 3 AND day = '2019-04-14'"
    ).save(str(w.folder))
    w.sql("DELETE FROM {t} WHERE p IS NULL")


def mapped_by_name(w: Writer) -> None:
    """Column mapping by name: renamed, dropped, added and nested columns, a partition column, deletion vectors."""
    _mapped(w, "name")


def mapped_by_id(w: Writer) -> None:
    """Column mapping by id: the same."""
    _mapped(w, "id")


def mapped_later(w: Writer) -> None:
    """Files written before column mapping was turned on, without ids; names that only mapping allows."""
    w.append({**FEW, "n": NESTED}, 4)
    w.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    w.sql("ALTER TABLE {t} RENAME COLUMN i TO `a b,;{}()=`")
    w.sql("ALTER TABLE {t} RENAME COLUMN n.x TO `x.y`")
    w.sql("ALTER TABLE {t} DROP COLUMN d")
    w.sql("ALTER TABLE {t} ADD COLUMNS (i BIGINT, d STRING)")
    w.sql("INSERT INTO {t} (id, `a b,;{}()=`, l, s, i, d) SELECT id + 1000, l % 1000, l, upper(s), id, s FROM {t}")


def deletion_vectors(w: Writer) -> None:
    """DELETE, UPDATE and MERGE with deletion vectors and a change data feed."""
    w.properties(enableDeletionVectors="true", enableChangeDataFeed="true")
    w.append({**FEW, "dec18": t.DecimalType(18, 2)}, 10)
    w.sql("DELETE FROM {t} WHERE id % 5 = 1")
    w.sql("UPDATE {t} SET l = id, s = concat(s, 'x') WHERE id % 11 = 2")
    w.sql(
        "MERGE INTO {t} t USING (SELECT explode(sequence(60, 90, 3)) AS k) s ON t.id = s.k "
        "WHEN MATCHED AND k % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET d = k "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (k)"
    )
    w.sql("DELETE FROM {t} WHERE id BETWEEN 16 AND 23")


def deletion_vectors_in_partitions(w: Writer) -> None:
    """Deletion vectors in a partitioned table, with a checkpoint between them."""
    w.properties(enableDeletionVectors="true", checkpointInterval="2")
    w.append({"p": t.STRING, **FEW}, 10, partition_by=["p"], choices={"p": ["a b", "é%", "", "x"]})
    w.sql("DELETE FROM {t} WHERE id % 4 = 1")
    w.sql("DELETE FROM {t} WHERE id % 6 = 2")
    w.sql("UPDATE {t} SET i = 7 WHERE id % 9 = 0")


def widened(w: Writer) -> None:
    """Every widening of types, with files of the narrow and of the wide type, also in structs and partitions."""
    w.properties(enableTypeWidening="true", **{"feature.timestampNtz": "supported"})
    narrow = {
        "b": t.BYTE, "sh": t.SHORT, "i": t.INTEGER, "fl": t.FLOAT,
        "dec": t.DecimalType(8, 2),
        "i2d": t.INTEGER, "da": t.DATE,
    }  # fmt: skip
    narrow |= {"i2dec": t.INTEGER, "n": t.StructType((t.StructField("x", t.SHORT),)), "p": t.BYTE}
    w.append(narrow, 6, partition_by=["p"], choices={"p": [-128, 1, 127]})
    changes = ["b INT", "sh BIGINT", "i BIGINT", "fl DOUBLE", "dec DECIMAL(20,5)", "i2d DOUBLE", "da TIMESTAMP_NTZ"]
    for change in [*changes, "i2dec DECIMAL(12,1)", "n.x INT", "p INT"]:
        column, kind = change.split()
        w.sql(f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {kind}")
    wide = {"b": t.INTEGER, "sh": t.LONG, "i": t.LONG, "fl": t.DOUBLE, "dec": t.DecimalType(20, 5), "i2d": t.DOUBLE}
    wide |= {"da": t.TIMESTAMP_NTZ, "i2dec": t.DecimalType(12, 1), "p": t.INTEGER}
    wide["n"] = t.StructType((t.StructField("x", t.INTEGER),))
    w.append(wide, 6, choices={"p": [-128, 1, 70_000]})
    w.sql("ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT")


def classic_checkpoint(w: Writer) -> None:
    """A classic checkpoint with statistics as text only."""
    w.properties(**{"checkpoint.writeStatsAsStruct": "false"})
    _checkpointed(w)


def struct_checkpoint(w: Writer) -> None:
    """A classic checkpoint with statistics as struct only."""
    w.properties(**{"checkpoint.writeStatsAsJson": "false", "checkpoint.writeStatsAsStruct": "true"})
    _checkpointed(w)


def checkpoint_in_parts(w: Writer) -> None:
    """A checkpoint of several parts with both forms of statistics."""
    w.spark.conf.set("spark.databricks.delta.checkpoint.partSize", "5")
    w.properties(**{"checkpoint.writeStatsAsStruct": "true"})
    _checkpointed(w)


def v2_checkpoint_of_json(w: Writer) -> None:
    """A V2 checkpoint with a JSON top level and several sidecars."""
    w.spark.conf.set("spark.databricks.delta.checkpoint.partSize", "5")
    w.spark.conf.set("spark.databricks.delta.checkpointV2.topLevelFileFormat", "json")
    w.properties(checkpointPolicy="v2")
    _checkpointed(w)


def v2_checkpoint_of_parquet(w: Writer) -> None:
    """A V2 checkpoint with a Parquet top level, statistics as struct only."""
    w.spark.conf.set("spark.databricks.delta.checkpointV2.topLevelFileFormat", "parquet")
    w.properties(checkpointPolicy="v2", **{"checkpoint.writeStatsAsJson": "false"})
    _checkpointed(w)


def mapped_struct_checkpoint(w: Writer) -> None:
    """Column mapping and widening under a checkpoint with statistics as struct only."""
    properties = {"columnMapping.mode": "name", "checkpoint.writeStatsAsJson": "false"}
    w.properties(enableTypeWidening="true", enableDeletionVectors="true", checkpointInterval="3", **properties)
    w.append({**FEW, "sh": t.SHORT, "n": NESTED}, 6)
    w.sql("ALTER TABLE {t} RENAME COLUMN i TO Renamed")
    w.sql("ALTER TABLE {t} ALTER COLUMN sh TYPE INT")
    w.sql("DELETE FROM {t} WHERE id % 7 = 3")


def generated_columns(w: Writer) -> None:
    """Partition columns generated from a timestamp, a date and a string."""
    w.sql(
        "CREATE TABLE {t} (id BIGINT, ts TIMESTAMP, da DATE, s STRING, y INT GENERATED ALWAYS AS (year(ts)), "
        "m INT GENERATED ALWAYS AS (month(ts)), d DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
        "ym STRING GENERATED ALWAYS AS (date_format(da, 'yyyy-MM')), "
        "head STRING GENERATED ALWAYS AS (substring(s, 0, 1))) "
        "USING delta PARTITIONED BY (y, m, d, ym, head)"
    )
    instants = [w.rng.randint(1_600_000_000, 1_700_000_000) * SECOND + w.rng.choice([0, 1, 999_999]) for _ in range(6)]
    midnight = 19_000 * DAY
    choices = {"ts": [*instants, midnight, midnight - 1], "da": [19_000, 19_030, 18_999]}
    choices["s"] = ["abc", "", "é1", "b", "Abd"]
    w.append({"ts": t.TIMESTAMP, "da": t.DATE, "s": t.STRING}, 12, choices=choices)


def generated_hours(w: Writer) -> None:
    """Partition columns of hours and truncated timestamps, and a generated column that is no partition."""
    w.sql(
        "CREATE TABLE {t} (id BIGINT, ts TIMESTAMP, i INT, "
        "h STRING GENERATED ALWAYS AS (date_format(ts, 'yyyy-MM-dd-HH')), "
        "tr TIMESTAMP GENERATED ALWAYS AS (date_trunc('MONTH', ts)), "
        "twice BIGINT GENERATED ALWAYS AS (CAST(i AS BIGINT) * 2)) "
        "USING delta PARTITIONED BY (h, tr)"
    )
    start = 19_000 * DAY
    choices = {"ts": [start + w.rng.randint(-40, 40) * 3_600 * SECOND + w.rng.choice([0, -1, 5]) for _ in range(9)]}
    w.append({"ts": t.TIMESTAMP, "i": t.INTEGER}, 12, choices=choices)


def compacted_log(w: Writer) -> None:
    """Commits that are also there as one compacted file."""
    w.properties(enableDeletionVectors="true")
    for _ in range(3):
        w.append(FEW, 3)
    w.sql("DELETE FROM {t} WHERE id % 3 = 0")
    jvm = w.spark.sparkContext._jvm
    kernel = jvm.io.delta.kernel
    path = kernel.internal.fs.Path
    engine = kernel.defaults.engine.DefaultEngine.create(jvm.org.apache.hadoop.conf.Configuration())
    table, log = path(w.folder.as_uri()), path((w.folder / "_delta_log").as_uri())
    kernel.internal.hook.LogCompactionHook(table, log, 1, 3, 0).threadSafeInvoke(engine)
    if not list((w.folder / "_delta_log").glob("*.compacted.json")):
        raise AssertionError("no compacted file was written")
    w.append(FEW, 2)


def shallow_clone(w: Writer) -> None:
    """A clone with absolute paths and deletion vectors of its source, and rows of its own."""
    source = Writer(w.spark, w.folder.parent / f"{w.folder.name} source", w.scratch, w.rng)
    source.properties(enableDeletionVectors="true")
    source.append({"p": t.STRING, **FEW}, 6, partition_by=["p"], choices={"p": ["a b", "x%", "é"]})
    source.sql("DELETE FROM {t} WHERE id % 4 = 1")
    w.sql(f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{source.folder}`")
    w.rows_written = 1000
    w.append({"p": t.STRING, **FEW}, 3, choices={"p": ["a b", "y"]})
    w.sql("DELETE FROM {t} WHERE id % 10 = 2")


def restored(w: Writer) -> None:
    """RESTORE to an older version, after an overwrite with another schema."""
    w.properties(enableDeletionVectors="true")
    w.append(FEW, 5)
    w.sql("DELETE FROM {t} WHERE id % 4 = 1")
    w.append({"i": t.STRING, "new": t.DOUBLE}, 3, mode="overwrite", overwriteSchema="true")
    w.sql("RESTORE TABLE {t} TO VERSION AS OF 1")
    w.append(FEW, 2)


def optimized(w: Writer) -> None:
    """OPTIMIZE of a table clustered by columns, with deletion vectors purged."""
    columns = "id BIGINT, i INT, l BIGINT, d DOUBLE, s STRING, da DATE, ts TIMESTAMP"
    w.sql(f"CREATE TABLE {{t}} ({columns}) USING delta CLUSTER BY (i, s)")
    w.append(FEW, 6)
    w.sql("DELETE FROM {t} WHERE id < 5")
    w.spark.conf.set("spark.databricks.delta.optimize.maxFileSize", "4000")
    w.sql("OPTIMIZE {t}")
    w.append(FEW, 3)
    w.sql("REORG TABLE {t} APPLY (PURGE)")


def tracked_rows(w: Writer) -> None:
    """In-commit timestamps and row tracking."""
    w.properties(enableInCommitTimestamps="true", enableRowTracking="true", enableDeletionVectors="true")
    w.append(FEW, 4)
    w.sql("UPDATE {t} SET i = 5 WHERE id % 8 = 1")
    w.append(FEW, 2)


def declared_lengths(w: Writer) -> None:
    """char and varchar, in data and as a partition."""
    w.sql("CREATE TABLE {t} (id BIGINT, c CHAR(5), v VARCHAR(6), p CHAR(3), i INT) USING delta PARTITIONED BY (p)")
    texts = ["a", "ab", "ab ", "", "é", "😀", "zzz", "AB"]
    types = {"c": t.STRING, "v": t.STRING, "p": t.STRING, "i": t.INTEGER}
    w.append(types, 10, choices={"c": texts, "v": texts, "p": ["a", "b ", "abc"]})


def variants(w: Writer) -> None:
    """Variants beside columns that prune."""
    w.sql("CREATE TABLE {t} (id BIGINT, v VARIANT, i INT, n STRUCT<w: VARIANT, x: INT>) USING delta")
    for first in (0, 20, 40):
        w.sql(
            "INSERT INTO {t} SELECT id, CASE id % 3 WHEN 0 THEN NULL "
            "WHEN 1 THEN parse_json(concat('{\"k\":', id, ',\"t\":\"x\"}')) ELSE parse_json('[1,null,2.5]') END, "
            "CAST(id % 7 AS INT), named_struct('w', parse_json(CAST(id AS STRING)), 'x', CAST(id AS INT)) "
            f"FROM range({first}, {first + 20}, 1, 2)"
        )


def odd_folder(w: Writer) -> None:
    """A table in a folder whose name has blanks, percent signs and brackets."""
    w.properties(enableDeletionVectors="true")
    w.append({"p": t.STRING, **FEW}, 6, partition_by=["p"], choices={"p": ["a b", "%41", "é"]})
    w.sql("DELETE FROM {t} WHERE id % 4 = 1")


def zoned_in_utc(w: Writer) -> None:
    """Timestamps as partitions, written in America/Los_Angeles with their zone in the log."""
    _zoned(w, "America/Los_Angeles", "true")
    w.read_in = "Europe/Berlin"


def zoned_without_zone(w: Writer) -> None:
    """Timestamps as partitions, written and read in Asia/Kolkata, the log without a zone."""
    _zoned(w, "Asia/Kolkata", "false")
    w.read_in = "Asia/Kolkata"


def collated(w: Writer) -> None:
    """Columns with collations, which binary statistics must not prune."""
    w.spark.conf.set("spark.databricks.delta.schema.typeCheck.enabled", "false")
    w.sql(
        "CREATE TABLE {t} (id BIGINT, ci STRING COLLATE UNICODE_CI, lc STRING COLLATE UTF8_LCASE, s STRING, "
        "n STRUCT<de: STRING COLLATE de>) USING delta"
    )
    texts = ["a", "A", "b", "B", "é", "É", "ab", "AB", "ß", "ss", "", None]
    rows = [(i, *(w.rng.choice(texts[i // 8 % 6 :][:3]) for _ in range(4))) for i in range(64)]
    frame = w.spark.createDataFrame(rows, "id bigint, ci string, lc string, s string, de string")
    frame = frame.selectExpr("id", "ci", "lc", "s", "named_struct('de', de) AS n").coalesce(1)
    frame.createOrReplaceTempView("source")
    w.spark.conf.set("spark.sql.files.maxRecordsPerFile", "8")
    w.sql("INSERT INTO {t} SELECT * FROM source")


def few_statistics(w: Writer) -> None:
    """Statistics of chosen columns only, later of others, and files without any."""
    w.properties(dataSkippingStatsColumns="i,n.x")
    types = {**FEW, "n": NESTED}
    w.append(types, 3)
    w.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 's,ts,n.deep')")
    w.append(types, 3)
    w.spark.conf.set("spark.databricks.delta.stats.collect", "false")
    w.append(types, 3)


def empty(w: Writer) -> None:
    """A table that lost all its rows."""
    w.append({"i": t.INTEGER, "p": t.STRING}, 2, partition_by=["p"], choices={"p": ["a", "b"]})
    w.sql("DELETE FROM {t}")


def _mapped(w: Writer, mode: str) -> None:
    w.properties(enableDeletionVectors="true", **{"columnMapping.mode": mode})
    types = {"p": t.STRING, **FEW, "n": NESTED, "arr": t.ArrayType(NESTED, True)}
    w.append(types, 6, partition_by=["p"], choices={"p": ["a b", "é%=", "", "x"]})
    w.sql("ALTER TABLE {t} RENAME COLUMN i TO l2")
    w.sql("ALTER TABLE {t} RENAME COLUMN p TO `part.of`")
    w.sql("ALTER TABLE {t} RENAME COLUMN n.x TO y")
    w.sql("ALTER TABLE {t} DROP COLUMN d")
    w.sql("ALTER TABLE {t} ADD COLUMNS (d BIGINT, i STRING, n.x STRING)")
    w.sql("DELETE FROM {t} WHERE id % 5 = 1")
    values = "id + 1000, concat('q', `part.of`), l2, l, s, da, ts, n, arr, id, s"
    w.sql(f"INSERT INTO {{t}} (id, `part.of`, l2, l, s, da, ts, n, arr, d, i) SELECT {values} FROM {{t}} WHERE id < 24")


def _checkpointed(w: Writer) -> None:
    """A checkpoint at version 2, and after it new files, removed ones, and one that came back."""
    w.properties(checkpointInterval="2", enableDeletionVectors="true")
    columns = ("b", "l", "d", "dec38", "s", "da", "ts", "ntz", "bo")
    types = {"p": t.DATE, **{name: PRIMITIVES[name] for name in columns}, "n": NESTED}
    choices = {"p": [-200_000, 0, 19_000]}
    w.append(types, 6, partition_by=["p"], choices=choices)
    w.append(types, 4, choices=choices)
    w.sql("DELETE FROM {t} WHERE id % 8 = 1")
    w.sql("DELETE FROM {t} WHERE id BETWEEN 8 AND 25")


def _zoned(w: Writer, zone: str, in_utc: str) -> None:
    w.spark.conf.set("spark.sql.session.timeZone", zone)
    w.spark.conf.set("spark.databricks.delta.write.utcTimestampPartitionValues", in_utc)
    changes = [1_710_064_800, 1_710_068_400, 1_699_174_800, 1_699_178_400, 1_699_182_000]
    instants = [second * SECOND + w.rng.choice([0, 250_000]) for second in changes] + [0, -DAY, 19_000 * DAY]
    types = {"p": t.TIMESTAMP, "ts": t.TIMESTAMP, "ntz": t.TIMESTAMP_NTZ, "da": t.DATE, "i": t.INTEGER}
    w.append(types, 12, partition_by=["p"], choices={"p": instants, "ts": instants})


def _partition_choices(w: Writer, types: Mapping[str, t.DataType]) -> dict[str, list[Any]]:
    rows = random_rows(w.rng, types, 12, 3)
    values = {name: [v for v in rows[name].to_pylist() if v is not None][:4] for name in types}
    values["p_ts"] = rows["p_ts"].cast(pa.int64()).drop_null().to_pylist()[:4]
    values["p_ntz"] = rows["p_ntz"].cast(pa.int64()).drop_null().to_pylist()[:4]
    return {name: found or [None] for name, found in values.items()}


RECIPES: dict[str, Callable[[Writer], None]] = {
    recipe.__name__: recipe
    for recipe in (
        every_type, partitioned_by_every_type, other_layouts, partitioned_by_text, partitioned_with_nulls,
        mapped_by_name, mapped_by_id, mapped_later, deletion_vectors, deletion_vectors_in_partitions, widened,
        classic_checkpoint, struct_checkpoint, checkpoint_in_parts, v2_checkpoint_of_json, v2_checkpoint_of_parquet,
        mapped_struct_checkpoint, generated_columns, generated_hours, compacted_log, shallow_clone, restored, optimized,
        tracked_rows, declared_lengths, variants, odd_folder, zoned_in_utc, zoned_without_zone, collated,
        few_statistics, empty,
    )
}  # fmt: skip

# Every type, a table without partitions; mapping, vectors and widening; a new kind of checkpoint; zones; padded text.
_GATE = ("every_type", "mapped_struct_checkpoint", "v2_checkpoint_of_parquet")
CHOSEN: tuple[str, ...] = extent(_GATE, tuple(RECIPES))
"""The tables of this run."""
