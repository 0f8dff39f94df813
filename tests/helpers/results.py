"""Results of searches, made by hand."""

from __future__ import annotations

import numpy as np

from mdt_fast import SearchResult
from mdt_fast._search.evaluation import HISTORY_DTYPE

N_SAMPLES = 40


def make_result(ops, candidates, scores, parents=None, best=None, **changes):
    history = np.zeros(len(candidates), dtype=HISTORY_DTYPE)
    history["parent"] = -1 if parents is None else parents
    history["depth"] = [len(c) for c in candidates]
    history["score"] = scores
    history["seconds"] = np.linspace(0.1, 1.0, len(candidates))
    if best is None:
        best = int(np.nanargmax(scores))
    fields = {
        "trajectory": ops.trajectory(list(candidates[best])),
        "score": float(scores[best]),
        "labels": np.arange(N_SAMPLES, dtype=np.int32) % 3,
        "history": history,
        "candidates": candidates,
        "best": best,
        "strategy": "beam",
        "quality": "calinski_harabasz",
        "t": 3,
        "stopped": None,
        "converged": None,
        "settings": {"strategy": {"name": "beam", "width": 2}, "tol": 1e-3, "view_weights": [0.5, 0.5]},
    }
    return SearchResult(**{**fields, **changes})


def sequence_result(ops, **changes):
    """Two levels below both members, and a third below one of them."""
    sequences = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (1, 0, 0), (1, 0, 1)]
    return make_result(
        ops, sequences, [1.0, 2.0, 0.1, 1 / 3, 4.0, 3.0, 7.5, 5.0], [-1, -1, 0, 0, 1, 1, 4, 4], **changes
    )


def weight_result(ops, **changes):
    rows = np.random.default_rng(1).uniform(size=(5, 3, 2))
    candidates = list(rows / rows.sum(axis=2, keepdims=True))
    return make_result(ops, candidates, np.array([0.3, np.nan, -2.0, 9.1, 0.0]), strategy="cma", **changes)


def unscored_result(ops):
    sequences = [(0, 1, 1)]
    return make_result(ops, sequences, [np.nan], best=0, strategy="random", quality=None, labels=None, t=None)
