"""Settings on which the meaning of expressions depends."""

from __future__ import annotations

from tests.spark.matrix.cases import Session, case, equal
from tests.spark.meaning_values import unknown_keys


@case("Every setting of SQLConf is in the table of those that matter, or cannot matter")
def settings(session: Session) -> None:
    if session.kind == "connect":
        # It lists only public settings, which classic sessions list, too.
        return
    from deltaskip.expr.meaning_settings import PREFIXES, SETTINGS, UNRELATED

    equal(unknown_keys(session.spark, {row.key for row in SETTINGS} | UNRELATED, PREFIXES), [])
