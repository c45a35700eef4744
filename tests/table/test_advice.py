"""Advice: what it promises is what the advised command gives, and nothing is advised where nothing helps."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaskip as ds
from deltaskip import DeltaTable, SetProperty
from deltaskip.errors import InvalidArgument, InvalidArgumentType, MaintenanceWarning
from deltaskip.reading import arrow_rows
from deltaskip.skipping.journal import noted
from tests.each import refuses

ROWS, FILES = 120_000, 30


def rows_of(kind: str) -> pa.Table:
    """Rows in an order that skips nothing, or in that of days."""
    chance = np.random.default_rng(len(kind))
    days = chance.integers(0, 365, ROWS)
    columns = {
        "day": np.sort(days) if kind in ("sorted", "bare") else days,
        "id": chance.permutation(ROWS),
        "country": pa.array([f"c{number}" for number in chance.integers(0, 12, ROWS)]),
        "x": chance.normal(size=ROWS),
        "uid": pa.array([f"{number:032x}" for number in chance.integers(0, 1 << 60, ROWS)]),
        "p": pa.array([f"p{number}" for number in chance.integers(0, 3, ROWS)]),
    }
    return pa.table(columns)


def made(folder: Path, kind: str) -> DeltaTable:
    rows = rows_of(kind)
    properties = {"delta.dataSkippingNumIndexedCols": "0"} if kind == "bare" else {}
    table = DeltaTable.create(folder, rows.schema, ["p"] if kind == "parted" else [], properties=properties)
    for start in range(0, ROWS, ROWS // FILES):
        table.append(rows.slice(start, ROWS // FILES))
    if kind == "parted":
        table.delete("id % 10 = 3")
    return table


def read_bytes(table: DeltaTable, queries: Sequence[str]) -> int:
    return sum(pc.sum(table.scan(query).files(columns=["size"])["size"]).as_py() or 0 for query in queries)


def in_days(length: int) -> list[str]:
    return [f"day BETWEEN {day} AND {day + length}" for day in range(0, 350, 7)]


IDS = [f"id BETWEEN {number} AND {number + 400}" for number in range(0, ROWS, 9_000)]
COUNTRIES = [f"country = 'c{number}'" for number in range(12)]
# kind of table, queries, the columns of the best change
WORKLOADS = {
    "days": ("plain", in_days(0), {"day"}),
    "weeks": ("plain", in_days(7), {"day"}),
    "days or ids": ("plain", in_days(0)[::4] + IDS, {"day", "id"}),
    "countries": ("plain", COUNTRIES, {"country"}),
    "days of countries": ("plain", [f"day = {n * 9} AND country = 'c{n % 12}'" for n in range(40)], {"day"}),
    "keys": ("plain", ["uid = '{uid}'"], {"uid"}),
    "ids of partitions": ("parted", [f"p = 'p{n % 3}' AND {query}" for n, query in enumerate(IDS)], {"id"}),
    "months": ("parted", in_days(30), {"day"}),
    "no statistics": ("bare", in_days(3), {"day"}),
    "ids of sorted days": ("sorted", IDS, {"id"}),
}


@pytest.mark.long(gate=4)
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_bytes_after_the_advised_command_are_those_that_were_promised(tmp_path: Path, name: str) -> None:
    kind, queries, columns = WORKLOADS[name]
    table = made(tmp_path / "t", kind)
    uid = table.scan(columns=["uid"], limit=1).to_arrow()["uid"][0].as_py()
    queries = [query.replace("{uid}", uid) for query in queries]
    before = read_bytes(table, queries)
    size = read_bytes(table, ["true"]) // FILES
    advice = table.advise(queries, target_file_bytes=size)
    assert advice and sum(advice.read_bytes) == before, advice
    best = advice.suggestions[0]
    assert best.queries_before_bytes == before
    assert set(best.columns) == columns, advice
    done: dict[str, Any] = {"t": table, "ds": ds, "NEW_PATH": tmp_path / "new"}
    exec(best.command, done)
    after = DeltaTable(tmp_path / "new") if best.kind == "partitioning" else table.refresh()
    assert 0.8 <= best.queries_after_bytes / read_bytes(after, queries) <= 1.2, advice
    assert len(best.gaining) == len(queries)


def test_bloom_filters_leave_the_bytes_of_the_index_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_rows, "SMALL_BYTES", 1 << 20)
    table, rows = DeltaTable.create(tmp_path / "t", "uid STRING"), 120_000
    uids = [uuid.UUID(int=random.Random(number).getrandbits(128)).hex for number in range(3 * rows)]
    for start in range(0, len(uids), rows):
        table.append(pa.table({"uid": uids[start : start + rows]}))
    queries = [f"uid = '{each}'" for each in uids[:: len(uids) // 9]]
    index, bloom = table.advise(queries).suggestions
    assert (index.kind, bloom.kind) == ("index", "bloom")
    exec(bloom.command, {"t": table})
    table, read = table.refresh(), 0
    for query in queries:
        scan = table.scan(query)
        assert len(scan.to_arrow()) == 1 and scan.metrics is not None
        read += scan.metrics.row_groups
    # Each file has one row group.
    assert 0.8 <= bloom.queries_after_bytes / (read * read_bytes(table, ["true"]) / 3) <= 1.2
    table.alter(SetProperty("deltaskip.bloomColumns", "uid"))
    assert [each.kind for each in table.advise(queries).suggestions] == ["index"]


def test_bytes_for_which_the_log_has_no_text_are_ordered_and_not_advised_as_partitions(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "b BINARY, text STRING")
    for _ in range(20):
        bytes_of = [bytes([200 + number % 5]) for number in range(2000)]
        table.append(pa.table({"b": bytes_of, "text": [f"t{number % 5}" for number in range(2000)]}))
    advice = table.advise(["b = X'C8'", "text = 't1'"], target_file_bytes=2000)
    assert {each.columns for each in advice.suggestions if each.kind == "partitioning"} == {("text",)}, advice
    assert ("b",) in {each.columns for each in advice.suggestions if each.kind == "order"}, advice


def test_nothing_is_advised_where_nothing_helps(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "sorted")
    size = read_bytes(table, ["true"]) // FILES
    for queries in (["x IS NOT NULL", "x > -100"], in_days(7), ["true"], ["id < -1"]):
        advice = table.advise(queries, target_file_bytes=size)
        assert not advice and "would save much" in repr(advice), advice
    assert not table.advise(IDS), "one file is all that files of the usual size give"


def test_the_journal_has_what_scans_were_asked_and_advice_reads_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "plain")
    other = DeltaTable.create(tmp_path / "other", "id BIGINT")
    path = tmp_path / "journal"
    refuses(InvalidArgument, r"There are no queries .* set deltaskip.options.journal", table.advise)
    with ds.options.changed(journal=str(path)):
        refuses(InvalidArgument, r"journal .* cannot be read", table.advise)
        for query in in_days(0):
            table.scan(query).to_arrow()
            table.scan(query).files()
        table.scan("id IN (5, 6)").top(3, "day DESC").to_arrow()
        table.scan().semi_join(pa.table({"id": [7, 8]}), on="id").files()
        other.scan("id = 1").files()
        table.delete("id = -5")
        found = {(each.where, each.by, each.limit): each.times for each in noted(table.uri)}
        assert sorted(found.values())[-2:] == [2, 2] and len(found) == len(in_days(0)) + 3
        assert ("id IN (5, 6)", ("day DESC NULLS LAST",), 3) in found, list(found)[-4:]
        assert any("7" in where and "8" in where for where, *_ in found if where)
        assert all(where != "id = 1" for where, *_ in found)
        size = read_bytes(table, ["true"]) // FILES
        lines = len(path.read_text().splitlines())
        advice = table.advise(target_file_bytes=size)
        assert set(advice.suggestions[0].columns) == {"day"}, advice
        assert len(path.read_text().splitlines()) == lines, "advice notes nothing"
    assert path.stat().st_mode & 0o077 == 0
    assert json.loads(path.read_text().splitlines()[0])["version"] == FILES
    for wrong in (str(tmp_path / "no folder/journal"), "\0"):
        with ds.options.changed(journal=wrong), pytest.warns(MaintenanceWarning, match="journal"):
            assert table.scan("id = 5").count() == 1


def test_damaged_lines_of_a_journal_are_left_out(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    path = tmp_path / "journal"
    good = json.dumps({"table": table.uri, "version": 0, "at": 1, "where": "id = 1"})
    path.write_bytes(f"{good}\n[1]\n{{}}\n{good[:20]}\n".encode() + b"\xff\n" + good.encode())
    with ds.options.changed(journal=str(path)):
        [found] = noted(table.uri)
    assert (found.where, found.times) == ("id = 1", 2)


def test_a_clustered_table_gets_other_clustering_columns(tmp_path: Path) -> None:
    rows = rows_of("plain")
    table = DeltaTable.create(tmp_path / "t", rows.schema, cluster_by=["id"])
    for start in range(0, ROWS, ROWS // FILES):
        table.append(rows.slice(start, ROWS // FILES))
    before = read_bytes(table, in_days(7))
    best = table.advise(in_days(7), target_file_bytes=read_bytes(table, ["true"]) // FILES).suggestions[0]
    exec(best.command, {"t": table, "ds": ds})
    assert best.columns == ("day",) and read_bytes(table.refresh(), in_days(7)) < before / 4


def test_an_order_that_optimize_refuses_is_not_advised(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "bare")
    advice = table.advise(IDS, target_file_bytes=read_bytes(table, ["true"]) // FILES)
    assert all(each.kind != "order" for each in advice.suggestions), advice


def test_many_queries_of_two_kinds_in_turns_are_all_stood_for(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "plain")
    queries = [f"day = {n % 365}" if n % 2 else f"id = {n}" for n in range(1_200)]
    advice = table.advise(queries, target_file_bytes=read_bytes(table, ["true"]) // FILES)
    assert len(advice.queries) == 500 and sum(advice.times) == 1_000
    assert sum("day" in query for query in advice.queries) > 200
    assert set(advice.suggestions[0].columns) == {"day", "id"}, advice


def test_wrong_arguments(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    assert not table.advise(["id = 1"])
    refuses(InvalidArgument, "queries is empty", table.advise, [])
    refuses(InvalidArgumentType, "queries must be a list of predicates", table.advise, "id = 1")
    refuses(ds.errors.PredicateError, "ix", table.advise, ["ix = 1"])
    with pytest.raises(InvalidArgumentType, match="journal must be a str"):
        ds.options.journal = 5
