"""Tables with an adaptive metadata tree that this module writes: what is read, what is refused, and what is skipped."""

import json
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.log import Snapshot, loading
from tests.each import refuses
from tests.log.checkpoint.tree_builder import (
    Entry,
    checkpoint_action,
    entry_schema,
    log_add,
    pointer,
    row_of,
    state,
    write_commit,
    write_manifest,
    write_tree,
)

DAY = date(2024, 1, 1)


def entries(count: int, first: int = 0) -> list[Entry]:
    """Files whose bounds ascend, in three partitions; every seventh lacks some statistics."""
    found = []
    for number in range(first, first + count):
        moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=number)
        stats: dict[str, tuple[Any, Any, int | None, bool | None]] = {
            "id": (number * 10, number * 10 + 9, 0, True),
            "s": (f"s{number:04d}", f"s{number:04d}~", number % 2, True),
            "ts": (moment, moment + timedelta(minutes=59), 0, True),
            "amount": (Decimal(number).scaleb(-2), Decimal(number + 1).scaleb(-2), 0, True),
            "x.y": (number / 2, number / 2 + 0.25, 0, True),
        }
        if number % 7 == 3:
            stats = {"id": stats["id"]}
        partition = (None if number % 3 == 2 else DAY + timedelta(days=number % 3), ["a", "b c/%é", None][number % 3])
        found.append(Entry(f"f{number}.parquet", 10, stats, partition, 1, 5, number * 10))
    return found


def files(table: Path, version: int | None = None) -> list[dict[str, Any]]:
    rows = snapshot_of(table, version).adds().sort_by("path").to_pylist()
    for row in rows:
        row["stats"] = json.loads(row["stats"])
    return rows


def snapshot_of(table: Path, version: int | None = None) -> Snapshot:
    return ds.DeltaTable(str(table), version=version).snapshot


def paths(table: Path, where: str | None = None) -> set[str]:
    return {uri.rpartition("/")[2] for uri in ds.DeltaTable(str(table)).scan(where).files()["uri"].to_pylist()}


def plain(table: Path, adds: list[Entry]) -> Path:
    """A table with the same files, in a commit."""
    write_commit(table, 0, *state(), *map(log_add, adds))
    return table


def filled(value: Any) -> Any:
    """Without objects that have no members."""
    if not isinstance(value, dict):
        return value
    return {name: each for name, inner in value.items() if (each := filled(inner)) != {}}


def test_typed_values_and_statistics_are_those_of_the_log(tmp_path: Path) -> None:
    every = entries(30)
    write_tree(tmp_path / "t", [every[:10], every[10:25]], every[25:])
    expected, found = files(plain(tmp_path / "p", every)), files(tmp_path / "t")
    for row in expected:
        row["stats"] = filled(row["stats"])
    for row in found:
        row["stats"] = filled(row["stats"])
        tight = row["stats"].pop("tightBounds")
        assert tight is True
        for group in ("minValues", "maxValues"):
            if "col-3" in row["stats"][group]:
                moment = datetime.fromisoformat(row["stats"][group]["col-3"])
                row["stats"][group]["col-3"] = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert found == expected
    assert ds.DeltaTable(str(tmp_path / "t")).detail().log.checkpoint_kind == "commit"
    assert snapshot_of(tmp_path / "t").num_files == 30
    assert snapshot_of(tmp_path / "t").totals() == (30, 30_000)


PREDICATES = (
    "id = 55", "id < 40", "id >= 250", "s = 's0007'", "s > 's0020'", "s IS NULL", "ts < '2024-01-01T04:30:00Z'",
    "amount > 0.25", "x.y > 13", "day = DATE '2024-01-02'", "day IS NULL", "p = 'a'", "p IS NULL AND id > 100",
    "day = DATE '2024-01-02' AND id < 100", "id IS NULL", "NOT (id > 20)",
)  # fmt: skip


