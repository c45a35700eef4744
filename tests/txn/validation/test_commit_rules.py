"""The table of rules itself."""

from pathlib import Path

from deltaskip.txn.validation.commit_rules import RULES, rule_table

ROOT = Path(__file__).resolve().parents[3]


def test_every_rule_has_a_case_that_breaks_it() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/txn").rglob("test_*.py"))
    assert not [name for name in RULES if f'"{name}"' not in texts and name.replace(".", r"\.") not in texts]


def test_every_rule_is_checked_where_its_name_says() -> None:
    texts = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "deltaskip").rglob("*.py")
        if path.name != "commit_rules.py"
    )
    assert not [name for name in RULES if f'"{name}"' not in texts]


def test_the_table_of_rules_has_a_row_for_each() -> None:
    rows = rule_table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(RULES)
    assert all(rule.requires.endswith(".") and rule.source for rule in RULES.values())
