"""Which columns get statistics: as delta-spark 4.4 chose them for the same schema and properties."""

import pytest

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.sparkexpr import types as t
from deltaskip.stats.stats_columns import INDEXED_COLUMNS, STATS_COLUMNS, declared_collations, indexed_columns
from tests.each import refuses

SCHEMA = t.StructType(
    (
        t.StructField("a", t.ArrayType(t.INTEGER)),
        t.StructField("m", t.MapType(t.STRING, t.INTEGER)),
        t.StructField("bi", t.BINARY),
        t.StructField("bo", t.BOOLEAN),
        t.StructField("i", t.INTEGER),
        t.StructField("j", t.INTEGER),
        t.StructField("s", t.StructType((t.StructField("x", t.INTEGER), t.StructField("y", t.ArrayType(t.INTEGER)),
            t.StructField("z", t.INTEGER)))),
        t.StructField("k", t.INTEGER),
    )
)  # fmt: skip
ALL = ["a", "m", "bi", "bo", "i", "j", "s.x", "s.y", "s.z", "k"]


def names(properties: dict[str, str] | None = None, **options: object) -> list[str]:
    return [".".join(c.logical) for c in indexed_columns(SCHEMA, properties=properties, **options)]


@pytest.mark.parametrize("number", [0, 1, 2, 5, 6, 7, 8, 9])
def test_the_first_leaves_are_counted_whatever_their_type(number: int) -> None:
    assert names({INDEXED_COLUMNS: str(number)}) == ALL[:number]


def test_a_negative_number_is_all_and_the_default_is_32() -> None:
    assert names({INDEXED_COLUMNS: "-1"}) == names() == ALL
    wide = t.StructType(tuple(t.StructField(f"c{i}", t.INTEGER) for i in range(40)))
    assert len(indexed_columns(wide)) == 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i,s.z,s.x", ["i", "s.x", "s.z"]),
        ("s", ["s.x", "s.y", "s.z"]),
        ("I , `k`", ["i", "k"]),
        ("", []),
        ("s.y", ["s.y"]),
        ("gone", []),
    ],
)
def test_named_columns_come_in_the_order_of_the_schema(text: str, expected: list[str]) -> None:
    assert names({STATS_COLUMNS: text, INDEXED_COLUMNS: "1"}) == expected


def test_partition_columns_are_left_out_before_counting() -> None:
    assert names({INDEXED_COLUMNS: "2"}, partition_columns=["A", "i"]) == ["m", "bi"]
    assert names({STATS_COLUMNS: "i,j"}, partition_columns=["i"]) == ["j"]


def test_asked_columns_go_before_properties_and_must_exist() -> None:
    assert names({INDEXED_COLUMNS: "1"}, columns=["k", "s.x"]) == ["s.x", "k"]
    refuses(PredicateError, "no data column nope", names, columns=["nope"])
    refuses(PredicateError, "no data column i ", names, columns=["i"], partition_columns=["i"])


@pytest.mark.parametrize("text", ["i,", "a..b", "`i", "i j", ","])
def test_a_property_that_is_no_list_is_refused(text: str) -> None:
    refuses(SchemaError, STATS_COLUMNS, names, {STATS_COLUMNS: text})
    with pytest.raises(SchemaError, match=r"dataSkippingNumIndexedCols is .many.; set it to an integer"):
        names({INDEXED_COLUMNS: "many"})


def test_strings_have_plain_bounds_under_every_collation() -> None:
    def collated(identifier: str) -> t.StructField:
        return t.StructField("s", t.STRING, True, {"__COLLATIONS": {"s": identifier}})

    for identifier in ("icu.UNICODE_CI", "spark.UTF8_BINARY", "what"):
        [column] = indexed_columns(t.StructType((collated(identifier),)))
        assert column.bounded
    [column] = indexed_columns(t.StructType((collated("icu.UNICODE_CI"),)))
    assert declared_collations([column]) == {"s": ["icu.UNICODE_CI.77.1"]}
    hints = {"ICU.unicode_ci": ["77.1", "1.0"], "icu.de": ["77.1"]}
    assert declared_collations([column], hints) == {"s": ["icu.UNICODE_CI.77.1"]}
    assert declared_collations([column], {}) == {}
    [odd] = indexed_columns(t.StructType((collated("what"),)))
    assert declared_collations([odd]) == {}
