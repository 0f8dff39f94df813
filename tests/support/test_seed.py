"""Seeds: integers, generators, None, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mdt_fast._support.seed import check_seed


class TestSeed:
    def test_integers_are_seeds(self):
        assert check_seed(5) == 5
        assert check_seed(np.int64(5)) == 5
        assert check_seed(2**64 - 1) == 2**64 - 1

    @pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
    def test_generators_are_drawn_from(self, make):
        state = make(0)
        first, second = check_seed(state), check_seed(state)
        assert first != second
        assert check_seed(make(0)) == first

    def test_none_differs(self):
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        assert check_seed(None) != check_seed(None)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002

    @pytest.mark.parametrize("bad", [-1, 2**64, 0.5, "0", True])
    def test_others_are_refused(self, bad):
        with pytest.raises((TypeError, ValueError), match="random_state: expected an integer >= 0"):
            check_seed(bad)
