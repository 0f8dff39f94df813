"""Members of operator sets and the strategies of the compiled core."""

import copy
import pickle

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast import _core
from mdt_fast._core import Member

N_SAMPLES = 40
MEMBERS = [
    Member.walk(1),
    Member.mean(3),
    Member.identity(),
    Member.uniform(),
    Member.power(2, 3),
    Member.teleport(0, 0.7),
    Member.teleport(0, 0.7, 4),
    Member.teleport(1, 1.0),
    Member.teleport(1, 0.0),
]


@pytest.fixture(name="walks", scope="module")
def stored_walks():
    rng = np.random.default_rng(0)
    return mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)) for _ in range(3)])


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_the_shares_of_a_member_are_its_action(walks, member):
    dense = [P.toarray() for P in walks.views]
    expected = member.identity_share * np.eye(N_SAMPLES) + member.uniform_share / N_SAMPLES
    for power in member.powers:
        expected = expected + power.weight * np.linalg.matrix_power(dense[power.base], power.exponent)
    native = _core.OperatorSet(list(walks.transitions), [member])
    np.testing.assert_allclose(native.apply(np.ones((1, 1)), np.eye(N_SAMPLES), False, 1), expected, atol=1e-14)
    shares = [member.identity_share, member.uniform_share, *(power.weight for power in member.powers)]
    assert sum(shares) == pytest.approx(1)
    assert member.bases == tuple(sorted({power.base for power in member.powers}))


@pytest.mark.parametrize("member", MEMBERS, ids=repr)
def test_members_are_values(member):
    for again in (pickle.loads(pickle.dumps(member)), copy.deepcopy(member), eval(repr(member))):
        assert again == member
        assert hash(again) == hash(member)
    assert [other == member for other in MEMBERS].count(True) == 1
    assert member != (member.kind,)
    assert repr(member).startswith(f"Member.{member.kind}(")
    with pytest.raises(AttributeError):
        member.kind = "walk"


@pytest.mark.parametrize("member", [Member.walk(3), Member.mean(4), Member.power(3, 1)], ids=repr)
def test_members_that_do_not_fit_are_refused(walks, member):
    with pytest.raises(ValueError, match="does not fit a set of 3 operators"):
        _core.OperatorSet(list(walks.transitions), [member])


def test_names_for_other_modules(walks):
    ops = walks.with_powers([2]).with_mean().with_uniform()
    assert [member.kind for member in ops.members] == ["walk"] * 3 + ["power"] * 3 + ["mean", "uniform"]
    assert ops.stored_walks([0, 4]) == [0, 1]
    assert ops.stored_walks([6, 7]) == [0, 1, 2]
    for no_indices in (3, np.array(3)):
        with pytest.raises(TypeError, match="indices: expected indices of members"):
            ops.stored_walks(no_indices)
    assert (ops.walk_matrix(1) != ops.views[1]).nnz == 0
    assert pickle.loads(pickle.dumps(ops)).members == ops.members


def test_strategies_count_what_they_visit():
    beam = _core.Beam(width=2, depth=3, side="left")
    assert beam.visits(4) == 4 + 8 + 8
    assert _core.Exhaustive(depth=3).visits(2) == 2 + 4 + 8
    drawn = _core.RandomSequences(n=5, probabilities=np.full((3, 2), 0.5), seed=0)
    assert drawn.visits(2) == 5
    assert len(drawn.first(2)) == 3
    assert all(isinstance(each, _core.Strategy) for each in (beam, drawn))
    with pytest.raises(ValueError, match="side: expected 'left' or 'right', got \"up\""):
        _core.Beam(width=2, depth=3, side="up")
    with pytest.raises(TypeError):
        _core.Beam(2, 3, "left")
