"""Names of samples in files, and the check that a file is refused."""

from __future__ import annotations

import pytest

from mdt_fast._cli.files import FileError, read_views

NAMES = [f"cell {i}" for i in range(6)]


def refused(path, match, **options):
    """Check that a file is refused with a message that begins with its name."""
    with pytest.raises(FileError, match=match) as caught:
        read_views([path], **options)
    assert str(caught.value).startswith(f"{path}: ")
