"""What DuckDB computes otherwise than Spark in a query: by the words and the form of its text, and by its types.

The types are those to which DuckDB has bound the query.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import ALIASES, FUNCTIONS, PRESENT, REPLACED
from deltaskip.sparkexpr.text.sql_text import SqlToken
from deltaskip.sparkexpr.values.calendar import read_timestamp
from deltaskip.table.table import DeltaTable

# Functions with the same values in DuckDB and Spark. Not among them: upper ('ß'), round (1.005), concat (NULL).
_SAME = frozenset(("abs", "ceil", "ceiling", "char_length", "coalesce", "floor", "greatest", "hour", "ifnull", "least",
                   "length", "minute", "month", "nullif", "year"))  # fmt: skip
# Aggregates whose values differ for NULL and NaN, for ties or by their formula.
_OTHER_AGGREGATES = frozenset(("any_value", "approx_count_distinct", "array_agg", "corr", "count_if", "kurtosis",
                               "listagg", "max_by", "min_by", "mode", "skewness", "string_agg"))  # fmt: skip
# Clauses in which a column is compared.
_CLAUSES = ("SELECT", "FROM", "WHERE", "ON", "USING", "GROUP", "HAVING", "ORDER", "LIMIT", "QUALIFY")
# Operators of one order in DuckDB, and of several in Spark.
_BITWISE = frozenset(("|", "&", "^", "<<"))
# Words before an operand, which cannot be an alias.
_BEFORE_OPERANDS = ("SELECT", "DISTINCT", "WHERE", "AND", "OR", "NOT", "ON", "CASE", "WHEN", "THEN", "ELSE", "BY",
                    "HAVING", "IN", "LIKE", "ILIKE", "BETWEEN")  # fmt: skip
# Expressions without a row in the table of functions: CAST rounds in DuckDB, ^ is a power and not XOR, and elements
# count from 1.
_OTHER_OPERATORS = {"::": "cast", "^": "^", "[": "[]"}
OF_SPARK = {"cast", "try_cast", *FUNCTIONS, *REPLACED, *PRESENT, *ALIASES}
"""The names of Spark's functions."""
_PLAN = "SELECT json_serialize_plan(?, skip_null := true, skip_empty := true)"
FLOAT = "FLOAT beside other numbers"
"""The meaning of a FLOAT beside another number, which DuckDB computes with as FLOAT and Spark as DOUBLE."""
TIMES = frozenset(("TIMESTAMP '…'", "DATE + INTERVAL"))
"""The meanings of values that are the same in Spark, under the type TIMESTAMP or DATE in place of TIMESTAMP_NTZ."""
_WHOLE = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"))
# Types whose values have the text of Spark.
_SAME_TEXT = _WHOLE | {"BOOLEAN", "DATE", "DECIMAL"}
_MEANS = frozenset(("avg", "mean", "median", "quantile_cont", "percentile_cont"))
# Aggregates of numbers, some of which DuckDB has of truth values, dates and times, too.
_OF_NUMBERS = _MEANS | {"stddev", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp", "variance"}
_NUMBERS = _WHOLE | {"DECIMAL", "DOUBLE", "FLOAT", "NULL"}
_ILIKE = frozenset(("~~*", "!~~*", "ilike_escape", "not_ilike_escape"))
# What values of DISTINCT, set operations, groups, partitions and orders are operands of.
_EQUAL: dict[str, Any] = {"comparison": "COMPARE_EQUAL"}
_COMPARED = {
    **dict.fromkeys(("distinct_targets", "groups", "partitions"), _EQUAL), "orders": {"comparison": "COMPARE_LESSTHAN"}
}  # fmt: skip
_EXTREMES = frozenset(("greatest", "least", "max", "min"))
_COMPARING = frozenset(("BOUND_COMPARISON", "BOUND_BETWEEN"))
# NULL inside of them is last in DuckDB and first in Spark, which has no order of maps.
_NESTED = frozenset(("ARRAY", "LIST", "MAP", "STRUCT"))
_EQUALITIES = frozenset(("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM",
                         "COMPARE_IN"))  # fmt: skip
# The digits of integers as DECIMAL in Spark.
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 20, "HUGEINT": 20}
_CONJUNCTIONS = frozenset(("CONJUNCTION_AND", "CONJUNCTION_OR"))
_MOST_DIGITS = 38
_NUMBER = regex(r"\s*[+-]?(?P<whole>\d*)(?:\.(?P<part>\d*))?(?P<power>[eE][+-]?\d+)?\s*")


