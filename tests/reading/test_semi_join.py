"""Rows that have a partner: as a plain set of keys finds them, at every door, from as few files as statistics allow."""

from __future__ import annotations

import pickle
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaskip as ds
from tests.each import refuses
from tests.extent import extent, seed
from tests.reading.random_rows import columns_of, keys_at, table_with_files
from tests.skipping.random_predicates import random_predicate

JOINS_PER_TABLE = 8


def check_joins(number: int) -> tuple[int, int, int]:
    """Random semi-joins of a random table; how many were compared, how many files were kept, and of how many."""
    rng = random.Random(number)
    count = kept = files = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, table = table_with_files(rng, Path(folder) / "t")
        every = table.scan().to_arrow()
        flat = [name for name in every.column_names if not pa.types.is_struct(every.schema.field(name).type)]
        for _ in range(JOINS_PER_TABLE):
            where = random_predicate(rng, made, depth=1) if rng.random() < 0.4 else None
            names = rng.sample(flat, k=min(len(flat), rng.choice([1, 1, 2, 3])))
            scan = table.scan(where)
            try:
                rows = scan.to_arrow()
            except (ds.UnsupportedFeature, ds.PredicateError):
                continue
            keys = random_keys(rng, every.select(names))
            columns = columns_of(rows)
            wanted_keys = {
                key for key in keys_at([*columns_of(keys).values()], [*range(len(keys))]) if "None" not in key
            }
            given_keys = keys_at([columns[name] for name in names], [*range(len(rows))])
            places = [place for place, key in enumerate(given_keys) if key in wanted_keys]
            wanted = keys_at([*columns.values()], places)
            on: Any = names if rng.random() < 0.5 else {name: f"k{place}" for place, name in enumerate(names)}
            if isinstance(on, dict):
                keys = keys.rename_columns([*on.values()])
            joined = scan.semi_join(keys, on)
            doors = [joined.to_arrow(), pa.concat_tables(each.to_arrow() for each in joined.pieces(2))]
            doors.append(pickle.loads(pickle.dumps(joined)).to_arrow())
            for found in doors:
                assert keys_at([*columns_of(found).values()], [*range(len(found))]) == wanted, (number, where, names)
            assert joined.count() == len(wanted)
            assert joined.aggregate(n="count(*)")["n"].to_pylist() == [len(wanted)]
            count += 1
            kept += len(joined.paths())
            files += len(scan.paths())
    return count, kept, files


def random_keys(rng: random.Random, rows: pa.Table) -> pa.Table:
    """Some rows, some tuples of values of different rows, and some with NULL."""
    if not len(rows):
        return rows

    def places(number: int) -> list[int | None]:
        return [None if rng.random() < 0.1 else rng.randrange(len(rows)) for _ in range(number)]

    same = places(rng.choice([0, 1, 2, 5, 20]))
    mixed = rng.choice([0, 0, 1, 3])
    return pa.table(
        [column.combine_chunks().take(pa.array(same + places(mixed), pa.int64())) for column in rows.columns],
        rows.column_names,
    )


