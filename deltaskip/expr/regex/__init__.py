"""Java's regular expressions: what they mean for Spark, over strings in UTF-8."""

from deltaskip.expr.regex.beginning import beginning_of
from deltaskip.expr.regex.pattern import Pattern, compiled

__all__ = ["Pattern", "beginning_of", "compiled"]
