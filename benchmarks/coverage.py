"""Do the intervals and tests of `orbench compare` keep what they promise?

    uv run python benchmarks/coverage.py

1. Under the null, with 10 arms against one baseline, how often is any arm called better?
2. How often does Tango's 95% interval hold the true difference?
3. How much better does the best of 34 null arms look, on the prompts that chose it and on others?
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from orbench_inspect.analysis.answers import ALPHA
from orbench_inspect.analysis.paired import tango_interval
from orbench_inspect.analysis.selection import in_first_half

Bools = NDArray[np.bool_]


def null_outcomes(chance: np.random.Generator, n: int, arms: int, discordance: float) -> Bools:
    """Refusals of a baseline and arms that do not differ: prompts x (1 + arms).

    A share of the prompts is undecided, refused by each arm with probability one half; the
    others are always refused or always answered. Two arms then differ on `discordance` of them.
    """
    refusal = chance.choice(
        [0.0, 0.5, 1.0],
        n,
        p=[0.7 * (1 - 2 * discordance), 2 * discordance, 0.3 * (1 - 2 * discordance)],
    )
    return chance.random((n, 1 + arms)) < refusal[:, None]


def family_error(studies: int, n: int, arms: int, discordance: float) -> float:
    """Share of null studies in which Holm calls any arm better on harmless prompts.

    The other side is granted to every arm, which is the hardest null for the joint claim.
    """
    chance = np.random.default_rng(1)
    errors = 0
    for _ in range(studies):
        refused = null_outcomes(chance, n, arms, discordance)
        base, others = refused[:, :1], refused[:, 1:]
        up, down = (others & ~base).sum(axis=0), (base & ~others).sum(axis=0)
        p = np.minimum(1.0, 2 * binom.cdf(up, up + down, 0.5))
        errors += bool(p.min() <= ALPHA / arms)  # Holm's first step, without which there is none
    return errors / studies


@cache
def _interval(up: int, down: int, n: int) -> tuple[float, float]:
    return tango_interval(up, down, n)


def coverage(draws: int, n: int, discordance: float, difference: float) -> float:
    """Share of draws whose interval holds the true difference."""
    up = (discordance + difference) / 2
    cells = np.random.default_rng(2).multinomial(
        n, [up, discordance - up, 1 - discordance], size=draws
    )
    held = 0
    for a, b, _ in cells:
        lower, upper = _interval(int(a), int(b), n)
        held += lower <= difference <= upper
    return held / draws


def selection(studies: int, n: int, arms: int, discordance: float) -> tuple[float, float]:
    """Mean difference of the best arm, in points: where it was chosen, and on other prompts."""
    chance = np.random.default_rng(3)
    naive, tested = [], []
    halves = [np.array([in_first_half(f"{s}-{i}") for i in range(n)]) for s in range(50)]
    for _ in range(studies):
        refused = null_outcomes(chance, n, arms, discordance).astype(float)
        differences = refused[:, 1:] - refused[:, :1]
        naive.append(differences.mean(axis=0).min())
        half = halves[chance.integers(len(halves))]
        best = differences[half].mean(axis=0).argmin()
        tested.append(differences[~half, best].mean())
    return 100 * float(np.mean(naive)), 100 * float(np.mean(tested))


def main() -> None:
    """Print the three tables."""
    studies, draws = 2_000, 4_000
    error = 1.96 * np.sqrt(0.05 * 0.95 / studies)
    print(f"family error of 10 null arms, {studies:,} studies (5% ± {100 * error:.1f} points)")
    for n in (250, 1319):
        for discordance in (0.05, 0.10, 0.20):
            share = family_error(studies, n, 10, discordance)
            print(f"  n {n:5}  discordance {discordance:4.0%}  {share:6.2%}")
    print(f"\ncoverage of Tango's 95% interval, {draws:,} draws, at no difference and at half")
    print("  n      " + "".join(f"{d:>16.0%}" for d in (0.01, 0.02, 0.05, 0.10, 0.20)))
    for n in (60, 250, 655, 1319):
        cells = [
            f"{coverage(draws, n, d, 0.0):8.1%} {coverage(draws, n, d, d / 2):7.1%}"
            for d in (0.01, 0.02, 0.05, 0.10, 0.20)
        ]
        print(f"  {n:5}  " + "".join(cells))
    naive, tested = selection(studies, 655, 34, 0.10)
    print(
        f"\nbest of 34 null arms, n 655, discordance 10%: {naive:+.1f} points where it was "
        f"chosen, {tested:+.2f} on the other half"
    )


if __name__ == "__main__":
    main()
