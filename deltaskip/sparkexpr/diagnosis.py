"""Probable and certain mistakes in a predicate, such as constants that fail and comparisons with NULL.

Spark's optimizer evaluates constants before it reads a row. In ANSI mode it raises the error of a constant outside the
branches of conditional expressions, even in `false AND id = 'abc'`.

# Spark 4.1, ConstantFolding.tryFold
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS
from deltaskip.sparkexpr.functions.spark_functions import FUNCTION_NAMES, is_unknown, meant_function
from deltaskip.sparkexpr.literal_list import has_null, nodes_in
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.sql_text import line_and_column, quoted_name, sql_tokens
from deltaskip.sparkexpr.text.type_names import EXAMPLES, sql_name
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, STRING, StructType
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.floats import to_float

# A method of a column, as in Python.
_METHOD = regex(r"([A-Za-z_]\w*)\.(\w+)\((.*\))")
_WHY = ", because a comparison with NULL is NULL"


def failing_constant(bound: n.Node, time_zone: str) -> tuple[n.Node, str] | None:
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


def never_true(bound: n.Node) -> Iterator[str]:
    """Yield a sentence for each part of a bound predicate that is never TRUE, such as a comparison with NULL."""
    for leaf in _leaves(bound, _lists_null):
        yield from _never_true(leaf)


def _lists_null(node: n.Node) -> bool:
    """Whether a node is NOT IN over a list with NULL and other values."""
    return (
        isinstance(node, n.Not)
        and isinstance(node.child, n.In)
        and (len(node.child.values) > 1 and has_null(node.child.values))
    )


def _never_true(bound: n.Node) -> Iterator[str]:
    match bound:
        case n.Not(n.In(child)):
            yield f"{to_sql(child)} NOT IN (…, NULL) is never TRUE: remove NULL from the list."
        case n.Compare(op, left, right) if op != "<=>" and (n.is_null_constant(left) or n.is_null_constant(right)):
            other = left if n.is_null_constant(right) else right
            if not n.is_null_constant(other):
                test = "IS NOT NULL" if op == "!=" else "IS NULL"
                yield f"{to_sql(bound)} is never TRUE{_WHY}: use {to_sql(other)} {test}."
        case n.Compare(
            ("=" | "<=>") as op, n.Cast(n.FieldRef(type=of) as column, target), n.Literal(float() as value)
        ) | n.Compare(
            ("=" | "<=>") as op, n.Literal(float() as value), n.Cast(n.FieldRef(type=of) as column, target)
        ) if of == FLOAT and target == DOUBLE and value == value != to_float(value):
            yield (
                f"{to_sql(column)} {op} {value} is never TRUE, because {to_sql(column)} is a FLOAT, and no FLOAT is "
                f"{value}: write CAST({value} AS FLOAT)."
            )
        case n.In(child, tuple(values)) if (
            values and all(n.is_null_constant(value) for value in values) and not n.is_null_constant(child)
        ):
            yield f"{to_sql(bound)} is never TRUE{_WHY}: use {to_sql(child)} IS NULL."


def quoted_names(parsed: Iterable[n.Node], schema: StructType) -> Iterator[str]:
    """Yield a sentence for each string that is compared with constants and equals the name of a column.

    parsed: The operations of the predicate as written.
    """
    names = {fold_name(field.name) for field in schema.fields}
    for part in parsed:
        match part:
            case n.Compare(_, n.Literal() as left, n.Literal() as right):
                texts = [left, right]
            case n.In(n.Literal() as left) | n.Like(n.Literal() as left):
                texts = [left]
            case _:
                continue
        for each in texts:
            if isinstance(each.value, str) and fold_name(each.value) in names:
                yield (
                    f"{to_sql(each)} is a text, as everything in single or double quotes, and not the column: write "
                    f"{quoted_name(each.value)} for the column."
                )


def cast_strings(parsed: Iterable[n.Node], bound: n.Node) -> Iterator[str]:
    """Yield a sentence for each comparison of a string column with a literal of another type, without a cast.

    parsed: The operations of the predicate as written.
    """
    plain: set[tuple[str, ...]] = set()
    for part in parsed:
        match part:
            case n.Compare(_, n.Column(parts), n.Literal(value)) | n.Compare(_, n.Literal(value), n.Column(parts)):
                plain |= set() if value is None or isinstance(value, str) else {tuple(map(str.lower, parts))}
    for part in n.operations(bound) if plain else ():
        match part:
            case n.Compare(_, n.Cast(n.FieldRef(logical, _, of) as column, target), n.Literal() as literal) | n.Compare(
                _, n.Literal() as literal, n.Cast(n.FieldRef(logical, _, of) as column, target)
            ) if of == STRING and tuple(map(str.lower, logical)) in plain:
                name, value = to_sql(column), to_sql(literal)
                yield (
                    f"{name} is a STRING, and Spark casts each of its values to {sql_name(target)} to compare it with "
                    f"{value}, which skips no file and fails for other texts: compare it with a string."
                )


def unknown_functions(parsed: Iterable[n.Node]) -> Iterator[tuple[str, str]]:
    """Yield the name of each function that Spark does not have, and a sentence about it.

    parsed: The operations of the predicate as written.
    """
    for part in parsed:
        if isinstance(part, n.Call) and is_unknown(part.name):
            yield (
                part.name,
                f"{part.name} is not a built-in function of Spark, so {to_sql(part)} skips no file; without a "
                f"user-defined function of this name, Spark fails.{meant_function(part.name)}",
            )
        elif (
            isinstance(part, n.Opaque)
            and (method := _METHOD.fullmatch(part.sql))
            and method[2].lower() in FUNCTION_NAMES
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


def place_in_text(constant: n.Node, where: object) -> str:
    """Return line and column of a failing constant in the SQL text, after a blank; "" if they are not known."""
    constants = [
        child for part in n.operations(constant) for child in n.children_of(part) if isinstance(child, n.Literal)
    ]
    texts = [part.value for part in constants if isinstance(part.value, str)]
    if not isinstance(where, str) or len(texts) != 1 or where.count(f"'{texts[0]}'") != 1:
        return ""
    line, column = line_and_column(where, where.index(f"'{texts[0]}'"))
    return f" at line {line}, column {column}"


def _leaves(node: n.Node, is_leaf: Callable[[n.Node], bool] = lambda node: False) -> Iterator[n.Node]:
    """The operands of AND, OR and NOT, and the nodes that `is_leaf` accepts, from left to right."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, n.And | n.Or | n.Not) and not is_leaf(part):
            pending.extend(reversed(n.children_of(part)))
        else:
            yield part


