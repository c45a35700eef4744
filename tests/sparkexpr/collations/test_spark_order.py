"""UTF8_BINARY and UTF8_LCASE, with and without RTRIM, against Spark's answers and over every Arrow layout."""

import pickle
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.errors import CollationUnavailable, InvalidArgumentType, InvalidCollation
from deltaskip.sparkexpr.collations.collation import Collation
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.collations.spark_order import SparkOrder, spark_order
from deltaskip.sparkexpr.kernels.key_column import KeyColumn
from tests.each import refuses
from tests.sparkexpr.collations.spark_vectors import vectors

NAMES = ["UTF8_BINARY", "UTF8_LCASE", "UTF8_BINARY_RTRIM", "UTF8_LCASE_RTRIM"]
TEXTS = st.text("aAzZ éÉßẞİiςΣ中𐐀\u0307", max_size=6)
STRINGS = [pa.string(), pa.large_string(), pa.string_view()]


def order_of(name: str, version: str = "77.1") -> SparkOrder:
    return spark_order(CollationId.parse(f"spark.{name}.{version}"))


def layouts(values: list[str | None]) -> list[pa.Array]:
    """The same values as every type of strings, sliced, and as a dictionary with an entry that no row has."""
    plain = [pa.array(["~", *values, "~"], type_)[1:-1] for type_ in STRINGS]
    return [*plain, pa.array(["~", *values]).dictionary_encode()[1:]]


def test_an_order_is_a_collation():
    order: Collation = order_of("UTF8_LCASE")
    assert (str(order.id), order.source, order.exact_keys) == ("spark.UTF8_LCASE.77.1", "built in", True)


@pytest.mark.parametrize("name", NAMES)
def test_an_order_travels_to_another_process(name):
    order = order_of(name)
    arrived = pickle.loads(pickle.dumps(order))
    assert (arrived.id, str(arrived.id), arrived.trim) == (order.id, str(order.id), order.trim)
    assert arrived.key("ÉA ") == order.key("ÉA ")


@pytest.mark.parametrize("name", NAMES)
def test_pairs_compare_as_in_spark(name):
    order, pairs = order_of(name), vectors("utf8_lcase_compare.jsonl")
    assert len(pairs) >= 400
    values = pa.array([bytes.fromhex(row["a_hex"]) for row in pairs])
    keys = order.sort_keys(values).to_pylist()
    for row, key in zip(pairs, keys, strict=True):
        a, b = bytes.fromhex(row["a_hex"]), bytes.fromhex(row["b_hex"])
        assert order.compare_values(a, b) == row[name], row
        assert order.compare(pa.array([a]), b).to_pylist() == [row[name]], row
        assert (key > order.key(b)) - (key < order.key(b)) == row[name], row
        least, greatest = order.min_max(pa.array([a, b]))
        assert (least, greatest) in {-1: [(a, b)], 0: [(a, a), (a, b), (b, a), (b, b)], 1: [(b, a)]}[row[name]], row


@pytest.mark.parametrize("name", NAMES)
def test_the_vectors_are_ranked_as_in_spark(name):
    strings = {row["id"]: bytes.fromhex(row["utf8_hex"]) for row in vectors("strings.jsonl")}
    order = order_of(name)
    ranked = [row for row in vectors(f"order/spark_4.1.4_icu4j_77.1.{name}.jsonl") if row["id"] in strings]
    assert len(ranked) > 300
    keys = order.sort_keys(pa.array([strings[row["id"]] for row in ranked], pa.binary())).to_pylist()
    assert [key.hex() for key in keys] == [row["key_hex"] for row in ranked]
    by_key = sorted(zip(keys, (row["rank"] for row in ranked), strict=True))
    for (key_a, rank_a), (key_b, rank_b) in pairwise(by_key):
        assert (key_a < key_b) == (rank_a < rank_b)


@pytest.mark.parametrize("name", NAMES)
def test_predicates_on_pairs_are_spark_s(name):
    order, answered = order_of(name), 0
    for row in vectors("predicates_spark.jsonl"):
        if name not in row["r"]:
            continue
        a, b = bytes.fromhex(row["a_hex"]), bytes.fromhex(row["b_hex"])
        expected = row["r"][name]
        sign, above = order.compare_values(a, b), order.compare_values(a, b"zz")
        answers = {
            "=": sign == 0,
            "<": sign < 0,
            "<=": sign <= 0,
            "<=>": sign == 0,
            "in(b,'zz')": sign == 0 or above == 0,
            "between b and 'zz'": sign >= 0 and above <= 0,
        }
        assert {key: expected[key] for key in answers} == answers, row["id"]
        begins = order.prefix_key(b)
        assert not expected["startswith"] or begins is None or order.key(a).startswith(begins), row["id"]
        answered += 1
    assert answered >= 200


@given(st.sampled_from(NAMES), st.lists(TEXTS | st.none(), max_size=8), TEXTS)
def test_every_layout_gives_the_same(name, values, literal):
    order = order_of(name)
    keys = [None if v is None else order.key(v) for v in values]
    other = order.key(literal)
    present = [key for key in keys if key is not None]
    for array in layouts(values):
        assert order.sort_keys(array).to_pylist() == keys
        compared = order.compare(array, literal)
        assert compared.type == pa.int8()
        assert compared.to_pylist() == [None if k is None else (k > other) - (k < other) for k in keys]
        least, greatest = order.min_max(array)
        assert {least, greatest} <= ({None} if not present else {v for v in values if v is not None})
        if present:
            assert (order.key(least), order.key(greatest)) == (min(present), max(present))


