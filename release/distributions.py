"""Build the wheel for this machine and the sdist, check both, install them in new environments and test them.

    python release/distributions.py                    what a release needs of one platform
    python release/distributions.py --short            without building from the sdist
    python release/distributions.py --no-test --target aarch64-unknown-linux-gnu

On Linux zig links the wheel for an old C library, so that no container is needed: glibc 2.28 (manylinux_2_28), or
musl with `--compatibility musllinux_1_2` and a musl target. The compiler targets the baseline of the architecture;
kernels for vector extensions are chosen at run time.

Needs the packages of `make wheel`: maturin, ziglang, twine and abi3audit, in the environment of this interpreter.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from email import message_from_string
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_DATA_BYTES = 64_000
_WHEEL_BYTES = 8_000_000
_SDIST_BYTES = 1_500_000
_REQUIRED = {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"}
_LICENCES = ("LICENSE", "THIRD-PARTY-LICENSES.txt")


def main() -> None:
    """Run all steps; the first that fails ends the program."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="do not build and test the package from the sdist")
    parser.add_argument("--no-test", action="store_true", help="do not install: the wheel is for another machine")
    parser.add_argument("--target", help="Rust target; default: this machine")
    parser.add_argument("--interpreter", help="Python to build for, for wheels that are not abi3")
    parser.add_argument("--compatibility", default="manylinux_2_28", help="platform tag on Linux")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    sdist, wheel = build_sdist(options.out), build_wheel(options)
    if options.interpreter is None:
        run("abi3audit", "--strict", wheel)
    run("twine", "check", "--strict", wheel, sdist)
    check_wheel(wheel)
    check_sdist(sdist)
    if not options.no_test:
        python = options.interpreter or sys.executable
        test_installed(python, wheel, needs_rust=False)
        if not options.short:
            test_installed(python, sdist, needs_rust=True)
    print(f"{wheel.name} and {sdist.name} are in {options.out}")


def build_sdist(out: Path) -> Path:
    """Build the sdist; return its path."""
    run("maturin", "sdist", "--out", out)
    return only(out, "*.tar.gz")


