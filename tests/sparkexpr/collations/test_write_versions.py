"""The collation versions that the metadata domain lists: malformed entries are left out."""

import pytest

from deltaskip.sparkexpr.collations.lookup import write_versions


@pytest.mark.parametrize(
    "configuration", [None, "", "no JSON", "[]", "{}", '{"writeVersions": 1}', '{"writeVersions": {"icu.sv": "77.1"}}']
)
def test_malformed_hints_are_ignored(configuration: str | None) -> None:
    assert write_versions(configuration) == {}


def test_versions_are_listed_in_the_spelling_of_the_domain() -> None:
    found = write_versions('{"writeVersions": {"ICU.unicode": ["77.1", "", 5, "72"]}}')
    assert found == {"ICU.unicode": ("77.1", "72")}
