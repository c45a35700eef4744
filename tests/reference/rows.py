"""Rows as Python values, their digest, and random rows that statistics can prune."""

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import STRING, ArrayType, DataType, MapType, StructType
from tests.skipping.random_tables import random_value

LONG_TEXTS = ["y" * 31 + "😀" * 40, "z" * 32 + "\uffff\U0010ffff" * 20, "😀" * 70, "w" * 200, "y" * 31 + "\uffff"]


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of the value domain: dates are days, timestamps microseconds, 32-bit floats doubles."""
    return table.cast(pa.schema([pa.field(f.name, _plain(f.type)) for f in table.schema])).to_pylist()


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Equal for equal rows in any order; signs of zeros and scales of decimals count, the order in maps does not."""
    texts = sorted(repr(_canonical(dict(row))) for row in rows)
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def random_rows(
    rng: random.Random,
    types: Mapping[str, DataType],
    files: int,
    per_file: int = 8,
    first_id: int = 0,
    choices: Mapping[str, Sequence[Any]] | None = None,
) -> pa.Table:
    """`files` times `per_file` rows with a running `id`; a column has few values in a file, so that bounds are narrow.

    choices: for some columns, the values that they are drawn from, each file having one of them.
    """
    columns: dict[str, list[Any]] = {name: [] for name in types}
    for _ in range(files):
        for name, kind in types.items():
            pool: Sequence[Any]
            if choices and name in choices:
                pool = [rng.choice(choices[name])]
            else:
                pool = [any_value(rng, kind) for _ in range(rng.randint(1, 3))]
            null_share = rng.choice([0.0, 0.0, 0.3, 0.6, 1.0])
            columns[name] += [None if rng.random() < null_share else rng.choice(pool) for _ in range(per_file)]
    identity = pa.array(range(first_id, first_id + files * per_file), pa.int64())
    return pa.table({"id": identity, **{n: pa.array(v, arrow_type(types[n])) for n, v in columns.items()}})


def any_value(rng: random.Random, kind: DataType) -> Any:
    """A value of the type, at any depth null now and then."""

    def inner(child: DataType) -> Any:
        return None if rng.random() < 0.15 else any_value(rng, child)

    match kind:
        case StructType(fields):
            return {f.name: inner(f.type) for f in fields}
        case ArrayType(element):
            return [inner(element) for _ in range(rng.randint(0, 3))]
        case MapType(key, value):
            keys = {any_value(rng, key) for _ in range(rng.randint(0, 3))}
            return [(k, inner(value)) for k in sorted(keys)]
        case _ if kind == STRING and rng.random() < 0.15:
            return rng.choice(LONG_TEXTS)
        case _:
            return random_value(rng, kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _plain(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


def _canonical(value: Any) -> Any:
    match value:
        case dict():
            return {name: _canonical(v) for name, v in value.items()}
        case [tuple(), *_]:
            return sorted(((_canonical(k), _canonical(v)) for k, v in value), key=repr)
        case list():
            return [_canonical(v) for v in value]
        case _:
            return value