@given(st.sampled_from(NAMES), st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=6), TEXTS, st.booleans())
def test_a_file_with_a_value_that_starts_so_is_never_dropped(name, files, prefix, cached):
    order = order_of(name)
    bounds = [(min(texts, key=order.key), max(texts, key=order.key)) for texts in files]
    mins, maxs = (pa.array([bound[i] for bound in bounds], pa.string()) for i in (0, 1))
    given_ = [KeyColumn(order.sort_keys(array)) if cached else array for array in (mins, maxs)]
    lane = order.may_start_with(given_[0], given_[1], prefix)
    assert len(lane) == len(files)
    for texts, low_high, kept in zip(files, bounds, bytes(lane), strict=True):
        begins = order.key(prefix)
        if any(order.key(text).startswith(begins) for text in texts):
            assert kept
        low, high = map(order.key, low_high)
        assert bool(kept) == (high >= begins and low[: len(begins)] <= begins)


def test_a_missing_bound_and_an_empty_prefix_keep():
    order = order_of("UTF8_LCASE_RTRIM")
    nothing, one = pa.nulls(1, pa.string()), pa.array(["b"])
    for mins, maxs, prefix in [(nothing, one, "a"), (one, nothing, "c"), (one, one, ""), (one, one, "  ")]:
        assert bytes(order.may_start_with(mins, maxs, prefix)) == b"\x01"
    assert bytes(order.may_start_with(one, one, "A")) == bytes(order.may_start_with(one, one, "c")) == b"\x00"


def test_every_value_is_trusted():
    order = order_of("UTF8_LCASE")
    assert order.trusts("ß")
    assert order.trusts_each(pa.array(["ß", None])).to_pylist() == [True, True]


@given(st.sampled_from(NAMES), TEXTS, TEXTS, TEXTS)
def test_an_order_is_total_and_agrees_with_its_keys(name, a, b, c):
    order = order_of(name)
    assert order.compare_values(a, b) == -order.compare_values(b, a)
    assert order.compare_values(a, b) == order.compare_values(a.encode(), b.encode())
    if order.compare_values(a, b) <= 0 and order.compare_values(b, c) <= 0:
        assert order.compare_values(a, c) <= 0
    assert order.compare_values(a, a + " ") == (0 if order.trim else -1)
    assert order.compare_values(a, a + "\t") == -1 or (order.trim and a.endswith(" "))


def test_binary_order_leaves_broken_bytes_as_they_are_and_lower_case_replaces_them():
    assert order_of("UTF8_BINARY").compare_values(b"\xff", b"\xfe") == 1
    assert order_of("UTF8_LCASE").compare_values(b"\xff", b"\xfe") == 0
    assert order_of("UTF8_LCASE").key(b"\xed\xa0\x80") == "\ufffd".encode() * 3


def test_extremes_are_given_as_the_array_s_type_gives_them():
    order = order_of("UTF8_LCASE")
    assert order.min_max(pa.array(["b", "A"])) == ("A", "b")
    assert order.min_max(pa.array([b"b", b"A"], pa.large_binary())) == (b"A", b"b")
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"b", b"\xff"]).buffers())
    assert order.min_max(broken) == ("b", b"\xff")
    assert order.min_max(pa.array([None, None], pa.string())) == (None, None)
    assert order.min_max(pa.array([], pa.string_view())) == (None, None)


def test_the_version_decides_what_is_one_letter():
    old, new = order_of("UTF8_LCASE", "75.1"), order_of("UTF8_LCASE", "77.1")
    assert (old.compare_values("\ua7cb", "\u0264"), new.compare_values("\ua7cb", "\u0264")) == (1, 0)


@pytest.mark.parametrize("text", ["spark.UTF8_BINARY.1.2.3", "icu.utf8_binary_rtrim.x"])
def test_binary_order_is_there_in_every_version(text):
    assert spark_order(CollationId.parse(text)).compare_values("a", "b") == -1


@pytest.mark.parametrize("text", ["spark.UTF8_LCASE.99.1", "spark.utf8_lcase_rtrim.77.1.0.0", "spark.UTF8_LCASE.77"])
def test_a_version_that_is_not_here_is_an_error_that_names_it(text):
    refuses(CollationUnavailable, f"^{text} cannot be evaluated.*77.1", lambda: spark_order(CollationId.parse(text)))


@pytest.mark.parametrize("text", ["icu.UNICODE.77.1", "spark.UTF8_LCASE", "spark.NOPE.77.1", "spark.UTF8_LCASE_CI.1"])
def test_what_is_no_versioned_name_of_spark_s_own_is_an_error(text):
    refuses(InvalidCollation, None, lambda: spark_order(CollationId.parse(text)))


@pytest.mark.parametrize("array", [pa.array([1]), pa.array([[b"a"]])])
def test_arrays_of_other_types_are_refused(array):
    for call in (order_of("UTF8_LCASE").sort_keys, order_of("UTF8_BINARY").min_max):
        refuses(InvalidArgumentType, "must be an Arrow array of strings or binary", call, array)
