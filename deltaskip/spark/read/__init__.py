"""DataFrames of exactly the rows that a scan or a change feed has."""
