"""Wrong options, matrices and steps: errors name the argument, the expected and the given value."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import mdt_fast as mdt
from helpers.data import N_SAMPLES, good_view
from helpers.messages import EITHER, mentions, number

# Argument, value, exception, fragments of the message.
WRONG_OPTIONS = [
    ("n_neighbors", 0, ValueError, [number(0)]),
    ("n_neighbors", -3, ValueError, [number(-3)]),
    ("n_neighbors", N_SAMPLES, ValueError, [number(N_SAMPLES), number(N_SAMPLES - 1)]),
    ("n_neighbors", [3, N_SAMPLES + 5], ValueError, [number(N_SAMPLES + 5)]),
    ("n_neighbors", 2.5, EITHER, [r"2\.5"]),
    ("n_neighbors", "many", EITHER, ["many", "log"]),
    ("kernel", "cubic", ValueError, ["cubic", "gaussian"]),
    ("kernel", 3, EITHER, [number(3)]),
    ("kernel", lambda d: d[:-1], ValueError, ["shape"]),
    ("kernel", lambda d: d - 1e9, ValueError, ["negative|non-negative|>= 0"]),
    ("kernel", lambda d: np.full_like(d, np.nan), ValueError, ["nan|finite"]),
    ("bandwidth", 0, ValueError, [number(0)]),
    ("bandwidth", 0.0, ValueError, [number(0)]),
    ("bandwidth", -1.5, ValueError, [r"-1\.5"]),
    ("bandwidth", np.nan, ValueError, ["nan"]),
    ("bandwidth", np.inf, ValueError, ["inf"]),
    ("bandwidth", [1.0, -2.5], ValueError, [r"-2\.5"]),
    ("bandwidth", [np.ones(N_SAMPLES), np.full(N_SAMPLES, -2.5)], ValueError, [r"-2\.5"]),
    ("bandwidth", [np.ones(N_SAMPLES), np.ones(N_SAMPLES + 7)], ValueError, [number(N_SAMPLES + 7)]),
    ("bandwidth", lambda graph: 0.0, ValueError, [number(0)]),
    ("bandwidth", lambda graph: np.full(N_SAMPLES, np.nan), ValueError, ["nan"]),
    ("bandwidth", lambda graph: "wide", EITHER, ["wide|str"]),
    ("bandwidth", "silverman", ValueError, ["silverman", "max-min"]),
    ("symmetrize", "sum", ValueError, ["sum", "mean"]),
    ("metric", "hamming", ValueError, ["hamming", "euclidean"]),
    ("neighbors", "psychic", ValueError, ["psychic", "exact"]),
    ("neighbors", 7, EITHER, ["int|7"]),
    ("anisotropy", -0.5, ValueError, [r"-0\.5"]),
    ("anisotropy", np.nan, ValueError, ["nan"]),
    ("anisotropy", "much", EITHER, ["much"]),
    ("preset", "paper", ValueError, ["paper", "published"]),
    ("dtype", "float16", EITHER, ["float16"]),
    ("dtype", int, EITHER, ["int"]),
    ("n_jobs", 0, ValueError, [number(0)]),
    ("n_jobs", 1.5, EITHER, [r"1\.5"]),
]


@pytest.mark.parametrize(
    ("argument", "value", "error", "fragments"),
    WRONG_OPTIONS,
    ids=[f"{argument}={'callable' if callable(value) else value!s:.20}" for argument, value, _, _ in WRONG_OPTIONS],
)
def test_option_of_build_operators(argument, value, error, fragments):
    with pytest.raises(error, match=mentions(argument, *fragments)):
        mdt.build_operators([good_view(), good_view()], **{argument: value})


class TestPerView:
    @pytest.mark.parametrize(
        ("argument", "value"),
        [
            ("n_neighbors", 3),
            ("kernel", "gaussian"),
            ("bandwidth", 1.0),
            ("symmetrize", "max"),
            ("metric", "euclidean"),
            ("anisotropy", 0.5),
            ("neighbors", "exact"),
        ],
    )
    @pytest.mark.parametrize("length", [1, 3])
    def test_list_of_wrong_length(self, argument, value, length):
        with pytest.raises(ValueError, match=mentions(argument, number(2), number(length))):
            mdt.build_operators([good_view(), good_view()], **{argument: [value] * length})

    @pytest.mark.parametrize("values", [{"sight": 3}, {"sight": 3, "sound": 3, "smell": 3}])
    def test_dict_of_wrong_keys(self, values):
        with pytest.raises(ValueError, match=mentions("n_neighbors", "sound|smell")):
            mdt.build_operators({"sight": good_view(), "sound": good_view()}, n_neighbors=values)


def matrix(*changes):
    """A 4 x 4 transition matrix and affinity, with the entries (row, column, value) overwritten."""
    M = np.full((4, 4), 0.25)
    for row, column, value in changes:
        M[row, column] = value
    return M


ALL = slice(None)


class TestMatrices:
    WRAPS = pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])

    @WRAPS
    @pytest.mark.parametrize(
        ("K", "fragments"),
        [
            (matrix((1, 2, -0.5), (2, 1, -0.5)), [r"-0\.5|negative"]),
            (matrix((1, 2, 0.75)), ["symmetric"]),
            (np.ones((4, 3)), ["square", number(3), number(4)]),
            (matrix((2, ALL, 0.0), (ALL, 2, 0.0)), ["row 2", "sum|zero|empty"]),
            (matrix((1, 1, np.nan)), ["nan", "row 1", "column 1"]),
            (matrix((1, 1, np.inf)), ["inf", "row 1", "column 1"]),
        ],
        ids=["negative", "asymmetric", "not square", "empty row", "NaN", "infinite"],
    )
    def test_affinities(self, wrap, K, fragments):
        with pytest.raises(ValueError, match=mentions(r"\bKs\b|affinit", number(1), *fragments)):
            mdt.OperatorSet.from_affinities([np.ones((4, 4)), wrap(K)])

    @WRAPS
    @pytest.mark.parametrize(
        ("P", "fragments"),
        [
            (matrix((2, 0, 0.15)), ["row 2", r"0\.9|0\.8999"]),
            (matrix((2, ALL, 0.0)), ["row 2", number(0)]),
            (matrix((2, 0, -0.25), (2, 1, 0.75)), [r"-0\.25|negative"]),
            (np.full((4, 3), 1 / 3), ["square", number(3), number(4)]),
            (matrix((1, 1, np.nan)), ["nan"]),
        ],
        ids=["sum", "empty row", "negative", "not square", "NaN"],
    )
    @pytest.mark.parametrize("make", ["from_transitions", "with_transitions"])
    def test_transitions(self, make, wrap, P, fragments):
        ops = mdt.OperatorSet.from_transitions([np.eye(4)])
        Ps = [np.eye(4), wrap(P)]
        with pytest.raises(ValueError, match=mentions(r"\bPs\b|transition", number(1), *fragments)):
            getattr(ops, make)(Ps)

    @pytest.mark.parametrize("make", ["from_affinities", "from_transitions"])
    def test_different_sizes_none_and_wrong_kinds(self, make):
        make = getattr(mdt.OperatorSet, make)
        with pytest.raises(ValueError, match=mentions(number(3), number(4))):
            make([np.eye(3), np.eye(4)])
        with pytest.raises(ValueError, match=mentions(r"\b[KP]s\b", "empty|at least one")):
            make([])
        with pytest.raises(TypeError, match="complex"):
            make([np.eye(3) * (1 + 0j)])
        with pytest.raises(TypeError, match="object"):
            make([np.eye(3).astype(object)])

    @pytest.mark.parametrize(
        ("names", "fragments"),
        [(["one"], [number(1), number(2)]), (["same", "same"], ["same", "unique|duplicate|twice"])],
    )
    def test_names(self, names, fragments):
        with pytest.raises(ValueError, match=mentions("names", *fragments)):
            mdt.OperatorSet.from_transitions([np.eye(3), np.eye(3)], names=names)

    def test_added_transitions_of_another_size(self):
        with pytest.raises(ValueError, match=mentions(r"\bPs\b|transition", number(3), number(4))):
            mdt.OperatorSet.from_transitions([np.eye(4)]).with_transitions([np.eye(3)])


@pytest.fixture
def ops():
    return mdt.build_operators([good_view(), good_view()[::-1]], n_neighbors=4)


@pytest.mark.parametrize(
    ("add", "fragments"),
    [
        (lambda ops: ops.with_teleport(1.5), ["alpha", r"1\.5"]),
        (lambda ops: ops.with_teleport(-0.1), ["alpha", r"-0\.1"]),
        (lambda ops: ops.with_teleport(np.nan), ["alpha", "nan"]),
        (lambda ops: ops.with_teleport(0.5, to=1), [r"\bto\b", number(1)]),
        (lambda ops: ops.with_teleport(0.5, to="anywhere"), [r"\bto\b", "anywhere"]),
        (lambda ops: ops.with_powers((2, 0)), ["powers", number(0)]),
        (lambda ops: ops.with_powers(()), ["powers", "empty|at least one"]),
    ],
)
def test_added_members(ops, add, fragments):
    with pytest.raises(ValueError, match=mentions(*fragments)):
        add(ops)


class TestTrajectories:
    @pytest.mark.parametrize(
        ("steps", "error", "fragments"),
        [
            ([0, 2], ValueError, ["sequence", number(2)]),
            ([0, -3], ValueError, ["sequence", number(-3)]),
            ([1, 10**12], ValueError, ["sequence", str(10**12)]),
            (["view 0", "smell"], ValueError, ["sequence", "smell"]),
            ([0.5, 1.0], EITHER, ["sequence", r"0\.5|float"]),
            ([[0.5, 0.4]], ValueError, ["weights", "row 0", r"0\.9"]),
            ([[0.5, 0.5], [1.5, -0.5]], ValueError, ["weights", "row 1", r"-0\.5|negative"]),
            ([[0.5, 0.5], [np.nan, 0.5]], ValueError, ["weights", "row 1", "nan"]),
            ([[0.5, 0.25, 0.25]], ValueError, ["weights", number(2), number(3)]),
            (np.full((2, 2, 2), 0.5), ValueError, ["weights|sequence", r"\(2, 2, 2\)|3-d|3 dim|ndim"]),
            (np.array([[0.5, 0.5j]]), TypeError, ["weights", "complex"]),
        ],
        ids=[
            "index too large",
            "index too small",
            "index beyond 32 bits",
            "unknown name",
            "fractions",
            "sum",
            "negative",
            "NaN",
            "too wide",
            "three axes",
            "complex",
        ],
    )
    def test_sequence_or_weights(self, ops, steps, error, fragments):
        with pytest.raises(error, match=mentions(*fragments)):
            ops.trajectory(steps)

    @pytest.mark.parametrize(
        ("step", "fragments"),
        [
            (2, [number(2)]),
            ("smell", ["smell"]),
            ([0.5, 0.4], [r"0\.9"]),
            ([1.5, -0.5], [r"-0\.5|negative"]),
            ([0.5, 0.25, 0.25], [number(2), number(3)]),
        ],
    )
    def test_extend(self, ops, step, fragments):
        with pytest.raises(ValueError, match=mentions("step|sequence|weights", *fragments)):
            ops.trajectory([0]).extend(step)

    @pytest.mark.parametrize("n_rows", [N_SAMPLES - 1, N_SAMPLES + 1])
    @pytest.mark.parametrize(
        "apply",
        [
            lambda W, B: W @ B,
            lambda W, B: W.T @ B,
            lambda W, B: W @ B[:, 0],
            lambda W, B: W.T @ B[:, 0],
            lambda W, B: W.matmat(B),
            lambda W, B: W.rmatmat(B),
            lambda W, B: W.matvec(B[:, 0]),
            lambda W, B: W.rmatvec(B[:, 0]),
        ],
        ids=["@", "T @", "@ vector", "T @ vector", "matmat", "rmatmat", "matvec", "rmatvec"],
    )
    def test_vectors_of_wrong_length(self, ops, apply, n_rows):
        with pytest.raises(ValueError, match=mentions(number(N_SAMPLES), number(n_rows))):
            apply(ops.trajectory([0, 1]), np.ones((n_rows, 3)))

    @pytest.mark.parametrize(
        ("options", "fragments"),
        [
            ({"rows": [0, N_SAMPLES]}, ["rows", number(N_SAMPLES)]),
            ({"rows": [0, -N_SAMPLES - 1]}, ["rows", number(-N_SAMPLES - 1)]),
            ({"rows": [0, 1], "weighting": "heavy"}, ["weighting", "heavy", "stationary"]),
        ],
    )
    def test_diffusion_distances(self, ops, options, fragments):
        with pytest.raises(ValueError, match=mentions(*fragments)):
            ops.trajectory([0, 1]).diffusion_distances(**options)

    @pytest.mark.parametrize(
        ("options", "fragments"),
        [
            ({"prune_below": -0.1}, ["prune_below", r"-0\.1"]),
            ({"prune_below": np.nan}, ["prune_below", "nan"]),
            ({"top": 0}, ["top", number(0)]),
        ],
    )
    def test_pruning(self, ops, options, fragments):
        with pytest.raises(ValueError, match=mentions(*fragments)):
            ops.trajectory([0, 1]).tosparse(**options)


class TestMemory:
    """Products that are too large are refused before allocation, with their size."""

    N_LARGE = 2_000_000

    @pytest.fixture
    def star(self):
        # Points step to the hub or stay, the hub to any point: two steps fill the matrix.
        n = self.N_LARGE
        data = np.concatenate([np.full(n, 1 / n), np.full(2 * (n - 1), 0.5)])
        others = np.arange(1, n)
        indices = np.concatenate([np.arange(n), np.column_stack([np.zeros_like(others), others]).ravel()])
        indptr = np.concatenate([[0], n + 2 * np.arange(n)])
        P = scipy.sparse.csr_array((data, indices, indptr), shape=(n, n))
        return mdt.OperatorSet.from_transitions([P])

    def test_dense(self, star):
        with pytest.raises(MemoryError, match=r"\d ?GB"):
            star.trajectory([0]).toarray()

    def test_exact_sparse(self, star):
        with pytest.raises(MemoryError, match=r"\d ?GB"):
            star.trajectory([0, 0]).tosparse()

    def test_uniform_member(self, star):
        with pytest.raises(MemoryError, match=r"\d ?GB"):
            star.with_uniform().trajectory([1]).tosparse()

    def test_set_is_still_usable(self, star):
        W = star.trajectory([0, 0])
        with pytest.raises(MemoryError, match="GB"):
            W.toarray()
        np.testing.assert_allclose(W @ np.ones(self.N_LARGE), 1.0, rtol=0, atol=1e-12)


def test_bandwidth_is_checked_for_every_kernel():
    with pytest.raises(ValueError, match=r"bandwidth.*positive.*-1"):
        mdt.build_operators(good_view(), kernel="adaptive", bandwidth=-1)
    with pytest.raises(TypeError, match=r"bandwidth.*None"):
        mdt.build_operators(good_view(), bandwidth=None)


@pytest.mark.parametrize("powers", [3, [2**40]])
def test_powers(powers):
    with pytest.raises((TypeError, ValueError), match="powers"):
        mdt.build_operators(good_view()).with_powers(powers)


def test_sparse_vectors():
    W = mdt.build_operators(good_view()).trajectory([0])
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        W.matmat(scipy.sparse.eye_array(N_SAMPLES))
