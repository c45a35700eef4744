"""Delta's record-level index: what it rules out, that it rules out nothing else, and when it is not believed."""

import datetime as dt
import json
import random
import re
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from deltaskip import DeltaTable, SetProperty
from deltaskip.errors import ReadWarning, UnsupportedFeature
from deltaskip.skipping.key_index.record_index import RECORD_INDEX_FOLDER
from tests.extent import extent, seed

NULL = "__DELTA_NULL__"
FEATURE = "recordLevelIndex"


def text_of(value: Any) -> str:
    return NULL if value is None else str(value)


def entries_of(table: DeltaTable, columns: Sequence[str]) -> pa.Table:
    """An entry for each row of the table's files, as the RFC says; deleted rows, too."""
    found = []
    root = Path(table.uri.removeprefix("file://"))
    for file in table.scan().files(columns=["path"]).to_pylist():
        rows = pq.read_table(root / file["path"], columns=list(columns)).to_pylist()
        for position, row in enumerate(rows):
            digest = xxhash.xxh3_128_digest(b"\0".join(text_of(row[each]).encode() for each in columns))
            high, low = (int.from_bytes(each, signed=True) for each in (digest[:8], digest[8:]))
            found.append((high, low, file["path"], position, table.version))
    names = ("indexKeyHigh", "indexKeyLow", "fileId", "rowPosition", "rowCommitVersion")
    types = (pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.int64())
    schema = pa.schema(list(zip(names, types, strict=True)))
    return pa.Table.from_pylist([dict(zip(names, each, strict=True)) for each in sorted(found)], schema=schema)


def with_index(
    table: DeltaTable, columns: Sequence[str], entries: Sequence[pa.Table], feature: str = FEATURE, **changed: Any
) -> DeltaTable:
    """The table with these index files, by a commit as a writer makes it that keeps the index."""
    root = Path(table.uri.removeprefix("file://"))
    (root / RECORD_INDEX_FOLDER).mkdir(exist_ok=True)
    listed = []
    for each in entries:
        name = f"{uuid.uuid4()}.parquet"
        pq.write_table(each, root / RECORD_INDEX_FOLDER / name, row_group_size=16)
        size = (root / RECORD_INDEX_FOLDER / name).stat().st_size
        listed.append({"path": name, "sizeInBytes": size, "numEntries": len(each), "minRowCommitVersion": 0})
    domain = {
        "layoutVersion": 1,
        "keyMode": "userKey",
        "keyColumns": list(columns),
        "enablementVersion": table.version + 1,
    }
    domain |= {"indexFiles": listed} | changed
    log = root / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    [protocol] = [each["protocol"] for each in first if "protocol" in each]
    [metadata] = [each["metaData"] for each in first if "metaData" in each]
    features = sorted(
        {*protocol.get("writerFeatures", []), feature, "rowTracking", "domainMetadata", "deletionVectors"}
    )
    reads = sorted({*protocol.get("readerFeatures", []), "deletionVectors"})
    protocol |= {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": reads, "writerFeatures": features}
    configuration = {**metadata["configuration"], "delta.enableRecordLevelIndex": "true"}
    actions = [
        {"protocol": protocol},
        {"metaData": {**metadata, "configuration": configuration}},
        {"domainMetadata": {"domain": "delta.recordLevelIndex", "configuration": json.dumps(domain), "removed": False}},
    ]
    text = "\n".join(map(json.dumps, actions)) + "\n"
    (log / f"{table.version + 1:020}.json").write_text(text)
    return DeltaTable(root)


def table_of(folder: Path, files: int = 8) -> tuple[DeltaTable, list[str]]:
    """A table of random keys, and its keys; each file has 20 of them."""
    table = DeltaTable.create(folder, "id STRING, n BIGINT", properties={"delta.enableDeletionVectors": "true"})
    made = random.Random(seed())
    keys = [str(uuid.UUID(int=made.getrandbits(128))) for _ in range(files * 20)]
    for at in range(0, len(keys), 20):
        table.append(pa.table({"id": keys[at : at + 20], "n": pa.array(range(20), pa.int64())}))
    return table, keys


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("id = '{0}'", 1),
        ("id IN ('{0}', '{60}', 'none')", 2),
        ("id = '{0}' OR id = '{110}'", 2),
        ("id = '{0}' AND n > 1", 1),
        ("id = 'none'", 0),
        ("id = '{0}' OR n = 3", 8),
        ("id <> '{0}'", 8),
        ("NOT (id = '{0}')", 8),
        ("upper(id) = upper('{0}')", 8),
    ],
)
def test_files_without_an_entry_of_the_sought_keys_are_ruled_out(tmp_path: Path, where: str, kept: int) -> None:
    table, keys = table_of(tmp_path / "t")
    twin = table.scan(where.format(*keys)).to_arrow()
    entries = entries_of(table, ["id"])
    found = with_index(table, ["id"], [entries.slice(0, 70), entries.slice(70)]).scan(where.format(*keys))
    assert len(found.files()) == kept
    assert found.to_arrow().equals(twin)
    said = found.explain().index
    assert ("The key index of id saves" in said) == (kept < 8), said


