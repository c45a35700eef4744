"""Spark sessions: checks, settings, errors, and differences of releases and clients."""
