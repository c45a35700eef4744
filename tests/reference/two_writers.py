"""Random operations of deltaskip and delta-spark on one table, against a plain model of its rows.

    python -m tests.reference.playing two_writers ANSWERS.json [SEED ...]

ANSWERS.json has by seed the error that it ended with and the operations before it; null if the readers agree.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.sparkexpr.types.data_types import DATE, INTEGER, LONG, SHORT, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from deltaskip.sparkexpr.types.ddl import type_text
from tests.extent import extent
from tests.reference.feature_pairs import ZONES, Disagreement, compare
from tests.reference.rows import plain_rows
from tests.rows.random_values import nullable, random_type
from tests.rows.tables import nested_array

STEPS = extent(7, 14)
PARTITIONS = (STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, INTEGER)
PROPERTIES = (
    ("delta.columnMapping.mode", "name"),
    ("delta.columnMapping.mode", "id"),
    ("delta.enableDeletionVectors", "true"),
    ("delta.enableRowTracking", "true"),
    ("delta.enableInCommitTimestamps", "true"),
    ("delta.enableChangeDataFeed", "true"),
    ("delta.enableTypeWidening", "true"),
    ("delta.checkpointPolicy", "v2"),
    ("delta.checkpointInterval", "3"),
    ("delta.checkpoint.writeStatsAsStruct", "true"),
    ("delta.checkpoint.writeStatsAsJson", "false"),
    ("delta.dataSkippingNumIndexedCols", "2"),
    ("delta.randomizeFilePrefixes", "true"),
)


class Game:
    """A table, its model, and two writers."""

    def __init__(self, spark: Any, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.spark = spark.newSession()
        jvm = spark.sparkContext._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self.spark._jsparkSession)
        self.folder = folder
        self.played: list[str] = []
        self.rows: dict[int, dict[str, Any]] = {}
        self.next_id = 0
        self.properties = dict(self.chance.sample(PROPERTIES, self.chance.randint(0, 5)))
        kinds = [random_type(self.chance) for _ in range(self.chance.randint(1, 5))]
        self.columns: dict[str, DataType] = {f"c{i}": kind for i, kind in enumerate(kinds)}
        self.partitions = ["p"] if self.chance.random() < 0.5 else []
        if self.partitions:
            self.columns["p"] = self.chance.choice(PARTITIONS)
        self.turn_clock()
        ddl = ", ".join(["id BIGINT", *(f"{name} {type_text(kind)}" for name, kind in self.columns.items())])
        clusters = ["id"] if not self.partitions and self.chance.random() < 0.3 else []
        self.note("create", ddl=ddl, properties=self.properties, partitions=self.partitions, clusters=clusters)
        self.table = ds.DeltaTable.create(folder, ddl, self.partitions, clusters, properties=self.properties)

    def note(self, operation: str, **details: object) -> None:
        """Remember an operation for the message."""
        self.played.append(f"{operation} {details or ''}")

    def play(self) -> None:
        """Random operations; the readers are compared now and then, and at the end."""
        moves: list[Callable[[], None]] = [
            self.append_arrow, self.append_arrow, self.append_frame, self.append_frame, self.append_by_spark,
            self.merge_column, self.update, self.delete, self.optimize, self.add_column, self.checkpoint,
            self.turn_clock, self.widen, self.rename, self.drop, self.enable_deletion_vectors, self.delete_by_us,
            self.delete_by_us, self.overwrite_where, self.overwrite_where, self.overwrite_partitions, self.overwrite,
        ]  # fmt: skip
        self.append_arrow()
        for step in range(STEPS):
            self.chance.choice(moves)()
            if step % 5 == 4:
                self.check()
        self.append_frame()
        self.append_arrow()
        self.check()

    def turn_clock(self) -> None:
        """Another time zone."""
        self.zone = self.chance.choice(ZONES)
        self.note("zone", zone=self.zone)
        self.spark.conf.set("spark.sql.session.timeZone", self.zone)

    def new_rows(self, columns: dict[str, DataType], ids: Sequence[int] | None = None) -> pa.Table:
        """A few rows with values of some columns, which the model gets."""
        found = []
        if ids is None:
            ids = range(self.next_id, self.next_id + self.chance.choice([0, 1, 3, 12]))
            self.next_id = ids.stop
        for i in ids:
            row = {"id": i, **{name: nullable(self.chance, kind) for name, kind in columns.items()}}
            found.append(row)
            stored = {**dict.fromkeys(self.columns), **row}
            self.rows[row["id"]] = {n: None if n in self.partitions and v == "" else v for n, v in stored.items()}
        kinds = {"id": LONG, **columns}
        names = list(kinds)
        self.chance.shuffle(names)
        arrays = [nested_array([row[name] for row in found], stored_type(kinds[name])) for name in names]
        return pa.Table.from_arrays(arrays, names=[self.spelled(name) for name in names])

    def spelled(self, name: str) -> str:
        return name.upper() if self.chance.random() < 0.2 else name

    def some_columns(self) -> dict[str, DataType]:
        """Most of the columns; the others are NULL."""
        return {name: kind for name, kind in self.columns.items() if self.chance.random() < 0.85}

    def append_arrow(self) -> None:
        rows = self.new_rows(self.some_columns())
        self.note("append Arrow", rows=len(rows), columns=rows.column_names)
        self.table.append(rows, time_zone=self.zone)

    def append_frame(self) -> None:
        rows = self.new_rows(self.some_columns())
        self.note("append DataFrame", rows=len(rows), columns=rows.column_names)
        self.table.append(self.frame(rows))

    def append_by_spark(self) -> None:
        rows = self.new_rows(self.columns)
        self.note("append by delta-spark", rows=len(rows))
        self.frame(rows).write.format("delta").mode("append").save(str(self.folder))

    def frame(self, rows: pa.Table) -> Any:
        path = self.folder.parent / f"{self.folder.name}-{self.chance.getrandbits(60):x}.parquet"
        pq.write_table(rows, path)
        return self.spark.read.parquet(str(path)).repartition(self.chance.choice([1, 3]))

    def merge_column(self) -> None:
        kind = random_type(self.chance)
        name = f"m{len(self.played)}"
        columns = {**self.some_columns(), name: kind}
        self.columns[name] = kind
        for row in self.rows.values():
            row[name] = None
        rows = self.new_rows(columns)
        rows = rows.rename_columns([name if each.lower() == name else each for each in rows.column_names])
        self.note("append with a new column", name=name, type=type_text(kind), rows=len(rows))
        self.table.append(self.given(rows), "merge", time_zone=self.zone)

    def update(self) -> None:
        modulus = self.chance.randint(2, 5)
        kinds = {STRING: ("'new'", "new"), INTEGER: ("7", 7), LONG: ("-1", -1)}
        names = [name for name, kind in self.columns.items() if kind in kinds and name not in self.partitions]
        if not names:
            return
        name = self.chance.choice(names)
        sql, value = kinds[self.columns[name]]
        self.note("UPDATE", name=name, modulus=modulus)
        self.sql(f"UPDATE {{t}} SET {name} = {sql} WHERE id % {modulus} = 0")
        for i, row in self.rows.items():
            if i % modulus == 0:
                row[name] = value

    def delete(self) -> None:
        modulus = self.chance.randint(3, 9)
        self.note("DELETE", modulus=modulus)
        self.sql(f"DELETE FROM {{t}} WHERE id % {modulus} = 1")
        self.rows = {i: row for i, row in self.rows.items() if i % modulus != 1}

    def delete_by_us(self) -> None:
        modulus = self.chance.randint(3, 9)
        spark = self.spark if self.chance.random() < 0.5 else None
        self.note("delete by deltaskip", modulus=modulus, spark=spark is not None)
        self.table.delete(f"id % {modulus} = 2", spark)
        self.rows = {i: row for i, row in self.rows.items() if i % modulus != 2}

    def overwrite_where(self) -> None:
        low = self.chance.randint(0, self.next_id)
        high = low + self.chance.randint(0, 8)
        self.rows = {i: row for i, row in self.rows.items() if not low <= i < high}
        self.next_id = max(self.next_id, high)
        rows = self.new_rows(self.some_columns(), [i for i in range(low, high) if self.chance.random() < 0.6])
        self.note("overwrite", where=f"{low} <= id < {high}", rows=len(rows))
        self.table.overwrite(self.given(rows), f"id >= {low} AND id < {high}", time_zone=self.zone)

    def overwrite_partitions(self) -> None:
        if not self.partitions:
            return
        before = dict(self.rows)
        rows = self.new_rows(self.columns)
        new = {i: row for i, row in self.rows.items() if i not in before}
        gone = {repr(row["p"]) for row in new.values()}
        self.rows = {i: row for i, row in before.items() if repr(row["p"]) not in gone} | new
        self.note("overwrite partitions", rows=len(rows))
        self.table.overwrite(self.given(rows), partitions="dynamic", time_zone=self.zone)

    def overwrite(self) -> None:
        if self.chance.random() < 0.4:
            self.rows = {}
            rows = self.new_rows(self.some_columns())
            self.note("overwrite", rows=len(rows))
            self.table.overwrite(self.given(rows), time_zone=self.zone)

    def given(self, rows: pa.Table) -> Any:
        """The rows as Arrow data or as a DataFrame."""
        return rows if self.chance.random() < 0.5 else self.frame(rows)

    def alter(self, statement: str) -> None:
        """Change the table by either writer."""
        if self.chance.random() < 0.5:
            self.note("  by deltaskip")
            self.table.alter_sql(statement)
        else:
            self.sql(f"ALTER TABLE {{t}} {statement}")

    def optimize(self) -> None:
        self.note("OPTIMIZE")
        self.sql("OPTIMIZE {t}")

    def add_column(self) -> None:
        kind = random_type(self.chance)
        name = f"a{len(self.played)}"
        self.note("ADD COLUMN", name=name, type=type_text(kind))
        self.alter(f"ADD COLUMN {name} {type_text(kind)}")
        self.columns[name] = kind
        for row in self.rows.values():
            row[name] = None

    def widen(self) -> None:
        names = [n for n, k in self.columns.items() if k in (SHORT, INTEGER) and n not in self.partitions]
        if self.properties.get("delta.enableTypeWidening") and names:
            self.note("ALTER TYPE", name=names[0])
            self.alter(f"ALTER COLUMN {names[0]} TYPE BIGINT")
            self.columns[names[0]] = LONG

    def rename(self) -> None:
        name = self.mapped_column()
        if name is not None:
            new = f"r{len(self.played)}"
            self.note("RENAME", name=name, new=new)
            self.alter(f"RENAME COLUMN {name} TO {new}")
            self.columns = {new if n == name else n: kind for n, kind in self.columns.items()}
            self.rows = {i: {new if n == name else n: v for n, v in row.items()} for i, row in self.rows.items()}

    def drop(self) -> None:
        name = self.mapped_column()
        if name is not None and len(self.columns) > 2:
            self.note("DROP", name=name)
            self.alter(f"DROP COLUMN {name}")
            del self.columns[name]
            for row in self.rows.values():
                del row[name]

    def mapped_column(self) -> str | None:
        names = [name for name in self.columns if name not in self.partitions]
        if "delta.columnMapping.mode" not in self.properties or not names:
            return None
        if self.properties.get("delta.enableChangeDataFeed"):
            return None
        return self.chance.choice(names)

    def enable_deletion_vectors(self) -> None:
        self.note("SET TBLPROPERTIES")
        self.alter("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")

    def checkpoint(self) -> None:
        self.note("checkpoint")
        self.table.refresh().checkpoint()

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{t}", f"delta.`{self.folder}`")).collect()

    def check(self) -> None:
        """Both readers have the rows of the model, and a fresh table too."""
        expected = [dict(sorted(row.items())) for row in self.rows.values()]
        found = self.spark.read.format("delta").load(str(self.folder))
        compare("delta-spark", sorted_rows(found), expected)
        compare("deltaskip", sorted_rows(ds.DeltaTable(self.folder).scan().to_spark(self.spark)), expected)
        compare("deltaskip's table", sorted_rows(self.table.refresh().scan().to_spark(self.spark)), expected)
        if self.rows:
            i = self.chance.choice([*self.rows])
            for sql, ids in ((f"id = {i}", {i}), (f"id < {i}", {n for n in self.rows if n < i})):
                kept = {row.id for row in found.where(sql).select("id").collect()}
                ours = {row.id for row in self.table.scan(sql).to_spark(self.spark).select("id").collect()}
                if not kept == ours == ids:
                    raise Disagreement(f"WHERE {sql}: delta-spark {kept}, deltaskip {ours}, model {ids}")


def sorted_rows(frame: Any) -> list[dict[str, Any]]:
    """The rows, with columns by name."""
    return [dict(sorted(row.items())) for row in plain_rows(frame.toArrow())]


CASES = [str(seed) for seed in range(20)]


def play(spark: Any, folder: Path, seed: str) -> None:
    """Play a seed."""
    game = Game(spark, folder / "t", int(seed))
    try:
        game.play()
    except Exception as error:
        error.add_note("\n".join(game.played))
        raise
