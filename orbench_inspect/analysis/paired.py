"""Two arms on the same prompts: differences, intervals, tests, and what they could have seen.

A difference is the arm's refusal rate minus the baseline's. With one epoch and equal weights
the counts of discordant pairs say all; otherwise prompts' differences are weighted.
"""

from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr

LEVEL = 0.95
_MOST_FLIPPED = 2_000
_SEED = 20_240_531

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Paired:
    """A paired difference and how sure it is."""

    n: int
    """Pairs in which both arms were scored."""
    up: float
    """Prompts the arm refused and the baseline answered (with epochs: that moved up)."""
    down: float
    """Prompts the baseline refused and the arm answered (with epochs: that moved down)."""
    difference: float
    lower: float
    upper: float
    p: float
    """Two-sided p of no difference."""
    p_fewer: float
    """One-sided p against "the arm refuses no fewer"."""
    p_not_worse: float
    """One-sided p against "the arm refuses fewer by the margin or more"."""
    effective: float
    """Effective number of pairs: all of them, less where their weights differ."""
    discordance: float
    """Mean square of a pair's difference: the share of discordant pairs where all is 0 or 1."""
    method: str


def compare_values(
    arm: Floats, baseline: Floats, margin: float, weights: Floats | None = None
) -> Paired:
    """Compare prompts' values: by counts if all are 0 or 1 and equally weighted, else by weights.

    Args:
        arm: The arm's value of each prompt.
        baseline: The baseline's, in the same order.
        margin: The margin, as a proportion.
        weights: Weights of the prompts, in any unit; None for equal ones.
    """
    differences = arm - baseline
    if weights is None and bool(np.isin([arm, baseline], (0.0, 1.0)).all()):
        up, down = int((differences > 0).sum()), int((differences < 0).sum())
        return binary_pairs(up, down, len(differences), margin)
    equal = np.ones(len(differences))
    return weighted_pairs(differences, equal if weights is None else weights, margin)


def binary_pairs(up: int, down: int, n: int, margin: float) -> Paired:
    """Compare by counts of discordant pairs.

    Exact McNemar tests; Tango's score interval, and his score test at the margin.

    Args:
        up: Pairs in which only the arm refused.
        down: Pairs in which only the baseline refused.
        n: All pairs.
        margin: The margin, as a proportion.
    """
    lower, upper = tango_interval(up, down, n)
    return Paired(
        n=n,
        up=up,
        down=down,
        difference=(up - down) / n if n else float("nan"),
        lower=lower,
        upper=upper,
        p=mcnemar_exact(up, down),
        p_fewer=float(bdtr(up, up + down, 0.5)) if up + down else 1.0,
        p_not_worse=float(ndtr(-_tango_z(up, down, n, -margin))) if n else 1.0,
        effective=n,
        discordance=(up + down) / n if n else 0.0,
        method="exact McNemar, Tango interval",
    )


def mcnemar_exact(up: int, down: int) -> float:
    """Two-sided exact p of McNemar's test (McNemar, Psychometrika 12, 1947)."""
    if up + down == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(up, down), up + down, 0.5)))


