"""Partition values read by column against the reading of one text."""

import datetime
import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.actions import PartitionValueError, TimestampRange, parse_partition_value
from deltaskip.skipping.partition_columns import PartitionColumn, equal_values
from deltaskip.sparkexpr.types.data_types import BINARY, DOUBLE, FLOAT, STRING, DataType, StructField
from deltaskip.sparkexpr.values.arrow_values import domain_values
from tests.each import each
from tests.extent import extent, some
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.hostile import VALUES

_SOME = [
    *EDGES[STRING],
    *(text for text in VALUES[STRING] if len(text) < 10_000),
    "0000-01-01", "0001-01-01", "2023-02-29", "2024-02-29", "1582-10-10", "9999-12-31", "2024-03-31 02:30:00",
    "2024-10-27 02:30:00.5", "2024-10-27T02:30:00Z", "2024-10-27T02:30:00.123456Z", "0001-01-01 00:00:00",
    "2024-01-01 24:00:00", "2024-01-01 23:59:60", "127", "-128", "999999999999999999", "1234567890123.25", "0.1",
    "-0.0", "-0", "16777217", "0.30000000000000004", "123456789012345.123456789012345", "true", "false", "TRUE",
]  # fmt: skip
_TEXTS = st.one_of(
    st.sampled_from(_SOME),
    st.integers(-(2**65), 2**65).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda value: f"{value:f}"),
    st.dates().map(str),
    st.datetimes().map(str),
    st.datetimes(datetime.datetime(1890, 1, 1)).map(lambda value: value.isoformat() + "Z"),
    st.from_regex(r"-?[0-9]{1,16}\.[0-9]{1,16}", fullmatch=True),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,7})?)?", fullmatch=True),
    st.none(),
)


_ZONES = [None, "UTC", "Europe/Berlin"]


@settings(max_examples=extent(10, 200))
@given(st.lists(st.lists(_TEXTS, max_size=5), min_size=1, max_size=3))
def test_texts_read_by_column_have_the_values_of_texts_read_alone(parts: list[list[str | None]]) -> None:
    each(itertools.product(EDGES, _ZONES), lambda case: check(parts, *case), lambda case: f"{case[0]} in {case[1]}")


def check(parts: list[list[str | None]], type_: DataType, zone: str | None) -> None:
    column = PartitionColumn(type_)
    for part in parts:
        column.texts += part
        found = column.values(zone)
    wanted = [alone(text, type_, zone) for text in column.texts]
    assert list(map(shown, found)) == list(map(shown, wanted))
    # As `readings`: the empty string may be NULL, and writers escape bytes differently.
    odd = [text == "" if type_ == STRING else type_ == BINARY and text is not None for text in column.texts]
    odd = [known or isinstance(v, PartitionValueError | TimestampRange) for known, v in zip(odd, wanted, strict=True)]
    assert column.read(zone).odd.tolist() == odd
    certain = [
        value
        for value, is_odd in zip(
            domain_values(equal_values(column.read(zone).array, StructField("p", type_))), odd, strict=True
        )
        if not is_odd
    ]
    if type_ not in (FLOAT, DOUBLE):
        assert certain == [value for value, is_odd in zip(wanted, odd, strict=True) if not is_odd]


def test_edges_of_every_type_read_by_column() -> None:
    texts = some(_SOME, 40)
    for type_ in EDGES:
        for zone in (None, "UTC", "America/Los_Angeles"):
            column = PartitionColumn(type_)
            for text in texts:
                column.texts.append(text)
                assert shown(column.values(zone)[-1]) == shown(alone(text, type_, zone)), (text, type_)
            together = PartitionColumn(type_)
            together.texts += texts
            assert list(map(shown, together.values(zone))) == list(map(shown, column.values(zone)))


def alone(text: str | None, type_: DataType, zone: str | None) -> Any:
    try:
        return parse_partition_value(text, type_, zone)
    except PartitionValueError as error:
        return error


def shown(value: Any) -> str:
    return repr(value) if not isinstance(value, PartitionValueError) else str(value)
