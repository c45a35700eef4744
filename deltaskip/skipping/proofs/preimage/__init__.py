"""Preimages: the values of a column for which an expression over it gives a wanted result."""
