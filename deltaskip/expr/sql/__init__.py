"""Spark SQL text to nodes: a parser for the expressions of Spark's grammar."""
