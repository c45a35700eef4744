"""Functions by name. Their table is imported when a name is first looked up: most predicates have no functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltaskip.fork_safety import cached_property
from deltaskip.sparkexpr.nodes import Call, Node

if TYPE_CHECKING:
    from deltaskip.sparkexpr.functions.function import Function, Replaced
    from deltaskip.sparkexpr.types.data_types import DataType


class _OfTable(Mapping[str, Any]):
    """A mapping of `function_table`, which is imported when the mapping is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _rows(self) -> Mapping[str, Any]:
        rows: Mapping[str, Any] = getattr(import_module("deltaskip.sparkexpr.functions.function_table"), self._name)
        return rows

    def __getitem__(self, name: str) -> Any:
        return self._rows[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


FUNCTIONS: Mapping[str, Function] = _OfTable("FUNCTIONS")
"""Functions that compute a value, unlike `Replaced` and `Present`."""

REPLACED: Mapping[str, Replaced] = _OfTable("REPLACED")
"""Functions that Spark replaces by other expressions."""

PRESENT: Mapping[str, DataType] = _OfTable("PRESENT")
"""Functions that return the time of the query, and their types."""

ALIASES: Mapping[str, str] = _OfTable("ALIASES")
"""The name of a function by each of its aliases."""


def function_node(name: str, args: tuple[Node, ...]) -> Node:
    """Return the node of a function call: the expression that replaces it, or a Call with the function's main name.

    name: In lower case. If the number of arguments is wrong, the result is a Call.
    """
    name = ALIASES.get(name, name)
    node: Node | None = None
    if (replaced := REPLACED.get(name)) is not None:
        if replaced.least <= len(args) <= (replaced.most or replaced.least):
            node = replaced.node(*args)
    elif (function := FUNCTIONS.get(name)) is not None and function.instead is not None:
        node = function.instead(*args)
    return Call(name, args) if node is None else node
