"""Times that are written and read by patterns, against Spark's answers (tests.sparkexpr.spark_time_patterns)."""

import pytest

from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.time_parsing import parsed_time
from deltaskip.sparkexpr.values.time_patterns import formatted, local_and_offset
from tests.sparkexpr.spark_time_patterns import ERROR, INSTANTS, ZONES, answers

UTC = zone_of("UTC")


@pytest.mark.parametrize("name", ZONES)
def test_texts_of_times_are_spark_s(name: str) -> None:
    zone = zone_of(name)
    times = [local_and_offset(micros, zone) for micros in INSTANTS]
    wrong: list[object] = []
    for pattern, texts in answers()["written"][name].items():
        try:
            found = [formatted(local, pattern, offset, zone) for local, offset in times]
        except Undecided:
            assert "V" in pattern, pattern
        except EvaluationError as error:
            wrong += [(pattern, str(error))] if texts != ERROR else []
        else:
            wrong += [(pattern, found[:3], texts[:3])] if found != texts else []
    assert not wrong


def test_texts_are_read_as_spark_reads_them() -> None:
    wrong: list[object] = []
    compared = 0
    for pattern, read in answers()["read"].items():
        for text, micros in read.items() if read != ERROR else [("2024", ERROR)]:
            try:
                found: int | str | None = parsed_time(text, pattern, UTC)
            except Undecided:
                continue
            except EvaluationError as error:
                found = ERROR if "INVALID_DATETIME_PATTERN" in str(error) else None
            compared += 1
            wrong += [(pattern, text, found, micros)] if found != micros else []
    assert not wrong
    assert compared > 800


@pytest.mark.parametrize("pattern", ["z", "zzzz", "v", "g", "F", "VV z"])
def test_texts_that_depend_on_the_version_of_java_are_left_to_spark(pattern: str) -> None:
    with pytest.raises(Undecided):
        formatted(0, pattern, 3600, zone_of("Europe/Berlin"))
