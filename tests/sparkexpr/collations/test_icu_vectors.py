"""ICU's orders beside Spark's own: keys byte for byte, comparisons of every pair, predicates."""

from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr.collations.spark_data import IcuCollation
from tests.looped import looped
from tests.sparkexpr.collations.icu_vectors import collation_of, icu, order_files, rows, strings

SPARK = "77.1"
SPARK_FILES = [path for path in order_files("spark_*.jsonl") if not (isinstance(path, str) and ".UTF8_" in path)]


def _column(file: str) -> tuple[pa.Array, list[int], list[str]]:
    """The strings of an order file in its order, their ranks, and their keys in hexadecimal."""
    texts = strings()
    found = rows(f"order/{file}")
    column = pa.array([texts[row["id"]] for row in found], pa.binary())
    return column, [row["rank"] for row in found], [row["key_hex"].lower() for row in found]


def _keys(order: IcuCollation, column: pa.Array) -> list[str]:
    return [key.hex() for key in order.sort_keys(column).to_pylist()]


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


@looped("file", SPARK_FILES)
def test_keys_are_those_of_spark_byte_for_byte(file: str) -> None:
    column, _, expected = _column(file)
    assert len(expected) > 300
    assert _keys(icu(collation_of(file), SPARK), column) == expected


@looped("file", SPARK_FILES)
def test_every_pair_compares_as_in_spark_where_the_strings_are_trusted(file: str) -> None:
    order = icu(collation_of(file), SPARK)
    column, ranks, _ = _column(file)
    trusted = order.trusts_each(column).to_pylist()
    assert all(trusted) == order.exact_keys
    for text, rank, sure in zip(column.to_pylist(), ranks, trusted, strict=True):
        assert order.trusts(text) == sure
        if not sure:
            continue
        signs = order.compare(column, text).to_pylist()
        wrong = [
            other
            for other, sign, known, other_rank in zip(column.to_pylist(), signs, trusted, ranks, strict=True)
            if known and sign != _sign(other_rank - rank)
        ]
        assert not wrong, (text, wrong)


def test_untrusted_strings_are_indeed_ordered_otherwise_by_spark() -> None:
    """Else the rule would be kept for nothing."""
    order = icu("UNICODE_AI", SPARK)
    column, ranks, _ = _column("spark_4.1.4_icu4j_77.1.UNICODE_AI.jsonl")
    by_text = dict(zip(column.to_pylist(), ranks, strict=True))
    differ = [(a, b) for a in by_text for b in by_text if order.compare_values(a, b) != _sign(by_text[a] - by_text[b])]
    assert differ
    assert all(not order.trusts(a) or not order.trusts(b) for a, b in differ)


@looped("file", [*order_files("icu4c_72.1.*.jsonl"), *order_files("icu4c_78.3.*.jsonl")])
def test_keys_of_other_versions_are_those_of_their_libraries(file: str) -> None:
    version = file.removeprefix("icu4c_").removesuffix(f".{collation_of(file)}.jsonl")
    order = icu(collation_of(file), version)
    column, ranks, expected = _column(file)
    assert _keys(order, column) == expected
    for text, rank in zip(column.to_pylist(), ranks, strict=True):
        assert order.compare(column, text).to_pylist() == [_sign(other - rank) for other in ranks]


@pytest.mark.parametrize("version", ["72.1", "77.1", "78.3"])
def test_versions_differ_where_the_vectors_say_so(version: str) -> None:
    checked = 0
    for row in rows("version_differences.jsonl"):
        if version not in row["sign"]:
            continue
        order = icu(row["collation"], version)
        a, b = bytes.fromhex(row["a_hex"]), bytes.fromhex(row["b_hex"])
        assert order.compare_values(a, b) == row["sign"][version], row
        assert _sign((order.key(a) > order.key(b)) - (order.key(a) < order.key(b))) == row["sign"][version], row
        checked += 1
    assert checked > 100


def test_a_file_is_lost_where_another_version_trusts_its_bounds() -> None:
    """Why a version must be exact: min and max of one version are not in order under another."""
    old, new = icu("UNICODE", "72.1"), icu("UNICODE", "78.3")
    values = pa.array(["锑傍辒僢賊瑊爽凂", "錣鷚避"])
    least, greatest = old.min_max(values)
    assert least is not None and greatest is not None
    assert old.compare_values(least, greatest) < 0 < new.compare_values(least, greatest)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_bytes_that_are_not_utf8_count_as_replacement_characters(kind: pa.DataType) -> None:
    order = icu("UNICODE", SPARK)
    found = rows("invalid_utf8.jsonl")
    damaged = pa.array([bytes.fromhex(row["bytes_hex"]) for row in found], kind)
    assert _keys(order, damaged) == [row["unicode_key_hex_77.1"] for row in found]
    for row in found:
        text, valid = bytes.fromhex(row["bytes_hex"]), bytes.fromhex(row["make_valid_hex"])
        assert order.compare_values(text, valid) == 0
        assert order.key(text) == order.key(valid)


def _predicates(order: IcuCollation, a: bytes, b: bytes) -> dict[str, bool]:
    sign, end = order.compare_values(a, b), order.compare_values(a, "zz")
    return {
        "=": sign == 0,
        "<": sign < 0,
        "<=": sign <= 0,
        "<=>": sign == 0,
        "in(b,'zz')": sign == 0 or end == 0,
        "between b and 'zz'": sign >= 0 >= end,
    }


ICU_NAMES = (
    "UNICODE", "UNICODE_CI", "UNICODE_AI", "UNICODE_CI_AI", "UNICODE_RTRIM", "UNICODE_CI_AI_RTRIM", "de_CI_AI", "sv",
    "cs", "es", "tr_CI", "hu", "th", "ja", "zh",
)  # fmt: skip


def _pairs(name: str) -> list[tuple[bytes, bytes, dict[str, Any]]]:
    return [
        (bytes.fromhex(row["a_hex"]), bytes.fromhex(row["b_hex"]), row["r"][name])
        for row in rows("predicates_spark.jsonl")
    ]


@looped("name", ICU_NAMES)
def test_predicates_have_the_results_that_spark_gives(name: str) -> None:
    order = icu(name, SPARK)
    checked = 0
    for a, b, expected in _pairs(name):
        if not (order.trusts(a) and order.trusts(b)):
            continue
        found = _predicates(order, a, b)
        assert found == {op: expected[op] for op in found}, (a, b)
        checked += 1
    assert checked > 200


@looped("name", ICU_NAMES)
def test_no_value_that_starts_with_a_prefix_is_lost(name: str) -> None:
    order = icu(name, SPARK)
    pairs = _pairs(name)
    dropped = 0
    for a, b, expected in pairs:
        column = pa.array([a], pa.binary())
        kept = order.may_start_with(column, column, b).count()
        assert kept or not expected["startswith"], (a, b)
        dropped += not kept
    # Spark refuses startswith without accents but with case, and its search has defects in Thai.
    assert (dropped > 0) == (name not in ("th", "UNICODE_AI"))
