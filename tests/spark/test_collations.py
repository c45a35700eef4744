"""Collations, against the Spark that is installed: names, lower case, keys, and types of columns."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from deltaskip.errors import InvalidCollation
from deltaskip.sparkexpr.collations.collation_id import CollationId, spark_collation, spark_name, spark_names
from deltaskip.sparkexpr.collations.lookup import find
from deltaskip.sparkexpr.collations.spark_order import SparkOrder, lowercase_map, lowercase_versions, spark_order
from deltaskip.sparkexpr.types.data_types import STRING, ArrayType, MapType, StructField, StructType
from tests.extent import extent

pytest.importorskip("pyspark")

from deltaskip.schema.spark_collations import unknown_collations
from deltaskip.spark.columns.spark_types import logical_type

pytestmark = pytest.mark.spark

NAMES = ["UTF8_BINARY", "UTF8_BINARY_RTRIM", "UTF8_LCASE", "UTF8_LCASE_RTRIM"]
HEADS = [
    "UTF8_BINARY", "UTF8_LCASE", "utf8_", "UTF8_LCAſE", "UNICODE", "de", "de_AUT", "deu", "sr_Cyrl", "zh_Hans", "ﬁ", "",
]  # fmt: skip
TAILS = ["_CI", "_CS", "_AI", "_AS", "_RTRIM", "_ci", "_TRIM", "_", "__", "_X", "CI", " "]
EDGES = b"Az \x80\xbf\xc0\xc2\xc4\xb0\xce\xcf\x82\xa3\xe0\xa0\xe1\xed\x9f\xf0\x90\x9f\xf4\x8f\xf5\xff"


@pytest.fixture(scope="module")
def factory(spark: Any) -> Any:
    """Spark's own CollationFactory; the test is skipped where this Spark has none."""
    if spark.version.startswith("3."):
        pytest.skip(f"Spark {spark.version} has no collations")
    return spark._jvm.org.apache.spark.sql.catalyst.util.CollationFactory


@pytest.fixture(scope="module")
def orders(factory: Any) -> dict[str, SparkOrder]:
    """Spark's own four orders, in the version of the Spark that runs."""
    version = value_of(factory.fetchCollation("UNICODE"), "version")
    if version not in lowercase_versions():
        pytest.skip(f"there is no lower-case table of ICU {version}")
    return {name: spark_order(CollationId.parse(f"spark.{name}.{version}")) for name in NAMES}


def value_of(collation: Any, name: str) -> Any:
    from py4j.java_gateway import get_field

    return get_field(collation, name)


def test_names_are_taken_and_normalised_as_spark_does(factory: Any) -> None:
    from py4j.protocol import Py4JJavaError

    chooser = random.Random(11)
    names = {"".join(parts) for parts in product(HEADS, ["", *TAILS])}
    more = extent(100, 300)
    names |= {chooser.choice(HEADS) + "".join(chooser.choices(TAILS, k=chooser.randint(2, 4))) for _ in range(more)}
    taken = 0
    for name in sorted(names):
        try:
            collation = factory.fetchCollation(name)
        except Py4JJavaError:
            with pytest.raises(InvalidCollation):
                spark_name(name)
            continue
        parsed = spark_name(name)
        assert parsed.normalized == value_of(collation, "collationName")
        assert parsed.provider == value_of(collation, "provider")
        taken += 1
    assert taken > 50


@pytest.mark.long
def test_every_collation_that_spark_lists_is_known(spark: Any, factory: Any) -> None:
    listed = {row.NAME for row in spark.sql("SELECT NAME FROM collations()").collect()}
    assert listed <= set(spark_names())


