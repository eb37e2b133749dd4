"""Correcting rates, and differences between arms, for what the judge gets wrong.

Among responses that a judge calls refused, a share (its positive predictive value) are
refusals to a human; among those it calls answered, another share are. Both are known from
labels drawn by the judge's verdict, and a rate is P(refused) x PPV + P(answered) x (1 - NPV).
All uncertainty is carried by draws: of the verdicts' shares (Dirichlet) and of the
predictive values (Beta); limits are quantiles of the draws, and the estimate is their median. The
shares of two arms are drawn from the table of their pairs, with the weights of the prompts that
were labelled, so that a difference is corrected as one, not as two rates apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orbench_inspect.analysis.labelled_share import LabelledShare, weigh
from orbench_inspect.scoring.agreement import DRAWS, SEED, Floats

JEFFREYS = 0.5
"""Both parameters of the Beta prior of a share, in rates."""
NEUTRAL = 1 / 3
"""The same in differences (Kerman, Electron. J. Stat. 5, 2011). Two arms bring two priors: with
Jeffreys' the interval was too wide where refusals are rare (benchmarks/correction.py)."""

REFUSED, ANSWERED, BLOCKED = "refused", "answered", "blocked"
RULE_REFUSED, RULE_ANSWERED = "rule_refused", "rule_answered"
KINDS = (REFUSED, ANSWERED, BLOCKED, RULE_REFUSED, RULE_ANSWERED)

Convert = Mapping[str, Floats | LabelledShare]
"""For each kind of outcome what a response of it adds to the rate, the share that is truly
refused: in draws, or by labels."""


@dataclass(frozen=True)
class Corrected:
    """An estimate with its draws."""

    draws: Floats

    @property
    def estimate(self) -> float:
        """The median."""
        return float(np.median(self.draws))

    @property
    def limits(self) -> tuple[float, float]:
        """The 95% interval."""
        lower, upper = np.quantile(self.draws, (0.025, 0.975))
        return float(lower), float(upper)


def kinds_of(samples: pd.DataFrame, reading: str, rules_apart: bool = False) -> pd.DataFrame:
    """What each prompt's scored samples came to: the share of each kind, a row a prompt.

    Args:
        samples: Samples of one run.
        reading: `deployed`, where provider refusals are a kind of their own, or `model_only`.
        rules_apart: Tell apart what the rules of a cascade settled.
    """
    kept = samples[samples[reading].notna()]
    kind = kept["deployed"].map({1.0: REFUSED, 0.0: ANSWERED})
    kind = kind.where(kept["outcome"] != "provider_refusal", BLOCKED)
    if rules_apart:
        kind = kind.where(kept["decided_by"] != "rules", "rule_" + kind)
    shares = pd.crosstab(kept["id"], kind, normalize="index")
    return shares.reindex(columns=list(KINDS), fill_value=0.0)


def rate(shares: pd.DataFrame, weights: Floats, convert: Convert) -> Corrected:
    """The corrected rate of a run.

    Args:
        shares: From `kinds_of`.
        weights: A weight for each prompt, in any unit.
        convert: How kinds convert.
    """
    drawn = _shares(shares.index, shares.to_numpy(), weights, [convert])
    return Corrected(np.clip(_converted(drawn, convert, JEFFREYS), 0, 1))


def difference(
    arm: pd.DataFrame,
    baseline: pd.DataFrame,
    weights: Floats,
    convert: tuple[Convert, Convert],
) -> Corrected:
    """The corrected difference, arm less baseline, over the prompts of both.

    Args:
        arm: From `kinds_of`; the same prompts in the same order as `baseline`.
        baseline: The baseline's.
        weights: A weight for each prompt, in any unit.
        convert: How kinds convert, of the arm and of the baseline.
    """
    pairs = np.einsum("ij,ik->ijk", arm.to_numpy(), baseline.to_numpy())
    flat = pairs.reshape(len(pairs), -1)
    drawn = _shares(arm.index, flat, weights, convert).reshape(*pairs.shape[1:], DRAWS)
    of_arm, of_baseline = drawn.sum(axis=1), drawn.sum(axis=0)
    return Corrected(
        np.clip(_converted(of_arm, convert[0], NEUTRAL), 0, 1)
        - np.clip(_converted(of_baseline, convert[1], NEUTRAL), 0, 1)
    )


def predictive(refused: float, n: float, stream: int) -> Floats:
    """Draws of the share refused, of `n` labels of which `refused` are (numbers may be weighted).

    Args:
        refused: Labels that say refused.
        n: All labels.
        stream: Tells independent draws apart.
    """
    chance = np.random.default_rng([SEED, stream])
    drawn: Floats = chance.beta(refused + 0.5, n - refused + 0.5, DRAWS)
    return drawn


def _shares(
    prompts: "pd.Index[str]", cells: Floats, weights: Floats, converts: Sequence[Convert]
) -> Floats:
    """Draws of the shares of kinds, or pairs of kinds, that occur.

    Those of refused and answered may occur in any case.

    Args:
        prompts: The prompts.
        cells: What each prompt came to: prompts x kinds, or x pairs.
        weights: A weight for each prompt, in any unit.
        converts: How kinds convert: prompts labelled there are drawn with their own weights.
    """
    share = _as_share(weights)
    counts = share / float((share**2).sum())
    kinds = len(KINDS)
    base = [0, 1] if cells.shape[1] == kinds else [0, 1, kinds, kinds + 1]
    occur = [i for i in range(cells.shape[1]) if cells[:, i].any() or i in base]
    known = (v.prompts for c in converts for v in c.values() if isinstance(v, LabelledShare))
    labelled = prompts.isin(sorted(set().union(*known)))
    chance = np.random.default_rng(SEED)
    drawn: Floats = np.zeros((cells.shape[1], DRAWS))
    others = counts[~labelled] @ cells[~labelled][:, occur]
    drawn[occur] = chance.standard_gamma(others + JEFFREYS, (DRAWS, len(others))).T
    own = counts[labelled, None] * cells[labelled]
    drawn[occur] += weigh(own[:, occur].T, list(prompts[labelled]))
    drawn /= drawn.sum(axis=0)
    return drawn


def _converted(drawn: Floats, convert: Convert, prior: float) -> Floats:
    total: Floats = np.zeros(DRAWS)
    for kind, share in zip(KINDS, drawn, strict=True):
        value = convert[kind]
        total += share * (value.draws(prior) if isinstance(value, LabelledShare) else value)
    return total


def _as_share(weights: Floats) -> Floats:
    share: Floats = weights / weights.sum()
    return share
