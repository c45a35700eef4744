"""What a person sees in a narrow terminal: no name, time, path or number is broken, and a pipe gets complete lines."""

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from itertools import product
from pathlib import Path

import pytest

from deltaskip.cli import main
from tests.looped import looped

COLUMN = "customer_identifier_as_delivered_by_the_upstream_system"
NESTED = "address.municipality_with_a_rather_long_name"
ENGINE = "Apache-Spark/4.1.4 Delta-Lake/4.4.0-with-a-long-suffix"
PATHS = [f"country=DE/part-{n:05}-0d6a7f2c-3b7e-4d55-9d66-6d1d2a4c0f3b-c000.snappy.parquet" for n in range(3)]
OPERATIONS = ["CREATE TABLE AS SELECT", "WRITE", "COMPUTE STATISTICS OF EVERYTHING"]
WIDTHS = (60, 80, 120)
COMMANDS = [
    ["history"],
    ["files"],
    ["files", "--where", f"{COLUMN} > 5"],
    ["explain", "--where", f"{COLUMN} > 5 AND {NESTED} = 'Bad Homburg v. d. Höhe'"],
    ["explain", "--where", f"length(country) > {COLUMN}"],
    ["stats"],
    ["stats", "--recompute", "--dry-run"],
    ["inspect"],
    ["collations"],
    ["checkpoint", "--clean-up"],
]  # fmt: skip


