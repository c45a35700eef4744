"""The rules that every commit must satisfy, checked against the version that it follows."""

from deltaskip.txn.validation.commit_facts import CommitFacts
from deltaskip.txn.validation.commit_rules import validate

__all__ = ["CommitFacts", "validate"]
