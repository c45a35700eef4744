"""Statistics of a table's files computed by a Spark job."""
