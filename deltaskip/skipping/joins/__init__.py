"""Joins: names of two sides, and the rows of one side that can match keys of the other."""
