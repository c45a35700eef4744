"""Changes of existing rows: which files go whole, which rows of which others go, and what the commit contains."""
