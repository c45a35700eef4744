"""Replaces the parameters `:name` and `?` of a predicate by literals before the text is parsed.

Spark filters rows with the replaced text: Spark and deltaskip read the same constants. Values are never parsed: each
value is written as one literal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError, SchemaError
from deltaskip.sparkexpr.python_values import is_listed, list_of, literal_node, shaped
from deltaskip.sparkexpr.text.render import exact_sql
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.sparkexpr.values.numerals import exactly

# Words before an operand: a colon after such a word begins a parameter.
_OPERATORS = (
    *("SELECT", "DISTINCT", "ALL", "ON", "WHERE", "BY", "HAVING", "LIMIT", "OFFSET"),
    *("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ESCAPE", "DIV", "FROM", "FOR"),
    *("CASE", "WHEN", "THEN", "ELSE", "PLACING", "BOTH", "LEADING", "TRAILING"),
)
_MOST_SHOWN = 5

_Parameter = tuple[int, int, str | None]
"""Start and end of a parameter in the text, and its name, which is None for `?`."""


def with_parameters(where: object, params: object) -> object:
    """Return a predicate with its parameters replaced by literals of their values; unchanged if `params` is None.

    params: Values by name for `:name`, or a list of values for `?` in the order of the text. A value may be a list of
    constants for IN, as in `id IN (:ids)`.

    Raises PredicateError if a parameter has no value, or one that Spark SQL does not have, InvalidArgument if a value
    has no parameter, or the predicate is not text, and InvalidArgumentType for values of other types.
    """
    if params is None:
        return where
    if not isinstance(params, Mapping) and not is_listed(params):
        raise InvalidArgumentType.of("params", "a mapping for :name, or a list for ?", params)
    if not isinstance(where, str):
        raise InvalidArgument("params needs a predicate as SQL text, with :name or ? for each of the values.")
    try:
        found = _parameters_in(where)
    except SchemaError:
        # The parser refuses the text later, with its position.
        return where
    values = _named(where, found, params) if isinstance(params, Mapping) else _positional(where, found, list_of(params))
    pieces: list[str] = []
    end = 0
    for (start, stop, _), value in zip(found, values, strict=True):
        # A blank must separate two signs or words: `id -:x` with a negative value.
        blank = "" if start == 0 or where[start - 1] in " (,=" else " "
        pieces += [where[end:start], blank, value]
        end = stop
    return "".join([*pieces, where[end:]])


def bound_parameters(text: str, params: object) -> tuple[str, dict[str, object]]:
    """Return a query of another engine with parameters `$name`, and the value of each of them by name.

    A list for IN becomes as many parameters as it has values. params: What `with_parameters` has checked for this text.
    """
    if params is None:
        return text, {}
    found = _parameters_in(text)
    values: dict[str, object] = {}
    given = params if isinstance(params, Mapping) else dict(enumerate(list_of(params)))
    for at, (start, stop, name) in reversed([*enumerate(found)]):
        value = given[at if name is None else name]
        names = [f"deltaskip_{at}_{i}" for i in range(len(list_of(value)))] if is_listed(value) else [f"deltaskip_{at}"]
        values.update(zip(names, list_of(value) if is_listed(value) else [value], strict=True))
        text = f"{text[:start]} {', '.join(f'${each}' for each in names)}{text[stop:]}"
    return text, {each: _plain(value) for each, value in values.items()}


def _plain(value: object) -> object:
    """A constant of numpy or pyarrow as one of Python; any other value as it is."""
    match value:
        case pa.Scalar():
            return value.as_py()
        case np.datetime64() if np.datetime_data(value.dtype)[0] not in ("Y", "M", "W", "D"):
            return value.astype("datetime64[us]").item()
        case np.generic():
            return value.item()
        case Decimal():
            # DuckDB ignores exponents above 0.
            return exactly(f"{exactly(value):f}")
        case _:
            return value


def parameter_names(text: str) -> frozenset[str]:
    """Return the names of the parameters in a predicate; an empty set for text that Spark cannot read."""
    try:
        return frozenset(name for _, _, name in _parameters_in(text) if name is not None)
    except SchemaError:
        return frozenset()


def _parameters_in(text: str) -> list[_Parameter]:
    """The parameters in a predicate, in the order of the text. Raises SchemaError."""
    if ":" not in text and "?" not in text:
        return []
    found: list[_Parameter] = []
    before: SqlToken | None = None
    tokens = sql_tokens(text)
    for at, token in enumerate(tokens):
        if token.is_symbol("?"):
            found.append((token.start, token.end, None))
        elif token.is_symbol(":") and not (before is not None and _has_path(before)):
            name = tokens[at + 1] if at + 1 < len(tokens) else None
            if name is not None and name.start == token.end and name.kind == "word" and name.text.isidentifier():
                found.append((token.start, name.end, name.text))
        before = token
    return found


def _has_path(token: SqlToken) -> bool:
    """Whether a colon after the token begins a path into a variant, `v:a`."""
    return not token.is_word(*_OPERATORS) and (token.kind != "symbol" or token.text in (")", "]"))


def _named(where: str, found: list[_Parameter], params: Mapping[object, object]) -> list[str]:
    names = [name for _, _, name in found if name is not None]
    if len(names) < len(found):
        raise InvalidArgument(f"The predicate has parameters without a name (?): pass params as a list; in: {where}")
    for key in params:
        if not isinstance(key, str):
            raise InvalidArgumentType.of("Each key of params", "a str", key)
    missing = [name for name in dict.fromkeys(names) if name not in params]
    if missing:
        raise PredicateError(f"params has no value for {_enumerated(missing)}; in: {where}")
    surplus = [str(key) for key in params if key not in names]
    if surplus:
        raise InvalidArgument(f"The predicate has no {_enumerated(surplus)}: remove it from params; in: {where}")
    return [_sql(params[name], f"The value of :{name}") for name in names]


def _positional(where: str, found: list[_Parameter], values: list[object]) -> list[str]:
    names = [name for _, _, name in found if name is not None]
    if names:
        raise InvalidArgument(
            f"The predicate has the parameter {_enumerated(names[:1])}: pass params as a mapping, "
            f"such as {{{names[0]!r}: …}}; in: {where}"
        )
    if len(values) != len(found):
        has = "1 parameter ?" if len(found) == 1 else f"{len(found)} parameters ?"
        error = PredicateError if len(values) < len(found) else InvalidArgument
        raise error(f"The predicate has {has}, but params has {len(values)} values; in: {where}")
    return [_sql(value, f"Value {at} of params") for at, value in enumerate(values, 1)]


def _sql(value: object, what: str) -> str:
    if not is_listed(value) or hasattr(value, "_fields") or hasattr(value, "__fields__"):
        return _constant(value, what)
    members = list_of(value)
    if not members:
        raise PredicateError(f"{what} is an empty list, and Spark SQL has no empty IN (): leave out the condition.")
    return ", ".join(_constant(each, f"Each of {what[0].lower()}{what[1:]}") for each in members)


def _constant(value: object, what: str) -> str:
    return exact_sql(shaped(literal_node(value, what), None))


def _enumerated(names: Sequence[str]) -> str:
    shown = ", ".join(f":{name}" for name in names[:_MOST_SHOWN])
    return shown if len(names) <= _MOST_SHOWN else f"{shown} and {len(names) - _MOST_SHOWN} more"
