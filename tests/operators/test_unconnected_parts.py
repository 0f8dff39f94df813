"""The number of parts that no step of a trajectory joins, against SciPy's strongly connected components."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import mdt_fast as mdt


def closed_parts(matrices: list[np.ndarray]) -> int:
    """Return the number of strongly connected components of the union that no entry leaves."""
    union = sparse.csr_array(sum(each > 0 for each in matrices))
    count, label = connected_components(union, directed=True, connection="strong")
    row, column = union.nonzero()
    leaves = label[row] != label[column]
    return int(count - len(np.unique(label[row[leaves]])))


def walk(generator: np.random.Generator, n: int, n_entries: int) -> np.ndarray:
    entries = np.zeros((n, n))
    for i in range(n):
        entries[i, generator.integers(n, size=generator.integers(1, n_entries + 1))] = 1
    return entries / entries.sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.integers(1, 3), st.sampled_from(["float32", "float64"]))
def test_parts_of_random_walks(seed: int, n: int, n_entries: int, dtype: str) -> None:
    generator = np.random.default_rng(seed)
    walks = [walk(generator, n, n_entries) for _ in range(3)]
    ops = mdt.OperatorSet.from_transitions([sparse.csr_array(each.astype(dtype)) for each in walks])
    for used in ([0], [2], [0, 1], [0, 1, 2, 0]):
        assert ops.trajectory(used).n_unconnected_parts == closed_parts([walks[v] for v in used])


def test_jumps_join_all_and_idle_steps_join_none() -> None:
    ops = mdt.OperatorSet.from_transitions([np.eye(6), np.full((6, 6), 1 / 6)])
    assert ops.trajectory([0, 0]).n_unconnected_parts == 6
    assert ops.trajectory([0, 1]).n_unconnected_parts == 1
    jumping = ops.with_teleport(0.9)
    assert jumping.trajectory([len(jumping.members) - 1]).n_unconnected_parts == 1


@pytest.mark.parametrize("absent", ["borrow", "stay"])
def test_rows_of_lacking_samples_count(absent: str) -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 40, 3))
    # Two far groups in the first view; the second view joins them through samples that the first lacks.
    first[:20] += 100
    first[5] = np.nan
    ops = mdt.build_operators([first, second], n_neighbors=4, absent=absent)
    for used in ([0], [1], [0, 1]):
        dense = [ops.walk_matrix(v).toarray() for v in used]
        assert ops.trajectory(used).n_unconnected_parts == closed_parts(dense)
