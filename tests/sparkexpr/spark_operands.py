"""Which operands Spark evaluates where one is NULL: `python -m tests.sparkexpr.spark_operands` renews the answers.

In calls of each function with two arguments or more, one argument fails, and another is NULL, a column or a constant,
or none is. Spark either fails, or it does not evaluate the argument that fails. The answers, in spark_operands.json.gz,
are those of compiled code and of the interpreter, without the rules of the optimizer that take operands away.
"""

import itertools
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.types.data_types import DataType
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import simple_string
from tests.sparkexpr.edges import _NAMES, calls
from tests.sparkexpr.random_expressions import ERROR, Rows, bound
from tests.sparkexpr.spark_random_expressions import Asked, Mode, session
from tests.sparkexpr.stored import read_stored, write_stored

FILE = Path(__file__).with_name("spark_operands.json.gz")
NULL, VALUE = "null", "value"
MODES = {True: "compiled", False: "interpreted"}
ZONE = "UTC"

_VALUES: dict[str, Any] = {
    "INT": 1,
    "STRING": "a",
    "DOUBLE": 1.5,
    "BINARY": b"a",
    "DATE": 1,
    "TIMESTAMP": 1,
    "TIMESTAMP_NTZ": 1,
    "BOOLEAN": True,
    "DECIMAL(10,2)": 1,
    "BIGINT": 1,
    "ARRAY<INT>": (1,),
    "ARRAY<STRING>": ("a",),
    "MAP<STRING, INT>": (("a", 1),),
    "STRUCT<x: INT, y: STRING>": (1, "a"),
}
SCHEMA = parse_columns(", ".join(f"v{n} {ddl}, n{n} {ddl}" for n, ddl in enumerate(_VALUES)))
_COLUMNS = {field.type: field.name for field in SCHEMA.fields if field.name[0] == "v"}

_MORE = """
    rlike({v1}, {'a'}); {v1} RLIKE {'a'}; startswith({v1}, {v1}); {v1} LIKE {v1}; {v1} ILIKE {v1}; {v0} <=> {v0};
    {v0} BETWEEN {v0} AND {v0}; {v0} IN ({v0}, {v0}); coalesce({v0}, {v0}); nullif({v0}, {v0}); nvl2({v0}, {v0}, {v0});
    if({v7}, {v0}, {v0}); CASE WHEN {v7} THEN {v0} ELSE {v0} END; CASE {v0} WHEN {v0} THEN {v0} ELSE {v0} END;
    equal_null({v0}, {v0}); {v7} AND {v7}; {v7} OR {v7}; nanvl({v2}, {v2}); mask({v1}, {'X'}, {'x'}, {'n'}, {'o'});
    hash({v0}, {v1}); xxhash64({v0}, {v1}); array({v0}, {v0}); named_struct('a', {v0}, 'b', {v1}); map({v0}, {v1});
    map('a', {v1}, 'b', {v1}); {v10}[{v0}]; {v12}[{v1}]; get({v10}, {v0}); element_at({v10}, {v0});
    element_at({v12}, {v1}); try_element_at({v10}, {v0}); try_element_at({v12}, {v1}); array_contains({v10}, {v0});
    array_position({v10}, {v0}); array_remove({v10}, {v0}); array_union({v10}, {v10}); array_intersect({v10}, {v10});
    array_except({v10}, {v10}); arrays_overlap({v10}, {v10}); array_append({v10}, {v0}); array_prepend({v10}, {v0});
    array_insert({v10}, {v0}, {v0}); array_join({v11}, {v1}); array_join({v11}, {v1}, {v1}); array_repeat({v0}, {v0});
    sort_array({v10}, {true}); slice({v10}, {v0}, {v0}); arrays_zip({v10}, {v11}); sequence({v0}, {v0});
    sequence({v0}, {v0}, {v0}); sequence({v4}, {v4}); map_concat({v12}, {v12}); map_from_arrays({v11}, {v10});
    map_contains_key({v12}, {v1}); str_to_map({v1}, {','}, {':'}); aggregate({v10}, {v0}, (x, y) -> x + y);
    zip_with({v10}, {v10}, (x, y) -> x + y); map_zip_with({v12}, {v12}, (k, x, y) -> coalesce(x, y));
    concat({v10}, {v10}); concat({v1}, {v1}, {v1}); concat({v3}, {v3}); concat_ws({v1}, {v1}, {v11});
    get_json_object({v1}, {'$.a'}); from_json({v1}, {'a INT'});
    try_to_binary({v1}, {'hex'});
    to_binary({v1}, {'utf-8'}); assert_true({v7}, {v1}); raise_error({v1}); timestampadd(HOUR, {v0}, {v5});
    timestampadd(MONTH, {v0}, {v5}); timestampdiff(HOUR, {v5}, {v5}); timestampdiff(MONTH, {v5}, {v5}); {v4} + {v0};
    {v4} - {v0}; {v4} - {v4}; {v8} + {v8}; {v8} * {v8}; {v8} / {v8}; {v8} % {v8}; {v8} div {v8}; {v0} & {v0};
    {v0} | {v0}; {v0} ^ {v0}; try_add({v8}, {v8}); try_add({v2}, {v2}); try_divide({v2}, {v2}); pmod({v8}, {v8});
    reverse({v1}); make_date({v0}, {v0}, {v0}); elt({v0}, {v1}, {v1}); elt({v0}, {v3}, {v3}); {v1} || {v1};
    CASE WHEN {v7} THEN {v0} WHEN {v7} THEN {v0} END; {v1} IN ({'a'}, {v1}, {'b'}); {v10} = {v10}; {v10} < {v10};
    greatest({v1}, {v1}, {v1}); least({v10}, {v10}); struct({v0}, {v1}); date_part({'year'}, {v5});
    parse_url({v1}, {'HOST'}); parse_url({v1}, {'QUERY'}, {v1}); parse_url({v1}, {v1}, {v1});
    try_parse_url({v1}, {v1}, {v1})
"""
"""More calls, with their arguments in braces."""

