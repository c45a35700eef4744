"""Checkpoints: their adds and small actions read, their rows made and written."""
