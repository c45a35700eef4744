"""The order of strings under a collation, in the version by which rows are compared now."""

from __future__ import annotations

from deltaskip.engine import collation_version
from deltaskip.expr.evaluate import Order
from deltaskip.skipping.proofs.collated import Collations

__all__ = ["running_order"]


def running_order() -> Order:
    """Return what compares strings as the running session does, else the installed Spark, else Spark 4.1.

    It asks for the version when it first compares.
    """
    found: list[Order] = []

    def order(collation: str, left: str, right: str) -> int:
        if not found:
            found.append(Collations(collation_version()).order)
        return found[0](collation, left, right)

    return order
