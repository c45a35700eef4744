"""Preimages of functions: the values of an argument for which a function has one of the given results."""
