"""A parser that converts expressions of Spark SQL to nodes."""
