"""Make a release: set the version, date the changelog, commit, and tag.

    python release/tag.py 0.2.0

The version is that of Cargo.toml; the Python package, its metadata and `mdt_fast.__version__` take it from there.
CITATION.cff and the conda recipe repeat it. Nothing is pushed: the workflow `wheels` publishes a tag when it is pushed.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
# The files with the version, and the line that has it.
_PLACES = {
    "Cargo.toml": r'^version = "(.*)"$',
    "CITATION.cff": r"^version: (.*)$",
    "conda.recipe/recipe.yaml": r'^  version: "(.*)"$',
}
_HEADING = "## [Unreleased]\n"


def main(root: Path, version: str, today: datetime.date) -> None:
    """Check everything, then change the files, commit and tag; undo all of it if a step fails."""
    check_repository(root, version)
    texts = {name: (root / name).read_text(encoding="utf-8") for name in (*_PLACES, "CHANGELOG.md")}
    changed = {name: with_version(name, texts[name], version) for name in _PLACES}
    changed["CITATION.cff"] = with_date(changed["CITATION.cff"], today)
    changed["CHANGELOG.md"] = dated_changelog(texts["CHANGELOG.md"], version, today)
    before = command(root, "git", "rev-parse", "HEAD").strip()
    try:
        for name, text in changed.items():
            (root / name).write_text(text, encoding="utf-8")
        # The members of the workspace have their version in the lock file.
        command(root, "cargo", "update", "--workspace", "--offline", "--quiet")
        command(root, "git", "add", "Cargo.lock", *changed)
        command(root, "git", "commit", "--quiet", "--message", f"release: version {version}")
        command(root, "git", "tag", "--annotate", f"v{version}", "--message", f"Version {version}")
    except BaseException:
        # Nothing is lost: there were no changes before.
        command(root, "git", "reset", "--quiet", "--hard", before)
        raise
    print(f"tagged v{version}; publish it with: git push --atomic origin main v{version}")


def check_repository(root: Path, version: str) -> None:
    """Refuse a version that is no successor, a repository with changes, another branch, and a tag that exists."""
    if not _VERSION.fullmatch(version):
        sys.exit(f"VERSION: expected a number such as 1.2.3, got {version!r}")
    current = current_version(root)
    tags = command(root, "git", "tag", "--list", "v*").split()
    if f"v{version}" in tags:
        sys.exit(f"VERSION: expected a new version, got {version}, which has a tag")
    if numbers(version) < numbers(current):
        sys.exit(f"VERSION: expected {current} or a later version, got {version}")
    if (branch := command(root, "git", "branch", "--show-current").strip()) != "main":
        sys.exit(f"expected the branch main, got {branch or 'a commit without a branch'}")
    if changes := command(root, "git", "status", "--porcelain"):
        sys.exit(f"expected no changes that are not committed, got:\n{changes}")


def current_version(root: Path) -> str:
    """Return the version of Cargo.toml."""
    return find_version("Cargo.toml", (root / "Cargo.toml").read_text(encoding="utf-8")).group(1)


def find_version(name: str, text: str) -> re.Match[str]:
    """Return the one line of a file that has the version."""
    found = list(re.finditer(_PLACES[name], text, re.MULTILINE))
    if len(found) != 1:
        sys.exit(f"{name}: expected one line with the version, got {len(found)}")
    return found[0]


def with_version(name: str, text: str, version: str) -> str:
    """Return the text of a file with another version."""
    start, end = find_version(name, text).span(1)
    return text[:start] + version + text[end:]


def with_date(citation: str, today: datetime.date) -> str:
    """Return the text of CITATION.cff with the date of the release after the version."""
    without = re.sub(r"^date-released: .*\n", "", citation, flags=re.MULTILINE)
    return re.sub(r"^(version: .*\n)", rf"\g<1>date-released: {today}\n", without, flags=re.MULTILINE)


def dated_changelog(text: str, version: str, today: datetime.date) -> str:
    """Return the changelog with the unreleased changes under the version; refuse it if there are none."""
    before, heading, after = text.partition(_HEADING)
    if not heading:
        sys.exit(f"CHANGELOG.md: expected the heading {_HEADING.strip()!r}")
    section = re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]
    if not re.search(r"^[^#\s]", section, re.MULTILINE):
        sys.exit("CHANGELOG.md: expected changes under [Unreleased], got none")
    return f"{before}{heading}\n## [{version}] - {today}\n{after}"


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers that can be compared."""
    return tuple(map(int, version.split(".")))


def command(root: Path, *words: str) -> str:
    """Run a command in the repository; return what it prints."""
    done = subprocess.run(words, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make release VERSION=1.2.3")
    main(Path(__file__).resolve().parents[1], sys.argv[1], datetime.datetime.now(datetime.UTC).date())
