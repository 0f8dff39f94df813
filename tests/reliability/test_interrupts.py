"""Ctrl-C ends calls that would take much longer."""

import subprocess
import sys

import pytest

# Longest time between the signal and the exception, for a busy machine. Each call takes longer.
SECONDS = 3

INTERRUPTED = """
import os, signal, sys, tempfile, threading, time, warnings

import numpy as np

import mdt_fast as mdt

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)


def operators(n):
    return mdt.build_operators(list(rng.normal(size=(2, n, 3))), n_neighbors=8)


def prepare(name):
    if name == "many components":
        W = operators(4_000).trajectory([0, 1])
        return lambda: mdt.embed(W, 1_000)
    if name == "wide bases":
        W = operators(12_000).trajectory([0, 1])
        return lambda: mdt.embed(W, 1_500)
    if name == "many clusters":
        ops = operators(4_000)
        return lambda: mdt.search(ops, 1_000, strategy="beam", t=2)
    if name == "exact":
        W = operators(4_000).trajectory([0, 1])
        return lambda: mdt.embed(W, 4, solver="exact")
    if name == "exact eigen":
        W = operators(4_000).trajectory([0, 0])
        return lambda: mdt.embed(W, 4, solver="exact", decomposition="eigen")
    if name == "exact time":
        ops = operators(4_000)
        return lambda: mdt.select_time(ops, method="exact")
    if name == "spectral time":
        ops = operators(6_000)
        return lambda: mdt.select_time(ops, view=0, method="spectral")
    if name == "toarray":
        W = operators(16_000).trajectory([0, 1] * 20)
        return lambda: W.toarray()
    if name == "contrastive loss":
        ops = operators(60_000)
        return lambda: mdt.quality.contrastive_loss(ops, ops.trajectory([0, 1] * 6))
    if name == "new samples":
        X = rng.normal(size=(60_000, 50))
        found = mdt.embed(mdt.build_operators([X], neighbors="approx").trajectory([0]), 2)
        found.transform([X[:1]])
        return lambda: found.transform([np.tile(X + 0.1, (8, 1))])
    if name == "stored neighbours":
        X = rng.normal(size=(100_000, 50)).astype(np.float32)
        folder = tempfile.mkdtemp()
        return lambda: mdt.store_neighbors(X, 15, folder + "/graph", cell_rows=50_000)
    ops = operators(30_000)
    long = mdt.strategies.Contrastive(steps=10**6, tol=0.0)
    return lambda: mdt.search(ops, None, strategy=long, t=6)


call, wait = prepare(sys.argv[1]), float(sys.argv[2])
sent = []


def interrupt():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)


timer = threading.Timer(wait, interrupt)
timer.start()
try:
    call()
    outcome = "not interrupted"
except KeyboardInterrupt:
    outcome = time.perf_counter() - sent[0]
print(outcome, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.2, 2.0])
@pytest.mark.parametrize(
    "name",
    [
        "many components",
        "wide bases",
        "many clusters",
        "exact",
        "exact eigen",
        "exact time",
        "spectral time",
        "toarray",
        "contrastive loss",
        "contrastive search",
        "new samples",
        "stored neighbours",
    ],
)
def test_long_calls_are_interrupted(name, wait):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, name, str(wait)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < SECONDS
