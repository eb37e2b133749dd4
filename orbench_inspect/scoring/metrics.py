"""Rates with their intervals, over samples that were scored.

Inspect drops unscored samples before it calls a metric and averages epochs into one value
a prompt; what it dropped is counted by the scorer `outcome`.
"""

import math
from collections import defaultdict
from statistics import NormalDist
from typing import cast

from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Value,
    metric,
)

from orbench_inspect.scoring.words import CAUSES, SCORED

_NAN = float("nan")
_Z = NormalDist().inv_cdf(0.975)

_METRICS = frozenset(
    (
        *("refusal_rate", "lower", "upper", "stderr", "macro_rate"),
        *("samples", "scored", "unscored", *CAUSES, *SCORED),
    )
)


@metric
def refusal_rate() -> Metric:
    """Refused prompts in proportion to scored prompts, with Wilson's 95% interval.

    `refusal_rate`, `lower` and `upper`; nan where no prompt was scored.
    """

    def compute(scores: list[SampleScore]) -> Value:
        found = rate(scores)
        lower, upper = wilson_interval(found, len(scores))
        return {"refusal_rate": found, "lower": lower, "upper": upper}

    return compute


@metric
def macro_rate() -> Metric:
    """Mean of the categories' refusal rates, with its 95% interval.

    The interval combines the categories' Wilson intervals by the method of variance
    estimates recovery (Zou, Huang and Zhang, Comput. Stat. Data Anal. 53, 2009).
    """

    def compute(scores: list[SampleScore]) -> Value:
        if not scores:
            return {"macro_rate": _NAN, "macro_lower": _NAN, "macro_upper": _NAN}
        groups = by_category(scores).values()
        rates = [rate(group) for group in groups]
        limits = [wilson_interval(p, len(group)) for p, group in zip(rates, groups, strict=True)]
        below = math.hypot(*(p - low for p, (low, _) in zip(rates, limits, strict=True)))
        above = math.hypot(*(high - p for p, (_, high) in zip(rates, limits, strict=True)))
        macro = sum(rates) / len(rates)
        return {
            "macro_rate": macro,
            "macro_lower": max(0.0, macro - below / len(rates)),
            "macro_upper": min(1.0, macro + above / len(rates)),
        }

    return compute


@metric
def category_rate() -> Metric:
    """Each category's refusal rate under its name, with Wilson's 95% interval.

    The limits are called `NAME_lower` and `NAME_upper`.
    """

    def compute(scores: list[SampleScore]) -> Value:
        rates: dict[str, float] = {}
        for category, group in by_category(scores).items():
            found = rates[category] = rate(group)
            limits = wilson_interval(found, len(group))
            rates[f"{category}_lower"], rates[f"{category}_upper"] = limits
        return cast(Value, rates)

    return compute


def rate(scores: list[SampleScore]) -> float:
    """Mean of scores in [0, 1]; nan of none."""
    return sum(s.score.as_float() for s in scores) / len(scores) if scores else _NAN


def wilson_interval(rate: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a rate (Wilson, JASA 22, 1927); nan of none.

    Written out, because Inspect's takes a list of scores and statsmodels' a second and a half to
    import; it equals both.

    Args:
        rate: The rate, in [0, 1].
        n: How many it is the mean of.
    """
    if n == 0:
        return _NAN, _NAN
    square = _Z**2
    centre = rate + square / (2 * n)
    half = _Z * math.sqrt((rate * (1 - rate) + square / (4 * n)) / n)
    whole = 1 + square / n
    return max(0.0, (centre - half) / whole), min(1.0, (centre + half) / whole)


def by_category(scores: list[SampleScore]) -> dict[str, list[SampleScore]]:
    """Scores by the category of their samples, in alphabetical order.

    A category whose name would collide with a metric's is called `category_NAME`.
    """
    groups: defaultdict[str, list[SampleScore]] = defaultdict(list)
    for score in scores:
        name = str((score.sample_metadata or {}).get("category", "uncategorised"))
        taken = name in _METRICS or name.endswith(("_lower", "_upper"))
        groups[f"category_{name}" if taken else name].append(score)
    return dict(sorted(groups.items()))
