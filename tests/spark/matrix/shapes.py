"""Cases of GEOMETRY and GEOGRAPHY, which Spark reads from files from 4.2 on."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import numbers

SCHEMA = "id BIGINT, g GEOMETRY(4326), k GEOGRAPHY(4326), s STRUCT<i: GEOMETRY(3857)>"
BOX = "ST_GeomFromText('POLYGON((0.5 0.5, 2.5 0.5, 2.5 2.5, 0.5 2.5, 0.5 0.5))', 4326)"


def shapes_of(session: Session) -> ds.DeltaTable:
    """Points at 0 to 3, each in a file of its own, and NULL."""
    table = ds.DeltaTable.create(str(session.folder / "t"), SCHEMA)
    for at in range(5):
        point = struct.pack("<BI2d", 1, 1, at, at) if at < 4 else None
        rows = {"id": [at], "g": [point], "k": [point], "s": [{"i": point}]}
        kinds = {"g": pa.binary(), "k": pa.binary(), "s": pa.struct([("i", pa.binary())])}
        table.append(pa.table({name: pa.array(each, kinds.get(name)) for name, each in rows.items()}))
    return table


@case("columns beside shapes", since=(4, 1))
def beside_shapes(session: Session) -> None:
    equal(numbers(shapes_of(session).scan(columns=["id"]).to_spark(session.spark)), [0, 1, 2, 3, 4])


@case("shapes", since=(4, 2))
def shapes(session: Session) -> None:
    table = shapes_of(session)
    frame = table.scan().to_spark(session.spark)
    named = "struct<id:bigint,g:geometry(4326),k:geography(4326),s:struct<i:geometry(3857)>>"
    equal(frame.schema.simpleString(), named)
    texts = frame.where("id = 2").selectExpr("hex(st_asbinary(g))", "hex(st_asbinary(k))", "st_srid(s.i)").collect()
    point = struct.pack("<BI2d", 1, 1, 2, 2).hex().upper()
    equal([tuple(row) for row in texts], [(point, point, 3857)])
    table.append(frame.where("id = 2"))
    equal(numbers(table.scan("id = 2").to_spark(session.spark)), [2, 2])


@case("changes with shapes", since=(4, 2))
def changes_with_shapes(session: Session) -> None:
    table = shapes_of(session)
    equal(table.scan("id = 0").to_spark(session.spark).count(), 1)
    named = "id BIGINT, g GEOMETRY(4326), k GEOGRAPHY(4326), s STRUCT<i: GEOMETRY(3857)>"
    point = "st_geomfromwkb(X'0101000000000000000000f03f000000000000f03f', 4326)"
    text = f"SELECT id, IF(id = 4, {point}, NULL) g FROM VALUES (0L), (4L), (7L) AS v(id)"
    source: Any = session.spark.sql(text)
    if session.kind == "connect":
        # Spark does not keep shapes for jobs.
        source = source.selectExpr("id", "st_asbinary(g) g").toArrow()
    merged = table.merge(source, on="t.id = s.id", source_alias="s", target_alias="t")
    merged.when_matched_update({"g": "s.g"}).when_not_matched_insert({"id": "s.id", "g": "s.g"}).execute()
    equal(ds.DeltaTable(str(session.folder / "t")).schema.fields, parse_columns(named).fields)
    found = table.scan("g IS NULL").to_arrow()["id"].to_pylist()
    equal(sorted(found), [0, 7])
    equal(numbers(table.scan("ST_Intersects(g, ST_GeomFromText('POINT(1 1)'))").to_spark(session.spark)), [1, 4])


@case("predicates over shapes", since=(4, 2))
def predicates_over_shapes(session: Session) -> None:
    table = shapes_of(session)

    def found(where: object) -> list[int]:
        return numbers(table.scan(where).to_spark(session.spark))

    equal(found(f"ST_Intersects(g, {BOX})"), [1, 2])
    equal(found(f"ST_Contains({BOX}, g) OR id = 4"), [1, 2, 4])
    equal(found(f"NOT ST_Within(g, {BOX})"), [0, 3])
    equal(found("ST_DWithin(g, ST_GeomFromText('POINT(0 1)'), 1)"), [0, 1])
    equal(found("ST_Intersects(s.i, ST_GeomFromWKB(X'0101000000000000000000f03f000000000000f03f', 3857))"), [1])
    equal(found(ds.col("g").intersects("POINT(3 3)")), [3])
    try:
        found("ST_Intersects(k, ST_GeomFromText('POINT(1 1)'))")
    except UnsupportedFeature as error:
        assert "Apache Sedona" in str(error), error
    else:
        raise AssertionError("the edges of GEOGRAPHY are not straight lines")


@case("functions of the session over shapes", since=(4, 2))
def functions_of_the_session(session: Session) -> None:
    table = shapes_of(session)
    equal(table.scan("id = 0").to_spark(session.spark).count(), 1)
    session.spark.sql(
        "CREATE TEMPORARY FUNCTION st_intersects(g GEOMETRY(4326), id BIGINT) RETURNS BOOLEAN RETURN id >= 0"
    )
    try:
        # Its meaning is not known, so that no file is skipped, and the session evaluates it.
        equal(numbers(table.scan("ST_Intersects(g, id)").to_spark(session.spark)), [0, 1, 2, 3, 4])
    finally:
        session.spark.sql("DROP TEMPORARY FUNCTION st_intersects")