def test_a_composite_key_needs_each_of_its_columns(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "a INT, d DATE, s STRING")
    day = dt.date(2024, 2, 29)
    for number in range(6):
        rows = [{"a": number, "d": day, "s": "x"}, {"a": 1000 - number, "d": dt.date(1, 1, 1), "s": "y"}]
        table.append([*rows, {"a": None, "d": dt.date(9999, 1, 1), "s": None}, {"a": -5, "d": None, "s": " "}])
    columns = ["a", "d", "s"]
    table = with_index(table, columns, [entries_of(table, columns)])
    kept = lambda where: len(table.scan(where).files())  # noqa: E731
    assert kept("a = 3 AND d = DATE '2024-02-29' AND s = 'x'") == 1
    assert kept("a IN (3, 4, 500) AND d = DATE '2024-02-29' AND s IN ('x', 'w')") == 2
    assert kept("a = 997 AND d = DATE '0001-01-01' AND s = 'y'") == 1
    assert kept("a = 3 AND d = DATE '2024-02-29'") == 6
    assert kept("a = 3 AND d = DATE '2024-02-29' AND s = ''") == kept("a = 3 AND s = ''")
    assert table.scan("a = 3 AND d = DATE '2024-02-29' AND s = 'x'").to_arrow().num_rows == 1


def test_a_key_whose_newest_entry_names_no_file_of_the_table_keeps_every_file(tmp_path: Path) -> None:
    table, keys = table_of(tmp_path / "t")
    entries = entries_of(table, ["id"])
    table.update({"n": "n + 100"}, f"id = '{keys[25]}'")
    moved = entries_of(table, ["id"])
    stale = with_index(table, ["id"], [entries])
    # The file of a key that was updated by a deletion vector is still there; files that are gone are not believed.
    assert len(stale.scan(f"id = '{keys[70]}'").files()) == 1
    others = entries.set_column(2, "fileId", pa.array(["gone.parquet"] * len(entries)))
    gone = with_index(stale, ["id"], [others])
    assert len(gone.scan(f"id = '{keys[45]}'").files()) == len(table.scan(f"id = '{keys[45]}'").files()) > 1
    both = with_index(DeltaTable(tmp_path / "t"), ["id"], [entries, moved])
    assert both.scan(f"id = '{keys[25]}'").to_arrow()["n"].to_pylist() == [105]


@pytest.mark.parametrize(
    "damage",
    [
        "missing", "cut", "other size", "not JSON", "above", "no columns", "left out", "rows left out", "other key",
    ],
)  # fmt: skip
def test_a_damaged_index_keeps_every_file_with_a_warning(tmp_path: Path, damage: str) -> None:
    table, keys = table_of(tmp_path / "t", 4)
    changed: dict[str, Any] = {"no columns": {"keyColumns": None}}.get(damage, {})
    entries = entries_of(table, ["id"])
    parts = [entries] if damage != "rows left out" else [entries.slice(0, 40), entries.slice(41)]
    table = with_index(table, ["id"], parts, **changed)
    part, *_ = (tmp_path / "t" / RECORD_INDEX_FOLDER).iterdir()
    log = tmp_path / "t" / "_delta_log" / f"{table.version:020}.json"
    match damage:
        case "missing":
            part.unlink()
        case "cut":
            part.write_bytes(part.read_bytes()[:-5])
        case "other size":
            log.write_text(log.read_text().replace('sizeInBytes\\": ', 'sizeInBytes\\": 1'))
        case "not JSON":
            log.write_text(log.read_text().replace('{\\"layoutVersion', '\\"layoutVersion'))
        case "left out":
            log.write_text(re.sub(r'indexFiles\\": \[.*?\]', r'indexFiles\\": []', log.read_text()))
        case "other key":
            said = '"delta.recordLevelIndex.keyColumns": "[\\"n\\", \\"id\\"]", "delta.enableRecordLevelIndex"'
            log.write_text(log.read_text().replace('"delta.enableRecordLevelIndex"', said))
        case "above":
            log.write_text(log.read_text().replace(part.name, f"../{part.name}"))
    with pytest.warns(ReadWarning, match="record-level index .* is not used"):
        scan = DeltaTable(tmp_path / "t").scan(f"id IN ('{keys[0]}', '{keys[70]}')")
        assert len(scan.files()) == 4
        assert scan.to_arrow().num_rows == 2


