"""Preimages of functions: the values of an argument for which a function has one of the given results."""

from .number_steps import double_of_float, number_cast
from .ordinals import NAN, Domain, Spans, domain_of, following, ordinal_of, span_of_prefix, value_at
from .steps import (
    UNKNOWN_ARGUMENT,
    Enclosed,
    Floor,
    Invertible,
    Monotone,
    MonotonePiece,
    Periodic,
    Prefix,
    Prepend,
    Shift,
    Step,
    Times,
    ZoneShift,
)
from .time_steps import date_cast, text_cast

__all__ = [
    "NAN",
    "UNKNOWN_ARGUMENT",
    "Domain",
    "Enclosed",
    "Floor",
    "Invertible",
    "Monotone",
    "MonotonePiece",
    "Periodic",
    "Prefix",
    "Prepend",
    "Shift",
    "Spans",
    "Step",
    "Times",
    "ZoneShift",
    "date_cast",
    "domain_of",
    "double_of_float",
    "following",
    "number_cast",
    "ordinal_of",
    "span_of_prefix",
    "text_cast",
    "value_at",
]