@pytest.mark.long
def test_every_code_point_is_lowered_as_spark_does(spark: Any, orders: dict[str, SparkOrder]) -> None:
    order = orders["UTF8_LCASE"]
    assert order.id.version is not None
    everything = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    text = spark._jvm.org.apache.spark.unsafe.types.UTF8String.fromString
    lower = spark._jvm.org.apache.spark.sql.catalyst.util.CollationAwareUTF8String.lowerCaseCodePoints
    for start in range(0, len(everything), 1 << 16):
        part = everything[start : start + (1 << 16)]
        assert order.key(part) == bytes(lower(text(part)).getBytes())
    assert len(lowercase_map(order.id.version)) > 1400


def test_keys_of_broken_bytes_compare_as_spark_s(spark: Any, factory: Any, orders: dict[str, SparkOrder]) -> None:
    chooser = random.Random(12)
    texts = [bytes(chooser.choices(EDGES, k=chooser.randint(1, 7))) for _ in range(300)]
    text = spark._jvm.org.apache.spark.unsafe.types.UTF8String.fromBytes
    theirs = [text(bytearray(t)) for t in texts]
    assert [bytes(t.makeValid().getBytes()) for t in theirs] == [t.decode("utf-8", "replace").encode() for t in texts]
    for name, order in orders.items():
        number = factory.collationNameToId(name)
        assert [bytes(factory.getCollationKeyBytes(t, number)) for t in theirs] == [order.key(t) for t in texts]
        comparator = value_of(factory.fetchCollation(number), "comparator")
        for i in range(0, len(texts), 2):
            sign = comparator.compare(theirs[i], theirs[i + 1])
            assert order.compare_values(texts[i], texts[i + 1]) == (sign > 0) - (sign < 0)


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("icu.UNICODE_CI", "string collate UNICODE_CI"),
        ("ICU.unicode_ai_ci", "string collate UNICODE_CI_AI"),
        ("spark.UNICODE", "string collate UNICODE"),
        ("icu.UNICODE_CI.77.1", "string collate UNICODE_CI"),
        ("Spark.utf8_lcase", "string collate UTF8_LCASE"),
        ("spark.UTF8_BINARY", "string"),
        ("icu.utf8_binary", "string"),
    ],
)
def test_columns_carry_the_collation_that_spark_calls_so(factory: Any, identifier: str, shown: str) -> None:
    field = StructField("a", STRING, True, {"__COLLATIONS": {"a": identifier}})
    assert logical_type(field).simpleString() == shown
    assert unknown_collations(StructType((field,)), True) == {}


UNKNOWN = ["foo.UNICODE", "foo.UTF8_BINARY", "icu.", "icu.NOPE", "icu.de@collation=phonebook", "icu.zh_TW"]


@pytest.mark.parametrize("identifier", UNKNOWN)
def test_a_string_whose_collation_spark_does_not_have_is_read_by_bytes(identifier: str) -> None:
    declared = {"__COLLATIONS": {"m.x.value.element": identifier}}
    field = StructField("m.x", MapType(STRING, ArrayType(STRING)), True, declared)
    assert logical_type(field).simpleString() == "map<string,array<string>>"
    inside = StructType((StructField("s", StructType((field,))),))
    assert unknown_collations(inside, True) == {"s.`m.x`.value.element": identifier}


@pytest.mark.spark
@pytest.mark.parametrize("identifier", ["ICU.en_US", "ICU.de_DE", "icu.root", "icu.fr-CA", "icu.de-u-ks-level2"])
def test_the_order_of_an_icu_locale_is_that_of_its_equal_in_spark(factory: Any, identifier: str) -> None:
    name = spark_collation(identifier)
    assert name is not None
    version = value_of(factory.fetchCollation(name), "version")
    order = find(f"{identifier}.{version}")
    if order is None:
        pytest.skip(f"there is no ICU {version} here")
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    text = session._jvm.org.apache.spark.unsafe.types.UTF8String.fromString
    number = factory.collationNameToId(name)
    for each in ("", "a", "B", "é", "E", "côte", "coté", "ä", "ae", "straße", "STRASSE", "Œuvre", "あ", "中", "ch"):
        assert bytes(factory.getCollationKeyBytes(text(each), number)).rstrip(b"\0") == order.key(each).rstrip(b"\0")
