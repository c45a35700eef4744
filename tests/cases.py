"""Cases as data: a text file beside a test has one case a line."""

from pathlib import Path


def cases(module: str, name: str) -> list[list[str]]:
    """Return the fields of each line, which ` → ` separates; the last may be empty. Lines that begin with `# ` explain.

    Args:
        module: `__file__` of the test.
        name: Name of the text file.
    """
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return [[each.strip() for each in line.split(" →")] for line in lines if line and not line.startswith("# ")]
