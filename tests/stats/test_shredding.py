"""Shredding of variants without Spark: what is shredded is put together again, and files are shredded by their rows."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import shredded, shredded_type, shredding_of
from deltaskip.sparkexpr.over_data import evaluate
from deltaskip.sparkexpr.values.variant_reading import tree_of
from deltaskip.stats.shredded_variants import unshredded


def documents(rng: random.Random, number: int, makers: dict[str, Any]) -> list[Any]:
    def value(depth: int, name: str) -> Any:
        if depth and name in "oé" and rng.random() < 0.9:
            return {each: value(depth - 1, each) for each in "abcoé" if rng.random() < 0.7}
        made = makers[name] if rng.random() < 0.9 else rng.choice(list(makers.values()))
        return made()

    return [rng.choice([value(3, "o")] * 8 + [None, 5]) for _ in range(number)]


def makers_of(rng: random.Random) -> dict[str, Any]:
    kinds = [
        lambda: rng.randint(-(1 << 40), 1 << 40), lambda: 1e300 * rng.random(), lambda: "é" * rng.randint(0, 80),
        lambda: rng.random() < 0.5, lambda: None, lambda: [1, {"a": 2}], dict, lambda: 0.25, lambda: -(1 << 70),
    ]  # fmt: skip
    return {name: rng.choice(kinds) for name in "abcoé"}


def variants_of_documents(values: list[Any]) -> pa.Array:
    texts = [None if each is None else json.dumps(each) for each in values]
    return evaluate("parse_json(j)", pa.table({"j": pa.array(texts, pa.string())}))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_shredded_is_put_together_again(seed: int) -> None:
    rng = random.Random(seed)
    makers = makers_of(rng)
    given = variants_of_documents(documents(rng, 40, makers))
    clean = [*documents(rng, 1, makers_of(rng) if seed % 2 else makers), {"a": 1, "o": {"b": "x", "o": {"c": 1}}}]
    plan = shredding_of(variants_of_documents(clean))
    assert plan is not None
    stored = shredded(given, plan)
    assert stored.type == shredded_type(plan)
    table = pa.table({"v": stored})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, store_schema=False)
    found = unshredded(pq.read_table(pa.BufferReader(sink.getvalue()))["v"].combine_chunks(), t.VARIANT)
    assert found.is_valid().equals(given.is_valid())
    for one, other in zip(found.to_pylist(), given.to_pylist(), strict=True):
        if other is not None:
            assert tree_of((one["value"], one["metadata"])) == tree_of((other["value"], other["metadata"]))


def test_names_that_objects_share_are_typed() -> None:
    values = [{"n": i, "s": "x", "o": {"x": {}}, "mix": i if i % 2 else "x", "l": [1]} for i in range(9)]
    plan = shredding_of(variants_of_documents([*values, None, 7, [1]]))
    assert plan == {"n": t.LONG, "s": t.STRING}
    stored = shredded(variants_of_documents([{"n": 1, "s": 2}, {"n": 3, "s": "4"}]), plan)
    assert [each["typed_value"]["n"]["typed_value"] for each in stored.to_pylist()] == [1, 3]
    assert [each["typed_value"]["s"]["typed_value"] for each in stored.to_pylist()] == [None, "4"]
    assert stored.field("value").null_count == 2


def test_files_are_shredded_where_the_table_enables_it(tmp_path: Path) -> None:
    for enabled, members in (("true", 3), ("false", 2)):
        properties = {"delta.feature.variantType": "supported", "delta.enableVariantShredding": enabled}
        table = ds.DeltaTable.create(str(tmp_path / enabled), "id BIGINT, v VARIANT", properties=properties)
        rows = [{"user": f"u{i}", "n": i} for i in range(20)]
        table.append(pa.table({"id": list(range(20)), "v": variants_of_documents(rows)}))
        [file] = (tmp_path / enabled).glob("*.parquet")
        assert pq.read_schema(file).field("v").type.num_fields == members
        where = "variant_get(v, '$.user', 'string') = 'u7' AND v:n::int = 7"
        assert table.scan(where=where).to_arrow()["id"].to_pylist() == [7]
        table.update({"id": "id + 100"}, where=where)
        table.optimize()
        assert table.scan(where="id = 107 AND v:user::string = 'u7'").to_arrow().num_rows == 1
