"""Time to import mdt_fast after NumPy and SciPy.

Run: ``python benches/bench_import.py``.
"""

import subprocess
import sys
from statistics import median

from timing import print_table

CODE = """
import time, numpy, scipy.sparse, scipy.sparse.linalg, scipy.sparse.csgraph
start = time.perf_counter()
import mdt_fast
print(time.perf_counter() - start)
"""


def run() -> None:
    print("### Import, beyond NumPy and SciPy\n")
    times = [float(subprocess.check_output([sys.executable, "-c", CODE])) for _ in range(5)]
    print_table(["median of 5, ms"], [[f"{1e3 * median(times):.0f}"]])


if __name__ == "__main__":
    run()
