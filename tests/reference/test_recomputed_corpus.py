"""Statistics of the corpus' tables recomputed and committed: delta-spark reads the same rows as before.

The gate takes a few tables of the corpus, the whole run every one.
"""

import shutil
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.features.registry import FEATURES
from tests import corpus
from tests.extent import some
from tests.reference.conftest import answers_of, require_delta_spark

TABLES = some(corpus.params_with_rows(1), 3)
pytestmark = [
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::deltaskip.StatisticsWarning"),
    pytest.mark.filterwarnings("ignore::deltaskip.ChecksumWarning"),
]


def unwritable_features(protocol: ds.Protocol) -> list[str]:
    """The features of a table with which deltaskip does not write it."""
    listed = sorted({*(protocol.writer_features or ()), *(protocol.reader_features or ())})
    return [name for name in listed if name not in FEATURES or FEATURES[name].writes == "no"]


@pytest.fixture(scope="session")
def read_back(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By table: what delta-spark reads of the copy whose statistics were recomputed."""
    require_delta_spark()
    folder = tmp_path_factory.mktemp("recomputed-corpus")
    copies: dict[str, str] = {}
    for number, [table] in enumerate(param.values for param in TABLES):
        # By Spark jobs and in this process, in turn: tests/spark/recompute holds their statistics against each other.
        session = spark if number % 2 else None
        copy = shutil.copytree(table.path, folder / table.name)
        opened = ds.DeltaTable(copy)
        refused = unwritable_features(opened.protocol)
        if refused:
            # The table stays as it is.
            with pytest.raises(ds.UnsupportedFeature, match="|".join(refused)):
                opened.recompute_stats(session)
        else:
            assert not opened.recompute_stats(session).left_out
        copies[table.name] = str(copy)
    answers = answers_of("tests.reference.playing", folder / "rows.json", *copies.values(), first=["corpus_rows"])
    return {name: answers[path] for name, path in copies.items()}


@pytest.mark.parametrize("table", TABLES)
def test_delta_spark_reads_the_same_rows(table: corpus.CorpusTable, read_back: dict[str, Any]) -> None:
    found, rows = read_back[table.name], table.versions[0]["rows"]
    assert found == [rows["count"], rows["digest"]], found
