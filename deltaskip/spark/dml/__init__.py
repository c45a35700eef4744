"""UPDATE, DELETE and MERGE as jobs of Spark."""
