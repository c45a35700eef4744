"""Conditions that a pipeline sets for a table: how much a predicate must skip, and which columns need statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltaskip.errors import InvalidArgument
from deltaskip.log import Snapshot
from deltaskip.maintenance.verify.table_rule import Found
from deltaskip.records import dataclass
from deltaskip.skipping.journal import noted, paused
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.skipping.table_coverage import table_coverage
from deltaskip.sparkexpr import types as t


@dataclass(frozen=True, slots=True)
class Gates:
    """The conditions.

    Attributes:
        min_skipped: Percentage of the files that each predicate must skip; None for no such condition.
        where: The predicates; the default is those that scans have noted in the journal.
        assert_stats: Names of columns of which every file must have bounds and a null count.
    """

    min_skipped: float | None = None
    where: Sequence[object] = ()
    assert_stats: Sequence[str] = ()

    def check(self, table: str) -> None:
        """Raise InvalidArgument for conditions that contradict each other."""
        if self.min_skipped is not None and not 0 <= self.min_skipped <= 100:
            # Python refuses to convert long integers to text.
            given = f"{self.min_skipped}" if abs(self.min_skipped) < 1e15 else "a number of that size"
            raise InvalidArgument(f"min_skipped must be a percentage from 0 to 100, not {given} (table {table}).")
        if self.min_skipped is None and self.where:
            raise InvalidArgument(f"where needs min_skipped, the percentage that it must skip (table {table}).")

    def violations(self, snapshot: Snapshot) -> Iterator[Found]:
        """Conditions that the latest version does not satisfy. Raises PredicateError and InvalidArgument."""
        files = snapshot.num_files if self.min_skipped is not None or self.assert_stats else 0
        for where in self._predicates(snapshot):
            with paused():
                kept = len(Scan(snapshot, ReadOptions(where)).files(columns=["uri"]))
            skipped = 100.0 * (files - kept) / files if files else 100.0
            if self.min_skipped is not None and skipped < self.min_skipped:
                message = f"{where} skips {skipped:.1f} % of {files:,} files, less than {self.min_skipped:g} %"
                yield Found("gate.skipped", message)
        if self.assert_stats:
            known = {t.fold_name(each.name): each for each in table_coverage(snapshot, depth=False).columns}
            for name in self.assert_stats:
                paths = t.parse_names(name, "assert_stats", InvalidArgument)
                column = known.get(t.fold_name(t.display_name(paths[0])))
                if column is None or len(paths) > 1:
                    raise InvalidArgument(f"assert_stats names {name!r}, which is no column of {snapshot.root}.")
                bounded = column.files_with_bounds or 0
                lacking = max(files - bounded, files - column.files_with_null_count)
                if lacking:
                    yield Found("gate.statistics", f"{lacking:,} of {files:,} files lack statistics of {column.name}")

    def _predicates(self, snapshot: Snapshot) -> Sequence[object]:
        if self.min_skipped is None or self.where:
            return self.where
        return [query.where for query in noted(snapshot.table_root) if query.where is not None]
