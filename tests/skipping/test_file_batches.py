"""The file list as a stream: the rows of `files()`, row for row, and the active files of a slow replay of the log."""

import json
import random
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.skipping import add_columns, file_batches
from deltaskip.sparkexpr.types.data_types import LONG, STRING
from tests import corpus
from tests.builder import TableBuilder, add, bounds, log_file, remove
from tests.each import refuses
from tests.extent import extent
from tests.skipping.random_predicates import random_predicate
from tests.skipping.random_tables import random_table


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Row groups are read in pieces of two rows, as large ones are in pieces of thousands."""
    monkeypatch.setattr(file_batches, "_ROWS", 2)
    monkeypatch.setattr(add_columns, "_TEXTS_AT_ONCE", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.StatisticsWarning)
        warnings.simplefilter("ignore", ds.PredicateWarning)
        yield


def assert_same(scan: ds.Scan, **options: Any) -> int:
    """The stream has the rows of the list; return their number."""
    try:
        expected = scan.files(**options)
    except ds.CorruptLog as error:
        with pytest.raises(ds.CorruptLog) as caught:
            scan.file_batches(**options).read_all()
        assert str(caught.value) == str(error)
        return 0
    reader = scan.file_batches(**options)
    batches = list(reader)
    assert reader.schema == expected.schema
    assert all(0 < len(batch) <= 2 for batch in batches)
    found = pa.Table.from_batches(batches, reader.schema)
    # As text, because NaN is not equal to itself.
    assert str(found.to_pylist()) == str(expected.to_pylist())
    return len(found)


@settings(max_examples=extent(8, 20), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_random_table_streams_the_rows_of_its_file_list(seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        table = random_table(rng, Path(folder) / "t", max_files=9)
        opened = ds.DeltaTable(table.path)
        assert_same(opened.scan(), stats=rng.random() < 0.5)
        for _ in range(4):
            zone = rng.choice(["UTC", "America/New_York", None])
            try:
                scan = opened.scan(where=random_predicate(rng, table), time_zone=zone)
            except ds.PredicateError:
                continue
            assert_same(scan, stats=rng.random() < 0.5)


def test_random_tables_reach_checkpoints_of_several_pieces_and_skipped_files(tmp_path: Path) -> None:
    rows = kept = 0
    for seed in range(30):
        rng = random.Random(seed)
        table = random_table(rng, tmp_path / str(seed), max_files=9)
        opened = ds.DeltaTable(table.path)
        rows += opened.scan().total_files() if opened.snapshot.checkpoint_parts else 0
        kept += assert_same(opened.scan(where=random_predicate(rng, table), ansi=False))
    assert rows > 30
    assert kept > 0


def vector(number: int) -> dict[str, Any]:
    return {"storageType": "p", "pathOrInlineDv": f"/dv{number}", "offset": 1, "sizeInBytes": 40, "cardinality": 1}


def random_log(rng: random.Random, path: Path) -> dict[str, int | None]:
    """A log of adds, removes, deletion vectors and files that come again, with checkpoints; the active files.

    Returns the number of the deletion vector of each path, None without one.
    """
    properties = {"delta.checkpointPolicy": "v2"} if rng.random() < 0.3 else {}
    properties["delta.checkpoint.writeStatsAsStruct"] = rng.choice(["true", "false"])
    features = ["deletionVectors", "v2Checkpoint"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    builder = TableBuilder(path, {"id": LONG, "p": STRING}, ["p"], properties, protocol)
    active: dict[str, int | None] = {}
    for _ in range(rng.randint(1, 12)):
        actions = []
        names = rng.sample([f"p={k % 3}/f {k}".replace(" ", "%20") for k in range(12)], k=rng.randint(1, 5))
        after = dict(active)
        for name in names:
            old = active.get(name, 0)
            if name in active and rng.random() < 0.7:
                actions.append(remove(name, **({"deletionVector": vector(old)} if old is not None else {})))
                del after[name]
            if name not in after and rng.random() < 0.7:
                new = rng.choice([None, rng.randint(1, 3)])
                if name in active and new == old:
                    # The protocol does not allow a commit that removes and adds one key.
                    continue
                members: dict[str, Any] = {"partitionValues": {"p": name[2]}}
                stats = {**bounds(5, id=(ord(name[-1]), ord(name[-1]) + 1)), "tightBounds": new is None}
                actions.append(add(name, stats, **members, **({"deletionVector": vector(new)} if new else {})))
                after[name] = new
        active = after
        rng.shuffle(actions)
        builder.commit(*actions)
        if rng.random() < 0.3:
            ds.DeltaTable(path).checkpoint()
    return active


@settings(max_examples=extent(8, 20), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_random_log_streams_the_files_that_a_slow_replay_leaves(seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        active = random_log(rng, Path(folder) / "t")
        opened = ds.DeltaTable(Path(folder) / "t")
        found = opened.scan().file_batches(columns=["path", "deletion_vector"]).read_all().to_pylist()
        dvs = {row["path"].replace(" ", "%20"): row["deletion_vector"] for row in found}
        assert len(dvs) == len(found)
        assert {path: None if dv is None else int(dv["path_or_inline_dv"][3:]) for path, dv in dvs.items()} == active
        for where in (None, "p = '1'", f"id > {ord('5')}", f"id < {ord('4')} AND p < '2'"):
            assert_same(opened.scan(where), stats=rng.random() < 0.5)


@corpus.each_table("read")
def test_a_table_of_the_corpus_streams_the_rows_of_its_file_list(table: corpus.CorpusTable) -> None:
    opened = ds.DeltaTable(table.path)
    assert_same(opened.scan(), stats=True)
    assert_same(opened.scan(), columns=["num_records", "uri"])


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A table of 40 files in a checkpoint of two row groups, 10 of them removed, and 5 in a newer commit."""
    path = tmp_path / "t"
    builder = TableBuilder(path, {"id": LONG})
    builder.commit(*(add(f"f{k:02}", bounds(k, id=(k, k))) for k in range(40)))
    ds.DeltaTable(path).checkpoint()
    file = log_file(path, 0, "checkpoint.parquet")
    pq.write_table(pq.read_table(file), file, row_group_size=21)
    added = [add(f"g{k}", bounds(1, id=(k, k))) for k in range(5)]
    builder.commit(*(remove(f"f{k:02}") for k in range(0, 40, 4)), *added)
    return path


