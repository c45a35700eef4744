"""Adaptive metadata trees that are written: their entries, statistics and forms, beside the log without them."""

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.kernels.deletion_vector import decode
from deltaskip.storage import LocalStorage
from deltaskip.txn.tree_commit import CommittedTree, commit_tree
from tests.builder import json_lines, logged
from tests.extent import extent
from tests.txn.built_trees import Tree

COLUMNS = (
    "id BIGINT, s STRING, ts TIMESTAMP, d DECIMAL(9,2), x DOUBLE, st STRUCT<a INT, b STRING>, part INT, `p q` STRING"
)
FORMS = pytest.mark.parametrize("feature", ["adaptiveMetadata-preview", "adaptiveMetadata"])
START = datetime(2024, 1, 1, tzinfo=UTC)


def made(
    path: Path, feature: str, columns: str = COLUMNS, partition: str = "part", interval: int = 1000
) -> ds.DeltaTable:
    return Tree(path, True, columns, partition, feature, interval).table


def instant(number: int) -> datetime:
    return START + timedelta(days=number, microseconds=1000 * number if number % 2 else number)


def rows(ids: list[int], part: int | None) -> pa.Table:
    return pa.table({
        "id": pa.array(ids, pa.int64()), "s": [f"s{i}" for i in ids],
        "ts": pa.array(map(instant, ids), pa.timestamp("us", "UTC")),
        "d": pa.array([Decimal(i) / 4 if i % 3 else None for i in ids], pa.decimal128(9, 2)),
        "x": [float(i) if i % 7 else float("nan") for i in ids],
        "st": [{"a": i, "b": f"b{i}"} for i in ids],
        "part": pa.array([part] * len(ids), pa.int32()),
        "p q": ["a b/%" if (part or 0) % 2 else None] * len(ids),
    })  # fmt: skip


def files(table: ds.DeltaTable) -> dict[str, Any]:
    """What trees keep of each file."""
    kept = ("size", "partition_values", "base_row_id", "default_row_commit_version", "deletion_vector")
    return {
        each["path"]: ([each[name] for name in kept], json.loads(each["stats"])["numRecords"])
        for each in table.snapshot.adds().to_pylist()
    }


def manifests(table: Path, kind: str) -> list[pa.Table]:
    """The manifests of a kind, the newest first."""
    paths = sorted((table / "metadata").glob(f"{kind}-*.parquet"), key=lambda each: -each.stat().st_mtime_ns)
    return [pq.read_table(path) for path in paths]


# Predicates of a number, and whether the row with an id matches.
PREDICATES: tuple[tuple[str, Any], ...] = (
    ("id = {0}", lambda i, low: i == low),
    ("st.a <= {0} AND st.a > {0} - 5", lambda i, low: low - 5 < i <= low),
    ("x > {0}", lambda i, low: i % 7 == 0 or i > low),
    ("ts >= TIMESTAMP '2024-01-01' + INTERVAL '{0}' DAY", lambda i, low: i >= low),
    ("ts > TIMESTAMP '2024-01-01' + INTERVAL '{0}' DAY", lambda i, low: i > low or (i == low and i > 0)),
    ("d >= {0} / 4.0", lambda i, low: i % 3 and i >= low),
    ("d IS NULL AND id < {0}", lambda i, low: i % 3 == 0 and i < low),
)


