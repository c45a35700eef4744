"""Names and types of a merge: what is refused, whatever rows there are, and that nothing is read or written then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, col
from deltaskip.errors import DeltaSkipError, InvalidArgumentType, PredicateError, SchemaError, UnsupportedFeature
from deltaskip.skipping.joins.name_resolution import default_aliases
from deltaskip.sparkexpr import to_node
from tests.dml.tables import files_below, rows_of
from tests.each import refuses
from tests.looped import looped

DDL = "id BIGINT, v STRING, s STRUCT<x: INT>, t STRUCT<v: STRING, w: STRING>"
STRUCT = pa.struct([("x", pa.int32())])
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "v": ["a", "b", "c"],
        "s": pa.array([{"x": 1}, {"x": 2}, {"x": 3}], STRUCT),
        "t": [{"v": "q", "w": "r"}] * 3,
    }
)
SOURCE = pa.table({"id": pa.array([2, 9], pa.int64()), "v": ["NEW", "N9"], "k": pa.array([2, 9], pa.int64())})
Build = Callable[[Any], Any]


def made(folder: Path, rows: pa.Table = ROWS) -> DeltaTable:
    table = DeltaTable.create(folder / "t", DDL)
    return table if not len(rows) else (table.append(rows), table.refresh())[1]


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("foo.id = bar.id", "foo of foo.id is neither .* did you mean target.id or source.id"),
        ("tt.id = s.id", "tt of tt.id is neither"),
        ("t.id = s.id", "no column t.id|no column s.id|s of s.id|ambiguous"),
        ("target.id = src.id", "src of src.id"),
        ("target.zz = source.id", "no column target.zz"),
        ("zz = source.id", "no column zz"),
        ("`target.id` = source.id", "no column `target.id`"),
    ],
)
def test_a_name_of_neither_side_changes_nothing(tmp_path: Path, on: str, message: str) -> None:
    table = made(tmp_path)
    before, source = files_below(tmp_path), SOURCE.slice(0, 1)
    for build in (
        lambda m: m.when_matched_delete(),
        lambda m: m.when_matched_update({"v": "source.v"}).when_not_matched_insert({"id": "source.id"}),
        lambda m: m.when_not_matched_by_source_delete(),
    ):
        for dry_run in (True, False):
            with pytest.raises(PredicateError, match=message):
                build(table.merge(source, on)).execute(dry_run=dry_run)
    # `t` and `s` are structs of the target here.
    if on != "t.id = s.id":
        refuses(SchemaError, None, lambda: table.merge(source, on).when_matched_delete().execute())
    assert (table.refresh().version, files_below(tmp_path)) == (1, before)


def test_the_sides_are_called_target_and_source(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.merge(SOURCE, "TARGET.id = `source`.id").when_matched_update({"target.v": "source.v"}).execute()
    assert [row["v"] for row in rows_of(table)] == ["a", "NEW", "c"]
    table.merge(SOURCE, "target.id = s.id", source_alias="s").when_matched_update({"v": "s.k"}).execute()
    assert [row["v"] for row in rows_of(table)] == ["a", "2", "c"]
    # A name that one side has been given is not the default of the other.
    table.merge(SOURCE, "source.id = target.id", "target", "source").when_matched_update({"v": "target.v"}).execute()
    assert [row["v"] for row in rows_of(table)] == ["a", "NEW", "c"]
    assert default_aliases(None, "Target", False) == (None, "Target")
    assert default_aliases("source", None, False) == ("source", None)
    assert default_aliases(None, None, True) == ("target", None)


@pytest.mark.parametrize(
    "on",
    ["t.id = 3", "s.id = 3", "t.id = t.id", "s.id IS NOT NULL", "1 = 1", "'t.id' = 's.id'", "t.id = 1 AND t.v = 'a'"],
)
def test_a_condition_on_one_side_is_refused(tmp_path: Path, on: str) -> None:
    table = made(tmp_path)
    for given in (on, to_node(col("t.id") == 3) if on == "t.id = 3" else on):
        with pytest.raises(PredicateError, match=r"names (only columns of the (target|source)|no column)"):
            table.merge(SOURCE, given, "s", "t").when_matched_delete().execute()
    assert len(rows_of(table)) == 3


@looped(
    "on, left",
    [
        ("TRUE", []),
        ("false", [1, 2, 3]),
        ("t.id = 2 AND t.id = s.id", [1, 3]),
        ("t.id = 3 AND t.id = s.id", [1, 2, 3]),
        ("k = t.id", [1, 3]),
        ("T.ID = `S`.`id`", [1, 3]),
        # The alias goes before the struct `t`, whose field is named `v` too; `t.w` is the field of the struct.
        ("t.v = 'b' AND t.id = s.id", [1, 3]),
        ("t.w = 'r' AND t.id = s.id", [1, 3]),
        ("t.t.v = 'q' AND t.id = s.id", [1, 3]),
        ("t.s.x = s.id", [1, 3]),
        # The struct `s` of the target has a field `x`; the source has no such column.
        ("s.x = s.k", [1, 3]),
    ],
)
def test_a_whole_condition_counts(tmp_path: Path, on: str, left: list[int]) -> None:
    table = made(tmp_path)
    table.merge(SOURCE, on, "s", "t").when_matched_delete().execute()
    assert [row["id"] for row in rows_of(table)] == left


REFUSED: dict[str, tuple[Build, type[Exception]]] = {
    "condition, alias": (lambda m: m.when_matched_delete("tt.id = 2"), SchemaError),
    "condition, column": (lambda m: m.when_matched_delete("s.zz = 2"), PredicateError),
    "condition, both": (lambda m: m.when_matched_delete("id = 2"), PredicateError),
    "condition, type": (lambda m: m.when_matched_delete("t.id = DATE'2020-01-01'"), PredicateError),
    "condition, no boolean": (lambda m: m.when_matched_delete("t.id"), PredicateError),
    "condition, function": (lambda m: m.when_matched_delete("nosuch(t.id) = 1"), UnsupportedFeature),
    "value, alias": (lambda m: m.when_matched_update({"v": "tt.v"}), SchemaError),
    "value, column": (lambda m: m.when_matched_update({"v": "zz"}), SchemaError),
    "value, both": (lambda m: m.when_matched_update({"v": "v"}), PredicateError),
    "value, type": (lambda m: m.when_matched_update({"s": "s.v"}), SchemaError),
    "value, date": (lambda m: m.when_matched_update({"id": "DATE'2020-01-01'"}), SchemaError),
    "value, cast": (lambda m: m.when_matched_update({"id": "CAST(t.s AS BIGINT)"}), PredicateError),
    "value, function": (lambda m: m.when_matched_update({"id": "nosuch(s.id)"}), UnsupportedFeature),
    "set, column": (lambda m: m.when_matched_update({"zz": "1"}), SchemaError),
    "set, alias": (lambda m: m.when_matched_update({"foo.v": "1"}), SchemaError),
    "set, field": (lambda m: m.when_matched_update({"s.v": "1"}), SchemaError),
    "set, twice": (lambda m: m.when_matched_update({"v": "'1'", "t.v": "'2'"}), SchemaError),
    "insert, alias": (lambda m: m.when_not_matched_insert({"id": "s.id", "v": "foo.v"}), SchemaError),
    "insert, column": (lambda m: m.when_not_matched_insert({"id": "s.id", "v": "zz"}), SchemaError),
    "insert, target": (lambda m: m.when_not_matched_insert({"id": "s.id", "v": "t.v"}), SchemaError),
    "insert, type": (lambda m: m.when_not_matched_insert({"id": "s.id", "s": "s.v"}), SchemaError),
    "insert, condition": (lambda m: m.when_not_matched_insert({"id": "s.id"}, "s.zz = 1"), PredicateError),
    "insert, condition on target": (lambda m: m.when_not_matched_insert({"id": "s.id"}, "t.id = 1"), SchemaError),
    "insert, twice": (lambda m: m.when_not_matched_insert({"id": "s.id", "ID": "s.id"}), SchemaError),
    "left, source": (lambda m: m.when_not_matched_by_source_delete("s.id = 1"), PredicateError),
    "left, value of source": (lambda m: m.when_not_matched_by_source_update({"v": "s.k"}), PredicateError),
    "left, value": (lambda m: m.when_not_matched_by_source_update({"v": "zz"}), SchemaError),
    "left, type": (lambda m: m.when_not_matched_by_source_update({"s": "v"}), SchemaError),
}


@looped("what", REFUSED)
def test_what_is_refused_does_not_depend_on_rows(tmp_path: Path, what: str) -> None:
    build, kind = REFUSED[what]
    nothing, other = SOURCE.slice(0, 0), SOURCE.slice(1, 1)
    table, empty = made(tmp_path / "a"), made(tmp_path / "b", ROWS.slice(0, 0))
    before = files_below(tmp_path)
    # Rows match, no file may match, and there is no row in the source or in the target.
    for one, source in ((table, SOURCE), (table, other), (table, nothing), (empty, SOURCE)):
        with pytest.raises(kind):
            build(one.merge(source, "t.id = s.id", "s", "t")).execute()
    assert (table.refresh().version, empty.refresh().version, files_below(tmp_path)) == (1, 0, before)


def test_nothing_is_read_before_names_are_resolved(tmp_path: Path) -> None:
    table = made(tmp_path)
    for path in table.scan().paths():
        (Path(table.snapshot.root) / path).unlink()
    for build, kind in REFUSED.values():
        with pytest.raises(kind):
            build(table.merge(SOURCE, "t.id = s.id", "s", "t")).execute()


def test_a_bare_name_in_an_insert_is_of_the_source(tmp_path: Path) -> None:
    table = made(tmp_path)
    merge = table.merge(SOURCE, "t.id = s.id", "s", "t").when_not_matched_insert({"id": "id", "v": "v"})
    merge.when_not_matched_by_source_update({"v": "upper(v)"}).execute()
    assert [(row["id"], row["v"]) for row in rows_of(table)] == [(1, "A"), (2, "b"), (3, "C"), (9, "N9")]


@looped(
    "on, values, message",
    [
        ("{t}.id / ({s}.k - 2) = 1", {}, r"CAST\({t}\.id AS DOUBLE\) / CAST\({s}\.k - 2 AS DOUBLE\)\) = 1\.0 fails"),
        ("{t}.id = {s}.id AND {s}.v > 5", {}, r"CAST\({s}\.v AS BIGINT\) > 5 fails"),
        ("{t}.id = {s}.id", {"v": "cast({s}.v AS INT)"}, r"CAST\({s}\.v AS INT\) fails"),
        ("{t}.id = {s}.id", {"s.x": "{t}.id % ({s}.id - 2)"}, r"{t}\.id % \({s}\.id - 2\) fails"),
        ("{t}.id = {s}.id", {"v": "upper({t}.v COLLATE UNICODE_CI)"}, r"upper\({t}\.v"),
        ("nullif({t}.c, 'x') = {s}.v", {}, r"cannot be evaluated .* {t}\.c is char\(4\) and padded"),
        ("{t}.m = {s}.id", {}, "{t}\\.m = {s}\\.id is not valid"),
    ],
)
def test_errors_have_the_names_of_the_caller(tmp_path: Path, on: str, values: dict[str, str], message: str) -> None:
    table = DeltaTable.create(tmp_path / "t", f"{DDL}, c CHAR(4), m MAP<INT, INT>")
    table.append(ROWS)
    for aliases in ({}, {"target_alias": "Old", "source_alias": "New"}):
        sides = {"t": aliases.get("target_alias", "target"), "s": aliases.get("source_alias", "source")}
        merge = table.merge(SOURCE, on.format(**sides), **aliases)
        merge = merge.when_matched_update(
            {name: text.format(**sides) for name, text in (values or {"v": "'x'"}).items()}
        )
        refuses((PredicateError, UnsupportedFeature), message.format(**sides), merge.execute)


def test_padded_strings_are_joined_and_copied_as_they_are_read(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, c CHAR(4), v STRING")
    table.append(pa.table({"id": [1, 2, 3], "c": ["ab", "cd", "ef"]}))
    source = pa.table({"k": ["ab", "cd  ", "ef  "]})
    merge = table.merge(source, "target.c = source.k").when_matched_update({"v": "target.c"}, where="target.c != 'ef'")
    assert merge.execute().metrics["numTargetRowsUpdated"] == 1
    assert table.scan("v IS NOT NULL").to_arrow().to_pylist() == [{"id": 2, "c": "cd  ", "v": "cd  "}]


def test_a_value_that_a_column_cannot_store_is_named_by_the_column(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, n INT")
    table.append(pa.table({"id": [1]}))
    source = pa.table({"id": [1], "n": ["x"]})
    with pytest.raises((PredicateError, SchemaError), match="n"):
        table.merge(source, "target.id = source.id").when_matched_update_all().execute()


def test_names_of_keys_are_a_condition(tmp_path: Path) -> None:
    schema = "id BIGINT, `a b` STRING, s STRUCT<k: INT>, flag BOOLEAN"
    mapped = {"delta.columnMapping.mode": "name"}
    rows = pa.table({"id": [2, 3], "a b": ["q", "r"], "s": [{"k": 2}, {"k": 3}], "flag": [True, False]})
    for number, on in enumerate(("id", "ID", "id, `a b`", "a b", ["id", "a b"], ["`a b`"], ("s.k",), "s.k, id")):
        table = DeltaTable.create(tmp_path / str(number), schema, properties=mapped)
        table.append({"id": [1, 2], "a b": ["p", "q"], "s": [{"k": 1}, {"k": 2}], "flag": [True, True]})
        done = table.merge(rows, on).when_matched_update({"flag": "false"}).when_not_matched_insert_all().execute()
        assert (done.metrics["numTargetRowsUpdated"], done.metrics["numTargetRowsInserted"]) == (1, 1), on
        assert [row["id"] for row in table.scan("NOT flag").to_arrow().to_pylist()] == [2, 3], on
    # A condition without blanks is no path of fields, whose first name is that of a column.
    done = table.merge(rows, "s.id=t.id", "s", "t").when_matched_update({"flag": "true"}).execute()
    assert done.metrics["numTargetRowsUpdated"] == 2
    refused: tuple[tuple[Any, type[DeltaSkipError]], ...] = (
        ([], InvalidArgumentType), ([1], InvalidArgumentType), (["nope"], PredicateError),
        (["id id"], PredicateError), ("nope", PredicateError), ("flag", PredicateError),
    )  # fmt: skip
    for on, error in refused:
        with pytest.raises(error):
            table.merge(rows, on).when_matched_delete().execute()
