"""The predicates of the shared corpus: their SQL, parsed and bound, means what their trees say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    FieldRef,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    StartsWith,
    walk,
)
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.text.type_names import type_named
from deltaskip.sparkexpr.types.data_types import BINARY, STRING
from deltaskip.sparkexpr.types.json import parse_schema
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.casts import cast_value
from tests import corpus

UTC = zone_of("UTC")


def tree_of(expr: dict[str, Any]) -> Node:
    """The node that a tree of the corpus stands for."""
    if "col" in expr:
        return Column(tuple(expr["col"]))
    if "lit" in expr:
        return literal_of(expr["lit"], expr["type"])
    op, args = expr["op"], [tree_of(arg) for arg in expr["args"]]
    match op:
        case "and":
            return And(tuple(args))
        case "or":
            return Or(tuple(args))
        case "not":
            return Not(args[0])
        case "is null":
            return IsNull(args[0])
        case "is not null":
            return Not(IsNull(args[0]))
        case "in":
            return In(args[0], tuple(args[1:]))
        case "between":
            return And((Compare(">=", args[0], args[1]), Compare("<=", args[0], args[2])))
        case "like":
            return Like(args[0], args[1])
        case "startswith":
            return StartsWith(args[0], args[1])
        case "+" | "%":
            return Call(op, tuple(args))
        case "fn":
            return Call(expr["name"], tuple(args))
    return Compare(op, args[0], args[1])


def literal_of(value: Any, type_name: str) -> Literal:
    """A literal as the corpus writes it: text for all that JSON numbers do not hold exactly."""
    type_ = type_named(type_name)
    if value is None or isinstance(value, bool | int):
        return Literal(value, type_)
    if type_ == BINARY:
        return Literal(bytes.fromhex(value[2:]), type_)
    return Literal(cast_value(value, STRING, type_, UTC), type_)


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


def without_narrow_literals(node: Node) -> Node:
    """Literals of short and byte stand in the SQL without a suffix; their width makes casts but no difference."""
    from deltaskip.sparkexpr.nodes import transform

    match node:
        case Cast(FieldRef() as field):
            return field
        case Literal(int() as value) if not isinstance(value, bool):
            return Literal(value, type_named("bigint"))
    return transform(node, without_narrow_literals)


def test_every_predicate_of_the_corpus_can_be_evaluated(shared: Path) -> None:
    for case in corpus.skipping_cases():
        bound = bind(parse_sql(case["sql"]), schema_of(case))
        fields = {part.logical for part in walk(bound) if isinstance(part, FieldRef)}
        collated = any(isinstance(part, FieldRef) and part.collation for part in walk(bound))
        try:
            assert evaluate(bound, dict.fromkeys(fields)) in (True, False, None)
        except EvaluationError:
            assert collated, case["sql"]


@pytest.mark.parametrize("text", ["0x0aFF", "0x"])
def test_binary_literals_of_the_corpus_are_hexadecimal(text: str) -> None:
    assert literal_of(text, "binary").value == bytes.fromhex(text[2:])