def other_words(text: str, tokens: Sequence[SqlToken], floats: Collection[str]) -> list[str]:
    """Return the functions, operators and constants of Spark, each once, that may have other values in DuckDB.

    Args:
        text: The query.
        tokens: Its tokens.
        floats: The columns of type FLOAT.
    """
    found: dict[str, None] = {}
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        after = tokens[at + 1 : at + 3]
        if token.kind == "symbol":
            # A bracket after nothing that has elements begins a list.
            is_list = token.text == "[" and (before is None or (before.kind == "symbol" and before.text not in ")]"))
            if token.text in _OTHER_OPERATORS and not is_list:
                found[_OTHER_OPERATORS[token.text]] = None
            if token.text in "/%" and not (after and (after[0].is_word("NULLIF") or _exact(after[0]))):
                found[f"{token.text} by zero (write x {token.text} nullif(y, 0))"] = None
        elif token.kind == "string":
            found |= {"texts with backslashes": None} if "\\" in text[token.start : token.end] else {}
            found |= {"X'…'": None} if before is not None and before.is_word("X") and before.end == token.start else {}
            time = read_timestamp(token.text) if before is not None and before.is_word("TIMESTAMP") else None
            found |= {"TIMESTAMP with a time zone": None} if time is not None and time.zone is not None else {}
        elif token.kind == "word" and after and after[0].is_symbol("("):
            # EXISTS and FILTER look like functions, and so may types and aliases.
            is_clause = len(after) == 2 and after[1].is_word("SELECT", "WITH", "FROM", "WHERE")
            is_name = before is not None and (before.is_word("AS") or before.is_symbol("::"))
            name = token.text.lower()
            # A FLOAT as DOUBLE is the same number.
            inside = tokens[at + 2 : at + 5] if name == "cast" else []
            is_exact = [each.text.upper() for each in inside[1:]] == ["AS", "DOUBLE"] and inside[0].text in floats
            if (
                not is_clause
                and not is_name
                and not is_exact
                and name not in _SAME
                and (name in OF_SPARK or name in _OTHER_AGGREGATES)
            ):
                found[name] = None
    return list(found)


def other_forms(tokens: Sequence[SqlToken], tables: Iterable[DeltaTable]) -> list[str]:
    """Return what of the form of a query DuckDB reads otherwise. tables: Those of the query."""
    star = ["* after USING"] * _is_star_after_using(tokens, tables)
    return [*star, *_of_precedence(tokens), *_of_aliases(tokens, tables), *_of_clauses(tokens)]


def texts_of_spark(text: str, tokens: Sequence[SqlToken]) -> Iterator[SqlToken]:
    """Yield the tokens in double quotes that begin an operand, in any clause."""
    for at, token in enumerate(tokens[1:], 1):
        before = tokens[at - 1]
        begins = before.is_word(*_BEFORE_OPERANDS) or (before.kind == "symbol" and before.text not in (".", ")", "]"))
        if begins and text[token.start] == '"' and not any(each.is_symbol(".") for each in tokens[at + 1 : at + 2]):
            yield token


def other_types(connection: Any, text: str) -> list[str]:
    """Return what DuckDB computes otherwise than Spark in a query, each once.

    Args:
        connection: A connection of DuckDB that has the tables of the query.
        text: The query.
    """
    plan = parse_json(connection.execute(_PLAN, [text]).fetchone()[0])
    if plan.get("error"):
        # A query that DuckDB refuses fails where it is run.
        return ["what DuckDB does not describe"]
    found = [_meaning(node, parent) for node, parent in _expressions(plan.get("plans", []))]
    found += map(_of_subqueries, _operators(plan.get("plans", []), {}))
    return list(dict.fromkeys(filter(None, found)))


