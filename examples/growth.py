"""Plot time and memory against the number of samples, ours and dense, for the README.

Reads the numbers that benches/bench_million.py writes. Run: ``python examples/growth.py``.
"""

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "benches" / "million.json"
PICTURE = ROOT / "docs" / "images" / "growth.png"
# Memory that limits the size of dense matrices, of which a search holds eight.
MEMORY_GB = 24.0


def main(numbers: Path = NUMBERS, picture: Path = PICTURE) -> None:
    content = json.loads(numbers.read_text())
    ours = [content["ours"][n] for n in sorted(content["ours"], key=int)]
    dense = content["dense"]
    n_candidates = ours[0]["candidates"]
    last = int(np.sqrt(MEMORY_GB * 1e9 / (8 * 8)))

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    sizes = [each["n"] for each in ours]
    left.plot(sizes, [each["total"] for each in ours], "o-", label="mdt_fast, all stages")
    right.plot(sizes, [each["peak"] / 1e3 for each in ours], "o-", label="mdt_fast")

    measured = np.array([[each["n"], n_candidates * each["candidate"]] for each in dense])
    left.plot(*measured.T, "s-", color="#bd1f01", label="dense, the search alone")
    # Cubic extrapolation from the last measured size.
    beyond = np.array([measured[-1, 0], last])
    left.plot(beyond, measured[-1, 1] * (beyond / measured[-1, 0]) ** 3, "--", color="#bd1f01", label="extrapolated")
    grid = np.geomspace(measured[0, 0], last, 20)
    right.plot(grid, 8 * 8 * grid**2 / 1e9, "--", color="#bd1f01", label="dense, eight N x N matrices")
    for ax, label in ((left, "seconds"), (right, "GB")):
        ax.plot(last, ax.lines[-1].get_ydata()[-1], "x", color="#bd1f01", markersize=9)
        ax.set(xscale="log", yscale="log", xlabel="number of samples", ylabel=label)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=9)
    left.set_title("Time of the whole analysis on two cores", fontsize=10)
    right.set_title("Peak memory", fontsize=10)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
