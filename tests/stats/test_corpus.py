"""Statistics computed out of the corpus' data files against those that delta-spark wrote into its logs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import deltaskip as ds
from deltaskip.stats import compute
from tests import corpus
from tests.stats.rowwise import parsed

# Tables whose logs say something else than their files for a reason that is not the writer's rule.
OTHER = {
    "craft__stats_odd_values": "edited by hand",
    "craft__stats_partial": "edited by hand",
    "craft__stats_wide_bounds": "edited by hand",
    "gen__stats_cols_2": "the columns with statistics were chosen anew after files were written",
    "golden__data-skipping-change-stats-collected-across-versions": "the columns were chosen anew",
    "gen__type_widening": "statistics of files from before the type was widened",
    "golden__type-widening": "statistics of files from before the type was widened",
    "golden__data-skipping-basic-stats-all-types-checkpoint": "timestamps in a zone other than UTC",
    "golden__data-skipping-basic-stats-all-types-columnmapping-id": "timestamps in a zone other than UTC",
    "golden__data-skipping-basic-stats-all-types-columnmapping-name": "timestamps in a zone other than UTC",
    "golden__kernel-timestamp-PST": "timestamps in a zone other than UTC",
    "kernelrs__parsed-stats": "statistics of a column that its files lack",
}
DELTA_SPARK = ("Apache-Spark/",)


@cache
def logged(path: Path) -> dict[str, str]:
    """Decoded path → statistics of files that delta-spark added."""
    found: dict[str, str] = {}
    for commit in sorted((path / "_delta_log").glob("*.json")):
        actions = []
        for line in commit.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                actions.append(json.loads(line))
            except ValueError:
                continue
        engine = next((str(a["commitInfo"].get("engineInfo")) for a in actions if "commitInfo" in a), "")
        for action in actions:
            add = action.get("add")
            if add and add.get("stats") and engine.startswith(DELTA_SPARK):
                found[unquote(add["path"])] = add["stats"]
    return found


@pytest.mark.parametrize("table", corpus.table_params("read"))
def test_statistics_are_those_of_delta_spark(table: corpus.CorpusTable) -> None:
    if table.name in OTHER:
        pytest.skip(OTHER[table.name])
    stats = logged(table.path)
    if not stats:
        pytest.skip("delta-spark did not write statistics into its commits")
    snapshot = ds.DeltaTable(table.path).snapshot
    files = ds.DeltaTable(table.path).scan().files().select(["path", "uri", "deletion_vector"]).to_pylist()
    for file in files:
        if file["deletion_vector"] is not None or file["path"] not in stats:
            continue
        expected: dict[str, Any] = parsed(stats[file["path"]])
        for mode in ("auto", "scan"):
            found = compute(
                [file["uri"]],
                snapshot.schema,
                mode=mode,  # type: ignore[arg-type]
                partition_columns=snapshot.partition_columns,
                mapping_mode=snapshot.mapping_mode,
                properties=ds.DeltaTable(table.path).properties,
                tight_bounds="tightBounds" in expected,
            )
            assert parsed(found["stats"][0].as_py()) == expected, (file["path"], mode)
