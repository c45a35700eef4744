"""Functions of a column: which files each prunes, and that no value with a wanted result is outside a preimage."""

import random
from collections import Counter
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import deltaskip as ds
from deltaskip.errors import PredicateError
from deltaskip.skipping.proofs.preimage.preimage import preimage
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet, holds, satisfying
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr import types as types
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import Call, Column, FieldRef, Literal, Node
from deltaskip.sparkexpr.preimages.ordinals import domain_of, ordinal_of
from deltaskip.sparkexpr.preimages.text_steps import ASCII_IN_ANOTHER_CASE
from tests.builder import TableBuilder, add, bounds
from tests.cases import cases
from tests.extent import extent
from tests.looped import looped
from tests.skipping.random_predicates import random_function
from tests.skipping.random_tables import TYPES, random_value

SCHEMA = types.StructType(
    (
        types.StructField("i", types.INTEGER),
        types.StructField("t", types.TIMESTAMP),
        types.StructField("l", types.TIMESTAMP_NTZ),
        types.StructField("d", types.DATE),
        types.StructField("k", types.STRING),
        types.StructField("x", types.DOUBLE),
        types.StructField("m", types.DecimalType(10, 2)),
        types.StructField(
            "n", types.StructType((types.StructField("a", types.INTEGER), types.StructField("t", types.TIMESTAMP)))
        ),
    )
)


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    """Five files, 0 to 4, each with a range of its own in every column; year 2020 + file in the times."""
    path = tmp_path_factory.mktemp("five") / "t"
    builder = TableBuilder(path, SCHEMA)
    for f in range(5):
        year, i = f"202{f}", (f * 10, f * 10 + 9)
        t = (f"{year}-01-05T00:00:00.000Z", f"{year}-11-30T23:00:00.000Z")
        stats = bounds(
            10,
            i=i,
            t=t,
            l=(t[0][:-1], t[1][:-1]),
            d=(f"{year}-01-05", f"{year}-02-20"),
            k=(f"k{f}0", f"k{f}9"),
            x=(f * 1.5, f * 1.5 + 1),
            m=(f * 10.25, f * 10.25 + 5),
        )
        for group, position in (("minValues", 0), ("maxValues", 1)):
            stats[group]["n"] = {"a": i[position], "t": t[position]}
        stats["nullCount"]["n"] = {"a": 0, "t": 0}
        builder.commit(add(str(f), stats))
    return ds.DeltaTable(path)


@looped("where, files", cases(__file__, "pruned_functions.txt"))
def test_a_function_of_a_column_prunes(five: ds.DeltaTable, where: str, files: str) -> None:
    assert "".join(five.scan(where=where).files()["path"].to_pylist()) == files


@looped("zone", ["America/New_York", "Asia/Kolkata", "+05:30", "Pacific/Apia"])
@looped("where", ["year(t) = 2023", "to_date(t) = DATE'2023-05-05'", "hour(t) = 5 AND t < '2020-02-02'"])
def test_zones_with_clock_changes_prune_too(five: ds.DeltaTable, zone: str, where: str) -> None:
    assert five.scan(where=where, time_zone=zone).files().num_rows == 1


@settings(max_examples=extent(50, 600), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 48))
@example(5_628_764_779_447)
def test_a_value_with_a_wanted_result_is_in_the_preimage(seed: int) -> None:
    _preimages_of_random_results(seed)


@pytest.mark.long
def test_most_preimages_are_known_and_narrower_than_the_type() -> None:
    """A preimage that is unknown, or all of its type, passes the property and prunes nothing. The sample is fixed."""
    found = Counter(outcome for seed in range(1000) for outcome in _preimages_of_random_results(seed))
    asked = Counter[types.DataType]()
    for (type_, _), count in found.items():
        asked[type_] += count
    narrow = {type_: found[type_, "narrow"] / count for type_, count in asked.items() if domain_of(type_) is not None}
    known = 1 - sum(count for (_, outcome), count in found.items() if outcome == "unknown") / asked.total()
    assert len(narrow) == len(TYPES) - 1
    assert known > 0.6
    assert sum(count for (_, outcome), count in found.items() if outcome == "narrow") > 0.55 * asked.total()
    assert {type_: share for type_, share in narrow.items() if share < (0.25 if type_ == types.STRING else 0.4)} == {}


def _preimages_of_random_results(seed: int) -> list[tuple[types.DataType, str]]:
    """Check the preimages of random comparisons: for each, the column's type, and unknown, whole (type) or narrow."""
    rng = random.Random(seed)
    type_, zone = rng.choice(TYPES), rng.choice(["UTC", "America/New_York", "+05:30"])
    schema = types.StructType((types.StructField("c", type_),))
    values = [random_value(rng, type_) for _ in range(8)]
    node: Node = Column(("c",))
    for _ in range(rng.randint(1, 3)):
        try:
            inner = type_of(bind_expression(node, schema, (), "none", zone)) or type_
            wrapped = random_function(rng, node, inner, partial(_constant, rng, inner))
            if type_of(bind_expression(wrapped, schema, (), "none", zone)) is not None:
                node = wrapped
        except PredicateError:
            continue
    bound = bind_expression(node, schema, (), "none", zone)
    result = type_of(bound)
    assert result is not None
    results = [(value, value_of(bound, value, zone)) for value in [*values, None]]
    outcomes = []
    for _, wanted in results:
        op = rng.choice(["=", "!=", "<", "<=", ">", ">="])
        target = None if wanted is None else satisfying(result, op, wanted)
        if target is None:
            continue
        found = preimage(bound, target, zone)
        domain = domain_of(type_)
        whole = found is not None and domain is not None and found[1].spans == domain.all and not found[1].cycles
        outcomes.append((type_, "unknown" if found is None else "whole" if whole else "narrow"))
        for value, given_ in results if found is not None else ():
            if given_ is not None and holds(target, ordinal_of(result, given_)):
                inside = found[1].null if value is None else holds(found[1], ordinal_of(type_, value))
                assert inside, f"seed {seed}: {bound} of {value!r} is {given_!r} {op} {wanted!r} in {zone}"
    return outcomes


