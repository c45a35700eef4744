"""SQL statements over a catalog's tables: their grammar, what they answer, and queries that skip files."""
