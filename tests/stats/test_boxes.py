"""Boxes of shapes: in statistics as two points, in Parquet footers, and computed from WKB."""

import json
import math
import shutil
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import stats
from deltaskip.skipping.add_batches import candidates
from deltaskip.skipping.evaluate import keep_mask
from deltaskip.skipping.program import AllOf, BoundTerm, PartitionTerm, Program
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.kernels import Lane
from deltaskip.stats.boxes import axis_bounds, box_of, on_sphere, point_text
from deltaskip.stats.facts import NO_VALUES, UNKNOWN, Box, Extremes
from deltaskip.stats.layout import StatField
from tests.builder import TableBuilder, add, logged, protocol_of

NAN = math.nan
FEATURES = protocol_of(["geospatial"])


def point(*coordinates: float, dimensions: int = 0) -> bytes:
    return struct.pack(f"<BI{len(coordinates)}d", 1, 1 + 1000 * dimensions, *coordinates)


def line(*points: tuple[float, float]) -> bytes:
    return struct.pack("<BII", 1, 2, len(points)) + b"".join(struct.pack("<2d", *each) for each in points)


EMPTY_LINE = line()
EMPTY_POINT = point(NAN, NAN)


def box(x: tuple[float, float], y: tuple[float, float], *further: tuple[float, float] | None) -> Extremes:
    axes = (*(x, y), *further, *[None] * (2 - len(further)))
    return Extremes(Box(axes), Box(axes))


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([point(1, 2), None, line((3, -4), (0, 9))], box((0, 3), (-4, 9))),
        ([point(1, 2, 3, dimensions=1), point(5, 6, 7, dimensions=1)], box((1, 5), (2, 6), (3, 7))),
        ([point(1, 2, 3, dimensions=2)], box((1, 1), (2, 2), None, (3, 3))),
        ([point(1, 2, 3, 4, dimensions=3)], box((1, 1), (2, 2), (3, 3), (4, 4))),
        ([point(1, 2), EMPTY_POINT, EMPTY_LINE], box((1, 1), (2, 2))),
        ([None, None], NO_VALUES),
        ([EMPTY_LINE], UNKNOWN),
        ([EMPTY_POINT, None], UNKNOWN),
        ([point(1, 2), b"no WKB"], UNKNOWN),
    ],
)
def test_boxes_of_wkb(shapes: list[bytes | None], expected: Extremes) -> None:
    assert box_of(pa.array(shapes, pa.binary()), t.GeometryType()) == expected


@pytest.mark.parametrize(
    ("shape", "known"),
    [
        (point(1, 2), True),
        (line((0, 50), (90, 50)), True),
        (line((0, 50), (180, 50)), False),
        (line((-170, 0), (170, 0)), False),
        (point(200, 2), False),
        (line((0, 0), (0, 91)), False),
    ],
)
def test_only_shapes_on_one_side_of_the_earth_have_boxes_in_geography(shape: bytes, known: bool) -> None:
    # Readers refuse other coordinates.
    assert box_of(pa.array([shape]), t.GeographyType()).known is known


