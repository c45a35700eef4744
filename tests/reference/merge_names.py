"""Texts of merges whose names and types are right or wrong, by deltaskip through every door and by delta-spark.

    python -m tests.reference.merge_names ANSWERS.json PART PARTS

It runs every text whose number is PART modulo PARTS. ANSWERS.json has the differences: what one refuses and the other
accepts, or rows that differ. What is refused must not depend on rows, so each text runs on a table with rows that
match, without rows, and with a source without rows.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.errors import DeltaSkipError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import quoted_name
from tests.reference.oracle import JARS, session

DDL = "id BIGINT, v STRING, s STRUCT<x: INT>, t STRUCT<v: STRING, w: STRING>"
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "v": ["a", "b", "c"],
        "s": pa.array([{"x": 1}, {"x": 2}, {"x": 3}], pa.struct([("x", pa.int32())])),
        "t": [{"v": "q", "w": "r"}] * 3,
    }
)
SOURCE = pa.table(
    {
        "id": pa.array([2, 9], pa.int64()),
        "v": ["NEW", "N9"],
        "k": pa.array([2, 9], pa.int64()),
        "t": pa.array([{"id": 2, "z": 5}] * 2, pa.struct([("id", pa.int64()), ("z", pa.int64())])),
    }
)


@dataclass(frozen=True, slots=True)
class Text:
    """A merge with one clause."""

    on: str
    kind: str = "matched"
    values: Mapping[str, str] | None = None
    where: str | None = None

    @property
    def sql(self) -> str:
        """All but the two sides, as SQL."""
        when = {"matched": "MATCHED", "not matched": "NOT MATCHED", "left": "NOT MATCHED BY SOURCE"}[self.kind]
        also = "" if self.where is None else f" AND {self.where}"
        if self.values is None:
            act = "DELETE"
        elif self.kind == "not matched":
            act = f"INSERT ({', '.join(self.values)}) VALUES ({', '.join(self.values.values())})"
        else:
            act = "UPDATE SET " + ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"ON {self.on} WHEN {when}{also} THEN {act}"


ON = "t.id = s.id"
CONDITIONS = [
    *(ON, "foo.id = bar.id", "tt.id = s.id", "target.id = source.id", "T.ID = `S`.`id`", "`t.id` = s.id", "id = s.id"),
    *("id = id", "k = t.id", "k = id", "t.zz = s.id", "zz = s.id", "t.s.x = s.id", "s.x = s.id", "t.t.v = s.v"),
    *("t.id = s.id AND t.v = 'b'", "t.id = s.id AND t.w = 'r'", "t.id = s.id AND t.z = 5", "t.id.x = s.id"),
    *("t.s = s.id", "t.id = s.id AND nosuch(t.id)", "t.id + s.id", "TRUE", "FALSE", "s.t.z = t.id AND FALSE"),
]
TEXTS = [
    *(Text(on) for on in CONDITIONS),
    *(Text(ON, where=where) for where in ("tt.id = 2", "t.zz = 2", "id = 2", "t.id", "nosuch(t.id) = 1",
        "t.id = DATE'2020-01-01'", "k = 2")),
    *(Text(ON, values={name: value}) for name,
        value in (*(("v", "zz"), ("v", "foo.v"), ("v", "v"), ("v", "s.v"), ("v", "t.w"), ("id", "t.z"),
        ("id", "s.t.z")), *(("s", "s.v"), ("id", "CAST(t.s AS BIGINT)"), ("id", "DATE'2020-01-01'"), ("zz", "1"),
        ("foo.v", "'1'")), *(("s.v", "'1'"), ("t.v", "s.v"), ("t.w", "s.v"), ("t.t.w", "s.v"), ("s.x", "5"),
        ("t.s.x", "5")))),
    Text(ON, values={"v": "'1'", "t.v": "'2'"}),
    *(Text(ON, "not matched", {"id": "s.id", **more}, where) for more,
        where in (*(({"v": "zz"}, None), ({"v": "t.v"}, None), ({"v": "v"}, None), ({"v": "foo.v"}, None),
        ({}, "s.zz = 1")), *(({"s": "s.v"}, None), ({}, "t.id = 1"), ({}, "t.z = 5"), ({"ID": "s.id"}, None),
        ({"s.x": "1"}, None)), *(({"v": "t.z"}, None), ({"nope": "1"}, None)))),
    *(Text(ON, "left", None, where) for where in ("s.id = 1", "s.x = 1", "id = 1", "k = 1", "t.w = 'r' AND id = 3")),
    *(Text(ON, "left", {"v": value}) for value in ("zz", "s.v", "s.k", "t.w", "upper(v)")),
    Text(ON, "left", {"s": "v"}),
]  # fmt: skip


def built(builder: Any, text: Text, ours: bool) -> Any:
    """The builder with the clause of a text. ours: whether its methods are those of deltaskip."""
    names = {"matched": "Matched", "not matched": "NotMatched", "left": "NotMatchedBySource"}
    act = "Delete" if text.values is None else "Insert" if text.kind == "not matched" else "Update"
    name = f"when{names[text.kind]}{act}"
    if ours:
        name = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
        return getattr(builder, name)(*(() if text.values is None else (dict(text.values),)), where=text.where)
    setting = {} if text.values is None else {"values" if act == "Insert" else "set": dict(text.values)}
    return getattr(builder, name)(condition=text.where, **setting)


def doors(spark: Any) -> dict[str, Callable[[str, Any, Text], Any]]:
    """What runs a text on a table by path, with a source as DataFrame, by name; delta-spark is the first."""
    # The jar has delta-spark's Python, too.
    [jar] = Path(os.environ[JARS]).glob("delta-spark_*.jar")
    sys.path.append(str(jar))
    from delta.tables import DeltaTable as Theirs

    from deltaskip.delta import DeltaTable as Alike

    def arrow(path: str, frame: Any, text: Text) -> None:
        given = SOURCE if frame.count() else SOURCE.slice(0, 0)
        built(ds.DeltaTable(path).merge(given, text.on, "s", "t"), text, True).execute()

    def frames(path: str, frame: Any, text: Text) -> None:
        built(ds.DeltaTable(path).merge(frame.alias("s"), text.on, None, "t"), text, True).execute()

    def sql(path: str, frame: Any, text: Text) -> None:
        frame.createOrReplaceTempView("source_of_names")
        catalog = ds.catalog(f"warehouse:{Path(path).parent}")
        catalog.sql(spark, f"MERGE INTO delta.{quoted_name(path)} AS t USING source_of_names AS s {text.sql}")

    return {
        "delta-spark": lambda path, frame,
            text: built(Theirs.forPath(spark, path).alias("t").merge(frame.alias("s"), text.on), text, False).execute(),
        "deltaskip.delta": lambda path, frame,
            text: built(Alike.forPath(spark, path).alias("t").merge(frame.alias("s"), text.on), text, False).execute(),
        "arrow": arrow, "frames": frames, "sql": sql,
    }  # fmt: skip


def outcome(run: Callable[[str, Any, Text], Any], table: Path, frame: Any, text: Text) -> tuple[str, list[str]]:
    """Whether a text is accepted, and the rows that it leaves or the error."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "t"
        shutil.copytree(table, copy)
        try:
            run(str(copy), frame, text)
        except (DeltaSkipError, PySparkException) as error:
            assert ds.DeltaTable(copy).version == ds.DeltaTable(table).version, f"{text} is refused, but committed"
            return "refused", [f"{type(error).__name__}: {error}"[:300]]
        except Py4JJavaError as error:
            # PySpark 4.1 looks for the text of delta-spark's errors among Spark's.
            assert "Cannot find main error class 'DELTA_" in str(error), error
            return "refused", [str(error.java_exception)[:300]]
        return "accepted", sorted(map(str, ds.DeltaTable(copy).scan().to_arrow().to_pylist()))


def main(answers: Path, each: int) -> None:
    """Write the differences as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        full, empty = Path(folder) / "full", Path(folder) / "empty"
        ds.DeltaTable.create(full, DDL).append(ROWS)
        ds.DeltaTable.create(empty, DDL)
        frame = spark.createDataFrame(SOURCE)
        found = []
        by_name = doors(spark)
        for text in TEXTS[::each]:
            theirs = outcome(by_name["delta-spark"], full, frame, text)
            for name, run in list(by_name.items())[1:]:
                ours = outcome(run, full, frame, text)
                if ours[0] != theirs[0] or (ours[0] == "accepted" and ours != theirs):
                    found.append(f"{name}: {text.sql}: delta-spark {theirs}, deltaskip {ours}")
            if theirs[0] == "refused":
                for name in ("deltaskip.delta", "arrow"):
                    for case, table, rows in (("no rows", empty, frame), ("no source", full, frame.where("false"))):
                        if outcome(by_name[name], table, rows, text)[0] != "refused":
                            found.append(f"{name}: {text.sql}: accepted with {case}")
        answers.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
