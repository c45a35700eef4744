"""Verification: every kind of damage is named by its rule, sound tables have no findings, and repairs hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.maintenance.verify.rules import RULES
from tests.maintenance.verify.damages import DAMAGES, Damage
from tests.maintenance.verify.sound_tables import SOUND

CASES = [(damage, name) for damage in DAMAGES for name in damage.tables]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every sound table."""
    folder = tmp_path_factory.mktemp("sound")
    for name, build in SOUND.items():
        build(folder / name)
    return folder


def damaged(sound: Path, tmp_path: Path, name: str, damage: Damage) -> Path:
    table = tmp_path / name
    shutil.copytree(sound / name, table)
    damage.act(table)
    return table


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_table_has_no_findings(sound: Path, name: str) -> None:
    found = ds.verify(sound / name, data=True)
    assert (found.findings, found.not_checked, found.exit_code) == ((), (), 0)
    assert found.checked["files"] > 0
    assert found.checked["rows"] == 60


@pytest.mark.parametrize(("damage", "name"), [pytest.param(d, n, id=f"{d.name}-{n}") for d, n in CASES])
def test_damage_is_named_by_its_rule(sound: Path, tmp_path: Path, damage: Damage, name: str) -> None:
    table = damaged(sound, tmp_path, name, damage)
    found = ds.verify(table, data=damage.data)
    assert damage.rule in found.rules, found
    own = [finding for finding in found if finding.rule == damage.rule]
    assert all(finding.source and finding.message.endswith((".", "…")) for finding in own)
    assert own[0].severity == RULES[damage.rule].severity
    errors = any(finding.severity == "error" for finding in found)
    assert found.exit_code == (1 if errors else 2 if found.not_checked else 0)
