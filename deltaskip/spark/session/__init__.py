"""Sessions of Spark: checks, settings, errors, and differences of releases and clients."""
