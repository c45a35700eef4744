"""delta-spark's Python API over deltaskip, under the names of its package `delta`: a job changes only an import."""

from deltaskip.delta.builder import DeltaTableBuilder, IdentityGenerator
from deltaskip.delta.pip_utils import __version__, configure_spark_with_delta_pip
from deltaskip.delta.tables import DeltaMergeBuilder, DeltaOptimizeBuilder, DeltaTable

__all__ = [
    "DeltaMergeBuilder",
    "DeltaOptimizeBuilder",
    "DeltaTable",
    "DeltaTableBuilder",
    "IdentityGenerator",
    "__version__",
    "configure_spark_with_delta_pip",
]
