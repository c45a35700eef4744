import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import InvalidArgument, PredicateError, SchemaError
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.resolve import column_path
from tests.each import refuses

INNER = t.StructType((t.StructField("c.d", t.INTEGER, False), t.StructField("E", t.LONG)))
SCHEMA = t.StructType(
    (
        t.StructField("Id", t.LONG, False),
        t.StructField("a", t.StructType((t.StructField("b", INNER, False), t.StructField("text", t.STRING))), False),
        t.StructField("a.b", t.STRING),
        t.StructField("list", t.ArrayType(INNER)),
        t.StructField("map", t.MapType(t.STRING, INNER)),
        t.StructField("straße", t.LONG),
    )
)


def test_letter_case_is_ignored_and_the_schemas_spelling_returned():
    found = t.resolve(SCHEMA, ["ID"])
    assert (found.logical, found.physical, found.type, found.nullable) == (("Id",), ("Id",), t.LONG, False)


def test_case_sensitive_resolution_wants_the_exact_name():
    assert t.resolve(SCHEMA, ["Id"], case_sensitive=True).logical == ("Id",)
    refuses(PredicateError, "did you mean Id", t.resolve, SCHEMA, ["id"], case_sensitive=True)


def test_a_part_with_a_dot_is_one_name():
    assert t.resolve(SCHEMA, ["a.b"]).type == t.STRING
    assert t.resolve(SCHEMA, ["a", "b"]).type == INNER
    assert t.resolve(SCHEMA, ["A", "B", "C.D"]).logical == ("a", "b", "c.d")


def test_a_field_is_nullable_if_anything_around_it_is():
    assert not t.resolve(SCHEMA, ["a", "b", "c.d"]).nullable
    loose = t.StructType((t.StructField("s", t.StructType((t.StructField("x", t.LONG, False),)), True),))
    assert t.resolve(loose, ["s", "x"]).nullable


def test_physical_paths_follow_the_mapping():
    physical = {"delta.columnMapping.physicalName": "col-1"}
    nested = t.StructField("x", t.LONG, metadata={"delta.columnMapping.physicalName": "col-2"})
    schema = t.StructType((t.StructField("s", t.StructType((nested,)), metadata=physical),))
    assert t.resolve(schema, ["S", "X"], "name").physical == ("col-1", "col-2")
    assert t.resolve(schema, ["S", "X"], "none").physical == ("s", "x")


@pytest.mark.parametrize("parts", [["a"], ["A"]])
def test_names_that_differ_in_case_only_are_ambiguous_even_when_spelled_exactly(parts):
    schema = t.StructType((t.StructField("a", t.LONG), t.StructField("A", t.LONG)))
    refuses(PredicateError, "ambiguous: it could be a, A", t.resolve, schema, parts)
    assert t.resolve(schema, parts, case_sensitive=True).logical == tuple(parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["idd"], "no column idd; did you mean Id"),
        (["a", "txt"], r"no column a\.txt; did you mean a\.text"),
        (["zzzzzzz"], "the columns are Id, a, `a.b`, list, map, straße"),
        (["Id", "x"], "Id is not a struct"),
        ([], "empty"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(parts, message):
    refuses(PredicateError, message, t.resolve, SCHEMA, parts)


@pytest.mark.parametrize("parts", [["list", "E"], ["map", "key"], ["map", "value", "E"]])
def test_paths_below_arrays_and_maps_raise_their_own_error(parts):
    refuses(t.InsideCollection, "has no single value", t.resolve, SCHEMA, parts)


def test_an_array_itself_resolves():
    assert t.resolve(SCHEMA, ["list"]).type == t.ArrayType(INNER)


def test_leaves_are_reached_through_structs_only_in_order():
    assert [leaf.logical for leaf in t.leaves(SCHEMA)] == [
        ("Id",),
        ("a", "b", "c.d"),
        ("a", "b", "E"),
        ("a", "text"),
        ("a.b",),
        ("straße",),
    ]


def test_every_leaf_resolves_to_itself():
    for leaf in t.leaves(SCHEMA):
        assert t.resolve(SCHEMA, leaf.logical) == leaf


@pytest.mark.parametrize("name", ["a", "we.ird", "a.element"])
def test_the_collation_of_a_string_is_found_by_its_own_name(name):
    declared = {name: "ICU.Unicode_ci", "other": "icu.de"}
    schema = t.StructType((t.StructField(name, t.STRING, metadata={"__COLLATIONS": declared}),))
    assert t.collation_of(t.resolve(schema, [name])) == "ICU.Unicode_ci"


@pytest.mark.parametrize(
    ("data_type", "metadata"),
    [(t.STRING, {}), (t.STRING, {"__COLLATIONS": {"b": "icu.de"}}), (t.LONG, {"__COLLATIONS": {"a": "icu.de"}})],
)
def test_without_a_declaration_for_the_string_there_is_no_collation(data_type, metadata):
    schema = t.StructType((t.StructField("a", data_type, metadata=metadata),))
    assert t.collation_of(t.resolve(schema, ["a"])) is None


@pytest.mark.parametrize("declared", ["icu.de", {"a": 1}])
def test_a_damaged_declaration_is_never_read_as_binary_order(declared):
    schema = t.StructType((t.StructField("a", t.STRING, metadata={"__COLLATIONS": declared}),))
    refuses(SchemaError, "__COLLATIONS", lambda: t.collation_of(t.resolve(schema, ["a"])))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [("STRASSE", "straße", False), ("É", "é", True), ("Σ", "ς", True), ("K", "k", True), ("ı", "I", True)],
)
def test_names_fold_as_javas_equals_ignore_case(left, right, same):
    assert (t.fold_name(left) == t.fold_name(right)) is same


@given(st.text())
def test_folding_twice_changes_nothing_more(name):
    assert t.fold_name(t.fold_name(name)) == t.fold_name(name)
    assert len(t.fold_name(name)) == len(name)


def test_display_names_quote_what_sql_must_quote():
    assert t.display_name(["a", "b c", "d`e", "_x1"]) == "a.`b c`.`d``e`._x1"


def test_many_names_of_one_struct_are_resolved_without_reading_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    struct = t.StructType(tuple(t.StructField(f"Column{k}", t.LONG) for k in range(300)))
    module = sys.modules["deltaskip.sparkexpr.types.resolve"]
    folded: list[str] = []
    fold = t.fold_name
    monkeypatch.setattr(module, "fold_name", lambda name: folded.append(name) or fold(name))
    for k in range(300):
        assert t.resolve(struct, [f"COLUMN{k}"]).logical == (f"Column{k}",)
    assert len(folded) <= 600


def test_the_name_of_one_column_needs_backticks_only_where_it_could_be_several() -> None:
    for text, path in (
        ("a b", ("a b",)),
        (" id ", ("id",)),
        ("a.b", ("a", "b")),
        ("`a.b`.c", ("a.b", "c")),
        ("é-1", ("é-1",)),
    ):
        assert column_path("column", text) == path
    for text in ("a, b", "a b.c", "", " ", "a.", "`a"):
        refuses(InvalidArgument, "column", column_path, "column", text)
