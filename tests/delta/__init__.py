"""Tests of delta-spark's names."""
