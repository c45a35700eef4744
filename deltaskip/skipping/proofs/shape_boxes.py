"""Predicates over shapes as conditions on the boxes of files.

A shape of a row lies in the box of its file (stats.boxes). A row whose shape meets a constant one implies that the two
boxes meet; a row whose shape contains the constant one implies that the file's box contains its box.
"""

from __future__ import annotations

import math

from deltaskip.skipping import program
from deltaskip.skipping.proofs.terms import Proof, all_of
from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import SHAPE_PREDICATES, constant_shape
from deltaskip.stats.boxes import on_sphere
from deltaskip.stats.layout import StatField

ON_SPHERE = "no box of GEOGRAPHY limits shapes that span 180 degrees or a pole, distances, and edges on no sphere"
_ROUNDING = 1 + 1e-9
"""A distance that shapely rounds to the given one may be greater by a few units in the last place."""


def shape_and_constant(node: n.Node) -> tuple[n.FieldRef, n.Node, bool] | None:
    """Return the column and the constant of a predicate over shapes, and whether the column is the first argument."""
    if not isinstance(node, n.Call) or node.name not in SHAPE_PREDICATES or node.type is None:
        return None
    for at in (0, 1):
        column, other = node.args[at], node.args[1 - at]
        constants = (other, *node.args[2:])
        if isinstance(column, n.FieldRef) and not any(isinstance(p, n.FieldRef) for c in constants for p in n.walk(c)):
            return column, other, at == 0
    return None


def boxed(node: n.Node, column: StatField, constant: n.Node, is_first: bool) -> Proof | None:
    """Return the condition of a predicate over a column of shapes and a constant; None if no box limits it.

    Args:
        node: The predicate, a call of one of SHAPE_PREDICATES.
        column: The column as statistics identify it.
        constant: The other shape.
        is_first: Whether the column is the first argument.
    """
    assert isinstance(node, n.Call)
    spherical = isinstance(column.type, t.GeographyType)
    if isinstance(column.type, t.GeographyType) and (node.name == "st_dwithin" or column.type.algorithm != "spherical"):
        return Proof(program.ValuesPossible(column), ON_SPHERE)
    far = node.args[2] if len(node.args) > 2 else n.Literal(0.0, t.DOUBLE)
    if not isinstance(far, n.Literal):
        return None
    try:
        shape = constant_shape(constant)
    except EvaluationError as error:
        return Proof(program.ValuesPossible(column), str(error).rstrip("."))
    if shape is None or far.value is None:
        return Proof(program.Drop(), "a predicate over shapes is never true of NULL")
    if shape.is_empty:
        return Proof(program.Drop(), "an empty shape meets no other")
    reach = float(far.value) * _ROUNDING  # type: ignore[arg-type]
    x_low, y_low, x_high, y_high = map(float, shape.bounds)
    if not all(map(math.isfinite, (x_low, y_low, x_high, y_high, reach))) or reach < 0:
        return None
    sides = [("x", x_low, x_high), ("y", y_low, y_high)]
    if spherical:
        x_low, x_high, y_low, y_high = map(float, on_sphere(x_low, x_high, y_low, y_high))
        sides = [("x", x_low, x_high), ("y", y_low, y_high)]
        if math.isnan(x_low) or y_low <= -90 or y_high >= 90:
            return Proof(program.ValuesPossible(column), ON_SPHERE)
        if x_low <= -180 or x_high >= 180:
            # Both are one meridian.
            del sides[0]
    covers = not spherical and node.name == ("st_contains" if is_first else "st_within")
    terms: list[program.Term] = [program.ValuesPossible(column)]
    for axis, low, high in sides:
        bounds = StatField(column.physical, t.DOUBLE, f"{column.label}:{axis}", inside=axis, container=column.type)
        below, above = (low, high) if covers else (high, low)
        if reach:
            below, above = math.nextafter(below + reach, math.inf), math.nextafter(above - reach, -math.inf)
        terms += [program.BoundTerm(bounds, "min", "le", below), program.BoundTerm(bounds, "max", "ge", above)]
    return Proof(all_of(terms))
