#!/usr/bin/env bash
# parquet-go: a time.Time in a column of type DATE.
#
# The guess: a field `parquet:"day,date"` of the type time.Time is written as the day, as the documentation says ("for int32,
# time.Time, and *time.Time types"), and read again.
# github.com/parquet-go/parquet-go v0.32.0 writes the lowest 32 bits of the nanoseconds since 1970 as the number of days,
# without an error: every date but 1970-01-01 is another one, millions of years away. Files that were written from int32 days
# are read right into a time.Time.
#
# Output seen:
#    time.Time 2024-01-02: days -1833697280, should be 19724
#    time.Time 1970-01-01: days 0, should be 0
#    int32 19724: 2024-01-02
set -euo pipefail
PARQUET_GO_VERSION=0.32.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > main.go <<'GO'
package main

import (
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go"
)

type withTime struct {
	Day time.Time `parquet:"day,date"`
}

type withDays struct {
	Day int32 `parquet:"day,date"`
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	for _, day := range []time.Time{time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC), time.Unix(0, 0).UTC()} {
		check(parquet.WriteFile("times.parquet", []withTime{{day}}))
		stored, err := parquet.ReadFile[withDays]("times.parquet")
		check(err)
		fmt.Printf("time.Time %s: days %d, should be %d\n", day.Format(time.DateOnly), stored[0].Day, day.Unix()/86400)
	}
	check(parquet.WriteFile("days.parquet", []withDays{{19724}}))
	read, err := parquet.ReadFile[withTime]("days.parquet")
	check(err)
	fmt.Printf("int32 19724: %s\n", read[0].Day.Format(time.DateOnly))
}
GO
cat > go.mod <<MOD
module findings

go 1.24

require github.com/parquet-go/parquet-go v$PARQUET_GO_VERSION
MOD
go mod tidy 2>log || { cat log; exit 1; }
go run . > found
cat found
diff found - <<'SEEN'
time.Time 2024-01-02: days -1833697280, should be 19724
time.Time 1970-01-01: days 0, should be 0
int32 19724: 2024-01-02
SEEN