@pytest.mark.parametrize(
    "changed", [{"layoutVersion": 2}, {"keyMode": "rowId", "keyColumns": []}, {"feature": "appendOnly"}]
)
def test_other_layouts_and_keys_are_left_alone(tmp_path: Path, changed: dict[str, Any]) -> None:
    table, keys = table_of(tmp_path / "t", 4)
    table = with_index(table, ["id"], [entries_of(table, ["id"])], **changed)
    assert len(table.scan(f"id IN ('{keys[0]}', '{keys[70]}')").files()) == 4


def test_without_the_package_of_the_hash_the_index_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, keys = table_of(tmp_path / "t", 4)
    table = with_index(table, ["id"], [entries_of(table, ["id"])])
    monkeypatch.setitem(sys.modules, "xxhash", None)
    assert len(table.scan(f"id IN ('{keys[0]}', '{keys[70]}')").files()) == 4


def test_a_table_with_the_index_is_not_written_and_not_made(tmp_path: Path) -> None:
    table, _ = table_of(tmp_path / "t", 2)
    with pytest.raises(UnsupportedFeature, match="recordLevelIndex"):
        table.alter(SetProperty("delta.enableRecordLevelIndex", "true"))
    table = with_index(table, ["id"], [entries_of(table, ["id"])])
    with pytest.raises(UnsupportedFeature, match="recordLevelIndex"):
        table.append([{"id": "a", "n": 1}])


def random_condition(made: random.Random, depth: int = 2) -> str:
    """AND, OR and NOT over comparisons of a, s and d with values that some rows have."""
    if depth and made.random() < 0.7:
        word = made.choice([" AND ", " AND ", " OR "])
        both = word.join(f"({random_condition(made, depth - 1)})" for _ in range(made.randint(2, 3)))
        return f"NOT ({both})" if made.random() < 0.1 else both
    name = made.choice("asd")
    values = {"a": str, "s": "'{}'".format, "d": "DATE '2024-01-0{}'".format}[name]
    some = [values(made.randint(1, 9)) for _ in range(3)]
    return f"{name} " + made.choice(
        [f"= {some[0]}", f"<=> {some[0]}", f"IN ({', '.join(some)})", f"> {some[0]}", "IS NULL"]
    )


@pytest.mark.parametrize("number", range(extent(6, 200)))
def test_random_conditions_find_the_rows_of_a_table_without_the_index(tmp_path: Path, number: int) -> None:
    made = random.Random(seed() + number)
    table = DeltaTable.create(
        tmp_path / "t", "a INT, s STRING, d DATE", properties={"delta.enableDeletionVectors": "true"}
    )
    schema = pa.schema([("a", pa.int32()), ("s", pa.string()), ("d", pa.date32())])
    for _ in range(made.randint(2, 8)):
        numbers = [made.choice([None, *range(1, 10)]) for _ in range(3 * made.randint(1, 4))]
        days = [each and dt.date(2024, 1, each) for each in numbers[2::3]]
        texts = [each and str(each) for each in numbers[1::3]]
        rows = [numbers[0::3], texts, days]
        table.append(pa.Table.from_arrays(list(map(pa.array, rows, schema.types)), schema=schema))
    table.delete(f"a = {made.randint(1, 9)}")
    columns = made.sample("asd", k=made.choice([1, 1, 2, 3]))
    questions = [random_condition(made) for _ in range(30)]
    wanted = [table.scan(each).to_arrow() for each in questions]
    entries = entries_of(table, columns)
    middle = made.randint(0, len(entries))
    table = with_index(table, columns, [entries.slice(0, middle), entries.slice(middle)])
    for question, rows in zip(questions, wanted, strict=True):
        assert table.scan(question).to_arrow().equals(rows), question
