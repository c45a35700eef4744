"""DeltaTable: how it is shown, names that were renamed, and one report of statistics."""

from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from tests.builder import TableBuilder, add, bounds


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """A table of two files that overlap, written once by an application."""
    builder = TableBuilder(tmp_path / "t", {"c": LONG})
    builder.commit({"txn": {"appId": "app", "version": 7}}, *(add(name, bounds(2, c=(0, 1))) for name in "ab"))
    return ds.DeltaTable(tmp_path / "t")


def test_it_is_shown_on_one_line(table: ds.DeltaTable) -> None:
    assert repr(table) == f"DeltaTable({table.uri!r}, version=0)"


def test_it_is_shown_as_html_with_its_files_and_columns(table: ds.DeltaTable) -> None:
    html = table._repr_html_()
    for text in (table.uri, ">0<", ">2<", "c bigint"):
        assert text in html


def test_html_is_escaped_and_names_a_few_of_many_columns(tmp_path: Path) -> None:
    fields = tuple(StructField(f"<{i}>", STRING) for i in range(30))
    TableBuilder(tmp_path, StructType(fields)).commit()
    html = ds.DeltaTable(tmp_path)._repr_html_()
    assert "&lt;0&gt; string" in html and "<0>" not in html
    assert "&lt;19&gt;" in html and "&lt;20&gt;" not in html
    assert "&#8230; 10 more" in html


def test_application_versions_are_those_of_the_log(table: ds.DeltaTable) -> None:
    assert table.app_versions == {"app": 7}


def test_statistics_without_overlap_make_no_recommendation(table: ds.DeltaTable) -> None:
    [measured], [counted] = table.stats().columns, table.stats(overlap=False).columns
    assert (measured.files_with_bounds, measured.overlap_depth) == (2, 2.0)
    assert (counted.files_with_bounds, counted.overlap_depth) == (2, None)
    assert table.stats(overlap=False).advice == ()
