"""Conversion of Delta's types, collations and expressions to PySpark's, and of PySpark's Columns to expressions."""
