"""Scan as users see it: arguments, how it is shown, one evaluation of its programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.schema.types import INTEGER, STRING, TIMESTAMP
from deltaskip.skipping.batches import candidates
from tests.builder import TableBuilder, add, bounds


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    builder = TableBuilder(tmp_path / "t", {"i": INTEGER, "s": STRING})
    builder.commit(add("a", bounds(10, i=(1, 9))), add("b", bounds(20, i=(10, 19))))
    return ds.DeltaTable(tmp_path / "t")


def test_its_repr_names_table_version_and_arguments(table: ds.DeltaTable) -> None:
    root = table.snapshot.table_root
    assert repr(table.scan()) == f"Scan({root!r}, version=0)"
    scan = table.scan("i < 5", columns=["I"], limit=3)
    assert repr(scan) == f"Scan({root!r}, version=0, where='i < 5', columns=['i'], limit=3)"
    assert repr(table.scan(ds.col("i") < 5)) == f"Scan({root!r}, version=0, where='i < 5')"


def test_a_long_predicate_is_cut_in_its_repr(table: ds.DeltaTable) -> None:
    shown = repr(table.scan(f"i IN ({', '.join(map(str, range(5_000)))})"))
    assert len(shown) < 400
    assert shown.endswith("…')")


def test_neither_repr_reads_a_file(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = table.scan("i < 5")
    monkeypatch.setattr(type(scan.snapshot), "num_files", property(lambda _: pytest.fail("files were counted")))
    monkeypatch.setattr(type(scan.snapshot.storage), "read", lambda *_: pytest.fail("storage was read"), raising=False)
    repr(scan)
    scan._repr_html_()


def test_notebooks_show_the_same_as_an_escaped_table(table: ds.DeltaTable) -> None:
    shown = table.scan("s < '<b>'", limit=7)._repr_html_()
    assert "s &lt; &#x27;&lt;b&gt;&#x27;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 4


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"limit": -1}, InvalidArgument),
        ({"limit": "3"}, InvalidArgumentType),
        ({"limit": 1.5}, InvalidArgumentType),
        ({"columns": "i"}, InvalidArgumentType),
        ({"columns": [1]}, InvalidArgumentType),
        ({"columns": ["nowhere"]}, ds.PredicateError),
        ({"where": "nowhere = 1"}, ds.PredicateError),
        ({"time_zone": 1}, InvalidArgumentType),
        ({"time_zone": "+25:00"}, InvalidArgument),
        ({"time_zone": "Mars/Olympus", "where": "i = 1"}, InvalidArgument),
    ],
)
def test_wrong_arguments(table: ds.DeltaTable, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        table.scan(**arguments)


def test_a_time_zone_without_rules_matters_only_where_timestamps_are_read_in_it(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"i": INTEGER, "p": TIMESTAMP}, ["p"]).commit(
        add("a", partitionValues={"p": "2024-01-01 00:00:00"})
    )
    with pytest.raises(InvalidArgument, match="time_zone must be a time zone"):
        ds.DeltaTable(tmp_path / "t").scan(time_zone="Mars/Olympus")
    TableBuilder(tmp_path / "u", {"i": INTEGER}).commit(add("a"))
    assert len(ds.DeltaTable(tmp_path / "u").scan(time_zone="Mars/Olympus").files()) == 1


def test_columns_of_a_file_list_are_checked(table: ds.DeltaTable) -> None:
    with pytest.raises(InvalidArgument, match="no column 'nowhere'; its columns are path, uri"):
        table.scan().files(columns=["nowhere"])
    with pytest.raises(InvalidArgumentType, match="columns must be a list of str"):
        table.scan().files(columns="path")


def test_an_extreme_needs_the_name_of_a_column_and_no_limit(table: ds.DeltaTable) -> None:
    with pytest.raises(InvalidArgumentType, match="column must be a str"):
        table.scan().min(1)  # type: ignore[arg-type]
    with pytest.raises(ds.PredicateError, match=r"'i \+ 1' is not the name of a column.* version 0"):
        table.scan().max("i + 1")
    with pytest.raises(ds.NotProvable, match="leave out the limit"):
        table.scan(limit=1).min("i")


def test_evaluate_gives_the_keep_mask_of_either_program(table: ds.DeltaTable) -> None:
    scan = table.scan("i < 10")
    [batch] = candidates(table.snapshot, scan.program)
    assert scan.evaluate(scan.program, batch).to_arrow().to_pylist() == [True, False]
    assert scan.evaluate(scan.complement, batch).to_arrow().to_pylist() == [False, True]
