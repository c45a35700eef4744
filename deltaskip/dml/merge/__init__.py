"""MERGE: rows of a source update, delete and add to rows of a table."""
