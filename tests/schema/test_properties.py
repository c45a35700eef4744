"""Typed table properties, held against what delta-spark 4.4 accepts (DeltaConfigs.validateConfigurations)."""

import re
from pathlib import Path

import pytest

import deltaskip
from deltaskip.errors import SchemaError
from deltaskip.schema.properties import TableProperties, TableProperty
from tests.looped import looped

DEFINITIONS: dict[str, TableProperty[object]] = {
    attribute: value for attribute, value in vars(TableProperties).items() if isinstance(value, TableProperty)
}
BOOLEANS = [attribute for attribute, definition in DEFINITIONS.items() if isinstance(definition.default, bool)]
INTERVALS = ["log_retention_ms", "deleted_file_retention_ms", "txn_retention_ms"]
SECOND = 1000
DAY = 86_400 * SECOND


def value(attribute: str, text: str) -> object:
    properties = TableProperties.from_configuration({DEFINITIONS[attribute].name: text}, "/data/t")
    return getattr(properties, attribute)


def check_refused(attribute: str, text: str) -> None:
    named = re.escape(f"{DEFINITIONS[attribute].name} of /data/t is {text!r}; set it to ")
    with pytest.raises(SchemaError, match=named):
        value(attribute, text)


@looped("attribute", DEFINITIONS)
def test_a_property_that_is_not_set_has_its_default(attribute: str) -> None:
    properties = TableProperties.from_configuration(None)
    assert getattr(properties, attribute) == DEFINITIONS[attribute].default
    assert not properties.uses(DEFINITIONS[attribute])


@looped("attribute", BOOLEANS)
@looped("text, expected", [("true", True), ("TRUE", True), ("True", True), ("fAlSe", False)])
def test_booleans_have_any_letter_case(attribute: str, text: str, expected: bool) -> None:
    assert value(attribute, text) is expected


@looped("attribute", BOOLEANS)
@looped("text", ["true ", " true", "true\n", "yes", "1", "t", "", "ﬀalse"])
def test_what_delta_spark_does_not_read_as_a_boolean_is_refused(attribute: str, text: str) -> None:
    check_refused(attribute, text)


