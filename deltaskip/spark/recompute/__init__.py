"""Computing the statistics of a table's files in Spark jobs."""
