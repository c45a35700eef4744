"""Partition transforms: functions of a column whose values divide rows into partitions.

# SPIP Spark API for Table Metadata, Transform API
"""

from deltaskip.transforms.transform import (
    Bucket,
    Date,
    DateHour,
    Expression,
    Identity,
    Month,
    Transform,
    Truncate,
    Year,
    bucket,
    date,
    datehour,
    identity,
    month,
    truncate,
    year,
)

__all__ = [
    "Bucket",
    "Date",
    "DateHour",
    "Expression",
    "Identity",
    "Month",
    "Transform",
    "Truncate",
    "Year",
    "bucket",
    "date",
    "datehour",
    "identity",
    "month",
    "truncate",
    "year",
]
