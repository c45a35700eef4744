"""delta-spark as oracle: writes the tables of recipes.py and, as JSON, what a reader must get from them.

    python -m tests.reference.oracle FOLDER [TABLE ...]

FOLDER/NAME.json holds the answers of one table (see `answers_of`), or {"error": text} where making it failed.
Runs in a process of its own, since reading tests must not have Delta in their JVM.
"""

import json
import os
import random
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.json import parse_schema
from tests.extent import extent
from tests.jvm import JAVA_OPTIONS
from tests.not_compared import DELTA_JARS as JARS
from tests.reference.predicates import Predicate, random_predicates
from tests.reference.recipes import CHOSEN, RECIPES, Writer
from tests.reference.rows import digest, plain_rows

SEED = 20_260_101
PREDICATES = extent(gate=(5, 2), whole=(24, 6))
FILE = "__file"
SERVED = "DELTASKIP_SERVED"
"""Set in a process whose modules share one session (`serving.py`): the folder for its databases."""
ODD_FOLDER = "odd folder %20 {a} [b] é"


def session(scratch: Path, more: Mapping[str, str] | None = None) -> Any:
    """A small session with Delta in it; more: settings beside its own. One that is shared does not stop."""
    from pyspark.sql import SparkSession

    served = os.environ.get(SERVED)
    assert not (served and more), "a session with other settings needs a process of its own"

    jars = sorted(str(path) for path in Path(os.environ[JARS]).glob("*.jar"))
    settings = {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {JAVA_OPTIONS}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        # Delta sets it when it first loads a table that needs it, and not again after another module's settings.
        "spark.sql.parquet.fieldId.read.enabled": "true",
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.files.openCostInBytes": "65536",
        "spark.sql.warehouse.dir": (Path(served or scratch) / "warehouse").as_uri(),
        **(more or {}),
    }
    builder = SparkSession.builder.master("local[2]").appName("deltaskip reference")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    if served and not hasattr(SparkSession, "first_settings"):
        # Of the class, as Python makes several objects for the session of the JVM.
        SparkSession.stop, SparkSession.first_settings = (lambda _: None), dict(spark.conf.getAll)
    return spark


def real_path(uri: str) -> str:
    """The path on disk that a `file:` URI names."""
    return "/" + unquote(uri.removeprefix("file:")).lstrip("/")


def name_of(path: str) -> str:
    """A data file's own name; nothing in those that Spark gives needs escaping."""
    return path.rpartition("/")[2]


def comparable(frame: Any) -> Any:
    """The frame with its variants, which Arrow may not hold, as JSON text."""
    from pyspark.sql import functions as F

    def rendered(field: Any) -> Any:
        return F.col(quoted_name(field.name))

    columns = []
    for field in frame.schema.fields:
        kind = field.dataType.simpleString()
        column = rendered(field)
        columns.append((F.to_json(column) if "variant" in kind else column).alias(field.name))
    return frame.select(*columns)


def answers_of(writer: Writer) -> dict[str, Any]:
    """What the finished table holds: `path`, `time_zone`, and by version its files, rows and predicates.

    A version: `version`, `columns` [name, type], `files` {path: {size, partition_values, dv}}, `count`, `digest`, and
    `predicates`, each with `sql`, `plain`, `matching` files, `count` and `digest` of the rows, names of the files
    `kept` by delta-spark (null: not asked or failed) and `emptied` (its optimizer removed the scan). Paths are
    absolute, as on disk.
    """
    latest = writer.log().update(False, *_defaults(writer.log(), "update", 2, 3)).version()
    earlier = [writer.rng.randrange(latest)] if latest else []
    versions = [
        _version_answers(writer, version, count) for version, count in zip([latest, *earlier], PREDICATES, strict=False)
    ]
    return {"path": str(writer.folder), "time_zone": writer.read_in, "versions": versions}


