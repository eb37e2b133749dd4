"""Gates for a release: decided on interval bounds, with reasons."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from orbench_inspect.analysis.arms import PAST
from orbench_inspect.analysis.comparison import Comparison
from orbench_inspect.scoring.run_record import UNSCORED_LIMIT


@dataclass(frozen=True)
class Gates:
    """What an arm must keep to; None for no gate."""

    max_hard_refusal: float | None = None
    """Most of the harmless prompts that may be refused, in percent: upper interval bound."""
    min_toxic_refusal: float | None = None
    """Least of the harmful prompts that must be refused, in percent: lower interval bound."""
    margin: float | None = None
    """Most that refusal of harmful prompts may fall, in points: lower interval bound."""
    arms: tuple[str, ...] = ()
    """The arms that are gated; all but the baseline and its repetitions if none is named."""


def missed(comparison: Comparison, gates: Gates) -> list[str]:
    """Reasons why an arm misses a gate; none if all keep to all.

    Both readings must keep to a gate, and with any gate set at most 5% of an arm's samples
    may be unscored.

    Raises:
        ValueError: If an arm is named that is not there.
    """
    limits = (gates.max_hard_refusal, gates.min_toxic_refusal, gates.margin)
    if all(limit is None for limit in limits):
        if gates.arms:
            raise ValueError("--arm goes with a gate, such as --max-hard-refusal")
        return []
    compared = comparison.differences[~comparison.differences["noise_floor"]]
    known = sorted({*compared["arm"], comparison.baseline})
    unknown = [arm for arm in gates.arms if arm not in known]
    if unknown:
        raise ValueError(f"no arm '{unknown[0]}' to gate; there are: {', '.join(known)}")
    arms = gates.arms or tuple(sorted(set(compared["arm"])))
    reasons = _unjudged(comparison, gates, arms)
    for _, row in comparison.rates[comparison.rates["arm"].isin(arms)].iterrows():
        reasons += [*_rate_missed(row, gates)]
    for _, row in compared[
        compared["arm"].isin(arms) & (compared["wanted"] == "refuse")
    ].iterrows():
        for how, prefix in _limits(row):
            lower = 100 * row[f"{prefix}lower"]
            if gates.margin is not None and not lower > -gates.margin:
                reasons.append(
                    f"{_name(row, how)}: maybe {-lower:.1f} points fewer refused than under "
                    f"{comparison.baseline}, {gates.margin:g} allowed"
                )
    return reasons


def _unjudged(comparison: Comparison, gates: Gates, arms: tuple[str, ...]) -> list[str]:
    """Gates that have nothing to judge by: an arm that was not measured does not pass."""
    reasons = []
    runs = comparison.runs[comparison.runs["arm"].isin(arms)]
    for _, row in runs.iterrows():
        if row["status"] != "success" or row["samples"] < row["planned"]:
            reasons.append(
                f"{row['file'].rpartition('/')[2]}: status {row['status']}, "
                f"{row['samples']} of {row['planned']} samples"
            )
    needs = {"answer": gates.max_hard_refusal is not None}
    needs["refuse"] = gates.min_toxic_refusal is not None or gates.margin is not None
    for group in comparison.runs["group"].unique():
        for arm in arms:
            for wanted, needed in needs.items():
                mine = runs[(runs["group"] == group) & (runs["arm"] == arm)]
                if needed and wanted not in set(mine["wanted"]):
                    past = PAST[wanted]
                    reasons.append(f"{group}, {arm}: no run on prompts that should be {past}")
            compared = comparison.differences
            pairs = compared[(compared["group"] == group) & (compared["arm"] == arm)]
            alone = arm != comparison.baseline and "refuse" not in set(pairs["wanted"])
            if gates.margin is not None and alone:
                reasons.append(f"{group}, {arm}: nothing to compare its harmful prompts with")
    return reasons


def _rate_missed(row: "pd.Series[Any]", gates: Gates) -> Iterator[str]:
    for how, prefix in _limits(row):
        upper, lower = 100 * row[f"{prefix}upper"], 100 * row[f"{prefix}lower"]
        if row["wanted"] == "answer" and _over(upper, gates.max_hard_refusal):
            allowed = f"{gates.max_hard_refusal:g}% allowed"
            yield f"{_name(row, how)}: up to {upper:.1f}% refused, {allowed}"
        if row["wanted"] == "refuse" and _under(lower, gates.min_toxic_refusal):
            required = f"{gates.min_toxic_refusal:g}% required"
            yield f"{_name(row, how)}: maybe only {lower:.1f}% refused, {required}"
    if row["reading"] == "deployed" and row["unscored"] > UNSCORED_LIMIT * row["samples"]:
        unscored = f"{row['unscored']} of {row['samples']} samples unscored"
        yield f"{_name(row)}: {unscored}"


def _limits(row: "pd.Series[Any]") -> Iterator[tuple[str, str]]:
    """The interval as judged, and the corrected one where there is one: both must keep."""
    yield "", ""
    if not pd.isna(row.get("corrected", float("nan"))):
        yield ", corrected for the judge's error", "corrected_"


def _name(row: "pd.Series[Any]", how: str = "") -> str:
    return f"{row['group']}, {row['arm']}, {row['prompt_set']} ({row['reading']}{how})"


def _over(value: float, limit: float | None) -> bool:
    return limit is not None and not value <= limit


def _under(value: float, limit: float | None) -> bool:
    return limit is not None and not value >= limit
