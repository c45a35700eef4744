"""Predicates over shapes skip files by their boxes, and lose no row that shapely finds."""

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions.shapes import is_on_sphere
from deltaskip.stats.boxes import WkbType
from tests.builder import TableBuilder, add, protocol_of
from tests.each import refuses
from tests.extent import extent

shapely = pytest.importorskip("shapely")

FILES, ROWS = 40, 25
NAN = float("nan")
BOX = "POLYGON((10 10, 20 10, 20 20, 10 20, 10 10))"


def some_shape(chance: random.Random, at: tuple[float, float], size: float) -> Any:
    """A shape near a point: of any kind, sometimes EMPTY, with Z or M, or NULL."""
    x, y = (each + chance.uniform(0, size) for each in at)
    kind = chance.randrange(12)
    near = [(x + chance.uniform(0, size), y + chance.uniform(0, size)) for _ in range(4)]
    match kind:
        case 0:
            return None
        case 1:
            return chance.choice([shapely.Point(), shapely.LineString(), shapely.Polygon(), shapely.Point(NAN, NAN)])
        case 2 | 3:
            return shapely.LineString(near)
        case 4 | 5:
            return shapely.MultiPoint(near).convex_hull
        case 6:
            return shapely.MultiPoint(near)
        case 7:
            return shapely.Point(x, y, chance.uniform(0, 9))
        case 8:
            return shapely.GeometryCollection([shapely.Point(x, y), shapely.LineString(near)])
        case 9:
            return shapely.box(round(x), round(y), round(x) + 1, round(y) + 1)
        case _:
            return shapely.Point(x, y)


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> tuple[ds.DeltaTable, pa.Table]:
    """Shapes of 40 files, each near one place, and all rows."""
    chance = random.Random(57)
    table = ds.DeltaTable.create(str(tmp_path_factory.mktemp("shapes") / "t"), "id INT, g GEOMETRY(4326)")
    parts = []
    for file in range(FILES):
        at = chance.uniform(-170, 160), chance.uniform(-80, 70)
        shapes = [some_shape(chance, at, 8) for _ in range(ROWS)]
        wkb = [None if each is None else shapely.to_wkb(each, flavor="iso") for each in shapes]
        parts.append(pa.table({"id": pa.array(range(file * ROWS, (file + 1) * ROWS), pa.int32()), "g": wkb}))
        table.append(parts[-1])
    return table, pa.concat_tables(parts)


def some_predicate(chance: random.Random) -> tuple[str, Any, float]:
    method = chance.choice(["intersects", "contains", "within", "dwithin"])
    x, y, size = chance.uniform(-180, 180), chance.uniform(-90, 90), chance.choice([0.1, 5, 40])
    other = shapely.box(x, y, x + size, y + size) if chance.randrange(4) else some_shape(chance, (x, y), size)
    return method, other or shapely.Point(x, y), chance.choice([0.0, 1.0, 10.0])


def test_random_predicates_find_the_rows_that_shapely_finds(clustered: tuple[ds.DeltaTable, pa.Table]) -> None:
    table, rows = clustered
    shapes, ids = shapely.from_wkb(rows["g"].to_numpy()), rows["id"].to_numpy()
    chance, skipped = random.Random(58), 0
    for number in range(extent(150, 5000)):
        method, other, far = some_predicate(chance)
        first = bool(number % 2)
        pair = (shapes, other) if first else (other, shapes)
        expected = ids[getattr(shapely, method)(*pair, *([far] if method == "dwithin" else []))]
        srid = chance.choice(["", ", 4326"])
        text = f"ST_GeomFromWKB(X'{shapely.to_wkb(other, flavor='iso').hex()}'{srid})"
        given = f"g, {text}" if first else f"{text}, g"
        where = f"ST_{method}({given}{f', {far}D' if method == 'dwithin' else ''})"
        with warnings.catch_warnings(action="ignore"):
            scan = table.scan(where)
        assert sorted(scan.to_arrow()["id"].to_pylist()) == expected.tolist(), where
        skipped += FILES - scan.files().num_rows
    assert skipped > 20 * extent(150, 5000)


