"""Checkpoints: reading their adds and small actions, and writing their rows."""
