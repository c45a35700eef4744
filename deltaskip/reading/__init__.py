"""Rows of a table as Arrow, read in this process without Spark."""
