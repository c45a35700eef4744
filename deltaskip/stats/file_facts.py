"""Statistics of one data file as JSON text, from its footer if that proves them, else from its values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from deltaskip.errors import StorageError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations import Collation, CollationId, lookup
from deltaskip.sparkexpr.types import STRING, MappingMode
from deltaskip.sparkexpr.values.arrow_values import numpy_values
from deltaskip.stats.facts import NO_VALUES, UNKNOWN, ColumnFacts, Extremes, FileFacts
from deltaskip.stats.footer import DAMAGE, DataStorage, Footer, FooterColumn, Planner, footer_facts, read_footer
from deltaskip.stats.layout import COLLATED, Side
from deltaskip.stats.parquet_values import ScannedColumn, scan_file
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.tight_bounds import TIGHT_BOUNDS
from deltaskip.stats.written_bounds import BoundText, bound_text, cut_collated_max, cut_collated_min, json_string

Mode = Literal["auto", "footer", "scan"]


@dataclass(frozen=True, slots=True)
class StatisticsRequest:
    """The statistics to compute for each file of a table. It can be pickled for Spark tasks.

    Args:
        columns: Columns with statistics, in the schema's order.
        collations: For each column the versioned identifiers of its collated bounds.
        mode: "footer" reads no values and leaves out what a footer does not prove, "scan" reads all values, "auto"
            the values of the columns for which a footer proves too little.
        tight_bounds: Whether to write `tightBounds`.
        kernel_spelling: Whether to also write collated bounds under Delta Kernel's spelling of the identifier.
    """

    columns: tuple[StatColumn, ...]
    collations: tuple[tuple[str, ...], ...]
    mapping_mode: MappingMode = "none"
    mode: Mode = "auto"
    tight_bounds: bool = False
    kernel_spelling: bool = False
    orders: tuple[tuple[Collation, ...], ...] = field(init=False, repr=False, compare=False)
    bound_texts: tuple[BoundText, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        orders = tuple([tuple(map(lookup.collation, each)) for each in self.collations])
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "bound_texts", tuple([bound_text(column.type) for column in self.columns]))

    def divided(self, names: Collection[str]) -> tuple[StatisticsRequest, StatisticsRequest]:
        """Return the requests for all other columns, and for those with these top-level physical names."""
        found: list[list[tuple[StatColumn, tuple[str, ...]]]] = [[], []]
        for column, collations in zip(self.columns, self.collations, strict=True):
            found[column.physical[0] in names].append((column, collations))
        rest, own = (
            replace(self, columns=tuple(each for each, _ in some), collations=tuple(each for _, each in some))
            for some in found
        )
        return rest, own

    def __reduce__(self) -> tuple[Any, ...]:
        values = self.columns, self.collations, self.mapping_mode, self.mode, self.tight_bounds, self.kernel_spelling
        return StatisticsRequest, values


class FileReader:
    """Reads the facts of data files for one request.

    exact_floats: Whether columns with NaN are known to have no statistics in the footers of the files.
    """

    def __init__(self, request: StatisticsRequest, exact_floats: bool = False) -> None:
        self._request = request
        self._planner = Planner(request.columns, request.mapping_mode, exact_floats)

    def facts(
        self,
        storage: DataStorage,
        path: str,
        *,
        size: int | None = None,
        deleted: pa.Int64Array | None = None,
        row_groups: Sequence[int] | None = None,
        footer: Footer | None = None,
    ) -> FileFacts:
        """Return the facts of the file at a location, or of some of its row groups.

        size: Size of the file in bytes, if known. deleted: Positions of the deleted rows, ascending from 0, which count
        in num_records only. footer: The file's footer, if it was read. Raises DataFileMissing, StorageError and
        UnsupportedFeature as read_footer does.
        """
        footer = read_footer(storage, path, size) if footer is None else footer
        numbers = range(len(footer.row_groups)) if row_groups is None else row_groups
        rows, columns, wanted = self._proved(footer, path, numbers, deleted)
        if wanted:
            scanned = scan_file(storage, path, footer, [column for _, column in wanted], list(numbers), deleted)
            for (i, column), facts in zip(wanted, scanned, strict=True):
                extremes = facts.extremes if column.bounds else columns[i].extremes
                columns[i] = ColumnFacts(facts.null_count, extremes, facts.collated)
        return FileFacts(rows, tuple(columns), len(wanted))

    def footer_facts(self, footer: Footer, path: str) -> FileFacts | None:
        """Return the facts of the file if its footer proves all of them; None if values must be read.

        Raises StorageError for a damaged footer.
        """
        rows, columns, wanted = self._proved(footer, path, range(len(footer.row_groups)), None)
        return None if wanted else FileFacts(rows, tuple(columns), 0)

    def _proved(
        self, footer: Footer, path: str, numbers: Sequence[int], deleted: pa.Int64Array | None
    ) -> tuple[int, list[ColumnFacts], list[tuple[int, ScannedColumn]]]:
        """The number of rows, the facts that the footer proves, and the columns to read with their positions."""
        try:
            groups = [footer.row_groups[number] for number in numbers]
            plans = self._planner.plans(footer)
            gone = 0 if deleted is None else _deleted_in(footer, numbers, deleted)
            rows = sum(footer.group_rows(number) for number in numbers)
            found = [self._from_footer(plan, groups, i, (rows, gone)) for i, plan in enumerate(plans)]
        except DAMAGE as error:
            raise StorageError(f"The footer of the data file {path} is damaged: {error}; restore the file.") from error
        wanted = [(i, column) for i, (_, column) in enumerate(found) if column is not None]
        return rows, [facts for facts, _ in found], wanted

    def _from_footer(
        self, plan: FooterColumn, groups: Sequence[Mapping[int, Any]], i: int, rows: tuple[int, int]
    ) -> tuple[ColumnFacts, ScannedColumn | None]:
        """Return the facts of column `i` that the footer proves, and the columns to read. rows: (all, deleted)."""
        orders = self._request.orders[i]
        facts, unproved = footer_facts(plan, groups)
        if rows[1]:
            return self._live(plan, facts, orders, rows)
        nothing = False
        if orders:
            nothing = facts.extremes == NO_VALUES
            collated = (NO_VALUES if nothing else UNKNOWN,) * len(orders)
            facts = ColumnFacts(facts.null_count, facts.extremes, collated)
        if not plan.nodes or self._request.mode == "footer":
            return facts, None
        if self._request.mode == "scan" or unproved:
            return facts, ScannedColumn(plan, plan.column.bounded, orders)
        return facts, ScannedColumn(plan, False, orders) if orders and not nothing else None

    def _live(
        self, plan: FooterColumn, facts: ColumnFacts, orders: tuple[Collation, ...], rows: tuple[int, int]
    ) -> tuple[ColumnFacts, ScannedColumn | None]:
        """Return the facts of a column, and the columns to read, for a file with deleted rows.

        The footer counts deleted rows, so it only proves that there are no nulls, or only nulls.
        """
        total, deleted = rows
        nulls = None if plan.nodes and self._request.mode == "scan" else facts.null_count
        if plan.nodes is not None and (nulls == total or deleted == total):
            return ColumnFacts(total - deleted, NO_VALUES, (NO_VALUES,) * len(orders)), None
        left = ColumnFacts(0 if nulls == 0 else None, UNKNOWN, (UNKNOWN,) * len(orders))
        if plan.nodes is None or self._request.mode == "footer":
            return left, None
        if nulls == 0 and not plan.column.bounded and not orders:
            return left, None
        return left, ScannedColumn(plan, plan.column.bounded, orders)


def stats_json(facts: FileFacts, request: StatisticsRequest) -> str:
    """Return the statistics as the JSON text of an add action, in the form of delta-spark 4.4.

    # PROTOCOL, Per-file Statistics; COLLATIONS RFC, statsWithCollation
    """
    columns = request.columns
    parts = [f'"numRecords":{facts.num_records}']
    if any(column.bounded for column in columns):
        for side in ("min", "max"):
            texts = [
                (column.physical, _text(text_of, each.extremes, side) if column.bounded else None, column.bounded)
                for column, text_of, each in zip(columns, request.bound_texts, facts.columns, strict=True)
            ]
            parts.append(f'"{side}Values":{_tree(texts)}')
    if columns:
        counts = [
            (column.physical, None if each.null_count is None else str(each.null_count), True)
            for column, each in zip(columns, facts.columns, strict=True)
        ]
        parts.append(f'"nullCount":{_tree(counts)}')
    if request.tight_bounds:
        parts.append(f'"{TIGHT_BOUNDS}":true')
    collated = _collated(facts, request)
    if collated:
        parts.append(f'"{COLLATED}":{{{",".join(collated)}}}')
    return "{" + ",".join(parts) + "}"


def _deleted_in(footer: Footer, row_groups: Sequence[int], deleted: pa.Int64Array) -> int:
    """Number of deleted rows in the row groups."""
    rows = numpy_values(deleted)
    starts = np.array([footer.rows_before(group) for group in row_groups], np.int64)
    ends = starts + np.array([footer.group_rows(group) for group in row_groups], np.int64)
    return int((np.searchsorted(rows, ends) - np.searchsorted(rows, starts)).sum())


def _text(text_of: BoundText, extremes: Extremes, side: Side) -> str | None:
    bound = extremes.low if side == "min" else extremes.high
    return None if bound is None else text_of(bound, side)


def _collated(facts: FileFacts, request: StatisticsRequest) -> list[str]:
    """One member for each collation in which a column has bounds."""
    found: dict[str, list[tuple[tuple[str, ...], str, str]]] = {}
    for column, each, orders, identifiers in zip(
        request.columns, facts.columns, request.orders, request.collations, strict=True
    ):
        if column.type != STRING:
            continue
        for order, identifier, extremes in zip(orders, identifiers, each.collated, strict=True):
            if extremes.low is None:
                continue
            low, high = cut_collated_min(extremes.low, order), cut_collated_max(extremes.high, order)
            if low is not None and high is not None:
                found.setdefault(identifier, []).append((column.physical, json_string(low), json_string(high)))
    members = []
    for identifier, bounds in found.items():
        mins = _tree((path, low, True) for path, low, _ in bounds)
        maxs = _tree((path, high, True) for path, _, high in bounds)
        for spelling in _spellings(identifier, request.kernel_spelling):
            members.append(f'{json_string(spelling)}:{{"minValues":{mins},"maxValues":{maxs}}}')
    return members


def _spellings(identifier: str, kernel: bool) -> list[str]:
    return list(dict.fromkeys([identifier, CollationId.parse(identifier).kernel_text])) if kernel else [identifier]


def _tree(leaves: Iterable[tuple[tuple[str, ...], str | None, bool]]) -> str:
    """Nested JSON objects of the leaves that have a value. A struct is present if a leaf below it `belongs`."""
    root: dict[str, Any] = {}
    for path, text, belongs in leaves:
        if not belongs:
            continue
        here = root
        for name in path[:-1]:
            here = here.setdefault(name, {})
        if text is not None:
            here[path[-1]] = text
    return _object(root)


def _object(members: Mapping[str, Any]) -> str:
    texts = [f"{_name(k)}:{v if isinstance(v, str) else _object(v)}" for k, v in members.items()]
    return "{" + ",".join(texts) + "}"


# Every file has the same names.
_name = lru_cache(1 << 12)(json_string)