def _constant(rng: random.Random, type_: types.DataType) -> Literal:
    return Literal(random_value(rng, type_), type_)


def value_of(node: Node, value: Any, zone: str) -> Any:
    try:
        return evaluate(node, {("c",): value}, zone)
    except EvaluationError:
        return None


def test_text_that_no_parser_of_ours_reads_keeps_every_file(five: ds.DeltaTable) -> None:
    assert five.scan(where="my_function(i) = 3").files().num_rows == 5
    assert five.scan(where="i + rand() > 100").files().num_rows == 5


def test_long_lists_under_a_function_are_probed_value_by_value(five: ds.DeltaTable) -> None:
    many = ", ".join(str(value) for value in [*range(1000, 1100, 3), 42])
    assert five.scan(where=f"i + 1 IN ({many})").files()["path"].to_pylist() == ["4"]
    assert five.scan(where=f"i * 3 IN ({many})").files()["path"].to_pylist() == ["1"]


def test_two_long_lists_are_not_taken_for_one(five: ds.DeltaTable) -> None:
    first, second = (", ".join(str(base + n) for n in range(0, 40, 2)) for base in (2, 1001))
    where = f"i IN ({second}) OR i IN ({first})"
    assert five.scan(where=where).files()["path"].to_pylist() == ["0", "1", "2", "3", "4"]


def test_a_preimage_is_of_the_column_itself() -> None:
    bound = bind_expression(parse_sql("i + 1"), SCHEMA)
    target = satisfying(types.INTEGER, "=", 25)
    assert target is not None
    found = preimage(bound, target, "UTC")
    assert found is not None and isinstance(found[0], FieldRef)
    assert found[1].spans == ((24, 25),)
    assert preimage(Literal(1, types.INTEGER), target, "UTC") is None


def test_the_characters_that_become_ascii_in_another_case_are_those_of_icu() -> None:
    icu = pytest.importorskip("icu")
    root = icu.Locale.getRoot()

    beyond = [chr(code) for code in range(128, 0x110000) if not 0xD800 <= code < 0xE000]
    # A text that is longer takes ICU longer for each character.
    parts = [beyond[first : first + 500] for first in range(0, len(beyond), 500)]
    found = set()
    for characters in parts:
        texts = (icu.UnicodeString("\0".join(characters)) for _ in range(2))
        cased = [str(change(root)).split("\0") for change in (next(texts).toUpper, next(texts).toLower)]
        found |= {each for each, *of in zip(characters, *cased, strict=True) if any(ord(text[0]) < 128 for text in of)}
    assert found == set(ASCII_IN_ANOTHER_CASE)


@pytest.mark.parametrize(("name", "rounding"), [("round", ROUND_HALF_UP), ("bround", ROUND_HALF_EVEN)])
def test_preimages_of_rounded_doubles_hold_values_whose_text_depends_on_java(name: str, rounding: str) -> None:
    maker = random.Random(7)
    values = [9.2e18, 2.0**63, 1e19, -3.1122828660259794e18, 5e18, 1e300, 2e14 + 0.5, 2.0e-3, 5e-324, 1.7e308, 123456.0]
    values += [maker.choice((-1, 1)) * maker.random() * 10.0 ** maker.randint(-25, 25) for _ in range(extent(60, 200))]
    for value in values:
        for places in (-300, -20, -3, -1, 0, 1, 5, 20):
            text = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), rounding, Context(prec=1000))
            result = ordinal_of(types.DOUBLE, float(text) + 0.0)
            node = Call(name, (FieldRef(("x",), ("x",), types.DOUBLE), Literal(places, types.INTEGER)), types.DOUBLE)
            found = preimage(node, ValueSet(((result, result + 1),)), "UTC")
            assert found is not None
            assert holds(found[1], ordinal_of(types.DOUBLE, value)), (value, places)


def test_huge_rounded_doubles_are_not_skipped(tmp_path: Path) -> None:
    values = [-3.1122828660259794e18, 1e19, 1e300, float("inf"), float("nan"), 9.2e18, 2.0**63, 5e18, 1.0]
    table = ds.DeltaTable.create(tmp_path / "t", "x DOUBLE")
    for value in values:
        table.append([{"x": value}])
    assert len(table.scan("round(x, -3) >= 1000").files()) == 7
    assert len(table.scan("bround(x, -3) >= 1e19D").files()) == 4
    assert table.scan("round(x, -3) = 1e300D").to_arrow()["x"].to_pylist() == [1e300]
