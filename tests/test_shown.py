"""How results look: few lines with units in a terminal, and HTML that is right in every encoding of a page."""

import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.shown import Shown, escaped, human_bytes

API = Path(__file__).resolve().parents[1] / "docs" / "pages" / "api.md"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    folder = tmp_path_factory.mktemp("shown") / "Müller"
    made = ds.DeltaTable.create(folder, "id BIGINT, naïve STRING", properties={"delta.enableDeletionVectors": "true"})
    for start in range(0, 4000, 1000):
        made.append(pa.table({"id": range(start, start + 1000), "naïve": ["ü"] * 1000}))
    return made


def results(table: ds.DeltaTable) -> list[Any]:
    scan = table.scan("id < 500")
    scan.to_arrow()
    found: list[Any] = [
        table.delete("id < 10", dry_run=True),
        table.delete("id < 10"),
        table.optimize(),
        table.vacuum(dry_run=True),
        table.checkpoint(),
        table.detail(),
        table.detail().log,
        table.history(),
        table.history()[0],
        table.stats(),
        table.stats().columns[0],
        table.recompute_plan(),
        table.recompute_stats(),
        scan.explain(),
        scan.explain().leaves[0],
        scan.metrics, scan, table, table.schema, table.changes,
    ]  # fmt: skip
    cost = found[1].cost
    return [*found[:-1], cost, cost.read, found[2].added]


def test_every_result_is_a_few_lines_and_a_table_in_notebooks(table: ds.DeltaTable) -> None:
    for result in results(table):
        assert len(repr(result).splitlines()) <= 30, repr(result)
        if isinstance(result, Shown):
            assert len(repr(result).splitlines()) <= 12, repr(result)
            assert repr(result).startswith(type(result).__name__)
        html = result._repr_html_()
        assert html.startswith("<")
        assert html.isascii()
        assert html.encode("latin-1").decode("utf-8") == html


def test_every_class_of_results_in_the_reference_shows_itself() -> None:
    section = API.read_text("utf-8").partition("## Results")[2].partition("## Actions")[0]
    classes = [getattr(ds, name) for name in re.findall(r"::: deltaskip\.(\w+)$", section, re.MULTILINE)]
    assert len(classes) > 15
    for each in [*classes, ds.ScanMetrics, ds.Branch, ds.LeafReport, ds.AvailableCollations]:
        assert hasattr(each, "_repr_html_"), each
        if is_dataclass(each) and issubclass(each, Shown):
            assert "<" not in each.__name__


def test_units_and_what_is_left_out() -> None:
    shown = repr(
        ds.WriteResult(
            3, "DELETE", {"numDeletedRows": 1234, "numAddedBytes": 5 << 20, "executionTimeMs": 36, "numCopiedRows": 0},
            cost=ds.ChangeCost(read=ds.FileCount(1, 2048), seconds={"plan": 0.0321}),
        )
    )  # fmt: skip
    assert shown.splitlines() == [
        "WriteResult: version 3; operation DELETE;",
        "    metrics numDeletedRows 1,234, numAddedBytes 5.0 MiB, executionTimeMs 36 ms;",
        "    cost (read 1 file (2.0 KiB), seconds plan 0.032 s, attempts 1)",
    ]
    assert "version none" in repr(ds.WriteResult(None, "WRITE"))
    assert human_bytes(999) == "999 B"


def test_what_is_not_ascii_or_belongs_to_html_becomes_an_entity() -> None:
    assert escaped("<Müller & \U0001f600>") == "&lt;M&#252;ller &amp; &#128512;&gt;"