# Predicates over points at 0, 15, 20 and 50, each in a file of its own, and NULL and EMPTY in a last file, which has no
# box and is kept where a shape may match: the rows, and the number of files that are kept.
CASES = {
    f"ST_Intersects(g, ST_GeomFromText('{BOX}', 4326))": ([1, 2], 3),
    f"ST_Intersects(ST_GeomFromWKT('{BOX}'), g)": ([1, 2], 3),
    f"ST_Within(g, ST_GeomFromText('{BOX}'))": ([1], 3),
    f"ST_Contains(ST_GeomFromText('{BOX}'), g)": ([1], 3),
    f"ST_Contains(g, ST_GeomFromText('{BOX}'))": ([], 1),
    "ST_Contains(g, ST_GeomFromText('POINT(15 15)'))": ([1], 2),
    "ST_DWithin(g, ST_GeomFromText('POINT(0 5)'), 5)": ([0], 2),
    "ST_DWithin(g, ST_GeomFromText('POINT(0 5)'), 4.999)": ([], 1),
    "ST_DWithin(g, ST_GeomFromText('POINT(0 5)'), -1)": ([], 5),
    "ST_DWithin(g, ST_GeomFromText('POINT(0 5)'), NULL)": ([], 0),
    f"NOT ST_Intersects(g, ST_GeomFromText('{BOX}'))": ([0, 3, 5], 5),
    f"ST_Intersects(g, ST_GeomFromText('{BOX}')) OR id = 3": ([1, 2, 3], 4),
    f"ST_Intersects(g, ST_GeomFromText('{BOX}')) AND id > 1": ([2], 2),
    f"ST_Intersects(g, ST_GeomFromText('{BOX}')) IS NULL": ([4], 5),
    "ST_Intersects(g, ST_GeomFromText('POLYGON EMPTY'))": ([], 0),
    "ST_Intersects(g, ST_GeomFromText(NULL))": ([], 0),
    "ST_Intersects(g, g)": ([0, 1, 2, 3], 5),
    "g IS NULL": ([4], 1),
    "g IS NOT NULL": ([0, 1, 2, 3, 5], 5),
    "ST_AsBinary(g) = X'0101000000000000000000000000000000000000'": ([], 5),
    "ST_Srid(g) = 4326": ([0, 1, 2, 3, 5], 5),
}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> ds.DeltaTable:
    table = ds.DeltaTable.create(
        str(tmp_path_factory.mktemp("few") / "t"), "id INT, g GEOMETRY(4326), k GEOGRAPHY(4326)"
    )
    for number, at in enumerate((0, 15, 20, 50)):
        shape = shapely.to_wkb(shapely.Point(at, at))
        table.append(pa.table({"id": pa.array([number], pa.int32()), "g": [shape], "k": [shape]}))
    empty = shapely.to_wkb(shapely.Point())
    table.append(pa.table({"id": pa.array([4, 5], pa.int32()), "g": [None, empty], "k": [None, empty]}))
    return table


