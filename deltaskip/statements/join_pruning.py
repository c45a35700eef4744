"""Scans of the tables of a query without the files whose rows have no partner in a join.

Conditions on a column that is compared by `=` hold for both sides. Then the keys of one table, which is small or
filtered, become a semi-join of the scan of another one. They are the keys of all rows that its own scan returns, which
has at least the rows that matter, so that a row that is left out has no partner that matters (docs/pages/soundness.md,
Joins). Tables are read in the order of their size, each after it was narrowed by smaller ones, at the version that the
query reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from deltaskip.errors import DeltaSkipError
from deltaskip.reading.semi_joins import ScanJoin, joined_scan
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.skipping.joins.semi_join import KeyJoin
from deltaskip.sparkexpr import nodes as n
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
# The column of a comparison that is told of another one.
_ANY = n.Column(("",))


@dataclass(slots=True)
class _Table:
    """A table of the query.

    Attributes:
        scan: The scan.
        size_bytes: The bytes of the files that it keeps.
        files: Their number.
        limits_keys: Whether it has conditions that the tables with which it is joined do not have.
    """

    scan: TableScan
    size_bytes: int
    files: int
    limits_keys: bool

    @classmethod
    def of(cls, scan: TableScan, limits_keys: bool) -> _Table:
        """Return the table of a scan."""
        sizes = scan.files(columns=["size"])["size"]
        return cls(scan, exact_sum(sizes), len(sizes), limits_keys)

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
    pairs: dict[tuple[str, str], list[JoinEquality]] = {}
    for each in joins:
        if each.table in scans and each.other in scans and _is_comparable(each, scans, same_types):
            pairs.setdefault((each.other, each.table), []).append(each)
    if not pairs:
        return dict(scans)
    found, limiting = _with_conditions_of_partners(scans, [each for pair in pairs.values() for each in pair], names)
    tables = {name: _Table.of(found[name], name in limiting) for name in {name for pair in pairs for name in pair}}
    waiting = set(tables)
    while waiting:
        name = min(waiting, key=lambda each: tables[each].size_bytes)
        waiting.discard(name)
        for target in sorted(waiting, key=lambda each: tables[each].size_bytes):
            equal = pairs.get((name, target))
            if equal is not None and _is_worth(tables[name], tables[target], equal):
                scan = _narrowed(tables[name].scan, tables[target].scan, equal, names)
                narrowed = None if scan is None else _Table.of(scan, True)
                if scan is not None and narrowed is not None and _saves(tables[target], narrowed):
                    tables[target], found[target] = narrowed, scan
    return found


def _with_conditions_of_partners(
    scans: Mapping[str, TableScan], joins: Sequence[JoinEquality], names: Mapping[str, str]
) -> tuple[dict[str, TableScan], set[str]]:
    """The scans with the conditions of their partners on columns of one type, and the names of those with others.

    A row without such a condition has no partner with it, since equal values of a type satisfy the same comparisons.
    """
    given = {name: _conjuncts(scan.parsed) for name, scan in scans.items()}
    comparing = {name: set(filter(None, map(_comparison, parts))) for name, parts in given.items()}
    of_one_type = []
    for each in joins:
        one, other = _field(scans[each.table], each.column), _field(scans[each.other], each.other_column)
        if one is not None and other is not None and one.type == other.type and _is_comparable(each, scans, True):
            of_one_type.append((each, one.name, f"{names[each.table]}.{one.name} = {names[each.other]}.{other.name}"))
    new: dict[str, dict[tuple[str, n.Node], str]] = {name: {} for name in scans}
    columns: dict[tuple[str, str], str] = {}
    for _ in scans:
        # A condition goes through one join after the other.
        for each, own, shown in of_one_type:
            for name, node in [*comparing[each.other], *new[each.other]]:
                if name == each.other_column and (each.column, node) not in comparing[each.table]:
                    new[each.table].setdefault((each.column, node), shown)
                    columns[each.table, each.column] = own
    found, limiting = dict(scans), set()
    for name, scan in scans.items():
        if new[name]:
            nodes = [n.with_node_replaced(node, _ANY, n.Column((columns[name, column],))) for column, node in new[name]]
            found[name] = scan.narrowed(None, nodes[0] if len(nodes) == 1 else n.And(tuple(nodes)))
            label = " AND ".join(dict.fromkeys(new[name].values()))
            found[name].joins = (*scan.joins, ScanJoin(label, None, scan))
        joined = {each.other_column for each, _, _ in of_one_type if each.other == name}
        if len(given[name]) > sum(column in joined for column, _ in comparing[name]):
            limiting.add(name)
    return found, limiting


def _conjuncts(node: n.Node | None) -> list[n.Node]:
    if node is None:
        return []
    return [each for child in node.children for each in _conjuncts(child)] if isinstance(node, n.And) else [node]


def _comparison(node: n.Node) -> tuple[str, n.Node] | None:
    """The column, folded, of a comparison with constants, and the comparison for any column; None for another node."""
    match node:
        case n.Compare("=" | "<" | "<=" | ">" | ">=", n.Column((name,)) as column, n.Literal()):
            pass
        case n.Compare("=" | "<" | "<=" | ">" | ">=", n.Literal(), n.Column((name,)) as column):
            pass
        case n.In(n.Column((name,)) as column, tuple(values)) if all(isinstance(each, n.Literal) for each in values):
            pass
        case _:
            return None
    return t.fold_name(name), n.with_node_replaced(node, column, _ANY)


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
    # Each file that is left may have a key, unless there are fewer keys than files.
    is_left = not keys.limits_keys and 2 * target.files <= target.scan.total_files()
    most = target.files if is_left or keys.scan.parsed is None else _MOST_ROWS
    return size <= small and keys.scan.estimated_rows() <= most


def _saves(before: _Table, after: _Table) -> bool:
    """Whether keys leave out files, or are so few that they cost nothing and may leave out rows."""
    return after.files < before.files or (after.scan.joins[-1].keys or 0) <= _FEW_KEYS


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
