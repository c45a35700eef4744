"""Spark SQL text to nodes, by sqlglot's parser held to Spark's grammar."""
