"""The key index: what it rules out, that it rules out nothing else, and that what is damaged is not believed."""

import datetime as dt
import io
import random
import shutil
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deltaskip import DeltaTable, SetProperty
from deltaskip.errors import InvalidArgument, PredicateError, ReadWarning, SchemaError, UnsupportedFeature
from deltaskip.skipping.key_index import part
from deltaskip.skipping.key_index.folder import KEY_FOLDER
from deltaskip.skipping.key_index.key_columns import hashes, possible_columns, sought_hashes
from deltaskip.sparkexpr import ColumnExpr
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.storage import LocalStorage
from deltaskip.storage.location import join
from tests.extent import extent, seed
from tests.faults import ERRORS, PLACES, Below
from tests.reading.random_rows import table_with_files
from tests.skipping.random_predicates import random_predicate

INDEXED = {"deltaskip.keyIndexColumns": "id"}


def table_of(folder: Path, files: int = 8, rows: int = 50) -> tuple[DeltaTable, list[str]]:
    """A table of random keys with an index, and its keys."""
    table = DeltaTable.create(folder, "id STRING, n BIGINT", properties=INDEXED)
    made = random.Random(seed())
    keys = [str(uuid.UUID(int=made.getrandbits(128))) for _ in range(files * rows)]
    for number in range(files):
        some = keys[number * rows : (number + 1) * rows]
        table.append(pa.table({"id": some, "n": pa.array(range(rows), pa.int64())}))
    table.recompute_stats(columns=[], index=True)
    return table, keys


def files_of(table: DeltaTable, where: str) -> int:
    return len(table.scan(where).files(columns=["path"]))


def part_of(folder: Path) -> Path:
    [found] = (folder / KEY_FOLDER).iterdir()
    return found


def test_a_key_is_in_one_file_and_an_absent_one_in_none(tmp_path: Path) -> None:
    table, keys = table_of(tmp_path / "t")
    present = [files_of(table, f"id = '{key}'") for key in keys[::10]]
    assert min(present) == 1 and sum(present) <= 1.05 * len(present) + 1
    absent = sum(files_of(table, f"id = '{uuid.UUID(int=number)}'") for number in range(40))
    assert absent <= 2
    assert table.scan(f"id = '{keys[7]}'").to_arrow().num_rows == 1


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("id = '{0}'", 1),
        ("'{0}' <=> id", 1),
        ("id IN ('{0}', '{60}', 'none')", 2),
        ("id = '{0}' OR id = '{110}'", 2),
        ("id = '{0}' AND n > 1", 1),
        ("id = '{0}' OR n = 3", 8),
        ("NOT (id <> '{0}')", 1),
        ("id <> '{0}'", 8),
        ("NOT (id = '{0}')", 8),
        ("id NOT IN ('{0}')", 8),
        ("id > '0' AND (id = '{0}' OR id = 'x' OR id IS NULL)", 1),
        ("upper(id) = upper('{0}')", 8),
    ],
)
def test_what_seeks_values_is_looked_up_and_what_does_not_keeps_the_files(
    tmp_path: Path, where: str, kept: int
) -> None:
    table, keys = table_of(tmp_path / "t")
    text = where.format(*keys)
    twin = table.scan().to_arrow().to_pandas()
    found = table.scan(text)
    assert len(found.files()) == kept
    rows = found.to_arrow()
    shutil.rmtree(tmp_path / "t" / KEY_FOLDER)
    assert rows.equals(DeltaTable(tmp_path / "t").scan(text).to_arrow()) and len(twin) == 400
    assert table.scan(text).count() == len(rows)


def test_explain_names_the_index_and_the_files_it_saves(tmp_path: Path) -> None:
    table, keys = table_of(tmp_path / "t")
    said = table.scan(f"id = '{keys[0]}'").explain()
    assert said.index == "The key index of id saves 7 files." and said.index in str(said)
    assert said.kept_files == 1 and said.to_dict()["index"] == said.index
    assert table.scan("n = 3").explain().index == ""
    joined = table.scan().semi_join([{"id": keys[0]}, {"id": keys[399]}], "id").explain()
    assert joined.index == "The key index of id saves 6 files." and "saves 6 files" in joined.joins[0]


