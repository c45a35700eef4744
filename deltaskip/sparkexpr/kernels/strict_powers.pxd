"""Powers and roots as java.lang.StrictMath has them."""

cdef double cbrt(double x) noexcept nogil
cdef double hypot(double x, double y) noexcept nogil
cdef double power(double x, double y) noexcept nogil
