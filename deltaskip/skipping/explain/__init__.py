"""What each part of a predicate could prove, and why no more."""
