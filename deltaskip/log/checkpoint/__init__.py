"""Checkpoints: reading of their adds and small actions, and writing of their rows."""
