"""Statistics that delta-spark wrote into a log, beside those computed out of the data files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltaskip as ds
from deltaskip.sparkexpr.types import collation_of, leaves
from deltaskip.stats import compute
from tests.stats.rowwise import parsed

_DELTA_SPARK = "Apache-Spark/"


def logged_stats(path: Path) -> dict[str, str]:
    """Decoded path → statistics of the files that delta-spark's commits added, the last commit's of each."""
    found: dict[str, str] = {}
    for commit in sorted((path / "_delta_log").glob("*.json")):
        actions = list(_actions(commit))
        engine = next((str(a["commitInfo"].get("engineInfo")) for a in actions if "commitInfo" in a), "")
        for action in actions:
            add = action.get("add")
            if add and add.get("stats") and engine.startswith(_DELTA_SPARK):
                found[unquote(add["path"])] = add["stats"]
    return found


def compared(path: Path, mode: Any) -> Iterator[tuple[str, Any, Any]]:
    """(path, statistics computed, statistics that delta-spark logged) of the active files without deleted rows."""
    stats = logged_stats(path)
    table = ds.DeltaTable(path)
    for file in table.scan().files().select(["path", "uri", "deletion_vector"]).to_pylist():
        if file["deletion_vector"] is not None or file["path"] not in stats:
            continue
        expected = parsed(stats[file["path"]])
        found = compute(
            [file["uri"]],
            table.schema,
            mode=mode,
            partition_columns=table.partition_columns,
            mapping_mode=table.snapshot.mapping_mode,
            properties=table.properties,
            tight_bounds="tightBounds" in expected,
        )
        computed = parsed(found["stats"][0].as_py())
        for column in leaves(table.schema, table.snapshot.mapping_mode):
            if collation_of(column) is not None:
                # delta-spark writes no bounds of collated strings, which binary ones are legal for.
                for group in ("minValues", "maxValues"):
                    _remove(computed[group], column.physical)
        yield file["path"], computed, expected


def _remove(tree: dict[str, Any], path: tuple[str, ...]) -> None:
    if len(path) > 1:
        _remove(tree[path[0]], path[1:])
    if len(path) == 1 or not tree[path[0]]:
        del tree[path[0]]


def _actions(commit: Path) -> Iterator[dict[str, Any]]:
    for line in commit.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            action = json.loads(line)
        except ValueError:
            continue
        if isinstance(action, dict):
            yield action
