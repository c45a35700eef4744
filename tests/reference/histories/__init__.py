"""Random histories of deltaskip and delta-spark on one table, against a plain model of its rows."""
