"""The rules that every commit must meet, checked against the version that it follows."""

from deltaskip.txn.validation.candidate import Candidate
from deltaskip.txn.validation.commit_rules import RULES, CommitRule, rule_table
from deltaskip.txn.validation.validate import validate

__all__ = ["RULES", "Candidate", "CommitRule", "rule_table", "validate"]
