#!/usr/bin/env bash
# pandera: drop_invalid_rows over Polars and pandas.
#
# The guess: a schema with drop_invalid_rows=True gives back the rows that fit the schema, with the types of the schema. What no
# dropping of rows can mend, a column that is missing or of another type, raises SchemaErrors, as it does without the option.
# pandera 0.35.0 over Polars 2.1.0: everything but checks of rows passes. A missing column, an integer column that holds strings,
# unique=["k"] with duplicates and a column that strict=True forbids come back as they were, without an error. With coerce=True
# the rows that cannot be cast are dropped, and the others stay strings.
# Over pandas 3.0.6: rows are dropped by their index, so that of two frames after concat, each with an index from 0, one bad row
# takes the good row of the same number with it; and with Check.gt(0, n_failure_cases=1), which limits what a report shows, the
# other bad rows stay. Over both, the index aside, plain checks of rows are right.
# The way round: validate twice, the second time without drop_invalid_rows; reset_index(drop=True) before, with pandas.
#
# Output seen:
#    Polars, plain check: [1, 2]
#    Polars, missing column: {'k': [1, 2]}
#    Polars, other type: {'k': ['a', 'b']}
#    Polars, unique: {'k': [1, 1, 2]}
#    Polars, strict: {'k': [1], 'secret': [5]}
#    Polars, coerce: {'k': ['1', '3']}
#    Polars, without the option: missing column, other type, unique, strict, coerce raise
#    pandas, missing column: raises
#    pandas, unique: [2]
#    pandas, after concat: [2, 4] of [1, 2, -1, 4]
#    pandas, n_failure_cases=1: [1, -2, -3] of [1, -1, -2, -3]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pandera==0.35.0 polars==2.1.0 pandas==3.0.6
cd "$folder"
"$folder/venv/bin/python" - > found <<'PYTHON'
import pandas as pd
import pandera.pandas as over_pandas
import pandera.polars as over_polars
import polars as pl
from pandera.errors import SchemaErrors


def validated(library, frame, columns, **options):
    return library.DataFrameSchema(columns, **options).validate(frame, lazy=True)


def raises(*arguments, **options):
    try:
        validated(*arguments, **options)
    except SchemaErrors:
        return True
    return False


pa = over_polars
rows = validated(pa, pl.DataFrame({"k": [1, -1, 2]}), {"k": pa.Column(int, pa.Check.gt(0))}, drop_invalid_rows=True)
print(f"Polars, plain check: {rows['k'].to_list()}")
cases = {
    "missing column": ({"k": [1, 2]}, {"k": pa.Column(int), "amount": pa.Column(float)}, {}),
    "other type": ({"k": ["a", "b"]}, {"k": pa.Column(int)}, {}),
    "unique": ({"k": [1, 1, 2]}, {"k": pa.Column(int)}, {"unique": ["k"]}),
    "strict": ({"k": [1], "secret": [5]}, {"k": pa.Column(int)}, {"strict": True}),
    "coerce": ({"k": ["1", "a", "3"]}, {"k": pa.Column(int, coerce=True)}, {}),
}
for name, (data, columns, options) in cases.items():
    rows = validated(pa, pl.DataFrame(data), columns, drop_invalid_rows=True, **options)
    print(f"Polars, {name}: {rows.to_dict(as_series=False)}")
raised = [name for name, (data, columns, options) in cases.items() if raises(pa, pl.DataFrame(data), columns, **options)]
print(f"Polars, without the option: {', '.join(raised)} raise")

pa = over_pandas
columns = {"k": pa.Column(int), "amount": pa.Column(float)}
print(f"pandas, missing column: {'raises' if raises(pa, pd.DataFrame({'k': [1]}), columns, drop_invalid_rows=True) else 'passes'}")
rows = validated(pa, pd.DataFrame({"k": [1, 1, 2]}), {"k": pa.Column(int)}, unique=["k"], drop_invalid_rows=True)
print(f"pandas, unique: {rows['k'].to_list()}")
both = pd.concat([pd.DataFrame({"k": [1, 2]}), pd.DataFrame({"k": [-1, 4]})])
rows = validated(pa, both, {"k": pa.Column(int, pa.Check.gt(0))}, drop_invalid_rows=True)
print(f"pandas, after concat: {rows['k'].to_list()} of {both['k'].to_list()}")
four = pd.DataFrame({"k": [1, -1, -2, -3]})
rows = validated(pa, four, {"k": pa.Column(int, pa.Check.gt(0, n_failure_cases=1))}, drop_invalid_rows=True)
print(f"pandas, n_failure_cases=1: {rows['k'].to_list()} of {four['k'].to_list()}")
PYTHON
cat found
diff found - <<'SEEN'
Polars, plain check: [1, 2]
Polars, missing column: {'k': [1, 2]}
Polars, other type: {'k': ['a', 'b']}
Polars, unique: {'k': [1, 1, 2]}
Polars, strict: {'k': [1], 'secret': [5]}
Polars, coerce: {'k': ['1', '3']}
Polars, without the option: missing column, other type, unique, strict, coerce raise
pandas, missing column: raises
pandas, unique: [2]
pandas, after concat: [2, 4] of [1, 2, -1, 4]
pandas, n_failure_cases=1: [1, -2, -3] of [1, -1, -2, -3]
SEEN
