"""The end of memory is a MemoryError, and the process lives."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from mdt_fast._support import memory as _memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")

# Each call runs in a forked child with some megabytes of address space left. Afterwards the limit
# is removed and the same child computes something small.
CAPPED = """
import os, resource, sys, warnings

import numpy as np
from scipy import interpolate
from scipy.sparse import csgraph

import mdt_fast as mdt


warnings.simplefilter("ignore")
n = 20_000
rng = np.random.default_rng(0)
Xs = list(rng.normal(size=(2, n, 3)))
ops = mdt.build_operators(Xs, n_neighbors=15)
few = mdt.build_operators([X[:50] for X in Xs])
W = ops.trajectory([0, 1, 0])
transitions = mdt.OperatorSet.from_transitions([P.copy() for P in ops.views]).trajectory([0, 1])
calls = {
    "build": lambda: mdt.build_operators(Xs, n_neighbors=15),
    "build approximately": lambda: mdt.build_operators(Xs[:1], n_neighbors=15, neighbors="approx"),
    "embed": lambda: mdt.embed(W, 10),
    "embed many": lambda: mdt.embed(W, 4_000),
    "search": lambda: mdt.search(ops, 5, strategy="beam", t=2),
    "select_time": lambda: mdt.select_time(ops, max_t=4),
    "tosparse": lambda: W.tosparse(),
    "toarray": lambda: W.toarray(),
    "product": lambda: W @ np.ones((n, 64)),
    "transposed product": lambda: transitions.T @ np.ones((n, 8)),
    "contrastive": lambda: mdt.quality.contrastive_loss(ops, W, rows=np.arange(64)),
    "k_means": lambda: mdt.k_means(Xs[0], 20),
}


def address_space():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def run(call, megabytes):
    used = address_space()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, hard))
    try:
        call()
        outcome = "done"
    except MemoryError:
        outcome = "MemoryError"
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    mdt.embed(few.trajectory([0, 1]), 3)
    return outcome


for name in sys.argv[1].split(","):
    for megabytes in (1, 4, 12, 30, 60, 100, 160, 250):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            try:
                print(name, megabytes, run(calls[name], megabytes), flush=True)
                os._exit(0)
            except BaseException as error:
                print(name, megabytes, repr(error)[:300], flush=True)
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            sys.exit(f"{name} with {megabytes} MB: status {status}")
"""


@pytest.mark.parametrize(
    "names",
    [
        "embed,product,transposed product,contrastive",
        "select_time,k_means,toarray,tosparse",
        pytest.param("build,build approximately", marks=pytest.mark.slow),
        pytest.param("search,embed many", marks=pytest.mark.slow),
    ],
)
def test_calls_that_run_out_of_memory_raise(names):
    done = subprocess.run([sys.executable, "-c", CAPPED, names], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("MemoryError") >= len(names.split(",")), done.stdout


def ring(n):
    """Return the operators of two walks on a ring of n samples."""
    here = np.arange(n)
    walk = sparse.csr_array((np.ones(n), (here, (here + 1) % n)), shape=(n, n))
    return mdt.OperatorSet.from_affinities([walk + walk.T + sparse.eye_array(n)] * 2)


def test_too_many_components_are_refused_with_the_number_that_fits(monkeypatch):
    W = ring(15_000).trajectory([0, 1])
    monkeypatch.setattr(_memory, "available_bytes", lambda: 10**9)
    with pytest.raises(
        MemoryError, match=r"n_components: 3700 of 15000 samples need .* GB, .* at most \d\d\d"
    ) as caught:
        mdt.embed(W, 3_700)
    fits = int(str(caught.value).split()[-1])
    with pytest.raises(MemoryError, match=f"n_components: {fits + 1} of"):
        mdt.embed(W, fits + 1)
    with pytest.raises(MemoryError, match=r"n_clusters: 3700 of 15000 samples need"):
        mdt.search(W.operators, 3_700, t=2)


@pytest.mark.parametrize("n_vectors", [10**9, 10**15, 2**63 - 1])
def test_more_vectors_than_can_be_used(n_vectors):
    with pytest.raises(ValueError, match="n_vectors: expected an integer >= 2 and <= 1024"):
        mdt.select_time(ring(600), method="stochastic", n_vectors=n_vectors)


def test_the_available_memory_is_within_the_limit_of_the_process():
    code = """
import os, resource
from mdt_fast._support.memory import available_bytes
pages = int(open("/proc/self/statm").read().split()[0])
used = pages * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, -1))
assert 2**26 < available_bytes() <= 2**28, available_bytes()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# The workers take blocks from the idle memory and return them all the time.
FORKED = """
import os, signal, threading, warnings

import numpy as np

import mdt_fast as mdt

warnings.simplefilter("ignore")
n = 40_000
few, many = (mdt.build_operators([np.linspace(0, 1, n)[:, np.newaxis]], n_neighbors=2) for n in (6_000, n))
W, V = few.trajectory([0, 0]), many.trajectory([0, 0])
x = np.ones((6_000, 48))
expected = W @ x
stop = threading.Event()


def work(columns):
    block = np.ones((n, columns))
    while not stop.is_set():
        V @ block


workers = [threading.Thread(target=work, args=(columns,), daemon=True) for columns in (448, 450)]
for worker in workers:
    worker.start()
for _ in range(60):
    child = os.fork()
    if not child:
        signal.alarm(30)
        os._exit(0 if np.array_equal(W @ x, expected) else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        break
os._exit(abs(status))
"""


def test_processes_forked_during_work_do_not_wait_for_its_memory():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
