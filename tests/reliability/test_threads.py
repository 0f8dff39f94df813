"""Calls from several threads at the same time, on shared objects and on their own, give what one thread gives.

On a free-threaded interpreter the threads run Python at the same time, too. The module must then not enable the global
interpreter lock, and needs no other packages than pytest and hypothesis.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mdt_fast as mdt

N_THREADS, N_ROUNDS = 4, 3


def at_the_same_time(call):
    """Return the results of several threads that begin together, several times."""
    barrier = threading.Barrier(N_THREADS)

    def run(_):
        barrier.wait(timeout=60)
        return [call() for _ in range(N_ROUNDS)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        return [result for results in pool.map(run, range(N_THREADS)) for result in results]


@pytest.fixture(scope="module")
def data():
    # Enough samples for the calls that work on several threads of the core. The clusters touch.
    return mdt.datasets.make_multiview_blobs(1500, n_clusters=4, n_features=12, cluster_std=8.0, random_state=0).views


@pytest.fixture(scope="module")
def ops(data):
    return mdt.build_operators(data)


@pytest.fixture(scope="module")
def model(data):
    return mdt.MDTClustering(n_clusters=4, strategy="beam", random_state=0).fit(data)


def test_the_module_leaves_the_interpreter_free_threaded():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("an interpreter with the global lock")
    assert not sys._is_gil_enabled()


CALLS = {
    "operators": lambda data, ops, model: mdt.build_operators(data).trajectory([0, 1]) @ np.eye(len(data[0]), 3),
    "step": lambda data, ops, model: ops.trajectory([0, 1, 1]) @ np.eye(ops.n_samples, 8),
    "embedding": lambda data, ops, model: mdt.embed(ops.trajectory([0, 1]), 4).coordinates,
    "time": lambda data, ops, model: np.array([mdt.select_time(ops, random_state=0).t]),
    "search": lambda data, ops, model: mdt.search(ops, 4, strategy="beam", t=2, random_state=0).history["score"],
    "weights": lambda data, ops, model: (
        mdt.search(ops, 4, strategy="contrastive", t=2, random_state=0).trajectory.weights
    ),
    "k-means": lambda data, ops, model: mdt.k_means(data[0], 4, random_state=0).labels,
    "fit": lambda data, ops, model: mdt.MDT(n_components=3, random_state=0).fit_transform(data),
    "predict": lambda data, ops, model: model.predict([view[:200] for view in data]),
    "transposed": lambda data, ops, model: ops.trajectory([0, 1]).T @ np.eye(ops.n_samples, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_of_threads(name, data, ops, model):
    def call():
        return CALLS[name](data, ops, model)

    expected = call()
    for found in at_the_same_time(call):
        np.testing.assert_array_equal(found, expected, strict=True)


def test_errors_of_threads_stay_in_their_thread(ops):
    """Half of the threads raise, the others get their results."""
    expected = mdt.embed(ops.trajectory([0, 1]), 2).coordinates
    numbers = iter(range(N_THREADS * N_ROUNDS))
    lock = threading.Lock()

    def call():
        with lock:
            number = next(numbers)
        if number % 2:
            with pytest.raises(ValueError, match="n_components"):
                mdt.embed(ops.trajectory([0, 1]), -1)
            return expected
        return mdt.embed(ops.trajectory([0, 1]), 2).coordinates

    for found in at_the_same_time(call):
        np.testing.assert_array_equal(found, expected, strict=True)
