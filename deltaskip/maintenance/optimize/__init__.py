"""OPTIMIZE: fewer and larger files, without deleted rows, with similar values in the same file. No row changes."""
