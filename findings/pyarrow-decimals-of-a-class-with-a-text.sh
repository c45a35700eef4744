#!/usr/bin/env bash
# pyarrow: decimals of a class of one's own that shows itself otherwise.
#
# The guess: an amount of a class Money(Decimal), whose __str__ shows whole units, is a Decimal, and has its value in Arrow, as
# it has in sums, in Polars and as a parameter of DuckDB.
# pyarrow 26.0.1 reads the text that str() returns: 1.50 becomes 2.00 without an error, also with the type decimal128(10, 2)
# and from a pandas DataFrame. A text with a thousands separator is an error.
#
# Output seen:
#    sum 2.00
#    pyarrow [Decimal('0.00'), Decimal('2.00')]
#    pyarrow with a type [Decimal('0.00'), Decimal('2.00')]
#    pandas through pyarrow [Decimal('0.00'), Decimal('2.00')]
#    polars [Decimal('0.50'), Decimal('1.50')]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 pandas==2.3.3 polars==2.1.0
cd "$folder"
"$folder/venv/bin/python" - > found 2> log << 'PYTHON' || { tail -20 log; exit 1; }
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa


class Money(Decimal):
    def __str__(self):
        return f"{self:.0f}"


amounts = [Money("0.50"), Money("1.50")]
print("sum", repr(sum(amounts))[9:-2])
print("pyarrow", pa.array(amounts).to_pylist())
print("pyarrow with a type", pa.array(amounts, pa.decimal128(10, 2)).to_pylist())
print("pandas through pyarrow", pa.Table.from_pandas(pd.DataFrame({"a": amounts}))["a"].to_pylist())
print("polars", pl.Series(amounts).to_list())
PYTHON
cat > expected << 'TEXT'
sum 2.00
pyarrow [Decimal('0.00'), Decimal('2.00')]
pyarrow with a type [Decimal('0.00'), Decimal('2.00')]
pandas through pyarrow [Decimal('0.00'), Decimal('2.00')]
polars [Decimal('0.50'), Decimal('1.50')]
TEXT
diff expected found && echo "as described"
