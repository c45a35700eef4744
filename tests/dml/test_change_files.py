"""What a commit of changed rows contains, for each statement and set of features: as delta-spark 4.4, but no change
files of files that only go, since readers infer those from the log.

# PROTOCOL, Add CDC File: readers of a version with change files read nothing else
"""

import itertools
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from tests.dml.tables import DDL, actions_of, info_of, row_ids_of, rows
from tests.looped import looped

FEED = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}

STATEMENTS: dict[str, Callable[[DeltaTable], object]] = {
    "delete of some rows": lambda t: t.delete("id IN (1, 2)"),
    "delete of a partition": lambda t: t.delete("p = 'a'"),
    "delete of all rows": lambda t: t.delete(),
    "delete of the last rows of a file": lambda t: t.delete("x % 2 >= 0 AND p = 'a' OR id IN (0, 12)"),
    "update of some rows": lambda t: t.update({"x": "-1"}, "id IN (1, 2)"),
    "update of a partition": lambda t: t.update({"x": "-1"}, "p = 'a'"),
    "update of all rows": lambda t: t.update({"x": "-1"}),
}
# By statement: adds, removes and change files without deletion vectors; adds, removes and change files with them.
SHAPES: dict[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "delete of some rows": ((2, 2, 2), (2, 2, 0)),
    "delete of a partition": ((0, 1, 0), (0, 1, 0)),
    "delete of all rows": ((0, 3, 0), (0, 3, 0)),
    "delete of the last rows of a file": ((0, 1, 0), (0, 1, 0)),
    "update of some rows": ((2, 2, 2), (4, 2, 2)),
    "update of a partition": ((1, 1, 1), (1, 1, 1)),
    "update of all rows": ((3, 3, 3), (3, 3, 3)),
}


@looped("vectors, name", itertools.product([False, True], STATEMENTS))
def test_section_1_1_commits_have_the_actions_of_their_features(tmp_path: Path, vectors: bool, name: str) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, ["p"], properties={**FEED, **(VECTORS if vectors else {})})
    table.append(rows([i for i in range(14) if i not in (0, 12)]))
    before = row_ids_of(table)
    STATEMENTS[name](table)
    actions = actions_of(table)
    assert tuple(len(actions.get(kind, [])) for kind in ("add", "remove", "cdc")) == SHAPES[name][vectors]
    assert info_of(table)["tags"] == {"delta.rowTracking.preserved": "true"}
    old = {remove["path"]: remove for remove in actions["remove"]}
    for add in actions.get("add", []):
        marked = add["path"] in old
        assert ("deletionVector" in add) == marked
        # A file that stays keeps its ids, a new one takes fresh ones above the mark.
        assert add["baseRowId"] == old[add["path"]]["baseRowId"] if marked else add["baseRowId"] >= len(before)
        assert add["defaultRowCommitVersion"] == (1 if marked else 2)
    assert all(cdc["path"].startswith("_change_data/") and not cdc["dataChange"] for cdc in actions.get("cdc", []))
    grown = any(add["path"] not in old for add in actions.get("add", []))
    assert ("domainMetadata" in actions) == grown
    after = row_ids_of(table)
    assert {i: row_id for i, (row_id, _) in after.items()} == {i: before[i][0] for i in after}


@pytest.mark.parametrize("vectors", [False, True])
def test_rule_47_change_files_contain_every_change_of_the_commit(tmp_path: Path, vectors: bool) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, ["p"], properties={**FEED, **(VECTORS if vectors else {})})
    table.append(rows(range(12)))
    # All rows of one partition, and some of the others.
    table.update({"x": "id * 10", "p": "'new'"}, "p = 'a' OR id IN (1, 2)")
    changed = [0, 1, 2, 3, 6, 9]
    found: list[tuple[str, int]] = []
    for cdc in actions_of(table)["cdc"]:
        data = pq.ParquetFile(tmp_path / "t" / cdc["path"]).read().to_pylist()
        new = cdc["partitionValues"]["p"] == "new"
        assert {row["_change_type"] for row in data} == {"update_postimage" if new else "update_preimage"}
        found += [(row["_change_type"], row["id"]) for row in data]
    assert sorted(found) == [(kind, i) for kind in ("update_postimage", "update_preimage") for i in changed]
