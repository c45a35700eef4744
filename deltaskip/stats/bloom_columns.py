"""The columns of a table that have Bloom filters in its data files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr import types as t
from deltaskip.stats.bloom_filters import has_filter
from deltaskip.stats.footer import NULL_COUNT, NUM_VALUES, STATISTICS, Footer, Planner
from deltaskip.stats.stats_columns import StatColumn, columns_named, every_column


def bloom_columns(
    names: Sequence[tuple[str, ...]],
    schema: t.StructType,
    partition_columns: Sequence[str],
    mapping_mode: t.MappingMode,
    refuse: Callable[[str], str] | None = None,
) -> tuple[StatColumn, ...]:
    """Return the columns of some names, each once. Names are compared in any letter case.

    Args:
        names: The names.
        schema: Schema of the table.
        partition_columns: Its partition columns.
        mapping_mode: Its column mapping mode.
        refuse: Returns the message for a name that is not of a column that can have a filter. If None, such a name is
            left out: another engine may have dropped the column that a property names, and rows must still be written.

    Raises SchemaError with that message.
    """
    if not names:
        return ()
    found = columns_named(names, filter(_has_filter, every_column(schema, partition_columns, mapping_mode)))
    unknown = next((name for name, column in zip(names, found, strict=True) if column is None), None)
    if unknown is not None and refuse is not None:
        raise SchemaError(refuse(t.display_name(unknown)))
    return tuple(dict.fromkeys(each for each in found if each is not None))


def lacks_filters(footer: Footer, planner: Planner) -> bool:
    """Return whether some row group of a file has no filter of a column, though it has values of it.

    Args:
        footer: The footer of the file.
        planner: Plans the columns.

    Raises one of `footer.DAMAGE` for a damaged footer.
    """
    leaves = [plan.nodes[-1].first_leaf for plan in planner.plans(footer) if plan.nodes]
    return any(
        not has_filter(footer, group, leaf) and not _is_all_null(footer, group, leaf)
        for group in range(len(footer.row_groups))
        for leaf in leaves
    )


def _is_all_null(footer: Footer, group: int, leaf: int) -> bool:
    meta = footer.column_chunk(group, leaf)
    return bool(meta.get(STATISTICS, {}).get(NULL_COUNT) == meta[NUM_VALUES])


def _has_filter(column: StatColumn) -> bool:
    """Not booleans, and not floats, of which different bytes are equal."""
    return column.type == t.BINARY or (column.ordered and column.type not in t.FLOATING)
