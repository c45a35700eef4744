"""Nested columns: evaluation by column is evaluation row by row, also of slices and where NULL hides elements."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import ArrayType, DataType, MapType, StructType
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.values.arrow_values import typed_array
from tests.each import each
from tests.sparkexpr.random_expressions import Rows

SCHEMA = parse_columns(
    "i INT, s STRING, d DOUBLE, a ARRAY<INT>, b ARRAY<INT>, t ARRAY<STRING>, n ARRAY<ARRAY<INT>>, f ARRAY<DOUBLE>,"
    "m MAP<STRING, INT>, k MAP<INT, STRING>, st STRUCT<x: INT, y: STRING, z: ARRAY<INT>>,"
    "o ARRAY<STRUCT<p: INT, q: STRING>>, e ARRAY<DATE>, u ARRAY<TIMESTAMP>"
)

EXPRESSIONS = """
    a[0]; a[i]; element_at(a, -1); element_at(a, i); try_element_at(a, 2); get(a, i); get(t, 1); n[0][0]; o[0].q; o.p
    st; st.x; st.z[0]; m['k']; m[s]; k[1]; k[i]; element_at(m, 'l'); o; m; n; e; u; array_max(u); sort_array(e)
    size(a); size(m); array_size(n); array_contains(a, 1); array_contains(a, i); array_contains(t, s)
    array_contains(f, d); array_contains(n, a); array_contains(o, o[0]); array_position(a, i); array_position(t, 'k')
    array_remove(a, i); array_remove(t, 'k'); array_append(a, i); array_prepend(t, s); array_insert(a, 2, i)
    array_distinct(a); array_union(a, b); array_intersect(a, b); array_except(a, b); arrays_overlap(a, b)
    array_join(t, '-'); array_join(t, '-', '?'); array_join(array(s, s), ','); array_min(a); array_max(a); array_max(t)
    array_min(f); array_repeat(s, 2); array_repeat(i, i); array_compact(a); array_compact(t); sort_array(a)
    sort_array(a, false); sort_array(t); array_sort(a); array_sort(t); sort_array(f); slice(a, 2, 1); slice(a, -2, 2)
    slice(t, 1, i); flatten(n); reverse(a); reverse(t); concat(a, b); concat(a, array(i), b); concat_ws('-', t, s)
    arrays_zip(a, t); map_keys(m); map_values(m); map_entries(m); map_contains_key(k, i); map_concat(m, map('z', i))
    map_from_arrays(array('a', 'b'), array(i, 2)); map_from_entries(array(struct(s, i))); map('x', i, 'y', 2)
    array(i, 1, NULL); array(a, b); struct(i, s); named_struct('x', a, 'y', m); sequence(0, i); sequence(i, 3, -1)
    exists(a, x -> x > 1); forall(a, x -> x > i); filter(a, x -> x > i); transform(a, x -> x + i)
    transform(a, (x, j) -> x * j); transform(t, x -> concat(x, s)); transform(n, x -> size(x))
    transform(n, x -> transform(x, y -> y + size(x) + i)); exists(o, x -> x.q = s); filter(o, x -> x.p > i).q
    aggregate(a, 0, (x, y) -> x + y); zip_with(a, b, (x, y) -> coalesce(x, y)); map_filter(m, (x, y) -> y > i)
    transform_values(m, (x, y) -> concat(x, y)); transform_keys(m, (x, y) -> concat(x, s)); exists(a, x -> 1 / x > 0)
    a = b; a != b; n = n; f = f; f != array(d, 1.5D); st != struct(i, s, a)
    o = array(o[0]); a <=> b; a < b; st = st; o >= o; a IN (b, array(1, 2)); n[0] = a; greatest(a, b); least(st, st)
    coalesce(a, b); if(i > 0, a, b); CASE WHEN i > 1 THEN a WHEN i > 0 THEN array(i) END; nullif(a, b); a IS NULL
    CAST(a AS STRING); CAST(m AS STRING); CAST(st AS STRING); CAST(a AS ARRAY<BIGINT>); CAST(a AS ARRAY<STRING>)
    CAST(t AS ARRAY<INT>); TRY_CAST(t AS ARRAY<INT>); CAST(st AS STRUCT<x: BIGINT, y: STRING, z: ARRAY<STRING>>)
    CAST(m AS MAP<STRING, DOUBLE>); hash(a); hash(t, st); xxhash64(o); xxhash64(n, i); to_json(st); to_json(m)
    to_json(o)
    to_json(to_variant_object(st)); CAST(to_variant_object(o) AS STRING); typeof(o); a || b
    array_sort(a, (x, y) -> coalesce(y, 9) - coalesce(x, 9)); array_sort(a, (x, y) -> y - x)
    array_sort(f, (x, y) -> CAST(coalesce(y, 0D) - coalesce(x, 0D) AS INT))
    array_sort(o, (x, y) -> coalesce(x.p, 0) % 2 - coalesce(y.p, 0) % 2)
    array_sort(n, (x, y) -> coalesce(size(x), -1) - coalesce(size(y), -1)); array_sort(a, (x, y) -> 0)
    map_zip_with(m, map('k', i, 'z', 5), (x, y, z) -> coalesce(y, 0) * 10 + coalesce(z, 0))
    map_zip_with(k, transform_values(k, (x, y) -> x), (x, y, z) -> struct(x, y, z))
    map_zip_with(map_filter(m, (x, y) -> y > 1), m, (x, y, z) -> concat(x, s, y, z))
    map_zip_with(map(d, i), map(1.5D, s), (x, y, z) -> concat(y, z))
