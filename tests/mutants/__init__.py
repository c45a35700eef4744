"""Faults that are put into the package on purpose, to measure what the tests find; see `__main__.py`."""
