"""Recomputed statistics: what is asked for, what it takes, how it is committed and resumed."""
