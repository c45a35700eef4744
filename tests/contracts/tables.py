"""Tables with each feature that a change must respect, and what their rows, their feed and their row ids must be."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from tests.contracts.doors import Clause, Door, Row
from tests.dml.merge.random_merges import COLUMNS, given
from tests.dml.tables import files_below, row_ids_of

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
CHECKED = {"delta.constraints.small": "v IS NULL OR v < 1000"}


@dataclass(frozen=True)
class Feature:
    """A table with the columns `id INT, v INT, s STRING, p STRING` and more.

    Attributes:
        partition_by: The partition columns.
        properties: The table properties.
        s: The type of the column s.
        more: Other columns, as DDL.
        computed: By column, its value for the values of a row.
        numbered: The identity column.
    """

    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    s: str = "STRING"
    more: str = ""
    computed: Mapping[str, Callable[[Row], Any]] = field(default_factory=dict)
    numbered: str | None = None

    @property
    def ddl(self) -> str:
        return f"id INT, v INT, s {self.s}, p STRING{self.more}"

    def equal(self, a: str | None, b: str) -> bool:
        """Whether two values of s are equal, where a may be NULL."""
        return a is not None and (a.lower() == b.lower() if "LCASE" in self.s else a == b)


def _after_v(row: Row) -> Any:
    return None if row["v"] is None else row["v"] + 1


_GENERATED = ", g INT GENERATED ALWAYS AS (v + 1)"
_IDENTITY = ", k BIGINT GENERATED ALWAYS AS IDENTITY"
_LCASE = "STRING COLLATE UTF8_LCASE"
FEATURES: dict[str, Feature] = {
    "nothing": Feature(),
    "partitions": Feature(("p",)),
    "deletion vectors": Feature(properties=VECTORS),
    "change feed": Feature(properties=FEED),
    "row tracking": Feature(properties=TRACKED),
    "columns mapped by name": Feature(properties={"delta.columnMapping.mode": "name"}),
    "columns mapped by id, partitions": Feature(("p",), {"delta.columnMapping.mode": "id", **VECTORS, **FEED}),
    "CHECK": Feature(properties=CHECKED),
    "generated partition column": Feature(("g",), more=_GENERATED, computed={"g": _after_v}),
    "identity column": Feature(more=_IDENTITY, numbered="k"),
    "collation": Feature(s=_LCASE),
    "everything": Feature(("p",), {**VECTORS, **FEED, **TRACKED, **CHECKED, "delta.columnMapping.mode": "name"}, _LCASE,
        _GENERATED + _IDENTITY, {"g": _after_v}, "k"),
}  # fmt: skip


def row(i: int) -> Row:
    """A row with this id; NULL is among its values."""
    return {
        "id": i,
        "v": None if i % 4 == 0 else i * 7 % 100,
        "s": None if i % 5 == 4 else "xyzXYZ"[i % 6],
        "p": ["a", "b", None][i % 3],
    }


class Kept:
    """One table that a door changes, and the plain rows that it must have."""

    def __init__(self, door: Door, feature: Feature, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.door = door
        self.feature = feature
        self.folder = folder
        self.table = ds.DeltaTable.create(
            folder, feature.ddl, feature.partition_by, properties=dict(feature.properties)
        )
        self.model: list[Row] = []
        self.numbers: dict[int, int] = {}

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows."""
        after = [*self.model, *rows]
        self._becomes(after, lambda: self.door.append(self.table, given([*rows])), insert=len(rows))

    def overwrite(
        self, rows: Sequence[Row], goes: Callable[[Row], bool], where: str | None = None, dynamic: bool = False
    ) -> None:
        """Replace the rows for which `goes` holds."""
        after = [*(each for each in self.model if not goes(each)), *rows]
        gone = sum(map(goes, self.model))
        act = lambda: self.door.overwrite(self.table, given([*rows]), where, dynamic)  # noqa: E731
        self._becomes(after, act, insert=len(rows), delete=gone)

    def delete(self, where: str | None, goes: Callable[[Row], bool]) -> None:
        """Delete the rows for which `goes` holds."""
        after = [each for each in self.model if not goes(each)]
        gone = sum(map(goes, self.model))
        self._becomes(after, lambda: self.door.delete(self.table, where), delete=gone)
        if gone:
            assert self._metric("numDeletedRows") == gone

    def update(
        self, values: Mapping[str, str], new: Callable[[Row], Row], where: str | None, holds: Callable[[Row], bool]
    ) -> None:
        """Update the rows for which `holds` does."""
        after = [{**each, **new(each)} if holds(each) else each for each in self.model]
        count = sum(map(holds, self.model))
        self._becomes(after, lambda: self.door.update(self.table, values, where), update=count)
        if count:
            assert self._metric("numUpdatedRows") == count

    def merge(
        self, source: Sequence[Row], on: str, clauses: Sequence[Clause], after: list[Row], numbers: Mapping[str, int]
    ) -> None:
        """Merge, after which the rows must be `after`; numbers: of rows updated, deleted, inserted."""
        act = lambda: self.door.merge(self.table, given([*source]), on, clauses)  # noqa: E731
        update, delete, insert = (numbers.get(name, 0) for name in ("update", "delete", "insert"))
        self._becomes(after, act, update, delete, insert)
        if any(numbers.values()):
            for name in ("update", "delete", "insert"):
                assert self._metric(f"numTargetRows{name.title().rstrip('e')}ed") == numbers.get(name, 0), name

    def optimize(self) -> None:
        """Compact the files, which leaves every row as it is."""
        before = self.table.snapshot.num_files
        self._becomes(self.model, lambda: self.door.optimize(self.table), commits=None)
        assert self.table.snapshot.num_files <= before

    def refuses(
        self, act: Callable[[], object], kind: type[Exception], text: str, why: str = "", kept: bool = True
    ) -> None:
        """The door refuses, with an error of this kind or one that says the text, and leaves nothing."""
        version, files = self.table.refresh().version, self._files()
        with pytest.raises(self.door.errors) as raised:
            act()
        assert isinstance(raised.value, kind) or text.lower() in str(raised.value).lower(), raised.value
        assert (self.table.refresh().version, self._files()) == (version, files), why

    def read_by_the_door(self) -> None:
        """The door itself finds the rows, and all changes that the feed has."""
        assert self._plain(self.door.rows(self.table)) == Counter(map(self._row, map(self._stored, self.model)))
        if "delta.enableChangeDataFeed" in self.feature.properties:
            last = self.table.version
            found = (self._change(each) for each in self.door.changes(self.table, 1, last))
            assert Counter(found) == Counter(map(self._change, self.table.changes(1, last).to_arrow().to_pylist()))

    def _becomes(
        self,
        after: list[Row],
        act: Callable[[], object],
        update: int = 0,
        delete: int = 0,
        insert: int = 0,
        commits: bool | None = True,
    ) -> None:
        before, version = self.model, self.table.version
        ids = self._row_ids()
        files = self._files()
        act()
        self.table.refresh()
        if commits and not update + delete + insert:
            assert (self.table.version, self._files()) == (version, files), "nothing is committed or written"
        elif commits:
            assert self.table.version == version + 1
        self.model = after
        stored = Counter(self._row(self._stored(each)) for each in after)
        rows = self.table.scan().to_arrow().to_pylist()
        assert self._plain(rows) == stored
        self._check_numbers(rows)
        if ids and not delete + insert:
            now = self._row_ids()
            assert ids_only(now) == ids_only(ids), "row ids stay"
            moved = {now[i][1] for i in ids if now[i] != ids[i]}
            assert moved == ({self.table.version} if update else set()), "updated rows have the version of the commit"
            assert sum(now[i] != ids[i] for i in ids) == update
        if "delta.enableChangeDataFeed" in self.feature.properties and self.table.version > version:
            self._check_feed(before, after, version + 1, {"update": update, "delete": delete, "insert": insert})

    def _check_feed(self, before: list[Row], after: list[Row], version: int, numbers: Mapping[str, int]) -> None:
        """The changes lead from the rows before to those after, and are of the right kinds."""
        changes = self.table.changes(version, version).to_arrow().to_pylist()
        kinds = Counter(each["_change_type"] for each in changes)
        update = numbers["update"]
        wanted = {"update_preimage": update, "update_postimage": update}
        wanted |= {"delete": numbers["delete"], "insert": numbers["insert"]}
        assert kinds == Counter({kind: count for kind, count in wanted.items() if count})
        rows = Counter(self._row(self._stored(each)) for each in before)
        for each in changes:
            rows[self._row(each)] += 1 if each["_change_type"] in ("insert", "update_postimage") else -1
        assert +rows == Counter(self._row(self._stored(each)) for each in after) and min(rows.values(), default=0) >= 0

    def _check_numbers(self, rows: list[Row]) -> None:
        """Each row has a number of its own, which it keeps."""
        name = self.feature.numbered
        if name is None:
            return
        found = {each["id"]: each[name] for each in rows}
        assert None not in found.values() and len(set(found.values())) == len(found)
        same = found.keys() & self.numbers.keys() if len(found) == len(rows) else set()
        kept = {i for i in same if found[i] == self.numbers[i]}
        # A number that a row does not keep is new: an overwrite has written the row again.
        assert all(found[i] > max(self.numbers.values()) for i in same - kept)
        self.numbers = found

    def _row_ids(self) -> dict[int, tuple[int, int]]:
        ids = [each["id"] for each in self.model]
        if "delta.enableRowTracking" not in self.feature.properties or len(set(ids)) < len(ids):
            return {}
        return row_ids_of(self.table.refresh())

    def _metric(self, name: str) -> int:
        [entry] = self.table.history(1)
        return int(entry.operation_metrics[name])

    def _files(self) -> set[str]:
        return {name for name in files_below(self.folder) if not name.endswith(".crc")}

    def _stored(self, row: Row) -> Row:
        return {**row, **{name: compute(row) for name, compute in self.feature.computed.items()}}

    def _row(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in (*COLUMNS, *self.feature.computed))

    def _change(self, row: Row) -> tuple[Any, ...]:
        return (row["_commit_version"], row["_change_type"], *self._row(row))

    def _plain(self, rows: list[Row]) -> Counter[tuple[Any, ...]]:
        return Counter(map(self._row, rows))


def ids_only(ids: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """The row ids without their commit versions."""
    return {i: row_id for i, (row_id, _) in ids.items()}
