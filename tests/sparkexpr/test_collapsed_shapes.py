"""Predicates of shapes that collapse to less than their type: those of shapely without preparation, pair by pair."""

import random
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.sparkexpr import evaluate
from tests.extent import extent, seed

shapely = pytest.importorskip("shapely")


def random_shape(rng: random.Random) -> Any:
    x, y, *more = (float(rng.randrange(-4, 5)) for _ in range(6))
    width, height = rng.randrange(4), rng.randrange(4)
    return rng.choice([
        lambda: shapely.Point(x, y),
        lambda: shapely.LineString([(x, y), (x, y)] if width else [(x, y), tuple(more[:2]), tuple(more[2:])]),
        lambda: shapely.box(x, y, x + width, y + height),
        lambda: shapely.MultiPoint([(x, y), tuple(more[:2])]),
        lambda: shapely.MultiPolygon([shapely.box(x, y, x + width, y), shapely.box(5, 5, 6, 6)]),
        lambda: shapely.GeometryCollection([shapely.Point(x, y), shapely.LineString([more[:2], more[2:]])]),
        lambda: shapely.Polygon([(x, y), (x + 4, y), (x + 4, y + 4)], [[(x + 1, y), (x + 2, y + 1), (x + 2, y)]]),
    ])()  # fmt: skip


@pytest.mark.parametrize("name", ["intersects", "contains", "within", "dwithin"])
def test_constants_are_compared_as_pairs_are(name: str) -> None:
    rng = random.Random(seed())
    for _ in range(extent(60, 3000)):
        shapes, constant = [random_shape(rng) for _ in range(40)], random_shape(rng)
        rows = pa.table({"b": [None, *(shapely.to_wkb(each) for each in shapes)]})
        far = [rng.choice([0, 1, 2, 5])] if name == "dwithin" else []
        sides = ["ST_GeomFromWKB(b)", f"ST_GeomFromWKB(X'{shapely.to_wkb(constant).hex()}')"]
        for turned in (False, True):
            args = ", ".join([*(sides[::-1] if turned else sides), *(f"{each}D" for each in far)])
            found = evaluate(f"ST_{name}({args})", rows).to_pylist()
            pairs = [(constant, each) if turned else (each, constant) for each in shapes]
            wanted = [bool(getattr(shapely, name)(*pair, *far)) for pair in pairs]
            assert found == [None, *wanted], (constant.wkt, name, far, turned)
