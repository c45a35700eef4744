"""The rules that every commit must satisfy, checked against the version that it follows."""

from deltaskip.txn.validation.candidate import Candidate
from deltaskip.txn.validation.validate import validate

__all__ = ["Candidate", "validate"]
