"""The rules that every commit must satisfy, checked against the version that it follows."""

from deltaskip.txn.validation.facts import CommitFacts
from deltaskip.txn.validation.rules import validate

__all__ = ["CommitFacts", "validate"]
