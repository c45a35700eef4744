#!/usr/bin/env bash
# Feast: rows of get_historical_features in its two local offline stores.
#
# The guess: every row of the entity frame comes back once, with the newest features that are not later than its time and not
# older than the ttl, or with NULL if there are none. The stores `dask` (the default for files) and `duckdb` have the same rows.
# feast 0.67.0: the store `duckdb` does all of this. The store `dask` loses rows without an error: those whose features are older
# than the ttl, those before the first features of their driver, and all but the last of rows with the same driver and time; a
# driver without any features is kept, with NULL.
#
# Output seen:
#    dask, ttl 2 hours: 4 of 7 rows: 1 NULL, 2 30, 5 11, 6 30
#    dask, no ttl: 5 of 7 rows: 1 NULL, 2 30, 3 30, 5 11, 6 30
#    duckdb, ttl 2 hours: 7 of 7 rows: 0 30, 1 NULL, 2 30, 3 NULL, 4 NULL, 5 11, 6 30
#    duckdb, no ttl: 7 of 7 rows: 0 30, 1 NULL, 2 30, 3 30, 4 NULL, 5 11, 6 30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'feast[duckdb]==0.67.0' dask==2026.8.0 ibis-framework==12.0.0 duckdb==2.0.1
cd "$folder"
cat > join.py <<'PYTHON'
import os
from datetime import UTC, datetime, timedelta

import pandas as pd
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig, ValueType
from feast.types import Int64


def at(hour, minute=0):
    return datetime(2026, 3, 1, hour, minute, tzinfo=UTC)


# Driver 1 has features at 8 and 10 o'clock, driver 2 at 9, and driver 3 has none.
features = pd.DataFrame(
    {
        "driver": [1, 1, 2],
        "ts": [at(8), at(10), at(9)],
        "trips": [10, 30, 11],
    }
)
features.to_parquet("features.parquet")
# 0, 6: the same driver and time; 1: a driver without features; 3: two hours and a minute late; 4: before the first features
wanted = pd.DataFrame(
    {
        "row": range(7),
        "driver": [1, 3, 1, 1, 1, 2, 1],
        "event_timestamp": [at(11), at(10), at(12), at(12, 1), at(7), at(10), at(11)],
    }
)
driver = Entity(name="driver", join_keys=["driver"], value_type=ValueType.INT64)
path = os.path.abspath("features.parquet")
source = FileSource(path=path, timestamp_field="ts")
schema = [Field(name="trips", dtype=Int64)]
views = {
    "ttl 2 hours": FeatureView(name="two", entities=[driver], ttl=timedelta(hours=2), schema=schema, source=source),
    "no ttl": FeatureView(name="none", entities=[driver], ttl=timedelta(0), schema=schema, source=source),
}
for kind in "dask", "duckdb":
    config = RepoConfig(
        registry=f"{kind}.registry",
        project="trips",
        provider="local",
        offline_store={"type": kind},
        online_store={"type": "sqlite", "path": f"{kind}.db"},
        entity_key_serialization_version=3,
    )
    store = FeatureStore(config=config)
    store.apply([driver, *views.values()])
    for name, view in views.items():
        job = store.get_historical_features(entity_df=wanted, features=[f"{view.name}:trips"])
        rows = job.to_df().sort_values("row")
        shown = [f"{row} {'NULL' if pd.isna(trips) else int(trips)}" for row, trips in zip(rows["row"], rows["trips"])]
        print(f"{kind}, {name}: {len(rows)} of {len(wanted)} rows: {', '.join(shown)}")
PYTHON
"$folder/venv/bin/python" join.py > printed 2>log || { tail -20 log; exit 1; }
grep rows: printed > found
cat found
diff found - <<'SEEN'
dask, ttl 2 hours: 4 of 7 rows: 1 NULL, 2 30, 5 11, 6 30
dask, no ttl: 5 of 7 rows: 1 NULL, 2 30, 3 30, 5 11, 6 30
duckdb, ttl 2 hours: 7 of 7 rows: 0 30, 1 NULL, 2 30, 3 NULL, 4 NULL, 5 11, 6 30
duckdb, no ttl: 7 of 7 rows: 0 30, 1 NULL, 2 30, 3 30, 4 NULL, 5 11, 6 30
SEEN
