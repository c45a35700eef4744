"""The packages of each extra, and the command that installs them without an index that has this package."""

from __future__ import annotations

_SQLGLOT = "sqlglot>=30.24,<31"
_WITH_SPARK = ("pandas>=2.2.2,<3", "icu4py>=1.2,<1.3", _SQLGLOT)
# As in pyproject.toml.
PACKAGES = {
    "spark": ("pyspark>=3.5", *_WITH_SPARK),
    "connect": ("pyspark-client>=4.0", *_WITH_SPARK),
    "cloud": ("obstore>=0.11", "arro3-core>=0.4.6"),
    "sql": (_SQLGLOT, "sqlalchemy>=2.0"),
    "postgres": ("sqlalchemy>=2.0", "psycopg2-binary>=2.9.5"),
    "unity": ("requests>=2.33", "urllib3>=2.8"),
    "geo": ("shapely>=2.0",),
    "index": ("xxhash>=3.2",),
    "sphere": ("shapely>=2.0", "spherely>=0.1"),
    "plot": ("pillow>=13.0",),
}


def install_command(extra: str, package: str = "") -> str:
    """The command that installs the packages of an extra, or only the one whose name is given."""
    return " ".join(["pip install", *(f"'{each}'" for each in PACKAGES[extra] if each.startswith(package))])
