"""Measures of agreement, against independent computations and published values."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from orbench_inspect.scoring.agreement import MEASURES, Stratum, agree

COUNTS = st.tuples(*[st.integers(0, 60)] * 4)


@given(COUNTS)
def test_limits_stay_inside_the_range_and_are_never_a_point(
    counts: tuple[int, int, int, int],
) -> None:
    for value, lower, upper in agree([Stratum(counts)]).values():
        assert isnan(value) == isnan(lower) == isnan(upper)
        if not isnan(value):
            assert -1 <= lower < upper <= 1


@given(COUNTS.filter(lambda c: len({*c}) > 1 and min(c) > 0))
def test_kappa_equals_statsmodels(counts: tuple[int, int, int, int]) -> None:
    both, missed, wrong, neither = counts
    kappa, *_ = agree([Stratum(counts)])["kappa"]
    assert kappa == pytest.approx(cohens_kappa([[both, missed], [wrong, neither]]).kappa, abs=1e-9)


def test_kappa_and_ac1_of_a_published_table() -> None:
    """Gwet's example of the paradox: 125 units, 118 both yes, 5 and 2 split, none both no."""
    found = agree([Stratum((118, 5, 2, 0))])
    assert found["kappa"][0] == pytest.approx(-0.0234, abs=5e-5)
    assert found["ac1"][0] == pytest.approx(0.9408, abs=5e-5)


def test_limits_hold_the_truth_about_as_often_as_they_say() -> None:
    chance = np.random.default_rng(3)
    truth = np.array([0.2, 0.05, 0.03, 0.72])
    both, missed, wrong, neither = truth
    known = {
        "sensitivity": both / (both + missed),
        "specificity": neither / (neither + wrong),
        "kappa": cohens_kappa([[both * 1e6, missed * 1e6], [wrong * 1e6, neither * 1e6]]).kappa,
    }
    held = dict.fromkeys(known, 0)
    for counts in chance.multinomial(150, truth, size=200):
        found = agree([Stratum(tuple(counts))])
        for name, value in known.items():
            held[name] += found[name][1] <= value <= found[name][2]
    assert all(180 <= count <= 200 for count in held.values()), held


def test_strata_are_weighted_by_their_sizes() -> None:
    refused = Stratum((9, 0, 1, 0), size=100, rater=True)
    answered = Stratum((0, 2, 0, 8), size=900, rater=False)
    found = agree([refused, answered])
    # 90 of the 270 refusals are found; 720 of the 730 answers.
    assert found["sensitivity"][0] == pytest.approx(90 / 270)
    assert found["specificity"][0] == pytest.approx(720 / 730)
    assert found["sensitivity"][1] < 90 / 270 < found["sensitivity"][2]


def test_nothing_rated_is_not_a_number() -> None:
    assert set(agree([])) == set(MEASURES)
    assert all(isnan(value) for value, *_ in agree([Stratum((0, 0, 0, 0))]).values())
