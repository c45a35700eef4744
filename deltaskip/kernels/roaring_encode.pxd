"""Constants of the Roaring format, and the checked view of row indexes."""

from deltaskip.sparkexpr.kernels.arrow cimport PrimitiveView

cdef enum:
    PORTABLE = 1681511377   # magic number of the 64-bit portable extension
    NO_RUNS = 12346         # cookies of a 32-bit bitmap
    WITH_RUNS = 12347
    OFFSETS_FROM = 4        # with runs, a bitmap of fewer containers has no offsets
    ARRAY_LIMIT = 4096      # a container of at most this many values is an array
    BITMAP_BYTES = 8192


cdef PrimitiveView row_indexes(object indexes)
