"""Versions of the collations: the one that Spark compares by, and where each version of ICU comes from."""

from __future__ import annotations

SPARK_VERSION = "77.1"
"""The collation version of Spark 4.1, the same for both providers."""

_PACKAGES = {
    "77.1": "run: pip install 'pyicu-wheels==2.15.*'",
    "78.3": "run: pip install 'deltaskip[spark]' (or 'icu4py>=1.2,<1.3', which contains it)",
    "76.1": "run: pip install --no-deps --target FOLDER pyicu-wheels==2.14, and set DELTASKIP_ICU_PATH to "
    "FOLDER/pyicu_wheels.libs; where PySpark 4.0 is installed, its own data is used",
}
_OTHERWISE = "set DELTASKIP_ICU_PATH to the folder of its libicui18n, or call deltaskip.register_icu with it"


def installed_spark_version() -> str:
    """The collation version of the Spark in SPARK_HOME or of the installed PySpark; Spark 4.1's if there is neither."""
    from deltaskip.collations.spark_data import spark_jar

    jar = spark_jar()
    return SPARK_VERSION if jar is None else jar.version


def source_of(version: str) -> str:
    """How to get ICU of this version, as an instruction that can follow a colon."""
    return _PACKAGES.get(version, _OTHERWISE)
