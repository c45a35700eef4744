"""The contract of every catalog: the changes of a table. Cases are those of Spark's TableCatalog and its tests."""

from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, SchemaError, TableNotFound
from deltaskip.sparkexpr.types.json import simple_string
from tests.catalogs.contract import NUMBERS, Contract, contract, endpoint, s3_options, values_of
from tests.dml.tables import ids_of
from tests.each import each, refuses

__all__ = ["contract", "endpoint", "s3_options"]

pytestmark = pytest.mark.long(gate=2)

SCHEMA = "id BIGINT, data STRING, point STRUCT<x: DOUBLE, y: DOUBLE>"
MAPPED = {"delta.columnMapping.mode": "name"}


def columns(table: ds.DeltaTable) -> list[str]:
    return [f"{field.name} {simple_string(field.type)}" for field in table.schema.fields]


def table_of(contract: Contract, schema: str = SCHEMA, **properties: str) -> ds.DeltaTable:
    return contract.catalog.create_table("db.t", schema, (), {**MAPPED, **properties})


ID, DATA, POINT = "id bigint", "data string", "point struct<x:double,y:double>"

# Each change, and the columns after it.
CHANGES: dict[str, tuple[Any, list[str]]] = {
    "add a column": (ds.AddColumn("ts", "TIMESTAMP"), [ID, DATA, POINT, "ts timestamp"]),
    "add a column with a comment": (ds.AddColumn("ts", "DATE", "when"), [ID, DATA, POINT, "ts date"]),
    "add first": (ds.AddColumn("a", "INT", position=ds.FIRST), ["a int", ID, DATA, POINT]),
    "add after": (ds.AddColumn("a", "INT", position=ds.After("id")), [ID, "a int", DATA, POINT]),
    "add a nested column": (ds.AddColumn("point.z", "DOUBLE"), [ID, DATA, "point struct<x:double,y:double,z:double>"]),
    "add a nested column after": (ds.AddColumn("point.w", "INT", position=ds.After("x")),
        [ID, DATA, "point struct<x:double,w:int,y:double>"]),
    "add a column with a dot": (ds.AddColumn("`a.b`", "INT"), [ID, DATA, POINT, "a.b int"]),
    "add by parent and name": (ds.AddColumn(parent=["point"], name="z", type="INT", comment="up"),
        [ID, DATA, "point struct<x:double,y:double,z:int>"]),
    "add by name": (ds.AddColumn(parent=(), name="a.b", type="INT"), [ID, DATA, POINT, "a.b int"]),
    "add as the SPIP writes it": (ds.AddColumn(["point"], "z", "INT", None),
        [ID, DATA, "point struct<x:double,y:double,z:int>"]),
    "add as the SPIP writes it, without a comment": (ds.AddColumn(["point"], "z", "INT"),
        [ID, DATA, "point struct<x:double,y:double,z:int>"]),
    "add to the columns as the SPIP writes it": (ds.AddColumn([], "date", "INT"), [ID, DATA, POINT, "date int"]),
    "rename": (ds.RenameColumn("id", "some_id"), ["some_id bigint", DATA, POINT]),
    "rename nested": (ds.RenameColumn("point.x", "first"), [ID, DATA, "point struct<first:double,y:double>"]),
    "rename a struct": (ds.RenameColumn("point", "p"), [ID, DATA, "p struct<x:double,y:double>"]),
    "delete": (ds.DeleteColumn("id"), [DATA, POINT]),
    "delete nested": (ds.DeleteColumn("point.y"), [ID, DATA, "point struct<x:double>"]),
    "delete if there": (ds.DeleteColumn("nothing", if_exists=True), [ID, DATA, POINT]),
    "move to a position": (ds.MoveColumn("point", 0), [POINT, ID, DATA]),
    "move to the last position": (ds.MoveColumn("id", 2), [DATA, POINT, ID]),
    "move first": (ds.MoveColumn("data", ds.FIRST), [DATA, ID, POINT]),
    "move after": (ds.MoveColumn("id", ds.After("data")), [DATA, ID, POINT]),
    "move nested": (ds.MoveColumn("point.y", 0), [ID, DATA, "point struct<y:double,x:double>"]),
    "in order": ([ds.AddColumn("a", "INT"), ds.RenameColumn("a", "b"), ds.MoveColumn("b", 0), ds.DeleteColumn("data")],
        ["b int", ID, POINT]),
    "moves in order": ([ds.MoveColumn("point", 0), ds.MoveColumn("data", 0)], [DATA, POINT, ID]),
    "delete and add again": ([ds.DeleteColumn("data"), ds.AddColumn("data", "INT")], [ID, POINT, "data int"]),
    "replace columns": (ds.ReplaceColumns("id BIGINT, x INT"), [ID, "x int"]),
}  # fmt: skip