def _always_evaluated(leaf: n.Node) -> Iterator[n.Node]:
    """The parts of a leaf that have only constant operands and that no condition guards."""
    pending = [leaf]
    while pending:
        node = pending.pop()
        evaluated, inner = _evaluated_of(node)
        yield from evaluated
        pending.extend(reversed(inner))


def _evaluated_of(node: n.Node) -> tuple[list[n.Node], list[n.Node]]:
    """What is evaluated for a node without its operands, and its operands."""
    found: list[n.Node] = []
    match node:
        case n.Literal() | n.FieldRef() | n.Opaque() | n.Case() | n.Call("coalesce") | n.Cast(safe=True):
            return [], []
        case n.In(child, values):
            pending = [child, *(value for value in nodes_in(values) if not isinstance(value, n.Literal))]
            constant = isinstance(child, n.Literal) and len(pending) == 1
        case _:
            pending = list(n.children_of(node))
            constant = all(isinstance(child, n.Literal) for child in pending)
    if isinstance(node, n.Like) and isinstance(node.pattern, n.Literal):
        # A malformed pattern fails for any string.
        found.append(n.Like(n.Literal("", STRING), node.pattern, node.escape))
    if constant and pending and _has_value(node):
        found.append(node)
    return found, pending


def _has_value(node: n.Node) -> bool:
    if isinstance(node, n.Call):
        return node.name in FUNCTIONS and node.type is not None
    return isinstance(node, n.Cast | n.Compare | n.Like | n.StartsWith | n.In | n.Not) or not isinstance(
        node, n.Collate
    )


def _cure(part: n.Node) -> str:
    if not isinstance(part, n.Cast) or type_of(part.child) != STRING:
        return ""
    example = EXAMPLES.get(part.type)
    wanted = f"write {example}" if example else f"write a value of type {sql_name(part.type)}"
    return f" ({wanted}, or {to_sql(n.Cast(part.child, part.type, True))} for NULL)"
