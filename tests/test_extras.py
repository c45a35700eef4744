"""The packages of extras: those of pyproject.toml, by names that an index has."""

import tomllib

from deltaskip.extras import PACKAGES, install_command
from tests.test_architecture import ROOT, tracked_files

# Of tests and tools, which need a clone anyway.
_OF_CLONES = {"test", "reference", "lint", "bench"}


def test_the_table_of_extras_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: tuple(packages) for name, packages in project["optional-dependencies"].items()}
    assert {name: packages for name, packages in extras.items() if name not in _OF_CLONES} == PACKAGES


def test_a_command_installs_an_extra_or_one_package_of_it() -> None:
    assert install_command("cloud") == "pip install 'obstore>=0.11' 'arro3-core>=0.4.6'"
    assert install_command("sql", "sqlalchemy") == "pip install 'sqlalchemy>=2.0'"


def test_no_text_installs_an_extra_by_the_name_of_this_package() -> None:
    """Which an index has only once it was published there."""
    shown = [path for path in tracked_files() if path.is_relative_to(ROOT / "deltaskip") or path.suffix == ".md"]
    texts = {path: path.read_bytes() for path in shown if path.name != "changelog.md"}
    assert [path for path, text in texts.items() if b"deltaskip[" in text] == []
