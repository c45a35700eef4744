"""Tests of operations on whole tables."""
