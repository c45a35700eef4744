"""Versions by time are those of delta-spark, also where files are younger than the first in-commit timestamp."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from deltaskip.errors import VersionNotFound
from deltaskip.log import version_at_timestamp
from deltaskip.sparkexpr.types.data_types import LONG
from deltaskip.storage import open_storage
from tests.builder import TableBuilder, add, log_file, metadata
from tests.extent import extent
from tests.reference.conftest import require_delta_spark, run_module

pytestmark = pytest.mark.reference

HOUR = 3_600_000
START = 470_000 * HOUR
# For each table: the hour of each file, and of each in-commit timestamp from the enabling version on.
TABLES = {
    "usual": ([1, 2, 3, 4, 5], [3, 4, 5]),
    "copied": ([80, 80, 80, 80, 80], [3, 4, 5]),
    "first_is_old": ([1, 80, 80, 80, 80], [3, 4, 5]),
    "second_is_old": ([80, 1, 80, 80, 80], [3, 4, 5]),
    "between": ([1, 4, 80, 80, 80], [3, 5, 7]),
    "files_only": ([1, 3, 2, 2, 5], []),
    "from_the_start": ([80, 80, 80, 80, 80], [1, 2, 3, 4, 5]),
    "last": ([2, 4, 6, 8, 1], [5]),
}
HOURS = extent([3], [*range(9), 79, 80, 81])


def make(folder: Path, hours: list[int], stamps: list[int]) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp"]}
    first = len(hours) - len(stamps)
    kept = {"delta.deletedFileRetentionDuration": "interval 36500 days"}
    builder = TableBuilder(folder, {"id": LONG}, protocol=protocol, properties=kept)
    for version in range(len(hours)):
        extra: dict[str, Any] = {}
        actions = [add(f"f{version}")]
        if version >= first:
            extra["inCommitTimestamp"] = START + stamps[version - first] * HOUR
        if version == first:
            since = {"Version": str(version), "Timestamp": str(extra["inCommitTimestamp"])}
            enabled = {f"delta.inCommitTimestampEnablement{name}": value for name, value in since.items()}
            properties = {**kept, "delta.enableInCommitTimestamps": "true", **(enabled if version else {})}
            actions.append(metadata(builder.schema, properties=properties))
        builder.commit(*actions, **extra)
    if first == 0:
        path = log_file(folder, 0)
        lines = [line for line in path.read_text().splitlines() if "metaData" not in line or "enableIn" in line]
        path.write_text("\n".join(lines) + "\n")
    for version, hour in enumerate(hours):
        os.utime(log_file(folder, version), ns=((START + hour * HOUR) * 1_000_000,) * 2)


def ours(folder: Path, timestamp_ms: int) -> int | None:
    try:
        return version_at_timestamp(*open_storage(folder), timestamp_ms)
    except VersionNotFound:
        return None


@pytest.mark.long
def test_versions_by_time_are_those_of_delta_spark(tmp_path: Path) -> None:
    require_delta_spark()
    for name, (hours, stamps) in TABLES.items():
        make(tmp_path / name, hours, stamps)
    times = [START + hour * HOUR + part for hour in HOURS for part in (0, 1)]
    asked = list(itertools.product(TABLES, times))
    (tmp_path / "questions").write_text("".join(f"{table} {time}\n" for table, time in asked))
    run_module("tests.reference.time_travel", tmp_path)
    expected = json.loads((tmp_path / "answers").read_text())
    differ = [
        (table, (time - START) / HOUR, version, ours(tmp_path / table, time))
        for (table, time), version in zip(asked, expected, strict=True)
        if ours(tmp_path / table, time) != version
    ]
    assert not differ
    assert len(expected) - expected.count(None) > extent(7, 60)
