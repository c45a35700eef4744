"""Under which collation an expression compares.

# Spark 4.1, CollationTypeCoercion: an explicit COLLATE wins, then the columns' own, then UTF8_BINARY of literals
"""

from __future__ import annotations

from deltaskip.errors import PredicateError
from deltaskip.expr.nodes import Call, Case, Cast, Collate, FieldRef, Node, children_of

__all__ = ["comparison_collation", "is_binary"]

_EXPLICIT, _IMPLICIT, _DEFAULT = 2, 1, 0
_BINARY_NAME = "UTF8_BINARY"


def comparison_collation(*operands: Node) -> str | None:
    """The collation, as it was written, under which Spark compares the string `operands`; None is UTF8_BINARY.

    Raises PredicateError where two explicit, or two columns' collations differ and no stronger one decides.
    """
    found = [_derived(operand) for operand in operands]
    strongest = max((strength for strength, _ in found), default=_DEFAULT)
    names = {_name(text): text for strength, text in found if strength == strongest}
    if len(names) > 1 and strongest != _DEFAULT:
        raise PredicateError(
            f"The collations {' and '.join(sorted(names))} meet in one comparison; say which with COLLATE."
        )
    return next(iter(names.values())) if names and not is_binary(next(iter(names.values()))) else None


def is_binary(collation: str | None) -> bool:
    """Whether strings under `collation` (provider.name[.version] or a bare name) compare by their bytes."""
    return _name(collation) == _BINARY_NAME


def _derived(node: Node) -> tuple[int, str | None]:
    match node:
        case Collate(_, collation):
            return _EXPLICIT, collation
        case FieldRef(collation=collation):
            return _IMPLICIT, collation
        case Cast():
            return _DEFAULT, None
        case Call() | Case():
            inner = [_derived(child) for child in children_of(node)]
            return max(inner, key=lambda found: found[0], default=(_DEFAULT, None))
        case _:
            return _DEFAULT, None


def _name(collation: str | None) -> str:
    if collation is None:
        return _BINARY_NAME
    parts = collation.upper().split(".")
    return parts[1] if len(parts) > 1 else parts[0]
