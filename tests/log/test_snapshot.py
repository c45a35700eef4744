"""Snapshots made of some adds."""

from __future__ import annotations

import pyarrow.compute as pc

from deltaskip.log import Snapshot
from deltaskip.log.commit import read_commits
from deltaskip.log.segment import list_commits
from deltaskip.storage import open_storage
from tests.log.builder import TableBuilder, add, metadata


def test_a_snapshot_of_adds_contains_only_them(table: TableBuilder) -> None:
    head = metadata(configuration={"delta.appendOnly": "true"})
    table.commit({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, head, add("a"))
    table.commit(add("b"))
    table.commit(add("c"), add("d", dataChange=False))
    storage, root = open_storage(table.path)
    commits = read_commits(storage, root, list_commits(storage, root, 1))
    base = table.load(0)
    made = Snapshot.of_adds(base, commits.actions.filter(pc.field("data_change")), commits.files)
    assert sorted(made.adds(["path"])["path"].to_pylist()) == ["b", "c"]
    assert (made.version, made.num_files, made.root) == (2, 2, base.root)
    assert (made.protocol, made.metadata) == (base.protocol, base.metadata)
    assert made.table_properties.append_only
