"""The checked view of row indexes."""

from deltaskip.kernels.arrow cimport PrimitiveView


cdef PrimitiveView row_indexes(object indexes)
