"""Functions of shapes, which shapely evaluates on a plane: ST_Intersects, ST_Contains, ST_Within and ST_DWithin.

# OGC Simple Feature Access, Part 2; Apache Sedona 1.9, Predicates; Spark 4.1, ST_GeomFromWKB, ST_AsBinary and ST_Srid
An empty shape, and one with NaN as a coordinate, intersects nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import PredicateError, shown
from deltaskip.extras import install_command
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import implicit_cast, implicit_casts, type_of
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.geospatial import crs_of_srid, same_crs, srid_of
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.wkb import first_not_wkb, is_wkb

SHAPE_PREDICATES = ("st_intersects", "st_contains", "st_within", "st_dwithin")
"""Functions of two shapes, the last one with a distance, which are TRUE only if the shapes meet or are so near."""

_ANY_CRS = crs_of_srid(0)


def library() -> Any:
    """The module shapely. Raises Undecided with the command that installs it."""
    try:
        import shapely
    except ImportError as error:
        why = f"shapes are evaluated by shapely, which is not installed: {install_command('geo')}."
        raise Undecided(why) from error
    if int(shapely.__version__.split(".")[0]) < 2:
        raise Undecided(f"shapely {shapely.__version__} is too old: {install_command('geo')}.")
    return shapely


def constant_shape(node: n.Node) -> Any:
    """The shape of a constant expression of a geospatial type; None for NULL.

    Raises EvaluationError if it is not WKT or WKB, and Undecided without shapely.
    """
    found = evaluate(node, {})
    return None if found is None else _parsed(found)


def _parsed(wkb: Any) -> Any:
    shapely = library()
    try:
        return shapely.from_wkb(wkb)
    except (shapely.errors.ShapelyError, TypeError, ValueError) as error:
        raise EvaluationError(f"A shape cannot be read as WKB: {str(error).rstrip('.')}.") from error


def _column_from_text(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    return pa.array(_wkb_of(np.asarray(v.column(args[0]).to_numpy(zero_copy_only=False), dtype=object)), pa.binary())


def _wkb_of(text: Any) -> Any:
    shapely = library()
    try:
        return shapely.to_wkb(shapely.from_wkt(text), flavor="iso")
    except (shapely.errors.ShapelyError, TypeError, ValueError) as error:
        # The reason of shapely contains the text, which may be long, and is cut inside of a character (ValueError).
        what = f"The text {shown(text)}" if isinstance(text, str) else "A text"
        raise EvaluationError(f"{what} is no WKT.") from error


_NO_WKB = "The bytes are not WKB (WKB_PARSE_ERROR)."


def _from_wkb(wkb: bytes, srid: int = 0) -> object:
    if not is_wkb(wkb):
        raise EvaluationError(_NO_WKB)
    return wkb


def _column_from_wkb(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if first_not_wkb(v.column(args[0])) is not None:
        raise EvaluationError(_NO_WKB)
    return v.column(args[0])


def _made(source: t.DataType) -> function.Signature:
    """Accept WKB or WKT, and optionally a constant SRID."""

    def signature(args: tuple[n.Node, ...]) -> function.Typed:
        if not 1 <= len(args) <= 2 or type_of(args[0]) not in (source, t.VOID):
            return None
        srid = 0 if len(args) == 1 else args[1].value if isinstance(args[1], n.Literal) else None
        if not isinstance(srid, int) or srid < 0:
            return None
        first = implicit_cast(args[0], source)
        return None if first is None else ((first, *args[1:]), t.GeometryType(crs_of_srid(srid)))

    return signature


def _geography(args: tuple[n.Node, ...]) -> function.Typed:
    return (args, t.GeographyType()) if len(args) == 1 and type_of(args[0]) in (t.BINARY, t.VOID) else None


def _of_shape(result: t.DataType) -> function.Signature:
    def signature(args: tuple[n.Node, ...]) -> function.Typed:
        return (args, result) if len(args) == 1 and isinstance(type_of(args[0]), t.GEOSPATIAL) else None

    return signature


def _srid(args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
    kind = type_of(call.args[0])
    srid = srid_of(kind.crs) if isinstance(kind, t.GeometryType | t.GeographyType) else None
    if srid is None:
        raise Undecided("The coordinate reference system has no SRID.")
    return srid


def _srid_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    shapes = v.column(args[0])
    found = pa.repeat(arrow_scalar(_srid((), call, zone), pa.int32()), len(shapes))
    return pc.if_else(shapes.is_valid(), found, v.none_of(pa.int32())) if shapes.null_count else found


def _two_shapes(name: str, distance: bool = False) -> function.Signature:
    """Accept two shapes of one coordinate reference system, and a distance in its units."""

    def signature(args: tuple[n.Node, ...]) -> function.Typed:
        if len(args) != 2 + distance:
            return None
        kinds = [type_of(arg) for arg in args[:2]]
        if not all(isinstance(kind, t.GEOSPATIAL) or kind == t.VOID for kind in kinds):
            raise PredicateError(
                f"{name} compares two shapes: write ST_GeomFromText('…') around WKT, and ST_GeomFromWKB(…) around WKB."
            )
        systems = [kind.crs for kind in kinds if isinstance(kind, t.GeometryType | t.GeographyType)]
        known = [crs for crs in systems if crs != _ANY_CRS]
        if len(known) == 2 and not same_crs(*known):
            raise PredicateError(
                f"{name} compares shapes of {known[0]} and {known[1]}: give the SRID of the column, or transform one."
            )
        far = implicit_casts(args[2:], [t.DOUBLE])
        return None if far is None else ((*args[:2], *far), t.BOOLEAN)

    return signature


def is_on_sphere(name: str, kinds: Iterable[t.DataType | None]) -> bool:
    """Whether a predicate over shapes of these types is evaluated on a sphere. Raises Undecided if it is on neither."""
    algorithms = {kind.algorithm for kind in kinds if isinstance(kind, t.GeographyType)}
    if algorithms and name == "st_dwithin":
        raise Undecided("distances of GEOGRAPHY, whose unit depends on the library, are not evaluated.")
    if algorithms - {"spherical"}:
        raise Undecided(f"edges of GEOGRAPHY by {', '.join(sorted(algorithms))} lie on no sphere.")
    return bool(algorithms)


def _one_row(name: str) -> function.Compute:
    def compute(args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
        if is_on_sphere(name, map(type_of, call.args)):
            return bool(related_on_sphere(name, [pa.array([arg], pa.binary()) for arg in args[:2]])[0].as_py())
        shapes = np.array([_parsed(arg) for arg in args[:2]], dtype=object)
        related_here = getattr(library(), name.removeprefix("st_"))
        return not _has_nan(shapes).any() and bool(related_here(*shapes, *args[2:]))

    return compute


def _by_column(name: str) -> function.ByColumn:
    def columns(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
        on_sphere = is_on_sphere(name, map(type_of, call.args))
        return related_on_sphere(name, args) if on_sphere else related(name, args)

    return columns


def related(name: str, args: Sequence[v.Values]) -> pa.Array:
    """Return whether shapes are related, of which at least one is a column; null where an argument is null.

    name: One of SHAPE_PREDICATES. args: Two shapes as WKB, and for st_dwithin the distance.
    Raises EvaluationError if a shape is not WKB, or shapely is not installed (Undecided).
    """
    method = name.removeprefix("st_")
    shapely, (left, right) = library(), map(_shapes, args[:2])
    odd = _has_nan(left) | _has_nan(right)
    if odd.any():
        left = np.where(odd, None, left)
    elif v.is_constant(args[1]):
        method, left, right = {"contains": "within", "within": "contains"}.get(method, method), right, left
    related_here, far = getattr(shapely, method), [*map(_numbers, args[2:])]
    if np.ndim(left) or not shapely.is_valid(left):
        found = related_here(left, right, *far)
    else:
        # A shape that is prepared for many others is compared in another way with those that collapse to less.
        odd = _may_collapse(right)
        apart = related_here(left, right[odd], *(each if np.ndim(each) == 0 else each[odd] for each in far))
        shapely.prepare(left)
        found = related_here(left, right, *far)
        found[odd] = apart
    known = v.valid(*v.expanded(args))
    return arrow_array(found) if known is None else pa.array(found, mask=~known)


def _may_collapse(shapes: Any) -> Any:
    """Whether each shape is an area or line without extent, or has several parts that may be."""
    shapely = library()
    dimension = shapely.get_dimensions(shapes)
    flat = ((dimension == 2) & (shapely.area(shapes) == 0)) | ((dimension == 1) & (shapely.length(shapes) == 0))
    return flat | ((shapely.get_type_id(shapes) > _POLYGON) & ~shapely.is_valid(shapes))


def related_on_sphere(name: str, args: Sequence[v.Values]) -> pa.Array:
    """Return whether shapes are related on a sphere, see `related`: by spherely, that is S2.

    Edges are the shorter arcs, a polygon is the smaller side of its rings, and a point on an edge that two polygons
    share is in one of them at most.
    """
    try:
        import spherely
    except ImportError as error:
        why = f"GEOGRAPHY is evaluated by spherely, which is not installed: {install_command('sphere')}."
        raise Undecided(why) from error

    def geographies(values: v.Values) -> Any:
        if v.is_constant(values):
            return spherely.from_wkb(without_nan(np.array([v.constant(values)], dtype=object)))[0]
        return spherely.from_wkb(without_nan(values.to_numpy(zero_copy_only=False).astype(object)))

    def without_nan(wkb: Any) -> Any:
        missing = wkb == None  # noqa: E711 by element
        odd = missing | _has_nan(_parsed(np.where(missing, None, wkb)))
        return np.where(odd, _NOTHING, wkb)

    try:
        left, right = map(geographies, args)
        found = getattr(spherely, name.removeprefix("st_"))(left, right)
    except RuntimeError as error:
        raise EvaluationError(f"A shape is not valid on a sphere: {str(error).rstrip('.')}.") from error
    known = v.valid(*v.expanded(args))
    found = np.atleast_1d(found)
    return arrow_array(found) if known is None else pa.array(found, mask=~known)


_POLYGON = 3
"""The number of the type in WKB; those of shapes with several parts are greater."""

_NOTHING = bytes.fromhex("010700000000000000")
"""WKB of an empty collection, which meets nothing."""


def _shapes(values: v.Values) -> Any:
    if v.is_constant(values):
        return _parsed(v.constant(values))
    return _parsed(np.asarray(values.to_numpy(zero_copy_only=False), dtype=object))


def _has_nan(shapes: Any) -> Any:
    """Whether each shape has NaN as a coordinate, with which the results of shapely are arbitrary."""
    shapely = library()
    numbers, places = shapely.get_coordinates(shapes, return_index=True)
    found = np.zeros(np.shape(shapes), np.bool_)
    broken = places[np.isnan(numbers).any(axis=1)]
    if len(broken):
        np.put(found, broken, True)
    return found


def _numbers(values: v.Values) -> Any:
    return v.constant(values) if v.is_constant(values) else values.to_numpy(zero_copy_only=False)


def _predicate(name: str, distance: bool = False) -> function.Function:
    called = name.lower()
    return function.Function(_two_shapes(name, distance), _one_row(called), by_column=_by_column(called))


SHAPES: Mapping[str, function.FunctionRow] = {
    "st_geomfromwkb": function.Function(_made(t.BINARY), function.by_row(_from_wkb), by_column=_column_from_wkb),
    "st_geomfromtext": function.Function(
        _made(t.STRING),
        function.by_row(lambda text, srid=0: _wkb_of(text)),
        by_column=_column_from_text,
        aliases=("st_geomfromwkt",),
    ),
    "st_geogfromwkb": function.Function(_geography, function.by_row(_from_wkb), by_column=_column_from_wkb),
    "st_asbinary": function.Function(
        _of_shape(t.BINARY), function.by_row(lambda wkb: wkb), by_column=lambda args, call, zone: v.column(args[0])
    ),
    "st_srid": function.Function(_of_shape(t.INTEGER), _srid, by_column=_srid_column),
    "st_intersects": _predicate("ST_Intersects"),
    "st_contains": _predicate("ST_Contains"),
    "st_within": _predicate("ST_Within"),
    "st_dwithin": _predicate("ST_DWithin", True),
}
