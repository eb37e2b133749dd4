"""What labels tell of one kind of response: the share that a human calls refused, in draws.

Each prompt has a weight that is drawn (the Bayesian bootstrap; Rubin, Ann. Stat. 9, 1981), and the
weight is the same wherever the prompt appears: in the shares of verdicts of both arms, and among
the labels of either. So what one prompt tells of two arms at once is not counted as if it were
told twice, and a difference between arms is no less certain than it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from orbench_inspect.scoring.agreement import DRAWS, SEED, Floats

_AT_ONCE = 32
"""Prompts whose draws are in memory side by side: more are no faster."""


@dataclass(frozen=True)
class LabelledShare:
    """Labels of the responses of one kind, of one run."""

    prompts: tuple[str, ...]
    """The prompts whose responses were labelled."""
    refused: Floats
    """What each counts where its label says refused, else 0, in labels of equal weight."""
    answered: Floats
    """What each counts where its label says answered, else 0."""
    stream: int
    """Tells independent draws apart."""
    pool: tuple[Floats, Floats] | None = None
    """Draws of the Beta distribution that the cells of a pool share, in place of a prior."""

    def draws(self, prior: float) -> Floats:
        """Draws of the share refused.

        Over labels alone they are those of a Beta posterior: sums of drawn weights are Gamma
        distributed.

        Args:
            prior: Both parameters of the Beta prior; a pool takes its place.
        """
        chance = np.random.default_rng([SEED, self.stream])
        before, after = self.pool or (np.full(DRAWS, prior), np.full(DRAWS, prior))
        refused, answered = self._sums + chance.standard_gamma(np.stack([before, after]))
        share: Floats = refused / (refused + answered)
        return share

    @cached_property
    def _sums(self) -> Floats:
        sums: Floats = weigh(np.stack([self.refused, self.answered]), self.prompts)
        return sums


def weigh(counts: Floats, prompts: Sequence[str]) -> Floats:
    """Sum counts over prompts, each times the drawn weight of its prompt, of mean 1.

    Args:
        counts: An array of sums x prompts.
        prompts: Ids of the prompts.

    Returns:
        An array of sums x draws.
    """
    total: Floats = np.zeros((len(counts), DRAWS))
    for n in range(0, len(prompts), _AT_ONCE):
        of = slice(n, n + _AT_ONCE)
        total += counts[:, of] @ np.stack([_weight(prompt) for prompt in prompts[of]])
    return total


@lru_cache(maxsize=2_000)
def _weight(prompt: str) -> NDArray[np.float32]:
    named = int.from_bytes(sha256(prompt.encode()).digest()[:8])
    # Half the precision is enough, and half the memory.
    return np.random.default_rng([SEED, named]).standard_exponential(DRAWS, dtype=np.float32)


def partially_pooled(cells: Sequence[LabelledShare], stream: int) -> list[LabelledShare]:
    """Cells that are alike, but not taken for the same, as a pool.

    Cells share a Beta distribution whose mean and spread are themselves drawn (a beta-binomial
    hierarchy; Gelman et al., Bayesian Data Analysis, 3rd ed., section 5.3), on a grid: the
    fewer labels a cell has, and the more alike the cells are, the more it borrows.

    Args:
        cells: The cells.
        stream: Tells independent draws apart.
    """
    chance = np.random.default_rng([SEED, stream])
    x = np.array([cell.refused.sum() for cell in cells])
    rest = np.array([cell.answered.sum() for cell in cells])
    mean, strength = np.meshgrid((np.arange(99) + 1) / 100, np.geomspace(1, 400, 25))
    a, b = mean.ravel() * strength.ravel(), (1 - mean.ravel()) * strength.ravel()
    fit = (betaln(a[:, None] + x, b[:, None] + rest) - betaln(a, b)[:, None]).sum(axis=1)
    # Jeffreys' prior on the mean; on the spread, flat in the logarithm of the strength.
    fit -= 0.5 * np.log(mean.ravel() * (1 - mean.ravel()))
    likely: Floats = np.exp(fit - fit.max())
    chosen = chance.choice(len(fit), DRAWS, p=likely / likely.sum())
    return [replace(cell, pool=(a[chosen], b[chosen])) for cell in cells]
