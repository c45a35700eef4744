"""The parser against Spark's: the same tree for every text, or the same refusal."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from deltaskip.errors import DeltaSkipError, PredicateError
from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions.by_name import function_node
from deltaskip.sparkexpr.functions.times import FIELDS
from deltaskip.sparkexpr.text.type_names import type_named
from deltaskip.sparkexpr.types.json import parse_type
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.calendar import parse_date, zone_of
from deltaskip.sparkexpr.values.casts import cast_value
from deltaskip.sparkexpr.values.floats import nearest_float
from tests.each import each
from tests.extent import extent, seed
from tests.sparkexpr.text.spark_trees import REFUSED, generated, spark_parser, stored, tree_of
from tests.sparkexpr.types.test_data_types import without_metadata

UTC = zone_of("UTC")
TREES = stored()
ALL = {text: tree for trees in TREES.values() for text, tree in trees.items()}

_COMPARISONS = {"EqualTo": "=", "LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">"}
_COMPARISONS |= {"GreaterThanOrEqual": ">=", "EqualNullSafe": "<=>"}
_CALLS = {"Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "Remainder": "%", "IntegralDivide": "div"}
_CALLS |= {"UnaryMinus": "negative", "UnaryPositive": "positive", "BitwiseNot": "~", "Concat": "concat"}
_CALLS |= {"BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^", "ShiftLeft": "shiftleft", "ShiftRight": "shiftright"}
_CALLS |= {"ShiftRightUnsigned": "shiftrightunsigned"}
_CALLS |= {"RLike": "rlike"}
_TRIMS = {"StringTrim": "trim", "StringTrimLeft": "ltrim", "StringTrimRight": "rtrim"}
# What deltaskip refuses by name, because a predicate of rows cannot have it, and Spark refuses after parsing.
NAMED = {
    "function, which a predicate of rows cannot call": ("UnresolvedFunction", "AggregateExpression"),
    " takes ": ("UnresolvedFunction", "CreateNamedStruct"),
    "a literal has no fields": ("UnresolvedExtractValue",),
    "a star is not a value": ("UnresolvedStar",),
    "a lambda function is an argument of a function": ("LambdaFunction",),
    "has no value: pass params": ("NamedParameter", "PosParameter"),
}
# What is read otherwise than by Spark, and why.
KNOWN = {
    r"(?is)\b(array|map|struct)\b.*>>": "Spark takes `>>` after one of these words for the end of a type",
    r"(?i)LIKE (ANY|SOME|ALL) \((CASE|~)": "Spark evaluates constant patterns while it parses",
    r"-> .* IS NULL IS NULL": "Spark takes a lambda function for the operand of a predicate",
    r"(?i)LIKE (ANY|SOME|ALL) \(.*COLLATE": "Spark fails to type collated constants, and so to parse the text",
    r"(?i)\btime\(": "Spark 4.1 refuses some casts to TIME, a type that it does not have yet, while it parses",
    r"position\(.* IN \(.*, .*, ": "a call of position with a predicate of IN, which Spark refuses for its arguments",
    r"ILIKE ANY": "Spark compares lower(c) instead",
    r"SystemV": "Java knows a zone that is left to Spark",
    r"(?i)(datediff|timestampadd)\((DAY|HOUR|MONTH)": "an argument with a predicate makes the unit a column",
    r"\$\{": "Spark replaces variables before it parses",
}


class _Unlike(Exception):
    """A tree that has no node."""


def node_of(tree: Sequence[Any]) -> n.Node:
    """The node of a tree of Spark, with an Opaque of its columns for what has none."""
    try:
        return _node(tree)
    except _Unlike:
        return n.Opaque("", tuple(sorted(_columns(tree))))


def _node(tree: Sequence[Any]) -> n.Node:
    kind, kept, *children = tree
    nodes = [node_of(child) for child in children]
    match kind, nodes:
        case "UnresolvedAttribute", _:
            return n.Column(tuple(kept.get("nameParts", "[]")[1:-1].split(", ")))
        case "Literal", _:
            return _literal(kept.get("value"), kept["dataType"])
        case "And", _:
            return n.And(tuple(nodes))
        case "Or", _:
            return n.Or(tuple(nodes))
        case "Not", [child]:
            return n.Not(child)
        case "IsNull" | "IsUnknown", [child]:
            return n.IsNull(child)
        case "IsNotNull" | "IsNotUnknown", [child]:
            return n.Not(n.IsNull(child))
        case "In", [child, *values]:
            if len(children) == 2 and children[1][0] == "ScalarSubquery":
                raise _Unlike
            return n.In(child, tuple(values))
        case "Like" | "ILike", [child, pattern]:
            return n.Like(child, pattern, kept["escape"], kind == "ILike")
        case "Cast", [child]:
            return n.Cast(child, _type(kept["dataType"]), kept["try"])
        case "LikeAny" | "LikeAll" | "NotLikeAny" | "NotLikeAll", [child]:
            likes = [n.Like(child, n.Literal(pattern, t.STRING)) for pattern in kept["patterns"]]
            legs = tuple(map(n.Not, likes) if kind.startswith("Not") else likes)
            return legs[0] if len(legs) == 1 else n.And(legs) if kind.endswith("All") else n.Or(legs)
        case "CaseWhen", _:
            pairs = list(zip(nodes[: len(nodes) // 2 * 2 : 2], nodes[1::2], strict=True))
            return n.Case(tuple(pairs), nodes[-1] if kept["otherwise"] else None)
        case "Collate", [child, _]:
            return n.Collate(child, children[1][1]["collationName"][1:-1].replace(", ", "."))
        case "UnresolvedFunction", _:
            return _function(kept, children, nodes)
        case "UnresolvedExtractValue", [child, key]:
            return n.Call("[]", (child, key))
        case "Alias", [child] if children[0][0] == "SemiStructuredExtract":
            return child
        case "SemiStructuredExtract", [child]:
            if re.search(r"[\s\\`\"]", kept["field"]):
                raise _Unlike
            return n.Call("variant_get", (child, n.Literal(kept["field"], t.STRING)))
        case "UnresolvedNamedLambdaVariable", _:
            # Every name in a lambda function is one, also that of a column.
            return n.Variable("\0".join(kept["nameParts"][1:-1].split(", ")))
        case "LambdaFunction", [body, *names]:
            if children[0][0] == "LambdaFunction":
                raise _Unlike
            return n.Lambda(tuple(name.name for name in names if isinstance(name, n.Variable)), body)
        case "StringLocate", [part, text, _]:
            return function_node("position", (part, text))
        case "StringTrim" | "StringTrimLeft" | "StringTrimRight", _:
            # The characters, which Spark keeps behind the text, are the first argument.
            return function_node(_TRIMS[kind], tuple(reversed(nodes)))
        case "Substring", _:
            given = nodes if nodes[-1] != n.Literal(2**31 - 1, type_named("int")) else nodes[:2]
            return function_node("substring", tuple(given))
        case "Overlay", _:
            given = nodes if nodes[-1] != n.Literal(-1, type_named("int")) else nodes[:3]
            return function_node("overlay", tuple(given))
    if kind in _COMPARISONS:
        return n.Compare(_COMPARISONS[kind], *nodes)
    if kind in _CALLS:
        return n.Call(_CALLS[kind], tuple(nodes))
    if kind in ("TimestampAdd", "TimestampDiff"):
        return n.Call(kind.lower(), (n.Literal(kept["unit"].upper(), t.STRING), *nodes))
    raise _Unlike


def _function(kept: dict[str, Any], children: Sequence[Any], nodes: Sequence[n.Node]) -> n.Node:
    parts = kept["nameParts"][1:-1].split(", ")
    arguments = {child[0] for child in children}
    if len(parts) > 1 or {"isDistinct", "ignoreNulls", "filter"} & kept.keys():
        raise _Unlike
    if arguments & {"UnresolvedStar", "NamedArgumentExpression", "SortOrder"}:
        raise _Unlike
    name = parts[0].lower()
    if name in ("dateadd", "datediff", "date_add", "date_diff", "timestampadd", "timestampdiff") and len(nodes) == 3:
        raise _Unlike
    if name == "extract" and len(nodes) == 2 and isinstance(nodes[0], n.Literal):
        return _extract(nodes)
    return function_node(name, tuple(nodes))


def _extract(nodes: Sequence[n.Node]) -> n.Node:
    field = nodes[0]
    assert isinstance(field, n.Literal)
    if str(field.value).upper() not in FIELDS:
        raise _Unlike
    return function_node("extract", tuple(nodes))


def _literal(value: Any, type_name: str) -> n.Literal:
    match type_name:
        case "void":
            return n.Literal(None, t.VOID)
        case "boolean":
            return n.Literal(value == "true", t.BOOLEAN)
        case "binary":
            return n.Literal(bytes.fromhex(value[2:-1]), t.BINARY)
        case "date":
            return n.Literal(parse_date(value), t.DATE)
        case "timestamp":
            return n.Literal(cast_value(value, t.STRING, t.TIMESTAMP, UTC), t.TIMESTAMP)
        case "time(6)":
            raise _Unlike
    if type_name.startswith("interval"):
        return n.Literal(int(value), t.UnknownType(f'"{type_name}"'))
    type_ = _type(type_name)
    if type_name in ("double", "float"):
        return n.Literal(nearest_float(Decimal(value)) if type_name == "float" else float(value), type_)
    if type_name.startswith("decimal"):
        return n.Literal(Decimal(value), type_)
    return n.Literal(value if type_ == t.STRING else int(value), type_)


def _type(name: Any) -> t.DataType:
    """A type of a cast. A cast to void, or to a type with a collation, a length or no fields, has no node."""
    try:
        found = type_named(name) if isinstance(name, str) else parse_type(json.dumps(name))
    except DeltaSkipError:
        raise _Unlike from None
    for inner in t.nested_types(found):
        odd = isinstance(inner, t.StructType) and (
            not inner.fields
            or len({fold_name(name) for name in inner.names}) < len(inner.names)
            or any(set(each.metadata) - {"comment"} for each in inner.fields)
        )
        if odd or inner == t.VOID or isinstance(inner, t.UnknownType):
            raise _Unlike
    return without_metadata(found)


def _columns(tree: Sequence[Any]) -> set[tuple[str, ...]]:
    kind, kept, *children = tree
    if kind == "UnresolvedAttribute":
        return {tuple(kept.get("nameParts", "[]")[1:-1].split(", "))}
    if kind == "LambdaFunction":
        bound = {child[1]["nameParts"][1:-1] for child in children[1:]}
        return {parts for parts in _columns(children[0]) if parts[0] not in bound}
    if kind == "UnresolvedNamedLambdaVariable":
        return {tuple(kept["nameParts"][1:-1].split(", "))}
    return {parts for child in children for parts in _columns(child)}


def scoped(node: n.Node, bound: frozenset[str] = frozenset()) -> n.Node:
    """The node with columns in place of the variables that no lambda function around them binds."""
    match node:
        case n.Lambda(names, body):
            return n.Lambda(names, scoped(body, bound | {name.lower() for name in names}))
        case n.Variable(name):
            first, *fields = name.split("\0")
            if first.lower() not in bound:
                return n.Column((first, *fields))
            found: n.Node = n.Variable(first)
            for field in fields:
                found = n.Call("[]", (found, n.Literal(field, t.STRING)))
            return found
        case n.Opaque(sql, columns):
            return n.Opaque(sql, tuple(parts for parts in columns if parts[0].lower() not in bound))
    return n.transform(node, lambda child: scoped(child, bound))


def canonical(node: n.Node) -> n.Node:
    """The node in the one form in which Spark's trees and the parser's can be compared."""
    if isinstance(node, n.Opaque):
        return n.Opaque("", tuple(sorted({parts for parts in node.columns if parts[0].lower() != "current_date"})))
    node = n.transform(node, canonical)
    match node:
        case n.Compare("!=", left, right):
            return n.Not(n.Compare("=", left, right))
        case n.Call("between", (child, low, high)):
            return canonical(n.And((n.Compare(">=", child, low), n.Compare("<=", child, high))))
        case n.And(children):
            return n.And(
                tuple(leg for each in children for leg in (each.children if isinstance(each, n.And) else (each,)))
            )
        case n.Or(children):
            return n.Or(
                tuple(leg for each in children for leg in (each.children if isinstance(each, n.Or) else (each,)))
            )
        case n.Cast(n.Literal(str() as text), type_) if type_ == t.TIMESTAMP:
            try:
                return n.Literal(cast_value(text, t.STRING, t.TIMESTAMP, UTC), t.TIMESTAMP)
            except (EvaluationError, Undecided):
                return node
        case n.Call("struct" | "named_struct"):
            return canonical(n.Opaque("", n.columns_of(node)))
        case n.In(child, values):
            return n.In(child, tuple(values))
    return node


def problem(text: str, tree: Any) -> str:
    """How the parser's answer to a text differs from Spark's tree; "" if it does not."""
    found = _difference(text, tree)
    return "" if found and any(re.search(pattern, text) for pattern in KNOWN) else found


def _difference(text: str, tree: Any) -> str:
    try:
        node = parse_sql(text)
    except PredicateError as error:
        if tree == REFUSED or tree[0] in ("MultiAlias", "Alias"):
            return ""
        kinds = _kinds(tree)
        for reason, classes in NAMED.items():
            if reason in str(error).partition("; in: ")[0] and kinds & set(classes):
                return ""
        return f"refused: {error}"
    if tree == REFUSED:
        return f"accepted: {node}"
    found, wanted = canonical(node), canonical(scoped(node_of(tree)))
    if _kinds(tree) & {"ScalarSubquery", "ListQuery", "Exists"}:
        # The columns of queries are not in Spark's tree.
        found, wanted = _nameless(found), _nameless(wanted)
    if found == wanted:
        return ""
    return f"found {found}, wanted {wanted}"


def _nameless(node: n.Node) -> n.Node:
    return n.Opaque("") if isinstance(node, n.Opaque) else n.transform(node, _nameless)


def _kinds(tree: Sequence[Any]) -> set[str]:
    return {tree[0], *(kind for child in tree[2:] for kind in _kinds(child))}


@pytest.mark.parametrize("kind", TREES)
def test_the_trees_are_spark_s(kind: str) -> None:
    def check(case: tuple[str, Any]) -> None:
        found = problem(*case)
        assert not found, found

    each(TREES[kind].items(), check)


def test_there_are_thousands_of_texts_and_few_exceptions() -> None:
    accepted = [text for text, tree in ALL.items() if tree != REFUSED]
    assert len(ALL) > 8000
    assert len(accepted) > 6000
    differing = [text for text, tree in ALL.items() if _difference(text, tree)]
    assert len(differing) < 20, differing


def test_most_texts_have_a_node_without_opaque_parts() -> None:
    texts = [text for text, tree in TREES["examples"].items() if tree != REFUSED]
    opaque = [text for text in texts if any(isinstance(part, n.Opaque) for part in _parts(text))]
    assert len(opaque) < len(texts) / 4


def _parts(text: str) -> list[n.Node]:
    try:
        return list(n.walk(parse_sql(text)))
    except PredicateError:
        return []


@pytest.fixture(scope="module")
def parser(spark: Any) -> Any:
    """The parser of the session."""
    if not spark.version.startswith("4.1."):
        pytest.skip("the stored trees are those of Spark 4.1")
    return spark_parser(spark)


@pytest.mark.spark
def test_spark_still_makes_these_trees_and_those_of_other_texts(parser: Any) -> None:
    for text in list(ALL)[:: extent(120, 1)]:
        assert tree_of(parser, text) == ALL[text], text
    other = {text: tree_of(parser, text) for text in generated(seed(), extent(100, 5000))}
    each(other.items(), lambda case: _nothing(problem(*case)))


def _nothing(found: str) -> None:
    assert not found, found


@pytest.mark.spark
def test_spark_reads_the_text_of_opaque_parts_with_their_columns(parser: Any) -> None:
    texts = list(
        dict.fromkeys(p.sql for text in list(ALL)[:: extent(5, 1)] for p in _parts(text) if type(p) is n.Opaque)
    )
    assert len(texts) > 50

    def check(sql: str) -> None:
        tree = tree_of(parser, sql)
        assert tree != REFUSED
        if not _kinds(tree) & {"ScalarSubquery", "ListQuery", "Exists"}:
            found = {parts for part in _parts(sql) for parts in n.columns_of(part)}
            assert found == _columns(tree) - {("current_date",)}

    each(texts, check)
