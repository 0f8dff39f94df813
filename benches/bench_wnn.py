"""Weighted nearest neighbours of muon against the fused graph: clusters, time and memory.

Clusters: CITE-seq and SNARE-seq, the same preparation for both, Leiden communities of both graphs at as many
communities as cell types, five seeds; and the default clusters of MDTClustering. Cells without a type take part
and are left out of the score. Two preparations of CITE-seq: that of the loader, and scanpy's usual one.

Cost: simulated cells, 20 types, 50 and 25 columns. Each method runs in its own process after a warm-up on 300
cells, which compiles what numba compiles. Peak memory is that of the process; that of a process that only
imports the packages is subtracted. muon needs neighbours in each modality first; they are part of its time.

Run: ``python benches/bench_wnn.py [--cells 3000 10000 ...] [--minutes 30]``, with ``MDT_FAST_DATA`` set.
"""

import argparse
import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt

SEEDS = 5
N_NEIGHBORS = {"muon WNN": 20, "fused graph": 15}


def simulated(n: int) -> dict[str, np.ndarray]:
    """Return two views of n cells of 20 types, linear images of 12 and 8 latent dimensions with noise."""
    rng = np.random.default_rng(0)
    types = rng.integers(0, 20, n)
    views = {}
    for name, columns, latent in (("rna", 50, 12), ("prot", 25, 8)):
        points = 3 * rng.normal(size=(20, latent))[types] + rng.normal(size=(n, latent))
        noise = rng.normal(size=(n, columns))
        views[name] = (points @ rng.normal(size=(latent, columns)) + noise).astype(np.float32)
    return views


def as_mudata(views: dict[str, np.ndarray]) -> Any:
    import anndata
    import mudata

    names = [f"cell{i}" for i in range(len(next(iter(views.values()))))]
    modalities = {}
    for name, X in views.items():
        modalities[name] = anndata.AnnData(np.asarray(X, dtype=np.float32))
        modalities[name].obs_names = names
        modalities[name].obsm["X_pca"] = modalities[name].X
    return mudata.MuData(modalities)


def wnn(views: dict[str, np.ndarray]) -> Any:
    """Return the connectivities of muon's weighted nearest neighbours with its defaults."""
    import muon
    import scanpy

    from bench_scanpy_neighbors import make_readable

    make_readable()
    cells = as_mudata(views)
    for modality in cells.mod.values():
        scanpy.pp.neighbors(modality, n_neighbors=N_NEIGHBORS["muon WNN"], use_rep="X_pca")
    muon.pp.neighbors(cells, n_neighbors=N_NEIGHBORS["muon WNN"])
    return cells.obsp["connectivities"]


def fused(views: dict[str, np.ndarray]) -> Any:
    """Return the connectivities that `mdt_fast.scverse.pp.neighbors` writes."""
    from mdt_fast import scverse

    cells = as_mudata(views)
    scverse.pp.neighbors(cells, n_neighbors=N_NEIGHBORS["fused graph"])
    return cells.obsp["mdt_connectivities"]


GRAPHS = {"muon WNN": wnn, "fused graph": fused}


