"""The clauses of a merge: number and order, names, `*`, and what they may set."""

import gc
import warnings
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, col
from deltaskip.dml.merge.clauses import MergeClause, check_clauses, checked_condition, checked_values
from deltaskip.dml.merge.merge_assignments import (
    DEFAULT,
    AssignedExpression,
    AssignedFields,
    FromSource,
    PlannedClause,
    evolved_columns,
    planned_clauses,
)
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError, SchemaError, WriteWarning
from deltaskip.schema.user_schema import schema_of
from deltaskip.sparkexpr.types.data_types import INTEGER, StructType
from tests.each import refuses

TARGET = schema_of("id INT, v INT DEFAULT 7, st STRUCT<a: INT, b: INT>, `a.b` INT, arr ARRAY<STRUCT<x: INT>>")
SOURCE = schema_of("ID INT, v INT, st STRUCT<a: INT, b: INT>, `a.b` INT, arr ARRAY<STRUCT<x: INT>>, w STRING")


def planned(clause: MergeClause, source: StructType = SOURCE, evolves: bool = False) -> PlannedClause:
    [found] = planned_clauses([clause], TARGET, source, evolves=evolves, target_alias="t", table="/t")
    return found


def setting(**values: Any) -> MergeClause:
    return MergeClause("matched", "update", None, values)


def test_a_merge_needs_a_clause() -> None:
    refuses(InvalidArgument, "has no clause", check_clauses, [], "/t")


def test_only_the_last_clause_of_a_kind_may_lack_a_condition() -> None:
    delete, update = MergeClause("matched", "delete"), MergeClause("matched", "update", "s.v > 1", {})
    check_clauses([update, delete, MergeClause("not matched", "insert")], "/t")
    check_clauses([MergeClause("not matched", "insert"), update, delete], "/t")
    with pytest.raises(InvalidArgument, match="The delete clause for rows that are matched has no condition"):
        check_clauses([delete, update], "/t")


@pytest.mark.parametrize("name", ["V", "t.v", "T.`v`", "`v`"])
def test_columns_are_set_in_any_letter_case_and_with_the_name_of_the_table(name: str) -> None:
    assert planned(setting(**{name: "s.v"})).columns == {"v": AssignedExpression("s.v")}


def test_a_quoted_name_may_contain_dots() -> None:
    assert planned(setting(**{"`a.b`": "1"})).columns == {"a.b": AssignedExpression("1")}


def test_nested_fields_are_set_one_by_one() -> None:
    found = planned(setting(**{"st.A": "1", "t.st.b": "2"})).columns
    assert found == {"st": AssignedFields({"a": AssignedExpression("1"), "b": AssignedExpression("2")})}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"v": "1", "V": "2"}, "set twice"),
        ({"st": "s.st", "st.a": "1"}, "set twice"),
        ({"st.a": "1", "st": "s.st"}, "set twice"),
        ({"nope": "1"}, "no column nope"),
        ({"s.v": "1"}, "no column s"),
        ({"arr.x": "1"}, "inside an array"),
        ({"v + 1": "1"}, "not the name of a column"),
    ],
)
def test_what_cannot_be_set_is_refused(values: dict[str, str], message: str) -> None:
    refuses(SchemaError, message, lambda: planned(setting(**values)))


def test_a_row_to_insert_has_no_nested_assignments() -> None:
    with pytest.raises(SchemaError, match="whole column st"):
        planned(MergeClause("not matched", "insert", None, {"id": "1", "st.a": "1"}))


def test_the_keyword_default_stands_for_the_default() -> None:
    assert planned(setting(v=" default ")).columns == {"v": DEFAULT}


def test_all_columns_are_taken_by_name_and_others_left() -> None:
    found = planned(MergeClause("matched", "update", except_=("ST", "arr", "a.b"))).columns
    assert found == {"id": FromSource(("ID",), INTEGER), "v": FromSource(("v",), INTEGER)}


def test_all_columns_need_those_of_the_table() -> None:
    with pytest.raises(SchemaError, match="The source has no column v"):
        planned(MergeClause("matched", "update"), schema_of("id INT"))
    assert set(planned(MergeClause("matched", "update"), schema_of("id INT"), True).columns) == {"id"}


def test_columns_left_out_must_exist() -> None:
    with pytest.raises(SchemaError, match="except_ names the column nope"):
        planned(MergeClause("matched", "update", except_=("nope",)))


def test_fields_that_the_source_lacks_stay_when_the_schema_evolves() -> None:
    found = planned(MergeClause("matched", "update"), schema_of("id INT, st STRUCT<a: INT>"), True).columns
    assert isinstance(found["st"], AssignedFields)
    assert found["st"].fields == {"a": FromSource(("st", "a"), INTEGER)}
    assert found["st"].struct is not None and found["st"].struct.path == ("st",)


