"""The names of delta-spark's package `delta.connect`: the same classes as for classic sessions."""

from deltaskip.delta.tables import DeltaTable

__all__ = ["DeltaTable"]
