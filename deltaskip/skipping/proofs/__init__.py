"""The proofs: from a predicate to a Program that every file with a matching row passes."""
