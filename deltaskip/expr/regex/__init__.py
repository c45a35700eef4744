"""Java's regular expressions, with Spark's semantics, over strings in UTF-8."""

from deltaskip.expr.regex.pattern import Pattern, beginning_of, compiled

__all__ = ["Pattern", "beginning_of", "compiled"]
