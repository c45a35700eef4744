"""The contract of every catalog: tables that appear with their rows, in one commit, or not at all."""

from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import transforms
from tests.catalogs.contract import NUMBERS, SCHEMA, Contract, contract, endpoint, s3_options, values_of
from tests.dml.tables import ids_of
from tests.each import each, refuses

__all__ = ["contract", "endpoint", "s3_options"]

pytestmark = pytest.mark.long(gate=3)

MORE = pa.table({"id": pa.array([7, 8], pa.int64()), "name": ["x", "y"]})


def test_a_created_table_has_its_rows_in_version_0(contract: Contract) -> None:
    staged = contract.catalog.stage_create("db.t", SCHEMA, ["name"], properties={"k": "v", "comment": "c"})
    assert not contract.catalog.table_exists("db.t")
    staged.append(NUMBERS)
    staged.append(MORE)
    assert not contract.catalog.table_exists("db.t")
    assert contract.catalog.list_tables("db") == []
    table = staged.commit_staged_changes()
    assert (table.version, ids_of(table)) == (0, [1, 2, 3, 7, 8])
    loaded = contract.catalog.load_table("db.t")
    assert (loaded.version, loaded.partition_columns) == (0, ("name",))
    assert (loaded.metadata.configuration["k"], loaded.metadata.description) == ("v", "c")


def test_a_table_is_created_with_rows(contract: Contract) -> None:
    places = iter([None, contract.outside("orders")])

    def check(rows: object) -> None:
        place = next(places)
        properties = {"k": "v"} if place is None else {"location": place}
        table = contract.catalog.create_table("db.t", rows, "name", properties)
        assert (table.version, ids_of(table), table.partition_columns) == (0, [1, 2, 3], ("name",))
        assert contract.catalog.load_table("db.t").history()[0].operation == "CREATE TABLE AS SELECT"
        contract.catalog.drop_table("db.t", purge=True)

    each([NUMBERS, NUMBERS.to_reader()], check)
    with pytest.raises(ds.SchemaError, match="has no value in any row"):
        contract.catalog.create_table("db.t", pa.table({"id": [1], "nothing": pa.nulls(1)}), None)
    with pytest.raises(ds.DeltaSkipError):
        contract.catalog.create_table("db.t", pa.table({"id": [1], "name": ["x"]}), ["id", "name"])
    assert not contract.catalog.table_exists("db.t")


def test_what_is_staged_can_be_seen(contract: Contract) -> None:
    parts = ["name", transforms.bucket("id", 4)]
    staged = contract.catalog.stage_create("db.t", SCHEMA, parts, ["id DESC"], {"k": "v"})
    assert staged.identifier == ds.CatalogIdentifier(("db",), "t")
    assert [field.name for field in staged.schema.fields][:2] == ["id", "name"]
    assert staged.partitioning == (transforms.identity("name"), transforms.bucket("id", 4))
    assert staged.properties["k"] == "v"
    assert staged.sort_order == (ds.SortOrder("id", descending=True),)
    assert staged.location
    staged.abort_staged_changes()


def test_a_block_commits_at_its_end(contract: Contract) -> None:
    with contract.catalog.stage_create("db.t", SCHEMA) as staged:
        staged.append(NUMBERS)
    assert ids_of(contract.catalog.load_table("db.t")) == [1, 2, 3]


def test_a_block_that_raises_leaves_nothing(contract: Contract) -> None:
    with pytest.raises(RuntimeError), contract.catalog.stage_create("db.t", SCHEMA, ["name"]) as staged:
        staged.append(NUMBERS)
        raise RuntimeError("no")
    assert not contract.catalog.table_exists("db.t")
    assert not contract.there(staged.location)


def test_an_aborted_creation_leaves_no_files(contract: Contract) -> None:
    def check(properties: dict[str, str]) -> None:
        staged = contract.catalog.stage_create("db.t", SCHEMA, ["name"], properties=properties)
        staged.append(NUMBERS)
        assert contract.there(staged.location)
        staged.abort_staged_changes()
        assert not contract.there(staged.location)
        assert not contract.catalog.table_exists("db.t") and contract.catalog.list_tables("db") == []
        assert contract.catalog.drop_namespace("db")
        contract.catalog.create_namespace("db")

    each([{}, {"location": contract.outside("orders")}], check)


