"""The same SQL statements by delta-spark, by a catalog of deltaskip and by Spark's own SQL over an installed catalog.

    python -m tests.reference.sql_statements ANSWERS.json [DOOR ...]

Runs in a process of its own. ANSWERS.json holds for each statement what each door answered and committed. Where doors
are named without delta-spark, the session has nothing of it, so that any version of PySpark runs them.
"""

import json
import re
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltaskip as ds
from tests.extent import extent
from tests.reference.oracle import real_path, session
from tests.spark.matrix.__main__ import local_session

DOORS = ("delta-spark", "catalog", "installed")


@dataclass(frozen=True)
class Case:
    """A statement.

    Attributes:
        text: The statement; `$FOLDER` is the beginning of a path of its own.
        params: The values of its parameters.
        notes: By door why it is answered otherwise than by delta-spark, and by `refused` why Spark's own SQL refuses it
            over an installed catalog, so that `cat.sql` runs it there.
    """

    text: str
    params: Any = None
    notes: dict[str, str] = field(default_factory=dict)


def cases(text: str) -> list[Case]:
    """The statements of a file: one a line, perhaps with ` -- JSON` of its parameters, after lines `-- door: note`."""
    found: list[Case] = []
    notes: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("-- "):
            doors, _, note = line[3:].partition(": ")
            notes |= dict.fromkeys(DOORS[1:] if doors == "both" else (doors,), note)
        elif line:
            statement, _, params = line.partition(" -- ")
            found.append(Case(statement, json.loads(params) if params else None, notes))
            notes = {}
    return found


_ALL = cases(Path(__file__).with_name("sql_statements.sql").read_text(encoding="utf-8"))
_TEXTS = [case.text for case in _ALL]
_SOME, _FIELDS = (_TEXTS.index(f"CREATE DATABASE {name}") for name in ("w", "z"))
# Each CREATE DATABASE begins a part that needs no other one; those of the gate are at the end.
CASES = extent(_ALL[_SOME : _SOME + 8] + _ALL[_FIELDS:], _ALL)

# Values that differ from table to table, and from one run to the next.
_OWN = ("id", "location", "createdAt", "lastModified", "timestamp", "engineInfo", "path", "name", "job", "notebook",
        "clusterId", "userId", "userName", "startTimeMs", "endTimeMs", "sizeInBytes", "operationMetrics",
        "operationParameters", "properties", "tableFeatures", "minReaderVersion", "minWriterVersion",
        "totalClusterParallelism", "totalScheduledTasks", "isolationLevel", "numFiles")  # fmt: skip
_OF_SIZE = re.compile(r"(?i)size|bytes|metrics")
# Settings, variables and temporary views belong to the session, whatever the door.
_OF_SESSION = re.compile(r"(SET|RESET|DECLARE|DROP TEMPORARY|CREATE TEMPORARY) ")
# What an installed catalog leaves to `cat.sql`, see the page on catalogs.
_OF_CATALOG = re.compile(
    r"OPTIMIZE|VACUUM|RESTORE|DESC\w* (HISTORY|DETAIL)|GENERATE|REORG|SHOW PARTITIONS|.* CLONE |.*table_changes|"
    r"ALTER TABLE \S+ (DROP FEATURE|.*SYNC|CLUSTER BY)|TRUNCATE .* PARTITION"
)
# Numbers of rows and files that follow from the statement alone.
_METRICS = re.compile(
    r"num(OutputRows|DeletedRows|UpdatedRows|SourceRows|TargetRows\w+|RemovedFiles|RestoredFiles|RestoredRows)"
)


def main(output: Path, doors: tuple[str, ...] = DOORS) -> None:
    """Run the statements through doors."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        first = session(scratch) if DOORS[0] in doors else local_session("classic", scratch)
        runs = {door: _door(door, first if door == DOORS[0] else first.newSession(), scratch) for door in doors}
        answers = []
        for case in CASES:
            found = {}
            for door, (run, commits) in runs.items():
                found[door] = {**_answer(lambda case=case, run=run: run(case)), "commits": commits()}
            answers.append({"statement": case.text, **found})
        output.write_text(json.dumps(answers, indent=1, default=str).replace(folder, ""), encoding="utf-8")
        first._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(first._jsparkSession)
        first.stop()


def _door(door: str, spark: Any, scratch: Path) -> tuple[Callable[[Case], Any], Callable[[], list[Any]]]:
    """What runs a statement, and what tells the commits since it was called last."""
    own = scratch / door
    if door == DOORS[0]:
        catalog, tables = None, Path(real_path(spark.conf.get("spark.sql.warehouse.dir")))
    else:
        catalog, tables = ds.catalog(f"warehouse:{own}"), own
        own.mkdir()
    if door == "installed":
        ds.install_catalog(spark, "lake", catalog)
        spark.sql("USE lake")
    active = spark._jvm.org.apache.spark.sql.classic.SparkSession

    def run(case: Case) -> Any:
        active.setActiveSession(spark._jsparkSession)
        text = case.text.replace("$FOLDER", f"{own}-")
        given = {} if case.params is None else {"args": case.params}
        of_spark = catalog is None or _OF_SESSION.match(text)
        if of_spark or (door == "installed" and not _OF_CATALOG.match(text) and "refused" not in case.notes):
            return spark.sql(text, **given)
        if door == "installed" and "refused" in case.notes:
            refused = False
            try:
                spark.sql(text, **given)
            except Exception:
                refused = True
            assert refused, f"Spark's own SQL runs {text}"
        return catalog.sql(spark, text, case.params)

    known: dict[Path, int] = {}

    def commits() -> list[Any]:
        found = []
        for path in sorted(tables.rglob("_delta_log/*.json")):
            if path.stem.isdecimal() and known.get(path) != path.stat().st_ino:
                known[path] = path.stat().st_ino
                table = unquote(str(path.parents[1].relative_to(tables))).replace(".db/", "/").lower()
                found.append([table, *_commit(path)])
        return found

    commits()
    return run, commits


def _commit(path: Path) -> tuple[str, dict[str, str]]:
    """The operation of a commit, and those of its metrics in which all doors agree."""
    actions = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    info = next(each["commitInfo"] for each in actions if "commitInfo" in each)
    metrics = info.get("operationMetrics") or {}
    return info["operation"], {name: str(metrics[name]) for name in sorted(metrics) if _METRICS.fullmatch(name)}


def _answer(run: Any) -> dict[str, Any]:
    """The columns and rows of a statement, or its error."""
    try:
        frame = run()
        rows = [_plain(row, frame.columns) for row in frame.collect()]
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500], "trace": traceback.format_exc()[-1500:]}
    return {
        "columns": [(each.name, each.dataType.simpleString()) for each in frame.schema.fields],
        "rows": sorted(rows, key=str),
    }


def _plain(row: Any, names: list[str]) -> list[str]:
    of_users = () if "format" in names else ("id", "name")
    return [
        f"{name}: {value}" for name, value in zip(names, row, strict=True)
        if name in of_users or not (name in _OWN or _OF_SIZE.search(name))
    ]  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]) or DOORS)
