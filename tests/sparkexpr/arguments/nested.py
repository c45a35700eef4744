"""Calls of the functions of one family, for the grid of edges (tests/sparkexpr/edges.py).

The values are of the column's type; nested results are shown as text, or by one of their elements.
"""

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions.collections import COLLECTIONS
from deltaskip.sparkexpr.functions.jsons import JSONS
from deltaskip.sparkexpr.functions.lambdas import LAMBDAS
from deltaskip.sparkexpr.functions.variants import VARIANTS

_TWO = "array({c}, NULL, {c})"
_MAP = "map('k', {c}, 'l', NULL)"


def _as_text(*calls: str) -> tuple[str, ...]:
    return tuple(f"CAST({call} AS STRING)" for call in calls)


ARGUMENTS: dict[str, tuple[str, ...]] = {
    "array": _as_text("array({c}, NULL)", "array({c}, 1)", "array(array({c}), array())"),
    "named_struct": ("named_struct('a', {c}).a", *_as_text("named_struct('a', {c}, 'b', NULL)")),
    "[]": ("array({c}, NULL)[0]", "array(1, 2, 3)[{c}]", "map({c}, 1)[{c}]", "map('a', {c}).a", "map('1', 7)[{c}]",
        "array(struct({c} AS x)).x[0]"),
    "element_at": (f"element_at({_TWO}, -1)", "element_at(array(1, 2, 3), {c})", "element_at(map({c}, 1), {c})"),
    "try_element_at": (f"try_element_at({_TWO}, 4)", "try_element_at(array(1, 2), {c})"),
    "get": (f"get({_TWO}, 2)", "get(array(1, 2, 3), {c})"),
    "size": (f"size({_TWO})", "size(map({c}, 1))"),
    "array_size": (f"array_size({_TWO})",),
    "array_contains": (f"array_contains({_TWO}, {{c}})", "array_contains(array({c}), 1)",
        "array_contains(array({c}), 'a')", "array_contains(array(1, 2, NULL), {c})",
        "array_contains(array(struct({c})), struct({c}))"),
    "array_position": ("array_position(array(NULL, {c}), {c})", "array_position(array(0, 1, 2), {c})"),
    "array_remove": _as_text(f"array_remove({_TWO}, {{c}})", "array_remove(array({c}), 1)"),
    "array_append": _as_text("array_append(array({c}), NULL)", "array_append(array(1), {c})"),
    "array_prepend": _as_text("array_prepend(array({c}), {c})", "array_prepend(array(1), {c})"),
    "array_insert": _as_text("array_insert(array({c}), -3, {c})", "array_insert(array(1, 2), 2, {c})"),
    "array_distinct": _as_text(f"array_distinct({_TWO})"),
    "array_union": _as_text(f"array_union({_TWO}, array({{c}}))", "array_union(array(0, 1), array({c}))"),
    "array_intersect": _as_text(f"array_intersect({_TWO}, array({{c}}))", "array_intersect(array(0, 1), array({c}))"),
    "array_except": _as_text(f"array_except({_TWO}, array({{c}}))", "array_except(array(0, 1), array({c}))"),
    "arrays_overlap": (f"arrays_overlap({_TWO}, array({{c}}))", "arrays_overlap(array(0, 1), array({c}))"),
    "array_join": ("array_join(array({c}, NULL), '-', '?')", "array_join(array({c}, NULL, {c}), ',')"),
    "array_min": (f"array_min({_TWO})", "array_min(array({c}, 1, 0))"),
    "array_max": (f"array_max({_TWO})", "array_max(array({c}, 1, 0))"),
    "array_repeat": _as_text("array_repeat({c}, 2)", "array_repeat('x', {c})"),
    "array_compact": _as_text(f"array_compact({_TWO})"),
    "sort_array": _as_text("sort_array(array({c}, NULL, 1), false)", "sort_array(array(2, {c}))"),
    "array_sort": _as_text("array_sort(array(1, NULL, {c}))"),
    "array_sort()": _as_text("array_sort(array(1, 3, 2), (l, r) -> r - l)"),
    "slice": _as_text(f"slice({_TWO}, -2, 2)", "slice(array(1, 2, 3), {c}, 2)"),
    "flatten": _as_text("flatten(array(array({c}), array(NULL, {c})))"),
    "concat": _as_text("concat(array({c}), array({c}, NULL))"),
    "concat_ws": ("concat_ws('-', array({c}, NULL), 'x')",),
    "reverse": ("reverse({c})", *_as_text("reverse(array({c}, NULL))")),
    "arrays_zip()": _as_text("arrays_zip(array({c}), array(1, 2))"),
    "typeof": ("typeof({c})", "typeof(array({c}))", "typeof(named_struct('a b', map('x', {c})))"),
    "sequence": _as_text("sequence({c}, {c})", "sequence(0, 6, {c})"),
    "map": _as_text("map('k', {c})", "map({c}, 1, NULL, 2)", "map({c}, 1)"),
    "map_keys": ("map_keys(map({c}, 1))[0]",),
    "map_values": (f"map_values({_MAP})[0]",),
    "map_entries": (f"map_entries({_MAP})[1].value",),
    "map_contains_key": ("map_contains_key(map({c}, 1), {c})", "map_contains_key(map(1, 2), {c})"),
    "map_concat": _as_text(f"map_concat({_MAP}, map('m', {{c}}))"),
    "map_from_arrays": _as_text("map_from_arrays(array('a'), array({c}))"),
    "map_from_entries": _as_text("map_from_entries(array(struct('a', {c})))"),
    "str_to_map": _as_text("str_to_map({c})"),
    "hash": ("hash({c})", "hash(array({c}, NULL))", "hash(struct({c}, 'x'))"),
    "xxhash64": ("xxhash64({c})", "xxhash64(array({c}, NULL))"),
    "greatest": ("greatest(array({c}), array(1))[0]",),
    "least": ("least(struct({c}), struct({c})).c",),
    "transform": _as_text(f"transform({_TWO}, x -> x = {{c}})", "transform(array(1, 2), (x, i) -> array(x, i))"),
    "filter": _as_text(f"filter({_TWO}, x -> x IS NOT NULL)"),
    "exists": (f"exists({_TWO}, x -> x > {{c}})", "exists(array(1, 0), x -> x = {c})"),
    "forall": (f"forall({_TWO}, x -> x >= {{c}})", "forall(array(1, 0), x -> x = {c})"),
    "aggregate": ("aggregate(array({c}, 1), 0, (a, x) -> a + 1)",),
    "zip_with": _as_text("zip_with(array({c}), array(1, 2), (x, y) -> coalesce(x, y))"),
    "map_filter": _as_text(f"map_filter({_MAP}, (k, v) -> v IS NULL)"),
    "transform_keys": _as_text(f"transform_keys({_MAP}, (k, v) -> concat(k, 'x'))"),
    "transform_values": _as_text(f"transform_values({_MAP}, (k, v) -> v = {{c}})"),
    "map_zip_with": _as_text(f"map_zip_with({_MAP}, map('k', 1), (k, v, w) -> coalesce(v, w))"),
    "get_json_object": ("""get_json_object(concat('{"a":', {c}, '}'), '$.a')""",
        """get_json_object(concat('{"a":["', {c}, '"]}'), '$.a')""",
        """get_json_object('{"a":[1,{"b":"x"}]}', concat('$.a', {c}))""", "get_json_object({c}, '$')"),
    "json_array_length": ("json_array_length(concat('[', {c}, ']'))", "json_array_length({c})"),
    "json_object_keys": _as_text("""json_object_keys(concat('{"', {c}, '":1}'))"""),
    "from_json": (
        *(
            f"""from_json(concat('{{"a":', {{c}}, '}}'), 'a {type_}').a"""
            for type_ in ("INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)", "STRING", "BOOLEAN", "TINYINT")
        ),
        *(
            f"""from_json(concat('{{"a":"', {{c}}, '"}}'), 'a {type_}').a"""
            for type_ in ("DOUBLE", "DECIMAL(10,2)", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
        ),
        "from_json({c}, 'ARRAY<INT>')[0]",
    ),
    "to_json": ("to_json(struct({c}))", "to_json(map('a', {c}))", "to_json(array({c}, NULL))"),
    "parse_json": _as_text("parse_json({c})"),
    "try_parse_json": _as_text("try_parse_json({c})"),
    "variant_get": (*(f"variant_get(parse_json({{c}}), '$', '{type_}')" for type_ in ("int", "bigint", "double",
        "decimal(10,2)", "boolean", "timestamp", "date")),
        """variant_get(parse_json('{"a":[1,{"b":"x"}]}'), concat('$.a', {c}), 'string')"""),
    "try_variant_get": (
        "try_variant_get(to_variant_object(array({c})), '$[0]', 'string')",
        "try_variant_get(to_variant_object(array({c})), '$[0]', 'int')",
        "try_variant_get(to_variant_object(array({c})), '$[0]', 'decimal(10,2)')",
        "try_variant_get(to_variant_object(array({c})), '$[0]', 'double')",
    ),
    "is_variant_null": ("is_variant_null(parse_json({c}))",),
    "schema_of_variant": ("schema_of_variant(parse_json({c}))", "schema_of_variant(to_variant_object(array({c})))"),
    "to_variant_object": ("to_json(to_variant_object(array({c})))",),
    "cast(variant)": ("CAST(CAST({c} AS VARIANT) AS STRING)", "CAST(CAST({c} AS VARIANT) AS BIGINT)"),
    "try_cast(variant)": ("TRY_CAST(CAST({c} AS VARIANT) AS DATE)", "TRY_CAST(CAST({c} AS VARIANT) AS BOOLEAN)"),
    "as_variant()": ("CAST(array({c})::variant AS STRING)",),
}  # fmt: skip

TYPES: frozenset[t.DataType] = frozenset(
    (t.INTEGER, t.LONG, t.DOUBLE, t.FLOAT, t.STRING, t.BINARY, t.BOOLEAN, t.DATE, t.TIMESTAMP, t.DecimalType(20, 2))
)
"""The types of the column in calls of NAMES: others are treated as these are."""

NAMES = frozenset((*COLLECTIONS, *LAMBDAS, *JSONS, *VARIANTS)) - {"concat", "concat_ws", "reverse"}
