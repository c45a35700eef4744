"""Merges of Arrow data without Spark: against a plain model, and what needs a session."""

import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.errors import AmbiguousMerge, PredicateError, RowViolation, SchemaError, UnsupportedFeature
from tests.dml.merge.random_merges import DDL, RandomMerge, counted, given, random_rows
from tests.dml.tables import actions_of, files_below, rows_of
from tests.each import each, refuses
from tests.extent import extent

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKING = {"delta.enableRowTracking": "true"}
KINDS = [{}, VECTORS, FEED, VECTORS | FEED | TRACKING, TRACKING]


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("seed", range(extent(10, 60)))
def test_random_merges_leave_what_the_model_says(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(seed)
    if seed % 2:
        # Every batch of a file and every row that is inserted is decided of on its own.
        monkeypatch.setattr("deltaskip.dml.merge.arrow_merge._AT_ONCE_BYTES", 1)
    table = DeltaTable.create(tmp_path / "t", DDL, ("p",) if seed % 3 == 0 else (), properties=KINDS[seed % len(KINDS)])
    rows: list[dict[str, Any]] = []
    for _ in range(3):
        some = random_rows(chosen, 10, 30)
        rows += some
        table.append(given(some))
    for number in range(3):
        merge = RandomMerge(seed * 100 + number)
        wanted = merge.model(rows)
        before = files_below(tmp_path)
        builder = merge.added_to(table.merge(given(merge.source), merge.on[0], "s", "t"))
        if wanted is None:
            refuses(AmbiguousMerge, None, builder.execute)
            assert files_below(tmp_path) == before
            continue
        metrics = builder.execute().metrics
        rows, numbers = wanted
        assert counted(rows_of(table)) == counted(rows)
        assert {name: metrics[f"numTargetRows{name}"] for name in numbers} == numbers
        assert metrics["numSourceRows"] == len(merge.source)


def test_a_merge_joins_pieces_of_the_table_and_not_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.dml.merge import arrow_merge

    table = DeltaTable.create(tmp_path / "t", "id INT, v INT")
    for number in range(8):
        ids = pa.array(range(number * 1_000, (number + 1) * 1_000), pa.int32())
        table.append(pa.table({"id": ids, "v": ids}))
    pieces = []
    together = arrow_merge.ArrowMerge._together

    def counted_piece(self: Any, batches: Any, names: Any) -> Any:
        found = together(self, batches, names)
        pieces.append(len(found.positions))
        return found

    monkeypatch.setattr(arrow_merge.ArrowMerge, "_together", counted_piece)
    monkeypatch.setattr(arrow_merge, "_AT_ONCE_BYTES", 20_000)
    keys = [*range(500, 8_000, 1_000), 9_000]
    source = pa.table({"id": pa.array(keys, pa.int32()), "v": pa.array([-1] * 9, pa.int32())})
    merge = table.merge(source, "target.id = source.id").when_matched_update_all().when_not_matched_insert_all()
    assert merge.execute().metrics["numTargetRowsUpdated"] == 8
    assert sum(pieces) == 8_000 and max(pieces) <= 3_000
    assert sorted(table.scan("v = -1").to_arrow()["id"].to_pylist()) == keys


def made(folder: Path, ddl: str = "id INT, v INT", **options: Any) -> DeltaTable:
    table = DeltaTable.create(folder / "t", ddl, **options)
    table.append(pa.table({"id": [1, 2, 3], "v": [1, 2, 3]}))
    return table


def test_floats_match_as_spark_compares_them(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "d DOUBLE, v INT")
    table.append(pa.table({"d": [float("nan"), 0.0, None, 2.0], "v": [1, 2, 3, 4]}))
    source = pa.table({"d": [float("nan"), -0.0, None], "v": [10, 20, 30]})
    table.merge(source, "t.d = s.d", "s", "t").when_matched_update({"v": "s.v"}).execute()
    assert sorted(row["v"] for row in _rows(table)) == [3, 4, 10, 20]
    table.merge(source, "t.d <=> s.d", "s", "t").when_matched_update({"v": "s.v + 1"}).execute()
    assert sorted(row["v"] for row in _rows(table)) == [4, 11, 21, 31]


def _rows(table: DeltaTable) -> list[dict[str, Any]]:
    folder = Path(table.snapshot.root)
    paths = [folder / path for path in table.scan().paths()]
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


@pytest.mark.parametrize("on", ["t.id < s.id", "true", "t.id = s.id OR t.v = s.v", "t.id + 0 = s.id"])
def test_conditions_without_keys_compare_every_pair(tmp_path: Path, on: str) -> None:
    table = made(tmp_path)
    source = pa.table({"id": [3], "v": [3]})
    deleted = {"t.id < s.id": 2, "true": 3, "t.id = s.id OR t.v = s.v": 1, "t.id + 0 = s.id": 1}[on]
    metrics = table.merge(source, on, "s", "t").when_matched_delete().execute().metrics
    assert metrics["numTargetRowsDeleted"] == deleted


def test_generated_identity_and_default_columns_are_filled(tmp_path: Path) -> None:
    ddl = "id INT, v INT DEFAULT 9, g INT GENERATED ALWAYS AS (v + 1), k BIGINT GENERATED ALWAYS AS IDENTITY"
    table = made(tmp_path, ddl, properties=VECTORS | FEED)
    source = pa.table({"id": [1, 8, 9], "v": [10, 80, 90]})
    merge = table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"v": "s.v"})
    merge = merge.when_not_matched_insert({"id": "s.id"}, where="s.id = 8")
    merge.when_not_matched_insert({"id": "s.id", "v": "s.v"}).execute()
    found = [tuple(row.values()) for row in rows_of(table)]
    assert found == [(1, 10, 11, 1), (2, 2, 3, 2), (3, 3, 4, 3), (8, 9, 10, 4), (9, 90, 91, 5)]
    changes = [r for each in actions_of(table)["cdc"]
               for r in pq.ParquetFile(Path(table.snapshot.root) / each["path"]).read().to_pylist()]  # fmt: skip
    inserted = {row["id"]: row["k"] for row in changes if row["_change_type"] == "insert"}
    assert inserted == {8: 4, 9: 5}


