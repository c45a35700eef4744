"""Which features the table of a history has."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from tests.reference.histories.columns import BASE, EXTRA, LAYOUTS, Column, random_column
from tests.rows.random_values import random_type

_DVS = {"delta.enableDeletionVectors": "true"}
_FEED = {"delta.enableChangeDataFeed": "true"}
_TRACKING = {"delta.enableRowTracking": "true"}
ROWS: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "deletion vectors": _DVS,
    "feed": _FEED,
    "row tracking, deletion vectors, feed": _TRACKING | _DVS | _FEED,
    "deletion vectors, feed": _DVS | _FEED,
    "row tracking": _TRACKING,
    "row tracking, feed": _TRACKING | _FEED,
    "row tracking, deletion vectors": _TRACKING | _DVS,
}
NAMES: Mapping[str, Mapping[str, str]] = {
    "unmapped": {},
    "mapped by name": {"delta.columnMapping.mode": "name"},
    "mapped by id": {"delta.columnMapping.mode": "id"},
}
PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "in-commit timestamps": {"delta.enableInCommitTimestamps": "true"},
    "v2 checkpoints": {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "3"},
    "struct statistics": {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false",
        "delta.checkpointInterval": "2"},
    "few statistics": {"delta.dataSkippingNumIndexedCols": "3"},
    "statistics columns": {"delta.dataSkippingStatsColumns": "st.a,k,name,ts"},
    "random prefixes": {"delta.randomizeFilePrefixes": "true"},
    "check": {},
    "type widening": {"delta.enableTypeWidening": "true"},
    "domains": {"delta.feature.domainMetadata": "supported"},
    "default": {"delta.feature.allowColumnDefaults": "supported"},
}  # fmt: skip
CHECK = ("c", "id >= 0 AND (k IS NULL OR k < 1000)")
CLUSTERING = ("k", "st.b")
_OPTIONS = tuple({**dict.fromkeys(EXTRA), **dict.fromkeys(PROPERTIES)})


@dataclass(frozen=True)
class Shape:
    """Columns and properties of a new table."""

    features: tuple[str, ...]
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...]
    cluster_by: tuple[str, ...]
    properties: Mapping[str, str]


def shape_of(seed: int) -> Shape:
    """The shape of a seed; the seeds 0, 1, 2, … have every kind of rows, layout and names after a few."""
    chance = random.Random(f"shape {seed}")
    rows, names = [*ROWS][seed % len(ROWS)], [*NAMES][seed // 3 % len(NAMES)]
    layout = [*LAYOUTS][seed % len(LAYOUTS)]
    # Two at least for each seed, so that every option comes with the first few.
    cyclic = {_OPTIONS[(2 * seed + n) % len(_OPTIONS)] for n in range(2)}
    options = [o for o in _OPTIONS if o in cyclic or chance.random() < 0.15]
    if layout == "clustered":
        options = [o for o in options if o not in ("few statistics", "statistics columns")]
    if "few statistics" in options:
        options = [o for o in options if o != "statistics columns"]
    own = [*LAYOUTS[layout], *(column for option in options for column in EXTRA.get(option, ()))]
    odd = (random_column(chance, f"x{n}", random_type(chance)) for n in range(chance.choice((0, 0, 1, 3))))
    columns = [*BASE, *own, *odd]
    if chance.random() < 0.3:
        chance.shuffle(columns)
    # Added columns may be TIMESTAMP_NTZ, which delta-spark does not allow by itself later on.
    always = {"delta.feature.timestampNtz": "supported"}
    parts = [always, ROWS[rows], NAMES[names], *(PROPERTIES[o] for o in options if o in PROPERTIES)]
    return Shape(
        (rows, names, layout, *options),
        tuple(columns),
        tuple(column.name for column in columns if column.partition),
        CLUSTERING if layout == "clustered" else (),
        reduce(lambda a, b: {**a, **b}, parts),
    )
