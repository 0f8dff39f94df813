"""Fuzzing of everything that the package reads from files: views, checkpoints, results, rows of studies.

    python -m tests.fuzz.files --calls 20000           # in worker processes
    python -m tests.fuzz.files --seed 123 --only 1     # case 123 in this process

A file is read, or refused by an error that names it. A forged file may contain other numbers; it must not crash, hang
or
give results out of range.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import mdt_fast as mdt
from mdt_fast._cli.files import read_views
from mdt_fast.study._rows import Row, read_rows

from . import command
from .draw import Draw
from .mutations import ODD_NAMES, write_changed
from .originals import FORMATS, N, operators, originals, search, strategies
from .promises import BrokenPromiseError, check_result, digest
from .workers import Announce, Report


def run_case(case: int, announce: Announce, *, loud: bool = False) -> Report:
    """Change a file and read it."""
    draw = Draw(case)
    suffix = draw.choose(*FORMATS)
    announce(suffix)
    path = draw.folder / _file_name(draw, suffix)

    def report(outcome: str, detail: str = "", *, is_fault: bool = True) -> Report:
        return Report(case, suffix, outcome, detail.replace(str(draw.folder), "."), is_fault)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Outside of the try block below: any other error here is one of the fuzzer, and ends the worker.
        try:
            write_changed(draw, suffix, path)
        except MemoryError:
            path.unlink(missing_ok=True)
            return report("too large to write", is_fault=False)
        if loud:
            print(path.name, path.stat().st_size, "bytes", path.read_bytes()[:300])
        try:
            value = _READERS.get(suffix, _read_views)(draw, path)
            if loud:
                print("->", str(value)[:500])
        except BrokenPromiseError as broken:
            return report("broken promise", str(broken))
        except MemoryError:
            return report("out of memory", is_fault=False)
        except Exception as error:
            if loud:
                traceback.print_exc()
            fault = _fault_of(error, path)
            return report(fault or "refused", f"{type(error).__name__}: {error}"[:300], is_fault=fault is not None)
        finally:
            path.unlink(missing_ok=True)
    return report("answered", is_fault=False)


def _file_name(draw: Draw, suffix: str) -> str:
    """Return a name of a file, sometimes an odd one."""
    usable = [
        name for name in ODD_NAMES if "/" not in name and "\0" not in name and name.strip(".") and len(name) < 100
    ]
    stem = draw.choose(*usable) if draw.chance(0.1) else "file"
    return stem + suffix


def _fault_of(error: Exception, path: Path) -> str | None:
    """Return what is wrong with an error, or None if it names the file, or the place in it, in the package's form."""
    text = str(error)
    own = isinstance(error, ValueError) and type(error).__module__.startswith("mdt_fast")
    if type(error) not in (ValueError, TypeError) and not own and not isinstance(error, OSError):
        return f"raised {type(error).__name__}"
    if str(path) in text:
        return None
    subject, colon, rest = text.partition(": ")
    return None if colon and "expected" in rest and len(subject) < 80 else "error without a name"


def _read_views(draw: Draw, path: Path) -> Any:
    options: dict[str, Any] = {}
    if draw.chance(0.3):
        options["labels"] = "kind"
    if draw.chance(0.2):
        options["select"] = [draw.choose("camera", "X", "rna", "rna/obsm/X_pca", "obsm/X_pca", "layers/counts", "file")]
    if draw.chance(0.1):
        options["drop_columns"] = ["kind"]
    paths = [path]
    if draw.chance(0.1):
        paths.append(draw.folder / "valid.npz")
        paths[1].write_bytes(originals(".npz")[0])
    found = read_views(paths, **options)
    n = next(iter(found.views.values())).shape[0]
    for name, view in found.views.items():
        data = view.data if sparse.issparse(view) else view
        if view.ndim != 2 or view.shape[0] != n or 0 in view.shape or data.dtype not in (np.float32, np.float64):
            raise BrokenPromiseError(f"view {name!r}: {view.shape} {data.dtype}")
        if not np.isfinite(data).all():
            raise BrokenPromiseError(f"view {name!r}: not finite")
        if sparse.issparse(view):
            view.check_format(full_check=True)
    if found.sample_names is not None and len(found.sample_names) != n:
        raise BrokenPromiseError("sample names: not one for each row")
    if found.labels is not None and found.labels.shape != (n,):
        raise BrokenPromiseError("labels: not one for each row")
    return found


def _read_checkpoint(draw: Draw, path: Path) -> Any:
    """Resume from a checkpoint; one whose digest holds by chance only must give the undisturbed result."""
    before = path.read_bytes()
    strategy = draw.choose(*strategies())
    try:
        json.loads(before)
    except (ValueError, RecursionError):
        strategy = strategies()[0]
    else:
        # The strategy that wrote it, so that the identity fits and the content is used.
        text = before.decode("utf-8", "replace")
        strategy = next((each for each in strategies() if f'"name": "{each.name}"' in text), strategy)
    result = search(strategy, path)
    check_result("search", result)
    if result.labels is not None and (result.labels.shape != (N,) or result.labels.max() >= N):
        raise BrokenPromiseError("labels: out of range after a forged checkpoint")
    return result


def _read_result(draw: Draw, path: Path) -> Any:
    result = mdt.SearchResult.load(path, operators())
    check_result("search", result)
    again = mdt.SearchResult.from_dict(result.to_dict(), operators())
    if digest(again) != digest(result):
        raise BrokenPromiseError("to_dict and from_dict: not the same result")
    repr(result)
    return result


def _read_study(draw: Draw, path: Path) -> Any:
    rows = read_rows(path)
    if not all(isinstance(row, Row) for row in rows):
        raise BrokenPromiseError("rows: not of the type Row")
    return rows


_READERS: dict[str, Callable[[Draw, Path], Any]] = {
    "checkpoint.json": _read_checkpoint,
    "result.json": _read_result,
    "rows.csv": _read_study,
}


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.files", description=__doc__)
    return command.run("files", parser, run_case, argv)


if __name__ == "__main__":
    sys.exit(main())
