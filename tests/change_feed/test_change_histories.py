"""Random histories, with changed columns and properties: changes by comparison beside the states of the table."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.sparkexpr.types import physical_name
from tests.change_feed.test_change_rows import FEED, INSERTS, VECTORS
from tests.change_feed.test_changes_by_row_id import DELETES, IDS
from tests.extent import some

MAPPED = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}


def values(table: DeltaTable, ids: list[int]) -> pa.Table:
    """New rows in the columns that a table has now."""
    columns: dict[str, Any] = {}
    for field in table.scan().to_arrow().schema:
        columns[field.name] = pa.array(
            [None if i % 5 == 0 and field.name != "id" else i % 100 for i in ids], field.type
        )
    return pa.table(columns)


class History:
    """A table that changes at random."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ids = self.chance.random() < 0.6
        properties = {**MAPPED, **(IDS if self.ids else {})}
        properties |= {
            **(VECTORS if self.chance.random() < 0.5 else {}),
            **(FEED if self.chance.random() < 0.4 else {}),
        }
        clustered = ["id"] if self.chance.random() < 0.3 else []
        ddl = "id INT, a INT, b INT"
        self.folder = folder
        self.table = DeltaTable.create(folder / "t", ddl, cluster_by=clustered, properties=properties)
        self.added = self.clones = 0
        self.last = 0

    def step(self) -> None:
        table, chance = self.table.refresh(), self.chance
        names = [name for name in table.schema.names if name != "id"]
        name = chance.choice(names)
        match chance.randrange(15):
            case 0 | 1 | 2:
                table.append(values(table, list(range(self.last, self.last + 12))))
                self.last += 12
            case 3:
                table.update({name: f"{name} + 1"}, f"id % {chance.randint(2, 5)} = 0")
            case 4:
                table.update({name: name}, "id % 3 = 0")
            case 5:
                table.delete(f"id % {chance.randint(3, 9)} = 1")
            case 6:
                source = values(table, [*range(self.last - 3, self.last + 3)])
                merge = table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
                merge.when_matched_update_all().when_not_matched_insert_all().execute()
                self.last += 3
            case 7:
                table.restore(version=chance.randint(max(0, table.version - 4), table.version))
            case 8:
                table.optimize()
            case 9:
                self.added += 1
                table.alter_sql(f"ADD COLUMN c{self.added} INT")
            case 10:
                self.added += 1
                table.alter_sql(f"RENAME COLUMN {name} TO c{self.added}")
            case 11 if len(names) > 1:
                table.alter_sql(f"DROP COLUMN {name}")
            case 12:
                self.clones += 1
                copy = self.folder / f"clone{self.clones}"
                table.clone(copy)
                self.table = DeltaTable(copy)
            case 13:
                table.alter_sql(f"ALTER COLUMN {name} TYPE BIGINT")
            case _:
                on = chance.choice(["true", "false"])
                table.alter_sql(f"SET TBLPROPERTIES ('delta.enableChangeDataFeed' = '{on}')")


def rows_under(table: DeltaTable, version: int, end: DeltaTable) -> Counter[tuple[Any, ...]]:
    """The rows of a version in the columns of another one."""
    old = DeltaTable(table.uri, version)
    names = {physical_name(field, "name"): field.name for field in old.schema.fields}
    found = old.scan().to_arrow().to_pylist()
    wanted = [names.get(physical_name(field, "name")) for field in end.schema.fields]
    return Counter(tuple(None if name is None else row[name] for name in wanted) for row in found)


def only(rows: Counter[tuple[Any, ...]], columns: list[int]) -> Counter[tuple[Any, ...]]:
    """The rows in some of their columns."""
    found = Counter[tuple[Any, ...]]()
    for row, count in rows.items():
        found[tuple(row[at] for at in columns)] += count
    return found


def physical(table: DeltaTable) -> set[str]:
    return {physical_name(field, "name") for field in table.schema.fields}


def told(found: list[dict[str, Any]], end: DeltaTable, kinds: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[n] for n in end.schema.names) for row in found if row["_change_type"] in kinds)


@pytest.mark.parametrize("seed", some(range(1000), 6))
def test_changes_of_a_random_history_lead_from_state_to_state(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for _ in range(14):
        history.step()
    table = history.table.refresh()
    last = table.version
    ends = {last, history.chance.randint(1, last)} if last else set()
    for to in ends:
        end = DeltaTable(table.uri, to)
        start = history.chance.randint(1, to)
        try:
            found = end.changes(start, to, source="rows").to_arrow().to_pylist()
        except SchemaError as error:
            assert any(word in str(error) for word in ("changed from", "was dropped and created again"))
            continue
        keys = [physical(DeltaTable(table.uri, version)) for version in range(start)]
        if any(key not in keys[-1] and any(key in each for each in keys) for key in physical(end)):
            # RESTORE brings a column back, which the files have had all the time, and the state before has not.
            continue
        state = rows_under(table, start - 1, end)
        for version in range(start, to + 1):
            of = [row for row in found if row["_commit_version"] == version]
            gone, come = told(of, end, DELETES), told(of, end, INSERTS)
            assert not gone - state
            state = state - gone + come
            # A column that this version lacks, and RESTORE brings back, has the values of the files all the time.
            there = physical(DeltaTable(table.uri, version))
            known = [at for at, field in enumerate(end.schema.fields) if physical_name(field, "name") in there]
            told_rows, own_rows = (only(rows, known) for rows in (state, rows_under(table, version, end)))
            assert told_rows == own_rows, version
        net = end.changes(start, to, source="rows", net=True).to_arrow().to_pylist()
        before, after = rows_under(table, start - 1, end), rows_under(table, to, end)
        gone, come = told(net, end, DELETES), told(net, end, INSERTS)
        assert gone == before - after or (history.ids and gone - come == before - after)
        assert before - gone + come == after
        if history.ids:
            images = {kind: told(net, end, (f"update_{kind}",)) for kind in ("preimage", "postimage")}
            assert not images["preimage"] & images["postimage"] or gone != before - after
        where = "id % 4 = 1"
        some_rows = end.changes(start, to, where, source="rows", net=True).to_arrow().to_pylist()
        assert Counter(map(str, some_rows)) == Counter(str(row) for row in net if row["id"] % 4 == 1)
        try:
            feed = end.changes(start, to, source="feed").to_arrow().to_pylist()
        except InvalidArgument:
            continue
        restored = {each.version for each in end.history() if each.operation == "RESTORE"}
        for version in set(range(start, to + 1)) - restored:
            by_feed, by_rows = (
                Counter(str(row) for row in each if row["_commit_version"] == version) for each in (feed, found)
            )
            if history.ids:
                assert by_feed == by_rows, version
            else:
                kinds = [told([row for row in feed if row["_commit_version"] == version], end, each)
                         for each in (INSERTS, DELETES)]  # fmt: skip
                of = [row for row in found if row["_commit_version"] == version]
                assert told(of, end, INSERTS) == kinds[0] - kinds[1]
                assert told(of, end, DELETES) == kinds[1] - kinds[0]
