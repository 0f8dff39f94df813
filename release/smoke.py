"""Test an installed package from outside of its sources: the library, the example of the README, the command.

    python smoke.py library             with the required dependencies alone
    python smoke.py command README.md   with the extra `cli`

`release/distributions.py` runs it in new environments. Assertions are not used, because `python -O` removes them.
"""

from __future__ import annotations

import doctest
import importlib.metadata
import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import mdt_fast as mdt

_SITE = Path(sysconfig.get_path("platlib")).resolve()


def main(stage: str, *paths: str) -> int:
    """Run a stage; return 1 if something is wrong."""
    problems = [*_check_installation(), *(_check_library() if stage == "library" else _check_command(Path(*paths)))]
    for problem in problems:
        print(f"! {problem}", file=sys.stderr)
    print(f"smoke test of the {stage}: {'FAILED' if problems else 'passed'}")
    return int(bool(problems))


def _check_installation() -> list[str]:
    problems = []
    if not Path(mdt.__file__).resolve().is_relative_to(_SITE):
        problems.append(f"expected the package in {_SITE}, got {mdt.__file__}")
    if mdt.__version__ != importlib.metadata.version("mdt_fast"):
        problems.append(f"the version is {mdt.__version__}, its metadata has {importlib.metadata.version('mdt_fast')}")
    if mdt._core.DEBUG_BUILD:
        problems.append("the core was built without optimisation")
    # On a free-threaded interpreter an extension that does not support it enables the lock again.
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():
        problems.append("importing the package enabled the global interpreter lock")
    return problems


def _check_library() -> list[str]:
    problems = []
    data = mdt.datasets.make_multiview_blobs(300, n_clusters=3, random_state=0)
    model = mdt.MDTClustering(n_clusters=3).fit(data.views)
    if len({*zip(model.labels_.tolist(), data.target.tolist(), strict=True)}) != 3:
        problems.append("three separate clusters were not found")
    if not np.array_equal(model.predict(data.views), model.labels_):
        problems.append("predict differs from the labels of the training samples")
    if importlib.util.find_spec("matplotlib") is not None:
        problems.append("matplotlib is installed without an extra")
    else:
        try:
            mdt.plot.embedding(model.embedding_)
        except ImportError as error:
            if "pip install 'mdt_fast[plot]'" not in str(error):
                problems.append(f"a plot without matplotlib does not name the extra: {error}")
        else:
            problems.append("a plot without matplotlib is no error")
    return problems


def _check_command(readme: Path) -> list[str]:
    import matplotlib as mpl

    mpl.use("Agg")
    # doctest would read the closing fence of a block as output.
    text = readme.read_text(encoding="utf-8").replace("```", "")
    session = doctest.DocTestParser().get_doctest(text, {}, readme.name, str(readme), 0)
    found = doctest.DocTestRunner(verbose=False).run(session)
    problems = [f"{found.failed} of {found.attempted} examples of {readme.name} fail"] if found.failed else []
    if not found.attempted:
        problems.append(f"{readme.name} has no examples")
    with tempfile.TemporaryDirectory() as folder:
        views = mdt.datasets.make_multiview_blobs(300, n_clusters=3, random_state=0).views
        for name, view in zip("abc", views, strict=False):
            np.save(Path(folder, f"{name}.npy"), view)
        for arguments in (["doctor"], ["cluster", "a.npy", "b.npy", "--n-clusters", "3", "--output", "out"]):
            command = [str(Path(sysconfig.get_path("scripts"), "mdt-fast")), *arguments]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                problems.append(f"mdt-fast {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        if not any(Path(folder).glob("out/*")):
            problems.append("mdt-fast cluster wrote nothing")
    return problems


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