def tango_interval(up: int, down: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Score interval of a paired difference of proportions.

    Source: Tango, Stat. Med. 17 (1998) 891-908. The limits are where his statistic equals
    the normal quantile.

    Args:
        up: Pairs discordant in favour of the difference.
        down: Pairs discordant against it.
        n: All pairs.
        level: Level of confidence.

    Returns:
        Lower and upper limit; -1 and 1 without pairs.
    """
    if n == 0:
        return -1.0, 1.0
    from scipy.optimize import brentq  # half a second

    z = NormalDist().inv_cdf((1 + level) / 2)
    estimate = (up - down) / n

    def excess(limit: float, sign: int) -> float:
        return _tango_z(up, down, n, limit) - sign * z

    edge = 1 - 1e-12
    lower = -1.0 if excess(-edge, 1) <= 0 else brentq(excess, -edge, estimate, args=(1,))
    upper = 1.0 if excess(edge, -1) >= 0 else brentq(excess, estimate, edge, args=(-1,))
    return float(lower), float(upper)


def _tango_z(up: int, down: int, n: int, limit: float) -> float:
    """Tango's statistic for a true difference of `limit`."""
    variance = _tango_variance(up, down, n, limit)
    distance = up - down - n * limit
    if variance <= 0:
        return 0.0 if distance == 0 else (inf if distance > 0 else -inf)
    return distance / sqrt(variance)


def _tango_variance(up: float, down: float, n: float, limit: float) -> float:
    """Its variance, with the discordance that is likeliest under that difference."""
    a, b = 2 * n, -up - down + (2 * n - up + down) * limit
    c = -down * limit * (1 - limit)
    q = (sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    return n * (2 * q + limit * (1 - limit))


def weighted_pairs(differences: Floats, weights: Floats, margin: float) -> Paired:
    """Compare where values are averages over epochs, or prompts have weights.

    McNemar's test is undefined there. The p's of no difference are those of flipping the
    signs of the prompts' differences (10,000 times, seeded; above 2,000 prompts by the normal
    limit). Interval and test at the margin are Wald's with one discordant pair added (Agresti
    and Min, Stat. Med. 24, 2005), on the effective number of prompts (Kish), so that a few
    prompts that all agree are not taken for certainty.

    Args:
        differences: Arm minus baseline of each prompt.
        weights: Weights of the prompts, in any unit.
        margin: The margin, as a proportion.
    """
    if len(differences) == 0:
        return Paired(0, 0, 0, float("nan"), -1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, "no pairs")
    share = weights / weights.sum()
    observed = float(share @ differences)
    effective = float(1 / (share @ share))
    square = float(share @ differences**2)
    n = effective + 2
    centre = observed * effective / n
    spread = sqrt(max((square * effective + 1) / n - centre**2, 0.0) / n)
    p, p_fewer = _flip_signs(share * differences)
    return Paired(
        n=len(differences),
        up=int((differences > 0).sum()),
        down=int((differences < 0).sum()),
        difference=observed,
        lower=max(-1.0, centre - _Z * spread),
        upper=min(1.0, centre + _Z * spread),
        p=p,
        p_fewer=p_fewer,
        p_not_worse=float(ndtr(-(centre + margin) / spread)),
        effective=effective,
        discordance=square,
        method="sign-flip test, adjusted Wald interval",
    )


def _flip_signs(terms: Floats) -> tuple[float, float]:
    """Two-sided and lower one-sided p of a sum under random signs of its terms."""
    observed = float(terms.sum())
    if not terms.any():
        return 1.0, 1.0
    if len(terms) > _MOST_FLIPPED:
        z = observed / sqrt(float(terms @ terms))
        return float(2 * ndtr(-abs(z))), float(ndtr(z))
    chance = np.random.default_rng(_SEED)
    sums = np.concatenate(
        [(2.0 * chance.integers(0, 2, (1_000, len(terms))) - 1) @ terms for _ in range(10)]
    )
    extreme = int((np.abs(sums) >= abs(observed) - 1e-12).sum())
    fewer = int((sums <= observed + 1e-12).sum())
    return (extreme + 1) / (len(sums) + 1), (fewer + 1) / (len(sums) + 1)


def power_not_worse(n: float, discordance: float, margin: float) -> float:
    """Power to show "not worse by the margin" if nothing differs.

    Normal approximation with the variance that Tango's test has at the margin (Nam,
    Biometrics 53, 1997), at a two-sided level of 5%.

    Args:
        n: Pairs.
        discordance: Share of discordant pairs.
        margin: The margin, as a proportion.
    """
    if n <= 0 or discordance <= 0:
        return 0.0
    half = n * discordance / 2
    null = sqrt(_tango_variance(half, half, n, -margin))
    return float(ndtr((margin * n - _Z * null) / sqrt(n * discordance)))


def minimum_detectable(n: float, discordance: float, power: float = 0.8) -> float:
    """Smallest true difference a two-sided 5% McNemar test finds with a given power.

    Source: Connor, Biometrics 43 (1987) 207-211. At most the discordance itself; nan where
    even that would not be found.

    Args:
        n: Pairs.
        discordance: Share of discordant pairs.
        power: The power.
    """
    if n <= 0 or discordance <= 0:
        return float("nan")
    from scipy.optimize import brentq  # half a second

    def lacking(difference: float) -> float:
        spread = sqrt(max(discordance - difference**2, 1e-12))
        reached = (difference * sqrt(n) - _Z * sqrt(discordance)) / spread
        return float(ndtr(reached)) - power

    largest = min(discordance, 1.0)
    return float(brentq(lacking, 0.0, largest)) if lacking(largest) > 0 else float("nan")
