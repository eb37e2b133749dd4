"""Paired statistics against published examples and independent computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from orbench_inspect.analysis.paired import (
    _tango_z,
    binary_pairs,
    mcnemar_exact,
    minimum_detectable,
    power_not_worse,
    tango_interval,
    weighted_pairs,
)


def test_tango_interval_agrees_with_a_published_example() -> None:
    # Airway reactivity before and after transplantation, 21 children, discordant 1 and 7:
    # Fagerland, Lydersen and Laake, Stat. Med. 33 (2014), table VI: -0.517 to -0.026.
    lower, upper = tango_interval(1, 7, 21)
    assert (round(lower, 3), round(upper, 3)) == (-0.517, -0.026)


@pytest.mark.parametrize(("up", "down", "n"), [(1, 7, 21), (5, 80, 250), (12, 9, 655), (0, 4, 60)])
@pytest.mark.parametrize("limit", [-0.3, -0.02, 0.0, 0.1])
def test_tango_s_statistic_uses_the_constrained_maximum_likelihood(
    up: int, down: int, n: int, limit: float
) -> None:
    # His closed form against a search: maximise the likelihood of the discordant cells given
    # their difference, then score the distance.
    grid = np.linspace(max(0.0, -limit), (1 - limit) / 2, 400_001)[1:-1]
    likelihood = (
        up * np.log(grid + limit)
        + down * np.log(grid)
        + (n - up - down) * np.log1p(-2 * grid - limit)
    )
    q = grid[np.argmax(likelihood)]
    expected = (up - down - n * limit) / np.sqrt(n * (2 * q + limit * (1 - limit)))
    assert _tango_z(up, down, n, limit) == pytest.approx(expected, abs=2e-3)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 100))
def test_tango_interval_holds_the_estimate_and_turns_with_the_arms(
    up: int, down: int, same: int
) -> None:
    n = up + down + same
    lower, upper = tango_interval(up, down, n)
    assert -1 <= lower <= upper <= 1
    if n:
        assert lower - 1e-9 <= (up - down) / n <= upper + 1e-9
        assert tango_interval(down, up, n) == pytest.approx((-upper, -lower), abs=1e-6)


def test_tango_at_zero_discordance_is_wilson_s_upper_limit() -> None:
    z2 = norm.ppf(0.975) ** 2
    assert tango_interval(0, 0, 44) == pytest.approx((-z2 / (44 + z2), z2 / (44 + z2)), abs=1e-6)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_discordant_pairs(up: int, down: int) -> None:
    expected = binomtest(up, up + down).pvalue if up + down else 1.0
    assert mcnemar_exact(up, down) == pytest.approx(expected)


def test_the_published_contrast() -> None:
    found = binary_pairs(80, 5, 250, 0.02)
    assert found.difference == pytest.approx(0.30)
    assert found.p == pytest.approx(1.8e-18, rel=0.01)
    assert found.p_fewer == pytest.approx(1.0)


def test_power_of_a_known_example() -> None:
    # 2 points at n = 655 and 10% discordance: 34.9% in 20,000 simulated studies. The plain
    # normal approximation says 37%, and 69% where simulation finds 27% (n = 150, 1%).
    assert power_not_worse(655, 0.10, 0.02) == pytest.approx(0.349, abs=0.01)
    assert power_not_worse(150, 0.01, 0.02) == pytest.approx(0.269, abs=0.02)


@pytest.mark.parametrize(("n", "discordance"), [(655, 0.1), (1319, 0.05), (250, 0.34)])
def test_the_minimum_detectable_difference_is_found_as_often_as_it_says(
    n: int, discordance: float
) -> None:
    difference = minimum_detectable(n, discordance)
    chance = np.random.default_rng(1)
    up = (discordance + difference) / 2
    cells = chance.multinomial(n, [up, discordance - up, 1 - discordance], size=4000)
    z = (cells[:, 0] - cells[:, 1]) / np.sqrt(np.maximum(cells[:, 0] + cells[:, 1], 1))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.80, abs=0.03)


def test_nothing_is_detectable_where_too_few_prompts_differ() -> None:
    assert np.isnan(minimum_detectable(60, 0.02))
    assert np.isnan(minimum_detectable(0, 0.5))


def test_weighted_pairs_agree_with_the_exact_methods_where_both_apply() -> None:
    differences = np.array([1.0] * 12 + [-1.0] * 30 + [0.0] * 300)
    exact = binary_pairs(12, 30, 342, 0.02)
    found = weighted_pairs(differences, np.ones(342), 0.02)
    assert found.difference == pytest.approx(exact.difference)
    assert (found.up, found.down) == (12, 30)
    assert found.p == pytest.approx(exact.p, abs=0.01)
    assert found.p_fewer == pytest.approx(exact.p_fewer, abs=0.01)
    assert found.lower == pytest.approx(exact.lower, abs=0.005)
    assert found.p_not_worse == pytest.approx(exact.p_not_worse, abs=0.02)
    assert found.upper == pytest.approx(exact.upper, abs=0.005)


def test_weighted_pairs_are_the_same_every_time() -> None:
    differences = np.array([0.5, -1.0, 0.0, 0.25] * 20)
    weights = np.array([1.0, 2.0] * 40)
    assert weighted_pairs(differences, weights, 0.02) == weighted_pairs(differences, weights, 0.02)


def test_no_pairs_say_nothing() -> None:
    for found in (binary_pairs(0, 0, 0, 0.02), weighted_pairs(np.array([]), np.array([]), 0.02)):
        assert (found.lower, found.upper) == (-1.0, 1.0)
        assert (found.p, found.p_fewer, found.p_not_worse) == (1.0, 1.0, 1.0)


def test_a_few_pairs_that_all_agree_are_not_certainty() -> None:
    found = weighted_pairs(np.zeros(10), np.ones(10), 0.02)
    assert found.lower < -0.1
    assert found.p_not_worse > 0.2


@pytest.mark.parametrize("epochs", [2, 8])
def test_the_claim_not_worse_keeps_its_level_with_epochs(epochs: int) -> None:
    chance = np.random.default_rng(5)
    false = 0
    for _ in range(1000):
        # Two points worse in truth, which is the margin.
        base = chance.random((150, epochs)) < 0.90
        arm = chance.random((150, epochs)) < 0.88
        differences = arm.mean(axis=1) - base.mean(axis=1)
        false += weighted_pairs(differences, np.ones(150), 0.02).p_not_worse <= 0.025
    assert false / 1000 < 0.04


@pytest.mark.parametrize(("n", "discordance"), [(655, 0.1), (655, 0.02), (200, 0.05)])
def test_power_is_what_simulation_finds(n: int, discordance: float) -> None:
    chance = np.random.default_rng(6)
    half = discordance / 2
    cells = chance.multinomial(n, [half, half, 1 - discordance], size=2000)
    shown = sum(binary_pairs(int(a), int(b), n, 0.02).p_not_worse <= 0.025 for a, b, _ in cells)
    assert power_not_worse(n, discordance, 0.02) == pytest.approx(shown / 2000, abs=0.08)


def test_forty_thousand_weighted_pairs_take_no_time() -> None:
    chance = np.random.default_rng(7)
    found = weighted_pairs(chance.choice([-1.0, 0.0, 1.0], 40_000), chance.random(40_000), 0.02)
    assert 20_000 < found.effective < 40_000
