"""Calls of the functions of one family, for the grid of edges (tests/sparkexpr/edges.py)."""

_PAIRED = ("0.5D", "-3", "2", "1e300D", "double('NaN')")
_BOTH = tuple(f"{{0}}({{c}}, {k})" for k in _PAIRED) + tuple(f"{{0}}({k}, {{c}})" for k in _PAIRED)
_SCALED = tuple(f"{{0}}({{c}}, {k})" for k in (0, 1, 2, 5, -1, -3, -20))
_ROUNDED = ("{0}({c})", *_SCALED, "{0}({c}, 17)", "{0}({c}, -38)")

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "log": ("log({c})", *_BOTH),
    **dict.fromkeys(("power", "hypot", "atan2"), _BOTH),
    "e": ("{c} + e()",),
    "pi": ("{c} * pi()",),
    "bround": _ROUNDED,
    "floor": ("floor({c})", *_SCALED),
    "ceil": ("ceil({c})", *_SCALED),
    "bit_get": tuple(f"bit_get({{c}}, {k})" for k in (0, 7, 31, 63, -1)),
    "conv": tuple(f"conv({{c}}, {k})" for k in ("10, 16", "10, -16", "16, 10", "36, -10", "2, 36", "1, 10", "10, 37")),
    "width_bucket": ("width_bucket({c}, 0, 100, 7)", "width_bucket({c}, 100, -100, 3)",
        "width_bucket({c}, -1e308D, 1e308D, 10)", "width_bucket({c}, 1, 1, 5)", "width_bucket(5, {c}, 10, 4)",
        "width_bucket(5.5, 0, {c}, 4)", "width_bucket(2, 0, 10, {c})"),
    "nanvl": ("nanvl({c}, 1)", "nanvl({c}, 1.5D)", "nanvl({c}, float('2.5'))", "nanvl({c}, {c})", "nanvl(1D, {c})",
        "nanvl(float('NaN'), {c})", "nanvl(double('NaN'), {c})"),
    "typeof": ("typeof({c})",),
}  # fmt: skip
