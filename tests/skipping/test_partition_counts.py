"""Partitions and distinct partition values from the log alone, against plain counting over the list of files."""

import random
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, transforms
from deltaskip.errors import CorruptLog, InvalidArgument, NotProvable, PredicateError
from deltaskip.sparkexpr.types.data_types import DATE, DOUBLE, INTEGER, STRING, TIMESTAMP, DataType
from tests.builder import TableBuilder, add
from tests.each import refuses
from tests.extent import extent
from tests.looped import looped

VECTORS = {"delta.enableDeletionVectors": "true"}


def counted(table: DeltaTable, where: str | None = None) -> list[tuple[Any, ...]]:
    """What `partitions` must return, from the files one by one."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for file in table.scan(where).files().to_pylist():
        sums = found.setdefault(tuple(file["partition_values"].values()), [0, 0, 0])
        deleted = (file["deletion_vector"] or {}).get("cardinality") or 0
        records = file["num_records"]
        sums[0] += 1
        sums[1] = None if records is None or sums[1] is None else sums[1] + records - deleted
        sums[2] += file["size"]
    return [
        (*key, *sums) for key, sums in sorted(found.items(), key=lambda item: [(v is not None, v) for v in item[0]])
    ]


def listed(table: pa.Table) -> list[tuple[Any, ...]]:
    assert table.column_names == ["partition_values", "num_files", "num_rows", "size_in_bytes"]
    return [(*row.pop("partition_values").values(), *row.values()) for row in table.to_pylist()]


@looped("seed", range(extent(2, 6)))
def test_partitions_are_counted_as_one_by_one(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    by = ["p", transforms.bucket("id", 3)] if seed % 2 else ["day", "p"]
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING, day DATE", by, properties=VECTORS)
    for _ in range(4):
        n = chance.randrange(1, 60)
        days = [chance.choice([None, date(2024, 1, 1), date(2024, 1, 2)]) for _ in range(n)]
        names = [chance.choice([None, "a", "é", "B"]) for _ in range(n)]
        ids = [chance.randrange(30) for _ in range(n)]
        table.append(
            pa.table(
                {"id": pa.array(ids, pa.int64()), "p": pa.array(names, pa.string()), "day": pa.array(days, pa.date32())}
            )
        )
        table.refresh().delete(f"id % 7 = {chance.randrange(7)}")
        table.refresh()
    table.checkpoint()
    for opened in (table, DeltaTable(tmp_path / "t")):
        for where in (None, "id < 10", "p = 'a'", "p IS NULL OR day > '2024-01-01'", "id = 1000"):
            assert listed(opened.partitions(where)) == counted(opened, where)
    for name in table.partition_columns:
        rows = Counter(row[0] for row in listed(table.partitions()) if row[-2])
        found = table.scan().distinct(name)[name].to_pylist()
        if name == table.partition_columns[0]:
            assert set(found) == set(rows)
        assert len(found) == len(set(found))


def test_a_table_without_partition_columns_has_one_partition(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    assert table.partitions().num_rows == 0
    table.append(pa.table({"id": [1, 2]}))
    table.append(pa.table({"id": [3]}))
    [row] = table.refresh().partitions().to_pylist()
    assert (row["partition_values"], row["num_files"], row["num_rows"]) == ({}, 2, 3)


def partitioned(tmp_path: Path, type_: DataType, *texts: str | None, **stats: Any) -> DeltaTable:
    builder = TableBuilder(tmp_path / "t", {"p": type_, "c": INTEGER}, ["p"])
    given = {"stats": {"numRecords": 5}, **stats}
    builder.commit(*[add(f"f{i}", partitionValues={"p": text}, **given) for i, text in enumerate(texts)])
    return DeltaTable(tmp_path / "t")


@pytest.mark.parametrize(
    ("type_", "texts", "partitions"),
    [
        (INTEGER, ("1", "01", "+1", "2", None), 3),
        (DOUBLE, ("0.0", "-0.0", "1", "1.0", "NaN", "nan"), 3),
        (TIMESTAMP, ("2024-01-01 00:00:00", "2024-01-01T00:00:00Z", "2024-01-01 01:00:00+01:00"), 1),
        (DATE, ("2024-01-01", "2024-1-1"), 1),
    ],
)
def test_equal_values_in_several_spellings_are_one_partition(
    tmp_path: Path, type_: DataType, texts: tuple[str | None, ...], partitions: int
) -> None:
    table = partitioned(tmp_path, type_, *texts)
    found = table.partitions()
    assert found.num_rows == partitions
    assert sum(found["num_files"].to_pylist()) == len(texts)
    assert table.scan().distinct("p").num_rows == partitions


def test_an_unknown_row_count_is_null(tmp_path: Path) -> None:
    table = partitioned(tmp_path, INTEGER, "1", stats=None)
    assert table.partitions()["num_rows"].to_pylist() == [None]
    with pytest.raises(NotProvable, match="1 value is only in files that partly match, or have no row count"):
        table.scan().distinct("p")


def test_a_value_that_is_not_of_the_type_is_an_error(tmp_path: Path) -> None:
    refuses(CorruptLog, "column 'p' that cannot be parsed", lambda: partitioned(tmp_path, INTEGER, "one").partitions())


def test_distinct_values_are_those_of_rows_that_are_left(tmp_path: Path) -> None:
    data = pa.table({"id": [1, 2, 3, 4], "p": ["a", "a", "b", None]})
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", ["p"], properties=VECTORS)
    table.append(data)
    assert table.refresh().scan().distinct("P").to_pydict() == {"p": [None, "a", "b"]}
    assert table.scan("p >= 'b'").distinct("p").to_pydict() == {"p": ["b"]}
    assert table.scan("id = 3").distinct("p").to_pydict() == {"p": ["b"]}
    refuses(NotProvable, "1 value is only in files that partly match", lambda: table.scan("id = 1").distinct("p"))
    table.delete("id = 4")
    assert table.refresh().scan().distinct("p").to_pydict() == {"p": ["a", "b"]}


def test_what_cannot_be_proved_is_said(tmp_path: Path) -> None:
    table = partitioned(tmp_path, STRING, "", "x")
    refuses(NotProvable, "c is not a partition column", lambda: table.scan().distinct("c"))
    refuses(NotProvable, "'' of p can be read in several ways", lambda: table.scan().distinct("p"))
    refuses(NotProvable, "scan with a limit", lambda: table.scan(limit=1).distinct("p"))
    refuses(PredicateError, "no column q", lambda: table.scan().distinct("q"))
    refuses(InvalidArgument, "at least one column", lambda: table.scan().distinct())
    with pytest.raises(NotProvable, match="several ways"):
        partitioned(tmp_path / "u", TIMESTAMP, "2024-01-01 00:00:00").scan(time_zone=None).distinct("p")


def test_strings_of_type_char_are_padded_as_in_rows(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, p CHAR(4), q INT", partition_by=["p", "q"])
    for number, text in enumerate(("a", "a   ", "b", None)):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "p": [text], "q": pa.array([7], pa.int32())}))
    rows = table.scan().to_arrow()["p"].to_pylist()
    assert sorted(rows, key=str) == [None, "a   ", "a   ", "b   "]
    assert table.scan().distinct("p").to_pydict() == {"p": [None, "a   ", "b   "]}
    assert table.scan().distinct("q", "p").to_pydict() == {"q": [7, 7, 7], "p": [None, "a   ", "b   "]}
    found = table.partitions().to_pylist()
    assert [(each["partition_values"]["p"], each["num_rows"]) for each in found] == [
        (None, 1),
        ("a   ", 2),
        ("b   ", 1),
    ]


def test_collated_strings_that_may_be_equal_are_not_told_apart(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, p STRING COLLATE UTF8_LCASE", partition_by=["p"])
    table.append(pa.table({"id": pa.array([0, 1], pa.int32()), "p": ["a", "A"]}))
    refuses(NotProvable, "may be equal under its collation spark", lambda: table.scan().distinct("p"))


def test_extremes_and_counts_of_hidden_columns_need_no_rows(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "ts TIMESTAMP_NTZ", [transforms.date("ts")])
    times = pa.array([0, 10**11, 3 * 10**11], pa.int64()).view(pa.timestamp("us"))
    table.append(pa.table({"ts": times}))
    scan = table.refresh().scan("ts_day >= '1970-01-02'")
    assert (scan.count(), scan.min("ts_day"), scan.max("ts_day")) == (2, date(1970, 1, 2), date(1970, 1, 4))
    assert scan.distinct("ts_day").to_pydict() == {"ts_day": [date(1970, 1, 2), date(1970, 1, 4)]}