# The clauses by name, and whether they write a row without the NOT NULL column from the row of a new id.
LACKING: dict[str, Any] = {
    "named": lambda merge: merge.when_not_matched_insert({"id": "s.id"}),
    "NULL": lambda merge: merge.when_not_matched_insert({"id": "s.id", "v": None}),
    "all": lambda merge: merge.when_not_matched_insert_all(except_=["v"]),
    "beside an update": lambda merge: merge.when_matched_update({"b": "s.b"}).when_not_matched_insert({"id": "s.id"}),
}


def merges_without_a_not_null_column(folder: Path, given: Any, names: Iterable[str] = LACKING, **options: Any) -> None:
    """Clauses of `LACKING` with rows that they insert, and with others. given: Makes a source of Arrow data.

    # delta-spark 4.4 checks the rows that a clause inserts, not the clause.
    """
    table = DeltaTable.create(folder / "t", "id INT, v INT NOT NULL, b STRING")
    table.append(pa.table({"id": [1, 2], "v": [1, 2], "b": ["x", "y"]}))

    def check(name: str) -> None:
        for new, evolves in product((False, True), (False, True)):
            source = given(pa.table({"id": pa.array([9 if new else 1], pa.int32()), "b": ["n"]}))
            mode = {"schema_mode": "merge"} if evolves else {}
            merge = table.merge(source, "t.id = s.id", "s", "t", **mode, **options)
            clauses = merge.when_not_matched_insert_all() if name == "all" and evolves else LACKING[name](merge)
            if new:
                refuses(RowViolation, r"column v of .* is NOT NULL", clauses.execute)
            else:
                assert clauses.execute().metrics["numTargetRowsInserted"] == 0
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]

    each(names, check)
    source = given(pa.table({"id": pa.array([9], pa.int32()), "b": ["n"]}))
    merge = table.merge(source, "t.id = s.id", "s", "t", **options)
    merge.when_not_matched_insert({"id": "s.id"}, where="s.b <> 'n'").when_matched_update({"v": "NULL"}).execute()
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == [1, 2]


def test_a_clause_that_writes_no_row_may_lack_a_not_null_column(tmp_path: Path) -> None:
    merges_without_a_not_null_column(tmp_path, lambda source: source)


def test_nested_fields_and_schema_evolution(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, st STRUCT<a: INT, b: INT>", properties=VECTORS)
    struct = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    table.append(pa.table({"id": [1, 2], "st": pa.array([{"a": 1, "b": 2}, None], struct)}))
    source = pa.table({"id": [1, 2, 3], "w": ["x", "y", "z"]})
    table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"st.b": "s.id * 10"}).execute()
    assert [row["st"] for row in rows_of(table)] == [{"a": 1, "b": 10}, {"a": None, "b": 20}]
    merge = table.merge(source, "t.id = s.id", "s", "t", "merge").when_matched_update_all()
    merge.when_not_matched_insert_all().execute()
    assert [row["w"] for row in rows_of(table)] == ["x", "y", "z"]
    assert rows_of(table)[2]["st"] is None


def test_a_null_struct_of_the_source_empties_what_it_has_fields_of(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id INT, st STRUCT<a: INT, b: INT>", properties=VECTORS)
    struct = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    table.append(pa.table({"id": [1, 2, 3], "st": pa.array([{"a": 1, "b": 2}, None, {"a": 3, "b": None}], struct)}))
    less = pa.array([None, None, None, {"a": 4}], pa.struct([("a", pa.int32())]))
    merge = table.merge(pa.table({"id": [1, 2, 3, 4], "st": less}), "t.id = s.id", "s", "t", "merge")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert [row["st"] for row in rows_of(table)] == [{"a": None, "b": 2}, None, None, {"a": 4, "b": None}]
    with pytest.raises(SchemaError, match="lacks the field b"):
        merge = table.merge(pa.table({"id": [1], "st": less[3:]}), "t.id = s.id", "s", "t")
        merge.when_matched_update_all().execute()


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ({"v": "reflect('java.lang.Math', 'abs', s.v)"}, UnsupportedFeature, "Pass a session"),
        ({"v": "s.nope"}, PredicateError, "s.nope"),
        ({"v": "v"}, PredicateError, "ambiguous: it could be t.v or s.v"),
        ({"v": "5000000000"}, RowViolation, "column v"),
        ({"v": "1 / 0"}, PredicateError, "by zero"),
    ],
)
def test_what_cannot_be_computed_says_so(tmp_path: Path, values: dict[str, str], kind: Any, message: str) -> None:
    table = made(tmp_path)
    before = files_below(tmp_path)
    merge = table.merge(pa.table({"id": [1], "v": [1]}), "t.id = s.id", "s", "t")
    refuses(kind, message, lambda: merge.when_matched_update(values).execute())
    assert (files_below(tmp_path), table.version) == (before, 1)


def test_a_merge_without_matches_commits_nothing(tmp_path: Path) -> None:
    table = made(tmp_path)
    merge = table.merge(pa.table({"id": [9], "v": [1]}), "t.id = s.id", "s", "t")
    assert merge.when_matched_delete().execute().version is None
    assert merge.when_not_matched_insert_all(where="v > 5").execute().version is None
    assert merge.when_matched_delete().execute(dry_run=True).read.files == 0
    assert merge.when_not_matched_insert_all().execute().version == 2
