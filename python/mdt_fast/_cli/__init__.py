"""The command line `mdt-fast`."""

import sys


def main() -> None:
    """Run the command line; if click is missing, exit with the command that installs it."""
    try:
        from .main import cli
    except ImportError as error:
        if error.name != "click":
            raise
        sys.exit("mdt-fast: the command line needs click: pip install 'mdt_fast[cli]'")
    cli(prog_name="mdt-fast")
