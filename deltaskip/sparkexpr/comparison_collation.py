"""The collation under which expressions are compared.

# Spark 4.1, CollationTypeCoercion: an explicit COLLATE wins, then the collation of a column, then UTF8_BINARY of
# literals. By this rule, string operands of a function and values of CASE also determine the collation of the result.
"""

from __future__ import annotations

from collections.abc import Iterable

from deltaskip.errors import InvalidCollation, PredicateError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import is_nested, type_of
from deltaskip.sparkexpr.collations.collation_id import BINARY_NAME, CollationId
from deltaskip.sparkexpr.literal_list import nodes_in
from deltaskip.sparkexpr.types.data_types import STRING

_EXPLICIT, _IMPLICIT, _DEFAULT = 2, 1, 0
_BINARY = CollationId.named(BINARY_NAME)

# The precedence of the collations found, and their spellings by sort order. More than one sort order is a conflict.
_Derived = tuple[int, dict[CollationId | str, str | None]]


def comparison_collation(*operands: n.Node) -> str | None:
    """The collation, as written, under which Spark compares the string `operands`; None means UTF8_BINARY.

    Raises PredicateError if two explicit collations differ, or if no collation is explicit and two columns differ.
    """
    strength, orders = _met(operands)
    if len(orders) > 1 and strength != _DEFAULT:
        names = sorted(BINARY_NAME if text is None else text for text in orders.values())
        raise PredicateError(f"A comparison mixes the collations {' and '.join(names)}: choose one with COLLATE.")
    decided = next(iter(orders.values()), None)
    return None if is_binary(decided) else decided


def is_collated(*operands: n.Node) -> bool:
    """Whether the string `operands` have a collation other than UTF8_BINARY, or conflicting collations."""
    return any(order != _BINARY for order in _met(operands)[1])


def compared_collations(predicate: n.Node) -> tuple[str, ...]:
    """The collations, as written, of the columns and COLLATE expressions of a bound predicate; without UTF8_BINARY."""
    found: dict[str, None] = {}
    pending = [predicate]
    while pending:
        match pending.pop():
            case n.Collate(child, collation):
                found[collation] = None
                # An explicit collation takes precedence over the collation of the column.
                if not isinstance(child, n.FieldRef):
                    pending.append(child)
            case n.FieldRef(collation=str() as collation):
                found[collation] = None
            case n.IsNull(n.FieldRef()) | n.Call("length", (n.FieldRef(),)):
                continue
            case n.In(n.FieldRef(type=type_, collation=None)) if type_ != STRING:
                continue
            case n.In(child, values):
                # A list can be long, and most lists have only literals.
                pending += (child, *(value for value in nodes_in(values) if type(value) is not n.Literal))
            case node:
                pending += n.children_of(node)
    return tuple(collation for collation in found if not is_binary(collation))


def is_binary(collation: str | None) -> bool:
    """Whether strings with `collation` (provider.name[.version] or a bare name) are compared by their bytes."""
    return collation is None or _order(collation) == _BINARY


def _met(nodes: Iterable[n.Node]) -> _Derived:
    """The collations of highest precedence among strings, and nested values that may contain strings."""
    found = [_derived(node) for node in nodes if type_of(node) in (STRING, None) or is_nested(type_of(node))]
    strongest = max((strength for strength, _ in found), default=_DEFAULT)
    return strongest, {
        order: text for strength, orders in found if strength == strongest for order, text in orders.items()
    }


def _derived(node: n.Node) -> _Derived:
    match node:
        case n.Collate(_, collation):
            return _EXPLICIT, {_order(collation): collation}
        case n.FieldRef(collation=None, is_plain=True):
            return _DEFAULT, {_BINARY: None}
        case n.FieldRef(collation=collation):
            return _IMPLICIT, {_order(collation): collation}
        case n.Call() | n.Lambda() | n.Case():
            return _derived_of_values(node)
        case _:
            return _DEFAULT, {_BINARY: None}


@n.kept
def _derived_of_values(node: n.Call | n.Lambda | n.Case) -> _Derived:
    match node:
        case n.Call(_, args):
            return _met(args)
        case n.Lambda(_, body):
            return _met([body])
        case n.Case(branches, otherwise):
            return _met([value for _, value in branches] + ([] if otherwise is None else [otherwise]))


def _order(collation: str | None) -> CollationId | str:
    """A key that is equal for two spellings of one collation. An unknown name is equal only to itself."""
    if collation is None:
        return _BINARY
    try:
        identifier = CollationId.named(collation)
    except InvalidCollation:
        return collation
    return _BINARY if identifier.is_binary else identifier.canonical
