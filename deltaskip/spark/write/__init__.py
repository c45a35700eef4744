"""DataFrames as data files of a table."""
