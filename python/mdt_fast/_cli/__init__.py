"""The command line `mdt-fast`."""

import sys

from .._support.extras import require


def main() -> None:
    """Run the command line; if click is missing, exit with the command that installs it."""
    try:
        require("click", "the command line")
    except ImportError as error:
        sys.exit(f"mdt-fast: {error}")
    from .main import cli

    cli(prog_name="mdt-fast")
