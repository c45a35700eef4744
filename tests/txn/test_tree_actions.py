"""Commits of tables with an adaptive metadata tree, and newer trees that are built from these commits alone."""

import json
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions import AddFile
from deltaskip.kernels.deletion_vector import decode
from deltaskip.kernels.roaring_encode import encode
from tests.extent import extent
from tests.txn.built_trees import Tree


def rows_of(table: ds.DeltaTable) -> dict[int, tuple[str, int | None]]:
    found = table.scan().to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: (row["s"], row["part"]) for row in found}


@pytest.mark.parametrize("relative", [False, True])
def test_commits_and_trees_in_turns_have_the_rows_of_a_model(tmp_path: Path, relative: bool) -> None:
    tree, rng = Tree(tmp_path / "t", relative), random.Random(f"{relative}")
    model: dict[int, tuple[str, int | None]] = {}
    ended = known = 0
    for step in range(extent(30, 200)):
        table, kind = tree.table, rng.choice(("append", "append", "delete", "delete", "update", "partition", "stats"))
        low = rng.randrange(max(model, default=1) + 1)
        if kind == "append" or not model:
            ids = [step * 20 + i for i in range(12)]
            part = rng.choice([None, 1, 2, 3])
            table.append(pa.table({"id": ids, "s": ["x"] * 12, "part": pa.array([part] * 12, pa.int32())}))
            model |= dict.fromkeys(ids, ("x", part))
        elif kind == "delete":
            table.delete(f"id BETWEEN {low} AND {low + 5}")
            model = {key: value for key, value in model.items() if not low <= key <= low + 5}
        elif kind == "update":
            table.update({"s": f"'u{step}'"}, where=f"id BETWEEN {low} AND {low + 3}")
            model |= {key: (f"u{step}", model[key][1]) for key in model if low <= key <= low + 3}
        elif kind == "partition":
            part = rng.choice([1, 2, 3])
            table.delete(f"part = {part} AND id < {low}")
            model = {key: value for key, value in model.items() if not (value[1] == part and key < low)}
        else:
            table.recompute_stats(where=f"id >= {low}")
        assert rows_of(tree.table) == model, (step, kind)
        assert rows_of(table) == model, (step, kind)
        newest = tmp_path / "t" / "_delta_log" / f"{tree.table.version:020d}.json"
        said = json.loads(newest.read_text().splitlines()[0])["commitInfo"].get("lastManifestCommit")
        # delta-spark does not believe a tree that the version checksum does not know.
        assert not said or json.loads(newest.with_suffix(".crc").read_text())["lastManifestCommit"] == said
        known += bool(said)
        if rng.random() < 0.4:
            before = tree.table.snapshot.num_files
            tree.build(rng.choice([0, 3, 8]))
            assert rows_of(tree.table) == model, (step, "tree")
            assert tree.table.snapshot.num_files == before
            ended += sum(len(dead) for _, _, dead in tree.leaves.values())
    assert ended and known, "no entry of a manifest was ended"
    assert not list((tmp_path / "t" / "_delta_log").glob("*.checkpoint*"))
    assert not list((tmp_path / "t" / "_delta_log").glob("*.compacted*"))


def test_many_files_are_removed_with_the_places_of_their_entries(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t", True)
    for start in range(0, 80, 2):
        tree.table.append(
            pa.table({"id": [start, start + 1], "s": ["x", "y"], "part": pa.array([start, start], pa.int32())})
        )
    tree.build(10)
    tree.table.append(pa.table({"id": [500], "s": ["z"], "part": pa.array([7], pa.int32())}))
    tree.table.delete("part < 75")
    tree.build(100)
    [(_, count, dead)] = tree.leaves.values()
    assert (count, len(dead)) == (40, 38) and set(rows_of(tree.table)) == {76, 77, 78, 79}


def test_the_places_are_those_of_the_tree_that_won(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t", True)
    for number in range(6):
        tree.table.append(pa.table({"id": [number], "s": ["x"], "part": pa.array([1], pa.int32())}))
    tree.build(1)
    old = tree.table
    transaction = old.transaction(operation="DELETE")
    [gone] = [add for add in old.snapshot.adds().to_pylist() if json.loads(add["stats"])["numRecords"]][:1]
    removed = ds.actions.RemoveFile(gone["path"], True)
    transaction.remove(removed)
    # Another client writes the entries into another manifest.
    files = [json.loads(json.dumps(each.to_json())) for each in ds.actions.add_actions(old.snapshot.adds())]
    tree.leaves, tree.root = {}, {each["path"]: each for each in reversed(files)}
    tree.build(1)
    transaction.commit()
    tree.build(100)
    assert len(rows_of(tree.table)) == 5
    assert {len(dead) for _, _, dead in tree.leaves.values()} == {1}


def test_new_files_have_what_manifests_need(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t", True)
    tree.table.append(pa.table({"id": [1, 2, 3], "s": ["x", "y", "z"], "part": pa.array([1, 1, 2], pa.int32())}))
    tree.build(0)
    tree.table.update({"s": "'u'"}, where="id = 2")
    ids = set()
    for path in (tmp_path / "t").rglob("part-*.parquet"):
        schema = pq.read_schema(path)
        ids |= {field.metadata[b"PARQUET:field_id"] for field in schema}
        assert len([name for name in schema.names if not name.startswith("_row")]) == 3, "a partition column is missing"
    assert {b"2147483540", b"2147483539"} <= ids


def test_what_a_commit_cannot_say_is_refused(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t", True)
    tree.table.append(pa.table({"id": [1], "s": ["x"], "part": pa.array([1], pa.int32())}))
    table = tree.table
    [add] = ds.actions.add_actions(table.snapshot.adds())
    version = table.version + 1
    lost = {**add.to_json(), "path": "lost.parquet", "stats": None}
    info = {"commitInfo": {"inCommitTimestamp": (table.snapshot.in_commit_timestamp or 0) + 1}}
    text = f"{json.dumps(info)}\n{json.dumps({'add': lost})}\n"
    (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").write_text(text)
    (tmp_path / "t" / "_delta_log" / f"{version - 1:020d}.crc").unlink(missing_ok=True)
    transaction = tree.table.transaction(operation="DELETE")
    transaction.remove(ds.actions.RemoveFile("lost.parquet", True))
    with pytest.raises(ds.UnsupportedFeature, match=r"how many rows lost\.parquet has"):
        transaction.commit()
    with pytest.raises(ds.UnsupportedFeature, match="adaptiveMetadata-preview"):
        transaction = tree.table.transaction(operation="WRITE")
        transaction.add(AddFile("new.parquet", dict(add.partition_values), 10, 1, True, stats='{"numRecords":1}'))
        transaction.commit()


@pytest.mark.parametrize(
    "name", ["delta.enableDeletionVectors", "delta.enableRowTracking", "delta.enableInCommitTimestamps"]
)
def test_what_a_tree_needs_is_not_turned_off(tmp_path: Path, name: str) -> None:
    tree = Tree(tmp_path / "t", True)
    with pytest.raises(ds.InvalidCommit, match=rf"{re.escape(name)} off.*rule protocol\.metadata-tree"):
        tree.table.alter_sql(f"SET TBLPROPERTIES ('{name}' = 'false')")


def test_the_builder_ends_entries_as_the_reader_does() -> None:
    data = encode(pa.array([1, 5], pa.int64()))
    assert decode(bytes(data), 2).to_pylist() == [1, 5]