@FORMS
@pytest.mark.parametrize("partition", ["part", "p q"])
def test_tables_with_trees_have_the_rows_of_a_model(tmp_path: Path, feature: str, partition: str) -> None:
    table, chance = made(tmp_path / "t", feature, COLUMNS, partition), random.Random(feature + partition)
    model: dict[int, int | None] = {}
    trees = 0
    for step in range(extent(14, 300)):
        kind = chance.choice(
            ("append", "append", "append", "delete", "update", "part", "stats", "optimize", "tree", "tree")
        )
        low = chance.randrange(max(model, default=1) + 1)
        if kind == "append" or not model:
            ids, part = [step * 20 + i for i in range(12)], chance.choice([None, 1, 2, 3])
            table.append(rows(ids, part))
            model |= dict.fromkeys(ids, part)
        elif kind == "delete":
            table.delete(f"id BETWEEN {low} AND {low + 5}")
            model = {key: value for key, value in model.items() if not low <= key <= low + 5}
        elif kind == "update":
            table.update({"s": f"'u{step}'"}, where=f"id BETWEEN {low} AND {low + 3}")
        elif kind == "part":
            part = chance.choice([1, 2, 3])
            table.delete(f"part = {part} AND id < {low}")
            model = {key: value for key, value in model.items() if not (value == part and key < low)}
        elif kind == "stats":
            table.recompute_stats(where=f"id >= {low}")
        elif kind == "optimize":
            table.optimize(where="part = 1" if partition == "part" else None)
        else:
            before = files(ds.DeltaTable(str(tmp_path / "t")))
            trees += commit_tree(table.snapshot, chance.choice([3, 5, 50]), chance.choice([0, 2, 100])).written
            table.refresh()
            assert files(ds.DeltaTable(str(tmp_path / "t"))) == before, step
        for handle in (table, ds.DeltaTable(str(tmp_path / "t"))):
            found = handle.scan().to_arrow().to_pylist()
            assert {row["id"]: row["part"] for row in found} == model and len(found) == len(model), (step, kind)
            low = chance.randrange(max(model, default=1) + 1)
            for text, matches in PREDICATES:
                kept = handle.scan(text.format(low), time_zone="UTC").to_arrow()["id"].to_pylist()
                assert sorted(kept) == sorted(i for i in model if matches(i, low)), (step, kind, text, low)
    assert trees and not ds.DeltaTable(str(tmp_path / "t")).verify(data=True).errors


@FORMS
def test_manifests_and_files_are_skipped_by_their_statistics(tmp_path: Path, feature: str) -> None:
    table = made(tmp_path / "t", feature)
    for start in range(0, 300, 10):
        table.append(rows([start + i for i in range(10)], 1))
    assert commit_tree(table.snapshot, 8, 2).written
    table = ds.DeltaTable(str(tmp_path / "t"))
    [root] = manifests(tmp_path / "t", "root")
    leaves = [entry for entry in root.to_pylist() if entry["content_type"] == 3]
    assert len(leaves) >= 3 and len(table.snapshot.checkpoint_parts) == len(leaves) + 1
    for text, kept in (
        ("id = 155", 1),
        ("s > 't'", 0),
        ("st.b = 'b17'", 2),
        ("d > 70", 2),
        ("ts < TIMESTAMP '2024-01-05'", 1),
    ):
        assert len(table.scan(text, time_zone="UTC").paths()) == kept, text
    for entry in leaves:
        stats = entry["content_stats"]
        assert stats["1"]["null_value_count"] == 0 and stats["1"]["tight_bounds"] is True
        assert stats["1"]["lower_bound"] % 10 == 0 and stats["1"]["upper_bound"] % 10 == 9
        assert stats["5"]["upper_bound"] is None, "NaN is no bound"
    totals = table.scan().aggregate(n="count(*)", low="min(id)", high="max(d)", last="max(ts)", most="max(st.a)")
    assert totals.to_pylist() == [{"n": 300, "low": 0, "high": Decimal("74.75"), "last": instant(299), "most": 299}]


@FORMS
def test_the_action_has_the_form_of_its_feature(tmp_path: Path, feature: str) -> None:
    table = made(tmp_path / "t", feature)
    table.append(rows([1, 2], 1), txn=("app", 7))
    written = table.checkpoint()
    assert (written.version, table.version, written.num_adds) == (1, 2, 1)
    info, action = logged(tmp_path / "t", 2)
    assert info["commitInfo"]["operation"] == "OPTIMIZE CHECKPOINT"
    assert info["commitInfo"]["lastManifestCommit"] == {"version": 2, "contentRootVersion": 1}
    checkpoint = action["checkpoint"]
    [path] = [each.relative_to(tmp_path / "t").as_posix() for each in (tmp_path / "t" / "metadata").iterdir()]
    root = {"path": path, "sizeInBytes": (tmp_path / "t" / path).stat().st_size}
    if feature == "adaptiveMetadata":
        assert checkpoint[:2] == [{"checkpointMetadata": {"version": 1}}, {"contentRoot": {**root, "version": 1}}]
        assert [name for each in checkpoint[2:] for name in each] == ["protocol", "metaData", "txn", "domainMetadata"]
    else:
        assert (checkpoint["version"], checkpoint["contentRoot"]) == (1, root)
        assert [each["appId"] for each in checkpoint["txns"]] == ["app"]
        assert [each["domain"] for each in checkpoint["domainMetadata"]] == ["delta.rowTracking"]
    assert ds.DeltaTable(str(tmp_path / "t")).snapshot.txns["app"].version == 7
    again = table.checkpoint()
    assert not again.written and table.version == 2


