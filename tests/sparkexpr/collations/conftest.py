"""An ICU of another version than the one that every installation has."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OLD_WHEEL = "pyicu-wheels==2.14"


@pytest.fixture(scope="session")
def old_icu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ICU 76.1, out of an older wheel of the package that brings 77.1; without it the test is skipped."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", OLD_WHEEL]
    fetched = subprocess.run([*command, "--dest", str(folder)], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"{OLD_WHEEL} (ICU 76.1) cannot be fetched here")
    (wheel,) = folder.glob("*.whl")
    shutil.unpack_archive(wheel, folder, "zip")
    return folder / "pyicu_wheels.libs"
