from collections.abc import Sequence

import pyarrow as pa

from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable

def of_structs(
    present: ArrowArrayExportable,
    names: list[bytes],
    fields: Sequence[ArrowArrayExportable],
    metadata: ArrowArrayExportable,
    rows: ArrowArrayExportable | None = None,
    value: ArrowArrayExportable | None = None,
) -> pa.LargeBinaryArray: ...
