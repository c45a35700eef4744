"""Statistics of some columns put into older ones, and whether anything is missing."""

import json

import pytest

from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, STRING, DataType, DecimalType, StructField, StructType
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.file_facts import StatisticsRequest
from deltaskip.stats.merged_stats import has_statistics, merged_stats, widened_stats
from deltaskip.stats.stats_columns import indexed_columns

SCHEMA = StructType(
    (
        StructField("a", DecimalType(38, 2)),
        StructField("s", StructType((StructField("x", STRING), StructField("y", STRING)))),
    )
)
CI = "icu.UNICODE_CI.77.1"
WHOLE = (
    '{"numRecords":2,"minValues":{"a":123456789012345678901234567890.10,"s":{"x":"p","y":"q"}},'
    '"maxValues":{"a":1E-7,"s":{"x":"p","y":"é\\n"}},"nullCount":{"a":0,"s":{"x":0,"y":1}}}'
)


def request(columns: list[str] | None, collated: bool = False) -> StatisticsRequest:
    chosen = indexed_columns(SCHEMA, columns=columns)
    return statistics_request(chosen, {"s.x": [CI]} if collated else ())


def test_recomputed_columns_replace_and_others_keep_every_digit() -> None:
    new = '{"numRecords":2,"minValues":{"s":{"x":"b"}},"maxValues":{"s":{}},"nullCount":{"s":{"x":2}}}'
    assert merged_stats(WHOLE, new, request(["s.x"])) == (
        '{"numRecords":2,"minValues":{"a":123456789012345678901234567890.10,"s":{"y":"q","x":"b"}},'
        '"maxValues":{"a":1E-7,"s":{"y":"é\\n"}},"nullCount":{"a":0,"s":{"y":1,"x":2}}}'
    )


@pytest.mark.parametrize("old", [None, "", "{}", "null", "[1]", "{broken"])
def test_without_older_statistics_the_new_ones_are_all(old: str | None) -> None:
    assert merged_stats(old, WHOLE, request(None)) == WHOLE


def test_bounds_that_were_not_tight_stay_so_while_any_is_kept() -> None:
    wide = WHOLE[:-1] + ',"tightBounds":false}'
    part = '{"numRecords":2,"nullCount":{"a":0},"tightBounds":true}'
    assert json.loads(merged_stats(wide, part, request(["a"])))["tightBounds"] is False
    whole = WHOLE[:-1] + ',"tightBounds":true}'
    assert json.loads(merged_stats(wide, whole, request(None)))["tightBounds"] is True


def test_collated_bounds_of_other_identifiers_are_kept() -> None:
    old = WHOLE[:-1] + ',"statsWithCollation":{"icu.de.1":{"minValues":{"s":{"x":"o"}}},"' + CI + '":{"minValues":{}}}}'
    new = '{"numRecords":2,"nullCount":{},"statsWithCollation":{"' + CI + '":{"minValues":{"s":{"x":"n"}}}}}'
    merged = json.loads(merged_stats(old, new, request(["s.x"], collated=True)))
    assert merged["statsWithCollation"] == {
        "icu.de.1": {"minValues": {"s": {"x": "o"}}},
        CI: {"minValues": {"s": {"x": "n"}}},
    }


def test_statistics_are_there_only_if_every_one_is() -> None:
    assert has_statistics(WHOLE, request(None))
    assert not has_statistics(WHOLE, request(None, collated=True))
    stats = json.loads(WHOLE)
    for group, column in (("minValues", "a"), ("maxValues", "a"), ("nullCount", "a"), ("nullCount", "s")):
        less = json.loads(WHOLE)
        del less[group][column]
        assert not has_statistics(json.dumps(less), request(None)), (group, column)
    del stats["numRecords"]
    for text in (None, "", "[]", "{", json.dumps(stats), '{"numRecords":"2"}'):
        assert not has_statistics(text, request(None))


