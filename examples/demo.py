"""Two noisy views of handwritten digits become walks; a trajectory of them, searched for, becomes clusters.

Run with `make demo`. Needs nothing but what scikit-learn bundles. Pictures go to `demo-output/`.
"""

import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt

N_CLUSTERS = 10
N_STEPS = 8
N_STARTS = 200
BAR = 30
PICTURES = Path("demo-output")


def spread(W: mdt.Trajectory, starts: np.ndarray, digit: np.ndarray) -> tuple[float, float]:
    """Return how many samples the mass of a start reaches, and the share of it on samples of the same digit.

    Mass on m samples in equal parts has the entropy log(m); so exp(entropy) counts samples reached.
    """
    n = W.shape[0]
    unit = np.zeros((n, len(starts)))
    unit[starts, np.arange(len(starts))] = 1
    mass = W.T @ unit
    entropy = -np.sum(mass * np.log(mass, where=mass > 0, out=np.zeros_like(mass)), axis=0)
    same = (mass * (digit[:, None] == digit[starts])).sum(axis=0)
    return float(np.exp(entropy).mean()), float(same.mean())


def main() -> None:
    digits = mdt.datasets.load_multiview_digits(noise=0.5)
    views = dict(zip(digits.view_names, digits.views, strict=True))
    print(digits.DESCR, end="\n\n")

    start = time.perf_counter()
    ops = mdt.build_operators(views)
    print(f"{ops!r}, built in {time.perf_counter() - start:.3f} s")
    print(ops.check(warn=False), end="\n\n")

    starts = np.random.default_rng(0).choice(ops.n_samples, N_STARTS, replace=False)
    words = {
        ops.names[0]: [0] * N_STEPS,
        ops.names[1]: [1] * N_STEPS,
        "alternating": [0, 1] * (N_STEPS // 2),
    }
    print(f"Where the mass of a digit goes, on average over {N_STARTS} starts:")
    print(f"{'steps':>5}  {'views':<14}{'samples reached':>16}  share on the same digit")
    for t in (1, 2, 4, N_STEPS):
        for name, word in words.items():
            reached, same = spread(ops.trajectory(word[:t]), starts, digits.target)
            print(f"{t:>5}  {name:<14}{reached:>16.0f}  {same:6.1%} {'█' * round(BAR * same)}")
        print()
    W = ops.trajectory(words["alternating"])
    print(f"{W!r}")
    print(f"rows sum to 1 within {np.abs(W @ np.ones(ops.n_samples) - 1).max():.1e}; ", end="")
    print(f"the product would be {W.tosparse().nnz / ops.n_samples**2:.0%} full, so it is applied, never formed\n")
    cluster(ops, digits.target)


def cluster(ops: mdt.OperatorSet, digit: np.ndarray) -> None:
    """Choose how long to walk, search for the way, and compare: each view alone, both in turns, what was found."""
    start = time.perf_counter()
    selected = mdt.select_time(ops)
    print(f"{selected!r}, in {time.perf_counter() - start:.1f} s")
    ways = {name: [v] * selected.t for v, name in enumerate(ops.names)}
    ways["alternating"] = [s % 2 for s in range(selected.t)]
    ways |= {strategy: strategy for strategy in ("random", "mean", "beam", "direct")}
    print(f"\nClusters about {selected.t} steps on ({N_CLUSTERS} of them, k-means on {N_CLUSTERS} coordinates):")
    print(f"{'way':<14}{'AMI':>6}  {'score':>6}  {'candidates':>10}  {'s':>5}")
    found = {}
    for name, way in ways.items():
        start = time.perf_counter()
        res = mdt.search(ops, N_CLUSTERS, strategy=way, t=selected.t, n_init=5)
        took = time.perf_counter() - start
        agreement = adjusted_mutual_info_score(digit, res.labels)
        print(f"{name:<14}{agreement:6.1%}  {res.score:6.2f}  {res.n_evaluations:>10}  {took:5.2f}")
        found[name] = res
    beam = found["beam"]
    print(f"\nThe beam search ended at {beam.trajectory!r}")
    draw(selected, beam, digit)


def draw(selected: mdt.TimeSelection, beam: mdt.SearchResult, digit: np.ndarray) -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    PICTURES.mkdir(exist_ok=True)
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    selected.plot(ax)
    figure.savefig(PICTURES / "time.png", dpi=150)
    figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
    beam.plot_tree(ax)
    figure.savefig(PICTURES / "tree.png", dpi=150)
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
    x, y = mdt.embed(beam.trajectory, 2).coordinates.T
    for ax, title, colour in zip(axes, ("digit", "cluster"), (digit, beam.labels), strict=True):
        points = ax.scatter(x, y, c=colour, cmap="tab10", s=9, linewidths=0)
        ax.legend(*points.legend_elements(), title=title, fontsize="small", loc="best")
        ax.set(title=f"coloured by {title}", xlabel="coordinate 1", ylabel="coordinate 2")
    figure.savefig(PICTURES / "embedding.png", dpi=150)
    print(f"Pictures: {PICTURES}/time.png, {PICTURES}/tree.png, {PICTURES}/embedding.png")


if __name__ == "__main__":
    main()
