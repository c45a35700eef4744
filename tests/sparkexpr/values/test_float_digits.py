"""Casts and rounding by column give the values of casts and rounding one by one, or leave them over."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.sparkexpr import types as types
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.nodes import Call, FieldRef, Literal
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values.arrow_values import domain_values, typed_array
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.column_casts import cast_column
from deltaskip.sparkexpr.values.floats import to_float
from deltaskip.sparkexpr.values.vectors import NotByColumn, Partly, constant_of
from tests.extent import extent

PRICE, WIDE = types.DecimalType(20, 2), types.DecimalType(38, 10)
SHORT = st.tuples(st.integers(-(10**9), 10**9), st.sampled_from([1, 2, 8, 10, 100, 1000, 2000, 10**6])).map(
    lambda pair: pair[0] / pair[1]
)
DOUBLES = st.one_of(SHORT, st.floats(), st.floats(-1000, 1000))
DECIMALS = st.tuples(st.integers(-(10**27), 10**27), st.integers(0, 26)).map(lambda pair: pair[0] // 10 ** pair[1])
DIGITS = st.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{0,12})?", fullmatch=True)
DAYS = st.from_regex(r"20[0-9][0-9]-(0[1-9]|1[0-2])-[0-3][0-9]([ T][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,7})?)?")
TEXTS = st.one_of(DIGITS, DAYS, st.sampled_from(["true", "Y", "F", "no", "NaN", "-0", "1e5", "", " 7", "x"]), st.text())
VALUES: dict[types.DataType, st.SearchStrategy[Any]] = {
    types.DOUBLE: DOUBLES,
    types.FLOAT: DOUBLES.map(to_float),
    WIDE: DECIMALS.map(lambda units: Decimal(units).scaleb(-10)),
    PRICE: st.integers(-(10**12), 10**12).map(lambda units: Decimal(units).scaleb(-2)),
    types.STRING: TEXTS,
    types.TIMESTAMP: st.integers(-(10**14), 4 * 10**15),
}
NUMBERS = (
    types.BYTE,
    types.INTEGER,
    types.LONG,
    types.FLOAT,
    types.DOUBLE,
    types.BOOLEAN,
    types.STRING,
    PRICE,
    types.DecimalType(10, 4),
    types.DecimalType(38, 20),
)
TARGETS: dict[types.DataType, tuple[types.DataType, ...]] = {
    **dict.fromkeys((types.DOUBLE, types.FLOAT, WIDE, PRICE), NUMBERS),
    types.STRING: (*NUMBERS, types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ),
    types.TIMESTAMP: (types.LONG, types.FLOAT, types.DOUBLE, PRICE, types.DecimalType(20, 6)),
}


@pytest.mark.parametrize(("source", "target"), [(s, t) for s, targets in TARGETS.items() for t in targets if s != t])
@settings(max_examples=extent(20, 60), deadline=None)
@given(st.data())
@pytest.mark.long(gate=16)
def test_casts_by_column_are_those_of_rows(source: types.DataType, target: types.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), VALUES[source]), max_size=12))
    zone = zone_of(data.draw(st.sampled_from(["UTC", "Europe/Berlin"])))
    array = typed_array([None, *values], arrow_type(source)).slice(1)
    try:
        found = cast_column(array, source, target, zone)
    except (NotByColumn, pa.ArrowException):
        return
    assert found.values.type == arrow_type(target)
    for at, result in enumerate(domain_values(found.values)):
        if found.rest is not None and found.rest[at]:
            continue
        value = domain_values(array.slice(at, 1))[0]
        try:
            wanted = cast_value(value, source, target, zone)
        except Undecided as error:
            raise AssertionError(f"{value!r} is undecided") from error
        except EvaluationError:
            assert found.failed is not None and found.failed[at], value
            continue
        assert found.failed is None or not found.failed[at] or value is None, value
        assert repr(result) == repr(wanted), value


@pytest.mark.parametrize("name", ["round", "bround"])
@pytest.mark.parametrize("type_", [types.DOUBLE, types.FLOAT, types.LONG, WIDE])
@settings(max_examples=extent(30, 100), deadline=None)
@given(st.data())
def test_numbers_rounded_by_column_are_those_of_rows(name: str, type_: types.DataType, data: st.DataObject) -> None:
    drawn = st.integers(-(2**63), 2**63 - 1) if type_ == types.LONG else VALUES[type_]
    values = data.draw(st.lists(st.one_of(st.none(), drawn), max_size=12))
    scale = data.draw(st.integers(-21, 21))
    typed = FUNCTIONS[name].signature((FieldRef(("c",), ("c",), type_), Literal(scale, types.INTEGER)))
    assert typed is not None
    call = Call(name, *typed)
    array, zone = typed_array([None, *values], arrow_type(type_)).slice(1), zone_of("UTC")
    by_column = FUNCTIONS[name].by_column
    assert by_column is not None
    wanted: list[object] = []
    for value in domain_values(array):
        try:
            wanted.append(None if value is None else FUNCTIONS[name].compute((value, scale), call, zone))
        except EvaluationError as error:
            wanted.append(error)
    try:
        found = by_column((array, constant_of(scale, pa.int32())), call, zone)
    except NotByColumn:
        return
    except EvaluationError:
        assert any(isinstance(each, EvaluationError) for each in wanted)
        return
    rest = found.rest if isinstance(found, Partly) else [False] * len(array)
    results = domain_values(found.values if isinstance(found, Partly) else found)
    for value, result, left, expected in zip(domain_values(array), results, rest, wanted, strict=True):
        assert left or repr(result) == repr(expected), value
