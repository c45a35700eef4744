"""Java's regular expressions with Spark's semantics over UTF-8 strings."""

from deltaskip.sparkexpr.regex.pattern import Pattern, beginning_of, compiled

__all__ = ["Pattern", "beginning_of", "compiled"]
