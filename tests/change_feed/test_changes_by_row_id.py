"""Changes of versions without a change data feed, by row ids or whole rows, beside the feed and the table's states."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import InvalidArgument, SchemaError, StorageError
from tests.change_feed.test_change_rows import FEED, INSERTS, VECTORS, counted
from tests.dml.tables import DDL, rows, rows_of
from tests.each import refuses
from tests.extent import some

IDS = {"delta.enableRowTracking": "true"}
DELETES = ("delete", "update_preimage")


def made(folder: Path, *properties: dict[str, str], partitioned: bool = False, ids: bool = True) -> DeltaTable:
    joined = dict(pair for each in (IDS if ids else {}, *properties) for pair in each.items())
    return DeltaTable.create(folder, DDL, ["p"] if partitioned else [], properties=joined)


def changes(table: DeltaTable, *bounds: int, **chosen: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.changes(*bounds, **chosen).to_arrow().to_pylist()
    return found


def split(found: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """The rows that came, and those that went."""
    return tuple(  # type: ignore[return-value]
        counted([row for row in found if row["_change_type"] in types]) for types in (INSERTS, DELETES)
    )


def state(table: DeltaTable, version: int) -> Counter[str]:
    return counted(rows_of(DeltaTable(table.snapshot.root, version)))


def whole(row: dict[str, Any]) -> object:
    """What both images of an update have, and no other change."""
    return (row["id"], row["_commit_version"]) if row["_change_type"].startswith("update") else str(row)


def play(table: DeltaTable, seed: int) -> None:
    """Random changes, some of which only move rows, or leave values as they were."""
    chance, first = random.Random(seed), 0
    for _ in range(9):
        match chance.randrange(8):
            case 0 | 1:
                table.append(rows(range(first, first + 20)))
                first += 20
            case 2:
                table.delete(f"id % {chance.randint(3, 7)} = 1")
            case 3:
                table.update({"x": "x + 1"}, f"id % {chance.randint(2, 5)} = 0")
            case 4:
                table.update({"x": "x"}, "id % 3 = 0")
            case 5:
                table.overwrite(rows(range(first, first + 3)), where=f"id IN (3, {first}, {first + 1}, {first + 2})")
                first += 3
            case 6:
                table.optimize()
            case _:
                table.restore(version=chance.randint(0, table.version))
        table.refresh()


KINDS = ({}, VECTORS, FEED, {**VECTORS, **FEED})


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("properties", KINDS, ids=str)
@pytest.mark.parametrize("ids", [True, False], ids=["ids", "values"])
@pytest.mark.parametrize("seed", some(range(12), 1))
def test_changes_lead_from_each_version_to_the_next_and_net_ones_from_the_first_to_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: bool, properties: dict[str, str], partitioned: bool, seed: int
) -> None:
    if partitioned:
        monkeypatch.setattr("deltaskip.change_feed.row_changes._PAIRED_AT_ONCE", 11)
    table = made(tmp_path / "t", properties, partitioned=partitioned, ids=ids)
    play(table, seed)
    states = [state(table, version) for version in range(table.version + 1)]
    for version in range(1, table.version + 1):
        found = changes(table, version, version, source="rows")
        came, went = split(found)
        assert states[version - 1] - went + came == states[version], version
        assert not went - states[version - 1]
        if not ids:
            assert came == states[version] - states[version - 1], version
            assert {row["_change_type"] for row in found} <= {"insert", "delete"}
    for start in range(1, table.version + 1):
        net = changes(table, start, net=True, source="rows")
        came, went = split(net)
        assert went == states[start - 1] - states[-1]
        assert came == states[-1] - states[start - 1]
        by_version = changes(table, start, source="rows")
        last = {row["id"]: row["_commit_version"] for row in sorted(by_version, key=lambda r: r["_commit_version"])}
        assert all(row["_commit_version"] == last[row["id"]] for row in net if ids)
        matching = {whole(row) for row in net if row["x"] is not None and row["x"] % 3 == 1}
        chosen = changes(table, start, net=True, source="rows", where="x % 3 = 1")
        assert counted(chosen) == counted([row for row in net if whole(row) in matching])


@pytest.mark.parametrize("ids", [True, False], ids=["ids", "values"])
@pytest.mark.parametrize("seed", some(range(12), 2))
def test_the_first_state_and_the_changes_after_it_are_the_last_state(tmp_path: Path, ids: bool, seed: int) -> None:
    table = made(tmp_path / "t", VECTORS if seed % 2 else {}, ids=ids)
    play(table, seed)
    last = state(table, table.version)
    for start in range(table.version + 1):
        found = changes(table, start, source="rows", snapshot_first=True)
        first = [row for row in found if row["_commit_version"] == start]
        assert {row["_change_type"] for row in first} <= {"insert"}
        assert counted(first) == state(table, start)
        came, went = split(found)
        assert came - went == last
        net = changes(table, start, source="rows", net=True, snapshot_first=True)
        assert {row["_change_type"] for row in net} <= {"insert"}
        assert counted(net) == last
        where = "id % 4 = 1 AND x > 3"
        chosen = changes(table, start, source="rows", snapshot_first=True, net=True, where=where)
        assert counted(chosen) == counted(table.scan(where).to_arrow().to_pylist())


def test_the_feed_and_row_ids_tell_the_same_updates(tmp_path: Path) -> None:
    table = made(tmp_path / "t", FEED, VECTORS)
    table.append(rows(range(30)))
    table.update({"x": "x + 1"}, "id % 3 = 0")
    table.delete("id % 5 = 1")
    table.merge(rows(range(25, 35)), "t.id = s.id", target_alias="t", source_alias="s").when_matched_update(
        {"x": "s.x + 7"}
    ).when_not_matched_insert_all().execute()
    table.refresh()

    def told(source: str) -> list[tuple[Any, ...]]:
        found = changes(table, 1, source=source)
        return sorted((row["_commit_version"], row["id"], row["_change_type"], row["x"]) for row in found)

    assert told("rows") == told("feed") == told("auto")


def test_the_feed_is_read_where_there_is_one(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append(rows(range(10)))
    table.update({"x": "x + 1"}, "id = 3")
    table.alter_sql(f"SET TBLPROPERTIES ({', '.join(f'{name!r} = {text!r}' for name, text in FEED.items())})")
    table.update({"x": "x + 1"}, "id = 3")
    table.refresh()
    kinds = table.changes(1).files().select(["version", "change_type"]).to_pylist()
    assert [(each["version"], each["change_type"]) for each in kinds] == [
        (1, "insert"), (2, "update_postimage"), (2, "update_preimage"), (4, None),
    ]  # fmt: skip
    by_rows = {(row["_commit_version"], row["_change_type"]) for row in changes(table, 2, where="id = 3")}
    assert by_rows == {(v, kind) for v in (2, 4) for kind in ("update_preimage", "update_postimage")}


def test_a_change_is_given_whole_if_one_image_matches(tmp_path: Path) -> None:
    table = made(tmp_path / "t", VECTORS)
    table.append(rows(range(10)))
    table.update({"x": "1000"}, "id = 3")
    for net in (False, True):
        found = changes(table.refresh(), 2, where="x = 1000", net=net)
        assert sorted(row["_change_type"] for row in found) == ["update_postimage", "update_preimage"]
    assert not changes(table, 2, where="x = 1001")
    assert len(changes(table, 1, where="x = 1000")) == 2
    only = changes(table, 2, where="_change_type = 'update_preimage'", columns=["id"])
    assert sorted(row["_change_type"] for row in only) == ["update_postimage", "update_preimage"]
    assert set(only[0]) == {"id", "_change_type", "_commit_version", "_commit_timestamp"}


def test_values_of_every_type_are_compared(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t", "id INT, m MAP<STRING, ARRAY<INT>>, s STRUCT<a: MAP<INT, STRING>, b: DOUBLE>, d DECIMAL(9, 2)",
        properties={**IDS, **VECTORS},
    )  # fmt: skip
    values = {"m": [("k", [1, None])], "s": {"a": [(1, None)], "b": float("nan")}, "d": None}
    schema = table.scan().to_arrow().schema
    table.append(pa.Table.from_pylist([{"id": number, **values} for number in range(4)], schema))
    table.update({"m": "m"}, "id = 0")
    table.update({"m": "map('k', array(1))"}, "id = 1")
    table.update({"s": "named_struct('a', map(1, 'x'), 'b', s.b)"}, "id = 2")
    table.refresh()
    assert sorted({row["id"] for row in changes(table, 2)}) == [0, 1, 2]
    assert sorted({row["id"] for row in changes(table, 2, net=True)}) == [1, 2]


def narrowed(folder: Path, value: int, *properties: dict[str, str], partitioned: bool = False) -> DeltaTable:
    """A table whose integers are widened, and made narrow again by RESTORE."""
    on = dict(pair for each in ({"delta.enableTypeWidening": "true"}, *properties) for pair in each.items())
    ddl, by = "id INT, x SMALLINT, s STRUCT<a: INT>, l ARRAY<INT>, n TINYINT", ["n"] if partitioned else []
    table = DeltaTable.create(folder, ddl, by, properties=on)

    def appended(first: int, value: int) -> None:
        each = {"x": value, "s": {"a": value}, "l": [value], "n": value if partitioned else 1}
        schema = table.refresh().scan().to_arrow().schema
        table.append(pa.Table.from_pylist([{"id": first + i, **each} for i in range(5)], schema))

    appended(0, 1)
    narrow = table.refresh().version
    wider = {"x": "BIGINT", "s.a": "BIGINT", "l.element": "BIGINT", **({"n": "INT"} if partitioned else {})}
    for name, kind in wider.items():
        table.refresh().alter_sql(f"ALTER COLUMN {name} TYPE {kind}")
    appended(5, value)
    table.refresh().update({"x": "x + 1", "s": "s"}, "id IN (1, 7)")
    table.refresh().restore(version=narrow)
    return table.refresh()


PREDICATES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "x = 77": lambda row: row["x"] == 77,
    "x > 5 AND id < 8": lambda row: row["x"] > 5 and row["id"] < 8,
    "x IS NULL": lambda row: False,
    "s.a = 1 OR id = 7": lambda row: row["s"]["a"] == 1 or row["id"] == 7,
}


@pytest.mark.parametrize("properties", [[], [IDS], [IDS, VECTORS, FEED]], ids=str)
def test_values_that_fit_a_type_that_became_narrower_are_read(tmp_path: Path, properties: list[dict[str, str]]) -> None:
    table = narrowed(tmp_path / "t", 77, *properties)
    last = table.version
    sources = ["feed", "rows"] if FEED in properties else ["rows"]
    for source in sources:
        for start in range(1, last + 1):
            found = changes(table, start, source=source)
            came, went = (
                Counter(
                    str([row[name] for name in table.schema.names]) for row in found if row["_change_type"] in types
                )
                for types in (INSERTS, DELETES)
            )
            before, after = (
                Counter(str(list(row.values())) for row in rows_of(DeltaTable(table.uri, version)))
                for version in (start - 1, last)
            )
            assert before + came - went == after and not went - before - came, (start, source)
            for where, keep in PREDICATES.items():
                some = changes(table, start, source=source, where=where)
                matching = {whole(row) for row in found if keep(row)}
                images = source == "rows" and properties
                expected = [row for row in found if (whole(row) in matching if images else keep(row))]
                assert Counter(map(str, some)) == Counter(map(str, expected)), (start, source, where)
        assert not changes(table, 2, source="rows", net=True)


def test_values_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for number, (value, properties) in enumerate([(40_000, IDS), (3_000_000_000, IDS), (2**33 + 5, {})]):
        table = narrowed(tmp_path / str(number), value, properties)
        for where in (None, "x = 5", "x > 100", "x < 0"):
            with pytest.raises(
                StorageError, match=r"not one of its type, SMALLINT, .* become narrower, read the versions"
            ):
                table.changes(2, source="rows", where=where).to_arrow()
        # Neither the values of rows that do not match are read, nor those of versions before.
        assert not changes(table, 2, source="rows", where="x IS NULL")
        before = DeltaTable(table.uri, table.version - 1)
        assert len(changes(before, 2, source="rows")) == 9
    with pytest.raises(SchemaError, match="The type of column 'n' changed from int to tinyint"):
        narrowed(tmp_path / "p", 1000, IDS, partitioned=True).changes(2)


def test_versions_without_row_ids_are_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL)
    table.append(rows(range(3)))
    refuses(InvalidArgument, r"version 0 of .* neither delta.enableChangeDataFeed nor .* was true", table.changes)
    refuses(InvalidArgument, r"delta.enableRowTracking was not true: .* or pass source='rows'", table.changes, net=True)
    with pytest.raises(InvalidArgument, match=r"because delta.enableChangeDataFeed was not true: set delta.enable"):
        table.changes(source="feed")
    refuses(InvalidArgument, r"leave out source='feed'", lambda: made(tmp_path / "u").changes(net=True, source="feed"))
    refuses(InvalidArgument, r"source must be auto, feed or rows, not 'log'", table.changes, source="log")


def test_ids_that_came_late_are_ids(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", DDL, properties=VECTORS)
    table.append(rows(range(6)))
    table.alter_sql("SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    enabled = table.refresh().version
    table.update({"x": "x + 1"}, "id = 2")
    table.delete("id = 5")
    found = changes(table.refresh(), enabled + 1)
    assert sorted((row["id"], row["_change_type"]) for row in found) == [
        (2, "update_postimage"), (2, "update_preimage"), (5, "delete"),
    ]  # fmt: skip


def test_a_scan_can_be_pickled(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append(rows(range(5)))
    table.update({"x": "x + 1"}, "id = 3")
    scan = table.refresh().changes(1, net=True)
    narrowed = scan.narrowed(["id", "_change_type"], None, 3)._row_by_row(updates=False)
    for each in (scan, narrowed):
        assert pickle.loads(pickle.dumps(each)).to_arrow() == each.to_arrow()
    assert narrowed.to_arrow().num_rows == 3
