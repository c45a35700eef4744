"""Bounds of paths inside variants: written by appends and recompute, read from Z85 text and from the struct form."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.kernels.z85 import z85_encode, z85_variants
from deltaskip.sparkexpr.over_data import evaluate
from deltaskip.sparkexpr.values.json_reading import read_json
from deltaskip.sparkexpr.values.variant_reading import of_json, tree_of, variant_of
from tests.extent import extent

SHREDDING = {"delta.feature.variantType": "supported", "delta.enableVariantShredding": "true"}


def variants(documents: list[Any]) -> pa.Array:
    texts = [None if each is None else json.dumps(each) for each in documents]
    return evaluate("parse_json(j)", pa.table({"j": pa.array(texts, pa.string())}))


def table_of(root: Path, files: list[list[Any]], **properties: str) -> ds.DeltaTable:
    table = ds.DeltaTable.create(str(root), "id BIGINT, v VARIANT", properties={**SHREDDING, **properties})
    for documents in files:
        table.append(pa.table({"id": list(range(len(documents))), "v": variants(documents)}))
    return table


def logged(table: ds.DeltaTable) -> list[dict[str, Any]]:
    """The statistics of each file, with the trees of its variants."""
    found = []
    for text in table.snapshot.commit_adds["stats"].to_pylist():
        stats = json.loads(text)
        for side in ("minValues", "maxValues"):
            [value], [metadata] = (each.to_pylist() for each in z85_variants(pa.array([stats[side]["v"]])))
            tree = tree_of((value, metadata))
            assert isinstance(tree, dict)
            stats[side]["v"] = {path: item.value for path, item in tree.items()}
        found.append(stats)
    return found


def kept(table: ds.DeltaTable, where: str) -> int:
    return table.scan(where=where).files().num_rows


DOCUMENTS = [
    [{"user": f"u{i}", "n": i * 100 + j, "d": j / 4 + i, "a": {"b c": {"d": -j}}, "mix": j if j else "x", "no": None}
     for j in range(5)]
    for i in range(6)
]  # fmt: skip


def test_appends_write_the_bounds_of_paths_with_one_type(tmp_path: Path) -> None:
    first = logged(table_of(tmp_path / "t", DOCUMENTS[:1]))[0]
    assert first["minValues"]["v"] == {"$['user']": "u0", "$['n']": 0, "$['d']": 0, "$['a']['b c']['d']": -4}
    assert first["maxValues"]["v"] == {"$['user']": "u0", "$['n']": 4, "$['d']": 1, "$['a']['b c']['d']": 0}
    assert first["nullCount"] == {"id": 0, "v": 0}


def test_no_bounds_are_written_unless_the_table_enables_shredding(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", DOCUMENTS[:1], **{"delta.enableVariantShredding": "false"})
    stats = json.loads(table.snapshot.commit_adds["stats"][0].as_py())
    assert "v" not in stats["minValues"]


CASES = [
    ("variant_get(v, '$.user', 'string') = 'u3'", 1),
    ("try_variant_get(v, '$.user', 'string') IN ('u1', 'u4')", 2),
    ("v:n::int = 202", 1),
    ("v:n::smallint BETWEEN 99 AND 100", 1),
    ("v:n::double > 450.5", 1),
    ("v:n::decimal(9, 1) < 3.5", 1),
    ("v:n::int + 1 = 301", 1),
    ("v:['n']::bigint >= 400 AND v:user::string LIKE 'u4%'", 1),
    ("upper(v:user::string) = 'U5'", 1),
    ("variant_get(v, '$.a[\"b c\"].d', 'int') > 0", 0),
    # Nothing is known of these.
    ("v:n::string = '202'", 6),
    ("coalesce(v:user::string, 'u1') = 'u1'", 6),
    ("v:n::int IS NULL", 6),
    ("v:n::int IS NOT NULL", 6),
    ("coalesce(v:n::int, 7) = 7", 6),
    ("v:n::int <=> NULL", 6),
    ("try_variant_get(v, '$.mix', 'int') = 99", 6),
    ("v:no::int = 1", 6),
    ("v:other::int = 1", 6),
    ("v:a::string = 'x'", 6),
    ("v:n::int = v:d::int + 1000", 6),
    ("v:n::int = id + 10000", 6),
]


@pytest.mark.parametrize("form", ["log", "checkpoint", "struct only"])
def test_predicates_on_paths_skip_files(tmp_path: Path, form: str) -> None:
    only_struct = {"delta.checkpoint.writeStatsAsJson": "false"} if form == "struct only" else {}
    table = table_of(tmp_path / "t", DOCUMENTS, **only_struct)
    if form != "log":
        table.checkpoint()
        (tmp_path / "t" / "_delta_log" / f"{3:020}.json").unlink()
        table = ds.DeltaTable(str(tmp_path / "t"))
        assert not len(table.snapshot.commit_adds)
    twin = table_of(tmp_path / "twin", DOCUMENTS, **{"delta.enableVariantShredding": "false"})
    for where, number in CASES:
        assert kept(table, where) == number, where
        assert kept(twin, where) == 6, where
        assert table.scan(where=where).to_arrow().num_rows == twin.scan(where=where).to_arrow().num_rows, where


def test_a_checkpoint_without_json_keeps_the_bounds_of_the_next(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", DOCUMENTS, **{"delta.checkpoint.writeStatsAsJson": "false"})
    table.checkpoint()
    table = ds.DeltaTable(str(tmp_path / "t"))
    table.alter(ds.SetProperty("delta.checkpoint.writeStatsAsJson", "true"))
    table.checkpoint()
    assert kept(ds.DeltaTable(str(tmp_path / "t")), "v:n::int = 202") == 1


def test_recompute_writes_bounds_and_finds_nothing_to_do_afterwards(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [*DOCUMENTS, [{"x": [1]}], [None, 5]], **{"delta.enableVariantShredding": "false"})
    assert kept(table, "v:n::int = 202") == 8
    table.alter(ds.SetProperty("delta.enableVariantShredding", "true"))
    table.recompute_stats()
    # A file without bounds of the path may have any value there.
    assert kept(table, "v:n::int = 202") == 3
    version = table.version
    table.recompute_stats()
    assert table.version == version


def z85(tree: dict[str, Any]) -> str:
    value, metadata = variant_of({path: of_json(read_json(json.dumps(each))) for path, each in tree.items()})
    data = metadata + value
    return z85_encode(data + b"\0" * (-len(data) % 4))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ({"$['n']": 5}, {}),
        ({}, {"$['n']": 5}),
        ({"$['n']": 5}, {"$['n']": "x"}),
        ({"$['n']": 5}, {"$['n']": 5.5}),
        ({"$['n']": 5}, {"$['n']": 1 << 40}),
        ({"$['n']": True}, {"$['n']": True}),
        ({"$['n']": "5"}, {"$['n']": "6"}),
        ({"$['n']": None}, {"$['n']": None}),
        ({"$['n']": {"m": 1}}, {"$['n']": {"m": 1}}),
        ("no Z85 ", "no Z85 "),
        ("0r-xb", "0r-xb"),
        (17, {"$['n']": 5}),
    ],
)
def test_bounds_that_prove_nothing_keep_the_file(tmp_path: Path, low: Any, high: Any) -> None:
    table_of(tmp_path / "t", [])
    least, greatest = ({"v": z85(each) if isinstance(each, dict) else each} for each in (low, high))
    stats = {"numRecords": 3, "minValues": least, "maxValues": greatest}
    add = {"path": "f", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    line = json.dumps({"add": {**add, "stats": json.dumps(stats)}})
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").write_text(line)
    assert kept(ds.DeltaTable(str(tmp_path / "t")), "try_variant_get(v, '$.n', 'int') = 3") == 1


def test_bounds_of_spark_are_believed_with_the_types_of_its_files(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [[{"t": f"2024-01-0{day}"}] for day in range(1, 6)])
    assert kept(table, "v:t::string < '2024-01-03'") == 2
    assert kept(table, "v:t::date < DATE'2024-01-03'") == 5, "a text as a date is another order"


@pytest.mark.parametrize("seed", range(extent(1, 20)))
def test_random_files_lose_no_row(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    makers = [lambda: rng.randint(-9, 9), lambda: round(rng.uniform(-9, 9), 2), lambda: rng.choice("abc") * 20,
              lambda: None, lambda: rng.random() < 0.5, lambda: [1], lambda: {"b": rng.randint(0, 5)},
              lambda: -(1 << 70), lambda: 1 << 40]  # fmt: skip
    files = []
    for _ in range(12):
        of_name = {name: rng.choice(makers) for name in "ab"}
        rows = [{n: (make if rng.random() < 0.95 else rng.choice(makers))() for n, make in of_name.items()}
                for _ in range(rng.randint(1, 12))]  # fmt: skip
        files.append([None if rng.random() < 0.05 else row for row in rows])
    table = table_of(tmp_path / "t", files)
    twin = table_of(tmp_path / "twin", files, **{"delta.enableVariantShredding": "false"})
    types = {"int": "3", "double": "0.5", "string": "'b'", "decimal(5,2)": "2.5", "boolean": "true", "tinyint": "-1"}
    for _ in range(60):
        kind, literal = rng.choice(list(types.items()))
        read = f"try_variant_get(v, '{rng.choice(['$.a', '$.b', '$.a.b', '$'])}', '{kind}')"
        where = f"{read} {rng.choice(['=', '<', '>', '>=', '!=', '<=>'])} {literal}"
        where = rng.choice([where, f"NOT ({where})", f"{read} IN ({literal})", f"{read} IS NULL"])
        assert table.scan(where=where).to_arrow().num_rows == twin.scan(where=where).to_arrow().num_rows, where


def test_files_that_are_shredded_are_read_for_their_bounds(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [])
    [value, metadata] = (variants([{"n": 7}]).field(name) for name in ("value", "metadata"))
    typed = pa.StructArray.from_arrays(
        [pa.StructArray.from_arrays([pa.nulls(1, pa.binary()), pa.array([7])], ["value", "typed_value"])], ["n"]
    )
    shredded = pa.StructArray.from_arrays(
        [metadata, pa.nulls(1, pa.binary()), typed], ["metadata", "value", "typed_value"]
    )
    assert value.null_count == 0
    pq.write_table(pa.table({"id": [1], "v": shredded}), tmp_path / "t" / "f.parquet")
    table.add_files(["f.parquet"])
    assert logged(table)[0]["maxValues"]["v"] == {"$['n']": 7}


def test_a_collation_in_the_type_is_left_to_spark(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", DOCUMENTS)
    for where in (
        "variant_get(v, '$.user', 'string collate UTF8_LCASE') = 'U3'",
        "v:user::string COLLATE UTF8_LCASE = 'U3'",
    ):
        assert kept(table, where) == 6


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu", {"$['a']": "min-string", "$['b']['c']": 1}),
        ("0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K", {"$['a']": "variant", "$['b']['c']": 100}),
    ],
)
def test_the_example_of_the_protocol_is_read(text: str, bounds: dict[str, Any]) -> None:
    """# PROTOCOL, Statistics for Variant Columns: there, the value comes before the metadata, unlike in the text."""
    [value], [metadata] = (each.to_pylist() for each in z85_variants(pa.array([text])))
    tree = tree_of((value, metadata))
    assert isinstance(tree, dict)
    assert {path: item.value for path, item in tree.items()} == bounds


def test_texts_that_are_cut_anywhere_are_no_variants() -> None:
    text = z85({"$['a']": "text", "$['b']": 5})
    for end in range(len(text)):
        values, metadata = z85_variants(pa.array([text[:end], None, text]))
        assert values.is_valid().equals(metadata.is_valid())
        assert values.is_valid().to_pylist()[1:] == [False, True]
