"""The dependencies that pyproject.toml declares, what the package imports, and what it says if an extra is missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast import scverse
from mdt_fast._assignment.dask_blocks import lazy_assignment
from mdt_fast._sources.views import ViewSources
from mdt_fast._support import extras
from mdt_fast.datasets._olivetti import oriented_gradients

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"bench", "docs", "lint", "test"}
FOR_USERS = set(PROJECT["optional-dependencies"]) - FOR_DEVELOPERS
ALIASES = {"distributed"}
PACKAGES = {module: package for module, (package, _) in extras._EXTRAS.items()} | {"sklearn": "scikit-learn"}


def package_of(requirement):
    return re.split(r"[\s<>=!~;\[]", requirement)[0]


def required_by(extra):
    """The packages of an extra and of the extras that it names."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        if package_of(requirement) == "mdt_fast":
            names = requirement.partition("[")[2].removesuffix("]").split(",")
            found = found.union(*map(required_by, names))
        elif ";" not in requirement:  # a requirement with a marker bounds a package that another one requires
            found.add(package_of(requirement))
    return found


def imported_modules(path):
    """The names that a file imports, with those that it gives to `require` as text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"require", "require_installed", "import_module"} and isinstance(node.args[0].value, str):
                yield node.args[0].value


def imported_packages():
    files = (ROOT / "python" / "mdt_fast").rglob("*.py")
    modules = {name.partition(".")[0] for path in files for name in imported_modules(path)}
    modules -= sys.stdlib_module_names | {"", "mdt_fast"}
    return {PACKAGES.get(module, module) for module in modules}


def test_every_import_is_declared_and_every_declared_package_is_imported():
    required = {package_of(requirement) for requirement in PROJECT["dependencies"]}
    assert required == {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"}
    assert imported_packages() == required.union(*map(required_by, FOR_USERS))


def test_all_has_every_extra_of_users():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(everything.partition("[")[2].removesuffix("]").split(",")) == FOR_USERS - ALIASES - {"all"}


@pytest.mark.parametrize("module", extras._EXTRAS)
def test_the_extra_in_a_message_installs_the_package(module):
    package, extra = extras._EXTRAS[module]
    assert package in required_by(extra)


def search_result(views):
    return mdt.search(mdt.build_operators(views), 2, strategy="random", t=2, max_evaluations=1)


NEEDS = {
    "cma": ("cma", lambda views, path: mdt.search(mdt.build_operators(views), 2, strategy="cma", t=2)),
    "dask": ("dask", lambda views, path: lazy_assignment(None, None)),
    "datasets": ("skimage", lambda views, path: oriented_gradients(np.zeros((1, 64, 64)))),
    "hdf5": ("h5py", lambda views, path: ViewSources.of(path / "X.h5")),
    "leiden": ("igraph", lambda views, path: mdt.leiden(mdt.fused_graph(mdt.build_operators(views)))),
    "pandas": ("pandas", lambda views, path: search_result(views).to_frame()),
    "parquet": ("pyarrow", lambda views, path: ViewSources.of(path / "X.parquet")),
    "plot": ("matplotlib", lambda views, path: mdt.plot.embedding(views[1])),
    "scverse": ("anndata", lambda views, path: scverse.pp.neighbors(object())),
    "umap": ("umap", lambda views, path: mdt.layout(mdt.fused_graph(mdt.build_operators(views)), method="umap")),
    "zarr": ("zarr", lambda views, path: ViewSources.of(path / "X.zarr")),
}


@pytest.mark.parametrize("extra", sorted(FOR_USERS - ALIASES - {"all", "cli"}))
def test_a_missing_extra_is_named(extra, views, tmp_path, monkeypatch):
    module, call = NEEDS[extra]
    for ending in ("h5", "parquet", "zarr"):
        (tmp_path / f"X.{ending}").touch()
    loaded = [name for name in sys.modules if name.startswith(f"{module}.")]
    for name in [module, *loaded]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=re.escape(f"pip install 'mdt_fast[{extra}]'")):
        call(views, tmp_path)


def test_the_command_without_its_extra():
    script = "import sys; sys.modules['click'] = None; from mdt_fast._cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "mdt-fast: the command line needs click: pip install 'mdt_fast[cli]'\n"


def test_the_reason_of_a_package_that_fails_is_kept(monkeypatch, tmp_path):
    (tmp_path / "zarr.py").write_text("raise ImportError('no codec')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "zarr", raising=False)
    with pytest.raises(ImportError, match=r"out needs zarr: pip install 'mdt_fast\[zarr\]' \(no codec\)"):
        extras.require("zarr", "out")
