"""Proof: the condition that a rule derives from one leaf of a predicate, and the reason why it derives no more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deltaskip.records import dataclass
from deltaskip.skipping.program import Drop, Term
from deltaskip.skipping.proofs.terms import all_of, any_of

LEAST_AND_GREATEST = "only the least and the greatest of the predicate's values are compared with min and max"


@dataclass(frozen=True, slots=True)
class Proof:
    """A condition on the statistics of a file that holds whenever some row of it makes the leaf TRUE.

    reason: why the condition is always true, or weaker than bounds would allow; "" where the rule is complete. Of a
    Drop, why no row matches. The rule that gives up sets it: it must be true of the leaf and the schema, whatever
    statistics the log holds.
    """

    term: Term
    reason: str = ""


def every(proofs: Sequence[Proof]) -> Proof:
    """The conjunction; its reason is that of the proofs, unless one of them is complete."""
    term = all_of([proof.term for proof in proofs])
    if isinstance(term, Drop):
        return Proof(term, joined(proof.reason for proof in proofs if isinstance(proof.term, Drop)))
    return Proof(term, joined(p.reason for p in proofs) if all(p.reason for p in proofs) else "")


def some(proofs: Sequence[Proof]) -> Proof:
    """The disjunction; any proof of it that is not complete weakens the whole."""
    term = any_of([proof.term for proof in proofs])
    limited = [p for p in proofs if isinstance(term, Drop) or not isinstance(p.term, Drop)]
    return Proof(term, joined(proof.reason for proof in limited))


def joined(reasons: Iterable[str]) -> str:
    """The reasons as one text, each once."""
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def enumerated(names: Sequence[str], last: str) -> str:
    """Names as a list in a sentence, `last` ("and", "or") before the last one."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
