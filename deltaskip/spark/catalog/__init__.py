"""Spark's own session catalog as a catalog."""
