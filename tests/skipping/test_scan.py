"""Scan as users see it: arguments, how it is shown, one evaluation of its programs."""

import re
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.skipping.add_batches import candidates
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING, TIMESTAMP
from tests.builder import TableBuilder, add, bounds
from tests.each import refuses


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


def test_notebooks_draw_what_a_planned_scan_skips(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = table.scan("i < 5")
    assert "<img" not in scan._repr_html_()
    scan.paths()
    assert scan.explain()._repr_html_() in scan._repr_html_()
    everything = table.scan()
    everything.files()
    assert "<img" not in everything._repr_html_()
    monkeypatch.setattr("deltaskip.skipping.log_scan._DRAWN_FILES", 0)
    assert "<img" not in scan._repr_html_()


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
        ({"columns": 1}, InvalidArgumentType),
        ({"columns": [1]}, InvalidArgumentType),
        ({"columns": ["nowhere"]}, ds.PredicateError),
        ({"where": "nowhere = 1"}, ds.PredicateError),
        ({"time_zone": 1}, InvalidArgumentType),
        ({"time_zone": "+25:00"}, InvalidArgument),
        ({"time_zone": "Mars/Olympus", "where": "i = 1"}, InvalidArgument),
        ({"time_zone": "Mars/Olympus"}, InvalidArgument),
    ],
)
def test_wrong_arguments(table: ds.DeltaTable, arguments: dict[str, Any], error: type[Exception]) -> None:
    refuses(error, None, table.scan, **arguments)


@pytest.mark.parametrize("arguments", [{"where": "nowhere = 1"}, {"where": "i ="}, {"columns": ["nowhere"]}])
def test_an_error_names_the_table_and_version(table: ds.DeltaTable, arguments: dict[str, Any]) -> None:
    refuses(ds.PredicateError, rf"\(table {re.escape(table.uri)}, version {table.version}\)$", table.scan, **arguments)


def test_a_time_zone_without_rules_matters_only_where_timestamps_are_read_in_it(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"i": INTEGER, "p": TIMESTAMP}, ["p"]).commit(
        add("a", partitionValues={"p": "2024-01-01 00:00:00"})
    )
    with pytest.raises(InvalidArgument, match="time_zone must be a time zone"):
        ds.DeltaTable(tmp_path / "t").scan().replanned(SessionMeaning("Mars/Olympus"), "77.1")
    TableBuilder(tmp_path / "u", {"i": INTEGER}).commit(add("a"))
    unzoned = ds.DeltaTable(tmp_path / "u")
    assert len(unzoned.scan().replanned(SessionMeaning("Mars/Olympus"), "77.1").files()) == 1
    with pytest.raises(InvalidArgument, match="time_zone must be a time zone"):
        unzoned.scan("i = 1").replanned(SessionMeaning("Mars/Olympus"), "77.1")


def test_a_scan_planned_again_is_that_of_the_other_time_zone(tmp_path: Path) -> None:
    TableBuilder(tmp_path, {"p": TIMESTAMP}, ["p"]).commit(
        add("a", partitionValues={"p": "2024-01-01 00:00:00"}), add("b", partitionValues={"p": "2024-01-02 00:00:00"})
    )
    found = ds.DeltaTable(tmp_path)
    where = "p = timestamp'2024-01-01 00:00:00Z'"
    scan = found.scan(where, columns=["p"], limit=3)
    assert scan.replanned(SessionMeaning("UTC"), scan.collation_version) is scan
    assert scan.paths() and scan.compiled.negated.program
    again = scan.replanned(SessionMeaning("+02:00"), "1.2")
    assert (again.time_zone, again.collation_version) == ("+02:00", "1.2")
    assert (again.columns, again.limit, again.where) == (("p",), 3, where)
    fresh = found.scan(where, columns=["p"], limit=3, time_zone="+02:00")
    assert again.paths() == fresh.paths() == []
    assert again.files().equals(fresh.files())
    assert again.compiled.negated.program == fresh.compiled.negated.program
    assert (scan.time_zone, len(scan.paths())) == ("UTC", 1)


def test_columns_of_a_file_list_are_checked(table: ds.DeltaTable) -> None:
    with pytest.raises(InvalidArgument, match="no column 'nowhere'; its columns are path, uri"):
        table.scan().files(columns=["nowhere"])
    refuses(InvalidArgumentType, "columns must be a list of str", lambda: table.scan().files(columns=1))
    refuses(InvalidArgument, "list 'stats' in columns", lambda: table.scan().files(stats=True, columns=["path"]))
    assert table.scan().files(stats=True, columns=["stats"]).column_names == ["stats"]


def test_an_extreme_needs_the_name_of_a_column_and_no_limit(table: ds.DeltaTable) -> None:
    refuses(InvalidArgumentType, "column must be a str", lambda: table.scan().min(1))
    refuses(ds.PredicateError, r"'i \+ 1' is not the name of a column.* version 0", lambda: table.scan().max("i + 1"))
    refuses(ds.NotProvable, "leave out the limit", lambda: table.scan(limit=1).min("i"))


def test_a_predicate_and_its_negation_have_a_keep_mask(table: ds.DeltaTable) -> None:
    scan = table.scan("i < 10")
    [batch] = candidates(table.snapshot, scan.compiled.program)
    assert scan.compiled.kept(batch).to_arrow().to_pylist() == [True, False]
    assert scan.compiled.negated.kept(batch).to_arrow().to_pylist() == [False, True]
