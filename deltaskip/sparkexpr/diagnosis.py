"""Probable and certain mistakes in a predicate, such as constants that fail and comparisons with NULL.

Spark's optimizer evaluates constants before it reads a row. In ANSI mode it raises the error of a constant outside the
branches of conditional expressions, even in `false AND id = 'abc'`.

# Spark 4.1, ConstantFolding.tryFold
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS
from deltaskip.sparkexpr.functions.spark_functions import FUNCTION_NAMES, is_unknown, meant_function
from deltaskip.sparkexpr.literal_list import has_null, nodes_in
from deltaskip.sparkexpr.nodes import (
    And,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    FieldRef,
    In,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
    StartsWith,
    children_of,
    is_null_constant,
    operations,
)
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.sql_text import line_and_column, quoted_name, sql_tokens
from deltaskip.sparkexpr.text.type_names import EXAMPLES, sql_name
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, STRING, StructType
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.floats import to_float

# A method of a column, as in Python.
_METHOD = re.compile(r"([A-Za-z_]\w*)\.(\w+)\((.*\))")
_WHY = ", because a comparison with NULL is NULL"


def failing_constant(bound: Node, time_zone: str) -> tuple[Node, str] | None:
    """Return the first constant of a bound predicate that Spark fails to evaluate in ANSI mode, and why.

    None if no constant fails, or if Spark may evaluate it to a value that deltaskip does not know.
    """
    for leaf in _leaves(bound):
        for part in _always_evaluated(leaf):
            try:
                evaluate(part, {}, time_zone)
            except Undecided:
                continue
            except EvaluationError as error:
                return part, f"{str(error).rstrip('.')}{_cure(part)}; in: {to_sql(leaf)}"
    return None


def never_true(bound: Node) -> Iterator[str]:
    """Yield a sentence for each part of a bound predicate that is never TRUE, such as a comparison with NULL."""
    match bound:
        case And(children) | Or(children):
            for child in children:
                yield from never_true(child)
        case Not(In(child, values)) if len(values) > 1 and has_null(values):
            yield f"{to_sql(child)} NOT IN (…, NULL) is never TRUE: remove NULL from the list."
        case Not(child):
            yield from never_true(child)
        case Compare(op, left, right) if op != "<=>" and (is_null_constant(left) or is_null_constant(right)):
            other = left if is_null_constant(right) else right
            if not is_null_constant(other):
                test = "IS NOT NULL" if op == "!=" else "IS NULL"
                yield f"{to_sql(bound)} is never TRUE{_WHY}: use {to_sql(other)} {test}."
        case Compare(
            ("=" | "<=>") as op, Cast(FieldRef(type=of) as column, target), Literal(float() as value)
        ) | Compare(("=" | "<=>") as op, Literal(float() as value), Cast(FieldRef(type=of) as column, target)) if (
            of == FLOAT and target == DOUBLE and value == value != to_float(value)
        ):
            yield (
                f"{to_sql(column)} {op} {value} is never TRUE, because {to_sql(column)} is a FLOAT, and no FLOAT is "
                f"{value}: write CAST({value} AS FLOAT)."
            )
        case In(child, tuple(values)) if (
            values and all(is_null_constant(value) for value in values) and not is_null_constant(child)
        ):
            yield f"{to_sql(bound)} is never TRUE{_WHY}: use {to_sql(child)} IS NULL."


def quoted_names(parsed: Node, schema: StructType) -> Iterator[str]:
    """Yield a sentence for each string that is compared with constants and equals the name of a column."""
    names = {fold_name(field.name) for field in schema.fields}
    for part in operations(parsed):
        match part:
            case Compare(_, Literal() as left, Literal() as right):
                texts = [left, right]
            case In(Literal() as left) | Like(Literal() as left):
                texts = [left]
            case _:
                continue
        for each in texts:
            if isinstance(each.value, str) and fold_name(each.value) in names:
                yield (
                    f"{to_sql(each)} is a text, as everything in single or double quotes, and not the column: write "
                    f"{quoted_name(each.value)} for the column."
                )


def cast_strings(parsed: Node, bound: Node) -> Iterator[str]:
    """Yield a sentence for each comparison of a string column with a literal of another type, without a cast."""
    plain: set[tuple[str, ...]] = set()
    for part in operations(parsed):
        match part:
            case Compare(_, Column(parts), Literal(value)) | Compare(_, Literal(value), Column(parts)):
                plain |= set() if value is None or isinstance(value, str) else {tuple(map(str.lower, parts))}
    for part in operations(bound) if plain else ():
        match part:
            case Compare(_, Cast(FieldRef(logical, _, of) as column, target), Literal() as literal) | Compare(
                _, Literal() as literal, Cast(FieldRef(logical, _, of) as column, target)
            ) if of == STRING and tuple(map(str.lower, logical)) in plain:
                name, value = to_sql(column), to_sql(literal)
                yield (
                    f"{name} is a STRING, and Spark casts each of its values to {sql_name(target)} to compare it with "
                    f"{value}, which skips no file and fails for other texts: compare it with a string."
                )


def unknown_functions(parsed: Node) -> Iterator[tuple[str, str]]:
    """Yield the name of each function that Spark does not have, and a sentence about it."""
    for part in operations(parsed):
        if isinstance(part, Call) and is_unknown(part.name):
            yield (
                part.name,
                f"{part.name} is not a built-in function of Spark, so {to_sql(part)} skips no file; without a "
                f"user-defined function of this name, Spark fails.{meant_function(part.name)}",
            )
        elif (
            isinstance(part, Opaque) and (method := _METHOD.fullmatch(part.sql)) and method[2].lower() in FUNCTION_NAMES
        ):
            column, function, rest = method.groups()
            written = f"{function}({column}{'' if rest == ')' else ', '}{rest}"
            yield (
                f"{column}.{function}",
                f"{part.sql} is a function of the database {column} in Spark, so that it skips no file. Did you mean "
                f"{written}?",
            )


def or_meant(where: object) -> str:
    """Return a sentence, after a blank, about || or | in a predicate with an error; "" for other predicates."""
    tokens = sql_tokens(where) if isinstance(where, str) else ()
    symbols = {token.text for token in tokens if token.kind == "symbol"}
    for symbol, meaning in (("||", "joins texts"), ("|", "is the OR of the bits of numbers")):
        if symbol in symbols:
            return f" In Spark SQL {symbol} {meaning}: write OR if that is meant."
    return ""


def place_in_text(constant: Node, where: object) -> str:
    """Return line and column of a failing constant in the SQL text, after a blank; "" if they are not known."""
    constants = [child for part in operations(constant) for child in children_of(part) if isinstance(child, Literal)]
    texts = [part.value for part in constants if isinstance(part.value, str)]
    if not isinstance(where, str) or len(texts) != 1 or where.count(f"'{texts[0]}'") != 1:
        return ""
    line, column = line_and_column(where, where.index(f"'{texts[0]}'"))
    return f" at line {line}, column {column}"


def _leaves(node: Node) -> Iterator[Node]:
    match node:
        case And(children) | Or(children):
            for child in children:
                yield from _leaves(child)
        case Not(child):
            yield from _leaves(child)
        case _:
            yield node


def _always_evaluated(node: Node) -> Iterator[Node]:
    """The parts of a leaf that have only constant operands and that no condition guards."""
    match node:
        case Literal() | FieldRef() | Opaque() | Case() | Call("coalesce") | Cast(safe=True):
            return
        case In(child, values):
            pending = [child, *(value for value in nodes_in(values) if not isinstance(value, Literal))]
            constant = isinstance(child, Literal) and len(pending) == 1
        case _:
            pending = list(children_of(node))
            constant = all(isinstance(child, Literal) for child in pending)
    if isinstance(node, Like) and isinstance(node.pattern, Literal):
        # A malformed pattern fails for any string.
        yield Like(Literal("", STRING), node.pattern, node.escape)
    if constant and pending and _has_value(node):
        yield node
    for child in pending:
        yield from _always_evaluated(child)


def _has_value(node: Node) -> bool:
    if isinstance(node, Call):
        return node.name in FUNCTIONS and node.type is not None
    return isinstance(node, Cast | Compare | Like | StartsWith | In | Not) or not isinstance(node, Collate)


def _cure(part: Node) -> str:
    if not isinstance(part, Cast) or type_of(part.child) != STRING:
        return ""
    example = EXAMPLES.get(part.type)
    wanted = f"write {example}" if example else f"write a value of type {sql_name(part.type)}"
    return f" ({wanted}, or {to_sql(Cast(part.child, part.type, True))} for NULL)"
