"""Schemas have at most 100 levels, whatever they are given as."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import SchemaError
from deltaskip.schema.user_schema import field_of, schema_of
from deltaskip.sparkexpr.types.data_types import INTEGER, ArrayType, MapType, StructField, StructType
from tests.each import refuses
from tests.looped import looped

Step = Callable[[Any], Any]
STEPS: dict[str, tuple[Any, Step]] = {
    "struct": (INTEGER, lambda inner: StructType((StructField("s", inner),))),
    "array": (INTEGER, lambda inner: ArrayType(inner, True)),
    "map": (INTEGER, lambda inner: MapType(INTEGER, inner, True)),
    "Arrow's struct": (pa.int32(), lambda inner: pa.struct([("s", inner)])),
    "Arrow's list": (pa.int32(), pa.list_),
    "Arrow's map": (pa.int32(), lambda inner: pa.map_(pa.int32(), inner)),
}


def nested(kind: str, levels: int) -> Any:
    made, step = STEPS[kind]
    for _ in range(levels):
        made = step(made)
    return made


def schema(type_: Any) -> Any:
    return pa.schema([("c", type_)]) if isinstance(type_, pa.DataType) else StructType((StructField("c", type_),))


@looped("kind", STEPS)
def test_a_schema_has_at_most_100_levels(tmp_path: Path, kind: str) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", schema(nested(kind, 98)))
    assert table.scan().to_arrow().num_rows == 0
    for levels in (99, 500, 3000):
        type_ = nested(kind, levels)
        for given in (lambda: schema_of(schema(type_)), lambda: field_of("c", nested(kind, levels + 1))):  # noqa: B023
            refuses(SchemaError, "more than 100 levels", given)
        with pytest.raises(SchemaError, match="more than 100 levels"):
            ds.DeltaTable.create(tmp_path / "none", schema(type_))
        assert not (tmp_path / "none").exists()


def test_a_schema_of_pyspark_has_at_most_100_levels() -> None:
    types = pytest.importorskip("pyspark.sql.types")

    def given(levels: int) -> Any:
        made: Any = types.IntegerType()
        for _ in range(levels):
            made = types.StructType([types.StructField("s", made)])
        return made

    assert schema_of(given(99)).names == ("s",)
    for levels in (101, 2000):
        refuses(SchemaError, "more than 100 levels", schema_of, given(levels))


def test_a_schema_that_arrow_cannot_pass_on_is_named() -> None:
    class Given:
        """Another library's schema."""

        def __arrow_c_schema__(self) -> object:
            return schema(nested("Arrow's list", 98)).__arrow_c_schema__()

    refuses(SchemaError, "The Arrow schema cannot be read: Recursion level", lambda: schema_of(Given()))