@pytest.mark.parametrize("inline", [0, 6, 30])
def test_the_files_that_are_kept_are_those_of_the_same_log(tmp_path: Path, inline: int) -> None:
    every = entries(30)
    leaves = [every[start : start + 6] for start in range(inline, 30, 6)]
    write_tree(tmp_path / "t", leaves, every[:inline])
    expected = plain(tmp_path / "p", every)
    for where in PREDICATES:
        assert paths(tmp_path / "t", where) == paths(expected, where), where


def test_a_manifest_whose_entry_rules_out_its_files_is_not_read(tmp_path: Path) -> None:
    every = [each for each in entries(30) if len(each.stats) > 1]
    table = tmp_path / "t"
    write_tree(table, [every[:10], every[10:]])
    (table / "metadata" / "leaf-1.parquet").unlink()
    for where in ("id < 40", "s < 's0003'", "ts < '2024-01-01T02:00:00Z'", "amount < 0.02", "id < 10 OR s < 's0002'"):
        assert paths(table, where), where
    assert paths(table, "id < 40") == {f"f{number}.parquet" for number in range(3)}
    refuses(ds.CorruptLog, r"leaf-1\.parquet.*missing", paths, table, "id >= 200")
    refuses(ds.CorruptLog, r"leaf-1\.parquet.*missing", paths, table, "x.y > 1000")


def test_entries_that_are_not_live_are_left_out(tmp_path: Path) -> None:
    every = entries(20)
    dead = [replace(each, status=status) for each, status in zip(every[:4], (2, 3, 2, 3), strict=True)]
    table = tmp_path / "t"
    write_tree(table, [[*dead[:2], *every[4:10]], every[10:]], dead[2:], dead=[1, 3, 7])
    gone = {f"f{number}.parquet" for number in (0, 1, 2, 3, 5, 9, 11, 13, 17)}
    live = {each.path for each in every} - gone
    assert paths(table) == live
    assert snapshot_of(table).num_files == len(live)
    for where in PREDICATES:
        assert paths(table, where) == paths(plain(tmp_path / "p", [e for e in every if e.path in live]), where), where
        shutil.rmtree(tmp_path / "p")


def test_a_file_without_a_bound_is_kept_though_a_dead_one_has_it(tmp_path: Path) -> None:
    bounded, unknown = entries(2)
    unknown = replace(unknown, stats={}, path="unknown.parquet")
    write_tree(tmp_path / "t", [], [replace(bounded, status=2), unknown])
    assert paths(tmp_path / "t", "id > 1000") == {"unknown.parquet"}


def test_row_ids_and_versions_are_inherited(tmp_path: Path) -> None:
    table = tmp_path / "t"
    own = [
        replace(each, sequence_number=None, first_row_id=None, rows=number + 1)
        for number, each in enumerate(entries(4))
    ]
    own[2] = replace(own[2], status=0, sequence_number=3, first_row_id=7)
    write_tree(table, [own], t={"a": 1, "b": 9, "c": 100})
    found = [(row["default_row_commit_version"], row["base_row_id"]) for row in files(table)]
    assert found == [(9, 100), (9, 101), (3, 7), (9, 103)]


def test_commits_after_the_tree_are_applied(tmp_path: Path) -> None:
    table, every = tmp_path / "t", entries(10)
    vector = ("metadata/deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", 1, 44, 2)
    every[2] = replace(every[2], vector=vector)
    write_tree(table, [every[:5]], every[5:])
    deletion = {
        "storageType": "u", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "offset": 1, "sizeInBytes": 36, "cardinality": 2,
    }  # fmt: skip
    gone = [
        {"remove": {"path": "f1.parquet", "dataChange": True}},
        {"remove": {"path": "f7.parquet", "dataChange": True}},
    ]
    other = {"remove": {"path": "f2.parquet", "dataChange": True, "deletionVector": {**deletion, "offset": 2}}}
    write_commit(table, 2, *gone, other, log_add(Entry("new.parquet")))
    assert paths(table) == {*(f"f{i}.parquet" for i in (0, 2, 3, 4, 5, 6, 8, 9)), "new.parquet"}
    write_commit(table, 3, {"remove": {"path": "f2.parquet", "dataChange": True, "deletionVector": deletion}})
    assert "f2.parquet" not in paths(table) and snapshot_of(table).num_files == 8
    assert snapshot_of(table, 1).num_files == 10


