"""What a verification finds: records with the rule, its source and the cure, and the result with all of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Literal

from deltaskip.as_frames import AsFrames
from deltaskip.doors import door
from deltaskip.records import dataclass
from deltaskip.shown import Shown

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 20
_SHOWN_PATHS = 3


@door
@dataclass(frozen=True, slots=True, repr=False)
class Finding(Shown):
    """What violates a rule.

    Attributes:
        rule: Name of the rule, such as "commit.gap"; the part before the dot is what it is about.
        source: Where the rule comes from: a section of the protocol, or delta-spark.
        severity: "error": readers fail, may read wrong rows, or lose files. "warning": a reader that follows the
            protocol reads the table rightly. "info": nothing is wrong, and something can be tidied up.
        message: What is wrong, as a sentence.
        versions: Versions of the table that it concerns.
        paths: Files that it concerns: data files as logged, files of the log by their names.
        repair: What `verify(repair=True)` does about it; "" if it does nothing.
    """

    rule: str
    source: str
    severity: Literal["error", "warning", "info"]
    message: str
    versions: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    repair: str = ""

    def __str__(self) -> str:
        return f"{self.severity} {self.rule}: {self.message}"


@door
@dataclass(frozen=True, slots=True, repr=False)
class RepairStep(Shown):
    """One change that a repair makes, or would make.

    Attributes:
        rule: Name of the rule whose finding it mends.
        action: "remove files", "replace statistics", "set aside", "write checkpoint" or "write checksum".
        paths: Files that it concerns, as in the finding.
        done: Whether it was made.
        refused: Why it is not made; "" if it is.
    """

    rule: str
    action: str
    paths: tuple[str, ...]
    done: bool = False
    refused: str = ""

    @property
    def sentence(self) -> str:
        """The step in words."""
        some = ", ".join(self.paths[:_SHOWN_PATHS])
        more = f" and {len(self.paths) - _SHOWN_PATHS:,} more" if len(self.paths) > _SHOWN_PATHS else ""
        what = f"{self.action}: {some}{more} ({self.rule})"
        return f"not repaired, {self.refused}: {what}" if self.refused else what


@door
@dataclass(frozen=True, slots=True, repr=False)
class Verification(Shown, AsFrames):
    """The result of a verification.

    Attributes:
        table: URI of the table.
        version: The latest version; None if it cannot be read.
        data: Whether the data files were read.
        findings: Errors first, then warnings, then the rest.
        not_checked: What could not be checked, each as a sentence with the reason.
        checked: Numbers of what was looked at: "log files", "commits", "checkpoints", "checksums", "files", "rows".
        repairs: The changes of a repair, or of its dry run.
        repaired: The version that the repair committed; None if it committed none.
    """

    table: str
    version: int | None
    data: bool = False
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()
    checked: Mapping[str, int] = field(default_factory=dict)
    repairs: tuple[RepairStep, ...] = ()
    repaired: int | None = None

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        """Whether there is no error. A result with warnings is true."""
        return not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(each for each in self.findings if each.severity == "error")

    @property
    def exit_code(self) -> int:
        """1 if there are errors, otherwise 2 if something could not be checked, otherwise 0."""
        return 1 if self.errors else 2 if self.not_checked else 0

    @property
    def rules(self) -> frozenset[str]:
        """Names of the rules that are violated."""
        return frozenset(each.rule for each in self.findings)

    def lines(self, most: int = _SHOWN) -> Iterator[str]:
        """Yield the result as lines of text. most: Number of findings that are shown."""
        version = "unreadable" if self.version is None else f"version {self.version}"
        looked = ", ".join(f"{count:,} {what}" for what, count in self.checked.items() if count)
        counts = Counter(each.severity for each in self.findings)
        said = ", ".join(f"{counts[kind]} {kind}{'s' if counts[kind] != 1 else ''}" for kind in ("error", "warning"))
        yield f"{self.table}, {version}: {said}{f'; checked {looked}' if looked else ''}"
        yield from (f"  {each}" for each in self.findings[:most])
        if len(self.findings) > most:
            yield f"  … and {len(self.findings) - most:,} more findings"
        yield from (f"  not checked: {each}" for each in self.not_checked[:most])
        yield from (f"  {'repaired' if each.done else 'repair'}: {each.sentence}" for each in self.repairs)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values that `json.dumps` accepts."""
        return {**asdict(self), "exit_code": self.exit_code}

    def to_json(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_arrow(self) -> pa.Table:
        """Return the findings as an Arrow table, one row each, with their attributes as columns."""
        import pyarrow as pa

        schema = pa.schema(
            [
                *((name, pa.string()) for name in ("rule", "source", "severity", "message")),
                ("versions", pa.list_(pa.int64())),
                ("paths", pa.list_(pa.string())),
                ("repair", pa.string()),
            ]
        )
        rows = [[getattr(each, name) for each in self.findings] for name in schema.names]
        return pa.table(
            [pa.array(map(_plain, row), kind) for row, kind in zip(rows, schema.types, strict=True)], schema
        )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
