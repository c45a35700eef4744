"""The metadata domain of clustered tables."""

import pytest

from deltaskip.features.clustering import clustering_paths


def test_the_domain_lists_physical_paths() -> None:
    found = clustering_paths('{"clusteringColumns": [["id"], ["point", "x"]]}')
    assert found == {("id",), ("point", "x")}


@pytest.mark.parametrize(
    "configuration",
    ["", "no JSON", "[]", "{}", '{"clusteringColumns": null}', '{"clusteringColumns": [1]}', "[" * 9999],
)
def test_a_malformed_domain_lists_none(configuration: str) -> None:
    assert clustering_paths(configuration) is None
