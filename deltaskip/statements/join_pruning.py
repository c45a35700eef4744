"""Scans of the tables of a query without the files whose rows have no partner in a join.

The keys of one table, which is small or filtered, become a semi-join of the scan of another one. They are the keys of
all rows that its own scan returns, which has at least the rows that matter, so that a row that is left out has no
partner that matters (docs/pages/soundness.md, Joins). Tables are read in the order of their size, each after it was
narrowed by smaller ones, at the version that the query reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from deltaskip.errors import DeltaSkipError
from deltaskip.reading.semi_joins import joined_scan
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.skipping.joins.semi_join import KeyJoin
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.clock import reads_clock
from deltaskip.sparkexpr.nodes import top_level_columns
from deltaskip.sparkexpr.types import StructField
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.statements.required import JoinEquality

# A table with fewer files is read as it is. The keys of another one are read if that are at most so many bytes of
# columns, and a small share of the bytes of the table that they narrow, or little in any case.
_FEWEST_FILES = 2
_MOST_BYTES, _LITTLE_BYTES = 64 << 20, 256 << 10
_SMALL_SHARE = 1 / 10
# Most rows whose keys are held, and keys that are compared with rows although they leave out no file.
_MOST_ROWS, _FEW_KEYS = 10_000_000, 1_000


@dataclass(slots=True)
class _Table:
    """A table of the query. size_bytes: of the files that its scan keeps."""

    scan: TableScan
    size_bytes: int
    files: int

    @classmethod
    def of(cls, scan: TableScan) -> _Table:
        """Return the table of a scan."""
        sizes = scan.files(columns=["size"])["size"]
        return cls(scan, exact_sum(sizes), len(sizes))

    def key_bytes(self, columns: Collection[str]) -> int:
        """The estimated bytes of some columns, and of those of the predicate."""
        schema = self.scan.snapshot.schema
        read = {*columns, *top_level_columns(self.scan.predicate)}
        return self.size_bytes * min(len(read), len(schema.fields)) // max(1, len(schema.fields))


def without_partnerless(
    scans: Mapping[str, TableScan],
    joins: Sequence[JoinEquality],
    names: Mapping[str, str],
    same_types: bool = False,
) -> dict[str, TableScan]:
    """Return the scans of the tables of a query, without files whose rows have no partner.

    Args:
        scans: The scans by the names of `joins`.
        joins: The equalities that rows must satisfy.
        names: The names of the tables in the query, for `explain`.
        same_types: Whether only keys of the same type are compared, as another engine may cast others otherwise.
    """
    found = dict(scans)
    pairs: dict[tuple[str, str], list[JoinEquality]] = {}
    for each in joins:
        if each.table in scans and each.other in scans and _is_comparable(each, scans, same_types):
            pairs.setdefault((each.other, each.table), []).append(each)
    if not pairs:
        return found
    tables = {name: _Table.of(scans[name]) for name in {name for pair in pairs for name in pair}}
    waiting = set(tables)
    while waiting:
        name = min(waiting, key=lambda each: tables[each].size_bytes)
        waiting.discard(name)
        for target in sorted(waiting, key=lambda each: tables[each].size_bytes):
            equal = pairs.get((name, target))
            if equal is not None and _is_worth(tables[name], tables[target], equal):
                scan = _narrowed(tables[name].scan, tables[target].scan, equal, names)
                narrowed = None if scan is None else _Table.of(scan)
                if scan is not None and narrowed is not None and _saves(tables[target], narrowed):
                    tables[target], found[target] = narrowed, scan
    return found


def _is_comparable(equal: JoinEquality, scans: Mapping[str, TableScan], same_types: bool) -> bool:
    one, other = _field(scans[equal.table], equal.column), _field(scans[equal.other], equal.other_column)
    if one is None or other is None:
        return False
    if any({t.COLLATIONS_KEY, t.CHAR_VARCHAR_KEY} & each.metadata.keys() for each in (one, other)):
        # Spark decides between the collations of both sides.
        same = one.metadata.get(t.COLLATIONS_KEY) == dict(t.rekeyed_metadata(other, one.name)).get(t.COLLATIONS_KEY)
        if same_types or not same or any(t.CHAR_VARCHAR_KEY in each.metadata for each in (one, other)):
            return False
    integral = one.type in t.INTEGRAL_BITS and other.type in t.INTEGRAL_BITS
    return not same_types or one.type == other.type or integral


def _field(scan: TableScan, name: str) -> StructField | None:
    found = [field for field in scan.snapshot.schema.fields if t.fold_name(field.name) == name]
    return found[0] if len(found) == 1 and found[0].name in scan.paths_by_name else None


def _is_worth(keys: _Table, target: _Table, equal: Sequence[JoinEquality]) -> bool:
    """Whether reading the keys costs little beside the table, and may leave out files of it."""
    if target.files < _FEWEST_FILES or reads_clock(keys.scan.predicate):
        # The query has its own time.
        return False
    size = keys.key_bytes([each.other_column for each in equal])
    small = min(_MOST_BYTES, max(_LITTLE_BYTES, int(target.size_bytes * _SMALL_SHARE)))
    # Every file may have a key of a whole table, unless that has fewer rows than there are files.
    most = target.files if keys.scan.where is None else _MOST_ROWS
    return size <= small and keys.scan.estimated_rows() <= most


def _saves(before: _Table, after: _Table) -> bool:
    """Whether keys leave out files, or are so few that they cost nothing and may leave out rows."""
    return after.files < before.files or len(after.scan.joins[-1].join.rows) <= _FEW_KEYS


def _narrowed(
    keys: TableScan, target: TableScan, equal: Sequence[JoinEquality], names: Mapping[str, str]
) -> TableScan | None:
    """The scan of the rows of a table that have a key of another one; None if that is not decided here."""
    fields = [_field(keys, each.other_column) for each in equal]
    own = [_field(target, each.column) for each in equal]
    shown = [
        f"{names[each.table]}.{one.name} = {names[each.other]}.{other.name}"
        for each, one, other in zip(equal, own, fields, strict=True)
        if one is not None and other is not None
    ]
    read = [each.name for each in fields if each is not None]
    try:
        rows = keys.narrowed(list(dict.fromkeys(read)), None).to_arrow().select(read)
        schema = t.StructType(tuple(each for each in fields if each is not None))
        paths = [(each.name,) for each in own if each is not None]
        return joined_scan(target, KeyJoin(paths, rows, schema, " AND ".join(shown)))
    except DeltaSkipError:
        # Only Spark evaluates the predicate, reads a file, or compares the keys.
        return None
