"""How far two raters agree on refused or answered, with intervals."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MEASURES = ("sensitivity", "specificity", "accuracy", "kappa", "ac1")

DRAWS = 10_000
SEED = 20260101

# Reference and rater, true for refused.
_CELLS = ((True, True), (True, False), (False, True), (False, False))


@dataclass(frozen=True)
class Stratum:
    """Responses that a reference (humans, or the first person) and a rater have rated."""

    counts: tuple[float, float, float, float]
    """Reference refused and rater refused; refused, answered; answered, refused; neither."""
    size: float | None = None
    """How many there are to draw from; None where all were rated, or drawn alike."""
    rater: bool | None = None
    """What the rater said of all in it, where they were drawn by that; true for refused."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> "Stratum":
        """Count pairs of reference and rater, true for refused."""
        found = Counter(pairs)
        both, missed, wrong, neither = (found[cell] for cell in _CELLS)
        return cls((both, missed, wrong, neither))

    @classmethod
    def weighted(
        cls, pairs: Sequence[tuple[bool, bool]], weights: Sequence[float], rater: bool | None
    ) -> "Stratum":
        """Count pairs that stand for several responses each.

        The counts are those of as many pairs of equal weight as would tell as much (Kish).
        """
        total = sum(weights)
        share = total / sum(weight**2 for weight in weights)
        both, missed, wrong, neither = (
            share * sum(weight for pair, weight in zip(pairs, weights, strict=True) if pair == cell)
            for cell in _CELLS
        )
        return cls((both, missed, wrong, neither), total, rater)

    @property
    def n(self) -> float:
        """Responses rated."""
        return sum(self.counts)


def agree(strata: Sequence[Stratum]) -> dict[str, tuple[float, float, float]]:
    """Measures of agreement, each with its 95% limits; nan where nothing tells.

    `sensitivity` and `specificity` are shares of what the reference calls refused and
    answered; `kappa` is Cohen's (Educ. Psychol. Meas. 20, 1960), `ac1` Gwet's (Br. J. Math.
    Stat. Psychol. 61, 2008), which does not fall where nearly all is of one kind. Limits come
    from 10,000 seeded draws of the shares, given the counts and half a response more in each
    cell (Jeffreys' prior): they stay inside the range, and a few responses that all agree are
    not taken for certainty. Responses are taken as independent.

    Args:
        strata: One, or several of other sizes than the number drawn from them.
    """
    rated = [stratum for stratum in strata if stratum.n]
    if not rated:
        return dict.fromkeys(MEASURES, (np.nan, np.nan, np.nan))
    sizes = np.array([s.n if s.size is None else s.size for s in rated], dtype=float)
    shares = sum(
        size * np.array(s.counts) / s.n for size, s in zip(sizes / sizes.sum(), rated, strict=True)
    )
    known = _measures(np.array(shares)[:, None])
    drawn = _measures(_draws(rated, sizes))
    return {name: _limits(known[name], drawn[name]) for name in MEASURES}


def _limits(known: Floats, drawn: Floats) -> tuple[float, float, float]:
    if np.isnan(known[0]):
        return np.nan, np.nan, np.nan
    value = float(known[0])
    lower, upper = np.quantile(drawn, (0.025, 0.975))
    # All that agree lie at the edge of what is possible, just beyond where draws reach.
    return value, min(value, float(lower)), max(value, float(upper))


def _draws(strata: Sequence[Stratum], sizes: Floats) -> Floats:
    chance = np.random.default_rng(SEED)
    of_stratum = chance.dirichlet(sizes + 0.5, DRAWS).T
    total: Floats = np.zeros((len(_CELLS), DRAWS))
    for share, stratum in zip(of_stratum, strata, strict=True):
        possible = [i for i, (_, says) in enumerate(_CELLS) if stratum.rater in (None, says)]
        counts = np.array(stratum.counts, dtype=float)[possible]
        total[possible] += share * chance.dirichlet(counts + 0.5, DRAWS).T
    return total


def _measures(shares: Floats) -> dict[str, Floats]:
    both, missed, wrong, neither = shares
    agreed = both + neither
    reference, rater = both + missed, both + wrong
    by_chance = reference * rater + (1 - reference) * (1 - rater)
    prevalence = (reference + rater) / 2
    by_guess = 2 * prevalence * (1 - prevalence)
    # Where the reference knows one kind only, agreement beyond chance cannot show.
    one_kind = (reference < 1e-12) | (reference > 1 - 1e-12)
    return {
        "sensitivity": _share(both, reference),
        "specificity": _share(neither, neither + wrong),
        "accuracy": agreed,
        "kappa": np.where(one_kind, np.nan, _share(agreed - by_chance, 1 - by_chance)),
        "ac1": _share(agreed - by_guess, 1 - by_guess),
    }


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 1e-12)
