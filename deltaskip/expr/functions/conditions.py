"""Functions that choose among values.

# Spark 4.1, nullExpressions.scala
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaskip.expr.coerce import (
    cast_to,
    common_type,
    type_of,
)
from deltaskip.expr.functions.function import (
    Function,
    Typed,
)
from deltaskip.expr.nodes import Node

__all__ = ["CONDITIONS"]


def _coalesce_signature(args: tuple[Node, ...]) -> Typed:
    types = [type_of(arg) for arg in args]
    known = [type_ for type_ in types if type_ is not None]
    met = common_type(known) if known and len(known) == len(types) else None
    return None if met is None else (tuple(cast_to(arg, met) for arg in args), met)


CONDITIONS: Mapping[str, Function] = {
    # The first argument that is not NULL; evaluated lazily by the caller.
    "coalesce": Function(
        _coalesce_signature,
        lambda args, call, zone: next((a for a in args if a is not None), None),
        False,
        widens=True,
    ),
}
