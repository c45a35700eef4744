"""Statements that must be read: those of Spark's and delta-spark's grammars, one a line, in each form that matters."""

from __future__ import annotations

from pathlib import Path

STATEMENTS = Path(__file__).with_name("statements.sql").read_text(encoding="utf-8").splitlines()
