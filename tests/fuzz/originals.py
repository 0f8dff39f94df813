"""Valid files of every format that the package reads; what a file fuzzer changes."""

from __future__ import annotations

import functools
import gzip
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import mdt_fast as mdt

N = 12
NAMES = [f"cell {i}" for i in range(N)]
KINDS = [f"kind {i % 3}" for i in range(N)]


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


def dense() -> Any:
    """Return one view."""
    target = np.arange(N) % 3
    return 5.0 * _rng().normal(size=(3, 4))[target] + _rng().normal(size=(N, 4))


def _saved(save: Callable[[Any], Any]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def _table() -> Any:
    import pandas as pd

    frame = pd.DataFrame(dense(), columns=[f"feature {i}" for i in range(4)])
    frame.insert(0, "sample", NAMES)
    frame["kind"] = KINDS
    return frame


def _text(separator: str) -> bytes:
    content: str = _table().to_csv(index=False, sep=separator)
    return content.encode()


def anndata_object(columns: int = 4) -> Any:
    """Return annotated data with a sparse X, a layer, coordinates and classes."""
    import anndata
    import pandas as pd

    obs = pd.DataFrame({"kind": pd.Categorical(KINDS)}, index=pd.Index(NAMES, dtype=object))
    made = anndata.AnnData(sparse.csr_matrix(np.abs(dense()[:, :columns]).astype(np.float32)), obs=obs)
    made.obsm["X_pca"] = dense()[:, :2]
    made.layers["counts"] = made.X.copy()
    return made


def _written(suffix: str, write: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"file{suffix}"
        write(path)
        return path.read_bytes()


def _mudata(path: Path) -> None:
    import mudata

    mudata.MuData({"rna": anndata_object(), "protein": anndata_object(2)}).write(path)


@functools.cache
def operators() -> mdt.OperatorSet:
    """Return the operators of the searches whose files are changed."""
    return mdt.build_operators([dense(), dense()[:, :2]], n_jobs=1)


def search(strategy: Any, path: Path | None = None) -> mdt.SearchResult:
    """Return a short search, with a checkpoint if there is a path."""
    return mdt.search(operators(), 3, strategy=strategy, t=2, checkpoint=path, n_jobs=1)


def strategies() -> list[Any]:
    """Return strategies whose checkpoints contain sequences, weights, gradients and labels."""
    s = mdt.strategies
    return [s.Beam(2), s.RandomWeights(3), s.Contrastive(steps=3), s.Consensus(4)]


def study_rows() -> bytes:
    """Return the rows of a small study."""
    data = {"blobs": ([dense(), dense()[:, :2]], np.arange(N) % 3)}
    return _written(".csv", lambda path: mdt.study.run(data, ["AD"], n_runs=3, rows=path, n_jobs=1, progress=False))


@functools.cache
def originals(suffix: str) -> tuple[bytes, ...]:
    """Return valid files with a suffix."""
    makers: dict[str, Callable[[], list[bytes]]] = {
        ".npy": lambda: [_saved(lambda f, X=X: np.save(f, X)) for X in (dense(), dense().astype("f4").T.copy().T)],
        ".npz": lambda: [
            _saved(lambda f: np.savez(f, camera=dense(), scanner=dense()[:, :2], kind=np.array(KINDS))),
            _saved(lambda f: np.savez_compressed(f, camera=dense(), scanner=dense()[:, :2], kind=np.arange(N))),
            *(_saved(lambda f, form=form: sparse.save_npz(f, form(np.abs(dense())))) for form in _SPARSE_FORMS),
        ],
        ".csv": lambda: [_text(",")],
        ".tsv": lambda: [_text("\t")],
        ".csv.gz": lambda: [gzip.compress(_text(","), mtime=0)],
        ".tsv.gz": lambda: [gzip.compress(_text("\t"), mtime=0)],
        ".parquet": lambda: [
            _written(".parquet", lambda path: _table().to_parquet(path, index=False)),
            _written(".parquet", lambda path: _table().set_index("sample").to_parquet(path)),
        ],
        ".h5ad": lambda: [_written(".h5ad", lambda path: anndata_object().write_h5ad(path))],
        ".h5mu": lambda: [_written(".h5mu", _mudata)],
        "checkpoint.json": lambda: [
            _written(".json", lambda path, strategy=strategy: search(strategy, path)) for strategy in strategies()
        ],
        "result.json": lambda: [json.dumps(search(strategy).to_dict()).encode() for strategy in strategies()],
        "rows.csv": lambda: [study_rows()],
    }
    return tuple(makers[suffix]())


_SPARSE_FORMS: tuple[Any, ...] = (
    sparse.csr_matrix,
    sparse.csc_array,
    sparse.coo_array,
    sparse.dia_matrix,
    sparse.bsr_array,
)
FORMATS = (
    ".npy", ".npz", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".h5ad", ".h5mu", "checkpoint.json",
    "result.json", "rows.csv",
)  # fmt: skip
