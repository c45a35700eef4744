"""What other writers were found to do; these hold where the writers are not installed."""

from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import DecimalType
from tests.builder import DELTA_RS, TableBuilder, add, bounds


@pytest.mark.parametrize(
    "where", ["c = 62180051949363794157357868216353138802", "c > 1e30BD", "c < -1e30BD", "c IN (-1e30BD, 5)"]
)
def test_whole_decimals_that_delta_rs_cut_to_64_bits_keep_their_file(tmp_path: Path, where: str) -> None:
    table = TableBuilder(tmp_path / "t", {"c": DecimalType(38, 0)})
    table.commit(add("f", bounds(c=(-(2**63), 2**63 - 1))), engine=DELTA_RS)
    assert ds.DeltaTable(tmp_path / "t").scan(where=where).files()["path"].to_pylist() == ["f"]


def test_a_whole_decimal_within_64_bits_still_prunes(tmp_path: Path) -> None:
    table = TableBuilder(tmp_path / "t", {"c": DecimalType(38, 0)})
    table.commit(add("f", bounds(c=(-5, 2**63 - 2))), engine=DELTA_RS)
    assert len(ds.DeltaTable(tmp_path / "t").scan(where="c > 1e30BD OR c < -1000").files()) == 0
