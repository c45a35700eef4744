"""Verification: every rule of the protocol over the log of a table and, if wanted, over its data files.

A table that cannot be opened is verified, too: what is wrong is a finding, and not an exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

from deltaskip.errors import ChecksumWarning, CorruptLog, DeltaSkipError
from deltaskip.maintenance.verify.findings import Finding, Verification
from deltaskip.maintenance.verify.rule import Found, TableCheck
from deltaskip.maintenance.verify.rules import CHECKS, RULES
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.progress import Progress, table_name
from deltaskip.storage import Storage, uri_of

_ORDER = {"error": 0, "warning": 1, "info": 2}
Advance = Callable[[int], object]


def verify(storage: Storage, root: str, data: bool = False, since: int | None = None) -> Verification:
    """Return what violates the rules in a table.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        data: Whether to read the data files.
        since: Commits, checkpoints and checksums before this version are not looked at; None for all that there are.

    Raises:
        TableNotFound: There is no log.
        StorageError: The log cannot be listed.
    """
    with Progress(f"Verifying {table_name(root)}", unit="files", blocks=True) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", ChecksumWarning)
        facts = TableFacts(storage, root, since or 0, bar.advance)
        found = list(_found(facts, data))
    findings = [_finding(each) for each in found]
    return Verification(
        uri_of(root),
        None if facts.snapshot is None else facts.snapshot.version,
        data,
        tuple(sorted(findings, key=lambda each: _ORDER[each.severity])),
        tuple(dict.fromkeys(facts.not_checked)),
        dict(facts.counts),
    )


def _found(facts: TableFacts, data: bool) -> Iterator[Found]:
    said = False
    for check in CHECKS:
        if not _applies(check, facts, data):
            continue
        for found in _of_check(check, facts):
            said = said or RULES[found.rule].severity == "error"
            yield found
    if facts.snapshot is None and not said:
        if isinstance(facts.error, CorruptLog):
            yield Found("log.state", str(facts.error))
        else:
            facts.not_checked.append(str(facts.error))


def _applies(check: TableCheck, facts: TableFacts, data: bool) -> bool:
    match check.needs:
        case "snapshot":
            return facts.snapshot is not None
        case "data":
            return data and facts.snapshot is not None
        case _:
            return True


def _of_check(check: TableCheck, facts: TableFacts) -> Iterator[Found]:
    """What a check finds; an error of it is what could not be checked, unless it says that the log is damaged."""
    try:
        yield from check.violations(facts)
    except CorruptLog as error:
        yield Found("log.state", str(error))
    except DeltaSkipError as error:
        facts.not_checked.append(f"{', '.join(rule.name for rule in check.rules)}: {error}")


def _finding(found: Found) -> Finding:
    rule = RULES[found.rule]
    message = found.message if found.message.endswith((".", "…")) else f"{found.message}."
    return Finding(
        rule.name, rule.source, rule.severity, message, tuple(found.versions), _texts(found.paths), rule.repair
    )


def _texts(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
