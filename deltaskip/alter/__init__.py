"""Altering a table: changes of columns, properties, constraints, clustering and features, as one commit."""
