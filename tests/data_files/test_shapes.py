"""Shapes through every door: GeoArrow, WKB and frames in, changes and maintenance, and what is refused by name."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, InvalidCommit, RowViolation, SchemaError, UnsupportedFeature
from tests.builder import logged
from tests.each import refuses

SCHEMA = "id BIGINT, g GEOMETRY(4326)"


def point(x: float, y: float) -> bytes:
    return struct.pack("<BI2d", 1, 1, x, y)


POINTS = [point(at, at) for at in range(4)]


def field(metadata: dict[str, Any] | None, kind: pa.DataType | None = None) -> pa.Field:
    named = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps(metadata)}
    return pa.field("g", kind or pa.binary(), metadata=None if metadata is None else named)


def rows(metadata: dict[str, Any] | None = None, kind: pa.DataType | None = None) -> pa.Table:
    shapes = pa.array(POINTS, pa.binary()).cast(kind or pa.binary())
    return pa.table([pa.array(range(4)), shapes], pa.schema([pa.field("id", pa.int64()), field(metadata, kind)]))


def created(root: Path, schema: str = SCHEMA, **properties: str) -> ds.DeltaTable:
    names = {name.replace("_", "."): value for name, value in properties.items()}
    return ds.DeltaTable.create(str(root / "t"), schema, properties=names)


GIVEN: dict[str, Callable[[], Any]] = {
    "WKB": rows,
    "large WKB": lambda: rows(None, pa.large_binary()),
    "views of WKB": lambda: rows(None, pa.binary_view()),
    "GeoArrow": lambda: rows({"crs": "OGC:CRS84"}),
    "GeoArrow with PROJJSON": lambda: rows({"crs": {"id": {"authority": "EPSG", "code": 4326}}}),
    "GeoArrow without a CRS": lambda: rows({}),
    "a dictionary": lambda: rows().set_column(1, "g", rows()["g"].dictionary_encode()),
    "Python": lambda: [{"id": at, "g": each} for at, each in enumerate(POINTS)],
    "pandas": lambda: pytest.importorskip("pandas").DataFrame({"id": range(4), "g": POINTS}),
    "Polars": lambda: pytest.importorskip("polars").DataFrame({"id": range(4), "g": POINTS}),
    "GeoPandas": lambda: geo_frame(4326),
    "an extension array": lambda: extension_array(),
}


def geo_frame(srid: int) -> Any:
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    return geopandas.GeoDataFrame({"id": range(4), "g": shapely.from_wkb(POINTS)}, geometry="g", crs=f"EPSG:{srid}")


def extension_array() -> pa.Table:
    geoarrow = pytest.importorskip("geoarrow.pyarrow")
    shapes = geoarrow.with_crs(geoarrow.wkb().wrap_array(pa.array(POINTS, pa.binary())), geoarrow.OGC_CRS84)
    return pa.table({"id": range(4), "g": shapes})


@pytest.mark.parametrize("form", GIVEN)
def test_shapes_of_every_form_are_appended_with_their_box(tmp_path: Path, form: str) -> None:
    table = created(tmp_path)
    table.append(GIVEN[form]())
    found = table.scan().to_arrow().sort_by("id")
    assert found["g"].to_pylist() == POINTS
    assert found.schema.field("g").metadata[b"ARROW:extension:name"] == b"geoarrow.wkb"
    [stats] = [json.loads(each["stats"]) for each in logged(tmp_path / "t", 1, kind="add")]
    assert stats["minValues"] == {"id": 0, "g": "POINT(0.0 0.0)"}
    assert stats["maxValues"] == {"id": 3, "g": "POINT(3.0 3.0)"}
    assert stats["nullCount"] == {"id": 0, "g": 0}


REFUSED: dict[str, tuple[Callable[[], Any], type[DeltaSkipError], str]] = {
    "another CRS": (lambda: rows({"crs": "EPSG:3857"}), SchemaError, r"GEOMETRY\(3857\) cannot be stored"),
    "a frame of another CRS": (lambda: geo_frame(3857), SchemaError, r"GEOMETRY\(3857\) cannot be stored"),
    "edges on a sphere": (
        lambda: rows({"crs": "OGC:CRS84", "edges": "spherical"}), SchemaError, r"GEOGRAPHY\(4326\) cannot be stored"
    ),
    "text": (lambda: [{"id": 1, "g": "POINT(1 1)"}], SchemaError, r"ST_GeomFromWKB\(…, 4326\)"),
    "bytes that are not WKB": (lambda: [{"id": 1, "g": b"\0"}], RowViolation, "column g"),
    "EWKB": (lambda: [{"id": 1, "g": struct.pack("<BII2d", 1, 0x20000001, 4326, 1, 1)}], RowViolation, "ISO"),
    "an unknown shape": (lambda: [{"id": 1, "g": struct.pack("<BI2d", 1, 99, 1, 1)}], RowViolation, "ISO"),
}  # fmt: skip


@pytest.mark.parametrize("form", REFUSED)
def test_other_values_are_refused_and_nothing_is_written(tmp_path: Path, form: str) -> None:
    data, error, message = REFUSED[form]
    table = created(tmp_path)
    refuses(error, message, lambda: table.append(data()))
    assert ds.DeltaTable(str(tmp_path / "t")).version == 0


def test_a_new_table_takes_the_types_of_geoarrow(tmp_path: Path) -> None:
    ds.write(str(tmp_path / "t"), rows({"crs": "EPSG:3857"}))
    table = ds.DeltaTable(str(tmp_path / "t"))
    assert table.schema.fields[1].type == ds.GeometryType("EPSG:3857")
    [protocol] = logged(tmp_path / "t", kind="protocol")
    assert "geospatial" in protocol["readerFeatures"]
    assert "geospatial" in protocol["writerFeatures"]


def test_the_preview_of_the_feature_stays(tmp_path: Path) -> None:
    table = created(tmp_path, "id BIGINT", **{"delta.feature.geospatial-dev": "supported"})
    table.alter(ds.AddColumn("g", "GEOGRAPHY(4326)"))
    found = logged(tmp_path / "t", kind="protocol")[-1]["readerFeatures"]
    assert "geospatial-dev" in found
    assert "geospatial" not in found


CHANGES: dict[str, tuple[Callable[[ds.DeltaTable], object], list[bytes | None]]] = {
    "delete": (lambda table: table.delete("id = 1"), [POINTS[0], POINTS[2], POINTS[3]]),
    "update": (
        lambda table: table.update({"g": f"ST_GeomFromWKB(X'{point(9, 9).hex()}', 4326)"}, "id = 1"),
        [POINTS[0], point(9, 9), POINTS[2], POINTS[3]],
    ),
    "update with NULL": (lambda table: table.update({"g": None}, "id = 1"), [POINTS[0], None, POINTS[2], POINTS[3]]),
    "merge": (
        lambda table: table.merge(rows({"crs": "OGC:CRS84"}), on="t.id = s.id + 1", source_alias="s", target_alias="t")
        .when_matched_update({"g": "s.g"}).execute(),
        [POINTS[0], POINTS[0], POINTS[1], POINTS[2]],
    ),
    "overwrite": (lambda table: table.overwrite(rows().slice(0, 1)), [POINTS[0]]),
    "optimize": (lambda table: table.optimize(target_file_bytes=1 << 20), POINTS),
    "recompute": (lambda table: table.recompute_stats(), POINTS),
    "checkpoint": (lambda table: table.checkpoint(), POINTS),
    "restore": (lambda table: table.restore(version=1), POINTS),
}  # fmt: skip


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_keep_shapes_and_their_boxes(tmp_path: Path, change: str, vectors: bool) -> None:
    table = created(tmp_path, **{"delta.enableDeletionVectors": str(vectors).lower()})
    table.append(rows())
    act, expected = CHANGES[change]
    act(table)
    table = ds.DeltaTable(str(tmp_path / "t"))
    assert table.scan().to_arrow().sort_by("id")["g"].to_pylist() == expected
    for each in table.scan().files()["path"].to_pylist():
        stats = next(json.loads(a["stats"]) for a in reversed(logged(tmp_path / "t", kind="add")) if a["path"] == each)
        assert stats["minValues"].get("g", "POINT(").startswith("POINT("), stats
        assert ("g" in stats["minValues"]) == (stats["nullCount"]["g"] < stats["numRecords"])
    assert not table.verify(data=True).errors


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda root: ds.DeltaTable.create(f"{root}/c", SCHEMA, cluster_by=["g"]), SchemaError, "clustered by g"),
        (lambda root: ds.DeltaTable.create(f"{root}/p", SCHEMA, partition_by=["g"]), InvalidCommit, "partition"),
        (lambda root: ds.DeltaTable(f"{root}/t").optimize(zorder_by=["g"]), SchemaError, "has no order"),
        (lambda root: ds.DeltaTable(f"{root}/t").scan().top(1, by="g").to_arrow(), UnsupportedFeature, "sorted by g"),
        (lambda root: ds.DeltaTable(f"{root}/t").scan().aggregate(m="max(g)"), UnsupportedFeature, r"max\(g\)"),
        (lambda root: ds.DeltaTable(f"{root}/t").scan("g = g").to_arrow(), UnsupportedFeature, "g = g"),
        (lambda root: ds.DeltaTable(f"{root}/t").drop_feature("geospatial"), UnsupportedFeature, "geospatial"),
        (lambda root: ds.DeltaTable(f"{root}/t").update({"g": "X'00'"}), SchemaError, "ST_GeomFromWKB"),
        (
            lambda root: ds.DeltaTable.create(f"{root}/k", "g GEOGRAPHY(4326, karney)").append(rows().select(["g"])),
            UnsupportedFeature, "karney",
        ),
    ],
)  # fmt: skip
def test_what_shapes_have_not_is_refused_by_name(
    tmp_path: Path, act: Callable[[Path], object], error: type[DeltaSkipError], message: str
) -> None:
    created(tmp_path).append(rows())
    refuses(error, message, act, tmp_path)


def test_nested_shapes_are_written_read_and_mapped(tmp_path: Path) -> None:
    schema = "s STRUCT<i: GEOMETRY(3857), j: BIGINT>, a ARRAY<GEOMETRY(4326)>, m MAP<STRING, GEOGRAPHY(4326)>"
    table = created(tmp_path, schema, **{"delta.columnMapping.mode": "name"})
    structs, maps = pa.struct([("i", pa.binary()), ("j", pa.int64())]), pa.map_(pa.string(), pa.binary())
    table.append(pa.table({
        "s": pa.array([{"i": POINTS[1], "j": 1}, None], structs), "a": [[POINTS[2], None], None],
        "m": pa.array([[("k", POINTS[3])], None], maps),
    }))  # fmt: skip
    table.alter(ds.RenameColumn("s.i", "k"))
    table = ds.DeltaTable(str(tmp_path / "t"))
    first, second = table.scan().to_arrow().to_pylist()
    assert (first["s"], first["a"], first["m"]) == ({"k": POINTS[1], "j": 1}, [POINTS[2], None], [("k", POINTS[3])])
    assert second == {"s": None, "a": None, "m": None}


def test_shapes_of_delta_spark_are_read_by_every_door() -> None:
    # Written by delta-spark 4.4.0 on Spark 4.2.1.
    table = ds.DeltaTable(str(Path(__file__).parents[1] / "reading" / "geospatial_of_delta_spark"))
    kinds = [getattr(field.type, "name", "") for field in table.schema.fields[1:5]]
    assert kinds == [
        "geometry(OGC:CRS84)", "geometry(EPSG:3857)", "geometry(SRID:0)", "geography(OGC:CRS84, spherical)",
    ]  # fmt: skip
    found = table.scan("id < 10").to_arrow().sort_by("id")
    assert found["g"].to_pylist() == [point(10 * at, 5) for at in range(3)]
    assert found["a"].to_pylist() == [[point(at, at)] for at in range(3)]
    assert json.loads(found.schema.field("k").metadata[b"ARROW:extension:metadata"])["edges"] == "spherical"
    frames = pytest.importorskip("polars")
    eager, lazy = table.scan().to_polars(), table.scan().to_polars(lazy=True).collect()
    assert eager.equals(lazy)
    assert eager.schema["g"] == frames.Binary
    assert table.scan("id = 1").to_pandas()["g"].tolist() == [point(10, 5)]
