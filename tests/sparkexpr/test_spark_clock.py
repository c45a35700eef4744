"""The conditions of leaves that read the clock against Spark: rows that match there are never excluded here."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from time import time_ns
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.clock import Clock
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.values.calendar import MICROS_PER_SECOND, zone_of
from tests.extent import extent
from tests.sparkexpr.odd import ANSWERS, PREDICATES, SUMS
from tests.sparkexpr.spark_odd import collect, collect_sums
from tests.sparkexpr.test_clock import SCHEMA, around, predicate
from tests.sparkexpr.test_spark import answers, is_analysis, quiet, value_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

__all__ = ["quiet"]

BATCHES = int(os.environ.get("DELTASKIP_CLOCK_BATCHES", "4"))
BATCH = 25
ARROW = {
    "day": pa.date32(), "ts": pa.timestamp("us", "UTC"), "local": pa.timestamp("us"), "i": pa.int64(), "k": pa.int32(),
    "s": pa.string(),
}  # fmt: skip
STORAGE = {"day": pa.int32(), "ts": pa.int64(), "local": pa.int64()}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[dict[tuple[str, ...], object]]]]:
    chance = random.Random(0)
    made = [around(chance, time_ns() // 1000, zone_of("Europe/Berlin")) for _ in range(80)]
    arrays = {"id": pa.array(range(len(made)), pa.int32())}
    for name, type_ in ARROW.items():
        arrays[name] = pa.array([row[name,] for row in made], STORAGE.get(name, type_)).cast(type_)
    path = tmp_path_factory.mktemp("clock") / "rows.parquet"
    pq.write_table(pa.table(arrays), path)
    yield path, made


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Kiritimati"])
@pytest.mark.parametrize("batch", range(BATCHES))
def test_rows_that_spark_finds_satisfy_the_condition(spark: Any, rows: Any, zone: str, batch: int) -> None:
    path, made = rows
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.ansi.enabled", "true")
    chance = random.Random(batch)
    texts = [predicate(chance) for _ in range(BATCH)]
    planned = time_ns() // 1000
    found = answers(spark.read.parquet(str(path)).coalesce(1), texts)
    matches = 0
    for text, answer in zip(texts, found, strict=True):
        assert not is_analysis(answer), f"{text}: {answer}"
        if isinstance(answer, Exception):
            continue
        leaf = normalize(bind(parse_sql(text), SCHEMA, time_zone=zone))
        for known in (zone, None):
            weakest = Clock(planned, known).weakest(leaf)
            assert weakest is not None, text
            condition = normalize(weakest)
            for row, here in zip(made, answer, strict=True):
                if here is True:
                    matches += 1
                    assert value_of(condition, row, zone) not in (False, None), (text, condition, row)
    assert matches > BATCH


@pytest.mark.long
def test_the_stored_answers_are_those_of_spark(spark: Any) -> None:
    stored = json.loads(ANSWERS.read_text(encoding="utf-8"))
    sample = random.Random(0).sample(PREDICATES, extent(12, 60))
    assert collect(spark, sample) == {text: stored["predicates"][text] for text in sample}
    spark.conf.set("spark.sql.ansi.enabled", "true")
    sums = random.Random(0).sample(SUMS, extent(8, 40))
    assert collect_sums(spark, sums) == {text: stored["sums"][text] for text in sums}


def test_the_clock_of_this_machine_is_not_ahead_of_spark_s(spark: Any) -> None:
    before = time_ns() // 1000
    [[micros]] = spark.sql("SELECT unix_micros(now())").collect()
    assert micros + MICROS_PER_SECOND > before