@pytest.mark.parametrize("most", [0, 2])
def test_rows_are_the_same_if_keys_are_too_many_to_list(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("deltaskip.skipping.joins.source_keys._MOST_VALUES", most)
    monkeypatch.setattr("deltaskip.skipping.joins.source_keys._MOST_LITERALS", most)
    for each in range(extent(8, 300)):
        check_joins(each)


def test_rows_are_those_whose_key_is_in_a_set() -> None:
    first = seed()
    compared, kept, files = map(sum, zip(*map(check_joins, range(first, first + extent(20, 2000))), strict=True))
    assert compared > 50
    assert kept < 0.6 * files


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Ten files of ten rows, clustered by id."""
    made = ds.DeltaTable.create(tmp_path / "t", "id INT, k BIGINT, x DOUBLE, s STRING, n STRUCT<a: INT>")
    for number in range(10):
        ids = [*range(number * 10, number * 10 + 10)]
        made.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int32()),
                    "k": [each % 7 for each in ids],
                    "x": pa.array(
                        [float("nan") if each % 10 == 3 else -0.0 if each % 10 == 4 else each / 2 for each in ids]
                    ),
                    "s": [None if each % 10 == 5 else f"s{each}" for each in ids],
                    "n": pa.array([{"a": each} for each in ids], pa.struct([("a", pa.int32())])),
                }
            )
        )
    return ds.DeltaTable(tmp_path / "t")


def ids(found: Any) -> list[int]:
    return sorted(found["id"].to_pylist())


def test_every_form_of_rows_and_every_door(table: ds.DeltaTable) -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    keys = {"id": [3, 47, 47, 200, None]}
    arrow = pa.table(keys)
    forms = [keys, [{"id": 3}, {"id": 47}], arrow, arrow.to_reader(), pl.DataFrame(keys), pl.LazyFrame(keys)]
    forms += [arrow.to_pandas(), table.scan("id IN (3, 47)"), arrow.to_batches()[0]]
    for rows in forms:
        scan = table.scan().semi_join(rows, "id")
        assert ids(scan.to_arrow()) == [3, 47], type(rows)
        assert len(scan.files()) == len(scan.paths()) == scan.explain().kept_files == 2
        assert scan.explain().joins == (
            f"The join on id with {3 if rows is not forms[1] and rows is not forms[7] else 2} keys saves 8 files.",
        )
    assert scan.to_pandas()["id"].tolist() == scan.to_polars()["id"].to_list() == [3, 47]
    assert scan.to_polars(lazy=True).filter(pl.col("k") > 4).collect()["id"].to_list() == [47]
    assert scan.to_duckdb().filter("k < 5").fetchall()[0][0] == 3
    assert [batch.num_rows for batch in scan.to_batches() if batch.num_rows] == [1, 1]
    assert ids(scan.top(1, "id DESC").to_arrow()) == [47]
    assert ids(scan.head(5)) == [3, 47]
    assert scan.count() == 2


def test_text_of_explain_names_each_join(table: ds.DeltaTable) -> None:
    scan = table.scan("id >= 20").semi_join({"number": [5, 25, 35]}, {"id": "number"}).semi_join({"id": [35]}, "id")
    assert scan.explain().joins == (
        "The join on id = number with 3 keys saves 6 files.",
        "The join on id with 1 key saves 1 file.",
    )
    assert "The join on id = number with 3 keys saves 6 files." in str(scan.explain())
    assert "saves 6 files" in scan.explain()._repr_html_()
    assert scan.explain().to_dict()["joins"] == list(scan.explain().joins)
    assert ids(scan.to_arrow()) == [35]


def test_null_nan_and_zero_are_compared_as_in_spark(table: ds.DeltaTable) -> None:
    nan = table.scan().semi_join(pa.table({"x": [float("nan"), None]}), "x")
    assert ids(nan.to_arrow()) == [3 + 10 * each for each in range(10)]
    zero = table.scan().semi_join(pa.table({"x": [0.0]}), "x")
    assert ids(zero.to_arrow()) == [0, *(4 + 10 * each for each in range(10))]
    assert len(table.scan().semi_join(pa.table({"s": pa.array([None], pa.string())}), "s").to_arrow()) == 0
    assert len(table.scan().semi_join(pa.table({"s": pa.array([], pa.string())}), "s").files()) == 0


def test_several_columns_are_one_key(table: ds.DeltaTable) -> None:
    scan = table.scan().semi_join([{"id": 8, "k": 1}, {"id": 9, "k": 1}, {"id": 50, "k": None}], ["id", "k"])
    assert ids(scan.to_arrow()) == [8]
    assert len(scan.files()) == 1


def test_keys_may_be_fields_of_structs(table: ds.DeltaTable) -> None:
    rows = pa.table({"in": pa.array([{"b": 12}, None], pa.struct([("b", pa.int64())]))})
    scan = table.scan(columns=["id"]).semi_join(rows, {"n.a": "in.b"})
    assert scan.to_arrow().to_pylist() == [{"id": 12}]
    assert len(scan.files()) == 1


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (pa.array([12, 300], pa.int64()), [12]),
        (pa.array([12.0, 13.5], pa.float64()), [12]),
        (pa.array(["12", " 13 "], pa.string()), [12, 13]),
        (pc.cast(pa.array([12, 13]), pa.decimal128(24, 4)), [12, 13]),
    ],
)
def test_other_types_are_cast_and_files_skipped(table: ds.DeltaTable, keys: pa.Array, wanted: list[int]) -> None:
    scan = table.scan().semi_join(pa.table({"id": keys}), "id")
    assert ids(scan.to_arrow()) == wanted
    assert len(scan.files()) == 1


def test_wrong_arguments_are_refused_by_name(table: ds.DeltaTable) -> None:
    keys = pa.table({"id": [1]})
    with pytest.raises(ds.PredicateError, match=r"on is not valid: .*nothing.*version 10"):
        table.scan().semi_join(keys, "nothing")
    refuses(ds.PredicateError, "on is not valid", lambda: table.scan().semi_join(keys, {"id": "k"}))
    with pytest.raises(ds.InvalidArgument, match="call semi_join before top, and without a limit"):
        table.scan(limit=3).semi_join(keys, "id")
    refuses(ds.InvalidArgument, "call semi_join before top", lambda: table.scan().top(3, "id").semi_join(keys, "id"))
    refuses(ds.InvalidArgument, "on names no column", lambda: table.scan().semi_join(keys, []))
    with pytest.raises(ds.InvalidArgumentType, match="on must be the name of a column"):
        table.scan().semi_join(keys, cast(Any, 3))
    refuses(ds.InvalidArgumentType, "rows must be", lambda: table.scan().semi_join(3, "id"))
    with pytest.raises(ds.PredicateError, match="semi-join on n = id cannot be compared"):
        table.scan().semi_join(keys, {"n": "id"})
    refuses(ds.PredicateError, "key of a semi-join", lambda: table.scan().semi_join(pa.table({"id": ["twelve"]}), "id"))
    with pytest.raises(ds.UnsupportedFeature, match=r"join\(rows, on, 'left_semi'\)"):
        cast(Any, table.scan(engine="spark")).semi_join(keys, "id")
    refuses(AttributeError, r"write semi_join\(rows, on\)", lambda: cast(Any, table.scan()).join(keys, "id"))


def test_keys_of_char_are_left_to_spark(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "c", "c CHAR(3)")
    with pytest.raises(ds.UnsupportedFeature, match="compared by Spark alone"):
        table.scan().semi_join(pa.table({"c": ["a"]}), "c")


def test_strings_are_compared_under_the_collation_of_the_table(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, s STRING COLLATE UTF8_LCASE, u STRING COLLATE UNICODE_CI")
    for number, text in enumerate(["Straße", "MÜNCHEN", "b", "Ä"]):
        table.append(pa.table({"id": pa.array([number], pa.int32()), "s": [text], "u": [text]}))
    table = ds.DeltaTable(tmp_path / "t")
    for column in ("s", "u"):
        assert ids(table.scan().semi_join({column: ["münchen", "ä", "c"]}, column).to_arrow()) == [1, 3]
        pair = table.scan().semi_join([{column: "münchen", "id": 1}, {column: "ä", "id": 0}], [column, "id"])
        assert ids(pair.to_arrow()) == [1]


def test_many_keys_are_one_set_and_not_a_list(table: ds.DeltaTable) -> None:
    rows = pa.table({"id": pa.array(range(50, 400_000)), "k": pa.array([each % 7 for each in range(50, 400_000)])})
    scan = table.scan().semi_join(rows, ["id", "k"])
    assert ids(scan.to_arrow()) == [*range(50, 100)]
    assert len(scan.files()) == 5


def test_keys_of_structs_and_lists_are_compared_by_their_values(tmp_path: Path) -> None:
    kind = pa.struct([("a", pa.int32()), ("b", pa.string())])
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, st STRUCT<a: INT, b: STRING>, ar ARRAY<DOUBLE>")
    structs = [{"a": 1, "b": None}, {"a": 1, "b": ""}, None, {"a": 12, "b": "3"}, {"a": 1, "b": "23"}]
    lists = [[0.0], [-0.0, None], [float("nan")], None, []]
    columns = [pa.array(range(5), pa.int32()), pa.array(structs, kind), pa.array(lists, pa.list_(pa.float64()))]
    table.append(pa.table(columns, ["id", "st", "ar"]))
    scan = ds.DeltaTable(tmp_path / "t").scan()
    assert ids(scan.semi_join(pa.table({"st": pa.array([structs[0], structs[4], None], kind)}), "st").to_arrow()) == [
        0,
        4,
    ]
    keys = pa.table({"ar": pa.array([[0.0, None], [float("nan")], None], pa.list_(pa.float64()))})
    assert ids(scan.semi_join(keys, "ar").to_arrow()) == [1, 2]
    both = pa.table(
        {"st": pa.array([structs[1], structs[3]], kind), "ar": pa.array([lists[1], []], pa.list_(pa.float64()))}
    )
    assert ids(scan.semi_join(both, ["st", "ar"]).to_arrow()) == [1]
