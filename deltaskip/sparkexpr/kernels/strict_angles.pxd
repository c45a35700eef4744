"""Inverse functions of angles as java.lang.StrictMath has them."""

cdef double asin(double x) noexcept nogil
cdef double acos(double x) noexcept nogil
cdef double atan(double x) noexcept nogil
cdef double atan2(double y, double x) noexcept nogil
