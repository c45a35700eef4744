"""The geospatial types in text: their names in schemas, their SQL text with SRIDs, and the metadata of GeoArrow.

# Apache Parquet, Geospatial Definitions; GeoArrow 0.2, Extension types; Spark 4.2, SpatialReferenceSystemMapper
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deltaskip.errors import SchemaError
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.types.data_types import ALGORITHMS, DEFAULT_CRS, GeographyType, GeometryType

WKB_EXTENSION = "geoarrow.wkb"

_NAME = regex(r"(geometry|geography)(?:\(\s*([^\s(),\"':]+:[^\s(),\"']+|[a-z]+)\s*(?:,\s*([A-Za-z]+)\s*)?\))?")
_NUMBERED = regex(r"(epsg|srid):([0-9]{1,9})")
_WGS84 = ("OGC:CRS84", "EPSG:4326")
_NO_CRS = "SRID:0"


def geospatial_named(text: str) -> GeometryType | GeographyType | None:
    """Return the type with a name in a schema, such as geography(OGC:CRS84, spherical); None for another name.

    Spark writes the algorithm in upper case. Without parameters, they are OGC:CRS84 and spherical.
    """
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    name, crs, algorithm = found[1], found[2] or DEFAULT_CRS, (found[3] or "").lower()
    if name == "geography" and not algorithm and crs in ALGORITHMS:
        crs, algorithm = DEFAULT_CRS, crs
    if ":" not in crs:
        return None
    if name == "geometry":
        return None if algorithm else GeometryType(crs)
    return GeographyType(crs, algorithm or "spherical") if algorithm in ("", *ALGORITHMS) else None


def geospatial_of_sql(name: str, parameters: str) -> GeometryType | GeographyType | None:
    """Return the type of SQL text with an SRID or a CRS, and for GEOGRAPHY an algorithm; None for other parameters.

    # Spark 4.2, GEOMETRY(4326); GEOMETRY(ANY) is no type of columns
    """
    crs, *edges = (each.strip().strip("'\"") for each in parameters.split(","))
    crs = crs_of_srid(int(crs)) if crs.isdecimal() else crs
    return geospatial_named(f"{name}({', '.join([crs, *edges])})") if ":" in crs else None


def crs_of_srid(srid: int) -> str:
    """Return the coordinate reference system of an SRID, as Spark names it."""
    return {0: _NO_CRS, 4326: DEFAULT_CRS}.get(srid, f"EPSG:{srid}")


def srid_of(crs: str) -> int | None:
    """Return the SRID of a coordinate reference system; None if it is not identified by a number."""
    if crs.upper() in _WGS84:
        return 4326
    found = _NUMBERED.fullmatch(crs.lower())
    return None if found is None else int(found[2])


def same_crs(one: str, other: str) -> bool:
    """Whether two names are of one coordinate reference system, as OGC:CRS84 and EPSG:4326: x is always the first."""
    srid = srid_of(one)
    return one.lower() == other.lower() or (srid is not None and srid == srid_of(other))


def geospatial_text(type_: GeometryType | GeographyType) -> str:
    """Return the SQL text of a type: geometry(4326), or the CRS if it has no SRID."""
    srid = srid_of(type_.crs)
    parameter = type_.crs if srid is None or crs_of_srid(srid).lower() != type_.crs.lower() else str(srid)
    edges = f", {type_.algorithm}" if isinstance(type_, GeographyType) and type_.algorithm != "spherical" else ""
    return f"{'geography' if isinstance(type_, GeographyType) else 'geometry'}({parameter}{edges})"


def geoarrow_metadata(type_: GeometryType | GeographyType) -> str:
    """Return the JSON text of the extension type geoarrow.wkb: the CRS, and the edges if they are not planar."""
    found: dict[str, str] = {}
    kind, _, code = type_.crs.partition(":")
    if kind.lower() == "srid":
        found |= {} if type_.crs.upper() == _NO_CRS else {"crs": code, "crs_type": "srid"}
    else:
        found |= {"crs": type_.crs, "crs_type": "authority_code"}
    if isinstance(type_, GeographyType):
        found["edges"] = type_.algorithm
    return json.dumps(found)


def of_geoarrow(metadata: str) -> GeometryType | GeographyType:
    """Return the type of columns with the metadata of geoarrow.wkb; without a CRS, its name is SRID:0.

    Raises SchemaError for metadata that name no authority and code.
    """
    try:
        given = parse_json(metadata or "{}")
        edges, crs = given.get("edges"), _crs_name(given.get("crs"), given.get("crs_type"))
        return GeometryType(crs) if edges in (None, "planar") else GeographyType(crs, edges)
    except (ValueError, AttributeError, TypeError) as error:
        reason = str(error).rstrip(".") if isinstance(error, SchemaError) else "it is not the JSON of its definition"
        raise SchemaError(f"The metadata of {WKB_EXTENSION} cannot be read: {reason}.") from error


def _crs_name(crs: Any, kind: str | None) -> str:
    """The name of a CRS that is given as text or as PROJJSON, which has the authority and the code as its id."""
    if crs is None:
        return _NO_CRS
    if isinstance(crs, str) and crs.lstrip().startswith("{"):
        crs = parse_json(crs)
    if isinstance(crs, Mapping):
        identifier = crs.get("id")
        if not isinstance(identifier, Mapping) or not {"authority", "code"} <= identifier.keys():
            raise SchemaError("its coordinate reference system has no id: convert the shapes to one that has")
        crs = f"{identifier['authority']}:{identifier['code']}"
    elif kind == "srid":
        crs = crs_of_srid(int(crs))
    if not isinstance(crs, str) or ":" not in crs:
        raise SchemaError("its coordinate reference system is not an authority and a code, such as EPSG:3857")
    return DEFAULT_CRS if crs.upper() in _WGS84 else crs
