"""The contract of changes for shapes, intervals, nanoseconds and variants: alone, in arrays and in structs."""

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaskip as ds
from deltaskip.cli import main
from tests.contracts.tables import FEED, TRACKED, VECTORS

VARIANTS = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
NANOS = 1_700_000_000_000_000_001
# The Arrow type of a column, and its values.
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "GEOMETRY(4326)": (pa.binary(), [struct.pack("<BI2d", 1, 1, i, -i) for i in range(8)]),
    "GEOGRAPHY(4326)": (pa.binary(), [struct.pack("<BI2d", 1, 1, i, -i) for i in range(8)]),
    "INTERVAL YEAR TO MONTH": (pa.int32(), list(range(-3, 5))),
    "INTERVAL DAY TO SECOND": (pa.duration("us"), [i * 1_000_003 for i in range(-3, 5)]),
    "TIMESTAMP_NANOS": (pa.timestamp("ns", "UTC"), [NANOS + i for i in range(8)]),
    "TIMESTAMP_NANOS_NTZ": (pa.timestamp("ns"), [NANOS + i for i in range(8)]),
    "VARIANT": (VARIANTS, [{"metadata": b"\x01\0\0", "value": bytes([0x0C, i])} for i in range(8)]),
}
PROPERTIES = {
    **VECTORS, **FEED, **TRACKED, "delta.columnMapping.mode": "name", "delta.enableVariantShredding": "true",
}  # fmt: skip
Rows = dict[int, tuple[Any, ...]]
Act = Callable[[ds.DeltaTable], object]


def given(kind: str, ids: Sequence[int]) -> pa.Table:
    arrow, values = KINDS[kind]
    value = lambda i: values[i % 8]  # noqa: E731
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "p": ["ab"[i % 2] for i in ids],
            "x": pa.array([None if i % 4 == 3 else value(i) for i in ids], arrow),
            "a": pa.array([None if i % 5 == 4 else [value(i)] * (i % 3) for i in ids], pa.list_(arrow)),
            "s": pa.array(
                [None if i % 6 == 5 else {"f": value(i + 1) if i % 3 else None} for i in ids],
                pa.struct([("f", arrow)]),
            ),
        }
    )