@pytest.mark.parametrize("cut", [False, True])
def test_a_commit_need_not_have_the_actions_on_files_of_its_own_tree(tmp_path: Path, cut: bool) -> None:
    table, every = tmp_path / "t", entries(10)
    write_tree(table, [every[:4]])
    root = write_manifest(table / "metadata" / "root-2.parquet", map(row_of, every[4:]))
    write_commit(table, 2, checkpoint_action(table, root, 2))
    write_commit(table, 3, log_add(Entry("new.parquet")))
    if cut:
        (table / "_delta_log" / f"{0:020d}.json").unlink()
        (table / "_delta_log" / f"{1:020d}.json").unlink()
    assert paths(table) == {"new.parquet", *(each.path for each in every[4:])}
    with pytest.raises(ds.UnsupportedFeature, match=r"Version 2 of .* in an adaptive metadata tree"):
        ds.DeltaTable(str(table)).changes(2, source="rows").files()
    with pytest.raises(ds.UnsupportedFeature, match=r"Version 2 of .* in an adaptive metadata tree"):
        ds.DeltaTable(str(table)).files_since(1)
    handle = ds.DeltaTable(str(table), version=2)
    assert {row["path"] for row in handle.snapshot.adds(["path"]).to_pylist()} == {each.path for each in every[4:]}
    if cut:
        refuses(ds.VersionNotFound, None, snapshot_of, table, 1)
    else:
        assert snapshot_of(table, 1).num_files == 4


def test_a_handle_that_is_refreshed_takes_the_newer_tree(tmp_path: Path) -> None:
    table, every = tmp_path / "t", entries(10)
    write_tree(table, [every[:4]])
    handle = ds.DeltaTable(str(table))
    root = write_manifest(table / "metadata" / "root-2.parquet", map(row_of, every[4:]))
    write_commit(table, 2, checkpoint_action(table, root, 2))
    assert handle.refresh().snapshot.num_files == 6 or handle.snapshot.num_files == 6


def test_a_standalone_checkpoint_has_newer_actions_beside_the_tree(tmp_path: Path) -> None:
    table, every = tmp_path / "t", entries(6)
    root = write_tree(table, [every[:3]], every[3:])
    content = {"path": "metadata/root.parquet", "sizeInBytes": root.stat().st_size, "version": 1}
    add = log_add(Entry("new.parquet"))["add"]
    [protocol], [metadata] = state()[0].values(), state()[1].values()
    rows = [
        {"checkpointMetadata": {"version": 4}}, {"contentRoot": content}, {"protocol": protocol},
        {"metaData": {**metadata, "format": {"provider": "parquet"},
                      "configuration": list(metadata["configuration"].items())}},
        {"add": {**add, "partitionValues": list(add["partitionValues"].items())}},
        {"remove": {"path": "f1.parquet", "dataChange": True}}, {"remove": {"path": "f4.parquet", "dataChange": True}},
        {"txn": {"appId": "a", "version": 3}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    ]  # fmt: skip
    text_map = pa.map_(pa.string(), pa.string())
    schema = pa.schema({
        "checkpointMetadata": pa.struct({"version": pa.int64()}),
        "contentRoot": pa.struct({"path": pa.string(), "sizeInBytes": pa.int64(), "version": pa.int64()}),
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32(),
                               "readerFeatures": pa.list_(pa.string()), "writerFeatures": pa.list_(pa.string())}),
        "metaData": pa.struct({"id": pa.string(), "format": pa.struct({"provider": pa.string()}),
                               "schemaString": pa.string(), "partitionColumns": pa.list_(pa.string()),
                               "configuration": text_map, "createdTime": pa.int64()}),
        "add": pa.struct({"path": pa.string(), "partitionValues": text_map, "size": pa.int64(),
                          "modificationTime": pa.int64(), "dataChange": pa.bool_(), "stats": pa.string()}),
        "remove": pa.struct({"path": pa.string(), "dataChange": pa.bool_()}),
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64()}),
        "domainMetadata": pa.struct({"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}),
    })  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, schema), table / "_delta_log" / f"{4:020d}.checkpoint.parquet")
    write_commit(table, 5, {"remove": {"path": "f0.parquet", "dataChange": True}}, log_add(Entry("newer.parquet")))
    for version in range(2):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    assert paths(table) == {"f2.parquet", "f3.parquet", "f5.parquet", "new.parquet", "newer.parquet"}
    snapshot = snapshot_of(table)
    assert (snapshot.num_files, snapshot.totals()[0]) == (5, 5)
    assert snapshot.txns["a"].version == 3 and "d" in snapshot.domains