@pytest.mark.parametrize("seed", range(20))
def test_boxes_on_a_sphere_hold_every_point_of_the_arcs(seed: int) -> None:
    chance = np.random.default_rng(seed)
    west, south = chance.uniform(-180, 0, 500), chance.uniform(-90, 80, 500)
    east = west + chance.uniform(0, 179.9, 500)
    north = chance.uniform(south, 90)
    box = on_sphere(west, east, south, north)
    assert not np.isnan(box).any()
    ends = []
    for _ in range(2):
        x, y = np.radians(chance.uniform(west, east)), np.radians(chance.choice([south, north, (south + north) / 2]))
        ends.append(np.array([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)]))
    for part in np.linspace(0, 1, 50):
        x, y, z = (1 - part) * ends[0] + part * ends[1]
        longitude, latitude = np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))
        assert ((box[0] <= longitude) & (longitude <= box[1])).all()
        assert ((box[2] <= latitude) & (latitude <= box[3])).all()


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (((1, 2), (3.5, 4)), ('"POINT(1.0 3.5)"', '"POINT(2.0 4.0)"')),
        (((1, 2), (3, 4), (5, 6)), ('"POINT Z (1.0 3.0 5.0)"', '"POINT Z (2.0 4.0 6.0)"')),
        (((1, 2), (3, 4), None, (7, 8)), ('"POINT M (1.0 3.0 7.0)"', '"POINT M (2.0 4.0 8.0)"')),
        (
            ((1e300, 2e300), (3, 4), (5, 6), (7, 8)),
            ('"POINT ZM (1.0E300 3.0 5.0 7.0)"', '"POINT ZM (2.0E300 4.0 6.0 8.0)"'),
        ),
        ((None, (3, 4)), (None, None)),
    ],
)
def test_corners_are_points_as_delta_kernel_writes_them(axes: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    whole = Box(tuple(each and tuple(map(float, each)) for each in (*axes, *[None] * (4 - len(axes)))))
    assert (point_text(whole, "min"), point_text(whole, "max")) == expected


def no_partitions(term: PartitionTerm) -> Lane:
    raise AssertionError(term)


# Points of minValues and maxValues, and the bounds of x and y.
POINTS = [
    ("POINT(1.0 2.0)", "POINT(3.0 4.0)", (1, 3), (2, 4)),
    ("POINT Z (1 2 9)", "point zm(3 4 5 6)", (1, 3), (2, 4)),
    ("POINT (-1.5E1 +.5)", " POINT ( 3.  4e0 ) ", (-15, 3), (0.5, 4)),
    # xmin above xmax: the box crosses the antimeridian.
    ("POINT(170 2)", "POINT(-170 4)", (None, None), (2, 4)),
    ("POINT EMPTY", "POINT(3 4)", (None, None), (None, None)),
    ("POINT(NaN 2)", "POINT(3 4)", (None, None), (None, None)),
    ("POINT(1)", "POINT(3 4)", (None, None), (None, None)),
    ("POINT(1 2) x", "POINT(3 4)", (None, None), (None, None)),
    ("LINESTRING(1 2, 3 4)", "POINT(3 4)", (None, None), (None, None)),
    (None, "POINT(3 4)", (None, None), (None, None)),
]


@pytest.mark.parametrize(("axis", "at"), [("x", 2), ("y", 3)])
def test_points_of_statistics_bound_coordinates(axis: str, at: int) -> None:
    low, high = (pa.array([row[i] for row in POINTS], pa.large_string()) for i in (0, 1))
    field = StatField(("g",), t.DOUBLE, f"g:{axis}", inside=axis, container=t.GeometryType())
    least, greatest, _ = axis_bounds(low, high, field)
    assert list(zip(least.to_pylist(), greatest.to_pylist(), strict=True)) == [row[at] for row in POINTS]


@pytest.mark.parametrize("form", ["json", "struct", "struct only"])
def test_files_are_bounded_from_every_form_of_statistics(tmp_path: Path, form: str) -> None:
    properties = {} if form == "json" else {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false" if form == "struct only" else "true",
    }  # fmt: skip
    builder = TableBuilder(tmp_path / "t", {"g": t.GeometryType()}, properties=properties, protocol=FEATURES)
    texts = [
        {"numRecords": 1, "nullCount": {"g": 0}, **({"minValues": {"g": low}, "maxValues": {"g": high}} if low else {})}
        for low, high, *_ in POINTS
    ]
    builder.commit(*(add(f"{i}.parquet", stats=json.dumps(each)) for i, each in enumerate(texts)))
    table = ds.DeltaTable(str(tmp_path / "t"))
    if form != "json":
        table.checkpoint()
        table = ds.DeltaTable(str(tmp_path / "t"))
    x, y = (StatField(("g",), t.DOUBLE, f"g:{at}", inside=at, container=t.GeometryType()) for at in "xy")

    def kept(*terms: BoundTerm) -> set[str]:
        found: set[str] = set()
        for batch in candidates(table.snapshot, Program(AllOf(terms))):
            mask = keep_mask(AllOf(terms), batch.statistics, no_partitions).to_arrow()
            paths = batch.rows(["path"], pa.array(range(batch.num_rows)))[0]
            found |= {*paths.filter(mask).to_pylist()}
        return found

    unknown = {f"{i}.parquet" for i in range(4, len(POINTS))}
    assert kept(BoundTerm(x, "min", "le", -2.0)) == {"2.parquet", "3.parquet", *unknown}
    assert kept(BoundTerm(x, "max", "ge", 3.0), BoundTerm(y, "min", "le", 1.0)) == {"2.parquet", *unknown}


def test_footers_of_files_prove_boxes_and_null_counts(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        str(tmp_path / "t"), "id INT, g GEOMETRY(3857), k GEOGRAPHY(4326), s STRUCT<i: GEOMETRY(0)>"
    )
    shapes = [point(1, 2), None, point(3, 4)]
    table.append(pa.table({"id": [1, 2, 3], "g": shapes, "k": shapes, "s": [{"i": each} for each in shapes]}))
    [path] = table.scan().paths()
    schema = table.schema
    found = {
        mode: json.loads(stats.compute([path], schema, mode=mode)["stats"][0].as_py())
        for mode in ("footer", "scan", "auto")
    }
    assert found["scan"] == found["auto"]
    assert found["auto"]["minValues"] == {
        "id": 1,
        "g": "POINT(1.0 2.0)",
        "k": "POINT(1.0 2.0)",
        "s": {"i": "POINT(1.0 2.0)"},
    }
    assert found["auto"]["nullCount"] == {"id": 0, "g": 1, "k": 1, "s": {"i": 1}}
    assert found["footer"]["minValues"]["g"] == "POINT(1.0 2.0)"
    assert found["footer"]["nullCount"]["g"] == 1
    columns = pq.read_metadata(path).schema
    logical = [json.loads(columns.column(i).logical_type.to_json()) for i in range(1, 4)]
    assert [each["Type"] for each in logical] == ["Geometry", "Geography", "Geometry"]
    assert [each.get("crs") for each in logical] == ["EPSG:3857", None, "SRID:0"]


def test_recompute_writes_boxes_of_files_of_delta_spark(tmp_path: Path) -> None:
    # delta-spark 4.4.0 on Spark 4.2.1 writes null counts of shapes, and no boxes.
    shutil.copytree(Path(__file__).parents[1] / "reading" / "geospatial_of_delta_spark", tmp_path / "t")
    table = ds.DeltaTable(str(tmp_path / "t"))
    with warnings.catch_warnings(action="ignore"):
        table.recompute_stats()
    adds = [json.loads(each["stats"]) for each in logged(tmp_path / "t", 4, kind="add")]
    boxes = {each["minValues"]["g"]: each["maxValues"] for each in adds if "g" in each.get("minValues", {})}
    # The arcs of k bulge to the north.
    assert boxes["POINT(10.0 5.0)"].pop("k").startswith("POINT(100.0000001 59.3")
    assert sorted(boxes) == ["POINT(0.0 5.0)", "POINT(10.0 5.0)", "POINT(20.0 5.0)"]
    assert boxes["POINT(10.0 5.0)"] == {
        "id": 1, "g": "POINT(10.0 5.0)", "m": "POINT(15.0 3.0)", "o": "POINT(1.0 1.0)", "s": {"i": "POINT(1.0 1.0)"},
    }  # fmt: skip
