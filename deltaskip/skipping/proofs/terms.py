"""Translation of sets of a column's values to conditions on its statistics.

`min` and `max` enclose every value of the column that is neither NULL nor NaN (they may be wide), so a row with a value
x in a span [a, b] implies min <= x <= b and max >= x >= a. A row with any value implies nullCount != numRecords, a row
with NULL implies nullCount != 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.skipping import program
from deltaskip.skipping.proofs.preimage.value_sets import PointSpans, ValueSet, complement
from deltaskip.sparkexpr.preimages import NAN, Domain, Spans, domain_of, following, value_at
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.layout import BoundKind, StatField

_FEW = 8
"""Maximum number of spans with one term each; more spans are searched by bisection."""

_MOST = 64
"""The same for kinds of columns that no kernel searches; more spans are replaced by their hull."""
LEAST_AND_GREATEST = "only the least and the greatest of the predicate's values are compared with min and max"


def within(field: StatField, values: ValueSet) -> program.Term:
    """Return a condition that holds for every file with a row whose value of `field` is in the set."""
    present = _present(field, values)
    return any_of([program.NullsPossible(field), present]) if values.null else present


def within_hull(field: StatField, values: ValueSet) -> bool:
    """Return whether `within` compares only the least and the greatest of the values with the bounds."""
    domain = domain_of(field.type)
    return domain is not None and len(values.spans) > _MOST and not _is_searched(field, values.spans, domain)


def all_of(terms: Sequence[program.Term]) -> program.Term:
    """Return the conjunction of `terms`: a Drop decides it, a Keep is left out."""
    rest = []
    for term in terms:
        if isinstance(term, program.Drop):
            return term
        if not isinstance(term, program.Keep):
            rest.append(term)
    if not rest:
        return program.Keep()
    return rest[0] if len(rest) == 1 else program.AllOf(tuple(dict.fromkeys(rest)))


def any_of(terms: Sequence[program.Term]) -> program.Term:
    """Return the disjunction of `terms`: a Keep decides it, a Drop is left out."""
    rest = []
    for term in terms:
        if isinstance(term, program.Keep):
            return term
        if not isinstance(term, program.Drop):
            rest.append(term)
    if not rest:
        return program.Drop()
    return rest[0] if len(rest) == 1 else program.AnyOf(tuple(dict.fromkeys(rest)))


def _present(field: StatField, values: ValueSet) -> program.Term:
    domain = domain_of(field.type)
    if not values.spans:
        return program.Drop()
    if domain is None:
        return program.ValuesPossible(field.column)
    terms: list[program.Term] = [program.ValuesPossible(field.column)]
    if values.spans != domain.all:
        terms.append(_bounded(field, values.spans, domain))
    for cycle in values.cycles:
        if field.kind is BoundKind.INT64:
            hit = program.CycleTerm(field, cycle, values.spans[0][0], values.spans[-1][1] - 1)
            terms.append(any_of([hit, *(_span(field, low, stop, domain) for low, stop in cycle.exempt)]))
    return all_of(terms)


def _is_searched(field: StatField, spans: Spans, domain: Domain) -> bool:
    """Whether a kernel searches many of these spans."""
    match field.kind:
        case BoundKind.INT64:
            return True
        case BoundKind.DECIMAL:
            return False
        case _:
            return _points_only(spans) or _points_only(complement(spans, domain))


def _bounded(field: StatField, spans: Spans, domain: Domain) -> program.Term:
    if len(spans) > _FEW and _is_searched(field, spans, domain):
        has_nan = field.kind is BoundKind.DOUBLE and spans[-1][1] > NAN
        if isinstance(spans, PointSpans) and not spans.points_only:
            return program.AnySpan(field, numpy_values(spans.lows), numpy_values(spans.lasts))
        if _points_only(spans):
            return program.AnyPoint(field, _points(field, spans), has_nan)
        outside = complement(spans, domain)
        if _points_only(outside):
            return program.NotOnly(field, _points(field, outside), has_nan)
        lows = np.array([low for low, _ in spans], dtype=np.int64)
        return program.AnySpan(field, lows, np.array([stop - 1 for _, stop in spans], dtype=np.int64))
    if len(spans) > _MOST:
        return _span(field, spans[0][0], spans[-1][1], domain)
    return any_of([_span(field, low, stop, domain) for low, stop in spans])


def _span(field: StatField, low: Any, stop: Any, domain: Domain) -> program.Term:
    terms: list[program.Term] = []
    if stop < domain.stop:
        if field.kind is BoundKind.TEXT:
            terms.append(program.BoundTerm(field, "min", "lt", stop))
        else:
            terms.append(program.BoundTerm(field, "min", "le", _kernel_value(field, stop - 1)))
    if low > domain.low:
        nan_matches = field.kind is BoundKind.DOUBLE and stop > NAN
        terms.append(program.BoundTerm(field, "max", "ge", _kernel_value(field, low), nan_matches))
    return all_of(terms) if terms else program.ValuesPossible(field.column)


def _kernel_value(field: StatField, ordinal: Any) -> Any:
    return value_at(field.type, ordinal) if field.kind is BoundKind.DOUBLE else ordinal


def _points_only(spans: Spans) -> bool:
    if isinstance(spans, PointSpans):
        return spans.points_only
    return all(stop == following(low) for low, stop in spans)


def _points(field: StatField, spans: Spans) -> pa.Array:
    """The points in the layout of the kernels, ascending; NaN last."""
    if isinstance(spans, PointSpans):
        return spans.lows
    types = {BoundKind.DOUBLE: pa.float64(), BoundKind.TEXT: pa.binary()}
    found = [low for low, _ in spans]
    if field.kind is BoundKind.DOUBLE:
        found = [_kernel_value(field, low) for low in found]
    return arrow_array(found, types.get(field.kind, pa.int64()) if field.kind else pa.int64())


@dataclass(frozen=True, slots=True)
class Proof:
    """A condition on the statistics of a file that holds whenever some row of it makes the leaf TRUE.

    reason: why the condition is always true, or weaker than bounds would allow; "" where the rule is complete. For a
    Drop, why no row matches. The rule that gives up sets it: it must be true of the leaf and the schema, whatever
    statistics the log holds.
    """

    term: program.Term
    reason: str = ""


def every(proofs: Sequence[Proof]) -> Proof:
    """The conjunction; it has the reasons of the proofs, unless one of them is complete."""
    term = all_of([proof.term for proof in proofs])
    if isinstance(term, program.Drop):
        return Proof(term, joined_reasons(proof.reason for proof in proofs if isinstance(proof.term, program.Drop)))
    return Proof(term, joined_reasons(p.reason for p in proofs) if all(p.reason for p in proofs) else "")


def some(proofs: Sequence[Proof]) -> Proof:
    """The disjunction; any proof of it that is not complete weakens the whole."""
    term = any_of([proof.term for proof in proofs])
    limited = [p for p in proofs if isinstance(term, program.Drop) or not isinstance(p.term, program.Drop)]
    return Proof(term, joined_reasons(proof.reason for proof in limited))


def joined_reasons(reasons: Iterable[str]) -> str:
    """The reasons as one text, each once."""
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def enumerated(names: Sequence[str], last: str) -> str:
    """Names as a list in a sentence, `last` ("and", "or") before the last one."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
