import pyarrow as pa

from deltaskip.kernels.compare_binary import Op
from deltaskip.kernels.lane import Lane

class KeyColumn:
    """Binary values, such as sort keys, made ready for comparison with many others in unsigned byte order.

    It keeps the array and eight bytes more for each value. With `prefix` the beginnings of the values, as long as the
    key that they are compared with, count instead of the values.
    """

    @property
    def nbytes(self) -> int:
        """Bytes that the keys and what is kept beside them take."""
    def __init__(self, keys: pa.Array) -> None:
        """keys: binary or large_binary. Raises TypeError for another type."""
    def __len__(self) -> int: ...
    def keep(self, op: Op, key: bytes, prefix: bool = False) -> Lane:
        """The lane of `value op key`; nulls are kept. Raises ValueError for another operator."""