class Terminal(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three commits with long names everywhere."""
    log = tmp_path / "warehouse of the department" / "events" / "_delta_log"
    log.mkdir(parents=True)
    collated = {"__COLLATIONS": {NESTED.partition(".")[2]: "icu.de_CI_AI"}}
    outer, inner = NESTED.split(".")
    address = {"type": "struct", "fields": [{"name": inner, "type": "string", "nullable": True, "metadata": {}}]}
    fields = [
        {"name": COLUMN, "type": "long", "nullable": True, "metadata": {}},
        {"name": outer, "type": address, "nullable": True, "metadata": collated},
        {"name": "name_with_collation", "type": "string", "nullable": True,
         "metadata": {"__COLLATIONS": {"name_with_collation": "icu.UNICODE_CI"}}},
        {"name": "country", "type": "string", "nullable": True, "metadata": {}},
    ]  # fmt: skip
    protocol = {
        "minReaderVersion": 1, "minWriterVersion": 7,
        "writerFeatures": ["collations-preview", "domainMetadata", "appendOnly", "invariants", "checkConstraints"],
    }  # fmt: skip
    metadata = {
        "id": "6f1d3f1e-6e43-4a5c-9d2e-2f6d2c1b7a10", "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": ["country"],
        "configuration": {"delta.dataSkippingStatsColumns": COLUMN}, "createdTime": 1_700_000_000_000,
    }  # fmt: skip
    for version, path in enumerate(PATHS):
        low = {COLUMN: version, outer: {inner: "A"}}
        stats = {
            "numRecords": 1_000_000, "minValues": low, "maxValues": low,
            "nullCount": {COLUMN: 0, outer: {inner: 0}} if version else {},
        }  # fmt: skip
        info = {
            "timestamp": 1_700_000_000_000 + version, "operation": OPERATIONS[version], "engineInfo": ENGINE,
            "operationParameters": {"mode": "Append", "partitionBy": '["country"]', "predicate": f"{COLUMN} > 5"},
        }  # fmt: skip
        add = {
            "path": path, "partitionValues": {"country": "DE"}, "size": 123_456_789, "modificationTime": 1,
            "dataChange": True, "stats": json.dumps(stats),
        }  # fmt: skip
        actions = [{"commitInfo": info}, *([{"protocol": protocol}, {"metaData": metadata}] * (not version))]
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, [*actions, {"add": add}])))
    return log.parent


def shown(command: list[str], table: Path, width: int | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the command prints in a terminal of that width; None for a pipe."""
    out = io.StringIO() if width is None else Terminal()
    monkeypatch.setenv("COLUMNS", str(width or 40))
    monkeypatch.setattr(sys, "stdout", out)
    status = main([command[0], str(table), *command[1:]])
    monkeypatch.undo()
    assert status == 0
    return out.getvalue()


@looped("command, width", product(COMMANDS, WIDTHS))
def test_nothing_is_broken_in_a_terminal(
    command: list[str], width: int, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "checkpoint" in command:
        shown(command, table, None, monkeypatch)
    piped, printed = (shown(command, table, each, monkeypatch) for each in (None, width))
    # Headings are repeated where rows are blocks.
    assert set(piped.split()) <= set(printed.split()), set(piped.split()) - set(printed.split())
    too_long = [line for line in printed.splitlines() if len(line) > width and len(line.split()) > 1]
    # Only one word that is longer than a line may exceed it.
    assert not [line for line in too_long if max(map(len, line.split())) + 12 < width], too_long
    for times in re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", piped):
        assert times in printed
    for size in re.findall(r"[\d.]+ [KMG]iB", piped):
        assert size in printed


@looped("command", COMMANDS)
def test_a_pipe_gets_whole_lines_and_no_codes(command: list[str], table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = shown(command, table, None, monkeypatch)
    assert "\x1b" not in printed and "…" not in printed
    if command[0] == "history":
        lines = printed.splitlines()
        assert len(lines) == 4
        for line, operation in zip(lines[1:], reversed(OPERATIONS), strict=True):
            assert operation in line and ENGINE in line and f"predicate={COLUMN} > 5" in line


def test_a_real_terminal_is_measured(table: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 72, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    code = "import sys; from deltaskip.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "history", str(table)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        data = b""
        while block := _read(ours):
            data += block
    os.close(ours)
    assert process.returncode == 0
    lines = data.decode().split("\r\n")
    assert max(map(len, lines)) <= 72
    assert [line for line in lines if re.fullmatch(r"TIME \(UTC\)  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line)]
    assert b"\x1b" not in data


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end was closed
        return b""


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_ends_quietly(stream: str, table: Path) -> None:
    code = "import sys; from deltaskip.cli import main; sys.exit(main())"
    reading, writing = os.pipe()
    os.close(reading)
    words = ["files", str(table)] if stream == "stdout" else ["files", "/nowhere"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    done = subprocess.run([sys.executable, "-c", code, *words], **streams)
    os.close(writing)
    assert not done.stdout and not done.stderr
    assert done.returncode == (141 if stream == "stdout" else 1)


def test_an_interrupt_ends_quietly(table: Path) -> None:
    code = (
        "import sys, time\nfrom deltaskip.cli import main\nfrom deltaskip.table.table import DeltaTable\n"
        "DeltaTable.history = lambda *_: print('now', flush=True) or time.sleep(60)\nsys.exit(main())"
    )
    command = [sys.executable, "-c", code, "history", str(table)]
    # A shell starts background jobs, and so perhaps this test, with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None and process.stdout.readline() == b"now\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, b"")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["files"], 2), (["nonsense"], 2), (["files", "TABLE", "--nonsense"], 2),
        (["files", "TABLE", "--version", "x"], 2), (["files", "TABLE", "--json", "--paths"], 2),
        (["files", "TABLE", "--timestamp", "x"], 2), (["files", "TABLE", "--time-zone", "x"], 2),
        (["files", "TABLE", "--limit", "-1"], 2), (["files", "TABLE", "-o", "x"], 2),
        (["files", "TABLE", "--version", "0", "--timestamp", "2026-01-01"], 2),
        (["stats", "TABLE", "--dry-run"], 2),
        (["explain", "TABLE", "--plot", "x.gif"], 2), (["stats", "TABLE", "--recompute", "--mode", "x"], 2),
        (["files", "/no\nwhere\x1b[31m"], 1), (["files", "TABLE", "--version", "99"], 1),
        (["files", "TABLE", "--where", "nonsense ="], 1), (["files", "TABLE", "--where", "nonsense = 5"], 1),
        (["files", "s3:///x"], 1), (["files", "odd://x/y"], 1), (["explain", "TABLE", "--plot", "/nowhere/x.png"], 1),
        (["demo", "--keep", "TABLE"], 1),
    ],
)  # fmt: skip
def test_every_error_is_one_line_with_its_status(
    arguments: list[str], status: int, table: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([str(table) if word == "TABLE" else word for word in arguments]) == status
    out, err = capfd.readouterr()
    errors = [line for line in err.split("\n") if not line.startswith("deltaskip: warning: ")]
    assert out == "" and len(errors) == 2 and errors[1] == ""
    assert errors[0].startswith("deltaskip: error: ") and errors[0].isprintable()
    assert "Traceback" not in err and "internal error" not in err