def _operators(
    plans: Iterable[dict[str, Any]], above: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each operator of a plan, and the one above it."""
    waiting = [(each, above) for each in plans]
    while waiting:
        node, above = waiting.pop()
        yield node, above
        waiting += ((each, node) for each in node.get("children", ()))


def _of_subqueries(pair: tuple[dict[str, Any], dict[str, Any]]) -> str | None:
    """What IN (SELECT …) means otherwise, of a join that marks rows with a partner, and the operator above it.

    # Spark 4.1, RewritePredicateSubquery: the value is never NULL, but for conjuncts of WHERE, where NULL is FALSE
    """
    join, above = pair
    columns = [each for each in join.get("conditions", ()) if each.get("comparison") == "COMPARE_EQUAL"]
    if join.get("join_type") != "MARK" or not columns:
        return None
    if len(columns) > 1 or any(_type(each["left"]) == "STRUCT" for each in columns):
        return "IN of several columns"
    if above.get("join_type") == "MARK":
        return None  # said of the join above
    is_filter = above.get("type") == "LOGICAL_FILTER"
    return None if is_filter and all(map(_is_mark, above.get("expressions", ()))) else "IN (SELECT …) as a value"


def _is_mark(condition: dict[str, Any]) -> bool:
    """Whether a condition has no mark of a join but as a conjunct or disjunct, maybe after NOT."""
    if condition.get("type") in _CONJUNCTIONS:
        return all(map(_is_mark, condition["children"]))
    inner = condition["children"][0] if condition.get("type") == "OPERATOR_NOT" else condition
    if inner["expression_class"] in ("BOUND_REF", "BOUND_COLUMN_REF"):
        return True
    return not any(node["expression_class"] != "BOUND_CAST" and _may_be_mark(node) for node, _ in _expressions(inner))


def _may_be_mark(node: dict[str, Any]) -> bool:
    return node["expression_class"] in ("BOUND_REF", "BOUND_COLUMN_REF") and _type(node) == "BOOLEAN"


def _expressions(plan: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each expression of a plan, and the one that it is an operand of."""
    waiting: list[tuple[Any, dict[str, Any]]] = [(plan, {})]
    while waiting:
        node, parent = waiting.pop()
        if isinstance(node, list):
            waiting += ((each, parent) for each in reversed(node))
        elif isinstance(node, dict):
            if "expression_class" in node:
                yield node, parent
            # The conditions of a join are no expressions.
            if "expression_class" in node or "comparison" in node:
                parent = node
            for key, each in reversed(node.items()):
                waiting.append((each, _COMPARED.get(key, parent)))


def _type(node: dict[str, Any]) -> str:
    """The name of the type of an expression, before it is cast for its operator."""
    if node["expression_class"] == "BOUND_CAST":
        return _type(node["child"])
    return str(_bound_type(node).get("id", "BOOLEAN"))


def _bound_type(node: dict[str, Any]) -> dict[str, Any]:
    is_constant = node["expression_class"] == "BOUND_CONSTANT"
    found: dict[str, Any] = (node["value"].get("type") if is_constant else node.get("return_type")) or {}
    return found


def _meaning(node: dict[str, Any], parent: dict[str, Any]) -> str | None:
    operands, name = [*map(_type, node.get("children", []))], str(node.get("name", "")).lower()
    if _compares(parent) and _type(node) in _NESTED:
        is_order = str(parent.get("comparison") or parent.get("type")) not in _EQUALITIES
        if is_order or _type(node) == "MAP":
            return f"{'an order' if is_order else 'a comparison'} of {_type(node)}"
    match node["expression_class"]:
        case "BOUND_CAST":
            return _of_cast(node, parent)
        case "BOUND_PARAMETER":
            return FLOAT if _type(node) == "FLOAT" else None
        case "BOUND_CONSTANT" if _type(node) == "TIMESTAMP" and not _compares(parent):
            return "TIMESTAMP '…'"
        case "BOUND_FUNCTION" | "BOUND_AGGREGATE" | "BOUND_WINDOW" if operands:
            if name in _ILIKE:
                return "ILIKE"
            if name in ("~~", "!~~") and _constant(node["children"][1]) is None:
                return "LIKE with a pattern that is not a constant"
            if (name in _EXTREMES and not _NESTED.isdisjoint(operands)) or (name == "length" and operands[0] == "LIST"):
                return f"{name} of {operands[0]}"
            if name in ("+", "-", "*") and "DECIMAL" in operands and _digits(name, node["children"]) > _MOST_DIGITS:
                return f"{name} of DECIMAL beyond {_MOST_DIGITS} digits"
            if name == "/" and "DECIMAL" in operands and not {"DOUBLE", "FLOAT"} & {*operands}:
                return "/ of DECIMAL (write x / 3e0)"
            if name in _OF_NUMBERS and operands[0] not in (_NUMBERS - {"DECIMAL"} if name in _MEANS else _NUMBERS):
                return f"{name} of {operands[0]}"
            if name in ("floor", "ceil", "ceiling") and operands[0] in ("DOUBLE", "FLOAT"):
                return f"{name} of {operands[0]}"
            if {"DATE", "INTERVAL"} == {*operands} and not _compares(parent):
                return "DATE + INTERVAL"
            given = [each["id"] for each in node.get("arguments", ())]
            return "the difference of dates" if name == "-" and given == ["DATE", "DATE"] else None
    return None


def _digits(operator: str, operands: Iterable[dict[str, Any]]) -> int:
    """The digits that Spark gives to a sum, difference or product of DECIMAL, more than which lose their last ones."""
    digits, scales = list[int](), list[int]()
    for each in operands:
        inner = each["child"] if each["expression_class"] == "BOUND_CAST" else each
        info = _bound_type(inner).get("type_info", {})
        digits.append(info.get("width", _DIGITS.get(_type(inner), 0)))
        scales.append(info.get("scale", 0))
    if operator == "*":
        return sum(digits) + 1
    return max(scales) + max(digit - scale for digit, scale in zip(digits, scales, strict=True)) + 1


def _compares(parent: dict[str, Any]) -> bool:
    """Whether an expression only compares its operands, or has them as times with a zone."""
    compares = parent.get("expression_class") in _COMPARING or parent.get("type") == "COMPARE_IN"
    return compares or "comparison" in parent or parent.get("return_type", {}).get("id") == "TIMESTAMP WITH TIME ZONE"


def _constant(node: dict[str, Any]) -> dict[str, Any] | None:
    """The constant that an expression is, maybe cast; None for another expression."""
    while node["expression_class"] == "BOUND_CAST":
        node = node["child"]
    return node if node["expression_class"] == "BOUND_CONSTANT" else None


def _of_cast(node: dict[str, Any], parent: dict[str, Any]) -> str | None:
    to, given, constant = node["return_type"], _type(node["child"]), _constant(node["child"])
    if to["id"] == given or given == "NULL" or (constant is not None and constant["value"].get("is_null")):
        return None
    if to["id"] == "FLOAT":
        return None if _compares(parent) and constant is not None and _is_float(constant) else FLOAT
    if to["id"] == "VARCHAR":
        # Elsewhere, Spark reads the string as the other type.
        return None if parent.get("name") == "||" and given in _SAME_TEXT else f"{given} as a string"
    if given != "VARCHAR":
        # In Spark, no number is a truth value. A constant stands for a WHERE that a scan has.
        is_other = given == "BOOLEAN" or (to["id"] == "BOOLEAN" and constant is None)
        return f"{given} as {to['id']}" if is_other else None
    if to["id"] == "TIMESTAMP" and constant is not None:
        return None if _compares(parent) else "TIMESTAMP '…'"
    if constant is None:
        return f"a string as {to['id']}"
    text = str(constant["value"].get("value", ""))
    scale = to.get("type_info", {}).get("scale", 0) if to["id"] == "DECIMAL" else 0
    number = _NUMBER.fullmatch(text)
    fits = to["id"] not in {*_WHOLE, "DECIMAL", "DOUBLE"} or number is not None
    if number is not None and to["id"] != "DOUBLE":
        fits = not number["power"] and bool(number["whole"]) and len(number["part"] or "") <= scale
    return None if fits else f"'{text}' as {to['id']}"


def _is_float(constant: dict[str, Any]) -> bool:
    """Whether a constant is a number that FLOAT represents exactly."""
    try:
        scale = _bound_type(constant).get("type_info", {}).get("scale", 0)
        exact = Fraction(constant["value"].get("value", 0)) / 10**scale
        return bool(struct.unpack("f", struct.pack("f", exact))[0] == exact)
    except (ValueError, TypeError, OverflowError):
        return False


def _with_clauses(tokens: Sequence[SqlToken]) -> Iterator[tuple[str, SqlToken]]:
    """Each token, after the word of the clause that it is in."""
    clause = "SELECT"
    for token in tokens:
        clause = token.text.upper() if token.is_word(*_CLAUSES) else clause
        yield clause, token


def _exact(token: SqlToken) -> Fraction | None:
    """The value of a token that is a number; None for another."""
    try:
        return Fraction(token.text) if token.kind == "number" else None
    except ValueError:  # such as 1.5D
        return None


def _of_precedence(tokens: Sequence[SqlToken]) -> Iterator[str]:
    """The operators without parentheses between them that DuckDB reads in another order."""
    outer: list[list[str]] = [[]]
    for token in [*tokens, None]:
        is_symbol = token is not None and token.kind == "symbol" and token.text[0] in ",)=<>!" and token.text != "<<"
        if token is None or is_symbol or token.is_word(*_BEFORE_OPERANDS, *_CLAUSES, "AS", "END"):
            found = outer[-1]
            after = {*found[found.index("||") :]} if "||" in found else set()
            if len(_BITWISE & {*found}) > 1 or after & {"+", "-", *_BITWISE}:
                yield " beside ".join(dict.fromkeys(found))
            outer[-1] = []
        if token is not None and token.kind == "symbol":
            if token.text == "(":
                outer.append([])
            elif token.text == ")" and len(outer) > 1:
                outer.pop()
            elif token.text in _BITWISE or token.text in ("||", "+", "-"):
                outer[-1].append(token.text)


def _of_clauses(tokens: Sequence[SqlToken]) -> Iterator[str]:
    """Totals, which DuckDB has of no rows, too, and outer joins after a comma, which in Spark join all before them."""
    for at, token in enumerate(tokens):
        if token.is_word("ROLLUP", "CUBE", "SETS"):
            yield f"{token.text.upper()} of no rows"
        if token.is_word("RIGHT", "FULL") and any(each.is_word("OUTER", "JOIN") for each in tokens[at + 1 : at + 2]):
            start = max((i for i in range(at) if tokens[i].is_word("FROM")), default=0)
            if any(each.is_symbol(",") for each in tokens[start:at]):
                yield f"{token.text.upper()} JOIN after a comma"


def _of_aliases(tokens: Sequence[SqlToken], tables: Iterable[DeltaTable]) -> Iterator[str]:
    """The aliases in expressions of ORDER BY that are also columns, which DuckDB takes there and Spark does not."""
    columns = {t.fold_name(field.name) for table in tables for field in table.schema.fields}
    aliases = {t.fold_name(tokens[at + 1].text) for at, token in enumerate(tokens[:-1]) if token.is_word("AS")}
    for clause, group in groupby(_with_clauses(tokens), lambda pair: pair[0]):
        item, depth = list[SqlToken](), 0
        for token in [*(token for _, token in group), None] if clause == "ORDER" else ():
            symbol = token.text if token is not None and token.kind == "symbol" else ""
            depth += (symbol == "(") - (symbol == ")")
            if token is not None and depth >= 0 and (depth or symbol != ","):
                item += [] if token.is_word("ORDER", "BY", "ASC", "DESC", "NULLS", "FIRST", "LAST") else [token]
                continue
            own = [at for at, each in enumerate(item) if each.kind in ("word", "name")]
            own = [at for at in own if not at or not item[at - 1].is_symbol(".")]
            names = {t.fold_name(item[at].text) for at in own} & aliases & columns
            if len(item) > 1 and names:
                yield f"{min(names)} in ORDER BY"
            if depth < 0:
                break
            item = []


def _is_star_after_using(tokens: Sequence[SqlToken], tables: Iterable[DeltaTable]) -> bool:
    """Whether `*` has the columns of USING first in Spark only, which is sure where they are first in their tables."""
    stars = (at for at, token in enumerate(tokens) if token.is_symbol("*") and at)
    if not any(tokens[at - 1].is_word("SELECT", "DISTINCT") or tokens[at - 1].is_symbol(",") for at in stars):
        return False
    if any(token.is_word("NATURAL") for token in tokens):
        return True
    columns = [[t.fold_name(field.name) for field in table.schema.fields] for table in tables]
    for at, token in enumerate(tokens[:-1]):
        if token.is_word("USING") and tokens[at + 1].is_symbol("("):
            end = next((i for i, each in enumerate(tokens) if i > at and each.is_symbol(")")), len(tokens))
            keys = [t.fold_name(each.text) for each in tokens[at + 2 : end] if not each.is_symbol(",")]
            if any(names[: len(keys)] != keys for names in columns if set(keys) <= set(names)):
                return True
    return False
