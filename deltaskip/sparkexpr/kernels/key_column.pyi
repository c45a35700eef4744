import pyarrow as pa

from deltaskip.kernels.compare_binary import Op
from deltaskip.sparkexpr.kernels.lane import Lane

class KeyColumn:
    """Binary values, such as sort keys, prepared for comparison with many others in unsigned byte order.

    Holds the array and eight bytes more per value. With `prefix`, only as many bytes of each value are compared as the
    key has.
    """

    @property
    def nbytes(self) -> int:
        """Size of the keys and their words in bytes."""
    def __init__(self, keys: pa.Array) -> None:
        """keys: binary or large_binary. Raises TypeError for another type."""
    def __len__(self) -> int: ...
    def keep(self, op: Op, key: bytes, prefix: bool = False) -> Lane:
        """Return the keep mask of `value op key`. Nulls are kept. Raises ValueError for another operator."""