@pytest.mark.parametrize(("where", "files"), [(None, 35), ("id > 20", 15), ("id = 39 OR id = 1", 3), ("id > 99", 0)])
def test_batches_have_few_rows_in_the_log_s_order_and_none_is_empty(large: Path, where: str | None, files: int) -> None:
    assert assert_same(ds.DeltaTable(large).scan(where)) == files


@pytest.mark.parametrize("name", ["path", "uri", "size", "partition_values", "num_records", "deletion_vector", "stats"])
def test_any_column_can_be_streamed_alone(large: Path, name: str) -> None:
    assert assert_same(ds.DeltaTable(large).scan("id > 20"), columns=[name]) == 15


def test_a_scan_with_a_limit_streams_its_list(large: Path) -> None:
    scan = ds.DeltaTable(large).scan("id > 5", limit=30)
    assert scan.file_batches().read_all().to_pylist() == scan.files().to_pylist()
    assert len(scan.files()) == 1


def test_a_stream_leaves_the_shared_cache_as_it_was(large: Path) -> None:
    table = ds.DeltaTable(large)
    scan = table.scan("id > 20")
    assert scan.file_batches().read_all().num_rows == 15
    assert table.snapshot.cache.size_bytes == 0
    scan.files()
    size = table.snapshot.cache.size_bytes
    assert size > 0
    assert scan.file_batches().read_all().num_rows == 15
    assert table.snapshot.cache.size_bytes == size


def test_a_stream_can_be_left_early_and_two_can_run_side_by_side(large: Path) -> None:
    scan = ds.DeltaTable(large).scan()
    one, other = scan.file_batches(), scan.file_batches()
    first = next(iter(one))
    assert [row for batch in other for row in batch.to_pylist()] == scan.files().to_pylist()
    assert first.to_pylist() + [row for batch in one for row in batch.to_pylist()] == scan.files().to_pylist()


def test_an_unknown_column_is_refused_before_anything_is_read(large: Path) -> None:
    refuses(ds.InvalidArgument, "no column 'name'", lambda: ds.DeltaTable(large).scan().file_batches(columns=["name"]))


def test_a_path_that_does_not_decode_is_a_corrupt_log(tmp_path: Path) -> None:
    path = tmp_path / "t"
    TableBuilder(path, {"id": LONG}).commit(add("a"), add("b%FF"))
    refuses(ds.CorruptLog, "damaged", lambda: ds.DeltaTable(path).scan().file_batches().read_all())


def test_texts_that_are_read_in_pieces_have_the_bounds_of_each_file(tmp_path: Path) -> None:
    """NaN is text in JSON, so that a column of doubles may be numbers in one piece and text in another."""
    path = tmp_path / "t"
    low = [1.0, 2.0, "NaN", 4.0, "Infinity", None, 7.0]
    texts = [json.dumps({"numRecords": 1, "minValues": {"d": v}, "maxValues": {"d": v}}) for v in low]
    TableBuilder(
        path, {"d": ds.PrimitiveType("double")}, properties={"delta.checkpoint.writeStatsAsStruct": "false"}
    ).commit(*(add(f"f{k}", text) for k, text in enumerate(texts)), add("f7"))
    ds.DeltaTable(path).checkpoint()
    kept = {where: ds.DeltaTable(path).scan(where).files()["path"].to_pylist() for where in ("d > 4", "d < 2", "d = 7")}
    assert kept == {"d > 4": ["f2", "f4", "f5", "f6", "f7"], "d < 2": ["f0", "f5", "f7"], "d = 7": ["f5", "f6", "f7"]}
