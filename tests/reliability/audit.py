"""Licences, duplicates, bans and known vulnerabilities of all dependencies: `cargo deny` and `pip-audit`.

    python -m tests.reliability.audit

A database that cannot be reached is reported and is no failure: the audit then says what it did not check.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_UNREACHABLE = (
    "failed to fetch",
    "Could not resolve host",
    "ConnectionError",
    "Failed to resolve",
    "Temporary failure",
)


def main() -> int:
    """Run all checks; return 1 if one fails."""
    return max(
        _cargo_deny("licenses", "bans", "sources"),
        _cargo_deny("advisories"),
        _pip_audit(),
    )


def _cargo_deny(*checks: str) -> int:
    name = f"cargo deny check {' '.join(checks)}"
    if shutil.which("cargo-deny") is None:
        print(f"{name}: not installed; cargo install cargo-deny --locked")
        return 1
    done = subprocess.run(["cargo", "deny", "check", *checks], cwd=ROOT, capture_output=True, text=True, check=False)
    return _tell(name, done.returncode, done.stdout + done.stderr)


def _pip_audit() -> int:
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--skip-editable", "--progress-spinner", "off"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return _tell("pip-audit", done.returncode or 1, done.stderr)
    # An index that lacks the data leaves packages out one by one.
    checked = [package for package in packages if "skip_reason" not in package]
    if not checked:
        print(f"pip-audit: the database is not reachable; {len(packages)} packages not checked")
        return 0
    found = [package for package in checked if package["vulns"]]
    lines = [f"{package['name']} {package['version']}: {vuln['id']}" for package in found for vuln in package["vulns"]]
    print(f"pip-audit: {len(checked)} of {len(packages)} packages checked", *lines, sep="\n")
    return 1 if found else 0


def _tell(name: str, code: int, output: str) -> int:
    if code and any(sign in output for sign in _UNREACHABLE):
        print(f"{name}: the database is not reachable; not checked")
        return 0
    print(f"{name}: ok" if not code else f"{name}: failed\n{output}")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