def build_wheel(options: argparse.Namespace) -> Path:
    """Build the wheel; return its path."""
    flags = " ".join(os.environ.get(name, "") for name in ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"))
    if "target-cpu" in flags:
        sys.exit(f"RUSTFLAGS: expected no target-cpu, got {flags!r}; the wheel would fail on other machines")
    command = ["maturin", "build", "--release", "--locked", "--out", options.out]
    if sys.platform == "linux":
        command += ["--zig", "--compatibility", options.compatibility]
    if options.target:
        command += ["--target", options.target]
    if options.interpreter:
        command += ["--interpreter", options.interpreter]
    run(*command)
    return only(options.out, "*.whl")


def check_wheel(path: Path) -> None:
    """Check the files of the wheel and what it requires."""
    with zipfile.ZipFile(path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
        (metadata,) = (name for name in sizes if name.endswith(".dist-info/METADATA"))
        headers = message_from_string(archive.read(metadata).decode())
    folder = metadata.removesuffix("/METADATA")
    tell_sizes(path, sizes)
    problems = [
        f"{name}: a file outside of mdt_fast/" for name in sizes if not name.startswith(("mdt_fast/", f"{folder}/"))
    ]
    problems += [f"{name}: missing" for name in tracked("python") - sizes.keys()]
    problems += [f"{folder}/licenses/{name}: missing" for name in _LICENCES if f"{folder}/licenses/{name}" not in sizes]
    core = [name for name in sizes if re.fullmatch(r"mdt_fast/_core\.(.*\.)?(so|pyd)", name)]
    if len(core) != 1:
        problems.append(f"expected one extension module, got {core}")
    allowed = tracked("python") | set(core)
    problems += [
        f"{name}: not a file of the project" for name in sizes if name.startswith("mdt_fast/") and name not in allowed
    ]
    problems += [
        f"{name}: {size} bytes of data"
        for name, size in sizes.items()
        if name.startswith("mdt_fast/") and not name.endswith((".py", ".pyi", *core)) and size > _DATA_BYTES
    ]
    if path.stat().st_size > _WHEEL_BYTES:
        problems.append(f"expected at most {_WHEEL_BYTES} bytes, got {path.stat().st_size}")
    required = [text for text in headers.get_all("Requires-Dist", []) if "extra ==" not in text]
    names = {re.split(r"[\s<>=!~;\[(]", text)[0] for text in required}
    if names != _REQUIRED:
        problems.append(f"expected to require {sorted(_REQUIRED)}, got {sorted(names)}")
    refuse(path, problems)


def check_sdist(path: Path) -> None:
    """Check that the sdist has what a build needs, the licences, and no tests of Python, data or documents."""
    with tarfile.open(path) as archive:
        sizes = {entry.name.partition("/")[2]: entry.size for entry in archive if entry.isfile()}
    tell_sizes(path, sizes)
    needed = {"Cargo.lock", "Cargo.toml", "PKG-INFO", "README.md", "pyproject.toml", *_LICENCES}
    needed |= {f"python/{name}" for name in tracked("python")}
    problems = [f"{name}: missing" for name in needed - sizes.keys()]
    problems += [f"{name}: not needed" for name in sizes if name not in needed and not name.startswith("rust/")]
    if path.stat().st_size > _SDIST_BYTES:
        problems.append(f"expected at most {_SDIST_BYTES} bytes, got {path.stat().st_size}")
    refuse(path, problems)


def test_installed(python: str, distribution: Path, *, needs_rust: bool) -> None:
    """Install a distribution in a new environment and run the smoke test from outside of the sources."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "venv")
        run(python, "-m", "venv", home)
        bin_ = home / ("Scripts" if os.name == "nt" else "bin")
        environment = os.environ | {"PATH": str(bin_) + os.pathsep + os.environ["PATH"]}
        if not needs_rust:
            environment["PATH"] = os.pathsep.join(
                part for part in environment["PATH"].split(os.pathsep) if not shutil.which("cargo", path=part)
            )
        else:
            # Crates that an editable build has compiled are not compiled again.
            environment["CARGO_TARGET_DIR"] = str(ROOT / "target")
        pip = [bin_ / "python", "-m", "pip", "install", "--quiet"]
        smoke = [bin_ / "python", ROOT / "release" / "smoke.py"]
        run(*pip, distribution, cwd=folder, env=environment)
        run(*smoke, "library", cwd=folder, env=environment)
        # The package is installed already; this adds what the extra requires.
        run(*pip, "mdt_fast[cli]", cwd=folder, env=environment)
        run(*smoke, "command", ROOT / "README.md", cwd=folder, env=environment)


def tracked(folder: str) -> set[str]:
    """Return the files of the package in version control, relative to `folder`."""
    command = ["git", "ls-files", "--cached", f"{folder}/mdt_fast"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return {name.removeprefix(f"{folder}/") for name in listed if name}


def tell_sizes(path: Path, sizes: dict[str, int]) -> None:
    """Print the number of files and the largest ones."""
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, {len(sizes)} files; the largest:")
    for name in sorted(sizes, key=lambda name: -sizes[name])[:5]:
        print(f"  {sizes[name]:>10} {name}")


def refuse(path: Path, problems: list[str]) -> None:
    """End the program if there are problems."""
    if problems:
        sys.exit("\n".join([f"{path.name}:", *(f"! {problem}" for problem in sorted(problems))]))


def only(folder: Path, pattern: str) -> Path:
    """Return the one file that matches."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder}: expected one {pattern}, got {[path.name for path in found]}")
    return found[0].resolve()


def run(*command: object, cwd: str | Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run a command, which is found next to this interpreter first."""
    environment = dict(env or os.environ)
    if env is None:
        # maturin finds zig in the environment of the first `python3` of the path.
        environment["PATH"] = sysconfig.get_path("scripts") + os.pathsep + environment["PATH"]
    words = [str(word) for word in command]
    words[0] = shutil.which(words[0], path=environment["PATH"]) or words[0]
    print("$", " ".join(words), flush=True)
    if code := subprocess.run(words, cwd=cwd, env=environment, check=False).returncode:
        sys.exit(code)


if __name__ == "__main__":
    main()
