"""Checkpoints: their kinds, what is read of them, and what is not."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import CorruptLog
from deltaskip.log import load_snapshot
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.storage import open_storage
from tests.log.builder import UUID, CountingStorage, TableBuilder, add, log_name, metadata, remove, sidecar, v2_actions
from tests.noted import noted


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], Any]]:
    """What is read of checkpoint parts: file, actions or columns, row group or groups."""
    found: list[tuple[str, tuple[str, ...], Any]] = []

    def note(part: CheckpointPart, names: Any, groups: Any, *_: Any) -> None:
        found.append((Path(part.path).name, tuple(names), groups))

    for method in ("stream", "read", "adds"):
        noted(monkeypatch, CheckpointPart, method, note)
    return found


def test_loading_reads_only_row_groups_that_may_hold_small_actions(table: TableBuilder, reads: list[Any]) -> None:
    actions = [*[add(f"f{i}") for i in range(8)], {"txn": {"appId": "x", "version": 3}}]
    table.checkpoint(0, *actions, row_group_size=3)
    snapshot = table.load()
    assert snapshot.txns["x"].version == 3
    name = log_name(0, "checkpoint.parquet")
    assert reads == [(name, ("protocol", "metaData"), 0), (name, ("txn",), 3)]
    assert len(snapshot.adds()) == 8


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("row_group_size", [3, 5000])
def test_small_actions_are_found_wherever_they_stand_in_a_row_group(table: TableBuilder, row_group_size: int) -> None:
    txns = [{"txn": {"appId": f"x{i}", "version": i}} for i in range(3)]
    actions = [txns[0], *[add(f"f{i}") for i in range(1500)], txns[1], *[add(f"g{i}") for i in range(1500)], txns[2]]
    table.checkpoint(0, *actions, row_group_size=row_group_size)
    snapshot = table.load()
    assert {app: txn.version for app, txn in snapshot.txns.items()} == {"x0": 0, "x1": 1, "x2": 2}
    assert snapshot.num_files == 3000


def test_adds_at_given_rows(table: TableBuilder) -> None:
    actions = [*[add(f"f{i}") for i in range(20_000)], remove("old"), *[add(f"g{i}") for i in range(20_000)]]
    table.checkpoint(0, *actions, row_group_size=50_000)
    [part] = table.load().checkpoint_parts
    names = [f"f{i}" for i in range(20_000)] + [f"g{i}" for i in range(20_000)]
    for wanted in ([], [0], [8191, 8192, 19_999, 20_000, 39_999], [39_999]):
        found = part.read_rows(["add.path"], 0, pa.array(wanted, pa.int64()))
        assert [row["path"] for row in found.to_pylist()] == [names[i] for i in wanted]


def test_the_number_of_files_counts_what_newer_commits_ended(table: TableBuilder) -> None:
    table.checkpoint(0, *[add(f"f{i}") for i in range(10)], row_group_size=4)
    assert table.load().num_files == 10
    table.commit(remove("f1"), add("f2"), add("new"), version=1)
    assert table.load().num_files == 10 == len(table.load().adds())
    table.commit(remove("f9"), remove("never there"), version=2)
    assert table.load().num_files == 9 == len(table.load().adds())


def test_a_part_gives_the_asked_columns_of_the_asked_row_groups(table: TableBuilder) -> None:
    table.checkpoint(0, *[add(f"f{i}") for i in range(4)], remove("old"), row_group_size=3)
    [part] = table.load().checkpoint_parts
    assert part.metadata.num_row_groups == 3
    assert {"add.path", "add.size", "add.partitionValues.key_value.key"} < set(part.columns)
    read = part.read(["add.path", "add.partitionValues", "add.unknown"], [0, 2])
    assert read.column_names == ["add"]
    assert [field.name for field in read.schema.field("add").type] == ["path", "partitionValues"]
    rows = read["add"].to_pylist()
    assert [row and row["path"] for row in rows] == [None, None, "f0", None]
    assert len(part.read(["add.size"])) == 7


def test_int96_timestamps_of_any_year_keep_their_value(tmp_path: Path) -> None:
    instants = [-14_831_769_600_000_000, 0, 32_503_680_000_000_001]
    parsed = pa.StructArray.from_arrays([pa.array(instants, pa.timestamp("us"))], ["ts"])
    adds = pa.StructArray.from_arrays([pa.array(["a", "b", "c"]), parsed], ["path", "stats_parsed"])
    pq.write_table(pa.table({"add": adds}), tmp_path / "c.parquet", use_deprecated_int96_timestamps=True)
    storage, root = open_storage(str(tmp_path), None)
    part = CheckpointPart(storage, root, 0, str(tmp_path / "c.parquet"), pq.read_metadata(tmp_path / "c.parquet"))
    assert part.metadata.schema.column(1).physical_type == "INT96"
    read = pc.struct_field(part.read(["add.stats_parsed"])["add"], ["stats_parsed", "ts"])
    assert read.cast(pa.int64()).to_pylist() == instants


def test_a_part_that_lacks_every_asked_column_still_tells_which_rows_are_adds(table: TableBuilder) -> None:
    table.checkpoint(0, add("f0"))
    [part] = table.load().checkpoint_parts
    assert pc.is_valid(part.read(["add.nothing.like.it"])["add"]).to_pylist() == [False, False, True]


def test_a_checkpoint_without_adds_has_no_parts(table: TableBuilder) -> None:
    table.checkpoint(0, remove("gone"))
    snapshot = table.load()
    assert snapshot.checkpoint_parts == ()
    assert len(snapshot.adds()) == 0


@pytest.mark.parametrize("kind", ["parquet", "json", "classic"])
def test_a_v2_checkpoint_has_its_files_in_sidecars(table: TableBuilder, kind: str) -> None:
    table.commit(add("old"))
    table.parquet("_sidecars/one.parquet", [add("a"), remove("old")])
    two = table.parquet("_sidecars/two two.parquet", [add("b")])
    listed = [sidecar("one.parquet"), sidecar(two.as_uri()), {"txn": {"appId": "x", "version": 3}}]
    actions = v2_actions(1, *listed)
    suffix = {"parquet": f"{UUID}.parquet", "json": f"{UUID}.json", "classic": "parquet"}[kind]
    write = table.json_lines if kind == "json" else table.parquet
    write(log_name(1, f"checkpoint.{suffix}"), actions)
    table.commit(add("c"), remove("a"), version=2)
    (table.log / log_name(0, "json")).unlink()
    snapshot = table.load()
    assert sorted(snapshot.adds()["path"].to_pylist()) == ["b", "c"]
    assert len(snapshot.checkpoint_parts) == 2
    assert snapshot.commit_adds["path"].to_pylist() == ["c"]
    assert snapshot.txns["x"].version == 3


def test_a_json_checkpoint_may_hold_adds_itself(table: TableBuilder) -> None:
    actions = v2_actions(0, add("a"), add("b"), remove("z"))
    table.json_lines(log_name(0, f"checkpoint.{UUID}.json"), actions)
    table.commit(remove("a"), add("b", dv="p"), version=1)
    snapshot = table.load()
    assert snapshot.checkpoint_parts == ()
    rows = snapshot.commit_adds.select(["path", "deletion_vector"]).to_pylist()
    assert [(row["path"], row["deletion_vector"]["path_or_inline_dv"]) for row in rows] == [("b", "p")]


def test_superseded_masks_rows_of_the_checkpoint(table: TableBuilder) -> None:
    table.checkpoint(0, add("a"), add("b", dv="p"), add("c%20c"), add("d"), add("e", dv="x"))
    table.commit(remove("a"), remove("b", dv="p"), add("b", dv="q"), remove("c c"), remove("e"), version=1)
    snapshot = table.load()
    [part] = snapshot.checkpoint_parts
    struct = part.read(["add.path", "add.deletionVector"])["add"].combine_chunks()
    struct = struct.filter(pc.is_valid(struct))
    mask = snapshot.superseded.live_mask(struct.field("path"), struct.field("deletionVector"))
    assert mask.to_pylist() == [False, False, False, True, True]
    assert sorted(snapshot.adds()["path"].to_pylist()) == ["b", "d", "e"]


def test_struct_statistics_stand_in_where_there_is_no_json(table: TableBuilder) -> None:
    table.checkpoint(
        0,
        add("a", stats='{"numRecords":1}', stats_parsed={"numRecords": 99}),
        add("b", stats_parsed={"numRecords": 2}),
        add("c"),
        row_group_size=2,
    )
    rows = table.load().adds(["path", "stats"]).to_pylist()
    assert {row["path"]: row["stats"] for row in rows} == {"a": '{"numRecords":1}', "b": '{"numRecords":2}', "c": None}


def test_only_the_asked_columns_are_read(table: TableBuilder, reads: list[Any]) -> None:
    table.checkpoint(0, add("a"))
    snapshot = table.load()
    reads.clear()
    assert snapshot.adds(["size"]).schema.names == ["size"]
    [(_, columns, _)] = reads
    assert columns == ("add.path", "add.size")
    reads.clear()
    table.checkpoint(1, add("a"), add("b", "dv"))
    table.load().adds(["size"])
    assert set(reads[-1][1]) == {"add.path", "add.size", "add.deletionVector"}


def test_a_snapshot_holds_no_open_files(table: TableBuilder) -> None:
    table.checkpoint(0, add("a"))
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("no /proc")
    before = len(list(descriptors.iterdir()))
    kept = table.load()
    kept.adds()
    assert len(list(descriptors.iterdir())) == before


def test_state_comes_from_the_newest_of_checkpoint_and_commits(table: TableBuilder) -> None:
    table.checkpoint(
        0,
        {"txn": {"appId": "x", "version": 1}},
        {"txn": {"appId": "y", "version": 5}},
        {"domainMetadata": {"domain": "d", "configuration": "old", "removed": False}},
        {"domainMetadata": {"domain": "e", "configuration": "kept", "removed": False}},
    )
    table.commit(
        metadata(name="new", configuration={"k": "v"}),
        {"txn": {"appId": "x", "version": 0}},
        {"domainMetadata": {"domain": "d", "configuration": "", "removed": True}},
        {"domainMetadata": {"domain": "m", "configuration": {"a": "b"}}},
        {"rowIdHighWaterMark": {"highWaterMark": 7}},
        {"somethingNew": {"x": 1}},
        version=1,
    )
    snapshot = table.load()
    assert snapshot.metadata.name == "new"
    assert snapshot.properties == {"k": "v"}
    assert {name: txn.version for name, txn in snapshot.txns.items()} == {"x": 0, "y": 5}
    assert {name: d.configuration for name, d in snapshot.domains.items()} == {"e": "kept", "m": '{"a":"b"}'}


def test_domain_configurations_may_be_maps_in_a_checkpoint(table: TableBuilder) -> None:
    domain = pa.array(
        [{"domain": "d", "configuration": [("a", "b")], "removed": False}],
        pa.struct(
            [("domain", pa.string()), ("configuration", pa.map_(pa.string(), pa.string())), ("removed", pa.bool_())]
        ),
    )
    file = table.checkpoint(0)
    import pyarrow.parquet as pq

    base = pq.read_table(file).drop_columns(["domainMetadata"])
    nulls = pa.nulls(len(base), domain.type)
    with_nulls = base.append_column("domainMetadata", nulls)
    row = pa.table({name: pa.nulls(1, base.schema.field(name).type) for name in base.schema.names})
    pq.write_table(pa.concat_tables([with_nulls, row.append_column("domainMetadata", domain)]), file)
    assert table.load().domains["d"].configuration == '{"a":"b"}'


def test_opening_touches_no_file_but_the_checkpoint_and_what_is_newer(table: TableBuilder) -> None:
    for version in range(5):
        table.commit(add(f"f{version}"))
    table.checkpoint(3, *[add(f"f{i}") for i in range(4)])
    storage = CountingStorage()
    snapshot = load_snapshot(storage, str(table.path))
    assert storage.read_files == ["_last_checkpoint", log_name(4, "json")]
    assert set(storage.opened) == {log_name(3, "checkpoint.parquet")}
    assert snapshot.version == 4


def _adds_of_a_small_checkpoint(folder: Path) -> tuple[DeltaTable, pa.Table]:
    """A table whose files are in one checkpoint, two of them removed later, and its adds as JSON commits have them."""
    table = DeltaTable.create(folder / "t", "id BIGINT, part STRING", ["part"])
    for number in range(5):
        table.append(pa.table({"id": [number], "part": [f"p{number % 2}"]}))
    table.checkpoint()
    table.delete("id IN (1, 3)")
    plain = folder / "plain"
    shutil.copytree(folder / "t", plain)
    for path in (plain / "_delta_log").glob("*checkpoint*"):
        path.unlink()
    expected = DeltaTable(plain).snapshot.adds()
    assert len(expected) == 3
    return DeltaTable(folder / "t"), expected


def test_columns_of_a_small_checkpoint_are_decoded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, expected = _adds_of_a_small_checkpoint(tmp_path)
    decoded: list[tuple[str, ...]] = []
    own = CheckpointPart._decoded

    def counted(self: CheckpointPart, columns: Sequence[str], group: int, rows: int) -> Iterator[pa.RecordBatch]:
        decoded.append(tuple(columns))
        yield from own(self, columns, group, rows)

    monkeypatch.setattr(CheckpointPart, "_decoded", counted)
    monkeypatch.setattr("deltaskip.log.loading._OPENED", {})
    table = DeltaTable(table.uri)
    [part] = table.snapshot.checkpoint_parts
    assert part.is_held
    order = [("path", "ascending")]
    for names in (
        ["path"],
        ["path", "size", "stats"],
        ["partition_values", "path"],
        ["tags", "path", "deletion_vector"],
    ):
        assert table.snapshot.adds(names).sort_by(order) == expected.select(names).sort_by(order)
    assert table.scan("part = 'p0'").files().num_rows == 3
    assert [columns for columns in decoded if "add.path" in columns] == [
        (
            "add.path", "add.partitionValues", "add.size", "add.modificationTime", "add.dataChange", "add.stats",
            "add.tags", "add.deletionVector", "add.baseRowId", "add.defaultRowCommitVersion", "add.clusteringProvider",
        )
    ]  # fmt: skip


def test_a_damaged_column_does_not_keep_others_from_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, expected = _adds_of_a_small_checkpoint(tmp_path)
    own = CheckpointPart._decoded
    monkeypatch.setattr("deltaskip.log.loading._OPENED", {})

    def damaged(self: CheckpointPart, columns: Sequence[str], group: int, rows: int) -> Iterator[pa.RecordBatch]:
        if "add.tags" in columns:
            raise CorruptLog("The column tags is damaged.")
        yield from own(self, columns, group, rows)

    monkeypatch.setattr(CheckpointPart, "_decoded", damaged)
    table = DeltaTable(table.uri)
    names = ["path", "size", "partition_values"]
    order = [("path", "ascending")]
    assert table.snapshot.adds(names).sort_by(order) == expected.select(names).sort_by(order)
    with pytest.raises(CorruptLog, match="tags is damaged"):
        table.snapshot.adds(["tags"])