VALUES: dict[str, list[Any]] = {
    "TINYINT": [-127, 0, 126],
    "SMALLINT": [-(1 << 14), 0, 1],
    "INT": [-(1 << 30), -1, 7],
    "BIGINT": [-(1 << 62), -1, 1 << 62],
    "DATE": [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 30)],
    "TIMESTAMP": [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=dt.UTC)],
    "TIMESTAMP_NTZ": [dt.datetime(1900, 1, 1), dt.datetime(2024, 2, 29, 1, 2, 3, 456789)],
    "DECIMAL(9,2)": [Decimal("-1.50"), Decimal("0.00"), Decimal("99.99")],
    "DECIMAL(38,10)": [Decimal("-123456789012345678901234567.0000000001"), Decimal("1.5")],
    "STRING": [" ", "a", "A", "ä", "a\u0308", "日本", "x" * 300],
}


@pytest.mark.parametrize("kind", VALUES)
def test_each_type_is_found_by_its_literals_and_by_keys(tmp_path: Path, kind: str) -> None:
    values = VALUES[kind]
    table = DeltaTable.create(tmp_path / "t", f"k {kind}", properties={"deltaskip.keyIndexColumns": "k"})
    for each in (*values, None):
        # Wide bounds, so that statistics alone skip nothing.
        table.append([{"k": each}, {"k": max(values)}, {"k": min(values)}] if each is not None else [{"k": None}])
    table.recompute_stats(columns=[], index=True)
    for number, each in enumerate(values):
        literal = {"DATE": f"DATE '{each}'", "STRING": f"'{each}'"}.get(kind, str(each))
        if kind.startswith("TIMESTAMP"):
            literal = f"{kind} '{each.replace(tzinfo=None)}'"
        elif kind.startswith("DECIMAL"):
            literal = f"{each}BD"
        scan = table.scan(f"k = {literal}")
        expected = len(values) if each in (max(values), min(values)) else 1
        assert (len(scan.files()), scan.explain().index != "") == (expected, True), (number, each)
        assert scan.to_arrow().num_rows >= 1
        assert len(table.scan().semi_join(pa.table({"k": table.scan().to_arrow()["k"].slice(0, 1)}), "k").files()) >= 1


@pytest.mark.parametrize(
    ("ddl", "name"),
    [
        ("k DOUBLE", "k"), ("k FLOAT", "k"), ("k BOOLEAN", "k"), ("k CHAR(3)", "k"), ("k BINARY", "k"),
        ("k ARRAY<INT>", "k"), ("k STRING COLLATE UNICODE_CI", "k"), ("k INT", "nothing"), ("p INT, k INT", "p"),
    ],
)  # fmt: skip
def test_other_columns_have_no_index(tmp_path: Path, ddl: str, name: str) -> None:
    properties = {"deltaskip.keyIndexColumns": name}
    table = DeltaTable.create(tmp_path / "t", ddl, ["p"] if "p INT" in ddl else [], properties=properties)
    with pytest.raises(SchemaError, match="keyIndexColumns"):
        table.recompute_stats(columns=[], index=True)
    assert table.scan("k IS NULL").files().num_rows == 0


def test_the_property_is_a_list_of_names(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="must be names of columns"):
        DeltaTable.create(tmp_path / "t", "k INT", properties={"deltaskip.keyIndexColumns": "a b c"})
    table = DeltaTable.create(tmp_path / "t", "k INT")
    with pytest.raises(SchemaError, match=r"name some in the property deltaskip.keyIndexColumns"):
        table.recompute_stats(columns=[], index=True)


def test_nested_fields_widened_types_and_renamed_columns_keep_their_index(tmp_path: Path) -> None:
    properties = {
        "deltaskip.keyIndexColumns": "s.`a b`, i",
        "delta.enableTypeWidening": "true",
        "delta.columnMapping.mode": "name",
    }
    table = DeltaTable.create(tmp_path / "t", "s STRUCT<`a b`: STRING>, i INT", properties=properties)
    for number in range(4):
        table.append(
            [{"s": {"a b": f"k{number}"}, "i": number}, {"s": {"a b": "zz"}, "i": 1 << 20}, {"s": None, "i": -9}]
        )
    table.recompute_stats(columns=[], index=True)
    table.alter_sql("ALTER COLUMN i TYPE BIGINT")
    assert files_of(table, "s.`a b` = 'k2'") == 1 and files_of(table, "i = 2") == 1
    assert files_of(table, "s.`a b` = 'zz'") == 4 and files_of(table, f"i = {1 << 40}") == 0
    table.alter_sql("RENAME COLUMN i TO number")
    assert table.properties["deltaskip.keyIndexColumns"] == "s.`a b`,number"
    assert files_of(table, "number = 2") == 1


