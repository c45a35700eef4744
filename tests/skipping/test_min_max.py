"""MIN and MAX from the log: the exact value, or a refusal with its reason."""

import json
import random
import tempfile
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import DATE, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, DataType, DecimalType
from tests import corpus
from tests.builder import TableBuilder, add, bounds
from tests.each import each, refuses
from tests.extent import WHOLE, extent

VECTOR = {"storageType": "u", "pathOrInlineDv": "0" * 20, "sizeInBytes": 40, "cardinality": 4}
LONG_TEXT = "x" * 32


def opened(folder: Path, type_: DataType, *files: dict[str, Any], partitions: tuple[str, ...] = ()) -> ds.DeltaTable:
    columns = {"c": type_, **dict.fromkeys(partitions, STRING)}
    builder = TableBuilder(folder / "t", columns, list(partitions))
    builder.commit(*files)
    return ds.DeltaTable(folder / "t")


def both(scan: ds.Scan, column: str = "c") -> tuple[Any, Any]:
    return scan.min(column), scan.max(column)


@pytest.mark.parametrize(
    ("type_", "low", "high", "expected"),
    [
        (LONG, -(1 << 62), (1 << 62) + 1, (-(1 << 62), (1 << 62) + 1)),
        (INTEGER, 1, 9, (1, 9)),
        (DATE, "1950-01-02", "2024-02-29", (date(1950, 1, 2), date(2024, 2, 29))),
        (DOUBLE, -1.5, 2.25, (-1.5, 2.25)),
        (STRING, "a", "ümlaut", ("a", "ümlaut")),
        (DecimalType(20, 2), 1.25, 99.5, (Decimal("1.25"), Decimal("99.50"))),
    ],
)
def test_bounds_written_as_is(tmp_path: Path, type_: DataType, low: Any, high: Any, expected: tuple[Any, Any]) -> None:
    table = opened(tmp_path, type_, add("a", bounds(3, c=(low, high))), add("b", bounds(3, c=(low, low))))
    assert both(table.scan()) == expected
    assert both(table.scan("c IS NOT NULL")) == expected


def test_files_without_rows_or_values_say_nothing_and_null_is_the_answer_of_none(tmp_path: Path) -> None:
    nulls = {"numRecords": 4, "nullCount": {"c": 4}}
    empty = {"numRecords": 0}
    table = opened(tmp_path, LONG, add("a", nulls), add("b", empty), add("c", bounds(2, c=(5, 6))))
    assert both(table.scan()) == (5, 6)
    assert both(table.scan("c IS NULL")) == (None, None)
    assert both(table.scan("c > 100")) == (None, None)


def test_files_that_match_in_part_are_edges_only(tmp_path: Path) -> None:
    table = opened(
        tmp_path, LONG, add("a", bounds(2, c=(1, 10))), add("b", bounds(2, c=(5, 8))), add("c", bounds(2, c=(7, 9)))
    )
    refuses(ds.NotProvable, "only partly matches", lambda: table.scan("c >= 6").min("c"))
    refuses(ds.NotProvable, "does not prove the maximum of c", lambda: table.scan("c <= 8").max("c"))
    assert table.scan("c < 11").min("c") == 1


@pytest.mark.parametrize(
    ("tight", "vector", "exact"),
    [
        (None, False, True),
        (True, False, True),
        (False, False, False),
        (None, True, False),
        (True, True, True),
        (False, True, False),
    ],
)
def test_a_bound_counts_only_where_it_is_tight(tmp_path: Path, tight: bool | None, vector: bool, exact: bool) -> None:
    stats = {**bounds(10, c=(1, 9)), **({} if tight is None else {"tightBounds": tight})}
    table = opened(tmp_path, LONG, add("a", stats, **({"deletionVector": VECTOR} if vector else {})))
    if exact:
        assert both(table.scan()) == (1, 9)
    else:
        refuses(ds.NotProvable, "wide", lambda: table.scan().min("c"))


def test_a_wide_file_inside_the_others_does_no_harm(tmp_path: Path) -> None:
    wide = {**bounds(10, c=(3, 6)), "tightBounds": False}
    table = opened(tmp_path, LONG, add("a", wide, deletionVector=VECTOR), add("b", bounds(2, c=(1, 9))))
    assert both(table.scan()) == (1, 9)


