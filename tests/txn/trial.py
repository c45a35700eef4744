"""Writers that change one table at once, for some seconds; then their serial order is looked for.

    python -m tests.txn.trial FOLDER [--seconds 300] [--writers arrow arrow delta-spark] [--seed 1]

Each writer is a process that appends, deletes, updates, merges and optimizes in turn. `arrow` is deltaskip without
Spark, `spark` deltaskip with a session, `delta-spark` needs DELTASKIP_DELTA_JARS. Every commit has the operation in its
userMetadata, so that the log is the history. The trial fails unless the rows are those of the operations one after the
other, in the order of the log; every operation that a writer saw succeed is in the log once, and every one that failed
did so by a conflict with a name.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.errors import CommitConflict
from tests import builder

ROOT = Path(__file__).resolve().parents[2]
KEYS = 400
PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}
_WEIGHTS = {"append": 3, "delete": 4, "update": 4, "merge": 3, "optimize": 1}

# How delta-spark names a conflict.
_CONFLICT = re.compile(r"DELTA_CONCURRENT_\w+|Concurrent\w+Exception")

Operation = dict[str, Any]
Rows = dict[int, int]


def made(folder: Path, properties: Mapping[str, str] | None = None) -> ds.DeltaTable:
    """The table that the writers change, with two files of KEYS rows in all."""
    table = ds.DeltaTable.create(folder, "id BIGINT, v BIGINT", properties={**PROPERTIES, **(properties or {})})
    for half in range(2):
        table.append(rows_of(dict.fromkeys(range(half * KEYS // 2, (half + 1) * KEYS // 2), 0)))
    return table


def rows_of(rows: Rows) -> pa.Table:
    """Rows by id as Arrow."""
    return pa.table({"id": pa.array(rows.keys(), pa.int64()), "v": pa.array(rows.values(), pa.int64())})


def chosen(rng: random.Random, name: str, number: int) -> Operation:
    """A random operation of a writer; `tag` is its own."""
    kind = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    found: Operation = {"kind": kind, "tag": f"{name}-{number}"}
    if kind in ("delete", "update"):
        low = rng.randrange(KEYS)
        found |= {"low": low, "high": low + rng.choice([1, 3, 40]), "every": rng.choice([1, 1, 7])}
    if kind in ("append", "merge"):
        found["ids"] = sorted(rng.sample(range(KEYS * 2), rng.choice([1, 5, 20])))
    if kind == "append":
        # Ids that only this operation has.
        start = KEYS * 1000 * (1 + sum(map(ord, name))) + number * 100
        found["ids"] = [start + i for i in range(len(found["ids"]))]
    found["v"] = rng.randrange(1, 1000)
    return found


def replayed(rows: Rows, done: Operation) -> Rows:
    """The rows after an operation."""
    match done["kind"]:
        case "append":
            return {**rows, **dict.fromkeys(done["ids"], done["v"])}
        case "delete":
            return {i: v for i, v in rows.items() if not _matches(i, done)}
        case "update":
            return {i: v + done["v"] if _matches(i, done) else v for i, v in rows.items()}
        case "merge":
            return {**rows, **{i: rows[i] * 2 + done["v"] if i in rows else done["v"] for i in done["ids"]}}
        case _:
            return rows


def _matches(row: int, done: Operation) -> bool:
    return done["low"] <= row < done["high"] and row % done["every"] == 0


def _where(done: Operation) -> str:
    return f"id >= {done['low']} AND id < {done['high']} AND id % {done['every']} = 0"


def changed(folder: Path, done: Operation, spark: Any) -> int | None:
    """Carry out an operation with deltaskip; the version, None if nothing was to do."""
    table, metadata = ds.DeltaTable(folder), json.dumps(done)
    match done["kind"]:
        case "append":
            return table.append(rows_of(dict.fromkeys(done["ids"], done["v"])), user_metadata=metadata).version
        case "delete":
            return table.delete(_where(done), spark, user_metadata=metadata).version
        case "update":
            return table.update({"v": f"v + {done['v']}"}, _where(done), spark, user_metadata=metadata).version
        case "merge":
            source: Any = rows_of(dict.fromkeys(done["ids"], done["v"]))
            builder = table.merge(source, "t.id = s.id", "s", "t", spark=spark, user_metadata=metadata)
            builder = builder.when_matched_update({"v": "t.v * 2 + s.v"}).when_not_matched_insert_all()
            return builder.execute().version
        case _:
            return table.optimize(user_metadata=metadata).version


def changed_by_delta_spark(folder: Path, done: Operation, spark: Any) -> int | None:
    """Carry out an operation with delta-spark; 0 if it may have committed."""
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", json.dumps(done))
    table = f"delta.`{folder}`"
    if done["kind"] in ("append", "merge"):
        data = [(i, done["v"]) for i in done["ids"]]
        frame = spark.createDataFrame(data, "id BIGINT, v BIGINT")
        if done["kind"] == "append":
            frame.coalesce(1).write.format("delta").mode("append").save(str(folder))
            return 0
        frame.createOrReplaceTempView("source")
    spark.sql(
        {
            "delete": f"DELETE FROM {table} WHERE {_where(done) if 'low' in done else ''}",
            "update": f"UPDATE {table} SET v = v + {done['v']} WHERE {_where(done) if 'low' in done else ''}",
            "merge": f"MERGE INTO {table} t USING source s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET v = t.v * 2 + s.v WHEN NOT MATCHED THEN INSERT *",
            "optimize": f"OPTIMIZE {table}",
        }[done["kind"]]
    ).collect()
    return 0


def work(folder: Path, name: str, kind: str, seconds: float, seed: int, pause: float) -> None:
    """One writer; prints a line of JSON for each operation, with its version or the conflict."""
    rng = random.Random(f"{seed} {name}")
    spark = None if kind == "arrow" else _session(folder.with_name(f"{folder.name}-{name}"), kind)
    act = changed_by_delta_spark if kind == "delta-spark" else changed
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    end, number, committed = time.monotonic() + seconds, 0, False
    # A writer that has only met conflicts goes on until the others have ended and it can commit.
    while time.monotonic() < end or not committed:
        number += 1
        if kind != "delta-spark":
            time.sleep(rng.uniform(0, pause))
        done = chosen(rng, name, number)
        said: dict[str, Any] = {"done": done}
        try:
            said["version"] = act(folder, done, spark)
            committed = committed or bool(said["version"]) or done["kind"] in ("append", "merge")
        except CommitConflict as error:
            said["conflict"] = f"CommitConflict {error.kind}"
        except Exception as error:
            named = _CONFLICT.search(f"{type(error).__name__} {error}")
            if kind != "delta-spark" or named is None:
                raise
            said["conflict"] = named.group()
        print(json.dumps(said), flush=True)
    if spark is not None:
        spark.stop()


def _session(scratch: Path, kind: str) -> Any:
    if kind == "delta-spark":
        from tests.reference.oracle import session

        return session(scratch)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", "1").config("spark.driver.memory", "1g").getOrCreate()


def run(folder: Path, writers: Sequence[str], seconds: float, seed: int, pause: float = 0.0) -> dict[str, Any]:
    """Let writers change the table, check what they left, and return counts. Raises AssertionError.

    pause: the longest time that a writer of deltaskip waits before an operation, so that delta-spark, which needs
    seconds for one, has its turn.
    """
    table = made(folder)
    started = []
    for number, kind in enumerate(writers):
        name = f"{kind}{number}"
        command = [sys.executable, "-m", "tests.txn.trial", str(folder), "--work", name, kind]
        command += ["--seconds", str(seconds), "--seed", str(seed), "--pause", str(pause)]
        log = folder.with_name(f"{folder.name}-{name}.log").open("w")
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        started.append((name, process))
    for name, process in started:
        assert process.stdout is not None and process.stdout.readline(), f"{name} did not start"
    for _, process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said: list[dict[str, Any]] = []
    for name, process in started:
        output, _ = process.communicate(timeout=seconds * 3 + 300)
        errors = folder.with_name(f"{folder.name}-{name}.log").read_text()
        assert process.returncode == 0, f"{name} failed:\n{errors[-4000:]}"
        said += [json.loads(line) for line in output.splitlines()]
    return check(table.refresh(), said)


def check(table: ds.DeltaTable, said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compare the table with the operations of its log, one after the other."""
    history = logged(table)
    rows = dict.fromkeys(range(KEYS), 0)
    for version, done in history:
        if done is not None:
            rows = replayed(rows, done)
        else:
            assert version <= 2, f"version {version} has no operation"
    found = live_rows(table)
    assert len(found) == len({i for i, _ in found}), "a row is there twice"
    assert dict(found) == rows, _difference(dict(found), rows)
    tags = Counter(done["tag"] for _, done in history if done is not None and done["kind"] != "optimize")
    assert not [tag for tag, count in tags.items() if count > 1], "an operation was committed twice"
    for each in said:
        done = each["done"]
        if done["kind"] == "optimize":
            continue
        if "conflict" in each:
            assert done["tag"] not in tags, f"{done} failed, and is in the log"
        elif each["version"] is None:
            assert done["tag"] not in tags
        elif each["version"] > 0 or done["kind"] in ("append", "merge"):
            assert done["tag"] in tags, f"{done} is lost"
    kinds = Counter(each["done"]["kind"] for each in said if "conflict" not in each)
    writers = Counter(done["tag"].rpartition("-")[0] for _, done in history if done is not None)
    return {
        "versions": table.version,
        "rows": len(rows),
        "operations": dict(kinds),
        "commits": dict(writers),
        "conflicts": dict(Counter(each["conflict"] for each in said if "conflict" in each)),
    }