def test_hashes_of_values_and_of_rows_are_equal() -> None:
    for kind, values in VALUES.items():
        [field] = parse_columns(f"k {kind}").fields
        array = pa.array([*values, None], t.arrow_type(field.type))
        if isinstance(field.type, t.DecimalType):
            sought: Any = tuple(int(Fraction(each) * 10**field.type.scale) for each in values)
        elif field.type == t.STRING:
            sought = tuple(each.encode() for each in values)
        else:
            plain = array.drop_null()
            sought = (plain.cast(pa.int32()) if kind == "DATE" else plain).cast(pa.int64())
        assert hashes(array.slice(1), field.type).tolist() == sought_hashes(sought, field.type).tolist()[1:]


def written(keys: list[np.ndarray], files: int, blocks: int = 3) -> bytes:
    """A part of runs of packed keys."""
    sink = io.BytesIO()
    paths = pa.table([[f"f{n}" for n in range(files)], [9] * files, [1] * files], schema=part.KNOWN_FILES)
    writer = part.PartWriter(sink, part.PartOf("id", ("k",), "integer"), paths, sum(map(len, keys)))
    runs = [part.unique(each.copy()) for each in keys]
    part.write_blocks(writer, [part.SortedRun(len(run), iter(np.array_split(run, 3))) for run in runs], blocks)
    return sink.getvalue()


def opened(data: bytes, folder: Path) -> part.KeyPart:
    (folder / "part").write_bytes(data)
    return part.KeyPart.open(LocalStorage(), LocalStorage().info(join(str(folder), "part")))


