"""Arrow arrays of any shape through the C data interface, as another library could hand them over, right or wrong.

The interface has no sizes of buffers: that a buffer is as long as the length and the offset say cannot be checked, and
no test breaks it. Everything else about an array can be wrong here.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

WIDTHS = {"c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "l": 8, "L": 8, "e": 2, "f": 4, "g": 8, "tdD": 4, "tsu:": 8}


class _Schema(ctypes.Structure):
    pass


_SCHEMA_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", _SCHEMA_RELEASE),
    ("private_data", ctypes.c_void_p),
]


class _Array(ctypes.Structure):
    pass


_ARRAY_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", _ARRAY_RELEASE),
    ("private_data", ctypes.c_void_p),
]

_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NOTHING_TO_RELEASE = _SCHEMA_RELEASE(lambda _schema: None), _ARRAY_RELEASE(lambda _array: None)


class ForeignArray:
    """An array with exactly these members. buffers: bytes or None; shift: bytes before the first byte of each."""

    def __init__(
        self,
        format_: str,
        length: int,
        buffers: Sequence[bytes | None],
        offset: int = 0,
        null_count: int = -1,
        dictionary: bool = False,
        shift: int = 0,
    ) -> None:
        self._memory = [None if data is None else np.zeros(shift + len(data), np.uint8) for data in buffers]
        for memory, data in zip(self._memory, buffers, strict=True):
            if memory is not None and data is not None:
                memory[shift:] = np.frombuffer(data, np.uint8)
        addresses = [None if memory is None else memory.ctypes.data + shift for memory in self._memory]
        self._pointers = (ctypes.c_void_p * max(len(buffers), 1))(*addresses)
        self._inner = _Schema(b"i", b"", None, 0, 0, None, None, _NOTHING_TO_RELEASE[0], None)
        inner = ctypes.cast(ctypes.pointer(self._inner), ctypes.c_void_p) if dictionary else None
        self._schema = _Schema(format_.encode(), b"", None, 2, 0, None, inner, _NOTHING_TO_RELEASE[0], None)
        self._array = _Array(
            length, null_count, offset, len(buffers), 0, self._pointers, None, None, _NOTHING_TO_RELEASE[1], None
        )

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        schema = _capsule(ctypes.addressof(self._schema), b"arrow_schema", None)
        return schema, _capsule(ctypes.addressof(self._array), b"arrow_array", None)


def foreign(array: pa.Array, format_: str, shift: int = 0) -> ForeignArray:
    """A primitive or binary array with buffers that end with its last byte, moved by `shift` bytes."""
    end = array.offset + len(array)
    validity, *rest = (None if buffer is None else buffer.to_pybytes() for buffer in array.buffers())
    sizes = [-(-end // 8)]
    if format_ in ("u", "z", "U", "Z"):
        width, kind = (4, np.int32) if format_ in ("u", "z") else (8, np.int64)
        offsets = np.frombuffer(rest[0] or b"", kind)
        sizes += [(end + 1) * width, int(offsets[end]) if len(offsets) > end else 0]
    elif format_ == "b":
        sizes.append(-(-end // 8))
    else:
        sizes.append(end * (16 if format_.startswith("d:") else WIDTHS[format_]))
    buffers = [None if data is None else data[:size] for data, size in zip([validity, *rest], sizes, strict=True)]
    return ForeignArray(format_, len(array), buffers, array.offset, array.null_count, shift=shift)
