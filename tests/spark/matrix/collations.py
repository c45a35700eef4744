"""Collated columns: types, statistics, filters and warnings."""

from __future__ import annotations

import warnings

import deltaskip as ds
from deltaskip import demo
from deltaskip.engine import engine
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from tests.spark.matrix.cases import Session, case, equal
from tests.spark.matrix.tables import ids, numbers, table_of


@case("collated columns keep their collation, and their statistics skip files", since=(4, 0))
def collated(session: Session) -> None:
    root = session.folder / "customers"
    spark = engine("The matrix")
    version = spark.collation_version(session.spark)
    demo.make_table(root, demo.write_with_pyarrow, version)
    table = ds.DeltaTable(root)
    scan = table.scan(demo.PREDICATE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ds.StatisticsWarning)
        frame = scan.to_spark(session.spark)
    equal((scan.collation_version, len(scan.paths())), (version, 7))
    found = frame.agg({"*": "count"})
    equal(found.collect()[0][0], 7)
    equal(frame.schema["name"].dataType.simpleString(), "string collate UNICODE_CI")
    read = spark.files_read(found)
    equal(len(frame.inputFiles()) if read is None else read, 7)


@case("statistics of another collation version are warned about, and recomputation mends them", since=(4, 0))
def another_version(session: Session) -> None:
    from deltaskip.reading import session_scan

    session_scan._warned.clear()
    version = engine("The matrix").collation_version(session.spark)
    other = "77.1" if version != "77.1" else "78.3"
    demo.make_table(session.folder / "customers", demo.write_with_pyarrow, other)
    table = ds.DeltaTable(session.folder / "customers")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            equal(table.scan(demo.PREDICATE).to_spark(session.spark).count(), 7)
    own = [each for each in found if issubclass(each.category, ds.StatisticsWarning)]
    messages = [str(each.message) for each in own]
    equal([each.filename for each in own], [__file__])
    assert version in messages[0] and other in messages[0] and "recompute_stats" in messages[0], messages
    table.recompute_stats(session.spark, columns=["name"])
    equal(len(table.scan(demo.PREDICATE).paths()), 7)


@case("filters on collated columns", since=(4, 0))
def collated_filter(session: Session) -> None:
    field = StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}})
    schema = StructType((StructField("id", LONG), field))
    table = table_of(session.folder, schema, {"a.parquet": ids(1, 2, name=["MÜLLER", "x"])})
    equal(numbers(table.scan("name = 'müller'").to_spark(session.spark)), [1])
    equal(numbers(table.scan().to_spark(session.spark)), [1, 2])


@case("collations that Spark does not have are read by bytes, and filters under them are refused")
def unknown_collation(session: Session) -> None:
    declared = {"german": "ICU.de_DE", "own": "acme.KLINGON", "name": "icu.UNICODE_CI"}
    texts = [StructField(n, STRING, True, {"__COLLATIONS": {n: c}}) for n, c in declared.items()]
    schema = StructType((StructField("id", LONG), *texts))
    rows = ids(1, 2, german=["Ä", "z"], own=["a", "b"], name=["x", "y"])
    features = ["collations", "domainMetadata"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    table = table_of(session.folder, schema, {"a.parquet": rows}, protocol=protocol)
    old = session.spark.version.startswith("3.")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        frame = table.scan("id >= 1 AND own IS NOT NULL").to_spark(session.spark)
    own = [each for each in found if issubclass(each.category, ds.CollationWarning)]
    messages = [str(each.message) for each in own]
    equal([each.filename for each in own], [__file__])
    equal((len(messages), "acme.KLINGON" in messages[0], "ICU.de_DE" in messages[0]), (1, True, old))
    equal(sorted(frame.collect()), [(1, "Ä", "a", "x"), (2, "z", "b", "y")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.CollationWarning)
        warnings.simplefilter("ignore", ds.StatisticsWarning)
        if not old:
            equal(frame.schema["german"].dataType.simpleString(), "string collate de")
            equal(numbers(table.scan("german < 'B'").to_spark(session.spark)), [1])
            equal(numbers(table.scan("own COLLATE UTF8_BINARY = 'a'").to_spark(session.spark)), [1])
        for where in ("own = 'a'", "upper(own) = 'A' OR id = 1", "own IN ('a', 'b')"):
            try:
                table.scan(where).to_spark(session.spark)
            except ds.UnsupportedFeature as error:
                assert "acme.KLINGON" in str(error), error
            else:
                raise AssertionError(f"{where} is not refused")
        table.recompute_stats(session.spark, collation_versions=["77.1"])
    stats = table.scan().files(stats=True)["stats"][0].as_py()
    equal(["icu.UNICODE_CI.77.1" in stats, "KLINGON" in stats], [True, False])
