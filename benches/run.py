"""Run all benchmarks and print Markdown tables.

Times depend on the machine. Ratios, measured within one run, are comparable.

Run: ``python benches/run.py``, or ``make bench``.
"""

import os
import platform
import time

import numpy as np
import scipy
import sklearn

import bench_bandwidth
import bench_baselines
import bench_build
import bench_candidate
import bench_import
import bench_neighbors
import bench_search
import bench_spmm
import mdt_fast as mdt


def main() -> None:
    packages = {"mdt_fast": mdt, "NumPy": np, "SciPy": scipy, "scikit-learn": sklearn}
    versions = ", ".join(f"{name} {package.__version__}" for name, package in packages.items())
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    print(f"Python {platform.python_version()}, {versions}; {machine}; {time.strftime('%Y-%m-%d')}\n")
    timed = (bench_spmm, bench_bandwidth, bench_neighbors, bench_build, bench_candidate, bench_search, bench_baselines)
    for bench in (*timed, bench_import):
        bench.run()


if __name__ == "__main__":
    main()
