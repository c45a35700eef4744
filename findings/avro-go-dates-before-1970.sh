#!/usr/bin/env bash
# Avro in Go: times before 1970 that are written as dates.
#
# The guess: a time.Time that is written into a field of the logical type date is the day on which it is, so that 23:00 of
# 1969-12-31 comes back as 1969-12-31, as 23:00 of 1970-01-02 comes back as 1970-01-02.
# github.com/hamba/avro/v2 v2.31.0 and github.com/linkedin/goavro/v2 v2.15.0 divide the seconds and round toward zero:
# every time of a day before 1970 but midnight is the next day, without an error. Both round timestamps down.
#
# Output seen:
#    1970-01-02 23:00 hamba 1970-01-02 goavro 1970-01-02
#    1969-12-31 00:00 hamba 1969-12-31 goavro 1969-12-31
#    1969-12-31 23:00 hamba 1970-01-01 goavro 1970-01-01
#    1950-06-15 12:00 hamba 1950-06-16 goavro 1950-06-16
set -euo pipefail
AVRO_VERSION=2.31.0
GOAVRO_VERSION=2.15.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"fmt"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/linkedin/goavro/v2"
)

const kind = `{"type": "int", "logicalType": "date"}`

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	schema := avro.MustParse(kind)
	codec, err := goavro.NewCodec(kind)
	check(err)
	for _, text := range []string{"1970-01-02 23:00", "1969-12-31 00:00", "1969-12-31 23:00", "1950-06-15 12:00"} {
		given, err := time.Parse("2006-01-02 15:04", text)
		check(err)
		bytes, err := avro.Marshal(schema, given)
		check(err)
		var first time.Time
		check(avro.Unmarshal(schema, bytes, &first))
		bytes, err = codec.BinaryFromNative(nil, given)
		check(err)
		second, _, err := codec.NativeFromBinary(bytes)
		check(err)
		fmt.Println(text, "hamba", first.Format(time.DateOnly), "goavro", second.(time.Time).Format(time.DateOnly))
	}
}
GO
cat > go.mod <<MOD
module findings

go 1.24

require (
	github.com/hamba/avro/v2 v$AVRO_VERSION
	github.com/linkedin/goavro/v2 v$GOAVRO_VERSION
)
MOD
go mod tidy 2>log || { cat log; exit 1; }
go run . > found
cat found
diff found - <<'SEEN'
1970-01-02 23:00 hamba 1970-01-02 goavro 1970-01-02
1969-12-31 00:00 hamba 1969-12-31 goavro 1969-12-31
1969-12-31 23:00 hamba 1970-01-01 goavro 1970-01-01
1950-06-15 12:00 hamba 1950-06-16 goavro 1950-06-16
SEEN