@pytest.mark.parametrize("where", CASES)
def test_rows_and_files_of_a_predicate(few: ds.DeltaTable, where: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        scan = few.scan(where)
    rows, files = CASES[where]
    assert sorted(scan.to_arrow()["id"].to_pylist()) == rows
    assert scan.files().num_rows == files


EXPRESSIONS = {
    "intersects": (ds.col("g").intersects(shapely.box(10, 10, 20, 20)), [1, 2]),
    "of WKT": (ds.col("g").intersects(BOX), [1, 2]),
    "of WKB": (ds.col("g").intersects(shapely.to_wkb(shapely.box(10, 10, 20, 20))), [1, 2]),
    "with an SRID": (ds.col("g").intersects(shapely.set_srid(shapely.box(10, 10, 20, 20), 4326)), [1, 2]),
    "with Z": (ds.col("g").within(shapely.Polygon([(10, 10, 1), (20, 10, 1), (20, 20, 1), (10, 10, 1)])), []),
    "within": (ds.col("g").within(shapely.box(10, 10, 20, 20)), [1]),
    "contains": (ds.col("g").contains(shapely.Point(15, 15)), [1]),
    "dwithin": (ds.col("g").dwithin(shapely.Point(0, 5), 5), [0]),
    "not": (~ds.col("g").intersects(shapely.box(10, 10, 20, 20)), [0, 3, 5]),
    "of a column": (ds.col("g").intersects(ds.col("g")), [0, 1, 2, 3]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_of_shapes(few: ds.DeltaTable, name: str) -> None:
    expression, rows = EXPRESSIONS[name]
    assert sorted(few.scan(expression).to_arrow()["id"].to_pylist()) == rows


def test_shapes_of_columns_of_text_and_bytes(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), "id INT, w STRING, b BINARY")
    texts = ["POINT (1 1)", "POINT (5 5)", None]
    shapes = [shapely.Point(1, 1).wkb, None, shapely.Point(5, 5).wkb]
    table.append(pa.table({"id": pa.array(range(3), pa.int32()), "w": texts, "b": shapes}))
    inside = "ST_GeomFromText('POLYGON((0 0, 2 0, 2 2, 0 2, 0 0))', 4326)"
    for given, rows in (("ST_GeomFromText(w, 4326)", [0]), ("ST_GeomFromWKB(b, 4326)", [0])):
        assert table.scan(f"ST_Within({given}, {inside})").to_arrow()["id"].to_pylist() == rows
        assert table.scan(f"ST_Srid({given}) = 4326").to_arrow().num_rows == 2
    with pytest.raises(PredicateError, match="no WKT"):
        table.scan(f"ST_Within(ST_GeomFromText(concat(w, 'x')), {inside})").to_arrow()


WRONG = {
    "ST_Intersects(g, 'POINT(1 1)')": "write ST_GeomFromText",
    "ST_Intersects(g, ST_GeomFromText('POINT(1'))": "is no WKT",
    "ST_Intersects(g, ST_GeomFromWKB(X'0101'))": "not WKB",
    "ST_Intersects(g, ST_GeomFromText('POINT(1 1)', 3857))": "shapes of OGC:CRS84 and EPSG:3857",
}


@pytest.mark.parametrize("where", WRONG)
def test_wrong_shapes_are_refused_by_name(few: ds.DeltaTable, where: str) -> None:
    refuses(PredicateError, WRONG[where], lambda: few.scan(where).to_arrow())


def test_geography_needs_a_library_of_spheres(few: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "spherely", None)
    scan = few.scan("ST_Intersects(k, ST_GeomFromText('POINT(15 15)', 4326))")
    # The fifth file has an empty point, and no box.
    assert scan.files().num_rows == 2
    refuses(UnsupportedFeature, r"pip install .*'spherely>=", scan.to_arrow)


@pytest.mark.parametrize(
    "where",
    [
        "ST_DWithin(k, ST_GeomFromText('POINT(1 1)', 4326), 1)",
        "ST_Intersects(k, ST_GeomFromText('LINESTRING(-100 0, 100 0)', 4326))",
        "ST_Intersects(k, ST_GeomFromText('POLYGON((0 80, 120 80, -120 80, 0 80))', 4326))",
        "ST_Intersects(k, ST_GeomFromText('LINESTRING(10 60, 10 90)', 4326))",
    ],
)
def test_geography_that_no_box_limits_keeps_files(few: ds.DeltaTable, where: str) -> None:
    assert few.scan(where).files().num_rows == 5
    assert "no box of GEOGRAPHY" in str(few.scan(where).explain())


def test_edges_by_another_algorithm_keep_files_and_are_refused_by_name(tmp_path: Path) -> None:
    stats = {"numRecords": 1, "minValues": {"g": "POINT(1 1)"}, "maxValues": {"g": "POINT(1 1)"}, "nullCount": {"g": 0}}
    for algorithm, files in (("karney", 1), ("spherical", 0)):
        columns = {"g": t.GeographyType("OGC:CRS84", algorithm)}
        protocol = protocol_of(["geospatial"])
        TableBuilder(tmp_path / algorithm, columns, protocol=protocol).commit(add("a.parquet", stats))
        scan = ds.DeltaTable(str(tmp_path / algorithm)).scan("ST_Intersects(g, ST_GeomFromText('POINT(9 9)'))")
        assert scan.files().num_rows == files
    with pytest.raises(Undecided, match="by karney lie on no sphere"):
        is_on_sphere("st_intersects", [t.GeographyType("OGC:CRS84", "karney")])


def on_earth(chance: random.Random, at: tuple[float, float], size: float) -> tuple[float, float]:
    """A point near another one, beyond the antimeridian, too."""
    x, y = (each + chance.uniform(0, size) for each in at)
    return (x + 180) % 360 - 180, max(-90.0, min(90.0, y))


def of_sphere(chance: random.Random, size: float) -> Any:
    """A shape somewhere: a point, points, a line or a polygon."""
    at = chance.choice([(175, 10), (20, 75), (-60, -88), (20, 0), (-179, -20)])
    points = [on_earth(chance, at, size) for _ in range(5)]
    line, hull = shapely.LineString(points[:3]), shapely.MultiPoint(points).convex_hull
    return chance.choice([shapely.Point(points[0]), shapely.MultiPoint(points), line, hull])


def test_random_predicates_over_geography_find_the_rows_that_spherely_finds(tmp_path: Path) -> None:
    spherely = pytest.importorskip("spherely")
    chance = random.Random(57)

    def valid(size: float) -> bytes:
        while True:
            wkb = shapely.to_wkb(of_sphere(chance, size), flavor="iso")
            try:
                spherely.from_wkb(wkb)
            except RuntimeError:
                continue
            return bytes(wkb)

    table = ds.DeltaTable.create(str(tmp_path / "t"), "id INT, g GEOGRAPHY(4326)")
    every: list[bytes | None] = []
    for _ in range(30):
        size = chance.choice([1, 10, 60])
        rows = [None, *(valid(size) for _ in range(3))]
        table.append(pa.table({"id": pa.array(range(len(every), len(every) + 4), pa.int32()), "g": rows}))
        every += rows
    shapes = [None if each is None else spherely.from_wkb(each) for each in every]
    found = kept = 0
    asked = extent(100, 1_000)
    for _ in range(asked):
        wkb, name = valid(chance.choice([1, 20, 90])), chance.choice(["Intersects", "Contains", "Within"])
        related, other = getattr(spherely, name.lower()), spherely.from_wkb(wkb)
        scan = table.scan(f"ST_{name}(g, ST_GeomFromWKB(X'{wkb.hex()}', 4326))")
        expected = [i for i, each in enumerate(shapes) if each is not None and related(each, other)]
        assert sorted(scan.to_arrow()["id"].to_pylist()) == expected
        found, kept = found + len(expected), kept + scan.files().num_rows
    assert found > asked / 2
    assert kept < 0.9 * 30 * asked


def test_without_shapely_a_predicate_says_what_to_install(few: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "shapely", None)
    assert few.scan("g IS NULL").to_arrow().num_rows == 1
    with pytest.raises(UnsupportedFeature, match="pip install 'shapely>=2"):
        few.scan(f"ST_Intersects(g, ST_GeomFromText('{BOX}'))").to_arrow()


def test_shapes_with_nan_meet_nothing(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), "g GEOMETRY(4326)")
    with np.errstate(invalid="ignore"):
        shapes = [shapely.Point(1, NAN), shapely.LineString([(NAN, NAN), (NAN, 0.5)]), shapely.Point(1, 1)]
        table.append(pa.table({"g": [shapely.to_wkb(each) for each in shapes]}))
    found = table.scan(ds.col("g").intersects(shapely.box(-9, -9, 9, 9))).to_arrow()
    assert found["g"].to_pylist() == [shapely.to_wkb(shapes[2])]


def test_row_groups_are_skipped_by_the_boxes_of_footers(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), "g GEOMETRY(4326)")
    points = shapely.to_wkb(shapely.points([(each, each % 7) for each in range(100)]))
    shapes = pa.ExtensionArray.from_storage(WkbType(table.schema.fields[0].type), pa.array(points, pa.binary()))
    pq.write_table(pa.table({"g": shapes}), tmp_path / "rows.parquet", row_group_size=10, store_schema=False)
    for low, high, expected in ((33, 34, [3]), (38, 41, [3, 4]), (-5, 200, None), (200, 300, [])):
        pruning = RowGroupPruning.of(table.scan(ds.col("g").intersects(shapely.box(low, 0, high, 9))))
        with pa.OSFile(str(tmp_path / "rows.parquet")) as source:
            assert pruning.kept(source, pq.read_metadata(source), "rows.parquet") == expected