def test_rows_that_do_not_fit_leave_no_files(contract: Contract) -> None:
    with pytest.raises(ds.SchemaError), contract.catalog.stage_create("db.t", SCHEMA) as staged:
        staged.append(NUMBERS)
        staged.append(pa.table({"nothing": [1]}))
    assert not contract.there(staged.location)


def test_it_ends_once(contract: Contract) -> None:
    staged = contract.catalog.stage_create("db.t", SCHEMA)
    staged.commit_staged_changes()
    staged.abort_staged_changes()
    for again in (staged.commit_staged_changes, lambda: staged.append(NUMBERS)):
        refuses(ds.InvalidCommit, "t", again)
    assert contract.catalog.load_table("db.t").version == 0
    aborted = contract.catalog.stage_create("db.u", SCHEMA)
    aborted.abort_staged_changes()
    aborted.abort_staged_changes()
    refuses(ds.InvalidCommit, None, aborted.commit_staged_changes)


def test_of_two_that_create_one_name_one_wins(contract: Contract) -> None:
    first = contract.catalog.stage_create("db.t", SCHEMA, ["name"])
    second = contract.catalog.stage_create("db.t", "id BIGINT, name STRING, more INT", ["name"])
    first.append(NUMBERS)
    second.append(MORE)
    second.commit_staged_changes()
    refuses(ds.TableAlreadyExists, None, first.commit_staged_changes)
    table = contract.catalog.load_table("db.t")
    assert (table.version, ids_of(table)) == (0, [7, 8])
    table.append(MORE)
    assert ids_of(table) == [7, 7, 8, 8]


def test_a_replaced_table_keeps_its_history_and_changes_in_one_commit(contract: Contract) -> None:
    before = contract.catalog.create_table("db.t", SCHEMA, ["name"], {"old": "1", "comment": "old"})
    before.append(NUMBERS)
    staged = contract.catalog.stage_replace(
        "db.t", "id BIGINT, day DATE", ["day"], properties={"new": "2", "comment": "new"}
    )
    days = pa.array([19_000, 19_001], pa.int32()).cast(pa.date32())
    staged.append(pa.table({"id": pa.array([10, 11], pa.int64()), "day": days}))
    assert ids_of(contract.catalog.load_table("db.t")) == [1, 2, 3]
    table = staged.commit_staged_changes()
    assert (table.version, ids_of(table), table.partition_columns) == (2, [10, 11], ("day",))
    assert [field.name for field in table.schema.fields] == ["id", "day"]
    assert (table.metadata.configuration["new"], table.metadata.description) == ("2", "new")
    assert "old" not in table.metadata.configuration
    assert table.metadata.id == before.metadata.id
    older = contract.catalog.load_table("db.t", version=1)
    assert (ids_of(older), older.partition_columns) == ([1, 2, 3], ("name",))


def test_an_aborted_replacement_changes_nothing(contract: Contract) -> None:
    contract.catalog.create_table("db.t", SCHEMA).append(NUMBERS)
    with pytest.raises(RuntimeError), contract.catalog.stage_replace("db.t", "x INT") as staged:
        staged.append(pa.table({"x": pa.array([1], pa.int32())}))
        raise RuntimeError("no")
    table = contract.catalog.load_table("db.t")
    assert (table.version, ids_of(table)) == (1, [1, 2, 3])


def test_a_replacement_conflicts_with_rows_of_others(contract: Contract) -> None:
    contract.catalog.create_table("db.t", SCHEMA).append(NUMBERS)
    staged = contract.catalog.stage_replace("db.t", SCHEMA)
    staged.append(MORE)
    contract.catalog.load_table("db.t").append(NUMBERS)
    refuses(ds.CommitConflict, None, staged.commit_staged_changes)
    assert ids_of(contract.catalog.load_table("db.t")) == [1, 1, 2, 2, 3, 3]


