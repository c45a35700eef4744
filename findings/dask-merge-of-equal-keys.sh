#!/usr/bin/env bash
# Dask: merge over keys that are equal and not stored alike.
#
# The guess: merge of Dask finds the rows that merge of pandas finds over the same files: a time in microseconds, as DuckDB and
# Spark write it to Parquet, meets the same time in nanoseconds, and -0.0 meets 0.0.
# Dask 2026.8.0: where both sides have more than one partition, rows are sent to partitions by a hash of the bytes of the key, so
# that equal keys do not meet: 13 of 40 equal times find each other, which partitions happen to share, and no zero does. A left
# join has NULL for the others. For -0.0 there is neither an error nor a warning. For times of two units there is the warning that
# the types differ, which integers beside doubles and DECIMAL columns of two scales have too, though their rows are right. With
# one partition on a side all is right, so a small test shows nothing.
# The way round: give both keys one unit before, with astype("datetime64[us]"), and add 0.0 to doubles.
#
# Output seen:
#    times: pandas 40, Dask 13, with one partition 40, left join 13, warnings 1
#    zeros: pandas 40, Dask 0, with one partition 40, left join 0, warnings 0
#    decimals: pandas 40, Dask 40, with one partition 40, left join 40, warnings 1
#    integers and doubles: pandas 40, Dask 40, with one partition 40, left join 40, warnings 1
#    after astype and + 0.0: 40, 40
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'dask[dataframe]==2026.8.0' pandas==3.0.6 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import warnings
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import dask
import dask.dataframe as dd
import pyarrow as pa
import pyarrow.parquet as pq

dask.config.set(scheduler="sync")
warnings.simplefilter("always")


def files(name, values, kind, other):
    Path(name).mkdir()
    for part in range(4):
        keys = pa.array(values[part * 10 : part * 10 + 10], kind)
        pq.write_table(pa.table({"k": keys, other: list(range(10))}), f"{name}/{part}.parquet")
    return dd.read_parquet(name)


def shown(name, left, right):
    of_pandas = len(left.compute().merge(right.compute(), on="k"))
    with warnings.catch_warnings(record=True) as seen:
        of_dask = len(left.merge(right, on="k").compute())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = len(left.repartition(npartitions=1).merge(right, on="k").compute())
        outer = left.merge(right, on="k", how="left")["y"].count().compute()
    seen = {str(each.message) for each in seen if "merge column data type mismatches" in str(each.message)}
    print(f"{name}: pandas {of_pandas}, Dask {of_dask}, with one partition {one}, left join {outer}, warnings {len(seen)}")


times = [datetime(2026, 1, 1) + timedelta(days=i) for i in range(40)]
micros, nanos = files("us", times, pa.timestamp("us"), "x"), files("ns", times, pa.timestamp("ns"), "y")
shown("times", micros, nanos)
doubles = [float(i) for i in range(40)]
negative = files("negative", [-0.0] + doubles[1:], pa.float64(), "y")
zeros = files("zeros", [0.0] * 40, pa.float64(), "x")
shown("zeros", zeros, negative)
numbers = [Decimal(i) for i in range(40)]
shown("decimals", files("1", numbers, pa.decimal128(9, 1), "x"), files("2", numbers, pa.decimal128(9, 2), "y"))
shown("integers and doubles", files("i", list(range(40)), pa.int64(), "x"), files("d", doubles, pa.float64(), "y"))
cast, added = nanos.assign(k=nanos["k"].astype("datetime64[us]")), negative.assign(k=negative["k"] + 0.0)
print(f"after astype and + 0.0: {len(micros.merge(cast, on='k').compute())}, {len(zeros.merge(added, on='k').compute())}")
PYTHON
cat found
diff found - <<'SEEN'
times: pandas 40, Dask 13, with one partition 40, left join 13, warnings 1
zeros: pandas 40, Dask 0, with one partition 40, left join 0, warnings 0
decimals: pandas 40, Dask 40, with one partition 40, left join 40, warnings 1
integers and doubles: pandas 40, Dask 40, with one partition 40, left join 40, warnings 1
after astype and + 0.0: 40, 40
SEEN