"""


def texts() -> list[str]:
    found: list[str] = []
    for line in EXPRESSIONS.splitlines():
        found += filter(None, (part.strip() for part in line.split(";")))
    return found


def random_value(type_: DataType, chance: random.Random, nullable: bool = True) -> Any:
    if nullable and chance.random() < 0.2:
        return None
    match type_:
        case ArrayType(element):
            return tuple(random_value(element, chance) for _ in range(chance.choice((0, 1, 2, 2, 3, 5))))
        case MapType(key, value):
            keys = {random_value(key, chance, False) for _ in range(chance.randrange(4))}
            return tuple((each, random_value(value, chance)) for each in sorted(keys))
        case StructType(fields):
            return tuple(random_value(field.type, chance) for field in fields)
    if type_.name == "string":  # type: ignore[attr-defined]
        return chance.choice(("", "k", "l", "kk", "\u00e9", "7"))
    return float(chance.randrange(3)) + 0.5 if type_.name == "double" else chance.randrange(-1, 4)  # type: ignore[attr-defined]


def table(rows: int, seed: int) -> dict[str, pa.Array]:
    chance = random.Random(seed)
    return {
        f.name: typed_array([random_value(f.type, chance) for _ in range(rows)], arrow_type(f.type))
        for f in SCHEMA.fields
    }


ROWS = 120


@pytest.mark.parametrize("kind", ["whole", "slice", "hidden"])
def test_values_by_column_are_those_of_each_row(kind: str) -> None:
    columns = table(ROWS, 7)
    if kind == "slice":
        columns = {name: column.slice(13, 50) for name, column in columns.items()}
    if kind == "hidden":
        columns = {name: hiding(column, at) for at, (name, column) in enumerate(columns.items())}
    each(texts(), Rows(pa.table(columns), SCHEMA).check)


def hiding(column: pa.Array, seed: int) -> pa.Array:
    """The column with more NULLs, below which the lists keep their elements."""
    if not (pa.types.is_list(column.type) or pa.types.is_map(column.type)):
        return column
    chance = random.Random(seed)
    there = np.array([chance.random() < 0.7 for _ in range(len(column))]) & np.array(column.is_valid())
    buffers = [pa.py_buffer(np.packbits(there, bitorder="little")), column.buffers()[1]]
    if pa.types.is_map(column.type):
        entries = pa.StructArray.from_arrays([column.keys, column.items], fields=list(column.type.field(0).type))
        return pa.Array.from_buffers(column.type, len(column), buffers, children=[entries])
    return pa.Array.from_buffers(column.type, len(column), buffers, children=[column.values])


def test_elements_that_spark_takes_for_never_null_are_left_to_it() -> None:
    schema = parse_columns("i INT, j INT NOT NULL, a ARRAY<INT>")
    left = ("array(1, 2)[i]", "element_at(array(1, 2), i)", "sequence(1, 3)[i]", "slice(array(1, 2), 1, 1)[i]")
    taken = ("array(1, 2)[j]", "array(1, i)[i]", "a[i]", "element_at(a, i)", "try_element_at(array(1, 2), i)")
    for text in (*left, *taken):
        assert (type_of(bind_expression(parse_sql(text), schema)) is None) == (text in left), text


def test_nulls_of_a_case_are_not_inserted_into_arrays_for_which_spark_may_insert_what_was_before() -> None:
    schema = parse_columns("i INT, s STRING, d DECIMAL(5, 2), a ARRAY<STRING>")
    case = "CASE WHEN i = 1 THEN {0} WHEN i = 2 THEN {0} END"
    inserted = ("array_append(array({0}), {1})", "array_prepend(array({0}), {1})", "array_insert(array({0}), 1, {1})")
    for text in inserted:
        for value in ("s", "d", "a", "i"):
            for item in (case.format(value), f"struct({case.format(value)} AS x).x"):
                whole = text.format(value, item)
                assert (type_of(bind_expression(parse_sql(whole), schema)) is None) == (value != "i"), whole
            whole = text.format(value, value)
            assert type_of(bind_expression(parse_sql(whole), schema)) is not None, whole


def test_functions_of_arrays_meet_as_in_spark() -> None:
    """Spark 4.1 compares a float and an integer as floats here, and as doubles elsewhere in ANSI mode."""
    schema = parse_columns("i INT, f FLOAT, a ARRAY<INT>, af ARRAY<FLOAT>, al ARRAY<BIGINT>, m MAP<FLOAT, INT>")
    for text, bound in (
        *((f"{name}(a, f)", f"{name}(CAST(a AS ARRAY<FLOAT>), f)") for name in ("array_position", "array_contains")),
        *((f"{name}(a, f)", f"{name}(CAST(a AS ARRAY<FLOAT>), f)") for name in ("array_remove", "array_append")),
        *((f"{name}(a, af)", f"{name}(CAST(a AS ARRAY<FLOAT>), af)") for name in ("array_union", "arrays_overlap")),
        ("array_position(al, f)", "array_position(CAST(al AS ARRAY<FLOAT>), f)"),
        ("array_contains(af, i)", "array_contains(af, CAST(i AS FLOAT))"),
        ("element_at(m, i)", "element_at(m, CAST(i AS FLOAT))"),
        ("concat(a, af)", "concat(CAST(a AS ARRAY<DOUBLE>), CAST(af AS ARRAY<DOUBLE>))"),
        ("array(i, f)", "array(CAST(i AS DOUBLE), CAST(f AS DOUBLE))"),
    ):
        assert to_sql(bind_expression(parse_sql(text), schema)) == bound