@looped("attribute", INTERVALS)
@looped(
    "text, milliseconds",
    [
        ("interval 30 days", 30 * DAY),
        ("30 days", 30 * DAY),
        ("  30 days  ", 30 * DAY),
        ("1 day\n", DAY),
        ("INTERVAL 1 DAY", DAY),
        ("interval 1 weeks", 7 * DAY),
        ("interval 1 day 12 hours", DAY * 3 // 2),
        ("interval 3600 seconds", 3600 * SECOND),
        ("interval -1 days 2 days", DAY),
        ("interval 1 day - 1 hour", DAY * 23 // 24),
        ("+1 day", DAY),
        ("interval 0 months 1 day", DAY),
        ("1 year -12 months 1 day", DAY),
        ("interval 0 days", 0),
        ("999 milliseconds", 999),
        ("1500 microseconds", 1),
        ("1.5 seconds", 1500),
        (".5 seconds", 500),
        ("1. seconds", SECOND),
        ("1 second -.25 second", 750),
    ],
)
def test_intervals_have_sparks_syntax(attribute: str, text: str, milliseconds: int) -> None:
    assert value(attribute, text) == milliseconds


@looped("attribute", INTERVALS)
@looped(
    "text",
    ["", " ", "interval", "30", "days 3", "1 days 2", "1day", "interval30 days", "interval\t1 day", "interval '1' day",
     "interval 1.5 days", "1 us", "1 nanosecond", "１ day", "interval 1 month", "interval -1 days", "-500 microseconds",
     "9223372036854775807 days", "1 dayss", "1 day,"],
)  # fmt: skip
def test_what_delta_spark_does_not_read_as_a_duration_is_refused(attribute: str, text: str) -> None:
    check_refused(attribute, text)


@looped(
    "attribute, text, expected",
    [
        ("checkpoint_interval", "3", 3),
        ("checkpoint_interval", "+10", 10),
        ("checkpoint_interval", "１０", 10),
        ("num_indexed_columns", "-1", -1),
        ("checkpoint_protection_version", "5", 5),
        ("in_commit_timestamps_version", "+5", 5),
        ("max_column_id", "9223372036854775807", (1 << 63) - 1),
        ("isolation_level", "serializable", "Serializable"),
        ("isolation_level", "WRITESERIALIZABLE", "WriteSerializable"),
        ("isolation_level", "SnapshotIsolation", "SnapshotIsolation"),
        ("mapping_mode", "NAME", "name"),
        ("checkpoint_policy", "v2", "v2"),
        ("stats_columns", " a, b ", " a, b "),
    ],
)
def test_numbers_and_enumerations_are_typed(attribute: str, text: str, expected: object) -> None:
    assert value(attribute, text) == expected


@looped(
    "attribute, text",
    [
        *(("checkpoint_interval", text) for text in ("", " 10", "10 ", "0", "-1", "1e1", "1_0", "2147483648", "x")),
        *(("num_indexed_columns", text) for text in ("", " 10", "1_0", "many")),
        *(("checkpoint_protection_version", text) for text in ("", " 5", "-1", "x", "9223372036854775808")),
        *(("in_commit_timestamps_version", text) for text in ("", " 5", "x", "9223372036854775808")),
        *(("isolation_level", text) for text in ("", "Serializable ", "Chaos")),
        *(("mapping_mode", text) for text in ("", "id ", "both")),
        *(("checkpoint_policy", text) for text in ("", "V2", "v2 ", "x")),
    ],
)
def test_numbers_and_enumerations_that_delta_spark_refuses_are_refused(attribute: str, text: str) -> None:
    check_refused(attribute, text)


def test_a_malformed_property_stops_only_what_reads_it() -> None:
    properties = TableProperties.from_configuration({"delta.appendOnly": "maybe", "delta.enableRowTracking": "true"})
    assert properties.row_tracking
    assert not properties.uses(TableProperties.change_data_feed)
    with pytest.raises(SchemaError, match=r"delta\.appendOnly is 'maybe'; set it to true or false"):
        properties.uses(TableProperties.append_only)


def test_a_property_set_to_its_default_is_not_used() -> None:
    properties = TableProperties.from_configuration({"delta.checkpointPolicy": "classic", "delta.appendOnly": "FALSE"})
    assert not properties.uses(TableProperties.checkpoint_policy)
    assert not properties.uses(TableProperties.append_only)


def test_constraints_are_found_by_name() -> None:
    properties = TableProperties.from_configuration({"delta.constraints.a": "x > 0", "delta.appendOnly": "true"})
    assert properties.constraints == {"a": "x > 0"}


def test_a_property_is_named_in_one_place() -> None:
    names = [definition.name for definition in DEFINITIONS.values()]
    assert len(set(names)) == len(names)
    found = [
        (str(path), name)
        for path in Path(deltaskip.__file__).parent.rglob("*.py")
        if path.name != "properties.py"
        for name in names
        if f'"{name}"' in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_well_formed_properties_lack_only_the_malformed_ones() -> None:
    kept = {"delta.appendOnly": "true", "delta.unknown": "?", "mine": "maybe"}
    properties = TableProperties.from_configuration({**kept, "delta.enableRowTracking": "maybe"})
    assert properties.well_formed().configuration == kept


@pytest.mark.parametrize("text", ["id DESC", '{"a": 1}', "[1]", "["])
def test_a_sort_order_that_is_no_list_of_texts_is_refused_where_it_is_set(tmp_path: Path, text: str) -> None:
    properties = {"deltaskip.sortOrder": text}
    with pytest.raises(deltaskip.InvalidArgument, match=r"deltaskip\.sortOrder of .* must be a JSON list of columns"):
        deltaskip.DeltaTable.create(tmp_path / "t", "id BIGINT", properties=properties)
    assert not (tmp_path / "t").exists()
