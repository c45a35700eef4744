"""Java's regular expressions: what they mean for Spark, over strings in UTF-8."""

from deltaskip.expr.regex.pattern import Pattern, beginning_of, compiled

__all__ = ["Pattern", "beginning_of", "compiled"]
