"""DataFrames of exactly the rows of a scan or of a change feed."""
