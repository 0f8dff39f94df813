"""Files that are replaced in one step."""

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a file so that readers see either the old or the new content, never a part."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