def test_a_replacement_conflicts_with_changes_of_others(contract: Contract) -> None:
    contract.catalog.create_table("db.t", SCHEMA)
    staged = contract.catalog.stage_replace("db.t", "x INT")
    contract.catalog.alter_table("db.t", ds.AddColumn("more", "INT"))
    refuses(ds.CommitConflict, None, staged.commit_staged_changes)
    assert len(contract.catalog.load_table("db.t").schema.fields) == 3


def test_of_two_replacements_one_wins(contract: Contract) -> None:
    contract.catalog.create_table("db.t", SCHEMA)
    first, second = (contract.catalog.stage_replace("db.t", SCHEMA) for _ in range(2))
    first.append(NUMBERS)
    second.append(MORE)
    first.commit_staged_changes()
    refuses(ds.CommitConflict, None, second.commit_staged_changes)
    assert ids_of(contract.catalog.load_table("db.t")) == [1, 2, 3]


def test_create_or_replace_does_what_fits(contract: Contract) -> None:
    for rows, version in ((NUMBERS, 0), (MORE, 1)):
        with contract.catalog.stage_create_or_replace("db.t", SCHEMA) as staged:
            staged.append(rows)
        table = contract.catalog.load_table("db.t")
        assert (table.version, ids_of(table)) == (version, rows["id"].to_pylist())


def test_the_operation_is_in_the_history(contract: Contract) -> None:
    staged = contract.catalog.stage_create("db.t", SCHEMA)
    for rows in (NUMBERS, MORE):
        staged.append(rows)
    staged.commit_staged_changes()
    with contract.catalog.stage_replace("db.t", SCHEMA) as replaced:
        replaced.append(MORE)
    contract.catalog.stage_replace("db.t", SCHEMA).commit_staged_changes()
    history = contract.catalog.load_table("db.t").history()
    assert [(entry.operation, entry.operation_metrics.get("numRemovedFiles")) for entry in history] == [
        ("REPLACE TABLE", None), ("REPLACE TABLE AS SELECT", "2"), ("CREATE TABLE AS SELECT", None)
    ]  # fmt: skip


WRONG: list[tuple[str, Any, Any]] = [
    ("id NOTATYPE", (), None),
    (SCHEMA, ["missing"], None),
    (SCHEMA, (), ["missing"]),
    (SCHEMA, (), ["id SIDEWAYS"]),
    ("id INT, s STRING COLLATE UTF8_LCASE", (), ["s"]),
    ("id INT, a ARRAY<INT>", (), ["a"]),
    ("id INT, m STRUCT<a: INT>", (), ["m"]),
]


@pytest.mark.parametrize("method", ["stage_create", "stage_create_or_replace", "stage_replace"])
def test_wrong_arguments_leave_nothing(contract: Contract, method: str) -> None:
    if method == "stage_replace":
        contract.catalog.create_table("db.t", SCHEMA)

    def check(arguments: tuple[str, Any, Any]) -> None:
        refuses(ds.DeltaSkipError, None, lambda: getattr(contract.catalog, method)("db.t", *arguments))
        assert contract.catalog.table_exists("db.t") == (method == "stage_replace")

    each(WRONG, check)


def test_rows_are_written_in_their_order_and_the_table_remembers_it(contract: Contract) -> None:
    rows = pa.table({"id": pa.array([2, None, 3, 1, 2], pa.int64()), "name": ["b", "z", "a", "c", "a"]})
    with contract.catalog.stage_create("db.t", SCHEMA, (), ["id DESC NULLS FIRST", "name"]) as staged:
        staged.append(rows)
    table = contract.catalog.load_table("db.t")
    assert [(row["id"], row["name"]) for row in values_of(table)] == [
        (None, "z"), (3, "a"), (2, "a"), (2, "b"), (1, "c"),
    ]  # fmt: skip
    assert table.sort_order == (ds.SortOrder("id", True, True), ds.SortOrder("name"))
    with contract.catalog.stage_replace("db.t", SCHEMA) as staged:
        staged.append(rows)
    assert contract.catalog.load_table("db.t").sort_order == ()