def scanpy_preparation() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return CITE-seq by scanpy's usual steps: 2,000 variable genes, scaled, 50 components; proteins by muon's CLR."""
    import anndata
    import muon
    import scanpy

    data = mdt.datasets.fetch_citeseq_pbmc(prepared=False)
    # scanpy 1.11 multiplies a csr_array as if it were dense.
    rna = anndata.AnnData(csr_matrix(data.views[0], dtype=np.float32))
    scanpy.pp.normalize_total(rna, target_sum=1e4)
    scanpy.pp.log1p(rna)
    scanpy.pp.highly_variable_genes(rna, n_top_genes=2000)
    rna = rna[:, rna.var.highly_variable].copy()
    scanpy.pp.scale(rna, max_value=10)
    scanpy.pp.pca(rna, n_comps=50, random_state=0)
    prot = anndata.AnnData(np.asarray(data.views[1], dtype=np.float32))
    muon.prot.pp.clr(prot)
    return {"rna": rna.obsm["X_pca"], "prot": np.asarray(prot.X)}, np.asarray(data.cell_type)


def real_sets() -> dict[str, tuple[dict[str, np.ndarray], np.ndarray]]:
    cells, mixture = mdt.datasets.fetch_citeseq_pbmc(), mdt.datasets.fetch_snareseq_cellmix()
    return {
        "CITE-seq, loader": (dict(zip(cells.view_names, cells.views, strict=True)), np.asarray(cells.cell_type)),
        "CITE-seq, scanpy": scanpy_preparation(),
        "SNARE-seq": (dict(zip(mixture.view_names, mixture.views, strict=True)), mixture.target.astype(str)),
    }


def compare_clusters() -> None:
    print("| set | method | AMI x 100, mean (sd) | s of the graph or fit |\n|---|---|---|---|")
    for name, (views, types) in real_sets().items():
        known = types != "unknown"
        k = len(np.unique(types[known]))
        for method, graph_of in GRAPHS.items():
            graph_of(simulated(300))
            start = time.perf_counter()
            graph = graph_of(views)
            seconds = time.perf_counter() - start
            found = [mdt.leiden(_symmetric(graph), n_clusters=k, random_state=seed) for seed in range(SEEDS)]
            _row(name, f"{method}, Leiden", found, types, known, seconds)
        found, start = [], time.perf_counter()
        for seed in range(SEEDS):
            found.append(mdt.MDTClustering(k, random_state=seed).fit_predict(views))
        _row(name, "MDTClustering", found, types, known, (time.perf_counter() - start) / SEEDS)


def _symmetric(graph: Any) -> Any:
    return (graph + graph.T) / 2


def _row(name: str, method: str, found: list[np.ndarray], types: np.ndarray, known: np.ndarray, seconds: float) -> None:
    scores = [100 * adjusted_mutual_info_score(types[known], labels[known]) for labels in found]
    print(f"| {name} | {method} | {np.mean(scores):.1f} ({np.std(scores):.1f}) | {seconds:.2f} |", flush=True)


def cost(method: str, n: int) -> None:
    """Print seconds and peak memory of one graph as JSON; 0 cells only import the packages."""
    graph_of = GRAPHS[method]
    graph_of(simulated(300))
    seconds = 0.0
    if n:
        views = simulated(n)
        start = time.perf_counter()
        graph_of(views)
        seconds = time.perf_counter() - start
    print(json.dumps([seconds, peak_memory()]))


def peak_memory() -> float:
    """Return the largest memory of this process in GB; that of getrusage includes the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1e6


def run_cost(method: str, n: int, minutes: float) -> list[float] | None:
    command = [sys.executable, str(Path(__file__)), "--one", method, str(n)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60 * minutes)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return [float(value) for value in json.loads(done.stdout.splitlines()[-1])]


def compare_cost(sizes: list[int], minutes: float) -> None:
    print("\n| cells | method | s | GB beyond the packages | ratio of the times |\n|---|---|---|---|---|")
    base = {method: run_cost(method, 0, minutes) for method in GRAPHS}
    for n in sizes:
        found = {method: run_cost(method, n, minutes) for method in GRAPHS}
        for method, values in found.items():
            if values is None:
                print(f"| {n:,} | {method} | more than {60 * minutes:.0f}, or no memory | | |", flush=True)
                continue
            start, own = base[method], found["fused graph"]
            memory = values[1] - (start[1] if start else 0.0)
            ratio = f"{values[0] / own[0]:.0f}" if own else ""
            print(f"| {n:,} | {method} | {values[0]:.1f} | {memory:.2f} | {ratio} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="*", default=[3_000, 10_000, 30_000, 100_000])
    parser.add_argument("--minutes", type=float, default=30.0, help="limit for one graph")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "N"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.one:
        cost(given.one[0], int(given.one[1]))
        return
    compare_clusters()
    compare_cost(given.cells, given.minutes)


if __name__ == "__main__":
    main()
