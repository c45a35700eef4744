"""A leaf that reads one path in a variant, as a leaf over a column of the values at the path."""

from __future__ import annotations

from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.functions import variant_path
from deltaskip.stats.layout import StatField


def path_as_column(node: n.Node) -> tuple[n.Node, StatField] | None:
    """Return a leaf with a column in place of what it reads in a variant, and the statistics of this column.

    None if the leaf reads several paths, casts to several types, or reads the variant in another way.
    """
    columns: dict[n.FieldRef, StatField] = {}

    @deep
    def replaced(part: n.Node) -> n.Node:
        read = variant_path(part)
        if read is None:
            return n.transform(part, replaced)
        names = ".".join(read.column.logical)
        column = n.FieldRef((*read.column.logical, read.path), read.column.physical, read.type)
        columns[column] = StatField(column.physical, read.type, f"{names}:{read.path}", inside=read.path)
        return column

    leaf = replaced(node)
    if len(columns) != 1 or any(isinstance(p, n.FieldRef) and p not in columns for p in n.walk(leaf)):
        return None
    return leaf, next(iter(columns.values()))
