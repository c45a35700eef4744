"""Preimages: the values of a column for which an expression over it returns a wanted result."""