def test_sidecars_have_transactions_and_domains(tmp_path: Path) -> None:
    table = tmp_path / "t"
    root = write_tree(table, [], entries(2))
    folder = table / "_delta_log" / "_sidecars"
    folder.mkdir()
    several = []
    for kind, rows in (
        ("txn", [{"appId": "b", "version": 8, "lastUpdated": None}]),
        ("domainMetadata", [{"domain": "user", "configuration": "{}", "removed": False}]),
    ):
        pq.write_table(pa.table({kind: rows}), folder / f"{kind}.parquet")
        size = (folder / f"{kind}.parquet").stat().st_size
        several.append(
            {"sidecar": {"type": kind, "path": f"{kind}.parquet", "sizeInBytes": size, "modificationTime": 1}}
        )
    inline = [{"txn": {"appId": "a", "version": 7}}, {"domainMetadata": {"domain": "delta.x", "configuration": "{}"}}]
    write_commit(table, 2, checkpoint_action(table, root, 2, [*inline, *several]))
    snapshot = snapshot_of(table)
    assert {name: txn.version for name, txn in snapshot.txns.items()} == {"a": 7, "b": 8}
    assert set(snapshot.domains) == {"user", "delta.x"}
    (folder / "txn.parquet").unlink()
    refuses(ds.CorruptLog, r"txn\.parquet.*missing", snapshot_of, table)


def test_what_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    for number, (entry, error, words) in enumerate((
        (Entry("f", content=2), ds.UnsupportedFeature, "content type 2"),
        (Entry("f", status=5), ds.CorruptLog, "unknown status"),
        (Entry("f", file_format="orc"), ds.UnsupportedFeature, "'orc'"),
    )):  # fmt: skip
        for inside, where in enumerate(([[entry]], [])):
            table = tmp_path / f"t{number}{inside}"
            write_tree(table, where, [] if where else [entry], bounded=False)
            with pytest.raises(error, match=words) as raised:
                paths(table)
            assert str(table) in str(raised.value)


