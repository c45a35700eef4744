"""UPDATE, DELETE and MERGE as Spark jobs."""
