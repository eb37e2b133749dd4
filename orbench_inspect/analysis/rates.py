"""Rates of one arm, with intervals, over prompts rather than samples."""

from collections.abc import Mapping
from math import hypot

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

READINGS = ("deployed", "model_only")
"""Provider refusals count; provider refusals are left out."""


def by_prompt(samples: pd.DataFrame, reading: str) -> pd.DataFrame:
    """One row a prompt: its category and its mean over scored epochs, nan if none was scored.

    Args:
        samples: Samples of one run.
        reading: `deployed` or `model_only`.
    """
    grouped = samples.groupby("id", sort=True)
    return pd.DataFrame({"category": grouped["category"].first(), "value": grouped[reading].mean()})


def wilson(rate: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval (Wilson, JASA 22, 1927); nan without prompts."""
    if n == 0:
        return float("nan"), float("nan")
    lower, upper = proportion_confint(rate * n, n, alpha=0.05, method="wilson")
    return float(lower), float(upper)


def pooled(prompts: pd.DataFrame, weights: Mapping[str, float] | None) -> dict[str, float]:
    """Rate over the scored prompts of a set, its interval, and their number.

    Args:
        prompts: From `by_prompt`.
        weights: Size of each category in the whole set, where equal numbers of each were
            asked: the rate is weighted back. The interval then combines the categories'
            Wilson intervals (Zou, Huang and Zhang, Comput. Stat. Data Anal. 53, 2009).
    """
    scored = prompts.dropna(subset="value")
    n = len(scored)
    if weights is None or n == 0:
        rate = float(scored["value"].mean())
        lower, upper = wilson(rate, n)
        return {"n": n, "rate": rate, "lower": lower, "upper": upper}
    groups = scored.groupby("category")["value"]
    total = sum(weights[str(name)] for name, _ in groups)
    parts = []
    for name, values in groups:
        share, part = weights[str(name)] / total, float(values.mean())
        low, high = wilson(part, len(values))
        parts.append((share * part, share * (part - low), share * (high - part)))
    rate = sum(part for part, _, _ in parts)
    below, above = hypot(*(b for _, b, _ in parts)), hypot(*(a for _, _, a in parts))
    return {"n": n, "rate": rate, "lower": max(0.0, rate - below), "upper": min(1.0, rate + above)}


def macro(prompts: pd.DataFrame) -> dict[str, float]:
    """Mean of the categories' rates, with its interval."""
    equal = dict.fromkeys(map(str, prompts["category"].unique()), 1.0)
    return pooled(prompts, equal)
