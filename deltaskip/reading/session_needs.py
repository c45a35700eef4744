"""What the rows of a scan need of the session that evaluates its predicate."""

from __future__ import annotations

from collections.abc import Iterator

from deltaskip.engine import PlannedScan
from deltaskip.errors import PredicateError
from deltaskip.expr.comparison_collation import compared_collations, is_binary
from deltaskip.expr.nodes import Call, Literal, Opaque, walk
from deltaskip.records import dataclass
from deltaskip.schema.resolve import collation_of, resolve
from deltaskip.schema.types import StructType


@dataclass(frozen=True, slots=True)
class SessionNeeds:
    """What a predicate needs of a session.

    Attributes:
        table: The table and its version, for messages.
        compared: The collations, as written, that deltaskip compares under; without UTF8_BINARY.
        opaque: Those of columns in the parts that only Spark understands; without UTF8_BINARY.
        has_base64: Whether it calls base64, whose text depends on a setting.
    """

    table: str
    compared: tuple[str, ...]
    opaque: tuple[str, ...]
    has_base64: bool

    @classmethod
    def of(cls, scan: PlannedScan) -> SessionNeeds:
        """Return what the bound predicate of a scan needs."""
        snapshot, opaque, has_base64 = scan.snapshot, list[str](), False
        for part in walk(scan.predicate):
            match part:
                case Opaque():
                    opaque += _collations(snapshot.schema, part)
                case Call("base64"):
                    has_base64 = True
                case Call("to_char", (_, Literal(str() as form))):
                    has_base64 |= form.strip().lower() == "base64"
        table = f"{snapshot.table_root} (version {snapshot.version})"
        return cls(table, compared_collations(scan.predicate), tuple(opaque), has_base64)


def _collations(struct: StructType, part: Opaque) -> Iterator[str]:
    """The collations of the columns in a part of a predicate."""
    for column in part.columns:
        try:
            identifier = collation_of(resolve(struct, column))
        except PredicateError:
            continue
        if identifier is not None and not is_binary(identifier):
            yield identifier
