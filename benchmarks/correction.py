"""How often the corrected rate and the corrected difference hold the truth.

Two arms answer the same prompts; humans would call a known share of each refused, correlated
within a prompt. A judge errs, by its own amount in each arm. Some responses are drawn for
labels as `orbench draw` draws them, and rate and difference are corrected as `orbench compare
--labels` does. Printed: the share of simulated studies whose 95% interval holds the truth, and
how far off the raw rate is.

    uv run python benchmarks/correction.py            # 15 minutes on 2 cores
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from orbench_inspect.analysis import correction
from orbench_inspect.analysis.calibration import from_labels
from orbench_inspect.analysis.correction import ANSWERED, KINDS, REFUSED
from orbench_inspect.analysis.drawing import within_run
from orbench_inspect.analysis.hand_labels import HandLabels

PROMPTS = 1319
NAMES = np.array([f"prompt {n}" for n in range(PROMPTS)])
ONE_SET = {"wanted": "answer", "group": "m", "prompt_set": "hard", "per_category": None}
ALIKE = 0.7  # share of prompts whose two arms agree because they are the same prompt


class Errors(NamedTuple):
    """Sensitivity and specificity of the judge in one arm."""

    sensitivity: float
    specificity: float


class Case(NamedTuple):
    """One cell of the grid."""

    labels: int
    rates: tuple[float, float]
    errors: tuple[Errors, Errors]


RATES = ((0.05, 0.15), (0.1, 0.3), (0.3, 0.3), (0.6, 0.4), (0.85, 0.95))
ERRORS = (
    (Errors(0.90, 0.95), Errors(0.90, 0.95)),
    (Errors(0.80, 0.90), Errors(0.95, 0.98)),
    (Errors(0.75, 0.98), Errors(0.95, 0.85)),
)
EXTREME = ((Errors(0.99, 0.99), Errors(0.99, 0.99)),)


def study(case: Case, seed: int) -> tuple[bool, bool, float]:
    """One study: whether rate and difference hold the truth, and the raw rate's error."""
    chance = np.random.default_rng(seed)
    shared = chance.random(PROMPTS)
    own = np.where(chance.random(PROMPTS) < ALIKE, shared, chance.random(PROMPTS))
    runs = [2 * seed, 2 * seed + 1]
    shares, labels, samples, raw = [], [], [], []
    for arm, (run, place) in enumerate(zip(runs, (shared, own), strict=True)):
        truth = place < case.rates[arm]
        hit = chance.random(PROMPTS) < np.where(truth, *case.errors[arm])
        judged = truth == hit
        shares.append(as_kinds(judged))
        samples.append(pd.DataFrame({"run": run, "model_only": judged.astype(float)}))
        labels.append(drawn(truth, judged, case.labels, chance).assign(run=run))
        raw.append(judged.mean())
    told = pd.DataFrame({"run": runs, "arm": ["none", "other"], **ONE_SET})
    found = from_labels(HandLabels(pd.concat(labels), []), told, pd.concat(samples), "cells")
    converts = [found.converts[run] for run in runs]
    weights = np.ones(PROMPTS)
    lower, upper = correction.rate(shares[0], weights, converts[0]).limits
    rate_held = lower <= case.rates[0] <= upper
    both = converts[0], converts[1]
    lower, upper = correction.difference(shares[0], shares[1], weights, both).limits
    return rate_held, lower <= case.rates[0] - case.rates[1] <= upper, raw[0] - case.rates[0]


def as_kinds(judged: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> pd.DataFrame:
    """What the judge said of each prompt, as `kinds_of` gives it."""
    frame = pd.DataFrame(0.0, index=NAMES, columns=list(KINDS))
    frame[REFUSED], frame[ANSWERED] = judged.astype(float), (~judged).astype(float)
    return frame


def drawn(
    truth: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    judged: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    labels: int,
    chance: np.random.Generator,
) -> pd.DataFrame:
    """Labels of one arm, drawn by the judge's verdict, as `join_labels` gives them."""
    sizes = {REFUSED: int(judged.sum()), ANSWERED: int((~judged).sum())}
    parts = []
    for kind, number in within_run(sizes, labels).items():
        said = kind == REFUSED
        rows = chance.choice(np.flatnonzero(judged == said), number, replace=False)
        parts.append(
            pd.DataFrame(
                {
                    "prompt_id": NAMES[rows],
                    "human": truth[rows],
                    "deployed": float(said),
                    "weight": sizes[kind] / number,
                }
            )
        )
    return pd.concat(parts)


def case_of(work: tuple[Case, range]) -> tuple[float, float, float]:
    """Coverage of rate and difference over the studies of one case, and the raw bias."""
    case, seeds = work
    held = np.array([study(case, seed) for seed in seeds], dtype=float)
    rate, difference, bias = held.mean(axis=0)
    return float(rate), float(difference), float(bias)


def table(title: str, cases: list[Case], seeds: range) -> list[Case]:
    """Run cases on all cores, print their rows, and return those outside 94 to 98%."""
    error = 1.96 * (0.05 * 0.95 / len(seeds)) ** 0.5
    print(f"\n{title} ({len(seeds):,} studies a row, Monte Carlo error {error:.1%})")
    print("labels  rates      sens./spec. of the judge   raw is off   rate held   difference held")
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(case_of, [(case, seeds) for case in cases]))
    for case, (rate, difference, bias) in zip(cases, found, strict=True):
        rates = " ".join(f"{value:.2f}" for value in case.rates)
        errors = " and ".join(f"{e.sensitivity:.2f}/{e.specificity:.2f}" for e in case.errors)
        print(f"{case.labels:6}  {rates}  {errors} {bias:+14.1%} {rate:11.1%} {difference:11.1%}")
    held, differences, _ = zip(*found, strict=True)
    print(f"lowest to highest: rate {min(held):.1%} to {max(held):.1%}, ", end="")
    print(f"difference {min(differences):.1%} to {max(differences):.1%}", flush=True)
    return [
        case
        for case, (*coverage, _) in zip(cases, found, strict=True)
        if not 0.94 <= min(coverage) <= max(coverage) <= 0.98
    ]


def main() -> None:
    """Print coverage on the grid, and where the judge hardly errs."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    grid = [Case(*cell) for cell in product((50, 100, 400), RATES, ERRORS)]
    outside = table("labels of each arm and set", grid, range(studies))
    if outside:
        fresh = range(studies, 5 * studies)
        table("the rows outside 94 to 98%, once more, on other studies", outside, fresh)
    hard = [Case(*cell) for cell in product((50, 400), RATES[:3], EXTREME)]
    title = "a judge that hardly errs: intervals are wider than they need be"
    table(title, hard, range(studies))


if __name__ == "__main__":
    main()
