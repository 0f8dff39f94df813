"""Operator sets: their members, constructors from matrices, the check() report, copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

import mdt_fast as mdt
from helpers import oracle


@pytest.fixture
def ops(views):
    return mdt.build_operators(views[:2], n_neighbors=5)


@pytest.fixture
def dense(views):
    return [oracle.operator(X, n_neighbors=5) for X in views[:2]]


def dense_members(ops):
    return [np.asarray(member @ np.eye(ops.n_samples)) for member in ops]


def assert_members(ops, expected):
    assert len(ops) == len(expected)
    for member, matrix in zip(dense_members(ops), expected, strict=True):
        np.testing.assert_allclose(member, matrix, rtol=0, atol=1e-12)


class TestMembers:
    def test_base_views(self, ops, dense):
        assert_members(ops, dense)
        assert isinstance(ops.views, tuple)
        for member, view in zip(ops, ops.views, strict=True):
            assert isinstance(member, scipy.sparse.csr_array)
            assert (member != view).nnz == 0

    def test_mean(self, ops, dense):
        assert_members(ops.with_mean(), [*dense, sum(dense) / len(dense)])
        assert ops.with_identity().with_mean().with_mean().names[-2:] == ["mean", "mean (2)"]

    def test_mean_of_one_view_is_the_view(self, ops, dense):
        alone = mdt.OperatorSet.from_transitions([dense[0]]).with_mean()
        assert_members(alone, [dense[0], dense[0]])
        one, other = (mdt.select_time(alone, view=member, method="exact").entropies for member in (0, 1))
        np.testing.assert_array_equal(one, other)

    def test_check_of_the_mean(self, ops):
        view, mean = (ops.with_mean().check(warn=False).members[i] for i in (0, 2))
        (given,) = mdt.OperatorSet.from_transitions([sum(ops.views) / 2]).check(warn=False).members
        assert (view.kind, mean.kind, mean.stochastic, mean.n_duplicates) == ("walk", "mean", True, None)
        for field in ("positive_diagonal", "n_components", "n_isolated", "near_identity"):
            assert getattr(mean, field) == getattr(given, field)
        np.testing.assert_allclose(mean.mean_self_probability, given.mean_self_probability, rtol=1e-12)

    def test_identity(self, ops, dense):
        assert_members(ops.with_identity(), [*dense, oracle.identity(40)])

    def test_uniform(self, ops, dense):
        assert_members(ops.with_uniform(), [*dense, oracle.uniform(40)])

    @pytest.mark.parametrize("to", ["uniform", 2, 3])
    @pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
    def test_teleport(self, ops, dense, alpha, to):
        expected = [*dense, *(oracle.teleport(P, alpha, to) for P in dense)]
        assert_members(ops.with_teleport(alpha, to=to), expected)

    def test_teleport_defaults(self, ops, dense):
        assert_members(ops.with_teleport(), [*dense, *(oracle.teleport(P) for P in dense)])

    @pytest.mark.parametrize("powers", [(2,), (2, 3), [5, 2]])
    def test_powers_go_through_all_views_for_each_power(self, ops, dense, powers):
        expected = [np.linalg.matrix_power(P, s) for s in powers for P in dense]
        assert_members(ops.with_powers(powers), [*dense, *expected])

    def test_user_transitions_are_members_but_not_views(self, rng, ops, dense):
        P = rng.dirichlet(np.ones(40), size=40)
        more = ops.with_transitions([P, scipy.sparse.csr_array(P @ P)], names=["mine", "twice"])
        assert_members(more, [*dense, P, P @ P])
        assert len(more.views) == 2
        assert more.names == ["view 0", "view 1", "mine", "twice"]

    def test_additions_use_base_views_only_and_stack(self, ops, dense):
        more = ops.with_identity().with_uniform().with_teleport(0.5).with_powers((2,))
        expected = [
            *dense,
            oracle.identity(40),
            oracle.uniform(40),
            *(oracle.teleport(P, 0.5) for P in dense),
            *(P @ P for P in dense),
        ]
        assert_members(more, expected)
        assert len(more.views) == 2
        assert len(set(more.names)) == len(more)

    def test_additions_leave_the_set_unchanged(self, ops, dense):
        names = list(ops.names)
        for more in (ops.with_identity(), ops.with_uniform(), ops.with_teleport(), ops.with_powers((2,))):
            assert more is not ops
        assert ops.names == names
        assert_members(ops, dense)

    def test_implicit_members_are_linear_operators(self, rng, ops):
        more = ops.with_uniform().with_teleport().with_powers((3,))
        block = rng.normal(size=(40, 4))
        for member in list(more)[2:]:
            assert isinstance(member, LinearOperator)
            assert member.shape == (40, 40)
            # Its transpose must be that of the same matrix.
            np.testing.assert_allclose(member.T @ block, (member @ np.eye(40)).T @ block, rtol=0, atol=1e-12)

    def test_large_uniform_member_takes_no_memory(self):
        n = 200_000
        ops = mdt.OperatorSet.from_transitions([scipy.sparse.eye_array(n, format="csr")]).with_uniform()
        b = np.zeros(n)
        b[7] = 1.0
        np.testing.assert_allclose(ops[1] @ b, np.full(n, 1 / n), rtol=1e-12)

    def test_indexing(self, ops):
        assert (ops[-1] != ops[1]).nnz == 0
        with pytest.raises(IndexError):
            ops[2]
        with pytest.raises(IndexError):
            ops[-3]

    @pytest.mark.parametrize("extend", [lambda ops: ops, lambda ops: ops.with_identity().with_uniform()])
    def test_mean_is_one_step_over_all_members(self, ops, extend):
        ops = extend(ops)
        mean = ops.mean()
        assert isinstance(mean, mdt.Trajectory)
        assert len(mean) == 1
        np.testing.assert_allclose(mean.weights, np.full((1, len(ops)), 1 / len(ops)), rtol=1e-15)
        np.testing.assert_allclose(mean.toarray(), np.mean(dense_members(ops), axis=0), rtol=0, atol=1e-12)

    def test_n_jobs_is_kept(self, views):
        ops = mdt.build_operators(views, n_jobs=2)
        assert ops.n_jobs == 2
        assert ops.with_identity().n_jobs == 2


class TestFromMatrices:
    @pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
    @pytest.mark.parametrize("anisotropy", [0.0, 1.0])
    def test_affinities(self, views, wrap, anisotropy):
        Ks = [oracle.affinity(X) for X in views]
        ops = mdt.OperatorSet.from_affinities([wrap(K) for K in Ks], anisotropy=anisotropy)
        assert_members(ops, [oracle.transition(oracle.anisotropic(K, anisotropy)) for K in Ks])
        assert len(ops.views) == 3
        assert ops.names == ["view 0", "view 1", "view 2"]

    def test_affinities_of_any_scale(self, views):
        K = oracle.affinity(views[0])
        ops = mdt.OperatorSet.from_affinities([1e-200 * K, 1e200 * K])
        assert_members(ops, [oracle.transition(K)] * 2)

    @pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix])
    def test_transitions(self, rng, wrap):
        Ps = [rng.dirichlet(np.ones(9), size=9) for _ in range(2)]
        ops = mdt.OperatorSet.from_transitions([wrap(P) for P in Ps])
        assert_members(ops, Ps)
        assert len(ops.views) == 2

    @pytest.mark.parametrize("make", ["from_affinities", "from_transitions"])
    def test_names_and_dtype(self, make):
        matrices = [np.eye(4), np.full((4, 4), 0.25)]
        ops = getattr(mdt.OperatorSet, make)(matrices, names=["still", "mixed"], dtype="float32", n_jobs=1)
        assert ops.names == ["still", "mixed"]
        assert ops.dtype == np.float32
        assert ops.views[1].dtype == np.float32
        assert ops.n_jobs == 1

    def test_input_is_neither_changed_nor_shared(self):
        K = scipy.sparse.csr_array(np.array([[1.0, 3.0], [3.0, 1.0]]))
        ops = mdt.OperatorSet.from_affinities([K])
        np.testing.assert_array_equal(K.data, [1, 3, 3, 1])
        K.data[:] = 7.0
        np.testing.assert_allclose(ops.views[0].toarray(), [[0.25, 0.75], [0.75, 0.25]], rtol=1e-15)

    def test_round_trip_of_transitions(self, ops):
        again = mdt.OperatorSet.from_transitions(ops.views)
        for P, Q in zip(ops.views, again.views, strict=True):
            np.testing.assert_allclose(P.toarray(), Q.toarray(), rtol=0, atol=1e-15)


class TestCheck:
    def test_valid_set_has_no_warnings(self, views):
        # The suite turns warnings into errors, so this call also shows that none is issued.
        ops = mdt.build_operators(views, n_neighbors=8)
        report = ops.check()
        assert report.warnings == []
        assert [record.name for record in report.members] == ops.names
        for record in report.members:
            assert record.stochastic
            assert record.positive_diagonal
            assert 0 <= record.max_row_error <= 1e-12
            assert (record.n_components, record.n_isolated, record.n_duplicates) == (1, 0, 0)
            assert not record.near_identity
            assert isinstance(record.kind, str)

    def test_table_names_every_member(self, views):
        ops = mdt.build_operators({"sight": views[0], "sound": views[1]}, n_neighbors=8).with_uniform()
        table = str(ops.check(warn=False))
        assert all(name in table for name in ops.names)

    def test_disconnected(self, rng):
        X = rng.normal(size=(30, 2))
        X[10:20] += 1e6
        X[20:] -= 1e6
        ops = mdt.build_operators(X, n_neighbors=3, kernel="binary")
        n_components = scipy.sparse.csgraph.connected_components(ops.views[0])[0]
        assert n_components >= 3
        with pytest.warns(mdt.OperatorWarning, match=rf"view 0.*{n_components}"):
            report = ops.check()
        assert report.members[0].n_components == n_components
        assert report.warnings

    def test_underflow_is_near_identity(self, rng):
        ops = mdt.build_operators(rng.normal(size=(20, 2)), bandwidth=1e-3)
        report = ops.check(warn=False)
        assert any("identity" in warning for warning in report.warnings)
        record = report.members[0]
        assert record.near_identity
        assert record.n_isolated == 20
        assert record.n_components == 20

    def test_isolated_points_are_counted(self):
        K = scipy.sparse.block_diag([np.ones((3, 3)), 1.0, 1.0]).toarray()
        record = mdt.OperatorSet.from_affinities([K]).check(warn=False).members[0]
        assert record.n_isolated == 2
        assert record.n_components == 3
        assert not record.near_identity

    def test_duplicates_are_counted(self, rng):
        X = rng.normal(size=(20, 2))
        X[1] = X[0]
        X[4] = X[5] = X[6]
        assert mdt.build_operators(X, n_neighbors=6).check(warn=False).members[0].n_duplicates == 5

    def test_duplicates_of_matrices_are_unknown(self):
        report = mdt.OperatorSet.from_affinities([np.ones((3, 3))]).check(warn=False)
        assert report.members[0].n_duplicates is None

    def test_missing_self_loops(self):
        shift = np.roll(np.eye(4), 1, axis=1)
        ops = mdt.OperatorSet.from_transitions([shift])
        with pytest.warns(mdt.OperatorWarning, match="diagonal"):
            record = ops.check().members[0]
        assert not record.positive_diagonal
        assert record.n_components == 1

    def test_implicit_members(self, rng):
        X = rng.normal(size=(30, 2))
        X[15:] += 1e6
        ops = mdt.build_operators(X, n_neighbors=3).with_identity().with_uniform()
        ops = ops.with_teleport().with_powers((2,))
        base, identity, uniform, teleport, power = ops.check(warn=False).members
        assert base.n_components >= 2
        assert (identity.n_components, identity.n_isolated) == (30, 30)
        assert identity.near_identity
        assert (uniform.n_components, uniform.n_isolated) == (1, 0)
        assert teleport.n_components == 1
        assert power.n_components == base.n_components
        for record in (base, identity, uniform, teleport, power):
            assert record.stochastic
            assert record.positive_diagonal
            assert record.max_row_error <= 1e-12

    def test_quiet_check_reports_the_same(self, rng):
        ops = mdt.build_operators(rng.normal(size=(20, 2)), bandwidth=1e-3)
        quiet = ops.check(warn=False)
        with pytest.warns(mdt.OperatorWarning) as caught:
            loud = ops.check()
        assert quiet.warnings == loud.warnings
        assert [str(warning.message) for warning in caught] == loud.warnings


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda ops: pickle.loads(pickle.dumps(ops))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_equal(views, duplicate):
    ops = (
        mdt.build_operators({"sight": views[0], "sound": views[1]}, n_jobs=2)
        .with_identity()
        .with_uniform()
        .with_teleport(0.7, to=2)
        .with_powers((3,))
        .with_transitions([np.eye(40)], names=["mine"])
    )
    again = duplicate(ops)
    assert again.names == ops.names
    assert again.dtype == ops.dtype
    assert again.bandwidths == ops.bandwidths
    assert again.n_jobs == ops.n_jobs
    for member, expected in zip(dense_members(again), dense_members(ops), strict=True):
        np.testing.assert_array_equal(member, expected)
    np.testing.assert_array_equal(again.trajectory([0, 3, 6]).toarray(), ops.trajectory([0, 3, 6]).toarray())
    assert str(again.check(warn=False)) == str(ops.check(warn=False))


class TestUnevenWalks:
    """Degrees or affinities so uneven that a shortcut would overflow or underflow."""

    @pytest.mark.parametrize(("small", "dtype"), [(1e-50, np.float32), (1e-309, np.float64)])
    def test_transposed_products_stay_finite(self, small, dtype):
        K = np.kron(np.diag([1.0, small]), np.ones((2, 2)))
        W = mdt.OperatorSet.from_affinities([K], dtype=dtype).trajectory([0])
        np.testing.assert_allclose(W.T @ np.ones(4), 1.0, rtol=1e-6)

    @pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
    def test_anisotropy_does_not_depend_on_the_scale_of_the_affinity(self, scale):
        K = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 1.0]])
        expected = mdt.OperatorSet.from_affinities([K], anisotropy=2).views[0].toarray()
        found = mdt.OperatorSet.from_affinities([scale * K], anisotropy=2).views[0].toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_asymmetry_is_measured_entry_by_entry(self):
        K = np.eye(3) * 1e11
        K[1, 2] = 1.0
        with pytest.raises(ValueError, match=r"Ks\[0\].*symmetric.*\(1, 2\)"):
            mdt.OperatorSet.from_affinities([K])

    def test_rounding_of_float32_is_not_asymmetry(self, rng):
        K = np.exp(-np.abs(rng.normal(size=(20, 1)) - rng.normal(size=(1, 20)))).astype(np.float32)
        K = K + K.T
        K[3, 4] = np.nextafter(K[3, 4], np.float32(9))
        assert mdt.OperatorSet.from_affinities([K]).dtype == np.float32


class TestNames:
    def test_members_by_name(self, rng):
        ops = mdt.build_operators({"rna": rng.normal(size=(20, 3)), "protein": rng.normal(size=(20, 3))})
        np.testing.assert_array_equal(ops["protein"].toarray(), ops[1].toarray())
        with pytest.raises(KeyError, match="'atac'"):
            ops["atac"]

    def test_a_second_identity_has_its_own_name(self, rng):
        ops = mdt.build_operators(rng.normal(size=(20, 3))).with_identity().with_identity()
        assert ops.names == ["view 0", "identity", "identity (2)"]
        assert ops.trajectory(["identity (2)"]).sequence == (2,)

    def test_one_bare_matrix_can_be_added(self, rng):
        ops = mdt.build_operators(rng.normal(size=(20, 3)))
        for P in (np.eye(20), scipy.sparse.eye_array(20, format="csr")):
            assert ops.with_transitions(P).names == ["view 0", "given 0"]


def test_unpickled_from_unaligned_buffers():
    """Protocol 5 passes arrays as buffers of any alignment, as on the workers of Dask."""
    ops = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 60, 3))))
    buffers = []
    text = pickle.dumps(ops, protocol=5, buffer_callback=buffers.append)
    odd = [memoryview(b"x" + buffer.raw())[1:] for buffer in buffers]
    assert odd
    found = pickle.loads(text, buffers=odd)
    np.testing.assert_array_equal(found.trajectory([0, 1]).toarray(), ops.trajectory([0, 1]).toarray())
    new = np.random.default_rng(1).normal(size=(2, 5, 3))
    for one, other in zip(found.new_rows(list(new)), ops.new_rows(list(new)), strict=True):
        np.testing.assert_array_equal(one.toarray(), other.toarray())
