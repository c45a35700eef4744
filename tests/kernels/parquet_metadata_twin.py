"""The slow twin of kernels.parquet_metadata: the footer as Python's dicts."""

from collections.abc import Mapping
from typing import Any

from deltaskip.kernels.thrift_compact import read_struct

WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}


def footer_fits(footer: bytes) -> bool:
    """Whether the metadata of every column chunk fits the schema. Raises ValueError for bytes that are no footer."""
    fields = read_struct(footer)
    leaves, rest = _leaves(fields[2])
    assert not rest
    groups = fields[4]
    return fields.get(3, -1) == sum(group.get(3, -1) for group in groups) and all(
        _group_fits(group, leaves) for group in groups
    )


def _leaves(
    elements: list[Mapping[int, Any]], repeated: int = 0, defined: int = 0, root: bool = True
) -> tuple[list[tuple[int, int, int, int]], list[Mapping[int, Any]]]:
    """Type, bytes of a value and greatest levels of the columns of the first element, and the elements behind it."""
    first, *rest = elements
    if not root:
        repeated += first.get(3) == 2
        defined += first.get(3, 0) in (1, 2)
    if first.get(5, 0) == 0 and 1 in first and not root:
        width = first.get(2, 0) % (1 << 64) if first[1] == 7 else WIDTHS.get(first[1], 0)
        return [(first[1], width, repeated, defined)], rest
    found = []
    for _ in range(first.get(5, 0)):
        below, rest = _leaves(rest, repeated, defined, False)
        found += below
    return found, rest


def _group_fits(group: Mapping[int, Any], leaves: list[tuple[int, int, int, int]]) -> bool:
    chunks = group[1]
    if len(chunks) != len(leaves) or not all(map(_chunk_fits, chunks, leaves)):
        return False
    values = [(chunk[3][5], leaf[2]) for chunk, leaf in zip(chunks, leaves, strict=True)]
    rows = group.get(3, -1)
    return rows >= 0 and all(count >= rows if repeated else count == rows for count, repeated in values)


def _chunk_fits(chunk: Mapping[int, Any], leaf: tuple[int, int, int, int]) -> bool:
    kind, width, repeated, defined = leaf
    if 8 in chunk or 9 in chunk or 3 not in chunk:
        return False
    meta = chunk[3]
    statistics, sizes = meta.get(12, {}), meta.get(16, {})
    bounds = (statistics[number] for number in (1, 2, 5, 6) if number in statistics)
    levels = ((sizes[number], most) for number, most in ((2, repeated), (3, defined)) if number in sizes)
    return (
        meta[1] == kind
        and 0 <= statistics.get(3, 0) <= meta[5]
        and all(len(bound) >= width for bound in bounds)
        and all(len(counts) in (0, most + 1) for counts, most in levels)
        and (1 not in sizes or kind == 6)
    )
