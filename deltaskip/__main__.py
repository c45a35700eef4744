"""The command line as a module: `python -m deltaskip`."""

from deltaskip.cli.commands import main

if __name__ == "__main__":
    raise SystemExit(main())
