"""Store assignment: Spark's pairs of types, and values of Arrow arrays with Spark's stored answers for its casts."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.errors import RowViolation, SchemaError, UnsupportedFeature
from deltaskip.rows import plan_rows
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.arrow_layout import plain_array, stored_type
from deltaskip.rows.arrow_store import ArrowTarget, store_array
from deltaskip.rows.schema_merge import incoming_schema
from deltaskip.rows.store import check_assignable, same_values, stored, written_type
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.text.sql_text import sql_string
from deltaskip.sparkexpr.types import INTEGER, STRING, VOID, ArrayType, DataType, MapType, StructField, StructType
from deltaskip.sparkexpr.types.arrow import from_arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns, parse_type_text
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values.arrow_values import domain_values
from deltaskip.sparkexpr.values.calendar import zone_of
from tests.each import refuses
from tests.looped import looped
from tests.rows.store_pairs import PAIRS, store_assignment
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import ERROR, ZONES, answers, encoded
from tests.sparkexpr.spark_edges import table_of as edge_table

SPARK = store_assignment()
STRUCT = pa.struct([pa.field("x", pa.int64())])


def accepted(source: DataType, target: DataType) -> bool:
    try:
        check_assignable(source, target, ("c",), "t")
    except SchemaError:
        return False
    return True


@looped("source", SPARK)
def test_types_can_be_stored_where_spark_allows_it(source: str) -> None:
    # Structs are stored by name here, and by position there.
    kinds = [text for text in SPARK if not text.startswith("struct")]
    if source in kinds:
        found = [target for target in kinds if accepted(parse_type_text(source), parse_type_text(target))]
        nested = ("array", "map") if source == "void" else ()
        assert [*found, *(t for t in kinds if t.startswith(nested or "-") and t not in found)] == [
            target for target in SPARK[source] if target in kinds
        ]


def test_every_pair_of_primitive_types_is_in_the_table() -> None:
    assert {source for source, _ in PAIRS} <= set(EDGES)
    assert len(PAIRS) > 150


def graded() -> Iterator[tuple[DataType, DataType, str]]:
    """Pairs whose cast has stored answers, in each time zone that has them."""
    known = answers()
    for source, target in PAIRS:
        for zone in ZONES:
            if f"{simple_string(source)}|{zone}|CAST(c AS {simple_string(target)})" in known:
                yield source, target, zone


def named(value: object) -> str:
    return simple_string(value) if isinstance(value, DataType) else str(value)


@looped("source, target, zone", list(graded()), named)
def test_arrays_are_stored_with_the_values_of_sparks_casts(source: DataType, target: DataType, zone: str) -> None:
    expected = answers()[f"{simple_string(source)}|{zone}|CAST(c AS {simple_string(target)})"]["on"]
    column = edge_table(source, EDGES[source])["c"].chunk(0)
    where = ArrowTarget("t", zone_of(zone))
    fitting: list[int] = []
    for i, answer in enumerate(expected):
        try:
            found = store_array(column.slice(i, 1), target, ("c",), where)
        except UnsupportedFeature:
            continue
        except RowViolation as error:
            assert answer == ERROR and type(answer) is int, (EDGES[source][i], answer)
            assert error.column == "c" and error.rule == "type of c"
        else:
            assert encoded(domain_values(found)[0], target) == answer, EDGES[source][i]
            fitting.append(i)
    # All at once, with nulls between.
    together = pa.concat_arrays([each for i in fitting for each in (column.slice(i, 1), pa.nulls(1, column.type))])
    if fitting:
        found = store_array(together, target, ("c",), where)
        assert found.type == stored_type(target)
        answered = [text for i in fitting for text in (expected[i], None)]
        assert [encoded(value, target) for value in domain_values(found)] == answered


def nested(kind: str, inner: DataType) -> DataType:
    return {
        "array": ArrayType(inner),
        "map": MapType(STRING, ArrayType(inner)),
        "struct": StructType((StructField("x y", inner), StructField("n", INTEGER))),
    }[kind]


@pytest.mark.parametrize("kind", ["array", "map", "struct"])
@pytest.mark.parametrize("sliced", [False, True])
def test_nested_values_are_stored_below_valid_parents_only(kind: str, sliced: bool) -> None:
    source, target = nested(kind, parse_type_text("bigint")), nested(kind, parse_type_text("tinyint"))
    rows: dict[str, list[Any]] = {
        "array": [[1, None], None, [], [127]],
        "map": [[("a", [1, None]), ("b", None)], None, [], [("c", [127])]],
        "struct": [{"x y": 1, "n": 2}, None, {"x y": None, "n": 3}, {"x y": 127, "n": None}],
    }
    array = pa.array(rows[kind], stored_type(source))
    array = array.slice(1) if sliced else array
    where = ArrowTarget("t", zone_of("UTC"))
    found = store_array(array, target, ("c",), where)
    found.validate(full=True)
    assert found.type == stored_type(target)
    assert found.to_pylist() == rows[kind][sliced:]
    bad = {"array": [[128]], "map": [[("a", [128])]], "struct": [{"x y": 128, "n": 1}]}[kind]
    with pytest.raises(RowViolation) as raised:
        store_array(pa.array(bad, stored_type(source)), target, ("c",), where)
    assert raised.value.column == {"array": "c.element", "map": "c.value.element", "struct": "c.`x y`"}[kind]
    assert raised.value.value == "128"


def test_values_below_a_null_are_never_cast() -> None:
    hidden = pa.StructArray.from_arrays([pa.array([1000, 1])], names=["a"], mask=pa.array([True, False]))
    target = parse_type_text("struct<a:tinyint>")
    assert store_array(hidden, target, ("c",), ArrowTarget("t", zone_of("UTC"))).to_pylist() == [None, {"a": 1}]
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2]), pa.array([1000, 1]), mask=pa.array([True, False]))
    found = store_array(lists, parse_type_text("array<tinyint>"), ("c",), ArrowTarget("t", zone_of("UTC")))
    assert found.to_pylist() == [None, [1]]


def assigned(array: pa.Array, target: str) -> pa.Array:
    """An array of any layout as it is stored in a column of a type."""
    plain = plain_array(array, from_arrow_type(array.type), ("c",), "t")
    return store_array(plain, parse_type_text(target), ("c",), ArrowTarget("t", zone_of("UTC")))


@looped(
    "array, target, expected",
    [
        (pa.array(["a", None]).dictionary_encode(), "string", ["a", None]),
        (pa.array(["a"]).cast(pa.string_view()), "string", ["a"]),
        (pa.array(["a", None], pa.large_string()), "string", ["a", None]),
        (pa.array([b"a", None], pa.large_binary()), "binary", [b"a", None]),
        (pa.array([255], pa.uint8()), "smallint", [255]),
        (pa.array([255], pa.uint8()), "int", [255]),
        (pa.array([2**32 - 1], pa.uint32()), "bigint", [2**32 - 1]),
        (pa.array([2**63 - 1], pa.uint64()), "bigint", [2**63 - 1]),
        (pa.array([-1_001, 1_999], pa.timestamp("ns", "UTC")), "timestamp", [-2, 1]),
        (pa.array([1], pa.timestamp("s")), "timestamp_ntz", [1_000_000]),
        (pa.array([1], pa.timestamp("us", "Asia/Tokyo")), "timestamp", [1]),
        (pa.array([86_400_000], pa.date64()), "date", [1]),
        (pa.array([b"ab"], pa.binary(2)), "binary", [b"ab"]),
        (pa.array([None, None], pa.null()), "array<int>", [None, None]),
        (pa.array([[1], None], pa.large_list(pa.int32())), "array<bigint>", [[1], None]),
        (pa.array([[1, 2]], pa.list_(pa.int32(), 2)), "array<int>", [[1, 2]]),
        (pa.array([1.5], pa.float16()), "double", [1.5]),
    ],
)
def test_every_form_of_arrow_data_is_taken(array: pa.Array, target: str, expected: list[Any]) -> None:
    found = assigned(array, target)
    assert found.type == stored_type(parse_type_text(target))
    assert (domain_values(found) if not pa.types.is_nested(found.type) else found.to_pylist()) == expected


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([2**64 - 1], pa.uint64()), "bigint"),
        (pa.array([2**62], pa.timestamp("s", "UTC")), "timestamp"),
        (pa.array([128], pa.uint8()), "tinyint"),
    ],
)
def test_values_of_foreign_types_that_do_not_fit_are_refused(array: pa.Array, target: str) -> None:
    refuses(RowViolation, "does not fit the column c", assigned, array, target)


def test_variants_are_structs_of_two_binaries_where_the_table_has_a_variant() -> None:
    members = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    rows = pa.table(
        {
            "V": pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x00"}, None], members),
            "l": pa.array([[{"metadata": b"\x01\x00\x00", "value": b"\x00"}], None], pa.list_(members)),
            "s": pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x00"}, None], members),
        }
    )
    table = parse_columns("v VARIANT, l ARRAY<VARIANT>, s STRUCT<value: BINARY, metadata: BINARY>")
    incoming = incoming_schema(rows.schema, table)
    assert [simple_string(field.type) for field in incoming.fields] == [
        "variant",
        "array<variant>",
        "struct<metadata:binary,value:binary>",
    ]
    plan = plan_rows(table, TableProperties({}), incoming)
    assert ArrowRows(plan).convert(rows).to_pylist() == [
        {"v": {"value": b"\x00", "metadata": b"\x01\x00\x00"}, "l": [{"value": b"\x00", "metadata": b"\x01\x00\x00"}],
            "s": {"value": b"\x00", "metadata": b"\x01\x00\x00"}},
        {"v": None, "l": None, "s": None},
    ]  # fmt: skip


def test_equal_types_are_not_copied() -> None:
    for array in (pa.array([1, None]), pa.array(["a"]), pa.array([[{"x": 1}]], pa.list_(pa.field("element", STRUCT)))):
        target = from_arrow_type(array.type)
        assert store_array(array, target, ("c",), ArrowTarget("t", zone_of("UTC"))) is array


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("string", "int", "STRING cannot be stored in the column c of t, which is INT"),
        ("boolean", "int", "BOOLEAN cannot be stored"),
        ("struct<a:int,b:int>", "struct<a:int>", "has no field c.b"),
        ("struct<b:int>", "struct<a:int not null,b:int>", "lack c.a, which is NOT NULL"),
        ("array<struct<a:string>>", "array<struct<a:int>>", "c.element.a"),
        ("map<string,int>", "map<int,int>", "c.key"),
        ("map<int,string>", "map<int,int>", "c.value"),
        ("int", "array<int>", "INT cannot be stored"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_path(source: str, target: str, reason: str) -> None:
    with pytest.raises(SchemaError) as raised:
        check_assignable(parse_type_text(source), parse_type_text(target), ("c",), "t")
    assert reason in str(raised.value)


def test_void_is_never_written() -> None:
    inner = StructType((StructField("a", VOID), StructField("b", INTEGER)))
    assert written_type(ArrayType(inner), ("c",), "t") == ArrayType(StructType((StructField("b", INTEGER),)))
    for wrong in (
        ArrayType(VOID),
        MapType(STRING, VOID),
        StructType((StructField("a", VOID),)),
        ArrayType(StructType((StructField("a", VOID),))),
    ):
        refuses(SchemaError, "void", written_type, wrong, ("c",), "t")


def test_texts_are_the_expression_itself_where_nothing_changes() -> None:
    same = parse_type_text("struct<a:array<int>>")
    not_null = StructType((StructField("a", ArrayType(INTEGER, False), False),))
    assert stored("`c`", same, not_null, ("c",)) == "`c`"
    assert same_values(same, same) and not same_values(same, parse_type_text("struct<A:array<int>>"))
    assert stored("`c`", parse_type_text("int"), parse_type_text("bigint"), ("c",)) == "CAST(`c` AS bigint)"


def test_string_literals_do_not_depend_on_the_sessions_escapes() -> None:
    assert sql_string("a b") == "'a b'"
    assert sql_string("a'b\\n") == "CAST(X'6127625c6e' AS STRING)"