def test_manifests_stay_until_many_of_their_entries_have_ended(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "adaptiveMetadata")
    for start in range(40):
        table.append(rows([start], start))
    commit_tree(table.snapshot, 100, 0)
    [first] = (tmp_path / "t" / "metadata").glob("leaf-*")
    for where, kept in (("part = 7", True), ("part IN (8, 9, 10)", True), ("part = 11", False)):
        table.delete(where)
        commit_tree(table.snapshot, 100, 0)
        root, *_ = manifests(tmp_path / "t", "root")
        entries = [entry for entry in root.to_pylist() if entry["content_type"] == 3]
        names = [entry["location"] for entry in entries]
        assert (f"metadata/{first.name}" in names) is kept, where
        for entry in entries:
            info, stats = entry["manifest_info"], entry["content_stats"]["1"]
            dead = info["dv_cardinality"]
            assert stats["tight_bounds"] is (dead is None)
            assert dead is None or len(decode(info["dv"], dead)) == dead
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [i for i in range(40) if not 7 <= i <= 11]


def test_a_tree_is_written_again_of_the_version_that_came_first(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "adaptiveMetadata")
    table.append(rows([1], 1))
    tree = CommittedTree()
    tree.line(table.snapshot)
    [early] = (tmp_path / "t" / "metadata").iterdir()
    stale = ds.DeltaTable(str(tmp_path / "t"))
    table.append(rows([2], 1))
    transaction = stale.transaction(operation="OPTIMIZE CHECKPOINT")
    transaction.changes.may_be_empty, transaction.changes.tree = True, tree
    assert transaction.commit() == 3 and tree.made.version == 2
    assert not early.exists() and len(list((tmp_path / "t" / "metadata").iterdir())) == 1
    # Nothing is left of a tree that is not committed.
    other = CommittedTree()
    other.line(stale.refresh().snapshot)
    other.discard()
    assert len(list((tmp_path / "t" / "metadata").iterdir())) == 1
    assert sorted(ds.DeltaTable(str(tmp_path / "t")).scan().to_arrow()["id"].to_pylist()) == [1, 2]


def rewritten(path: Path, version: int, change: Mapping[str, Any]) -> None:
    """Change members of the add action of a commit."""
    actions = logged(path, version)
    for action in actions:
        if "add" in action:
            action["add"] = {name: each for name, each in {**action["add"], **change}.items() if each is not None}
    (path / "_delta_log" / f"{version:020d}.json").write_text(json_lines(actions), encoding="utf-8")
    (path / "_delta_log" / f"{version:020d}.crc").unlink()


INLINE = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", "sizeInBytes": 40,
          "cardinality": 6}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stats": '{"minValues":{}}'}, r"its number of rows of .*: call recompute_stats\(\) first"),
        ({"baseRowId": None}, "row ids of .*: enable row tracking"),
        ({"deletionVector": INLINE}, "deletion vector of .* is inline in the log"),
        ({"partitionValues": {"part": "x"}}, "'x' is not"),
    ],
)
def test_what_an_entry_cannot_say_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    table = made(tmp_path / "t", "adaptiveMetadata")
    table.append(rows([1], 1))
    if "partitionValues" in change:
        [add] = [each["add"] for each in logged(tmp_path / "t", 1) if "add" in each]
        change = {"partitionValues": dict.fromkeys(add["partitionValues"], "x")}
    rewritten(tmp_path / "t", 1, change)
    with pytest.raises(ds.UnsupportedFeature, match=words) as raised:
        ds.DeltaTable(str(tmp_path / "t")).checkpoint()
    assert str(tmp_path / "t") in str(raised.value)
    assert not list((tmp_path / "t").glob("metadata/*")) and ds.DeltaTable(str(tmp_path / "t")).version == 1