@pytest.mark.parametrize("count", [0, 1, 300, 5000])
def test_a_part_finds_what_a_plain_dictionary_finds(tmp_path: Path, count: int) -> None:
    made = np.random.default_rng(seed())
    raw = made.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    raw[: count // 4] = raw[count // 2 : count // 2 + count // 4]
    numbers = made.integers(0, 40, count)
    packed = np.array([int(part.packed(raw[n : n + 1], int(numbers[n]))[0]) for n in range(count)], np.uint64)
    found = opened(written([packed[::2], packed[1::2]], 40), tmp_path)
    assert found.keys == len(np.unique(packed)) and len(found.files) == 40
    storage = LocalStorage()
    wrong = 0
    for key in raw[: extent(200, 5000)]:
        there = found.containing(storage, np.array([key], np.uint64))
        mine = {int(n) for n in numbers[raw == key]}
        assert mine <= set(np.flatnonzero(there).tolist())
        wrong += int(there.sum()) - len(mine)
    assert wrong <= 10 + count // 20
    if count:
        assert found.containing(storage, raw).tolist() == [n in set(numbers.tolist()) for n in range(40)]


def test_a_remote_part_takes_one_request_to_open_and_one_for_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Remote(LocalStorage):
        remote = True

        def read_range(self, path: str, offset: int, length: int) -> bytes:
            asked.append(length)
            return super().read_range(path, offset, length)

        def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
            asked.append(0)
            return super().open_input(path, size)

    monkeypatch.setattr(part, "_HEAD_BYTES", 4_000)
    raw = np.random.default_rng(1).integers(0, 1 << 64, 9_000, np.uint64, endpoint=False)
    (tmp_path / "part").write_bytes(written([part.packed(raw, 3)], 40))
    found = part.KeyPart.open(Remote(), LocalStorage().info(join(str(tmp_path), "part")))
    assert asked == [4_000] and found.held is None
    assert all(found.containing(Remote(), raw[n : n + 1])[3] for n in range(20)) and len(asked) == 21
    # Keys of many blocks are read side by side.
    assert np.flatnonzero(found.containing(Remote(), raw)).tolist() == [3] and asked[21:] == [0]


def test_a_key_takes_forty_bits_at_most_and_absent_keys_are_found_in_one_of_twenty_look_ups(tmp_path: Path) -> None:
    made = np.random.default_rng(1)
    count, files = 400_000, 2_000
    raw = made.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    packed = (raw & ~np.uint64(0xFFFF)) | (np.arange(count) // (count // files)).astype(np.uint64)
    data = written([packed], files, 512)
    assert 8 * len(data) / count <= 34
    found = opened(data, tmp_path)
    others = made.integers(0, 1 << 64, 2_000, np.uint64, endpoint=False)
    assert sum(int(found.containing(LocalStorage(), others[n : n + 1]).sum()) for n in range(2_000)) <= 0.05 * 2_000


def test_a_damaged_part_is_never_believed(tmp_path: Path) -> None:
    _, keys = table_of(tmp_path / "t", files=5, rows=30)
    place = part_of(tmp_path / "t")
    whole = place.read_bytes()
    made = random.Random(seed())
    spots = sorted({*made.sample(range(len(whole)), extent(30, 400)), *range(len(whole) - 36, len(whole))})
    cut = [whole[:n] for n in (0, 1, 35, 36, len(whole) // 2, len(whole) - 1)]
    changed = [whole[:n] + bytes([whole[n] ^ (1 << made.randrange(8))]) + whole[n + 1 :] for n in spots]
    for data in (*cut, *changed, whole + b"x", whole[1:] + b"x", whole[:400] + whole[404:] + bytes(4)):
        place.write_bytes(data)
        again = DeltaTable(tmp_path / "t")
        with pytest.warns(ReadWarning, match="is ignored, because"):
            # Some blocks are read by some keys only.
            files = [files_of(again, f"id = '{key}'") for key in (keys if data not in cut else keys[:3])]
        assert min(files) >= 1 and files[-1] == 5
    place.write_bytes(whole)
    assert files_of(DeltaTable(tmp_path / "t"), f"id = '{keys[0]}'") == 1


def test_a_foreign_or_stale_part_rules_nothing_out(tmp_path: Path) -> None:
    _, keys = table_of(tmp_path / "t", files=3)
    other, _ = table_of(tmp_path / "other", files=3)
    shutil.rmtree(tmp_path / "t" / KEY_FOLDER)
    shutil.copytree(tmp_path / "other" / KEY_FOLDER, tmp_path / "t" / KEY_FOLDER)
    assert files_of(DeltaTable(tmp_path / "t"), f"id = '{keys[0]}'") == 3
    # The part of another column under this one's name.
    place = part_of(tmp_path / "other")
    digest = part_of(tmp_path / "t").name.split(".")[1]
    other.alter_sql("SET TBLPROPERTIES ('deltaskip.keyIndexColumns' = 'n')")
    other.recompute_stats(columns=[], index=True)
    [number] = (tmp_path / "other" / KEY_FOLDER).iterdir()
    assert number != place
    number.rename(number.with_name(f"{'0' * 20}.{digest}.x.keys"))
    assert files_of(DeltaTable(tmp_path / "other"), f"id = '{keys[0]}'") == 3


@pytest.mark.filterwarnings("ignore:The part:deltaskip.errors.ReadWarning")
@pytest.mark.parametrize(("head_bytes", "reads_of_part"), [(1 << 20, 1), (100, 2)])
def test_faults_of_the_storage_keep_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head_bytes: int, reads_of_part: int
) -> None:
    monkeypatch.setattr(part, "_HEAD_BYTES", head_bytes)
    _, keys = table_of(tmp_path / "t", files=3, rows=5)
    where = f"id = '{keys[0]}'"
    expected = DeltaTable(tmp_path / "t").scan(where).to_arrow()
    reads = [place for place in PLACES["reads"] if place[1] in ("list_from", "open_input")]

    def planned(at: int | None) -> Below:
        table = DeltaTable(tmp_path / "t")
        below = Below(reads, at, ERRORS["EIO"])
        with below.running():
            assert files_of(table, where) == 1 or at is not None
        assert table.scan(where).to_arrow().equals(expected)
        return below

    calls = planned(None).calls
    assert calls == 1 + reads_of_part
    for at in range(calls):
        assert planned(at).raised


@pytest.mark.filterwarnings("ignore")
def test_random_predicates_have_the_rows_of_the_version_without_an_index(tmp_path: Path) -> None:
    rng, saved, asked = random.Random(seed()), 0, 0
    for number in range(extent(12, 400)):
        made, table = table_with_files(rng, tmp_path / str(number))
        possible = possible_columns(table.snapshot)
        if not possible:
            continue
        twin = DeltaTable(tmp_path / str(number), table.version)
        listed = ",".join(t.display_name(each.logical) for each in possible)
        table.alter(SetProperty("deltaskip.keyIndexColumns", listed))
        table.recompute_stats(columns=[], index=True)
        for _ in range(15):
            where = ColumnExpr(random_predicate(rng, made, rng.randrange(3)))
            try:
                expected = twin.scan(where).to_arrow()
            except (PredicateError, UnsupportedFeature):
                continue
            scan = table.scan(where)
            assert str(scan.to_arrow().to_pylist()) == str(expected.to_pylist()), (number, scan)
            files = len(scan.files()), len(twin.scan(where).files())
            assert files[0] <= files[1]
            asked, saved = asked + 1, saved + files[1] - files[0]
    assert asked > 50 and saved > 0