def test_such_tables_are_not_cleaned_up(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_tree(table, [entries(3)])
    handle = ds.DeltaTable(str(table))
    for change in (handle.vacuum, handle.clean_up_log):
        refuses(ds.UnsupportedFeature, r"adaptiveMetadata-preview \(.* no clean-up of the log", change)


@pytest.mark.parametrize("name", ["adaptiveMetadata", "adaptiveMetadata-preview"])
def test_tables_do_not_get_the_feature(tmp_path: Path, name: str) -> None:
    words = "deltaskip only keeps"
    with pytest.raises(ds.UnsupportedFeature, match=words):
        ds.DeltaTable.create(str(tmp_path / "t"), "id INT", properties={f"delta.feature.{name}": "supported"})
    handle = ds.DeltaTable.create(str(tmp_path / "u"), "id INT")
    for change in (
        lambda: handle.add_feature(name),
        lambda: handle.alter_sql(f"SET TBLPROPERTIES ('delta.feature.{name}' = 'supported')"),
    ):
        refuses(ds.UnsupportedFeature, words, change)


def without(ids: int) -> pa.Schema:
    """The schema of a manifest without a field."""

    def kept(fields: Any) -> list[pa.Field]:
        found = []
        for each in fields:
            if int(each.metadata[b"PARQUET:field_id"]) != ids:
                type_ = pa.struct(kept(each.type)) if pa.types.is_struct(each.type) else each.type
                found.append(each.with_type(type_))
        return found

    return pa.schema(kept(entry_schema()))


def rewritten(path: Path, change: Callable[[list[dict[str, Any]]], object], schema: pa.Schema | None = None) -> None:
    rows = pq.read_table(path).to_pylist()
    change(rows)
    write_manifest(path, rows, schema)


Mutant = Callable[[Path], object]


def named(path: Path, **info: Any) -> None:
    """Change what the root says of its first manifest."""

    def change(rows: list[dict[str, Any]]) -> None:
        row = next(each for each in rows if each["kind"] == 3)
        row["info"] |= {key: value for key, value in info.items() if key in row["info"]}
        row |= {key: value for key, value in info.items() if key in row}

    rewritten(path, change)


LEAF, ROOT = "leaf-0.parquet", "root.parquet"
MUTANTS: dict[str, tuple[str, Mutant]] = {
    "no file": (LEAF, Path.unlink),
    "no root": (ROOT, Path.unlink),
    "empty": (LEAF, lambda path: path.write_bytes(b"")),
    "cut": (LEAF, lambda path: path.write_bytes(path.read_bytes()[:-100])),
    "cut root": (ROOT, lambda path: path.write_bytes(path.read_bytes()[:-100])),
    "longer": (LEAF, lambda path: path.write_bytes(path.read_bytes() + b"PAR1")),
    "fewer entries": (LEAF, lambda path: rewritten(path, lambda rows: rows.pop())),
    "an entry is deleted": (LEAF, lambda path: rewritten(path, lambda rows: rows[0]["t"].update(a=2))),
    "an entry names a manifest": (LEAF, lambda path: rewritten(path, lambda rows: rows[0].update(kind=3))),
    "an entry has no path": (LEAF, lambda path: rewritten(path, lambda rows: rows[0].update(where=None))),
    "an entry has no size": (LEAF, lambda path: rewritten(path, lambda rows: rows[0].update(bytes=None))),
    "an entry has no status": (LEAF, lambda path: rewritten(path, lambda rows: rows[0]["t"].update(a=None))),
    "an entry has no content type": (LEAF, lambda path: rewritten(path, lambda rows: rows[0].update(kind=None))),
    **{f"no field {ids}": (LEAF, lambda path, ids=ids: rewritten(path, lambda _: None, without(ids)))
       for ids in (134, 100, 103, 104, 147, 0, 102, 1000, 1001)},
    "positions without a count": (ROOT, lambda path: named(path, dv=b"x", card=None)),
    "a count without positions": (ROOT, lambda path: named(path, dv=None, card=1)),
    "positions that do not decode": (ROOT, lambda path: named(path, dv=b"x", card=1)),
    "another number of entries": (ROOT, lambda path: named(path, i504=1)),
    "another size": (ROOT, lambda path: named(path, bytes=5)),
    "another manifest": (ROOT, lambda path: named(path, where="metadata/other.parquet")),
    "a path that leaves the table": (ROOT, lambda path: named(path, where="../x.parquet")),
    "no path": (ROOT, lambda path: named(path, where=None)),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("bounded", [False, True])
def test_a_damaged_manifest_raises_by_name(tmp_path: Path, name: str, bounded: bool) -> None:
    table = tmp_path / "t"
    write_tree(table, [entries(5)], entries(5, 5), bounded=bounded)
    place, mutant = MUTANTS[name]
    path = table / "metadata" / place
    mutant(path)
    if path.exists() and path.name == ROOT and "cut" not in name:
        # The commit says the size of the root.
        write_commit(table, 1, checkpoint_action(table, path, 1))
    elif path.exists() and name not in ("empty", "cut", "longer", "cut root"):
        rewritten(table / "metadata" / ROOT, lambda rows: rows[-1].update(bytes=path.stat().st_size))
        write_commit(table, 1, checkpoint_action(table, table / "metadata" / ROOT, 1))
    with pytest.raises(ds.CorruptLog) as raised:
        files(table)
    assert str(table) in str(raised.value)


def test_random_bytes_raise_or_change_nothing_that_is_counted(tmp_path: Path) -> None:
    rng = random.Random(7)
    table = tmp_path / "t"
    write_tree(table, [entries(5)], entries(5, 5), bounded=False)
    expected = len(files(table))
    for place in (LEAF, ROOT):
        path = table / "metadata" / place
        original = path.read_bytes()
        for _ in range(150):
            data = bytearray(original)
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data)
            with suppress(ds.CorruptLog, ds.UnsupportedFeature):
                assert len(snapshot_of(table).adds(["path"])) == expected
        path.write_bytes(original)


def later(content: dict[str, Any]) -> dict[str, Any]:
    return {"contentRoot": {**content, "version": 3}}


def sidecar(kind: str, path: str) -> dict[str, Any]:
    return {"sidecar": {"type": kind, "path": path, "sizeInBytes": 1, "modificationTime": 1}}


ACTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "not an array": lambda actions: 5,
    "two roots": lambda actions: [*actions, actions[1]],
    "no root": lambda actions: [actions[0], *actions[2:]],
    "no version": lambda actions: actions[1:],
    "no metaData": lambda actions: actions[:-1],
    "an add": lambda actions: [*actions, {"add": {"path": "x"}}],
    "a later version": lambda actions: [{"checkpointMetadata": {"version": 9}}, *actions[1:]],
    "a text as version": lambda actions: [{"checkpointMetadata": {"version": "1"}}, *actions[1:]],
    "a root of a later version": lambda actions: [actions[0], later(actions[1]["contentRoot"]), *actions[2:]],
    "an unknown sidecar": lambda actions: [*actions, sidecar("x", "a.parquet")],
    "a sidecar elsewhere": lambda actions: [*actions, sidecar("txn", "../a.parquet")],
    "two actions in one": lambda actions: [{**actions[0], **actions[1]}, *actions[2:]],
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIONS)
def test_a_damaged_action_raises_by_name(tmp_path: Path, name: str) -> None:
    table = tmp_path / "t"
    root = write_tree(table, [], entries(3))
    action = checkpoint_action(table, root, 1)
    write_commit(table, 1, {"checkpoint": ACTIONS[name](action["checkpoint"])})
    with pytest.raises(ds.CorruptLog, match="00000000000000000001") as raised:
        snapshot_of(table)
    assert str(table) in str(raised.value)


def test_the_last_commit_says_which_tree_is_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_MOST_COMMITS", 10)
    table = tmp_path / "t"
    every = entries(5)
    write_commit(table, 0, *state())
    for version in range(1, 30):
        write_commit(table, version, log_add(Entry(f"old{version}.parquet")))
    root = write_manifest(table / "metadata" / "root.parquet", map(row_of, every))
    write_commit(table, 30, checkpoint_action(table, root, 29))
    said = {"lastManifestCommit": {"version": 30, "contentRootVersion": 29}}
    write_commit(table, 31, {"commitInfo": said}, log_add(Entry("new.parquet")))
    for version in range(1, 29):
        (table / "_delta_log" / f"{version:020d}.json").write_text("damaged")
    assert paths(table) == {"new.parquet", *(each.path for each in every)}


def test_a_pointer_is_needed_for_each_manifest(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_tree(table, [entries(3)])
    leaf = table / "metadata" / "leaf-0.parquet"
    row = pointer(table, leaf, entries(3))
    root = write_manifest(table / "metadata" / "root.parquet", [{**row, "t": {"a": 2, "b": 1, "c": 0}}])
    write_commit(table, 1, checkpoint_action(table, root, 1))
    assert paths(table) == set()
