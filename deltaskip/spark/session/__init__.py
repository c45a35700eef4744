"""Sessions of Spark: checks, settings, errors, and what releases and clients do differently."""
