"""Every argument gets values that few arguments accept: errors name the argument, and nothing is written."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

import mdt_fast as mdt
from mdt_fast import scverse as mv

N = 40
WRONG = {
    "object": object,
    "text": lambda: "nonsense",
    "path": lambda: Path("cells.h5ad"),
    "numbers": lambda: np.array([5, 5]),
    "3-D": lambda: np.ones((2, 2, 2)),
    "empty": list,
    "mapping": lambda: {"a": 1},
    "names": lambda: {"X_pca": "X_pca"},
    "generator": lambda: (i for i in range(3)),
    "nan": lambda: float("nan"),
    "negative": lambda: -1,
    "fraction": lambda: 2.5,
    "complex": lambda: 1j,
    "frame": lambda: pd.DataFrame({"a": ["x"] * N}),
    "series": lambda: pd.Series(np.arange(N)),
    "none": lambda: None,
    "set": lambda: {"X_pca"},
}
# What each function needs, and arguments that keep it quick.
QUICK = {"n_jobs": 1}
FUNCTIONS = {
    "pp.neighbors": {"views": ["X_pca", "protein"], **QUICK},
    "tl.cluster": {"n_clusters": 2, "strategy": "mean", **QUICK},
    "tl.embed": {"n_components": 2, "strategy": "mean", **QUICK},
    "tl.view_report": {"groupby": "type", **QUICK},
    "tl.denoise": {**QUICK},
    "tl.impute": {"view": "holes", **QUICK},
    "tl.diffusion_distance": {"cell": 0, **QUICK},
    "tl.pseudotime": {"root": 0, **QUICK},
    "tl.ingest": {"reference": None, "obs": "type", **QUICK},
    "pl.embedding": {"basis": "X_pca"},
    "pl.view_weights": {},
    "pl.view_report": {},
}
CASES = [
    (name, parameter, kind)
    for name in FUNCTIONS
    for parameter, each in inspect.signature(getattr(getattr(mv, name[:2]), name[3:])).parameters.items()
    if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    for kind in WRONG
]


@functools.cache
def original():
    rng = np.random.default_rng(0)
    rna = rng.normal(size=(N, 4)) + 2.0 * (np.arange(N) % 2)[:, np.newaxis]
    made = anndata.AnnData(
        rna.copy(),
        obs=pd.DataFrame({"type": np.array(["a", "b"])[np.arange(N) % 2]}, index=[f"c{i}" for i in range(N)]),
        obsm={"X_pca": rna, "protein": rna[:, :2] + rng.normal(size=(N, 2))},
    )
    made.obsm["holes"] = np.where(np.arange(N)[:, np.newaxis] < 5, np.nan, rna)
    mv.pp.neighbors(made, ["X_pca", "protein"])
    mv.tl.view_report(made, "type", n_jobs=1)
    return made


def written(data):
    slots = (data.obs.columns, data.obsm, data.obsp, data.uns, data.layers)
    return [sorted(map(str, slot)) for slot in slots], data.obs.to_csv(), str(data.uns)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument(name, plt):
    function = getattr(getattr(mv, name[:2]), name[3:])
    faults = []
    for case, parameter, kind in CASES:
        if case != name:
            continue
        data, reference = original().copy(), original()
        before = written(data)
        arguments = dict(FUNCTIONS[name])
        if "reference" in arguments:
            arguments["reference"] = reference
        first = next(iter(inspect.signature(function).parameters))
        arguments = {first: data, **arguments, parameter: WRONG[kind]()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(**arguments)
                continue
            except (TypeError, ValueError) as error:
                if not re.search(rf"\b{parameter}\b", str(error)):
                    faults.append(f"{parameter}={kind}: {error}")
            except Exception as error:  # any other kind is a fault
                faults.append(f"{parameter}={kind}: {type(error).__name__} {error}")
        if written(data) != before:
            faults.append(f"{parameter}={kind}: something was written")
        plt.close("all")
    assert not faults, "\n".join(faults)


def test_every_function_is_tested():
    public = {f"{part}.{name}" for part in ("pp", "tl", "pl") for name in getattr(mv, part).__all__}
    assert public - set(FUNCTIONS) == {"pl.map"}
    assert mdt.__all__.count("scverse") == 0
