#!/usr/bin/env bash
# Arrow in C++, Rust and Go: decimals that are cast to integers and to fewer digits.
#
# The guess: where a cast may lose digits (safe=False of pyarrow, AllowDecimalTruncate of Go, the default of Rust), the
# libraries of one project agree, and one that cuts off the digits of 2.50 as an integer cuts off those of 1.15 as
# DECIMAL(10, 1), too.
# pyarrow 26.0.1 (C++) cuts off both. arro3-compute 0.9.1 (arrow-rs) cuts off for integers and rounds for decimals.
# github.com/apache/arrow-go/v18 v18.8.0 is the other way round: with AllowDecimalTruncate it rounds for integers, 2.50 to 3
# and 0.99 to 1, and cuts off for decimals. DuckDB 2.0.1 rounds both.
#
# Output seen:
#    C++: 2 -2 0 0 1 / 1.1 1.2 -1.1 -1.1
#    Rust: 2 -2 0 0 1 / 1.2 1.3 -1.2 -1.2
#    DuckDB: 3 -3 1 -1 1 / 1.2 1.3 -1.2 -1.2
#    Go: 3 -3 1 -1 1 / 1.1 1.2 -1.1 -1.1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1 arro3-core==0.9.1 arro3-compute==0.9.1 duckdb==2.0.1
"$folder/venv/bin/python" - > found 2>log <<'PYTHON' || { tail -20 log; exit 1; }
from decimal import Decimal

import arro3.compute
import arro3.core
import duckdb
import pyarrow as pa
import pyarrow.compute as pc

shorter = pa.decimal128(10, 1)
whole = pa.array(map(Decimal, ("2.50", "-2.70", "0.99", "-0.50", "1.00")), pa.decimal128(10, 2))
digits = pa.array(map(Decimal, ("1.15", "1.25", "-1.15", "-1.19")), pa.decimal128(10, 2))


def rust(values, kind):
    return pa.array(arro3.compute.cast(arro3.core.Array.from_arrow(values), kind))


def sql(values, kind):
    rows = pa.table({"v": values})
    return duckdb.sql(f"SELECT CAST(v AS {kind}) AS v FROM rows").to_arrow_table()["v"]


def show(name, integers, decimals):
    print(f"{name}: {' '.join(map(str, integers.to_pylist()))} / {' '.join(map(str, decimals.to_pylist()))}")


show("C++", pc.cast(whole, pa.int64(), safe=False), pc.cast(digits, shorter, safe=False))
show("Rust", rust(whole, pa.int64()), rust(digits, shorter))
show("DuckDB", sql(whole, "BIGINT"), sql(digits, "DECIMAL(10, 1)"))
PYTHON
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func cast(kind arrow.DataType, texts ...string) string {
	builder := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 10, Scale: 2})
	for _, text := range texts {
		value, err := decimal128.FromString(text, 10, 2)
		if err != nil {
			panic(err)
		}
		builder.Append(value)
	}
	options := compute.SafeCastOptions(kind)
	options.AllowDecimalTruncate = true
	found, err := compute.CastArray(context.Background(), builder.NewArray(), options)
	if err != nil {
		panic(err)
	}
	values := make([]string, found.Len())
	for i := range values {
		values[i] = found.ValueStr(i)
	}
	return strings.Join(values, " ")
}

func main() {
	whole := cast(arrow.PrimitiveTypes.Int64, "2.50", "-2.70", "0.99", "-0.50", "1.00")
	digits := cast(&arrow.Decimal128Type{Precision: 10, Scale: 1}, "1.15", "1.25", "-1.15", "-1.19")
	fmt.Printf("Go: %s / %s\n", whole, digits)
}
GO
cat > go.mod <<'MOD'
module findings

go 1.24

require github.com/apache/arrow-go/v18 v18.8.0
MOD
go mod tidy 2>log || { cat log; exit 1; }
go run . >> found
cat found
diff found - <<'SEEN'
C++: 2 -2 0 0 1 / 1.1 1.2 -1.1 -1.1
Rust: 2 -2 0 0 1 / 1.2 1.3 -1.2 -1.2
DuckDB: 3 -3 1 -1 1 / 1.2 1.3 -1.2 -1.2
Go: 3 -3 1 -1 1 / 1.1 1.2 -1.1 -1.1
SEEN