_MOST = 4
"""So many calls of a function with other numbers and types of arguments."""


@cache
def answers() -> dict[str, dict[str, str]]:
    """Spark's answers: ERROR, NULL or VALUE, by mode."""
    found: dict[str, dict[str, str]] = read_stored(FILE)
    return found


def rows() -> Rows:
    """One row with a value and NULL of each type."""
    values = list(_VALUES.values())
    cells = {f.name: [values[int(f.name[1:])] if f.name[0] == "v" else None] for f in SCHEMA.fields}
    return Rows.with_values(SCHEMA, cells)


@cache
def cases() -> tuple[str, ...]:
    """The calls with an argument that fails."""
    found: dict[str, None] = {}
    for name in _NAMES:
        known: set[tuple[DataType, ...]] = set()
        for call, column in itertools.product(calls(name), _COLUMNS.values()):
            pieces = _pieces(call.replace("{c}", column))
            types = _types(pieces) if pieces and len(known) < _MOST else None
            if types is not None and types not in known:
                known.add(types)
                found.update(dict.fromkeys(_with_failures(pieces, types)))
    for text in _MORE.split(";"):
        pieces = re.split("[{}]", " ".join(text.split()))
        found.update(dict.fromkeys(_with_failures(pieces, _types(pieces) or ())))
    return tuple(found)


def _with_failures(pieces: list[str], types: tuple[DataType, ...]) -> Iterator[str]:
    for failing, type_ in enumerate(types):
        for null, other in [*enumerate(types), (failing, type_)]:
            for text in (_COLUMNS.get(other, "").replace("v", "n"), f"CAST(NULL AS {simple_string(other)})"):
                if not text:
                    continue
                each = list(pieces)
                each[2 * null + 1] = text
                each[2 * failing + 1] = f"CAST(raise_error('x') AS {simple_string(type_)})"
                sql = "".join(each)
                if bound(sql, SCHEMA, ZONE, True) is not None:
                    yield sql


def _types(pieces: list[str]) -> tuple[DataType, ...] | None:
    """The types of the arguments of a call; None if it is refused, or has less than two."""
    nodes = [bound(text, SCHEMA, ZONE, True) for text in ("".join(pieces), *pieces[1::2])]
    types = [type_of(node) for node in nodes if node is not None]
    return tuple(t for t in types[1:] if t is not None) if len(types) == len(nodes) > 2 else None


def _pieces(call: str) -> list[str] | None:
    """A call as a beginning, an argument, what separates it from the next, and so on; None if it is no call."""
    depth, quoted, found = 0, False, [""]
    words = call.split(" ")
    if len(words) == 3:
        return ["", words[0], f" {words[1]} ", words[2], ""]
    if call[-1] != ")" or not call[: call.index("(")].replace("_", "").isalnum():
        return None
    for character in call:
        quoted ^= character == "'"
        closes = character == ")" and not quoted
        depth -= closes
        if (character == "," and depth == 1 and not quoted) or (closes and depth == 0):
            found += [character, ""] if character == "," else [character]
        elif character == "(" and depth == 0:
            found[-1] += character
            found.append("")
        else:
            found[-1] += character
        depth += character == "(" and not quoted
    return [piece.strip() if at % 2 else piece for at, piece in enumerate(found)]


def collect(spark: Any, texts: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Spark's answers to the calls that it does not refuse."""
    found: dict[str, dict[str, str]] = {text: {} for text in texts}
    with tempfile.TemporaryDirectory() as folder:
        for compiled, mode in MODES.items():
            for name, value in Mode(ZONE, True, False, compiled, False).configuration().items():
                spark.conf.set(name, value)
            asked = Asked(spark, Path(folder) / "rows.parquet", rows())
            resolved = {text: asked.resolved(text) for text in texts}
            structs = {text: each[1] for text, each in resolved.items() if each is not None}
            known = list(structs)
            for at in range(0, len(known), 200):
                chunk = known[at : at + 200]
                for text, answer in zip(chunk, asked.answers([structs[text] for text in chunk]), strict=True):
                    if answer is not None:
                        found[text][mode] = ERROR if not answer[0].is_valid else _kind(answer[0]["v"].is_valid)
    return {text: modes for text, modes in found.items() if len(modes) == len(MODES)}


def _kind(valid: bool) -> str:
    return VALUE if valid else NULL


def main() -> None:
    """Collect and store the answers."""
    write_stored(FILE, collect(session(), cases()))


if __name__ == "__main__":
    main()
