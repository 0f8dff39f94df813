"""Time, memory and AMI of clustering 70,000 MNIST digits in two views, in single precision.

Run: ``python benches/bench_mnist.py``. Needs the files of MNIST.
"""

import subprocess
import sys
import time
import warnings

from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from bench_build import peak_megabytes
from timing import print_table

DIGITS = 70_000
SETS = {"K-MvMNIST": mdt.datasets.fetch_k_mvmnist, "L-MvMNIST": mdt.datasets.fetch_l_mvmnist}
STRATEGIES = ("auto", "beam")


def cluster(name: str, strategy: str) -> None:
    data = SETS[name](s=0.5, n_samples=DIGITS)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        model = mdt.MDTClustering(10, strategy=strategy, dtype="float32").fit(data.views)
    seconds = time.perf_counter() - began
    print(adjusted_mutual_info_score(data.target, model.labels_), seconds, peak_megabytes())


def run() -> None:
    rows = []
    for name in SETS:
        for strategy in STRATEGIES:
            # One process each: the peak memory is that of a process, including the data.
            command = [sys.executable, __file__, name, strategy]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            ami, seconds, peak = map(float, out.split())
            rows.append([name, strategy, f"{100 * ami:.1f}", f"{seconds:.0f}", f"{peak / 1e3:.1f}"])
    print(f"### {DIGITS:,} MNIST digits in two noisy views, s = 0.5, float32\n")
    print_table(["data", "strategy", "AMI x 100", "seconds", "peak, GB"], rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        cluster(sys.argv[1], sys.argv[2])
    else:
        run()
