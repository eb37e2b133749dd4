"""Rates of one arm, with intervals, over prompts rather than samples."""

from collections.abc import Mapping
from math import hypot
from typing import Any

import numpy as np
import pandas as pd

from orbench_inspect.analysis.paired import Floats
from orbench_inspect.scoring.metrics import wilson_interval

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


def limits(samples: pd.DataFrame, reading: str) -> pd.DataFrame:
    """One row a prompt: its category, and its value if all unscored had been answered or refused.

    In the model-only reading blocked samples do not count, by its definition; a prompt with
    no other is left out.

    Args:
        samples: Samples of one run.
        reading: `deployed` or `model_only`.
    """
    kept = samples[samples["unscored"] | samples[reading].notna()]
    grouped = kept.assign(low=kept[reading].fillna(0.0), high=kept[reading].fillna(1.0)).groupby(
        "id"
    )
    return pd.DataFrame(
        {
            "category": grouped["category"].first(),
            "low": grouped["low"].mean(),
            "high": grouped["high"].mean(),
        }
    )


def prompt_weights(category: "pd.Series[str]", sizes: Mapping[str, float] | None) -> Floats:
    """Weights of prompts: equal, or such that categories weigh as much as in the whole set.

    Raises:
        ValueError: If a category is not in the whole set.
    """
    if sizes is None:
        return np.ones(len(category))
    unknown = set(category) - sizes.keys()
    if unknown:
        raise ValueError(f"category '{min(unknown)}' is not in the set whose sizes are known")
    return np.asarray(category.map(sizes) / category.map(category.value_counts()), dtype=np.float64)


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
        lower, upper = wilson_interval(rate, n)
        return {"n": n, "rate": rate, "lower": lower, "upper": upper}
    groups = scored.groupby("category")["value"]
    total = sum(weights[str(name)] for name, _ in groups)
    parts = []
    for name, values in groups:
        share, part = weights[str(name)] / total, float(values.mean())
        low, high = wilson_interval(part, len(values))
        parts.append((share * part, share * (part - low), share * (high - part)))
    rate = sum(part for part, _, _ in parts)
    below, above = hypot(*(b for _, b, _ in parts)), hypot(*(a for _, _, a in parts))
    return {"n": n, "rate": rate, "lower": max(0.0, rate - below), "upper": min(1.0, rate + above)}


def macro(prompts: pd.DataFrame) -> dict[str, float]:
    """Mean of the categories' rates, with its interval."""
    equal = dict.fromkeys(map(str, prompts["category"].unique()), 1.0)
    return pooled(prompts, equal)


def category_sizes(row: "pd.Series[Any]") -> Mapping[str, float] | None:
    """Sizes of the categories in a run's set, where equal numbers of each were asked."""
    equal = row["per_category"]
    return row["population"] if equal is not None and not pd.isna(equal) else None


def arm_rate(
    samples: pd.DataFrame, reading: str, sizes: Mapping[str, float] | None
) -> dict[str, Any]:
    """A row of rates: rate, interval, counts and bounds of one run.

    Args:
        samples: Samples of the run.
        reading: `deployed` or `model_only`.
        sizes: From `category_sizes`.
    """
    prompts = by_prompt(samples, reading)
    equal = macro(prompts)
    bounds = limits(samples, reading)
    weights = prompt_weights(bounds["category"], sizes)
    return {
        "reading": reading,
        **pooled(prompts, sizes),
        "macro": equal["rate"],
        "macro_lower": equal["lower"],
        "macro_upper": equal["upper"],
        "samples": len(samples),
        "unscored": int(samples["unscored"].sum()),
        "provider_refusals": int((samples["outcome"] == "provider_refusal").sum()),
        "lower_bound": float(np.average(bounds["low"], weights=weights)) if len(bounds) else 0.0,
        "upper_bound": float(np.average(bounds["high"], weights=weights)) if len(bounds) else 1.0,
    }
