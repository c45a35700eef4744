"""First characters whose primary weights alone order strings relative to one literal, each computed by ICU once."""

from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.icu_library cimport IcuCollator


cdef class FirstOrders:
    """The order of texts relative to a literal, as far as their first characters determine it."""
    cdef IcuCollator collator
    cdef uint8_t* known
    cdef uint8_t[6] literal
    cdef int literal_size
    cdef int order(self, const uint8_t* text, int64_t size) noexcept nogil
    cdef uint8_t work_out(self, const uint8_t* first, int size) noexcept nogil


cdef FirstOrders first_orders(IcuCollator collator, const uint8_t* literal, int64_t size)
