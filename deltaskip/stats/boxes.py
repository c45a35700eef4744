"""Bounding boxes of shapes: two points in minValues and maxValues, and those in Parquet footers and in WKB.

# Apache Parquet, Geospatial Definitions; Delta Kernel 4.4, GeometryUtils: minValues has the point of the least
# coordinates and maxValues that of the greatest, as WKT: POINT(1.0 2.0), POINT Z (1.0 2.0 3.0)
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values import java_text
from deltaskip.sparkexpr.values.arrow_values import TRUE, arrow_array, arrow_scalar, filled, numpy_values
from deltaskip.stats.facts import NO_VALUES, UNKNOWN, Box, Extremes
from deltaskip.stats.layout import Side, StatField

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_POINT = rf"(?i)^\s*POINT\s*(?:ZM|Z|M)?\s*\(\s*(?P<x>{_NUMBER})\s+(?P<y>{_NUMBER})(?:\s+{_NUMBER}){{0,2}}\s*\)\s*$"
# Fields of ColumnMetaData, GeospatialStatistics and BoundingBox.
_GEOSPATIAL, _BOX, _KINDS = 17, 1, 2
_MEMBERS = ("xmin", "xmax", "ymin", "ymax", "zmin", "zmax", "mmin", "mmax")
_AXES = ((1, 2), (3, 4), (5, 6), (7, 8))
# Degrees: one is 111 km.
_ROUNDING = 1e-7
_POINTS = (1, 4)
"""The types Point and MultiPoint in WKB, which have no edges."""


def axis_bounds(low: pa.Array, high: pa.Array, field: StatField) -> tuple[pa.Array, pa.Array, pa.BooleanArray]:
    """Return the bounds of a coordinate of the shapes of each file, null where unknown.

    Args:
        low: The points in minValues, as WKT.
        high: The points in maxValues.
        field: The coordinate, x or y, of a column.

    Returns:
        The least and the greatest coordinates as doubles, and TRUE for each file: no shape with NaN matches anything.
        Both are unknown if the least is greater, as of boxes that cross the antimeridian.
    """
    least, greatest = _coordinates(low, field.inside), _coordinates(high, field.inside)
    known = filled(pc.less_equal(least, greatest), False)
    nothing = arrow_scalar(None, pa.float64())
    if isinstance(field.container, t.GeographyType):
        ends = [filled(_coordinates(points, axis), math.nan) for axis in "xy" for points in (low, high)]
        box = on_sphere(*map(numpy_values, ends))
        known = pc.and_(known, arrow_array(~np.isnan(box[0])))
        least, greatest = (arrow_array(each) for each in (box[:2] if field.inside == "x" else box[2:]))
    return pc.if_else(known, least, nothing), pc.if_else(known, greatest, nothing), pa.repeat(TRUE, len(low))


def on_sphere(west: Any, east: Any, south: Any, north: Any) -> tuple[Any, Any, Any, Any]:
    """Return boxes that hold the shapes whose vertices, or points, lie in boxes of degrees; NaN where none is known.

    An edge is the shorter arc of a great circle. Between meridians that are less than 180 degrees apart, it stays
    between those of its ends, and is nearest to a pole halfway, if its ends are on one parallel: tan(y') = tan(y) /
    cos((east - west) / 2). A polygon is the smaller side of its rings, so it has no point outside of them.

    Args:
        west: The least longitudes.
        east: The greatest longitudes.
        south: The least latitudes.
        north: The greatest latitudes.
    """
    with np.errstate(invalid="ignore"):
        is_known = (west >= -180) & (west <= east) & (east <= 180) & (east - west < 180)
        is_known &= (south >= -90) & (south <= north) & (north <= 90)
        halfway = np.cos(np.radians(np.where(is_known, east - west, 0.0)) / 2)
        arcs = [np.degrees(np.arctan(np.tan(np.radians(each)) / halfway)) for each in (south, north)]
        box = west, east, np.minimum(south, arcs[0]), np.maximum(north, arcs[1])
        rounding = (-_ROUNDING, _ROUNDING, -_ROUNDING, _ROUNDING)
        return tuple(np.where(is_known, each + far, np.nan) for each, far in zip(box, rounding, strict=True))  # type: ignore[return-value]


def _coordinates(points: pa.Array, axis: str) -> pa.Array:
    found = pc.extract_regex(points, _POINT)
    return pc.struct_field(found, axis).cast(pa.float64())


def point_text(box: Box, side: Side) -> str | None:
    """Return a corner of a box as JSON text, a point of WKT; None if the box has no corner."""
    numbers = (box.bound(axis, side) for axis in "xyzm")
    x, y, z, m = (None if number is None else java_text(number, False) for number in numbers)
    if x is None or y is None:
        return None
    kind = f"{'Z' if z else ''}{'M' if m else ''}"
    return f'"POINT{f" {kind} " if kind else ""}({" ".join(each for each in (x, y, z, m) if each)})"'


def footer_box(chunks: Sequence[Mapping[int, Any]], type_: t.DataType) -> Extremes | None:
    """Return the box that row groups prove for a column; None if one of them, which has shapes, proves none.

    chunks: Metadata of the column's chunks (parquet.thrift, ColumnMetaData), of those that have values.
    """
    found: Box | None = None
    for chunk in chunks:
        statistics = chunk.get(_GEOSPATIAL, {})
        box = _box(statistics.get(_BOX, {}), statistics.get(_KINDS, ()), type_)
        if box is None:
            return None
        found = box if found is None else found.joined(box)
    return NO_VALUES if found is None else Extremes(found, found)


def _box(given: Mapping[int, float], kinds: Sequence[int], type_: t.DataType) -> Box | None:
    """The box of a footer; None if it may not hold all points of the shapes. kinds: Their types in WKB."""
    axes = [(given.get(low, math.nan), given.get(high, math.nan)) for low, high in _AXES]
    x, y, *further = (axis if all(map(math.isfinite, axis)) and axis[0] <= axis[1] else None for axis in axes)
    if x is None or y is None:
        return None
    if isinstance(type_, t.GeographyType):
        west, east, south, north = map(float, on_sphere(*x, *y))
        only_points = kinds and all(kind % 1000 in _POINTS for kind in kinds)
        if math.isnan(west):
            on_earth = -180 <= x[0] <= x[1] <= 180 and -90 <= y[0] <= y[1] <= 90
            return Box((x, y, *further)) if only_points and on_earth else None
        if not only_points:
            return Box(((west, east), (south, north), *further))
    return Box((x, y, *further))


def box_of(shapes: pa.Array, type_: t.DataType) -> Extremes:
    """Return the box of WKB values; unknown if they have no coordinates. pyarrow computes it as it writes a file."""
    if shapes.null_count == len(shapes):
        return NO_VALUES
    # Planning reads boxes, and must not load the code that computes them.
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # The boxes of points of the two types are the same, and pyarrow computes only those of GEOMETRY.
    table = pa.table({"shapes": pa.ExtensionArray.from_storage(WkbType(t.GeometryType()), shapes.cast(pa.binary()))})
    pq.write_table(table, sink, compression="none", use_dictionary=False, store_schema=False, row_group_size=len(table))
    found = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0).column(0).geo_statistics
    if found is None:
        return UNKNOWN
    members = found.to_dict()
    given = {at: members[name] for at, name in enumerate(_MEMBERS, 1) if members[name] is not None}
    box = _box(given, found.geospatial_types, type_)
    return UNKNOWN if box is None else Extremes(box, box)


class WkbType(pa.ExtensionType):  # type: ignore[misc]
    """The extension type geoarrow.wkb, which pyarrow writes to Parquet as GEOMETRY or GEOGRAPHY. It is not registered.

    The name of the coordinate reference system becomes that of the file, unchanged.
    """

    def __init__(self, type_: t.GeometryType | t.GeographyType) -> None:
        edges = {"edges": type_.algorithm} if isinstance(type_, t.GeographyType) else {}
        self._metadata = json.dumps({"crs": type_.crs, **edges}).encode()
        super().__init__(pa.binary(), t.WKB_EXTENSION)

    def __arrow_ext_serialize__(self) -> bytes:
        return self._metadata

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> WkbType:
        return cls(t.of_geoarrow(serialized.decode()))