def test_a_column_of_nulls_needs_no_bounds() -> None:
    text = '{"numRecords":2,"nullCount":{"a":2,"s":{"x":2,"y":2}}}'
    assert has_statistics(text, request(None, collated=True))
    assert not has_statistics(text.replace('"x":2', '"x":1'), request(["s.x"]))


@pytest.mark.parametrize("key", ["Icu.unicode_ci.77.1", "ICU.UNICODE_CI.77.1"])
def test_bounds_under_another_spelling_of_the_identifier_are_replaced_and_count_as_there(key: str) -> None:
    def collated(name: str, text: str) -> str:
        return f'"{name}":{{"minValues":{{"s":{{"x":"{text}","y":"k"}}}},"maxValues":{{"s":{{"x":"{text}"}}}}}}'

    old = WHOLE[:-1] + ',"statsWithCollation":{' + collated(key, "old") + "}}"
    asked = request(["s.x"], collated=True)
    assert has_statistics(old, asked)
    new = '{"numRecords":2,"nullCount":{},"statsWithCollation":{' + collated(CI, "new") + "}}"
    merged = json.loads(merged_stats(old, new, asked))["statsWithCollation"]
    assert merged[key] == {"minValues": {"s": {"y": "k"}}, "maxValues": {"s": {}}}
    assert merged[CI]["maxValues"] == {"s": {"x": "new"}}


@pytest.mark.parametrize(
    ("before", "deleted", "after"),
    [
        # Tight bounds without deleted rows: the count of every row is numRecords.
        (WHOLE, 0, WHOLE.replace('"x":0,"y":1}', '"x":0}')[:-1] + ',"tightBounds":false}'),
        ('{"numRecords":2,"nullCount":{"a":2}}', 0, '{"numRecords":2,"nullCount":{"a":2},"tightBounds":false}'),
        # Tight bounds with a deleted row: the count of every live row becomes that of all rows.
        (
            '{"numRecords":2,"nullCount":{"a":1,"b":0},"tightBounds":true}',
            1,
            '{"numRecords":2,"nullCount":{"a":2,"b":0},"tightBounds":false}',
        ),
        # Wide already: the count of all rows keeps its meaning, and another has none.
        ('{"numRecords":2,"nullCount":{"a":1},"tightBounds":false}', 1, '{"numRecords":2,"tightBounds":false}'),
        (
            '{"numRecords":2,"nullCount":{"a":2},"tightBounds":false}',
            1,
            '{"numRecords":2,"nullCount":{"a":2},"tightBounds":false}',
        ),
        (None, 0, '{"numRecords":2,"tightBounds":false}'),
        ("no JSON", 0, '{"numRecords":2,"tightBounds":false}'),
    ],
)
def test_statistics_of_files_that_lose_rows_are_wide(before: str | None, deleted: int, after: str) -> None:
    assert json.loads(widened_stats(before, 2, deleted)) == json.loads(after)


def test_widened_bounds_keep_all_their_digits() -> None:
    assert '"a":123456789012345678901234567890.10' in widened_stats(WHOLE, 2, 0)


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_a_zero_as_bound_is_missing_if_it_excludes_the_other_zero(type_: DataType) -> None:
    schema = StructType((StructField("s", StructType((StructField("x", type_),))),))
    asked = statistics_request(indexed_columns(schema))
    text = '{"numRecords":2,"minValues":{"s":{"x":%s}},"maxValues":{"s":{"x":%s}},"nullCount":{"s":{"x":0}}}'
    assert has_statistics(text % ("-0.0", "0.0"), asked)
    assert has_statistics(text % ("-1.0", "1.0"), asked)
    # delta-spark 4.4.0 logs the minimum and the maximum of the rows, such as -0.0 for both.
    for low, high in (("-0.0", "-0.0"), ("0.0", "0.0"), ("0.0", "1.0"), ("-1.0", "-0.0"), ("0", "1")):
        assert not has_statistics(text % (low, high), asked), (low, high)
