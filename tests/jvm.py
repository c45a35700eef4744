"""Options of the JVMs that tests start."""

import os

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
"""Most code runs too few times for the optimizing compiler to pay, and the small cache of the other one overflows."""


def start_quickly() -> None:
    """Let every JVM of Spark that this process or one of its children starts have these options."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
