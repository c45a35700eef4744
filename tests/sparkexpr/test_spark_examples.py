"""The examples of Spark's documentation without a session: the values are Spark's, or the function is refused.

`python -m tests.sparkexpr.test_spark_examples` says how many, and which are refused.
"""

import json
from datetime import UTC, datetime
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import left_to_spark
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.types.json import parse_type
from deltaskip.sparkexpr.values.arrow_values import domain_values
from deltaskip.sparkexpr.values.calendar import format_date
from deltaskip.sparkexpr.values.variant_reading import tree_of
from tests.sparkexpr.spark_examples import ERROR, examples

REFUSED = "refused"


def found(text: str) -> tuple[t.DataType | None, Any]:
    """The type and the value; REFUSED if only Spark evaluates it, ERROR if it fails."""
    try:
        node = bind_expression(parse_sql(text), t.StructType(()))
    except PredicateError:
        return None, ERROR
    if left_to_spark(node) is not None or type_of(node) is None:
        return None, REFUSED
    try:
        [value] = domain_values(Evaluator(node).values({}, 1))
    except EvaluationError as error:
        return type_of(node), ERROR if type(error) is EvaluationError else REFUSED
    return type_of(node), shown(value, type_of(node))


def shown(value: Any, type_: t.DataType | None) -> Any:
    """A value as the answers have it: as Spark's JSON, those of some types apart."""
    if value is None:
        return None
    if type_ == t.BINARY:
        return value.hex()
    if type_ in (t.FLOAT, t.DOUBLE):
        return repr(value)
    return value if type_ in (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ) else in_json(value, type_)


def in_json(value: Any, type_: t.DataType | None) -> Any:
    """A value as to_json writes it, and a parser reads it. NULLs of structs are left out."""
    if value is None:
        return None
    match type_:
        case t.ArrayType(element):
            return [in_json(each, element) for each in value]
        case t.MapType(key, item):
            return {str(in_json(each, key)): in_json(found, item) for each, found in value}
        case t.StructType(fields):
            members = zip(fields, value, strict=True)
            return {field.name: in_json(each, field.type) for field, each in members if each is not None}
        case t.DecimalType():
            return float(value)
    if type_ == t.DATE:
        return format_date(value)
    if type_ == t.TIMESTAMP:
        return datetime.fromtimestamp(value / 1_000_000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    if type_ == t.VARIANT:
        return in_tree(tree_of(value))
    return value


def in_tree(tree: Any) -> Any:
    """The value of a variant."""
    if isinstance(tree, dict):
        return {name: in_tree(each) for name, each in tree.items()}
    if isinstance(tree, list):
        return [in_tree(each) for each in tree]
    return in_json(tree.value, tree.type)


def outcomes() -> dict[str, list[str]]:
    """The examples by what comes of them: right, refused, wrong."""
    told: dict[str, list[str]] = {"right": [], REFUSED: [], "wrong": []}
    for text, answer in examples().items():
        type_, value = found(text)
        if answer["type"] == ERROR and "st_" in text:
            # Spark has its functions of shapes only with spark.sql.geospatial.enabled.
            continue
        if value is REFUSED:
            told[REFUSED].append(text)
        elif answer["type"] == ERROR:
            told["right" if value is ERROR else "wrong"].append(text)
        else:
            same = type_ == parse_type(json.dumps(answer["type"])) and value == answer["value"]
            told["right" if same else "wrong"].append(text)
    return told


def kind_of(text: str) -> str:
    """The kind of an example by Spark's result: `atomic`, also where Spark fails, `nested`, or `intervals`."""
    type_ = examples()[text]["type"]
    if isinstance(type_, dict) or type_ == "variant":
        return "nested"
    return "intervals" if "interval" in type_ else "atomic"


def counts(told: dict[str, list[str]]) -> dict[str, dict[str, int]]:
    """How many examples of each kind came to what."""
    found = {kind: dict.fromkeys(told, 0) for kind in ("atomic", "nested", "intervals")}
    for name, texts in told.items():
        for text in texts:
            found[kind_of(text)][name] += 1
    return found


def test_no_value_is_another_than_spark_s() -> None:
    told = outcomes()
    assert not told["wrong"]
    found = counts(told)
    assert found["atomic"]["right"] >= 600
    assert found["nested"]["right"] >= 75


if __name__ == "__main__":
    told = outcomes()
    for kind, found_of in counts(told).items():
        print(f"{kind}: {found_of['right']} of {sum(found_of.values())} right, {found_of['wrong']} wrong")
    for text in told["wrong"]:
        print("wrong:", text, found(text), examples()[text])
    for text in told[REFUSED]:
        print("refused:", text)