# Changes that cannot be made, and a part of the message.
REFUSED: dict[str, tuple[Any, str]] = {
    "add a column that exists": (ds.AddColumn("data", "INT"), "data"),
    "add a column that exists in another letter case": (ds.AddColumn("DATA", "INT"), "data"),
    "add to a parent that does not exist": (ds.AddColumn("nowhere.z", "INT"), "nowhere"),
    "add to a parent that is no struct": (ds.AddColumn("data.z", "INT"), "data"),
    "add a nested column that exists": (ds.AddColumn("point.x", "INT"), "x"),
    "add after a column that does not exist": (ds.AddColumn("a", "INT", position=ds.After("nothing")), "nothing"),
    "add NOT NULL": (ds.AddColumn("a", "INT", nullable=False), "NOT NULL"),
    "change the type of a missing column": (ds.UpdateColumn("nothing", "INT"), "nothing"),
    "change the type of a missing nested column": (ds.UpdateColumn("point.z", "INT"), "z"),
    "change to another type": (ds.UpdateColumn("data", "INT"), "data"),
    "rename a missing column": (ds.RenameColumn("nothing", "x"), "nothing"),
    "rename a missing nested column": (ds.RenameColumn("point.z", "x"), "z"),
    "rename to a name that exists": (ds.RenameColumn("id", "data"), "data"),
    "delete a missing column": (ds.DeleteColumn("nothing"), "nothing"),
    "delete a missing nested column": (ds.DeleteColumn("point.z"), "z"),
    "move a missing column": (ds.MoveColumn("nothing", 0), "nothing"),
    "move past the end": (ds.MoveColumn("id", 3), "3"),
    "move after a field of another struct": (ds.MoveColumn("id", ds.After("x")), "x"),
    "comment a missing column": (ds.UpdateColumnComment("nothing", "x"), "nothing"),
    "nullability of a missing column": (ds.UpdateColumnNullability("nothing", True), "nothing"),
    "require values": (ds.UpdateColumnNullability("id", False), "id"),
    "the last of a struct": ([ds.DeleteColumn("point.x"), ds.DeleteColumn("point.y")], "point"),
}


def test_changes(contract: Contract) -> None:
    def check(case: str) -> None:
        change, expected = CHANGES[case]
        table_of(contract)
        altered = contract.catalog.alter_table("db.t", *(change if isinstance(change, list) else [change]))
        assert columns(altered) == expected
        assert columns(contract.catalog.load_table("db.t")) == expected
        assert altered.version == (0 if case == "delete if there" else 1)

    each(contract.tried(CHANGES), check)


def test_refused_changes(contract: Contract) -> None:
    before = table_of(contract)

    def check(case: str) -> None:
        change, words = REFUSED[case]
        refuses(SchemaError, words, contract.catalog.alter_table, "db.t", change)
        after = contract.catalog.load_table("db.t")
        assert (after.version, after.schema) == (0, before.schema)

    each(REFUSED, check)


def test_comments_are_set_and_removed(contract: Contract) -> None:
    table_of(contract)
    for comment in ("the key", None):
        table = contract.catalog.alter_table("db.t", ds.UpdateColumnComment("id", comment))
        assert table.schema.fields[0].metadata.get("comment") == comment


def test_a_type_becomes_wider(contract: Contract) -> None:
    table_of(contract, "id INT", **{"delta.enableTypeWidening": "true"})
    assert columns(contract.catalog.alter_table("db.t", ds.UpdateColumn("id", "BIGINT"))) == ["id bigint"]


def test_null_becomes_allowed(contract: Contract) -> None:
    table_of(contract, "id INT NOT NULL")
    assert contract.catalog.alter_table("db.t", ds.UpdateColumnNullability("id", True)).schema.fields[0].nullable


def test_properties_are_set_and_removed(contract: Contract) -> None:
    table_of(contract, before="1")
    changed = contract.catalog.alter_table("db.t", ds.SetProperty("prop.1", "x"), ds.RemoveProperty("before"))
    assert changed.metadata.configuration["prop.1"] == "x"
    assert "before" not in changed.metadata.configuration
    assert changed.version == 1


def test_a_property_that_is_not_set_is_removed_with_if_exists(contract: Contract) -> None:
    table_of(contract)
    assert contract.catalog.alter_table("db.t", ds.RemoveProperty("nothing", if_exists=True)).version == 0
    refuses(DeltaSkipError, "nothing", lambda: contract.catalog.alter_table("db.t", ds.RemoveProperty("nothing")))


