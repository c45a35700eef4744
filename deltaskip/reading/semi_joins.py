"""`TableScan.semi_join`: its arguments, and the scan of the rows that have a partner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip import arguments
from deltaskip.data_files.data import GivenRows
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.records import dataclass
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.joins.semi_join import KeyJoin
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import nested_value, one_chunk

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan

_ON = "the name of a column, a list of names, or a dict of columns of the table and of the rows"


@dataclass(frozen=True, slots=True)
class ScanJoin:
    """A join that narrows a scan.

    Attributes:
        label: What is joined.
        keys: How many keys it has; None if only conditions on keys are known.
        before: The scan without it.
    """

    label: str
    keys: int | None
    before: TableScan

    def said(self, kept_files: int) -> str:
        """Return what it saved, as a sentence. kept_files: The files that are kept with it."""
        saved = self.before.explain().kept_files - kept_files
        files = "1 file" if saved == 1 else f"{saved:,} files"
        keys = "1 key" if self.keys == 1 else f"{self.keys or 0:,} keys"
        joined = "conditions of both sides" if self.keys is None else keys
        return f"The join on {self.label} with {joined} saves {files}."


def semi_joined(scan: TableScan, rows: object, on: object) -> TableScan:
    """Return a scan of the rows whose keys other rows have, see `TableScan.semi_join`."""
    snapshot = scan.snapshot
    at = f"(table {snapshot.table_root}, version {snapshot.version})"
    if scan.limit is not None:
        raise InvalidArgument(
            f"The rows of a scan with a limit or an order depend on which rows are read: call semi_join before top, "
            f"and without a limit {at}."
        )
    named = _pairs(on)
    given = GivenRows(rows, "rows")
    if given.frame is not None:
        given = GivenRows(_collected(given.frame, [theirs for _, theirs in named]), "rows")
    schema = given.schema_for(snapshot.schema)
    own = [_resolved(name, snapshot.schema, "on is not valid: ", at).logical for name, _ in named]
    theirs = [_resolved(name, schema, "on is not valid for rows: ", at) for _, name in named]
    data = given.table(snapshot.root)
    columns = [nested_value(one_chunk(data[each.logical[0]]), each.logical[1:]) for each in theirs]
    fields = [t.renamed(each.field, f"k{at}") for at, each in enumerate(theirs)]
    shown = [(t.display_name(path), t.display_name(each.logical)) for path, each in zip(own, theirs, strict=True)]
    label = ", ".join(ours if ours == name else f"{ours} = {name}" for ours, name in shown)
    keys = pa.table(columns, [f"k{at}" for at in range(len(columns))])
    return joined_scan(scan, KeyJoin(own, keys, t.StructType(tuple(fields)), label))


def joined_scan(scan: TableScan, join: KeyJoin) -> TableScan:
    """Return the scan of the rows that have a key of a join."""
    found = scan.narrowed(None, join)
    found.joins = (*scan.joins, ScanJoin(join.label, len(join.rows), scan))
    return found


def _pairs(on: object) -> list[tuple[str, str]]:
    """The columns of the table and of the rows, as they were given."""
    if isinstance(on, Mapping):
        found = list(on.items())
    elif isinstance(on, str) or (isinstance(on, Sequence) and not isinstance(on, bytes)):
        found = [(name, name) for name in ([on] if isinstance(on, str) else on)]
    else:
        raise InvalidArgumentType.of("on", _ON, on)
    for each in found:
        for name in each:
            if not isinstance(name, str):
                raise InvalidArgumentType.of("on", _ON, on)
    if not found:
        raise InvalidArgument(f"on names no column: it is {_ON}.")
    return [(arguments.text("on", ours), arguments.text("on", theirs)) for ours, theirs in found]


def _resolved(name: str, schema: t.StructType, what: str, at: str) -> t.Resolved:
    """The column of a name, which may have dots. what and at: The beginning and the end of errors."""
    try:
        if t.fold_name(name) in map(t.fold_name, schema.names):
            return t.resolve(schema, (name,))
        found = t.parse_names(name, "on", PredicateError)
        if len(found) != 1:
            raise PredicateError(f"{name!r} is not the name of one column: give several as a list.")
        return t.resolve(schema, found[0])
    except PredicateError as error:
        raise PredicateError(f"{what}{error} {at}") from error


def _collected(frame: Any, names: Sequence[str]) -> pa.Table:
    """The rows of a DataFrame of PySpark with some columns."""
    chosen = frame.select(*names).distinct()
    found = chosen.toArrow() if hasattr(chosen, "toArrow") else pa.Table.from_pandas(chosen.toPandas())
    collated = filter(t.collation_inside, schema_of(chosen.schema).fields)
    return pa.Table.from_arrays(found.columns, schema=t.with_collations(found.schema, collated))