@FORMS
def test_trees_are_committed_at_the_checkpoint_interval(tmp_path: Path, feature: str) -> None:
    table = made(tmp_path / "t", feature, interval=3)
    versions = [table.append(rows([number], 1)).version for number in range(6)]
    assert versions == [1, 2, 3, 5, 6, 8]
    operations = [each.operation for each in ds.DeltaTable(str(tmp_path / "t")).history()]
    assert operations.count("OPTIMIZE CHECKPOINT") == 2 and ds.DeltaTable(str(tmp_path / "t")).version == 8
    assert len(table.scan().to_arrow()) == 6
    rewritten(tmp_path / "t", 8, {"baseRowId": None})
    broken = ds.DeltaTable(str(tmp_path / "t"))
    with pytest.warns(ds.MaintenanceWarning, match="the metadata tree that is due failed: .*row ids"):
        assert broken.delete("id = 0").version == 9


def test_locations_and_vectors_of_any_name_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a b%é"
    table = made(path, "adaptiveMetadata", "id BIGINT, s STRING, part STRING")
    names = ["x y", "a%20b", "é=ü", "c:d", "z", None]
    table.append(pa.table({"id": range(60), "s": ["x"] * 60, "part": [names[i % 6] for i in range(60)]}))
    table.delete("id IN (1, 2, 9)")
    before = files(table)
    commit_tree(table.snapshot, 4, 0)
    assert files(ds.DeltaTable(str(path))) == before
    assert len(ds.DeltaTable(str(path)).scan().to_arrow()) == 57


def test_manifests_of_other_writers_are_named_again(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "t")
    for number in range(30):
        tree.table.append(pa.table({"id": [number], "s": ["x"], "part": pa.array([number % 3], pa.int32())}))
    tree.build(10)
    tree.table.delete("id IN (4, 5)")
    table = tree.table
    before = files(table)
    assert table.checkpoint().written and files(ds.DeltaTable(str(tmp_path / "t"))) == before
    root, *_ = manifests(tmp_path / "t", "root")
    [entry] = [entry for entry in root.to_pylist() if entry["content_type"] == 3]
    assert entry["format_version"] == 4 and entry["manifest_info"]["dv_cardinality"] == 2
    assert sorted(ds.DeltaTable(str(tmp_path / "t")).scan().to_arrow()["id"].to_pylist()) == [
        number for number in range(30) if number not in (4, 5)
    ]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        # Z85 has the percent sign, and is not decoded.
        ("u", "nJk-+1l1aiS}Kq1u54%ccw"),
        ("u", "k-+1l1aiS}Kq1u54%c3w"),
        ("p", "file:///a%20b/deletion_vector.bin"),
        ("r", "x%20y/z.bin"),
    ],
)
def test_locations_of_vectors_come_back(tmp_path: Path, kind: str, path: str) -> None:
    table = made(tmp_path / "t", "adaptiveMetadata")
    table.append(rows([1, 2], 1))
    vector = {"storageType": kind, "pathOrInlineDv": path, "offset": 1, "sizeInBytes": 36, "cardinality": 1}
    rewritten(tmp_path / "t", 1, {"deletionVector": vector})
    before = files(ds.DeltaTable(str(tmp_path / "t")))
    assert ds.DeltaTable(str(tmp_path / "t")).checkpoint().written
    assert files(ds.DeltaTable(str(tmp_path / "t"))) == before


def test_nothing_is_left_of_a_tree_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path / "t", "adaptiveMetadata")
    for number in range(4):
        table.append(rows([number], 1))
    publish, calls = LocalStorage.publish, count()

    def full(storage: LocalStorage, path: str) -> Any:
        if path.endswith(".parquet") and "/metadata/" in path and next(calls) == 1:
            raise ds.StorageError("no space left")
        return publish(storage, path)

    monkeypatch.setattr(LocalStorage, "publish", full)
    with pytest.raises(ds.StorageError, match="no space left"):
        commit_tree(table.snapshot, 2, 0)
    assert not list((tmp_path / "t" / "metadata").iterdir()) and ds.DeltaTable(str(tmp_path / "t")).version == 4
    assert commit_tree(table.snapshot, 2, 0).written