def plain(array: pa.Array) -> list[Any]:
    """Values as integers, bytes, and dictionaries in the order of names; no digit of a time is lost."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    if pa.types.is_struct(kind):
        members = zip(*(plain(each) for each in array.flatten()), strict=True)
        named = [dict(sorted(zip((f.name for f in kind), each, strict=True))) for each in members]
        return [each if valid else None for each, valid in zip(named, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_list(kind):
        values, found, start = plain(array.flatten()), list[Any](), 0
        for length in pc.list_value_length(array).to_pylist():
            found.append(None if length is None else values[start : start + length])
            start += length or 0
        return found
    is_time = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    return list((array.view(pa.int64()) if is_time else array).to_pylist())


def rows(table: pa.Table) -> Rows:
    columns = (plain(table[name].combine_chunks()) for name in ("id", "p", "x", "a", "s"))
    return {each[0]: each[1:] for each in zip(*columns, strict=True)}


def ddl(kind: str) -> str:
    return f"id INT, p STRING, x {kind}, a ARRAY<{kind}>, s STRUCT<f: {kind}>"


class Played:
    """A table, and the rows that it must have after each step."""

    def __init__(self, kind: str, path: Path, properties: dict[str, str], partition_by: Sequence[str]) -> None:
        self.kind, self.path, self.model = kind, path, rows(given(kind, []))
        ds.DeltaTable.create(str(path), ddl(kind), partition_by, properties=properties)

    @property
    def table(self) -> ds.DeltaTable:
        return ds.DeltaTable(str(self.path))

    def step(
        self, act: Callable[[ds.DeltaTable], object], changed: Rows | None = None, gone: Sequence[int] = ()
    ) -> None:
        act(self.table)
        self.model = {i: row for i, row in (self.model | (changed or {})).items() if i not in gone}
        assert rows(self.table.scan().to_arrow()) == self.model

    def of(self, *ids: int) -> Rows:
        return rows(given(self.kind, ids))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["plain", "everything"])
def test_every_step_leaves_what_the_model_says(tmp_path: Path, kind: str, form: str) -> None:
    everything = form == "everything"
    played = Played(kind, tmp_path / "t", PROPERTIES if everything else {}, ["p"] if everything else [])
    some = given(kind, range(12))
    played.step(lambda t: t.append(some), rows(some))
    p, x, a, s = played.model[1]
    played.step(lambda t: t.update({"x": "NULL", "p": "'b'"}, where="id = 2"), {2: ("b", None, *played.model[2][2:])})
    played.step(lambda t: t.update({"x": "s.f", "s.f": "x"}, where="id = 1"), {1: (p, s["f"], a, {"f": x})})
    source = given(kind, [0, 1, 20, 21])

    def merged(table: ds.DeltaTable) -> None:
        builder = table.merge(source, on="t.id = s.id", source_alias="s", target_alias="t")
        builder.when_matched_update_all().when_not_matched_insert_all().execute()

    def merged_by_name(table: ds.DeltaTable) -> None:
        builder = table.merge(given(kind, [1, 22]), on="t.id = s.id", source_alias="s", target_alias="t")
        builder = builder.when_matched_update({"x": "s.s.f"}).when_not_matched_insert({"id": "s.id", "x": "s.x"})
        builder.when_not_matched_by_source_delete(where="t.id = 5").execute()

    played.step(merged, rows(source))
    named = {1: (*played.model[1][:1], played.of(1)[1][3]["f"], *played.model[1][2:])}
    played.step(merged_by_name, named | {22: (None, played.of(22)[22][1], None, None)}, [5])
    null = [i for i, row in played.model.items() if row[1] is None]
    played.step(lambda t: t.delete("x IS NULL"), gone=null)
    of_a = [i for i, row in played.model.items() if row[0] == "a"]
    played.step(lambda t: t.overwrite(given(kind, [30]), where="p = 'a'"), played.of(30), of_a)
    played.step(lambda t: t.overwrite(given(kind, [1, 41]), on=["id"]), played.of(1, 41))
    played.step(lambda t: t.append(pa.table({"id": pa.array([50], pa.int32())})), {50: (None, None, None, None)})
    for act in (
        lambda t: t.optimize(),
        lambda t: t.optimize(zorder_by=["id"]),
        lambda t: t.recompute_stats(mode="scan"),
        lambda t: t.checkpoint(),
        lambda t: t.alter_sql(f"ADD COLUMN y STRUCT<g: {kind}>"),
        lambda t: t.update({"id": "id"}, where="id = 50"),
    ):
        played.step(act)
    table = played.table
    assert not table.verify(data=True).findings
    table.clone(str(tmp_path / "clone"))
    assert rows(ds.DeltaTable(str(tmp_path / "clone")).scan().to_arrow()) == played.model
    if everything:
        for options in ({"source": "feed"}, {"source": "rows"}, {"net": True}):
            changes = table.changes(2, **options).to_arrow()
            inserted = changes.filter(pc.equal(changes["_change_type"], "insert"))
            assert rows(inserted)[41] == played.of(41)[41]
    for command in (["head"], ["describe"], ["stats"], ["verify"], ["files"], ["explain", "--where", "x IS NULL"]):
        assert main([command[0], str(played.path), *command[1:]]) == 0
    assert main(["query", f"SELECT id, x, a, s FROM '{played.path}'"]) == 0
    table.restore(version=1)
    assert rows(played.table.scan().to_arrow()) == rows(some)


@pytest.mark.parametrize("kind", KINDS)
def test_catalogs_and_their_statements(tmp_path: Path, kind: str) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ddl(kind))
    table.append(given(kind, [1, 2, 3]))
    catalog.sql("INSERT INTO db.t (id, p) VALUES (9, 'a')")
    catalog.sql("UPDATE db.t SET x = s.f WHERE id = 2")
    catalog.sql("DELETE FROM db.t WHERE x IS NULL AND id = 3")
    model = rows(given(kind, [1, 2]))
    model[2] = (model[2][0], model[2][3]["f"], *model[2][2:])
    assert rows(catalog.load_table("db.t").scan().to_arrow()) == model | {9: ("a", None, None, None)}
    assert catalog.sql("SELECT count(x) AS n FROM db.t")["n"].to_pylist() == [2]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", None])
@pytest.mark.parametrize("mode", ["none", "name"])
def test_nanoseconds_of_every_zone_keep_their_digits(tmp_path: Path, zone: str | None, mode: str) -> None:
    time, kind = pa.timestamp("ns", zone), "TIMESTAMP_NANOS" if zone else "TIMESTAMP_NANOS_NTZ"
    schema = f"x {kind}, a ARRAY<{kind}>, m MAP<STRING, {kind}>, d ARRAY<STRUCT<g: MAP<INT, {kind}>>>"
    table = ds.DeltaTable.create(str(tmp_path / "t"), schema, properties={"delta.columnMapping.mode": mode})
    deep = pa.list_(pa.struct([("g", pa.map_(pa.int32(), time))]))
    table.append(
        pa.table(
            {
                "x": pa.array([NANOS], time),
                "a": pa.array([[NANOS]], pa.list_(time)),
                "m": pa.array([[("k", NANOS)]], pa.map_(pa.string(), time)),
                "d": pa.array([[{"g": [(1, NANOS)]}]], deep),
            }
        )
    )
    for _ in range(2):
        found = ds.DeltaTable(table.uri).scan().to_arrow().combine_chunks()
        inner = found["d"].chunk(0).flatten().flatten()[0].items
        for each in (found["x"].chunk(0), found["a"].chunk(0).flatten(), found["m"].chunk(0).items, inner):
            assert each.view(pa.int64()).to_pylist() == [NANOS]
        ds.DeltaTable(table.uri).update({"a": "a"})
    text = json.loads(ds.DeltaTable(table.uri).snapshot.adds(["stats"])["stats"][0].as_py())["minValues"]
    assert [each for each in text.values() if isinstance(each, str)] == [
        "2023-11-14T22:13:20.000000001" + ("Z" if zone else "")
    ]


@pytest.mark.parametrize("mode", ["none", "id"])
def test_variants_that_rows_lack_at_any_depth_are_written(tmp_path: Path, mode: str) -> None:
    lacking = pa.struct([("i", pa.int32())])
    cases: dict[str, pa.Array] = {
        "s STRUCT<i: INT, t: STRUCT<f: VARIANT>>": pa.array([{"i": 1}, None], lacking),
        "a ARRAY<STRUCT<i: INT, f: VARIANT>>": pa.array([[{"i": 1}], None], pa.list_(lacking)),
        "m MAP<INT, STRUCT<i: INT, f: VARIANT>>": pa.array([[(1, {"i": 1})], None], pa.map_(pa.int32(), lacking)),
    }
    for number, (column, values) in enumerate(cases.items()):
        path = tmp_path / str(number)
        table = ds.DeltaTable.create(str(path), f"id INT, {column}", properties={"delta.columnMapping.mode": mode})
        table.append(pa.table({"id": pa.array([1], pa.int32())}))
        table.append(pa.table({"id": pa.array([2, 3], pa.int32()), column[0]: values}))
        table.optimize()
        found = ds.DeltaTable(str(path)).scan().to_arrow().sort_by("id")[column[0]].to_pylist()
        assert found[0] is None and found[2] is None
        assert "'i': 1" in str(found[1])


def test_shredding_takes_rows_without_a_variant(tmp_path: Path) -> None:
    properties = {"delta.enableVariantShredding": "true"}
    table = ds.DeltaTable.create(str(tmp_path / "t"), "id INT, x VARIANT", properties=properties)
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    table.append(given("VARIANT", [1]).select(["id", "x"]))
    table.update({"x": "NULL"})
    assert ds.DeltaTable(table.uri).scan().to_arrow()["x"].to_pylist() == [None, None]
