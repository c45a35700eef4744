"""Strings as input to ICU: the layout of a column, and one of its strings."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.stdint cimport uint8_t

from deltaskip.errors import InvalidArgument

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, check, validity_buffer


cdef int check_icu(int code) except -1:
    if code == TOO_LONG:
        raise InvalidArgument("A string has 1 GiB or more, which is too long for ICU.")
    if code == ICU_FAILED:
        raise MemoryError("ICU could not compare two strings.")
    return check(code)


cdef Texts texts_of(BinaryView view, bint rtrim):
    return Texts(view.offsets32, view.offsets64, view.data, view.validity, view.offset, view.length, rtrim)


cdef Text text_of(bytes text, bint rtrim):
    cdef Text found = Text(<const uint8_t*>PyBytes_AsString(text), PyBytes_Size(text))
    return trimmed(found) if rtrim else found


cdef object validity_of(Texts texts):
    """The validity bitmap of a new array with the same nulls; None without nulls."""
    return validity_buffer(texts.validity, texts.offset, texts.length)
