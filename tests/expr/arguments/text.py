"""Calls of the functions of one family, for the grid of edges (tests/expr/edges.py)."""

from __future__ import annotations

ARGUMENTS: dict[str, tuple[str, ...]] = {}
