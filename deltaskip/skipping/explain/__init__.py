"""Explains what each part of a predicate can prove about files, and why no more."""
