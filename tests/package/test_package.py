"""What importing the package imports, and how long it takes."""

from __future__ import annotations

import subprocess
import sys

import mdt_fast as mdt


def run_python(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_is_lazy():
    heavy = ["kneed", "matplotlib", "pandas", "sklearn"]
    script = f"import sys, mdt_fast; print([name for name in {heavy} if name in sys.modules])"
    assert run_python(script) == "[]"


def test_import_is_quick():
    script = (
        "import time, numpy, scipy.sparse.linalg, scipy.sparse.csgraph; start = time.process_time(); "
        "import mdt_fast; print(time.process_time() - start)"
    )
    # The best of three: the first may read from a cold disk.
    assert min(float(run_python(script)) for _ in range(3)) < 0.3


def test_using_operators_needs_no_scikit_learn():
    script = (
        "import sys, numpy as np, mdt_fast as mdt; "
        "mdt.build_operators(np.random.default_rng(0).normal(size=(50, 3))).trajectory([0, 0]).toarray(); "
        "print('sklearn' in sys.modules)"
    )
    assert run_python(script) == "False"


def test_objects_of_scverse_are_imported_on_request():
    heavy = ["anndata", "mudata", "scanpy", "muon", "matplotlib"]
    script = f"import sys; from mdt_fast import scverse; print([name for name in {heavy} if name in sys.modules])"
    assert run_python(script) == "[]"
    script = "import sys, mdt_fast; mdt_fast.MDT; print('mdt_fast.scverse' in sys.modules)"
    assert run_python(script) == "False"


def test_public_names():
    for name in ("build_operators", "nearest_neighbors", "OperatorSet", "Trajectory", "datasets", "k_means", "quality"):
        assert hasattr(mdt, name)
    assert issubclass(mdt.OperatorWarning, UserWarning)
    assert issubclass(mdt.ConvergenceWarning, UserWarning)
    assert mdt.__version__.count(".") == 2
