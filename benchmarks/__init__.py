"""Benchmarks of the hot paths, run by asv."""
