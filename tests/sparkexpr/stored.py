"""Answers of Spark, stored as compressed JSON beside the tests which compare with them, and how to ask for them."""

import gzip
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any


def read_stored(file: Path) -> Any:
    """What the file has."""
    return json.loads(gzip.decompress(file.read_bytes()))


def write_stored(file: Path, found: Any) -> None:
    """Write answers, so that equal ones are equal files."""
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def session() -> Any:
    """A small session in UTC, which logs nothing: a refused expression would come with the whole of its Java stack."""
    from pyspark.sql import SparkSession

    logging.disable(logging.CRITICAL)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    # Without a projection below for what an expression uses twice, such as nullif.
    builder = builder.config("spark.sql.alwaysInlineCommonExpr", "true")
    found = builder.config("spark.driver.memory", "2g").getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found
