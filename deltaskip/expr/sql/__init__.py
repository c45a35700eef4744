"""Spark SQL text to nodes, with sqlglot's parser, restricted to Spark's grammar."""
