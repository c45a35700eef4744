"""Options of the format deltaskip."""

from __future__ import annotations

import pytest

from deltaskip.errors import InvalidArgument


def test_the_name_of_a_streaming_query_is_no_option_of_the_format() -> None:
    pytest.importorskip("pyspark")
    from deltaskip.spark.source.options import SourceOptions

    assert "queryname" not in SourceOptions.of({"path": "/t", "queryName": "x"}).given
    with pytest.raises(InvalidArgument, match="has no option querynames"):
        SourceOptions.of({"path": "/t", "queryNames": "x"})
