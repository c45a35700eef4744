"""Verification: every rule of the protocol over the log of a table and, if wanted, over its data files; and repair.

A table that cannot be opened is verified, too: what is wrong is a finding, and not an exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from deltaskip.errors import ChecksumWarning, CorruptLog, DeltaSkipError, StatisticsWarning
from deltaskip.maintenance.verify import repair as repairing
from deltaskip.maintenance.verify.findings import Finding, Verification
from deltaskip.maintenance.verify.gates import Gates
from deltaskip.maintenance.verify.table_facts import TableFacts
from deltaskip.maintenance.verify.table_rule import Found, TableCheck
from deltaskip.maintenance.verify.table_rules import CHECKS, RULES
from deltaskip.progress import Progress, table_name
from deltaskip.storage import Storage, uri_of

_ORDER = {"error": 0, "warning": 1, "info": 2}
_NO_GATES = Gates()


def verify(
    storage: Storage,
    root: str,
    data: bool = False,
    since: int | None = None,
    *,
    repair: bool = False,
    dry_run: bool = False,
    gates: Gates = _NO_GATES,
    spark: Any = None,
) -> Verification:
    """Return what violates the rules in a table.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        data: Whether to read the data files.
        since: Commits, checkpoints and checksums before this version are not looked at; None for all that there are.
        repair: Whether to mend what can be mended.
        dry_run: With repair: list the changes, and make none.
        gates: Further conditions.
        spark: A session whose jobs compute the statistics of data files; None for this process.

    Raises:
        TableNotFound: There is no log.
        StorageError: The log cannot be listed, or a repair failed.
    """
    gates.check(root)
    with Progress(f"Verifying {table_name(root)}", unit="files", blocks=True) as bar, warnings.catch_warnings():
        # What they say is a finding.
        warnings.simplefilter("ignore", ChecksumWarning)
        warnings.simplefilter("ignore", StatisticsWarning)
        facts = TableFacts(storage, root, since or 0, bar.advance, spark)
        found = [*_found(facts, data), *(() if facts.snapshot is None else gates.violations(facts.snapshot))]
        findings = sorted(map(_finding, found), key=lambda each: _ORDER[each.severity])
        steps = repairing.planned(facts, findings) if repair else ()
        version = None
        if steps and not dry_run:
            steps, version = repairing.carried_out(facts, steps)
    return Verification(
        uri_of(root),
        None if facts.snapshot is None else facts.snapshot.version,
        data,
        tuple(findings),
        tuple(dict.fromkeys(facts.not_checked)),
        dict(facts.counts),
        steps,
        version,
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
    except (DeltaSkipError, MemoryError) as error:
        why = str(error) or "the memory of this process does not suffice"
        facts.not_checked.append(f"{', '.join(rule.name for rule in CHECKS[check])}: {why}")


def _finding(found: Found) -> Finding:
    rule = RULES[found.rule]
    message = found.message if found.message.endswith((".", "…")) else f"{found.message}."
    texts = rule.name, rule.source, rule.severity, message
    return Finding(*texts, tuple(found.versions), tuple(dict.fromkeys(found.paths)), rule.repair)
