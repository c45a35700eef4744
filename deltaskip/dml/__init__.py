"""Changes of existing rows: files that are removed, rows that are deleted from others, and the commit."""
