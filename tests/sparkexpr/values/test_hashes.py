"""Hash functions against answers of Spark 4.1 and of the Iceberg specification's Appendix B."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.hashes import iceberg_bucket, spark_hash

DAY = (date(2023, 5, 5) - date(1970, 1, 1)).days
INSTANT = int(datetime(2023, 5, 5, 1, 2, 3, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("value", "type_", "hashed"),
    [
        (1, t.INTEGER, -559580957),
        (-7, t.INTEGER, -1618159745),
        (9999999999, t.LONG, -138896179),
        ("", t.STRING, 142593372),
        ("a", t.STRING, 1485273170),
        ("abcd", t.STRING, -396302900),
        ("abcdé中😀", t.STRING, 1508277124),
        (True, t.BOOLEAN, -559580957),
        (DAY, t.DATE, -1224346464),
        (INSTANT + 4, t.TIMESTAMP, 1174109014),
        (INSTANT, t.TIMESTAMP_NTZ, 1861867451),
        (1.5, t.DOUBLE, 1290763749),
        (-0.0, t.DOUBLE, -1670924195),
        (float("nan"), t.DOUBLE, -1281358385),
        (1.5, t.FLOAT, -221251528),
        (Decimal("12.34"), t.DecimalType(10, 2), -1028144669),
        (Decimal("-12345678901234567890.12"), t.DecimalType(38, 2), 333635401),
        (3, t.SHORT, -1823081949),
        (None, t.INTEGER, 42),
        (b"ab", t.BINARY, -97053317),
    ],
)
def test_a_value_hashes_as_in_spark(value: Any, type_: t.DataType, hashed: int) -> None:
    assert spark_hash(value, type_) == hashed


@pytest.mark.parametrize(
    ("value", "type_", "hashed"),
    [
        (34, t.INTEGER, 2017239379),
        (34, t.LONG, 2017239379),
        (Decimal("14.20"), t.DecimalType(9, 2), -500754589),
        (17486, t.DATE, -653330422),
        (1510871468000000, t.TIMESTAMP, -2047944441),
        ("iceberg", t.STRING, 1210000089),
        (b"\x00\x01\x02\x03", t.BINARY, -188683207),
    ],
)
def test_a_bucket_is_icebergs(value: Any, type_: t.DataType, hashed: int) -> None:
    for count in (1, 16, 1000, 1 << 31):
        assert iceberg_bucket(value, type_, count) == (hashed & 0x7FFF_FFFF) % count
