"""Random sequences of changes against a plain model of a table, and alterations that race with other writers."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import CommitConflict, DeltaSkipError, RowViolation, SchemaError
from deltaskip.reading.stored_rows import StoredRows
from tests.alter.test_column_changes import table_of
from tests.each import in_threads, refuses
from tests.extent import extent

WIDER = {"TINYINT": "SMALLINT", "SMALLINT": "INT", "INT": "BIGINT"}
ARROW = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(), "STRING": pa.string()}
NAMES = ["a", "b", "c", "D", "e f", "g.h", "i"]


@dataclass
class Column:
    """A column of the model: its values by row."""

    name: str
    type: str
    comment: str | None = None
    values: list[Any] = field(default_factory=list)


@dataclass
class Model:
    """What the table must be."""

    columns: list[Column]
    rows: int = 0
    minimum: int | None = None

    def named(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


def rows_of(table: ds.DeltaTable) -> list[dict[str, Any]]:
    snapshot = table.snapshot
    files = ds.Scan(snapshot).files(columns=["uri", "partition_values", "deletion_vector"])
    found: list[dict[str, Any]] = []
    for _, batch in StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode).live(files):
        found += pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns)).to_pylist()
    return found


def one_change(model: Model, chance: random.Random) -> tuple[ds.TableChange, Callable[[], None] | None]:
    """A change, and what it does to the model; None if it must be refused."""
    column = chance.choice(model.columns)
    quoted = f"`{column.name}`"
    name = chance.choice(NAMES)
    taken = model.named(name)
    kind_of_change = chance.randrange(8)
    if kind_of_change in (1, 2, 5) and column.name == "id" and model.minimum is None:
        # Without the constraint it could be changed, and the model keeps it for later constraints.
        kind_of_change = 4
    match kind_of_change:
        case 0:
            kind = chance.choice([*ARROW])
            index = chance.randrange(len(model.columns) + 1)
            before = None if index == 0 else model.columns[index - 1].name
            position = ds.FIRST if before is None else ds.After(before)
            new = Column(name, kind, "new", [None] * model.rows)
            change = ds.AddColumn((name,), kind, "new", position=position)
            return change, None if taken else lambda: model.columns.insert(index, new)
        case 1:
            allowed = column.name != "id" and len(model.columns) > 1
            return ds.DeleteColumn(quoted), (lambda: model.columns.remove(column)) if allowed else None
        case 2:
            allowed = column.name != "id" and (taken is None or taken is column)
            return ds.RenameColumn(quoted, name), (lambda: setattr(column, "name", name)) if allowed else None
        case 3:
            index = chance.randrange(len(model.columns))

            def move() -> None:
                model.columns.remove(column)
                model.columns.insert(index, column)

            return ds.MoveColumn((column.name,), index), move
        case 4:
            comment = chance.choice([None, "", "x"])
            return ds.UpdateColumnComment(quoted, comment), lambda: setattr(column, "comment", comment)
        case 5:
            wider = WIDER.get(column.type, "DATE")
            allowed = wider != "DATE" and column.name != "id"
            return ds.UpdateColumn(quoted, wider), (lambda: setattr(column, "type", wider)) if allowed else None
        case 6:
            identifier = next(column for column in model.columns if column.name == "id")
            least = chance.choice([0, 1, 3])
            allowed = model.minimum is None and all(value >= least for value in identifier.values)
            change = ds.AddConstraint("least", f"id >= {least}")
            return change, (lambda: setattr(model, "minimum", least)) if allowed else None
        case _:
            allowed = model.minimum is not None
            return ds.DropConstraint("LEAST"), (lambda: setattr(model, "minimum", None)) if allowed else None


def append(table: ds.DeltaTable, model: Model, chance: random.Random) -> None:
    count = chance.randrange(1, 4)
    data = {}
    for column in model.columns:
        values: list[Any] = [chance.randrange(5) if column.type != "STRING" else "x" for _ in range(count)]
        if column.name == "id" and model.minimum is not None:
            values = [model.minimum + value for value in values]
        column.values += values
        data[column.name] = pa.array(values, ARROW[column.type])
    table.append(pa.table(data))
    model.rows += count


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("seed", range(extent(4, 12)))
def test_random_changes_and_rows_are_those_of_a_plain_model(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    properties = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    table = table_of(tmp_path, "id INT, a TINYINT, b STRING", properties=properties)
    model = Model([Column("id", "INT"), Column("a", "TINYINT"), Column("b", "STRING")])
    refused = 0
    for _ in range(40):
        if chance.random() < 0.25:
            append(table, model, chance)
        change, act = one_change(model, chance)
        if act is None:
            refuses(DeltaSkipError, None, table.alter, change)
            refused += 1
        else:
            table.alter(change)
            act()
        columns = [(f.name, f.metadata.get("comment")) for f in table.schema.fields]
        assert columns == [(column.name, column.comment) for column in model.columns]
    assert refused
    read = rows_of(ds.DeltaTable(table.uri))
    expected = [
        dict(zip([c.name for c in model.columns], row, strict=True))
        for row in zip(*(column.values for column in model.columns), strict=True)
    ]
    assert sorted(map(repr, read)) == sorted(map(repr, expected))


def together(*acts: Callable[[], None]) -> list[BaseException | None]:
    """What each of the functions raised that ran at the same time."""
    raised: list[BaseException | None] = [None] * len(acts)
    ready = threading.Barrier(len(acts))

    def run(index: int) -> None:
        ready.wait()
        try:
            acts[index]()
        except BaseException as error:
            raised[index] = error

    in_threads(run, range(len(acts)))
    return raised


def test_alterations_that_race_are_made_one_after_the_other(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.columnMapping.mode": "name"})

    def adding(first: int) -> None:
        own = ds.DeltaTable(table.uri)
        for i in range(first, first + 4):
            own.alter(ds.AddColumn(f"c{i}", "INT"))

    assert together(*(lambda n=n: adding(n) for n in (0, 10, 20))) == [None, None, None]
    table.refresh()
    assert set(table.schema.names) == {"id", *(f"c{n + i}" for n in (0, 10, 20) for i in range(4))}
    ids = [field.metadata["delta.columnMapping.id"] for field in table.schema.fields]
    assert sorted(ids) == list(range(1, 14))
    assert table.version == 12


def test_one_of_two_that_rename_the_same_column_is_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT", properties={"delta.columnMapping.mode": "name"})

    def renaming(name: str) -> Callable[[], None]:
        own = ds.DeltaTable(table.uri)
        return lambda: own.alter(ds.RenameColumn("id", name)) and None  # type: ignore[return-value]

    raised = together(renaming("one"), renaming("two"))
    assert [type(error) for error in raised if error is not None] == [SchemaError]
    assert table.refresh().schema.names in (("one",), ("two",))


@pytest.mark.parametrize("attempt", range(5))
def test_no_row_slips_past_a_constraint_that_is_added(tmp_path: Path, attempt: int) -> None:
    table = table_of(tmp_path, "id BIGINT")

    def rows() -> None:
        own = ds.DeltaTable(table.uri)
        for i in range(6):
            own.append(pa.table({"id": [i if i < 5 else -1]}))

    def constrain() -> None:
        ds.DeltaTable(table.uri).alter(ds.AddConstraint("pos", "id >= 0"))

    raised = together(rows, constrain)
    table.refresh()
    has_constraint = "delta.constraints.pos" in table.properties
    has_negative = table.scan("id < 0").files().num_rows > 0
    assert has_constraint != has_negative
    assert [type(error) for error in raised if error is not None] == [RowViolation]


def test_a_stale_transaction_with_a_constraint_conflicts_with_new_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    transaction = table.transaction()
    transaction.alter(ds.AddConstraint("pos", "id >= 0"))
    ds.DeltaTable(table.uri).append(pa.table({"id": [-1]}))
    with pytest.raises(CommitConflict) as conflict:
        transaction.commit()
    assert conflict.value.kind == "append"


def test_an_alteration_and_rows_of_its_column_are_one_version(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    with table.transaction(operation="MIGRATE") as transaction:
        transaction.alter(ds.AddColumn("name", "STRING"), ds.SetProperty("delta.enableChangeDataFeed", "true"))
        assert transaction.schema.names == ("id", "name")
        transaction.append(pa.table({"id": [1], "name": ["x"]}))
        transaction.alter(ds.UpdateColumnComment("name", "new"))
    table.refresh()
    assert (table.version, table.history(1)[0].operation) == (1, "MIGRATE")
    assert rows_of(table) == [{"id": 1, "name": "x"}]
    assert table.schema.fields[1].metadata == {"comment": "new"}
