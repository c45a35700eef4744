"""The proofs: from a predicate to the Program that no file with a matching row fails."""
