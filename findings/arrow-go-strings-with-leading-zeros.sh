#!/usr/bin/env bash
# arrow-go: strings that are cast to integers.
#
# The guess: a safe cast of "010" to INT64 is 10, as in Arrow's C++ library and in SQL, and as in arrow-go itself where the
# type is FLOAT64 or the string comes from CSV; a string with other characters than digits and a sign is refused.
# github.com/apache/arrow-go/v18 v18.8.0 reads the strings as constants of Go: "010" is octal and becomes 8, "0b11" 3, and
# "1_000" 1000, without an error; "08" and "09" are refused.
#
# Output seen:
#    010: int64 8, float64 10, CSV 10
#    0017: int64 15, float64 17, CSV 17
#    0b11: int64 3, float64 refused, CSV refused
#    1_000: int64 1000, float64 1000, CSV refused
#    09: int64 refused, float64 9, CSV 9
#    pyarrow 26.0.1: 010 10, 0017 17, 0b11 refused, 1_000 refused, 09 9
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/csv"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func cast(text string, kind arrow.DataType) string {
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	builder.Append(text)
	found, err := compute.CastArray(context.Background(), builder.NewArray(), compute.SafeCastOptions(kind))
	if err != nil {
		return "refused"
	}
	return found.ValueStr(0)
}

func fromCSV(text string) string {
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	reader := csv.NewReader(strings.NewReader(text+"\n"), schema)
	reader.Next()
	if reader.Err() != nil {
		return "refused"
	}
	return reader.RecordBatch().Column(0).ValueStr(0)
}

func main() {
	for _, text := range []string{"010", "0017", "0b11", "1_000", "09"} {
		whole, float := cast(text, arrow.PrimitiveTypes.Int64), cast(text, arrow.PrimitiveTypes.Float64)
		fmt.Printf("%s: int64 %s, float64 %s, CSV %s\n", text, whole, float, fromCSV(text))
	}
}
GO
cat > go.mod <<'MOD'
module findings

go 1.24

require github.com/apache/arrow-go/v18 v18.8.0
MOD
go mod tidy 2>log || { cat log; exit 1; }
go run . > found
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyarrow==26.0.1
"$folder/venv/bin/python" - >> found <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc


def cast(text):
    try:
        return pc.cast(pa.array([text]), pa.int64())[0].as_py()
    except pa.ArrowInvalid:
        return "refused"


listed = ", ".join(f"{text} {cast(text)}" for text in ("010", "0017", "0b11", "1_000", "09"))
print(f"pyarrow {pa.__version__}: {listed}")
PYTHON
cat found
diff found - <<'SEEN'
010: int64 8, float64 10, CSV 10
0017: int64 15, float64 17, CSV 17
0b11: int64 3, float64 refused, CSV refused
1_000: int64 1000, float64 1000, CSV refused
09: int64 refused, float64 9, CSV 9
pyarrow 26.0.1: 010 10, 0017 17, 0b11 refused, 1_000 refused, 09 9
SEEN
