"""What the owner of a table promises about float bounds, and how long it holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import deltaskip as ds
from deltaskip.cli.commands import program  # type: ignore[attr-defined]
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, LONG, StructField, StructType
from tests.builder import DELTA_RS, TableBuilder, add, bounds, metadata
from tests.each import refuses
from tests.looped import looped

SCHEMA = StructType((StructField("x", DOUBLE), StructField("f", FLOAT), StructField("id", LONG)))
WORD = "deltaskip.floatBounds"
STATS = bounds(x=(1.0, 3.0), f=(1.0, 3.0), id=(1, 3))


def made(folder: Path, word: str | None = None, stats: Any = STATS) -> TableBuilder:
    builder = TableBuilder(folder / "t", SCHEMA, properties={} if word is None else {WORD: word})
    return builder.commit(add("a", stats), engine=DELTA_RS)


def kept(table: ds.DeltaTable, where: str = "x > 100") -> list[str]:
    return table.scan(where).files()["path"].to_pylist()


@looped("where", ["x > 100", "f >= 100", "x != 7 AND x > 50", "isnan(x)", "x IN (50, 60)"])
@looped(
    "word, argument, believed",
    [
        (None, None, False),
        (None, "exact", True),
        ("exact", None, True),
        ("EXACT", None, True),
        ("auto", None, False),
        ("auto", "exact", True),
        ("exact", "auto", False),
        ("maybe", "exact", True),
    ],
)
def test_the_argument_precedes_the_property(
    tmp_path: Path, word: str | None, argument: Any, believed: bool, where: str
) -> None:
    table = ds.DeltaTable(made(tmp_path, word).path, float_bounds=argument)
    assert kept(table, where) == ([] if believed or "IN" in where else ["a"])


def test_a_promise_does_not_hide_a_nan_that_is_recorded(tmp_path: Path) -> None:
    path = made(tmp_path, "exact", bounds(x=(1.0, "NaN"))).path
    assert kept(ds.DeltaTable(path)) == ["a"]


def test_the_greatest_value_is_proved_by_a_promise_only(tmp_path: Path) -> None:
    path = made(tmp_path).path
    refuses(ds.NotProvable, None, lambda: ds.DeltaTable(path).scan().max("x"))
    assert ds.DeltaTable(path, float_bounds="exact").scan().max("x") == 3.0


def test_a_malformed_property_is_named_and_stops_only_what_depends_on_it(tmp_path: Path) -> None:
    table = ds.DeltaTable(made(tmp_path, "exactly").path)
    assert kept(table, "id > 5") == []
    assert kept(table, "x < 0") == []
    refuses(ds.SchemaError, rf"{WORD} of .* is 'exactly'; set it to auto or exact", kept, table)


@pytest.mark.parametrize(("wrong", "error"), [("Exact", ds.InvalidArgument), (True, ds.InvalidArgumentType)])
def test_a_wrong_argument_is_named(tmp_path: Path, wrong: Any, error: type[Exception]) -> None:
    refuses(error, "float_bounds", lambda: ds.DeltaTable(made(tmp_path).path, float_bounds=wrong))


@pytest.mark.parametrize("checkpointed", [False, True])
def test_the_promise_moves_with_the_table(tmp_path: Path, checkpointed: bool) -> None:
    builder = made(tmp_path, stats=bounds(x=("NaN", "NaN")))
    if checkpointed:
        ds.DeltaTable(builder.path).checkpoint()
    table, exact = ds.DeltaTable(builder.path), ds.DeltaTable(builder.path, float_bounds="exact")
    # All values are NaN if the promise holds; otherwise the minimum proves nothing.
    assert (kept(table, "x < 5"), kept(exact, "x < 5")) == (["a"], [])
    builder.commit(metadata(SCHEMA, properties={WORD: "exact"}), engine=DELTA_RS)
    assert kept(table.refresh(), "x < 5") == kept(exact.refresh(), "x < 5") == []
    builder.commit(metadata(SCHEMA, properties={WORD: "auto"}), engine=DELTA_RS)
    assert (kept(table.refresh(), "x < 5"), kept(exact.refresh(), "x < 5")) == (["a"], [])


def test_the_command_line_passes_it_on_and_names_the_cure(tmp_path: Path) -> None:
    path = str(made(tmp_path).path)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(program, [arguments[0], path, *arguments[1:]], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    assert json.loads(run("files", "--where", "x > 9", "--json"))["files"]
    assert not json.loads(run("files", "--where", "x > 9", "--json", "--float-bounds", "exact"))["files"]
    assert f"set {WORD} = exact" in run("explain", "--where", "x > 9")
    assert WORD not in run("explain", "--where", "x > 9", "--float-bounds", "exact")
    assert f"set {WORD} = exact" in run("stats")
    assert WORD not in run("stats", "--float-bounds", "exact")


def test_the_report_counts_the_files_that_may_hide_nan(tmp_path: Path) -> None:
    builder = made(tmp_path)
    builder.commit(add("b", STATS), add("c", bounds(id=(1, 2))), add("d", bounds(x=(None, None, 2))))
    columns = {column.name: column.files_that_may_hide_nan for column in ds.DeltaTable(builder.path).stats().columns}
    assert columns == {"x": 1, "f": 1, "id": None}
