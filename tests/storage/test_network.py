"""No command and no test leaves this machine, the libraries in Rust, C++ and Java included.

`tests/conftest.py` stops the sockets of Python; a library that is preloaded stops those of all the others.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest
from tests.docs.generated import ROOT
from tests.extent import TIME_LIMIT_SECONDS, extent, some

pytest.importorskip("obstore")
COMMAND = "import sys; from deltaskip.cli import main; sys.exit(main())"
# Nothing listens at these endpoints: the first answer is that of every retry.
WITHOUT_RETRIES = "import deltaskip.storage.object_options as o; o.RETRIES['max_retries'] = 1; "
WITHOUT_OBSTORE = "import deltaskip.storage.remote_opening as o; o.find_spec = lambda _: None; "
KEYS = {
    "s3": ["aws_access_key_id=a", "aws_secret_access_key=b", "aws_endpoint=http://127.0.0.1:1", "allow_http=true"],
    "gs": ["google_skip_signature=true", "google_base_url=http://127.0.0.1:1", "allow_http=true"],
    "abfss": ["azure_skip_signature=true", "azure_endpoint=http://127.0.0.1:1", "allow_http=true"],
}  # fmt: skip
TABLES = {"s3": "s3://b/t", "gs": "gs://b/t", "abfss": "abfss://c@a.dfs.core.windows.net/t"}
TESTS = ["tests/storage/test_remote_errors.py", "tests/storage/test_s3.py"]


@pytest.fixture(scope="module")
def loopback_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler, or not Linux")
    library = tmp_path_factory.mktemp("preloaded") / "loopback_only.so"
    source = Path(__file__).with_name("loopback_only.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def run(command: list[str], library: Path, folder: Path) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The finished command, and the addresses of other machines that it tried to reach."""
    log = folder / "reached"
    environment = {**os.environ, "LD_PRELOAD": str(library), "REACHED": str(log), "HOME": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=TIME_LIMIT_SECONDS, check=False
    )
    return done, log.read_text().split() if log.exists() else []


def test_the_guard_sees_every_library(loopback_only: Path, tmp_path: Path) -> None:
    # Of the networks for documentation (RFC 5737); nothing is sent.
    code = (
        "from obstore.store import from_url; import datetime, obstore\n"
        "store = from_url('http://192.0.2.1/x', client_options={'allow_http': True, 'timeout': '2s'},"
        " retry_config={'max_retries': 0, 'retry_timeout': datetime.timedelta(seconds=2)})\n"
        "obstore.list_with_delimiter(store)"
    )
    done, reached = run([sys.executable, "-c", code], loopback_only, tmp_path)
    assert done.returncode and "192.0.2.1" in reached


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("scheme", some(TABLES, 1))
@pytest.mark.parametrize("keys", [True, False], ids=["keys", "none"])
@pytest.mark.parametrize("library", ["obstore", "none"])
def test_a_command_reaches_only_what_it_was_given(
    scheme: str, keys: bool, library: str, loopback_only: Path, tmp_path: Path
) -> None:
    options = [word for option in KEYS[scheme] for word in ("-o", option)] if keys else []
    prelude = WITHOUT_RETRIES if library == "obstore" else WITHOUT_OBSTORE
    done, reached = run(
        [sys.executable, "-c", prelude + COMMAND, "files", TABLES[scheme], *options], loopback_only, tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("deltaskip: error: ") and done.stderr.count("\n") == 1, done.stderr
    # Without keys a machine of a cloud may have a role: its metadata service is looked for once, unless told not to.
    allowed = set() if scheme != "abfss" or keys or library == "none" else {"169.254.169.254"}
    assert set(reached) <= allowed


@pytest.mark.parametrize("file", extent(TESTS[1:], TESTS))
def test_the_tests_of_object_stores_stay_here(file: str, loopback_only: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not Network", file]
    done, reached = run(command, loopback_only, tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not reached


def test_python_cannot_reach_another_machine() -> None:
    import socket

    with pytest.raises(ConnectionRefusedError, match="tests stay on this machine"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    assert conftest.reached == ["192.0.2.1"]
    conftest.reached.clear()


def test_no_credentials_of_the_machine_are_seen() -> None:
    secret = ("AZURE_CLIENT", "GOOGLE_", "AWS_ACCESS", "AWS_PROFILE")
    assert not [name for name in os.environ if name.startswith(secret)]
    assert os.environ["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
