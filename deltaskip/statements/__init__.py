"""SQL statements over a catalog's tables: their grammar, their answers, and queries that skip files."""
