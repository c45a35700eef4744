#!/usr/bin/env bash
# pyarrow: the statistics of a Parquet column of type GEOMETRY.
#
# The guess: a column of shapes has no min and max, since shapes have no order, and a null count as every other column, so
# that a reader that counts values from footers, or skips row groups by IS NULL, needs no data.
# pyarrow 26.0.1 writes no Statistics at all for GEOMETRY and GEOGRAPHY, as for columns whose statistics are off. The box
# is there for GEOMETRY, and the nulls are found in the definition levels of SizeStatistics only. Spark 4.2 (parquet-mr)
# writes the null count.
#
# Output seen:
#    binary: null_count 1
#    GEOMETRY: statistics None, box 1.0 to 3.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import struct

import pyarrow as pa
import pyarrow.parquet as pq


class Wkb(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self):
        return b"{}"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


points = pa.array([struct.pack("<BI2d", 1, 1, x, x) for x in (1, 3)] + [None], pa.binary())
pq.write_table(pa.table({"b": points, "g": pa.ExtensionArray.from_storage(Wkb(), points)}), "t.parquet")
binary, shapes = (pq.read_metadata("t.parquet").row_group(0).column(i) for i in range(2))
print("binary: null_count", binary.statistics.null_count)
print(f"GEOMETRY: statistics {shapes.statistics}, box {shapes.geo_statistics.xmin} to {shapes.geo_statistics.xmax}")
assert binary.statistics.null_count == 1 and shapes.statistics is None
PYTHON
