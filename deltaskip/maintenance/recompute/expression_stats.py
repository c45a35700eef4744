"""Bounds of expressions in the statistics of files, computed from the rows in this process.

# RFC Clustering by expressions: "the minimum and maximum values observed when the matching transform function defined
# in clustering domain metadata is run on all records"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import hadoop_paths
from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.skipping.proofs.expression_bounds import BoundedExpression
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.values import EXACT
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.layout import Side
from deltaskip.stats.merged_stats import with_expression_stats
from deltaskip.stats.written_bounds import bound_text, json_string


def with_bounds_of_expressions(
    snapshot: Snapshot, results: Iterable[pa.Table], expressions: Sequence[BoundedExpression]
) -> Iterator[pa.Table]:
    """Yield tables of RESULT_SCHEMA whose statistics also have the bounds of expressions.

    An expression that fails for a row of a file gets no bounds there: without ANSI mode, it may have any value.
    """
    if not expressions:
        yield from results
        return
    compute = BoundsOfExpressions(snapshot, expressions)
    for result in results:
        both = zip(
            result["stats"].to_pylist(), result["logged_stats"].to_pylist(), compute.of_files(result), strict=True
        )
        texts = [with_expression_stats(new, old, bounds) for new, old, bounds in both]
        yield result.set_column(result.schema.get_field_index("stats"), "stats", arrow_array(texts, pa.string()))


class BoundsOfExpressions:
    """Computes the bounds of expressions from the rows of files.

    Args:
        snapshot: The table.
        expressions: The expressions.
    """

    def __init__(self, snapshot: Snapshot, expressions: Sequence[BoundedExpression]) -> None:
        place = EvaluationPlace(snapshot.root, "Compute the bounds with the writer of the table.")
        self._local = [(each, LocalExpression(each.node, snapshot.schema, place)) for each in expressions]
        names = dict.fromkeys(each.source.logical[0] for each in expressions)
        self._reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, tuple(names))
        self._root = snapshot.table_root

    def of_files(self, files: pa.Table) -> Iterator[dict[str, str]]:
        """Yield the bounds of each signature as JSON for each file, given with partition values, vector and size."""
        uri = hadoop_paths(self._root, files["path"].combine_chunks())
        described = files.select(["partition_values", "deletion_vector", "size"]).append_column("uri", uri)
        for number in range(len(files)):
            yield _computed(self._reader, described.slice(number, 1), self._local)


def _computed(
    reader: StoredRows, file: pa.Table, local: Sequence[tuple[BoundedExpression, LocalExpression]]
) -> dict[str, str]:
    """The bounds of each signature as JSON, of the rows of a file that are not deleted."""
    values: dict[str, list[pa.StructScalar]] = {each.bounds.signature: [] for each, _ in local}
    for _, batch in reader.live(file):
        for each, expression in local:
            if each.bounds.signature in values:
                try:
                    found = expression.values(batch.columns, len(batch))
                except (PredicateError, UnsupportedFeature):
                    del values[each.bounds.signature]
                else:
                    values[each.bounds.signature].append(pc.min_max(found))
    bounds = ((each.bounds, values.get(each.bounds.signature)) for each, _ in local)
    return {field.signature: _json(field.physical, field.type, found) for field, found in bounds if found is not None}


def _json(path: Sequence[str], type_: t.DataType, extremes: Sequence[pa.StructScalar]) -> str:
    groups = []
    sides: tuple[Side, ...] = ("min", "max")
    for side in sides:
        found = [_bound(each[side]) for each in extremes if each[side].is_valid]
        found = [each for each in found if each == each]  # without NaN
        text = bound_text(type_)((min if side == "min" else max)(found), side) if found else None
        for name in reversed(path if text is not None else ()):
            text = f"{{{json_string(name)}:{text}}}"
        groups.append(f'"{side}Values":{text or "{}"}')
    return f"{{{','.join(groups)}}}"


def _bound(value: pa.Scalar) -> Any:
    """A value as stats.written_bounds expects it."""
    if pa.types.is_decimal(value.type):
        return int(EXACT.scaleb(value.as_py(), value.type.scale))
    if pa.types.is_temporal(value.type):
        return value.value
    plain = value.as_py()
    return plain.encode() if isinstance(plain, str) else plain
