"""A copy of an .h5ad or .h5mu file with the results of a job in it: the option `--write`.

The file is copied, and elements are added to the copy, so that all others stay as they are. Keys and contents
are those of `mdt_fast.scverse`. The copy is made beside the target and moved over it when it is complete. Cells
of the file that the job left out have no cluster, coordinates of NaN and no edges.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._estimators.pipeline import graph_of
from .._search.strategies import make_strategy
from .._support.extras import require_installed
from .readers.hdf5 import elements_of
from .readers.request import FileError

if TYPE_CHECKING:
    from ..scverse._recipe import Recipe
    from ..scverse._views import Source
    from ..scverse._write import Results
    from .job import Job, Outcome

_SUFFIXES = (".h5ad", ".h5mu")


@dataclass(frozen=True)
class WriteBack:
    """The file that is copied, and the file that the copy becomes."""

    source: Path
    target: Path

    @classmethod
    def of(cls, files: Sequence[Path], target: Path) -> WriteBack:
        """Return what is to be written, after all checks that need no data."""
        sources = [file for file in files if file.suffix.lower() in _SUFFIXES]
        if len(sources) != 1:
            raise FileError(
                f"--write: expected one {' or '.join(_SUFFIXES)} file among the inputs, to write a copy of it, got "
                f"{', '.join(map(str, sources or files))}"
            )
        (source,) = sources
        if target.suffix.lower() != source.suffix.lower():
            raise FileError(f"--write: expected a name that ends in {source.suffix}, as {source} does, got {target}")
        if target.exists() and source.exists() and target.samefile(source):
            raise FileError(
                f"--write: expected another file than the input {source}, which is not changed, got {target}"
            )
        if target.is_dir():
            raise FileError(f"--write: expected a file, got the folder {target}")
        if not target.parent.is_dir():
            raise FileError(f"--write: expected a folder that exists, got {target.parent}")
        needed = "mudata" if source.suffix.lower() == ".h5mu" else "anndata"
        try:
            require_installed(needed, f"--write: writing {source.suffix}")
        except ImportError as error:
            raise FileError(str(error)) from error
        return cls(source, target)

    def write(self, path: Path, job: Job, outcome: Outcome) -> None:
        """Write the copy with the results to `path`."""
        import h5py

        shutil.copyfile(self.source, path)
        with h5py.File(path, "r+") as file:
            results = self._results(file, job, outcome)
            _write_elements(file, results)

    def _results(self, file: Any, job: Job, outcome: Outcome) -> Results:
        """Return all results, with a row for each cell of the file."""
        from ..scverse._results import cluster_results, embedding_results, graph_results

        is_multimodal = self.source.suffix.lower() == ".h5mu"
        sources = _sources_of(outcome, self.source, is_multimodal)
        own = [source for source in sources if source is not None]
        if not own:
            raise FileError(f"--write: expected views of {self.source} among those that are used, got none")
        recipe = _recipe_of(own, job, outcome)
        names = _names_of(outcome, sources)
        graph = replace(graph_of(outcome.ops, outcome.fit.result), view_names=names)
        result, settings = outcome.fit.result, job.fitting
        t = result.t or len(outcome.fit.geometry.trajectory)
        shown: dict[str, Any] = {"random_state": settings.random_state}
        if settings.strategy != make_strategy("auto" if settings.with_labels else "contrastive"):
            shown["strategy"] = str(settings.strategy)
        # Operators cannot be made again of this file alone if it lacks views or cells of the job.
        is_part = len(own) < len(sources) or not _is_repeatable(job, own, is_multimodal)
        found = [
            graph_results(_skeleton(file, own, is_multimodal), graph, recipe, outcome.ops, is_part=is_part),
            embedding_results(
                outcome.fit.geometry, recipe, {"n_components": outcome.fit.geometry.coordinates.shape[1], **shown},
                score=result.score, t=t,
            ),
        ]  # fmt: skip
        if outcome.fit.labelling is not None:
            chosen = {"n_clusters": settings.n_clusters, **shown}
            if settings.n_clusters is None:
                chosen["resolution"] = settings.resolution
            labelling = outcome.fit.labelling
            found.append(
                cluster_results(labelling.labels, outcome.confidence, recipe, chosen, score=labelling.score, t=t)
            )
        cells = _read(file["obs"]).index.astype(str)
        places = _places(outcome.data.sample_names or [], list(cells), self.source)
        return _placed(found, places, len(cells))


def _sources_of(outcome: Outcome, path: Path, is_multimodal: bool) -> list[Source | None]:
    """Return for each view where it is in the file; None for views of other files."""
    from ..scverse._views import Source

    sources: list[Source | None] = []
    for place, name in outcome.data.places.values():
        if place != path:
            sources.append(None)
            continue
        modality, _, element = name.partition("/") if is_multimodal else (None, "", name)
        key = element.removeprefix("obsm/") or "X"
        sources.append(Source(modality or key.removeprefix("layers/"), key, modality))
    own = [source.name for source in sources if source is not None]
    return [
        # Two matrices of one modality cannot both have its name.
        replace(source, name=_flat(view)) if source is not None and own.count(source.name) > 1 else source
        for source, view in zip(sources, outcome.data.places, strict=True)
    ]


def _names_of(outcome: Outcome, sources: Sequence[Source | None]) -> list[str]:
    """Return the names of the views in keys: of the modality or matrix, or of the view of another file."""
    views = outcome.data.places
    return [_flat(view) if source is None else source.name for source, view in zip(sources, views, strict=True)]


def _flat(name: str) -> str:
    """Return a name that can be a key of a file."""
    return name.replace("/", "_")


def _recipe_of(sources: list[Source], job: Job, outcome: Outcome) -> Recipe:
    from ..scverse._recipe import DEFAULTS, Recipe

    # Options of the command that `build_operators` does not need named.
    usual = {"preset": outcome.building["preset"], "dtype": None, "absent": "borrow"}
    named = {name: value for name, value in outcome.building.items() if name not in usual or value != usual[name]}
    ordered = {name: named[name] for name in (*DEFAULTS, *named)}
    return Recipe(sources, None, job.fitting.random_state, ordered)


def _is_repeatable(job: Job, sources: Sequence[Source], is_multimodal: bool) -> bool:
    """Return whether `mdt_fast.scverse` makes the same operators from the file."""
    modalities = [source.modality for source in sources]
    is_simple = not is_multimodal or len(set(modalities)) == len(modalities)
    return is_simple and job.building["preset"] is None and job.reading["missing"] != "drop"


def _skeleton(file: Any, sources: Sequence[Source], is_multimodal: bool) -> Any:
    """Return an object with the cells and representations of the file, without its features."""
    if not is_multimodal:
        return _cells_of(file, [source.key for source in sources])
    import mudata

    with mudata.set_options(pull_on_update=False):
        return mudata.MuData({name: _cells_of(group, []) for name, group in file["mod"].items()})


def _cells_of(group: Any, keys: Sequence[str]) -> Any:
    import pandas as pd
    from anndata import AnnData

    names = _read(group["obs"]).index.astype(str)
    # The number of features does not matter, only whether there is a matrix.
    X = sparse.csr_matrix((len(names), 0), dtype=np.float32) if "X" in elements_of(group) else None
    known = [key for key in keys if f"obsm/{key}" in elements_of(group)]
    return AnnData(X, obs=pd.DataFrame(index=names), obsm={key: _read(group["obsm"][key]) for key in known})


def _read(element: Any) -> Any:
    from anndata.io import read_elem

    return read_elem(element)


def _places(samples: Sequence[str], cells: list[str], path: Path) -> NDArray[np.intp] | None:
    """Return the row of each sample among the cells of the file; None if both are the same."""
    if list(samples) == cells:
        return None
    rows = {name: row for row, name in enumerate(cells)}
    unknown = [name for name in samples if name not in rows]
    if unknown or len(rows) < len(cells):
        got = f"{unknown[0]!r} without a row" if unknown else "names that occur twice"
        raise FileError(f"{path}: expected every sample once in obs, to write results to it, got {got}")
    return np.array([rows[name] for name in samples], dtype=np.intp)


def _placed(found: Sequence[Results], places: NDArray[np.intp] | None, n: int) -> Results:
    """Return all results together, with their rows at `places` of n."""
    from ..scverse._write import Results

    joined = Results()
    for part in found:
        joined.obs |= {key: _spread(values, places, n) for key, values in part.obs.items()}
        joined.obsm |= {key: _spread(values, places, n) for key, values in part.obsm.items()}
        joined.obsp |= {key: _spread_pairs(matrix, places, n) for key, matrix in part.obsp.items()}
        joined.uns |= part.uns
    return joined


def _spread(values: Any, places: NDArray[np.intp] | None, n: int) -> Any:
    """Return categories or numbers with rows of others between them, which have no value."""
    if places is None:
        return values
    if hasattr(values, "codes"):
        codes = np.full(n, -1, dtype=np.intp)
        codes[places] = values.codes
        return type(values).from_codes(codes, categories=values.categories)
    spread = np.full((n, *values.shape[1:]), np.nan, dtype=values.dtype)
    spread[places] = values
    return spread


def _spread_pairs(matrix: Any, places: NDArray[np.intp] | None, n: int) -> Any:
    if places is None:
        return matrix
    entries = matrix.tocoo()
    return sparse.csr_matrix((entries.data, (places[entries.row], places[entries.col])), shape=(n, n))


def _write_elements(file: Any, results: Results) -> None:
    """Add the results to an open file, over older ones of the same keys."""
    import h5py
    from anndata.io import write_elem

    for part in ("obsm", "obsp", "uns"):
        if part not in file:
            write_elem(file, part, {})
        for key, value in getattr(results, part).items():
            write_elem(file[part], key, value)
    obs = file["obs"]
    columns = [str(column) for column in obs.attrs["column-order"]]
    for key, values in results.obs.items():
        write_elem(obs, key, values)
        if key not in columns:
            columns.append(key)
    obs.attrs["column-order"] = np.array(columns, dtype=h5py.string_dtype())
