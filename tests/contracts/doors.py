"""The ways to change a table: each does the same operations, and what it has no words for it leaves to another.

A door is one class. Its operations take Arrow data and SQL text, and raise an error of `errors` where one is refused.
"""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow as pa

import deltaskip as ds
from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.located import TableEntry
from tests.catalogs.memory_catalog import MemoryCatalog
from tests.dml.merge.random_merges import DDL

Row = dict[str, Any]


@dataclass(frozen=True)
class Clause:
    """A clause of a merge; values: by column, None for those of the source's row."""

    kind: Literal["matched", "not matched", "not matched by source"]
    action: Literal["update", "delete", "insert"]
    values: Mapping[str, str] | None = None
    where: str | None = None


class Door(Protocol):
    """One way to change tables and to read them."""

    errors: tuple[type[Exception], ...]

    def append(self, table: ds.DeltaTable, rows: pa.Table) -> None: ...

    def overwrite(self, table: ds.DeltaTable, rows: pa.Table, where: str | None, dynamic: bool) -> None: ...

    def delete(self, table: ds.DeltaTable, where: str | None) -> None: ...

    def update(self, table: ds.DeltaTable, values: Mapping[str, str], where: str | None) -> None: ...

    def merge(self, table: ds.DeltaTable, source: pa.Table, on: str, clauses: Sequence[Clause]) -> None:
        """The table is `t` there and the source `s`."""

    def optimize(self, table: ds.DeltaTable) -> None: ...

    def rows(self, table: ds.DeltaTable) -> list[Row]: ...

    def changes(self, table: ds.DeltaTable, start: int, end: int) -> list[Row]: ...


class ArrowDoor:
    """DeltaTable without a session."""

    errors: tuple[type[Exception], ...] = (ds.DeltaSkipError,)
    spark: Any = None

    def data(self, rows: pa.Table) -> Any:
        """The rows as this door is given them."""
        return rows

    def append(self, table: ds.DeltaTable, rows: pa.Table) -> None:
        table.append(self.data(rows))

    def overwrite(self, table: ds.DeltaTable, rows: pa.Table, where: str | None, dynamic: bool) -> None:
        table.overwrite(self.data(rows), where, "dynamic" if dynamic else "static")

    def delete(self, table: ds.DeltaTable, where: str | None) -> None:
        table.delete(where, self.spark)

    def update(self, table: ds.DeltaTable, values: Mapping[str, str], where: str | None) -> None:
        table.update(values, where, self.spark)

    def merge(self, table: ds.DeltaTable, source: pa.Table, on: str, clauses: Sequence[Clause]) -> None:
        builder = table.merge(self.data(source), on, "s", "t", spark=self.spark)
        for each in clauses:
            name = f"when_{each.kind.replace(' ', '_')}_{each.action}"
            if each.action == "delete":
                builder = getattr(builder, name)(where=each.where)
            elif each.values is None:
                builder = getattr(builder, f"{name}_all")(where=each.where)
            else:
                builder = getattr(builder, name)(each.values, where=each.where)
        builder.execute()

    def optimize(self, table: ds.DeltaTable) -> None:
        table.optimize()

    def rows(self, table: ds.DeltaTable) -> list[Row]:
        return list(table.scan().to_arrow().to_pylist())

    def changes(self, table: ds.DeltaTable, start: int, end: int) -> list[Row]:
        return list(table.changes(start, end).to_arrow().to_pylist())