@pytest.mark.parametrize(
    ("type_", "low", "high", "reason"),
    [
        (TIMESTAMP, "2024-01-01T00:00:00.000Z", "2024-01-02T00:00:00.000Z", "milliseconds"),
        (STRING, LONG_TEXT, LONG_TEXT, "further out"),
        (DATE, "1899-12-31", "1899-12-31", "further out"),
        (DecimalType(20, 2), 12345678901234567.25, 12345678901234567.25, "further out"),
    ],
)
def test_bounds_that_may_not_be_the_value(tmp_path: Path, type_: DataType, low: Any, high: Any, reason: str) -> None:
    table = opened(tmp_path, type_, add("a", bounds(2, c=(low, high))))
    refuses(ds.NotProvable, reason, lambda: table.scan().min("c"))


def test_a_maximum_of_doubles_needs_a_writer_that_records_nan(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": DOUBLE})
    builder.commit(add("a", bounds(2, c=(1.0, 2.0))), engine="Apache-Spark/4.0.0 Delta-Lake/4.0.0")
    builder.commit(add("b", bounds(2, c=(0.5, 1.5))), engine="delta-rs:py-1.0.0")
    table = ds.DeltaTable(tmp_path / "t")
    assert table.scan().min("c") == 0.5
    refuses(ds.NotProvable, "1 file has no usable statistics", lambda: table.scan().max("c"))


def test_missing_statistics_are_named(tmp_path: Path) -> None:
    table = opened(tmp_path, LONG, add("a", bounds(2, c=(1, 2))), add("b", {"numRecords": 2}), add("c"))
    with pytest.raises(ds.NotProvable, match=r"version 0 .* minimum of c: 2 files have no usable statistics"):
        table.scan().min("c")


def test_strings_of_type_char_are_padded_when_they_are_read(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "s STRUCT<c: CHAR(3), v: VARCHAR(3)>, c CHAR(3), p CHAR(3)", ["p"])
    table.append(pa.table({"s": [{"c": "x", "v": "y"}], "c": ["x"], "p": ["a"]}))
    assert both(table.scan(), "s.v") == ("y", "y")
    for column in ("s.c", "c", "p"):
        with pytest.raises(ds.NotProvable, match="not compared in binary order"):
            table.scan().min(column)
    capitals = json.dumps({"__CHAR_VARCHAR_TYPE_STRING": "CHAR(3)"})
    schema = f'{{"type":"struct","fields":[{{"name":"c","type":"string","nullable":true,"metadata":{capitals}}}]}}'
    other = ds.DeltaTable.create(tmp_path / "capitals", schema)
    other.append(pa.table({"c": ["x"]}))
    refuses(ds.NotProvable, "not compared in binary order", lambda: other.scan().min("c"))


def test_partition_columns(tmp_path: Path) -> None:
    def part(value: str | None, path: str, stats: Any, **more: Any) -> dict[str, Any]:
        return add(path, stats, partitionValues={"p": value}, **more)

    files = [
        part("b", "b", bounds(1, c=(1, 2))),
        part("a", "a", {"numRecords": 0}),
        part(None, "n", bounds(1, c=(1, 2))),
    ]
    table = opened(tmp_path, LONG, *files, partitions=("p",))
    assert both(table.scan(), "p") == ("b", "b")
    assert both(table.scan("p IS NULL"), "p") == (None, None)
    refuses(ds.NotProvable, "only partly matches", lambda: table.scan("c = 1").max("p"))


def test_dates_that_python_lacks_are_refused(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, p DATE, q TIMESTAMP_NTZ", partition_by=["p", "q"])
    days = pa.array([-721529, 2932907, 0], pa.int32()).cast(pa.date32())
    times = pa.array([-63167219200000000, 253403300800000000, 0], pa.int64()).cast(pa.timestamp("us"))
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int32()), "p": days, "q": times}))
    for column in ("p", "q"):
        for side in ("min", "max"):
            with pytest.raises(ds.NotProvable, match="not in the years 1 to 9999"):
                getattr(table.scan(), side)(column)
    assert table.scan("id = 3").to_arrow()["p"].to_pylist() == [date(1970, 1, 1)]