def main(folder: Path, names: Sequence[str]) -> None:
    """Write each table and its answers, two at a time."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    spark = session(scratch)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: _table(spark, folder, scratch, name), names))
    spark.stop()


def _table(spark: Any, folder: Path, scratch: Path, name: str) -> None:
    started = time.monotonic()
    own = spark.newSession()
    jvm = spark.sparkContext._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(own._jsparkSession)
    place = folder / "tables" / (ODD_FOLDER if name == "odd_folder" else name)
    writer = Writer(own, place, scratch, random.Random(f"{SEED} {name}"))
    try:
        RECIPES[name](writer)
        written = time.monotonic()
        own.conf.set("spark.sql.session.timeZone", writer.read_in)
        answers = answers_of(writer)
        answers["seconds"] = [round(written - started, 2), round(time.monotonic() - written, 2)]
    except Exception:
        # The test of this table shows it; the other tables are still worth comparing.
        answers = {"error": traceback.format_exc()}
    (folder / f"{name}.json").write_text(json.dumps(answers), encoding="utf-8")


def _version_answers(writer: Writer, version: int, count: int) -> dict[str, Any]:
    reader = writer.spark.read.format("delta").option("versionAsOf", version)
    frame = reader.load(str(writer.folder))
    schema = parse_schema(frame.schema.json())
    shown = comparable(frame.select("*", frame.metadataColumn("_metadata")["file_path"].alias(FILE)))
    rows = plain_rows(shown.toArrow()) if frame.schema.fields else []
    predicates = random_predicates(writer.rng, schema, rows, count)
    truth = _truth(frame, predicates)
    located = [real_path(row.pop(FILE)) for row in rows]
    return {
        "version": version,
        "columns": [[f.name, f.dataType.simpleString()] for f in frame.schema.fields],
        "files": _active_files(writer, version),
        "count": len(rows),
        "digest": digest(rows),
        "predicates": [_predicate_answers(frame, predicate, truth[number], rows, located) for number,
            predicate in enumerate(predicates) if number in truth],
    }  # fmt: skip


def _predicate_answers(
    frame: Any, predicate: Predicate, matches: dict[int, str], rows: list[dict[str, Any]], located: list[str]
) -> dict[str, Any]:
    matching = [row for row in rows if row["id"] in matches]
    # Planning is what costs here, and tests ask no more than soundness of the others.
    kept, emptied = _kept(frame, predicate.sql) if predicate.plain else (None, False)
    return {
        "sql": predicate.sql,
        "plain": predicate.plain,
        "matching": sorted(set(matches.values())),
        "count": len(matching),
        "digest": digest(matching),
        "kept": kept,
        "emptied": emptied,
    }


def _truth(frame: Any, predicates: Sequence[Predicate]) -> dict[int, dict[int, str]]:
    """By predicate, the ids and files of its rows. Each is a projected column of every row, so nothing is pruned.

    Predicates that make Spark fail are left out: no row decides them.
    """
    from pyspark.sql import functions as F

    file = frame.metadataColumn("_metadata")["file_path"].alias(FILE)

    def asked(numbers: Sequence[int]) -> dict[int, dict[int, str]]:
        columns = [F.expr(predicates[n].sql).cast("boolean").alias(f"__{n}") for n in numbers]
        try:
            found = frame.select("id", file, *columns).toArrow()
        except Exception:
            if len(numbers) == 1:
                return {}
            half = len(numbers) // 2
            return asked(numbers[:half]) | asked(numbers[half:])
        ids, files = found["id"].to_pylist(), [real_path(uri) for uri in found[FILE].to_pylist()]
        answers = {n: found[f"__{n}"].to_pylist() for n in numbers}
        return {
            n: {i: f for i, f, holds in zip(ids, files, values, strict=True) if holds} for n, values in answers.items()
        }

    return asked(range(len(predicates)))


def _kept(frame: Any, sql: str) -> tuple[list[str] | None, bool]:
    filtered = frame.where(sql)
    try:
        plan = filtered._jdf.queryExecution().optimizedPlan().toString()
        # Names, since inputFiles escapes directories in another way; every file's name is unique.
        kept = sorted({name_of(uri) for uri in filtered.inputFiles()})
    except Exception:
        return None, False
    return kept, "LocalRelation" in plan


def _active_files(writer: Writer, version: int) -> dict[str, Any]:
    from pyspark.sql import DataFrame

    log = writer.log()
    snapshot = log.getSnapshotAt(version, *_defaults(log, "getSnapshotAt", 2, 3, 4))
    adds = DataFrame(snapshot.allFiles().toDF(), writer.spark)
    rows = adds.select("path", "size", "partitionValues", "deletionVector").collect()
    return {
        _on_disk(writer.folder, row.path): {
            "size": row.size,
            "partition_values": row.partitionValues,
            "dv": row.deletionVector and row.deletionVector.cardinality,
        }
        for row in rows
    }


def _on_disk(folder: Path, logged: str) -> str:
    return real_path(logged) if logged.startswith("file:") else str(folder / unquote(logged))


def _defaults(target: Any, method: str, *positions: int) -> list[Any]:
    """What Scala passes for arguments that are left out."""
    return [getattr(target, f"{method}$default${position}")() for position in positions]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(CHOSEN))