class Frames(ArrowDoor):
    """DeltaTable with a session and DataFrames."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def data(self, rows: pa.Table) -> Any:
        # PySpark takes no empty table of Arrow.
        return self.spark.createDataFrame(rows) if rows.num_rows else self.spark.createDataFrame([], DDL)

    def optimize(self, table: ds.DeltaTable) -> None:
        table.optimize(spark=self.spark)

    def rows(self, table: ds.DeltaTable) -> list[Row]:
        return [row.asDict(recursive=True) for row in table.scan().to_spark(self.spark).collect()]

    def changes(self, table: ds.DeltaTable, start: int, end: int) -> list[Row]:
        return [row.asDict(recursive=True) for row in table.changes(start, end).to_spark(self.spark).collect()]


class DeltaNames(Frames):
    """What users of delta-spark write: deltaskip.delta, and the format for writes and reads."""

    errors: tuple[type[Exception], ...] = (Exception,)

    def append(self, table: ds.DeltaTable, rows: pa.Table) -> None:
        self.data(rows).write.format("deltaskip").mode("append").save(table.uri)

    def overwrite(self, table: ds.DeltaTable, rows: pa.Table, where: str | None, dynamic: bool) -> None:
        writer = self.data(rows).write.format("deltaskip").mode("overwrite")
        if where is not None:
            writer = writer.option("replaceWhere", where)
        if dynamic:
            writer = writer.option("partitionOverwriteMode", "dynamic")
        writer.save(table.uri)

    def named(self, table: ds.DeltaTable) -> Any:
        from deltaskip.delta import DeltaTable

        return DeltaTable.forPath(self.spark, table.uri)

    def delete(self, table: ds.DeltaTable, where: str | None) -> None:
        self.named(table).delete(where)

    def update(self, table: ds.DeltaTable, values: Mapping[str, str], where: str | None) -> None:
        self.named(table).update(where, dict(values))

    def merge(self, table: ds.DeltaTable, source: pa.Table, on: str, clauses: Sequence[Clause]) -> None:
        builder = self.named(table).alias("t").merge(self.data(source).alias("s"), on)
        for each in clauses:
            name = "when" + f"{each.kind} {each.action}".title().replace(" ", "")
            if each.action == "delete":
                builder = getattr(builder, name)(each.where)
            elif each.values is None:
                builder = getattr(builder, f"{name}All")(each.where)
            else:
                builder = getattr(builder, name)(each.where, dict(each.values))
        builder.execute()

    def optimize(self, table: ds.DeltaTable) -> None:
        self.named(table).optimize().executeCompaction()

    def rows(self, table: ds.DeltaTable) -> list[Row]:
        return [row.asDict(True) for row in self.spark.read.format("deltaskip").load(table.uri).collect()]

    def changes(self, table: ds.DeltaTable, start: int, end: int) -> list[Row]:
        reader = self.spark.read.format("deltaskip").option("readChangeFeed", "true")
        found = reader.option("startingVersion", start).option("endingVersion", end).load(table.uri)
        return [row.asDict(True) for row in found.collect()]


class Statements(ArrowDoor):
    """SQL text for a catalog, with or without a session."""

    def __init__(self, folder: Path, spark: Any = None) -> None:
        self.spark = spark
        self.folder = folder
        self.catalog = MemoryCatalog(str(folder), name="cat")
        self.catalog.create_namespace("db")
        self.sources = 0

    def run(self, table: ds.DeltaTable, text: str) -> Any:
        """The answer of a statement, where the table is `{t}`."""
        ident = CatalogIdentifier(("db",), "t")
        found = self.catalog.find_entry(ident)
        if found is not None:
            self.catalog.remove_entry(found)
        self.catalog.add_entry(TableEntry(ident, table.uri, False))
        return self.catalog.sql(self.spark, text.replace("{t}", "db.t"))

    def append(self, table: ds.DeltaTable, rows: pa.Table) -> None:
        if rows.num_rows == 0:
            return
        self.run(table, f"INSERT INTO {{t}} ({', '.join(rows.column_names)}) VALUES {_values(rows)}")

    def overwrite(self, table: ds.DeltaTable, rows: pa.Table, where: str | None, dynamic: bool) -> None:
        if dynamic or where is not None or not rows.num_rows:
            super().overwrite(table, rows, where, dynamic)
        else:
            self.run(table, f"INSERT OVERWRITE {{t}} ({', '.join(rows.column_names)}) VALUES {_values(rows)}")

    def delete(self, table: ds.DeltaTable, where: str | None) -> None:
        self.run(table, f"DELETE FROM {{t}}{'' if where is None else f' WHERE {where}'}")

    def update(self, table: ds.DeltaTable, values: Mapping[str, str], where: str | None) -> None:
        given = ", ".join(f"{name} = {text}" for name, text in values.items())
        self.run(table, f"UPDATE {{t}} SET {given}{'' if where is None else f' WHERE {where}'}")

    def merge(self, table: ds.DeltaTable, source: pa.Table, on: str, clauses: Sequence[Clause]) -> None:
        if self.spark is None:
            super().merge(table, source, on, clauses)
            return
        self.sources += 1
        self.catalog.create_table(f"db.s{self.sources}", source.schema).append(source)
        parts = [f"MERGE INTO {{t}} t USING db.s{self.sources} s ON {on}"]
        for each in clauses:
            where = "" if each.where is None else f" AND {each.where}"
            parts.append(f"WHEN {each.kind.upper()}{where} THEN {_action(each)}")
        self.run(table, " ".join(parts))

    def optimize(self, table: ds.DeltaTable) -> None:
        self.run(table, "OPTIMIZE {t}")

    def rows(self, table: ds.DeltaTable) -> list[Row]:
        if self.spark is None:
            return super().rows(table)
        return [row.asDict(True) for row in self.run(table, "SELECT * FROM {t}").collect()]


def _action(clause: Clause) -> str:
    if clause.action == "delete":
        return "DELETE"
    if clause.values is None:
        return "UPDATE SET *" if clause.action == "update" else "INSERT *"
    if clause.action == "update":
        return "UPDATE SET " + ", ".join(f"{name} = {text}" for name, text in clause.values.items())
    return f"INSERT ({', '.join(clause.values)}) VALUES ({', '.join(clause.values.values())})"


def _values(rows: pa.Table) -> str:
    def text(value: Any) -> str:
        return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)

    return ", ".join(f"({', '.join(map(text, row.values()))})" for row in rows.to_pylist())


def connect_session(spark: Any) -> Any:
    """A session of Spark Connect, whose server runs in the JVM of a classic session and ends with it."""
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.builder.remote(connect_server(spark)).create()


@cache
def connect_server(spark: Any) -> str:
    """The address of a server of Spark Connect, which runs in the JVM of a classic session and ends with it.

    A JVM has one server: to start another one does nothing.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    jvm = spark.sparkContext._jvm
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.port", str(port))
    jvm.org.apache.spark.sql.connect.service.SparkConnectService.start(spark.sparkContext._jsc.sc())
    return f"sc://127.0.0.1:{port}"
