"""The predicates of the shared corpus: their SQL, parsed and bound, means what their trees say."""

import json
from pathlib import Path
from typing import Any

import pytest

from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.text.type_names import type_named
from deltaskip.sparkexpr.types.data_types import BINARY, STRING
from deltaskip.sparkexpr.types.json import parse_schema
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.casts import cast_value
from tests import corpus

UTC = zone_of("UTC")


def tree_of(expr: dict[str, Any]) -> n.Node:
    """The node that a tree of the corpus stands for."""
    if "col" in expr:
        return n.Column(tuple(expr["col"]))
    if "lit" in expr:
        return literal_of(expr["lit"], expr["type"])
    op, args = expr["op"], [tree_of(arg) for arg in expr["args"]]
    match op:
        case "and":
            return n.And(tuple(args))
        case "or":
            return n.Or(tuple(args))
        case "not":
            return n.Not(args[0])
        case "is null":
            return n.IsNull(args[0])
        case "is not null":
            return n.Not(n.IsNull(args[0]))
        case "in":
            return n.In(args[0], tuple(args[1:]))
        case "between":
            return n.And((n.Compare(">=", args[0], args[1]), n.Compare("<=", args[0], args[2])))
        case "like":
            return n.Like(args[0], args[1])
        case "startswith":
            return n.StartsWith(args[0], args[1])
        case "+" | "%":
            return n.Call(op, tuple(args))
        case "fn":
            return n.Call(expr["name"], tuple(args))
    return n.Compare(op, args[0], args[1])


def literal_of(value: Any, type_name: str) -> n.Literal:
    """A literal as the corpus writes it: text for all that JSON numbers do not hold exactly."""
    type_ = type_named(type_name)
    if value is None or isinstance(value, bool | int):
        return n.Literal(value, type_)
    if type_ == BINARY:
        return n.Literal(bytes.fromhex(value[2:]), type_)
    return n.Literal(cast_value(value, STRING, type_, UTC), type_)


def schema_of(case: dict[str, Any]) -> Any:
    versions = corpus.table(case["table"]).versions
    entry = next(v for v in versions if v["version"] == case["version"])
    return parse_schema(json.dumps(entry["schema"]))


def test_every_predicate_of_the_corpus_means_its_tree(shared: Path) -> None:
    wrong = []
    for case in corpus.skipping_cases():
        schema = schema_of(case)
        from_sql = normalize(bind(parse_sql(case["sql"]), schema))
        from_tree = normalize(bind(tree_of(case["expr"]), schema))
        if without_narrow_literals(from_sql) != without_narrow_literals(from_tree):
            wrong.append((case["id"], from_sql, from_tree))
    assert not wrong, wrong[:3]


def without_narrow_literals(node: n.Node) -> n.Node:
    """Literals of short and byte stand in the SQL without a suffix; their width makes casts but no difference."""
    from deltaskip.sparkexpr.nodes import transform

    match node:
        case n.Cast(n.FieldRef() as field):
            return field
        case n.Literal(int() as value) if not isinstance(value, bool):
            return n.Literal(value, type_named("bigint"))
    return transform(node, without_narrow_literals)


def test_every_predicate_of_the_corpus_can_be_evaluated(shared: Path) -> None:
    for case in corpus.skipping_cases():
        bound = bind(parse_sql(case["sql"]), schema_of(case))
        fields = {part.logical for part in n.walk(bound) if isinstance(part, n.FieldRef)}
        collated = any(isinstance(part, n.FieldRef) and part.collation for part in n.walk(bound))
        try:
            assert evaluate(bound, dict.fromkeys(fields)) in (True, False, None)
        except EvaluationError:
            assert collated, case["sql"]


@pytest.mark.parametrize("text", ["0x0aFF", "0x"])
def test_binary_literals_of_the_corpus_are_hexadecimal(text: str) -> None:
    assert literal_of(text, "binary").value == bytes.fromhex(text[2:])