def test_new_fields_of_a_struct_that_a_clause_sets_are_merged_into_the_table(tmp_path: Path) -> None:
    fields = "s STRUCT<a: INT, l: ARRAY<STRUCT<x: INT>>>"
    inner = pa.struct([("x", pa.int32()), ("y", pa.int32())])
    outer = pa.struct([("a", pa.int32()), ("l", pa.list_(inner)), ("c", pa.int32())])
    value = {"a": 5, "l": [{"x": 1, "y": 2}], "c": 6}
    given = pa.table({"id": pa.array([1, 2], pa.int32()), "s": pa.array([value] * 2, outer)})
    table = DeltaTable.create(tmp_path / "t", f"id INT, {fields}")
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    merge = table.merge(given, "t.id = q.id", source_alias="q", target_alias="t", schema_mode="merge")
    merge.when_matched_update({"s": "q.s"}).when_not_matched_insert({"id": "q.id", "s": "q.s"}).execute()
    found = table.scan().to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 1, "s": value}, {"id": 2, "s": value}]
    other = DeltaTable.create(tmp_path / "u", "id INT, s STRUCT<a: INT>")
    other.append(pa.table({"id": pa.array([1], pa.int32())}))
    merge = other.merge(given, "t.id = q.id", source_alias="q", target_alias="t", schema_mode="merge")
    merge.when_matched_update({"s.c": "q.s.c", "s.l": "q.s.l"}).execute()
    assert other.scan().to_arrow().to_pylist() == [{"id": 1, "s": {"a": None, "c": 6, "l": value["l"]}}]
    # The table lacks no field of which only the type differs.
    source = schema_of("id INT, s STRUCT<a: STRING, c: INT>")
    of_clause = evolved_columns([setting(s="q.s")], schema_of(f"id INT, {fields}"), source, "t", "/t")
    assert of_clause == schema_of("s STRUCT<c: INT>")


def test_identity_columns_are_not_updated_and_generated_ones_not_given() -> None:
    always = schema_of("id INT, k BIGINT GENERATED ALWAYS AS IDENTITY")
    by_default = schema_of("id INT, k BIGINT GENERATED BY DEFAULT AS IDENTITY")
    source = schema_of("id INT, k BIGINT")

    def of(schema: StructType, clause: MergeClause) -> None:
        planned_clauses([clause], schema, source, evolves=False, target_alias=None, table="/t")

    for schema in (always, by_default):
        with pytest.raises(SchemaError, match="cannot be updated"):
            of(schema, MergeClause("matched", "update"))
        with pytest.raises(SchemaError, match="cannot be updated"):
            of(schema, setting(k="1"))
    refuses(SchemaError, "GENERATED ALWAYS AS IDENTITY", lambda: of(always, MergeClause("not matched", "insert")))
    of(by_default, MergeClause("not matched", "insert"))


def test_new_columns_come_from_clauses_that_take_all_or_set_them() -> None:
    def names(*clauses: MergeClause) -> list[str]:
        new = evolved_columns(clauses, TARGET, SOURCE, "t", "/t")
        return [name for name in new.names if name not in ("ID", *TARGET.names)]

    assert names(MergeClause("matched", "update")) == ["w"]
    assert names(MergeClause("matched", "update", except_=("W",))) == []
    assert names(setting(v="s.v")) == []
    assert names(setting(w="upper(s.w)")) == ["w"]
    assert names(setting(q="s.w")) == []


def test_a_new_nested_field_is_added_alone() -> None:
    source = schema_of("id INT, st STRUCT<a: INT, c: INT, d: INT>")
    [found] = evolved_columns([setting(**{"t.st.c": "s.st.c"})], TARGET, source, "t", "/t").fields
    assert isinstance(found.type, StructType)
    assert (found.name, found.type.names) == ("st", ("c",))


def test_conditions_are_text_columns_or_expressions() -> None:
    assert checked_condition("where", None) is None
    expression = col("v") > 1
    assert checked_condition("where", expression) is expression
    refuses(InvalidArgumentType, "where must be SQL text", checked_condition, "where", 1)
    refuses(PredicateError, "where is empty", checked_condition, "where", " ")
    refuses(PredicateError, "contains a query", checked_condition, "where", "id IN (SELECT 1)")


def test_values_are_expressions_by_name() -> None:
    assert checked_values("values", {"v": "1"}) == {"v": "1"}
    for wrong in (None, "v", {1: "v"}, {"v": {1}}):
        refuses(InvalidArgumentType, None, checked_values, "values", wrong)


def test_values_are_constants_as_those_of_update(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, day DATE, b BOOLEAN, x DECIMAL(4, 2)")
    constants: dict[str, object] = {"day": date(2026, 1, 1), "b": True, "x": Decimal("1.5")}
    source = pa.table({"id": pa.array([1], pa.int32())})
    merge = table.merge(source, "target.id = source.id").when_not_matched_insert({"id": "source.id", **constants})
    merge.when_matched_update({"day": None, "x": 2}).execute()
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, **constants}]
    table.merge(source, "target.id = source.id").when_matched_update({"day": None, "x": 2}).execute()
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "day": None, "b": True, "x": Decimal(2)}]


def test_a_builder_is_not_changed_by_its_methods(tmp_path: Path) -> None:
    from deltaskip.table.merge_builder import MergeBuilder

    def run(clauses: tuple[MergeClause, ...], dry_run: bool) -> Any:
        return [clause.action for clause in clauses]

    first = MergeBuilder(run)
    second = first.when_matched_delete("s.v = 1").when_not_matched_insert_all()
    assert first.execute() == []
    assert second.execute() == ["delete", "insert"]


def test_a_merge_that_is_dropped_before_it_is_executed_warns_once(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, n STRING")
    source = pa.table({"id": pa.array([1], pa.int32()), "n": ["b"]})
    begin = partial(table.merge, source, "target.id = source.id")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        begin().when_matched_delete().execute(dry_run=True)
        with pytest.raises(InvalidArgumentType, match="values must be"):
            begin().when_matched_delete().when_not_matched_insert("x")
        both = begin().when_matched_delete()
        both.when_not_matched_insert_all().execute()
        del both
        gc.collect()
        assert not found
        begin()
        begin().when_matched_delete("target.id > 1").when_not_matched_insert_all()
        gc.collect()
    assert [each.category for each in found] == [WriteWarning] * 2
    assert str(tmp_path) in str(found[0].message) and found[0].filename == __file__