def test_the_comment_of_a_table_is_a_property(contract: Contract) -> None:
    table_of(contract)
    altered = contract.catalog.alter_table("db.t", ds.SetProperty("comment", "all orders"))
    assert altered.metadata.description == "all orders"
    assert "comment" not in altered.metadata.configuration
    assert contract.catalog.alter_table("db.t", ds.RemoveProperty("comment")).metadata.description is None


def test_what_a_table_is_cannot_be_changed_as_a_property(contract: Contract) -> None:
    table_of(contract)

    def check(name: str) -> None:
        for change in (ds.SetProperty(name, "x"), ds.RemoveProperty(name)):
            refuses(InvalidArgument, name, contract.catalog.alter_table, "db.t", change)
        assert contract.catalog.load_table("db.t").version == 0

    each(["location", "provider", "external"], check)


def test_a_wrong_value_of_a_property_is_refused(contract: Contract) -> None:
    table_of(contract)
    with pytest.raises(DeltaSkipError, match="appendOnly"):
        contract.catalog.alter_table("db.t", ds.SetProperty("delta.appendOnly", "perhaps"))
    assert contract.catalog.load_table("db.t").version == 0


def test_many_changes_are_one_commit(contract: Contract) -> None:
    changes = [ds.AddColumn("a", "INT"), ds.SetProperty("k", "v"), ds.UpdateColumnComment("a", "c")]

    def check(given: list[Any]) -> None:
        table_of(contract)
        table = contract.catalog.alter_table("db.t", *given)
        assert (table.version, table.metadata.configuration["k"]) == (1, "v")
        assert table.schema.fields[-1].metadata["comment"] == "c"

    each(contract.tried([changes, [changes]]), check)


def test_one_wrong_change_undoes_all(contract: Contract) -> None:
    before = table_of(contract)

    def check(position: int) -> None:
        changes: list[ds.TableChange] = [ds.AddColumn("a", "INT"), ds.SetProperty("k", "v")]
        changes.insert(position, ds.DeleteColumn("nothing"))
        refuses(SchemaError, "nothing", contract.catalog.alter_table, "db.t", *changes)
        after = contract.catalog.load_table("db.t")
        assert (after.version, after.schema, after.metadata) == (0, before.schema, before.metadata)

    each(range(3), check)


def test_a_change_cannot_use_what_a_later_one_makes(contract: Contract) -> None:
    table_of(contract)
    with pytest.raises(SchemaError, match="a"):
        contract.catalog.alter_table("db.t", ds.RenameColumn("a", "b"), ds.AddColumn("a", "INT"))


def test_replaced_columns_are_never_renamed(contract: Contract) -> None:
    # SPIP, Table Changes: replacing (a, b) with (x, y) is delete(a), delete(b), add(x), add(y).
    table_of(contract, "a INT, b INT")
    contract.catalog.load_table("db.t").append(_rows(a=1, b=2))
    table = contract.catalog.alter_table("db.t", ds.ReplaceColumns("x INT, y INT"))
    assert values_of(table) == [{"x": None, "y": None}]


def _rows(**values: int) -> Any:
    return pa.table({name: pa.array([value], pa.int32()) for name, value in values.items()})


def test_rows_survive_changes(contract: Contract) -> None:
    contract.catalog.create_table("db.t", "id BIGINT, name STRING", (), MAPPED).append(NUMBERS)
    table = contract.catalog.alter_table("db.t", ds.RenameColumn("name", "label"), ds.AddColumn("more", "INT"))
    assert ids_of(table) == [1, 2, 3]


def test_a_table_that_does_not_exist(contract: Contract) -> None:
    refuses(TableNotFound, None, lambda: contract.catalog.alter_table("db.nothing", ds.AddColumn("a", "INT")))


def test_what_is_no_change_is_refused(contract: Contract) -> None:
    table_of(contract)

    def check(changes: tuple[Any, ...]) -> None:
        refuses(InvalidArgumentType, None, contract.catalog.alter_table, "db.t", *changes)
        assert contract.catalog.load_table("db.t").version == 0

    each([("a",), (None,), (["a"],), (ds.AddColumn("a", "INT"), 5)], check)


def test_a_table_that_was_renamed_is_altered_by_its_new_name(contract: Contract) -> None:
    contract.needs("rename", "moves")
    table_of(contract)
    contract.catalog.rename_table("db.t", "other.u")
    assert contract.catalog.alter_table("other.u", ds.DeleteColumn("id")).version == 1
    refuses(TableNotFound, None, lambda: contract.catalog.alter_table("db.t", ds.DeleteColumn("data")))
