"""Delta's types, collations and expressions as PySpark's, and PySpark's Columns as expressions."""
