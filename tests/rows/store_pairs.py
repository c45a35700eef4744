"""Pairs of types that Spark's store assignment allows: `python -m tests.rows.store_pairs` renews the stored table."""

import json
from pathlib import Path
from typing import Any

from deltaskip.rows.store import assignable
from deltaskip.sparkexpr.types.data_types import DataType
from tests.sparkexpr.edge_values import EDGES

_STORED = Path(__file__).with_name("spark_store_assignment.json")


def store_assignment() -> dict[str, list[str]]:
    """The types of columns that values of a type can be stored in, as Spark 4.1 has them."""
    found: dict[str, list[str]] = json.loads(_STORED.read_text(encoding="utf-8"))
    return found


def spark_store_assignment(session: Any) -> dict[str, list[str]]:
    """The same table by a session's Spark."""
    jvm = session._jvm
    types = {text: jvm.org.apache.spark.sql.types.DataType.fromDDL(text) for text in store_assignment()}
    casts = getattr(jvm, "org.apache.spark.sql.catalyst.expressions.Cast$").__getattr__("MODULE$")
    return {
        source: [target for target in types if casts.canANSIStoreAssign(types[source], types[target])]
        for source in types
    }


def _pairs() -> list[tuple[DataType, DataType]]:
    # A decimal beside each other type, and the decimals among themselves.
    return [(source, target) for source in EDGES for target in EDGES if source != target and assignable(source, target)]


PAIRS = _pairs()


def main() -> None:
    """Write the table."""
    from tests.sparkexpr.stored import session

    _STORED.write_text(json.dumps(spark_store_assignment(session()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