def test_partition_timestamps_are_datetimes(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": LONG, "p": TIMESTAMP}, ["p"])
    builder.commit(add("a", bounds(1, c=(1, 1)), partitionValues={"p": "2024-01-01 10:00:00"}))
    table = ds.DeltaTable(tmp_path / "t")
    assert table.scan(time_zone="Asia/Tokyo").min("p") == datetime(2024, 1, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("column", ["c + 1", "1", "nowhere"])
def test_only_columns_have_extremes(tmp_path: Path, column: str) -> None:
    refuses(ds.PredicateError, None, lambda: opened(tmp_path, LONG, add("a", bounds(1, c=(1, 1)))).scan().min(column))


def check_extremes(seed: int) -> int:
    """Number of extremes that the log proves, of 6.

    The files have random rows, deleted ones among them, with the bounds that their writer knew before the deletion.
    """
    rng = random.Random(seed)
    alive: list[int] = []
    files, answered = [], 0
    for number in range(rng.randint(1, 6)):
        rows = [rng.choice([None, *range(20)]) for _ in range(rng.randint(0, 4))]
        deleted = rng.sample(range(len(rows)), rng.randint(0, len(rows))) if rng.random() < 0.4 else []
        left = [value for i, value in enumerate(rows) if i not in deleted]
        told = left if deleted and rng.random() < 0.5 else rows
        known = [value for value in told if value is not None]
        stats: dict[str, Any] = {"numRecords": len(rows), "nullCount": {"c": sum(v is None for v in rows)}}
        if known:
            stats |= {"minValues": {"c": min(known)}, "maxValues": {"c": max(known)}}
        if told is left and deleted:
            stats["tightBounds"] = True
        elif rng.random() < 0.5 and deleted:
            stats["tightBounds"] = False
        vector = {"deletionVector": {**VECTOR, "cardinality": len(deleted)}} if deleted else {}
        files.append(add(f"f{number}", json.dumps(stats), **vector))
        alive += [value for value in left if value is not None]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.StatisticsWarning)
        table = opened(Path(folder), LONG, *files)
        for where, matches in (
            (None, alive),
            ("c >= 7", [v for v in alive if v >= 7]),
            ("c < 3", [v for v in alive if v < 3]),
        ):
            for name, expected in (("min", min(matches, default=None)), ("max", max(matches, default=None))):
                try:
                    found = getattr(table.scan(where), name)("c")
                except ds.NotProvable:
                    continue
                assert found == expected, f"seed {seed}: {name} of {where} is {expected}, not {found}"
                answered += expected is not None
    return answered


@settings(max_examples=extent(25, 150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_against_rows(seed: int) -> None:
    check_extremes(seed)


def test_extremes_of_rows_are_answered_and_not_only_refused() -> None:
    # 216 of 600 when this was written.
    tables = extent(20, 100)
    assert sum(map(check_extremes, range(tables))) > 6 * tables * 0.3


_READ: dict[DataType, Any] = {LONG: int, INTEGER: int, STRING: str, DATE: date.fromisoformat, DOUBLE: float}


def _has_rows(version: dict[str, Any]) -> bool:
    return (version.get("rows") or {}).get("file") is not None


def check_corpus_extremes(table: corpus.CorpusTable, version: dict[str, Any]) -> tuple[int, int]:
    """Number of columns whose minimum the log proves to be that of the rows, and of those with a proved maximum."""
    lines = (corpus.SHARED / "tables" / version["rows"]["file"]).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    scan = ds.DeltaTable(table.path, version=version["version"]).scan(time_zone=None)
    answered = {"min": 0, "max": 0}
    for field in scan.snapshot.schema.fields:
        read = Decimal if isinstance(field.type, DecimalType) else _READ.get(field.type)
        if read is None:
            continue
        values = [read(row[field.name]) for row in rows if row.get(field.name) is not None]
        order = str.encode if field.type == STRING else lambda value: (value != value, value)
        for name, outermost in (("min", min), ("max", max)):
            try:
                found = getattr(scan, name)(f"`{field.name.replace('`', '``')}`")
            except ds.NotProvable:
                continue
            expected = outermost(values, key=order, default=None)
            assert found == expected or (found != found and expected != expected), f"{name} of {field.name}"
            answered[name] += expected is not None
    return answered["min"], answered["max"]


@pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning")
def test_extremes_of_the_corpus_are_those_of_the_rows_and_not_only_refused(shared: Path) -> None:
    found: dict[str, tuple[int, int]] = {}

    def check(pair: tuple[corpus.CorpusTable, dict[str, Any]]) -> None:
        table, version = pair
        answered = check_corpus_extremes(table, version)
        if version is table.versions[0]:
            found[table.name] = answered

    pairs = corpus.versions("read", where=_has_rows)
    # In the gate the latest of each table.
    each([pair for pair in pairs if WHOLE or pair[1] is pair[0].versions[0]], check, corpus.version_name)
    lows, highs = map(sum, zip(*found.values(), strict=True))
    # 247 and 239 when this was written.
    assert lows > 200
    assert highs > 200