def logged(table: ds.DeltaTable) -> list[tuple[int, Operation | None]]:
    """Version and operation of every commit."""
    found: list[tuple[int, Operation | None]] = []
    for version in range(table.version + 1):
        text = builder.logged(table.snapshot.root, version, kind="commitInfo")[0].get("userMetadata")
        found.append((version, None if text is None else json.loads(text)))
    return found


def live_rows(table: ds.DeltaTable) -> list[tuple[int, int]]:
    """The rows of the table, by pyarrow and the deletion vectors."""
    from tests.dml.tables import rows_of as stored

    return [(row["id"], row["v"]) for row in stored(table)]


def _difference(found: Rows, wanted: Rows) -> str:
    keys = [i for i in found.keys() | wanted.keys() if found.get(i) != wanted.get(i)]
    return f"{len(keys)} rows differ: " + ", ".join(f"{i}: {found.get(i)} != {wanted.get(i)}" for i in sorted(keys)[:9])


def main() -> None:
    """Run a trial, or one of its writers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--writers", nargs="+", default=["arrow", "spark", "delta-spark"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0, help="longest pause of deltaskip before an operation")
    parser.add_argument("--work", nargs=2)
    options = parser.parse_args()
    if options.work:
        work(options.folder, *options.work, options.seconds, options.seed, options.pause)  # type: ignore[call-arg]
        return
    found = run(options.folder, options.writers, options.seconds, options.seed, options.pause)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
